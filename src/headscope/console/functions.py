"""Options from functions: the signature, the annotations and the docstring of what a command runs say what it takes.

They are read off the source, not off the function: its module may load torch, and a help text is to come at once.
What is loaded already is asked itself.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from headscope.analyses import analyses
from headscope.core.validation import Expected, expect


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function, as its source says it.

    Attributes:
        name: its name.
        keyword: whether it stands behind the ``*``.
        doc: what the docstring says of it.
    """

    name: str
    keyword: bool
    doc: str
    _hint: Callable[[], Any]
    _default: Callable[[], Any]

    @cached_property
    def hint(self) -> Any:
        """Its annotation. Classes that need not be loaded are empty ones of their name."""
        return self._hint()

    @cached_property
    def default(self) -> Any:
        """Its default, or `inspect.Parameter.empty`."""
        return self._default()

    def check(self, value: object) -> None:
        """Raise `InputError` for a number that the annotation does not allow."""
        check(self.name, value, self.hint)


def check(name: str, value: object, hint: Any) -> None:
    """Raise `InputError` for a number that an annotation does not allow."""
    if isinstance(value, int | float) and any(expected for _, expected in _kinds(hint)):
        expect(name, value, hint)


@cache
def parameters(path: str) -> Mapping[str, Parameter]:
    """The parameters of a function by their names; `path` is such as ``headscope.analyses.distance.run:distance``."""
    node, docs, names = _function(path), documented(path), _Names(path.partition(":")[0])
    given = node.args
    before = [*given.posonlyargs, *given.args]
    ends: list[ast.expr | None] = [*[None] * (len(before) - len(given.defaults)), *given.defaults]
    rows = [*zip(before, ends, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    named = [
        Parameter(
            argument.arg,
            place >= len(before),
            docs.get(argument.arg, ""),
            partial(_value, argument.annotation, names, Any),
            partial(_value, default, names, inspect.Parameter.empty),
        )
        for place, (argument, default) in enumerate(rows)
    ]
    return {parameter.name: parameter for parameter in (*named, *_unpacked(node, docs, names))}


def _unpacked(node: ast.FunctionDef, docs: Mapping[str, str], names: _Names) -> Iterator[Parameter]:
    """What ``**options: Unpack[Kind]`` takes: fields of the `RunOptions` beside it, with a decorator's defaults."""
    kind = node.args.kwarg.annotation if node.args.kwarg else None
    if not isinstance(kind, ast.Subscript) or ast.unparse(kind.value) != "Unpack":
        return
    name = ast.unparse(kind.slice)
    module = importlib.import_module(
        next(imported for imported in names.imported() if imported[1] == name)[0]
    )
    calls = [decorator for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
    defaults = {keyword.arg: _value(keyword.value, names) for call in calls for keyword in call.keywords}
    descriptions = described(inspect.getdoc(module.RunOptions) or "")
    hints = get_type_hints(getattr(module, name), include_extras=True)
    for option in fields(module.RunOptions):
        if option.name in hints:
            doc, default = (
                docs.get(option.name) or descriptions[option.name],
                defaults.get(option.name, option.default),
            )
            yield Parameter(
                option.name, True, doc, partial(hints.get, option.name), partial(_as_it_is, default)
            )


def _as_it_is(value: Any) -> Any:
    return value


@cache
def documented(path: str) -> Mapping[str, str]:
    """What the docstring of a function says of its parameters, also of those that it hands on."""
    return described(ast.get_docstring(_function(path)) or "")


def _function(path: str) -> ast.FunctionDef:
    module, _, name = path.partition(":")
    return next(
        statement
        for statement in _statements(module)
        if isinstance(statement, ast.FunctionDef) and statement.name == name
    )


def described(docstring: str) -> dict[str, str]:
    """What the section ``Args:`` (or ``Attributes:``) of a docstring says of each parameter.

    >>> described("Do it.\\n\\nArgs:\\n    a, b: how many\\n        of these.\\n    c: ``x`` or y.\\n\\nMore.")
    {'a': 'how many of these.', 'b': 'how many of these.', 'c': '``x`` or y.'}
    """
    section = re.search(r"^(?:Args|Attributes):\n((?: .*\n?)+)", docstring, re.MULTILINE)
    entries = re.findall(r"^    (\S.*?): (.*(?:\n {8}.*)*)", section[1] if section else "", re.MULTILINE)
    return {name.strip("* "): " ".join(text.split()) for names, text in entries for name in names.split(",")}


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


def typed(hint: Any, *, repeatable: bool = False) -> tuple[Any, dict[str, Any]]:
    """What Typer reads for an annotation, and what it is told beside it: bounds, and what stands for a value.

    A list is typed as ``A,B``, or is `repeatable`. Of several kinds a path goes first, and a string next.

    >>> from headscope.core.validation import Count, Seed
    >>> kind, more = typed(Seed | None)
    >>> kind, more["min"], more["max"]
    (<class 'int'>, 0, 4294967295)
    >>> typed(Count | Literal["all"])
    (<class 'str'>, {'metavar': 'K|all'})
    """
    kinds = [(kind, expected) for kind, expected in _kinds(hint) if kind not in (None, type(None))]
    words = tuple(word for kind, _ in kinds if get_origin(kind) is Literal for word in get_args(kind))
    plain = [kind for kind, _ in kinds if get_origin(kind) is not Literal]
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
    for kind, expected in kinds:
        if kind in (bool, int, float):
            return kind, _bounds(kind, expected)
        if get_origin(kind) is not None:
            inner, more = typed(get_args(kind)[0])
            return (list[inner], more) if repeatable else (str, {"metavar": "A,B"})
    raise TypeError(f"no option is made of {hint}")


def _bounds(kind: type, expected: Expected | None) -> dict[str, Any]:
    """Bounds for the help. `Parameter.check` refuses what is beyond them, in a sentence: Typer would in three lines."""
    if expected is None or kind is bool:
        return {}
    ends = {"min": expected.least, "max": expected.most}
    ends = {end: value for end, value in ends.items() if abs(value) < sys.maxsize}
    if kind is float:
        ends = {end: round(value, 9) for end, value in ends.items()}
    return {**ends, "parser": _READERS[kind]} if ends else {}


def _reader(kind: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not a valid {kind.__name__}") from None

    return read


_READERS = {kind: _reader(kind) for kind in (int, float)}


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


class _Names(dict[str, Any]):
    """What names mean in a module, as far as they are asked for."""

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        self[name] = self._resolved(name)
        return self[name]

    def _resolved(self, name: str) -> Any:
        if hasattr(loaded := sys.modules.get(self.module), name):
            return getattr(loaded, name)
        for node in _statements(self.module):
            if isinstance(node, ast.Assign) and any(ast.unparse(target) == name for target in node.targets):
                return _value(node.value, self)
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and node.value:
                return _value(node.value, self)
        for module, alias, meant in self.imported():
            if alias == name:
                return _imported(module, meant)
        return type(name, (), {})

    def imported(self) -> Iterator[tuple[str, str, str]]:
        """What the module imports: from where (empty: a module itself), by which name, and its own name there."""
        for node in _statements(self.module):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for imported in node.names:
                    yield getattr(node, "module", ""), imported.asname or imported.name, imported.name


def _imported(module: str, name: str) -> Any:
    """What is imported: of headscope told from its source, of Python itself, of others a class of that name."""
    if _ours(module):
        within = f"{module}.{name}"
        return _Module(within) if _file(within) else _Names(module)[name]
    if (module or name).split(".")[0] in sys.stdlib_module_names:
        return getattr(importlib.import_module(module), name) if module else importlib.import_module(name)
    return _Module(name)


class _Module:
    """A module that is not loaded, for its names."""

    def __init__(self, name: str) -> None:
        self._names = _Names(name)

    def __getattr__(self, name: str) -> Any:
        return self._names[name]

    def __class_getitem__(cls, _: Any) -> Any:
        return cls


def _value(node: ast.expr | None, names: _Names, none: Any = None) -> Any:
    """What an expression of the source gives; `none` where there is none."""
    if node is None:
        return none
    return eval(compile(ast.Expression(node), "<source>", "eval"), {"__builtins__": builtins}, names)


def _ours(module: str) -> bool:
    """Whether a module is of headscope, or of a plug-in."""
    return module.split(".")[0] in {record.package.split(".")[0] for record in analyses().values()}


@cache
def _file(module: str) -> Path | None:
    """Where the source of a module of headscope, or of a plug-in, is; None of any other."""
    if not _ours(module):
        return None
    package, *names = module.split(".")
    place = Path(str(sys.modules[package].__file__)).parent.joinpath(*names)
    files = (place.with_name(f"{place.name}.py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def _statements(module: str) -> Sequence[ast.stmt]:
    """The statements of a module, those for types only as well; none where it has no file."""
    file = _file(module)
    if file is None:
        return ()
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return [
        *body,
        *(inner for statement in body if isinstance(statement, ast.If) for inner in statement.body),
    ]
