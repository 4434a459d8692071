"""What is asked of a model: texts, conversations, ids, pictures and sounds, as spans are cut of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import numpy as np

from headscope.analyses.why.spans import Prompt, Stretch
from headscope.attention.generate import written_texts
from headscope.attention.one import Message, prepare, tokens_of
from headscope.attention.parts import from_ids
from headscope.core.arrays import Bools
from headscope.core.audio import Audio
from headscope.core.conversations import spoken
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Expected
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.chat import Rendered, answered

Given = Annotated[
    str | tuple[str, str] | Sequence[Message] | Sequence[int] | Tokens,
    Expected("a string, (A, B), a list of messages, ids or Tokens"),
]
"""A prompt."""

Answer = Annotated[
    str | int | Sequence[int] | None, Expected("a text, the number of a class, ids of tokens, or None")
]
"""What is explained; None: what the model itself says."""


_NAMES = ("name", "title", "doc_id", "id")
"""What a tool or a document may be called by."""


def read(
    model: Model,
    given: Given | None,
    answer: Answer,
    image: Any,
    audio: Audio | None,
    tools: Sequence[AnyMapping] | None,
    documents: Sequence[AnyMapping] | None,
) -> tuple[Prompt, AnyDict, Answer]:
    """The prompt as it is cut, what the module takes of it, and the answer that stands in it."""
    items = cast("list[Any]", given) if isinstance(given, list) else []
    talk = bool(items) and isinstance(items[0], Mapping)
    if (tools or documents) and not talk:
        raise InputError("tools, documents: expected a conversation beside them, found none")
    if audio is not None:
        if given is not None:
            raise InputError("audio: expected no prompt beside it, found one")
        tokens = model.hear(audio)
        target = " " if model.encoder_decoder else None
        ready = dict(prepare(model, None, audio=audio, target=target)[1])
        ready.pop("decoder_input_ids", None)
        return Prompt(tokens, [""] * len(tokens)), ready, answer
    if image is not None:
        axes, ready = prepare(model, given, image=image)
        tokens = axes["self"] if "self" in axes else model.see(image)
        texts = tokens.texts or [""] * len(tokens)
        return Prompt(tokens, texts), dict(ready), answer
    parts: dict[str, Sequence[Stretch]] = {}
    if talk:
        messages = spoken(items, "messages", InputError)
        tools = [_tool(one) for one in tools or ()]
        more = {name: list(value) for name, value in (("tools", tools), ("documents", documents)) if value}
        if answer is None and messages[-1].get("role") == "assistant":
            answer, messages = answered(model.tokenizer, messages, **more), messages[:-1]
        tokens = model.chat(messages, add_generation_prompt=True, **more)
        parts = _parts(
            Rendered(model.tokenizer, messages, add_generation_prompt=True, **more), messages, more
        )
    elif items and all(isinstance(one, int) for one in items):
        tokens = (
            model.from_ids(items)
            if model.tokenizer is not None
            else from_ids(np.array(items, np.int64), None)
        )
    else:
        tokens = tokens_of(model, given)
    if tokens.ids is None:
        raise InputError("prompt: expected tokens with ids, found pieces without")
    ids = tokens.ids.tolist()
    if (wrote := tokens.classes.get("generated")) is not None and wrote.any() and answer is None:
        first = int(wrote.argmax())
        answer, ids, tokens = ids[first:], ids[:first], tokens.take(slice(0, first))
    logged = tokens.texts is None
    if tokens.texts is not None:
        texts = tokens.texts
    elif model.tokenizer is not None:
        texts = written_texts(model.tokenizer, ids, 0)
    else:
        texts = [f"{piece} " for piece in tokens.pieces]
    pair = 0
    if tokens.sequence_ids is not None and (tokens.sequence_ids == 1).any():
        pair = sum(len(text) for text, side in zip(texts, tokens.sequence_ids, strict=True) if side == 0)
    ready = dict(model.inputs([tokens]))
    if logged and model.tokenizer is not None and tokens.special_mask is not None:
        parts = dict.fromkeys(("message", "part"), _between(texts, tokens.special_mask))
    return Prompt(tokens, texts, parts, pair), ready, answer


def _tool(one: AnyMapping) -> AnyMapping:
    """A tool as templates take it, of one that Anthropic's requests have."""
    if "input_schema" not in one:
        return one
    function = {name: one[name] for name in ("name", "description") if name in one}
    return {"type": "function", "function": {**function, "parameters": one["input_schema"]}}


def _parts(
    rendered: Rendered, messages: Sequence[AnyMapping], more: Mapping[str, Sequence[AnyMapping]]
) -> dict[str, Sequence[Stretch]]:
    """What a conversation has: its messages, with the calls of tools in them, and what stands beside these."""
    turns, made = rendered.spans, rendered.calls()
    often = Counter(call.name for call in made)

    def named(kind: str, name: Any, call: Any) -> str:
        return f"{kind} {name} ({call})" if call and often[name] > 1 else f"{kind} {name}"

    def speaker(number: int) -> str:
        role, call = messages[number]["role"], messages[number].get("tool_call_id")
        name = messages[number].get("name") or call
        return role if role != "tool" else named("result of", name, call) if name else "result"

    called = [Stretch(one.start, one.end, named("call", one.name, one.id), one.arguments) for one in made]
    contents = [Stretch(turn.start, turn.end, speaker(turn.number)) for turn in turns]
    spoken_by: list[Stretch] = []
    for number in sorted({one.number for one in (*turns, *made)}):
        ends = [(one.start, one.end) for one in (*turns, *made) if one.number == number]
        start, end = min(ends)[0], max(end for _, end in ends)
        if any(turn.number != number and start < turn.start < end for turn in turns):
            start, end = ends[0]  # its calls stand elsewhere
        spoken_by.append(Stretch(start, end, speaker(number)))
    parts: dict[str, Sequence[Stretch]] = {
        "message": spoken_by,
        "call": called,
        "result": [one for one, turn in zip(contents, turns, strict=True) if turn.role == "tool"],
        **{name[:-1]: _located(rendered, name, entries) for name, entries in more.items()},
    }
    others = [one for name in more for one in parts[name[:-1]]]
    return {**parts, "part": sorted([*contents, *called, *others])}


def _between(texts: Sequence[str], special: Bools) -> list[Stretch]:
    """What stands between special tokens: the messages of what a server logged as ids."""
    stretches: list[Stretch] = []
    joined, at, start = "".join(texts), 0, 0
    for text, marks in zip([*texts, ""], [*special.tolist(), True], strict=True):
        if marks:
            if joined[start:at].strip():
                stretches.append(Stretch(start, at))
            start = at + len(text)
        at += len(text)
    return stretches


def _located(rendered: Rendered, name: str, entries: Sequence[AnyMapping]) -> list[Stretch]:
    """Where the template wrote tools or documents."""
    stretches: list[Stretch] = []
    text, at = rendered.text, 0
    for number, entry in enumerate(entries):
        inner: AnyMapping = entry.get("function", entry)
        forms = [
            json.dumps(one, indent=indent, ensure_ascii=False)
            for one in (entry, inner)
            for indent in (None, 2, 4)
        ]
        forms += [str(entry[key]) for key in ("text", "content", "contents") if entry.get(key)]
        starts = ((text.find(form, at), form) for form in forms)
        ends = next(((start, start + len(form)) for start, form in starts if start >= 0), None)
        ends = ends or rendered.entry(name, number)
        if ends is None:
            raise InputError(
                f"{name}[{number}]: expected a chat template that writes it in one place, found none"
            )
        at = ends[1]
        stretches.append(Stretch(*ends, str(next((inner[key] for key in _NAMES if inner.get(key)), number))))
    return stretches
