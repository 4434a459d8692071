"""An agent's tools: 30 questions on demo-lm beside independent answers, and the bounds of what they do."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import headscope as hs
from headscope.analyses.roles.run import repeated_tokens
from headscope.console.replies import LETTERS, ROWS, reply, unshown
from tests.helpers.presence import needs

QUESTIONS = json.loads(Path(__file__).with_name("mcp_questions.json").read_text(encoding="utf-8"))
LINES = (
    "The cat sat on the mat.", "A dog barked at the old man.", "Rain fell all night long.",
    "She sold the house in May.", "Tom lost his keys again today.", "Birds sing when spring comes back.",
)  # fmt: skip
NOUNS, VERBS = (
    ["cat", "dog", "king", "farmer", "doctor", "child", "teacher", "sailor"],
    ["saw", "liked", "followed", "heard"],
)
EXTRA = (), ("old",), ("small", "red")


def write_questions(folder: Path) -> None:
    """The files that the questions name: their links are known as they are made."""
    (folder / "lines.txt").write_text("\n\n".join(LINES) + "\n", encoding="utf-8")
    draw = np.random.default_rng(0)
    rows: dict[str, list[dict[str, Any]]] = {"objects": [], "same": [], "random": []}
    trees: list[str] = []
    for number in range(24):
        first, other = NOUNS[number % 8], NOUNS[(number + 3 + number // 8) % 8]
        words = ["The", first, VERBS[number % 4], "the", *EXTRA[number % 3], other]
        last = len(words) - 1
        rows["objects"].append({"words": words, "links": [{"from": last, "to": 2}]})
        heads = [2, 3, 0, *[last + 1] * (last - 3), 3]
        kinds = ["det", "nsubj", "root", "det", *["amod"] * (last - 4), "obj"]
        trees.append(f"# newdoc id = {number}")
        trees += [
            f"{n}\t{w}\t{w}\tX\t_\t_\t{h}\t{k}\t_\t_"
            for n, (w, h, k) in enumerate(zip(words, heads, kinds, strict=True), 1)
        ] + [""]
        again = [*words, "and", "then", "the", first]
        rows["same"].append({"words": again, "links": [{"from": len(again) - 1, "to": 1}]})
        rows["random"].append(
            {"words": again, "links": [{"from": len(again) - 1, "to": int(draw.integers(last))}]}
        )
    for name, lines in {**rows, "few": rows["objects"][:12]}.items():
        (folder / f"{name}.jsonl").write_text(
            "".join(f"{json.dumps(row)}\n" for row in lines), encoding="utf-8"
        )
    (folder / "objects.conllu").write_text("\n".join(trees) + "\n", encoding="utf-8")


def maps_of(model: Any, text: str) -> np.ndarray:
    return np.asarray(hs.capture(model, text).weights, np.float64)


def numbers(text: str) -> dict[str, str]:
    """The figures of the first line."""
    return dict(part.rsplit(" ", 1) for part in text.splitlines()[0].split(", ") if " " in part)


def head_in(said: dict[str, str]) -> hs.Head:
    return hs.Head(int(said["layer"]), int(said["head"]))


def looks(model: Any, ask: Any, text: str) -> None:
    said, maps = numbers(text), maps_of(model, ask["text"])
    head = hs.Head.parse(said["head"])
    query, key = (
        int(said[name].strip("()")) for name in re.findall(r"(from \S+|to \S+) \(", text.splitlines()[0])
    )
    assert float(said["weight"]) == pytest.approx(maps[head.layer, head.head, query, key], abs=1e-3)
    assert float(said["chance"]) == pytest.approx(1 / (query + 1), abs=1e-3)


def measured(model: Any, ask: Any, text: str) -> None:
    """The mean over all rows of all lines, or of the second copies of random tokens, head by head."""
    (name,), rows = ask["measures"], []
    for random in repeated_tokens(model, sequences=8) if name == "induction" else ():
        maps = np.asarray(hs.capture(model, random.tokens).weights, np.float64)
        half = maps.shape[-1] // 2
        rows.append(np.diagonal(maps[..., half:, 1 : half + 1], 0, 2, 3))
    for line in LINES if name != "induction" else ():
        maps = maps_of(model, line)
        if name == "entropy":
            rows.append(-(maps * np.log(np.where(maps > 0, maps, 1))).sum(-1))
        elif name == "first":
            rows.append(maps[..., 1:, 0])
        else:
            back = {"previous": 1}.get(name) or int(name[-1])
            rows.append(np.diagonal(maps, -back, 2, 3))
    values = np.concatenate(rows, -1).mean(-1)
    best = (np.argmin if ask.get("lowest") else np.argmax)(values)
    said = numbers(text)
    assert head_in(said) == hs.Head(*map(int, np.unravel_index(best, values.shape)))
    assert float(said["value"]) == pytest.approx(values.flat[best], abs=1e-3)


def found(model: Any, ask: Any, text: str) -> None:
    """How often each head looks from the object at the verb, of all other words."""
    right = np.zeros((30, 9))
    for number in range(24):
        words = [
            "The",
            NOUNS[number % 8],
            VERBS[number % 4],
            "the",
            *EXTRA[number % 3],
            NOUNS[(number + 3 + number // 8) % 8],
        ]
        maps = hs.capture(model, model.from_words(words)).words().weights
        right += np.asarray(maps)[:, :, len(words) - 1, : len(words) - 1].argmax(-1) == 2
    said = numbers(text)
    head = head_in(said)
    assert right[head.layer, head.head] == right.max()
    assert float(said["accuracy"]) == pytest.approx(right.max() / 24, abs=1e-3)


def logits(model: Any, text: str, off: str = "") -> torch.Tensor:
    """The next token's, with what some heads give taken out before they are mixed."""

    def without(module: Any, given: Any) -> Any:
        mixed = given[0].clone()
        width = mixed.shape[-1] // 9
        head = re.search(r"H(\d+)", off)
        mixed[
            ..., slice(None) if head is None else slice(int(head[1]) * width, (int(head[1]) + 1) * width)
        ] = 0
        return (mixed,)

    ids = torch.tensor([model.tokenizer(text)["input_ids"]])
    layer = re.search(r"L(\d+)", off)
    hook = layer and model.module.model.layers[int(layer[1])].self_attn.o_proj.register_forward_pre_hook(
        without
    )
    with torch.no_grad():
        given = model.module(ids, output_hidden_states=True)
    if hook:
        hook.remove()
    return given


def changed(model: Any, ask: Any, text: str) -> None:
    before, after = (
        logits(model, ask["text"], off).logits[0, -1].softmax(-1) for off in ("", ask["changes"][0])
    )
    best, then = int(before.argmax()), int(after.argmax())
    names = [model.tokenizer.decode([number]) for number in (best, then)]
    assert f"{names[0]!r}: p {before[best]:.3f}, then {after[best]:.3f}; likeliest then: {names[1]!r}" in text


def cosine(model: Any, ask: Any, text: str) -> None:
    one, other = (logits(model, ask[name]).hidden_states[-1][0].mean(0) for name in "ab")
    assert float(numbers(text)["effect"]) == pytest.approx(
        float(torch.cosine_similarity(one, other, dim=0)), abs=1e-3
    )


def reads(model: Any, ask: Any, text: str) -> None:
    said, maps = numbers(text), maps_of(model, ask["text"])
    head = hs.Head.parse(ask["head"])
    row = maps[head.layer, head.head, -1]
    assert float(said["weight"]) == pytest.approx(row[1:].max(), abs=1e-3)
    assert f"({1 + int(row[1:].argmax())})" in text


def hidden(model: Any, ask: Any, text: str) -> None:
    """Without the sentence the answer is less likely, by less or more than what is masked: the sign and the order."""
    answer = model.tokenizer(ask["answer"])["input_ids"][0]
    fact = ask["prompt"].index(". ") + 2
    whole, cut = (
        logits(model, prompt).logits[0, -1].log_softmax(-1)[answer]
        for prompt in (ask["prompt"], ask["prompt"][fact:])
    )
    assert float(whole - cut) > np.log(2)
    assert float(numbers(text)["effect"]) > np.log(2)


RIGHT = {f.__name__: f for f in (looks, measured, found, changed, cosine, reads, hidden)}


def judged(model: Any, question: Any, text: str) -> str:
    """Why an answer is wrong; empty: it is right."""
    refused = text.startswith("Not shown: ")
    if "not" in question:
        return "" if refused and question["not"] in text.splitlines()[0] else text[:300]
    try:
        assert not refused
        assert all(part in text for part in question.get("has", ()))
        if "like" in question:
            RIGHT[question["like"]](model, question["ask"], text)
    except (AssertionError, KeyError, ValueError) as error:
        return f"{type(error).__name__} {str(error)[:300]}: {text[:400]}"
    return ""


@pytest.mark.slow
def test_an_agent_gets_twenty_right_and_ten_refused(smollm, tmp_path: Path) -> None:
    needs("mcp")
    from mcp import Client, StdioServerParameters

    write_questions(tmp_path)

    async def asked() -> list[str]:
        words = ["-m", "headscope", "mcp", "-m", "demo-lm", "--folder", str(tmp_path), "--seconds", "600"]
        server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
        async with Client(server) as client:
            return [(await client.call_tool(one["tool"], one["ask"])).content[0].text for one in QUESTIONS]

    answers = asyncio.run(asked())
    wrong = [why for one, text in zip(QUESTIONS, answers, strict=True) if (why := judged(smollm, one, text))]
    assert not wrong, "\n\n".join(wrong)
    assert [sum(("not" in one) == refused for one in QUESTIONS) for refused in (False, True)] == [20, 10]
    for one, text in zip(QUESTIONS, answers, strict=True):
        assert len(text) <= LETTERS
        for place in re.findall(r"\S+\.(?:csv|json|html)\b", text) if one["tool"] != "check" else ():
            assert str(tmp_path) not in place or Path(place).is_file()


@pytest.fixture
def asked(planted, tmp_path: Path) -> Any:
    """Asks the tools in this process, over a small model."""
    needs("mcp")
    from mcp import Client

    from headscope.cli.mcp_tools import Tools

    loading: Any = SimpleNamespace(named=lambda name: planted)

    def ask(*calls: tuple[str, dict[str, Any]], seconds: int = 60) -> list[Any]:
        async def run() -> list[Any]:
            async with Client(Tools(["small"], tmp_path, seconds, loading).server()) as client:
                return [await client.call_tool(*call) for call in calls] or (await client.list_tools()).tools

        return asyncio.run(run())

    yield ask
    planted.module._forward_pre_hooks.clear()


def test_eight_tools_take_few_tokens(asked, demo) -> None:
    tools = [tool.model_dump(exclude_none=True, by_alias=True) for tool in asked()]
    assert [tool["name"] for tool in tools] == [
        "check",
        "look",
        "measure",
        "find",
        "why",
        "similar",
        "reads",
        "change",
    ]
    assert len(demo.tokenizer(json.dumps(tools))["input_ids"]) <= 3000


@pytest.mark.parametrize(
    ("tool", "ask", "said"),
    [
        ("measure", {"measures": ["previous"], "file": "../out.txt"}, "expected a file in"),
        ("measure", {"measures": ["previous"], "file": "/etc/hostname"}, "expected a file in"),
        ("measure", {"measures": ["previous"], "file": "link.txt"}, "expected a file in"),
        ("measure", {"measures": ["os:getcwd"]}, "Python is not run here"),
        ("find", {"what": "links", "file": "picture.jsonl"}, "files that may lie elsewhere"),
        ("find", {"what": "links", "file": "spelt.jsonl"}, "files that may lie elsewhere"),
        ("find", {"what": "fame"}, "expected one of syntax"),
        ("check", {"model": "gpt2"}, "expected one of small, found 'gpt2'"),
        ("change", {"text": "a cat", "changes": ["L9H9 off"]}, "no such head"),
    ],
)
def test_nothing_outside_is_touched(asked, tmp_path: Path, tool: str, ask: Any, said: str) -> None:
    (tmp_path.parent / "out.txt").write_text("a cat sat\n")
    (tmp_path / "link.txt").symlink_to(tmp_path.parent / "out.txt")
    (tmp_path / "picture.jsonl").write_text('{"image": "/etc/hostname", "links": []}\n')
    (tmp_path / "spelt.jsonl").write_text('{"im\\u0061ge": "/etc/hostname", "links": []}\n')
    (answer,) = asked((tool, ask))
    assert answer.is_error
    assert said in answer.content[0].text


def test_what_takes_too_long_is_foreseen_or_stopped(asked) -> None:
    texts = {"measures": ["previous"], "texts": ["a cat sat and"] * 6}
    foreseen, stopped = asked(
        ("measure", texts), ("why", {"prompt": "a cat sat", "answer": " and"}), seconds=0
    )
    assert foreseen.content[0].text.startswith("Not run: 6 inputs, 24 tokens, about ")
    assert "headscope measure --measures previous -m small" in foreseen.content[0].text
    assert stopped.content[0].text.startswith("Stopped after ")


def test_a_cancelled_call_ends_before_the_next_pass(planted, tmp_path: Path) -> None:
    needs("mcp")
    import anyio
    from mcp import Client

    from headscope.cli.mcp_tools import Tools

    begun, cancelled, passes = threading.Event(), threading.Event(), [0]

    def slow(*_: Any) -> None:
        passes[0] += 1
        if passes[0] == 2:  # the first tells the rate
            begun.set()
            cancelled.wait(30)

    async def run() -> str:
        tools = Tools(["small"], tmp_path, 600, SimpleNamespace(named=lambda name: planted))
        call = {"prompt": "a cat sat and the dog", "answer": " ran", "spans": "token"}
        async with Client(tools.server()) as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "why", call)
            await anyio.to_thread.run_sync(begun.wait, 60)
            group.cancel_scope.cancel()
            cancelled.set()
        with tools.lock:  # it is free when the thread has ended
            return str(passes[0])

    with planted.module.register_forward_pre_hook(slow):
        assert asyncio.run(run()) == "2"
    planted.module._forward_pre_hooks.clear()


CELLS = st.one_of(
    st.text(max_size=2000), st.floats(), st.none(), st.integers(), st.booleans(), st.just(pd.NA)
)


@pytest.mark.slow
@example([["x" * 20] * 6] * 30, ["say so " * 90] * 6, "place " * 500)
@given(
    st.lists(st.lists(CELLS, min_size=6, max_size=6), max_size=40),
    st.lists(st.text(max_size=3000), max_size=6),
    st.text(max_size=3000),
)
def test_no_answer_is_longer(rows: Any, says: Any, place: str) -> None:
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "d", "e", "f"], dtype=object)
    text = reply(frame, says, missing="n" * 5000, run=place, files=place)
    assert len(text) <= LETTERS
    assert text.startswith("Not shown: n")
    left = re.search(r"\n([\d,]+) more rows: in the first file$", text)
    shown = len(frame) - (int(left[1].replace(",", "")) if left else 0)
    assert 0 <= shown <= min(ROWS, len(frame))
    text.encode()


@pytest.mark.parametrize(
    ("row", "least", "why"),
    [
        ({"q": 0.04, "p": 0.001}, 0, ""),
        ({"q": 0.06, "p": 0.001}, 0, "no q"),
        ({"q": None, "p": 0.001}, 0, ""),
        ({"ci_low": 0.3, "ci_high": 0.4, "chance": 0.2}, 0, ""),
        ({"ci_low": 0.1, "ci_high": 0.4, "chance": 0.2}, 0, "none lies beyond chance"),
        ({"ci_low": None, "ci_high": None, "chance": 0.2, "n": 3}, 0, "too few documents"),
        ({"weight": 0.5, "chance": 0.2}, 0, ""),
        ({"effect": 0.6, "q": 0.01}, 0.69, "no q"),
        ({"effect": 0.8, "q": None}, 0.69, ""),
    ],
)
def test_a_claim_needs_its_statistics(row: Any, least: float, why: str) -> None:
    said = unshown(pd.DataFrame([row]), least)
    assert said.startswith(why)
    assert bool(said) == bool(why)
