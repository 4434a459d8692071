"""The sources of an answer on a page, in a notebook, and as a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
import xarray as xr

from headscope.analyses.why import statistics
from headscope.analyses.why.asked import AskedPrompt
from headscope.analyses.why.spans import Source
from headscope.attention.one import capture
from headscope.core.arrays import Floats
from headscope.core.maps import AttentionMaps
from headscope.core.types import AnyDict
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.models import Model
from headscope.models.pieces import divides, punctuates
from headscope.views.blobs import Blobs
from headscope.views.charts import meta_of, model_name
from headscope.views.explorer import explorer_payload
from headscope.views.inputs import Input
from headscope.views.payload import LinkInfo, PictureInfo
from headscope.views.section import rounded
from headscope.views.sheet import Sheet
from headscope.views.sources import CarrierInfo, SourceInfo, SourcesPayload, SourcesState, StatementInfo
from headscope.views.still_view import StillView

HEADS = 5
"""So many heads of a span are named."""

TOKENS = 512
"""Maps of longer inputs are not put into the page."""


def kept(asked: AskedPrompt, sources: list[Source]) -> AnyDict:
    """What a result keeps of its input for its view: ids, where spans without characters lie, and on what."""
    tokens = asked.prompt.tokens
    variables: AnyDict = {}
    if asked.plain and asked.axis == "self" and not asked.prompt.pair and asked.model.tokenizer is not None:
        texts = [*asked.prompt.texts, *(asked.texts[:-1] if asked.written else ())]
        variables["id"] = ("input", asked.ready["input_ids"][0].tolist())
        variables["read"] = ("input", texts)
        variables["answers"] = ("input", asked.rows.astype(np.int8))
    sheet = Sheet([tokens])
    areas, shown = sheet.areas(tokens), sheet.info()
    if areas is not None and shown is not None:
        variables["picture"] = json.dumps(shown)
        variables["box"] = (("span", "side"), around(areas, sources))
    return variables


def around(areas: Any, sources: Sequence[Source]) -> Floats:
    """Where spans without characters lie, ``[span side]``; NaN for others."""
    made = np.full((len(sources), 4), np.nan)
    for place, one in enumerate(sources):
        if one.start < 0:
            here = areas[one.tokens]
            made[place] = [*np.nanmin(here[:, :2], 0), *np.nanmax(here[:, 2:], 0)]
    return made


def box_of(areas: Any) -> list[float] | None:
    """What travels of a span's box; None for none."""
    return None if math.isnan(areas[0]) else areas.round(2).tolist()


@validated
def view(
    dataset: xr.Dataset,
    model: Model | None = None,
    *,
    by: Literal["effect", "estimate"] = "effect",
    level: str | None = None,
    statement: int | None = None,
    words: tuple[int, int] | None = None,
    span: int | None = None,
    theme: Literal["auto", "light", "dark"] = "auto",
) -> SourcesView:
    """The prompt, each span shaded by what the answer loses without it, and the answer below it, to be looked into.

    Args:
        dataset: from `headscope.why`.
        model: the one that answered: its heads can be opened then, if the prompt is a text of at most 512 tokens.
        by: what shades, ``effect`` or ``estimate``.
        level: of spans in one another those that are shaded; by default the smallest.
        statement: of the answer, from 0: shaded by what it loses; by default the whole answer.
        words: in its place words in a row, the first and the last.
        span: the number of one whose figures are shown.
        theme: ``auto``, ``light`` or ``dark``.

    Raises `InputError` for a level, a statement, words or a span that are not there.
    """
    levels = list(dict.fromkeys(dataset["level"].values.tolist()))
    if level is not None and level not in levels:
        raise InputError(f"level: expected one of {', '.join(levels)}, found {level!r}")
    for name, chosen in (("statement", statement), ("span", span)):
        if chosen is not None and not 0 <= chosen < dataset.sizes[name]:
            raise InputError(f"{name}: expected one from 0 to {dataset.sizes[name] - 1}, found {chosen}")
    if span is not None:
        level = str(dataset["level"].values[span])
    starts = word_starts(dataset["written"].values.tolist())
    if words is not None and not 0 <= words[0] <= words[1] < len(starts):
        raise InputError(f"words: expected a first and a last one from 0 to {len(starts) - 1}, found {words}")
    if words is None and statement is not None:
        words = _words_of(dataset, starts)[statement]
    state = SourcesState(
        by=by, level=level or levels[-1], words=None if words is None else list(words), span=span, theme=theme
    )
    return SourcesView(dataset, model, state)


class SourcesView(StillView):
    """The sources of an answer."""

    def __init__(self, dataset: xr.Dataset, model: Model | None, state: SourcesState) -> None:
        payload, blobs = payload_of(dataset, state), Blobs()
        if model is not None and "id" in dataset and dataset.sizes["input"] <= TOKENS:
            payload["maps"] = _maps(dataset, model, payload, blobs)
        super().__init__(payload, blobs, ("model", "answer", "state"))

    def __repr__(self) -> str:
        shown = cast("SourcesPayload", self._payload)
        spans, state = len(shown["spans"]), shown["state"]
        return f"SourcesView({spans} spans; {', '.join(f'{key}={value!r}' for key, value in state.items())})"


def payload_of(dataset: xr.Dataset, state: SourcesState) -> SourcesPayload:
    """What travels of a result to the page."""
    about, name = description(dataset), model_name(meta_of(dataset)["model"])
    frame: Any = statistics.table(dataset)
    rows: list[Any] = frame.sort_values("span").to_dict("records")
    without = dataset["without"].values if "without" in dataset.coords else [""] * len(rows)
    boxes = dataset["box"].values if "box" in dataset else None
    notes = statistics.notes(dataset)
    written: list[str] = dataset["written"].values.tolist()
    starts = word_starts(written)
    lost = np.add.reduceat(dataset["drop"].values, starts, axis=1)
    spans = [
        SourceInfo(
            level=row["level"],
            text=row["text"],
            start=row["start"],
            end=row["end"],
            first=int(dataset["first_token"].values[place]),
            last=int(dataset["last_token"].values[place]),
            box=None if boxes is None else box_of(boxes[place]),
            effect=rounded(row["effect"]),
            low=rounded(row["ci_low"]),
            high=rounded(row["ci_high"]),
            q=rounded(row["q"]),
            share=rounded(row["share"]),
            estimate=rounded(row["estimate"]),
            deleted=rounded(row["deleted"]),
            lexical=rounded(row["lexical"]),
            attention=rounded(row["attention"]),
            words=[rounded(value) for value in lost[place]] if math.isfinite(row["effect"]) else [],
            heads=_carriers(dataset, place) if math.isfinite(row["effect"]) else [],
            without=str(without[place]),
            note=notes[place],
        )
        for place, row in enumerate(rows)
    ]
    statements = [
        StatementInfo(words=list(words), q=[rounded(value) for value in dataset["statement_q"].values[place]])
        for place, words in enumerate(_words_of(dataset, starts))
    ]
    made = SourcesPayload(
        kind="sources",
        version=1,
        title=f"Which part made this answer? · {name}",
        model=name,
        prompt=about["prompt"],
        answer=["".join(written[start:end]) for start, end in pairwise([*starts, len(written)])],
        against=about.get("against", "").strip(),
        origin="given" if not about["generated"] else "wrote" if about["kind"] == "text" else "said",
        spans=spans,
        statements=statements,
        says=[f"{line[0].upper()}{line[1:]}." for line in statistics.sentences(dataset)],
        state=state,
    )
    if "picture" in dataset:
        shown: PictureInfo = json.loads(str(dataset["picture"].values))
        made["picture"] = shown
    return made


def word_starts(texts: Sequence[str]) -> list[int]:
    """The first token of each word of what was written.

    >>> word_starts([" It", " is", " Os", "lo", ".", ""])
    [0, 1, 2, 4]
    """
    starts, word, first = [0], "", 0
    for token, text in enumerate(texts):
        if not text.strip():  # of a character in several tokens, the last one has it
            word += text
            continue
        if word.strip():
            marks = punctuates(word) or punctuates(text)
            parted = word[-1].isspace() or text[0].isspace()
            if parted or divides(word[-1], text[0], apart=False, punctuation=marks):
                starts.append(first)
                word = ""
        word, first = word + text, token + 1
    return starts


def _words_of(dataset: xr.Dataset, starts: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last word of each statement."""
    ends = dataset["statement_first"].values, dataset["statement_end"].values - 1
    firsts, lasts = (np.searchsorted(starts, places, side="right") - 1 for places in ends)
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _carriers(dataset: xr.Dataset, span: int) -> list[CarrierInfo]:
    frame: Any = statistics.heads(dataset, span).head(HEADS)
    rows: list[Any] = frame.to_dict("records")
    for row in rows:
        row |= {name: rounded(row[name]) for name in ("estimate", "effect")}
    return rows


def _maps(dataset: xr.Dataset, model: Model, shown: SourcesPayload, blobs: Blobs) -> Any:
    """The explorer of the layers whose heads are named, with a link from the answer to each span that was masked."""
    tokens = model.from_ids(dataset["id"].values.tolist())
    maps = capture(model, replace(tokens, texts=[str(text) for text in dataset["read"].values]))
    assert isinstance(maps, AttentionMaps)
    layers = sorted({head["layer"] for one in shown["spans"] for head in one["heads"]})
    rows: list[int] = np.flatnonzero(dataset["answers"].values).tolist() or [*range(len(tokens))]
    links = [
        LinkInfo(
            label=str(place),
            side="from",
            source=rows,
            targets=[list(range(one["first"], one["last"] + 1))],
            candidates=None,
            units="tokens",
        )
        for place, one in enumerate(shown["spans"])
        if one["heads"]
    ]
    payload, _ = explorer_payload(
        [Input({maps.kind: maps}, links={maps.kind: links})],
        model=shown["model"],
        state={"scale": "head", "layer": layers[0]},
        include_layers=layers,
        blobs=blobs,
    )
    return payload
