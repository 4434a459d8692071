"""What of a model's layers has no attention map: layers that do not attend, and what mixes tokens beside attention.

Layers are the members of a pile in which attention calls were seen. What else in them mixes tokens is measured: one
token of what a module is given is changed, and a module that mixes then answers otherwise at other tokens.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from torch import Tensor, nn

from headscope.attention.record import IMPLICIT, AttentionRecord
from headscope.attention.recording import Hooks, afresh, first
from headscope.core.types import AnyDict
from headscope.models.model import uncached
from headscope.models.within import above, modules_of

_KINDS = {
    "state space": r"mamba|ssm|state_?space",
    "linear attention": r"linear_?att|delta|lightning|retention",
    "recurrence": r"recurren|lru|lstm|rnn|rwkv",
    "convolution": r"conv",
}
"""In words what mixes tokens, and how its modules and classes are called."""

MIXER = "mixer"
"""What mixes tokens and is called none of these."""

_ATTENDS = {"attention", "full_attention", "sliding_attention", "hybrid"}
"""What a configuration calls layers that have a map."""

_NOTHING = "nothing that mixes tokens"
_NOT_RUN = "not run on the input of the check"

_Built = tuple[type[nn.Module], ...]


def unseen(
    module: nn.Module,
    parts: Mapping[str, Sequence[AttentionRecord]],
    ready: Mapping[str, Tensor],
    tolerance: float,
    known: Collection[nn.Module] = (),
) -> tuple[str, dict[str, str]]:
    """What of a model's layers has no attention map, in sentences, empty where there is nothing of the kind; and by
    name the modules in its layers and beside them that mix tokens without attention, in words (``convolution``).

    Args:
        module: the model.
        parts: its attention calls on an input, by part.
        ready: the input.
        tolerance: the largest change of other tokens that is noise, relative to that of the changed one.
        known: mixers, by which the layers of a model without any attention call are found.
    """
    modules = modules_of(module)
    calls = {call.module: name for name, records in parts.items() for call in records}
    piles: dict[str, _Pile] = {}
    mixers = {name: "self" for name, module_ in modules.items() if module_ in set(known)}
    for name, part in {**mixers, **calls}.items():
        if (place := re.match(r"(?:(.*?)\.)?\d+(?=\.|$)", name)) is not None:
            pile = place[1] or ""
            piles.setdefault(pile, _Pile(pile, part, modules, calls))
    lengths = {call.shape[2] for records in parts.values() for call in records}
    mixing = _Mixing(lengths or {ready["input_ids"].shape[1]}, tolerance)
    with Hooks() as hooks:
        for candidate in {one for pile in piles.values() for one in pile.apart()}:
            hooks.after(candidate, mixing)
        module(**{**ready, **uncached(module)})
    mapped = "what has a map" if IMPLICIT in parts else "attention"
    alone = len(piles) == 1
    text = " ".join(
        text for pile in piles.values() for text in pile.sentences(mixing, alone=alone, mapped=mapped)
    )
    return text, {name: kind for pile in piles.values() for name, kind in pile.mixers(mixing)}


class _Pile:
    """The layers of which some attend.

    Attributes:
        part: what the part of the model is called.
        layers: by index.
        others: what else runs with them, by name.
    """

    def __init__(
        self, name: str, part: str, modules: Mapping[str, nn.Module], calls: Collection[str]
    ) -> None:
        self.part = part
        children = dict(modules[name].named_children())
        self.layers = {int(key): child for key, child in children.items() if key.isdigit()}
        holder = name.rpartition(".")[0]
        self.others = {
            f"{holder}.{key}".lstrip("."): child
            for key, child in modules[holder].named_children()
            if name and child is not modules[name]
        }
        self._name = name
        self._seen = {modules[call] for call in calls if call in modules}
        self._kinds = {type(layer) for layer in self.layers.values()}
        self._words = _words([modules[one] for one in (name, *above(name))], len(self.layers))

    def apart(self) -> Iterator[nn.Module]:
        """The layers, what runs beside them, and modules in these that neither attend, nor hold or are of what does."""
        waiting = [*self.layers.values(), *self.others.values()]
        while waiting:
            module = waiting.pop()
            if module not in self._seen:
                waiting += module.children()
                if not self._attends(module):
                    yield module

    def sentences(self, mixing: _Mixing, *, alone: bool, mapped: str) -> Iterator[str]:
        """Sentences on layers that do not attend, and on what stands beside attention in those that do."""
        instead: dict[str, dict[str, set[int]]] = {}
        alongside: dict[str, dict[str, set[int]]] = {}
        for index, layer in self.layers.items():
            attends = self._attends(layer)
            mixers = list(self._mixers(layer, "", mixing))
            what = [(self._kind(path, mixer, index), type(mixer).__name__) for path, mixer in mixers]
            if not attends and not what:
                what = [self._without(layer, mixing, index)]
            for kind, cls in what:
                (alongside if attends else instead).setdefault(kind, {}).setdefault(cls, set()).add(index)
        of = "" if alone else f" ({self.part})"
        for groups, one, many, end in (
            (instead, "has", "have", " no attention map"),
            (alongside, "mixes", "mix", f" tokens beside {mapped}, without a map"),
        ):
            if groups:
                every = {
                    index for classes in groups.values() for indices in classes.values() for index in indices
                }
                verb = one if len(every) == 1 else many
                yield f"{self._named(every, of)} {verb}{end}: {self._listed(groups, every)}."

    def mixers(self, mixing: _Mixing) -> Iterator[tuple[str, str]]:
        """The names of the outermost modules that mix tokens without attention, and what they are in words."""
        for index, layer in self.layers.items():
            for path, mixer in self._mixers(layer, "", mixing):
                name = f"{self._name}.{index}{path}".lstrip(".")
                yield name, self._kind(path, mixer, index) or MIXER
        for name, module in self.others.items():
            if mixing.of(module):
                yield name, self._kind(name, module, None) or MIXER

    def _attends(self, module: nn.Module) -> bool:
        return any(part in self._seen for part in module.modules())

    def _mixers(self, module: nn.Module, path: str, mixing: _Mixing) -> Iterator[tuple[str, nn.Module]]:
        """The outermost modules in a layer that mix tokens without attention, and where they are."""
        inner = [
            mixer
            for name, child in module.named_children()
            if child not in self._seen
            for mixer in self._mixers(child, f"{path}.{name}", mixing)
        ]
        mixes = mixing.of(module) and not self._attends(module)
        # A layer within a layer is told by what is in it.
        yield from [(path, module)] if mixes and not (inner and type(module) in self._kinds) else inner

    def _without(self, layer: nn.Module, mixing: _Mixing, index: int) -> tuple[str, str]:
        """What is said of a layer in which nothing is known to mix tokens."""
        if not any(part in mixing.ran for part in layer.modules()):
            return _NOT_RUN, type(layer).__name__
        children = [child for child in layer.children() if not type(child).__module__.startswith("torch.")]
        largest = max(
            children,
            key=lambda child: sum(parameter.numel() for parameter in child.parameters()),
            default=layer,
        )
        if mixing.of(layer) is False:
            return _NOTHING, type(largest).__name__
        return self._kind("", layer, index), type(layer).__name__

    def _kind(self, path: str, module: nn.Module, index: int | None) -> str:
        """What mixes tokens, in words; empty where neither its names nor the configuration tell."""
        names = f"{path} {type(module).__name__}"
        kinds = (kind for kind, words in _KINDS.items() if re.search(words, names, re.IGNORECASE))
        return next(kinds, self._words[index] if self._words and index is not None else "")

    def _named(self, some: Collection[int], of: str) -> str:
        count = len(self.layers)
        if len(some) == count > 1:
            return f"All {count} layers{of}"
        return f"{_numbered(some).capitalize()} of {count}{of}"

    def _listed(self, groups: Mapping[str, Mapping[str, set[int]]], every: set[int]) -> str:
        phrases: list[str] = []
        for kind, classes in groups.items():
            where = set[int]().union(*classes.values())
            names = ", ".join(classes)
            phrase = f"{kind} ({names})" if kind else names
            phrases.append(phrase if where == every else f"{phrase} in {_numbered(where)}")
        return ", ".join(phrases)


@dataclass
class _Mixing:
    """A hook that finds which modules mix tokens; of those that are built alike one is asked.

    Attributes:
        lengths: how many tokens an axis may have.
        tolerance: see `unseen`.
        ran: the modules that ran.
        known: whether modules mix tokens, by how they are built.
    """

    lengths: Collection[int]
    tolerance: float
    ran: set[nn.Module] = field(default_factory=set[nn.Module])
    known: dict[_Built, bool] = field(default_factory=dict[_Built, bool])
    _asking: bool = False

    def __call__(self, module: nn.Module, args: tuple[Any, ...], kwargs: AnyDict, output: Any) -> None:
        """Ask a module that has run just now."""
        if self._asking:
            return
        self.ran.add(module)
        if _built(module) in self.known:
            return
        self._asking = True
        try:
            if (mixes := self._mixes(module, *afresh(args, kwargs))) is not None:
                self.known[_built(module)] = mixes
        except Exception:  # what does not run again is not known
            return
        finally:
            self._asking = False

    def of(self, module: nn.Module) -> bool | None:
        """Whether a module mixes tokens; None where that is not known."""
        return self.known.get(_built(module))

    def _mixes(self, module: nn.Module, args: tuple[Any, ...], kwargs: AnyDict) -> bool | None:
        name = next((key for key, value in kwargs.items() if self._is_axis(value)), "")
        given: Any = args[0] if args else kwargs.get(name)
        if not self._is_axis(given):
            return None
        middle = given.shape[1] // 2
        moved = given.clone()
        moved[:, middle] = moved[:, middle].flip(-1) + 1
        before, after = (
            _tensor(
                module.forward(states, *args[1:], **kwargs)
                if args
                else module.forward(**kwargs | {name: states})
            )
            for states in (given.clone(), moved)
        )
        if before is None or after is None or before.shape[:2] != given.shape[:2]:
            return None
        change = (after - before).float().abs().flatten(2).amax((0, 2))
        direct, change[middle] = change[middle].item(), 0.0
        return change.max().item() > self.tolerance * direct

    def _is_axis(self, value: Any) -> bool:
        """Whether it is ``[batch token dim]``."""
        return (
            isinstance(value, Tensor)
            and value.ndim == 3
            and value.is_floating_point()
            and value.shape[1] > 1
            and value.shape[1] in self.lengths
        )


def _tensor(output: Any) -> Tensor | None:
    given = first(output)
    return given if isinstance(given, Tensor) and given.is_floating_point() and given.ndim > 2 else None


def _built(module: nn.Module) -> _Built:
    return tuple(type(part) for part in module.modules())


def _words(modules: Sequence[nn.Module], count: int) -> Sequence[str]:
    """What the nearest configuration calls each of its layers that has no map; none where it does not tell."""
    for module in modules:
        config: Any = getattr(module, "config", None)
        for name in ("layers_block_type", "layer_types"):
            words: Any = getattr(config, name, None)
            if isinstance(words, (list, tuple)) and len(cast("Sequence[Any]", words)) == count:
                kinds = [str(word) for word in cast("Sequence[Any]", words)]
                return ["" if word in _ATTENDS else word.replace("_", " ") for word in kinds]
    return []


def _numbered(layers: Collection[int]) -> str:
    """Layers by their indices: ``layer 3``, ``layers 0–2, 4, 5``."""
    ordered, runs = sorted(layers), list[list[int]]()
    for index in ordered:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    words = [f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return f"layer{'s' * (len(ordered) > 1)} {', '.join(words)}"
