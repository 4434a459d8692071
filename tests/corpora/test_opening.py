"""Files as people have them: compressed, in folders, and on standard input."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headscope import corpora
from headscope.corpora import Corpus, files, jsonlines
from headscope.corpora import sources as opening
from headscope.corpora.sources import standard_input, suffix_of
from headscope.errors import CorpusError, HeadscopeWarning, InputError

LINES = "\n\n".join(f"Line {number} of the story.\nAnd on it goes." for number in range(40))


def zst(content: bytes) -> bytes:
    return pytest.importorskip("zstandard").compress(content)


PACKED: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zst}


def told(corpus: Corpus) -> list[tuple[Any, ...]]:
    return [
        (example.text, example.document, example.source.rpartition(":")[2]) for example in corpus.examples()
    ]


def test_the_suffix_is_that_of_what_is_compressed() -> None:
    names = ["a.jsonl.gz", "A.TXT.ZST", "a.csv", "b.gz", "c"]
    assert [suffix_of(name) for name in names] == [".jsonl", ".txt", ".csv", "", ""]


@pytest.mark.parametrize("packed", PACKED)
def test_compressed_files_hold_what_the_plain_ones_do(packed: str, tmp_path: Path) -> None:
    objects = "\n".join(json.dumps({"text": line}) for line in LINES.split("\n\n")) + "\n[]\n"
    for name, content, read in (
        ("a.txt", LINES, corpora.text),
        ("a.jsonl", objects, corpora.jsonl),
        ("a.csv", "text,document\nx,1\ny,1\n", corpora.table),
    ):
        plain, other = tmp_path / name, tmp_path / f"{name}{packed}"
        plain.write_bytes(content.encode())
        halves = content.encode()[:300], content.encode()[300:]  # two frames after one another are one file
        other.write_bytes(b"".join(map(PACKED[packed], halves)))
        corpus = read(other)
        assert told(corpus) == told(read(plain))
        assert [(error.line, error.message) for error in corpus.broken] == [
            (41, "expected a JSON object, found a list")
        ] * (name == "a.jsonl")
        assert corpus.bytes_read == corpus.size_hint() == other.stat().st_size


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize(
    "change", [lambda data: data[:-9], lambda data: b"what" + data], ids=["cut", "other"]
)
def test_what_cannot_be_decompressed_is_told_with_its_file(
    packed: str, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / f"a.txt{packed}"
    path.write_bytes(change(PACKED[packed](LINES.encode() * 3)))
    with pytest.raises(
        CorpusError, match=rf"a.txt{packed}:(1:)? (cannot be read: \w+: [^\n]+|expected UTF-8 text, [^\n]+)$"
    ):
        list(corpora.text(path))


def test_a_line_that_is_not_utf_8_is_told_where_it_is_reached(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"one\n\ntwo\n\xff\n"))
    reading = corpora.text(path).examples()
    assert [next(reading).text, next(reading).text] == ["one", "two"]
    with pytest.raises(CorpusError, match=r"a.txt.gz:4: expected UTF-8 text, found the byte 0xff"):
        next(reading)


def test_folders_are_read_in_the_order_of_names(tmp_path: Path) -> None:
    place = tmp_path / "news"
    (place / "more").mkdir(parents=True)
    (place / "b.txt").write_text("from b", encoding="utf-8")
    (place / "a.txt.gz").write_bytes(gzip.compress(b"from a"))
    (place / "more" / "c.txt").write_text("from c", encoding="utf-8")
    (place / ".hidden.txt").write_text("no", encoding="utf-8")
    for name in ("x.pdf", "y.pdf", "z.jsonl"):
        (place / name).write_text('{"text": "an object"}', encoding="utf-8")
    corpus = corpora.text(place)
    assert corpus.name == "news"
    with pytest.warns(HeadscopeWarning, match=r"^news: did not read 3 other files \(2 .pdf, 1 .jsonl\)$"):
        assert [line.text for line in corpus] == ["from a", "from b", "from c"]
    assert [line.text for line in corpora.jsonl([place]).examples()] == ["an object"]
    with pytest.raises(
        CorpusError, match=r"more: expected files that end in .conllu, found 1 other file \(1 .txt\)"
    ):
        corpora.conllu(place / "more")
    with pytest.raises(CorpusError, match="expected a file, found a directory"):
        corpora.conll2012(place)


def test_standard_input_is_read_once_and_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one line\n\nanother\n")))
    standard_input.cache_clear()
    corpus = corpora.text("-")
    assert corpus.name == "stdin"
    assert (
        [line.text for line in corpus] == [line.text for line in corpora.text("-")] == ["one line", "another"]
    )
    assert capsys.readouterr().err.startswith("standard input: 18 bytes, kept in ")
    standard_input.cache_clear()
    with pytest.raises(CorpusError, match="standard input: expected text, found nothing"):
        corpora.text("-")
    standard_input.cache_clear()


@pytest.mark.parametrize("packed", ["", *PACKED])
@pytest.mark.parametrize("ends", ["", "\n", "\nmore\n"])
def test_a_line_of_many_megabytes_is_refused(
    packed: str, ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 kB of a .gz file may hold a line of 20 MB, for which a tokenizer takes 3 GB."""
    monkeypatch.setattr(files, "LONGEST_LINE", 1_000)
    path = tmp_path / f"a.txt{packed}"
    write = PACKED.get(packed, bytes)
    told = f"{path}:2: expected lines of at most 1,000 bytes, found a longer one; part it into several"
    path.write_bytes(write(f"short\n{'a' * 1_001}{ends}".encode()))
    with pytest.raises(CorpusError) as error:
        list(corpora.text(path).examples())
    assert str(error.value) == told
    path.write_bytes(write(f"short\n{'a' * 999}\n{'b' * 1_000}".encode()))
    assert len(list(corpora.text(path).examples())) == 3


def test_a_text_of_many_megabytes_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a table's quoted cell, of rows and of texts in memory, which are no lines."""
    monkeypatch.setattr(jsonlines, "LONGEST_LINE", 1_000)
    many = "a\n" * 501
    (tmp_path / "a.csv").write_text(f'text\nshort\n"{many}"\n')
    for corpus in (corpora.table(tmp_path / "a.csv"), corpora.dataset([{"text": "short"}, {"text": many}])):
        assert [example.text for example in corpus.examples()] == ["short"]
        assert [error.message for error in corpus.broken] == [
            "'text': expected at most 1,000 characters, found 1,002"
        ]
    with pytest.raises(InputError, match="expected at most 1,000 characters, found 1,002"):
        corpora.texts([many])


def test_a_small_file_of_much_is_unpacked_in_parts(tmp_path: Path) -> None:
    """Zstandard packs to 30,000 times less, so that 20 kB hold half a gigabyte."""
    library = pytest.importorskip("zstandard")
    (tmp_path / "a.txt.zst").write_bytes(library.ZstdCompressor().compress(bytes(500_000_000)))
    tracemalloc.start()
    try:
        with opening.opened(str(tmp_path / "a.txt.zst"), opening.Form(True, None)) as (content, _):
            content.readline(10)
        assert tracemalloc.get_traced_memory()[1] < 150_000_000
    finally:
        tracemalloc.stop()
