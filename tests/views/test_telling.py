from __future__ import annotations

import numpy as np

from headscope.maps import AttentionMaps
from headscope.tokens import Tokens
from headscope.views.explorer import explorer_payload
from headscope.views.inputs import Included, Input
from headscope.views.selection import Selection
from headscope.views.telling import sinks


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

    def test_the_page_is_told_and_a_still_leaves_them_out(self) -> None:
        weights = np.tile(0.5 * even(10), (1, 2, 1, 1))
        weights[..., 0] += 0.5
        one = Input({"self": maps(weights)})
        part = explorer_payload([one])[0]["inputs"][0]["parts"][0]
        assert part["key"].get("sinks") == [0]
        assert "sinks" not in part["query"]
        assert Selection(one, {"sinks": False}).columns.tolist() == list(range(1, 10))
        assert Selection(one, {"sinks": False, "unit": "words"}).columns.tolist() == [1, 2, 3, 4]
        assert len(Selection(one, {"sinks": False}).rows) == 10


class TestFair:
    """What a line is judged against: 1/n of what each query sees."""

    def test_one_over_the_keys_that_a_query_sees(self) -> None:
        selection = Selection(
            Input({"self": maps(np.tile(even(6, causal=True), (1, 1, 1, 1)), causal=True)}), {}
        )
        fair = selection.fair(selection.matrix(0, 0))
        np.testing.assert_allclose(fair[:, 0], 1 / np.arange(1, 7))

    def test_the_mean_of_what_is_shown(self) -> None:
        weights = np.tile(0.5 * even(10), (1, 1, 1, 1))
        weights[..., 0] += 0.5
        selection = Selection(Input({"self": maps(weights)}), {"sinks": False})
        np.testing.assert_allclose(selection.fair(selection.matrix(0, 0)), 0.05)
