"""Which modules of a model are followed, and what a hook is shown of an attention call among them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from torch import Tensor, nn

from headscope.attention.expression import Fields, Layout
from headscope.attention.places import Places
from headscope.attention.record import AttentionRecord, Hook, shaped
from headscope.models.weights import main_device

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
        self.modules = frozenset(m for m in model.modules() if m is model or _may_attend(m))
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
        seen = record.at(self.home)
        answer = self.hook(seen)
        if answer is None and seen is not record:
            answer = seen.given  # so that it stays a part of the model's graph
        return record, None if answer is None else shaped(answer, record).to(record.q.device)


def heads_of(layouts: Sequence[Layout], module: nn.Module) -> int:
    """How many heads weights have: the last dimension before query and key, or what the module says."""
    for layout in layouts:
        if len(layout.lead) > 1:
            return layout.lead[-1]
    lead = prod(layouts[0].lead)
    for name in _HEADS:
        heads = getattr(module, name, None)
        if isinstance(heads, int) and heads > 0:
            return heads if lead % heads == 0 else 1
    return 1


def innermost(first: tuple[nn.Module, ...], second: tuple[nn.Module, ...]) -> nn.Module:
    """The innermost module of both stacks."""
    module = first[0]
    for a, b in zip(first, second, strict=False):
        if a is not b:
            break
        module = a
    return module


def _may_attend(module: nn.Module) -> bool:
    builtin = type(module).__module__.startswith("torch.nn.modules.")
    return isinstance(module, nn.MultiheadAttention) or not builtin


def storage(tensor: Tensor) -> int:
    """The address of the memory that a tensor is (a view) of."""
    return tensor.untyped_storage().data_ptr()
