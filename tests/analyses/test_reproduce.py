"""Command lines that give figures of a report again."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from headscope.analyses.reproduce import Typed
from headscope.cli.app import commands

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
OPTIONS = "-m some/model --pack 64 --revision v1 --trust-remote-code"


def test_the_corpus_and_the_model_are_named() -> None:
    assert GIVEN.command("roles", "--level", "0.01") == (
        f"headscope roles 'a file.txt' {OPTIONS} --limit 9 --level 0.01"
    )
    assert Typed().command("measure") == "headscope measure"


def test_a_section_has_only_what_it_takes() -> None:
    trees = "--treebank t.conllu --treebank u.conllu"
    begin = f"headscope report --text 'a file.txt' {trees}"
    assert GIVEN.section("cards") == f"{begin} {OPTIONS} --limit 9 --sections cards"
    assert GIVEN.section("compare") == f"{begin} --against b {OPTIONS} --limit 9 --sections compare"
    assert (
        GIVEN.section("groups") == f"{begin} --pairs p.tsv --label same {OPTIONS} --limit 9 --sections groups"
    )


def test_trees_are_not_packed() -> None:
    """Nor is one that was named cut as the text is."""
    model = "-m some/model --revision v1 --trust-remote-code"
    rest = f"{model} --limit 9"
    assert GIVEN.on("syntax", "--treebank") == f"headscope syntax t.conllu u.conllu {model}"
    few = replace(GIVEN, limit_sentences=5)
    assert few.on("syntax", "--treebank") == f"headscope syntax t.conllu u.conllu {model} --limit 5"
    assert few.on("coref", "--coref") == f"headscope coref {model} --limit 5"
    assert few.section("probes").endswith(" --limit 9 --sections probes --limit-sentences 5")
    assert GIVEN.on("coref", "--coref") == f"headscope coref {rest}"
    expected = f"headscope compare groups p.tsv {rest} --label same"
    assert GIVEN.on("compare groups", "--pairs", "--label") == expected


def test_two_models_are_named_with_their_revisions() -> None:
    rest = "--pack 64 --trust-remote-code --limit 9 -o"
    begin = "headscope compare models some/model@v1 b 'a file.txt'"
    expected = f"{begin} {rest} models.csv --roles roles.csv --figure drift.svg"
    assert GIVEN.versus(apart=False, roles=True) == expected
    assert GIVEN.versus(apart=True, roles=True) == f"{begin} {rest} roles.csv"
    assert (
        Typed().versus(apart=False, roles=True).startswith("headscope compare models demo --untrained 0 -o")
    )
    alone = Typed(options={"--untrained": "1"})
    assert alone.versus(apart=False, roles=True) == "headscope report --untrained 1 --sections compare"


def test_links_are_read_by_sentences_and_not_as_the_texts_are() -> None:
    typed = Typed(["a.txt"], {"-m": "demo", "--pack": "64"}, {"--links": ["x.jsonl"]}, 9, 7)
    assert typed.on("links", "--links") == "headscope links x.jsonl -m demo --limit 7"
    assert typed.section("links") == (
        "headscope report --text a.txt --links x.jsonl -m demo --pack 64 --limit 9 --sections links --limit-sentences 7"
    )


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
