"""What a chat template makes of a conversation, and where each message stands in it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

from headscope.core.conversations import CALLS, content, spoken
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError

ROLES = ("system", "user", "assistant", "tool")


class MessageSpan(NamedTuple):
    """The characters of one message in the rendered conversation, and which one it is."""

    role: str
    start: int
    end: int
    number: int


class ToolCall(NamedTuple):
    """The characters of a call of a tool, from its name to its arguments, what it says, and which message makes it."""

    name: str
    arguments: str
    id: str
    start: int
    end: int
    number: int


class Rendered:
    """A conversation as a chat template writes it.

    The template is rendered twice, the second time with a marker in place of each content. What stands around
    the markers must be what stands around the contents (which templates may strip of white space, or write as
    JSON), or it is an error: so the spans are exact for any template, also where it folds the system message into
    the first user turn. What else it takes (``add_generation_prompt``, ``tools``, ``documents``) is `given` to it.

    Attributes:
        text: what the template makes.
        spans: of each message's content in it.
    """

    def __init__(self, tokenizer: Any, messages: Sequence[AnyMapping], **given: Any) -> None:
        self._turns, self._tokenizer, self._given = _checked(messages), tokenizer, given
        self._name = str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
        if not tokenizer.chat_template:
            raise InputError(f"messages: {self._name} has no chat template; give a text instead")
        used = {*json.dumps([self._turns, given], ensure_ascii=False, default=str)}
        self._sign = next(sign for sign in map(chr, range(0xE000, 0xF8FF)) if sign not in used)
        try:
            self.text = self._write(self._turns)
        except InputError as error:
            self._turns = [_with_texts(one) for one in self._turns]
            with suppress(InputError):
                self.text = self._write(self._turns)
            if not hasattr(self, "text"):
                raise error
        self.spans = self._read()

    def _read(self) -> list[MessageSpan]:
        turns, name, text = self._turns, self._name, self.text
        parts = self._around(turns)
        spans: list[MessageSpan] = []
        position = len(parts[0])
        if not text.startswith(parts[0]):
            raise InputError(f"messages: the chat template of {name} writes other text before other messages")
        for number, after in zip(map(int, parts[1::2]), parts[2::2], strict=True):
            message = turns[number]["content"]
            escaped = json.dumps(message, ensure_ascii=False)[1:-1]
            for form in (message, message.strip(), message.lstrip(), message.rstrip(), escaped):
                if text.startswith(form + after, position):
                    break
            else:
                raise InputError(f"messages[{number}]: the chat template of {name} changes what is said")
            spans.append(MessageSpan(turns[number]["role"], position, position + len(form), number))
            position += len(form) + len(after)
        calling = next((number for number, one in enumerate(turns) if "tool_calls" in one), None)
        if calling is not None:
            silent = [{key: value for key, value in one.items() if key != "tool_calls"} for one in turns]
            with suppress(_RefusedError):  # an answer of a tool without its call
                if self._write(silent) == text:
                    raise InputError(
                        f"messages[{calling}]: the chat template of {name} leaves out calls of tools"
                    )
        filled = {number for number, one in enumerate(turns) if one["content"].strip()}
        for number in sorted(filled - set(map(int, parts[1::2]))):
            raise InputError(
                f"messages[{number}]: the chat template of {name} leaves out the {turns[number]['role']} message"
            )
        if position != len(text):
            raise InputError(f"messages: the chat template of {name} writes other text after other messages")
        return spans

    def _around(self, turns: Sequence[AnyMapping]) -> list[str]:
        """What stands around the contents, and between these texts the numbers of their messages."""
        sign = self._sign
        marked = [
            {**one, "content": f"{sign}{number}{sign}"} if one["content"].strip() else one
            for number, one in enumerate(turns)
        ]
        return re.split(f"{sign}(\\d+){sign}", self._write(marked))

    def _write(self, turns: Sequence[AnyMapping], **given: Any) -> str:
        from jinja2.exceptions import TemplateError

        try:
            return str(self._tokenizer.apply_chat_template(turns, tokenize=False, **{**self._given, **given}))
        except (TemplateError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split())
            message = f"messages: the chat template of {self._name} refuses them: {reason}"
            raise _RefusedError(message) from None

    def calls(self) -> list[ToolCall]:
        """Where the calls of tools stand: what is another text where a name is another one, or arguments are.

        Raises `InputError` for a call that the template leaves out.
        """
        calls: list[ToolCall] = []
        for number, turn in enumerate(self._turns):
            for place, call in enumerate(turn.get("tool_calls", ())):
                name, arguments = call["function"]["name"], call["function"]["arguments"]
                there = [(start, start + len(name)) for start, _ in self._call(number, place, "name")]
                there += self._call(number, place, "arguments")
                if not there:
                    message = f"the chat template of {self._name} leaves out the call of {name}"
                    raise InputError(f"messages[{number}]: {message}")
                written = (
                    arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
                )
                start, end = min(one[0] for one in there), max(one[1] for one in there)
                calls.append(ToolCall(name, written, str(call.get("id", "")), start, end, number))
        return calls

    def _call(self, number: int, place: int, key: str) -> list[tuple[int, int]]:
        """Where the name or the arguments of a call stand first, if anywhere."""
        borders = [0, *(border for span in self.spans for border in span[1:3]), len(self.text)]
        others: list[Any] = [self._sign, {self._sign: self._sign}]  # some templates read objects alone
        for other in others:
            turns = copy.deepcopy(self._turns)
            turns[number]["tool_calls"][place]["function"][key] = other
            with suppress(_RefusedError):
                after = self._around(turns)[::2]
                both = zip(borders[::2], borders[1::2], after, strict=True)
                edges = ((at, *_changed(self.text[at:to], new)) for at, to, new in both)
                return [(at + start, at + end) for at, start, end in edges if start < end][:1]
        return []

    def entry(self, name: str, number: int) -> tuple[int, int] | None:
        """Where one of the `name` (``tools``) stands that the template takes, from its first text to its last.

        It is what is another text where the texts of the entry are; None for nothing, and where a message is in it.
        """
        entries = [
            _other(one, self._sign) if at == number else one for at, one in enumerate(self._given[name])
        ]
        start, end = _changed(self.text, self._write(self._turns, **{name: entries}))
        inside = any(start < span.end and span.start < end for span in self.spans)
        return None if start == end or inside else (start, end)


class _RefusedError(InputError):
    """The template does not take the messages."""


def answered(tokenizer: Any, messages: Sequence[AnyMapping], **given: Any) -> str:
    """The last message as the template has the model write it: what it says, or its calls of tools.

    Raises `InputError` where calls are not written right behind the prompt.
    """
    last, where = messages[-1], f"messages[{len(messages) - 1}]"
    if not last.get("tool_calls"):
        return content(last, where, InputError)
    before = Rendered(tokenizer, messages[:-1], add_generation_prompt=True, **given).text
    rendered = Rendered(tokenizer, messages, **given)
    if not rendered.text.startswith(before):
        raise InputError(f"{where}: the chat template writes its calls elsewhere than behind the prompt")
    end = max(call.end for call in rendered.calls())
    special = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
    stops = [at for token in special if (at := rendered.text.find(token, end)) >= 0]
    return rendered.text[len(before) : min(stops, default=None)].rstrip()


def _with_texts(turn: AnyDict) -> AnyDict:
    """The same with the arguments of calls as JSON, as some templates take them (DeepSeek's)."""
    turn = copy.deepcopy(turn)
    for call in turn.get("tool_calls", ()):
        call["function"]["arguments"] = json.dumps(call["function"]["arguments"], ensure_ascii=False)
    return turn


def _other(value: Any, sign: str) -> Any:
    """The same with other texts; what types are stays, as templates ask for them."""
    if isinstance(value, Mapping):
        items = cast("AnyMapping", value).items()
        return {key: one if key == "type" else _other(one, sign) for key, one in items}
    if isinstance(value, list):
        return [_other(one, sign) for one in cast("list[Any]", value)]
    return sign if isinstance(value, str) else value


def _changed(old: str, new: str) -> tuple[int, int]:
    """The characters of a text that are others in another one: from the first to the one after the last."""
    start = _alike(old, new)
    return start, len(old) - _alike(old[start:][::-1], new[start:][::-1])


def _alike(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _checked(messages: Sequence[AnyMapping]) -> list[AnyDict]:
    if not messages:
        raise InputError("messages: expected at least one message, found none")
    messages = cast("list[AnyMapping]", spoken(messages, "messages", InputError))
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or not {"role", "content"} <= set(message):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"messages[{number}]: expected {{'role': …, 'content': …}}, found {message!r}")
        if message["role"] not in ROLES:
            raise InputError(
                f"messages[{number}]: expected the role system, user, assistant or tool, found {message['role']!r}"
            )
    return [
        {
            "role": message["role"],
            "content": content({**message, "tool_calls": None}, f"messages[{number}]", InputError),
            **{name: message[name] for name in CALLS if message.get(name)},
        }
        for number, message in enumerate(messages)
    ]
