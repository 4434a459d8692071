"""Word alignments of texts whose words are split unlike: three words to one, and the error rate by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import transformers

import headscope as hs
from tests.helpers.small_models import sharpen
from tests.helpers.small_tokenizers import byte_level

A, B = "a # 9.8 m deficit", "a £9.8m deficit"
GOLD = {(0, 0), (1, 1), (2, 1), (3, 1), (4, 2)}  # from each word of A to one of B


def marian() -> hs.models.Model:
    torch.manual_seed(1)
    tokenizer = byte_level()
    sizes = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in SIZES.items()}
    config = transformers.MarianConfig(
        vocab_size=len(tokenizer), d_model=32, max_position_embeddings=64, pad_token_id=1, eos_token_id=0,
        decoder_start_token_id=1, **sizes,
    )  # fmt: skip
    return hs.load((sharpen(transformers.MarianMTModel(config)), tokenizer))


SIZES = {"layers": 2, "attention_heads": 4, "ffn_dim": 48}


def words_of(tokens: hs.Tokens, *, skipped: int) -> np.ndarray:
    """The word of each token, told by the spaces before them; -1 of those before the first."""
    begins = [
        place == skipped or (place > skipped and piece[0] == "Ġ") for place, piece in enumerate(tokens.pieces)
    ]
    return np.cumsum(begins) - 1


def test_no_link_of_three_words_to_one_is_lost(tmp_path: Path) -> None:
    for name, text in (("A", A), ("B", B), ("AB.align", "0-0 1-1 2-1 3-1 4-2")):
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    corpus = hs.corpora.alignments(tmp_path / "A", tmp_path / "B", tmp_path / "AB.align")
    (example,) = corpus
    assert example.links is not None
    ends = {
        (link.source.text, link.source.start): {target.start for target in link.targets}
        for link in example.links
    }
    assert {(a, b) for (side, a), targets in ends.items() if side == "a" for b in targets} == GOLD
    assert ends["b", 1] == {1, 2, 3}  # any of the three is right
    model = marian()
    found = hs.links(model, corpus)
    maps = hs.capture(model, A, target=B).cross
    queries, keys = words_of(maps.query, skipped=1), words_of(maps.key, skipped=0)
    assert (queries.max(), keys.max()) == (2, 4)
    rates: set[float] = set()
    for layer, heads in enumerate(maps.layers):
        for head, weights in enumerate(heads):
            summed = np.stack([weights[:, keys == word].sum(1) for word in range(5)], 1)
            map_ = np.stack([summed[queries == word].mean(0) for word in range(3)])
            chosen = {
                ("b to a", "row"): {(int(row.argmax()), place) for place, row in enumerate(map_)},
                ("a to b", "column"): {(place, int(column.argmax())) for place, column in enumerate(map_.T)},
            }
            for (label, direction), pairs in chosen.items():
                rate = 1 - (len(pairs & GOLD) + len(pairs & GOLD)) / (len(pairs) + len(GOLD))
                where = {"label": label, "direction": direction, "layer": layer, "head": head}
                np.testing.assert_allclose(found["aer"].sel(where), rate, atol=1e-12)
                rates.add(rate)
    assert len(rates) > 3
