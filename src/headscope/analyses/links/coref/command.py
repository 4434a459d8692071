"""`headscope coref`: among what heads choose."""

from __future__ import annotations

from typing import Any, Literal


def run(
    model: Any,
    corpus: Any,
    *,
    candidates: Literal["preceding_mentions", "other_mentions", "any_word"] | None = None,
    **options: Any,
) -> Any:
    """The rules and the heads that find antecedents.

    Args:
        model: from `headscope.load`.
        corpus: with coreference.
        candidates: among what a head chooses; by default all three ways.
        **options: of `headscope.coreference`.
    """
    from headscope.analyses.links.coref.run import coreference

    result: Any = coreference(model, corpus, **options)
    if candidates is None or candidates not in result.coords.get("candidates", ()):  # as of a shard's part
        return result
    return result.sel(candidates=[candidates])
