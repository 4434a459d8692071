"""The outputs of heads before W_O: read as a model runs, and others put in their place."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headscope.attention.neurons import projected
from headscope.attention.one import running
from headscope.attention.recording import Hooks, entered, entering, evaluating
from headscope.errors import RefusedError
from headscope.models.model import Model, uncached

FEW = 8
"""Tokens on which a model's attention is found."""

TEXT = {"input_ids", "attention_mask", "token_type_ids"}
"""What a module is given of a text."""

Change = Callable[[int, Tensor], Tensor | None]
"""Is shown the outputs of the heads of a layer (its place among those with heads), ``[batch query head dim]``; what it
returns takes their place."""


class Outputs:
    """Where the outputs of a model's heads enter W_O, found as the model runs and by comparing.

    Args:
        model: reads tokens and has logits.
        ready: an input to find it on.

    Attributes:
        layers: the model's index of each layer that has heads.
        heads: how many heads each of them has.

    Raises `RefusedError` where a layer has no W_O that its heads' outputs enter as they are, or shares it with another.
    """

    def __init__(self, model: Model, ready: Mapping[str, Tensor]) -> None:
        self._model = model
        records, projections = projected(model, ready)
        records.sort(key=lambda record: record.layer)
        pairs = [(record, projections.module(record)) for record in records]
        for record, module in pairs:
            if module is None or record.kind != "self":
                raise RefusedError(
                    f"{model.name}: expected an output projection W_O in each layer, found none that "
                    f"{record.module} gives its heads' outputs to"
                )
        self._modules = [module for _, module in pairs if module is not None]
        self.layers = [record.layer for record in records]
        self.heads = [record.shape[1] for record in records]
        if not records or len(set(self._modules)) < len(records) or len(set(self.layers)) < len(records):
            raise RefusedError(
                f"{model.name}: expected layers with an output projection each, found "
                f"{len(set(self._modules))} for {len(records)} calls of attention"
            )

    def run(self, ready: Mapping[str, Tensor], change: Change) -> Tensor:
        """The logits ``[batch query id]`` of one forward pass in which `change` sees and changes the outputs."""
        module = self._model.module
        rows = next(iter(ready.values())).shape[0]
        with evaluating(module), self.changing(change, rows), running(self._model, ready):
            return module(**ready, **uncached(module)).logits

    @contextmanager
    def changing(self, change: Change, rows: int) -> Generator[None]:
        """Within it `change` sees and changes the outputs, of batches of so many rows."""

        def changes(place: int) -> Callable[..., Any]:
            def enter(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
                given: Tensor = args[0]
                heads = self.heads[place]
                new = change(place, given.reshape(rows, -1, heads, given.shape[-1] // heads))
                return None if new is None else entering(new.reshape(given.shape), args, kwargs)

            return enter

        with Hooks() as hooks:
            for place, module in enumerate(self._modules):
                hooks.before(module, changes(place))
            yield


def placed(model: Model, ready: Mapping[str, Tensor], layers: Sequence[nn.Module]) -> list[bool]:
    """Whether what enters each of some layers, the first of a pile, hangs on where a token stands.

    Args:
        model: that runs once more, on few tokens that are all the same.
        ready: an input of it; of one that is no text alone all hang on it.
        layers: that are the first of their piles.
    """
    if not ready.keys() <= {*TEXT, "decoder_input_ids", "decoder_attention_mask"}:
        return [True] * len(layers)
    same = {
        name: value[:1, :FEW] if name.endswith("mask") else value[:1, :1].expand_as(value[:1, :FEW])
        for name, value in ready.items()
    }
    states: dict[nn.Module, Any] = {}

    def keep(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        states[layer] = entered(args, kwargs)

    with Hooks() as hooks:
        for layer in layers:
            hooks.before(layer, keep)
        with torch.no_grad(), evaluating(model.module), running(model, same):
            model.module(**same, **uncached(model.module))
    return [
        (x := states.get(layer)) is None or not torch.allclose(x, x[:, :1].expand_as(x), rtol=1e-5, atol=1e-6)
        for layer in layers
    ]


class Kept:
    """Keeps the outputs of all layers as they come: a `Change` that changes nothing."""

    def __init__(self) -> None:
        self.layers: dict[int, Tensor] = {}

    def __call__(self, place: int, outputs: Tensor) -> None:
        """Keep those of a layer."""
        self.layers[place] = outputs.detach()


class Slopes:
    """Keeps the outputs of all layers so that gradients can be taken of them: a `Change` that changes nothing."""

    def __init__(self) -> None:
        self.leaves: dict[int, Tensor] = {}

    def __call__(self, place: int, outputs: Tensor) -> Tensor:
        """Keep a layer's."""
        self.leaves[place] = outputs if outputs.requires_grad else outputs.detach().requires_grad_()
        return self.leaves[place] * 1.0


class Placed:
    """Puts one head's outputs in place of a run's own, another in each row of a batch: a `Change`.

    Args:
        at: of each row the place of the layer and the head.
        outputs: of each row what takes the place, ``[query dim]``; or of some of its queries.
        queries: those queries.
        frozen: of each layer what all other heads are held at, ``[batch query head dim]``; None to let them be.
    """

    def __init__(
        self,
        at: Sequence[tuple[int, int]],
        outputs: Sequence[Tensor],
        queries: slice = slice(None),
        frozen: Mapping[int, Tensor] | None = None,
    ) -> None:
        self._at, self._outputs, self._queries, self._frozen = at, outputs, queries, frozen

    def __call__(self, place: int, outputs: Tensor) -> Tensor | None:
        """The layer's outputs with those of this head."""
        rows = [row for row, (layer, _) in enumerate(self._at) if layer == place]
        if not rows and self._frozen is None:
            return None
        new = (outputs if self._frozen is None else self._frozen[place]).clone()
        for row in rows:
            new[row, self._queries, self._at[row][1]] = self._outputs[row][self._queries].to(new.dtype)
        return new
