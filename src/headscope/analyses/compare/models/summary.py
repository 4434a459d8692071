"""What two models differ in, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare.models import statistics as two_models
from headscope.analyses.compare.roles import run as two_roles
from headscope.analyses.roles.statistics import BROAD, heads_in, named, roles_of
from headscope.analyses.study import LEVEL
from headscope.core.heads import Head
from headscope.core.types import AnyDict
from headscope.measures.dataset import description
from headscope.views.payload import Part, Pin, Reason
from headscope.views.reasons import because
from headscope.views.section import Section
from headscope.views.sentences import by_role, head_name, sentence, with_error

Kind = Literal["untrained", "redrawn", "other"]


@dataclass(frozen=True)
class ModelComparison(Section):
    """Two models on the same inputs.

    Attributes:
        kind: what B is.
        names: of A, the model of the report, and of B.
        figures: from `headscope.compare.models`; None where heads have no counterparts.
        roles: every head of A and of B against every role (`headscope.analyses.roles.run.every_role`); None where roles
            were not compared.
        examples: the place of an example with the maps of both, by head.
        why: what is compared instead of heads, or of roles, and why.
        inputs: from how many short inputs the examples were chosen.
        command: what gives the same figures.
        pins: the token of that example whose rows lie furthest apart, by head.
    """

    kind: Kind
    names: tuple[str, str]
    figures: xr.Dataset | None
    roles: tuple[pd.DataFrame, pd.DataFrame] | None
    examples: Mapping[Head, int] = field(default_factory=dict[Head, int])
    why: tuple[str, ...] = ()
    inputs: int = 0
    command: str | None = None
    pictured: ClassVar[str | None] = "compare"
    pins: Mapping[Head, Pin] = field(default_factory=dict[Head, Pin])

    @property
    def meta(self) -> AnyDict:
        """What made the figures."""
        return {} if self.figures is None else description(self.figures)

    @property
    def changes(self) -> pd.DataFrame | None:
        """What became of the role of each head; None where heads have no counterparts or roles were not compared."""
        if self.roles is None or self.figures is None:
            return None
        paired = [] if self.meta["over"] == "words" else [self.figures]
        return two_roles.changes(*self.roles, paired, level=LEVEL)

    def seen(self, head: Head, says: str, figure: str) -> Reason:
        """Why a head is named, on the example that has the maps of both."""
        return because(says, figure, example=self.examples.get(head), pin=self.pins.get(head))

    def headline(self) -> str:
        """How far heads moved."""
        if self.figures is None:
            return ""
        return f"Heads attend {_short(float(self.figures['js_all']))} nats apart in the two models"

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


def _drift(compared: ModelComparison) -> list[Part]:
    figures: Any = compared.figures
    rows: list[Any] = list(two_models.by_drift(figures).itertuples())
    baseline = f"Beside {_other_name(compared)},"
    first, last = rows[0], rows[-1]
    if first.js == 0:
        heads = "its only head attends" if len(rows) == 1 else f"all {len(rows)} heads attend"
        return sentence(f"{baseline} {heads} exactly alike.")
    mean = f"{with_error(float(figures['js_all']), float(figures['js_all_se']))} nats a row apart"
    scale = "(Jensen–Shannon; 0 would be no difference, 0.69 nothing in common)"
    if len(rows) == 1:
        return sentence(f"{baseline} ", _moved(compared, first), f" attends {mean} {scale}.")
    return sentence(
        f"{baseline} heads attend {mean} on average {scale}: from {_short(last.js)} (",
        _moved(compared, last),
        f") to {_short(first.js)} (",
        _moved(compared, first),
        ").",
    )


def _layers(rows: Any) -> str:
    """Which layers moved more, or less, than heads do on average; nothing where that is not tested."""
    same, tested = rows[rows["js"] == 0], rows[np.isfinite(rows["excess_q"])]
    alike = f"Exactly alike: layer{'' if len(same) == 1 else 's'} {', '.join(map(str, same['layer']))}. " * (
        len(same) > 0
    )
    if len(tested) < 2:
        return alike.rstrip()
    clear = tested[tested["excess_q"] <= LEVEL]
    if not len(clear):
        return f"{alike}No {'other ' * (len(same) > 0)}layer is known to have moved more than another."
    sides: list[str] = []
    for word, part in (("more", clear[clear["excess"] > 0]), ("less", clear[clear["excess"] < 0])):
        if len(part):
            clauses = ", ".join(
                f"{row.layer} ({with_error(row.js, row.js_se)} nats)"
                for row in part.sort_values("excess", key=abs, ascending=False, kind="stable").itertuples()
            )
            sides.append(f"{word} than heads do on average: layer{'' if len(part) == 1 else 's'} {clauses}")
    return f"{alike}Moved {'; '.join(sides)} (q ≤ {LEVEL:g})."


def _changes(compared: ModelComparison) -> list[list[Part]]:
    """Of the roles of A's heads, which are in B, in the same head; and which only B has."""
    changes: Any = compared.changes
    changes = changes[changes["role"] != BROAD]
    there = _there(compared)
    kept, lost, gained, unclear = (
        list(changes[changes["change"] == kind].itertuples())
        for kind in ("kept", "lost", "gained", "unclear")
    )
    lines: list[list[Part]] = []
    if kept or lost:
        lines.append(_split(compared, kept, lost, there))
    elif not gained and not unclear:
        lines.append(sentence(f"Neither here nor {there} is a head known to have one of the roles."))
    if gained:
        lines.append(_gained(compared, gained, there, some=bool(kept or lost)))
    if unclear:
        one = len(unclear) == 1
        lines.append(
            sentence(
                f"{len(unclear)} {'role is' if one else 'roles are'} known in one of the two models, and "
                f"{'its score is' if one else 'their scores are'} not known to differ in the other: ",
                *_by_role(compared, unclear),
                ".",
            )
        )
    return lines


def _split(compared: ModelComparison, kept: Sequence[Any], lost: Sequence[Any], there: str) -> list[Part]:
    parts: list[str | Part] = []
    if kept:
        one = len(kept) == 1
        parts += [
            f"{len(kept)} {'role is' if one else 'roles are'} there {there} as well, in the same "
            f"{'head' if one else 'heads'} (",
            *_by_role(compared, kept),
            ")",
        ]
    if lost:
        verb = "role of a head here is" if len(lost) == 1 else "roles of heads here are"
        parts += [
            f"{'; ' if kept else ''}{len(lost)} {verb} lost {there}: the score is below that here by more than luck (",
            *_by_role(compared, lost),
            ")",
        ]
    return sentence(*parts, ".")


def _gained(compared: ModelComparison, gained: Sequence[Any], there: str, *, some: bool) -> list[Part]:
    heads = len({(row.layer, row.head) for row in gained})
    noun, they = ("head has", "it does") if heads == 1 else ("heads have", "they do")
    begin = (
        f"{there[0].upper()}{there[1:]}"
        if some
        else f"No head is known to have one of the roles here; {there}"
    )
    which = f" that {they} not have here" if some else ""
    return sentence(f"{begin}, {heads} {noun} a role{which}: ", *_by_role(compared, gained), ".")


def _by_role(compared: ModelComparison, rows: Sequence[Any]) -> list[Part]:
    names: dict[str, list[list[Part]]] = {}
    for row in rows:
        names.setdefault(str(row.role), []).append([_became(compared, row)])
    return by_role(names)


def _counts(compared: ModelComparison) -> list[Part]:
    """Heads have no counterparts: how many have a role, in each model."""
    counts: list[str] = []
    for every, where in zip(compared.roles or (), ("Here", _there(compared)), strict=True):
        table = named(every, LEVEL)
        having = len(roles_of(table))
        counts.append(
            f"{where} {having} of {heads_in(table)} heads {'has' if having == 1 else 'have'} a role"
        )
    return sentence(f"{', '.join(counts)}; as the models differ in shape, no head has a counterpart.")


def _moved(compared: ModelComparison, row: Any) -> Part:
    """A head that is named for its drift, on the example that has the maps of both."""
    head = Head.at(row)
    return head_name(head, compared.seen(head, "drift", f"{_short(row.js)} nats"))


def _became(compared: ModelComparison, row: Any) -> Part:
    """A head that is named for what became of its role."""
    head = Head.at(row)
    return head_name(head, compared.seen(head, f"{row.role}, A and B", f"{row.a:.2f}, {row.b:.2f}"))


def _other_name(compared: ModelComparison) -> str:
    if compared.kind == "untrained":
        return "itself with untrained weights"
    if compared.kind == "redrawn":
        return "another draw of its untrained weights"
    return _called(compared)


def _there(compared: ModelComparison) -> str:
    return {"untrained": "untrained", "redrawn": "in the other draw"}.get(
        compared.kind, f"in {_called(compared)}"
    )


def _called(compared: ModelComparison) -> str:
    return compared.names[1].rstrip("/").split("/")[-1]


def _short(value: float) -> str:
    """Two significant digits of a small figure, two decimals of others.

    >>> _short(0.2934), _short(0.00214), _short(0.0)
    ('0.29', '0.0021', '0')
    """
    if value == 0:
        return "0"
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"
