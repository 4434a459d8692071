"""What servers log: responses with the ids of tokens, and messages whose contents are no plain strings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from headscope import corpora
from headscope.models.encode import chat
from tests.helpers.small_tokenizers import byte_level
from tests.models.test_chat import CHATML, talker

PROMPT, ANSWER = [1, 403, 7], [407, 261]
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is it?"},
]
SAID = {"role": "assistant", "content": "On the mat."}

LOGS: dict[str, dict[str, Any]] = {
    "a line": {"prompt_token_ids": PROMPT, "token_ids": ANSWER},
    "a response to a chat": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": SAID, "finish_reason": "stop", "token_ids": ANSWER}],
        "prompt_logprobs": None,
        "prompt_token_ids": PROMPT,
    },
    "a response to a prompt": {
        "object": "text_completion",
        "choices": [{"index": 0, "text": "x", "prompt_token_ids": PROMPT, "token_ids": ANSWER}],
    },
    "null above": {
        "prompt_token_ids": None,
        "choices": [{"text": "x", "prompt_token_ids": PROMPT, "token_ids": ANSWER}],
    },
    "LLM.generate": {
        "request_id": "0",
        "prompt": None,
        "prompt_token_ids": PROMPT,
        "outputs": [{"index": 0, "text": "x", "token_ids": ANSWER, "finish_reason": "length"}],
    },
    "a request and its response": {
        "messages": TALK,
        "prompt_token_ids": PROMPT,
        "choices": [{"message": SAID, "token_ids": ANSWER}],
    },
    "a batch": {
        "custom_id": "7",
        "response": {
            "status_code": 200,
            "body": {"prompt_token_ids": PROMPT, "choices": [{"message": SAID, "token_ids": ANSWER}]},
        },
    },
}


def write(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize("kind", list(LOGS))
def test_the_answer_is_read_wherever_it_stands(tmp_path: Path, kind: str) -> None:
    (example,) = corpora.jsonl(write(tmp_path / "log.jsonl", LOGS[kind]))
    assert example.ids == (PROMPT, ANSWER)
    assert example.messages is None
    if "response" not in LOGS[kind]:
        path = tmp_path / "log.parquet"
        pyarrow.parquet.write_table(pa.Table.from_pylist([LOGS[kind]]), path)
        (example,) = corpora.dataset(path)
        assert example.ids == (PROMPT, ANSWER)


def test_an_answer_in_words_is_the_last_message(tmp_path: Path) -> None:
    row = {"messages": TALK, "choices": [{"index": 0, "message": {**SAID, "refusal": None}}]}
    (example,) = corpora.jsonl(write(tmp_path / "log.jsonl", row))
    assert example.messages == [*TALK, SAID]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, ""),
        ("", ""),
        ([], ""),
        ([{"type": "text", "text": "Hello."}], "Hello."),
        ([{"type": "text", "text": "A."}, "B.", {"type": "output_text", "text": "C."}], "A.\nB.\nC."),
        ([{"type": "refusal", "refusal": "No."}], "No."),
    ],
)
def test_contents_are_what_the_formats_define(tmp_path: Path, content: object, said: str) -> None:
    rows = [*TALK, {"role": "assistant", "content": content, "tool_calls": []}]
    (example,) = corpora.jsonl(write(tmp_path / "log.jsonl", {"messages": rows}))
    plain = [*TALK, {"role": "assistant", "content": said}]
    assert example.messages == plain
    tokenizer = talker(byte_level(), CHATML, ["<|im_start|>", "<|im_end|>"])
    tokens = chat(tokenizer, rows)
    given = tokenizer.apply_chat_template(plain, return_dict=True)
    assert tokens.ids.tolist() == given["input_ids"]
    assert bool(tokens.mask("assistant").any()) == bool(said)


def test_other_columns_of_these_names_are_left_alone(tmp_path: Path) -> None:
    rows = [
        {"messages": TALK, "choices": {"text": ["a"], "label": ["A"]}},
        {"text": "A.", "outputs": ["b"], "response": "c", "body": {"x": 1}},
    ]
    found = list(corpora.jsonl(write(tmp_path / "log.jsonl", *rows)))
    assert [(row.messages, row.text) for row in found] == [(TALK, None), (None, "A.")]
