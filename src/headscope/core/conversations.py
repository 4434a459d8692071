"""Conversations and what is logged of them: messages of OpenAI, Anthropic and LangChain, and ids of tokens of vLLM."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

from headscope.core.kinds import is_list, is_mapping
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError

ANSWERS = ("choices", "outputs")
"""Keys of answers: of OpenAI's responses, and of what vLLM's `LLM.generate` gives."""

_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_CALLS = ("tool_calls", "function_call")

CALLS = ("name", "tool_call_id", "tool_calls")
"""What a message says of calls of tools beside its text."""

_ROLES = {"human": "user", "ai": "assistant", "developer": "system", "function": "tool", "ipython": "tool"}
_ARGUMENTS = ("arguments", "args", "input")

Fail = Callable[[str], InputError]
"""Makes an error of what is wrong."""


def content(message: AnyMapping, where: str, fail: Fail) -> str:
    """What a message says: its text, the parts of it on lines of their own (as vLLM joins them), nothing for null.

    Raises what `fail` makes for what a template would write that is no text: calls of tools, pictures.
    """
    given = message["content"]
    if (called := next((name for name in _CALLS if message.get(name)), None)) is not None:
        raise fail(f"{where}: expected a message of text, found {called!r}, which are not read")
    if given is None:
        return ""
    if isinstance(given, str):
        return given
    if not is_list(given):
        kind = type(given).__name__
        raise fail(f"{where} 'content': expected a string, a list of parts or null, found {kind}")
    return "\n".join(_part(part, f"{where} 'content'[{index}]", fail) for index, part in enumerate(given))


def _part(part: Any, where: str, fail: Fail) -> str:
    if isinstance(part, str):
        return part
    given = _object(part)
    kind = given.get("type")
    text = given.get(_PARTS[kind]) if isinstance(kind, str) and kind in _PARTS else None
    if not isinstance(text, str):
        raise fail(f"{where}: expected a part of text, found {part if kind is None else kind!r}")
    return text


def spoken(messages: Sequence[Any], where: str, fail: Fail) -> list[Any]:
    """Messages as chat templates take them, of those that OpenAI, Anthropic and LangChain log.

    Each call of a tool is a ``function`` with its ``name`` and ``arguments``, an object; a tool's answer is a message,
    with the ``name`` of what was called. What is no message is left to who reads them.

    Raises what `fail` makes for a call without a name or with arguments that are no object.
    """
    made: list[Any] = []
    called: list[tuple[Any, str]] = []
    for number, message in enumerate(messages):
        if not is_mapping(message):
            made.append(message)
            continue
        for one in _spoken(message, f"{where}[{number}]", fail):
            made.append(one)
            called += [(call.get("id"), call["function"]["name"]) for call in one.get("tool_calls", ())]
            if one.get("role") == "tool" and "name" not in one:
                of = one.get("tool_call_id")
                at = next((at for at, (call, _) in enumerate(called) if of is None or call == of), None)
                one |= {} if at is None else {"name": called.pop(at)[1]}
    return made


def _spoken(given: AnyMapping, where: str, fail: Fail) -> list[AnyDict]:
    """The messages of one: the answers of tools in it (Anthropic's) are messages of their own."""
    inner = _object(given.get("kwargs", given.get("data")))  # LangChain's
    message = {**given, **inner} if "role" not in given else {**given}
    if isinstance(role := message.get("role", message.get("type")), str):
        message["role"] = _ROLES.get(role, role)
    calls: Any = message.get("tool_calls") or [one for one in [message.get("function_call")] if one]
    if not isinstance(calls, list):
        raise fail(f"{where} 'tool_calls': expected a list of objects, found {calls!r:.60}")
    used: list[Any] = []
    results: list[AnyDict] = []
    texts: list[str] = []
    blocks: Any = message.get("content")
    for number, given_block in enumerate(blocks if is_list(blocks) else ()):
        block, place = _object(given_block), f"{where} 'content'[{number}]"
        kind = block.get("type")
        if kind == "tool_use":
            used.append(block)
        elif kind == "tool_result":
            answer = content({"content": block.get("content")}, place, fail)
            results.append({"role": "tool", "content": answer, "tool_call_id": block.get("tool_use_id")})
        else:
            texts.append(_part(given_block, place, fail))
    if isinstance(blocks, list):
        message["content"] = "\n".join(texts)
    calls = [
        _call(one, f"{where} 'tool_calls'[{at}]", fail) for at, one in enumerate(cast("Any", calls or used))
    ]
    if calls:
        message.setdefault("content", None)
    message["tool_calls"] = calls
    kept = {name: one for name in CALLS if (one := message.get(name))}
    kept |= {name: message[name] for name in ("role", "content") if name in message}
    return results if results and not texts and not calls else [*results, kept]


def _call(call: Any, where: str, fail: Fail) -> AnyDict:
    """A call of a tool, as templates take it."""
    outer = _object(call)
    inner = _object(outer.get("function")) or outer
    arguments: Any = next((inner[key] for key in _ARGUMENTS if inner.get(key) is not None), "")
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments or "{}")
    if not isinstance(inner.get("name"), str) or not isinstance(arguments, dict):
        raise fail(f"{where}: expected a 'name' and 'arguments', an object or its JSON, found {call!r:.80}")
    identity = {"id": outer["id"]} if outer.get("id") else {}
    return {**identity, "type": "function", "function": {"name": inner["name"], "arguments": arguments}}


def _object(value: Any) -> AnyMapping:
    return value if is_mapping(value) else {}


def logged(row: AnyMapping, fail: Fail) -> AnyMapping:
    """The line of a log with what was answered in its place: in `token_ids`, or as the last of the `messages`.

    A response stands in `body` or `response` where it was written by OpenAI's or vLLM's batches. Of what has ids the
    messages are left alone: the ids are what was read. Raises what `fail` makes for several answers, and for one
    without ids where the prompt has them.
    """
    row = _unwrapped(row)
    key = next((key for key in ANSWERS if _objects(row.get(key))), None)
    answers: Sequence[AnyMapping] = row[key] if key is not None else ()
    prompt = row.get("prompt_token_ids")
    if prompt is None:
        prompt = next(
            (answer["prompt_token_ids"] for answer in answers if answer.get("prompt_token_ids")), None
        )
    if prompt is None and not (row.get("messages") and any("message" in answer for answer in answers)):
        return row
    if len(answers) > 1:
        raise fail(f"{key!r}: expected one answer, found {len(answers)}; write a line for each")
    if prompt is None and answers:
        return {**row, "messages": [*row["messages"], answers[0]["message"]]}
    for name in ANSWERS:
        if row.get(name) and name != key:
            raise fail(f"{name!r}: expected a list of objects, one for each answer, found {row[name]!r:.60}")
    answered = {
        **{name: value for name, value in row.items() if name != "messages"},
        "prompt_token_ids": prompt,
    }
    if answers:
        if answers[0].get("token_ids") is None:
            there = ", ".join(map(repr, answers[0]))
            raise fail(f"'{key}'[0]: expected 'token_ids' (vLLM's return_token_ids), found {there}")
        if row.get("token_ids") is not None:
            raise fail(f"expected 'token_ids' once, found them in '{key}'[0] too")
        answered["token_ids"] = answers[0]["token_ids"]
    return answered


def _unwrapped(row: AnyMapping) -> AnyMapping:
    for key in ("response", "body"):
        inner = row.get(key)
        if is_mapping(inner) and {"body", "messages", "prompt_token_ids", *ANSWERS} & {*inner}:
            row = inner
    return row


def _objects(value: Any) -> bool:
    return is_list(value) and bool(value) and all(map(is_mapping, value))
