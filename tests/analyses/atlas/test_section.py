"""The section of the atlas: what the page gets of each head."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.atlas.section import Atlas, planes, section
from headscope.analyses.distance import arrangement
from headscope.analyses.study import Study
from headscope.views.blobs import Blobs, decode
from tests.helpers import section_blocks
from tests.helpers.atlas_sample import atlas, with_neurons
from tests.helpers.report_whole import HEADS, ROLES, distances


def read(made: Atlas) -> tuple[Any, dict[str, Any]]:
    blobs = Blobs()
    info = made.info(blobs)
    found = info["planes"]
    names = ("query", "key", "looks", "weight")
    return info, {name: decode(found[name], blobs.texts) for name in names} if found else {}


def test_each_head_has_its_place_and_its_roles() -> None:
    info, _ = read(atlas())
    assert list(zip(info["layer"], info["head"], strict=True)) == [(head.layer, head.head) for head in HEADS]
    assert info["roles"] == [[ROLES[head]] if head in ROLES else [] for head in HEADS]
    table: Any = arrangement.head_map(distances())
    assert [place[0] for place in info["places"]] == pytest.approx(table["x"].tolist(), abs=1e-4)
    assert "Each point is one of 12 heads" in info["about"]


def test_places_on_a_plane_are_bytes_of_the_square_around_it() -> None:
    made = atlas()
    info, arrays = read(made)
    count = len(info["planes"]["tokens"])
    assert arrays["query"].shape == arrays["key"].shape == (12, count, 2)
    for row, head in enumerate(HEADS):
        own = made.planes.planes[head]
        sent = np.concatenate([arrays["query"][row], arrays["key"][row]]).astype(float)
        true = np.concatenate([own.query, own.key])
        # The same picture: one scale for both axes, off by half a step of 255.
        scale = np.ptp(true, axis=0).max() / 255
        assert np.ptp(sent, axis=0).max() == 255
        np.testing.assert_allclose((sent - sent.mean(0)) * scale, true - true.mean(0), atol=1.01 * scale)
        assert info["planes"]["share"][row] == pytest.approx(own.share, abs=1e-3)


def test_what_a_query_looks_at_most() -> None:
    made = atlas()
    info, arrays = read(made)
    assert [(token["example"], token["place"]) for token in info["planes"]["tokens"]] == [
        (point.example, point.place) for point in made.planes.points
    ]
    for row, head in enumerate(HEADS):
        np.testing.assert_array_equal(arrays["looks"][row], made.planes.key[head])
        np.testing.assert_allclose(arrays["weight"][row], made.planes.weight[head], atol=0.004)


def test_a_query_that_looks_at_none_has_no_weight() -> None:
    weights = np.zeros((3, 4, 8, 8))
    weights[..., 0] = 1
    made = Atlas(HEADS, {}, None, planes([(0, with_neurons(weights))]))
    info, arrays = read(made)
    assert info["places"] is None
    assert not arrays["weight"].any()
    np.testing.assert_array_equal(arrays["looks"], np.tile(np.arange(7), (12, 1)))


@pytest.fixture(scope="module")
def study(demo: Any) -> Study:
    study = Study(demo, hs.corpora.builtin(), ["atlas"], 2, limit=4)
    study.figures.append(hs.measure(demo, study.corpus, measures=["previous", "entropy"], limit=4))
    return study


@pytest.mark.slow
def test_alone_it_brings_its_cards(study: Study) -> None:
    made, card = section(study)
    info, arrays = read(made)
    (cards,) = section_blocks.cards_of(card.info(Blobs()))
    assert len(info["layer"]) == len(cards["cards"]) == 72
    assert info["places"] is not None
    assert cards["inputs"] > 0
    tokens = info["planes"]["tokens"]
    assert arrays["query"].shape == (72, len(tokens), 2)
    for token in tokens:  # each is the token of the page's own example
        one = study.inputs[token["example"]]
        assert one.first.key.texts[token["place"]].strip() == token["piece"]
        assert token["piece"] not in ("[CLS]", "[SEP]")


@pytest.mark.slow
def test_beside_the_section_of_cards_it_has_none(demo: Any, study: Study) -> None:
    both = Study(demo, study.corpus, ["cards", "atlas"], 2, limit=4, figures=study.figures)
    assert len(section(both)) == 1


def test_a_page_without_examples() -> None:
    info, _ = read(Atlas(HEADS, {}, None, None))
    assert info["planes"] is None
    assert not any("Queries and keys" in note for note in info["notes"])
