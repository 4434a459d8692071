"""Head, Tokens, AttentionMaps, words, wrap, the store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headscope import Head, Tokens, wrap
from headscope.core import store
from headscope.core.tokens import is_punctuation, is_space, strip_markers
from headscope.errors import InputError, ShapeError


def maps(layers: int = 2, heads: int = 3, n: int = 4, seed: int = 0, dtype: type = np.float32) -> np.ndarray:
    weights = np.random.default_rng(seed).random((layers, heads, n, n)) ** 3
    return (weights / weights.sum(-1, keepdims=True)).astype(dtype)


PIECES = ["[CLS]", "play", "##ing", "[SEP]"]


class TestHead:
    def test_names(self) -> None:
        assert str(Head(7, 9)) == repr(Head(7, 9)) == "L7H9"
        assert Head(7, 9).paper == "8-10"
        assert Head.parse("8-10", base=1) == Head.parse("L7H9") == Head.parse("7-9") == Head(7, 9)

    @given(st.integers(0, 200), st.integers(0, 200))
    def test_names_are_read_back(self, layer: int, head: int) -> None:
        assert Head.parse(str(Head(layer, head)), base=1) == Head(layer, head)
        assert Head.parse(Head(layer, head).paper, base=1) == Head(layer, head)


class TestTokens:
    def test_classes(self) -> None:
        tokens = Tokens.of(["[CLS]", "a", ".", "[SEP]"])
        assert tokens.mask("first").tolist() == [True, False, False, False]
        assert tokens.mask("punctuation").tolist() == [False, False, True, False]
        assert tokens.mask("special").tolist() == [True, False, False, True]
        with pytest.raises(
            InputError,
            match="no class of tokens 'verbs'; this input has first, special, sep, cls, punctuation",
        ):
            tokens.mask("verbs")

    @pytest.mark.parametrize(
        ("piece", "expected"),
        [
            (".", True),
            ("##,", True),
            ('Ġ"', True),
            ("—", True),
            ("。", True),
            ("$", False),
            ("a.", False),
            ("##", True),
            ("", False),
        ],
    )
    def test_punctuation_is_unicode_p(self, piece: str, expected: bool) -> None:
        assert is_punctuation(piece) is expected

    def test_markers(self) -> None:
        assert [
            strip_markers(piece)
            for piece in ("##ing", "▁the", "Ġthe", "the</w>", "th@@", "##", "▁▁is", "ĠĠis", "▁▁", "")
        ] == ["ing", "the", "the", "the", "th", "##", "is", "is", "▁", ""]

    def test_strings_of_byte_level_vocabularies_are_read(self) -> None:
        raw = ["Der", "ĠmÃ¼", "de", "Ċ", "âĢ", "ľ", "<s>"]
        assert Tokens.of(raw).pieces == ("Der", "Ġmü", "de", "\n", "<0xE2><0x80>", "<0x9C>", "<s>")
        assert Tokens.of(["a", "Ċ"]).pieces == ("a", "\n")
        for same in (["Der", "Ġmü", "de"], ["▁mÃ¼"], ["m", "##ü"], ["Ġa", "č"]):
            assert Tokens.of(same).pieces == tuple(same)

    def test_pieces_of_white_space(self) -> None:
        assert all(map(is_space, ("▁", "▁▁", "Ġ", "ĠĠ", "\n", "<0x0A>", " ", "\u3000")))
        assert not any(map(is_space, ("", "č", "▁a", "Ġ.", "<0x2E>", "_", "##")))


class TestMaps:
    def test_labels_and_access(self) -> None:
        weights = maps()
        found = wrap(weights, PIECES)
        assert found[Head(1, 2)].tolist() == found["L1H2"].tolist() == weights[1, 2].tolist()
        assert found.heads[:2] == [Head(0, 0), Head(0, 1)]
        assert found.weights.shape == (2, 3, 4, 4)

    def test_ragged_layers(self) -> None:
        found = wrap([maps(1, 2)[0], maps(1, 5)[0]], PIECES)
        assert [layer.shape[0] for layer in found.layers] == [2, 5]
        with pytest.raises(
            ShapeError,
            match=r"axis head: these maps are ragged \(layers have 2, 5 heads\); use maps.layers\[l\]",
        ):
            _ = found.weights

    def test_words_by_hand(self) -> None:
        # [CLS] play ##ing [SEP]; attention to "playing" is summed over its pieces, from it averaged
        weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0.1, 0.3, 0.5, 0.1], [0.25] * 4])
        tokens = Tokens(PIECES, word_ids=[-1, 0, 0, -1], sequence_ids=[-1, 0, 0, -1])
        found = wrap(weights[None, None], tokens).words()
        assert found.query.pieces == ("[CLS]", "playing", "[SEP]")
        np.testing.assert_allclose(found.weights[0, 0], [[0.1, 0.5, 0.4], [0.3, 0.5, 0.2], [0.25, 0.5, 0.25]])
        first = wrap(weights[None, None], tokens).words(rows="first")
        np.testing.assert_allclose(first.weights[0, 0, 1], [0.5, 0.2, 0.3])

    @given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.integers(0, 99))
    def test_words_keep_the_sum_of_rows(self, word_ids: list[int], seed: int) -> None:
        tokens = Tokens([f"t{i}" for i in range(len(word_ids))], word_ids=sorted(word_ids))
        found = wrap(maps(1, 2, len(word_ids), seed), tokens).words()
        np.testing.assert_allclose(found.weights.sum(-1), 1.0, rtol=1e-5)

    @pytest.mark.parametrize(
        ("pieces", "word"),
        [
            (["play", "##ing"], "playing"),
            (["▁", "D", "on"], "Don"),
            (["Ġthe", "me"], "theme"),
            (["th@@", "e"], "the"),
            (["un", "ti", "l</w>"], "until"),
            (["##"], "##"),
            (["▁", "▁", "is"], "is"),
            (["▁▁is"], "is"),
            (["▁", "("], "("),
            (["<0x0A>", "end"], "end"),
            (["▁", "▁"], "▁▁"),
        ],
    )
    def test_words_are_joined_pieces(self, pieces: list[str], word: str) -> None:
        tokens = Tokens(pieces, word_ids=[0] * len(pieces))
        assert wrap(maps(1, 1, len(pieces)), tokens).words().query.pieces == (word,)

    def test_words_need_word_ids(self) -> None:
        with pytest.raises(InputError, match="these tokens have no word_ids"):
            wrap(maps(), PIECES).words()

    def test_a_to_b(self) -> None:
        weights = maps(n=5)
        found = wrap(weights, Tokens(list("cabse"), sequence_ids=[-1, 0, 0, 1, -1]))
        np.testing.assert_array_equal(found.a_to_b().weights, weights[:, :, 1:3, 3:4])
        np.testing.assert_array_equal(found.b_to_a().weights, weights[:, :, 3:4, 1:3])
        assert found.a_to_b().partial
        with pytest.raises(InputError, match="no text A"):
            wrap(maps(), PIECES).a_to_b()


class TestWrap:
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
    def test_bertviz_shapes(self, dtype: torch.dtype) -> None:
        weights = maps()
        outputs = tuple(torch.tensor(layer, dtype=dtype).requires_grad_()[None] for layer in weights)
        for given_ in (
            outputs,
            list(outputs),
            [layer[0] for layer in outputs],
            torch.stack(outputs),
            torch.stack(outputs)[:, 0],
        ):
            found = wrap(given_, PIECES)
            np.testing.assert_allclose(found.weights, weights, atol=0.005 if dtype.itemsize < 4 else 1e-6)

    def test_numpy(self) -> None:
        np.testing.assert_array_equal(wrap(maps(), PIECES).weights, maps())
        np.testing.assert_array_equal(wrap(list(maps()[:, None]), PIECES).weights, maps())

    def test_causal_is_told_from_the_zeros(self) -> None:
        lower = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
        assert wrap(lower[None, None], PIECES).causal
        assert not wrap(maps(), PIECES).causal


class TestStore:
    def test_everything_comes_back(self, tmp_path: Path) -> None:
        tokens = Tokens(
            ["[CLS]", "\0", "</script>", "🙂"],
            ids=[1, 2, 3, 4],
            type_ids=[0, 0, 0, 1],
            offsets=[[0, 0], [0, 1], [1, 9], [9, 10]],
            special_mask=[True, False, False, False],
            word_ids=[-1, 0, 1, 2],
            sequence_ids=[-1, 0, 0, 1],
            classes={"cls": np.array([True, False, False, False])},
        )
        before = wrap(maps(dtype=np.float64), tokens)
        before.save(tmp_path / "maps.safetensors")
        after = store.open_maps(tmp_path / "maps.safetensors")
        np.testing.assert_array_equal(before.weights, after.weights)
        assert after.weights.dtype == np.float64
        assert (after.kind, after.causal, after.index) == (before.kind, before.causal, before.index)
        for name in ("pieces", "ids", "type_ids", "offsets", "special_mask", "word_ids", "sequence_ids"):
            np.testing.assert_array_equal(getattr(before.query, name), getattr(after.query, name))
        np.testing.assert_array_equal(after.key.mask("cls"), tokens.mask("cls"))
