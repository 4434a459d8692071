"""Prompts with their answers, and with what is known of where these come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from headscope.core.conversations import Fail
from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Example
from headscope.corpora.files import Line, Paths
from headscope.corpora.jsonlines import KINDS, Documents, fields, json_object, named, scalar, string
from headscope.corpora.readers import json_lines


@validated
def prompts(paths: Paths, *, document: str | None = None, strict: bool = False) -> Corpus:
    """JSON lines of prompts: what a model is asked, what is explained, and where it should come from.

    A line is as in `headscope.corpora.jsonl`: `text` (and `pair`), `messages`, or `prompt_token_ids` (and `token_ids`,
    the answer). Messages may call tools and answer for them, as OpenAI,
    Anthropic (whose ``system`` stands beside them) and LangChain log them. Beside it there may be

    - ``answer``: what is explained, a text that follows the prompt, or the number of a class; by default what the
      model says, or the last message;
    - ``spans``: a list of texts of the prompt, or of ``[start, end]`` by characters;
    - ``source``: the number of the span, among `spans` or those that the prompt is cut into, that the answer comes
      from, a list of them of which any is right, or a text that the span holds;
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
    return json_lines(paths, asked_of, document, strict=strict)


def asked_of(line: Line, document: str | None, numbers: Documents) -> Example:
    """The example of a line with a prompt. Raises `CorpusError` where it is none."""
    row = json_object(line)
    name = named(row, document, line.error)
    given, asked = fields(row, None, line.error, calls=True), _asked(row, line.error)
    number = numbers.number(line, name)
    return Example(**given, asked=asked, document=number, document_known=name is not None, source=line.source)


def prompt_of(row: Any, fail: Fail) -> tuple[Any, dict[str, Any]]:
    """The prompt of an object and what stands beside it, as `headscope.why` takes them."""
    if not isinstance(row, dict):
        raise fail(f"expected an object with a prompt, found {KINDS[type(row)]}")
    made = cast("dict[str, Any]", row)
    example, asked = Example(**fields(made, None, fail, calls=True)), _asked(made, fail)
    wrote = {"answer": list(example.ids[1])} if example.ids is not None and example.ids[1] else {}
    return given_of(example), {**wrote, **asked}


def given_of(example: Example) -> Any:
    """The prompt of an example, as `headscope.why` takes it; of ids those before the answer."""
    if example.messages is not None:
        return list(example.messages)
    if example.ids is not None:
        return list(example.ids[0])
    return example.text if example.pair is None else (example.text, example.pair)


def _asked(row: Mapping[str, Any], fail: Fail) -> Mapping[str, Any]:
    """What stands beside a prompt, checked."""
    made: dict[str, Any] = {}
    if row.get("answer") is not None:
        answer = row["answer"]
        made["answer"] = answer if type(answer) is int else string(answer, "'answer'", fail)
    if row.get("spans") is not None:
        spans = cast("list[Any]", row["spans"]) if isinstance(row["spans"], list) else []
        texts = all(isinstance(one, str) for one in spans)
        pairs = all(isinstance(one, list) and len(cast("list[Any]", one)) == 2 for one in spans)
        if not spans or not (texts or pairs):
            raise fail("'spans': expected a list of texts, or of [start, end] by characters")
        made["spans"] = spans if texts else [(one[0], one[1]) for one in spans]
    source: Any = row.get("source")
    if source is not None:
        several = cast("list[Any]", source) if isinstance(source, list) else [source]
        if not several or not all(type(one) is int or isinstance(one, str) for one in several):
            raise fail(
                f"'source': expected the number of a span, a text in it, or a list of these, found {source!r}"
            )
        made["source"] = several
    if (kind := scalar(row, "kind", fail)) is not None:
        made["kind"] = str(kind)
    for name in ("tools", "documents"):
        if row.get(name) is not None:
            entries = cast("list[Any]", row[name]) if isinstance(row[name], list) else [row[name]]
            if (
                wrong := next((one for one in entries if not isinstance(one, dict)), None)
            ) or entries is not row[name]:
                raise fail(f"{name!r}: expected a list of objects, found {wrong or row[name]!r:.60}")
            made[name] = row[name]
    return made
