"""The card of a model's heads: the same again to the last byte, checked when read, compared beyond its errors."""

from __future__ import annotations

import copy
import json
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.model_card.card import FIGURES, Card
from headscope.corpora import Corpus
from headscope.errors import HeadscopeWarning, InputError
from headscope.models import Model
from headscope.statistics.overlap import held, overlap
from tests.helpers.pages import payload, section
from tests.helpers.planted_alignment import PLANTED, planting, recordings
from tests.helpers.planted_induction import circuit
from tests.helpers.planted_needles import HAY, reader
from tests.helpers.small_models import seeing, small_bert, whisper_parts
from tests.helpers.small_tokenizers import demo
from tests.helpers.typed import Typed

pytestmark = pytest.mark.slow
LIMIT = 60


@pytest.fixture(scope="module")
def small() -> Model:
    return small_bert(demo())


@pytest.fixture(scope="module")
def made(small: Model) -> Card:
    return hs.card(small, hs.corpora.builtin(), limit=LIMIT)


def test_a_second_run_gives_the_same_bytes(small: Model, made: Card, tmp_path: Path) -> None:
    assert hs.card(small, hs.corpora.builtin(), limit=LIMIT).text == made.text
    folder = made.save(tmp_path / "card")
    assert hs.open_card(folder).text == made.text
    page = payload((folder / "index.html").read_text("utf-8"))
    assert [measure["name"] for measure in page["measures"]] == [*made.lists]
    rows = section(page, "roles")["blocks"][0]
    named = [(rows["values"]["role"][row], rows["values"]["head"][row]) for row in rows["shown"]]
    assert named == [
        (name, head.head) for name, one in made.lists.items() if one["tested"] for head in made.heads(name)
    ]


def test_its_lists_are_those_of_the_analyses(small: Model, made: Card) -> None:
    roles = hs.roles(small, hs.corpora.builtin(), limit=LIMIT)
    for name in made.lists.keys() - {"importance"}:
        assert {(head.layer, head.head) for head in made.heads(name)} == {
            *roles[roles["role"] == name][["layer", "head"]].itertuples(index=False, name=None)
        }
    assert len(made.heads("importance", top=5)) == 5
    assert {read["name"] for read in made.data["corpora"].values()} == {"built-in corpus"}
    assert all(row["p"] > 0 for name in roles["role"].unique() for row in made.rows(name))
    with pytest.raises(InputError, match="no list 'retrieval': a role in causal models only"):
        made.heads("retrieval")
    with pytest.raises(InputError, match=r"importance: expected no q, which this list does not have"):
        made.heads("importance", q=0.05)


def test_a_card_that_is_broken_is_refused_by_its_place(made: Card, tmp_path: Path) -> None:
    data: Any = json.loads(made.text)
    data["lists"]["importance"]["heads"][3]["head"] = "3.4"
    (tmp_path / "card.json").write_text(json.dumps(data))
    with pytest.raises(
        InputError, match=r"card.json: \['lists'\]\['importance'\]\['heads'\]\[3\]\['head'\]: '3.4' does not"
    ):
        hs.open_card(tmp_path)
    (tmp_path / "card.json").write_text(json.dumps({**data, "format": "headscope.card/9"}))
    with pytest.raises(InputError, match=r"expected the format headscope.card/1, found 'headscope.card/9'"):
        hs.open_card(tmp_path)


def test_a_model_differs_from_itself_in_nothing_and_from_a_trained_copy_where_it_was_trained(
    small: Model, made: Card, tmp_path: Path, typed: Typed
) -> None:
    assert not len(hs.card_differences(made, made))
    module = copy.deepcopy(small.module)
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weights in module.named_parameters():
            if "layer.1." in name:
                weights += weights.std() * torch.randn(weights.shape, generator=draw)
    other = hs.card(hs.load((module, small.tokenizer)), hs.corpora.builtin(), limit=LIMIT)
    table = hs.card_differences(made, other)
    assert table.attrs["layers"] == ["encoder.layer.1"]
    assert table.attrs["corpora"] == []
    assert set(table[~table["list"].isin(["importance"])]["layer"]) <= {1, 2}
    assert 1 in set(table["layer"])
    for name, card in (("a", made), ("b", other)):
        card.save(tmp_path / name)
    printed = typed("cards", "diff", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "diff.csv")
    assert "weights differ in encoder.layer.1" in printed.err
    assert typed("cards", "diff", tmp_path / "a", tmp_path / "a").err.startswith("the same weights; 0 of ")
    assert typed("cards", "site", tmp_path).out == f"{tmp_path / 'index.html'}: 2 models\n"
    page = (tmp_path / "index.html").read_text("utf-8")
    for file in [tmp_path / "index.html", *tmp_path.glob("*/index.html")]:
        script = "'none'" if file.parent == tmp_path else "'sha256-"
        policy = f"default-src 'none'; script-src {script}"
        head = file.read_text("utf-8").partition("<style>")[0]
        assert f'<meta http-equiv="Content-Security-Policy" content="{policy}' in head, file
    for name in ("a", "b"):  # of one name
        assert f'href="{name}/index.html">{made.name} ({name})</a>' in page


def test_the_lists_of_a_causal_model_are_given_to_others(tmp_path: Path, shared: Path) -> None:
    """Retrieval, key heads of grouped queries, DuoAttention's pattern, budgets and a table."""
    stories = hs.load(shared / "models" / "stories260K")
    card = hs.card(stories, hs.corpora.builtin(pack=64), limit=12)
    assert {"copying", "importance"} <= {*card.lists, *card.data["not_told"]}
    assert card.data["model"]["key_heads"] == [4] * 5
    gates = np.arange(20.0).reshape(5, 4)
    data: Any = json.loads(card.text)
    data["lists"]["retrieval"] = {
        "why": "", "tested": True, "stability": "", "heads": [
            {"head": f"L{layer}H{head}", "paper": "", "score": gates[layer, head // 2] * (1 - head % 2), "q": 0.01}
            for layer in range(5) for head in range(8)
        ],
    }  # fmt: skip
    card = Card(data)
    folder = card.save_duo_attention(tmp_path / "duo")
    np.testing.assert_allclose(np.loadtxt(folder / "full_attention_heads.tsv", delimiter="\t"), gates / 19)
    budgets = np.array(card.budgets(0.5))
    assert budgets.mean() == pytest.approx(0.5)
    assert budgets.min() >= 0.05
    assert (np.diff(budgets.ravel()) >= 0).all()
    np.testing.assert_allclose(budgets[0] - 0.05, gates[0] * (budgets[0, 1] - 0.05), atol=1e-12)
    names = [read["name"] for read in card.data["corpora"].values()]
    assert names == ["built-in corpus"] * 2 + ["repeated random tokens", "built-in corpus"]
    card.save_tsv(tmp_path / "lists.tsv")
    lines = (tmp_path / "lists.tsv").read_text().splitlines()
    assert lines[0].split("\t") == ["list", "layer", "head", "paper", *FIGURES]
    assert len(lines) == 1 + sum(len(one["heads"]) for one in card.lists.values())


def test_a_planted_retrieval_head_is_listed_with_the_overlap_of_needles() -> None:
    planted = hs.load((circuit().module, reader()), allow_unknown=True)
    corpus, calls = hs.corpora.texts([" ".join([HAY] * 4)] * 12), Counter[str]()
    planted.backbone.register_forward_pre_hook(lambda *_: calls.update([of]))
    of = "card"
    with pytest.warns(HeadscopeWarning, match="unknown"):
        card = hs.card(planted, corpus)
    of = "analyses"
    with warnings.catch_warnings(action="ignore", category=HeadscopeWarning):
        roles = hs.roles(planted, corpus)
        hs.contribution.importance(planted, corpus)
        hs.writes(planted)
    assert calls["card"] == calls["analyses"]  # nothing is read again for halves
    assert card.heads("retrieval") == [hs.Head(1, 0)]
    overlap = card.lists["retrieval"]["stability"]
    assert (overlap["top"], overlap["share"], overlap["chance"]) == (2, 1, 0.5)
    assert overlap["documents"] > 10
    for name, one in roles.attrs["lists"].items():
        assert one == pytest.approx(card.lists[name]["stability"], rel=1e-6), name
    for row in roles[roles["role"] == "retrieval"].itertuples():
        assert card.rows("retrieval")[0]["stays"] == pytest.approx(row.stays, abs=1e-3)


def test_a_model_of_pictures_has_a_card(tmp_path: Path) -> None:
    card = hs.card(seeing(), hs.corpora.builtin_images())
    assert card.data["not_told"]["importance"] == "it is taken of texts"
    assert card.data["corpora"]["corpus"]["inputs"] == 12
    assert isinstance(card.lists["itself"]["stability"], dict)


def test_a_planted_head_of_speech_is_listed_with_the_overlap_of_halves() -> None:
    """All heads but one are right as often as a random frame: of the best four of eight, halves share that one."""
    whisper = hs.load(whisper_parts(4))
    speech = recordings(whisper, 20)
    corpus = Corpus("noise", lambda: iter(speech), kind="sounds")
    with hs.edit(whisper, planting(whisper, speech)):
        ranked = hs.alignment_heads(whisper, speech)
        card = hs.card(whisper, corpus)
    assert card.heads("alignment", top=1) == [hs.Head(*PLANTED)]
    stability = card.lists["alignment"]["stability"]
    assert (stability["top"], stability["documents"], stability["chance"]) == (4, 10, 0.5)
    assert 0.25 <= stability["share"] < 1
    np.testing.assert_array_equal(ranked["right"].sum("cluster") / ranked["words"].sum(), ranked["aligned"])


def test_halves_agree_by_chance_where_heads_do_not_differ_and_wholly_where_they_do() -> None:
    draw = np.random.default_rng(0)
    ones = np.ones((30, 40))
    clear = overlap(np.arange(40.0) + draw.normal(0, 0.01, (30, 40)), ones)
    assert clear is not None
    assert clear[1:4] == (1.0, 0.95, 1.0)
    overlaps = [overlap(draw.normal(0, 1, (30, 40)), ones, seed=seed, draws=100) for seed in range(20)]
    assert np.mean([one.share for one in overlaps if one is not None]) == pytest.approx(0.25, abs=0.05)
    assert overlap(ones[:9], ones[:9]) is None


def test_parts_of_many_documents_tell_what_the_documents_do() -> None:
    draw = np.random.default_rng(0)
    s, n = draw.normal(draw.normal(0, 0.3, 60), 1, (640, 60)), np.ones((640, 60))
    parts = [one.reshape(10, 64, 60).sum(0) for one in (s, n)]
    (every, stay), (some, stay_some) = held(s, n), held(*parts, documents=640)
    assert every is not None
    assert some is not None
    assert (every.documents, some.documents) == (640, 640)
    assert every.share == pytest.approx(some.share, abs=0.05)
    assert 0.5 < some.needed / every.needed < 2
    assert np.abs(stay - stay_some).max() < 0.1
