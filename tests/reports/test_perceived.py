"""Reports on pictures and sounds: the sections that apply, figures of what was planted, examples on the picture."""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.cards import section as cards
from headscope.cli import main
from headscope.errors import HeadscopeWarning
from headscope.views.blobs import decode
from tests.helpers import section_blocks
from tests.helpers.pages import arrays, payload, section
from tests.helpers.pages import said as sentences
from tests.helpers.perceived_reports import of_pictures, of_sounds, vision
from tests.helpers.planted_vision import planted_vit
from tests.helpers.small_models import llava_parts, save_whisper
from tests.helpers.video_models import watching

pytestmark = pytest.mark.slow
pytest.importorskip("PIL.Image")

KINDS = ["summary", "clusters", "heads", "measures", "layers", "layers", "layers", "absent", "methods"]


def read(html: str) -> tuple[Any, dict[str, str]]:
    """The payload of a page, and its arrays."""
    return payload(html), arrays(html)


@pytest.fixture(scope="module")
def pictures(build_once: Any) -> tuple[Any, dict[str, str]]:
    return read(build_once("of-pictures", of_pictures))


@pytest.fixture(scope="module")
def sounds(build_once: Any) -> tuple[Any, dict[str, str]]:
    return read(build_once("of-sounds", of_sounds))


def test_the_sections_of_pictures(pictures: Any) -> None:
    payload, _ = pictures
    kinds = [section_blocks.name_of(one) for one in payload["sections"]]
    assert kinds == [KINDS[0], "roles", "artefacts", "atlas", "cards", *KINDS[1:]]
    absent = {
        one["measure"]: one["reason"] for one in section_blocks.rows(section(payload, "absent"), "measures")
    }
    assert absent["gradients"] == "of a loss on words; the inputs here are no texts"
    assert (
        absent["writes, composition, syntax, coref, probes, lookback"]
        == "about words; the inputs here are no texts"
    )
    assert absent["to_register"] == "the inputs have no registers"
    corpus = payload["corpus"]
    assert (corpus["noun"], corpus["examples"], corpus["tokens"]) == ("pictures", 12, 12 * 197)
    named = [one["name"] for one in payload["measures"]]
    assert named[:3] == ["distance_pixels", "locality", "same_row"]
    assert "to_artefact" in named


def test_the_summary_is_of_pictures(pictures: Any) -> None:
    payload, _ = pictures
    said = sentences(payload)
    assert said[0].startswith("5 of 8 heads have a role: ")
    assert any(line.startswith("Mean attention distance grows from ") for line in said)
    assert any(line.startswith("1.5% of ") and " patches are artefacts" in line for line in said)
    (whole,) = section(payload, "summary")["blocks"][0]["columns"][0][1]["charts"]
    assert "; same row: L0H1;" in whole["label"]
    assert "artefacts: L1H2" in whole["label"]
    assert not any("token" in line for line in said)


def test_examples_are_pictures_whose_heads_look_where_they_are_said_to(pictures: Any) -> None:
    payload, blobs = pictures
    assert len(payload["examples"]) == 8
    first = payload["examples"][0]["inputs"][0]
    assert first["picture"]["src"].startswith("data:image/jpeg;base64,")
    assert payload["examples"][0]["state"]["picture"] == "image"
    (part,) = first["parts"]
    assert len(part["query"]["pieces"]) == len(part["key"]["pieces"]) == 197
    for card in section_blocks.cards_of(section(payload, "cards"))[0]["cards"]:
        if card["roles"] != ["same row"]:
            continue
        shown = card["strongest"][0]
        (part,) = payload["examples"][shown["example"]]["inputs"][0]["parts"]
        pin = shown["reason"]["pin"]["place"]
        assert pin > 0
        own = {name: text for name, text in blobs.items() if name.startswith(f"{shown['example']}-")}
        prefix = f"{shown['example']}-"
        layer = decode(part["layers"][card["layer"]], {name.removeprefix(prefix): own[name] for name in own})
        row = np.asarray(layer)[card["head"], pin]
        boxes = part["key"]["boxes"]
        level = [place for place, box in enumerate(boxes) if box and box[1] == boxes[pin][1] and place != pin]
        assert row[level].sum() == pytest.approx(shown["score"], abs=0.06)
        return
    raise AssertionError("no head of a row has a card")


def test_a_model_of_texts_and_pictures_is_told_by_what_its_words_look_at() -> None:
    model = hs.load(llava_parts())
    draw = np.random.default_rng(0)
    some = [draw.integers(0, 255, (60, 80, 3)).astype(np.uint8) for _ in range(6)]
    payload, _ = read(hs.report(model, hs.corpora.images(some, text="What is it?"), examples=2))
    assert {"to_image", "to_question"} <= {one["name"] for one in payload["measures"]}
    assert not any(section_blocks.name_of(one) in ("failed", "retrieval") for one in payload["sections"])
    said = sentences(payload)
    assert any(line.startswith("Heads give the pictures ") for line in said)
    (part,) = payload["examples"][0]["inputs"][0]["parts"]
    assert part["causal"]
    assert "patch[0,0]" in part["query"]["pieces"]
    alone, _ = read(hs.report(model, hs.corpora.images(some), examples=2, sections=["table"]))
    assert alone["model"]["name"].endswith("(vision)")


def test_videos_are_called_so() -> None:
    draw = np.random.default_rng(0)
    some = [
        {"video": list(draw.integers(0, 255, (8, 48, 64, 3), np.uint8)), "text": "What?"} for _ in range(3)
    ]
    payload, _ = read(
        hs.report(watching("Qwen2-VL"), hs.corpora.images(some), examples=1, sections=["cards"])
    )
    assert payload["corpus"]["noun"] == "videos"
    assert any(line.startswith("Heads give the videos ") for line in sentences(payload))
    text = json.dumps(payload["sections"])
    assert "3 videos were scored" in text


def test_a_page_knows_in_which_block_of_patches_each_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    model = hs.load(planted_vit([["row", "column", "around", "cls"]]))
    draw = np.random.default_rng(0)
    some = hs.corpora.images([draw.integers(0, 255, (224, 224, 3)).astype(np.uint8) for _ in range(2)])
    options: dict[str, Any] = {"sections": ["cards", "table"], "examples": 2}
    whole, blobs = read(hs.report(model, some, **options))
    monkeypatch.setattr(cards, "MAPS", 2 * 4 * 100 * 197)
    few, other = read(hs.report(model, some, **options))
    (part,) = few["examples"][0]["inputs"][0]["parts"]
    assert (len(part["query"]["pieces"]), len(part["key"]["pieces"])) == (50, 197)
    assert any("2 × 2 patches stand together" in note for note in section(few, "cards")["notes"])
    assert not any("stand together" in note for note in section(whole, "cards")["notes"])
    assert (decode(whole["seen"], blobs) == decode(few["seen"], other)).all()
    places = [divmod(place, 14) for place in range(196)]
    assert part["query"]["of"] == [0, *(1 + (row // 2) * 7 + column // 2 for row, column in places)]


def test_the_sections_of_sounds(sounds: Any) -> None:
    payload, _ = sounds
    kinds = [section_blocks.name_of(one) for one in payload["sections"]]
    assert kinds == [KINDS[0], "roles", "align", "atlas", "cards", *KINDS[1:]]
    assert payload["measures"][0]["name"] == "distance_seconds"
    example = payload["examples"][0]["inputs"][0]
    assert [part["name"] for part in example["parts"]] == ["encoder", "cross"]
    assert [word["text"] for word in example["sound"]["words"]] == ["so", "it", "was"]
    assert section(payload, "align")["notes"][0].startswith("Of 18 words.")
    said = sentences(payload)
    assert any(line.startswith("Heads give the silence after the sound ") for line in said)


def test_commands_below_figures_name_what_was_given(pictures: Any, sounds: Any) -> None:
    commands = {one["command"] for one in sounds[0]["sections"] if one.get("command")}
    assert "headscope measure --audio speech.jsonl -m some/whisper" in commands
    assert "headscope roles --audio speech.jsonl -m some/whisper" in commands
    assert "headscope distance --audio speech.jsonl -m some/whisper --map map.csv --rows 64" in commands
    assert "headscope report --audio speech.jsonl -m some/whisper --sections cards" in commands
    expected = {"headscope measure -m some/vit", "headscope artefacts -m some/vit"}
    assert {one.get("command") for one in pictures[0]["sections"]} >= expected


def test_an_example_that_does_not_fit_fails_in_a_line() -> None:
    images = hs.corpora.builtin_images()
    page, _ = read(hs.report(vision(), images, limit=2, sections=["cards"], examples=[("a", "b")]))
    said = section_blocks.said(section(page, "failed"))[0]
    assert said.startswith("examples: expected paths of images, found a pair of texts")


def test_examples_of_your_own(tmp_path: Path) -> None:
    from PIL import Image

    for name, color in (("red", (200, 0, 0)), ("blue", (0, 0, 200))):
        Image.new("RGB", (90, 60), color).save(tmp_path / f"{name}.png")
    given = [str(tmp_path / "red.png"), str(tmp_path / "blue.png")]
    payload, _ = read(
        hs.report(vision(), hs.corpora.builtin_images(), examples=given, limit=2, sections=["cards"])
    )
    assert [one["inputs"][0]["picture"]["name"] for one in payload["examples"]] == ["red.png", "blue.png"]


def run(words: list[str], monkeypatch: pytest.MonkeyPatch, code: int = 0) -> None:
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code, words


def test_every_printed_command_gives_the_same_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    module, processor = planted_vit([["around", "row", "cls", "even"]])
    for each in (module, processor):
        each.save_pretrained("vit")
    draw = np.random.default_rng(0)
    Path("photos").mkdir()
    for place in range(6):
        Image.fromarray(draw.integers(0, 255, (80, 90, 3)).astype(np.uint8)).save(f"photos/{place}.png")
    run(["headscope", "report", "-m", "vit", "--images", "photos", "-o", "report.html"], monkeypatch)
    payload, blobs = read(Path("report.html").read_text(encoding="utf-8"))
    every = {one["command"] for one in payload["sections"] if one.get("command")}
    assert {shlex.split(one)[1] for one in every} == {"measure", "roles", "distance", "artefacts", "report"}
    for command in every:
        words = shlex.split(command)
        run([*words, *(["-o", "again.html"] if words[1] == "report" else [])], monkeypatch)
    capsys.readouterr()
    run([*shlex.split(section(payload, "heads")["command"]), "--json"], monkeypatch)
    rows = json.loads(capsys.readouterr().out)["rows"]
    names = [one["name"] for one in payload["measures"]]
    value = decode(payload["value"], blobs)
    assert len(rows) == value.size
    for row in rows:
        own = value[names.index(row["measure"]), row["layer"], row["head"]]
        assert own == pytest.approx(row["value"], abs=1e-8)
    assert not any("stand together" in note for note in section(payload, "cards")["notes"])


def test_a_model_of_sound_measures_the_built_in_sounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save_whisper("whisper")
    whisper = ["headscope", "measure", "-m", "whisper"]
    with warnings.catch_warnings(action="error", category=HeadscopeWarning):
        run(
            [*whisper, "--measures", "diagonality", "--json"], monkeypatch
        )  # the built-in sounds, to the model's ear
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 8
