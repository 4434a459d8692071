"""What two models differ in, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headscope.analyses.compare_models import statistics as two_models
from headscope.analyses.compare_models.comparison import Comparison
from headscope.analyses.roles.statistics import NONE
from headscope.heads import Head
from headscope.views.page import plain_text
from headscope.views.payload import Part
from headscope.views.sentences import NAMED, comma, head_name, text, with_error

_CLEAR = 1.96  # standard errors


def findings(compared: Comparison) -> list[list[Part]]:
    """How far heads moved, which layers did, and what became of the roles; nothing that was not compared."""
    lines: list[list[Part]] = []
    if compared.figures is not None:
        lines.append(_drift(compared))
        layers = _layers(two_models.by_layer(compared.figures))
        if layers and float(compared.figures["js"].max()) > 0:
            lines.append([text(layers)])
    if compared.roles is not None:
        lines += _changes(compared) if compared.figures is not None else [_counts(compared)]
    return lines


def _drift(compared: Comparison) -> list[Part]:
    figures: Any = compared.figures
    drift: Any = two_models.by_drift(figures)
    rows: list[Any] = list(drift.itertuples())
    beside = _beside(compared)
    first, last = rows[0], rows[-1]
    if first.js == 0:
        whose = "its only head attends" if len(rows) == 1 else f"all {len(rows)} heads attend"
        return [text(f"Beside {beside}, {whose} exactly alike.")]
    mean, error = float(figures["js_all"]), float(figures["js_all_se"])
    scale = "(Jensen–Shannon; 0 would be no difference, 0.69 nothing in common)"
    if len(rows) == 1:
        return [
            text(f"Beside {beside}, "),
            _name(compared, first),
            text(f" attends {with_error(mean, error)} nats a row apart {scale}."),
        ]
    return [
        text(
            f"Beside {beside}, heads attend {with_error(mean, error)} nats a row apart on average {scale}: most "
        ),
        _name(compared, first),
        text(f" ({_short(first.js)}), least "),
        _name(compared, last),
        text(f" ({_short(last.js)})."),
    ]


def _layers(rows: Any) -> str:
    """Which layers moved most and least, where that is clearer than their errors; nothing for one layer."""
    found = [(float(row.js), float(row.js_se), int(row.layer)) for row in rows.itertuples()]
    if len(found) < 2:
        return ""
    (high, high_error, top), (low, low_error, bottom) = max(found), min(found)
    if not np.isfinite(high_error + low_error):
        return ""
    if high - low <= _CLEAR * (high_error + low_error):
        return "No layer moved by clearly more than another."
    return (
        f"The layer that moved most is layer {top} ({with_error(high, high_error)} nats), the one "
        f"that moved least layer {bottom} ({with_error(low, low_error)})."
    )


def _changes(compared: Comparison) -> list[list[Part]]:
    """Of the roles of A's heads, which are in B, in the same head; and which only B has."""
    changes: Any = compared.changes
    there = _there(compared)
    kept, lost, gained = (
        [row for row in changes.itertuples() if row.change == kind] for kind in ("kept", "lost", "gained")
    )
    lines: list[list[Part]] = []
    if kept or lost:
        lines.append(_split(compared, kept, lost, there))
    elif not gained:
        lines.append([text(f"Neither here nor {there} does a head have one of the roles.")])
    if gained:
        lines.append(_gained(compared, gained, there, bool(kept or lost)))
    return lines


def _split(compared: Comparison, kept: Sequence[Any], lost: Sequence[Any], there: str) -> list[Part]:
    own = len(kept) + len(lost)
    if own == 1:
        begin = "The one role that a head has here " + ("is" if kept else "is not")
        begin += f" there {there}" + (" as well, in the same head: " if kept else " in that head: ")
    elif not lost:
        every = "Both" if own == 2 else f"All {own}"
        begin = f"{every} roles that heads have here are there {there} as well, in the same heads: "
    elif not kept:
        none = "Neither of the two" if own == 2 else f"None of the {own}"
        begin = f"{none} roles that heads have here is there {there} in the same head: "
    else:
        are, heads = ("is", "head") if len(kept) == 1 else ("are", "heads")
        return [
            text(
                f"Of the {own} roles that heads have here, {len(kept)} {are} there {there} as well, in the same "
            ),
            text(f"{heads} ("),
            *_by_role(compared, kept),
            text(f"), {len(lost)} {'is' if len(lost) == 1 else 'are'} not ("),
            *_by_role(compared, lost),
            text(")."),
        ]
    return [text(begin), *_by_role(compared, kept or lost), text(".")]


def _gained(compared: Comparison, gained: Sequence[Any], there: str, some: bool) -> list[Part]:
    heads = len({(row.layer, row.head) for row in gained})
    noun = "head has a role" if heads == 1 else "heads have a role"
    which = " that it does not have here" if heads == 1 else " that they do not have here"
    begin = "" if some else "No head has one of the roles here; "
    where = there if begin else there[0].upper() + there[1:]
    parts = [text(f"{begin}{where}, {heads} {noun}{which if some else ''}: ")]
    return [*parts, *_by_role(compared, gained), text(".")]


def _by_role(compared: Comparison, rows: Sequence[Any]) -> list[Part]:
    """``previous token L0H2; broad L0H3, L1H0 and 3 more``."""
    by: dict[str, list[Any]] = {}
    for row in rows:
        by.setdefault(str(row.role), []).append(row)
    parts: list[Part] = []
    for position, (role, own) in enumerate(sorted(by.items(), key=lambda one: -len(one[1]))):
        parts.append(text(f"{'; ' if position else ''}{role} "))
        for place, row in enumerate(own[:NAMED]):
            parts += [*comma(place), _name(compared, row)]
        if len(own) > NAMED:
            parts.append(text(f" and {len(own) - NAMED} more"))
    return parts


def _counts(compared: Comparison) -> list[Part]:
    """Heads have no counterparts: how many have a role, in each model."""
    held: list[str] = []
    for table, where in zip(compared.roles or (), ("Here", _there(compared)), strict=True):
        rows: Any = table
        heads = {(row.layer, row.head) for row in rows.itertuples()}
        having = {(row.layer, row.head) for row in rows.itertuples() if row.role != NONE}
        verb = "has" if len(having) == 1 else "have"
        held.append(f"{where} {len(having)} of {len(heads)} heads {verb} a role")
    return [text(f"{', '.join(held)}; as the models differ in shape, no head has a counterpart.")]


def _name(compared: Comparison, row: Any) -> Part:
    head = Head(int(row.layer), int(row.head))
    return head_name(head, compared.examples.get(head))


def _beside(compared: Comparison) -> str:
    if compared.kind == "untrained":
        return "itself with untrained weights"
    if compared.kind == "redrawn":
        return "another draw of its untrained weights"
    return _called(compared)


def _there(compared: Comparison) -> str:
    return {"untrained": "untrained", "redrawn": "in the other draw"}.get(
        compared.kind, f"in {_called(compared)}"
    )


def _called(compared: Comparison) -> str:
    return plain_text(compared.names[1].rstrip("/").split("/")[-1])


def _short(value: float) -> str:
    """Two significant digits of a small figure, two decimals of others.

    >>> _short(0.2934), _short(0.00214), _short(0.0)
    ('0.29', '0.0021', '0')
    """
    if value == 0:
        return "0"
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"
