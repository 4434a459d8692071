"""`headscope look` says what a file is, and names commands that take it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpora.test_known_formats import GAP, PAE
from tests.helpers.typed import Typed
from tests.helpers.workspace import CHATS, LINKS

FILES = {
    "gap.tsv": (GAP, "pronouns with two candidates (GAP), 3 inputs", ["links", "measure"]),
    "pae.json": (PAE, "predicted aligned errors (AlphaFold); an error", []),
    "chats.jsonl": (CHATS, "records of JSON, ", ["measure"]),
    "links.jsonl": (LINKS, "records of JSON, ", ["links", "measure"]),
    "prompts.jsonl": ('{"prompt": "Why?", "answer": " So"}\n', "records of JSON, 1 input", ["why"]),
    "a.txt": ("The cat sat.\n\nIt slept.\n", "plain text, 2 inputs", ["measure", "sentences"]),
    "news.csv": ("text,label\nA,b\n", "a table", ["measure", "compare groups"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_named_with_the_commands_that_take_it(name: str, typed: Typed, tmp_path: Path) -> None:
    content, expected, commands = FILES[name]
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    said = typed("look", path).out
    assert said.startswith(f"{path}: {expected}")
    assert [f"headscope {command} {path}" in said for command in commands] == [True] * len(commands)
    assert ("no command takes it" in said) == (not commands)
    written = json.loads(typed("look", path, "--json").out)
    assert len(written["commands"]) == len(commands)
    assert "read as" not in " ".join(written["remarks"])


def test_what_is_left_out_is_said(typed: Typed, tmp_path: Path) -> None:
    path = tmp_path / "gap.tsv"
    path.write_text(GAP.replace("she\t35", "she\t34"), encoding="utf-8")
    said = typed("look", path).out
    assert "left out 1 × a pronoun of which neither candidate is right" in said
    assert f"{path}:2: expected 'she' at character 34" in said


def test_what_is_no_text_is_refused(typed: Typed, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n")
    assert "expected text, found a picture of PNG" in typed("look", path, code=2).err
