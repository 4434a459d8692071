"""A row of a public table is what the analyses give, beside published rows that say where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.bench import Name
from headscope.analyses.bench.alignment import Sentence, by_halves, by_heads, by_hidden_states, sentences
from headscope.analyses.bench.run import published
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.alignment_by_sets import aligned
from tests.helpers.small_models import small_bert
from tests.helpers.small_tokenizers import demo
from tests.helpers.typed import Typed


@pytest.fixture(scope="module")
def small() -> Model:
    return small_bert(demo())


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Forty sentences, each beside itself with its first word at the end."""
    draw = np.random.default_rng(0)
    words = ["the", "cat", "dog", "sat", "stood", "on", "under", "mat", "old", "new", "house", "tree", "moon",
             "sea"]  # fmt: skip
    made = [draw.choice(words, 6, replace=False).tolist() for _ in range(40)]
    texts = {
        "x.a.txt": [" ".join(sentence) for sentence in made],
        "x.b.txt": [" ".join([*sentence[1:], sentence[0]]) for sentence in made],
        "x.gold": ["1-6 2-1 3p2 4-3 5-4" for _ in made],
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return [tmp_path / name for name in texts]


@pytest.mark.slow
def test_hidden_states_align_as_sets_do(small: Model, files: list[Path]) -> None:
    """One sentence by hand: the layer's nearest words, each way, against the gold sets."""
    corpus = list(hs.corpora.alignments(*files, base=1))
    example = corpus[3]
    vectors = []
    for words in (example.words, example.pair_words):
        assert words is not None
        tokens = small.from_words(words)
        with torch.no_grad():
            state = (
                small.module(**small.inputs([tokens]), output_hidden_states=True).hidden_states[2][0].double()
            )
        rows = [state[np.asarray(tokens.word_ids) == word].mean(0) for word in range(len(words))]
        vectors.append(torch.stack([row / row.norm() for row in rows]))
    near = vectors[0] @ vectors[1].T
    pairs = {
        (a, int(near[a].argmax())) for a in range(6) if int(near[:, int(near[a].argmax())].argmax()) == a
    }
    counts = aligned({(0, 5), (1, 0), (3, 2), (4, 3)}, {(2, 1)}, pairs)
    (one, _) = sentences([example] * 2, lambda _: near[None].numpy())
    right, total = one.counts(one.scores)[:, 0]
    assert right == counts.right_sure + counts.right_possible
    assert total == counts.predicted + counts.sure
    error = by_hidden_states(small, corpus)
    assert error.low <= error.aer <= error.high
    assert error.n == 40


def test_scores_are_added_up_while_that_lowers_the_error_and_possible_pairs_are_no_error() -> None:
    first, last = np.array([[1, 0], [0.9, 0.8]]), np.array([[0.8, 0.9], [0, 1]])  # each finds one pair of two
    sure, both = np.array([[True, False], [False, False]]), np.eye(2, dtype=np.bool_)
    assert Sentence(np.array([last]), sure, both).counts(last).tolist() == [1, 2]
    read = [Sentence(np.array([first, last, first]), both, both)] * 4
    assert by_halves(read, 1, seed=0).aer == pytest.approx(100 / 3)
    together = by_halves(read, 20, seed=0)
    assert (together.aer, together.chosen) == (0, ((0, 1), (0, 1)))


@pytest.mark.slow
def test_a_row_stands_beside_the_published_ones(
    small: Model, files: list[Path], typed: Typed, tmp_path: Path
) -> None:
    corpus = hs.corpora.alignments(*files, base=1)
    table = hs.bench("aer", small, [corpus], data="x")
    mine = table[table["source"] == "measured here"].set_index("system")
    best, together, _ = by_heads(small, corpus)
    assert mine["aer"].tolist() == [best.aer, together.aer, by_hidden_states(small, corpus).aer]
    assert together.aer <= best.aer + 10
    assert (mine["ci_low"] <= mine["aer"]).all()
    assert (mine["aer"] <= mine["ci_high"]).all()
    assert table["model"].tolist()[3:] == [row["model"] for row in published()["aer"]]
    model = tmp_path / "bert"
    small.module.save_pretrained(model)
    small.tokenizer.save_pretrained(model)
    typed("bench", "induction", model, "--limit", "8", "-o", tmp_path / "row.csv")
    assert "expected three files" in typed("bench", "aer", model, files[0], code=2).err


def test_published_rows_say_where_they_come_from() -> None:
    assert set(published()) == set(get_args(Name))
    for rows in published().values():
        for row in rows:
            assert row["source"]
            assert "n" in row
            assert 0 < row["value"] < 100


def test_what_is_not_given_is_refused(small: Model) -> None:
    with pytest.raises(InputError, match="uuas: expected 2 corpora, found 0"):
        hs.bench("uuas", small)
