"""`headscope syntax`, `headscope coref`, and CoNLL-U for `headscope measure`: what they print, write and refuse."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

from headscope.analyses.links.coref import statistics as coref
from headscope.analyses.links.negation import statistics as negation
from headscope.analyses.links.syntax import statistics as syntax
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
PAIRS = "The 2-det\ncat 3-nsubj\nsleeps 0-root\n. 3-punct\n\nGo 0-root\n! 1-punct\n"
CONLL = """#begin document (d); part 000
d 0 0 John NNP (TOP(S(NP*) - - - - * (1)
d 0 1 said VBD (VP* - - - - * -
d 0 2 he PRP (SBAR(S(NP*) - - - - * (1)
d 0 3 slept VBD (VP*)))))) - - - - * -

#end document
"""

ENGINE = "headscope.analyses.links.engine._Reader.run"
"""What runs the model: None where it must not."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (
        ("trees.conllu", TREES),
        ("broken.conllu", BROKEN),
        ("pairs.txt", PAIRS),
        ("d.v4_gold_conll", CONLL),
        ("data.tsv", PAIRS),
    ):
        Path(name).write_text(content, encoding="utf-8")


def test_syntax_of_the_built_in_trees(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file; few instances: no best head, said, and grey on a terminal only."""
    common = ("syntax", "--limit", 8, "--least", 10, "--seed", 3)
    printed = typed(*common, "--meta", "meta.json")
    finding, _, _, header, *lines = printed.out.splitlines()
    assert (
        finding
        == "No dependency relation can be tested here: an interval needs 5 documents that count in effect."
    )
    assert header.split()[:4] == ["relation", "n", "best", "head"]
    assert lines[0].split()[0] == "all"
    assert lines[0].split()[2].startswith("L")
    assert "\x1b" not in printed.out
    assert "over 145 words in 8 sentences" in printed.err
    meta = json.loads(Path("meta.json").read_text())
    assert (meta["sentences"], meta["seed"], meta["least"]) == (8, 3, 10)
    assert meta["command"].startswith("headscope syntax --limit 8")
    rows = typed(*common, "--json").rows
    assert [len(row) for row in rows] == [len(syntax.COLUMNS) + len(syntax.CHOSEN)] * (len(lines) + 1)
    assert all((row["layer"] is None) == row["few"] == (row["n"] < 10) for row in rows)
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.delenv("NO_COLOR", raising=False)
    typed(*common)
    grey = [line.startswith("\x1b[90m") for line in screen.getvalue().splitlines()[4:]]
    assert grey == [row["few"] for row in rows if row["relation"] != "root"]


def test_syntax_writes_all_heads(typed: Typed) -> None:
    found = typed("syntax", "trees.conllu", "--all-heads", "-o", "all.csv")
    assert found.out == ""
    assert "all.csv: " in found.err
    table = pd.read_csv("all.csv", dtype={"paper": str})
    assert tuple(table.columns) == syntax.COLUMNS
    assert (table.groupby("relation").size() == 2 * 72).all()
    assert set(table[table["relation"] == "all"]["n"]) == {8}
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
        assert json.loads(found.out)[0]["n"] == 8
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
    assert max(row["n"] for row in json.loads(found.out)) == (3 if command == "coref" else 18)
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
    assert json.loads(found.out)[0]["n"] == 9

    def fails(*_: object, **__: object) -> str:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("headscope.runs.long.estimated", fails)
    found = typed("coref", "late.conllu", "--json")
    assert "no estimate (ZeroDivisionError: division by zero); the run goes on\n" in found.err
    assert json.loads(found.out)[0]["n"] == 9


ROWS = [
    {"words": ["No", "cat", "sat"], "cue": [0], "scope": [1, 2]},
    {"words": ["No"], "cue": [1], "scope": []},
]


def test_coref_of_the_built_in_corpus(typed: Typed) -> None:
    common = ("coref", "--limit", 40)
    printed = typed(*common, "--meta", "meta.json")
    assert re.match(
        r"Of \d+ mentions, L\d+H\d+ finds the antecedent of \d+% among head words of", printed.out
    )
    assert "Accuracies with 95\u00a0% intervals, given the choice, over " in printed.err
    for name in coref.CANDIDATES:
        assert re.search(rf"\nL\d+H\d+ .* best head +{name.replace('_', ' ')} ", printed.out)
    assert json.loads(Path("meta.json").read_text())["options"]["window"] == 128
    rows = typed(*common, "--json", "--candidates", "any_word").rows
    assert tuple(rows[0]) == (*coref.COLUMNS, *coref.CHOSEN)
    assert {row["candidates"] for row in rows if row["system"] == "best_head"} == {"any_word"}
    assert {row["system"] for row in rows} == {*coref.RULES, "best_head"}
    typed(*common, "--all-heads", "--window", 64, "-o", "all.parquet")
    table = pd.read_parquet("all.parquet")
    assert tuple(table.columns) == coref.COLUMNS
    assert set(table["system"]) == {"head"}
    assert len(table[table["type"] == "all"]) == 3 * 72


def test_negation_prints_and_writes(typed: Typed) -> None:
    """The best heads on a screen, all of them in a file."""
    Path("n.jsonl").write_text("\n".join(json.dumps(ROWS[0]) for _ in range(3)), encoding="utf-8")
    title, header, *lines = typed("negation", "n.jsonl", "--seed", 2, "--meta", "m.json").out.splitlines()
    assert "largest F1" in title
    assert header.split() == ["head", "paper", "precision", "recall", "f1", "difference", "q", "n"]
    assert len(lines) == 18
    assert lines[15] == "… and 57 more; -o FILE writes them all"
    assert lines[16].startswith("baselines of the largest F1, which know the cue alone: ")
    assert lines[17].startswith("the head that is best on three quarters of the sentences, ")
    assert json.loads(Path("m.json").read_text())["seed"] == 2
    rows = pd.DataFrame(typed("negation", "n.jsonl", "--json").rows)
    assert tuple(rows.columns) == (*negation.COLUMNS, *negation.MORE)
    assert len(rows) == 3 * (72 + len(negation.BASELINES)) + 1
    rows = rows[rows["system"] == "head"]
    best = rows[rows["score"] == "f1"].sort_values("value", ascending=False).iloc[0]
    assert lines[0].split()[4] == f"{best['value']:.3f}"
    typed("negation", "n.jsonl", "-o", "n.nc")
    with xr.open_dataset("n.nc") as found:
        assert found["f1"].dims == ("layer", "head")


def test_negation_before_and_after(typed: Typed) -> None:
    """-m is the model after, --against the one before; the change is the first minus the second."""
    Path("n.jsonl").write_text("\n".join(json.dumps(ROWS[0]) for _ in range(3)), encoding="utf-8")
    typed("negation", "n.jsonl", "--untrained", 1, "--against", "demo", "-o", "both.csv", "--meta", "m.json")
    rows = pd.read_csv("both.csv")
    assert (rows["difference"] - (rows["after"] - rows["before"])).abs().max() < 1e-12
    meta = json.loads(Path("m.json").read_text())
    notes = [meta[when]["model"]["notes"] for when in ("before", "after")]
    assert notes == [[], ["untrained, seed 1"]]


@said_not_raised
def test_probe_prints_says_and_writes(typed: Typed) -> None:
    """The table says which vectors were used, stderr how many words have none and what stands for the root."""
    Path("train.conllu").write_text(TREES * 6 + BROKEN.removeprefix(TREES), encoding="utf-8")
    Path("glove.txt").write_text("cat 1 0\nsleeps 0 1\nthe 1 1\n", encoding="utf-8")
    common = ("probe", "train.conllu", "trees.conllu", "--epochs", 1, "--kind", "distance+words")
    typed.refuses("train.conllu:80: sentence a-3: expected a head from 0 to 1, found 7", *common, "--strict")
    common = (*common, "--kind", "right-branching", "--kind", "attention")
    printed = typed(*common)
    finding, small, header, *lines = printed.out.splitlines()
    assert finding.startswith("From the attention of all heads together a probe finds the head of ")
    assert small == "Too small to conclude from: trained on 12 sentences and scored on 2."
    assert header.split()[:5] == ["probe", "UAS", "UUAS", "control", "selectivity"]
    assert [line.split()[0] for line in lines[:3]] == ["right-branching", "distance+words", "attention"]
    assert "Trained on 12 sentences of train.conllu, scored on 7 words of 2 others" in printed.err
    assert (
        "left out 1 input of train.conllu:\n  train.conllu:80: sentence a-3: expected a head" in printed.err
    )
    found = typed(*common, "--vectors", "glove.txt", "--json", "--meta", "m.json")
    rows = {row["probe"]: row for row in json.loads(found.out)}
    assert [rows[name]["vectors"] for name in ("distance+words", "attention")] == ["glove.txt", ""]
    assert rows["attention"]["parameters"] == 4 * 72
    assert json.loads(Path("m.json").read_text())["vectors"]["size"] == 2
    typed(*common, "-o", "probes.csv")
    assert list(pd.read_csv("probes.csv")["probe"]) == list(rows)


@pytest.mark.parametrize(
    "arguments",
    [
        ["syntax", "trees.conllu"],
        ["coref", "--limit", "24"],
        ["negation", "n.jsonl"],
        ["compare", "models", "demo", "demo", "words.txt"],
        ["compare", "groups", "pairs.tsv", "--measures", "previous"],
        ["probe", "trees.conllu", "trees.conllu", "--kind", "right-branching"],
    ],
)
def test_an_estimate_and_nothing_else(typed: Typed, arguments: list[str]) -> None:
    Path("n.jsonl").write_text(json.dumps(ROWS[0]), encoding="utf-8")
    Path("words.txt").write_text("One line.\nAnother line.\n", encoding="utf-8")
    Path("pairs.tsv").write_text("label\ttext\na\tOne.\na\tTwo.\nb\tThree.\nb\tFour.\n", encoding="utf-8")
    options = ["--text-a", "text"] if "groups" in arguments else []
    found = typed(*arguments, *options, "--estimate", "-o", "none.csv")
    assert re.match(r"\d+ (sentence|input)s?, \d+ tokens.*: (at most )?about .* on cpu", found.out)
    assert len(found.out.splitlines()) == 1
    assert "of memory" in found.out
    assert not Path("none.csv").exists()
