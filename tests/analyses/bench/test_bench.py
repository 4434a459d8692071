"""A row of a public table is what the analyses give, beside published rows that say where they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.bench import Name, run
from headscope.analyses.bench.run import (
    SEPARATION,
    Aligned,
    Sentence,
    by_halves,
    by_heads,
    by_hidden_states,
    published,
    sentences,
)
from headscope.analyses.context_attribution.run import context_attribution
from headscope.attention.record import AttentionRecord
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.alignment_by_sets import aligned
from tests.helpers.planted_alignment import PLANTED, planting, recordings
from tests.helpers.planted_induction import circuit
from tests.helpers.planted_needles import reader
from tests.helpers.small_models import save_llama, small_bert, whisper_parts
from tests.helpers.small_tokenizers import demo, listed
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


SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48, "max_position_embeddings": 512}


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


@pytest.mark.parametrize(("chosen", "heads"), [((1, 1), "1 head"), ((5, 7), "5 and 7 heads")])
def test_heads_together_are_counted(
    small: Model, monkeypatch: pytest.MonkeyPatch, chosen: tuple[int, int], heads: str
) -> None:
    one, some = (Aligned(9, 8, 10, (tuple(range(a)), tuple(range(b))), 4) for a, b in ((1, 1), chosen))
    monkeypatch.setattr(run, "by_heads", lambda *_, **__: (one, some, [hs.Head(0, 0)]))
    monkeypatch.setattr(run, "by_hidden_states", lambda *_, **__: one)
    systems = hs.bench("aer", small, [[]])["system"].tolist()
    assert systems[:3] == ["best_head", f"together, {heads}", "hidden, layer 0"]


def row(table: Any, system: str) -> Any:
    """The measured row of a system, and no other."""
    mine = table[(table["source"] == "measured here") & table["system"].str.startswith(system)]
    assert len(mine) == 1
    return mine.iloc[0]


@pytest.mark.slow
def test_timing_of_a_planted_head() -> None:
    """Of the planted head each word begins and ends within a frame of 20 ms."""
    whisper = hs.load(whisper_parts(4))
    speech = recordings(whisper, 6)
    with hs.edit(whisper, planting(whisper, speech[:5])):
        table = hs.bench("timing", whisper, [speech], limit=5)
    best, together = row(table, "best_head"), row(table, "together, 1 head")
    assert (best["layer"], best["head"]) == PLANTED
    assert 0 <= best["timing"] == together["timing"] < 20
    assert best["n"] == together["n"] == sum(len(example.words or ()) for example in speech[:5])
    assert together["system"] == "together, 1 head"


@pytest.mark.slow
def test_contacts_of_a_planted_head() -> None:
    """One head looks at what is in contact 24 or more apart, and more at what is nearer, which does not count."""
    acids, length = "ACDEFGHIKLMNPQRSTVWY", 40
    draw = np.random.default_rng(0)
    proteins = ["".join(draw.choice(list(acids), length)) for _ in range(12)]
    first, second = np.triu_indices(length, SEPARATION)
    chosen = draw.choice(len(first), length, replace=False)
    contacts = np.zeros((length + 2, length + 2), np.bool_)
    contacts[first[chosen] + 1, second[chosen] + 1] = True
    contacts |= contacts.T
    near = np.abs(np.subtract.outer(*[np.arange(length + 2)] * 2)) == SEPARATION - 1
    model = small_bert(listed(tuple(acids), letters=True))

    def change(record: AttentionRecord) -> torch.Tensor:
        weights = torch.as_tensor(np.random.default_rng(record.layer).random(record.shape))
        if record.layer == 1:
            weights[:, 2] += torch.as_tensor(20.0 * contacts + 99.0 * near)
        return (weights / weights.sum(-1, keepdim=True)).float()

    with hs.edit(model, change):
        table = hs.bench("contacts", model, [hs.corpora.linked(proteins, [contacts] * 12)])
    best = row(table, "best_head")
    assert (best["layer"], best["head"], best["contacts"], best["n"]) == (1, 2, 100, 12)
    assert row(table, "together")["contacts"] > 95


@pytest.mark.slow
def test_uuas_of_a_planted_head(small: Model) -> None:
    """Each word hangs from the one after it, where one head looks."""
    draw = np.random.default_rng(0)
    words = ["cat", "dog", "old", "new", "house", "tree", "moon", "sea"]
    trees: list[Example] = []
    for place, size in enumerate(draw.integers(4, 8, 60).tolist()):
        chosen, heads = draw.choice(words, size).tolist(), [*range(1, size), -1]
        of: Any = {"tokens": small.from_words(chosen), "words": chosen, "heads": heads}
        trees.append(Example(**of, relations=["dep"] * size, document=place))

    def change(record: AttentionRecord) -> torch.Tensor | None:
        if record.layer:
            return None
        weights = record.weights().clone()
        weights[:, 1] = torch.eye(record.shape[-1]).roll(1, 1)
        return weights

    with hs.edit(small, change):
        table = hs.bench("uuas", small, [trees[:40], trees[40:]])
    assert row(table, "attention")["uuas"] > 95
    assert 0 < row(table, "structural")["uuas"] <= 100


@pytest.mark.slow
def test_retrieval_of_a_planted_head() -> None:
    planted = hs.load((circuit().module, reader()), allow_unknown=True)
    table = hs.bench("retrieval", planted, limit=8)
    best = row(table, "best_head")
    assert (best["layer"], best["head"]) == (1, 0)
    assert best["retrieval"] > 90
    share = row(table, "share of heads")
    assert (share["retrieval"], share["n"]) == (25, 4)
    with torch.no_grad():
        planted.module.lm_head.weight.zero_()
    with pytest.raises(InputError, match="the model produced no token of an answer"):
        hs.bench("retrieval", planted, limit=8)


def test_sources_are_scored_as_a_data_set_of_prompts_is(tmp_path: Path) -> None:
    writer = hs.load(save_llama(tmp_path / "small", **SIZE))
    asked = {"prompt": "The cat sat here. A dog ran.", "source": [0], "marked": [[0, 3]]}
    rows = [{**asked, "answer": answer} for answer in (" It slept.", " The dog ran.")]
    (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    prompts = hs.corpora.prompts(tmp_path / "prompts.jsonl")
    figures: Any = hs.table(context_attribution(writer, prompts, exact="all"))
    values = figures[figures["kind"] == "all"].set_index("figure")["value"]
    table = hs.bench("cite", writer, [prompts])
    mine = table[table["source"] == "measured here"].set_index("system")["cite"]
    systems = {"cited": "cited_f1", "shared words": "lexical_f1", "AUROC of marked stretches": "unsupported"}
    for system, figure in systems.items():
        assert mine[system] == pytest.approx(100 * values[figure])
    assert table["cite"].tolist()[-1] == 66.7
    with pytest.raises(InputError, match="cite: expected prompts with sources"):
        hs.bench("cite", writer, [hs.corpora.texts(["The cat sat here."])], limit=1)


def test_published_rows_say_where_they_come_from() -> None:
    assert set(published()) == set(get_args(Name))
    for rows in published().values():
        for row in rows:
            assert row["source"]
            assert "n" in row
            assert 0 < row["value"] < 100
