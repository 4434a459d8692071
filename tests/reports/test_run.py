"""The report of other kinds of models than the demo model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.distance.arrangement import head_map
from headscope.analyses.reproduce import Typed
from headscope.core.heads import Head
from headscope.errors import CorpusError
from headscope.measures.choose import choose
from headscope.models import Model
from tests.helpers import section_blocks
from tests.helpers.pages import payload, told

pytestmark = pytest.mark.slow

OWN = ["figures", "gradients", "roles", "clusters", "cards", "table"]
FEW = ["figures", "cards"]


def part(example: Any) -> Any:
    """The only part of an example's only input."""
    ((found,),) = [one["parts"] for one in example["inputs"]]
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("few_repeats")
def test_a_causal_model(stories: Model) -> None:
    found = payload(hs.report(stories, examples=2, limit=4, sections=FEW))
    assert found["model"]["causal"]
    (absent,) = (one for one in found["sections"] if section_blocks.name_of(one) == "absent")
    assert {row["measure"] for row in section_blocks.rows(absent, "measures")} >= {"next", "entropy_first"}
    assert len(found["examples"]) == 2
    assert all(part(example)["causal"] for example in found["examples"])


@pytest.mark.slow
def test_the_encoder_of_an_encoder_decoder(demo: Model) -> None:
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=30522, d_model=32, d_kv=8, d_ff=24, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    model = hs.load((transformers.T5ForConditionalGeneration(config).eval(), demo.tokenizer))
    found = payload(
        hs.report(model, hs.corpora.texts(["The cat sat.", "A dog barked at the moon."]), sections=FEW)
    )
    assert (found["model"]["layers"], found["model"]["heads"]) == (2, 4)
    assert part(found["examples"][0])["name"] == "encoder"
    assert part(found["examples"][0])["query"]["pieces"][:3] == ["[CLS]", "the", "cat"]
    assert len(part(found["examples"][0])["neurons"]) == 2


def test_examples_of_your_own(demo: Model) -> None:
    found = payload(
        hs.report(demo, hs.corpora.texts(["The cat sat."]), examples=["Why?", ("A b.", "C d.")], sections=FEW)
    )
    expected = [["[CLS]", "why", "?", "[SEP]"], ["[CLS]", "a", "b", ".", "[SEP]", "c", "d", ".", "[SEP]"]]
    assert [part(example)["query"]["pieces"] for example in found["examples"]] == expected


@pytest.mark.slow
def test_queries_and_keys_come_while_there_is_room(demo: Model, monkeypatch: Any) -> None:
    corpus = hs.corpora.texts(["The cat sat."])
    first, second = payload(hs.report(demo, corpus, examples=["Why?", "Why not?"], sections=FEW))["examples"]
    assert part(first)["neurons"][0]["q"]["codes"]["shape"] == [12, 4, 32]
    assert part(second)["neurons"] is not None
    monkeypatch.setattr("headscope.analyses.cards.section.NEURON_BYTES", 6 * 12 * 4 * 32 * 2)
    first, second = payload(hs.report(demo, corpus, examples=["Why?", "Why not?"], sections=FEW))["examples"]
    assert part(first)["neurons"] is not None
    monkeypatch.setattr("headscope.reports.page.NEURON_BYTES", 0)
    first, second = payload(hs.report(demo, corpus, examples=["Why?", "Why not?"], sections=FEW))["examples"]
    assert part(first)["neurons"] is not None
    assert part(second)["neurons"] is None


TEXTS = [
    f"{who} {what}"
    for who in ("The cat", "A dog", "Nobody")
    for what in ("sat.", "ran, and slept.", "saw it.")
]


def sections(page: str) -> dict[str, Any]:
    """The sections of a page by kind; of several of a kind the last."""
    return {section_blocks.name_of(one): one for one in payload(page)["sections"]}


@pytest.fixture(scope="module")
def whole(demo: Model, build_once: Any) -> str:
    typed = Typed(["a file.txt"], {"-m": "some/model"}, limit=9)
    options: dict[str, Any] = {"examples": 4, "sections": OWN, "limit": 9, "typed": typed}
    return build_once("own-sections", lambda: hs.report(demo, hs.corpora.texts(TEXTS), **options))


def test_the_sections_that_are_asked_for(demo: Model, whole: str) -> None:
    kinds = [section_blocks.name_of(one) for one in payload(whole)["sections"]]
    figures = ["measures", "layers", "layers", "layers"]
    assert [kind for kind in kinds if kind not in ("absent", "classes")] == [
        *("summary", "roles", "cards", "clusters", "heads", *figures, "methods")
    ]
    assert kinds.count("classes") == 2
    corpus = hs.corpora.texts(TEXTS[:2])
    few = payload(hs.report(demo, corpus, examples=1, sections=["table"]))
    wanted = ["summary", "heads", "methods"]
    named = [section_blocks.name_of(one) for one in few["sections"]]
    assert [name for name in named if name != "absent"] == wanted
    assert len(few["examples"]) == 1


def test_roles_are_those_of_the_command(demo: Model, whole: str) -> None:
    table: Any = hs.roles(demo, hs.corpora.texts(TEXTS), limit=9)
    expected = [
        (row.layer, row.head, row.role, row.score) for row in table.itertuples() if row.role != "none"
    ]
    info = sections(whole)["roles"]
    every = section_blocks.rows(info, "roles")
    shown = section_blocks.table(info, "roles")["shown"]
    found = [tuple(every[place][name] for name in ("layer", "head", "role", "score")) for place in shown]
    assert [one[:3] for one in found] == [one[:3] for one in expected]
    assert np.allclose([one[3] for one in found], [one[3] for one in expected])
    assert (0, 2, "previous token") in [one[:3] for one in found]
    assert len(every) - len(shown) == 72 - len({one[:2] for one in found})


def test_the_map_is_that_of_the_command(demo: Model, whole: str) -> None:
    found = hs.distance(demo, hs.corpora.texts(TEXTS), limit=9)
    clusters = sections(whole)["clusters"]
    rows = section_blocks.rows(clusters, "heads")
    own = np.array([(row["x"], row["y"]) for row in rows])
    expected: Any = head_map(found)
    assert np.allclose(own, expected[["x", "y"]], atol=1e-4)
    (maps,) = (block for block in clusters["blocks"] if block["kind"] == "chart")
    for drawn in maps["charts"]:
        assert [drawn["rows"]["x"], drawn["rows"]["y"]] == own.T.tolist()
    near = found["distance"].values + np.diag([np.inf] * 72)
    nearest = [str(Head(place // 12, place % 12)) for place in near.argmin(1)]
    assert [reason["says"] for reason in maps["reasons"]] == [f"attends most like {name}" for name in nearest]
    assert "L0H2" in told(payload(whole))[0][2]["text"] or rows[2]["role"] == "previous token"


def test_cards_name_examples_of_the_page(whole: str) -> None:
    (cards,), examples = section_blocks.cards_of(sections(whole)["cards"]), payload(whole)["examples"]
    found = len(cards["cards"]), cards["inputs"], len(examples)
    assert found == (72, 8, 4)  # "Nobody sat." shows too little
    for card in cards["cards"]:
        assert {one["example"] for one in card["sample"]} <= set(range(4))
    (card,) = [one for one in cards["cards"] if (one["layer"], one["head"]) == (0, 2)]
    assert card["measure"] == "previous"
    for shown in card["strongest"]:
        pieces = part(examples[shown["example"]])["query"]["pieces"]
        assert pieces[1] in ("the", "a", "nobody")


def test_commands_give_the_same_figures_again(whole: str) -> None:
    found = [one.get("command") for one in payload(whole)["sections"] if one.get("command")]
    assert "headscope measure 'a file.txt' -m some/model --limit 9" in found
    assert "headscope roles 'a file.txt' -m some/model --limit 9" in found
    assert "headscope distance 'a file.txt' -m some/model --limit 9 --map map.csv" in found
    assert "headscope report --text 'a file.txt' -m some/model --limit 9 --sections cards" in found
    (gradients,) = [one for one in found if one.endswith("--measures gradients")]
    names = gradients.split("--measures ")[1].split(",")
    assert [one.name for one in choose(names)] == [
        f"gradient_each_{one}" for one in ("sep", "cls", "punctuation", "others")
    ]


@pytest.mark.slow
def test_a_command_for_one_section_has_only_what_that_section_takes(demo: Model) -> None:
    given = {"--treebank": ["t.conllu"], "--against": ["b"], "--pairs": ["p.tsv"], "--label": ["same"]}
    page = hs.report(
        demo,
        hs.corpora.texts(TEXTS),
        examples=2,
        sections=["cards"],
        limit=2,
        typed=Typed(sections=given, limit=2),
    )
    assert sections(page)["cards"]["command"] == (
        "headscope report --treebank t.conllu --limit 2 --sections cards"
    )


@pytest.mark.slow
def test_a_section_that_fails_takes_no_other_with_it(demo: Model, monkeypatch: Any, capsys: Any) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ValueError("out of <memory>\nand more")

    monkeypatch.setattr("headscope.analyses.distance.run.distance", fail)
    corpus = hs.corpora.texts(TEXTS)
    page = hs.report(demo, corpus, examples=2, sections=["roles", "clusters", "cards"], progress=True)
    found = sections(page)
    assert found["failed"]["title"] == "Not made: the map of heads by their distances (figure 6)"
    assert section_blocks.said(found["failed"]) == ["ValueError: out of <memory>"]
    assert {"roles", "cards", "methods"} <= set(found)
    said = capsys.readouterr().err
    assert "section clusters: ValueError: out of <memory>" in said
    assert re.search(r"distances between all heads: about \d+ s", said)


def test_a_strict_treebank_is_refused_before_anything_is_measured(
    demo: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{n}\tcat\t_\tNOUN\t_\t_\t{n - 1}\t{'dep' if n > 1 else 'root'}\t_\t_\n" for n in range(1, 600)]
    path = tmp_path / "long.conllu"
    path.write_text("".join(rows), encoding="utf-8")
    monkeypatch.setattr("headscope.reports.run._page", lambda *_: pytest.fail("something was measured"))
    with pytest.raises(
        CorpusError, match=r"long\.conllu:1: expected at most 512 tokens in a sentence, found 601"
    ):
        hs.report(demo, hs.corpora.texts(["A cat."]), treebank=hs.corpora.conllu(path, strict=True))
