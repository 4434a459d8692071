"""`--json`: one object on standard output, whatever happens; exit codes that are the same everywhere; estimates."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import json_table
import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from headscope.cli.app import commands
from headscope.console.formats import schema
from headscope.measures.dataset import records
from headscope.runs import trial
from tests.helpers.typed import Typed
from tests.test_cli import each_command
from tests.test_docs import check_command

MISSING = """
align --choose none.jsonl -m whisper-tiny
align none.wav --text so -m whisper-tiny
artefacts none
bench aer demo none.txt none.txt none.align
bench cite gpt2 none.jsonl
card none.txt
cards diff none none
cards site none
check none/none
compare groups none.tsv
compare inputs A B -m none/none
compare models demo demo none.txt
compare training none none.txt
composition none.txt -m gpt2
coref none.conllu
distance none.txt
export none.safetensors --to headvis -o none
import none.safetensors
lab none
links none.jsonl
look none.txt
measure none.txt
merge none.nc
negation none.jsonl
patch none.jsonl -m gpt2
probe none.conllu none.conllu
report --treebank none.conllu
report none.txt
retrieval none.txt -m gpt2
roles none.txt
sentences none.txt
serve --read-only-text none.txt
serve --token-file none
similar A --in none.txt
similar none.tsv
skill none
streaming none.txt -m gpt2
syntax none.conllu
view --audio none.wav -m whisper-tiny --target so
view none.jsonl --replay
why none.jsonl -m gpt2
"""


NO_ESTIMATE = {"cards diff", "cards site", "export", "import", "look", "mcp", "merge", "serve", "skill"}
"""Commands that run no model, and those that wait for what is asked."""


def answer(said: Any) -> Any:
    """The one object that a command answers."""
    return json.loads(said.out, parse_constant=pytest.fail)


def refused(typed: Typed, *words: object, code: int = 2) -> Any:
    """What a command answers that fails; its sentence is on stderr, too."""
    said = typed(*words, "--json", code=code)
    error = answer(said)
    Draft202012Validator(schema("error")).validate(error)
    assert error["exit"] == code
    assert error["error"] in said.err
    return error


@pytest.mark.slow
def test_what_is_not_there_is_bad_input_of_every_command(typed: Typed, workspace: Path) -> None:
    before = {*workspace.rglob("*")}
    for line in MISSING.strip().splitlines():
        kind = refused(typed, *shlex.split(line))["kind"]
        assert kind == ("model" if "none/none" in line else "bad_input"), line
    assert {*workspace.rglob("*")} == before


def test_every_command_answers_to_wrong_words(typed: Typed) -> None:
    for words, command in each_command(commands()):
        assert refused(typed, *words, "--nope")["kind"] == "usage"
        if any(one.required for one in command.params):
            assert refused(typed, *words)["error"].startswith("Missing argument"), words
        flags = {name for one in command.params for name in one.opts}
        assert ("--estimate" in flags) == (" ".join(words) not in NO_ESTIMATE), words
    for words in (["nope"], ["compare", "nope"]):
        assert refused(typed, *words)["error"].startswith("No such command 'nope'")
    assert refused(typed, "--json", "look", "none.txt")["kind"] == "bad_input"


@pytest.mark.parametrize(
    ("end", "kind", "code"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "stopped", 143),
        (lambda: os.kill(os.getpid(), signal.SIGINT), "stopped", 130),
        (lambda: {}["x"], "unknown", 1),
        (lambda: Path("none").read_text(), "unknown", 1),
    ],
    ids=["sigterm", "sigint", "unforeseen", "system"],
)
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_what_ends_a_command_is_its_answer(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, end: Callable[[], Any], kind: str, code: int
) -> None:
    monkeypatch.setattr("headscope.analyses.lab.run.lesson", lambda _: end())
    assert refused(typed, "lab", code=code)["kind"] == kind


def test_serve_answers_before_it_ends(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, demo_at_hand: None
) -> None:
    def serve(*_: Any, opened: Callable[[str], None], **__: Any) -> None:
        opened("http://127.0.0.1:1/")
        raise KeyboardInterrupt

    monkeypatch.setattr("headscope.live.server.serve", serve)
    made = answer(typed("serve", "--no-browser", "--json", code=130))
    Draft202012Validator(schema("serve")).validate(made)


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_an_estimate_writes_nothing_and_says_whether_it_came_to_the_end(
    typed: Typed, workspace: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(trial, "SECONDS", seconds)
    before = {*workspace.rglob("*")}
    for line in (
        "view Cats. -m gpt2 -o a.svg",
        "distance a.txt -m gpt2 -o d.csv --resume kept",
        "check gpt2",
    ):
        made = answer(typed(*shlex.split(line), "--estimate", "--json"))
        Draft202012Validator(schema("estimate")).validate(made)
        assert made["least"] == (not seconds and "check" not in line), line
        assert made["text"].startswith("at least about" if made["least"] else "about")
    assert {*workspace.rglob("*")} == before


def test_a_trial_goes_by_the_outermost_bar_that_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    one = trial.Trial()
    bars = [trial.TrialBar(one, total=total) for total in (10, 12, 5)]
    for bar, moved in zip(bars, (0, 3, 4), strict=True):
        bar.n, bar.start_t = moved, 100.0
    monkeypatch.setattr("headscope.runs.trial.time.time", lambda: 106.0)
    assert bars[1].rest == pytest.approx(6 / 3 * 9)
    monkeypatch.setattr(trial, "SECONDS", -1)
    for place in (1, 2):
        with pytest.raises(trial.TrialEnded):
            one.check()
        assert one.bar is bars[place]
        bars[place].close()


def test_rows_have_every_digit_and_null_for_what_is_no_figure() -> None:
    figures = {"layer": [0, np.nan], "value": [1e-12, np.inf], "paper": ["1-1", None]}
    assert records(pd.DataFrame(figures).astype({"layer": "Int64"})) == [
        {"layer": 0, "value": 1e-12, "paper": "1-1"},
        {"layer": None, "value": None, "paper": None},
    ]


def test_the_page_has_the_formats() -> None:
    assert json_table.PAGE.read_text("utf-8") == json_table.page(), "run python tools/json_table.py"


def test_the_skill_is_short_and_its_commands_parse() -> None:
    lines = (files("headscope.cli") / "skill.txt").read_text("utf-8").splitlines()
    assert len(lines) <= 60
    shown = [line.strip().split("  ")[0] for line in lines if line.startswith("  headscope ")]
    assert len(shown) > 20
    for line in shown:
        check_command(line, "skill.txt")
