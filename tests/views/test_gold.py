"""Gold links of an input: where they stand on its axes, and what a head makes of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from headscope.core.grid import Grid
from headscope.core.link import Link, Span
from headscope.core.maps import AttentionMaps
from headscope.core.media import Picture
from headscope.core.region import Region
from headscope.core.tokens import Tokens
from headscope.errors import HeadscopeWarning, InputError
from headscope.views.explorer import explorer_payload
from headscope.views.gold import of_parts
from headscope.views.inputs import Input
from headscope.views.sheet import Sheet
from tests.helpers.media_sample import cameras
from tests.helpers.view_sample import some

# [CLS] it ##s cat [SEP] <b>& שלום [SEP]: words "its", "cat"; of B "<b>&", "שלום".
SELF = {"self": some()}


def link(source: Span, *targets: Span, **more: Any) -> Link:
    return Link(source, targets, **more)


def sides(found: dict[str, list[Any]]) -> dict[str, list[tuple[str, list[int], list[list[int]]]]]:
    return {
        name: [(one["side"], one["source"], one["targets"]) for one in links] for name, links in found.items()
    }


class TestPlaces:
    def test_words_of_both_texts(self) -> None:
        found = of_parts([link(Span(1, 2), Span(0, 1), label="det"), link(Span(0, 1, "b"), Span(1, 2))], SELF)
        assert sides(found) == {"self": [("from", [3], [[1, 2]]), ("from", [5], [[3]])]}
        expected = [("det", "words"), ("link", "words")]
        assert [(one["label"], one["units"]) for one in found["self"]] == expected

    def test_one_source_and_label_is_one_link_of_several_targets(self) -> None:
        found = of_parts(
            [(3, 1), (3, 5), (2, 1), link(Span(3, 4), Span(6, 7), label="x", unit="tokens")], SELF
        )
        assert sides(found)["self"] == [("from", [3], [[1], [5]]), ("from", [2], [[1]]), ("from", [3], [[6]])]
        assert found["self"][0]["units"] == "tokens"

    def test_candidates_and_possible_targets(self) -> None:
        one = link(
            Span(1, 2), Span(0, 1), possible=(Span(0, 1, "b"),), candidates=(Span(0, 1), Span(1, 2, "b"))
        )
        (found,) = of_parts([one], SELF)["self"]
        assert (found["targets"], found["candidates"]) == ([[1, 2], [5]], [[1, 2], [6]])

    def test_a_matrix_is_of_the_queries_and_keys(self) -> None:
        matrix = np.zeros((8, 8), bool)
        matrix[3, [1, 5]] = True
        assert sides(of_parts(matrix, SELF)) == {"self": [("from", [3], [[1], [5]])]}

    def test_what_a_causal_query_cannot_see_looks_back(self) -> None:
        found = of_parts([(1, 5), (5, 1), (3, 3)], {"self": some(causal=True)})
        assert sides(found)["self"] == [("to", [1], [[5]]), ("from", [5], [[1]]), ("from", [3], [[3]])]

    def test_an_encoder_reads_a_and_a_decoder_b(self) -> None:
        key, query = Tokens(["a", "b", "c"]), Tokens(["x", "y"])
        whole = np.full((1, 1, 3, 3), 1 / 3)
        parts = {
            "encoder": AttentionMaps(list(whole), key, key, kind="encoder"),
            "decoder": AttentionMaps([np.tril(np.ones((1, 2, 2))) / [[1], [2]]], query, query, causal=True),
            "cross": AttentionMaps([np.full((1, 2, 3), 1 / 3)], query, key, kind="cross"),
        }
        found = of_parts(
            [((2, 3), (0, 1)), ((1, 2, "b"), (2, 3)), ((0, 2), (1, 2, "b")), ((1, 2, "b"), (0, 1, "b"))],
            parts,
        )
        assert sides(found) == {
            "encoder": [("from", [2], [[0]])],
            "cross": [("from", [1], [[2]]), ("to", [0, 1], [[1]])],
            "decoder": [("from", [1], [[0]])],
        }
        matrix = np.array([[True, False, False], [False, False, True]])
        assert sides(of_parts(matrix, parts)) == {"cross": [("from", [0], [[0]]), ("from", [1], [[2]])]}
        alone = {"encoder": parts["encoder"]}
        with pytest.raises(
            InputError, match=r"links\[0\]: expected spans of texts that one part shows, found a and b"
        ):
            of_parts([((0, 1), (1, 2, "b"))], alone)

    def test_a_divided_piece_is_said(self) -> None:
        axis = Tokens(["abc", "d"], offsets=np.array([[0, 3], [4, 5]]), word_ids=np.array([0, 1]))
        maps = AttentionMaps([np.full((1, 2, 2), 0.5)], axis, axis)
        with pytest.warns(HeadscopeWarning, match=r"links\[0\]: 'abc' is taken whole"):
            found = of_parts([link(Span(1, 3), Span(4, 5), unit="characters")], {"self": maps})
        assert sides(found) == {"self": [("from", [0], [[1]])]}


def test_a_payload_has_the_links_of_each_part() -> None:
    links = of_parts([(3, 1)], SELF)
    (part,) = explorer_payload([Input(SELF, links=links)])[0]["inputs"][0]["parts"]
    assert part.get("links") == links["self"]
    (plain,) = explorer_payload([Input(SELF)])[0]["inputs"][0]["parts"]
    assert "links" not in plain
    (thumbs,) = explorer_payload([Input(SELF, links=links)], thumbnails=True)[0]["inputs"][0]["parts"]
    assert "links" not in thumbs


def seen(rows: int = 2, columns: int = 3, **more: Any) -> AttentionMaps:
    """Maps over a grid of patches of 10 × 10 pixels, after [CLS]."""
    picture = Picture(np.zeros((10 * rows, 10 * columns, 3), np.uint8))
    axis = Grid(rows, columns, prefix=["[CLS]"], picture=picture, **more)
    return AttentionMaps([np.full((1, len(axis), len(axis)), 1 / len(axis))], axis, axis)


class TestRegions:
    def test_they_are_patches_and_lines_around_them(self) -> None:
        mask = np.zeros((20, 30), bool)
        mask[10:, :10] = True
        found = of_parts(
            [("cls", Region((11, 1, 29, 9))), (Region((0, 0, 10, 10)), Region(mask=mask))], {"self": seen()}
        )["self"]
        expected = [("from", [0], [[2, 3]]), ("from", [1], [[4]])]
        assert [(one["side"], one["source"], one["targets"]) for one in found] == expected
        assert all(one["candidates"] == [[patch] for patch in range(1, 7)] for one in found)
        box = {"side": "to", "points": [11.0, 1.0, 29.0, 1.0, 29.0, 9.0, 11.0, 9.0, 11.0, 1.0]}
        assert found[0].get("outlines") == [box]
        lines = found[1].get("outlines", [])
        assert [line["side"] for line in lines] == ["from"] + ["to"] * 4
        json.dumps(found)

    def test_of_several_pictures_each_is_where_its_own_lies(self) -> None:
        axis, other = cameras(), Region((0, 40, 40, 80), picture=2)
        maps = AttentionMaps([np.full((1, 8, 8), 1 / 8)], axis, axis)
        ((line, _),) = [
            one["outlines"] for one in of_parts([(other, Region((0, 0, 9, 9)))], {"self": maps})["self"]
        ]
        areas = Sheet([axis]).areas(axis)
        assert areas is not None
        left, top, right, bottom = areas[6].tolist()
        assert line == {
            "side": "from",
            "points": [left, top, right, top, right, bottom, left, bottom, left, top],
        }

    def test_a_tower_that_sees_has_those_of_classes_and_a_text_those_of_words(self) -> None:
        """As in LLaVA: the vision part has [CLS], the language part the words and the picture."""
        vision = seen()
        patches = vision.key
        places = np.concatenate([patches.places[1:], np.full((2, 5), np.nan)])
        mixed = Tokens(
            [*patches.pieces[1:], "a", "b"],
            ids=np.arange(8),
            offsets=np.array([[0, 0]] * 6 + [[0, 1], [2, 3]]),
            word_ids=np.array([-1] * 6 + [0, 1]),
            special_mask=np.arange(8) < 6,
            media=patches.media,
            places=places,
        )
        weights = np.tril(np.ones((1, 8, 8))) / np.arange(1, 9)[:, None]
        language = AttentionMaps([weights], mixed, mixed, causal=True)
        parts = {"vision": vision, "language": language}
        region = Region((11, 1, 29, 9))
        found = of_parts(
            [
                ("cls", region),
                link(Span(2, 3), unit="characters", label="x"),
                Link(Span(2, 3), (region,), unit="characters"),
                Link(Span(2, 3), (Span(0, 1),), unit="characters"),
                (region, Region((0, 0, 10, 10))),
            ],
            parts,
        )
        assert sides(found)["vision"] == [("from", [0], [[2, 3]]), ("from", [2, 3], [[1]])]
        wanted = [("from", [7], []), ("from", [7], [[1, 2]]), ("from", [7], [[6]]), ("from", [1, 2], [[0]])]
        assert sides(found)["language"] == wanted
        with pytest.raises(
            InputError, match=r"links\[0\]: expected ends that one part has, found others in vision"
        ):
            of_parts([("sep", region)], parts)

    def test_what_the_model_does_not_see_is_said(self) -> None:
        maps = seen(area=(10, 0, 30, 20))
        with pytest.warns(HeadscopeWarning, match=r"links\[0\]: the model sees nothing of it"):
            found = of_parts([("cls", Region((0, 0, 5, 5))), ("cls", Region((12, 0, 28, 9)))], {"self": maps})
        assert len(found["self"]) == 1
