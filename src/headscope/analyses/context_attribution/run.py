"""Where the answers of a data set of prompts come from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
import xarray as xr

from headscope.analyses.context_attribution import spans as by_span
from headscope.analyses.context_attribution import statistics
from headscope.analyses.context_attribution.statistics import FIGURES, GROUPS, PromptRows, table
from headscope.analyses.long_runs import long_run
from headscope.analyses.options import BlockOptions
from headscope.analyses.result import Result
from headscope.analyses.why import statistics as one
from headscope.analyses.why.run import why
from headscope.analyses.why.spans import Spans
from headscope.core.arrays import quiet
from headscope.core.kinds import is_list
from headscope.core.saving import replacing
from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping
from headscope.core.validation import Count, Number, Seed
from headscope.corpora import Corpus, Example
from headscope.corpora.corpus import leave_out, plain
from headscope.corpora.given import PromptCorpus
from headscope.corpora.prompts import answer_of, given_of
from headscope.errors import InputError
from headscope.measures.dataset import description
from headscope.models import Model
from headscope.runs.identity import about_model
from headscope.runs.long import Kind, Run
from headscope.runs.options import RunOptions
from headscope.views.blobs import Blobs
from headscope.views.blocks import rows_of
from headscope.views.charts import meta_of, model_name
from headscope.views.explorer import views_page
from headscope.views.lab import FiguresPayload
from headscope.views.terminal import table_texts
from headscope.views.view import Showable

BLOCK = 4
"""Prompts of a block, about: each takes many passes, and what a checkpoint keeps are blocks."""


KIND = Kind(
    "context_attribution", PromptRows.from_arrays, statistics.figures, noun="prompt", title="explaining"
)


@long_run(KIND, batch_size=8)
def context_attribution(
    model: Model,
    corpus: PromptCorpus | Iterable[Example],
    *,
    spans: Spans = "sentence",
    exact: Count | Literal["all"] = 5,
    subsets: Number = 0,
    max_new_tokens: Count = 60,
    shuffle: bool = False,
    than: Model | None = None,
    seed: Seed = 0,
    **options: Unpack[BlockOptions],
) -> Run[PromptRows]:
    """Where the answers of a data set come from: is the right source first, and can the cheap score be believed?

    Each prompt is explained as `headscope.why` does. Where its sources are known: how often the first span is one, by
    masking and by the estimates, and beside them by shared words, by attention and by length; reciprocal ranks; the
    share of the most that one span gives which the estimates' first gives. Of all prompts how estimates agree with
    masking, how often the agreement warns, how often a span passes the threshold, and what the context gives as a
    whole. By kind of prompt, and by where in it the source stands.

    **Position bias**: the place of the first span less that of the source, over prompts whose contents stand in any
    order (`shuffle` gives them one, where they are texts that do not overlap); its p is that no place is favoured.
    Intervals and tests are by document.

    **Beside another model** (`than`), such as the one before training, asked for the same answers: does this one use
    the context more (``context_more``), and look at it more (``looked_more``)? Each p is that it does not differ.

    Args:
        model: as in `headscope.why`.
        corpus: `headscope.corpora.prompts`, or any texts or conversations, of which the model says the answers.
        spans: as in `headscope.why`; a line's own go before.
        exact: as in `headscope.why`.
        subsets: as in `headscope.why`.
        max_new_tokens: most tokens of an answer that it writes.
        shuffle: put the spans of a line in a random order.
        than: another model, beside which this one is put; it may have another tokenizer.
        seed: of the order.

    Returns:
        A dataset over ``(kind, figure)``: ``attributed``, with ``_low`` and ``_high``, ``p`` and ``q`` of the position
        bias and of what is more than in the other model, ``n`` and ``documents``. Its table has one row a kind and
        figure. Over ``(row)``, one a prompt and span, it has ``span_input``, where the prompt stands, and the columns
        of the table of `headscope.why`, such as ``span_effect``.

    Raises:
        InputError: a checkpoint that is broken, or of another run; no prompt.
        CorpusError: a broken line, with file and line.
        RunError: the model failed on a prompt, which the message names.

    >>> import transformers
    >>> config = transformers.GPT2Config(vocab_size=30600, n_embd=8, n_layer=2, n_head=2, n_positions=64)
    >>> small = headscope.load((transformers.GPT2LMHeadModel(config), headscope.load().tokenizer))
    >>> result = context_attribution(small, headscope.corpora.texts(["A cat sat. It slept."] * 3), max_new_tokens=2)
    >>> int(result["n"].sel(kind="all", figure="context"))
    3
    """
    options_of_each = {"exact": exact, "subsets": subsets, "max_new_tokens": max_new_tokens, "seed": seed}
    decides = {
        "spans": spans if isinstance(spans, str) else [str(span) for span in spans],
        "shuffle": shuffle,
        **options_of_each,
    }
    through = RunOptions(**options)
    task = _Task(model, than, spans, shuffle, seed, {**options_of_each, "batch_size": through.batch_size})
    others = () if than is None else (than,)
    return Run(
        KIND,
        model,
        corpus,
        task,
        through,
        decides=decides,
        identity={"than": [about_model(other) for other in others]},
        inputs=Readable(model),
        size=BLOCK,
        others=others,
    )


@dataclass(frozen=True)
class Readable:
    """The prompts of a corpus that a model can read, with their tokens."""

    model: Model

    def __call__(self, corpus: Corpus | Iterable[Example]) -> Iterator[Example]:
        """The prompts; the others are left out, as the corpus says at its end."""
        for example in plain(corpus):
            try:
                yield replace(example, tokens=self._tokens(example))
            except InputError as error:
                leave_out(corpus, example.error(error))

    def _tokens(self, example: Example) -> Tokens:
        if example.tokens is not None:
            return example.tokens
        if example.messages is not None:
            return self.model.chat(example.messages)
        if example.ids is not None:
            return self.model.from_ids(*example.ids)
        if example.text is None:
            raise InputError("expected a text, a conversation or ids, found none")
        return self.model.encode(example.text, example.pair)


@dataclass(frozen=True)
class _Task:
    """What is known of each prompt of a block."""

    model: Model
    than: Model | None
    spans: Spans
    shuffle: bool
    seed: int
    options: AnyMapping

    def __call__(
        self, batches: Iterable[Sequence[Example]], done: Callable[[int], None], _: Collection[int]
    ) -> PromptRows:
        rows = PromptRows.none()
        for batch in batches:
            for example in batch:
                rows += self._row(example)
                done(1)
        return rows

    def _row(self, example: Example) -> PromptRows:
        asked = example.asked or {}
        source, kind = asked.get("source"), str(asked.get("kind", ""))
        try:
            if kind in GROUPS:
                raise InputError(f"'kind': expected a name that no row over kinds has, found {kind!r}")
            spans: Any = asked.get("spans")
            prompt = given_of(example)
            texts = bool(spans) and all(isinstance(span, str) for span in spans)
            if self.shuffle and isinstance(prompt, str) and texts:
                prompt, spans, source = _shuffled(prompt, spans, source, [self.seed, len(prompt)])
                example = replace(example, text=prompt, asked={**asked, "spans": spans})
            result = explain(self.model, example, self.spans, **self.options)
            values = _values(result, right_spans(result, source)) | _supported(result, asked.get("marked"))
            if self.than is not None:
                about = description(result)
                answer = about["answer"] if about["generated"] else answer_of(example)
                same = replace(example, asked={**(example.asked or {}), "answer": answer})
                other = _context(
                    explain(self.than, same, self.spans, **{**self.options, "exact": 1, "subsets": 0})
                )
                values |= {f"{name}_more": values[name] - value for name, value in other.items()}
        except InputError as error:
            raise example.error(error) from None
        return PromptRows(
            np.array([[values.get(name, np.nan) for name in FIGURES]]),
            np.array([float(example.document)]),
            [kind],
            [by_span.record(example.place, result)],
        )


def explain(model: Model, example: Example, spans: Any, **options: Any) -> Result:
    """A prompt of a data set as `headscope.why` explains it; its own spans go before."""
    asked = example.asked or {}
    more = {name: asked.get(name) for name in ("tools", "documents")}
    alone = example.text is None and example.messages is None and example.ids is None
    prompt = example.tokens if alone else given_of(example)
    return why(model, prompt, answer_of(example), asked.get("spans") or spans, **more, **options)


def right_spans(result: xr.Dataset, source: Sequence[Any] | None) -> Any:
    """Which spans the answer comes from, ``[span]``; None where that is not known."""
    if source is None:
        return None
    texts = result["text"].values
    right = np.zeros(len(texts), np.bool_)
    for one_of in source:
        if isinstance(one_of, int):
            if not 0 <= one_of < len(texts):
                raise InputError(f"'source': expected a span below {len(texts)}, found {one_of}")
            right[one_of] = True
        elif is_list(one_of):
            right |= (result["start"].values < one_of[1]) & (result["end"].values > one_of[0])
        else:
            there = [one_of in text for text in texts]
            if not any(there):
                raise InputError(f"'source': expected a text in one of the spans, found {one_of!r:.60}")
            right |= np.array(there)
    return right


def _context(result: xr.Dataset) -> dict[str, float]:
    """What the context is to the answer as a whole."""
    scalars = {name: float(result[name]) for name in ("context", "log_probability")}
    return {**scalars, "looked": float(result["attention"].values[result["parent"].values < 0].sum())}


def _values(result: xr.Dataset, right: Any) -> dict[str, float]:
    """The figures of a prompt."""
    masked, estimate, q = (result[name].values for name in ("masked", "estimate", "q"))
    known = np.isfinite(masked)
    values = {name: float(result[name]) for name in FIGURES if name in result and result[name].ndim == 0}
    values |= _context(result)
    best = int(np.nanargmax(masked))
    passed = (np.nan_to_num(q, nan=1.0) <= 0.05) & (np.nan_to_num(masked) >= one.MATTERS)
    if np.isfinite(q).any():
        values["cited"] = float(passed.any())
    if not known.all():  # those with the largest estimates, whose order says nothing of the others
        values |= dict.fromkeys(("agreement", "lexical_agreement"), np.nan)
    else:
        if np.isfinite(values["agreement"]):
            values["warned"] = float(values["agreement"] < one.ROUGHLY)
        values["screened"] = float(best in np.argsort(-estimate, kind="stable")[:3])
        if len(masked) > 2 and np.ptp(masked) and np.ptp(estimate):
            values["pearson"] = float(np.corrcoef(masked, estimate)[0, 1])
    if masked[best] > 0:
        values["oracle"] = float(masked[int(estimate.argmax())] / masked[best])
    place = np.arange(len(masked)) / max(len(masked) - 1, 1)
    if right is None:
        values["place"] = float(place[best] - 0.5)
        return values
    orders = {
        "masked": np.nan_to_num(masked, nan=-np.inf),
        "estimate": estimate,
        "lexical": result["lexical"].values,
        "attention": result["attention"].values,
        "longest": result["tokens"].values,
    }
    for name, scores in orders.items():
        first = scores == scores.max()
        values[f"{name}_first"] = float(
            (right & first).sum() / first.sum()
        )  # of several alike, one at random
    for name in ("masked", "estimate"):
        rank = 1 + int((orders[name] > orders[name][right].max()).sum())
        values[f"{name}_rank"] = 1 / rank
    if passed.any():
        values["cited_right"] = float(right[passed].mean())
    shared = orders["lexical"]
    words = (shared >= np.sort(shared)[-right.sum()]) & (shared > 0)
    for name, chosen in (("cited", passed), ("lexical", words)):
        values[f"{name}_f1"] = float(2 * (chosen & right).sum() / (chosen.sum() + right.sum()))
    values["source_place"] = float(place[right].mean())
    values["place"] = float(place[best] - values["source_place"])
    return values


def _supported(result: xr.Dataset, marked: Sequence[tuple[int, int]] | None) -> dict[str, float]:
    """Whether tokens of the marked stretches of an answer lose less by their best span than the others."""
    ends = np.cumsum([len(text) for text in result["written"].values])
    starts = np.concatenate([[0], ends[:-1]])
    inside = np.zeros(len(ends), np.bool_)
    for start, end in marked or ():
        inside |= (starts < end) & (ends > start)
    with quiet():
        loss = np.nanmax(result["drop"].values, 0)
    known = np.isfinite(loss)
    less, more = loss[inside & known], loss[~inside & known, None]
    if not len(less) or not len(more):
        return {}
    return {"unsupported": float((less < more).mean() + (less == more).mean() / 2)}


def _shuffled(
    text: str, spans: Sequence[str], source: Sequence[Any] | None, seed: Sequence[int]
) -> tuple[str, list[str], Sequence[Any] | None]:
    """A text with its spans in another order, and the numbers of its sources then."""
    starts: list[int] = []
    at = 0
    for span in spans:
        starts.append(text.find(span, at))
        if starts[-1] < 0:
            raise InputError("shuffle: expected spans in the order of the text, which do not overlap")
        at = starts[-1] + len(span)
    order: list[int] = np.random.default_rng(seed).permutation(len(spans)).tolist()
    parts: list[str] = []
    at = 0
    for place, start in enumerate(starts):
        parts += [text[at:start], spans[order[place]]]
        at = start + len(spans[place])
    moved = {old: new for new, old in enumerate(order)}
    if source is not None:
        source = [moved[one_of] if isinstance(one_of, int) else one_of for one_of in source]
    return "".join([*parts, text[at:]]), [spans[old] for old in order], source


SHADED = 3
"""So many prompts are shaded."""


def shaded(
    model: Model, corpus: Iterable[Example], spans: Any, limit: int = SHADED, **options: Any
) -> list[Showable]:
    """The first prompts of a data set that the model can read, each shaded; `options` are of `headscope.why`."""
    return [one.view() for one in explained(model, corpus, spans, min(limit, SHADED), **options)]


def explained(
    model: Model, corpus: Iterable[Example], spans: Any, limit: int, **options: Any
) -> Iterator[Result]:
    """The same, each explained; of no spans by its messages, tools and documents, or by sentences."""
    for example in islice(Readable(model)(corpus), limit):
        units = spans or ("sentence" if example.messages is None else "part")
        yield explain(model, example, units, **options)


class PromptsPage(NamedTuple):
    """The figures of a data set, and a few of its prompts."""

    result: xr.Dataset
    views: Sequence[Showable]

    def save(self, path: Path) -> None:
        """Write the page."""
        with replacing(path) as file:
            file.write_text(page(self.result, self.views), encoding="utf-8")


def page(result: xr.Dataset, views: Sequence[Showable]) -> str:
    """The figures, what each of them is, and the prompts below."""
    rows: Any = table(result)
    rows["what it is"] = [FIGURES[name] for name in rows["figure"]]
    columns, *texts = table_texts(*rows_of(rows, most=len(rows)))
    title = f"Which part made these answers? · {model_name(meta_of(result)['model'])}"
    figures = FiguresPayload(
        kind="figures",
        version=1,
        title=title,
        columns=columns,
        rows=texts,
    )
    return views_page([(figures, Blobs()), *((view.payload, view.blobs) for view in views)])
