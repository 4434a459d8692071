"""Attention while a model writes: the steps of `generate` stitched into one map."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.one import describe, prepare, running, tokens_of
from headscope.attention.parts import (
    Parts,
    after_virtual,
    agreed,
    assemble,
    from_ids,
    group,
    numpy_of,
    seen_by,
    sides,
    sight_of,
)
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import Hooks, edits, recording
from headscope.attention.windows import placed
from headscope.core.arrays import AnyFloats, Bools, Ints
from headscope.core.audio import Audio
from headscope.core.maps import AttentionMaps
from headscope.core.pictures import with_video
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Expected, Seed, validated
from headscope.errors import InputError, RefusedError
from headscope.models.model import Model
from headscope.models.perceive import of_tower
from headscope.models.weights import seeded
from headscope.models.within import virtual_tokens

_BEFORE = 8
"""So many tokens are decoded with one that follows them: the first one of a text loses its space."""

_Message = Annotated[
    AnyMapping, Expected("a message {'role': …, 'content': …} (several prompts are a list of strings)")
]
Prompt = str | Sequence[_Message] | Tokens
"""What a model goes on from: a text, a conversation or tokens."""
Prompts = Annotated[
    list[Prompt] | Prompt | None, Expected("a string, a list of messages, Tokens or a list of prompts")
]


@validated
def generate(
    model: Model,
    text: Prompts = None,
    *,
    image: Any = None,
    video: Any = None,
    audio: Audio | None = None,
    max_new_tokens: Count = 20,
    seed: Seed | None = None,
    rows: Literal["all", "written"] = "all",
    **options: Any,
) -> AttentionMaps | Parts | list[AttentionMaps | Parts]:
    """Let a model write, and see where it looked at each step.

    The last token written was never fed back, so it is no query and no key. Tokens that were written have the class
    ``generated``; views draw a line where the prompt ends. A key that a sliding cache had dropped has weight 0. Where
    rotary frequencies hang on the length (dynamic scaling, longrope), a row is the one that wrote: its query has the
    frequencies of its own step, and a key those of the step that cached it. Beside a picture the words of the prompt
    are the ``question``, and the picture's tokens the ``image``.

    Args:
        model: a causal model or an encoder-decoder, from `headscope.load`.
        text: the prompt, or a conversation; the chat template's generation prompt is added. Beside a picture a string,
            with all that the template would add. A list of these is written one after another, each as if alone.
        image: a picture that the text is about, or that a model describes without one; as `headscope.capture` takes it.
        video: a video in place of it, as `headscope.capture` takes it.
        audio: a sound, for a model such as Whisper that writes what it hears; as `headscope.capture` takes it.
        max_new_tokens: how many tokens to write at most.
        seed: of the random numbers, where `options` ask for sampling.
        rows: ``written``: only where a token looked as it wrote the next one, so that memory is linear in length. The
            queries are then the prompt's last token and what was written; all tokens are keys.
        options: for transformers' ``generate``; greedy unless they say otherwise; one beam. Whisper takes ``language``
            and ``task``.

    Returns:
        `AttentionMaps` ``[layer head query key]`` over prompt and written tokens; `Parts` for an encoder-decoder, and
        for a model that looks at a picture with a part of its own. Their ``text`` is what the model wrote
        (``meta["written"]``). A list of prompts gives a list.

    >>> gpt2 = hs.load("gpt2")
    >>> maps = hs.generate(gpt2, "Once upon a time", max_new_tokens=3)
    >>> int(maps.query.classes["generated"].sum())
    2
    """
    image = with_video(image, video)
    if isinstance(text, list) and not isinstance(next(iter(text), None), Mapping):
        if not text or image is not None or audio is not None:
            several = "a list of prompts" if text else "an empty list"
            raise InputError(
                f"text: expected one prompt, or a list of them without image and audio; found {several}"
            )
        given: AnyDict = {"max_new_tokens": max_new_tokens, "seed": seed, "rows": rows, **options}
        return [_numbered(number, model, prompt, given) for number, prompt in enumerate(text)]
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
    if not options.get("use_cache", True):
        raise InputError("use_cache: attention is stitched from steps that go on, expected True, found False")
    axes, ready = _given(model, cast("Prompt | None", text), image, audio)
    written = rows == "written"
    if not written:
        _expect_room(model, len(axes.get("self", ())))
    records: list[AttentionRecord] = []

    def hook(record: AttentionRecord) -> None:
        if not written or not _reads(record):
            records.append(kept(record, slice(-1 if written else 0, None)))

    options = {"do_sample": False, **options}
    fed = _Fed(model, records)
    with (
        torch.no_grad(),
        seeded(seed),
        fed.watching(),
        recording(model.module, hook, fused=written),
        running(model, ready),
    ):
        ids = write(**ready, max_new_tokens=max_new_tokens, **options)[0].cpu().numpy().astype(np.int64)
    if model.encoder_decoder:  # Whisper gives back what it wrote alone
        ids = np.concatenate([fed.ids, ids[-1:]])
    prompt = axes.get("self", Tokens(())) if not model.encoder_decoder else Tokens(())
    start = len(prompt) or fed.start
    query = _query(model, prompt, ids[:-1], start)
    new: Any = ids[len(prompt) :].tolist()
    if model.tokenizer is not None:
        new = str(model.tokenizer.decode(new, skip_special_tokens=True))
    meta = {**describe(model), "written": new}
    parts: dict[str, AttentionMaps] = {}
    for name, calls in group(placed(model.module, fed.records(), ready, 1, axes)).items():
        (tokens, keep), (key, _) = sides(model, name, calls, 0, ready, axes)
        if _reads(calls[0]):
            parts[name] = assemble(calls, 0, tokens, key, keep, keep, meta=meta)
        else:
            queries, keys = calls[0].shape[2:]
            first = after_virtual(query, virtual_tokens(model.module)) if keys > start else query
            looking = first if queries > start else query
            if written:
                looking = query.take(slice(start - 1, None))
            parts[name] = stitch(calls, looking, key if name == "cross" else first, meta)
    return parts["self"] if list(parts) == ["self"] else Parts(parts)


def _reads(record: AttentionRecord) -> bool:
    """Whether a call is of a part that reads, and does not write: an encoder, or a tower of pictures."""
    return record.kind == "encoder" or of_tower(record.module)


def kept(record: AttentionRecord, rows: slice) -> AttentionRecord:
    """A call with the weights of some queries, and without what they are of."""
    weights, mask = record.weights(rows).detach().clone(), record.mask
    if mask is not None and mask.shape[-2] > 1:
        mask = mask[..., rows, :].clone()
    q, k = (
        x.new_empty(*weights.shape[:2], size, 0)
        for x, size in zip((record.q, record.k), weights.shape[2:], strict=True)
    )
    return replace(record, q=q, k=k, v=None, bias=None, mask=mask, given=weights)


def _expect_room(model: Model, tokens: int) -> None:
    """Raise `RefusedError` where the maps of a prompt of so many tokens are larger than the machine's memory."""
    parts: Any = getattr(model.checked, "parts", ())
    heads = sum(sum(part.heads) for part in parts if part.name == "self")
    if (size := 4 * heads * tokens**2) > memory():
        raise RefusedError(
            f"generate: expected maps that fit into this machine's memory, found {size / 1e9:,.1f} GB for the prompt "
            f"({heads:,} heads × {tokens:,} × {tokens:,} tokens); rows='written' keeps the rows that wrote alone"
        )


def memory() -> float:
    """Bytes of the machine's memory; infinity where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _numbered(number: int, model: Model, prompt: Any, given: AnyDict) -> AttentionMaps | Parts:
    """What `generate` gives for one of several prompts. Raises `InputError` that says which of them it cannot take."""
    try:
        return cast("AttentionMaps | Parts", generate(model, prompt, **given))
    except InputError as error:
        raise InputError(f"text[{number}]: {str(error).removeprefix('text: ')}") from error


def _given(
    model: Model, text: Prompt | None, image: Any, audio: Audio | None
) -> tuple[dict[str, Tokens], dict[str, Tensor]]:
    """The axes of what is given, and what the module takes."""
    if image is not None or audio is not None:
        return prepare(model, text, image=image, audio=audio)
    if text is None:
        raise InputError("generate: expected a text, image or audio, found none")
    prompt = (
        model.chat(text, add_generation_prompt=True) if isinstance(text, list) else tokens_of(model, text)
    )
    ready = model.inputs([prompt])
    ready.pop("token_type_ids", None)
    return {"self": prompt, "encoder": prompt}, ready


class _Fed:
    """What the decoder of an encoder-decoder reads, pass by pass."""

    def __init__(self, model: Model, records: list[AttentionRecord]) -> None:
        self._model, self._records = model, records
        self._ids: list[Ints] = []
        self._begin = 0

    def watching(self) -> Hooks:
        """Within it what the decoder reads is kept."""
        module: Any = self._model.module
        hooks = Hooks()
        hooks.before(
            module.base_model if virtual_tokens(module) else module, self._reads
        )  # peft lets that write
        return hooks

    @property
    def ids(self) -> Ints:
        """All that was read."""
        return np.concatenate(self._ids)

    @property
    def start(self) -> int:
        """How many tokens were read before any was written."""
        return len(self._ids[0])

    def records(self) -> list[AttentionRecord]:
        """The calls of the encoder's first pass, and of the decoder's passes that wrote.

        Before these Whisper may run both to tell the language.
        """
        kinds = [record.kind for record in self._records]
        heard = next((place for place, kind in enumerate(kinds) if kind != "encoder"), len(kinds))
        rest = self._records[max(heard, self._begin) :]
        return self._records[:heard] + [record for record in rest if record.kind != "encoder"]

    def _reads(self, _: nn.Module, __: tuple[Any, ...], given: AnyDict) -> None:
        ids: Any = given.get("decoder_input_ids")
        if ids is None:
            return
        past: Any = given.get("cache", given.get("past_key_values"))  # transformers 5.24 and before
        if past is None or not past.get_seq_length():
            self._ids, self._begin = [], len(self._records)
        self._ids.append(ids[0].cpu().numpy().astype(np.int64))


def _query(model: Model, prompt: Tokens, ids: Ints, start: int) -> Tokens:
    """The axis of what was read: the prompt, and what was written after its first `start` tokens."""
    fed = from_ids(ids, model.tokenizer)
    first = len(prompt)
    classes: dict[str, Bools] = {"generated": np.arange(len(fed)) >= start}
    for name, mask in prompt.classes.items():
        known = fed.classes.get(name, np.zeros(len(fed), np.bool_)).copy()
        known[:first] = mask
        classes[name] = known
    query = fed.with_classes(**classes)
    if prompt.places is not None:
        places = np.full((len(fed), 5), np.nan)
        places[:first] = prompt.places
        pieces = [*prompt.pieces, *fed.pieces[first:]]
        query = replace(query, pieces=pieces, media=prompt.media, places=places)
    if model.tokenizer is None:
        return query
    read = prompt.texts
    if read is None:
        read = written_texts(model.tokenizer, ids[:first].tolist(), 0)
    return replace(query, texts=[*read, *written_texts(model.tokenizer, ids.tolist(), first)])


def stitch(records: Sequence[AttentionRecord], query: Tokens, key: Tokens, meta: AnyMapping) -> AttentionMaps:
    """One map a layer from the records of all steps; each step's rows go below those of the step before."""
    layers, sinks, sights = list[AnyFloats](), list[AnyFloats](), list[Bools]()
    index = sorted({record.layer for record in records})
    for layer in index:
        steps = [record for record in records if record.layer == layer]
        maps = np.zeros((steps[0].shape[1], len(query), len(key)), np.float32)
        sink, sight, start = np.zeros(maps.shape[:2], np.float32), np.zeros(maps.shape, np.bool_), 0
        for record in steps:
            # Where frequencies change all is read once more (longrope): those rows did not write.
            repeated = start if record.shape[2] > start else 0
            weights = numpy_of(record.weights()[0])[:, repeated:]
            _, rows, keys = weights.shape
            seen = len(key) if record.kind != "self" else start + rows + len(key) - len(query)
            offset = record.key_offset or max(0, seen - keys)  # a sliding cache keeps the last keys only
            width = min(keys, seen - offset)
            if start + rows > len(query) or offset + width > len(key) or weights[:, :, width:].any():
                raise RefusedError(
                    f"{record.module}: step {record.step} does not continue the steps before it"
                )
            here = np.s_[:, start : start + rows, offset : offset + width]
            maps[here], sight[here] = weights[:, :, :width], seen_by(record, 0)[:, repeated:, :width]
            if record.sinks is not None:
                sink[:, start : start + rows] = 1 - weights.sum(-1)
            start += rows
            record.given = None  # the maps have it
        if start != len(query):
            raise RefusedError(f"layer {layer}: {start} rows were seen in all steps, expected {len(query)}")
        layers.append(maps)
        sinks.append(sink)
        sights.append(agreed(sight | (maps > 0) if edits.now() else sight))
    kind = records[0].kind
    causal, visible = sight_of(sights, kind)
    return AttentionMaps(
        layers,
        query,
        key,
        kind,
        causal,
        sinks if any(record.sinks is not None for record in records) else None,
        index,
        partial=bool(edits.now()),
        meta=meta,
        visible=visible,
    )


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
