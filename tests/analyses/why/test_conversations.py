"""Calls of tools and their results as spans, by the templates of several families and the logs of several libraries."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import transformers

import headscope as hs
from headscope.analyses.why.asked import ask
from headscope.analyses.why.spans import Source, cut
from headscope.corpora.prompts import prompt_of
from headscope.errors import InputError
from tests.helpers.small_tokenizers import byte_level

# fmt: off
TURN = "<|im_start|>{{ m.role }}\n{{ m.content }}"
TOOLS_AS_JSON = "{% for t in tools or [] %}{{ t | tojson(indent=4) }}\n{% endfor %}"
TOOLS_AS_TEXT = "{% for t in tools or [] %}type {{ t.function.name }} = // {{ t.function.description }}\n{% endfor %}"
OPENED = "{% if not called.name %}{{ raise_exception('no call') }}{% endif %}"
# tools; a call, `f` its function; an answer
FAMILIES = {
    "Qwen": (TOOLS_AS_JSON, '<tool_call>\n{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}\n</tool_call>', TURN),
    "Llama": (TOOLS_AS_JSON, '{"name": "{{ f.name }}", "parameters": {{ f.arguments | tojson }}}', "{{ m.content | tojson }}"),
    "Hermes": (TOOLS_AS_TEXT, '{"arguments": {{ f.arguments | tojson }}, "name": "{{ f.name }}"}', '{"name": "{{ m.name }}", "content": {{ m.content | tojson }}}'),
    "Mistral": (TOOLS_AS_JSON, '[{{ (f | tojson)[:-1] }}, "id": "{{ c.id }}"}]', '{"content": {{ m.content }}, "call_id": "{{ m.tool_call_id }}"}'),
    "DeepSeek": (TOOLS_AS_JSON, "{{ f.name + '\n```json\n' + f.arguments + '\n```' }}", TURN),
    "GLM": (TOOLS_AS_JSON, "{{ f.name }}{% for k, v in f.arguments | items %}<key>{{ k }}</key><value>{{ v }}</value>{% endfor %}", TURN),
    "gpt-oss": (TOOLS_AS_TEXT, "functions.{{ f.name }} {{ f.arguments | tojson }}{% set called.name = f.name %}", OPENED + "functions.{{ called.name }} {{ m.content | tojson }}"),
}
TOOLS = [{"type": "function", "function": {"name": name, "description": f"It can {name}."}} for name in ("weather", "add")]
WEATHER = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
ADD = {"id": "c2", "type": "function", "function": {"name": "add", "arguments": {"a": [1, 2]}}}
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Is it wet?"},
    {"role": "assistant", "content": "Let me look.", "tool_calls": [WEATHER]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"sky": "wet"}'},
    {"role": "assistant", "content": None, "tool_calls": [ADD]},
    {"role": "tool", "tool_call_id": "c2", "content": "3"},
    {"role": "assistant", "content": "Yes."},
]
USED, CITY = {"id": "c1", "name": "weather"}, {"city": "Oslo"}
SAID = {"type": "text", "text": "Let me look."}
LOGS: dict[str, dict[str, Any]] = {
    "Anthropic": {"system": [{"type": "text", "text": "Be brief."}], "tools": [{"name": "weather", "input_schema": {}}], "messages": [
        TALK[0], {"role": "assistant", "content": [SAID, {**USED, "type": "tool_use", "input": CITY}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "Rain."}, {"type": "text", "text": "Well?"}]}, TALK[-1],
    ]},
    "LangChain": {"messages": [
        {"type": "system", "data": {"content": "Be brief.", "type": "system"}},
        {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": "Is it wet?", "type": "human"}},
        {"type": "ai", "content": "Let me look.", "tool_calls": [{**USED, "args": CITY}]}, {"type": "tool", "content": "Rain.", "tool_call_id": "c1"},
        {"type": "human", "content": "Well?"}, {"type": "ai", "content": "Yes."},
    ]},
    "OpenAI": {"choices": [{"message": TALK[-1]}], "messages": [
        {"role": "developer", "content": "Be brief."}, TALK[0], {"role": "assistant", "content": [SAID], "function_call": WEATHER["function"]},
        {"role": "function", "name": "weather", "content": "Rain."}, {"role": "user", "content": "Well?"},
    ]},
}
# fmt: on


def template(family: str) -> str:
    tools, called, result = FAMILIES[family]
    return (
        f"{{% set called = namespace(name='') %}}{tools}{{% for m in messages %}}{{% if m.role == 'tool' %}}{result}"
        f"{{% else %}}{TURN}{{% for c in m.tool_calls or [] %}}{{% set f = c.function %}}{called}{{% endfor %}}"
        "{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )


def talker(family: str) -> Any:
    tokenizer = copy.deepcopy(byte_level())
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.chat_template = template(family)
    size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    config = transformers.LlamaConfig(vocab_size=len(tokenizer), **size)
    return hs.load((transformers.LlamaForCausalLM(config), tokenizer))


def names(spans: list[Source]) -> list[str]:
    return [one.text.partition(": ")[0] for one in spans]


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_and_results_are_spans_in_their_messages(family: str) -> None:
    """What stands there is what the template writes: a name, then arguments, or the other way round."""
    asked = ask(talker(family), TALK, tools=TOOLS)
    calls, results = cut(asked.prompt, "call"), cut(asked.prompt, "result")
    assert [one.text for one in calls] == ['call weather: {"city": "Oslo"}', 'call add: {"a": [1, 2]}']
    for one, name, last in zip(calls, ("weather", "add"), ("Oslo", "2]"), strict=True):
        written = asked.prompt.text[one.start : one.end]
        assert (written.count(name), last in written, "<|im_" in written) == (1, True, False)
        assert name in (written[: len(name)], written[-len(name) :])
    assert names(results) == ["result of weather", "result of add"]
    assert results[0].text.replace("\\", "").endswith(f": {TALK[2]['content']}")
    nested = cut(asked.prompt, ["message", "call"])
    speakers = ["user", "assistant", "result of weather", "assistant", "result of add"]
    assert names(nested) == [*speakers, "call weather", "call add"]
    assert [one.parent for one in nested[5:]] == [1, 3]
    parts = cut(asked.prompt, "part")
    speakers[2:4] = ["call weather", "result of weather", "call add"]
    assert names(parts) == ["weather", "add", *speakers]
    assert (sum(one.tokens.astype(int) for one in parts) <= 1).all()  # beside each other
    assert all(f"It can {one.text.partition(': ')[0]}." in one.text for one in parts[:2])


def test_a_call_can_be_the_answer() -> None:
    """Why did the model call this tool? Up to the end of the turn, as the template has the model write it."""
    asked = ask(talker("Qwen"), TALK[:2], tools=TOOLS)
    called = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    assert asked.text == f"Let me look.{called}"
    assert [one.text for one in cut(asked.prompt, "message")] == ["user: Is it wet?"]


@pytest.mark.parametrize("library", LOGS)
def test_logs_of_several_libraries_say_the_same(library: str, tmp_path: Path) -> None:
    """From a file, and in Python."""
    log = LOGS[library]
    prompt, more = prompt_of(log, InputError)
    (tmp_path / "log.jsonl").write_text(json.dumps(log))
    (example,) = hs.corpora.prompts(tmp_path / "log.jsonl", strict=True)
    assert list(example.messages or ()) == prompt
    asked = ask(talker("Qwen"), prompt, **more)
    texts = [asked.text, *(one.text for one in cut(asked.prompt, "part") if one.text[:9] != "weather: ")]
    looks = ["user: Is it wet?", "assistant: Let me look.", 'call weather: {"city": "Oslo"}']
    assert texts == ["Yes.", "system: Be brief.", *looks, "result of weather: Rain.", "user: Well?"]
    assert ("weather" in names(cut(asked.prompt, "part"))) == ("tools" in log)
    assert prompt_of(TALK, InputError) == prompt_of({"messages": TALK}, InputError)


def test_a_call_that_the_template_leaves_out_is_named() -> None:
    model = talker("Qwen")
    model.tokenizer.chat_template = template("Qwen").replace("m.tool_calls or []", "(m.tool_calls or [])[:1]")
    with pytest.raises(
        InputError, match=r"messages\[1\]: the chat template of .* leaves out the call of add"
    ):
        ask(model, [TALK[0], {**TALK[1], "tool_calls": [WEATHER, ADD]}], TALK[2]["content"])
    model.tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}"
    with pytest.raises(InputError, match="leaves out calls of tools"):
        ask(model, TALK)
