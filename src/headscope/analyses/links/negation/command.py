"""`headscope negation`: what it says of the scope of negations, in one model or beside another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from headscope.analyses.clusters import note
from headscope.analyses.record import Analysis
from headscope.analyses.shown import ShownResult, of_result
from headscope.core.saving import TABLES
from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.models import Model


def checks(
    *, against: str | None = None, shard: str | None = None, resume: Any = None, output: Path | None = None
) -> None:
    """Raise `InputError` for what a comparison of two models does not have."""
    from headscope.measures.dataset import check_suffix

    if against is not None and (shard is not None or resume is not None):
        raise InputError("--against: expected no --shard and no --resume, since two models are run")
    if against is not None and output is not None:
        check_suffix(output, TABLES)


def run(model: Model, corpus: Any, *, against: Model | None = None, **options: Any) -> Any:
    """The scopes that heads tell, in the other model and in this one where there are two.

    Args:
        model: from `headscope.load`.
        corpus: of negations.
        against: also what changed since this model, before fine-tuning (hub name, folder or demo; @REVISION).
        **options: of `headscope.negation`.
    """
    from headscope.analyses.links.negation.run import negation

    after = negation(model, corpus, **options)
    return after if against is None else (negation(against, corpus, **options), after)


def shown(result: Any, *, analysis: Analysis) -> ShownResult:
    """The heads that tell the scope, or what changed since another model."""
    from headscope.analyses.links.negation.section import changed
    from headscope.analyses.links.negation.statistics import difference
    from headscope.measures.dataset import description

    before, after = cast("tuple[Any, Any]", result) if isinstance(result, tuple) else (None, result)
    remarks = [note(description(after))]
    if before is None:
        return replace(of_result(after, analysis=analysis), remarks=remarks)
    rows = difference(before, after)
    rows.attrs["meta"] = {"before": description(before), "after": description(after)}
    return ShownResult(rows, changed(rows), remarks=remarks)
