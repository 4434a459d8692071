"""The outputs of heads before W_O: read as a model runs, and others put in their place."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headscope.attention.one import output_of
from headscope.attention.recording import Hooks, entering
from headscope.attention.stream import Reader
from headscope.errors import RefusedError
from headscope.models.model import Model


class Put(NamedTuple):
    """What takes the place of a head's output in a row of a batch: the layer's place among those with heads, the head,
    and a number or ``[query dim]``."""

    row: int
    place: int
    head: int
    instead: Tensor | float


class Outputs:
    """Where the outputs of a model's heads enter W_O, found as the model runs and by comparing.

    Args:
        model: reads tokens and has logits.
        ready: an input to find it on.

    Attributes:
        reader: tells where the model attends.
        sites: each layer's, in order.
        layers: the model's index of each layer that has heads.
        heads: how many heads each of them has.

    Raises `RefusedError` where a layer has no W_O that its heads' outputs enter as they are, or shares it with another.
    """

    def __init__(self, model: Model, ready: Mapping[str, Tensor]) -> None:
        self.reader = Reader(model, ready)
        self.sites = sorted(self.reader.sites.values(), key=lambda site: site.layer)
        for name, site in self.reader.sites.items():
            if site.projection is None or site.part != "self":
                raise RefusedError(
                    f"{model.name}: expected an output projection W_O in each layer, found none that "
                    f"{name} gives its heads' outputs to"
                )
        self.layers = [site.layer for site in self.sites]
        self.heads = [site.heads for site in self.sites]
        several, calls = len({site.projection for site in self.sites}), self.reader.calls
        if not calls or several < calls or len(set(self.layers)) < calls:
            raise RefusedError(
                f"{model.name}: expected layers with an output projection each, found {several} for {calls} calls of "
                "attention"
            )

    def run(
        self,
        ready: Mapping[str, Tensor],
        puts: Sequence[Put] = (),
        *,
        queries: slice = slice(None),
        held: Mapping[int, Tensor] | None = None,
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """The logits ``[batch query id]`` of one forward pass, and each layer's outputs ``[batch query head dim]``.

        Where gradients are taken, the outputs are leaves.

        Args:
            ready: what the model takes.
            puts: what takes the place of heads' outputs.
            queries: at these of their queries.
            held: of each layer what all other heads are held at, ``[batch query head dim]``; None to let them be.
        """
        given: dict[int, Tensor] = {}

        def change(place: int, z: Tensor) -> Tensor:
            if torch.is_grad_enabled() and not z.requires_grad:
                z = z.detach().requires_grad_()
            given[place] = z
            new = (z if held is None else held[place]) * 1.0
            for row, _, head, instead in (put for put in puts if put.place == place):
                new[row, queries, head] = instead
            return new

        with self.changing(change, len(next(iter(ready.values())))):
            return output_of(self.reader.model, ready).logits, given

    @contextmanager
    def changing(self, change: Callable[[int, Tensor], Tensor], rows: int) -> Generator[None]:
        """Within it `change` sees and changes the outputs of a layer, by its place among those with heads,
        ``[batch query head dim]``, of batches of so many rows."""

        def changes(place: int) -> Callable[..., Any]:
            def enter(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
                given: Tensor = args[0]
                heads = self.heads[place]
                new = change(place, given.reshape(rows, -1, heads, given.shape[-1] // heads))
                return entering(new.reshape(given.shape), args, kwargs)

            return enter

        with Hooks() as hooks:
            for place, site in enumerate(self.sites):
                assert site.projection is not None
                hooks.before(site.projection, changes(place))
            yield
