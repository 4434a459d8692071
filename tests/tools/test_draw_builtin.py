"""The pictures and sounds that ship in the package are what the script draws."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from draw_builtin import DATA, SCENES, files, outdated, picture_file
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
