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
from headscope.errors import CorpusError
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


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"prompt_token_ids": [1], "choices": [{"text": "x"}]},
            "'choices'[0]: expected 'token_ids' (vLLM's return_token_ids), found 'text'",
        ),
        (
            {"prompt_token_ids": [1], "outputs": [{"token_ids": [2]}, {"token_ids": [3]}]},
            "'outputs': expected one answer, found 2; write a line for each",
        ),
        (
            {"prompt_token_ids": [1], "token_ids": [2], "choices": [{"token_ids": [2]}]},
            "expected 'token_ids' once, found them in 'choices'[0] too",
        ),
        (
            {"prompt_token_ids": [1], "outputs": [[2, 3]]},
            "'outputs': expected a list of objects, one for each answer, found [[2, 3]]",
        ),
        (
            {"prompt_token_ids": [1], "choices": [{"token_ids": ["a"]}]},
            "'token_ids'[0]: expected an id from 0, found 'a'",
        ),
        (
            {"messages": TALK, "choices": [{"message": SAID}, {"message": SAID}]},
            "'choices': expected one answer, found 2; write a line for each",
        ),
    ],
)
def test_an_answer_that_is_not_read_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "log.jsonl", row)
    with pytest.raises(CorpusError) as error:
        list(corpora.jsonl(path, strict=True))
    assert str(error.value) == f"{path}:1: {message}"


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


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"content": [{"type": "image_url", "image_url": {"url": "x"}}]},
            "'messages'[2] 'content'[0]: expected a part of text, found 'image_url'",
        ),
        ({"content": [3]}, "'messages'[2] 'content'[0]: expected a part of text, found 3"),
        (
            {"content": {"text": "a"}},
            "'messages'[2] 'content': expected a string, a list of parts or null, found dict",
        ),
        (
            {"content": None, "tool_calls": [{"id": "1"}]},
            "'messages'[2]: expected a message of text, found 'tool_calls', which are not read",
        ),
    ],
)
def test_what_is_no_text_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "log.jsonl", {"messages": [*TALK, {"role": "assistant", **row}]})
    with pytest.raises(CorpusError) as error:
        list(corpora.jsonl(path, strict=True))
    assert str(error.value) == f"{path}:1: {message}"


def test_a_conversation_in_which_nothing_is_said_is_none(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", {"messages": [{"role": "user", "content": None}]})
    with pytest.raises(
        CorpusError, match=r"'messages': expected some text, found messages that are all empty"
    ):
        list(corpora.jsonl(path, strict=True))


def test_other_columns_of_these_names_are_left_alone(tmp_path: Path) -> None:
    rows = [
        {"messages": TALK, "choices": {"text": ["a"], "label": ["A"]}},
        {"text": "A.", "outputs": ["b"], "response": "c", "body": {"x": 1}},
    ]
    found = list(corpora.jsonl(write(tmp_path / "log.jsonl", *rows)))
    assert [(row.messages, row.text) for row in found] == [(TALK, None), (None, "A.")]
