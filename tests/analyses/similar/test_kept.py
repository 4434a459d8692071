"""Vectors of a corpus that are kept beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.similar.command import run
from headscope.analyses.similar.kept import quantised
from headscope.analyses.similar.reader import TextReader
from headscope.analyses.similar.section import section
from headscope.errors import HeadscopeWarning
from headscope.models import Model
from tests.helpers.small_models import small_bert
from tests.helpers.small_tokenizers import demo

TEXTS = ["A cat sat.", "The bill was paid.", "Rain fell all day."]


@pytest.fixture
def model() -> Model:
    return small_bert(demo())


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many vectors each call makes, of whole texts."""
    counts: list[int] = []
    vectors = TextReader.vectors

    def counted(reader: TextReader, prompts: Any, **options: Any) -> torch.Tensor:
        counts.append(len(prompts))
        return vectors(reader, prompts, **options)

    monkeypatch.setattr(TextReader, "vectors", counted)
    return counts


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(TEXTS))
    return path


def test_a_second_run_reads_them(model: Model, corpus: Path, made: list[int]) -> None:
    first = run(model, "Who paid?", in_=corpus, chance=False)
    assert (corpus.parent / "corpus.txt.npz").is_file()
    second = run(model, "Who paid?", in_=corpus, chance=False)
    assert made == [1, 3, 1]
    assert second["document"].values.tolist() == first["document"].values.tolist()
    for name in ("ranked", "similarity", "unit_effect", "interaction"):
        np.testing.assert_allclose(second[name], first[name], atol=1e-7)


def test_another_corpus_model_or_prompt_makes_them_anew(model: Model, corpus: Path, made: list[int]) -> None:
    def again(**options: Any) -> list[int]:
        made.clear()
        run(model, "Who paid?", in_=corpus, chance=False, **options)
        return made[1:]

    assert (again(), again()) == ([3], [])
    assert (again(prompt="so: "), again(prompt="so: ")) == ([3], [])
    assert (again(dimensions=8), again(dimensions=8)) == ([3], [])
    corpus.write_text("\n".join([*TEXTS, "Who?"]))
    assert (again(), again()) == ([4], [])
    next(model.module.parameters()).data[0] += 1
    assert (again(), again()) == ([4], [])
    corpus.with_name("corpus.txt.npz").write_bytes(b"PK broken")
    assert (again(), again()) == ([4], [])


def test_a_folder_that_cannot_be_written_is_said(model: Model, corpus: Path) -> None:
    corpus.with_name("corpus.txt.npz").mkdir()  # nobody can write a file there
    with pytest.warns(HeadscopeWarning, match=r"corpus.txt.npz: cannot be written .*: vectors are not kept"):
        found = run(model, "Who paid?", in_=corpus, chance=False)
    assert found["ranked"].shape == (3,)


def test_how_many_of_the_first_quantised_vectors_find(model: Model) -> None:
    """Of a hundred documents; of fewer nobody can tell in which range vectors lie."""
    documents = [f"{text} {number}" for number in range(34) for text in TEXTS]
    found = hs.similar(model, "Who paid?", documents, chance=False, show=20)
    reader = TextReader(model, "word", None, None, 32)
    query, *vectors = (
        reader.vectors([reader.text(text, "a")])[0].numpy() for text in ("Who paid?", *documents)
    )
    nearest = {
        name: {*np.argsort(-near)[:20].tolist()} for name, near in quantised(query, np.array(vectors)).items()
    }
    alike = {name: len(few & {*found["document"].values.tolist()}) for name, few in nearest.items()}
    assert dict(zip(found["precision"].values, found["alike"].values, strict=True)) == alike
    assert alike["int8"] > alike["binary"]
    line = f"of these 20 an index of quantised vectors finds: {alike['int8']} int8, {alike['binary']} binary"
    assert line in [str(block) for block in section(found)]
    assert "alike" not in hs.similar(model, "Who paid?", documents[:99], chance=False)
