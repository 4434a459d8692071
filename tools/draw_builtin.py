"""Draw the pictures and make the sounds that ship in the package, with what is on them and in them.

python tools/draw_builtin.py            write src/headscope/corpora/data/{pictures,sounds}
python tools/draw_builtin.py --check    exit 1 when one of them is out of date

They are made of formulas and fixed seeds, with numpy; Pillow only writes the files. Its versions compress in different
ways, so what is compared is what is seen and heard.
"""

from __future__ import annotations

import io
import json
import sys
import wave
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from drawing import outdoors, photos, sounding, things
from drawing.canvas import Canvas
from PIL import Image

DATA = Path(__file__).resolve().parents[1] / "src" / "headscope" / "corpora" / "data"
"""Where the files are."""


class Scene(NamedTuple):
    """A picture of the corpus.

    Attributes:
        draw: makes it.
        text: what it shows, in a sentence.
        things: what is called how in that sentence; several things may be called the same.
        name: of its file.
        masks: which things have their own outline beside their box.
    """

    draw: Callable[[], Canvas]
    text: str
    things: Mapping[str, Sequence[str]]
    name: str
    masks: Sequence[str] = ()


def _alone(*names: str) -> dict[str, Sequence[str]]:
    """Things that are called by their own names."""
    return {name: [name] for name in names}


SCENES = (
    Scene(
        outdoors.park,
        "A man in a red sweater walks his dog past a tree.",
        _alone("man", "dog", "tree"),
        "park.png",
    ),
    Scene(
        things.table,
        "A red apple and a blue cup stand beside a book on a wooden table.",
        {**_alone("book"), "red apple": ["apple"], "blue cup": ["cup"], "wooden table": ["table"]},
        "table.png",
    ),
    Scene(
        outdoors.balloons,
        "A yellow balloon rises above a red balloon and a blue balloon over the hills.",
        _alone("yellow balloon", "red balloon", "blue balloon", "hills"),
        "balloons.png",
    ),
    Scene(
        photos.lake,
        "The sun sets behind the mountains and shines on the lake.",
        _alone("sun", "mountains", "lake"),
        "lake.jpg",
    ),
    Scene(
        things.moon,
        "The moon shines over a dark house and a tree.",
        {**_alone("moon", "tree"), "dark house": ["house"]},
        "moon.png",
    ),
    Scene(
        things.street,
        "A stop sign stands beside a cafe, and a red car waits in front of it.",
        {**_alone("cafe"), "stop sign": ["sign"], "red car": ["car"]},
        "street.png",
    ),
    Scene(
        outdoors.fish,
        "Five orange fish swim to the left, and a blue fish swims to the right.",
        {"orange fish": [f"orange fish {number}" for number in range(1, 6)], **_alone("blue fish")},
        "fish.jpg",
    ),
    Scene(
        things.cat,
        "A black cat sits on a checkered floor, and a picture hangs on the wall.",
        {**_alone("picture"), "black cat": ["cat"], "checkered floor": ["floor"]},
        "cat.jpg",
        masks=["cat"],
    ),
    Scene(
        things.shapes,
        "A red square, a blue circle and a green triangle.",
        {"red square": ["square"], "blue circle": ["circle"], "green triangle": ["triangle"]},
        "shapes.png",
        masks=["triangle"],
    ),
    Scene(
        outdoors.tulips,
        "A bee flies over a row of red tulips and a white tulip.",
        {
            **_alone("bee", "white tulip"),
            "red tulips": [f"red tulip {number}" for number in range(1, 7)],
        },
        "tulips.png",
    ),
    Scene(
        photos.ball,
        "A white ball lies on wooden boards.",
        {"white ball": ["ball"], "wooden boards": ["boards"]},
        "ball.jpg",
    ),
    Scene(
        outdoors.harbor,
        "A boat with two sails passes a lighthouse on a rock.",
        _alone("boat", "lighthouse", "rock"),
        "harbor.png",
    ),
)


def line_of(scene: Scene, canvas: Canvas) -> dict[str, Any]:
    """What is said of a picture: its sentence, and of each thing where it is called and where it is."""
    links: list[dict[str, Any]] = []
    for phrase, names in scene.things.items():
        start = scene.text.index(phrase)
        for name in names:
            seen = canvas.seen[name] > 0.5
            rows, columns = np.flatnonzero(seen.any(1)), np.flatnonzero(seen.any(0))
            box = [int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1]
            where: dict[str, Any] = {"box": box}
            if name in scene.masks:
                where = {"mask": {"size": list(seen.shape), "counts": runs(seen)}}
            links.append({"from": [start, start + len(phrase)], **where, "label": "object"})
    return {"image": scene.name, "text": scene.text, "links": links}


def runs(mask: npt.NDArray[np.bool_]) -> list[int]:
    """How many pixels of a mask ``[row column]`` are out, in, out, … of it, column after column, as COCO counts."""
    changes = np.flatnonzero(np.diff(mask.T.ravel(), prepend=False))
    return np.diff([0, *changes, mask.size]).tolist()


def picture_file(pixels: npt.NDArray[np.uint8], name: str) -> bytes:
    """A picture as a PNG or a JPEG file."""
    file = io.BytesIO()
    image = Image.fromarray(pixels)
    if name.endswith(".png"):
        image.save(file, "PNG", optimize=True)
    else:
        image.save(file, "JPEG", quality=88, subsampling=0, optimize=True)
    return file.getvalue()


def sound_file(samples: npt.NDArray[np.int16]) -> bytes:
    """A sound as a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sounding.RATE)
        writer.writeframes(samples.astype("<i2").tobytes())
    return file.getvalue()


def files() -> dict[str, bytes]:
    """The content of each file, by its name below the folder of the data."""
    found: dict[str, bytes] = {}
    lines: dict[str, list[dict[str, Any]]] = {"pictures": [], "sounds": []}
    for scene in SCENES:
        canvas = scene.draw()
        found[f"pictures/{scene.name}"] = picture_file(canvas.finished(), scene.name)
        lines["pictures"].append(line_of(scene, canvas))
    for name, made in sounding.SOUNDS.items():
        parts = made()
        found[f"sounds/{name}.wav"] = sound_file(sounding.samples_of(parts))
        named = [
            (part.name, times)
            for part, times in zip(parts, sounding.times_of(parts), strict=True)
            if part.name != "pause" or name in sounding.WITH_PAUSES
        ]
        words, times = zip(*named, strict=True)
        lines["sounds"].append({"audio": f"{name}.wav", "words": words, "times": times})
    for kind, rows in lines.items():
        found[f"{kind}/{kind}.jsonl"] = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    return found


def differs(name: str, old: bytes, new: bytes) -> bool:
    """Whether two files look or sound differently."""
    if name.endswith(".jsonl"):
        return old != new
    if name.endswith(".wav"):
        first, second = (np.frombuffer(content[44:], "<i2").astype(int) for content in (old, new))
        return first.shape != second.shape or bool(np.abs(first - second).max() > 1)
    first, second = (
        np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int) for content in (old, new)
    )
    most = 1 if name.endswith(".png") else 8  # a JPEG's own noise, of another version of the library
    return first.shape != second.shape or bool(np.abs(first - second).max() > most)


def outdated(new: Mapping[str, bytes], folder: Path = DATA) -> list[str]:
    """The files that are missing, not as they would be drawn now, or no longer drawn."""
    there = {
        f"{kind}/{path.name}" for kind in ("pictures", "sounds") for path in sorted((folder / kind).glob("*"))
    }
    changed = {name for name in there & set(new) if differs(name, (folder / name).read_bytes(), new[name])}
    return sorted(changed | (there ^ set(new)))


def main(arguments: Sequence[str]) -> int:
    new = files()
    old = outdated(new)
    if "--check" in arguments:
        for name in old:
            print(f"{DATA / name}: out of date; run python tools/draw_builtin.py")
        return int(bool(old))
    for name in old:
        if name not in new:
            (DATA / name).unlink()
            continue
        (DATA / name).parent.mkdir(exist_ok=True)
        (DATA / name).write_bytes(new[name])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
