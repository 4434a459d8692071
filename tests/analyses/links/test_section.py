"""What the section on links sends to the page, and what the summary says of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope.analyses.links.examples import _sentence, _shown, section
from headscope.analyses.links.questions import AskedExample, Way, question
from headscope.analyses.links.run import Links
from headscope.analyses.links.section import Drawn, Linked
from headscope.analyses.links.statistics import dataset, table
from headscope.analyses.links.sums import FIGURES, LinkSums
from headscope.analyses.study import Study
from headscope.core.link import Link, Span
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.views.blobs import Blobs
from headscope.views.blocks import LinkSentence
from headscope.views.page import script_json
from tests.helpers import linguistics_sample as sample
from tests.helpers import section_blocks
from tests.helpers.section_blocks import rows
from tests.helpers.small_models import translator

WAYS = [Way(name, name, "any") for name in ("row", "column")]


def found(least: int = 10) -> xr.Dataset:
    """40 inputs "pronoun name": L1H0 is right on pronouns by its rows in 9 of 10, the nearest candidate in half of them.

    On names all heads are wrong but L0H1, by its columns, as often as the offset +1 is right.
    """
    sums = LinkSums(["row", "column"], [0, 1], 2, ["+1", "nearest"])
    for number in range(40):
        right = np.zeros((2, 2, 2, 2), np.bool_)
        right[0, 1, 0, 0] = number % 10 > 0
        right[1, 0, 1, 1] = number % 2
        rules = np.array([[False, number % 2 == 1], [number % 2 == 0, False]])
        sums.add(["pronoun", "name"], right, rules, number)
    whole = 1 + np.arange(8.0 * len(FIGURES)).reshape(-1, 2, 2, 2)
    whole[FIGURES.index("asked")] = 1
    sums.figures = {"pronoun": 40 * whole, "name": 80 * whole}
    return dataset(sums, least=least, meta={"inputs": 40})


def row(info: Any, label: str) -> Any:
    return next(one for one in rows(info, "links") if one["label"] == label)


def test_figures_of_a_row_are_those_of_the_table() -> None:
    result = found()
    info = Linked(result, command="headscope links x.jsonl").info(Blobs())
    expected: Any = table(result).set_index("label").drop(columns="paper")
    for label in ("all", "pronoun", "name"):
        own = expected.loc[label].to_dict()
        assert {name: row(info, label)[name] for name in own} == own
    pronoun = row(info, "pronoun")
    assert (pronoun["layer"], pronoun["head"], pronoun["direction"]) == (1, 0, "row")
    assert (pronoun["accuracy"], pronoun["rule"], pronoun["baseline_accuracy"]) == (0.9, "nearest", 0.5)
    assert (pronoun["mass"], pronoun["rank"], pronoun["average_precision"]) == (3, 11, 19)
    assert info["command"] == "headscope links x.jsonl"
    assert any("80 links in 40 inputs" in note for note in info["notes"])
    assert script_json(info)


def test_few_links_are_never_crowned() -> None:
    info = Linked(found(least=50)).info(Blobs())
    few = row(info, "name")
    assert few["few"]
    assert [few[key] for key in ("layer", "direction", "accuracy", "q", "times", "mass")] == [None] * 6
    assert (few["split_accuracy"], few["cases"], few["reason"]) == (None, None, None)
    assert (few["rule"], few["baseline_accuracy"]) == ("at +1", 0.5)
    assert any("fewer than 50 links" in note for note in info["notes"])
    assert script_json(info)


def test_the_summary_names_labels_that_a_head_knows() -> None:
    (line,) = Linked(found()).findings()
    rows: Any = table(found()).set_index("label")
    assert (rows.loc["pronoun", "split_accuracy"].round(2), rows.loc["pronoun", "times"]) == (0.9, 200)
    assert "".join(part["text"] for part in line) == (
        "Of 2 labels with enough links, 1 has a head that finds the target better than the best simple rule: pronoun "
        "L1H0 (90%, by nearest candidate 50%)."
    )
    assert [(part["layer"], part["head"]) for part in line if part["head"] is not None] == [(1, 0)]
    assert sample.said(Linked(found(least=100))) == ["No label has enough links here to name its best head."]


def test_sentences_travel_and_none_among_them_is_said() -> None:
    sentence = LinkSentence(words=["a", "b"], spans=[[0, 1]], second=1, example=3)
    info: Any = Linked(found(), [sentence], {"name": Drawn(looked=4)}).info(Blobs())
    sentences = section_blocks.table(info, "links")["cases"]["sentences"]
    assert sentences == [{"words": ["a", "b"], "spans": [[0, 1]], "second": 1, "example": 3}]
    missing = row(info, "name")["cases"]["missing"]
    assert missing == "None among the 4 sentences that were drawn."


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
