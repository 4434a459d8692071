"""An answer with marks of its sources."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from headscope.analyses.why.statistics import MATTERS
from headscope.core.saving import replacing
from headscope.core.types import AnyDict
from headscope.core.validation import Level, validated
from headscope.errors import InputError
from headscope.measures.dataset import description

NONE = "no source in the context"


class Cited(NamedTuple):
    """A statement of an answer.

    Attributes:
        text: what it says.
        sources: numbers of the spans that it hangs on, the largest effect first.
    """

    text: str
    sources: tuple[int, ...]


def cited(result: xr.Dataset, level: float = 0.05) -> list[Cited]:
    """The statements of an answer with the spans that each hangs on: of q at most `level` and of at least ln 2 nats.

    Raises `InputError` for an answer that is no text: it has no q.
    """
    if description(result)["kind"] != "text":
        raise InputError("cite: expected an answer that a model wrote, found one that it chose")
    statements: list[Cited] = []
    q, masked = (result[f"statement_{name}"].values for name in ("q", "masked"))
    for row, text in enumerate(result["statement_text"].values):
        there = np.flatnonzero((q[row] <= level) & (masked[row] >= MATTERS))
        order = there[np.argsort(-masked[row][there], kind="stable")]
        statements.append(Cited(str(text), tuple(int(span) for span in order)))
    return statements


@validated
def cite(result: xr.Dataset, *, level: Level = 0.05) -> str:
    """The answer with ``[n]`` behind each statement, and the spans that these are; or that there is no source.

    Below stand the spans that speak against the answer: it is at least twice as likely without them.

    Args:
        result: from `headscope.why`, of an answer that is a text.
        level: the q up to which a statement hangs on a span that takes half of its probability or more.

    Raises `InputError` for an answer that is no text: it has no q.

    >>> import transformers
    >>> config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=2, n_head=2, n_positions=8)
    >>> small = headscope.load(transformers.GPT2LMHeadModel(config))
    >>> found = headscope.why(small, headscope.Tokens(list("abc"), ids=[3, 4, 5]), [9], spans="token")
    >>> print(cite(found, level=0.001))
    9
    <BLANKLINE>
    no source in the context
    """
    statements = cited(result, level)
    numbers = {
        span: number + 1
        for number, span in enumerate(dict.fromkeys(span for one in statements for span in one.sources))
    }
    text = "".join(
        f"{one.text.rstrip()}{''.join(f' [{numbers[span]}]' for span in one.sources)}{_gap(one.text)}"
        for one in statements
    ).strip()
    sources = [f"[{number}] {result['text'].values[span]}" for span, number in numbers.items()]
    return "\n".join([text, "", *(sources or [NONE]), *_against(result)])


def _against(result: xr.Dataset) -> list[str]:
    """The spans without which the answer is at least twice as likely: they speak against it, and are no sources."""
    effects = result["masked"].values
    return [
        f"against it: {result['text'].values[span]} (the answer gains {-effects[span]:.2f} nats without it)"
        for span in np.argsort(effects)
        if effects[span] <= -MATTERS
    ]


def _gap(text: str) -> str:
    return text[len(text.rstrip()) :]


def statements(result: xr.Dataset, level: float = 0.05) -> list[AnyDict]:
    """The statements, each with its sources as they are written to a file."""
    masked, q = result["statement_masked"].values, result["statement_q"].values
    return [
        {
            "statement": one.text.strip(),
            "sources": [
                {
                    "span": span,
                    "text": str(result["text"].values[span]),
                    "start": int(result["start"].values[span]),
                    "end": int(result["end"].values[span]),
                    "nats": round(float(masked[row, span]), 6),
                    "q": float(q[row, span]),
                }
                for span in one.sources
            ],
        }
        for row, one in enumerate(cited(result, level))
    ]


def save(result: xr.Dataset, path: Path, level: float = 0.05) -> str:
    """Write the statements, one object a line with its sources; say what it is."""
    return write_statements(statements(result, level), path)


def write_statements(lines: Sequence[AnyDict], path: Path) -> str:
    """Write statements, one object a line; say what it is."""
    with replacing(path) as file:
        file.write_text(
            "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8"
        )
    return f"{len(lines)} statements with their sources"
