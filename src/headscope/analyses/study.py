"""What the sections of one report share: what was asked for, and what has been measured so far."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar

import xarray as xr

from headscope.analyses import analyses
from headscope.analyses.example_maps import look
from headscope.analyses.record import Entry
from headscope.analyses.reproduce import Typed
from headscope.core.link import Link
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict
from headscope.corpora import Corpus, Example, builtin
from headscope.corpora.readable import readable
from headscope.errors import HeadscopeWarning
from headscope.measures.dataset import describe, description
from headscope.models import Model
from headscope.runs.estimate import english
from headscope.runs.estimate import told_once as told_once
from headscope.views.explorer import Input
from headscope.views.gold import of_parts
from headscope.views.payload import Pin
from headscope.views.section import SideBySide

EXAMPLE_TOKENS = 32
"""The most tokens an example is packed to: a map that can be read on a page, and a page that stays small."""

EXAMPLE_BYTES = 1_500_000
"""Up to how many bytes of maps each section adds to the page's examples."""

LOOKED_AT = 512
"""Among so many pictures or sounds the page's examples are chosen, at most."""

LEVEL = 0.05
"""The expected share of wrong roles among those named."""

Seen = tuple[int, Pin]
"""An example of the page, and the token that shows something there."""

T = TypeVar("T")


@dataclass
class Gallery:
    """The page's examples, to which sections add theirs.

    Attributes:
        inputs: the examples.
        show: makes one of tokens; None where the page has no examples.
    """

    inputs: list[Input | SideBySide]
    show: Callable[[Tokens], Input] | None
    _left: int = field(default=0, init=False)

    def room(self, size: int = EXAMPLE_BYTES) -> None:
        """Begin a section, which may add so many bytes."""
        self._left = size

    def add(self, example: Example, links: Sequence[Link] = (), columns: Collection[str] = ()) -> int | None:
        """The index of an example among the page's, with gold links; None where there is no room for it.

        Args:
            example: encoded.
            links: to be drawn over its maps.
            columns: the labels whose heads are read in the source's column: what looks at it.
        """
        if self.show is None or example.tokens is None:
            return None
        made = replace(self.show(example.tokens), opened=())
        if links:
            with warnings.catch_warnings():  # of pieces that a span parts: the measuring says so
                warnings.simplefilter("ignore", HeadscopeWarning)
                by_part = of_parts(links, made.parts)
            for link in (link for part in by_part.values() for link in part):
                if link["label"] in columns:
                    link["side"] = "to"
            made = replace(made, links=by_part)
        return self.put(made)

    def put(self, made: Input | SideBySide, *, must: bool = False) -> int | None:
        """The index of an example that was made; None where there is no room for it, unless it must be there."""
        inputs = [made.first, made.second] if isinstance(made, SideBySide) else [made]
        size = sum(layer.size for one in inputs for maps in one.parts.values() for layer in maps.layers)
        if size > self._left and not must:
            return None
        self._left -= size
        self.inputs.append(made)
        return len(self.inputs) - 1


@dataclass
class Study:
    """One report: what is asked for, and what its sections have measured.

    Attributes:
        model: what the page is about.
        corpus: what it is measured on.
        sections: the names of the sections asked for.
        examples: texts or pairs to show heads on, or how many to choose from the corpus.
        limit: measure at most this many inputs of the corpus, and of the pairs.
        limit_sentences: of the treebank, of coreference and of links at most this many sentences.
        treebank, coref, pairs, links, prompts: annotated corpora; None: the built-in ones, or none.
        against: another model to compare with.
        progress: whether to show progress on stderr.
        typed: what was typed, for the commands that give single figures again.
        figures: datasets over (layer, head) whose measures the page shows, the surface measures first.
        inputs: the page's examples.
        failed: the sections that could not be made, and why.
        absent: what is not on the page, and why.
        seen: where measures are seen that are taken on inputs of their own.
        started: when, by the clock.
        seconds: how long the surface measures took.
    """

    model: Model
    corpus: Corpus
    sections: Sequence[str]
    examples: int | Sequence[str | tuple[str, str]]
    limit: int | None = None
    treebank: Corpus | None = None
    coref: Corpus | None = None
    against: Model | None = None
    pairs: Corpus | None = None
    links: Corpus | None = None
    prompts: Corpus | None = None
    progress: bool = False
    typed: Typed | None = None
    limit_sentences: int | None = None
    figures: list[xr.Dataset] = field(default_factory=list[xr.Dataset])
    inputs: list[Input | SideBySide] = field(default_factory=list[Input | SideBySide])
    failed: list[tuple[Entry, str]] = field(default_factory=list[tuple[Entry, str]])
    absent: dict[str, str] = field(default_factory=dict[str, str])
    seen: dict[str, Seen] = field(default_factory=dict[str, Seen])
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    _results: AnyDict = field(default_factory=AnyDict)

    @property
    def run(self) -> AnyDict:
        """The options of every run over a corpus."""
        return {"limit": self.limit, "progress": self.progress}

    def sentences(self, given: Corpus | None) -> int | None:
        """At most how many sentences are read of what was given; the built-in ones are cut as the text is."""
        if given is None and self.limit_sentences is None:
            return self.limit
        return self.limit_sentences

    @property
    def surface(self) -> xr.Dataset:
        """The surface measures."""
        return self.figures[0]

    @property
    def dataset(self) -> xr.Dataset:
        """All figures of the page: measures of the same heads, and why others are absent."""
        joined, *more = self.figures
        for dataset in more:
            both = joined.assign(
                {str(name): dataset[name] for name in dataset.data_vars if name not in joined}
            )
            meta, other = description(joined), description(dataset)
            meta["absent"] = {**meta.get("absent", {}), **other.get("absent", {})}
            if "objective" in other:
                meta["options"] = {**meta.get("options", {}), "objective": other["objective"]}
            joined = both.assign_attrs(describe(meta))
        meta = description(joined)
        meta["absent"] = {**self.absent, **meta.get("absent", {})}
        return joined.assign_attrs(describe({**meta, "seconds": round(time.monotonic() - self.started, 3)}))

    @property
    def gallery(self) -> Gallery:
        """The page's examples, for sections that add to them; chosen from the corpus where that was not done yet."""
        with suppress(Exception):  # said in the section of cards
            analyses()["cards"].load("section:cards")(self)
        return Gallery(self.inputs, (lambda tokens: look(self.model, tokens)) if self.examples else None)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """A result that several sections use. What failed once fails again."""
        if name not in self._results:
            try:
                self._results[name] = make()
            except Exception as error:
                self._results[name] = error
        if isinstance(self._results[name], Exception):
            raise self._results[name]
        return self._results[name]

    def command(self, name: str, *words: str) -> str | None:
        """The command that gives a figure again; None where none was typed."""
        return self.typed and self.typed.command(name, *words)

    def say(self, text: str) -> None:
        """Say a line on stderr, where progress is shown."""
        if self.progress:
            print(text, file=sys.stderr)

    def say_time(self, doing: str, cost: float) -> None:
        """Say what follows and how long it takes, as a multiple of the time of the surface measures."""
        self.say(f"{doing}: about {max(1, round(self.seconds * cost))} s")

    def short(self) -> Iterator[Example]:
        """The inputs of the corpus that can be read on a page, whole sentences; any short ones where there are none.

        Any picture or sound can; they are looked at again, so at most the first `LOOKED_AT`.
        """
        if self.corpus.kind != "text":
            yield from islice(self.corpus.encoded(self.model), min(self.limit or LOOKED_AT, LOOKED_AT))
            return
        most = None if self.limit is None else 4 * self.limit
        none = True
        for example in islice(readable(self.model, self.corpus, EXAMPLE_TOKENS), most):
            none = False
            yield example
        for example in islice(self.corpus.encoded(self.model), most) if none else ():
            if len(example.tokens or ()) <= 2 * EXAMPLE_TOKENS:
                yield example


def strange(model: Model, corpus: Corpus) -> str | None:
    """Why figures on the built-in corpus say little: the model's tokenizer does not know its text. Else None."""
    sample = english(model) if corpus.name == builtin().name else None
    if sample is None or not sample.refused:
        return None
    return (
        f"{sample.share} are unknown to the tokenizer of {model.name}, so figures on it say little: "
        "give text that it knows (--text)"
    )
