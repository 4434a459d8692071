"""What public functions are given, checked at the call against their annotations, and refused in one sentence.

`validated` goes before a public function. Its annotations say what is expected; `Expected` says more of a type where
they are not enough, such as the bounds of a number::

    @validated
    def measure(model: Model, corpus: Corpus | Iterable[Example], *, limit: Count | None = None) -> Dataset: ...

So ``hs.measure(model, corpus, limit="10")`` raises ``InputError: limit: expected a whole number, found '10'``.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import sys
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from headscope.core.types import AnyDict
from headscope.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Expected:
    """More of a type than its annotation says: ``Annotated[int, Expected(least=1)]``.

    Attributes:
        words: what is expected; by default the words of the type, or of the bound that was passed.
        least, most: bounds of a number, both allowed.
        rows: of a corpus, what the rows of a table that stands in its place hold besides texts.
    """

    words: str = ""
    least: float = -math.inf
    most: float = math.inf
    rows: str = ""


class InPlace(NamedTuple):
    """The argument in which something stands for an object of a class, what its rows hold, and if it is allowed."""

    name: str
    rows: str
    fits: bool


_TAKEN: dict[type, Callable[[Any, InPlace], Any]] = {}


def taken_as(kind: type) -> Callable[[Callable[[Any, InPlace], R]], Callable[[Any, InPlace], R]]:
    """Let a function make what `validated` functions get where their annotations name a class, from what is given.

    It returns what it was given where it makes nothing of it.
    """

    def decorate(make: Callable[[Any, InPlace], R]) -> Callable[[Any, InPlace], R]:
        _TAKEN[kind] = make
        return make

    return decorate


def _taken(hint: Any) -> tuple[Callable[[Any, InPlace], Any], str] | None:
    """What makes values of an annotation, and what their rows hold; None where they are taken as they are."""
    if isinstance(hint, type):
        return (make, "") if (make := _TAKEN.get(hint)) else None
    inner = next(filter(None, map(_taken, get_args(hint))), None)
    if inner is None or get_origin(hint) not in (Annotated, Union, types.UnionType):
        return None
    more = get_args(hint)[1] if get_origin(hint) is Annotated else None
    return (inner[0], more.rows) if isinstance(more, Expected) else inner


MOST_SEED = 2**32 - 1
"""The largest seed that all generators of random numbers take."""

Count = Annotated[int, Expected(least=1, most=sys.maxsize)]
"""How many there are of something, at least one."""
Number = Annotated[int, Expected(least=0, most=sys.maxsize)]
"""A place in a list, from 0, or how many there are of what may be missing."""
Seed = Annotated[int, Expected(f"a seed from 0 to {MOST_SEED}", 0, MOST_SEED)]
"""What numpy and torch both take."""
Level = Annotated[float, Expected("a number between 0 and 1", math.ulp(0.0), math.nextafter(1.0, 0.0))]
"""The largest p or q at which something is said to be there."""
Offset = Annotated[int, Expected(least=-10_000, most=10_000)]
"""How far one word or token is from another."""
Draws = Annotated[int, Expected(least=20_000, most=1_000_000)]
"""Permutations of labels, or draws of a bootstrap."""


class Fault(NamedTuple):
    """Where in a value what was expected instead of what was found, and whether the value is of the right kind."""

    where: str
    words: str
    value: object
    near: bool = False
    tip: str = ""


def validated(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function refuse, with an `InputError` that names it, an argument that its annotation does not allow.

    An unknown or a missing argument stays the `TypeError` that Python makes of it.
    """
    signature = inspect.signature(function)

    @functools.cache
    def hints() -> AnyDict:
        return hints_of(function)

    @functools.cache
    def taken() -> dict[str, tuple[Callable[[Any, InPlace], Any], str]]:
        return {name: made for name, hint in hints().items() if (made := _taken(hint)) is not None}

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)
        for name, value in bound.arguments.items():
            if name not in hints() or signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                continue
            hint = _several(hints()[name], signature.parameters[name])
            if name in taken():
                make, rows = taken()[name]
                made = make(value, InPlace(name, rows, _fault(value, hint) is None))
                bound.arguments[name] = value = made
            expect(name, value, hint)
        return function(*bound.args, **bound.kwargs)

    return call


def hints_of(function: Callable[..., Any]) -> AnyDict:
    """What a function's annotations allow, by argument, whether or not the libraries that they name are loaded."""
    return get_type_hints(function, localns=_unloaded(inspect.unwrap(function)), include_extras=True)


class _Named(type):
    """A type of a library that need not be loaded: an object is of it by the name of its class."""

    def __instancecheck__(cls, instance: object) -> bool:
        names = {(base.__module__.split(".")[0], base.__name__) for base in type(instance).__mro__}
        return (cls.__module__, cls.__name__) in names


def _unloaded(function: Callable[..., Any]) -> AnyDict:
    """What annotations name of libraries that a module imports for its types only."""
    dataset = _Named("Dataset", (), {"__module__": "xarray"})
    return {} if "xr" in function.__globals__ else {"xr": types.SimpleNamespace(Dataset=dataset)}


def expect(name: str, value: object, hint: Any) -> None:
    """Raise `InputError` where a value is not what an annotation allows."""
    if (fault := _fault(value, hint)) is not None:
        tip = f"; {fault.tip}" if fault.tip else ""
        raise InputError(f"{name}{fault.where}: expected {fault.words}, found {_shown(fault.value)}{tip}")


def from_zero(name: str, value: int) -> int:
    """A number from 0 as Python's own. Raises `InputError` for anything else."""
    if type(value) is not int or not 0 <= value <= sys.maxsize:
        expect(name, value, Number)
    return int(value)


def expect_fields(value: object, *names: str) -> None:
    """Raise `InputError` where these attributes of a value are not what its class says of them."""
    hints = _hints(type(value))
    for name in names:
        expect(name, getattr(value, name), hints[name])


@functools.cache
def _hints(kind: type) -> AnyDict:
    return get_type_hints(kind, include_extras=True)


def _several(hint: Any, parameter: inspect.Parameter) -> Any:
    return Sequence[hint] if parameter.kind is inspect.Parameter.VAR_POSITIONAL else hint


def _fault(value: Any, hint: Any) -> Fault | None:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(value, arguments[0], arguments[1])
    if origin in (Union, types.UnionType):
        return _of_several(value, hint)
    if origin is Literal:
        there = any(type(value) is type(choice) and value == choice for choice in arguments)
        return None if there else Fault("", _words(hint), value)
    kind = _kind(hint)
    if kind is Any or isinstance(kind, (TypeVar, str)):
        return None
    if not _is(value, kind):
        return Fault("", _words(hint), value, tip=_tip(value, hint))
    return _of_parts(value, kind, arguments)


def _annotated(value: Any, hint: Any, more: Expected) -> Fault | None:
    fault = _fault(value, hint)
    if fault is not None:
        outer = not fault.where or not more.words
        return fault._replace(words=more.words or fault.words) if outer else fault
    if not isinstance(value, int | float | np.number) or more.least <= value <= more.most:
        return None
    bound = f"at most {more.most:,}" if value > more.most else f"at least {more.least:,}"
    return Fault("", more.words or bound, value, near=True)


def _of_several(value: Any, hint: Any) -> Fault | None:
    faults: list[Fault] = []
    for option in get_args(hint):
        if (fault := _fault(value, option)) is None:
            return None
        faults.append(fault)
    if (near := next((fault for fault in faults if fault.near), None)) is not None:
        return near
    return Fault("", _words(hint), value, tip=next((fault.tip for fault in faults if fault.tip), ""))


def _of_parts(value: Any, kind: Any, arguments: tuple[Any, ...]) -> Fault | None:
    """What is wrong in a list, a tuple or a dict. What can be read once is left alone."""
    inner: Iterable[tuple[object, Any, Any]] = ()
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            return Fault("", _words(tuple[arguments]), value, near=True)
        inner = ((place, item, hint) for place, (item, hint) in enumerate(zip(value, arguments, strict=True)))
    elif isinstance(value, Mapping) and len(arguments) == 2:
        named = cast("Mapping[Any, Any]", value)
        if not named or (arguments == (str, Any) and all(type(key) is str for key in named)):
            return None
        if (wrong := next((key for key in named if _fault(key, arguments[0])), None)) is not None:
            return Fault(" (its keys)", _words(arguments[0]), wrong, near=True)
        inner = ((repr(key), item, arguments[1]) for key, item in named.items())
    elif kind in (Sequence, Iterable, tuple, list) and arguments and isinstance(value, Collection):
        several = cast("Collection[Any]", value)
        hint = arguments[0]
        if hint is Any or (isinstance(hint, type) and all(type(item) is hint for item in several)):
            return None  # as most are: the words of a sentence are not looked at one by one
        inner = ((place, item, hint) for place, item in enumerate(several))
    for place, item, hint in inner:
        if (fault := _fault(item, hint)) is not None:
            return fault._replace(where=f"[{place}]{fault.where}", near=True)
    return None


def _kind(hint: Any) -> Any:
    """The class of a type, also where it is an alias (``type X = ...``), as numpy's `NDArray` is from 2.5 on."""
    origin = get_origin(hint) or hint
    meant = getattr(origin, "__value__", origin)
    return get_origin(meant) or meant


def _is(value: Any, kind: Any) -> bool:
    if kind in (int, float):
        numbers = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
        return isinstance(value, numbers) and not isinstance(value, bool)
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind in (None, type(None)):
        return value is None
    if kind is Callable:
        return callable(value)
    if kind in (Sequence, Iterable):
        several = Collection if kind is Sequence else Iterable
        single = (
            isinstance(value, (str, bytes, bytearray, Mapping, os.PathLike)) or getattr(value, "ndim", 1) == 0
        )
        return isinstance(value, several) and not single
    return isinstance(value, kind)


def _words(hint: Any) -> str:
    """What a type is called."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return arguments[1].words or _words(arguments[0])
    if origin in (Union, types.UnionType):
        paths = any(
            get_origin(option) is os.PathLike or option in (os.PathLike, Path) for option in arguments
        )
        kinds = [option for option in arguments if option is not type(None) and not (paths and option is str)]
        return _either(list(dict.fromkeys(name for option in kinds for name in _names(option))))
    if origin is Literal:
        return _either(_names(hint))
    kind = _kind(hint)
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        return f"({', '.join(map(_words, arguments))})"
    if kind in (Sequence, list, tuple) and arguments and arguments[0] is not Any:
        return f"a list, each {_words(arguments[0])}"
    return _NAMED.get(kind.__name__, kind.__name__)


def _names(hint: Any) -> list[str]:
    return [str(option) for option in get_args(hint)] if get_origin(hint) is Literal else [_words(hint)]


_NAMED = {
    "NoneType": "None",
    "bool": "True or False",
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "tuple": "a tuple",
    "PathLike": "a path",
    "Path": "a path",
    "Mapping": "a dict",
    "Sequence": "a list",
    "Callable": "a function",
    "Iterable": "examples",
    "Any": "anything",
    "list": "a list",
    "ndarray": "an array",
    "Encoder": "one from hs.load",
    "Model": "one from hs.load",
    "Corpus": "a corpus",
    "Module": "a torch module",
    "Pipeline": "a pipeline of transformers",
    "dtype": "a torch.dtype",
    "device": "a torch.device",
    "Example": "an example",
    "Head": "a head",
    "Measure": "a measure",
    "Objective": "an objective",
    "Dataset": "a result of headscope (xarray.Dataset)",
}
"""Types that an annotation may name, in words."""


def _tip(value: object, hint: Any) -> str:
    """What to write instead, where a name stands in the place of what it names."""
    name = getattr(hint, "__name__", "")
    if name in ("Model", "Encoder") and isinstance(value, str):
        return f"hs.load({_shown(value)}) gives one"
    if name == "Corpus" or "Example" in {
        name,
        *(getattr(argument, "__name__", "") for argument in get_args(hint)),
    }:
        return 'headscope.corpora.text("wiki.txt") reads a file, headscope.corpora.texts([...]) takes strings'
    return ""


def _shown(value: object) -> str:
    """A value in few words: itself where it is short, or else its kind."""
    if isinstance(value, str | int | float | np.number | np.bool_):
        text = repr(cast(Any, value).item() if isinstance(value, np.generic) else value)
        return text if len(text) <= 60 else f"{text[:60]}…"
    if value is None:
        return "None"
    kind = type(value).__name__
    if isinstance(value, tuple):
        return f"a tuple of {len(cast('tuple[object, ...]', value))}"
    if isinstance(value, list | dict | set | range):
        return f"a {kind}" if len(cast("Collection[object]", value)) else f"an empty {kind}"
    return kind


def _either(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
