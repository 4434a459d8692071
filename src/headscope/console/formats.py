"""The formats of what commands answer with ``--json``, as JSON Schemas; of tables by the registered columns."""

from __future__ import annotations

from headscope.analyses import analyses
from headscope.console.answer import format_of
from headscope.core.types import AnyDict
from headscope.errors import InputError
from headscope.measures.columns import json_type

_CALLED = {"bench": "bench", "card": "cards diff"}
"""The commands of analyses whose records name none."""

_TABLE = "findings strings, run object"
_FIXED = {
    "files": "text strings, findings? strings, run? object",
    "estimate": "seconds number?, bytes integer?, least boolean, text string",
    "check": "model string, unseen string, implicit strings, route string, output_error number, "
    "padding_error number?, vocabulary object?, english object?, parts objects",
    "look": "file string, is string, inputs integer, first any, commands strings",
    "serve": "address string",
    "skill": "text string, formats strings",
    "schema": "schema object",
}


def formats() -> dict[str, AnyDict]:
    """The schema of each format, by its name."""
    made = {name: _answer(name, {}, text) for name, text in _FIXED.items()}
    for analysis in analyses().values():
        if name := analysis.command or _CALLED.get(analysis.name):
            tables = [
                _object(
                    {
                        column: _type(f"{json_type(column.rstrip('?'), analysis.name)}?")
                        for column in one.split()
                    }
                )
                for one in analysis.columns.split("|")
            ]
            items: AnyDict = tables[0] if len(tables) == 1 else {"anyOf": tables}
            if not analysis.columns:  # of a plug-in that promises none
                items = {"type": "object"}
            made[name] = _answer(name, {"rows": {"type": "array", "items": items}}, _TABLE)
    error = "error string, kind bad_input|model|run|usage|stopped|unknown, exit integer"
    made["error"] = _object({"format": {"const": format_of("error")}, **_properties(error)})
    return made


def schema(name: str) -> AnyDict:
    """The schema of what a command answers, or of ``error``, ``estimate`` or ``files``."""
    known = formats()
    if name not in known:
        raise InputError(f"COMMAND: expected one of {', '.join(sorted(known))}, found {name!r}")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **known[name]}


def _answer(name: str, content: AnyDict, text: str) -> AnyDict:
    files = {"type": "array", "items": _object(_properties("path string, bytes integer"))}
    properties = {"format": {"const": format_of(name)}, **content, **_properties(text), "files": files}
    return _object({**properties, **_properties("remarks strings")})


def _properties(text: str) -> AnyDict:
    return {name: _type(kind) for name, _, kind in (one.partition(" ") for one in text.split(", "))}


def _object(properties: AnyDict) -> AnyDict:
    """An object of these properties alone; one that it may lack ends in ``?``."""
    return {
        "type": "object",
        "properties": {name.rstrip("?"): kind for name, kind in properties.items()},
        "required": [name for name in properties if name[-1] != "?"],
        "additionalProperties": False,
    }


def _type(kind: str) -> AnyDict:
    """A type, one that may be null (``number?``), an array (``strings``), one of several words, or any."""
    name = kind.rstrip("?")
    if name in ("", "any"):
        return {}
    if "|" in name:
        return {"enum": name.split("|")}
    if name.endswith("s"):
        return {"type": "array", "items": {"type": name[:-1]}}
    return {"type": name if kind == name else [name, "null"]}
