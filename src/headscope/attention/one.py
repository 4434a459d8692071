"""The attention of one input, or of a batch that is already made."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Annotated, Any, TypedDict, cast

import numpy as np
import torch
import transformers
from torch import Tensor

import headscope
from headscope.attention.implicit import NO_MIXER, through_mixers
from headscope.attention.mixers import unseen
from headscope.attention.module_inputs import expect_hidden, say_moved, say_packed, say_padding, taken
from headscope.attention.objective import asked
from headscope.attention.parts import GIVEN, Parts, assemble, from_ids, group, numpy_of, seen_by, sides
from headscope.attention.record import AttentionRecord, Hook, leaf_of
from headscope.attention.recording import evaluating, read, recording
from headscope.attention.vision import eyes, verified
from headscope.attention.windows import LARGEST, expected_bytes, placed, tile_names
from headscope.core.arrays import AnyFloats
from headscope.core.audio import Audio
from headscope.core.counts import plural
from headscope.core.failures import CALLERS, out_of_memory, reason, warn
from headscope.core.maps import AttentionMaps
from headscope.core.pictures import with_video
from headscope.core.tokens import Tokens
from headscope.core.validation import Expected, validated
from headscope.errors import HeadscopeError, InputError, RefusedError, RunError, UnknownError
from headscope.models.model import Model, expect_attention, uncached
from headscope.models.perceive import listened, takes_ids
from headscope.models.pictures import looked, rows_of
from headscope.models.pieces import of_pieces, shown_pieces
from headscope.models.weights import not_finite

ADVICE = "give text that it knows, or say --allow-unknown (allow_unknown=True of headscope.load)"
"""Where a text is not known."""

Captured = AttentionMaps | Parts
Message = Annotated[
    Mapping[str, Any], Expected("a message {'role': …, 'content': …} (a text is one string, a pair a tuple)")
]
Text = Annotated[
    str | tuple[str, str] | Sequence[Message] | Tokens,
    Expected("a string, (A, B), a list of messages or Tokens"),
]
"""What is read: a text, a pair, a conversation or tokens."""


Prepared = tuple[dict[str, Tokens], dict[str, Tensor]]
"""What `prepare` gives."""

_WITH_TEXT = "capture: pair and target go with a text, not with inputs"


class GivenInput(TypedDict, total=False):
    """What may be given beside a text, or in its place; see `capture`."""

    pair: str | None
    target: str | None
    inputs: Mapping[str, Any] | None
    image: Any
    audio: Audio | None


@validated
def capture(
    model: Model,
    text: Text | None = None,
    *,
    pair: str | None = None,
    target: str | None = None,
    image: Any = None,
    video: Any = None,
    audio: Audio | None = None,
    inputs: Mapping[str, Any] | None = None,
    implicit: bool = False,
) -> Captured | list[Captured]:
    """The attention of every head for one input, exactly as the model used it.

    Args:
        model: from `headscope.load`.
        text: a string, an ``(A, B)`` tuple, a conversation (a list of ``{"role": …, "content": …}``, rendered by the
            tokenizer's chat template; the tokens get the classes `system`, `user`, `assistant`) or `Tokens`.
        pair: text B.
        target: the decoder's text, for an encoder-decoder.
        image: a picture, for a model of vision, or beside a text for one that reads both: a path, a Pillow image, or
            numbers ``[row column 3]`` (whole ones to 255, or fractions to 1); or a list of them. Each patch of the axis
            knows which area of which picture it is (`Tokens.boxes`).
        video: in place of pictures the frames of a video, for a model that reads one: a folder of frames, a GIF or an
            animated WebP, numbers ``[frame row column 3]``, or a list of pictures.
        audio: a sound, for a model of sound: a WAV file (others with the extra ``sounds``), or ``(samples, rate)``.
            Each frame of the axis knows its time (`Tokens.times`). A model that writes what it hears needs `target`.
        inputs: in place of a text, what the module takes (``input_ids``, ``pixel_values``, …), with a batch axis, and
            scalars of its forward pass (``use_cache=False``). A mask of booleans ``[batch 1 query key]`` says what is
            seen. No tokenizer is needed: without one the pieces are ids, patches or frames, or `text` is an axis of
            your own (`headscope.Axis`).
        implicit: also the part ``implicit``: maps of layers that do not attend, where what mixes tokens in them is
            linear in its values (docs/models.md), at the cost described in `headscope.attention.implicit`.

    Returns:
        `AttentionMaps`; `Parts` of them (``.encoder``, ``.decoder``, ``.cross``; or a tower's name) for a model of
        several parts; for `inputs` of several rows a list, with the padding taken off.

    Raises:
        InputError: the text is empty or too long, or does not go with the model.
        RefusedError: `implicit` of a model in which no such map is known, or of more than 1,024 tokens.

    >>> hs.capture(model, "The cat sat.")
    AttentionMaps(6 layers × 12 heads, 6 × 6 tokens, self)
    >>> hs.capture(model, "The cat sat.", pair="It was tired.").a_to_b().weights.shape
    (6, 12, 4, 4)
    """
    image = with_video(image, video)
    model = eyes(model) if image is not None and text is None else model
    axes, ready = prepare(model, text, pair, target, inputs, image, audio)
    rows = counted(ready, axes)
    mixed: list[AttentionRecord] = []
    calls = record(model, ready, mixed.append if implicit else None)
    say_packed(model, ready, calls)
    if inputs is not None:
        say_padding(model, ready)
    records = [*placed(model.module, calls, ready, rows, axes), *mixed]
    meta = describe(model)
    if implicit:
        meta["unseen"] = unmapped(model, records, ready)
    captured = [assembled(model, records, row, ready, axes, meta) for row in range(rows)]
    say_moved(model, ready)
    return captured[0] if len(captured) == 1 else captured


@validated
def gradients(
    model: Model,
    text: Text | None = None,
    objective: Callable[[Any], Tensor] = lambda output: output[0].sum(),
    *,
    pair: str | None = None,
    target: str | None = None,
    image: Any = None,
    video: Any = None,
    audio: Audio | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> dict[str, list[AnyFloats]]:
    """Gradient of a number with respect to every attention weight, ``∂ objective(output) / ∂ α``.

    Args:
        objective: takes what the module returns and gives a scalar tensor, such as a loss or one logit.
        model, text, pair, target, image, video, audio, inputs: as in `capture`; one row.

    Returns:
        For each part (``self``, or ``encoder``, ``decoder``, ``cross``) one array ``[head query key]`` a layer; 0 where
        the query cannot see the key, as nothing can put a weight there.

    >>> model = headscope.load()
    >>> slopes = gradients(model, "The cat sat.", lambda output: output.last_hidden_state[0, 0, 0])
    >>> slopes["self"][0].shape
    (12, 6, 6)
    """
    image = with_video(image, video)
    model = eyes(model) if image is not None and text is None else model
    axes, ready = prepare(model, text, pair, target, inputs, image, audio)
    records: list[AttentionRecord] = []

    def keep(record: AttentionRecord) -> Tensor | None:
        records.append(record)
        return leaf_of(record)

    with torch.enable_grad(), recording(model.module, keep):
        with running(model, ready):
            output = model.module(**ready)
        say_packed(model, ready, records)
        if inputs is not None:
            say_padding(model, ready)
        number = asked(objective, output)
        parts = group(placed(model.module, records, ready, counted(ready, axes), axes))
        slopes = {
            name: _slopes(number, calls) for name, calls in parts.items() if expected_bytes(calls) <= LARGEST
        }
    if not all(np.isfinite(slope).all() for layers in slopes.values() for slope in layers):
        raise not_finite(model.name, model.module, "gradients")
    return slopes


def _slopes(number: Tensor, records: Sequence[AttentionRecord]) -> list[AnyFloats]:
    """Gradients with respect to the weights of each call; 0 where they do not matter to the number, or are hidden."""
    weights = [call.given for record in records for call in record.called if call.given is not None]
    slopes = iter(
        torch.autograd.grad(number, weights, retain_graph=True, allow_unused=True, materialize_grads=True)
    )
    return [
        numpy_of(record.joined([next(slopes) for _ in record.called])[0]) * seen_by(record, 0)
        for record in records
    ]


def record(model: Model, inputs: Mapping[str, Tensor], mixing: Hook | None = None) -> list[AttentionRecord]:
    """Every attention call of one forward pass, without gradients, in the order of the calls.

    `mixing` is shown each mixer with an implicit map.
    """
    if mixing is None:
        expect_attention(model)
    records: list[AttentionRecord] = []
    mixers = nullcontext() if mixing is None else through_mixers(model.module, mixing)
    without = {} if mixing is None else uncached(model.module)
    with torch.no_grad(), recording(model.module, records.append), mixers, running(model, inputs):
        model.module(**{**inputs, **without})
    return records


def unmapped(model: Model, records: Sequence[AttentionRecord], ready: Mapping[str, Tensor]) -> str:
    """What of a model's layers has neither an attention map nor an implicit one, of the records of a pass over `ready`.

    Raises `RefusedError` where no layer has an implicit map.
    """
    if all(record.signed is None for record in records):
        raise RefusedError(f"{model.name}: {NO_MIXER}")
    tolerance = 1e-4 if model.checked is None else model.checked.tolerance
    return unseen(model.module, group(records), ready, tolerance)[0]


@contextmanager
def running(model: Model, inputs: Mapping[str, Tensor]) -> Generator[None]:
    """Within it a module runs: where it fails, an `InputError` says on what, with the module's own error as the cause.

    `RunError` where the memory is full.
    """
    try:
        with read.entered(inputs):
            yield
    except HeadscopeError:
        raise
    except Exception as error:
        if CALLERS in vars(error):
            raise
        if (full := out_of_memory(error)) is not None:
            raise RunError(f"{model.name}: {full}") from error
        shapes = {name: getattr(value, "shape", None) for name, value in inputs.items()}
        given = ", ".join(
            f"{name}={inputs[name]}" if shape is None else f"{name} {tuple(shape)}"
            for name, shape in shapes.items()
        )
        raise InputError(
            f"inputs: expected what {model.name} can run on, found {given} ({reason(error)})"
        ) from error


def output_of(model: Model, ready: Mapping[str, Tensor], keep: Hook | None = None) -> Any:
    """What a module in evaluation mode returns of an input; `keep` is shown its attention calls, which may be fused."""
    ways = evaluating(model.module) if keep is None else recording(model.module, keep, fused=True)
    with ways, running(model, ready):
        return model.module(**ready, **uncached(model.module))


def prepare(
    model: Model,
    text: Any,
    pair: str | None = None,
    target: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    image: Any = None,
    audio: Audio | None = None,
) -> Prepared:
    """The axes that are known beforehand (``self``, ``decoder``) or what they are of (``patches``, ``sound``), and what
    the module takes.
    """
    if audio is not None:
        if any(given is not None for given in (text, pair, inputs, image)):
            raise InputError(
                "audio: expected target beside it, or nothing; found a text, pair, inputs or image"
            )
        return _of_sound(model, audio, target)
    if image is not None:
        if inputs is not None or pair is not None:
            raise InputError("image: expected a text beside it, or none; found pair or inputs")
        return _of_picture(model, image, text, target)
    if inputs is not None and isinstance(text, Tokens):
        axes, ready = _of_tensors(model, inputs, target)
        return {**axes, GIVEN: text}, ready
    if (text is None) == (inputs is None):
        raise InputError(
            "capture: expected a text or inputs={...}, " + ("found neither" if text is None else "found both")
        )
    if inputs is not None:
        if pair is not None:
            raise InputError(_WITH_TEXT)
        return _of_tensors(model, inputs, target)
    return _of_text(model, text, pair, target)


def _of_sound(model: Model, audio: Audio, target: str | None) -> Prepared:
    heard = listened(model, audio)
    axes, ready = _of_tensors(model, heard.inputs, target)
    return {**axes, "patches" if len(heard.axis) > 1 else "sound": heard.axis}, ready


def _of_picture(model: Model, image: Any, text: Any, target: str | None) -> Prepared:
    if target is not None and not model.encoder_decoder:
        raise InputError(
            f"{model.name}: target is for encoder-decoders; expected a text beside the image, or none"
        )
    if text is not None and not isinstance(text, str):
        raise InputError(f"image: expected a string beside it, found {type(text).__name__}")
    seen = looked(model, image, text)
    axes = {"patches": seen.patches, **seen.parts}
    if seen.tokens is not None:
        axes["self"] = seen.tokens
    ready = taken(model, seen.inputs)
    if model.encoder_decoder:
        axes, ready = _with_decoder(model, target, axes, ready)
    verified(model, ready)
    return axes, ready


def _of_tensors(model: Model, inputs: Mapping[str, Any], target: str | None) -> Prepared:
    ready = taken(model, inputs)
    if target is None:
        return {}, ready
    if not model.encoder_decoder or model.reads == "input_ids":
        raise InputError(_WITH_TEXT)
    expect_one_row(ready, "target goes with the inputs")
    return _with_decoder(model, target, {}, ready)


def _of_text(model: Model, text: Any, pair: str | None, target: str | None) -> Prepared:
    if not takes_ids(model):
        way = {"pixel_values": "image=… or ", "input_features": "audio=… or ", "input_values": "audio=… or "}
        raise InputError(
            f"{model.name}: takes {model.reads}, no text: give {way.get(model.reads, '')}inputs={{{model.reads!r}: …}}"
        )
    tokens = tokens_of(model, text, pair)
    ready = model.inputs([tokens])
    verified(model, ready)
    axes = {"self": tokens, "encoder": tokens}
    if model.encoder_decoder:
        return _with_decoder(model, target, axes, ready)
    if target is not None:
        raise InputError(
            f"{model.name}: target is for encoder-decoders; this model has no decoder that looks at an encoder"
        )
    return axes, ready


def tokens_of(model: Model, text: Any, pair: str | None = None) -> Tokens:
    """The tokens of a text, as `capture` takes it.

    Warns of pieces that the tokenizer does not know. Raises `UnknownError` where it knows none, unless the model
    allows it.
    """
    if isinstance(text, Tokens):
        return text
    tokens = _encoded(model, text, pair)
    unknown, pieces = model.unknown(tokens)
    if unknown:
        message = f"text: {of_pieces(unknown, pieces)} are unknown to the tokenizer of {model.name}"
        if unknown == pieces and not model.allow_unknown:
            raise UnknownError(message, ADVICE)
        warn(message, 1)
    return tokens


def _encoded(model: Model, text: Any, pair: str | None) -> Tokens:
    if isinstance(text, tuple):
        if pair is not None:
            raise InputError("text: expected a string, or a tuple (A, B) and no pair")
        return model.encode(*cast("tuple[str, str]", text))
    return model.encode(text, pair) if isinstance(text, str) else model.chat(text)


def counted(ready: Mapping[str, Tensor], axes: Mapping[str, Tokens]) -> int:
    """How many inputs there are in what `prepare` gave; the tiles of a picture are one."""
    return 1 if tile_names(axes) else rows_of(ready)


def expect_one_row(ready: Mapping[str, Tensor], what: str, axes: Mapping[str, Tokens] | None = None) -> None:
    """Raise `InputError` where what a module takes has several rows; `what` is of one input."""
    rows = counted(ready, axes or {})
    if rows != 1:
        raise InputError(f"inputs, axis batch: {what} of one input, found {rows} rows; give one at a time")


def _with_decoder(
    model: Model, target: str | None, axes: Mapping[str, Tokens], ready: Mapping[str, Tensor]
) -> Prepared:
    """What `prepare` gives, with what an encoder-decoder's decoder reads of a text."""
    if target is None:
        raise InputError(
            f"{model.name}: an encoder-decoder needs target=..., the text that its decoder reads "
            "(or hs.generate, which lets it write one)"
        )
    ids = decoder_tokens(model, model.encode(target)).ids
    assert ids is not None
    row = torch.as_tensor(np.array(ids)).to(model.device)[None]
    return {**axes, "decoder": from_ids(ids, model.tokenizer)}, {**ready, "decoder_input_ids": row}


def decoder_tokens(model: Model, encoded: Tokens) -> Tokens:
    """What an encoder-decoder's decoder reads of an encoded text: its start, and all but the end, which it predicts.

    Raises `InputError` for a model whose configuration names no start.
    """
    start = decoder_start(model)
    if encoded.ids is None:
        raise InputError("target: expected a text with ids, found pieces without")
    kept = len(encoded)
    if kept and encoded.ids[-1] == getattr(model.tokenizer, "eos_token_id", None):
        kept -= 1
    read = encoded.take(slice(0, kept))
    if kept and encoded.ids[0] == start:  # Whisper's tokenizer begins a text as its decoder does
        return read
    return read.longer(shown_pieces(model.tokenizer, [start]), start)


def decoder_start(model: Model) -> int:
    """The id that an encoder-decoder's decoder reads first. Raises `InputError` where the configuration names none."""
    start = getattr(model.config, "decoder_start_token_id", None)
    if start is None:
        start = getattr(model.config, "bos_token_id", None)
    if start is None:
        raise InputError(
            f"{model.name}: its configuration names no decoder_start_token_id; give inputs={{...}}"
        )
    return int(start)


def assembled(
    model: Model,
    records: Sequence[AttentionRecord],
    row: int,
    ready: Mapping[str, Tensor],
    axes: Mapping[str, Tokens],
    meta: Mapping[str, Any] | None = None,
) -> Captured:
    """The maps of one row of a batch, from the records of a pass over what `prepare` gave, as `placed` tells them."""
    rows, meta = counted(ready, axes), meta or describe(model)
    parts: dict[str, AttentionMaps] = {}
    for name, calls in group(records).items():
        if calls[0].shape[0] == 1 < rows:
            raise RefusedError(
                f"{model.name}: expected a call of attention for each of {rows} inputs, found several inputs in one "
                f"call ({calls[0].shape[3]} positions); give one at a time"
            )
        if calls[0].shape[0] != rows:
            raise RefusedError(
                f"{model.name}: attends within {calls[0].shape[0]} windows of {calls[0].shape[3]} positions for "
                f"{plural(rows, 'input')}, so there is no one map an input; "
                "headscope.attention.one.record gives the calls as they are"
            )
        (query, keep_query), (key, keep_key) = sides(model, name, calls, row, ready, axes)
        expect_hidden(model, calls, row, keep_query, keep_key)
        if name.startswith("stage "):  # a decoder looks at the last one
            axes = {**axes, "encoder": query}
        if (size := expected_bytes(calls)) > LARGEST:
            warn(
                f"{name}: the maps of its {len(key):,} positions would take {size / 1e9:,.0f} GB, so it is left out; "
                "a smaller picture (size of the image processor) shows it"
            )
            continue
        parts[name] = assemble(calls, row, query, key, keep_query, keep_key, meta=meta)
    given = axes.get(GIVEN)
    lengths = {len(axis) for maps in parts.values() for axis in (maps.query, maps.key)}
    if given is not None and len(given) not in lengths:
        there = " or ".join(map(str, sorted(lengths)))
        raise InputError(f"text: expected {there} tokens, as {model.name} attends over, found {len(given)}")
    return parts["self"] if list(parts) == ["self"] else Parts(parts)


def describe(model: Model) -> dict[str, Any]:
    """What made a result: model, revision, dtype and versions."""
    return {
        "model": model.name,
        "revision": model.revision,
        "dtype": str(model.dtype).removeprefix("torch."),
        "notes": list(model.notes),
        "unseen": model.unseen,
        "versions": {
            "headscope": headscope.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
    }
