"""The options of runs: said once, and keyword arguments of every function that takes them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Unpack, get_type_hints

import pytest

import headscope as hs
from headscope.analyses.options import BlockOptions, CorpusOptions, with_options
from headscope.errors import InputError
from headscope.runs.options import RunOptions

ALL = tuple(each.name for each in fields(RunOptions))
FUNCTIONS: list[Callable[..., Any]] = [
    hs.measure, hs.distance, hs.links, hs.syntax, hs.coreference, hs.negation, hs.probe, hs.roles, hs.patching, hs.compare.models,
    hs.compare.groups, hs.compare.roles, hs.retrieval, hs.alignment_heads, hs.artefacts, hs.contribution.importance,
    hs.contribution.ablation, hs.contribution.unused_token,
]  # fmt: skip


def described(function: Callable[..., Any]) -> list[str]:
    """The arguments that a docstring describes."""
    lines = re.findall(r"^ {4}(\w[\w, ]*): ", inspect.getdoc(function) or "", re.MULTILINE)
    return [name for line in lines for name in line.split(", ")]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_function_lists_and_describes_its_options(function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters
    taken = {name for name in ALL if name in parameters}
    assert "progress" in taken
    assert not any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    for name in taken:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert name == "batch_size" or parameters[name].default == getattr(RunOptions(), name)
    hints = get_type_hints(function, include_extras=True)
    of_options = get_type_hints(RunOptions, include_extras=True)
    assert {name: hints[name] for name in taken} == {name: of_options[name] for name in taken}
    assert all(described(function).count(name) == 1 for name in parameters)
    assert not {name for name in described(function) if name in ALL} - taken


def test_the_types_are_those_of_the_options() -> None:
    assert (
        get_type_hints(BlockOptions, include_extras=True).items()
        == get_type_hints(RunOptions, include_extras=True).items()
    )


@with_options(batch_size=4)
def read(corpus: str, *, more: int = 0, **options: Unpack[CorpusOptions]) -> RunOptions:
    """Read.

    Args:
        corpus: what.
        limit, more: two
            lines.

    Returns:
        The options.
    """
    return RunOptions(**options)


def test_what_is_not_given_has_its_default() -> None:
    assert read("a") == RunOptions(batch_size=4)
    assert read("a", limit=2, batch_size=3, more=1) == RunOptions(batch_size=3, limit=2)
    doc = inspect.getdoc(read)
    assert [line.split(":")[0].strip() for line in doc.splitlines()[3:-3]] == [
        "corpus",
        "limit, more",
        "lines.",
        "batch_size",
        "engine",
        "`distributed.Client`, or one of `headscope.engines`; by default this process (docs/streams.md).",
        "progress",
    ]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"limit": 0}, InputError, "limit: expected at least 1, found 0"),
        ({"limit": "3"}, InputError, "limit: expected a whole number, found '3'"),
        ({"progress": 1}, InputError, "progress: expected True or False, found 1"),
        ({"more": "x"}, InputError, "more: expected a whole number, found 'x'"),
        ({"shard": "1/2"}, TypeError, r"read\(\) got an unexpected keyword argument 'shard'"),
        ({"nothing": 1}, TypeError, r"read\(\) got an unexpected keyword argument 'nothing'"),
    ],
)
def test_what_is_wrong_is_refused(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        read("a", **given)


@pytest.mark.slow
def test_an_estimate_is_of_the_same_arguments(demo: Any) -> None:
    corpus = hs.corpora.builtin()
    for function in (hs.measure, hs.distance):
        line = function.estimate(demo, corpus, limit=3, batch_size=2)
        assert re.fullmatch(
            r"3 inputs, \d+ tokens: about \d+ s on cpu and .* GB of memory, whatever the size .*", line
        )
        assert [*inspect.signature(function.estimate).parameters] == [*inspect.signature(function).parameters]
        with pytest.raises(InputError, match="limit: expected at least 1, found 0"):
            function.estimate(demo, corpus, limit=0)
        with pytest.raises(InputError, match="corpus: expected a corpus, found an empty list"):
            function.estimate(demo, [])
