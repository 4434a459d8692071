"""Commands of functions that are written for the command line, and what was typed of a group of options."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from headscope.console.groups import command, names_of, written
from headscope.console.options import ModelOptions
from headscope.console.sources import InputOptions, ReadingOptions
from headscope.core.validation import Count
from headscope.errors import InputError


@dataclass(frozen=True)
class Group:
    """Options."""

    name: Annotated[str | None, typer.Option("-n", "--name", help="A name.")] = None


def function(
    group: Group,
    text: str | None = None,
    *,
    count: Count = 1,
    flag: bool = False,
    output: Path = Path("a.svg"),
) -> None:
    """Do it.

    Args:
        group: of options.
        text: what is read.
        count: how many; all. By default one.
        flag: whether.
        output: where `it` goes.
    """
    raise RuntimeError(group.name, text, count, flag, output)


def test_options_of_a_signature_and_a_docstring() -> None:
    made: dict[str, Any] = {
        name: each.annotation.__metadata__[0]
        for name, each in inspect.signature(command(function)).parameters.items()
    }
    assert {name: option.help for name, option in made.items()} == {
        "name": "A name.",
        "text": "What is read.",
        "count": "How many; all. By default one.",
        "flag": "Whether.",
        "output": "Where it goes.",
        "as_json": made["as_json"].help,
    }
    assert made["text"].metavar == "TEXT"
    assert (names_of(made["flag"]), names_of(made["output"])) == (["--flag"], ["-o", "--output"])


def test_it_is_called_with_its_groups_and_numbers_in_bounds() -> None:
    given: dict[str, Any] = {"text": "a", "count": 2, "flag": True, "output": Path("b.svg")}
    with pytest.raises(RuntimeError) as called:
        command(function)(name="x", **given)
    assert called.value.args == ("x", "a", 2, True, Path("b.svg"))
    with pytest.raises(InputError, match=r"^count: expected at least 1, found 0$"):
        command(function)(name="x", **given | {"count": 0})


def test_what_was_typed_of_a_group() -> None:
    model = ModelOptions(model="gpt2", untrained=0, allow_unknown=True)
    assert written(model) == {"-m": "gpt2", "--untrained": "0", "--allow-unknown": ""}
    reading = ReadingOptions(pack=64, strict=True, distinct=True)
    assert written(reading) == {"--pack": "64", "--strict": "", "--distinct": ""}
    assert written(InputOptions()) == {}
