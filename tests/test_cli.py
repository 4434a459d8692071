"""The command line as a user types it: what it prints, what it writes, how it fails."""

from __future__ import annotations

import json
import re
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xarray as xr

from headscope.cli.app import commands
from tests.helpers import pages
from tests.helpers.small_models import save_bert
from tests.helpers.small_tokenizers import demo, listed
from tests.helpers.typed import Typed

pytestmark = pytest.mark.usefixtures("demo_at_hand")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(
        "The cat sat on the mat.\nIt was tired, so it slept.\n\nA dog barked at the moon all night.\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.slow
def test_check(typed: Typed) -> None:
    out = typed("check").out
    assert out.startswith("all-MiniLM-L6-v2: BertModel, 22,713,216 weights, torch.float32, by interface\n")
    assert "self: 6 layers × 12 heads, bidirectional" in out
    found = typed("check", "--json").rows
    assert found["parts"][0]["heads"] == [12] * 6
    assert found["vocabulary"] == {"tokenizer": 30522, "embedding": 30522, "beyond": []}
    assert found["english"]["unknown"] == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")
def test_check_says_that_a_tokenizer_is_another_models(typed: Typed, tmp_path: Path) -> None:
    save_bert(tmp_path, listed(tuple("CNO"), letters=True), vocab_size=591)
    out = typed("check", tmp_path).out
    said = "the tokenizer has 8 pieces, the model's embedding 591 rows: its vocabulary may be another's"
    assert f"  ??  {said}\n" in out
    assert re.search(r"\n  \?\?  [\d,]+ of [\d,]+ pieces \(99\.\d %\) of an English sample are unknown", out)
    last = typed("measure", "-m", tmp_path, "--measures", "previous", code=2).err.splitlines()[-1]
    assert "built-in corpus: " in last
    assert "expected at most 20 %: give text that it knows, or say --allow-unknown" in last


def test_measure_prints_a_table(typed: Typed, text: Path) -> None:
    lines = typed("measure", text).out.splitlines()
    assert lines[0].split()[:4] == ["head", "paper", "previous", "current"]
    assert lines[1].split()[:2] == ["L0H0", "1-1"]
    assert len(lines) == 73


@pytest.mark.slow
def test_measure_writes_a_table_and_figures(typed: Typed, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "heads.csv"
    words = "measure", text, "--measures", "previous,offset-2", "--by", "document"
    assert typed(*words, "-o", out, "--meta", tmp_path / "meta.json").out == ""
    table = pd.read_csv(out, dtype={"paper": str})
    assert list(table.columns)[:7] == ["layer", "head", "paper", "measure", "value", "se", "n"]
    assert set(table["measure"]) == {"previous", "offset-2"}
    assert [row["value"] for row in typed(*words, "--json").rows] == pytest.approx(
        table["value"].tolist(), abs=1e-8
    )
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta["model"]["name"] == "all-MiniLM-L6-v2"
    assert meta["corpus"]["documents"] == 2
    assert meta["command"].startswith("headscope measure ")
    typed("measure", text, "-o", tmp_path / "heads.nc")
    with xr.open_dataset(tmp_path / "heads.nc") as found:
        assert found["previous"].dims == ("layer", "head")


def test_absent_measures_are_said(typed: Typed, shared: Path, text: Path) -> None:
    found = typed("measure", text, "-m", shared / "models" / "stories260K")
    assert "next: no row; " in found.err
    assert "next" not in found.out.splitlines()[0].split()


@pytest.mark.slow
def test_roles(typed: Typed, text: Path, tmp_path: Path) -> None:
    line = text.read_text(encoding="utf-8")
    first = line.splitlines()[0]
    text.write_text("\n\n".join(f"{name} said so.\n{first}" for name in "ABCDEFGHIJ"))
    printed = typed("roles", text, "--meta", tmp_path / "meta.json")
    finding, header, *_ = printed.out.splitlines()
    assert re.search(r"\d+ of 72 heads? ha(s|ve) a role: .*previous token L0H2 \(", finding)
    assert header.split()[:4] == ["head", "paper", "role", "score"]
    assert re.search(r"\nL0H2 +1-3 +previous token ", printed.out)
    assert re.search(r"\n\d+ roles not tested: .*\binduction\b", printed.out)
    assert json.loads((tmp_path / "meta.json").read_text())["command"].startswith("headscope roles")
    assert typed("roles", text, "-o", tmp_path / "roles.csv").out == ""
    found = pd.read_csv(tmp_path / "roles.csv", dtype={"paper": str})
    assert len(found.groupby(["layer", "head"])) == 72
    assert set(found[(found["layer"] == 0) & (found["head"] == 2)]["role"]) == {"previous token"}
    typed.refuses("level: expected a number between 0 and 1, found 2.0", "roles", text, "--level", "2")
    typed("roles", text, "-o", "roles.nc", code=2)


def test_gradients_of_an_objective(typed: Typed, text: Path) -> None:
    text.write_text("The cat sat on the mat.\nIt was tired, so it slept.\n", encoding="utf-8")
    names = "gradient_sep,norm_sep,sep"
    options = ("--measures", names, "--objective", "cosine", "--json")
    rows = typed("measure", text, *options).rows
    assert {row["measure"] for row in rows} == set(names.split(","))
    assert {row["measure"] for row in rows if row["chance"] is None} == {"gradient_sep", "norm_sep"}
    typed.refuses("objective: expected natural, masked-lm", "measure", text, *options[:3], "loss")
    typed.refuses("rows of gradients do not sum to 1", "measure", text, "--measures", "gradient_entropy")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".html", ".pdf"])
def test_view(typed: Typed, suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"view{suffix}"
    assert (
        str(out)
        in typed("view", "The cat sat.", "It was tired.", "--view", "head", "--head", "L1H8", "-o", out).out
    )
    assert out.stat().st_size > 4000
    typed.refuses("layer", "view", "The cat sat.", "--layer", 9, "-o", out)


@pytest.mark.slow
def test_view_beside_another_model(typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    page, column, inches = tmp_path / "both.html", tmp_path / "column.svg", tmp_path / "inches.svg"
    options = ("--untrained", 0, "--against", "demo", "--layer", 1, "--heads", "0,3")
    typed("view", "The cat sat.", *options, "--open", "-o", page)
    assert opened == [page.as_uri()]
    (payload,) = pages.payload(page.read_text("utf-8"))["views"]
    expected = ["all-MiniLM-L6-v2, untrained, seed 0", "all-MiniLM-L6-v2"]
    assert [one["label"] for one in payload["inputs"]] == expected
    state = payload["state"]
    assert (state["scale"], state["layer"], state["heads"]) == ("head", 1, [0, 3])
    for path, width in ((column, "column"), (inches, 5)):
        options = ("--against", "demo", "--view", "head", "--width", width)
        typed("view", "The cat sat.", *options, "-o", path)
    widths = [re.search(r'<svg [^>]*width="([\d.]+)"', path.read_text("utf-8")) for path in (column, inches)]
    assert [float(found[1]) / 96 for found in widths if found] == pytest.approx([3.3, 5], abs=0.01)


def test_the_help_of_a_command_fits_a_screen_and_help_all_describes_every_option(typed: Typed) -> None:
    for words, command in each_command(commands()):
        lines = typed(*words, "--help").out.splitlines()
        assert len(lines) <= 50, words
        assert "[[" not in lines[0]
        every = typed(*words, "--help-all").out
        for option in (one for one in command.params if one.param_type_name == "option" and not one.hidden):
            assert re.search(rf"{max(option.opts, key=len)}\b", "\n".join(lines)), (words, option.opts)
            assert option.help.split()[0] in every.partition(max(option.opts, key=len))[2], (
                words,
                option.opts,
            )


def each_command(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from each_command(command, (*words, name))
        elif not command.hidden:
            yield (*words, name), command


def test_a_line_of_a_log_is_replayed(typed: Typed, shared: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        '{"prompt_token_ids": [1, 403], "token_ids": [407, 261]}\n\n{"prompt_token_ids": [99999]}\n'
    )
    page = tmp_path / "page.html"
    model = ["-m", str(shared / "models" / "stories260K")]
    printed = typed("view", str(log), "--replay", *model, "-o", str(page))
    assert page.stat().st_size > 10_000
    assert "a server's kernels and number formats may differ" in printed.err
    for line, found in (("3", ":3: ids[0]: expected an id below"), ("2", "--line: expected a line of")):
        typed.refuses(found, "view", str(log), "--replay", "--line", line, *model, "-o", str(page))
    typed.refuses("expected --replay with it", "view", "A text", "--line", "2", *model, "-o", str(page))


@pytest.mark.parametrize("more", [{}, {"pair": "It slept."}])
def test_view_puts_a_model_into_a_page_with_its_texts(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, more: dict[str, str]
) -> None:
    asked: list[object] = []
    monkeypatch.setattr("headscope.live.standalone.carry", lambda _, given, **__: asked.append(given))
    texts = ["A cat sat.", *more.values()]
    typed("view", *texts, "--live", "-o", tmp_path / "page.html")
    assert asked == [{"text": "A cat sat.", **more}]
    assert (tmp_path / "page.html").exists()


def test_check_takes_a_model_by_either_way(typed: Typed, tmp_path: Path) -> None:
    save_bert(tmp_path / "bert", demo(), vocab_size=len(demo()))
    for arguments in ((tmp_path / "bert",), ("-m", tmp_path / "bert")):
        assert typed("check", *arguments).out.startswith("bert: BertModel, ")
    typed.refuses("-m: expected one model, found other beside ", "check", tmp_path / "bert", "-m", "other")
