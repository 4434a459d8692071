"""Models whose attention has no map over the whole input."""

from __future__ import annotations

from typing import Any

from torch import nn

_WINDOWS = "attends in overlapping windows plus a few global tokens"
_CHUNKS = {  # model type -> how it attends
    "longformer": _WINDOWS,
    "led": _WINDOWS,
    "pegasus_x": "attends in blocks plus a few global tokens",
    "longt5": "attends in blocks and their neighbours",
    "canine": "attends in chunks of characters",
    "reformer": "attends within chunks of hashed or neighbouring tokens",
    "nystromformer": "approximates attention by landmarks",
    "mra": "approximates attention at several resolutions",
    "yoso": "samples attention by hashing",
    "autoformer": "weighs lags of whole series by their autocorrelation",
    "fnet": "mixes tokens by Fourier transforms and has no attention",
}


def chunked(model: nn.Module) -> str | None:
    """Why a model has no ``[query, key]`` maps over its whole input, as a sentence; None where it may have.

    Decided by what its configuration says. Models that this does not know are found out when they run:
    `traced` refuses a softmax over scores that were cut in chunks, and the check a model without any map.
    """
    for part in model.modules():
        if type(part).__name__.startswith("AdaptedAttention"):  # peft's adaption prompt
            return (
                f"{type(part).__name__} attends to a prompt of its own beside the keys, by weights kept apart"
            )
        config: Any = getattr(part, "config", None)
        kind = getattr(config, "model_type", None)
        how, instead = _CHUNKS.get(str(kind)), ""
        if getattr(config, "attention_type", None) == "block_sparse":
            how, instead = "attends in sparse blocks", '; load it with attention_type="original_full"'
        if kind == "informer" and getattr(config, "attention_type", None) == "prob":
            how, instead = (
                "attends from a few of its queries (ProbSparse)",
                '; load it with attention_type="full"',
            )
        if how is not None:
            name = f"{type(part).__name__} ({kind})"
            return f"{name} {how}: it forms no map [query, key] over its whole input{instead}"
    return None
