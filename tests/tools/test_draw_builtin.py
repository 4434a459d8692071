"""The pictures and sounds that ship in the package are what the script draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from draw_builtin import DATA, SCENES, differs, files, outdated, picture_file, sound_file
from drawing import sounding
from PIL import Image


@pytest.mark.slow
def test_what_ships_is_what_is_drawn_and_a_change_is_noticed(tmp_path: Path) -> None:
    drawn = files()
    assert outdated(drawn) == []
    assert files() == drawn  # byte by byte, when it is run again
    for name, content in drawn.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert outdated(drawn, tmp_path) == []
    (tmp_path / "pictures" / "old.png").write_bytes(b"")
    (tmp_path / "sounds" / "tones.wav").unlink()
    moved = np.roll(np.asarray(Image.open(tmp_path / "pictures" / "cat.jpg")), 1, 1)
    (tmp_path / "pictures" / "cat.jpg").write_bytes(picture_file(moved, "cat.jpg"))
    assert outdated(drawn, tmp_path) == ["pictures/cat.jpg", "pictures/old.png", "sounds/tones.wav"]


def test_files_are_small() -> None:
    sizes = {
        path.name: path.stat().st_size for kind in ("pictures", "sounds") for path in (DATA / kind).iterdir()
    }
    assert sum(sizes.values()) < 700_000
    assert all(size <= (130_000 if name.endswith(".wav") else 25_000) for name, size in sizes.items())
    assert len(sizes) == 12 + 4 + 2


def test_things_are_called_in_the_sentence_and_lie_in_the_picture() -> None:
    lines = [json.loads(line) for line in (DATA / "pictures" / "pictures.jsonl").read_text().splitlines()]
    assert [line["image"] for line in lines] == [scene.name for scene in SCENES]
    masks = 0
    for line, scene in zip(lines, SCENES, strict=True):
        width, height = Image.open(DATA / "pictures" / line["image"]).size
        called = [line["text"][slice(*link["from"])] for link in line["links"]]
        assert called == [phrase for phrase, names in scene.things.items() for _ in names]
        for link in line["links"]:
            if "mask" in link:
                masks += 1
                assert link["mask"]["size"] == [height, width]
                assert sum(link["mask"]["counts"]) == height * width
                continue
            left, top, right, bottom = link["box"]
            assert 0 <= left < right <= width
            assert 0 <= top < bottom <= height
    assert masks == 2


def box_of(name: str, phrase: str) -> tuple[Any, list[int]]:
    lines = [json.loads(line) for line in (DATA / "pictures" / "pictures.jsonl").read_text().splitlines()]
    (line,) = [line for line in lines if line["image"] == name]
    (link,) = [link for link in line["links"] if line["text"][slice(*link["from"])] == phrase]
    return np.asarray(Image.open(DATA / "pictures" / name)).astype(int), link["box"]


@pytest.mark.parametrize(
    ("name", "phrase", "color", "share"),
    [
        ("shapes.png", "red square", (0xD4, 0x3D, 0x36), 1.0),
        ("shapes.png", "blue circle", (0x2F, 0x6F, 0xB8), np.pi / 4),
        ("balloons.png", "yellow balloon", (0xF2, 0xC2, 0x30), 0.2),
    ],
)
def test_boxes_are_where_the_colors_are(name: str, phrase: str, color: Any, share: float) -> None:
    """The color of a thing is in its box, reaches its edges, and is nowhere else."""
    pixels, (left, top, right, bottom) = box_of(name, phrase)
    there = (np.abs(pixels - color) < 12).all(-1)
    inside = there[top:bottom, left:right]
    assert inside.sum() == there.sum()
    assert inside.mean() >= share - 0.03
    assert np.flatnonzero(inside.any(0)).max() >= 0.9 * (right - left)


def test_the_mask_of_the_triangle_is_the_triangle() -> None:
    lines = [json.loads(line) for line in (DATA / "pictures" / "pictures.jsonl").read_text().splitlines()]
    (line,) = [line for line in lines if line["image"] == "shapes.png"]
    (mask,) = [link["mask"] for link in line["links"] if "mask" in link]
    inside = np.repeat(np.arange(len(mask["counts"])) % 2, mask["counts"]).reshape(256, 256).T
    pixels = np.asarray(Image.open(DATA / "pictures" / "shapes.png")).astype(int)
    green = (np.abs(pixels - (0x3F, 0x9C, 0x57)) < 40).all(-1)
    assert (inside.astype(bool) != green).mean() < 0.003


@pytest.mark.parametrize("name", sounding.SOUNDS)
def test_parts_of_sounds_are_loud_when_they_say(name: str) -> None:
    parts = sounding.SOUNDS[name]()
    samples = sounding.samples_of(parts).astype(float) / 2**15
    for part, (begin, end) in zip(parts, sounding.times_of(parts), strict=True):
        middle = samples[round(begin * sounding.RATE) : round(end * sounding.RATE)]
        assert (np.abs(middle).max() > 0.1) == (part.name != "pause")
    assert np.abs(samples).max() < 0.999
    content = sound_file(sounding.samples_of(parts))
    assert not differs(f"{name}.wav", content, (DATA / "sounds" / f"{name}.wav").read_bytes())
