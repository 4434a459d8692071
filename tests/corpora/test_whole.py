"""Inputs that are read on a page: whole sentences of which something can be seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headscope import corpora
from headscope.corpora.readable import readable, split
from tests.helpers.small_tokenizers import Reader, demo

LONG = "The cat " * 40 + "slept."
PARAGRAPH = f"A cat sat on the mat. {LONG} Mr. Smith saw it from his old house! “It slept,” he said."
LINES = ["= A heading =", ".", PARAGRAPH, "The dog saw it.", "It ran.", "", "Yes .", ""]


def texts(corpus: corpora.Corpus, pack: int = 16) -> list[str]:
    found = list(readable(Reader(demo(), 512), corpus, pack))
    assert all(len(example.tokens or ()) <= 2 * pack for example in found)
    return [" | ".join(filter(None, (example.text, example.pair))) for example in found]


def test_long_lines_give_their_sentences_and_short_ones_are_packed(tmp_path: Path) -> None:
    """The heading, the full stop alone, the sentence that is too long and the two words are not there."""
    path = tmp_path / "a.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    assert texts(corpora.text(path)) == [
        "A cat sat on the mat.",
        "Mr. Smith saw it from his old house!",
        "“It slept,” he said. | The dog saw it.",
    ]


def test_inputs_that_are_not_packed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [
        *({"text": text} for text in LINES if text),
        {"text": LONG, "pair": "It slept well there."},
        {"text": "Did the cat sleep?", "pair": "It slept well."},
        {"words": LONG.split()},
        {"words": ["The", "dog", "slept", "well"]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert texts(corpora.jsonl(path)) == [
        "A cat sat on the mat.",
        "Mr. Smith saw it from his old house!",
        "“It slept,” he said.",
        "The dog saw it.",
        "Did the cat sleep? | It slept well.",
        "",
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("J. R. Smith is here . He is .", ["J. R. Smith is here .", "He is ."]),
        ("It cost 3.5 francs, e.g. Swiss ones. “Why?” he asked.", ["It cost 3.5 francs, e.g. Swiss ones.", "“Why?” he asked."]),
        ("No end", ["No end"]),
        ("Well... it is. Ça va? Да. Нет.", ["Well... it is.", "Ça va?", "Да.", "Нет."]),
        ("   ", []),
    ],
)  # fmt: skip
def test_sentences(text: str, parts: list[str]) -> None:
    assert split(text) == parts
