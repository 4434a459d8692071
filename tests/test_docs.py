"""The documentation: every block of code runs and prints what the page shows. `make docs` builds the site."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import io
import re
import shlex
import sys
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from offline_site import faults

import headscope as hs
from headscope import cli
from headscope.cli.app import SECTIONS, commands
from headscope.corpora import readers
from headscope.corpora.files import Line
from headscope.errors import HeadscopeWarning
from tests.helpers.docs_blocks import Block, blocks, missing
from tests.helpers.forked import forked
from tests.helpers.once import share_roles
from tests.helpers.quoted import figures, quotes

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = {str(page.relative_to(ROOT)): blocks(page, ROOT) for page in PAGES}
RUN = sorted(
    page
    for page, found in BLOCKS.items()
    if any(each.kind in ("python", "console") and not each.reason for each in found)
)

QUOTING = ["README.md", "docs/tour.md", *(page for page in BLOCKS if page.startswith("docs/questions/"))]
"""Pages whose prose rests on what their own code prints."""

LESS = {  # test_cli_report makes a whole one
    "report": ["--limit", "4", "--sections", "figures", "--examples", "1"],
    "bench": ["--limit", "8"],
}

MEASURES = "docs/measures.md"  # is written by a tool and speaks of any model and corpus


@pytest.mark.parametrize("page", BLOCKS)
def test_blocks_are_of_known_kinds(page: str) -> None:
    for block in BLOCKS[page]:
        assert block.kind in ("python", "console", "text", "bibtex", "json", "toml", ""), (
            f"{block.name}: {block.kind!r}"
        )
        if block.kind not in ("python", "console"):
            assert not block.reason, f"{block.name}: only code can be left out"
            hidden = [line for line in block.lines if re.match(r"(\$|headscope) ", line)]
            assert not hidden, f"{block.name}: commands belong in a console block: {hidden[0]}"


@pytest.mark.parametrize("page", BLOCKS)
def test_commands_parse(page: str) -> None:
    """All of them, those that are not run too."""
    for block in BLOCKS[page]:
        if block.kind == "console":
            for command, _ in block.commands():
                check_command(command, block.name)


@pytest.mark.parametrize("page", BLOCKS)
def test_python_that_is_not_run_calls_what_exists(page: str) -> None:
    for block in BLOCKS[page]:
        if block.kind == "python" and block.reason:
            for call in ast.walk(ast.parse("\n".join(block.lines))):
                if isinstance(call, ast.Call):
                    check_call(call, block.name)


@pytest.mark.parametrize("page", BLOCKS)
def test_what_prose_names_is_there(page: str) -> None:
    """Options, of the command where one is named, public names, and in ``<kbd>`` what a page of headscope shows."""
    prose = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    for code in re.findall(r"`([^`]+)`", prose):
        words = code.split()
        if words[0] not in ("apt-get", "dask", "nbconvert", "pip", "python"):
            known = options(commands(), words[1:] if words[0] == "headscope" else [])
            assert {word for word in words if re.fullmatch(r"--[a-z-]+", word)} <= known, code
    for name in re.findall(r"\bhs\.([\w.]*\w)", prose):
        functools.reduce(getattr, name.split("."), hs)
    for name in re.findall(r"<kbd>(.*?)</kbd>", prose):
        assert re.search(rf'"{re.escape(name)}[":]', shown_by_pages()), name


def options(command: Any, words: list[str]) -> set[str]:
    """The options of the command that words lead to, and of those below it."""
    inner = getattr(command, "commands", {})
    if words and words[0] in inner:
        return options(inner[words[0]], words[1:])
    named = (option for each in command.params for option in [*each.opts, *each.secondary_opts])
    return {"--help", "--help-all", *named}.union(*(options(each, []) for each in inner.values()))


@functools.cache
def shown_by_pages() -> str:
    """The front end's code, without comments."""
    files = (ROOT / "frontend" / "src").rglob("*.ts")
    return "\n".join(re.sub(r"//.*|/\*.*?\*/", "", file.read_text(encoding="utf-8")) for file in files)


def test_the_help_has_every_command_once_and_its_examples_parse() -> None:
    shown = [name for name, each in commands().commands.items() if not each.hidden]
    said = commands().get_help(commands().make_context("headscope", ["--help-all"], resilient_parsing=True))
    listed = re.findall(r"^  ([a-z]+)  ", said.partition("Look:")[2], re.MULTILINE)
    assert sorted(listed) == sorted(shown)
    for _, example in SECTIONS.values():
        check_command(example, "headscope --help")


def check_command(command: str, where: str) -> None:
    words = shlex.split(command, comments=True)
    if words[0] == "headscope":
        parse(commands(), words, where)
    elif words[0] == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{re.escape(words[1])}:", makefile, re.MULTILINE), (
            f"{where}: no target {words[1]}"
        )
    elif words[:2] == ["pip", "install"]:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = project["optional-dependencies"]
        what = next(word for word in words[2:] if not word.startswith("-"))
        if named := re.fullmatch(r"(?:headscope|\.)(?:\[([\w-]+(?:,[\w-]+)*)\])?", what):
            assert set((named[1] or "demo").split(",")) <= set(extras), f"{where}: {command}"
        else:
            needed = [*project["dependencies"], *extras["demo"]]
            ours = any(each == what or each.startswith(f"{what}>=") for each in needed)
            # What no extra names, as its own dependencies are not wanted, is installed so by make.
            alone = f"--no-deps {what}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
            assert ours or ("--no-deps" in words and alone), f"{where}: {command}"
    else:
        pytest.fail(f"{where}: a command that no test knows: {command}")


def parse(command: Any, words: list[str], where: str) -> None:
    """Fail where the command line does not take these words."""
    try:
        context = command.make_context(words[0], words[1:])
        while hasattr(context.command, "resolve_command"):
            rest = [*context._protected_args, *context.args]
            name, inner, rest = context.command.resolve_command(context, rest)
            context = inner.make_context(name, rest, parent=context)
    except click.exceptions.Exit:
        pass  # --help
    except Exception as error:
        pytest.fail(f"{where}: {' '.join(words)}: {error}")


def check_call(call: ast.Call, where: str) -> None:
    name = ast.unparse(call.func)
    if not re.fullmatch(r"hs(\.\w+)+", name):
        return
    try:
        found = functools.reduce(getattr, name.split(".")[1:], hs)
    except AttributeError as error:
        pytest.fail(f"{where}: {error}")
    inspect.signature(found).bind_partial(
        *call.args, **{each.arg: None for each in call.keywords if each.arg is not None}
    )


@pytest.mark.parametrize("page", QUOTING)
def test_what_a_page_quotes_is_shown_beside_it(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for prose in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        shown = re.findall(r"```.*?```|^\|[^\n]*$", prose, flags=re.DOTALL | re.MULTILINE)
        there = figures("\n".join(shown))
        assert [quote.text for quote in quotes(prose) if not quote.in_(there)] == [], prose


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_a_page_runs(
    page: str, workspace: Path, demo: Any, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_roles(built, monkeypatch.setattr)
    space: dict[str, Any] = {"__name__": "__main__"}
    if not any(shows_figures(block) for block in BLOCKS[page] if not block.reason):
        few = (workspace / "wiki.txt").read_text(encoding="utf-8").split("\n")
        lines = [Line("builtin.txt", number, line) for number, line in enumerate(few, 1)]
        monkeypatch.setattr(readers, "packaged", lambda _: lines)  # the built-in corpus, cut
    if page == MEASURES:
        space |= {"model": demo, "corpus": hs.corpora.texts(["The cat sat. It slept.", "We like the cats."])}
    for block in BLOCKS[page]:
        if block.reason:
            continue
        with forked():
            if block.kind == "python":
                run_python(block, space)
            elif block.kind == "console":
                for command, shown in block.commands():
                    run_command(command, shown, block.name, workspace, monkeypatch)


def shows_figures(block: Block) -> bool:
    """Whether the page shows a figure that comes out of it: a number with decimals."""
    shown = block.shown if block.kind == "python" else block.lines
    return any(re.search(r"\d\.\d", line) for line in shown if not line.startswith("$"))


def run_python(block: Block, space: dict[str, Any]) -> None:
    with spoken() as (out, _):
        exec(compile(block.code, block.page, "exec"), space)
    lost = missing(block.shown, out.getvalue())
    assert not lost, f"{block.name} shows\n" + "\n".join(lost) + "\nbut printed\n" + out.getvalue()


def run_command(
    command: str, shown: list[str], where: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(command, comments=True)
    assert words[0] == "headscope", f"{where}: say why this is not run: {command}"
    words = [found for word in words for found in expanded(word, folder)] + LESS.get(words[1], [])
    monkeypatch.setattr(sys, "argv", words)
    with spoken() as (out, err), pytest.raises(SystemExit) as left:
        cli.main()
    came = f"{out.getvalue()}\n{err.getvalue()}"
    wrong = 2 if shown and shown[0].startswith("headscope: ") else 0
    assert left.value.code == wrong, f"{where}: {command}\n{came}"
    lost = missing(shown, out.getvalue(), err.getvalue())
    assert not lost, f"{where} shows\n" + "\n".join(lost) + f"\nbut {command} printed\n{came}"


def expanded(word: str, folder: Path) -> list[str]:
    """What a shell makes of a pattern."""
    return sorted(str(path.relative_to(folder)) for path in folder.glob(word)) if "*" in word else [word]


@contextlib.contextmanager
def spoken() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    out, err = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(action="ignore"),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("default", HeadscopeWarning)
        yield out, err


def test_a_page_that_needs_a_network_or_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    """`make docs` looks through the whole site."""
    (tmp_path / "sub").mkdir()
    style = '<link rel="stylesheet" href="{}a.css"><link rel="canonical" href="https://a.example/">'
    good = {
        "a.css": "a { background: url(b.png) }",
        "404.html": style.format("/"),
        "sub/index.html": style.format("../") + '<script src="../a.css?v=1"></script>',
    }
    for name, text in good.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(faults(tmp_path)) == []
    (tmp_path / "bad.css").write_text("a { background: url('//a.example/b.png') }", encoding="utf-8")
    (tmp_path / "bad.html").write_text('<img src="none.png"><script src="https://a.example/b.js"></script>')
    (tmp_path / "empty.html").write_text("<p>Text</p>", encoding="utf-8")
    assert list(faults(tmp_path)) == [
        "bad.html: no none.png",
        "bad.html fetches https://a.example/b.js",
        "empty.html has no style and no script",
        "bad.css fetches from the network",
    ]


def test_the_readme_links_to_what_exists() -> None:
    links = re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 5
    for link in links:
        assert link.startswith("https://") or (ROOT / link).exists(), link
