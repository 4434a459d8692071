"""Conversations as tokens: whose words are whose."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.models.encode import chat
from tests.helpers.small_tokenizers import byte_level, slow, stories

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA2 = (
    "{% if messages[0].role == 'system' %}{% set system = '<<SYS>>\n' + messages[0].content + '\n<</SYS>>\n\n' %}"
    "{% set rest = messages[1:] %}{% else %}{% set system = '' %}{% set rest = messages %}{% endif %}"
    "{% for message in rest %}"
    "{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
    "{% if message.role == 'user' %}<s>[INST] {{ (system if loop.first else '') + message.content.strip() }} [/INST]"
    "{% else %} {{ message.content.strip() }} </s>{% endif %}{% endfor %}"
)
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is\n\nthe cat?\n\n"},
    {"role": "assistant", "content": "On the mat."},
    {"role": "user", "content": " Be brief. "},
]


def named(tokens: Tokens, name: str) -> list[str]:
    return [tokens.pieces[place] for place in np.flatnonzero(tokens.mask(name))]


def talker(tokenizer: Any, template: str | None, added: list[str]) -> Any:
    made = copy.deepcopy(tokenizer)
    made.add_special_tokens({"additional_special_tokens": added})
    made.chat_template = template
    return made


def said(tokens: Tokens, text: str, name: str) -> str:
    """The characters of a class, in order, without white space (offsets may leave it out)."""
    chosen = {
        place for start, end in tokens.offsets[tokens.mask(name)].tolist() for place in range(start, end)
    }
    return "".join("".join(text[place] for place in sorted(chosen)).split())


@pytest.mark.parametrize("prompt", [False, True])
def test_chat_of_the_chatml_kind(prompt: bool) -> None:
    tokenizer = talker(byte_level(), CHATML, ["<|im_start|>", "<|im_end|>"])
    tokens = chat(tokenizer, TALK, add_generation_prompt=prompt)
    text = tokenizer.apply_chat_template(TALK, tokenize=False, add_generation_prompt=prompt)
    given = tokenizer.apply_chat_template(TALK, add_generation_prompt=prompt, return_dict=True)
    assert tokens.ids.tolist() == given["input_ids"]
    assert said(tokens, text, "system") == "Bebrief."
    assert said(tokens, text, "assistant") == "Onthemat."
    assert said(tokens, text, "user") == "Whereisthecat?Bebrief."
    total = sum(tokens.mask(name).astype(int) for name in ("system", "user", "assistant", "template"))
    assert (total == 1).all()
    assert tokens.mask("special").sum() == 2 * len(TALK) + prompt
    assert (tokens.mask("template") | ~tokens.mask("special")).all()
    assert sum(piece == "\n" for piece in named(tokens, "user")) == 4


def test_chat_with_the_system_message_in_the_first_turn(shared: Path) -> None:
    tokenizer = talker(stories(shared), LLAMA2, [])
    tokens = chat(tokenizer, TALK)
    text = tokenizer.apply_chat_template(TALK, tokenize=False)
    assert said(tokens, text, "system") == "Bebrief."
    assert said(tokens, text, "assistant") == "Onthemat."
    assert said(tokens, text, "user") == "Whereisthecat?Bebrief."
    assert named(tokens, "bos") == ["<s>", "<s>"]
    assert named(tokens, "eos") == ["</s>"]
    assert not (tokens.mask("bos") & ~tokens.mask("template")).any()


@pytest.mark.parametrize(
    ("template", "messages", "message"),
    [
        (None, TALK, "messages: small has no chat template; give a text instead"),
        (
            CHATML,
            [{"role": "judge", "content": "x"}],
            "messages[0]: expected the role system, user, assistant or tool, found 'judge'",
        ),
        (
            CHATML,
            [{"role": "assistant", "content": None, "tool_calls": ["f"]}],
            "messages[0] 'tool_calls'[0]: expected a 'name' and 'arguments', an object or its JSON, found 'f'",
        ),
        (
            CHATML,
            [{"role": "user", "content": 3}],
            "messages[0] 'content': expected a string, a list of parts or null, found int",
        ),
        (LLAMA2, TALK[2:], "messages: the chat template of small refuses them: roles must alternate"),
        (
            CHATML.replace("message.content", "message.content | upper"),
            TALK,
            "messages[0]: the chat template of small changes what is said",
        ),
        (
            CHATML.replace(
                "{{ message.content }}", "{% if message.role != 'system' %}{{ message.content }}{% endif %}"
            ),
            TALK,
            "messages[0]: the chat template of small leaves out the system message",
        ),
    ],
)
def test_chats_that_cannot_be_read(template: str | None, messages: Any, message: str) -> None:
    tokenizer = talker(byte_level(), template, [])
    tokenizer.name_or_path = "small"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        chat(tokenizer, messages)


def test_chat_needs_offsets(tmp_path: Path) -> None:
    message = "messages: BertTokenizerLegacy gives no offsets, so messages cannot be told apart"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        chat(slow(tmp_path), TALK)
