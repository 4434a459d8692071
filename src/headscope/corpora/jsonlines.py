"""Values in JSON lines, checked: what they are, and the errors that say so."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from headscope.core.conversations import CALLS, Fail, content, logged, spoken
from headscope.core.counts import plural
from headscope.core.kinds import is_list, is_object
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora.arrays import broken
from headscope.corpora.files import LONGEST_LINE, Line
from headscope.corpora.sources import BrokenLine
from headscope.errors import InputError

MAIN = ("text", "words", "tokens", "messages", "prompt_token_ids")
"""Keys of which each line of a text has one: what it is read from."""

TEXTS: tuple[tuple[str, ...], ...] = (
    ("#1 String", "#2 String"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("question", "passage"),
    ("text", "pair"),
    ("text_a", "text_b"),
    ("sentence",),
    ("text",),
)
"""Columns of texts that are known: the Microsoft paraphrase corpus', GLUE's, and those of JSON lines."""

LABELS = ("Quality", "is_duplicate", "gold_label", "label")
"""Columns of labels that are known."""

DISAGREED = ("gold_label", "-")
"""Where SNLI's annotators do not agree, and what stands there in place of a label."""


Label = str | int | float | tuple[str | int | float, ...]
"""A label, or several."""


class _Kinds(dict[type, str]):
    def __missing__(self, kind: type) -> str:
        return kind.__name__


KINDS: Mapping[type, str] = _Kinds(
    {
        str: "a string",
        int: "a number",
        float: "a number",
        bool: "true or false",
        list: "a list",
        dict: "an object",
        type(None): "null",
    }
)
"""What a value of JSON is called; another value of a row of a data set by its type."""


def json_object(line: Line) -> AnyDict:
    """The object that a line holds. Raises `CorpusError` where it holds something else."""
    if isinstance(line, BrokenLine):
        raise line.fault
    try:
        value: Any = json.loads(line.text)
    except (ValueError, RecursionError) as error:
        raise line.error(f"expected a JSON object, found {broken(error)}") from None
    if not is_object(value):
        raise line.error(f"expected a JSON object, found {KINDS[type(value)]}")
    return value


def string(value: Any, name: str, fail: Fail) -> str:
    """A string that says something, in Unicode."""
    if not isinstance(value, str):
        raise fail(f"{name}: expected a string, found {KINDS[type(value)]}")
    if not value.strip():
        raise fail(f"{name}: expected some text, found {value!r}")
    if len(value) > LONGEST_LINE:
        raise fail(f"{name}: expected at most {LONGEST_LINE:,} characters, found {len(value):,}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise fail(
            f"{name}: expected Unicode text, found half a surrogate pair at character {error.start}"
        ) from None
    return value


def strings(value: Any, name: str, fail: Fail) -> list[str]:
    """A list of such strings that has at least one."""
    if value == [] or not is_list(value):
        kind = "an empty list" if value == [] else KINDS[type(value)]
        raise fail(f"{name}: expected a list of strings, found {kind}")
    return [string(item, f"{name}[{index}]", fail) for index, item in enumerate(value)]


def scalar(row: AnyMapping, key: str, fail: Fail) -> str | int | float | None:
    """The string or number under a key; None where there is none."""
    value: Any = row.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int | float)):
        raise fail(f"{key!r}: expected a string or a number, found {KINDS[type(value)]}")
    return value


def known_texts(names: Collection[str]) -> tuple[str, ...]:
    """The columns of texts that are known, of those that are there."""
    return next((texts for texts in TEXTS if set(texts) <= set(names)), ())


def label_of(row: AnyMapping, name: str, fail: Fail) -> Label | None:
    """The label of a row, or its labels; None where it has none. True and false are labels of these names."""
    given: Any = row.get(name)
    items = given if is_list(given) else [given]
    for item in items:
        if item is not None and not isinstance(item, str | int | float):
            expected = "a string, a number, true or false, or a list of these"
            raise fail(f"{name!r}: expected {expected}, found {KINDS[type(item)]}")
    known = tuple(
        str(item).lower() if isinstance(item, bool) else item
        for item in items
        if item is not None and (name, item) != DISAGREED
    )
    return known if len(known) > 1 else known[0] if known else None


def fields(row: AnyMapping, text: str | None, fail: Fail, *, calls: bool = False) -> AnyDict:
    """The fields of an example, checked; `text` is another key of its text. Messages may call tools where `calls`."""
    if text is not None:
        if text not in row:
            raise fail(f"expected a key {text!r}, found {', '.join(map(repr, row)) or 'none'}")
        string(row[text], f"{text!r}", fail)
        row = {"text": row[text], **{key: row[key] for key in ("pair", "label") if key in row}}
    row = logged(row, fail) if text is None else row
    main = [key for key in MAIN if key in row]
    label = "label"
    if not main and (known := known_texts(row)):
        label = next((name for name in LABELS if name in row), label)
        texts = {
            key: string(row[name], f"{name!r}", fail)
            for key, name in zip(("text", "pair"), known, strict=False)
        }
        row, main = {**{name: row[name] for name in (label,) if name in row}, **texts}, ["text"]
    if len(main) != 1:
        keys = " and ".join(map(repr, main)) or keys_of(row)
        raise fail(f"expected one of the keys {', '.join(map(repr, MAIN))}, found {keys}")
    for key, partner in (
        ("pair", "text"),
        ("pair_words", "words"),
        ("tags", "words"),
        ("token_ids", "prompt_token_ids"),
    ):
        if key in row and main[0] != partner:
            raise fail(f"expected {key!r} only beside {partner!r}, found it beside {main[0]!r}")
    given: AnyDict = {}
    for key in ("text", "pair"):
        if key in row:
            given[key] = string(row[key], f"{key!r}", fail)
    for key in ("words", "pair_words", "tokens", "tags"):
        if key in row:
            given["pieces" if key == "tokens" else key] = strings(row[key], f"{key!r}", fail)
    if "messages" in row:
        given["messages"] = _messages(row["messages"], fail, calls)
        if calls and row.get("system"):  # as Anthropic's requests have it
            system = content({"content": row["system"]}, "'system'", fail)
            given["messages"].insert(0, {"role": "system", "content": system})
    if "prompt_token_ids" in row:
        prompt = _ids(row["prompt_token_ids"], "prompt_token_ids", fail)
        if not prompt:
            raise fail("'prompt_token_ids': expected at least one id, found none")
        given["ids"] = prompt, _ids(row.get("token_ids", []), "token_ids", fail)
    if "tags" in given and len(given["tags"]) != len(given["words"]):
        raise fail(f"'tags': expected {len(given['words'])}, one a word, found {len(given['tags'])}")
    if undecided(row):
        given["undecided"] = True
    name = label_of(row, label, fail)
    return given if name is None else {**given, "label": name}


def keys_of(row: AnyMapping) -> str:
    """The keys that an object has, and those of the objects that are listed under them, in words."""
    return ", ".join(map(_held, row, row.values())) or "none"


def undecided(row: AnyMapping) -> bool | None:
    """True where the annotators of a row do not agree on its label; None elsewhere."""
    name, label = DISAGREED
    return row.get(name) == label or None


def _held(key: str, value: Any) -> str:
    """A key, and the objects that are listed under it."""
    if not is_list(value) or not value or not is_object(value[0]):
        return repr(key)
    objects = plural(len(value), "object")
    return f"{key!r} (a list of {objects} with {', '.join(map(repr, value[0])) or 'no keys'})"


def _messages(value: Any, fail: Fail, calls: bool) -> list[AnyDict]:
    """A conversation; what roles must be, the chat template's reader says."""
    if value == [] or not is_list(value):
        kind = "an empty list" if value == [] else KINDS[type(value)]
        raise fail(f"'messages': expected a list of objects with 'role' and 'content', found {kind}")
    messages: list[AnyDict] = []
    for index, message in enumerate(spoken(value, "'messages'", fail) if calls else value):
        where = f"'messages'[{index}]"
        if not is_object(message):
            raise fail(f"{where}: expected an object, found {KINDS[type(message)]}")
        if "content" not in message:
            raise fail(
                f"{where}: expected 'role' and 'content', found {', '.join(map(repr, message)) or 'none'}"
            )
        text = content({**message, "tool_calls": None} if calls else message, where, fail)
        if text.strip():
            string(text, f"{where} 'content'", fail)
        more = {name: message[name] for name in CALLS if message.get(name)} if calls else {}
        messages.append(
            {"role": string(message.get("role"), f"{where} 'role'", fail), "content": text, **more}
        )
    if not any(message["content"].strip() for message in messages):
        raise fail("'messages': expected some text, found messages that are all empty")
    return messages


def _ids(value: Any, name: str, fail: Fail) -> list[int]:
    if not is_list(value):
        raise fail(f"{name!r}: expected a list of ids, found {KINDS[type(value)]}")
    for index, number in enumerate(value):
        if type(number) is not int or number < 0:
            raise fail(f"{name!r}[{index}]: expected an id from 0, found {number!r}")
    return value


def each_of(document: str | None, line: str) -> str:
    """What is taken as one document where lines may name it, in words."""
    if document is None:
        return f"{line}s of one 'document', each {line} where none is named"
    return f"{line}s of one {document!r}"


class DocumentNumbers:
    """The numbers of the documents that lines name: lines of one file that follow one another under one name.

    Args:
        document: the key under which they have to name it; None: they may, as ``document``.
    """

    def __init__(self, document: str | None = None) -> None:
        self._asked, self._key = document is not None, document or "document"
        self._number, self._path = -1, ""
        self._before: str | int | float | None = None
        self._seen: set[str | int | float] = set()

    def named(self, line: Line, row: AnyMapping) -> str | int | float | None:
        """The document that a row names; where no column of them was asked for, it need not name one."""
        if self._asked and self._key not in row:
            raise line.error(f"expected a key {self._key!r}, found {', '.join(map(repr, row)) or 'none'}")
        if self._asked and row[self._key] is None:
            raise line.error(f"{self._key!r}: expected a string or a number, found null")
        name = scalar(row, self._key, line.error)
        return string(name, repr(self._key), line.error) if isinstance(name, str) else name

    def of_row(self, line: Line, row: AnyMapping) -> AnyDict:
        """The fields of the example of a row, as `of` has them. Raises `CorpusError` for a row without a name."""
        return self.of(line, self.named(line, row))

    def of(self, line: Line, name: str | int | float | None, *, repeat: bool = False) -> AnyDict:
        """The fields of an example that say where it stands: the document of the next line, from 0; a line that names
        none is a document of its own.

        Raises `InputError` where a document that has ended goes on: that is no fault of one line. With `repeat` it is
        another one then.
        """
        if line.path != self._path:
            self._path, self._before = line.path, None
            self._seen.clear()
        if name is None or name != self._before:
            self._number += 1
            if name is not None and name in self._seen and not repeat:
                message = f"{self._key!r}: expected the lines of {name!r} together, found it again"
                raise InputError(str(line.error(message)))
            self._seen |= {name} if name is not None else set()
        self._before = name
        return {"document": self._number, "document_known": name is not None, "source": line.source}
