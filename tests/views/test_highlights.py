from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.views.blobs import Blobs, decode
from headscope.views.explorer import explorer_payload
from headscope.views.highlights import changed, difference, highlights, likely, links, part_of, parts, sinks
from headscope.views.inputs import Included, Input, in_words, runs
from headscope.views.view import View


def tokens(n: int, special: tuple[int, ...] = ()) -> Tokens:
    marked = np.isin(np.arange(n), special)
    return Tokens([f"w{place}" for place in range(n)], special_mask=marked, word_ids=np.arange(n))


def even(n: int, causal: bool = False) -> np.ndarray:
    seen = np.tri(n) if causal else np.ones((n, n))
    return seen / seen.sum(-1, keepdims=True)


def maps(weights: np.ndarray, special: tuple[int, ...] = (), causal: bool = False) -> AttentionMaps:
    axis = tokens(weights.shape[-1], special)
    return AttentionMaps(list(weights.astype(np.float32)), axis, axis, causal=causal)


def found(given: AttentionMaps, **more: list[int]) -> list[int]:
    return sinks(Included(given, more.get("layers"), more.get("heads"))).tolist()


class TestSinks:
    def test_the_first_token_and_special_ones_that_take_two_even_shares(self) -> None:
        weights = np.tile(0.4 * even(10), (2, 3, 1, 1))
        weights[..., 0] += 0.25
        weights[..., 9] += 0.25
        weights[..., 4] += 0.1
        assert found(maps(weights)) == [0]
        assert found(maps(weights, special=(0, 5, 9))) == [0, 9]

    def test_even_attention_has_none_in_a_causal_model_either(self) -> None:
        assert found(maps(np.tile(even(10), (2, 3, 1, 1)), special=(0, 9))) == []
        assert found(maps(np.tile(even(10, causal=True), (2, 3, 1, 1)), causal=True)) == []

    def test_each_head_is_judged_by_what_it_sees(self) -> None:
        seen = np.ones((2, 10, 10), bool)
        seen[1] = np.eye(10)
        seen[1, :, 0] = True
        weights = seen / seen.sum(-1, keepdims=True)
        axis = tokens(10)
        given = AttentionMaps([weights.astype(np.float32)], axis, axis, visible=[seen])
        assert found(given) == []
        assert found(maps(weights[None])) == [0]

    def test_only_shown_heads_count(self) -> None:
        weights = np.tile(even(10), (1, 4, 1, 1))
        weights[0, 3] = np.eye(10)[0]
        assert found(maps(weights)) == [0]
        assert found(maps(weights), heads=[0, 1, 2]) == []

    def test_the_page_is_told(self) -> None:
        weights = np.tile(0.5 * even(10), (1, 2, 1, 1))
        weights[..., 0] += 0.5
        one = Input({"self": maps(weights)})
        part = explorer_payload([one])[0]["inputs"][0]["parts"][0]
        assert part["key"].get("sinks") == [0]
        assert "sinks" not in part["query"]


def heads(*patterns: list[int] | None, n: int = 6) -> np.ndarray:
    """A layer whose heads look at these places with all their weight, or evenly: ``[1 head query key]``."""
    return np.stack([even(n) if pattern is None else np.eye(n)[pattern] for pattern in patterns])[None]


PREVIOUS, FIRST, ELSEWHERE = [0, 0, 1, 2, 3, 4], [0] * 6, [3, 4, 5, 0, 1, 2]


class TestLinks:
    def found(self, weights: np.ndarray, special: tuple[int, ...] = (), **more: Any) -> list[tuple[int, ...]]:
        included = Included(maps(weights, special, **more), None, None)
        return [
            (link.query, link.key, round(link.weight, 3), round(link.score, 3)) for link in links(included)
        ]

    def test_a_link_stands_out_above_its_key_and_above_its_distance(self) -> None:
        one = even(6)
        one[4] = np.eye(6)[1]
        offset = np.eye(6)[[4, 5, 0, 1, 2, 3]]
        nothing, link, sink, far = self.found(np.stack([even(6), one, np.eye(6)[FIRST], offset])[None])
        assert nothing[3] == sink[3] == far[3] == 0.0  # a sink has all rows, two tokens back all rows but two
        assert link == (4, 1, 1.0, round(1 - 1 / 6, 3))

    def test_what_says_nothing_is_no_link(self) -> None:
        weights = even(6)
        weights[4] = np.eye(6)[1]
        for special in ((1,), (4,)):
            assert self.found(weights[None, None], special)[0][:2] != (4, 1)
        axis = Tokens(["a", "Ġ", "Mary", "saw", "the", "dog"], word_ids=[0, 1, 2, 3, 4, 4])
        included = Included(
            AttentionMaps([np.eye(6, dtype=np.float32)[[1] * 6][None]], axis, axis), None, None
        )
        assert links(included)[0].score == 0.0  # a space
        weights = even(6)
        weights[3], weights[5] = np.eye(6)[5], 0.9 * np.eye(6)[2] + 0.1 * np.eye(6)[5]
        for word, best in (("saw", (3, 5)), ("the", (5, 2))):  # a small word says little
            axis = Tokens(["Ann", "met", "Mary", word, "big", "dog"])
            included = Included(AttentionMaps([weights[None].astype(np.float32)], axis, axis), None, None)
            assert links(included)[0][:2] == best

    def test_what_a_query_cannot_see_is_no_link(self) -> None:
        (found,) = self.found(even(6, causal=True)[None, None], causal=True)
        assert found[1] < found[0]

    def test_a_still_and_the_order_of_arrays_follow_what_opens(self) -> None:
        one = even(6)
        one[4] = np.eye(6)[1]
        weights = np.stack([np.stack([even(6), np.eye(6)[PREVIOUS]]), np.stack([even(6), one])])
        part = explorer_payload([Input({"self": maps(weights)})])[0]["inputs"][0]["parts"][0]
        assert likely(part) == 1
        (still,) = [View([Input({"self": maps(weights)})], {}).picture("svg").decode()]
        assert "Layer 1, head 1" in still
        assert "L1H1 looks from “w4” to “w1”, 100%" in still

    def test_pieces_of_a_word_look_and_are_looked_at_together(self) -> None:
        axis = Tokens(
            ["a", "foot", "##bridge", "over", "the", "bridge", "fell"], word_ids=[0, 1, 1, 2, 3, 4, 5]
        )
        weights = np.full((7, 7), 0.02, np.float32)
        weights[1, 5], weights[2, 5], weights[6, 1], weights[6, 2] = 0.88, 0.48, 0.4, 0.5
        weights[np.arange(7), np.arange(7)] += 1 - weights.sum(-1)
        included = Included(AttentionMaps([weights[None]], axis, axis), None, None)
        (found,) = links(included)
        assert (found.query, found.key) == (6, 1)
        assert found.weight == pytest.approx(0.9)
        assert found.share == pytest.approx(2 / 6)  # footbridge looks at bridge, too: 0.68
        assert found.alike == 0.0

    def test_the_share_of_words_that_look_at_another_does_not_grow_with_the_text(self) -> None:
        for n in (12, 48, 192):
            weights = even(n)
            for query in range(0, n, 6):
                weights[query] = np.eye(n)[(query + 5) % n]
            (found,) = links(Included(maps(weights[None, None]), None, None))
            assert found.share == pytest.approx(1 / 6)
            same = Tokens(["w", "x", "y", "z", "u", "w"] * (n // 6), word_ids=np.arange(n))
            (found,) = links(
                Included(AttentionMaps([weights[None].astype(np.float32)], same, same), None, None)
            )
            assert found.alike == 1.0

    def test_rows_that_see_few_keys_do_not_say_how_evenly_a_head_looks(self) -> None:
        first = np.tile(np.eye(12)[0], (12, 1))
        weights = np.stack(
            [even(12, causal=True), np.where(np.arange(12)[:, None] < 4, even(12, causal=True), first)]
        )
        given = Included(maps(weights[None], causal=True), None, None)
        nats = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1).mean(-1)
        found = highlights(given, {"entropy": nats[None]})["evenness"]
        assert found == pytest.approx([1.0, np.exp(-np.log(np.arange(5, 13)).mean())], abs=1e-4)
        few = Included(maps(even(4, causal=True)[None, None], causal=True), None, None)
        assert highlights(few, {"entropy": np.ones((1, 1))})["evenness"] == [-1.0]


class TestReceived:
    def test_a_mean_is_that_of_the_weights_where_bytes_give_another_digit(self) -> None:
        weights = np.random.default_rng(55).dirichlet(np.full(8, 0.5), 8).astype(np.float32)
        blobs = Blobs()
        bytes_ = decode(blobs.weights(weights), blobs.texts)
        exact, rounded = (
            [f"{mean:.2f}"[1:] for mean in matrix.mean(0, dtype=np.float64)] for matrix in (weights, bytes_)
        )
        assert (exact[5], rounded[5]) == (".18", ".19")
        svg = hs.head_view(maps(weights[None, None]), layer=0, heads=[0]).picture("svg").decode()
        texts = [unescape(text) for text in re.findall(r">([^<]+)</t(?:ext|span)>", svg)]
        assert [text for text in texts if re.fullmatch(r"\.\d\d", text)] == exact
        assert "gives the most to “w5”, 18% on average." in " ".join(texts)


class TestParts:
    def test_ninths_of_a_picture_and_tenths_of_a_sound(self) -> None:
        axis = hs.Grid(6, 6, ["[CLS]"], hs.Picture(np.zeros((60, 60, 3), np.uint8)))
        assert part_of(axis).tolist()[:8] == [-1, 0, 0, 1, 1, 2, 2, 0]
        weights = np.full((1, 37, 37), 1 / 37, np.float32)
        there = part_of(axis) == 5
        weights[0] = 0.5 / 37
        weights[0][:, there] += 0.5 / there.sum()
        (found,) = parts(Included(AttentionMaps([weights], axis, axis), None, None))
        assert (found.query, found.key) == (-1, 5)
        np.testing.assert_allclose([found.weight, found.score], [0.5 + 2 / 37, 0.5 - 2 / 37], rtol=1e-6)


class TestDifference:
    def test_the_share_that_moves(self) -> None:
        one, other = (Included(maps(heads(FIRST, PREVIOUS, None)), None, None) for _ in range(2))
        np.testing.assert_allclose(difference(one, other)[0], 0.0)
        other = Included(maps(heads(PREVIOUS, PREVIOUS)), None, None)
        found = difference(one, other)[0]
        np.testing.assert_allclose(found, [4 / 6, 0.0, np.nan])  # rows 0 and 1 look at token 0 in both

    def test_longer_inputs_are_compared_by_their_counterparts(self) -> None:
        first, second = Tokens(list("abcd")), Tokens(list("abxycd"))
        mine = Included(AttentionMaps([np.eye(4, dtype=np.float32)[None]], first, first), None, None)
        weights = np.eye(6, dtype=np.float32)[[0, 1, 2, 3, 4, 3]]  # d looks at y, which the first has not
        theirs = Included(AttentionMaps([weights[None]], second, second), None, None)
        np.testing.assert_allclose(difference(mine, theirs)[0], [0.25])
        np.testing.assert_allclose(difference(theirs, mine)[0], [0.25])

    def test_texts_that_have_little_in_common_are_not_compared(self) -> None:
        first, second = Tokens(["[CLS]", *"abcd"], special_mask=[True] + [False] * 4), Tokens(list("abxyz"))
        one, other = (
            Included(AttentionMaps([np.eye(5, dtype=np.float32)[None]], axis, axis), None, None)
            for axis in (first, second)
        )
        assert difference(one, other) is None
        part = explorer_payload([Input({"self": each.maps}) for each in (one, other)])[0]["inputs"][0][
            "parts"
        ][0]
        assert "moved" not in part["highlights"]
        assert "difference" not in [column["name"] for column in part["measures"]]

    def test_a_head_that_is_switched_off_has_not_moved(self) -> None:
        before = Included(maps(heads(FIRST, PREVIOUS)), None, None)
        weights = heads(FIRST, PREVIOUS)
        weights[0, 0] = 0
        after = Included(
            replace(maps(heads(FIRST, PREVIOUS)), layers=[weights[0].astype(np.float32)], partial=True),
            None,
            None,
        )
        np.testing.assert_allclose(difference(before, after)[0], [np.nan, 0.0])

    def test_what_the_other_text_has_not(self) -> None:
        mine, other = ["the", "keys", "of", "doors", "were"], ["the", "key", "of", "doors", "was", "old"]
        assert changed(mine, other) == [1, 4]
        assert changed(other, mine) == [1, 4, 5]

    def test_a_text_in_stretches(self) -> None:
        tokens = Tokens(["[CLS]", "it", "was", "un", "##fair", "Ġyes"], special_mask=np.arange(6) == 0)
        assert runs(tokens, {3, 4}) == [("it was ", False), ("unfair", True), (" yes", False)]
        assert in_words(Tokens([f"patch {place}" for place in range(64)])) == "patch 0 … patch 63"
