"""What a chat template makes of a conversation, and where each message stands in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from headscope.core.conversations import CALLS, content
from headscope.errors import InputError

ROLES = ("system", "user", "assistant", "tool")


class Span(NamedTuple):
    """The characters of one message in the rendered conversation, and which one it is."""

    role: str
    start: int
    end: int
    number: int


def render(
    tokenizer: Any,
    messages: Sequence[Mapping[str, Any]],
    *,
    add_generation_prompt: bool = False,
    **given: Any,
) -> tuple[str, list[Span]]:
    """The text that the template makes, and the span of each message's content in it.

    The template is rendered twice, the second time with a marker in place of each content. What stands around
    the markers must be what stands around the contents (which templates may strip of white space), or it is
    an error: so the spans are exact for any template, also where it folds the system message into the first
    user turn. What else the template takes (``tools``, ``documents``) is `given` to it.
    """
    turns = _checked(messages)
    name = str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
    if not tokenizer.chat_template:
        raise InputError(f"messages: {name} has no chat template; give a text instead")
    quote = next(
        sign for sign in map(chr, range(0xE000, 0xF8FF)) if not any(sign in one["content"] for one in turns)
    )
    marked = [
        {**one, "content": f"{quote}{number}{quote}"} if one["content"].strip() else one
        for number, one in enumerate(turns)
    ]
    text, pattern = (_apply(tokenizer, name, some, add_generation_prompt, given) for some in (turns, marked))
    parts = re.split(f"{quote}(\\d+){quote}", pattern)
    spans: list[Span] = []
    position = len(parts[0])
    if not text.startswith(parts[0]):
        raise InputError(f"messages: the chat template of {name} writes other text before other messages")
    for number, after in zip(map(int, parts[1::2]), parts[2::2], strict=True):
        spoken = turns[number]["content"]
        for form in (spoken, spoken.strip(), spoken.lstrip(), spoken.rstrip()):
            if text.startswith(form + after, position):
                break
        else:
            raise InputError(f"messages[{number}]: the chat template of {name} changes what is said")
        spans.append(Span(turns[number]["role"], position, position + len(form), number))
        position += len(form) + len(after)
    calling = next((number for number, one in enumerate(turns) if "tool_calls" in one), None)
    if calling is not None:
        silent = [{key: value for key, value in one.items() if key != "tool_calls"} for one in turns]
        if _apply(tokenizer, name, silent, add_generation_prompt, given) == text:
            raise InputError(f"messages[{calling}]: the chat template of {name} leaves out calls of tools")
    filled = {number for number, one in enumerate(turns) if one["content"].strip()}
    for number in sorted(filled - set(map(int, parts[1::2]))):
        raise InputError(
            f"messages[{number}]: the chat template of {name} leaves out the {turns[number]['role']} message"
        )
    if position != len(text):
        raise InputError(f"messages: the chat template of {name} writes other text after other messages")
    return text, spans


def _apply(
    tokenizer: Any, name: str, messages: list[dict[str, Any]], prompt: bool, given: Mapping[str, Any]
) -> str:
    from jinja2.exceptions import TemplateError

    try:
        return str(
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=prompt, **given)
        )
    except TemplateError as error:
        reason = " ".join(str(error).split())
        raise InputError(f"messages: the chat template of {name} refuses them: {reason}") from None


def _checked(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if not messages:
        raise InputError("messages: expected at least one message, found none")
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or not {"role", "content"} <= set(message):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"messages[{number}]: expected {{'role': …, 'content': …}}, found {message!r}")
        if message["role"] not in ROLES:
            raise InputError(
                f"messages[{number}]: expected the role system, user, assistant or tool, found {message['role']!r}"
            )
        calls: Any = message.get("tool_calls") or []
        if not isinstance(calls, list) or not all(
            isinstance(one, Mapping) for one in cast("list[Any]", calls)
        ):
            raise InputError(
                f"messages[{number}] 'tool_calls': expected a list of objects, found {calls!r:.60}"
            )
    return [
        {
            "role": message["role"],
            "content": content({**message, "tool_calls": None}, f"messages[{number}]", InputError),
            **{name: message[name] for name in CALLS if message.get(name)},
        }
        for number, message in enumerate(messages)
    ]
