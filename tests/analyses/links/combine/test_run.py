"""Heads together: planted contacts are found again, in the heads that carry them, and nothing where there is nothing."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BartConfig, BartModel, GPT2Config, GPT2Model

import headscope as hs
from headscope.analyses.links.combine import run as combine
from headscope.analyses.links.questions import ALL
from headscope.analyses.links.run import Links
from headscope.attention.record import AttentionRecord
from headscope.core.arrays import Bools
from headscope.models import Model
from tests.helpers.small_models import sharpen, small_bert
from tests.helpers.small_tokenizers import listed, roberta
from tests.helpers.typed import Typed

ACIDS = "ACDEFGHIKLMNPQRSTVWY"


def with_maps(model: Model, **more: Any) -> Links:
    """Links that keep the maps of all heads."""
    engine = Links(model, **more)
    engine.look = combine._maps
    return engine


LENGTHS = range(24, 48)
PLANTED = ((0, 1), (2, 3))
"""Each of these heads carries every other contact."""


def contacts(length: int, seed: int = 0) -> Bools:
    """About as many contacts as there are residues, seven or more apart, among the tokens of a protein, ``[query key]``."""
    generator = np.random.default_rng([seed, length])
    first, second = np.triu_indices(length, 7)
    chosen = generator.choice(len(first), length, replace=False)
    matrix = np.zeros((length + 2, length + 2), bool)
    matrix[first[chosen] + 1, second[chosen] + 1] = True
    return matrix | matrix.T


def proteins(seed: int = 0) -> hs.corpora.Corpus:
    """A protein of each length."""
    generator = np.random.default_rng(9)
    texts = ["".join(generator.choice(list(ACIDS), length)) for length in LENGTHS]
    return hs.corpora.linked(texts, [contacts(length, seed) for length in LENGTHS])


@pytest.fixture(scope="module")
def protein_model() -> Model:
    return small_bert(listed(tuple(ACIDS), letters=True))


@contextmanager
def planted(model: Model) -> Generator[None]:
    """Within it two heads look at contacts, each at every other one, above the noise that all look at."""

    def change(record: AttentionRecord) -> Any:
        weights, seen = record.weights().clone(), record.visible()
        for place in range(len(weights)):
            tokens = weights.shape[-1] if seen is None else int(seen[min(place, len(seen) - 1), 0, 0].sum())
            generator = np.random.default_rng([record.layer, tokens])
            matrix = np.triu(contacts(tokens - 2))
            numbers = np.cumsum(matrix).reshape(matrix.shape) % 2
            for head in range(weights.shape[1]):
                noise = generator.random((tokens, tokens))
                if (record.layer, head) in PLANTED:
                    own = matrix & (numbers == PLANTED.index((record.layer, head)))
                    noise += 20 * (own | own.T)
                new = torch.as_tensor(noise / noise.sum(1, keepdims=True), dtype=weights.dtype)
                weights[place, head, :tokens, :tokens] = new
        return weights

    with hs.edit(model, change):
        yield


@pytest.fixture(scope="module")
def found(protein_model: Model) -> Any:
    with planted(protein_model):
        return hs.combine_heads(protein_model, proteins(), symmetrise=True)


@pytest.mark.slow
def test_a_regression_finds_the_heads_that_carry_contacts(found: Any) -> None:
    table = found.table().set_index("system")
    assert table.loc["regression", "precision_at_l5"] > 0.97
    assert table.loc["regression", "precision_at_l5_low"] <= table.loc["regression", "precision_at_l5"]
    assert table.loc["regression", "precision_at_l"] > 0.9
    assert 0.4 < table.loc["best head", "precision_at_l"] < 0.65
    assert table.loc["mean of 2", "precision_at_l"] > 0.9
    assert table.loc["chance", "precision_at_l"] < 0.15
    assert (table["inputs"] == len(LENGTHS)).all()
    assert table.loc["regression", "heads"].startswith(("L0H1 +", "L2H3 +"))
    weight = np.abs(found["weight"].sel(weighted="regression", label="link", direction="both")).min("half")
    flat = np.argsort(-weight.values.ravel())[:2].tolist()
    assert sorted(divmod(place, 4) for place in flat) == sorted(PLANTED)
    assert weight.values.ravel()[flat[1]] > 3 * np.sort(weight.values.ravel())[-3]


@pytest.mark.slow
def test_without_the_planted_links_nothing_is_found(protein_model: Model) -> None:
    with planted(protein_model):
        table = hs.combine_heads(protein_model, proteins(seed=1), symmetrise=True).table().set_index("system")
    chance = table.loc["chance", "precision_at_l"]
    for system in ("best head", "mean of 2", "regression"):
        assert table.loc[system, "precision_at_l_low"] <= chance <= table.loc[system, "precision_at_l_high"]


@pytest.mark.slow
def test_one_direction_finds_its_heads_too(protein_model: Model) -> None:
    """Links from the first end of a contact: without symmetrising a candidate is right in row and in column."""
    with planted(protein_model):
        found = hs.combine_heads(protein_model, proteins(), least=10)
    table = found.table().set_index("system")
    assert table.loc["regression", "accuracy"] > 0.95
    assert table.loc["best head", "accuracy"] < 0.85
    assert table.loc["regression", "n"] == sum(int(contacts(length).any(1).sum()) for length in LENGTHS)
    best = found["weight"].sel(weighted="best head", label="link").sum(("direction", "half")).values
    assert {tuple(place) for place in np.argwhere(best).tolist()} <= {*PLANTED}


@pytest.mark.slow
def test_batches_change_nothing(protein_model: Model, found: Any) -> None:
    with planted(protein_model):
        alone = hs.combine_heads(protein_model, proteins(), symmetrise=True, batch_size=1)
    np.testing.assert_allclose(alone["value"], found["value"], atol=1e-3)


@pytest.mark.slow
def test_the_maps_of_few_tokens_are_in_memory_together(
    protein_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[list[int]] = []
    run = Links.run

    def watched(self: Any, batch: Any) -> Any:
        batches.append([len(asked.tokens) for asked in batch])
        return run(self, batch)

    monkeypatch.setattr(Links, "run", watched)
    texts = ["ACDEFGHIKL" * 20] * 3 + ["ACDE" * 10] * 20
    hs.combine_heads(protein_model, hs.corpora.linked(texts, [[(0, 3)]] * len(texts)))
    assert max(sum(lengths) for lengths in batches) <= 512
    assert max(map(len, batches)) == 512 // 42


def words(crossed: bool) -> hs.corpora.Corpus:
    """Words with links to others, some of several words, in documents."""
    generator = np.random.default_rng(0)
    texts = [list(generator.choice(["cat", "dog", "sat", "there"], 6)) for _ in range(30)]
    if crossed:
        items: list[Any] = [(text, text[::-1]) for text in texts]
        pairs: list[Any] = [[((place, place + 1, "b"), 5 - place) for place in range(6)] for _ in texts]
    else:
        items, pairs = (
            texts,
            [[(place, (place + 2) % 6) for place in range(5)] + [((2, 4), 0)] for _ in texts],
        )
    return hs.corpora.linked(items, pairs, documents=[number // 3 for number in range(30)])


def bart() -> Model:
    torch.manual_seed(0)
    sides = {
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 32))
    }
    config = BartConfig(vocab_size=len(roberta()), d_model=32, max_position_embeddings=64, **sides)
    return hs.load((BartModel(config).eval(), roberta()))


def gpt2() -> Model:
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(roberta()), n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0
    )
    return hs.load((sharpen(GPT2Model(config)), roberta()))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["encoder", "causal", "crossed"])
def test_heads_alone_score_as_links_says(kind: str, protein_model: Model) -> None:
    """Both halves together have the accuracies of all heads that `headscope.links` gives."""
    model = {"encoder": lambda: small_bert(roberta()), "causal": gpt2, "crossed": bart}[kind]()
    corpus = words(kind == "crossed")
    sums: list[Any] = []

    def work(asked: Any, pairs: Any, cluster: int) -> None:
        assert cluster == asked.document
        sums.append(combine._alone(pairs, np.arange(len(pairs.labels))))

    engine = with_maps(model, offsets=())
    engine.full = False
    run = combine._CombineRun(engine, corpus, None, 0, 100, None, 8, False)
    run.over_inputs(work, "")
    right = sum(each[0] for each in sums) / sum(each[1] for each in sums)
    known = hs.links(model, corpus)["accuracy"].sel(label="link").values
    np.testing.assert_allclose(right.reshape(known.shape), np.nan_to_num(known), atol=1e-9)
    assert np.isnan(known[1]).all() == (kind == "crossed")  # where sources are of the decoder, alone in rows
    assert (np.nan_to_num(known).max((1, 2)) > 0).sum() == (1 if kind == "crossed" else 2)


@pytest.mark.parametrize(("unit", "first"), [("characters", 0), ("tokens", 1)])
def test_pairs_without_direction_are_of_symmetric_maps_without_special_tokens(
    unit: Any, first: int, protein_model: Model
) -> None:
    """Beside plain loops; a span of two residues links both of them."""
    text, found = "ACDEFGHIKLMN", list[Any]()

    def shift(span: tuple[int, int]) -> hs.Span:
        return hs.Span(span[0] + first, span[1] + first)

    a, b = (((1, 3), [(9, 10)]), ((10, 11), [(0, 1), (8, 9)]))
    links = [
        hs.Link(shift(source), tuple(map(shift, targets)), name, unit=unit)
        for name, (source, targets) in zip("ab", (a, b), strict=True)
    ]
    engine = with_maps(protein_model, directions=["row"], offsets=())
    engine.full = False
    corpus = hs.corpora.linked([text], [links])
    combine._CombineRun(engine, corpus, 6, 0, 9, None, 1, False).over_inputs(
        lambda *given: found.append(given[1]), ""
    )
    (pairs,) = found
    maps = hs.capture(protein_model, text)
    for layer in range(3):
        for head in range(4):
            own = np.asarray(maps[hs.Head(layer, head)], float)[1:-1, 1:-1]
            both = own + own.T
            for first in range(12):
                for second in range(12):
                    expected = both[first, second] - both[first].sum() * both[:, second].sum() / both.sum()
                    assert pairs.features[4 * layer + head, first, second] == pytest.approx(
                        expected, abs=1e-6
                    )
    assert pairs.labels == ["a"] * 12 + ["b"] * 12
    known = {(1, 9), (2, 9), (9, 1), (9, 2)}, {(10, 0), (0, 10)}  # 8 and 10 are too near
    for place, ends in enumerate(known):
        target = pairs.target[12 * place : 12 * place + 12]
        assert {tuple(end) for end in np.argwhere(target).tolist()} == ends
        assert np.flatnonzero(pairs.counts[12 * place : 12 * place + 12]).tolist() == sorted(
            {end[0] for end in ends}
        )
    assert np.argwhere(pairs.allowed[0]).ravel().tolist() == list(range(6, 12))


def test_documents_are_in_one_half_and_halves_are_equal(protein_model: Model) -> None:
    run = combine._CombineRun(with_maps(protein_model), [], None, 3, 10, None, 8, False)
    halves = [run._half(cluster) for cluster in range(200)]
    assert sum(halves) == 100
    assert all(a != b for a, b in zip(halves[::2], halves[1::2], strict=True))
    assert 30 < sum(halves[::2]) < 70
    assert halves != [
        combine._CombineRun(run.engine, [], None, 4, 10, None, 8, False)._half(one) for one in range(200)
    ]


@pytest.mark.slow
def test_labels_are_fitted_apart_and_rare_ones_named(protein_model: Model) -> None:
    texts = ["ACDEFG"] * 24
    links = [[hs.Link(hs.Span(0, 1), (hs.Span(3, 4),), "far", unit="characters")] for _ in texts]
    for place, own in enumerate(links):
        own.append(hs.Link(hs.Span(1, 2), (hs.Span(2, 3),), "near", unit="characters"))
        if place < 3:
            own.append(hs.Link(hs.Span(2, 3), (hs.Span(4, 5),), "rare", unit="characters"))
    result = hs.combine_heads(protein_model, hs.corpora.linked(texts, links), limit=22)
    assert result["label"].values.tolist() == [ALL, "far", "near", "rare"]
    assert result["n"].sel(score="accuracy").values.tolist() == [47, 22, 22, 3]
    assert result["value"].sel(label="rare").isnull().all()
    assert result["value"].sel(
        label=["far", "near"], system="chance", score="accuracy"
    ).values == pytest.approx(0.2)
    assert result.table()["system"].tolist()[-1] == "chance"
    assert json.loads(result.attrs["meta"])["options"]["limit"] == 22


def alignment(folder: Path, sentences: int = 24) -> hs.corpora.Corpus:
    """Sentences of five words and their translations, word by word in one of two orders; one word has no link."""
    draw = np.random.default_rng(0)
    words_, lines, links = [*"abcdefgh"], list[tuple[str, str]](), list[str]()
    for _ in range(sentences):
        own, order = draw.choice(words_, 5, replace=False), draw.permutation(5)
        lines.append((" ".join(own), " ".join(own[order])))
        links.append(" ".join(f"{order[place]}{'?' if place == 1 else '-'}{place}" for place in range(4)))
    for name, content in (("a", [a for a, _ in lines]), ("b", [b for _, b in lines]), ("ab", links)):
        (folder / f"{name}.align").write_text("\n".join(content) + "\n")
    return hs.corpora.alignments(folder / "a.align", folder / "b.align", folder / "ab.align")


@pytest.mark.slow
def test_links_between_two_texts_have_the_alignment_error_rate(tmp_path: Path) -> None:
    """The best head's is that of `headscope.links` on the halves that it was not chosen on."""
    corpus, model = alignment(tmp_path), small_bert(roberta())
    result = hs.combine_heads(model, corpus, candidates="other", direction="row", least=10)
    table = result.table().set_index(["label", "system"])
    alone = hs.links(model, corpus, candidates="other", direction="row", least=10)
    for label in ("a to b", "b to a"):
        chosen = result["weight"].sel(label=label, weighted="best head", direction="row")
        heads = [tuple(np.argwhere(chosen.sel(half=half).values)[0].tolist()) for half in (0, 1)]
        rates = [float(alone["aer"].sel(label=label, direction="row").values[head]) for head in heads]
        found = table.loc[(label, "best head")]
        assert found["aer_low"] <= found["aer"] <= found["aer_high"]
        if heads[0] == heads[1]:
            assert found["aer"] == pytest.approx(rates[0])
        assert min(rates) - 0.25 < found["aer"] < max(rates) + 0.25
        # by chance a word finds one of five: |A| = 5, |S| = 3, and 4 words have a possible link, 3 a sure one
        assert table.loc[(label, "chance"), "aer"] == pytest.approx(1 - (4 / 5 + 3 / 5) / (5 + 3))
    assert "aer" not in hs.combine_heads(model, words(False), least=5).table()


def test_without_direction_both_ways_of_an_alignment_are_one_row(tmp_path: Path) -> None:
    """And words of two texts are far from each other, wherever they stand."""
    result = hs.combine_heads(small_bert(roberta()), alignment(tmp_path), symmetrise=True, least=10)
    table = result.table()
    assert table["label"].unique().tolist() == ["a to b, b to a"]
    assert table.set_index("system").loc["best head", "n"] == 24 * 8
    chance = table.set_index("system").loc["chance", "precision_at_l"]
    assert chance == pytest.approx(4 / 25)  # of 25 pairs between the texts; none within one is far enough


@pytest.mark.slow
def test_the_command_writes_and_prints_the_table(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protein_model: Model
) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"text": "ACDEFGHIKLMN", "links": [{"from": 0, "to": 8}, {"from": 2, "to": 9}]}] * 12
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    monkeypatch.setattr("headscope.attention.load.load", lambda *_, **__: protein_model)
    typed("links", path, "--together", "--symmetrise", "-o", tmp_path / "a.csv")
    header, *lines = (tmp_path / "a.csv").read_text("utf-8").splitlines()
    assert header.startswith("label,system,n,accuracy,accuracy_low")
    assert "precision_at_l5_high" in header
    assert len(lines) == 7
    assert lines[0].startswith("link,best head,48,")

    said = typed("links", path, "--together", "--least", 99)
    assert "1 of 1 labels have fewer than 99 sources" in said.out
    assert "link" in said.out
