"""Pictures of folders, lists, JSON lines and data sets."""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope import corpora
from headscope.core.pictures import picture_of, pictures_of
from headscope.corpora import Corpus, Example
from headscope.corpora.example import content as content_of
from headscope.errors import CorpusError, HeadscopeWarning, InputError

PIL = pytest.importorskip("PIL.Image")


def pixels(width: int = 6, height: int = 4) -> np.ndarray:
    return np.random.default_rng(width).integers(0, 255, (height, width, 3)).astype(np.uint8)


def content(image: Any = None, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    (PIL.fromarray(pixels()) if image is None else image).save(file, kind)
    return file.getvalue()


def put(folder: Path, *names: str, what: bytes | None = None) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        kind = "JPEG" if name.lower().endswith(".jpg") else "PNG"
        (folder / name).write_bytes(content(kind=kind) if what is None else what)


def read(corpus: Corpus) -> list[Example]:
    """The examples of a corpus, without its warnings."""
    return list(corpus.examples())


def test_a_folder_is_read_in_order_with_its_folders_as_labels(tmp_path: Path) -> None:
    put(
        tmp_path,
        "b.png",
        "a.JPG",
        "cats/z.png",
        "cats/old/y.png",
        "ants/x.png",
        ".hidden/h.png",
        "cats/.h.png",
    )
    put(tmp_path, "notes.txt", "cats/read.me", what=b"x")
    corpus = corpora.images(tmp_path)
    found = read(corpus)
    names = ["a.JPG", "b.png", "ants/x.png", "cats/z.png", "cats/old/y.png"]
    assert [each.image for each in found] == [tmp_path / name for name in names]
    assert [each.label for each in found] == [None, None, "ants", "cats", "cats/old"]
    assert [each.document for each in found] == [0, 1, 2, 3, 4]
    assert [each.source for each in found] == [str(tmp_path / name) for name in names]
    assert (corpus.name, corpus.kind, corpus.documents) == (tmp_path.name, "images", "each picture")
    assert corpus.size_hint() == corpus.bytes_read == sum((tmp_path / name).stat().st_size for name in names)
    said = f"{tmp_path.name}: did not read 2 other files (1 .txt, 1 .me), which are no pictures"
    with pytest.warns(HeadscopeWarning) as told:
        corpus.tell()
    assert [str(each.message) for each in told] == [said]
    corpus.tell()  # said once
    assert read(corpora.images(tmp_path, limit=2)) == found[:2]


def test_the_pictures_of_a_folder_may_be_a_document(tmp_path: Path) -> None:
    put(tmp_path, "a.png", "b.png", "cats/c.png", "cats/d.png", "dogs/e.png")
    corpus = corpora.images(tmp_path, documents="folder")
    assert [each.document for each in corpus] == [0, 0, 1, 1, 2]
    assert corpus.documents == "the pictures of each folder"
    mixed = [tmp_path / name for name in ("a.png", "cats/c.png", "b.png")]
    with pytest.raises(
        InputError, match=r"b\.png: 'folder': expected the lines of .* together, found it again"
    ):
        read(corpora.images(mixed, documents="folder"))
    with pytest.raises(
        CorpusError, match="expected a path of the picture for documents='folder', found none"
    ):
        read(corpora.images([pixels()], documents="folder"))


def test_links_to_folders_are_followed_and_each_is_read_once(tmp_path: Path) -> None:
    put(tmp_path, "far/a.png", "here/b.png")
    os.symlink(tmp_path / "far", tmp_path / "here" / "link")
    os.symlink(tmp_path / "here", tmp_path / "here" / "round")
    assert [each.image.name for each in corpora.images(tmp_path / "here")] == ["b.png", "a.png"]


def test_folders_and_files_may_be_listed(tmp_path: Path) -> None:
    put(tmp_path, "cats/a.png", "dogs/b.png", "c.png")
    corpus = corpora.images([tmp_path / "dogs", str(tmp_path / "cats"), tmp_path / "c.png"])
    expected = [("b.png", "dogs"), ("a.png", "cats"), ("c.png", None)]
    assert [(each.image.name, each.label) for each in corpus] == expected
    assert corpus.name == "dogs, cats, c.png"
    assert corpora.images([tmp_path / "c.png"] * 4).name == "4 pictures"


def test_pictures_in_memory(tmp_path: Path) -> None:
    put(tmp_path, "a.png")
    given = [pixels(), PIL.fromarray(pixels()), hs.Picture(pixels(), "name"), content(), tmp_path / "a.png"]
    corpus = corpora.images(given, text="What is it?")
    for example in corpus:
        np.testing.assert_array_equal(picture_of(example.image).pixels, pixels())
        assert example.text == "What is it?"
    found = read(corpus)
    assert [each.source for each in found] == [f"images[{index}]" for index in range(5)]
    assert found[2].image.name == "name"
    assert len(read(corpora.images(PIL.fromarray(pixels())))) == 1
    assert len(read(corpora.images(pixels()))) == 1
    assert len(read(corpora.images(np.stack([pixels()] * 3)))) == 3


LINES = [
    {"image": "pictures/a.png", "text": "A cat.", "label": 3, "document": "x"},
    {"image": "pictures/b.png", "words": ["A", "dog"], "document": "x"},
    {"image": "pictures/none.png"},
    {"image": 5},
    {"text": "no picture"},
    {"image": "pictures/broken.png"},
    {"image": "pictures/a.png", "text": "a", "words": ["a"]},
    {"image": "pictures/a.png"},
]


def test_json_lines(tmp_path: Path) -> None:
    put(tmp_path, "pictures/a.png", "pictures/b.png")
    put(tmp_path, "pictures/broken.png", what=content()[:50])
    path = tmp_path / "pictures.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)))
    corpus = corpora.images(path, text="What is it?")
    first, second, last = read(corpus)
    assert (first.image, first.text, first.label) == (tmp_path / "pictures" / "a.png", "A cat.", 3)
    assert (second.words, second.text, second.document) == (["A", "dog"], None, first.document)
    assert (last.text, last.document, last.source) == ("What is it?", 1, f"{path}:8")
    broken = tmp_path / "pictures" / "broken.png"
    assert [str(error).split(" (")[0] for error in corpus.broken] == [
        f"{path}:3: {tmp_path / 'pictures' / 'none.png'}: expected a picture, found no such file",
        f"{path}:4: expected a path, a Pillow image or numbers [row column] or [row column channel], found int",
        f"{path}:5: expected a key 'image', found 'text'",
        f"{path}:6: {broken}: expected a picture, found a file that cannot be read",
        f"{path}:7: expected 'text' or 'words', found both",
    ]
    with pytest.raises(CorpusError, match=r"pictures\.jsonl:3: "):
        read(corpora.images(path, strict=True))
    (tmp_path / "other.jsonl").write_text('{"file": "pictures/a.png", "caption": "A cat."}\n')
    (one,) = corpora.images(tmp_path / "other.jsonl", column="file", text_column="caption")
    assert one.text == "A cat."


class DataSet:
    """Rows as Hugging Face's ``datasets`` gives them: got by number, some when they are decoded."""

    column_names: Any = None

    def __init__(self, *rows: Any) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        if isinstance(self._rows[index], Exception):
            raise self._rows[index]
        return self._rows[index]


class Streamed:
    """Rows that can only be gone through, again and again."""

    def __init__(self, *rows: Any) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


@pytest.mark.parametrize("make", [DataSet, Streamed])
def test_rows_of_data_sets(make: Any, tmp_path: Path) -> None:
    put(tmp_path, "a.png")
    rows = make(
        {"image": PIL.fromarray(pixels()), "text": "A cat.", "label": 1},
        {"image": {"bytes": content(), "path": "far/cat.png"}},
        {"image": {"bytes": None, "path": str(tmp_path / "a.png")}},
        {"image": str(tmp_path / "a.png")},
        {"bytes": content(), "path": None},
    )
    corpus = corpora.images(rows)
    found = read(corpus)
    for example in found:
        np.testing.assert_array_equal(picture_of(example.image).pixels, pixels())
    assert [each.source for each in found] == [f"images[{index}]" for index in range(5)]
    assert (found[0].text, found[0].label) == ("A cat.", 1)
    assert found[1].image.name == "cat.png"
    assert read(corpus)[0].text == "A cat."  # again and again


def test_rows_that_are_broken_are_left_out() -> None:
    rows = DataSet(
        OSError("cannot decode"),
        {"image": None},
        {"image": PIL.fromarray(pixels()), "text": ("a", "b")},
        {"image": PIL.fromarray(pixels()), "label": np.zeros(2)},
        {"img": 1},
        {"image": pixels()},
    )
    corpus = corpora.images(rows)
    (one,) = read(corpus)
    assert one.source == "images[5]"
    assert [str(error) for error in corpus.broken] == [
        "images[0]: cannot be read (OSError: cannot decode)",
        "images[1]: expected a path, a Pillow image or numbers [row column] or [row column channel], found NoneType",
        "images[2]: 'text': expected a string, found tuple",
        "images[3]: 'label': expected a string, a number, true or false, or a list of these, found ndarray",
        "images[4]: expected a key 'image', found 'img'",
    ]


def bomb() -> bytes:
    """A file of a few bytes that says it is a picture of 30,000 × 30,000 pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def states() -> Mapping[str, tuple[bytes, str]]:
    """Files, and what is said of each: nothing of those that are read."""
    jpeg = content(PIL.fromarray(pixels(64, 64)), "JPEG")
    progressive = io.BytesIO()
    PIL.fromarray(pixels(64, 64)).save(progressive, "JPEG", progressive=True)
    unread = "expected a picture, found a file that cannot be read"
    return {
        "one.png": (content(PIL.fromarray(pixels(1, 1))), ""),
        "empty.png": (b"", f"{unread} (of no kind that Pillow knows)"),
        "text.png": (b"no picture", f"{unread} (of no kind that Pillow knows)"),
        "part.png": (content()[:60], unread),
        "part.jpg": (jpeg[: len(jpeg) // 2], unread),
        "part2.jpg": (progressive.getvalue()[:-400], unread),
        "bomb.png": (bomb(), "expected a picture of at most 89,478,485 pixels, found more"),
    }


@pytest.mark.parametrize("name", states())
def test_pictures_of_every_state_are_read_or_told_in_one_line(name: str, tmp_path: Path) -> None:
    what, said = states()[name]
    put(tmp_path, name, what=what)
    put(tmp_path, "z.png")
    corpus = corpora.images(tmp_path)
    found = read(corpus)
    assert len(found) == 1 + (not said)
    assert [str(error).startswith(f"{tmp_path / name}: {said}") for error in corpus.broken] == [True] * bool(
        said
    )
    assert not any("\n" in str(error) for error in corpus.broken)
    if said:
        with pytest.raises(CorpusError) as told:
            read(corpora.images(tmp_path, strict=True))
        assert str(told.value) == str(corpus.broken[0])
        with pytest.raises(InputError, match="expected a picture"):
            picture_of(what)


def test_a_camera_s_second_view_is_no_animation(recwarn: pytest.WarningsRecorder) -> None:
    file = io.BytesIO()
    PIL.fromarray(pixels()).save(file, "MPO", save_all=True, append_images=[PIL.fromarray(pixels())])
    assert picture_of(file.getvalue()).size == (6, 4)
    assert not recwarn.list


def test_the_built_in_pictures() -> None:
    corpus = corpora.builtin_images()
    found = list(corpus)
    assert [each.source for each in found][:2] == ["park.png", "table.png"]
    assert len(found) == len({each.document for each in found}) == 12
    sizes = [picture_of(each.image).size for each in found]
    assert {(240, 320), (256, 256), (320, 214), (320, 240)} == set(sizes)
    assert all(each.text and each.text.endswith(".") for each in found)
    assert (corpus.name, corpus.kind, corpus.documents) == ("built-in pictures", "images", "each file")


def test_a_row_has_several_pictures_or_a_video(tmp_path: Path) -> None:
    put(tmp_path, "a.png", "b.png", "film/1.png", "film/2.png")
    rows = [
        {"images": ["a.png", "b.png"], "text": "Which?"},
        {"video": "film", "text": "What?", "label": "short"},
        {"image": "b.png"},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    first, second, third = read(corpora.images(tmp_path / "rows.jsonl"))
    assert first.image == (tmp_path / "a.png", tmp_path / "b.png")
    assert (second.image.source, second.label) == (tmp_path / "film", "short")
    assert third.image == tmp_path / "b.png"
    assert [picture.frames for picture in pictures_of(second.image)] == [(0, 1), (1, 2)]
    several = read(corpora.images([[pixels(), pixels(7)], {"images": [pixels()]}, {"video": [pixels()] * 3}]))
    assert [len(pictures_of(example.image)) for example in several] == [2, 1, 3]
    assert len({b"".join(content_of(example)) for example in (first, second, third, *several)}) == 6
    (tmp_path / "film" / "2.png").write_bytes(content(PIL.fromarray(pixels(3))))
    assert b"".join(content_of(second)) != b"".join(content_of(replace(second, image=first.image)))
    for row, said in (
        ({"images": "a.png"}, "'images': expected a list of pictures, found str"),
        (
            {"images": ["a.png", "none.png"]},
            r"'images'\[1\]: .*none.png: expected a picture, found no such file",
        ),
        ({"video": "film"}, ".*film: expected frames of one size, found 6 × 4 and 3 × 4"),
        ({"text": "What?"}, "expected a key 'image', found 'text'"),
    ):
        (tmp_path / "wrong.jsonl").write_text(json.dumps(row))
        with pytest.raises(CorpusError, match=rf"wrong.jsonl:1: {said}"):
            read(corpora.images(tmp_path / "wrong.jsonl", strict=True))
