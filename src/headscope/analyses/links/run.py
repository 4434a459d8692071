"""Links in every head of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Literal, Unpack

import numpy as np
import xarray as xr

from headscope.analyses.links.engine import Answered, LinkEngine
from headscope.analyses.links.questions import (
    DIRECTIONS,
    AskedExample,
    Candidates,
    Direction,
    Way,
    by_chance,
    central,
    largest,
    nearest,
    offsets_of,
    question,
)
from headscope.analyses.links.statistics import ALIGNED, dataset
from headscope.analyses.links.sums import LinkSums
from headscope.analyses.long_runs import long_run
from headscope.analyses.options import BlockOptions
from headscope.attention.one import decoder_tokens
from headscope.core.arrays import Bools
from headscope.core.link import Link, Span
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Offset, Seed
from headscope.core.words import Rows
from headscope.corpora import Corpus, Example
from headscope.corpora.corpus import leave_out, plain
from headscope.corpora.given import AnnotatedCorpus
from headscope.corpora.linking import united
from headscope.corpora.packing import spaced
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.perceive import spoken
from headscope.runs.estimate import CLUSTERS
from headscope.runs.long import Kind, Run
from headscope.runs.options import RunOptions

OFFSETS = tuple(offset for offset in range(-5, 6) if offset)
"""The baselines that take the unit at a fixed distance from the source."""

RULES = ("nearest", "same string")
"""Baselines that take the nearest candidate, and the nearest with the same string."""

PICTURE_RULES = ("centre", "largest")
"""Baselines of regions: the patch in the middle of the picture, and the largest of the candidates that are listed."""

Kinds = Literal["any", "earlier", "later", "other", "listed"]


class Links(LinkEngine):
    """Links as the corpus gives them."""

    chance = True
    sifts = True

    def __init__(
        self,
        model: Model,
        candidates: Candidates = "any",
        directions: Sequence[Direction] = DIRECTIONS,
        offsets: Sequence[int] = OFFSETS,
        rows: Rows = "mean",
    ) -> None:
        self._offsets = tuple(offsets)
        self._crossed: bool | None = None  # whether an encoder-decoder's links are of its cross-attention
        rules = [*(f"{offset:+d}" for offset in offsets), *RULES]
        self._pictures = () if model.image_processor is None else PICTURE_RULES
        if "listed" not in candidates:
            self._pictures = self._pictures[:1]
        super().__init__(
            model,
            [Way(direction, direction, candidates) for direction in directions],
            [*rules, *self._pictures],
            rows=rows,
            full=True,
        )

    def links(self, example: Example) -> Sequence[Link]:
        """The links of an input; of an encoder-decoder that reads A and B all are between them.

        A text beside a picture is what its decoder reads, B.
        """
        links = united(super().links(example))
        if self.model.encoder_decoder:
            captioned = example.image is not None and example.text is not None
            links = [_decoded(link) for link in links] if captioned else links
            crossed = captioned or any(
                part is not None for part in (example.audio, example.pair, example.pair_words)
            )
            if self._crossed is None:
                self._crossed = crossed
            for link in links:
                between = {span.text != link.source.text for span in link.ends[1:]} or {crossed}
                if between != {crossed}:
                    where = ("within text A", "between A and B")
                    raise example.error(
                        f"{link.place}: expected a link {where[crossed]}, found one {where[not crossed]}"
                    )
            if crossed != self._crossed:
                texts = ("text A alone", "texts A and B")
                raise example.error(
                    f"expected {texts[self._crossed]} as in the inputs before, found {texts[crossed]}"
                )
        return links

    def examples(self, corpus: Corpus | Iterable[Example], limit: int | None) -> Iterator[Example]:
        """The inputs, of which an encoder-decoder's encoder reads text A alone."""
        if not self.model.encoder_decoder:
            return super().examples(corpus, limit)
        return islice(self._encoded(corpus), limit)

    def _encoded(self, corpus: Corpus | Iterable[Example]) -> Iterator[Example]:
        for example in plain(corpus):
            try:
                if example.audio is not None:
                    yield example
                    continue
                if example.image is not None:
                    tokens = self.model.see(example.image)
                elif example.words is not None:
                    tokens = spaced(self.model.from_words(example.words), example)
                else:
                    tokens = self.model.encode(example.text or "")
            except InputError as error:
                leave_out(corpus, example.error(error))
            else:
                yield replace(example, tokens=tokens)

    def question(self, example: Example, number: int) -> AskedExample:
        """An input with its question; of speech, which frames each word is heard in."""
        if example.audio is None:
            return super().question(example, number)
        try:
            heard = spoken(self.model, example.audio, example.words or ())
            frames = Tokens([f"frame {place}" for place in range(heard.frames)])
            made = question(self.links(example), self.ways, frames, heard.tokens)
        except InputError as error:
            raise example.error(error) from None
        return AskedExample.of(
            example, number, made, tokens=heard.tokens, decoder=heard.tokens, ready=heard.inputs
        )

    def decoder(self, example: Example) -> Tokens | None:
        """What an encoder-decoder's decoder reads: text B, where there is one."""
        if not self.model.encoder_decoder or not self._crossed:
            return None
        try:
            if example.pair_words is not None:
                return decoder_tokens(self.model, self.model.from_words(example.pair_words))
            written = example.pair if example.image is None else example.text
            return decoder_tokens(self.model, self.model.encode(written or ""))
        except InputError as error:
            raise example.error(error) from None

    def guesses(self, asked: AskedExample) -> Bools:
        """Whether offsets, the nearest candidate and the nearest of the same string are right; of pictures also their
        middle and, of candidates that are listed, the largest.
        """
        question = asked.question
        pictured = [rule(question)[None] for rule in (central, largest)[: len(self._pictures)]]
        return np.concatenate([offsets_of(question, self._offsets), nearest(question), *pictured])

    def begin(self, sums: LinkSums) -> None:
        """Answers for the alignment error rate."""
        sums.others[ALIGNED] = sums.empty(len(sums.baselines), 1)

    def add(self, sums: LinkSums, answered: Answered, cluster: int) -> None:
        """Add the sources of an input that have candidates; those that no link names count for the alignment error rate
        alone.

        That is 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|): an instance for each choice, right where it is possible, and one
        for each sure link, of which as many are right as choices are sure.
        """
        asked, question = answered.asked, answered.asked.question
        kept = ~(question.bare | question.idle)
        labels = np.array(question.labels)
        shares, sure_shares = (by_chance(one, self.ways)[None] for one in (question, question.sure))
        possible = self.guesses(asked)
        right = answered.right
        bits = right if answered.blind is None else np.stack([right, answered.blind])
        sums.add(labels[kept].tolist(), bits[..., kept], possible[:, kept], cluster, shares[:, kept])
        if answered.sure is None or not question.aligned:
            return
        links = np.max([read.sure.sum(1) for read in question.read.values()], 0)
        every = (right, possible, shares, np.ones(len(labels), np.int64))
        sure = self.guesses(replace(asked, question=question.sure))
        must = (answered.sure, sure, sure_shares, links)
        for bits, rules, chance, times in (every, must):
            for rows, real in (
                (np.flatnonzero(times), True),
                (np.repeat(np.arange(len(labels)), (times - 1).clip(0)), False),
            ):
                parts = (bits[..., rows] & real, rules[:, rows] & real, cluster, chance[:, rows] * real)
                sums.add(labels[rows].tolist(), *parts, other=ALIGNED)


def _decoded(link: Link) -> Link:
    """The same link, with its spans in what the decoder reads."""

    def ends(spans: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(end._replace(text="b") if isinstance(end, Span) else end for end in spans)

    return replace(
        link,
        source=ends([link.source])[0],
        targets=ends(link.targets),
        possible=ends(link.possible),
        candidates=None if link.candidates is None else ends(link.candidates),
    )


def _figures(sums: LinkSums, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    return dataset(sums, seed=about["seed"], least=about["least"], meta=meta)


KIND = Kind("links", LinkSums.from_arrays, _figures, grows=CLUSTERS)


@long_run(KIND)
def links(
    model: Model,
    corpus: AnnotatedCorpus | Iterable[Example],
    *,
    candidates: Kinds = "any",
    direction: Literal["both", "row", "column"] = "both",
    rows: Rows = "mean",
    offsets: Sequence[Offset] = OFFSETS,
    least: Count = 20,
    seed: Seed = 0,
    **options: Unpack[BlockOptions],
) -> Run[LinkSums]:
    """Which head connects what belongs together, by any annotation: for this source, is the target what it looks at?

    Of each source a head chooses a candidate: the one that gets most of the source's row (what the source looks at),
    or that gives most in its column (what looks at the source). A span of several tokens gets the sum and gives the
    mean of their attention (Clark et al. 2019, section 4.1). Heads that are best on some documents are scored on
    others.

    Args:
        model: from `headscope.load`. Of an encoder-decoder, links between texts A and B are measured in the
            cross-attention (A is what the encoder reads, B what the decoder reads), others in the encoder. Of a model
            of pictures and texts they are measured where both are tokens; of one that writes what it sees, in its
            cross-attention.
        corpus: with `headscope.corpora.Example.links`: `headscope.corpora.links`, `linked`, `alignments`, `images`; or
            examples.
        candidates: among what a head chooses: ``any`` other word or token, those ``earlier`` or ``later`` in the input,
            those of the ``other`` text, or those that are ``listed`` with each link. Where targets are regions of a
            picture they are its patches. In a causal model a candidate must be visible as well.
        direction: ``row``: what a source looks at most; ``column``: what looks at it most; or both.
        rows: attention from a span is the ``mean`` over its pieces, or that of its ``first``.
        offsets: of the baselines that take the unit at a fixed distance; the others take the nearest candidate, the
            nearest with the same string, and chance; of pictures also their middle, the largest of the regions that are
            listed, and the average map of a head over the words of each input.
        least: instances that a label needs for a best head to be named.
        seed: of the divisions into parts, to choose heads on some and to score them on others.

    Returns:
        See `headscope.analyses.links.statistics.dataset`; `headscope.table` makes a table of it.

    Raises:
        InputError: no input has a link, or an option makes no sense.
        CorpusError: a corpus of which nothing is left, with file and line.

    >>> corpus = hs.corpora.linked(["The cat sat because it was tired."] * 20, [[((20, 22), (4, 7))]] * 20)
    >>> result = hs.links(model, corpus)
    >>> result.table()[["label", "n"]].values.tolist()
    [['link', 20]]
    """
    directions: Sequence[Direction] = DIRECTIONS if direction == "both" else (direction,)
    asked = Links(model, candidates, directions, offsets, rows)
    return asked.over(
        KIND,
        corpus,
        RunOptions(**options),
        decides={"candidates": candidates, "direction": direction, "rows": rows, "offsets": list(offsets)},
        about={"seed": seed, "least": least},
    )
