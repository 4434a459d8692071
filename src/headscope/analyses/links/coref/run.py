"""Coreference in every head of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Unpack

import numpy as np
import xarray as xr

from headscope.analyses.links.coref import statistics
from headscope.analyses.links.coref.headword import HEAD_RULES, By, rule_of
from headscope.analyses.links.engine import LinkEngine
from headscope.analyses.links.questions import AskedExample, Candidates, Way
from headscope.analyses.links.sums import LinkSums
from headscope.analyses.long_runs import long_run
from headscope.analyses.options import BlockOptions
from headscope.core.arrays import Bools
from headscope.core.failures import warn
from headscope.core.link import Link, Span
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Seed
from headscope.core.words import Rows
from headscope.corpora import Corpus, Example, Mention
from headscope.corpora.corpus import leave_out, plain
from headscope.corpora.given import AnnotatedCorpus
from headscope.corpora.packing import spaced
from headscope.models import Model
from headscope.runs.blocks import Encoded
from headscope.runs.estimate import CLUSTERS
from headscope.runs.long import Kind, Run
from headscope.runs.options import RunOptions

_NONE: Mapping[str, str] = {}


def _figures(sums: LinkSums, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    return statistics.dataset(
        sums, seed=about["seed"], meta=meta | {"mention_heads": about.get("mention_heads")}
    )


KIND = Kind("coref", LinkSums.from_arrays, _figures, noun="sentence", grows=CLUSTERS)


@long_run(KIND)
def coreference(
    model: Model,
    corpus: AnnotatedCorpus | Iterable[Example],
    *,
    window: Count = 128,
    rows: Rows = "mean",
    seed: Seed = 0,
    **options: Unpack[BlockOptions],
) -> Run[LinkSums]:
    """How often each head's attention finds an antecedent (Clark et al. 2019, section 4.3 and table 2), with baselines.

    Args:
        model: from `headscope.load`. Of an encoder-decoder, the encoder is measured.
        corpus: `headscope.corpora.conllu` of files with ``Entity=`` brackets, `headscope.corpora.conll2012`,
            `headscope.corpora.clusters`, or examples with words and mentions. A mention stands for its head word, which
            a tree and tags tell best; without them it is told by a rule, which is said in a warning and in the
            description as ``mention_heads`` (docs/linguistics.md).
        window: tokens of an input, special ones included: a document is cut into runs of whole sentences. An antecedent
            in another window is not looked for, as a head cannot see it.
        rows: attention from a word is the ``mean`` over its pieces, or that of its ``first`` piece.
        seed: of the divisions of the documents, to choose heads on some and to score them on others.
        limit: use at most this many sentences.
        batch_size: windows in a batch, at most.

    Returns:
        See `headscope.analyses.links.coref.statistics.dataset`; `headscope.table` makes a table of it.

    Raises:
        CorpusError: a corpus of which nothing is left: sentences that are broken, without coreference or longer than a
            window are left out and listed, or refused where it is strict.
        InputError: no mention has an antecedent in its window; said before the model runs.

    >>> accuracies = hs.coreference(model, hs.corpora.builtin_trees(), limit=60)
    >>> int(accuracies["n"].sel(type="all"))
    104
    """
    size = window if model.max_length is None else min(window, model.max_length)
    through = RunOptions(**options)
    if through.limit is not None:
        corpus = _first(corpus, through.limit)
    about: AnyDict = {"seed": seed}
    if isinstance(corpus, Corpus) and (by := _mention_heads(windows(model, corpus, size))) is not None:
        about["mention_heads"] = by
        if by != "parse":
            warn(f"{corpus.name}: head words of mentions: {HEAD_RULES[by]}")
    return Antecedents(model, size, rows).over(
        KIND,
        corpus,
        replace(through, limit=None),
        decides={"rows": rows, "window": size, "limit": through.limit},
        about=about,
        counted=Encoded(model),
    )


def _first(corpus: Corpus | Iterable[Example], limit: int) -> Corpus | Iterable[Example]:
    """The first sentences of a corpus: what is cut and counted later are windows."""
    if isinstance(corpus, Corpus):
        return corpus.part(lambda: islice(corpus.examples(), limit))
    return list(islice(corpus, limit))


def _mention_heads(texts: Iterable[Example]) -> By | None:
    """What tells the head words of mentions, from the first text in which one has an antecedent; None without texts.

    Raises `InputError` where no mention has one.
    """
    count = 0
    for text in texts:
        count += 1
        if statistics.annotated(text)[1]:
            return rule_of(text)
    if count:
        raise statistics.nothing(count)
    return None


class Antecedents(LinkEngine):
    """The antecedents of each mention in windows of text."""

    documents = True

    def __init__(self, model: Model, window: int, rows: Rows = "mean") -> None:
        among: Mapping[statistics.Candidates, Candidates] = {
            "preceding_mentions": "earlier listed",
            "other_mentions": "listed",
            "any_word": "any",
        }
        ways = [Way(name, "row", among[name]) for name in statistics.CANDIDATES]
        super().__init__(model, ways, statistics.RULES, rows=rows)
        self._window = window

    def examples(self, corpus: Corpus | Iterable[Example], limit: int | None) -> Iterator[Example]:
        """The windows of the documents."""
        return windows(self.model, corpus, self._window, limit=limit)

    def links(self, example: Example) -> Sequence[Link]:
        """The links from the head word of each mention to those of its antecedents, among those of all mentions."""
        mentions, items = statistics.annotated(example)
        heads = tuple(of_word(word) for word in sorted({mention.head for mention in mentions}))
        return [
            Link(
                of_word(item.mention.head), tuple(map(of_word, sorted(item.right))), item.mention.type, heads
            )
            for item in items
        ]

    def guesses(self, asked: AskedExample) -> Bools:
        """Whether the rules find an antecedent."""
        _, items = statistics.annotated(asked)
        predicted = [statistics.by_rules(item) for item in items]
        right = [
            [choices[rule] in item.right for choices, item in zip(predicted, items, strict=True)]
            for rule in self.baselines
        ]
        return np.array(right, np.bool_).reshape(len(self.baselines), len(items))


def of_word(word: int) -> Span:
    """A word as a span."""
    return Span(word, word + 1)


def around(model: Model) -> int:
    """How many special tokens stand around a text."""
    return len(model.encode(model.sample())) - sum(model.count([model.sample()]))


def pieces(model: Model, example: Example) -> int:
    """How many tokens a sentence has without those."""
    return sum(model.count([" ".join(example.words or ())]))


def windows(
    model: Model, corpus: Corpus | Iterable[Example], window: int, *, limit: int | None = None
) -> Iterator[Example]:
    """Runs of whole sentences of a document that fit into a window, encoded; at most `limit` sentences are read.

    A sentence that cannot be used is left out of the corpus, and `CorpusError` for examples that are none.
    """
    special = around(model)
    capacity = window - special
    for _, document in groupby(islice(plain(corpus), limit), key=lambda example: example.document):
        run: list[Example] = []
        room = capacity
        for example in document:
            size = pieces(model, example)
            if (why := _unusable(example)) is None and size > capacity:
                why = f"expected at most {window} tokens in a sentence, found {size + special}; give a larger window"
            if why is not None:
                leave_out(corpus, example.error(why))
                continue
            if size > room:
                yield _joined(model, run)
                run, room = [], capacity
            run.append(example)
            room -= size
        if run:
            yield _joined(model, run)


def _unusable(example: Example) -> str | None:
    """What a sentence lacks."""
    if example.words is None:
        return "expected a sentence of words, found none"
    if example.mentions is None:
        return "expected coreference (# global.Entity and Entity= in MISC), found none"
    return None


def _joined(model: Model, run: Sequence[Example]) -> Example:
    """Some sentences as one input."""
    starts = np.cumsum([0, *(len(example.words or ()) for example in run)]).tolist()
    words = [word for example in run for word in example.words or ()]
    spaces = [space for example in run for space in example.spaces or ()]
    features = [
        feature for example in run for feature in example.features or [_NONE] * len(example.words or ())
    ]
    numbered = list(zip(starts, run, strict=False))
    parsed = all(example.heads is not None for example in run)
    tagged = all(example.tags is not None for example in run)
    heads = [
        head if head < 0 else head + start for start, example in numbered for head in example.heads or ()
    ]
    mentions = [
        Mention(first + start, last + start, cluster)
        for start, example in numbered
        for first, last, cluster in example.mentions or ()
    ]
    joined = replace(
        run[0],
        words=words,
        heads=heads if parsed else None,
        relations=None,
        tags=[tag for example in run for tag in example.tags or ()] if tagged else None,
        features=features,
        mentions=mentions,
        spaces=spaces if len(spaces) == len(words) else None,
    )
    return replace(joined, tokens=spaced(model.from_words(words), joined))
