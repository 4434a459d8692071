"""Pairs of prompts that differ in what the answer hangs on: read, and checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headscope.attention.residual import token_id
from headscope.core.failures import warn
from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping, AnyPath
from headscope.corpora.files import Files, Line, packaged
from headscope.corpora.formats import lines_as
from headscope.corpora.jsonlines import Fail, json_object, string
from headscope.errors import InputError
from headscope.models import Model

FIELDS = ("clean", "corrupted", "answer", "wrong")
"""Of a pair: two prompts, the token that follows the clean one, and one that the corrupted one makes likelier."""

GROUP = "group"
"""Of a pair, where it has one: pairs of one group, such as paraphrases, are drawn together."""

DEMO = "indirect_objects.jsonl"
"""The pairs that ship in the package, made by ``tools/indirect_objects.py``."""

Given = AnyPath | Sequence[AnyMapping]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two prompts of as many tokens, and the ids of two next tokens.

    Attributes:
        clean, corrupted: the prompts.
        answer: the id of the token that the clean prompt asks for.
        wrong: the id of the other.
        place: the token after which they are compared: the last that is not special.
        group: what it is a version of.
    """

    clean: Tokens
    corrupted: Tokens
    answer: int
    wrong: int
    place: int
    group: str | None = None

    def identity(self) -> object:
        """Tell this pair from others."""
        prompts = [
            None if prompt.ids is None else prompt.ids.tolist() for prompt in (self.clean, self.corrupted)
        ]
        return prompts, self.answer, self.wrong, self.place, *([self.group] if self.group else [])


def read(model: Model, given: Given | None, *, fitting: bool = False) -> tuple[list[Pair], str, str | None]:
    """The pairs of a file, as given, or that ship in the package; what they are called; the first clean prompt.

    Raises `InputError` (of a file `CorpusError`, with its line) for the first that is not as `headscope.patching` says;
    of a file of a known format, and where only those are asked for that are `fitting`, others are left out, which is
    said.
    """
    remarks = list[str]()
    if given is None or isinstance(given, str | os.PathLike):
        files = None if given is None else Files(Path(given), records=True)
        lines: Sequence[Line] = packaged(DEMO) if files is None else [*lines_as(files, "patching")]
        remarks += [] if files is None else files.remarks
        named = [(json_object(line), line.error) for line in lines if line.text.strip()]
        name = "demo pairs" if given is None else str(given)
    else:
        named = [(dict(row), _fail(number)) for number, row in enumerate(given)]
        name = "pairs"
    pairs, first, wrong = list[Pair](), None, list[InputError]()
    for row, fail in named:
        try:
            pairs.append(_pair(model, row, fail))
        except InputError as error:
            if not fitting and not remarks:
                raise
            wrong.append(error)
        else:
            first = first or row["clean"]
    if wrong:
        count = f"{len(wrong)} of {len(named)} pairs"
        remarks.append(f"left out {count} that do not fit {model.name}; the first: {wrong[0]}")
    about = "; ".join(remarks)
    if not pairs:
        raise InputError(
            f"{name}: expected at least one pair, found none" + (f" ({about})" if remarks else "")
        )
    if remarks:
        warn(f"{name}: {about}")
    return pairs, name, first if isinstance(first, str) else None


def _fail(number: int) -> Fail:
    return lambda message: InputError(f"pairs[{number}]: {message}")


def _pair(model: Model, row: AnyMapping, fail: Fail) -> Pair:
    group = row.get(GROUP)
    if {*row} - {GROUP} != {*FIELDS}:
        raise fail(f"expected the keys {_listed(FIELDS)}, found {_listed(row)}")
    clean, corrupted = (_prompt(model, row[key], key, fail) for key in FIELDS[:2])
    answer, wrong = (_answer(model, row[key], key, fail) for key in FIELDS[2:])
    if len(clean) != len(corrupted):
        raise fail(
            f"expected prompts of as many tokens, found {len(clean)} of 'clean' and {len(corrupted)} of 'corrupted'"
        )
    assert clean.ids is not None
    assert corrupted.ids is not None
    if np.array_equal(clean.ids, corrupted.ids):
        raise fail("expected two prompts that differ, found 'clean' and 'corrupted' the same")
    if answer == wrong:
        raise fail(f"expected two tokens that differ, found {row['answer']!r} as 'answer' and as 'wrong'")
    last = [int(np.flatnonzero(~prompt.special).max(initial=-1)) for prompt in (clean, corrupted)]
    if last[0] != last[1] or last[0] < 0:
        raise fail("expected prompts that end at the same token, found special tokens at different ends")
    return Pair(clean, corrupted, answer, wrong, last[0], None if group is None else str(group))


def _prompt(model: Model, value: Any, key: str, fail: Fail) -> Tokens:
    if isinstance(value, Tokens):
        if value.ids is None or not len(value):
            raise fail(f"{key!r}: expected tokens with ids, found none")
        return value
    text = string(value, repr(key), fail)
    try:
        return model.encode(text)
    except InputError as error:
        raise fail(f"{key!r}: {error}") from None


def _answer(model: Model, value: Any, key: str, fail: Fail) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        value = string(value, repr(key), fail)
    try:
        return token_id(model, value)
    except InputError as error:
        raise fail(f"{key!r}: {str(error).removeprefix('token: ')}") from None


def _listed(keys: Any) -> str:
    return ", ".join(repr(key) for key in keys) or "none"
