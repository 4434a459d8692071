"""How numbers are written, digit by digit as the page writes them (`frontend/src/format.ts`).

Ties go away from zero, as in JavaScript: Python's own formats round them to even.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)


def fixed(x: float, decimals: int) -> str:
    """A number with so many decimals; ``–`` for none.

    >>> fixed(-0.25, 1), fixed(99.6, 0), fixed(-0.01, 1)
    ('−0.3', '100', '0.0')
    """
    if not math.isfinite(x):
        return "–"
    text = f"{Decimal(abs(float(x))).quantize(Decimal(1).scaleb(-decimals), context=_EXACT):f}"
    return f"−{text}" if x < 0 and text.strip("0.") else text


def signed(x: float, decimals: int) -> str:
    """The same of a change, with its sign.

    >>> signed(0.5, 2), signed(-0.5, 2)
    ('+0.50', '−0.50')
    """
    return f"+{fixed(x, decimals)}" if x > 0 else fixed(x, decimals)


def significant(x: float, digits: int = 3) -> str:
    """A number with so many significant digits, all of those before its point among them.

    >>> significant(99.6, 2), significant(1234.5, 2), significant(0.0012), significant(1.5e-9, 2)
    ('100', '1235', '0.00120', '1.5e−9')
    """
    if not math.isfinite(x):
        return "–"
    size, sign = abs(float(x)), "−" if x < 0 else ""
    if size == 0:
        return "0"
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(Decimal(size))
    power = rounded.adjusted()  # that of what is printed: 99.6 may be 100
    if 1e-4 <= size < 1e7:
        return sign + fixed(size, max(0, digits - 1 - power))
    return f"{sign}{rounded.scaleb(-power):.{digits - 1}f}e{power}".replace("e-", "e−")


def brief(x: float, digits: int = 3) -> str:
    """Write a number without zeros at its end.

    >>> brief(0.05), brief(120.0, 2), brief(1.5e-9)
    ('0.05', '120', '1.5e−9')
    """
    mantissa, e, power = significant(x, digits).partition("e")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + e + power


def bare(text: str) -> str:
    """Write a number without the zero before the point.

    >>> bare("0.54"), bare("−0.5"), bare("10.5")
    ('.54', '−.5', '10.5')
    """
    sign, number = ("−", text[1:]) if text.startswith("−") else ("", text)
    return sign + number.removeprefix("0") if number.startswith("0.") else text


def weight(w: float) -> str:
    """A weight in two decimals, ``.54``; below .005 a dot."""
    size = abs(w)
    return "·" if size < 0.005 else bare(fixed(w, 2 if size < 0.995 else 1))


def figure(x: float, digits: int = 3) -> str:
    """A figure in a table: three decimals, fewer from 10 on, more for what is small; ``–`` for none.

    >>> figure(0.54), figure(12.345), figure(0.0001)
    ('0.540', '12.35', '<0.001')
    """
    size = abs(x)
    if x != 0 and size < 0.5 * 10**-digits:
        return f"{'−' if x < 0 else '<'}{fixed(10**-digits, digits)}"
    return fixed(x, max(0, digits - (2 if size >= 100 else 1 if size >= 10 else 0)))


def share(x: float, digits: int = 3) -> str:
    """An accuracy.

    >>> share(0.866), share(0.9997), share(float("nan"))
    ('.866', '1', '–')
    """
    return "1" if x >= 0.9995 else bare(fixed(x, digits))


def span(low: float, high: float, digits: int = 3) -> str:
    """An interval of shares.

    >>> span(0.8331, 0.899)
    '.833 – .899'
    """
    known = math.isfinite(low) and math.isfinite(high)
    return f"{share(low, digits)} – {share(high, digits)}" if known else "–"


def probability(p: float) -> str:
    """A p or q.

    >>> probability(0.0412), probability(2.3e-30)
    ('.041', '< .001')
    """
    return bare(fixed(p, 3)) if not p < 0.001 else "< .001"


def percent(share: float) -> str:
    """A share in words: ``54%``, and never 100% or 0% for what is neither.

    >>> percent(0.54), percent(0.9987), percent(0.0004)
    ('54%', '99.9%', '<0.1%')
    """
    if share >= 1 or share == 0:
        return "0%" if share == 0 else "100%"
    if 0 < share < 0.001:
        return "<0.1%"
    if share > 0.995:
        return f"{fixed(min(99.9, 100 * share), 1)}%"
    return f"{fixed(100 * share, 0 if share >= 0.1 else 1)}%"
