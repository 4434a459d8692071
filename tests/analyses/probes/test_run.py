"""Probes of real models, end to end."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope import corpora
from headscope.analyses.probes.cache import Store
from headscope.analyses.probes.gather import heads_of, maps_of, model_vectors, roots, states_of
from headscope.analyses.probes.run import probe
from headscope.analyses.probes.statistics import COLUMNS, table
from headscope.corpora import Example
from headscope.errors import InputError
from headscope.runs.safefile import decode

SMALL: dict[str, Any] = {"epochs": 2}


@pytest.fixture(scope="module")
def sentences(demo: Any, shared: Path) -> list[Example]:
    treebank = corpora.conllu(shared / "data" / "ud_ewt" / "en_ewt-ud-test.conllu")
    return list(islice(treebank.encoded(demo), 60))


@pytest.mark.slow
def test_what_is_kept_of_a_sentence(demo: Any, sentences: list[Example]) -> None:
    """Maps over words, and attention to [CLS] and [SEP]; the mean of the hidden states of a word's pieces."""
    batch = [sentences[3], sentences[8]]
    heads = heads_of(demo, batch[0])
    assert heads == [(layer, 12) for layer in range(6)]
    found = maps_of(demo, heads, "float32")(batch)
    states = states_of(demo)(batch)
    for example, own, hidden in zip(batch, found, states, strict=True):
        maps = hs.capture(demo, example.tokens)
        words = maps.words()
        inside = np.flatnonzero(words.query.word_ids >= 0)
        special = [0, len(words.query) - 1]
        assert [words.query.pieces[place] for place in special] == ["[CLS]", "[SEP]"]
        for place, (layer, head) in ((17, (1, 5)), (70, (5, 10))):
            whole = words.layers[layer][head]
            expected = whole[np.ix_(inside, [*inside, *special])]
            np.testing.assert_allclose(own[..., place], expected, atol=1e-5)
        with torch.no_grad():
            out = demo.backbone(**demo.inputs([example.tokens]), output_hidden_states=True).hidden_states
        assert len(hidden) == len(out) == 7
        word = len(example.words or ()) - 2
        pieces = np.flatnonzero(example.tokens.word_ids == word)
        np.testing.assert_allclose(hidden[4, word], out[4][0, pieces].mean(0), atol=2e-3)


def test_tokens_for_the_root(demo: Any, stories: Any) -> None:
    tokens = demo.from_words(["A", "cat"])
    assert roots(tokens) == ([0, len(tokens) - 1], ("cls", "sep"))
    assert roots(stories.from_words(["A", "cat"])) == ([0, -1], ("bos", "none"))
    plain = hs.Tokens(["a", "b"])
    assert roots(plain) == ([0, -1], ("first token", "none"))


def test_the_model_s_own_vectors(demo: Any) -> None:
    found = model_vectors(demo, {"cat": 0, "xylophonist": 1})
    table = demo.module.get_input_embeddings().weight.detach().numpy()
    ids = demo.tokenizer("xylophonist", add_special_tokens=False)["input_ids"]
    assert len(ids) > 1
    np.testing.assert_allclose(found.values[1], table[ids].mean(0), rtol=1e-5, atol=1e-7)
    assert found.known.all()
    assert found.name == f"input embeddings of {demo.name}"


@pytest.mark.slow
def test_all_kinds(demo: Any, sentences: list[Example]) -> None:
    found = probe(demo, sentences[:24], sentences[24:36], **SMALL)
    rows = table(found).set_index("probe")
    layers = [f"structural, layer {layer}" for layer in range(7)]
    assert rows.index.tolist() == [
        "right-branching",
        "distance+words",
        "attention+words, re-initialised",
        "attention",
        "attention+words",
        "structural",
        *layers,
    ]
    assert tuple(table(found).columns) == COLUMNS
    best = rows.loc["structural"]
    assert rows.loc[layers, "held_out"].idxmin() == f"structural, layer {best['layer']}"
    assert best["held_out"] == rows.loc[layers, "held_out"].min()
    pairs = rows.loc[["distance+words", "attention+words, re-initialised", "attention", "attention+words"]]
    np.testing.assert_allclose(pairs["selectivity"], pairs["uas"] - pairs["control"])
    assert set(rows["clusters"]) == {"documents"}
    assert (rows["effective"] < 5).all()
    assert pairs[["uas_low", "uas_high"]].isna().all().all()  # of too few documents
    words = sum(relation != "punct" for one in sentences[24:36] for relation in one.relations or ())
    assert set(rows["n"]) == {words}
    own = f"input embeddings of {demo.name}"
    assert rows["vectors"].tolist() == ["", own, own, "", own, *[""] * 8]
    assert rows.loc["attention", "parameters"] == 4 * 72
    meta = json.loads(found.attrs["meta"])
    assert meta["root"] == ["cls", "sep"]
    assert meta["corpus"]["train"] == 24
    assert len(meta["scalars"]["w"]) == 72
    assert len(meta["losses"]["attention, control"]) == 2


@pytest.mark.slow
def test_resuming_gives_the_same_digits(
    demo: Any, sentences: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a stop while the cache was written, and after one epoch."""
    run = {"kinds": ["attention"], "seed": 4}
    whole = probe(demo, sentences[:24], sentences[24:36], epochs=3, **run)
    place = tmp_path / "run"

    append = Store.append

    def stopped(store: Store, arrays: Any) -> None:
        append(store, arrays[:17])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "append", stopped)
        with pytest.raises(KeyboardInterrupt):
            probe(demo, sentences[:24], sentences[24:36], epochs=1, resume=place, **run)
    (file,) = place.glob("maps-train*")
    assert len(decode(file.read_bytes(), "")[0]) == 17
    probe(demo, sentences[:24], sentences[24:36], epochs=1, resume=place, **run)
    again = probe(demo, sentences[:24], sentences[24:36], epochs=3, resume=place, **run)
    assert whole.drop_attrs().identical(again.drop_attrs())
    other = probe(demo, sentences[:24], sentences[24:36], epochs=3, **{**run, "seed": 5})
    assert float(other["held_out"][0]) != float(whole["held_out"][0])


@pytest.mark.slow
def test_the_folder_of_another_run(demo: Any, sentences: list[Example], tmp_path: Path) -> None:
    run: dict[str, Any] = {"kinds": ["attention"], "resume": tmp_path, **SMALL}
    probe(demo, sentences[:9], sentences[9:12], **run)
    with pytest.raises(
        InputError, match=r"maps-train-00000000.safetensors: is of another run: .*treebank: expected"
    ):
        probe(demo, sentences[1:10], sentences[9:12], **run)


@pytest.mark.slow
def test_a_causal_model(stories: Any, shared: Path) -> None:
    """Grouped-query attention, no [SEP]: the root is read off the first token."""
    treebank = corpora.conllu(shared / "data" / "ud_ewt" / "en_ewt-ud-test.conllu")
    own = list(islice(treebank.encoded(stories), 14))
    found = probe(stories, own[:10], own[10:], kinds=["attention", "structural"], **SMALL)
    assert json.loads(found.attrs["meta"])["root"] == ["bos", "none"]
    assert np.isfinite(found["uas"][0])


@pytest.mark.slow
def test_attention_knows_syntax(demo: Any, shared: Path) -> None:
    """Attention alone beats right-branching, and the re-initialised model is far behind: clear on 250 short ones."""
    treebank = corpora.conllu(shared / "data" / "ud_ewt" / "en_ewt-ud-test.conllu")
    short = (one for one in treebank.encoded(demo) if 4 < len(one.words or ()) <= 20)
    own = list(islice(short, 400))
    kinds = ["right-branching", "attention", "reinitialised"]
    whole = probe(demo, own[:150], own[150:], kinds=kinds, epochs=15)
    found = table(whole).set_index("probe")
    assert (found["effective"] > 5).all()
    ahead = whole.sel(probe="attention", other="right-branching")
    assert float(ahead["uas_difference_low"]) > 0.1
    assert float(ahead["uas_difference_p"]) < 0.05
    assert found.loc["attention", "uas_low"] > found.loc["right-branching", "uas_high"] + 0.1
    assert found.loc["attention", "selectivity_low"] > 0
    again = found.loc["attention+words, re-initialised"]
    assert again["uas_high"] < found.loc["attention", "uas_low"] - 0.1
