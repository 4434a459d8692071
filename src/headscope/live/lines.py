"""Why lines of a picture are there: who wrote what they read, and the lines of those in turn."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import NamedTuple

import numpy as np
from torch import Tensor

from headscope.attention.linear import LinearCall
from headscope.attention.parts import sides
from headscope.attention.reading import AskedKeys, ask, call_of, looks, names, of_the_token, place, terms_of
from headscope.attention.record import AttentionRecord
from headscope.attention.stream import Reader, Who
from headscope.core.heads import Head
from headscope.core.terms import REST, SIDES, split
from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping
from headscope.errors import InputError
from headscope.views.payload import ReadsInfo, WriterInfo
from headscope.views.widget import whole_number

BARS = 6
"""Up to so many writers of a side are told one by one."""

MOST = 150
"""Up to how many lines of further heads travel in a page."""

AT_ONCE = 32
"""So many lines of a layer are told at once: each has a number for every pair of tokens."""


class AskedLine(NamedTuple):
    """From a query to a key of a head; by default to the key with the largest weight, sinks aside."""

    head: Head
    query: int
    key: int | None = None


def asked_line(asked: AnyMapping, parts: Sequence[Collection[str]]) -> tuple[int, str, AskedLine]:
    """Of a question why a line is there: the input, its part and the line. Raises `InputError` for none of `parts`."""
    place, part = whole_number(asked, "input"), str(asked.get("part"))[:40]
    if not 0 <= place < len(parts) or part not in parts[place]:
        raise InputError(f"input, part: expected one with a model behind it, found {place}, {part!r}")
    head = Head(whole_number(asked, "layer"), whole_number(asked, "head"))
    key = None if asked.get("key") is None else whole_number(asked, "key")
    return place, part, AskedLine(head, whole_number(asked, "query"), key)


class Lines:
    """Tells why lines of one part of one input are there, by one pass as far as a layer.

    Raises `RefusedError` for a model whose scores are no sums of what was written, or that cannot be asked.
    """

    def __init__(
        self, reader: Reader, axes: Mapping[str, Tokens], ready: Mapping[str, Tensor], part: str, layer: int
    ) -> None:
        self.model, self.axes, self.ready, self.part = reader.model, axes, ready, part
        self._read = reader.read(ready, (part, layer))

    def why(self, line: AskedLine) -> ReadsInfo:
        """Why a line is there. Raises `InputError` where it is none, or the query sees nothing to compare."""
        return self._of_layer([line], every=True)[0]

    def strongest(self, heads: Sequence[Head]) -> list[AskedLine]:
        """The strongest line of each query of some heads."""
        return [AskedLine(head, query) for head in heads for query in range(self._call(head).record.shape[2])]

    def chains(self, lines: Sequence[AskedLine], more: int = MOST) -> list[ReadsInfo]:
        """Why these lines are there, then so many of the heads that they read, the largest terms first."""
        wanted = list(dict.fromkeys(lines))
        seen, every, most = set(wanted), list[ReadsInfo](), len(wanted) + more
        while wanted:
            answers: list[ReadsInfo] = []
            for layer in sorted({line.head.layer for line in wanted}):
                answers += self._of_layer([line for line in wanted if line.head.layer == layer], every=False)
            every += answers
            behind: dict[AskedLine, float] = {}
            for one in answers:
                for bar in (*one["by_key"], *one["by_query"]):
                    if "head" in bar and "line" in bar and "part" not in bar:
                        line = AskedLine(Head(*bar["head"]), *bar["line"])
                        behind[line] = max(behind.get(line, 0.0), bar["term"])
            wanted = [line for line in sorted(behind, key=lambda line: -behind[line]) if line not in seen]
            wanted = wanted[: most - len(seen)]
            seen.update(wanted)
        return every

    def _call(self, head: Head) -> LinearCall:
        return call_of(self._read, self.part, head)

    def _of_layer(self, lines: Sequence[AskedLine], *, every: bool) -> list[ReadsInfo]:
        call = self._call(lines[0].head)
        record = call.record
        (queries, _), (keys, _) = sides(self.model, self.part, [record], 0, self.ready, self.axes)
        still, answers = self._read.unturned(call), list[ReadsInfo]()
        for start in range(0, len(lines), AT_ONCE):
            asked: dict[AskedLine, AskedKeys] = {}
            for line in lines[start : start + AT_ONCE]:
                with nullcontext() if every else suppress(InputError):
                    row = place("query", line.query, queries)
                    key, one = ask(self.model, record, line.head.head, keys, row, line.key, "mean")
                    asked[AskedLine(line.head, row, key)] = one
            terms = terms_of(self._read, record, list(asked.values())) if asked else []
            for (line, one), of in zip(asked.items(), terms, strict=True):
                content = None if still is None else float(one.numbers(still, "key").detach())
                answers.append(self._explained(line, of, content, record))
        return answers

    def _explained(
        self,
        line: AskedLine,
        terms: Mapping[str, Mapping[Who, float]],
        content: float | None,
        record: AttentionRecord,
    ) -> ReadsInfo:
        head, query, key = line
        assert key is not None
        contrast = sum(terms["key"].values())
        writers = list(dict.fromkeys(who for side in SIDES for who in terms[side]))
        called = names(writers) | of_the_token(writers, terms, contrast)
        bars = {
            side: self._bars(row, terms[side], contrast, called)
            for side, row in (("key", key), ("query", query))
        }
        return ReadsInfo(
            layer=head.layer,
            head=head.head,
            query=query,
            key=key,
            contrast=round(contrast, 4),
            position=None if content is None else round(contrast - content, 4),
            capped=record.softcap is not None,
            by_key=bars["key"],
            by_query=bars["query"],
        )

    def _bars(
        self, row: int, terms: Mapping[Who, float], contrast: float, called: Mapping[Who, str]
    ) -> list[WriterInfo]:
        writers, values = list(terms), np.array(list(terms.values()))
        large, small = split(values, contrast)
        large, small = large[:BARS], large[BARS:] + small
        most = looks(self.model, self._read, [writers[at] for at in large], row, self.ready, self.axes)
        bars: list[WriterInfo] = []
        for at in large:
            who = writers[at]
            bar = WriterInfo(name=called[who], term=round(float(values[at]), 4))
            if who.kind == "head":
                bar["head"] = [who.layer, who.head]
                if who in most:
                    bar["line"] = [row, most[who][0]]
                if who.part != self.part:
                    bar["part"] = who.part
            bars.append(bar)
        if small:
            bars.append(WriterInfo(name=REST, term=round(float(values[small].sum()), 4)))
        return bars
