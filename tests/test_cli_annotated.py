"""`headscope syntax`, `headscope coref`, and CoNLL-U for `headscope measure`: what they print, write and refuse."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
import xarray as xr

from tests.helpers.typed import Typed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("demo_at_hand")]

TREES = """# sent_id = a-1
1	The	the	DET	DT	_	2	det	_	_
2	cat	cat	NOUN	NN	_	3	nsubj	_	_
3	sleeps	sleep	VERB	VBZ	_	0	root	_	_
4	.	.	PUNCT	.	_	3	punct	_	_

# sent_id = a-2
1-2	Don't	_	_	_	_	_	_	_	_
1	Do	do	AUX	VB	_	3	aux	_	_
2	n't	not	PART	RB	_	3	advmod	_	_
3	wake	wake	VERB	VB	_	0	root	_	_
4	it	it	PRON	PRP	_	3	obj:x	_	_

"""
BROKEN = TREES + "# sent_id = a-3\n1\tGo\tgo\tVERB\tVB\t_\t7\troot\t_\t_\n\n"

ENGINE = "headscope.analyses.links.engine._Reader.run"
"""What runs the model: None where it must not."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("trees.conllu", TREES), ("broken.conllu", BROKEN)):
        Path(name).write_text(content, encoding="utf-8")


def test_few_instances_are_grey_on_a_terminal(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    common = ("syntax", "--limit", 8, "--least", 10, "--seed", 3)
    rows = typed(*common, "--json").rows
    assert all((row["layer"] is None) == row["few"] == (row["n"] < 10) for row in rows)
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.delenv("NO_COLOR", raising=False)
    typed(*common)
    grey = [line.startswith("\x1b[90m") for line in screen.getvalue().splitlines()[4:]]
    assert grey == [row["few"] for row in rows if row["relation"] != "root"]


def test_trees_are_relations_of_their_own(typed: Typed) -> None:
    pytest.importorskip("ufal.chu_liu_edmonds")
    typed("syntax", "trees.conllu", "--least", 1, "--trees", "-o", "best.nc")
    with xr.open_dataset("best.nc") as dataset:
        assert dataset["accuracy"].dims == ("relation", "direction", "layer", "head")
        assert {"tree UAS", "tree UUAS"} <= set(dataset["relation"].values)


said_not_raised = pytest.mark.filterwarnings("always::headscope.errors.HeadscopeWarning")


@said_not_raised
def test_broken_sentences_are_left_out_and_listed(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default, and with the option of before; --strict refuses them before the model runs."""
    line = "broken.conllu:15: sentence a-3: expected a head from 0 to 1, found 7"
    with monkeypatch.context() as patch:
        patch.setattr(ENGINE, None)
        typed.refuses(line, "syntax", "broken.conllu", "--strict")
    for options in ((), ("--skip-broken",)):
        found = typed("syntax", "broken.conllu", *options, "--json", "--meta", "m.json")
        assert f"headscope: left out 1 input of broken.conllu:\n  {line}\n" in found.err
        assert found.rows[0]["n"] == 8
        meta = json.loads(Path("m.json").read_text())
        assert meta["broken"] == [line]
        assert meta["corpus"]["left_out"] == 1


def sentence(number: int, words: int, antecedent: bool = True) -> str:
    """Ann … she: a mention and its antecedent, so many words apart."""
    forms = ["Ann", *["slept"] * (words - 2), "she"]
    rows = [f"# sent_id = s-{number}"]
    for place, form in enumerate(forms, 1):
        cluster = f"e{number}" if antecedent else f"e{number}x{place}"
        entity = f"Entity=({cluster}-person-1)" if form != "slept" else "_"
        tag = {"Ann": "PROPN", "she": "PRON"}.get(form, "VERB")
        relation = "root" if place == 1 else "dep"
        rows.append(f"{place}\t{form}\t_\t{tag}\t_\t_\t{place - 1}\t{relation}\t_\t{entity}")
    return "\n".join([*rows, "", ""])


@said_not_raised
@pytest.mark.parametrize("command", ["syntax", "coref", "probe"])
def test_a_long_sentence_in_the_midst_ends_no_run(
    typed: Typed, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is left out and named, with --strict before the model runs."""
    size = 700 if command != "coref" else 154
    body = [sentence(number, 6) for number in range(1, 5)]
    body[2] = sentence(3, size)
    Path("long.conllu").write_text(
        "# global.Entity = eid-etype-head\n# newdoc id = a\n" + "".join(body), encoding="utf-8"
    )
    at = 2 + 2 * 8 + 2
    line = f"long.conllu:{at}: sentence s-3: expected at most {128 if command == 'coref' else 512} tokens in a sentence, found {size + 2}"
    files = ["long.conllu"] * (2 if command == "probe" else 1)
    options = ["--kind", "distance+words", "--epochs", 1] if command == "probe" else []
    found = typed(command, *files, *options, "--meta", "m.json", "--json")
    assert f"left out 1 input of long.conllu:\n  {line}" in found.err
    assert json.loads(Path("m.json").read_text())["broken"][0].startswith(line)
    assert max(row["n"] for row in found.rows) == (3 if command == "coref" else 18)
    for runs in (ENGINE, "headscope.analyses.probes.gather.word_maps"):
        monkeypatch.setattr(runs, None)
    typed.refuses(line, command, *files, *options, "--strict")


@said_not_raised
def test_an_estimate_ends_no_run(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first windows have no antecedent: there is an estimate still; where there is none, the run goes on."""
    body = "".join(f"# newdoc\n{sentence(number, 6, antecedent=number > 90)}" for number in range(1, 100))
    Path("late.conllu").write_text("# global.Entity = eid-etype-head\n" + body, encoding="utf-8")
    monkeypatch.setattr("headscope.console.options.LONG", 1)
    assert re.match(
        r"99 sentences, 792 tokens: about \d+ s on cpu", typed("coref", "late.conllu", "--estimate").out
    )
    found = typed("coref", "late.conllu", "--json")
    assert "99 sentences, 792 tokens: about" in found.err
    assert found.rows[0]["n"] == 9

    def fails(*_: object, **__: object) -> str:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("headscope.runs.long.estimated", fails)
    found = typed("coref", "late.conllu", "--json")
    assert "no estimate (ZeroDivisionError: division by zero); the run goes on\n" in found.err
    assert found.rows[0]["n"] == 9
