"""Values are checked when they are made, as arguments are: each silly one is refused in one sentence that names it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from typing_extensions import TypeAliasType

import headscope as hs
from headscope.core.link import Link, Named, Span
from headscope.core.region import Region, Runs
from headscope.core.validation import expect
from headscope.errors import InputError

NAN, HUGE = float("nan"), 10**30
PIXELS, SAMPLES = np.zeros((4, 4, 3), np.uint8), np.zeros(10, np.float32)
SPAN = Span(0, 1)


class Odd:
    """Nothing that anything takes."""


NO_NUMBERS: list[Any] = [
    None, True, "x", "3", -1, 1.5, NAN, HUGE, [], {}, b"x", Odd(), np.zeros(3), [None], 1j, Path("x"),
]  # fmt: skip
NO_STRINGS: list[Any] = [None, True, -1, 1.5, NAN, [], {}, b"x", Odd(), np.zeros(3), [None], 1j, Path("x")]
MADE: list[tuple[str, Callable[[Any], object], list[Any]]] = [
    ("layer", lambda one: hs.Head(one, 0), NO_NUMBERS),
    ("head", lambda one: hs.Head(0, one), NO_NUMBERS),
    ("start", lambda one: Span(one, 9), NO_NUMBERS),
    ("end", lambda one: Span(0, one), [*NO_NUMBERS, 0]),
    ("end", lambda one: Span(5, one), [2, 5]),
    ("text", lambda one: Span(0, 1, one), [*NO_STRINGS, "c", ""]),
    ("name", Named, [*NO_STRINGS, ""]),
    ("text", lambda one: Named("cls", one), [*NO_STRINGS, "c", ""]),
    ("pixels", hs.Picture, [*NO_NUMBERS, np.zeros((4, 4)), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)]),
    ("name", lambda one: hs.Picture(PIXELS, one), NO_STRINGS),
    ("samples", lambda one: hs.Sound(one, 16_000), [each for each in NO_NUMBERS if not isinstance(each, np.ndarray)]),
    (
        "samples",
        lambda one: hs.Sound(one, 16_000),
        [SAMPLES[:0], SAMPLES[None], SAMPLES * NAN, np.zeros(3, np.int16), np.array(["a"])],
    ),
    ("rate", lambda one: hs.Sound(SAMPLES, one), [*NO_NUMBERS, 0]),
    ("name", lambda one: hs.Sound(SAMPLES, 16_000, one), NO_STRINGS),
    ("box", Region, [*NO_NUMBERS[1:], (5, 5, 1, 1), (0, 0, True, 3), (0, 0, NAN, 3), ("0", "0", "1", "1")]),
    ("polygons", lambda one: Region(polygons=one), [*NO_NUMBERS[1:], [[0, 0, True, 1, 2, 2]], ["x"]]),
    (
        "mask",
        lambda one: Region(mask=one),
        [
            *(each for each in NO_NUMBERS[1:] if not isinstance(each, str | Path)),
            [[True], [True, False]],
            np.ones((2, 2), int),
            Runs(2, 2, (1, 2)),
            Runs(2, 2, (-1, 5)),
            Runs(True, 2, (0, 2)),
            {"size": [10**6, 10**6], "counts": [0, 10**12]},
        ],
    ),
    ("source", lambda one: Link(one, ()), [*NO_NUMBERS, (0, 1)]),
    ("targets", lambda one: Link(SPAN, one), [*(each for each in NO_NUMBERS if not isinstance(each, list) or each), (Named("cls"),), ((0, 1),)]),
    ("candidates", lambda one: Link(SPAN, (), candidates=one), [each for each in NO_NUMBERS[1:] if not isinstance(each, list) or each]),
    ("possible", lambda one: Link(SPAN, (), possible=one), [each for each in NO_NUMBERS if not isinstance(each, list) or each]),
    ("label", lambda one: Link(SPAN, (), one), NO_STRINGS),
    ("unit", lambda one: Link(SPAN, (), unit=one), [*NO_STRINGS, "x"]),
    ("target_unit", lambda one: Link(SPAN, (), target_unit=one), [*NO_STRINGS[1:], "x"]),
    ("place", lambda one: Link(SPAN, (), place=one), NO_STRINGS),
]  # fmt: skip
CALLS = [
    pytest.param(make, name, value, id=f"{place}-{name}-{number}")
    for place, (name, make, values) in enumerate(MADE)
    for number, value in enumerate(values)
]


@pytest.mark.parametrize(("make", "name", "value"), CALLS)
def test_a_silly_value_is_refused(make: Callable[[Any], object], name: str, value: object) -> None:
    with pytest.raises(InputError) as error:
        make(value)
    said = str(error.value)
    assert said.startswith(name)
    assert "expected" in said
    assert "\n" not in said


def test_good_ones_are_plain_numbers_and_stay_what_they_are() -> None:
    head, span = hs.Head(np.int64(3), 2), Span(np.int32(1), 4, "b")  # type: ignore[arg-type]
    assert (type(head.layer), type(span.start)) == (int, int)
    for one in (head, span, Named("cls"), Link(SPAN, (SPAN,), unit="tokens"), Region((0, 0, 1, 1))):
        again = pickle.loads(pickle.dumps(one))
        assert again == one
        assert type(again) is type(one)
        assert repr(again) == repr(one)
    assert head == (3, 2)
    assert head._replace(head=1) == hs.Head(3, 1)
    layer, number = head
    assert (layer, number) == (3, 2)
    assert Link(SPAN, [SPAN]).targets == (SPAN,)  # type: ignore[arg-type]
    assert isinstance(head, hs.Head)


def test_an_alias_of_a_type_is_what_it_stands_for() -> None:
    """numpy's `NDArray` is one from 2.5 on."""
    parameter = TypeVar("parameter", bound=np.generic)
    alias = TypeAliasType("alias", np.ndarray[Any, np.dtype[parameter]], type_params=(parameter,))
    expect("pixels", np.zeros(2), alias[np.uint8])
    with pytest.raises(InputError, match="pixels: expected an array, found 'a'"):
        expect("pixels", "a", alias[np.uint8])
