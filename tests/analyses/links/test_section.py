"""What the section on links sends to the page, and what the summary says of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.links.examples import _sentence, _shown, section
from headscope.analyses.links.questions import AskedExample, Way, question
from headscope.analyses.links.run import Links
from headscope.analyses.links.section import Drawn
from headscope.analyses.study import Study
from headscope.core.link import Link, Span
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.small_models import translator

WAYS = [Way(name, name, "any") for name in ("row", "column")]


def asked(demo: Model, links: list[Link], **given: Any) -> AskedExample:
    example = Example(words=["the", "old", "cat", "saw", "its", "tail"], **given)
    example = replace(example, tokens=demo.from_words(example.words or (), example.pair_words))
    assert example.tokens is not None
    return AskedExample.of(example, 0, question(links, WAYS, example.tokens))


@pytest.mark.parametrize("direction", ["row", "column"])
def test_one_input_by_hand(demo: Model, direction: Any) -> None:
    """*its* is linked with *the old cat*, of which any word is right; *tail* with *its*, which it may not choose."""
    links = [Link(Span(4, 5), (Span(0, 3),), "of"), Link(Span(5, 6), (Span(4, 5),), "of")]
    one = asked(demo, links)
    maps, way = np.full((6, 6), 0.01), Way(direction, direction, "any")
    maps[4, 1], maps[4, 4], maps[5, 3], maps[5, 5], maps[2, 0] = 0.6, 0.9, 0.5, 0.8, 0.2
    own = maps if direction == "row" else maps.T
    places: dict[int, int] = {7: 0}
    shown = _shown("of", way, [own], [one], places)
    (looked,) = shown.wrong
    assert (shown.right, shown.looked, looked["sentence"], places) == ([], 1, 1, {7: 0, 0: 1})
    assert (looked["words"], looked["predicted"], looked["right"]) == ([4, 5], [1, 3], [True, False])
    assert looked["targets"] == [[0, 1, 2], [4]]
    arcs = {(4, 0): 0.01, (4, 1): 0.6, (4, 2): 0.01, (5, 4): 0.01, (5, 3): 0.5, (2, 0): 0.2}
    turned = {(start, end) if direction == "row" else (end, start): w for start, end, w in looked["arcs"]}
    assert turned == arcs
    own[(5, 4) if direction == "row" else (4, 5)] = 0.7
    shown = _shown("of", way, [own], [one], {})
    assert [each["right"] for each in shown.right] == [[True, True]]
    assert _shown("other", way, [own], [one], {}) == Drawn([], [], 0)


def test_a_source_of_several_words_is_one_unit(demo: Model) -> None:
    one = asked(demo, [Link(Span(0, 3), (Span(4, 5),), "of"), Link(Span(5, 6), (Span(3, 4),), "of")])
    assert _sentence(one, 2) == {
        "words": ["the", "old", "cat", "saw", "its", "tail"],
        "spans": [[0, 2]],
        "second": None,
        "example": 2,
    }
    maps = np.full((7, 7), 0.3)
    (looked,) = _shown("of", WAYS[0], [maps], [one], {}).wrong
    assert looked["words"] == [6, 5]
    assert looked["predicted"] == [3, 0]
    assert [arc for arc in looked["arcs"] if 6 in arc[:2]] == [[6, 3, 0.3], [6, 4, 0.3]]


def test_maps_of_heads_are_those_of_the_engine(demo: Model) -> None:
    """Attention to a unit is the sum over its tokens, from it the mean: beside the whole map of the input."""
    one = asked(demo, [Link(Span(0, 3), (Span(4, 5),))])
    head = hs.Head(3, 7)
    own = Links(demo).maps([one], {head})[0][head]
    tokens = one.tokens
    assert tokens is not None
    whole = hs.capture(demo, tokens)[head]
    groups = one.question.key.groups
    expected = [[whole[np.ix_(each, other)].sum(1).mean() for other in groups] for each in groups]
    np.testing.assert_allclose(own, expected, atol=1e-6)


def test_heads_that_the_page_does_not_show_are_refused() -> None:
    """Links between what an encoder reads and a decoder reads are of cross-attention, whose heads are others."""
    texts = (["her", "dog"], ["dog", "saw"])
    corpus = hs.corpora.linked([texts], [[Link(Span(0, 1, "b"), (Span(1, 2),))]])
    study = Study(translator(), corpus, ["links"], 0, links=corpus)
    with pytest.raises(InputError, match="heads of cross-attention are not on this page"):
        section(study)
