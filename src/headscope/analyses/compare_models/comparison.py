"""What the report knows of two models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare_roles import statistics as two_roles
from headscope.heads import Head
from headscope.measures.dataset import description

Kind = Literal["untrained", "redrawn", "other"]


@dataclass(frozen=True)
class Comparison:
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
