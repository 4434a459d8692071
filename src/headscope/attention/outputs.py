"""The outputs of heads before W_O: read as a model runs, and others put in their place."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from headscope.attention.one import running
from headscope.attention.recording import Hooks, entering, evaluating
from headscope.attention.writers import Reader
from headscope.errors import RefusedError
from headscope.models.model import Model, uncached

Change = Callable[[int, Tensor], Tensor | None]
"""Is shown the outputs of the heads of a layer (its place among those with heads), ``[batch query head dim]``; what it
returns takes their place."""


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
        found, calls = len({site.projection for site in self.sites}), self.reader.calls
        if not calls or found < calls or len(set(self.layers)) < calls:
            raise RefusedError(
                f"{model.name}: expected layers with an output projection each, found {found} for {calls} calls of "
                "attention"
            )

    def run(self, ready: Mapping[str, Tensor], change: Change) -> Tensor:
        """The logits ``[batch query id]`` of one forward pass in which `change` sees and changes the outputs."""
        model, rows = self.reader.model, next(iter(ready.values())).shape[0]
        module = model.module
        with evaluating(module), self.changing(change, rows), running(model, ready):
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
            for place, site in enumerate(self.sites):
                assert site.projection is not None
                hooks.before(site.projection, changes(place))
            yield


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
