"""Matrices per pair that a model gives beside its weights: gradients and ‖α·v·W_O‖."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from headscope.attention.neurons import capture_with_neurons
from headscope.attention.objective import called, natural
from headscope.attention.one import gradients, prepare
from headscope.core.types import AnyMapping
from headscope.errors import HeadscopeError, InputError
from headscope.models import Model
from headscope.views.inputs import Input
from headscope.views.payload import Offer
from headscope.views.view import Computed, with_quantity

PAGE_WEIGHTS = 750_000
"""Up to how many values other matrices come with a view unasked: a byte each, about 1 MB of a page."""

PAGE_WORK = 10_000_000_000
"""… where the model's parameters times the tokens are at most these: about a second to run backward on a CPU."""

NAMES = {"gradient": "gradient", "gradients": "gradient", "norm": "norms", "norms": "norms"}
"""What callers write, and the name of the matrix."""


@dataclass(frozen=True)
class Origin:
    """What an input of a view was captured from: enough to run the model on it again."""

    model: Model
    text: Any
    given: AnyMapping
    objective: Callable[[Any], Tensor] | None = None

    def compute(self, name: str) -> Computed:
        """The matrix ``gradient`` or ``norms`` of every head.

        Raises:
            HeadscopeError: the model cannot give it.
        """
        if name == "gradient":
            return self._gradient()
        _, parts = capture_with_neurons(self.model, self.text, **self.given, values=True)
        norms = {part: vectors.norms for part, vectors in parts.items() if vectors.norms is not None}
        if not norms:
            raise InputError(
                f"quantities: {self.model.name}: its output projection could not be told, so no norms"
            )
        return Computed(
            norms, values={part: vectors.v for part, vectors in parts.items() if vectors.v is not None}
        )

    def _gradient(self) -> Computed:
        names: list[str] = []
        axes, ready = prepare(self.model, self.text, **self.given)
        objective = self.objective or natural(self.model, axes, ready, names)
        slopes = gradients(self.model, self.text, objective, **self.given)
        if self.objective is not None:
            names.append(called(self.objective, "the number given as objective="))
        return Computed(slopes, names[0])


def with_quantities(
    shown: Sequence[Input], origins: Sequence[Origin], asked: Sequence[str] | None, drawn: Sequence[str] = ()
) -> tuple[list[Input], list[Offer]]:
    """Inputs with the matrices that are asked for (None: those that cost little) or drawn, and all that can be had.

    Unasked, the gradient comes along where it adds at most `PAGE_WEIGHTS` values and the model is small
    (`PAGE_WORK`), and the norms where both fit. What a model turns out not to give is then neither there nor offered.
    """
    inputs, offers = list(shown), list(dict.fromkeys(NAMES.values()))
    wanted = _little(shown, origins) if asked is None else asked
    for name in dict.fromkeys([*wanted, *drawn]):
        if any(name in one.matrices for one in inputs):
            continue  # the caller's own
        try:
            matrices = [origin.compute(name) for origin in origins]
        except (HeadscopeError, RuntimeError):
            if asked is not None or name in drawn or any(origin.objective is not None for origin in origins):
                raise
            offers.remove(name)
            continue
        inputs = [with_quantity(one, name, matrix) for one, matrix in zip(inputs, matrices, strict=True)]
    return inputs, offered(offers)


def offered(names: Iterable[str]) -> list[Offer]:
    """What a page says of matrices that the model can give."""
    return [Offer(name=name, how=_how(name)) for name in dict.fromkeys(names)]


def _little(shown: Sequence[Input], origins: Sequence[Origin]) -> list[str]:
    values = sum(layer.size for one in shown for maps in one.parts.values() for layer in maps.layers)
    tokens = [sum(len(maps.query) for maps in one.parts.values()) for one in shown]
    work = sum(origin.model.parameters * count for origin, count in zip(origins, tokens, strict=True))
    if work > PAGE_WORK or values > PAGE_WEIGHTS:
        return []
    return ["gradient", "norms"] if 2 * values <= PAGE_WEIGHTS else ["gradient"]


def _how(name: str) -> str:
    singular = name.rstrip("s")
    return f'quantities=("{singular}",) in Python, --quantity {singular} on the command line'
