"""`headscope negation`: in one model or beside another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.core.saving import TABLES

if TYPE_CHECKING:
    from headscope.models import Model


def checks(*, against: str | None = None, output: Path | None = None) -> None:
    """Raise `InputError` for a file that a comparison of two models is not written to."""
    from headscope.measures.dataset import check_suffix

    if against is not None and output is not None:
        check_suffix(output, TABLES)


def run(model: Model, corpus: Any, *, against: Model | None = None, **options: Any) -> Any:
    """The scopes that heads tell, or what changed since another model.

    Args:
        model: from `headscope.load`.
        corpus: of negations.
        against: also what changed since this model, before fine-tuning (hub name, folder or demo; @REVISION).
        **options: of `headscope.negation`.
    """
    from headscope.analyses.links.negation.run import negation
    from headscope.analyses.links.negation.statistics import difference

    after = negation(model, corpus, **options)
    return after if against is None else difference(negation(against, corpus, **options), after)
