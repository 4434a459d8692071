"""`headscope compare`: its files, what it prints, and bad usage."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from headscope.analyses.compare.groups import statistics as two_groups
from headscope.analyses.compare.inputs import run as two_inputs
from headscope.analyses.compare.models import statistics as two_models
from headscope.analyses.compare.roles import run as two_roles
from headscope.analyses.compare.training import run as compare_training
from tests.helpers.typed import Typed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("demo_at_hand")]

LINES = [
    "The cat sat on the mat.",
    "It was late.",
    "She sold the car.",
    "Rain fell on the town.",
    "They ran home.",
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{n % 2}\t{a}\t{b if n % 2 else a}"
        for n, (a, b) in enumerate(zip(LINES * 2, LINES[::-1] * 2, strict=True))
    ]
    Path("pairs.tsv").write_text("Quality\t#1 String\t#2 String\n" + "\n".join(rows), encoding="utf-8")
    Path("a.txt").write_text("\n\n".join(LINES[:3]), encoding="utf-8")
    Path("b.txt").write_text("\n\n".join(LINES * 2), encoding="utf-8")  # documents enough for roles
    return tmp_path


def test_groups(typed: Typed, place: Path) -> None:
    more = [
        "--measures", "a_to_b,same_word,sink", "--figure", "g.svg", "--view", "g.html", "--meta",
        "m.json",
    ]  # fmt: skip
    said = typed("compare", "groups", "pairs.tsv", "--label", "Quality", "-o", "g.csv", *more).err
    assert "pairs.tsv: A is 5 inputs labelled 0, " in said
    assert "sink: no row; the inputs have no row for the mean share" in said
    assert "in inputs of at least 128 tokens" in said
    rows = pd.read_csv("g.csv")
    assert tuple(rows.columns) == two_groups.COLUMNS
    assert set(rows["measure"]) == {"a_to_b"}  # same_word: one input in a group
    assert "A − B" in Path("g.svg").read_text(encoding="utf-8")
    assert "<html" in Path("g.html").read_text(encoding="utf-8")[:200]
    assert json.loads(Path("m.json").read_text())["effect"] == "Hedges' g"
    said = typed("compare", "groups", "pairs.tsv", "--measures", "a_to_b").out
    assert said.startswith(
        "No head can be found to differ: no p can be below 0.05 "
    )  # five documents in a group
    assert (
        "(72 heads, 1 measure; null: equal means, 20,000 bootstrap draws of 10 inputs within their group)"
        in said
    )


def test_models(typed: Typed, place: Path) -> None:
    more = ["--untrained", "0", "--measures", "previous", "--figure", "m.svg"]
    typed("compare", "models", "demo", "b.txt", "-o", "m.csv", "--roles", "r.csv", *more)
    rows = pd.read_csv("m.csv")
    assert tuple(rows.columns) == two_models.COLUMNS
    assert len(rows) == 72
    assert tuple(pd.read_csv("r.csv").columns) == two_roles.COLUMNS
    drawn = Path("m.svg").read_text(encoding="utf-8")
    assert "untrained, seed 0" in drawn
    said = typed("compare", "models", "demo", "demo", "b.txt", "--measures", "previous").out
    assert "the heads that moved most" in said
    assert "means of layers" in said


def test_models_of_other_shapes(typed: Typed, place: Path, shared: Path) -> None:
    stories = str(shared / "models" / "stories260K")
    said = typed("compare", "models", "demo", stories, "b.txt", "--json")
    assert "heads have no counterparts: compared by role" in said.err
    assert tuple(json.loads(said.out)[0]) == two_roles.BY_ROLE
    typed.refuses(
        "roles: expected at least 5 effective documents, found 2",
        "compare",
        "models",
        "demo",
        stories,
        "--limit",
        "4",
    )


def test_inputs(typed: Typed, place: Path) -> None:
    texts = ["inputs", "The cat sat.", "The dog sat."]
    typed("compare", *texts, "-o", "i.html")
    typed("compare", *texts, "-o", "i.csv", "--measures", "previous")
    assert tuple(pd.read_csv("i.csv").columns) == two_inputs.COLUMNS
    assert "cat / dog" in typed("compare", *texts).out
    longer = ["inputs", "The cat sat.", "The small cat sat."]
    typed.refuses("found 6 and 7; align them by word", "compare", *longer)
    typed("compare", *longer, "--align", "word", "-o", "w.svg")


def test_training(typed: Typed, place: Path) -> None:
    from headscope.core.demo import demo_folder

    for number in (2, 10):
        Path(f"runs/checkpoint-{number}").parent.mkdir(exist_ok=True)
        Path(f"runs/checkpoint-{number}").symlink_to(demo_folder(), target_is_directory=True)
    more = ["--measures", "previous,entropy", "--figure", "t.svg", "--meta", "t.json"]
    typed("compare", "training", "runs", "a.txt", "-o", "t.csv", *more)
    assert json.loads(Path("t.json").read_text())["corpus"]["name"] == "a.txt"
    rows = pd.read_csv("t.csv")
    assert tuple(rows.columns) == compare_training.COLUMNS
    assert rows["checkpoint"].unique().tolist() == ["checkpoint-2", "checkpoint-10"]
    assert "previous token" in Path("t.svg").read_text(encoding="utf-8")
    typed.refuses("or a folder with checkpoint-N folders", "compare", "training", "runs/checkpoint-2")
    typed.refuses(
        "training: expected a checkpoint before the texts, found a.txt",
        "compare",
        "training",
        "a.txt",
        "runs",
    )
