"""What public functions are given is checked against their annotations, all of them and in one way."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from torch import nn

import headscope as hs
from headscope.core.validation import Count, Expected, Seed, expect, hints_of, validated
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model
from tests.test_public_api import PUBLIC

FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}


class Odd:
    """Nothing that anything takes."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_of_a_public_function_is_checked(name: str) -> None:
    function = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters.values()
    needed = {
        each.name for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    }
    several = {each.name for each in parameters if each.kind is each.VAR_POSITIONAL}
    hints = hints_of(function)
    asked = [
        each.name for each in parameters if each.kind is not each.VAR_KEYWORD and hints[each.name] is not Any
    ]
    for parameter in asked:
        with pytest.raises(InputError, match=rf"^{parameter}: expected .+, found Odd") as error:
            expect(parameter, Odd(), hints[parameter])
        assert "\n" not in str(error.value)
    for parameter in asked[:1] + asked[-1:]:  # and the function does that before anything else
        given = {each: Odd() for each in {*needed, parameter} if each not in several}
        with pytest.raises(InputError, match=r"^\w+(\[0\])?: expected .+, found Odd"):
            function(*([] if given else [Odd()]), **given)


HINTS: list[tuple[Any, object, str]] = [
    (int, "3", "a whole number, found '3'"),
    (int, True, "a whole number, found True"),
    (float, "x", "a number, found 'x'"),
    (bool, 1, "True or False, found 1"),
    (str, b"x", "a string, found bytes"),
    (str | os.PathLike[str], 5, "a path, found 5"),
    (Literal["a", "b", "c"], "d", "a, b or c, found 'd'"),
    (Literal["a"], ["a"], "a, found a list"),
    (int | Literal["first"], "last", "a whole number or first, found 'last'"),
    (Count | None, 0, "at least 1, found 0"),
    (Count, 2**70, "at most 9,223,372,036,854,775,807, found 118059"),
    (Count, float("nan"), "a whole number, found nan"),
    (Seed, -1, "a seed from 0 to 4294967295, found -1"),
    (Annotated[float, Expected(least=0, most=1)], float("nan"), "at least 0, found nan"),
    (Sequence[str], "ab", "a list, each a string, found 'ab'"),
    (Sequence[str] | None, ["a", 5], "[1] a string, found 5"),
    (Sequence[str | tuple[str, str]], [("a",)], "[0] (a string, a string), found a tuple of 1"),
    (Sequence[str | tuple[str, str]], [("a", 5)], "[0][1] a string, found 5"),
    (Mapping[str, int], {5: 1}, " (its keys) a string, found 5"),
    (Mapping[str, int], {"a": "b"}, "['a'] a whole number, found 'b'"),
    (Callable[[int], int], 5, "a function, found 5"),
    (nn.Module, [], "a torch module, found an empty list"),
    (Model, "gpt2", "one from hs.load, found 'gpt2'; hs.load('gpt2') gives one"),
    (Model, "x" * 100, f"one from hs.load, found '{'x' * 59}…; hs.load('{'x' * 59}…) gives one"),
    (Corpus | Iterable[Example], "a.txt", "a corpus or examples, found 'a.txt'; headscope.corpora.text"),
    (Corpus | Iterable[Example], ["a"], "[0] an example, found 'a'; headscope.corpora.text"),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "value", "said"), HINTS)
def test_one_sentence_says_what_was_expected(hint: Any, value: object, said: str) -> None:
    where, separator, words = said.partition(" ") if said[0] in "[" else ("", " ", said)
    if said.startswith(" (its keys)"):
        where, words = " (its keys)", said.removeprefix(" (its keys) ")
    with pytest.raises(InputError) as error:
        expect("x", value, hint)
    assert str(error.value).startswith(f"x{where}: expected{separator}{words}")


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, np.int64(3)),
        (float, 3),
        (float, np.float32(3)),
        (bool, np.bool_(True)),
        (Count | None, None),
        (Sequence[int], np.arange(3)),
        (Sequence[int], range(3)),
        (Sequence[str], ()),
        (Iterable[Example], iter([1])),
        (Any, object()),
        (Literal["a", None], None),
    ],
)
def test_what_is_expected_passes(hint: Any, value: object) -> None:
    expect("x", value, hint)


def test_a_function_stays_what_it_was() -> None:
    @validated
    def add(a: int, *more: int, of: str = "x", **rest: object) -> int:
        """Add."""
        return a + sum(more)

    assert (add(1, 2, 3, of="y", other=5), add.__doc__, add.__name__) == (6, "Add.", "add")
    with pytest.raises(InputError, match=r"^more\[1\]: expected a whole number, found 'x'$"):
        add(1, 2, "x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        add()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        hs.table(1, nonsense=2)  # type: ignore[call-arg, arg-type]
