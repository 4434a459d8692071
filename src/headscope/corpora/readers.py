"""Corpora from text files, JSON lines and lists of texts, and the one that ships in the package."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import resources
from typing import Any, cast

from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Example
from headscope.corpora.files import Files, Line, Paths
from headscope.errors import CorpusError, InputError

_NAMES: Mapping[type, str] = {
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def text(paths: Paths, *, pack: int | None = 128) -> Corpus:
    """Plain text: one sentence or paragraph a line, a blank line between documents, UTF-8.

    Args:
        paths: a file or several; a document never goes on in the next file.
        pack: whole lines of a document are packed into inputs of at most so many tokens, special ones included:
            ``[CLS] a [SEP] b [SEP]``, with the line border nearest to the middle between a and b (``[CLS] a
            [SEP]`` for one line), or whatever the tokenizer puts around two texts; plain windows for causal
            models and tokenizers that put nothing between two texts. Lines are joined by a space. A line that
            is longer is cut between two pieces (at white space where there is some) and the cut is counted.
            None: each line is an input.

    Raises `CorpusError` for files that are missing, directories, empty or not UTF-8.
    """
    files = Files(paths)
    return Corpus(files.name, partial(_lines, files), pack=pack, files=files)


def builtin(*, pack: int | None = 128) -> Corpus:
    """The corpus that ships in the package: 13 short English texts of different kinds, 130 sentences."""
    name = "builtin.txt"
    content = (resources.files("headscope.corpora") / "data" / name).read_text("utf-8")
    lines = [Line(name, number, line) for number, line in enumerate(content.split("\n"), 1)]
    return Corpus("built-in corpus", partial(_lines, lines), pack=pack)


def texts(items: Sequence[str | tuple[str, str]]) -> Corpus:
    """Texts, or pairs of texts, in memory: each an input and a document of its own."""
    if isinstance(items, str):
        raise InputError("texts: expected a list of texts, found one string")
    examples: list[Example] = []
    for place, item in enumerate(items):
        parts: tuple[Any, ...] = item if isinstance(item, tuple) else (item,)
        if len(parts) not in (1, 2) or not all(isinstance(part, str) for part in parts):
            raise InputError(
                f"texts[{place}]: expected a string or a pair of strings, found {type(item).__name__}"
            )
        for part in parts:
            _string(part, f"texts[{place}]", InputError)
        pair = parts[1] if len(parts) == 2 else None
        examples.append(Example(text=parts[0], pair=pair, document=place, source=f"texts[{place}]"))
    if not examples:
        raise InputError("texts: expected at least one text, found an empty list")
    return Corpus("texts", partial(iter, examples))


def jsonl(paths: Paths) -> Corpus:
    """JSON lines: one object a line, each an input.

    An object has `text` (and `pair`), or `words` (and `pair_words`), or `tokens` (taken as they are, special
    ones included), and may have a `label` (string or number) and a `document` (string or number): lines of
    one file that follow one another with the same `document` are one document; a line without one is a
    document of its own. Beside `words` there may be `tags`, one a word: each makes a class of tokens, the pieces
    of its words, named in lower case (``NOUN`` gives ``noun``, for measures such as ``noun_to_sep``). Other keys
    are left alone, blank lines skipped.

    Raises `CorpusError` with file and line for anything else.
    """
    files = Files(paths)
    return Corpus(files.name, partial(_objects, files), files=files)


def _lines(lines: Iterable[Line]) -> Iterator[Example]:
    """One example a line that is not blank."""
    document, open_, path, found = -1, False, "", False
    for line in lines:
        content = line.text.strip(" \t\r")
        if line.path != path:
            path, open_ = line.path, False
        if not content.strip():
            open_ = False
            continue
        if not open_:
            document, open_ = document + 1, True
        found = True
        yield Example(text=content, document=document, source=line.source)
    if not found:
        raise CorpusError(path, None, "expected text, found blank lines only")


def _objects(files: Files) -> Iterator[Example]:
    """One example a line of JSON."""
    document, path, before, found = -1, "", None, False
    seen: set[str | int | float] = set()
    for line in files:
        if line.path != path:
            path, before = line.path, None
            seen.clear()
        if not line.text.strip():
            continue
        fields = _read(line)
        name: Any = fields.pop("document", None)
        if name is None or name != before:
            document += 1
            if name is not None and name in seen:
                raise CorpusError(
                    path, line.number, f"'document': expected the lines of {name!r} together, found it again"
                )
            seen |= {name} if name is not None else set()
        before, found = name, True
        yield Example(**fields, document=document, source=line.source)
    if not found:
        raise CorpusError(path, None, "expected JSON objects, found blank lines only")


def _read(line: Line) -> dict[str, Any]:
    """The fields of an example, checked."""

    def fail(message: str) -> CorpusError:
        return CorpusError(line.path, line.number, message)

    try:
        found: Any = json.loads(line.text)
    except json.JSONDecodeError as error:
        raise fail(
            f"expected a JSON object, found broken JSON at column {error.colno} ({error.msg})"
        ) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number of too many digits"
        raise fail(f"expected a JSON object, found JSON that cannot be read ({reason})") from None
    if not isinstance(found, dict):
        raise fail(f"expected a JSON object, found {_NAMES[type(found)]}")
    row = cast(dict[str, Any], found)
    main = [key for key in ("text", "words", "tokens") if key in row]
    if len(main) != 1:
        keys = " and ".join(map(repr, main)) or ", ".join(map(repr, row)) or "none"
        raise fail(f"expected one of the keys 'text', 'words' and 'tokens', found {keys}")
    for key, partner in (("pair", "text"), ("pair_words", "words"), ("tags", "words")):
        if key in row and main[0] != partner:
            raise fail(f"expected {key!r} only beside {partner!r}, found it beside {main[0]!r}")
    fields: dict[str, Any] = {}
    for key in ("text", "pair"):
        if key in row:
            fields[key] = _string(row[key], f"{key!r}", fail)
    for key in ("words", "pair_words", "tokens", "tags"):
        if key in row:
            if not isinstance(row[key], list) or not row[key]:
                kind = "an empty list" if row[key] == [] else _NAMES[type(row[key])]
                raise fail(f"{key!r}: expected a list of strings, found {kind}")
            values = cast(list[Any], row[key])
            strings = [_string(one, f"{key!r}[{place}]", fail) for place, one in enumerate(values)]
            fields["pieces" if key == "tokens" else key] = strings
    if "tags" in fields and len(fields["tags"]) != len(fields["words"]):
        raise fail(f"'tags': expected {len(fields['words'])}, one a word, found {len(fields['tags'])}")
    for key in ("label", "document"):
        value: Any = row.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int | float)):
            raise fail(f"{key!r}: expected a string or a number, found {_NAMES[type(value)]}")
        if value is not None:
            fields[key] = value
    return fields


def _string(value: Any, name: str, fail: Callable[[str], InputError]) -> str:
    if not isinstance(value, str):
        raise fail(f"{name}: expected a string, found {_NAMES[type(value)]}")
    if not value.strip():
        raise fail(f"{name}: expected some text, found {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise fail(
            f"{name}: expected Unicode text, found half a surrogate pair at character {error.start}"
        ) from None
    return value
