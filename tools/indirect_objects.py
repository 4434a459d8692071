"""Write the pairs of prompts that ``headscope patch`` uses where no file is named.

python tools/indirect_objects.py            write src/headscope/corpora/data/indirect_objects.jsonl
python tools/indirect_objects.py --check    exit 1 when it is out of date

Two people are named, then one of them does something to the other: to whom? It is the task of Wang et al. 2022, on
names, places, things and sentences of our own. In the corrupted prompt it is the other who does it, so that the other
name is right. Each sentence has the two names in either order as often.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

FILE = (
    Path(__file__).resolve().parents[1] / "src" / "headscope" / "corpora" / "data" / "indirect_objects.jsonl"
)

NAMES = [
    *(
        "Adam",
        "Alice",
        "Anna",
        "Ben",
        "Carol",
        "David",
        "Emma",
        "Frank",
        "George",
        "Helen",
        "Jack",
        "James",
        "Jane",
    ),
    *("Kate", "Laura", "Mark", "Martin", "Mary", "Paul", "Peter", "Robert", "Sarah", "Susan", "Tom"),
]
"""Each is one token, with its space, of SmolLM2's vocabulary."""

SENTENCES = (
    (
        "While {first} and {second} were waiting at the {place}, {doer} handed the {thing} to",
        ("station", "harbor", "hospital", "bakery"),
        ("ticket", "umbrella", "letter", "key"),
    ),
    (
        "After lunch {first} and {second} met in the {place}, and {doer} read a {thing} to",
        ("garden", "library", "kitchen", "park"),
        ("poem", "letter", "story", "list"),
    ),
    (
        "Because {first} and {second} shared a {place}, {doer} often lent a {thing} to",
        ("room", "house", "boat", "desk"),
        ("pen", "coat", "lamp", "book"),
    ),
    (
        "Last winter {first} and {second} worked at the same {place}, where {doer} once sold a {thing} to",
        ("farm", "museum", "school", "market"),
        ("horse", "painting", "bicycle", "clock"),
    ),
    (
        "As soon as {first} and {second} had left the {place}, {doer} showed the {thing} to",
        ("theater", "office", "church", "shop"),
        ("map", "photo", "ring", "bill"),
    ),
    (
        "At the {place} {first} sat down beside {second}, and then {doer} passed the {thing} to",
        ("table", "concert", "river", "window"),
        ("bread", "salt", "camera", "rope"),
    ),
)
"""Sentences, their places and their things."""

EACH = 8
"""Pairs of each sentence."""


def pairs(seed: int = 0) -> list[dict[str, str]]:
    """The pairs, each an object of a line."""
    draw = np.random.default_rng(seed)
    rows: list[dict[str, str]] = []
    for sentence, places, things in SENTENCES:
        for number in range(EACH):
            answer, doer = (NAMES[place] for place in draw.choice(len(NAMES), 2, replace=False))
            first, second = (answer, doer) if number % 2 else (doer, answer)
            place, thing = (words[int(draw.integers(len(words)))] for words in (places, things))
            clean, corrupted = (
                sentence.format(first=first, second=second, place=place, thing=thing, doer=who)
                for who in (doer, answer)
            )
            rows.append({"clean": clean, "corrupted": corrupted, "answer": f" {answer}", "wrong": f" {doer}"})
    return rows


def text() -> str:
    """The file."""
    return "".join(f"{json.dumps(row)}\n" for row in pairs())


def main() -> None:
    """Write the file, or say whether it is as it would be written."""
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text(), encoding="utf-8")
    elif not FILE.is_file() or FILE.read_text(encoding="utf-8") != text():
        sys.exit(f"{FILE.name} is out of date: run python tools/indirect_objects.py")


if __name__ == "__main__":
    main()
