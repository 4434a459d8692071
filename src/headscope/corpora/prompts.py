"""Prompts with their answers, and with what is known of where these come from."""

from __future__ import annotations

from typing import Any

from headscope.core.conversations import Fail, logged
from headscope.core.kinds import is_list, is_object
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Example
from headscope.corpora.files import Line, Paths
from headscope.corpora.jsonlines import (
    KINDS,
    DocumentNumbers,
    fields,
    json_object,
    keys_of,
    known_texts,
    scalar,
    string,
)
from headscope.corpora.readers import json_lines

KEYS = ("prompt", "text", "messages", "prompt_token_ids")
"""Keys of which each line has one: what a model is asked."""


@validated
def prompts(paths: Paths, *, document: str | None = None, strict: bool = False) -> Corpus:
    """JSON lines of prompts: what a model is asked, what is explained, and where it should come from.

    A line has a `prompt`: a text, messages or ids. It may also be as in `headscope.corpora.jsonl`: `text` (and `pair`),
    `messages`, or `prompt_token_ids` (and `token_ids`, the answer). `documents` beside a prompt that is a text, a list
    of texts or of objects with a ``text``, are read before it, parted by blank lines, and are its spans. Messages may
    call tools and answer for them, as OpenAI, Anthropic (whose ``system`` stands beside them) and LangChain log them.
    Beside it there may be

    - ``answer``: what is explained, a text that follows the prompt, or the number of a class; by default what the
      model says, or the last message;
    - ``spans``: a list of texts of the prompt, or of ``[start, end]`` by characters;
    - ``source``: the number of the span, among `spans` or those that the prompt is cut into, that the answer comes
      from, a list of them of which any is right, or a text that the span holds; in a list also ``[start, end]`` by
      characters: the spans that lie there, at least in part;
    - ``marked``: stretches of the answer, ``[start, end]`` by characters, that are marked as without a source;
    - ``kind``: what sort of prompt it is: figures are given by kind;
    - ``tools``, ``documents``: what the template of a conversation writes beside the messages.

    Args:
        paths: a file or several, or folders of ``.jsonl`` files.
        document: the key of the document, by default ``document``: intervals are by document.
        strict: refuse lines that are anything else; else they are left out and listed (`Corpus`).

    >>> example = next(iter(hs.corpora.prompts("prompts.jsonl")))
    >>> example.text, example.asked["answer"]
    ('Maria lives in Oslo. Peter bakes. Maria lives in', ' Oslo')
    """
    return json_lines(paths, asked_of, document, strict=strict, kind="prompts")


def asked_of(line: Line, numbers: DocumentNumbers) -> Example:
    """The example of a line with a prompt. Raises `CorpusError` where it is none."""
    row = json_object(line)
    given, asked = _read(row, line.error)
    return Example(**given, asked=asked, **numbers.of_row(line, row))


def prompt_of(row: object, fail: Fail) -> tuple[Any, AnyDict]:
    """The prompt of an object and what stands beside it, as `headscope.why` takes them."""
    if is_list(row) and row and is_object(row[0]) and "role" in row[0]:
        row = {"messages": row}
    if not is_object(row):
        kind = KINDS[type(row)]
        items = row if is_list(row) else []
        keys = f" of objects with {keys_of(items[0])}" if items and is_object(items[0]) else ""
        tip = "; a data set is a .jsonl of an object a line" if items else ""
        raise fail(f"expected an object with a prompt, found {kind}{keys}{tip}")
    given, asked = _read(row, fail)
    example = Example(**given, asked=asked)
    answer = answer_of(example)
    return given_of(example), {**asked, **({} if answer is None else {"answer": answer})}


def given_of(example: Example) -> Any:
    """The prompt of an example, as `headscope.why` takes it; of ids those before the answer."""
    if example.messages is not None:
        return list(example.messages)
    if example.ids is not None:
        return list(example.ids[0])
    return example.text if example.pair is None else (example.text, example.pair)


def answer_of(example: Example) -> Any:
    """The answer that stands beside a prompt, or of ids behind it; None for none."""
    wrote = list(example.ids[1]) if example.ids is not None else []
    return (example.asked or {}).get("answer", wrote or None)


def _read(row: AnyMapping, fail: Fail) -> tuple[AnyDict, AnyMapping]:
    """The fields of an example, and what stands beside the prompt."""
    row = _under_known_keys(row, fail)
    return fields(row, None, fail, calls=True), _asked(row, fail)


def _under_known_keys(row: AnyMapping, fail: Fail) -> AnyMapping:
    """A row whose prompt stands where that of other corpora does."""
    inner = logged(row, fail)
    there = [key for key in KEYS if key in inner]
    if "prompt_token_ids" in there or (not there and known_texts(inner)):
        return row
    if len(there) != 1:
        keys = " and ".join(map(repr, there)) or keys_of(inner)
        raise fail(f"expected one of the keys {', '.join(map(repr, KEYS))}, found {keys}")
    if there != ["prompt"]:
        return row
    prompt, rest = inner["prompt"], {key: value for key, value in inner.items() if key != "prompt"}
    if isinstance(prompt, list) and prompt:
        return {**rest, ("messages" if isinstance(prompt[0], dict) else "prompt_token_ids"): prompt}
    text = string(prompt, "'prompt'", fail)
    if not (documents := rest.pop("documents", None)):
        return {**rest, "text": text}
    if not is_list(documents):
        raise fail(f"'documents': expected a list, found {KINDS[type(documents)]}")
    texts: list[str] = []
    for place, one in enumerate(documents):
        where, held = f"'documents'[{place}]", one
        if is_object(one):
            keys, held = keys_of(one), one.get("text")
            if held is None:
                raise fail(f"{where}: expected a text, or an object with 'text', found one with {keys}")
        texts.append(string(held, where, fail))
    return {"spans": texts, **rest, "text": "\n\n".join([*texts, text])}


def _are_pairs(value: Any) -> bool:
    return is_list(value) and all(is_list(one) and len(one) == 2 for one in value)


def _asked(row: AnyMapping, fail: Fail) -> AnyMapping:
    """What stands beside a prompt, checked."""
    made: AnyDict = {}
    if row.get("answer") is not None:
        answer = row["answer"]
        made["answer"] = answer if type(answer) is int else string(answer, "'answer'", fail)
    if row.get("spans") is not None:
        spans = row["spans"] if is_list(row["spans"]) else []
        texts = all(isinstance(one, str) for one in spans)
        if not spans or not (texts or _are_pairs(spans)):
            raise fail("'spans': expected a list of texts, or of [start, end] by characters")
        made["spans"] = spans if texts else [(one[0], one[1]) for one in spans]
    source: Any = row.get("source")
    if source is not None:
        several = source if is_list(source) else [source]
        if not several or not all(
            type(one) is int or isinstance(one, str) or _are_pairs([one]) for one in several
        ):
            expected = "the number of a span, a text in it, or a list of these or of [start, end]"
            raise fail(f"'source': expected {expected}, found {source!r}")
        made["source"] = several
    if row.get("marked") is not None:
        if not _are_pairs(row["marked"]):
            raise fail("'marked': expected a list of [start, end] by characters")
        made["marked"] = [(one[0], one[1]) for one in row["marked"]]
    if (kind := scalar(row, "kind", fail)) is not None:
        made["kind"] = str(kind)
    for name in ("tools", "documents"):
        if (given := row.get(name)) is not None:
            entries = given if is_list(given) else [given]
            wrong = next((one for one in entries if not isinstance(one, dict)), None)
            if wrong or entries is not given:
                raise fail(f"{name!r}: expected a list of objects, found {wrong or given!r:.60}")
            made[name] = given
    return made
