"""A model as graphs that a browser runs: cut at each layer where its attention weights leave, and come back changed.

The model is traced through headscope's own recording, so the weights are outputs of the graph, and what follows is
computed from the weights that are put in. Needs the extra ``page``.
"""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from headscope.attention.record import AttentionRecord
from headscope.attention.recording import recording, route
from headscope.core.arrays import Singles
from headscope.core.lazy import module
from headscope.core.types import AnyDict
from headscope.errors import HeadscopeError, RefusedError
from headscope.models import Model
from headscope.views.wire import LayerTensors

LARGEST = 150_000_000
"""Up to how many weights a model may have to be put into a page."""

STORED = 1024
"""Initial values of at least so many numbers are weights, which stand beside the graphs."""


@dataclass(frozen=True)
class Segment:
    """A part of the model: what runs between the weights of one layer and those of the next.

    Attributes:
        graph: ONNX; its weights stand outside, one behind the other.
        inputs, outputs: names of tensors; those of inputs that no segment gives are the model's own.
        weights: names of weights, in the order in which they stand.
    """

    graph: bytes
    inputs: list[str]
    outputs: list[str]
    weights: list[str]


@dataclass(frozen=True)
class Graphs:
    """A model in segments: the first ends with the weights of the first layer, the last gives what the model says.

    Attributes:
        inputs: the model's own, of ``input_ids``, ``token_type_ids`` and ``places``.
        layers: what each layer's tensors are called.
        output: the tensor of logits or hidden states, ``[1 token …]`` (or ``[1 place …]`` where there are `places`).
        logits: whether these are logits.
        weights: ``[…]`` by name.
        axes: of each matrix the axis along which its rows stand, of which each can have a scale of its own.
    """

    inputs: list[str]
    layers: list[LayerTensors]
    segments: list[Segment]
    output: str
    logits: bool
    weights: dict[str, Singles]
    axes: dict[str, int]


class _Traced(nn.Module):
    """The model, which returns the weights, queries and keys of its layers beside what it says."""

    def __init__(
        self, model: Model, names: Sequence[str], seen: Callable[[list[AttentionRecord]], None]
    ) -> None:
        super().__init__()
        self.module = model.module
        self.names = list(names)
        self.seen = seen  # what is set on a module as it is traced is taken back

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        records: list[AttentionRecord] = []
        tensors: list[Tensor] = []

        def keep(record: AttentionRecord) -> Tensor:
            weights = record.weights().clone()
            seen = None if record.mask is None else record.visible()
            records.append(record)
            tensors.extend([weights, record.q, record.k, *([] if seen is None else [seen])])
            return weights

        ready = dict(zip(self.names, given, strict=True))
        if (places := ready.pop("places", None)) is not None:
            ready["logits_to_keep"] = places
        if "use_cache" in inspect.signature(self.module.forward).parameters:
            ready["use_cache"] = cast(Any, False)
        with recording(self.module, keep):
            output: Any = self.module(**ready)
        self.seen(records)
        logits = getattr(output, "logits", None)
        final = logits if isinstance(logits, Tensor) else output.last_hidden_state
        return (final, *tensors)


def refusal(model: Model) -> str | None:
    """Why a model cannot be put into a page; None where that is not known before it is tried."""
    tokenizer = model.tokenizer
    if tokenizer is None or not getattr(tokenizer, "is_fast", False):
        return "its tokenizer has no fast version, which a page could run"
    if model.encoder_decoder:
        return "it is an encoder-decoder; encoders like BERT and decoders like GPT-2 and Llama can be"
    if model.parameters > LARGEST:
        return (
            f"it has {model.parameters / 1e6:,.0f} million weights, of at most {LARGEST / 1e6:,.0f} million"
        )
    if route(model.module) != "interface":
        return "its attention does not go through transformers' interface"
    return None


def graphs(model: Model, sample: Mapping[str, Tensor]) -> Graphs:
    """The segments of a model.

    Args:
        model: an encoder like BERT or a decoder like GPT-2 and Llama.
        sample: an input, as `headscope.attention.one.prepare` gives it.

    Raises:
        RefusedError: the model is of another kind, too large, or cannot be exported; the message has the reason.
        InputError: the extra ``page`` is not installed.
    """
    if (why := refusal(model)) is not None:
        raise RefusedError(f"{model.name} cannot be put into a page: {why}")
    names = [name for name in ("input_ids", "token_type_ids") if name in sample]
    given = [sample[name].cpu() for name in names]
    tokens = torch.export.Dim("tokens", min=2, max=max(8, min(model.max_length or 4096, 4096)))
    shapes: list[Any] = [{1: tokens} for _ in given]
    if "logits_to_keep" in inspect.signature(model.module.forward).parameters:
        names.append("places")
        given.append(torch.tensor([0, 1]))
        shapes.append({0: torch.export.Dim("places", min=1, max=4096)})
    records: list[AttentionRecord] = []

    def seen(of: list[AttentionRecord]) -> None:
        records[:] = of

    traced = _Traced(model, names, seen)
    try:
        exported = _exported(traced, given, shapes, names)
    except (HeadscopeError, ImportError):
        raise
    except Exception as error:
        first = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise RefusedError(f"{model.name} cannot be put into a page: its export failed ({first})") from None
    return _cut(exported, records, names, logits=hasattr(model.module(**sample), "logits"))


@contextmanager
def _quiet() -> Generator[None]:
    """Within it the exporter says nothing."""
    levels = {
        name: logging.getLogger(name).level
        for name in ("torch.onnx", "onnxscript", "onnx_ir", "torch.export")
    }
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        for name in levels:
            logging.getLogger(name).setLevel(logging.ERROR)
        try:
            yield
        finally:
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)


def _exported(traced: _Traced, given: Sequence[Tensor], shapes: Sequence[Any], names: Sequence[str]) -> Any:
    module("onnxscript")
    with torch.no_grad(), _quiet():
        # The export names its arguments by the signature: one tuple of all.
        export: Any = vars(torch.onnx)["export"]
        program = export(
            traced,
            tuple(given),
            dynamic_shapes=(tuple(shapes),),
            dynamo=True,
            input_names=list(names),
            verbose=False,
        )
    assert program is not None
    return program.model_proto


def _cut(exported: Any, records: Sequence[AttentionRecord], inputs: list[str], *, logits: bool) -> Graphs:
    """The segments of an exported graph whose outputs are what is said, and of each call its tensors."""
    onnx = module("onnx")
    graph = exported.graph
    made: AnyDict = {name: node for node in graph.node for name in node.output}
    outputs = [output.name for output in graph.output]
    layers: list[LayerTensors] = []
    at = 1
    for record in records:
        _expect_plain(record)
        three = outputs[at : at + 3]
        at += 3
        seen = None
        if record.mask is not None:
            seen, at = outputs[at], at + 1
        weights = three[0]
        while made[weights].op_type == "Identity":
            weights = made[weights].input[0]
        layers.append(
            LayerTensors(
                layer=record.layer, scaling=record.scaling, weights=weights, q=three[1], k=three[2], seen=seen
            )
        )
    cuts = {layer["weights"]: place for place, layer in enumerate(layers)}
    if len(cuts) != len(layers):
        raise RefusedError("the weights of two layers are one tensor")
    wanted = {
        outputs[0],
        *(
            name
            for layer in layers
            for name in (layer["weights"], layer["q"], layer["k"], layer["seen"])
            if name
        ),
    }
    values = {constant.name: _numbers(constant) for constant in graph.initializer}
    part_of = {"places": len(layers)}  # another place runs the last segment alone
    nodes: list[list[Any]] = [[] for _ in range(len(layers) + 1)]
    for node in graph.node:
        place = max(
            (part_of.get(name, 0) + (1 if name in cuts else 0) for name in node.input if name), default=0
        )
        nodes[place].append(node)
        part_of |= dict.fromkeys(node.output, place)
    kinds = {
        tensor.name: tensor.type.tensor_type.elem_type
        for tensor in (*graph.value_info, *graph.output, *graph.input)
    }
    used = [{name for node in some for name in node.input if name} for some in nodes]
    segments: list[Segment] = []
    weights_of: dict[str, Singles] = {}
    for place, some in enumerate(nodes):
        produced = {name for node in some for name in node.output}
        later = set[str]().union(*used[place + 1 :])
        takes = sorted(name for name in used[place] - produced if name not in values)
        gives = sorted(produced & (later | wanted))
        initial = [name for name in values if name in used[place]]
        stored = [
            name for name in initial if values[name].dtype == np.float32 and values[name].size >= STORED
        ]
        tensors: list[Any] = []
        offset = 0
        for name in initial:
            tensor = onnx.numpy_helper.from_array(values[name], name)
            if name in stored:
                weights_of[name] = cast(Singles, values[name])
                tensor.ClearField("raw_data")
                tensor.data_location = onnx.TensorProto.EXTERNAL
                size = values[name].nbytes
                for key, value in (("location", "weights"), ("offset", offset), ("length", size)):
                    entry = tensor.external_data.add()
                    entry.key, entry.value = key, str(value)
                offset += size
            tensors.append(tensor)
        info: Any = onnx.helper.make_tensor_value_info
        model = onnx.helper.make_model(
            onnx.helper.make_graph(
                some,
                f"segment {place}",
                [info(name, kinds[name], None) for name in takes],
                [info(name, kinds[name], None) for name in gives],
                tensors,
            ),
            opset_imports=list(exported.opset_import),
            functions=list(exported.functions),
            ir_version=min(10, exported.ir_version),
        )
        segments.append(Segment(model.SerializeToString(), takes, gives, stored))
    axes = {name: _rows(graph.node, name) for name, value in weights_of.items() if value.ndim == 2}
    return Graphs(inputs, layers, segments, outputs[0], logits, weights_of, axes)


def _numbers(tensor: Any) -> npt.NDArray[Any]:
    return module("onnx.numpy_helper").to_array(tensor)


def _rows(nodes: Sequence[Any], name: str) -> Literal[0, 1]:
    """Along which axis a matrix has one row for each number that it gives."""
    for node in nodes:
        if node.op_type == "MatMul" and node.input[1] == name:
            return 1
        if node.op_type == "Gemm" and node.input[1] == name:
            turned = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
            return 0 if turned else 1
    return 0


def _expect_plain(record: AttentionRecord) -> None:
    """Raise `RefusedError` for attention that is more than softmax(scaling · q kᵀ + mask)."""
    more = {
        "scores with a bias": record.bias is not None,
        "a softcap": record.softcap is not None,
        "learned sinks": record.sinks is not None,
        f"{record.kind}-attention": record.kind != "self",
    }
    extras = [name for name, there in more.items() if there]
    if extras:
        raise RefusedError(f"{record.module} has {extras[0]}, which a page does not draw yet")
