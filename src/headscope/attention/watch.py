"""Which modules of a model are followed, and what a hook is shown of an attention call among them.

Where in a model an attention call happens: its pile of layers, its index there, its kind.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from headscope.attention.expression import Fields, HeadAxis, Layout
from headscope.attention.record import AttentionRecord, Hook, answered
from headscope.core.maps import Kind
from headscope.models.denoisers import crosses, denoises
from headscope.models.weights import main_device
from headscope.models.within import modules_of

_CROSS = re.compile(r"cross|encoder_attn|enc_?dec|encoder_decoder_att", re.IGNORECASE)
"""What an attention module of a layer is called that looks at another stack."""


class ModulePlace(NamedTuple):
    """`module` is a dotted name; `stack` the same with its numbers replaced by ``*``; see `AttentionRecord`."""

    module: str
    stack: str
    layer: int
    kind: Kind
    step: int


class _Counts(threading.local):
    """The layers that were seen in this forward pass, by pile, and the number of the pass; how many tokens each layer
    has read, in this pass and those that it goes on behind. Of each thread its own.
    """

    def __init__(self) -> None:
        self.seen: defaultdict[str, set[int]] = defaultdict(set)
        self.step = -1
        self.last: tuple[nn.Module | None, int, int, int] = (None, 0, 0, 0)
        self.read: dict[tuple[str, int], int] = {}


class Places:
    """Names the attention calls of one model, call by call.

    A layer's index is the first number in its module's name. Where one module serves several layers (ALBERT), or
    names carry two numbers (blocks of layers), a number that was already used in this forward pass gives way to the
    next free one, so calls keep their order. Those of a denoiser are numbered through, by kind. A module that splits
    its queries and attends piece by piece (Qwen2.5-VL's windows) stays in its layer. Each thread counts its own calls.
    """

    def __init__(self, model: nn.Module) -> None:
        self._names = {module: name for name, module in modules_of(model).items()}
        self._sides = _sides(self._names)
        self._through = denoises(model)
        self._counts = _Counts()

    def begin(self) -> None:
        """Say that a forward pass of the whole model begins."""
        self._counts.seen.clear()
        self._counts.last = (None, 0, 0, 0)
        self._counts.step += 1

    def begin_alone(self) -> None:
        """Say that a part of the model begins that may be run without the rest: a new pass, unless one just began."""
        if self._counts.last[0] is not None:
            self.begin()

    def of(self, module: nn.Module, query: Tensor | None = None) -> ModulePlace:
        """The place of the call that `module` is making now, with these queries."""
        name = self._names.get(module, type(module).__name__)
        numbers = re.findall(r"(?<=\.)\d+(?=\.|$)", f".{name}")
        stack = re.sub(r"(?<=\.)\d+(?=\.|$)", "*", f".{name}")[1:]
        if self._through:
            stack, numbers = "cross" if crosses(module) else "self", []
        layer = int(numbers[0]) if numbers else 0
        seen = self._counts.seen[stack]
        address, start = 0, 0
        if query is not None and not torch.compiler.is_compiling():  # an exported graph has no addresses
            address, start = query.untyped_storage().data_ptr(), int(query.storage_offset())
        before, its_address, its_start, its_layer = self._counts.last
        if before is module and address and address == its_address and start > its_start:
            layer = its_layer  # the next piece of the same queries
        elif layer in seen:
            layer = max(seen) + 1
        seen.add(layer)
        self._counts.last = module, address, start, layer
        kind: Kind = "self"
        if stack == "cross" or _CROSS.search(re.split(r"\.\d+\.", name)[-1]):
            kind = "cross"
        else:
            words = name.split(".")
            for count in range(len(words), 0, -1):  # the outermost last
                kind = self._sides.get(".".join(words[:count]), kind)
        return ModulePlace(name, stack, layer, kind, max(self._counts.step, 0))

    def offset(self, place: ModulePlace, queries: int, keys: int) -> int:
        """The position of a call's first key: above 0 where one more token is read behind a cache that slides."""
        if place.kind != "self" or torch.compiler.is_compiling():  # an exported graph has no lengths
            return 0
        at = place.module, place.layer
        end = self._counts.read[at] = queries + (self._counts.read.get(at, 0) if queries == 1 < keys else 0)
        return max(0, end - keys)


def _sides(names: Mapping[nn.Module, str]) -> dict[str, Kind]:
    """The kind of the layers below each module that is one of a pair of encoder and decoder, by its dotted name.

    The outermost says it: the layers of a BERT are an ``encoder`` of their own, in the decoder of a pair as well.
    """
    sides: dict[str, Kind] = {}
    for module, name in names.items():
        children = dict(module.named_children())
        if {"encoder", "decoder"} <= children.keys():
            sides[f"{name}.encoder".lstrip(".")] = "encoder"
            sides[f"{name}.decoder".lstrip(".")] = "self"
    return sides


_HEADS = ("num_heads", "num_attention_heads", "n_heads", "n_head", "nhead", "heads")


class Watch:
    """A hook, and the modules of its model whose calls are followed.

    Attributes:
        model: the whole.
        hook: is shown each attention call.
        places: names of the model's modules.
        home: the device on which the hook gets all calls.
        modules: the model itself, and the modules in which attention may happen.
        parameters: the storages of the model's parameters.
    """

    def __init__(self, model: nn.Module, hook: Hook) -> None:
        self.model = model
        self.hook = hook
        self.places = Places(model)
        self.home = main_device(model)
        self.modules = frozenset(
            part
            for part in model.modules()
            if part is model
            or isinstance(part, nn.MultiheadAttention)
            or not type(part).__module__.startswith("torch.nn.modules.")
        )
        self.parameters = {storage(parameter) for parameter in model.parameters()}

    def show(
        self, module: nn.Module, fields: Fields, values: Tensor | None, given: Tensor | None
    ) -> tuple[AttentionRecord, Tensor | None]:
        """The record of a call that `module` makes now, and the hook's answer to it.

        Raises `RefusedError` when the answer has another shape than the weights.
        """
        place = self.places.of(module)
        offset = self.places.offset(place, fields.q.shape[2], fields.k.shape[2])
        record = AttentionRecord(
            **place._asdict(), **fields._asdict(), v=values, route="trace", given=given, key_offset=offset
        )
        return record, answered(self.hook, record, self.home)[1]


def heads_of(layouts: Sequence[Layout], module: nn.Module, keys: Tensor) -> HeadAxis:
    """How many heads weights have: what the module says, or the last dimension before query and key.

    Args:
        layouts: of the weights, and of the scores.
        module: that attends.
        keys: ``[*lead, key, dim]`` of the scores. A projection that is cut into heads has them beside their dimensions.
    """
    stated = next(
        (heads for name in _HEADS if isinstance(heads := getattr(module, name, None), int) and heads > 0), 0
    )
    for layout in layouts:
        if len(layout.lead) > 1:
            alike = [at for at, size in enumerate(layout.lead) if at > 0 and size == stated]
            if len(alike) > 1 and keys.ndim == len(layout.lead) + 2:
                alike = [at for at in alike if keys.stride(at) == keys.shape[-1]] or alike
            last = len(layout.lead) - 1
            return HeadAxis(layout.lead[last]) if not alike or last in alike else HeadAxis(stated, alike[0])
    lead = prod(layouts[0].lead)
    return HeadAxis(stated if stated and lead % stated == 0 else 1)


def innermost(first: tuple[nn.Module, ...], second: tuple[nn.Module, ...]) -> nn.Module:
    """The innermost module of both stacks."""
    module = first[0]
    for a, b in zip(first, second, strict=False):
        if a is not b:
            break
        module = a
    return module


def storage(tensor: Tensor) -> int:
    """The address of the memory that a tensor is (a view) of."""
    return tensor.untyped_storage().data_ptr()
