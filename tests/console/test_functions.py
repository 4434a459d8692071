"""Options read off functions: made-up ones, and those of the package as Python itself knows them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from headscope.analyses import analyses
from headscope.analyses.record import Analysis
from headscope.console import functions
from headscope.console.commands import Made
from headscope.console.functions import Parameter, check, documented, parameters, sentence, typed
from headscope.core.validation import hints_of
from headscope.errors import InputError

MADE = '''
from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch

from headscope.core.validation import Count, Level, Number, Seed
from headscope.other import Kind, LEAST

if TYPE_CHECKING:
    from headscope.models import Model

Precision = Literal["float32", "float64"]


def function(
    model: Model,
    corpus: torch.Tensor,
    *,
    count: Count = 8,
    number: Number | None = None,
    seed: Seed = 0,
    level: Level = 0.05,
    least: int = LEAST,
    share: float | None = None,
    flag: bool = False,
    name: str | None = None,
    either: str | int | None = None,
    place: str | os.PathLike[str] | None = None,
    file: Path | None = None,
    precision: Precision = "float32",
    kind: Kind | None = None,
    exact: Number | Literal["all"] = 20,
    names: Sequence[str | Model] | None = None,
    sizes: Sequence[int] = (256, 512),
    against: Model | None = None,
    **options: int,
) -> torch.Tensor:
    """Do it.

    Args:
        model: a model.
        corpus: of texts.
        count: how many there are, of ``these`` or
            `those`; all. Many are slow.
        seed, number: of the draw.
        other: that is handed on.

    Returns:
        count: none of the parameters.
    """
'''
OTHER = 'from typing import Literal\nKind = Literal["a", "b"]\nLEAST: int = 10 * 2\n'
UNPACKED = '''
from typing import Unpack
from headscope.analyses.options import CorpusOptions, with_options


@with_options(batch_size=16)
def function(model, *, rows: int = 2, **options: Unpack[CorpusOptions]):
    """Do it.

    Args:
        limit: of sentences.
    """
'''


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files of the package that are made up."""
    for name, text in {"made": MADE, "other": OTHER, "unpacked": UNPACKED}.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys.modules["headscope"], "__file__", str(tmp_path / "__init__.py"))
    caches = (parameters, functions._function, functions._statements)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


OPTION: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "count": (int, {}, 8),
    "number": (int, {}, None),
    "seed": (int, {}, 0),
    "level": (float, {}, 0.05),
    "least": (int, {}, 20),
    "share": (float, {}, None),
    "flag": (bool, {}, False),
    "name": (str, {}, None),
    "either": (str, {}, None),
    "place": (Path, {"metavar": "FILE"}, None),
    "file": (Path, {"metavar": "FILE"}, None),
    "precision": (Literal["float32", "float64"], {}, "float32"),
    "kind": (Literal["a", "b"], {}, None),
    "exact": (str, {"metavar": "K|all"}, 20),
    "names": (str, {"metavar": "A,B"}, None),
    "sizes": (str, {"metavar": "A,B"}, (256, 512)),
    "against": (str, {"metavar": "MODEL"}, None),
}


@pytest.mark.parametrize("name", OPTION)
def test_an_option_of_each_kind_of_parameter(name: str, made: None) -> None:
    parameter = parameters("headscope.made:function")[name]
    kind, more = typed(parameter.hint)
    assert (kind, more, parameter.default) == OPTION[name]
    assert parameter.keyword


def test_a_list_that_may_be_repeated(made: None) -> None:
    taken = parameters("headscope.made:function")
    assert typed(taken["sizes"].hint, repeatable=True) == (list[int], {})
    assert typed(taken["names"].hint, repeatable=True) == (list[str], {})


def test_nothing_that_an_annotation_names_is_loaded(made: None) -> None:
    taken = parameters("headscope.made:function")
    assert [name for name, each in taken.items() if not each.keyword] == ["model", "corpus"]
    assert taken["model"].default is inspect.Parameter.empty
    assert taken["model"].hint.__name__ == "Model"
    assert "headscope.made" not in sys.modules
    assert "headscope.other" not in sys.modules
    with pytest.raises(TypeError, match="no option is made of"):
        typed(taken["corpus"].hint)


def test_what_a_docstring_says(made: None) -> None:
    taken = parameters("headscope.made:function")
    assert sentence(taken["count"].doc) == "How many there are, of these or those; all."
    assert taken["seed"].doc == taken["number"].doc == "of the draw."
    assert taken["flag"].doc == sentence("") == ""
    assert documented("headscope.made:function")["other"] == "that is handed on."
    assert sentence("``row``: a row? Or two.") == "row: a row?"
    assert sentence("such as .svg or e.g. .png") == "Such as .svg or e.g. .png."


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("count", 0, "count: expected at least 1, found 0"),
        ("level", 1.0, "level: expected a number between 0 and 1, found 1.0"),
        ("seed", -1, "seed: expected a seed from 0 to 4294967295, found -1"),
    ],
)
def test_a_number_out_of_bounds(name: str, value: float, sentence: str, made: None) -> None:
    taken: Parameter = parameters("headscope.made:function")[name]
    with pytest.raises(InputError, match=f"^{sentence}$"):
        check(name, value, taken.hint)
    check(name, taken.default, taken.hint)


def test_options_of_a_run_that_a_decorator_makes(made: None) -> None:
    taken = parameters("headscope.unpacked:function")
    assert [*taken] == ["model", "rows", "batch_size", "limit", "engine", "progress"]
    assert taken["batch_size"].default == 16
    assert taken["batch_size"].doc == "inputs in a batch, at most; long ones come in fewer."
    assert (taken["limit"].default, taken["limit"].doc) == (None, "of sentences.")


COMMANDS = [analysis for analysis in analyses().values() if analysis.command]


@pytest.mark.slow
@pytest.mark.parametrize("analysis", COMMANDS, ids=lambda analysis: analysis.name)
def test_the_source_says_what_python_knows(analysis: Analysis) -> None:
    """Of every function of a command: names, defaults, and what options their types make."""
    made = Made(analysis)
    for path in made.functions:
        function = analysis.load(path)
        known = inspect.signature(function).parameters
        plain = {name: each for name, each in known.items() if each.kind is not each.VAR_KEYWORD}
        taken = parameters(analysis.full(path))
        assert [*taken] == [*plain], path
        assert {name: each.default for name, each in taken.items()} == {
            name: each.default for name, each in plain.items()
        }, path
        if analysis.full(path).startswith(f"headscope.analyses.{analysis.name}.run:"):
            hints = hints_of(function)
            own = [name for name, each in made.options.items() if each is taken.get(name) and name in hints]
            for name in own:
                assert typed(taken[name].hint) == typed(hints[name]), f"{path}: {name}"


@pytest.mark.parametrize("analysis", COMMANDS, ids=lambda analysis: analysis.name)
def test_every_option_says_what_it_is(analysis: Analysis) -> None:
    made = Made(analysis)
    names = {name for path in made.functions for name in parameters(analysis.full(path))}
    assert {*analysis.named, *analysis.metavars} <= names | {*made.writes}
    for name, annotation, _ in made._options():
        (option,) = annotation.__metadata__
        assert len(option.help or "") > 8, name
