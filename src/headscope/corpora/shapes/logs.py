"""Logs of agents: spans of OpenTelemetry, OpenInference and LangSmith, samples of Inspect, coding agents' turns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headscope.core.kinds import is_list, is_object
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora.jsonlines import KINDS, Fail
from headscope.corpora.shapes.rows import KeyedValues, Made, Skip, rows_from
from headscope.corpora.sources import Line
from headscope.corpora.tables import READERS
from headscope.errors import CorpusError

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_SYSTEM = "gen_ai.system_instructions"
_SILENT = (
    "thinking",
    "redacted_thinking",
    "reasoning",
    "image",
    "image_url",
    "input_image",
    "document",
    "audio",
)


def spans_in(row: Any) -> Iterator[AnyDict]:
    """The spans of an object: itself, or those of an export of OpenTelemetry."""
    if not is_object(row):
        return
    for key in ("resourceSpans", "scopeSpans", "spans"):
        if is_list(row.get(key)):
            for inner in row[key]:
                yield from spans_in(inner)
            return
    yield {**row, "attributes": attributes(row.get("attributes", row))}


def attributes(given: Any) -> AnyDict:
    """The attributes of a span under their names, however deep they stand; of OTLP a list of keys and values."""
    if is_list(given):
        pairs = {one.get("key"): one.get("value") for one in given if is_object(one)}
        given = {
            key: next(iter(value.values()), None) if is_object(value) else value
            for key, value in pairs.items()
        }
    made: AnyDict = {}

    def add(name: str, value: Any) -> None:
        if is_list(value) and value and all(map(is_object, value)) and name.startswith("llm."):
            value = dict(enumerate(value))
        if is_object(value) and not name.endswith((".arguments", ".parameters", ".json_schema")):
            for key, inner in value.items():
                add(f"{name}.{key}" if name else str(key), inner)
        else:
            made[name] = value

    add("", given if is_object(given) else {})
    return made


def _json(value: Any, name: str, fail: Fail) -> Any:
    """A value, or one in JSON inside of JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        raise fail(f"{name!r}: expected JSON, found {value!r:.60}") from None


def _parsed(value: Any, name: str, fail: Fail) -> list[Any]:
    value = _json(value, name, fail)
    if not is_list(value):
        raise fail(f"{name!r}: expected a list, found {KINDS[type(value)]}")
    return value


def _call(name: Any, identity: Any, arguments: Any) -> AnyDict:
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments or {}}


def _answer(identity: Any, answer: Any) -> AnyDict:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return {"type": "tool_result", "tool_use_id": identity, "content": text}


def _of_parts(parts: Sequence[Any], skip: Skip) -> Iterator[AnyDict]:
    """What was said, called and answered in the parts of a message of OpenTelemetry."""
    for part in parts:
        kind = part.get("type") if is_object(part) else None
        if kind == "text":
            yield {"type": kind, "text": part.get("content")}
        elif kind == "tool_call":
            yield _call(part.get("name"), part.get("id"), part.get("arguments"))
        elif kind == "tool_call_response":
            yield _answer(part.get("id"), part.get("response", part.get("result")))
        else:
            skip(f"a part of a message ({kind})")


@rows_from
def otel(row: KeyedValues) -> Iterator[AnyDict]:
    """The spans of OpenTelemetry that have messages."""
    for span in spans_in(row.row):
        held: AnyMapping = span["attributes"]
        if INPUT not in held:
            row.skip("a span without messages")
            continue
        given = [
            (name, one) for name in (INPUT, OUTPUT) for one in _parsed(held.get(name, []), name, row.fail)
        ]
        if held.get(_SYSTEM):
            system = {"role": "system", "parts": _parsed(held[_SYSTEM], _SYSTEM, row.fail)}
            given.insert(0, (_SYSTEM, system))
        messages: list[AnyDict] = []
        for name, message in given:
            if not is_object(message) or not is_list(message.get("parts")):
                raise row.fail(f"{name!r}: expected messages with 'role' and 'parts', found {message!r:.80}")
            if blocks := [*_of_parts(message["parts"], row.skip)]:
                messages.append({"role": message.get("role"), "content": blocks})
        tools = held.get("gen_ai.tool.definitions")
        named = _parsed(tools, "gen_ai.tool.definitions", row.fail) if tools else None
        yield {"messages": messages, "tools": named}


_FLAT = re.compile(r"llm\.(input|output)_messages\.(\d+)\.message\.(.+)")
_CALL = re.compile(r"tool_calls\.(\d+)\.tool_call\.(?:id|function\.(?:name|arguments))")
_TEXT = re.compile(r"contents\.(\d+)\.message_content\.text")
_TOOL = re.compile(r"llm\.tools\.(\d+)\.tool\.json_schema")


@rows_from
def openinference(row: KeyedValues) -> Iterator[AnyDict]:
    """The spans of OpenInference that have messages: each value of each message under a name of its own."""
    for span in spans_in(row.row):
        turns: dict[tuple[str, int], AnyDict] = {}
        tools: dict[int, Any] = {}
        for name, value in span["attributes"].items():
            if tool := _TOOL.fullmatch(name):
                tools[int(tool[1])] = _json(value, name, row.fail)
            if (match := _FLAT.fullmatch(name)) is None:
                continue
            turn = turns.setdefault((match[1], int(match[2])), {"calls": {}, "texts": {}})
            if call := _CALL.fullmatch(match[3]):
                turn["calls"].setdefault(int(call[1]), {})[match[3].rpartition(".")[2]] = value
            elif text := _TEXT.fullmatch(match[3]):
                turn["texts"][int(text[1])] = {"type": "text", "text": value}
            elif match[3] in ("role", "content", "tool_call_id", "name"):
                turn[match[3]] = value
        if not turns:
            row.skip("a span without messages")
            continue
        messages: list[AnyDict] = []
        for _, turn in sorted(turns.items()):
            calls, texts = (_in_order(turn.pop(key)) for key in ("calls", "texts"))
            more = {"tool_calls": calls} if calls else {}
            messages.append({**turn, "content": turn.get("content") or texts or None, **more})
        yield {"messages": messages, "tools": _in_order(tools) or None}


def _in_order(numbered: Mapping[int, Any]) -> list[Any]:
    return [numbered[number] for number in sorted(numbered)]


@rows_from
def langsmith(row: KeyedValues) -> Iterator[AnyDict]:
    """A run of LangSmith: the messages that went in, and that of its first generation."""
    messages = row.object("inputs").list("messages")
    messages = messages[0] if len(messages) == 1 and is_list(messages[0]) else messages
    wrote: Any = row.row.get("outputs")
    answer: Any = None
    if is_object(wrote):
        choices: Any = wrote.get("generations") or wrote.get("choices") or wrote.get("messages") or []
        while is_list(choices) and choices:
            choices = choices[0]
        answer = choices.get("message", choices) if is_object(choices) else None
    yield {"messages": [*messages, *([answer] if answer else [])]}


@rows_from
def inspect(row: KeyedValues) -> Iterator[AnyDict]:
    """The samples of a log of Inspect; of an .eval the row is one of them."""
    for sample in row.objects("samples") if "samples" in row.row else [row]:
        messages = [_called(dict(message.row), row.skip) for message in sample.objects("messages")]
        if messages:
            yield {"messages": messages}
        else:
            row.skip("a sample without messages")


def _called(message: AnyDict, skip: Skip) -> AnyDict:
    """A message without what no template writes, whose calls of tools have their names where others have them."""
    if is_list(blocks := message.get("content")):
        message["content"] = _blocks(blocks, skip)
    if is_list(calls := message.get("tool_calls")):
        message["tool_calls"] = [
            {**call, "name": call["function"]}
            if is_object(call) and isinstance(call.get("function"), str)
            else call
            for call in calls
        ]
    return message


def _blocks(blocks: Sequence[Any], skip: Skip) -> list[Any]:
    kept: list[Any] = []
    for block in blocks:
        kind = block.get("type") if is_object(block) else None
        if kind in _SILENT:
            skip(f"a part of a message ({kind})")
        elif kind == "tool_result" and is_list(block.get("content")):
            kept.append({**block, "content": _blocks(block["content"], skip)})
        else:
            kept.append(block)
    return kept


def transcript(lines: Iterable[Line], skip: Skip) -> Made:
    """A coding agent's transcript: turns by their parents; the last branch of a tree, and each side chain."""
    turns: dict[str, tuple[Line, AnyDict]] = {}
    for line, row in READERS[".jsonl"](lines):
        if isinstance(row, CorpusError):
            yield line, row
        elif row.get("type") not in ("user", "assistant") or not is_object(row.get("message")):
            skip(f"an event ({str(row.get('type'))[:30]})")
        elif not isinstance(row.get("uuid"), str):
            yield line, line.error("'uuid': expected a string, found none")
        else:
            turns[row["uuid"]] = line, dict(row)
    parents = {row.get("parentUuid") for _, row in turns.values()}
    used: set[str] = set()
    ends: dict[object, list[tuple[Line, AnyDict]]] = {}
    for name in reversed([name for name in turns if name not in parents]):
        path: list[str] = []
        at: Any = name
        while at in turns and at not in path:
            path.append(at)
            at = turns[at][1].get("parentUuid")
        root = path[-1] if turns[name][1].get("isSidechain") else None
        if root in ends:
            for _ in set(path) - used:
                skip("a turn of another branch")
        else:
            ends[root] = [turns[one] for one in reversed(path)]
        used |= {*path}
    for rows in sorted(ends.values(), key=lambda rows: rows[0][0].number):
        yield rows[0][0], {"messages": _merged((row["message"] for _, row in rows), skip)}


def codex(lines: Iterable[Line], skip: Skip) -> Made:
    """A session of Codex: what was said, called and answered, in order; what stands in several items is one message."""
    first: Line | None = None
    messages: list[AnyMapping] = []
    for line, row in READERS[".jsonl"](lines):
        if isinstance(row, CorpusError):
            yield line, row
            continue
        first = first or line
        item: Any = row.get("payload")
        kind = item.get("type") if is_object(item) and row.get("type") == "response_item" else None
        if kind == "message":
            role, blocks = item.get("role"), item.get("content")
        elif kind in ("function_call", "custom_tool_call"):
            given = item.get("arguments", {"input": item.get("input")})
            role, blocks = "assistant", [_call(item.get("name"), item.get("call_id"), given)]
        elif kind in ("function_call_output", "custom_tool_call_output"):
            wrote = item.get("output")
            listed = {"content": wrote} if is_list(wrote) else {}
            role, blocks = "tool", [_answer(item.get("call_id"), wrote) | listed]
        else:
            skip(f"an event ({str(kind or row.get('type'))[:30]})")
            continue
        messages.append({"role": role, "content": blocks, "id": role if role == "assistant" else None})
    if first is not None:
        yield first, {"messages": _merged(messages, skip)}


def _merged(given: Iterable[AnyMapping], skip: Skip) -> list[AnyDict]:
    """The messages of some turns; one that was written in several events is one message."""
    messages: list[AnyDict] = []
    before: object = None
    for one in given:
        message = _called({key: one[key] for key in ("role", "content", "tool_calls") if key in one}, skip)
        same = one.get("id") is not None and one["id"] == before
        if same and is_list(message.get("content")) and is_list(messages[-1].get("content")):
            messages[-1]["content"] = [*messages[-1]["content"], *message["content"]]
        elif message.get("content") or message.get("tool_calls"):
            messages.append(message)
            before = one.get("id")
    return messages
