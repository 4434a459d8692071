"""Refuse what cannot be verified: the check that every model passes before its attention is shown.

Three things are checked on a small input, for every attention call: rows sum to 1 (or to 1 minus a declared sink);
the weights recomputed from what was recorded (q, k, scaling, bias, softcap, mask, sinks) equal those the model used;
and an edit of the weights changes the output. And recording itself must leave the output as it was. A model with a
weight that is no finite number is refused by its name (`headscope.models.weights`).

Whether padding moves an input (a convolution over tokens sees it, for one) is measured, not refused: corpora then go
through such a model in batches of inputs of equal length.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from headscope.attention.implicit import mixers
from headscope.attention.mixers import unseen
from headscope.attention.parts import group, is_causal, seen_by
from headscope.attention.record import AttentionRecord, Route, silenced
from headscope.attention.recording import Enough, evaluating, recording, route
from headscope.attention.refuse import chunked
from headscope.attention.windows import placed
from headscope.core.types import AnyMapping
from headscope.errors import HeadscopeError, RefusedError
from headscope.models.denoisers import TEXT, Canvas, denoises
from headscope.models.model import Model, uncached
from headscope.models.perceive import listened
from headscope.models.perceiver import moved
from headscope.models.pictures import looked, rows_of
from headscope.models.places import both_sides, frames_read, pixels_of, vision_config
from headscope.models.rotary import unscaled
from headscope.models.vocabulary import Vocabulary, vocabulary
from headscope.models.weights import expect_finite
from headscope.models.within import virtual_tokens

READERS = ("self", "encoder", "text", "language")
"""What the part of a model is called that reads a text."""

PROBE = "When Ada opened the old box, she found 2 letters; neither was signed."

PADDING, HALF_PADDING = 1e-4, 2e-2
"""Padding that changes a weight by more moves an input; the second in half precision, whose own noise is that large."""


_FIRST = 4
"""So many calls of a denoiser are looked at for the first that has text and latents on its axis."""


@dataclass(frozen=True)
class PartCheck:
    """What was found in one part of a model: ``self``, ``encoder``, ``decoder``, ``cross`` or a tower's name.

    Attributes:
        layers: how many layers have attention maps.
        heads: how many heads each of them has.
        key_heads: how many key heads each of them has (fewer than heads: grouped-query attention).
        causal: whether a token sees only what stands before it.
        sink: whether rows give part of their mass to a learned sink.
        row_error: largest distance of a row's sum (sink included) from 1.
        recompute_error: largest distance between the recomputed weights and the model's own.
        edit_effect: largest change of the output when one head is silenced.
    """

    name: str
    layers: int
    heads: Sequence[int]
    key_heads: Sequence[int]
    causal: bool
    sink: bool
    row_error: float
    recompute_error: float
    edit_effect: float


@dataclass(frozen=True)
class Check:
    """What the check of a model found.

    Attributes:
        route: which way in the model has.
        parts: what was found in each part; none in a model that has implicit maps alone.
        output_error: largest change of the output under recording, relative.
        tolerance: what errors were allowed.
        padding_error: largest change of an input's weights (and, relative, of its output) where a longer one stands
            beside it in the batch; None for a model that reads no tokens.
        prefix: how many tokens a picture has beside its patches, such as ``[CLS]``; None for a model that does not read
            pictures, or whose tokens are no one grid of patches.
        vocabulary: the sizes of the tokenizer and the embedding; None for a model without either.
        inputs: the names of what the module was given.
        unseen: what of the layers has no attention map, in sentences; empty where all that mixes tokens has one.
        implicit: the classes of its mixers that have implicit maps, one a layer (`headscope.attention.implicit`).
        text_first: whether text stands before latents where a denoiser attends to both on one axis; None where it does
            not, or that cannot be told.
        mixing: by name the modules that mix tokens without attention, and what they are, such as ``convolution``.
    """

    route: Route
    parts: Sequence[PartCheck]
    output_error: float
    tolerance: float
    padding_error: float | None = None
    vocabulary: Vocabulary | None = None
    prefix: int | None = None
    inputs: frozenset[str] = frozenset()
    unseen: str = ""
    implicit: Sequence[str] = ()
    mixing: Mapping[str, str] = field(default_factory=dict[str, str])
    text_first: bool | None = None

    @property
    def same_length(self) -> bool:
        """Whether padding moves an input, so that a batch must have inputs of one length."""
        allowed = PADDING if self.tolerance < 1e-2 else HALF_PADDING
        return self.padding_error is not None and not self.padding_error <= allowed

    @property
    def causal(self) -> bool:
        """Whether the part that reads the text is causal (of an encoder-decoder: the encoder).

        A model without a part has causal mixers alone.
        """
        return next((part.causal for part in self.parts if part.name in READERS), not self.parts)


def check(model: Model, inputs: Mapping[str, Tensor] | None = None) -> Check:
    """Check a model on `inputs`, or on a small input made for it.

    That is a text where it reads one, else a picture or a sound; what its processor makes of a picture (and a text) or
    a sound where the model does not run on that (CLIP), or its own attention functions do not agree on it (PaliGemma).

    Raises `RefusedError` with the sentence that says what was found and what was expected.
    """
    if reason := chunked(model.module):
        raise RefusedError(f"{model.name}: {reason}")
    expect_finite(model.name, model.module)
    sizes = vocabulary(model)
    if inputs is not None:
        return _checked(model, inputs, sizes, given=True)
    try:
        return _checked(model, probe_inputs(model), sizes)
    except RefusedError:
        if (made := picture_inputs(model) or _sound_inputs(model)) is None:
            raise
        return _checked(model, made, sizes)


def _checked(
    model: Model, ready: Mapping[str, Tensor], sizes: Vocabulary | None, *, given: bool = False
) -> Check:
    tolerance = 1e-4 if model.dtype in (torch.float32, torch.float64) else 5e-2
    with torch.no_grad(), evaluating(model.module):
        ways = "" if given else "; give hs.load(model, inputs={...}) what it takes"
        with _tried(model, ready, ways):
            plain = outputs(model.module(**ready))
        calls: list[AttentionRecord] = []
        ways = "; unrecorded it runs"
        if route(model.module) == "interface":
            ways += ": a recording takes the eager attention of the file that its class is from"
        with _tried(model, ready, ways), recording(model.module, calls.append):
            recorded = outputs(model.module(**ready))
        known = mixers(model.module)
        if not calls and not known:
            raise RefusedError(
                f"{model.name}: no softmax over query-key scores was seen; its attention is of a kind that has no map, "
                "or runs inside a compiled or foreign kernel"
            )
        moved = distance(plain, recorded)
        if not moved <= max(tolerance, 1e-3):
            raise RefusedError(
                f"{model.name}: recording moved the output by {moved:.1e} (relative), expected 0"
            )
        grouped = group(placed(model.module, calls, ready, rows_of(ready))) if calls else {}
        parts = [_part(model, name, records, ready, recorded, tolerance) for name, records in grouped.items()]
        padded = padding_error(model, ready)
        unmapped, mixing = unseen(model.module, grouped, ready, tolerance, () if calls else known)
        order = _text_first(model, ready)
    before = _prefix(model, calls, ready)
    return Check(
        route(model.module),
        parts,
        moved,
        tolerance,
        padded,
        sizes,
        before,
        frozenset(ready),
        unmapped,
        [type(one).__name__ for one in known],
        mixing,
        order,
    )


def _text_first(model: Model, ready: Mapping[str, Tensor]) -> bool | None:
    """Whether text stands first on the first axis of text and latents: where queries change with the text."""
    canvas = Canvas.of(model.module, ready)
    if canvas is None or not canvas.joint:
        return None
    text = ready[TEXT]
    noise = torch.randn(text.shape, generator=torch.Generator().manual_seed(0)).to(text)
    passes: list[list[Tensor]] = []
    for states in (text, text + noise):
        queries: list[Tensor] = []

        def keep(record: AttentionRecord, queries: list[Tensor] = queries) -> None:
            queries.append(record.q[0])
            if len(queries) == _FIRST:
                raise Enough

        with suppress(Enough), recording(model.module, keep, fused=True):
            model.module(**{**ready, TEXT: states})
        passes.append(queries)
    for one, other in zip(*passes, strict=True):
        changed = (one != other).any(-1).any(0)
        if changed.any() and not changed.all():
            return bool(changed[0])
    return None


def _prefix(model: Model, calls: Sequence[AttentionRecord], ready: Mapping[str, Tensor]) -> int | None:
    """How many tokens stand beside the patches; None where there is no one grid of these."""
    pixels, video = pixels_of(ready), frames_read(model)
    calls = [call for call in calls if call.kind == "encoder"] or calls
    shapes = {call.shape[2:] for call in calls}
    if pixels is None or pixels.ndim != (5 if video else 4) or "input_ids" in ready or len(shapes) > 1:
        return None
    sides = both_sides(getattr(vision_config(model), "patch_size", None))
    if sides is None:
        return None
    steps = pixels.shape[1] // video[1] if video else 1
    patches = steps * (pixels.shape[-2] // sides[0]) * (pixels.shape[-1] // sides[1])
    queries, keys = next(iter(shapes))
    before = queries - patches
    return before if before >= 0 and queries == keys and calls[0].shape[0] == pixels.shape[0] else None


def padding_error(model: Model, ready: Mapping[str, Tensor]) -> float | None:
    """How much the first half of an input changes where the whole of it stands beside it in the batch.

    Args:
        model: the model.
        ready: an input that its module takes.

    Returns the largest change of a weight, or (relative) of an output; None for what is no text of two tokens or more.
    """
    text = {"input_ids", "attention_mask", "token_type_ids", "decoder_input_ids"}
    if (
        virtual_tokens(model.module)
        or set(ready) - text
        or "input_ids" not in ready
        or ready["input_ids"].shape[1] < 2
    ):
        return None
    masked = "attention_mask" in ready  # else what pads an input is attended to
    takes = signature(model.module.forward).parameters
    if not masked and (
        "attention_mask" in takes
        or any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values())
    ):
        return None
    ids = ready["input_ids"][:1]
    if ids.ndim != 2:
        return None
    ids = ids[:, : unscaled(model.text_config) or None]
    short = (ids.shape[1] + 1) // 2
    both, mask = ids.repeat(2, 1), torch.ones_like(ids).repeat(2, 1)
    both[0, short:], mask[0, short:] = getattr(model.tokenizer, "pad_token_id", None) or 0, 0
    alone, padded = (
        _pass(model, given, seen if masked else None)
        for given, seen in ((ids[:, :short], mask[1:, :short]), (both, mask))
    )
    worst = 0.0
    for one, other in zip(alone[0], padded[0], strict=True):
        a, b = one.weights()[0].float(), other.weights()[0].float()
        if (
            a.shape[1:] == (short, short) and b.shape[1:] == mask.shape[1:] * 2
        ):  # not where layers pool tokens
            worst = max(worst, (a - b[:, :short, :short]).abs().max().item())
    for a, b in zip(alone[1], padded[1], strict=False):
        if a.ndim == 3 and a.shape[:2] == ids[:, :short].shape and b.shape[:2] == both.shape:
            worst = max(worst, distance([a], [b[:1, :short]]))
    return worst


def _pass(model: Model, ids: Tensor, mask: Tensor | None) -> tuple[list[AttentionRecord], list[Tensor]]:
    types = signature(model.backbone.forward).parameters.get("token_type_ids")
    more = {"token_type_ids": torch.zeros_like(ids)} if types and types.default is types.empty else {}
    records: list[AttentionRecord] = []
    if mask is not None:
        more["attention_mask"] = mask
    with _tried(model, {"input_ids": ids, **more}, ""), recording(model.backbone, records.append):
        output = model.backbone(input_ids=ids, **more, **uncached(model.backbone))
    return records, outputs(output)


@contextmanager
def _tried(model: Model, ready: Mapping[str, Tensor], more: str) -> Generator[None]:
    """Within it a module runs on an input. Raises `RefusedError` where it cannot, which ends in `more`."""
    try:
        yield
    except (HeadscopeError, MemoryError):
        raise
    except Exception as error:
        why = " ".join(str(error).split())[:200]
        shapes = ", ".join(f"{name} {tuple(getattr(value, 'shape', ()))}" for name, value in ready.items())
        raise RefusedError(
            f"{model.name}: does not run on {shapes} ({type(error).__name__}: {why}){more}"
        ) from error


def _part(
    model: Model,
    name: str,
    records: Sequence[AttentionRecord],
    ready: Mapping[str, Tensor],
    recorded: list[Tensor],
    tolerance: float,
) -> PartCheck:
    rows = recompute = 0.0
    for record in (call for layer in records for call in layer.called):
        weights = record.weights().double()
        seen = weights.sum(-1)
        where = f"{model.name}, layer {record.layer} ({record.module})"
        if not record.followed:
            raise RefusedError(
                f"{where}: an operation between q·k and softmax is not understood, so the weights cannot be verified"
            )
        if not torch.isfinite(weights).all():
            raise RefusedError(f"{where}: weights are not finite")
        # What sees no key, such as padding, gives no weight.
        low = record.sight().any(-1).double() * (record.sinks is None)
        error = torch.maximum(low - seen, seen - 1.0).clamp(min=0.0).max().item()
        if error > tolerance:
            raise RefusedError(f"{where}: a row sums to {1 + error:.4g} or so, expected 1")
        difference = (record.recompute().double() - weights).abs().max().item()
        if difference > tolerance or math.isnan(difference):
            raise RefusedError(
                f"{where}: softmax(q·k) differs from the weights the model used by {difference:.1e}, "
                f"expected at most {tolerance:g}"
            )
        rows, recompute = max(rows, error), max(recompute, difference)
    last, effect = records[-1], 0.0
    for chosen in ({last.layer}, {record.layer for record in records}):
        # LLaVA's language part reads its tower's last layer but one.

        def silence(record: AttentionRecord, chosen: set[int] = chosen) -> Tensor | None:
            return silenced(record, 0) if record.stack == last.stack and record.layer in chosen else None

        if not effect > 0:
            with recording(model.module, silence):
                effect = distance(recorded, outputs(model.module(**ready)))
    if not effect > 0:
        raise RefusedError(f"{model.name} ({last.module}): an edit of the weights does not reach the output")
    shapes = [record.shape for record in records]
    causal = is_causal([seen_by(call, 0) for record in records for call in record.called], last.kind)
    return PartCheck(
        name,
        len(records),
        [shape[1] for shape in shapes],
        [record.k.shape[1] for record in records],
        causal,
        any(record.sinks is not None for record in records),
        rows,
        recompute,
        effect,
    )


def probe_inputs(model: Model) -> dict[str, Tensor]:
    """A small input of the kind that a model takes.

    Raises `RefusedError` where the configuration does not say what the model takes; give inputs to `check` then.
    """
    both = hasattr(model.module, "get_text_features")  # SigLIP does not run without a picture
    if model.tokenizer is not None and model.reads == "input_ids" and not both:
        try:
            tokens = model.encode(PROBE)
        except HeadscopeError:
            tokens = model.encode(model.sample())
        ready = model.inputs([tokens])
        if model.encoder_decoder:
            ready["decoder_input_ids"] = ready["input_ids"][:, :7]
        return ready
    config: Any = getattr(model.config, "encoder", model.config)  # that of a pair's encoder
    wanted = model.reads if hasattr(model.module, "main_input_name") else None
    draw = torch.Generator().manual_seed(0)
    ready: dict[str, Tensor] = {}
    vision: Any = getattr(config, "vision_config", config)
    sides = both_sides(getattr(vision, "image_size", None) or getattr(vision, "crop_size", None))
    if wanted == "input_ids":
        vocabulary = (
            getattr(config, "vocab_size", None) or getattr(model.text_config, "vocab_size", None) or 100
        )
        longest = min(12, model.max_length or 12)
        ready["input_ids"] = torch.randint(min(3, vocabulary - 1), vocabulary, (1, longest), generator=draw)
        ready["attention_mask"] = torch.ones_like(ready["input_ids"])
    channels = getattr(vision, "num_channels", None) or getattr(vision, "in_chans", 3)
    if wanted is not None and wanted.startswith("pixel_values"):
        frames: Any = getattr(vision, "num_frames", None) or getattr(vision, "frames_per_clip", None)
        video = () if frames_read(model) is None else (frames,)
        ready[wanted] = torch.randn(1, *video, channels, *(sides or (64, 64)), generator=draw)
    elif sides is not None and vision is not config:
        ready["pixel_values"] = torch.randn(1, channels, *sides, generator=draw)
    if wanted == "input_values":
        spectrogram = (config.max_length, config.num_mel_bins) if hasattr(config, "time_stride") else (4000,)
        ready["input_values"] = torch.randn(1, *spectrogram, generator=draw)
    if wanted == "input_features":
        # The frames of Wav2Vec2-BERT stand before what each of them has.
        width: Any = getattr(config, "feature_projection_input_dim", None)
        bands, positions = getattr(config, "num_mel_bins", 80), getattr(config, "max_source_positions", 50)
        shape = (50, width) if width else (bands, 2 * positions)
        ready["input_features"] = torch.randn(1, *shape, generator=draw)
    if wanted == "past_values" and hasattr(config, "num_input_channels"):
        steps = config.context_length, config.num_input_channels
        ready["past_values"] = torch.randn(1, *steps, generator=draw)
    if not ready:
        way = ", or its pipeline to hs.denoise" if denoises(model.module) else ""
        raise RefusedError(
            f"{model.name}: it is not known what this module takes; give hs.load(model, inputs={{...}}){way}"
        )
    if model.encoder_decoder:
        vocabulary = getattr(getattr(model.config, "decoder", model.text_config), "vocab_size", None) or 100
        ready["decoder_input_ids"] = torch.randint(min(3, vocabulary - 1), vocabulary, (1, 7), generator=draw)
    return moved(model, ready)


def picture_inputs(model: Model) -> dict[str, Tensor] | None:
    """What a module takes of a small picture, and of a text where it reads both; None where it reads no pictures."""
    if model.image_processor is None:
        return None
    pixels = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    try:
        ready = looked(
            model, pixels, None if model.processor is None or model.encoder_decoder else PROBE
        ).inputs
    except HeadscopeError:
        return None
    if model.encoder_decoder:
        ready["decoder_input_ids"] = torch.arange(7)[None]
    return moved(model, ready)


def _sound_inputs(model: Model) -> dict[str, Tensor] | None:
    """What a module takes of half a second of noise; None where it has no feature extractor."""
    if model.feature_extractor is None or model.encoder_decoder:
        return None
    rate = int(model.feature_extractor.sampling_rate)
    noise = np.random.default_rng(0).normal(0, 0.1, rate // 2)
    return moved(model, listened(model, (noise, rate)).inputs)


def outputs(output: Any) -> list[Tensor]:
    """The float tensors of what a module returns, caches and attention left out."""
    if isinstance(output, Tensor):
        return [output] if output.is_floating_point() else []
    parts: list[Any] = []
    if isinstance(output, Mapping):
        named = cast("AnyMapping", output)
        parts = [value for name, value in named.items() if "attention" not in name and "past" not in name]
    elif isinstance(output, (tuple, list)):
        parts = list(cast("Sequence[Any]", output))
    return [tensor for part in parts for tensor in outputs(part)]


def distance(a: Sequence[Tensor], b: Sequence[Tensor]) -> float:
    """The largest difference between two outputs, relative to the size of the first."""
    errors = [
        (first.float() - second.float()).abs().max().item() / max(1.0, first.float().abs().max().item())
        for first, second in zip(a, b, strict=True)
        if first.numel()
    ]
    return max([0.0, *errors])
