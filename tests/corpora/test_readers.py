"""What readers give, and what stays in memory while they do."""

from __future__ import annotations

import json
import tracemalloc
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from headscope import corpora
from headscope.corpora import Corpus, Example
from headscope.errors import CorpusError, HeadscopeWarning, InputError
from tests.helpers.small_tokenizers import Reader, demo, stories


def write(path: Path, content: str) -> Path:
    path.write_bytes(content.encode())
    return path


# Text


def test_lines_and_documents(tmp_path: Path) -> None:
    one = write(tmp_path / "one.txt", "\n\nA cat.\n A dog. \r\n\n \t\nTwo\x00.\n")
    two = write(tmp_path / "two.txt", "\ufeffA bird.\n\n</script>")
    corpus = corpora.text([one, two])
    assert [(line.text, line.document, line.source) for line in corpus] == [
        ("A cat.", 0, f"{one}:3"),
        ("A dog.", 0, f"{one}:4"),
        ("Two\x00.", 1, f"{one}:7"),
        ("A bird.", 2, f"{two}:1"),
        ("</script>", 3, f"{two}:3"),
    ]
    assert corpus.name == "one.txt, two.txt"
    assert [line.text for line in corpus] == [line.text for line in corpus]


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "one.txt", "a\u2028b\x0bc\x85d\ne")
    assert [line.text for line in corpora.text(path)] == ["a\u2028b\x0bc\x85d", "e"]


def test_bytes_read(tmp_path: Path) -> None:
    corpus = corpora.text(write(tmp_path / "one.txt", "é\nb\n"))
    assert corpus.size_hint() == 5
    lines = iter(corpus)
    assert corpus.bytes_read == 0
    next(lines)
    assert corpus.bytes_read == 3
    assert list(lines)
    assert corpus.bytes_read == 5
    assert corpora.texts(["a"]).size_hint() is None


def test_builtin_has_what_it_says() -> None:
    lines = list(corpora.builtin())
    assert len(lines) == 130
    assert [line.document for line in lines] == sorted(line.document for line in lines)
    assert lines[-1].document == 12
    assert lines[0].source == "builtin.txt:1"
    assert lines[0].text.startswith("The old stone bridge")


# Texts in memory


def test_texts() -> None:
    assert list(corpora.texts(["a", ("b", "c")])) == [
        Example(text="a", document=0, source="texts[0]"),
        Example(text="b", pair="c", document=1, source="texts[1]"),
    ]


# JSON lines


def test_objects(tmp_path: Path) -> None:
    rows = [
        {"text": "a", "pair": "b", "label": "x", "id": 7},
        {"words": ["a", "b"], "document": 5, "label": 0.5},
        {"words": ["c"], "pair_words": ["d"], "document": 5},
        {"tokens": ["[CLS]", "a", "[SEP]"], "document": "5"},
        {"text": "e\x00\u2028", "document": None, "label": None},
        {"text": "f"},
    ]
    path = write(
        tmp_path / "one.jsonl",
        "\n".join(map(json.dumps, rows[:3])) + "\n\n" + "\n".join(map(json.dumps, rows[3:])),
    )
    source = [f"{path}:{number}" for number in (1, 2, 3, 5, 6, 7)]
    assert list(corpora.jsonl(path)) == [
        Example(text="a", pair="b", label="x", document=0, document_known=False, source=source[0]),
        Example(words=["a", "b"], label=0.5, document=1, source=source[1]),
        Example(words=["c"], pair_words=["d"], document=1, source=source[2]),
        Example(pieces=["[CLS]", "a", "[SEP]"], document=2, source=source[3]),
        Example(text="e\x00\u2028", document=3, document_known=False, source=source[4]),
        Example(text="f", document=4, document_known=False, source=source[5]),
    ]


def test_documents_of_two_files_are_two(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, '{"text": "a", "document": 1}\n') for name in ("a.jsonl", "b.jsonl")]
    assert [example.document for example in corpora.jsonl(paths)] == [0, 1]


def test_objects_are_encoded(tmp_path: Path) -> None:
    rows = [
        {"text": "A cat.", "pair": "A dog."},
        {"words": ["don't", "go"], "pair_words": ["10 000"]},
        {"tokens": ["[CLS]", "cat", "[SEP]", "dog", "[SEP]"], "label": 3},
    ]
    path = write(tmp_path / "one.jsonl", "\n".join(map(json.dumps, rows)))
    corpus = corpora.jsonl(path)
    found = list(corpus.encoded(Reader(demo(), 512)))
    assert [example.tokens.pieces for example in found if example.tokens] == [
        ("[CLS]", "a", "cat", ".", "[SEP]", "a", "dog", ".", "[SEP]"),
        ("[CLS]", "don", "'", "t", "go", "[SEP]", "10", "000", "[SEP]"),
        ("[CLS]", "cat", "[SEP]", "dog", "[SEP]"),
    ]
    assert found[1].tokens.word_ids.tolist() == [-1, 0, 0, 0, 1, -1, 0, 0, -1]
    assert found[2].label == 3
    counts = corpus.counts
    assert (counts.documents, counts.examples, counts.tokens) == (3, 3, 23)
    assert (counts.words, counts.split_words, counts.cuts) == (6 + 3 + 2, 2, 0)


# Too long


def long(tmp_path: Path, row: object) -> Corpus:
    return corpora.jsonl(write(tmp_path / "long.jsonl", json.dumps(row)))


def test_texts_too_long_are_cut_and_counted(tmp_path: Path) -> None:
    corpus = long(tmp_path, {"text": "cat " * 25, "label": 1})
    found = list(corpus.encoded(Reader(demo(), 512), max_length=12))
    assert [len(example.tokens or ()) for example in found] == [12, 12, 7]
    assert [example.label for example in found] == [1, 1, 1]
    assert corpus.counts.cuts == 2
    assert corpus.counts.words == 25
    list(corpus.encoded(Reader(demo(), 512)))
    assert corpus.counts.cuts == 0


def test_words_too_many_are_cut_between_words(tmp_path: Path) -> None:
    corpus = long(tmp_path, {"words": ["voussoirs", "cat"] * 6})
    found = list(corpus.encoded(Reader(demo(), 12)))
    assert [list(example.words or ()) for example in found] == [["voussoirs", "cat"] * 2] * 3
    assert [len(example.tokens or ()) for example in found] == [12, 12, 12]
    assert found[1].tokens.word_ids.max() == 3
    assert corpus.counts.cuts == 2


def test_tags_are_classes_of_the_pieces_of_their_words(tmp_path: Path) -> None:
    line = {"words": ["the", "voussoirs", "hold", "voussoirs"], "tags": ["DET", "Noun", "VERB", "Noun"]}
    content = (
        json.dumps({**line, "pair_words": ["the", "arch"]}) + "\n" + json.dumps({"words": ["no", "tags"]})
    )
    tagged, plain = corpora.jsonl(write(tmp_path / "one.jsonl", content)).encoded(Reader(demo(), 512))
    for name, words in (("det", {0}), ("noun", {1, 3}), ("verb", {2})):
        expected = [
            word in words and text == 0
            for word, text in zip(tagged.tokens.word_ids, tagged.tokens.sequence_ids, strict=True)
        ]
        assert tagged.tokens.classes[name].tolist() == expected
    assert tagged.tokens.classes["noun"].sum() > 2  # voussoirs has several pieces
    assert "noun" not in plain.tokens.classes


def test_tags_stay_with_their_words_where_a_line_is_cut(tmp_path: Path) -> None:
    words, tags = ["voussoirs", "cat", "sat"] * 6, ["noun", "noun", "verb"] * 6
    found = list(long(tmp_path, {"words": words, "tags": tags}).encoded(Reader(demo(), 16)))
    assert len(found) > 1
    assert [tag for example in found for tag in example.tags or ()] == tags
    for example in found:
        verbs = [
            piece
            for piece, verb in zip(example.tokens.pieces, example.tokens.mask("verb"), strict=True)
            if verb
        ]
        assert set(verbs) <= {"sat"}


def test_words_that_have_more_pieces_together(tmp_path: Path) -> None:
    class Slim(Reader):
        """Counts a word alone as one piece."""

        def count(self, texts):  # type: ignore[no-untyped-def]
            return [
                size if " " in text else 1 for size, text in zip(super().count(texts), texts, strict=True)
            ]

    corpus = long(tmp_path, {"words": ["voussoirs"] * 6})
    found = list(corpus.encoded(Slim(demo(), 12)))
    assert [word for example in found for word in example.words or ()] == ["voussoirs"] * 6
    assert max(len(example.tokens or ()) for example in found) <= 12


def test_lines_without_pieces_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "one.txt", "\u200b\na cat\n\u200b")
    for pack in (None, 16):
        corpus = corpora.text(path, pack=pack)
        assert [example.text for example in corpus.encoded(Reader(demo(), 512))] == ["a cat"]
        assert corpus.counts.empty == 2


def test_an_error_says_file_and_line() -> None:
    assert Example(source="a:b.txt:3").error("x").line == 3
    assert str(Example(source="a:b.txt:3").error("x")) == "a:b.txt:3: x"
    assert str(Example(source="texts[2]").error("x")) == "texts[2]: x"
    with pytest.raises(
        CorpusError, match=r"^texts\[1\]: expected at most 8 tokens for a pair of texts, found 11$"
    ):
        list(corpora.texts(["a", ("a b c d", "a b c d")], strict=True).encoded(Reader(demo(), 8)))


# Memory


@pytest.mark.slow
def test_memory_does_not_grow_with_the_text(shared: Path, tmp_path: Path) -> None:
    """Twice the text takes no more memory than a text that fills a window of lines and a block."""
    lines = (shared / "data" / "text" / "wikitext2-valid.txt").read_text(encoding="utf-8").split("\n")[:100]
    model = Reader(stories(shared), 512, causal=True)
    peaks: list[int] = []
    for times in (3, 6):
        path = write(tmp_path / f"{times}.txt", "\n".join(lines * times))
        tracemalloc.start()
        for block in corpora.blocks(corpora.text(path).encoded(model), size=16):
            for batch in block:
                assert batch
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]  # what garbage waits to be collected at a peak is a block more or less


def documents_of(path: Path, **options: Any) -> list[int]:
    return [example.document for example in corpora.text(path, **options)]


def test_documents_end_where_they_are_said_to_end(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("a\nb\n\nc\nd\n")
    two.write_text("e\n\nf\n")
    assert documents_of(one) == [0, 0, 1, 1]
    assert documents_of(one, documents="line") == [0, 1, 2, 3]
    assert [example.document for example in corpora.text([one, two], documents="file")] == [0, 0, 0, 0, 1, 1]
    with pytest.raises(InputError, match="documents: expected blank, line or file, found 'page'"):
        corpora.text(one, documents="page")  # pyright: ignore[reportArgumentType]


def test_a_heading_is_no_document(tmp_path: Path) -> None:
    """As WikiText comes: headings and paragraphs, with blank lines around each."""
    path = tmp_path / "wiki.txt"
    path.write_text(
        " \n = Name = \n \n First . \n More . \n\n = = Part = = \n \n Second . \n And more . \n\n = Next = \n"
    )
    assert documents_of(path) == [0, 0, 0, 1, 1, 1, 2]
    assert documents_of(path, documents="line") == list(range(7))


def test_documents_of_one_line_are_said(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("a\n\n" * 15 + "c\nd\n\n" * 10)
    message = r"lines\.txt: 15 of 25 documents have one line: .* documents='line' or 'file' \(--documents\)$"
    corpus = corpora.text(path)
    with pytest.warns(HeadscopeWarning, match=message):
        assert len(list(corpus)) == 35
    with warnings.catch_warnings(action="error"):
        assert len(list(corpus)) == 35  # said once
        documents_of(path, documents="line")
        path.write_text("a\n\n" * 10 + "c\nd\n\n" * 15)
        documents_of(path)


@pytest.mark.parametrize("limit", [25, 40])
def test_that_all_lines_are_one_document_is_said(tmp_path: Path, limit: int) -> None:
    """Whether all of the file is read or not."""
    path = tmp_path / "lines.txt"
    path.write_text("a line\n" * 30)
    corpus = corpora.text(path)
    message = (
        rf"lines\.txt: no blank line among {min(limit, 30)} lines: all are one document, .*documents='line'"
    )
    with pytest.warns(HeadscopeWarning, match=message):
        read = list(islice(corpus, limit))
    assert {line.document for line in read} == {0}
    with warnings.catch_warnings(action="error"):
        assert len(set(documents_of(path, documents="line"))) == 30


def test_other_keys_of_json_lines(tmp_path: Path) -> None:
    path = write(
        tmp_path / "news.jsonl",
        '{"body": "A.", "article": 3, "words": []}\n{"body": "B.", "article": 3}\n{"body": "C.", "article": "x"}\n',
    )
    corpus = corpora.jsonl(path, text="body", document="article")
    assert [(line.text, line.document) for line in corpus] == [("A.", 0), ("B.", 0), ("C.", 1)]
    assert corpus.documents == "lines of one 'article'"


def test_documents_of_texts_in_memory() -> None:
    corpus = corpora.texts(["a", "b", "c"], documents=["x", "x", "y"])
    assert [example.document for example in corpus] == [0, 0, 1]
