"""Options from functions: the signature, the annotations and the docstring of what a command runs say what it takes.

They are read off the source, not off the function: its module may load torch, and a help text is to come at once.
What is loaded already is asked itself.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, Unpack, get_args, get_origin

from headscope.analyses import analyses
from headscope.analyses.options import with_options
from headscope.core.lazy import attribute, module
from headscope.core.types import AnyDict
from headscope.core.validation import Expected, expect


class Parameter(NamedTuple):
    """One parameter of a function, as its source says it.

    Attributes:
        name: its name.
        hint: its annotation. Classes that need not be loaded are empty ones of their name.
        default: its default, or `inspect.Parameter.empty`.
        keyword: whether it stands behind the ``*``.
        doc: what the docstring says of it.
    """

    name: str
    hint: Any
    default: Any
    keyword: bool
    doc: str


def check(name: str, value: object, hint: Any) -> None:
    """Raise `InputError` for a number that an annotation does not allow."""
    if isinstance(value, int | float) and any(expected for _, expected in _kinds(hint)):
        expect(name, value, hint)


@cache
def parameters(path: str) -> Mapping[str, Parameter]:
    """The parameters of a function by their names; `path` is such as ``headscope.analyses.distance.run:distance``."""
    function, docs = _function(path), documented(path)
    return {
        name: Parameter(
            name,
            function.__annotations__.get(name),
            taken.default,
            taken.kind is taken.KEYWORD_ONLY,
            docs.get(name, ""),
        )
        for name, taken in inspect.signature(function).parameters.items()
        if taken.kind is not taken.VAR_KEYWORD
    }


def documented(path: str) -> Mapping[str, str]:
    """What the docstring of a function says of its parameters, also of those that it hands on."""
    return described(inspect.getdoc(_function(path)) or "")


def defined(module: str) -> set[str]:
    """The names of the functions in a module; none where there is no such file."""
    return {node.name for node in _statements(module) if isinstance(node, ast.FunctionDef)}


@cache
def _function(path: str) -> Callable[..., Any]:
    """A function of the signature and the docstring that stand in the source, and of the options of a run."""
    module, _, name = path.partition(":")
    node = copy(
        next(one for one in _statements(module) if isinstance(one, ast.FunctionDef) and one.name == name)
    )
    added = {
        str(word.arg): _value(word.value, module)
        for call in node.decorator_list
        if isinstance(call, ast.Call)
        for word in call.keywords
    }
    node.body, node.decorator_list, node.returns = node.body[:1], [], None
    names = _names(node.args, module)
    exec(compile(ast.Module([node], []), module, "exec", dont_inherit=True), names)
    made: Callable[..., Any] = names[name]
    rest = [hint for hint in made.__annotations__.values() if get_origin(hint) is Unpack]
    return with_options(**added)(made) if rest else made


@cache
def described(docstring: str) -> Mapping[str, str]:
    """What the section ``Args:`` (or ``Attributes:``) of a docstring says of each parameter.

    >>> described("Do it.\\n\\nArgs:\\n    a, b: how many\\n        of these.\\n    c: ``x`` or y.\\n\\nMore.")
    {'a': 'how many of these.', 'b': 'how many of these.', 'c': '``x`` or y.'}
    """
    sections = re.findall(r"^(?:Args|Attributes):\n((?: .*\n?)+)", docstring, re.MULTILINE)
    entries = re.findall(r"^    (\S.*?): (.*(?:\n {8}.*)*)", "".join(sections), re.MULTILINE)
    return {
        name.strip("* "): " ".join(text.split())
        for names, text in entries
        for name in names.partition(" (")[0].split(",")
    }


@cache
def metavars(docstring: str) -> Mapping[str, str]:
    """What stands for values, where a docstring says so behind the name.

    >>> metavars("Do it.\\n\\nArgs:\\n    a: how many.\\n    b (FOLDER): where (or not): there.")
    {'b': 'FOLDER'}
    """
    return dict(re.findall(r"^    (\w+) \((\S+)\): ", docstring, re.MULTILINE))


def sentence(text: str) -> str:
    """The first sentence of a text, without marks of code, for a line of help.

    >>> sentence("such as ``5.1`` or `Head`; by default all. They have to be there.")
    'Such as 5.1 or Head; by default all.'
    """
    return plain(re.split(r"(?<=[.?!]) (?=[A-Z`])", text, maxsplit=1)[0])


def plain(text: str) -> str:
    """A text without marks of code, from a capital letter to a full stop."""
    words = re.sub(r"`+([^`]*)`+", r"\1", text)
    words = words if text.startswith("`") else words[:1].upper() + words[1:]
    return words if not words or words[-1] in ".?!" else f"{words}."


def typed(hint: Any, *, repeatable: bool = False) -> tuple[Any, AnyDict]:
    """What Typer reads for an annotation, and what stands for a value, where it would not say it.

    A list is typed as ``A,B``, or is `repeatable`. Of several kinds a path goes first, and a string next.

    >>> from headscope.core.validation import Count, Seed
    >>> typed(Seed | None)
    (<class 'int'>, {})
    >>> typed(Count | Literal["all"])
    (<class 'str'>, {'metavar': 'K|all'})
    """
    kinds = [kind for kind, _ in _kinds(hint) if kind not in (None, type(None))]
    words = tuple(word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind))
    plain = [kind for kind in kinds if get_origin(kind) is not Literal]
    if words and plain:
        return str, {"metavar": "|".join(["K", *words])}
    if words:
        return Literal[words], {}  # type: ignore[valid-type]
    named = {getattr(kind, "__name__", "") for kind in plain}
    if named & {"Path", "PathLike"}:
        return Path, {"metavar": "FILE"}
    if str in plain:
        return str, {}
    if "Model" in named:
        return str, {"metavar": "MODEL"}
    for kind in plain:
        if kind in (bool, int, float):
            return kind, {}
        if get_origin(kind) is not None:
            inner, more = typed(get_args(kind)[0])
            return (list[inner], more) if repeatable else (str, {"metavar": "A,B"})
    raise TypeError(f"no option is made of {hint}")


def optional(hint: Any) -> bool:
    """Whether an annotation allows None."""
    return any(kind is type(None) for kind, _ in _kinds(hint))


def several(hint: Any) -> bool:
    """Whether an annotation allows a list of texts or files.

    >>> several(Path | Sequence[Path]), several(str | tuple[str, str])
    (True, False)
    """
    lists = [kind for kind, _ in _kinds(hint) if get_origin(kind) in (list, Sequence)]
    return any(part in (str, Path) for kind in lists for part, _ in _kinds(get_args(kind)[0]))


def _kinds(hint: Any, expected: Expected | None = None) -> Iterator[tuple[Any, Expected | None]]:
    """The types that an annotation allows, each with what else is expected of it."""
    if get_origin(hint) is Annotated:
        kind, more = get_args(hint)[:2]
        yield from _kinds(kind, more if isinstance(more, Expected) else expected)
    elif get_origin(hint) in (Union, types.UnionType):
        for part in get_args(hint):
            yield from _kinds(part, expected)
    else:
        yield hint, expected


class _Foreign(type):
    """The type of what is not loaded: a class of that name, or a module of such classes."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _named(name, f"{cls.__module__}.{cls.__name__}")

    def __getitem__(cls, _: Any) -> Any:
        return cls


def _value(node: ast.expr, module: str) -> Any:
    """What an expression of the source gives."""
    return eval(compile(ast.Expression(node), module, "eval"), _names(node, module))


def _names(node: ast.AST, module: str) -> AnyDict:
    """What the names in a part of the source mean."""
    return {name.id: _named(name.id, module) for name in ast.walk(node) if isinstance(name, ast.Name)}


def _named(name: str, place: str) -> Any:
    """What a name means in a module of headscope or of a plug-in, of which only what is of Python itself is loaded."""
    for there in (sys.modules.get(place), builtins):
        if hasattr(there, name):
            return getattr(there, name)
    for node in _statements(place):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(ast.unparse(target) == name for target in targets):
                return _value(node.value, place)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for given in node.names:
                if (given.asname or given.name) == name:
                    source = getattr(node, "module", "")
                    if (source or name).split(".")[0] not in sys.stdlib_module_names:
                        return _named(given.name, source or name)
                    return attribute(f"{source}:{given.name}") if source else module(given.name)
    return _Foreign(name, (), {"__module__": place})


@cache
def _statements(module: str) -> Sequence[ast.stmt]:
    """The statements of a module of headscope, or of a plug-in, those for types only as well; of any other none."""
    package, *names = module.split(".")
    if package not in {record.package.split(".")[0] for record in analyses().values()}:
        return ()
    place = Path(str(sys.modules[package].__file__)).parent.joinpath(*names)
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not file.is_file():
        return ()
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return [
        *body,
        *(inner for statement in body if isinstance(statement, ast.If) for inner in statement.body),
    ]
