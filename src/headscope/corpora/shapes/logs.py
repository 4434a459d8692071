"""Logs of agents: spans of OpenTelemetry, OpenInference and LangSmith, samples of Inspect, coding agents' turns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headscope.core.kinds import is_list, is_object
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora.jsonlines import KINDS, Fail
from headscope.corpora.shapes.rows import KeyedValues, Rows, Skip, rows_from
from headscope.corpora.sources import Line
from headscope.corpora.tables import READERS
from headscope.errors import CorpusError

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
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
_SAID = ("text", "input_text", "output_text")


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
        if is_object(value) and not name.endswith((".arguments", ".parameters", ".json_schema")):
            for key, inner in value.items():
                add(f"{name}.{key}" if name else str(key), inner)
        elif is_list(value) and value and all(map(is_object, value)) and name.startswith("llm."):
            for number, inner in enumerate(value):
                add(f"{name}.{number}", inner)
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


def _of_parts(message: Any, name: str, fail: Fail, skip: Skip) -> list[AnyDict]:
    """The messages of one of OpenTelemetry: what was spoken and called, and each answer of a tool."""
    if not is_object(message) or not is_list(message.get("parts")):
        raise fail(f"{name!r}: expected messages with 'role' and 'parts', found {message!r:.80}")
    spoken: list[Any] = []
    calls: list[AnyDict] = []
    made: list[AnyDict] = []
    for part in message["parts"]:
        kind = part.get("type") if is_object(part) else None
        if kind == "text":
            spoken.append(part.get("content"))
        elif kind == "tool_call":
            calls.append(
                {"id": part.get("id"), "name": part.get("name"), "arguments": part.get("arguments") or {}}
            )
        elif kind == "tool_call_response":
            answer = part.get("response", part.get("result"))
            text = answer if isinstance(answer, str) else json.dumps(answer)
            made.append({"role": "tool", "tool_call_id": part.get("id"), "content": text})
        else:
            skip(f"a part of a message ({kind})")
    if not all(isinstance(one, str) for one in spoken):
        raise fail(f"{name!r}: expected parts of text with 'content', found {spoken!r:.80}")
    if spoken or calls:
        made.append({"role": message.get("role"), "content": "\n".join(spoken) or None})
        made[-1] |= {"tool_calls": calls} if calls else {}
    return made


def _otel(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    for span in spans_in(row.row):
        held: AnyMapping = span["attributes"]
        if INPUT not in held:
            skip("a span without messages")
            continue
        messages: list[AnyDict] = []
        if held.get("gen_ai.system_instructions"):
            parts = _parsed(held["gen_ai.system_instructions"], "gen_ai.system_instructions", row.fail)
            messages += _of_parts(
                {"role": "system", "parts": parts}, "gen_ai.system_instructions", row.fail, skip
            )
        for name in (INPUT, OUTPUT):
            for message in _parsed(held.get(name, []), name, row.fail):
                messages += _of_parts(message, name, row.fail, skip)
        tools = held.get("gen_ai.tool.definitions")
        named = {} if not tools else {"tools": _parsed(tools, "gen_ai.tool.definitions", row.fail)}
        yield {"messages": messages, **named}


_FLAT = re.compile(r"llm\.(input|output)_messages\.(\d+)\.message\.(.+)")
_CALL = re.compile(r"tool_calls\.(\d+)\.tool_call\.(id|function\.name|function\.arguments)")
_TEXT = re.compile(r"contents\.(\d+)\.message_content\.text")


def _openinference(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    for span in spans_in(row.row):
        turns: dict[tuple[str, int], AnyDict] = {}
        tools: list[tuple[int, Any]] = []
        for name, value in span["attributes"].items():
            if (tool := re.fullmatch(r"llm\.tools\.(\d+)\.tool\.json_schema", name)) is not None:
                tools.append((int(tool[1]), _json(value, name, row.fail)))
            if (match := _FLAT.fullmatch(name)) is None:
                continue
            turn = turns.setdefault((match[1], int(match[2])), {"calls": {}, "texts": {}})
            if (call := _CALL.fullmatch(match[3])) is not None:
                turn["calls"].setdefault(int(call[1]), {})[call[2].rpartition(".")[2]] = value
            elif (text := _TEXT.fullmatch(match[3])) is not None:
                turn["texts"][int(text[1])] = value
            elif match[3] in ("role", "content", "tool_call_id", "name"):
                turn[match[3]] = value
        if not turns:
            skip("a span without messages")
            continue
        messages: list[AnyDict] = []
        for _, turn in sorted(turns.items()):
            calls, texts = (turn.pop(key) for key in ("calls", "texts"))
            content = (
                turn.get("content") or [{"type": "text", "text": texts[at]} for at in sorted(texts)] or None
            )
            more = {"tool_calls": [calls[at] for at in sorted(calls)]} if calls else {}
            messages.append({**turn, "content": content, **more})
        yield {
            "messages": messages,
            **({"tools": [tool for _, tool in sorted(tools, key=lambda one: one[0])]} if tools else {}),
        }


def _langsmith(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
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


def _inspect(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    """The samples of a log of Inspect; of an .eval the row is one of them."""
    for sample in row.objects("samples") if "samples" in row.row else [row]:
        messages = [_called(dict(message.row), skip) for message in sample.objects("messages")]
        if messages:
            yield {"messages": messages}
        else:
            skip("a sample without messages")


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


def transcript(lines: Iterable[Line], skip: Skip) -> Iterator[tuple[Line, AnyDict | CorpusError]]:
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
        yield rows[0][0], {"messages": _merged(rows, skip)}


def _merged(rows: Iterable[tuple[Line, AnyDict]], skip: Skip) -> list[AnyDict]:
    """The messages of some turns; one that was written in several events is one message."""
    messages: list[AnyDict] = []
    before: object = None
    for _, row in rows:
        given: Mapping[str, Any] = row["message"]
        message = _called(
            {key: given[key] for key in ("role", "content", "tool_calls") if key in given}, skip
        )
        same = given.get("id") is not None and given["id"] == before
        if same and is_list(message.get("content")) and is_list(messages[-1].get("content")):
            messages[-1]["content"] = [*messages[-1]["content"], *message["content"]]
        elif message.get("content") or message.get("tool_calls"):
            messages.append(message)
            before = given.get("id")
    return messages


def _of_objects(make: Any) -> Rows:
    return rows_from(READERS[".jsonl"], make)


otel, openinference, langsmith, inspect = map(_of_objects, (_otel, _openinference, _langsmith, _inspect))
