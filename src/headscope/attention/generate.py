"""Attention while a model writes: the steps of `generate` stitched into one map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from headscope.attention.one import describe, running, tokens_of
from headscope.attention.parts import Parts, agreed, from_ids, group, numpy_of, seen_by, sight_of
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import edits, recording
from headscope.doors import Count, Seed, validated
from headscope.errors import InputError, RefusedError
from headscope.maps import AttentionMaps, FloatArray
from headscope.models.model import Model, expect_model
from headscope.models.untrained import seeded
from headscope.tokens import BoolArray, Tokens

_BEFORE = 8
"""So many tokens are decoded with one that follows them: the first one of a text loses its space."""


@validated
def generate(
    model: Model,
    text: str | Sequence[Mapping[str, str]] | Tokens,
    *,
    max_new_tokens: Count = 20,
    seed: Seed | None = None,
    **options: Any,
) -> AttentionMaps | Parts:
    """Let a model write, and see where it looked at each step.

    The last token written was never fed back, so it is no query and no key. Tokens that were written have the class
    ``generated``; views draw a line where the prompt ends. A key that a sliding cache had dropped has weight 0.

    Args:
        model: a causal model or an encoder-decoder, from `headscope.load`.
        text: the prompt, or a conversation; the chat template's generation prompt is added.
        max_new_tokens: how many tokens to write at most.
        seed: of the random numbers, where `options` ask for sampling.
        options: for transformers' ``generate``; greedy unless they say otherwise; one beam.

    Returns:
        `AttentionMaps` ``[layer head query key]`` over prompt and written tokens; `Parts` for an encoder-decoder.
        Their ``text`` is what the model wrote (``meta["written"]``).

    >>> gpt2 = hs.load("gpt2")
    >>> maps = hs.generate(gpt2, "Once upon a time", max_new_tokens=3)
    >>> int(maps.query.classes["generated"].sum())
    2
    """
    expect_model(model)
    write: Any = getattr(model.module, "generate", None)
    if write is None or not getattr(model.module, "can_generate", lambda: True)():
        raise InputError(
            f"{model.name}: this model does not write text; generate needs a causal model or an encoder-decoder"
        )
    for name in ("num_beams", "num_return_sequences"):
        if options.get(name, 1) != 1:
            raise InputError(
                f"{name}: attention is stitched for one sequence, expected 1, found {options[name]}"
            )
    prompt = (
        model.chat(text, add_generation_prompt=True) if isinstance(text, list) else tokens_of(model, text)
    )
    ready = model.inputs([prompt])
    records: list[AttentionRecord] = []

    def hook(record: AttentionRecord) -> None:
        record.given = record.weights().detach().clone()
        records.append(record)

    options = {"do_sample": False, **options}
    ready.pop("token_type_ids", None)
    with torch.no_grad(), seeded(seed), recording(model.module, hook), running(model, ready):
        ids = write(**ready, max_new_tokens=max_new_tokens, **options)[0].cpu().numpy().astype(np.int64)
    start = 0 if model.encoder_decoder else len(prompt)
    fed = from_ids(ids[:-1], model.tokenizer)
    query = fed.with_classes(**_classes(prompt, fed, start or 1))
    if model.tokenizer is not None:
        read: Sequence[str] | None = () if model.encoder_decoder else prompt.texts
        if read is not None:
            query = replace(
                query, texts=[*read, *written_texts(model.tokenizer, ids[:-1].tolist(), len(read))]
            )
    meta = {**describe(model), "written": _decode(model, ids[start:])}
    parts: dict[str, AttentionMaps] = {}
    for name, calls in group(records).items():
        axes = (prompt, prompt) if name == "encoder" else (query, prompt if name == "cross" else query)
        parts[name] = stitch(calls, *axes, meta)
    return parts["self"] if list(parts) == ["self"] else Parts(parts)


def stitch(
    records: Sequence[AttentionRecord], query: Tokens, key: Tokens, meta: Mapping[str, Any]
) -> AttentionMaps:
    """One map a layer from the records of all steps; each step's rows go below those of the step before."""
    layers: dict[int, FloatArray] = {}
    sinks: dict[int, FloatArray] = {}
    sights: dict[int, BoolArray] = {}
    filled: dict[int, int] = {}
    for record in records:
        weights = numpy_of(record.weights()[0])
        heads, rows, keys = weights.shape
        whole = layers.setdefault(record.layer, np.zeros((heads, len(query), len(key)), np.float32))
        sink = sinks.setdefault(record.layer, np.zeros((heads, len(query)), np.float32))
        start = filled.get(record.layer, 0)
        seen = len(key) if record.kind != "self" else start + rows
        offset = record.key_offset or max(0, seen - keys)  # a sliding cache keeps the last keys only
        width = min(keys, seen - offset)
        if start + rows > len(query) or offset + width > len(key) or weights[:, :, width:].any():
            raise RefusedError(f"{record.module}: step {record.step} does not continue the steps before it")
        whole[:, start : start + rows, offset : offset + width] = weights[:, :, :width]
        sight = sights.setdefault(record.layer, np.zeros(whole.shape, np.bool_))
        sight[:, start : start + rows, offset : offset + width] = seen_by(record, 0)[:, :, :width]
        if record.sinks is not None:
            sink[:, start : start + rows] = 1 - weights.sum(-1)
        filled[record.layer] = start + rows
    if short := [layer for layer, rows in filled.items() if rows != len(query)]:
        raise RefusedError(
            f"layer {short[0]}: {filled[short[0]]} rows were seen in all steps, expected {len(query)}"
        )
    index = sorted(layers)
    kind = records[0].kind
    seen = [agreed(sights[layer]) for layer in index]
    if edits.now():
        seen = [each | (layers[layer] > 0) for each, layer in zip(seen, index, strict=True)]
    causal, visible = sight_of(seen, kind)
    return AttentionMaps(
        [layers[layer] for layer in index],
        query,
        key,
        kind,
        causal,
        [sinks[layer] for layer in index] if any(record.sinks is not None for record in records) else None,
        index,
        partial=bool(edits.now()),
        meta=meta,
        visible=visible,
    )


def _classes(prompt: Tokens, query: Tokens, start: int) -> dict[str, Any]:
    """The classes of the prompt's tokens, carried over, and those of the tokens written."""
    classes: dict[str, Any] = {"generated": np.arange(len(query)) >= start}
    if start == len(prompt):
        for name, mask in prompt.classes.items():
            known = query.classes.get(name, np.zeros(len(query), bool)).copy()
            known[:start] = mask
            classes[name] = known
    return classes


def written_texts(tokenizer: Any, ids: Sequence[int], start: int) -> list[str]:
    """What each token from `start` on adds to the text; of a character in several tokens, the last one has it."""

    def text(some: Sequence[int]) -> str:
        return str(tokenizer.decode(some, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    texts: list[str] = []
    first, done = max(0, start - _BEFORE), start
    for end in range(start + 1, len(ids) + 1):
        before, now = text(ids[first:done]), text(ids[first:end])
        if now.endswith("\N{REPLACEMENT CHARACTER}") and end < len(ids):
            texts.append("")  # a character's first bytes
            continue
        texts.append(now[len(before) :])
        first, done = max(0, end - _BEFORE), end
    return texts


def _decode(model: Model, ids: Any) -> str | list[int]:
    written: list[int] = ids.tolist()
    return (
        written if model.tokenizer is None else str(model.tokenizer.decode(written, skip_special_tokens=True))
    )
