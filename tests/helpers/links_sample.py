"""Small corpora of negations, trees and links, each made in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headscope as hs
from headscope import corpora


def scopes(folder: Path) -> corpora.Corpus:
    words = ["He", "did", "not", "see", "her", "today", "."]
    rows = [
        {"words": words[: 5 + number % 3], "cue": [2], "scope": [0, 1, 3], "document": number // 3}
        for number in range(12)
    ]
    path = folder / "scopes.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return corpora.negations(path)


def trees(_: Path) -> corpora.Corpus:
    return corpora.builtin_trees()


def sentences(_: Path) -> corpora.Corpus:
    words = ["the", "cat", "sat", "on", "the", "mat", "as", "it", "slept"]
    return corpora.linked([words[: 5 + n % 5] for n in range(24)], [[(4, 1), (2, n % 2)] for n in range(24)])


Run = tuple[Callable[..., Any], Callable[[Path], corpora.Corpus], dict[str, Any]]
RUNS: dict[str, Run] = {
    "links": (hs.links, sentences, {"limit": 24, "least": 5}),
    "syntax": (hs.syntax, trees, {"limit": 24, "least": 100, "trees": True}),
    "coref": (hs.coreference, trees, {"limit": 24, "window": 40}),
    "negation": (hs.negation, scopes, {}),
}
"""Analyses that share the engine of links, each with its corpus and options."""
