"""The picture of an answer's sources: what travels to the page, its still, its page, and the command that writes it."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
import xarray as xr

import headscope as hs
from headscope.analyses.result import Result
from headscope.analyses.why import statistics
from headscope.errors import InputError
from headscope.views.page import cleaned
from headscope.views.sources import SourcesPayload
from tests.helpers import pages
from tests.helpers.small_models import save_llama, sharpen, sizes, small_roberta
from tests.helpers.stills import SMALLEST, Still
from tests.helpers.typed import Typed

TEXT = "The cat sat here. A dog ran. It was late. The bird sang. She left."
ANSWER = " It slept. The dog sat."
SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48}


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return hs.load(save_llama(tmp_path_factory.mktemp("writer"), **SIZE))


@pytest.fixture(scope="module")
def found(writer: Any) -> Any:
    return hs.why(writer, TEXT, ANSWER, ["paragraph", "sentence"], through=2, anew=True)


def payload(page: str) -> SourcesPayload:
    return pages.payload(page)["views"][0]


@pytest.mark.slow
def test_what_travels_is_what_was_measured(writer: Any, found: Any) -> None:
    shown = payload(found.view(writer).html())
    assert [one["text"] for one in shown["spans"]] == found["text"].values.tolist()
    assert [shown["prompt"][one["start"] : one["end"]].strip() for one in shown["spans"][1:]] == [
        one["text"] for one in shown["spans"][1:]
    ]
    np.testing.assert_allclose([one["effect"] for one in shown["spans"]], found["masked"], rtol=1e-5)
    lost = np.array([one["words"] for one in shown["spans"]])
    assert [word.strip() for word in shown["answer"]] == ["It", "slept", ".", "The", "dog", "sat", "."]
    assert "".join(shown["answer"]) == ANSWER
    ends = np.cumsum([len(word) for word in shown["answer"]])
    letters = np.cumsum([len(text) for text in found["written"].values])
    sums = found["drop"].values.cumsum(1)[:, np.searchsorted(letters, ends)]
    np.testing.assert_allclose(lost.cumsum(1), sums, rtol=1e-4, atol=1e-5)
    assert [one["words"] for one in shown["statements"]] == [[0, 2], [3, 6]]
    np.testing.assert_allclose(lost[:, 3:].sum(1), found["statement_masked"][1], rtol=1e-4, atol=1e-5)
    heads = statistics.heads(found, 1).head(5)
    named = [(one["layer"], one["head"]) for one in shown["spans"][1]["heads"]]
    assert named == [*zip(heads["layer"], heads["head"], strict=True)]
    assert shown["spans"][1]["without"] == cleaned(str(found["without"].values[1]))
    (maps,) = shown["maps"]["inputs"]
    assert len(maps["parts"][0]["query"]["pieces"]) == found.sizes["input"]
    targets = maps["parts"][0]["links"][1]["targets"][0]
    assert (targets[0], targets[-1]) == (int(found["first_token"][1]), int(found["last_token"][1]))


@pytest.mark.slow
def test_a_still_shades_what_is_chosen(found: Any) -> None:
    svg = found.view(statement=1, span=2).picture("svg").decode()
    still = Still(svg)
    assert "The cat sat here." in still.said
    assert f"Without it the answer {'gains' if found['masked'][2] < 0 else 'loses'}" in still.said
    assert "nats statement 1 loses without it" in still.said
    assert "The sources of “slept.” (nats): " in Still(found.view(words=(1, 2)).picture("svg").decode()).said
    with pytest.raises(
        InputError, match=r"words: expected a first and a last one from 0 to 6, found \(2, 7\)"
    ):
        found.view(words=(2, 7))
    assert still.smallest() >= SMALLEST
    assert still.outside() == []
    effects = np.abs(found["statement_masked"].values[1, 1:])
    seen = int((60 * effects / effects.max() >= 0.5).sum())
    assert len(re.findall(r'rx="2" fill="#\w+"', svg)) >= seen  # a box for each span, and for each statement
    assert found.view(theme="dark").picture("svg") != found.view().picture("svg")
    shown = found.view()._repr_mimebundle_()
    assert {"image/png", "text/plain"} < {*shown}, "where no widget is drawn, its picture is"


def test_notes_tell_looks_from_effects(found: Any) -> None:
    tokens = (found["last_token"] - found["first_token"] + 1).values
    changed = found.assign(
        attention=("span", np.where(np.arange(6) == 1, 10.0, 1.0) * tokens * 0.01),
        masked=("span", np.array([0.0, 0.1, 2.0, 2.0, 0.0, 0.0])),
        q=("span", np.array([1, 1, 0.01, 0.9, 1, 1])),
    )
    attention = changed["attention"].values
    attention[2:4] = 0.0
    attention[0] = (
        1.5 * tokens[0] * attention[1:].sum() / (tokens.sum() - 1.5 * tokens[0])
    )  # 1.5 times the usual
    notes = statistics.notes(changed)
    assert [note.partition(":")[0] for note in notes[:4]] == [
        "",
        "looked at and not used",
        "used without looking",
        "",
    ]
    assert f"looked at and not used: {statistics.named(changed, 1)}" in statistics.sentences(changed)


@pytest.mark.slow
def test_regions_of_a_picture_are_shaded(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    size = {**sizes(inner=48), "image_size": 64, "patch_size": 16}
    classes = transformers.ViTForImageClassification(transformers.ViTConfig(**size, num_labels=3))
    model = hs.load((sharpen(classes), transformers.ViTImageProcessor(size={"height": 64, "width": 64})))
    found = hs.why(model, image=pixels, spans="image")
    shown = Result.of(xr.load_dataset(found.save(tmp_path / "found.nc"))).view(span=5)
    boxes = [one["box"] for one in shown.payload["spans"]]
    assert boxes[0] == [0, 0, 16, 16]
    assert boxes[5] == [16, 16, 32, 32]
    still = Still(shown.picture("svg").decode())
    assert len([each for each in still.of("rect") if each.at("width") == each.at("height") == 90]) >= 16
    assert "patch" not in still.said


def test_the_command_writes_a_page_and_opens_it(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    folder, page = save_llama(tmp_path / "model", **SIZE), tmp_path / "why.html"
    typed("why", TEXT, "--answer", ANSWER, "-m", folder, "-o", page, "--open")
    assert payload(page.read_text("utf-8"))["maps"]["inputs"]
    assert opened == [page.as_uri()]


def test_heads_are_opened_on_what_the_model_read() -> None:
    """A hidden word is a mask there; a class is read from all tokens; of a pair the ids alone do not say enough."""
    filler = small_roberta(cls=transformers.RobertaForMaskedLM)
    found = hs.why(filler, "The cat sat. It ran.", position=3)
    (part,) = found.view(filler).payload["maps"]["inputs"][0]["parts"]
    assert part["query"]["pieces"][3] == "<mask>"
    assert {tuple(link["source"]) for link in part["links"]} == {(3,)}
    chooser = small_roberta(cls=transformers.RobertaForSequenceClassification)
    found = hs.why(chooser, "The cat sat. It ran.")
    (part,) = found.view(chooser).payload["maps"]["inputs"][0]["parts"]
    assert part["links"][0]["source"] == list(range(found.sizes["input"]))
    assert "maps" not in hs.why(chooser, ("The cat sat.", "It ran.")).view(chooser).payload
