"""What two models differ in, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare_models import statistics as two_models
from headscope.analyses.compare_roles import statistics as two_roles
from headscope.analyses.roles.statistics import heads_in, roles_of
from headscope.heads import Head
from headscope.measures.dataset import description
from headscope.views.page import plain_text
from headscope.views.payload import Part
from headscope.views.section import Section
from headscope.views.sentences import by_role, head_name, sentence, with_error

_CLEAR = 1.96  # standard errors


Kind = Literal["untrained", "redrawn", "other"]


@dataclass(frozen=True)
class Comparison(Section):
    """Two models on the same inputs.

    Attributes:
        kind: what B is.
        names: of A, the model of the report, and of B.
        figures: from `headscope.compare.models`; None where heads have no counterparts.
        roles: the tables of A and B from `headscope.roles`; None where roles were not compared.
        examples: the place of an example with the maps of both, by head.
        why: what is compared instead of heads, or of roles, and why.
        inputs: from how many short inputs the examples were chosen.
        command: what gives the same figures.
    """

    kind: Kind
    names: tuple[str, str]
    figures: xr.Dataset | None
    roles: tuple[pd.DataFrame, pd.DataFrame] | None
    examples: Mapping[Head, int] = field(default_factory=dict[Head, int])
    why: tuple[str, ...] = ()
    inputs: int = 0
    command: str | None = None

    @property
    def meta(self) -> dict[str, Any]:
        """What made the figures."""
        return {} if self.figures is None else description(self.figures)

    @property
    def changes(self) -> pd.DataFrame | None:
        """What became of the role of each head; None where heads have no counterparts or roles were not compared."""
        if self.roles is None or self.figures is None:
            return None
        return two_roles.changes(*self.roles)

    def findings(self) -> list[list[Part]]:
        """How far heads moved, which layers did, and what became of the roles; nothing that was not compared."""
        lines: list[list[Part]] = []
        if self.figures is not None:
            lines.append(_drift(self))
            layers = _layers(two_models.by_layer(self.figures))
            if layers and float(self.figures["js"].max()) > 0:
                lines.append(sentence(layers))
        if self.roles is not None:
            lines += _changes(self) if self.figures is not None else [_counts(self)]
        return lines


def _drift(compared: Comparison) -> list[Part]:
    figures: Any = compared.figures
    rows: list[Any] = list(two_models.by_drift(figures).itertuples())
    beside = f"Beside {_beside(compared)},"
    first, last = rows[0], rows[-1]
    if first.js == 0:
        heads = "its only head attends" if len(rows) == 1 else f"all {len(rows)} heads attend"
        return sentence(f"{beside} {heads} exactly alike.")
    mean = f"{with_error(float(figures['js_all']), float(figures['js_all_se']))} nats a row apart"
    scale = "(Jensen–Shannon; 0 would be no difference, 0.69 nothing in common)"
    if len(rows) == 1:
        return sentence(f"{beside} ", _name(compared, first), f" attends {mean} {scale}.")
    return sentence(
        f"{beside} heads attend {mean} on average {scale}: most ",
        _name(compared, first),
        f" ({_short(first.js)}), least ",
        _name(compared, last),
        f" ({_short(last.js)}).",
    )


def _layers(rows: Any) -> str:
    """Which layers moved most and least, where that is clearer than their errors; nothing for one layer."""
    layers = [(float(row.js), float(row.js_se), int(row.layer)) for row in rows.itertuples()]
    if len(layers) < 2:
        return ""
    (high, high_error, top), (low, low_error, bottom) = max(layers), min(layers)
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
        list(changes[changes["change"] == kind].itertuples()) for kind in ("kept", "lost", "gained")
    )
    lines: list[list[Part]] = []
    if kept or lost:
        lines.append(_split(compared, kept, lost, there))
    elif not gained:
        lines.append(sentence(f"Neither here nor {there} does a head have one of the roles."))
    if gained:
        lines.append(_gained(compared, gained, there, some=bool(kept or lost)))
    return lines


def _split(compared: Comparison, kept: Sequence[Any], lost: Sequence[Any], there: str) -> list[Part]:
    count = len(kept) + len(lost)
    if kept and lost:
        return sentence(
            f"Of the {count} roles that heads have here, {len(kept)} {'is' if len(kept) == 1 else 'are'} there {there} "
            "as well, in the same ",
            f"{'head' if len(kept) == 1 else 'heads'} (",
            *_by_role(compared, kept),
            f"), {len(lost)} {'is' if len(lost) == 1 else 'are'} not (",
            *_by_role(compared, lost),
            ").",
        )
    if count == 1:
        verb, where = ("is", " as well, in the same head") if kept else ("is not", " in that head")
        begin = f"The one role that a head has here {verb} there {there}{where}"
    elif kept:
        every = "Both" if count == 2 else f"All {count}"
        begin = f"{every} roles that heads have here are there {there} as well, in the same heads"
    else:
        none = "Neither of the two" if count == 2 else f"None of the {count}"
        begin = f"{none} roles that heads have here is there {there} in the same head"
    return sentence(f"{begin}: ", *_by_role(compared, kept or lost), ".")


def _gained(compared: Comparison, gained: Sequence[Any], there: str, *, some: bool) -> list[Part]:
    heads = len({(row.layer, row.head) for row in gained})
    noun, they = ("head has", "it does") if heads == 1 else ("heads have", "they do")
    begin = f"{there[0].upper()}{there[1:]}" if some else f"No head has one of the roles here; {there}"
    which = f" that {they} not have here" if some else ""
    return sentence(f"{begin}, {heads} {noun} a role{which}: ", *_by_role(compared, gained), ".")


def _by_role(compared: Comparison, rows: Sequence[Any]) -> list[Part]:
    names: dict[str, list[Part]] = {}
    for row in rows:
        names.setdefault(str(row.role), []).append(_name(compared, row))
    return by_role(names)


def _counts(compared: Comparison) -> list[Part]:
    """Heads have no counterparts: how many have a role, in each model."""
    counts: list[str] = []
    for table, where in zip(compared.roles or (), ("Here", _there(compared)), strict=True):
        having = len(roles_of(table))
        counts.append(
            f"{where} {having} of {heads_in(table)} heads {'has' if having == 1 else 'have'} a role"
        )
    return sentence(f"{', '.join(counts)}; as the models differ in shape, no head has a counterpart.")


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
