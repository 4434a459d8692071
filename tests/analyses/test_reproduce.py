"""Command lines that give figures of a report again."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from headscope.analyses.reproduce import Typed
from headscope.cli.app import commands
from tests.helpers import golden

GIVEN = Typed(
    ["a file.txt"],
    {"-m": "some/model", "--pack": "64", "--revision": "v1", "--trust-remote-code": ""},
    {
        "--treebank": ["t.conllu", "u.conllu"],
        "--coref": [],
        "--against": ["b"],
        "--pairs": ["p.tsv"],
        "--label": ["same"],
    },
    9,
)


FEW = replace(GIVEN, limit_sentences=5)
LINKED = Typed(["a.txt"], {"-m": "demo", "--pack": "64"}, {"--links": ["x.jsonl"]}, 9, 7)


def test_lines_name_what_was_given() -> None:
    """Of golden/reproduced.txt. Trees and links are not packed, nor cut as texts are; models have their revisions."""
    names = {"GIVEN": GIVEN, "FEW": FEW, "LINKED": LINKED, "Typed": Typed}
    golden.check("reproduced.txt", ">>> ", lambda asked: eval(asked, names))


EVERY = Typed(
    ["a.txt"],
    {
        "-m": "demo",
        "--pack": "64",
        "--documents": "line",
        "--device": "cpu",
        "--strict": "",
        "--distinct": "",
        "--allow-unknown": "",
    },
    {"--treebank": ["t.conllu"], "--pairs": ["p.tsv"], "--label": ["same"]},
    9,
)


@pytest.mark.parametrize(
    "line",
    [
        EVERY.command("measure", "--measures", "entropy"),
        EVERY.command("distance", "--map", "map.csv"),
        EVERY.command("roles"),
        EVERY.command("artefacts"),
        EVERY.alone("writes", "-k", "5"),
        EVERY.alone("retrieval", "--length", "96"),
        EVERY.on("syntax", "--treebank"),
        EVERY.on("coref", "--coref"),
        EVERY.on("links", "--links"),
        EVERY.on("compare groups", "--pairs", "--label"),
        EVERY.versus(apart=False, roles=True),
        EVERY.section("cards"),
    ],
    ids=lambda line: " ".join(line.split()[1:3]),
)
def test_a_command_takes_what_it_is_given(line: str) -> None:
    """What was typed for the report is typed again only where the command has such an option."""
    _, *words = shlex.split(line)
    command = commands()
    while words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    command.make_context("headscope", words)
