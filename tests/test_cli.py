"""The command line as a user types it: what it prints, what it writes, how it fails."""

from __future__ import annotations

import re
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headscope.analyses.compare.roles.run import BY_ROLE
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


def test_absent_measures_are_said(typed: Typed, shared: Path, text: Path) -> None:
    found = typed("measure", text, "-m", shared / "models" / "stories260K")
    assert "next: no row; " in found.err
    assert "next" not in found.out.splitlines()[0].split()


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


@pytest.mark.slow
def test_models_of_other_shapes_are_compared_by_role(typed: Typed, shared: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n\n".join(f"{name} said so." for name in "ABCDEFGHIJ"))
    command = typed.of("compare", "models", "demo", shared / "models" / "stories260K")
    said = command(tmp_path / "a.txt", "--json")
    assert "heads have no counterparts: compared by role" in said.err
    assert tuple(said.rows[0]) == BY_ROLE
    command.refuses("roles: expected at least 5 effective documents, found 2", "--limit", 4)
