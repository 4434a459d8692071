"""A page that carries its model: type and look with no server and no network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from itertools import islice
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from headscope import corpora
from headscope.attention.one import capture
from headscope.core.arrays import Singles
from headscope.core.lazy import module
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.errors import InputError, RefusedError, RunError
from headscope.live.graph import Graphs, graphs, refusal
from headscope.live.predictions import says
from headscope.live.reading import read_axes
from headscope.live.session import Live
from headscope.measures.surface import MEASURES
from headscope.models import Model
from headscope.models.encode import encode
from headscope.models.pieces import special_tokens, unknown_ids
from headscope.views.blobs import ArrayRef, Blobs
from headscope.views.columns import PER_INPUT
from headscope.views.explorer import explorer_payload
from headscope.views.lab import LabInfo
from headscope.views.page import bundle_file, page
from headscope.views.view import View
from headscope.views.wire import (
    Asking,
    FigureName,
    LiveInfo,
    LiveInput,
    ProbeText,
    Rounded,
    SegmentInfo,
    StandaloneModel,
    StandalonePayload,
    StoredWeights,
    TokenizerInfo,
)

Weights = Literal["int8", "float16", "float32"]
"""How a page holds a model's weights."""

MAPS_BYTES = 256_000_000
"""Up to how many bytes of maps a page makes of one input: that bounds its length."""

TEXTS = 8
"""So many texts of the built-in corpus are read beside the page's own, to see what rounded weights do."""

AGREES = 1e-4
"""The largest difference between a weight of attention in the exported graph and in the model, in float32."""

PROBES = ("Don't stop: it isn't 3.14!", "naïve Café – «ÇA» 日本語 🙂 x\u0301", "  two  spaces\tand\na line ")
"""Texts that the page's tokenizer has to read as Python's does."""


def standalone_page(
    view: View, standalone: Callable[[Blobs], StandalonePayload], *, lab: LabInfo | None = None
) -> str:
    """A page that shows `view` at once, then takes texts and changes as ``headscope serve`` does.

    Args:
        view: what the model reads first, drawn.
        standalone: gives the model in its page, from `carry`.
        lab: tasks to stand beside it, in place of texts to try.
    """
    blobs = Blobs()
    shown, _ = explorer_payload(view.inputs, state=view.state, model=view.payload["model"], blobs=blobs)
    payload = standalone(blobs)
    payload["title"], payload["view"] = shown["title"], shown
    if lab is not None:
        payload["title"], payload["lab"] = lab["title"], lab
        payload["model"]["info"]["examples"] = []
    return page(payload, blobs.texts, bundle="standalone", title=payload["title"], worker=True)


def carry(
    model: Model,
    given: LiveInput,
    *,
    changes: Sequence[str] = (),
    weights: Weights = "int8",
    loaded: str = "hs.load(...)",
) -> Callable[[Blobs], StandalonePayload]:
    """A model as a page holds it: call the result with the arrays of the page, which get those of the model.

    Args:
        model: an encoder like BERT or a decoder like GPT-2 and Llama, of at most 150 million weights.
        given: what the page reads first.
        changes: to begin with.
        weights: ``int8`` with a scale for each row, ``float16``, or ``float32``. The page says what the rounding does.
        loaded: the call that gives the model in Python.

    Raises:
        InputError: what is given is a conversation, or cannot be read; or the extra ``page`` is not installed.
        RefusedError: the model cannot be put into a page; the message has the reason.
    """
    if refused := refusal(model):
        raise RefusedError(f"{model.name} cannot be put into a page: {refused}")
    if given.get("messages"):
        raise InputError("messages: a page that carries its model takes texts, no conversations")
    axes, ready = read_axes(model, given)
    with torch.no_grad():
        kind = says(model, axes, ready, model.module(**ready)).kind
    made = graphs(model, ready)
    restored, pack = _stored(made, weights)
    rounded, heads = _rounded(model, made, restored, weights, axes["self"])
    del restored
    info: LiveInfo = {
        **Live(model).info,
        "reads": False,
        "apart": None,
    }  # the page runs the model, not its gradients
    info["longest"] = min(info["longest"], int((MAPS_BYTES / (4 * heads)) ** 0.5))
    several = getattr(model.config, "problem_type", None) == "multi_label_classification"
    info["pair"] = not model.causal and not model.encoder_decoder
    info["chat"], info["sources"] = False, kind in ("next", "mask", "class") and not several
    info["loaded"] = f"model = {loaded}"
    if weights != "float32":
        info["rounded"] = f"rounded to {weights}"
        info["loaded"] = f"# in float32; the page holds the weights as {weights}\nmodel = {loaded}"
    labels: Mapping[int, Any] = getattr(model.config, "id2label", None) or {}

    def put(blobs: Blobs) -> StandalonePayload:
        standalone = StandaloneModel(
            info=info,
            causal=model.causal,
            tokenizer=tokenizer_info(
                model.tokenizer,
                blobs,
                [(given.get("text", ""), given.get("pair")), *((text, None) for text in PROBES)],
            ),
            inputs=made.inputs,
            layers=made.layers,
            segments=[
                SegmentInfo(
                    graph=_bytes(blobs, segment.graph),
                    inputs=segment.inputs,
                    outputs=segment.outputs,
                    weights=segment.weights,
                )
                for segment in made.segments
            ],
            weights=pack(blobs),
            output=made.output,
            predicts=kind if made.logits else "cosine",
            classes=[str(labels[number]) for number in sorted(labels)] if kind == "class" else [],
            rounded=rounded,
            parameters=model.parameters,
            figures=[
                FigureName(name=measure.name, title=measure.title, units=measure.units)
                for measure in map(MEASURES.__getitem__, PER_INPUT["text"])
                if measure.absent(model.causal) is None
            ],
            engine=_bytes(blobs, _engine()),
            worker=_bytes(blobs, bundle_file("worker.js").encode()),
        )
        asked = Asking(input=given, changes=list(changes))
        return StandalonePayload(
            kind="standalone", version=1, title="", view=None, model=standalone, asked=asked
        )

    return put


def _engine() -> bytes:
    path = files("headscope.views") / "static" / "engine.wasm"
    try:
        return path.read_bytes()
    except OSError:
        raise RunError("engine.wasm is missing from this installation: install headscope again") from None


def _bytes(blobs: Blobs, data: bytes) -> ArrayRef:
    return blobs.plain(np.frombuffer(data, np.uint8), "uint8")


def _stored(made: Graphs, kind: Weights) -> tuple[dict[str, Singles], Callable[[Blobs], list[StoredWeights]]]:
    """What a page makes of the weights that it holds, and what puts them there. Vectors stay as they are."""
    restored: dict[str, Singles] = {}
    packed: list[tuple[str, Weights, npt.NDArray[Any], Singles | None, int]] = []
    for name, value in made.weights.items():
        mine = kind if value.ndim == 2 else "float32"
        axis = made.axes.get(name, 0)
        scale = None
        if mine == "int8":
            codes, scale = rounded_rows(value, axis)
            restored[name] = codes * np.expand_dims(scale, 1 - axis)
        elif mine == "float16":
            codes = value.astype("<f2")
            restored[name] = codes.astype(np.float32)
        else:
            codes = restored[name] = value
        packed.append((name, mine, codes, scale, axis))

    def put(blobs: Blobs) -> list[StoredWeights]:
        return [
            StoredWeights(
                name=name,
                kind=mine,
                shape=list(codes.shape),
                codes=_bytes(blobs, np.ascontiguousarray(codes).tobytes()),
                scale=None if scale is None else blobs.plain(scale, "float32"),
                axis=axis,
            )
            for name, mine, codes, scale, axis in packed
        ]

    return restored, put


def rounded_rows(matrix: Singles, axis: int) -> tuple[npt.NDArray[np.int8], Singles]:
    """Codes from -127 to 127, and the scale of each row along `axis`: ``scale · code`` is off by half a scale at most.

    >>> codes, scale = rounded_rows(np.array([[1.0, -0.5], [0.0, 0.0]], np.float32), 0)
    >>> codes.tolist(), [round(float(each), 5) for each in scale]
    ([[127, -64], [0, 0]], [0.00787, 1.0])
    """
    scale = np.abs(matrix).max(1 - axis) / np.float32(127)
    scale = np.where(scale >= np.finfo(np.float32).tiny, scale, np.float32(1))
    return np.rint(matrix / np.expand_dims(scale, 1 - axis)).astype(np.int8), scale


class Runner:
    """Segments as a page runs them, here: the largest differences are measured with it."""

    def __init__(self, made: Graphs, weights: Mapping[str, Singles]) -> None:
        onnxruntime = module("onnxruntime")
        self._made = made
        self._sessions: list[Any] = []
        for segment in made.segments:
            options: Any = onnxruntime.SessionOptions()
            options.log_severity_level = 3
            if segment.weights:
                data = b"".join(np.ascontiguousarray(weights[name]).tobytes() for name in segment.weights)
                options.add_external_initializers_from_files_in_memory(["weights"], [data], [len(data)])
            self._sessions.append(onnxruntime.InferenceSession(segment.graph, options))

    def weights(self, tokens: Tokens) -> list[Singles]:
        """The attention weights of an input, ``[head query key]`` a layer."""
        assert tokens.ids is not None
        ids = np.asarray(tokens.ids, np.int64)[None]
        types = np.zeros_like(ids) if tokens.type_ids is None else np.asarray(tokens.type_ids, np.int64)[None]
        values: dict[str, Any] = {"input_ids": ids, "token_type_ids": types, "places": np.zeros(1, np.int64)}
        for segment, session in zip(self._made.segments, self._sessions, strict=True):
            given = {name: values[name] for name in segment.inputs}
            values |= zip(segment.outputs, session.run(segment.outputs, given), strict=True)
        return [values[layer["weights"]][0] for layer in self._made.layers]


def _rounded(
    model: Model, made: Graphs, restored: Mapping[str, Singles], kind: Weights, first: Tokens
) -> tuple[Rounded, int]:
    """What the page's weights do to the maps, and how many heads there are.

    Raises `RefusedError` where the graph itself does not give the model's maps.
    """
    few = (example.tokens for example in islice(corpora.builtin(pack=None).encoded(model), TEXTS))
    texts = [first, *(tokens for tokens in few if tokens is not None)]
    runner = Runner(made, made.weights)
    exact = [runner.weights(tokens) for tokens in texts]
    maps = capture(model, first)
    assert isinstance(maps, AttentionMaps)
    off = max(float(np.abs(mine - theirs).max()) for mine, theirs in zip(exact[0], maps.layers, strict=True))
    if not off <= AGREES:
        raise RefusedError(f"{model.name} cannot be put into a page: its exported graph is off by {off:.2g}")
    del runner
    page_runner = Runner(made, restored)
    pairs = [
        (theirs, mine)
        for tokens, layers in zip(texts, exact, strict=True)
        for theirs, mine in zip(layers, page_runner.weights(tokens), strict=True)
    ]
    number = sum(mine.size for mine, _ in pairs)
    rows = sum(mine.shape[0] * mine.shape[1] for mine, _ in pairs)
    rounding = Rounded(
        kind=kind,
        largest=max(float(np.abs(mine - theirs).max()) for mine, theirs in pairs),
        mean=sum(float(np.abs(mine - theirs).sum(dtype=np.float64)) for mine, theirs in pairs) / number,
        same=sum(int((mine.argmax(-1) == theirs.argmax(-1)).sum()) for mine, theirs in pairs) / rows,
        texts=len(texts),
        weights=number,
    )
    return rounding, sum(len(layer) for layer in maps.layers)


def tokenizer_info(tokenizer: Any, blobs: Blobs, probes: Sequence[tuple[str, str | None]]) -> TokenizerInfo:
    """A tokenizer as a page holds it, with the ids that it gives of `probes`."""
    content: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    content |= {"truncation": None, "padding": None}
    special = special_tokens(tokenizer)
    encoded: list[ProbeText] = []
    for text, pair in probes:
        with suppress(InputError):  # of one that this tokenizer cannot read there is nothing to compare
            tokens = encode(tokenizer, text, pair)
            assert tokens.ids is not None
            encoded.append(ProbeText(text=text, pair=pair, ids=tokens.ids.tolist()))
    return TokenizerInfo(
        json=_bytes(blobs, json.dumps(content, ensure_ascii=False).encode()),
        config={},
        special=sorted(special.ids),
        unknown=list(unknown_ids(tokenizer)),
        named=dict(special.named),
        mask=tokenizer.mask_token_id,
        types="token_type_ids" in tokenizer.model_input_names,
        probes=encoded,
    )
