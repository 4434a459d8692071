from __future__ import annotations

import numpy as np

from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.views.explorer import explorer_payload
from headscope.views.highlights import changed, difference, opening, peakedness, sinks
from headscope.views.inputs import Included, Input, in_words, runs
from headscope.views.view import View


def tokens(n: int, special: tuple[int, ...] = ()) -> Tokens:
    marked = np.isin(np.arange(n), special)
    return Tokens([f"w{place}" for place in range(n)], special_mask=marked, word_ids=np.arange(n) // 2)


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


class TestPeakedness:
    def opened(self, weights: np.ndarray, **more: list[int]) -> tuple[int, list[int]]:
        included = Included(maps(weights), more.get("layers"), more.get("heads"))
        found = opening(peakedness(included), included)
        return found.layer, found.heads

    def test_peaked_rows_that_look_elsewhere_come_before_neighbours_sinks_and_even_ones(self) -> None:
        included = Included(maps(heads(None, FIRST, PREVIOUS, ELSEWHERE)), None, None)
        nothing, sink, neighbour, best = peakedness(included)[0].tolist()
        assert (nothing, sink) == (0.0, 0.0)
        np.testing.assert_allclose(best, 5 / 6)  # all weight on a key that one row in six looks at
        assert 0 < neighbour < 0.1 < best
        assert opening(peakedness(included), included) == (0, [3])

    def test_the_previous_token_where_there_is_nothing_better(self) -> None:
        assert self.opened(heads(None, FIRST, PREVIOUS)) == (0, [2])

    def test_the_first_of_equal_ones(self) -> None:
        weights = np.concatenate([heads(None, ELSEWHERE, ELSEWHERE), heads(ELSEWHERE, None, None)])
        assert self.opened(weights) == (0, [1, 0])
        assert self.opened(weights, layers=[1]) == (1, [0])
        assert self.opened(weights, heads=[0, 2]) == (0, [2, 0])

    def test_special_tokens_are_no_peaks(self) -> None:
        included = Included(maps(heads(ELSEWHERE), special=(0, 1, 2)), None, None)
        np.testing.assert_allclose(peakedness(included)[0], 0.0)

    def test_a_still_opens_what_the_page_opens(self) -> None:
        one = Input({"self": maps(heads(None, FIRST, PREVIOUS, ELSEWHERE))})
        part = explorer_payload([one])[0]["inputs"][0]["parts"][0]
        assert part.get("opening") == {"layer": 0, "heads": [3]}
        assert b"Layer 0, head 3" in View([one], {"scale": "head"}).picture("svg")


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

    def test_what_the_other_text_has_not(self) -> None:
        mine, other = ["the", "keys", "of", "doors", "were"], ["the", "key", "of", "doors", "was", "old"]
        assert changed(mine, other) == [1, 4]
        assert changed(other, mine) == [1, 4, 5]

    def test_a_text_in_stretches(self) -> None:
        tokens = Tokens(["[CLS]", "it", "was", "un", "##fair", "Ġyes"], special_mask=np.arange(6) == 0)
        assert runs(tokens, {3, 4}) == [("it was ", False), ("unfair", True), (" yes", False)]
        assert in_words(Tokens([f"patch {place}" for place in range(64)])) == "patch 0 … patch 63"
