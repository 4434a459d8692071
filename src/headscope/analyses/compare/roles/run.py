"""Which roles heads have in one model and not in the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.compare.models.run import Models, models, same_tokens
from headscope.analyses.compare.models.shapes import counterparts
from headscope.analyses.compare.models.statistics import side as side_of
from headscope.analyses.compare.roles import statistics
from headscope.analyses.measure.run import measure
from headscope.analyses.options import Reading, with_options
from headscope.analyses.result import Shows
from headscope.analyses.roles.run import every_role, readings
from headscope.analyses.roles.statistics import named
from headscope.core.validation import Level, Seed
from headscope.corpora import Corpus
from headscope.measures.dataset import dataset, description
from headscope.models import Model
from headscope.runs.inputs import unwatched


@dataclass(frozen=True, eq=False, repr=False)
class Roles(Shows):
    """The roles of two models.

    Attributes:
        a, b: the table of each, from `headscope.roles`.
        tests: of A and of B: every head against every role.
        paired: what `headscope.compare.models` gives for the measures of roles; empty where the models do not read the
            same tokens, or their heads have no counterparts.
        level: of q.
    """

    a: pd.DataFrame
    b: pd.DataFrame
    tests: tuple[pd.DataFrame, pd.DataFrame]
    paired: Sequence[xr.Dataset] = ()
    level: float = 0.05

    @property
    def changes(self) -> pd.DataFrame:
        """What each head's roles became, as `statistics.changes` gives it; for models of one shape."""
        return statistics.changes(*self.tests, self.paired, level=self.level)

    @property
    def by_role(self) -> pd.DataFrame:
        """How many heads have each role in each model, with `headscope.analyses.compare.roles.statistics.BY_ROLE`."""
        return statistics.by_role(self.a, self.b)

    def _meta(self) -> dict[str, Any]:
        a, b = self.a.attrs["meta"], self.b.attrs["meta"]
        return {**a, "models": [a["model"], b["model"]]}

    def _rows(self) -> pd.DataFrame:
        return self.by_role


@with_options()
def roles(
    a: Model, b: Model, corpus: Corpus, *, level: Level = 0.05, seed: Seed = 0, **options: Unpack[Reading]
) -> Roles:
    """The roles of the heads of two models, of any shapes and tokenizers, on the same corpus.

    Differences of scores are paired by document where both models read the same tokens and have as many heads.

    Args:
        a, b: from `headscope.load`.
        corpus: of at least five documents; each model reads it with its own tokenizer.
        level, seed: as in `headscope.roles`.

    >>> hs.compare.roles(model, model, hs.corpora.builtin(), limit=12).changes["change"].unique().tolist()
    ['kept']
    """
    both: list[Models] = []
    if counterparts(a, b) is None and same_tokens(a, b, corpus):
        with unwatched():  # unknown pieces are told where roles are
            for inputs, measures in readings(a, corpus, limit=options.get("limit"), seed=seed):
                both.append(models(a, b, inputs, measures=measures, **options))
                options = {**options, "progress": False}
    first = every_role(a, corpus, seed=seed, measured=_measuring(both, "a"), **options)
    second = every_role(b, corpus, seed=seed, measured=_measuring(both, "b"), **options)
    tables = [named(result, level) for result in (first, second)]
    for table, result in zip(tables, (first, second), strict=True):
        table.attrs["meta"] = result.attrs["meta"] | {"level": level, "tests": len(result)}
    return Roles(tables[0], tables[1], (first, second), [pair.figures for pair in both], level)


def _measuring(compared: Sequence[Models], side: Literal["a", "b"]) -> Callable[..., xr.Dataset]:
    """What gives the readings of one of two models that were compared, one after another, or measures."""
    made = iter(compared)

    def measured(model: Model, *_: object, **__: object) -> xr.Dataset:
        pair = next(made)
        sums = side_of(pair.sums, pair.measures, side)
        meta = description(pair.figures)
        about = {**meta[side], "layers": len(sums.layers), "heads": sums.s.shape[2]}
        meta = {name: value for name, value in meta.items() if name not in ("a", "b", "over", "difference")}
        return dataset(sums, pair.measures, causal=model.causal, meta={**meta, "model": about})

    return measured if compared else measure
