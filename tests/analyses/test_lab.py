"""Labs: their answers are the model's, and their notebooks check what a student has done."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.lab.answers import places
from headscope.analyses.lab.run import LABS, fine_tuned, lesson
from headscope.errors import InputError
from headscope.models import Model
from tests.helpers.standalone_models import model_of


@pytest.fixture(scope="module")
def lab(demo: Model) -> Any:
    return hs.lab("heads", demo)


def test_answers_are_those_of_the_model(lab: Any, demo: Model) -> None:
    maps = hs.capture(demo, lab.tasks[0]["text"])
    heads = np.stack([np.diagonal(layer, -1, 1, 2).mean(-1) for layer in maps.layers])
    best = np.unravel_index(heads.argmax(), heads.shape)
    assert lab.tasks[1]["check"]["heads"] == [[*map(int, best)]]
    assert f"L{best[0]}H{best[1]} (" in lab.tasks[1]["answer"]
    it, cat = (maps.query.pieces.index(word) for word in ("it", "cat"))
    weights = np.stack([layer[:, it, cat] for layer in maps.layers])
    assert {tuple(head) for head in lab.tasks[3]["check"]["heads"]} == {
        tuple(map(int, head)) for head in np.argwhere(weights.max() - weights <= 0.2 * np.ptp(weights))
    }
    small = hs.lab("heads", model_of("BERT"))
    assert small.tasks[0]["answer"].startswith("8.")
    assert {head for head, _ in small.tasks[1]["check"]["heads"]} <= {0, 1}


def test_places_of_words(demo: Model, stories: Model) -> None:
    tokens = hs.capture(demo, "The store, a store.", pair="My store").query
    assert [places(tokens, word) for word in ("store", "store#2", "store@b", "last")] == [[2], [5], [9], [10]]
    told = hs.capture(stories, "Tom met Max. Tom met").query
    assert "".join(told.texts[place] for place in places(told, "Max")).strip() == "Max"
    with pytest.raises(InputError, match="expected 'dog' in the text"):
        places(tokens, "dog")


def test_a_notebook_shows_checks_and_hints(lab: Any) -> None:
    assert lab.check(2) == "Show the picture first: lab.show(2)"
    shown = lab.show(2, guess="The token before")
    assert shown.state["heads"] != [2]
    assert lab.check(2).startswith("This head is not it.")
    shown._state |= {"layer": 0, "heads": [2]}  # as a click leaves it
    assert lab.check(2).startswith("Yes. L0H2")
    assert lab.check(2, "L0H3").startswith("This head is not it.")
    assert lab.check(2, "L0H2").startswith("Yes.")
    lab.show(1)
    assert lab.check(1, 71).startswith("This figure is not it.")
    assert lab.check(1, 72).startswith("Yes. 72.")
    assert lab.hint(2) == lab.tasks[1]["hint"]


@pytest.mark.slow
@pytest.mark.parametrize("instructor", [False, True])
def test_the_notebook_of_a_lab(lab: Any, tmp_path: Path, instructor: bool) -> None:
    nbformat = pytest.importorskip("nbformat")
    path = lab.save(tmp_path / "lab.ipynb", instructor=instructor)
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    text = json.dumps(book, ensure_ascii=False)
    assert all((task["answer"].split("\n")[0] in text) is instructor for task in lab.tasks)
    code = [cell.source for cell in book.cells if cell.cell_type == "code"]
    assert code[0].endswith("lab = hs.lab('heads')")
    assert [line.count("lab.show") for line in code].count(1) == len(lab.tasks)
    here: dict[str, Any] = {"lab": lab}
    for line in code[1:]:  # nobody has typed a figure or clicked a head yet
        exec(line.replace("lab.check", "told = lab.check"), here)
    assert here["told"].startswith("The picture does not show that yet.")
    assert lab.check(1, ...).startswith("A figure is missing")


def test_what_is_learnt_does_not_know_of_padding() -> None:
    """Short texts leave the positions of padding as they were, but for the decay of all weights."""
    bert = model_of("BERT")

    def padded(texts: list[str], **more: Any) -> Any:
        short = [" ".join(text.split()[:4]) for text in texts]
        return bert.tokenizer(short, **{**more, "padding": "max_length"})

    tuned = fine_tuned(replace(bert, tokenizer=padded), steps=2)
    before, after = (
        model.module.get_submodule("embeddings.position_embeddings").weight[48:64] for model in (bert, tuned)
    )
    assert len(before) == 16
    torch.testing.assert_close(after, before, rtol=1e-5, atol=0)


def test_every_lesson_can_be_read_aloud() -> None:
    """The first task shows its picture at once, and paragraphs are short."""
    for name in LABS:
        content = lesson(name)
        assert "guess" not in content["task"][0]
        assert sum("guess" in task for task in content["task"]) >= 3
        for task in content["task"]:
            assert all(len(task[key].split()) < 75 for key in ("ask", "hint", "answer"))
