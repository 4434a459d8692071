"""`headscope check`: what can be captured of a model, and the checks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from headscope.console.answer import Answer
from headscope.console.options import LoadOptions, Named
from headscope.core.counts import layers_by_heads
from headscope.core.saving import listening
from headscope.errors import HeadscopeWarning, InputError

_CHECKED = ["unseen", "implicit", "route", "output_error", "padding_error"]


def check(
    named: str | None = None,
    *,
    model: Named = None,
    revision: str | None = None,
    loading: LoadOptions,
) -> None:
    """What can be captured of a model, and the checks it passed.

    Args:
        named (MODEL): the same as -m MODEL.
        revision: revision of a hub model.
    """
    if named is not None and model not in (None, named):
        raise InputError(f"-m: expected one model, found {model} beside {named}")

    from headscope.runs.estimate import english

    with warnings.catch_warnings(action="ignore", category=HeadscopeWarning):  # it is printed below
        loaded = loading.of(named or model, revision)
    result = loaded.checked
    sample = english(loaded)
    if (answer := listening(Answer)) is not None:
        answer.give(
            "check",
            model=loaded.name,
            **{name: getattr(result, name) for name in _CHECKED},
            vocabulary=result.vocabulary and vars(result.vocabulary),
            english=sample and sample.counts(),
            parts=[vars(part) for part in result.parts],
        )
        return
    for line in described(loaded, sample):
        print(line)


def described(loaded: Any, sample: Any) -> Iterator[str]:
    """Tell what can be captured, and the checks, a line each; `sample` is `headscope.runs.estimate.english`."""
    result = loaded.checked
    yield (
        f"{loaded.name}: {type(loaded.module).__name__}, {loaded.parameters:,} weights, {loaded.dtype}, "
        f"by {result.route}"
    )
    if result.unseen:
        yield f"  ??  {result.unseen}"
    for part in result.parts:
        heads, keys = _counts(part.heads), _counts(part.key_heads)
        shared = "" if heads == keys else f" over {keys} key heads"
        sight = "causal" if part.causal else "bidirectional" if part.name != "cross" else "decoder to encoder"
        yield (
            f"  {part.name}: {layers_by_heads(part.heads)}{shared}, "
            f"{sight}{', learned sink' if part.sink else ''}"
        )
        yield (
            f"    ok  rows sum to 1{' minus the sink' if part.sink else ''} (off by at most {part.row_error:.0e})"
        )
        yield (
            f"    ok  softmax recomputed from q and k equals the weights (off by at most {part.recompute_error:.0e})"
        )
        yield (
            f"    ok  an edit of the weights reaches the output (silencing one head moves it by {part.edit_effect:.0e})"
        )
    if result.implicit:
        names = ", ".join(dict.fromkeys(result.implicit))
        yield (
            f"  ok  {len(result.implicit)} mixers have implicit maps ({names}): --implicit of view and measure"
        )
    yield f"  ok  recording leaves the output as it is (moved by {result.output_error:.0e})"
    if result.same_length:
        yield (
            f"  padding moves an input by {result.padding_error:.0e}: batches of a corpus have inputs of one length"
        )
    elif result.padding_error is not None:
        yield f"  ok  padding leaves an input as it is (moved by {result.padding_error:.0e})"
    if result.vocabulary is not None:
        sizes = f"{result.vocabulary.tokenizer:,} pieces, {result.vocabulary.embedding:,} rows"
        message = result.vocabulary.problem or f"the tokenizer goes with the model's embedding ({sizes})"
        yield f"  {'??' if result.vocabulary.problem else 'ok'}  {message}"
    if sample is not None:
        message = f"{sample.share} of an English sample are unknown to the tokenizer"
        yield (
            f"  {'ok' if sample.known else '??'}  {message}{'' if sample.known else ': give text that it knows'}"
        )


def _counts(numbers: Any) -> str:
    return "/".join(map(str, dict.fromkeys(numbers)))
