"""What `headscope measure` will take, here or on workers."""

from __future__ import annotations

from typing import Any

from headscope.core.validation import Count


def estimate(
    model: Any, corpus: Any, *, workers: Count | None = None, limit: Any = None, **options: Any
) -> str:
    """What a run will take.

    Args:
        model: from `headscope.load`.
        corpus: what is measured.
        workers: with --estimate: on so many workers, in place of here.
        limit: at most so many inputs.
        **options: of `headscope.measure`.
    """
    from headscope.analyses.measure.run import measure
    from headscope.runs.plan import planned

    if workers:
        return planned(model, corpus, workers, limit)
    return measure.estimate(model, corpus, limit=limit, **options)
