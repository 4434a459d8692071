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
    """The same without zeros at its end.

    >>> brief(0.05), brief(120.0, 2), brief(1.5e-9)
    ('0.05', '120', '1.5e−9')
    """
    mantissa, e, power = significant(x, digits).partition("e")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + e + power


def bare(text: str) -> str:
    """Without the zero before the point.

    >>> bare("0.54"), bare("−0.5"), bare("10.5")
    ('.54', '−.5', '10.5')
    """
    sign, number = ("−", text[1:]) if text.startswith("−") else ("", text)
    return sign + number.removeprefix("0") if number.startswith("0.") else text


def weight(w: float) -> str:
    """A weight in two decimals, ``.54``; below .005 a dot."""
    size = abs(w)
    return "·" if size < 0.005 else bare(fixed(w, 2 if size < 0.995 else 1))


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
