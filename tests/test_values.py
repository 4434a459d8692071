"""Values are checked when they are made: what good ones are."""

from __future__ import annotations

import pickle
from typing import Any, TypeVar

import numpy as np
import pytest
from typing_extensions import TypeAliasType

import headscope as hs
from headscope.core.link import Link, Named, Span
from headscope.core.region import Region
from headscope.core.validation import expect
from headscope.errors import InputError

SPAN = Span(0, 1)


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
