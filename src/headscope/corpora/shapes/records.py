"""Known files of JSON that are no logs: benchmarks of links, of prompts with their sources, and of pairs of texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, zip_longest
from operator import eq
from typing import Any

from headscope.core.kinds import is_object
from headscope.core.types import AnyDict
from headscope.corpora.shapes.rows import KeyedValues, Made, Rows, Skip, objects_in, rows_from
from headscope.corpora.sources import Line

_ROLES = {"human": "user", **dict.fromkeys(("gpt", "chatgpt", "bing", "bard"), "assistant")}
_PASSAGE = re.compile(r"^passage \d+:", re.MULTILINE)


def _asked(question: str, answer: str | None, read: str = "", **more: Any) -> AnyDict:
    """A prompt of a question behind what is read, and the answer as it follows."""
    prompt = f"{read}Question: {question}\nAnswer:"
    return {"prompt": prompt, "answer": answer and f" {answer}", **more}


@rows_from
def wsc(row: KeyedValues) -> Iterator[AnyDict]:
    """A pronoun and a phrase, counted in words (SuperGLUE) or characters (CLUE): told by where the phrases stand."""
    text, target = row.text("text"), row.object("target")
    phrases = [(target.number(f"{name}_index"), target.text(f"{name}_text")) for name in ("span1", "span2")]
    starts = [word.start() for word in re.finditer(r"\S+", text)]
    by_words = [(starts[at] if 0 <= at < len(starts) else -1, phrase) for at, phrase in phrases]
    for way in (by_words, phrases):
        spans = [[start, start + len(phrase)] for start, phrase in way if start >= 0]
        if [text[slice(*span)].casefold() for span in spans] == [phrase.casefold() for _, phrase in way]:
            break
    else:
        expected = "expected both phrases at their indices, by words or by characters"
        raise row.fail(f"'target': {expected}, found {target.row!r:.120}")
    right = str(row.row.get("label")).lower()
    if right not in ("true", "false"):
        raise row.fail(f"'label': expected true or false, found {row.row.get('label')!r:.40}")
    if right == "false":
        row.skip("a phrase that the pronoun does not mean")
    to, source = spans
    yield {"text": text, "links": [{"from": source, "to": to, "label": "pronoun"}] if right == "true" else []}


def _pairs(row: KeyedValues, key: str, *names: str) -> list[Any]:
    """Pairs: a list of them, or (on the Hub) a list of the first and one of the second."""
    if not is_object(row.row.get(key)):
        return row.list(key)
    return [*map(list, zip_longest(*map(row.object(key).list, names)))]


def _hotpot(row: KeyedValues) -> tuple[str, list[list[int]], list[int]]:
    """The text of paragraphs, where each sentence is, and which are facts."""
    context = _pairs(row, "context", "title", "sentences")
    facts = _pairs(row, "supporting_facts", "title", "sent_id")
    text, spans, sources = "", list[list[int]](), list[int]()
    for one in context:
        match one:
            case [str(title), [*sentences]] if all(isinstance(sentence, str) for sentence in sentences):
                text += f"{title}\n"
            case _:
                raise row.fail(f"'context': expected a title and a list of sentences, found {one!r:.60}")
        for number, sentence in enumerate(sentences):
            if stripped := sentence.strip():
                start = len(text) + sentence.index(stripped)
                sources += [len(spans)] if [title, number] in facts else []
                spans.append([start, start + len(stripped)])
            text += sentence
        text += "\n\n"
    return text, spans, sources


@rows_from
def hotpot_prompts(row: KeyedValues) -> Iterator[AnyDict]:
    """A question behind its paragraphs, whose facts are the sources."""
    text, spans, sources = _hotpot(row)
    answer = row.text("answer")
    if not sources:
        row.skip("the facts of a question, none of which is among its sentences")
    kind = "yes or no" if answer.lower() in ("yes", "no") else row.named("type")
    yield _asked(row.text("question"), answer, text, spans=spans, source=sources or None, kind=kind)


@rows_from
def hotpot_links(row: KeyedValues) -> Iterator[AnyDict]:
    """A question, linked with its facts among all sentences."""
    text, spans, sources = _hotpot(row)
    question = row.text("question")
    here = [len(text), len(text) + len(question)]
    links = [{"from": here, "to": spans[at], "label": "fact", "candidates": spans} for at in sources]
    yield {"text": text + question, "links": links}


@rows_from
def ragas(row: KeyedValues) -> Iterator[AnyDict]:
    """A question behind the passages that were retrieved."""
    new = "user_input" in row.row
    contexts = row.texts("retrieved_contexts" if new else "contexts")
    key = "response" if new else "answer"
    answer = row.text(key) if row.row.get(key) is not None else None
    yield _asked(row.text("user_input" if new else "question"), answer, documents=contexts)


def _joined(
    key: str, name: str, what: str, make: Callable[[KeyedValues, KeyedValues], Iterable[AnyDict]]
) -> Rows:
    """Rows that `make` makes of each object and that with the same `key` in another file."""

    def rows(lines: Iterable[Line], skip: Skip) -> Made:
        held: dict[str, KeyedValues] = {}

        def both(row: KeyedValues) -> Iterable[AnyDict]:
            if not held:
                for line, one in objects_in(row.line.path, name, what):
                    held[str(one.get(key))] = KeyedValues(one, line, skip)
            other = held.get(str(row.row.get(key)))
            if other is None:
                raise row.fail(f"{key!r}: expected one of {name}, found {row.row.get(key)!r:.40}")
            return make(row, other)

        return rows_from(both)(lines, skip)

    return rows


def _ragtruth(row: KeyedValues, source: KeyedValues) -> Iterator[AnyDict]:
    prompt, response = source.text("prompt"), row.text("response")
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
        "spans": spans or None,
        "kind": source.text("task_type"),
        "marked": [
            label.stretch(response, label.text("text"), label.number("start"))
            for label in row.objects("labels")
        ],
    }


ragtruth = _joined("source_id", "source_info.jsonl", "the prompts of what was answered", _ragtruth)


def _longbench(row: KeyedValues, source: KeyedValues) -> Iterator[AnyDict]:
    """Each statement of an answer behind those before it, with the stretches of the context that it cites."""
    context = source.text("context")
    made = _asked(
        row.text("query"), None, f"{context}\n\n", document=str(row.row.get("idx")), kind=row.named("dataset")
    )
    for statement in row.objects("statements"):
        text = f" {statement.text('statement')}"
        cited = [
            one.stretch(context, one.text("cite"), one.number("start_char"))
            for one in statement.objects("citation")
        ]
        if cited:
            yield {**made, "answer": text, "source": cited}
        else:
            row.skip("a statement that cites nothing")
        made["prompt"] += text


longbench = _joined("idx", "LongBench-Cite.json", "the contexts of what was asked", _longbench)


@rows_from
def blimp(row: KeyedValues) -> Iterator[AnyDict]:
    """Two sentences, of which one is good."""
    pair = "/".join(str(row.row[key]) for key in ("UID", "pair_id") if key in row.row)
    for label in ("good", "bad"):
        yield {"text": row.text(f"sentence_{label}"), "label": label, "document": pair or None}


def blimp_pairs(lines: Iterable[Line], skip: Skip) -> Made:
    """What stands before the word in which two sentences differ, with the same of a row whose words are swapped."""
    waiting: dict[tuple[str, str, str, int], list[tuple[Line, list[str]]]] = {}

    def read(row: KeyedValues) -> Iterable[AnyDict]:
        good, bad = (row.text(f"sentence_{label}").split() for label in ("good", "bad"))
        at = next((at for at, (one, other) in enumerate(zip(good, bad, strict=False)) if one != other), 0)
        if not at or good[at + 1 :] != bad[at + 1 :]:
            row.skip("a pair that does not differ in one word behind others")
        else:
            right, wrong = (words[at].rstrip(".?!") for words in (good, bad))
            place = str(row.row.get("UID")), right, wrong, at
            waiting.setdefault(place, []).append((row.line, good[:at]))
        return ()

    yield from rows_from(read)(lines, skip)
    for (name, right, wrong, at), mine in waiting.items():
        others = waiting.get((name, wrong, right, at), [])
        while mine and others:
            line, clean = mine.pop(0)
            nearest = max(others, key=lambda other: sum(map(eq, other[1], clean)))
            others.remove(nearest)
            prompts = {"clean": " ".join(clean), "corrupted": " ".join(nearest[1])}
            yield line, {**prompts, "answer": f" {right}", "wrong": f" {wrong}"}
    for _ in chain.from_iterable(waiting.values()):
        skip("a pair without another whose words are swapped")


@rows_from
def mtbench(row: KeyedValues) -> Iterator[AnyDict]:
    """The first question of several turns."""
    turns = row.texts("turns")
    if not turns:
        raise row.fail("'turns': expected at least one, found none")
    for _ in turns[1:]:
        row.skip("a later turn, which hangs on the answer to the first")
    yield {"messages": [{"role": "user", "content": turns[0]}], "kind": row.named("category")}


@rows_from
def sharegpt(row: KeyedValues) -> Iterator[AnyDict]:
    """A conversation."""
    turns = row.objects("conversations")
    if not turns:
        raise row.fail("'conversations': expected at least one turn, found none")
    yield {
        "messages": [
            {"role": _ROLES.get(role := turn.text("from"), role), "content": turn.text("value")}
            for turn in turns
        ]
    }
