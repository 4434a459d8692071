"""Which roles heads have in one model and not in the other."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.compare_roles import statistics
from headscope.analyses.roles.run import roles as of_one
from headscope.corpora import Corpus
from headscope.models import Model


@dataclass(frozen=True, eq=False)
class Roles:
    """The roles of two models.

    Attributes:
        a, b: the table of each, from `headscope.roles`.
    """

    a: pd.DataFrame
    b: pd.DataFrame

    @property
    def changes(self) -> pd.DataFrame:
        """What each head's roles became, with the columns `statistics.COLUMNS`; for models of one shape."""
        return statistics.changes(self.a, self.b)

    @property
    def by_role(self) -> pd.DataFrame:
        """How many heads have each role in each model, with `headscope.analyses.compare_roles.statistics.BY_ROLE`."""
        return statistics.by_role(self.a, self.b)


def roles(
    a: Model,
    b: Model,
    corpus: Corpus,
    *,
    level: float = 0.05,
    batch_size: int = 32,
    limit: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Roles:
    """The roles of the heads of two models, of any shapes and tokenizers, on the same corpus.

    Args:
        a, b: from `headscope.load`.
        corpus: of at least two documents; each model reads it with its own tokenizer.
        level, batch_size, limit, seed, progress: as in `headscope.roles`.

    >>> hs.compare.roles(model, model, hs.corpora.builtin(), limit=20).changes["change"].unique().tolist()
    ['kept']
    """
    options = {"level": level, "batch_size": batch_size, "limit": limit, "seed": seed}
    first, second = (
        of_one(model, corpus, **options, progress=progress)  # pyright: ignore[reportArgumentType]
        for model in (a, b)
    )
    return Roles(first, second)
