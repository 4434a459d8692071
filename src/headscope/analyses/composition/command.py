"""`headscope composition`: of all heads, or of one, and what it says."""

from __future__ import annotations

from typing import Any

from headscope.core.validation import Number


def run(
    model: Any,
    corpus: Any,
    *,
    head: str | None = None,
    of: str = "attended",
    ablated: Number = 3,
    reinitialised: Number | None = None,
    repeated: Number = 0,
    needles: Number = 0,
    **options: Any,
) -> Any:
    """Which head feeds which, or all that one head reads.

    Args:
        model: from `headscope.load`.
        corpus: of texts.
        head: all writers that this head reads, with chance and ablation beside them.
        of: with --head, the keys that are asked about: induction, previous, another measure of pairs of tokens,
            link:LABEL, or attended, those that are looked at most.
        ablated: with --head, so many heads with the largest shares are ablated, one at a time.
        reinitialised: with --head, also the shares in the model re-initialised with this seed.
        repeated: read so many sequences of random tokens that come twice in place of texts, on which induction shows.
        needles: read so many texts with a needle and a question for it, made of the corpus; with --head asked is where
            the model finds what it answers.
        **options: of `headscope.composition`.
    """
    from headscope.analyses.composition.run import composition
    from headscope.analyses.reads.run import reads
    from headscope.analyses.roles.retrieval.run import needle_examples
    from headscope.analyses.roles.run import repeated_tokens

    inputs = repeated_tokens(model, sequences=repeated) if repeated else corpus
    if needles:
        inputs = needle_examples(model, corpus, needles=needles)
        of = "link:needle" if of == "attended" else of
    if head is None:
        return composition(model, inputs, **options)
    return reads(model, inputs, head, of=of, ablated=ablated, reinitialised=reinitialised, **options)
