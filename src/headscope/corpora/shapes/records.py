"""Known files of JSON that are no logs: benchmarks of links, of prompts with their sources, and of pairs of texts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from headscope.core.kinds import is_list, is_object
from headscope.core.types import AnyDict
from headscope.corpora.shapes.rows import KeyedValues, Rows, Skip, rows_from
from headscope.corpora.sources import Line, form_of, opened
from headscope.corpora.tables import READERS
from headscope.errors import CorpusError

_ROLES = {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
}
_PASSAGE = re.compile(r"^passage \d+:", re.MULTILINE)


def asked(question: str, answer: str | None, **more: Any) -> AnyDict:
    """A prompt of a question behind what is read, and the answer as it follows."""
    row = {"prompt": f"Question: {question}\nAnswer:", **more}
    return row if answer is None else {**row, "answer": f" {answer}"}


def _wsc(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    """A pronoun and a phrase, counted in words (SuperGLUE) or characters (CLUE): told by where the phrases stand."""
    text, target = row.text("text"), row.object("target")
    starts = [word.start() for word in re.finditer(r"\S+", text)]
    ways: list[list[list[int]]] = []
    for by_words in (True, False):
        spans: list[list[int]] = []
        for name in ("span1", "span2"):
            index, phrase = target.number(f"{name}_index"), target.text(f"{name}_text")
            start = index if not by_words else starts[index] if 0 <= index < len(starts) else -1
            if start >= 0 and text[start : start + len(phrase)].casefold() == phrase.casefold():
                spans.append([start, start + len(phrase)])
        ways += [spans] if len(spans) == 2 else []
    if not ways:
        expected = "expected both phrases at their indices, by words or by characters"
        raise row.fail(f"'target': {expected}, found {target.row!r:.120}")
    right = str(row.row.get("label")).lower()
    if right not in ("true", "false"):
        raise row.fail(f"'label': expected true or false, found {row.row.get('label')!r:.40}")
    if right == "false":
        skip("a phrase that the pronoun does not mean")
    (source, to) = reversed(ways[0])
    yield {"text": text, "links": [{"from": source, "to": to, "label": "pronoun"}] if right == "true" else []}


def _hotpot(row: KeyedValues) -> tuple[str, list[list[int]], list[int], str, str]:
    """The text of paragraphs and a question, where each sentence is, which are facts, the question and the answer."""
    held, facts = row.row.get("context"), row.row.get("supporting_facts")
    titles: list[Any]
    if is_object(held):
        inner = row.object("context")
        titles, texts = inner.list("title"), inner.list("sentences")
    else:
        both = [one for one in row.list("context") if is_list(one) and len(one) == 2]
        if len(both) < len(row.list("context")):
            raise row.fail("'context': expected a list of [title, sentences], found another element")
        titles, texts = [one[0] for one in both], [one[1] for one in both]
    if is_object(facts):
        inner = row.object("supporting_facts")
        named = [*zip(inner.list("title"), inner.list("sent_id"), strict=False)]
    else:
        named = [(one[0], one[1]) for one in row.list("supporting_facts") if is_list(one) and len(one) == 2]
    if len(titles) != len(texts) or not all(
        isinstance(title, str) and is_list(some) and all(isinstance(one, str) for one in some)
        for title, some in zip(titles, texts, strict=True)
    ):
        raise row.fail("'context': expected a title and a list of sentences each, found something else")
    text, spans, sources = "", list[list[int]](), list[int]()
    for title, some in zip(titles, texts, strict=True):
        text += f"{title}\n"
        for number, sentence in enumerate(some):
            if (title, number) in named and sentence.strip():
                sources.append(len(spans))
            inside = len(sentence) - len(sentence.lstrip())
            if sentence.strip():
                spans.append([len(text) + inside, len(text) + inside + len(sentence.strip())])
            text += sentence
        text += "\n\n"
    return text, spans, sources, row.text("question"), row.text("answer")


def _hotpot_prompt(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    text, spans, sources, question, answer = _hotpot(row)
    more = asked(question, answer)
    kind = "yes or no" if answer.lower() in ("yes", "no") else row.row.get("type")
    if not sources:
        skip("the facts of a question, none of which is among its sentences")
    yield {
        **more,
        "prompt": text + more["prompt"],
        "spans": spans,
        **({"source": sources} if sources else {}),
        **({"kind": kind} if isinstance(kind, str) else {}),
    }


def _hotpot_links(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    text, spans, sources, question, _ = _hotpot(row)
    here = [len(text), len(text) + len(question)]
    links = [{"from": here, "to": spans[at], "label": "fact", "candidates": spans} for at in sources]
    yield {"text": text + question, "links": links}


def _ragas(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    new = "user_input" in row.row
    contexts = row.texts("retrieved_contexts" if new else "contexts")
    key = "response" if new else "answer"
    answer = row.text(key) if row.row.get(key) is not None else None
    yield asked(row.text("user_input" if new else "question"), answer, documents=contexts)


def ragtruth(lines: Iterable[Line], skip: Skip) -> Iterator[tuple[Line, AnyDict | CorpusError]]:
    """Answers with their marked stretches; the prompts stand in source_info.jsonl beside the file."""
    sources: dict[str, KeyedValues] = {}
    return _of_objects(partial(_ragtruth, sources))(lines, skip)


def _ragtruth(sources: dict[str, KeyedValues], row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    name = row.row.get("source_id")
    if not sources:
        sources.update(_sources(str(Path(row.line.path).with_name("source_info.jsonl"))))
    source = sources.get(str(name))
    if source is None:
        raise row.fail(f"'source_id': expected one of source_info.jsonl, found {name!r:.40}")
    prompt, response = source.text("prompt"), row.text("response")
    for label in row.objects("labels"):
        label.stretch(response, label.text("text"), label.number("start"))
    held = source.row.get("source_info")
    passages = _PASSAGE.split(str(held.get("passages", "")))[1:] if is_object(held) else []
    spans, at = list[list[int]](), 0
    for passage in map(str.strip, passages):
        at = prompt.find(passage, at)
        if at < 0:
            raise source.fail(
                f"'source_info': expected its passages in the prompt, found not {passage[:40]!r}"
            )
        spans.append([at, at := at + len(passage)])
    yield {
        "prompt": prompt,
        "answer": response,
        **({"spans": spans} if spans else {}),
        "kind": source.text("task_type"),
        "marked": [[label.number("start"), label.number("end")] for label in row.objects("labels")],
    }


def _sources(path: str) -> dict[str, KeyedValues]:
    """What was answered, by its id."""
    if not os.path.isfile(path):
        raise CorpusError(path, None, "expected the prompts of what was answered, found nothing there")
    made: dict[str, KeyedValues] = {}
    with opened(path, form_of(path)) as (content, _):
        lines = enumerate(iter(lambda: content.readline(1 << 24), b""), 1)
        for line, row in READERS[".jsonl"](
            Line(path, number, raw.decode(errors="replace")) for number, raw in lines
        ):
            if isinstance(row, CorpusError):
                raise row
            made[str(row.get("source_id"))] = KeyedValues(row, line)
    return made


def _blimp(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    pair = "/".join(str(row.row[key]) for key in ("UID", "pair_id") if key in row.row)
    for label in ("good", "bad"):
        document = {"document": pair} if pair else {}
        yield {"text": row.text(f"sentence_{label}"), "label": label, **document}


def _mtbench(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    turns = row.texts("turns")
    if not turns:
        raise row.fail("'turns': expected at least one, found none")
    for _ in turns[1:]:
        skip("a later turn, which hangs on the answer to the first")
    kind = row.row.get("category")
    messages = [{"role": "user", "content": turns[0]}]
    yield {"messages": messages, **({"kind": kind} if isinstance(kind, str) else {})}


def _sharegpt(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    turns = row.objects("conversations")
    if not turns:
        raise row.fail("'conversations': expected at least one turn, found none")
    yield {
        "messages": [
            {"role": _ROLES.get(role := turn.text("from"), role), "content": turn.text("value")}
            for turn in turns
        ]
    }


def _of_objects(make: Any) -> Rows:
    return rows_from(READERS[".jsonl"], make)


wsc, hotpot_prompts, hotpot_links = map(_of_objects, (_wsc, _hotpot_prompt, _hotpot_links))
ragas, blimp = map(_of_objects, (_ragas, _blimp))
mtbench, sharegpt = map(_of_objects, (_mtbench, _sharegpt))
