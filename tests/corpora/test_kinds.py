"""What a file holds is told from how it begins: compressed, of another coding, JSON, or no text at all."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from headscope import corpora
from headscope.cli import serve
from headscope.console.sources import ReadingOptions
from headscope.corpora import Corpus
from headscope.corpora.held import holds
from headscope.errors import CorpusError
from tests.helpers.typed import Typed

TEXT = "One line.\n\nAnother lïne.\n"
TREE = {"version": "1.1", "data": [{"title": "A", "paragraphs": [{"context": "It rains."}]}]}


def zipped(content: bytes, *names: str) -> bytes:
    place = io.BytesIO()
    with zipfile.ZipFile(place, "w") as archive:
        for name in names or ("inside.txt",):
            archive.writestr(name, content)
    return place.getvalue()


def tarred(content: bytes) -> bytes:
    place = io.BytesIO()
    with tarfile.open(fileobj=place, mode="w") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return place.getvalue()


def console(path: Path) -> Corpus:
    return ReadingOptions().of([path])


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda content: lzma.compress(content, lzma.FORMAT_ALONE),
    "zip": zipped,
}


@pytest.mark.parametrize("name", ["a.txt.{}", "a"])
@pytest.mark.parametrize("packed", PACKED)
def test_what_is_compressed_is_read_by_what_it_is(packed: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name.format(packed)
    path.write_bytes(PACKED[packed](TEXT.encode()))
    assert [each.text for each in corpora.text(path).examples()] == ["One line.", "Another lïne."]
    assert [each.text for each in ReadingOptions().of([path]).examples()] == ["One line.", "Another lïne."]


@pytest.mark.parametrize("coding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("packed", ["", *PACKED])
def test_other_codings_are_known_by_their_mark(coding: str, packed: str, tmp_path: Path) -> None:
    content = "label\ttext\n1\tEine Zeile – ja.\n".encode(coding)
    path = tmp_path / "a.tsv"
    path.write_bytes(PACKED[packed](content) if packed else content)
    (example,) = corpora.table(path)
    assert (example.text, example.source) == ("Eine Zeile – ja.", f"{path}:2")


@pytest.mark.parametrize(
    "content", ["".encode("utf-16"), gzip.compress(b"", mtime=0), "".encode("utf-8-sig")]
)
def test_a_file_that_is_empty_but_for_its_form(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    for read in (corpora.text, corpora.jsonl, corpora.conllu, corpora.clusters, console):
        with pytest.raises(CorpusError, match=r"a: expected [\w ]+, found (blank lines only|none.*)$"):
            list(read(path))
    with pytest.raises(
        CorpusError, match=r"a:(1:)? expected (sentences, found none|words, found a blank line)$"
    ):
        list(corpora.alignments(path, path, path))


@pytest.mark.parametrize("name", ["a.json", "a.txt"])
def test_an_array_may_stand_on_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `json.dump` writes it, however long; a line of a text may not."""
    monkeypatch.setattr("headscope.corpora.files.LONGEST_LINE", 1_000)
    path = tmp_path / name
    path.write_text(json.dumps([{"text": f"Text {number}."} for number in range(100)]))
    assert len(list(console(path))) == len(list(corpora.jsonl(path))) == 100
    path.write_text("[1] " + "word " * 300)
    with pytest.raises(CorpusError, match=r"expected lines of at most 1,000|expected texts or objects"):
        list(console(path))


def test_a_file_of_utf_16_that_breaks_off_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("One line.\nAnother.".encode("utf-16")[:-1])
    with pytest.raises(
        CorpusError, match=r"a.txt: expected text of UTF-16, found bytes that are none \(truncated data\)"
    ):
        list(corpora.text(path))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"%PDF-1.7\n1 0 obj\n", "a PDF"),
        (b"\x89PNG\r\n\x1a\n", "a picture of PNG"),
        (b"RIFF\x10\0\0\0WAVEfmt ", "a sound or a film"),
        (b"SQLite format 3\0", "a database of SQLite"),
        (b"\x80\x04\x95\x10", "a pickle"),
        (b"\x93NUMPY\x01\0", "an array of NumPy"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a pointer of git-lfs"),
        (b"PAR1....", "a table of Parquet"),
        (tarred(b"text"), "an archive of tar"),
        (gzip.compress(tarred(b"text")), "an archive of tar"),
        (bz2.compress(gzip.compress(b"text")), "a compressed file"),
        (zipped(b"x", "a.xml", "b/c.xml", "__MACOSX/._a.xml"), r"an archive of 2 files \(2 .xml\)"),
        ("no mark at all".encode("utf-16-le"), r"NUL bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "bytes",
)  # fmt: skip
def test_what_is_no_text_is_named(content: bytes, said: str, tmp_path: Path) -> None:
    for name in ("a.txt", "a.jsonl", "a"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(CorpusError, match=rf"{name}: expected text, found [^\n]*{said}[^\n]*$"):
            (corpora.jsonl if name == "a.jsonl" else corpora.text)(path)


def test_a_page_is_no_text_unless_one_says_so(tmp_path: Path) -> None:
    for name, content in (("a.html", "<!DOCTYPE html>\n<p>Hi"), ("a", "<?xml version='1.0'?>\n<a/>")):
        path = tmp_path / name
        path.write_text(content)
        with pytest.raises(CorpusError, match=r"expected text, found a page of (HTML|XML).*--format text"):
            ReadingOptions().of([path])
        assert ReadingOptions(format="text").of([path]).examples()


@pytest.mark.parametrize("name", ["data.json", "data", "data.json.gz"])
@pytest.mark.parametrize("indent", [None, 2])
def test_arrays_are_records(name: str, indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / name
    pack = PACKED["gz"] if name.endswith(".gz") else bytes
    path.write_bytes(pack(json.dumps(["One [text].", {"text": "Two.", "label": 1}], indent=indent).encode()))
    corpus = ReadingOptions().of([path])
    examples = list(corpus.examples())
    assert [(each.text, each.label) for each in examples] == [("One [text].", None), ("Two.", 1)]
    assert [each.source for each in examples] == [f"{path}:{line}" for line in ((2, 3) if indent else (1, 1))]


def test_json_lines_are_read_whatever_the_name(tmp_path: Path) -> None:
    for name in ("a.ndjson", "a", "a.txt"):
        path = tmp_path / name
        path.write_text('{"text": "One."}\n\n[]\n{"text": "Two."}\n')
        corpus = ReadingOptions().of([path])
        assert [each.text for each in corpus.examples()] == ["One.", "Two."]
        assert [str(each) for each in corpus.broken] == [f"{path}:3: expected a JSON object, found a list"]


def test_every_reader_of_records_reads_arrays(tmp_path: Path) -> None:
    row = {"words": ["not", "so"], "cue": [0], "scope": [1], "links": [{"from": 1, "to": 0}], "label": 1}
    path = tmp_path / "a.json"
    path.write_text(json.dumps([row, row], indent=1))
    for read in (corpora.jsonl, corpora.negations, corpora.links):
        assert [each.words for each in read(path)] == [["not", "so"]] * 2
    path.write_text(json.dumps([{"sentence1": "A b.", "sentence2": "C d.", "label": 1}]))
    (example,) = corpora.pairs(path)
    assert (example.text, example.pair, example.label) == ("A b.", "C d.", "1")


@pytest.mark.parametrize("indent", [None, 1])
def test_a_tree_is_refused_with_what_it_holds(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(TREE, indent=indent))
    held = r"'version', 'data' \(a list of 1 object with 'title', 'paragraphs'\)"
    with pytest.raises(
        CorpusError, match=rf"squad.json:1: expected one of the keys 'text', .*, found {held}"
    ):
        list(ReadingOptions().of([path]))
    path.write_text(json.dumps({"text": "A record\nalone."}, indent=indent))
    (example,) = ReadingOptions().of([path])
    assert example.text == "A record\nalone."


def test_the_place_of_what_is_broken_is_named_however_much_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.corpora.files.LONGEST_LINE", 400)
    monkeypatch.setattr("headscope.corpora.files._PART", 64)
    path = tmp_path / "a.json"
    path.write_text('["a",\n b,' + '"words",' * 90 + '"c"]')
    with pytest.raises(CorpusError, match=r":2: .*found broken JSON at column 2 \(Expecting value\)"):
        list(corpora.jsonl(path))


def test_an_element_of_more_than_a_line_may_have_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.corpora.files.LONGEST_LINE", 40)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(["A text."] * 90 + ["A long text." * 9], indent=1))
    with pytest.raises(
        CorpusError, match=r":92: expected texts or objects of at most 40 characters, found a longer"
    ):
        list(corpora.jsonl(path))


@pytest.mark.parametrize("part", [1, 2, 7, 64])
def test_an_array_is_read_part_by_part(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a part ends: in a character, an escape, a number, between elements."""
    monkeypatch.setattr("headscope.corpora.files._PART", part)
    rows = [
        "Ein Löwe 🦁",
        {"text": 'a\\" ] }', "label": 123456},
        {"text": "zwei\n", "pair": "[1, 2]", "label": -1.5e3},
    ]
    path = tmp_path / "a.json"
    for indent, lines in ((None, [1, 1, 1]), (1, [2, 3, 7])):
        for coding in ("utf-8", "utf-16"):
            path.write_text(json.dumps(rows, indent=indent, ensure_ascii=False), encoding=coding)
            examples = list(corpora.jsonl(path))
            assert [(each.text, each.label) for each in examples] == [
                ("Ein Löwe 🦁", None),
                ('a\\" ] }', 123456),
                ("zwei\n", -1500.0),
            ]
            assert [each.source for each in examples] == [f"{path}:{line}" for line in lines]
    path.write_bytes(b'["a",\n "caf\xe9"]')
    with pytest.raises(
        CorpusError, match=r":2: expected UTF-8 text, found the byte 0xe9 \(byte 6 of the line, 12 of"
    ):
        list(corpora.jsonl(path))
    path.write_text('["a", "b",\n "c" x]')
    with pytest.raises(CorpusError, match=r":2: .* broken JSON at column 6 \(Expecting ',' delimiter\)"):
        list(corpora.jsonl(path))


def test_treebanks_and_tables_are_known_by_what_they_hold(tmp_path: Path) -> None:
    tree = "# sent_id = 1\n1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    for name, content, kind in (
        ("a", tree, "conllu"),
        ("a.conll", tree, "conllu"),
        ("a.dat", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t2\t3\tA.\tB.\n", "tsv"),
        ("a", '"text","label"\n"A, b.",1\n', "csv"),
        ("a", "Text, and a pair of others.\n", "text"),
        ("a.md", "# Title\n\nText.\n", "text"),
        ("a.txt", "[1] A note.\n", "text"),
        ("a.txt", "{not json}\n", "text"),
    ):
        path = tmp_path / name
        path.write_text(content)
        assert holds(path) == kind
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.pq"
    parquet.write_table(pytest.importorskip("pyarrow").table({"text": ["One."]}), path)
    assert [each.text for each in ReadingOptions().of([path])] == ["One."]


def test_a_command_of_one_text_takes_no_records(typed: Typed, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('["A text."]')
    typed.refuses("a.json: expected a text, found records of JSON", "sentences", path)


def test_texts_to_offer_are_records_too(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"text": "One."}, "Two."], indent=1))
    assert [each["input"].get("text") for each in serve._texts(path)] == ["One.", "Two."]  # pyright: ignore[reportPrivateUsage]
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress("One.\tTwo.\n".encode("utf-16")))
    (one,) = serve._texts(path)  # pyright: ignore[reportPrivateUsage]
    assert one["input"] == {"text": "One.", "pair": "Two."}
