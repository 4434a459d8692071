"""The report of a model: measure it over a corpus, and open the heads behind the figures on examples."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.cards import run as cards
from headscope.analyses.cards.section import Cards
from headscope.analyses.compare_groups.examples import groups_section
from headscope.analyses.compare_models.examples import compare_section
from headscope.analyses.compare_models.run import counterparts
from headscope.analyses.distance.run import distance
from headscope.analyses.distance.section import Clusters
from headscope.analyses.measure.run import measure
from headscope.analyses.measure.section import Classes, Failed
from headscope.analyses.roles import statistics as definitions
from headscope.analyses.roles.rare import with_rarest
from headscope.analyses.roles.run import roles
from headscope.analyses.roles.section import Roles
from headscope.analyses.sentences_shown import (
    LINGUISTIC,
    Gallery,
    coref_section,
    probes_section,
    syntax_section,
)
from headscope.analyses.typed import Typed
from headscope.attention.load import load
from headscope.attention.neurons import capture_with_neurons
from headscope.attention.parts import Parts
from headscope.corpora import Corpus, Example, builtin
from headscope.errors import HeadscopeError, InputError
from headscope.heads import Head
from headscope.maps import AttentionMaps
from headscope.measures.gradients import FIGURE_3
from headscope.models import Model
from headscope.reports.page import FIGURES, TABLE, Beside, report_page
from headscope.tokens import Tokens
from headscope.views.explorer import Input
from headscope.views.section import Section

SECTIONS: Mapping[str, str] = {
    FIGURES: "every measure as a map of heads and by layer (figures 2 and 4)",
    "gradients": "what attention matters, by gradients (figure 3)",
    "roles": "patterns and roles of heads, tested",
    "clusters": "the map of heads by their distances (figure 6)",
    "syntax": "dependency relations (table 1)",
    "coref": "coreference (table 2)",
    "probes": "probes for trees (table 3)",
    "compare": "beside the same model untrained, or beside another",
    "groups": "two groups of labelled texts, where there are some (--pairs)",
    "cards": "head by head, with real examples",
    TABLE: "all heads, all figures",
}
"""What a report is made of, by the names that ``--sections`` takes."""

EXAMPLES = 20
"""How many inputs of the corpus a page shows heads on."""

EXAMPLE_TOKENS = 32
"""The most tokens an example is packed to: a map that can be read on a page, and a page that stays small."""

NEURON_BYTES = 400_000
"""Up to how many bytes queries and keys come with the examples; the later ones go without."""

LEVEL = 0.05
"""The expected share of wrong roles among those named."""

_TYPED = "patterns,positional_previous,positional_next"
_PATTERNS = (
    f"{_TYPED},rare_word"  # `headscope measure` does not know a corpus's rare words; `headscope roles` does
)
_TIMES = {
    "patterns": 1.5,
    "gradients": 2.5,
    "clusters": 2.0,
    "cards": 0.5,
    "compare": 4.5,
}  # of the time of the surface measures
_SAID = {
    "patterns": "patterns and roles",
    "gradients": "gradients, forward and backward",
    "clusters": "distances between all heads",
    "cards": "examples for each head",
    "compare": "the other model beside it",
}
_INSTEAD = {"sink": "first"}  # of which short inputs say nothing
_SILENT = ("rare_word",)  # needs a corpus that was read twice


def report(
    model: Model | None = None,
    corpus: Corpus | None = None,
    *,
    title: str | None = None,
    examples: int | Sequence[str | tuple[str, str]] = EXAMPLES,
    sections: Sequence[str] | None = None,
    limit: int | None = None,
    treebank: Corpus | None = None,
    coref: Corpus | None = None,
    against: Model | None = None,
    pairs: Corpus | None = None,
    progress: bool = False,
    command: str = "",
    typed: Typed | None = None,
) -> str:
    """One self-contained HTML page about a model: what every head does, and the explorer of it on examples.

    Args:
        model: from `headscope.load`; the demo model by default.
        corpus: from `headscope.corpora`; the built-in corpus by default.
        title: of the page.
        examples: texts or pairs to show heads on, or how many to choose from the corpus.
        sections: which of `SECTIONS`; all by default. One that fails says why in the page.
        limit: measure at most this many inputs.
        treebank: sentences with trees for syntax and probes; the built-in ones by default.
        coref: documents with trees and coreference; the built-in ones by default.
        against: another model, to compare with; by default the same one untrained (weights drawn with seed 0).
        pairs: labelled texts or pairs (`headscope.corpora.pairs`), whose groups are compared; without them that section
            is left out.
        progress: show progress on stderr, and say beforehand what takes long.
        command: what was typed, for the page's own record.
        typed: the same in its parts, for the commands that give single figures again; without it there are none.

    Raises:
        InputError: a section that there is not; a model to compare with, but no such section; a corpus without inputs.
        CorpusError: a broken corpus or treebank, with file and line.
        RunError: the model failed on an input while the surface measures were taken.
    """
    asked = (
        [name for name in SECTIONS if name != "groups" or pairs is not None]
        if sections is None
        else list(sections)
    )
    for name in asked:
        if name not in SECTIONS:
            raise InputError(f"sections: expected {', '.join(SECTIONS)}, found {name!r}")
    if against is not None and "compare" not in asked:
        raise InputError("against: expected the section compare among those asked for")
    if ("groups" in asked) != (pairs is not None):
        raise InputError(
            "pairs: expected labelled texts where the section groups is asked for, and only there"
        )
    for read in (treebank, coref, pairs):  # a broken file is told before the model runs for long
        for _ in read or ():
            pass
    model = load() if model is None else model
    corpus = builtin() if corpus is None else corpus
    return _Report(
        model,
        corpus,
        asked,
        examples,
        limit,
        treebank,
        coref,
        against,
        pairs,
        progress,
        command,
        typed,
    ).page(title)


@dataclass
class _Report:
    """What is asked for, and what was found so far."""

    model: Model
    corpus: Corpus
    sections: Sequence[str]
    examples: int | Sequence[str | tuple[str, str]]
    limit: int | None
    treebank: Corpus | None
    coref: Corpus | None
    against: Model | None
    pairs: Corpus | None
    progress: bool
    command: str
    typed: Typed | None
    _found: dict[str, xr.Dataset] = field(default_factory=dict[str, xr.Dataset])
    _table: pd.DataFrame | None = None

    def page(self, title: str | None) -> str:
        """The whole page. The surface measures must be there; any other part may fail."""
        started = time.monotonic()
        dataset = self.surface
        made: dict[str, Section] = {}
        if "gradients" in self.sections:
            made["gradients"] = self._made("gradients", self._gradients)
        wanted = {"roles", FIGURES, "clusters", "cards", "compare"} & set(self.sections)
        if wanted:
            failed = self._made("roles", self._roles)
            if "roles" in self.sections:
                made["roles"] = failed
        if "clusters" in self.sections:
            made["clusters"] = self._made("clusters", self._clusters)
        inputs: list[Input | Beside] = []
        if "cards" in self.sections or self.examples:
            made["cards"] = self._made("cards", lambda: self._cards(inputs))
            if "cards" not in self.sections and isinstance(made["cards"], Cards):
                del made["cards"]
        gallery = Gallery(inputs, (lambda tokens: _input(self.model, tokens)) if self.examples else None)
        for name in LINGUISTIC:
            if name in self.sections:
                made[name] = self._made(name, partial(self._linguistic, name, gallery))
        if "compare" in self.sections:
            made["compare"] = self._made("compare", lambda: self._compare(gallery))
        if (pairs := self.pairs) is not None:
            made["groups"] = self._made("groups", lambda: self._groups(pairs, gallery))
        for more in (self._found.get("patterns"), self._found.get("gradients")):
            if more is not None:
                dataset = _joined(dataset, more)
        meta: dict[str, Any] = json.loads(dataset.attrs["meta"])
        meta["seconds"] = round(time.monotonic() - started, 3)
        dataset.attrs["meta"] = json.dumps(meta, ensure_ascii=False)
        return report_page(
            dataset,
            inputs,
            sections=[made[name] for name in SECTIONS if name in made],
            parts=self.sections,
            roles=None if self._table is None else self.leading,
            commands={
                "all": self._every_measure(),
                "surface": self.again("measure"),
                "patterns": self.again("measure", "--measures", _TYPED),
            },
            title=title,
        )

    @cached_property
    def surface(self) -> xr.Dataset:
        """The surface measures."""
        return measure(
            self.model, self.corpus, limit=self.limit, progress=self.progress, command=self.command
        )

    @property
    def leading(self) -> dict[Head, str]:
        """The first role of each head that has one."""
        return {head: own[0] for head, own in self.having.items()}

    @property
    def having(self) -> dict[Head, list[str]]:
        """The roles of each head that has one."""
        found: dict[Head, list[str]] = {}
        table: Any = self._table
        for row in () if table is None else table.itertuples():
            if row.role != definitions.NONE:
                found.setdefault(Head(int(row.layer), int(row.head)), []).append(str(row.role))
        return found

    def again(self, name: str, *words: str) -> str | None:
        """The command that gives a figure again; None where none was typed."""
        return self.typed and self.typed.command(name, *words)

    def _every_measure(self) -> str | None:
        """The command that gives all figures of all heads again."""
        more = {"patterns": _TYPED, "gradients": "gradients"}
        names = ["surface", *(measures for name, measures in more.items() if name in self._found)]
        return self.again("measure", "--measures", ",".join(names))

    def _made(self, name: str, make: Callable[[], Section]) -> Section:
        """A section, or one that says why it could not be made."""
        if name not in (*LINGUISTIC, "groups"):
            self._say_time({"roles": "patterns"}.get(name, name))
        try:
            return make()
        except Exception as error:
            text = str(error).strip() or "no message"
            reason = (
                text
                if isinstance(error, HeadscopeError)
                else f"{type(error).__name__}: {text.splitlines()[0]}"
            )
            self._say(f"headscope: section {name}: {reason}")
            return Failed(
                name, f"Not made: {SECTIONS[name]}", reason, self.typed and self.typed.section(name)
            )

    def _say_time(self, name: str) -> None:
        seconds = float(json.loads(self.surface.attrs["meta"]).get("seconds", 0.0)) * _TIMES[name]
        self._say(f"{_SAID[name]}: about {max(1, round(seconds))} s")

    def _say(self, text: str) -> None:
        if self.progress:
            print(text, file=sys.stderr)

    def _gradients(self) -> Section:
        options: dict[str, Any] = {"limit": self.limit, "progress": self.progress}
        found = measure(self.model, self.corpus, measures=FIGURE_3, **options)
        self._found["gradients"] = found
        meta: dict[str, Any] = json.loads(found.attrs["meta"])
        names = {"separators": "sep", "[CLS]": "cls", "punctuation": "punctuation", "other tokens": "others"}
        there = [str(name) for name in found.data_vars]
        n = max(int(found[f"{name}_n"].max()) for name in there if f"{name}_n" in there)
        about = (
            "How much the model's output depends on attention to each kind of token: the mean size of ∂L/∂α by one "
            f"weight, where L is {meta['objective']}. Lines are means of layers, points heads; {n:,} tokens of "
            f"{meta['corpus']['examples']:,} inputs. Where a head looks at what the output does not depend on, its "
            "attention does little (Clark et al. 2019, §3.2, figure 3)."
        )
        panel = {called: f"gradient_each_{name}" for called, name in names.items()}
        return Classes(
            "What attention matters, by layer",
            about,
            {"Size of the gradient by a weight on": panel},
            there,
            self.again("measure", "--measures", "gradients"),
        )

    def _roles(self) -> Section:
        options: dict[str, Any] = {"limit": self.limit, "progress": self.progress}
        text = with_rarest(self.model, self.corpus, limit=self.limit)
        self._found["patterns"] = measure(self.model, text, measures=_PATTERNS.split(","), **options)
        if self.model.causal:  # sinks and induction have inputs of their own
            table = roles(self.model, self.corpus, level=LEVEL, limit=self.limit)
        else:
            table = definitions.roles(self.surface, self._found["patterns"], level=LEVEL)
        self._table = table
        documents = json.loads(self.surface.attrs["meta"])["corpus"].get("documents")
        return Roles(table, LEVEL, documents, self.again("roles"))

    def _clusters(self) -> Section:
        found = distance(self.model, self.corpus, limit=self.limit, progress=self.progress)
        return Clusters(found, self.leading, command=self.again("distance", "--map", "map.csv"))

    def _cards(self, inputs: list[Input | Beside]) -> Section:
        own = self.examples
        if isinstance(own, int):
            read: Iterator[Example] = _short(self.model, self.corpus, self.limit)
        else:
            read = (Example(tokens=_tokens(self.model, text)) for text in own)
        measures = {role.name: role.measure for role in definitions.ROLES}
        scored = {
            head: cards.Scored(
                _INSTEAD.get(measures[role], measures[role]),
                "nats" if measures[role] == "entropy" else "share",
            )
            for head, role in self.leading.items()
            if measures[role] not in _SILENT
        }
        count = own if isinstance(own, int) else len(own)
        chosen = cards.choose_examples(
            self.model, read, scored, self.having, count=count, every=not isinstance(own, int)
        )
        inputs += _within([_input(self.model, tokens) for tokens in chosen.tokens])
        return Cards(chosen.cards, chosen.inputs, len(inputs), self.typed and self.typed.section("cards"))

    def _linguistic(self, name: str, gallery: Gallery) -> Section:
        given = {"syntax": self.treebank, "coref": self.coref, "probes": self.treebank}[name]
        options: dict[str, Any] = {"limit": self.limit, "progress": self.progress}
        typed = self.typed
        if name == "syntax":
            options["command"] = typed and typed.on("syntax", "--treebank")
            return syntax_section(self.model, given, gallery, **options)
        if name == "coref":
            options["command"] = typed and typed.on("coref", "--coref")
            return coref_section(self.model, given, gallery, **options)
        return probes_section(self.model, given, command=typed and typed.section("probes"), **options)

    def _compare(self, gallery: Gallery) -> Section:
        apart = self.against is not None and counterparts(self.model, self.against) is not None
        short = (one.tokens for one in _short(self.model, self.corpus, self.limit) if one.tokens is not None)
        return compare_section(
            self.model,
            self.against,
            self.corpus,
            short,
            gallery,
            _input,
            roles=self._table,
            level=LEVEL,
            limit=self.limit,
            progress=self.progress,
            command=self.typed and self.typed.versus(apart=apart),
        )

    def _groups(self, pairs: Corpus, gallery: Gallery) -> Section:
        return groups_section(
            self.model,
            pairs,
            gallery,
            _input,
            limit=self.limit,
            progress=self.progress,
            command=self.typed and self.typed.on("compare groups", "--pairs", "--label"),
        )


def _joined(dataset: xr.Dataset, more: xr.Dataset) -> xr.Dataset:
    """Figures of the same heads, and why others are absent."""
    both = dataset.assign({str(name): more[name] for name in more.data_vars if name not in dataset})
    meta, other = json.loads(dataset.attrs["meta"]), json.loads(more.attrs["meta"])
    meta["absent"] = {**meta.get("absent", {}), **other.get("absent", {})}
    if "objective" in other:
        meta["options"] = {**meta.get("options", {}), "objective": other["objective"]}
    both.attrs["meta"] = json.dumps(meta, ensure_ascii=False)
    return both


def _short(model: Model, corpus: Corpus, limit: int | None) -> Iterator[Example]:
    """The inputs of a corpus that can be read on a page; lines are packed to fewer tokens."""
    if corpus.pack is not None:
        corpus = copy(corpus)
        corpus.pack = min(corpus.pack or EXAMPLE_TOKENS, EXAMPLE_TOKENS)
    for example in islice(corpus.encoded(model), None if limit is None else 4 * limit):
        if example.tokens is not None and len(example.tokens) <= 2 * EXAMPLE_TOKENS:
            yield example


def _tokens(model: Model, text: str | tuple[str, str]) -> Tokens:
    return model.encode(text) if isinstance(text, str) else model.encode(*text)


def _input(model: Model, text: str | tuple[str, str] | Tokens) -> Input:
    """The part that is measured: of an encoder-decoder the encoder, whatever its decoder reads."""
    found, neurons = capture_with_neurons(model, text, target="." if model.encoder_decoder else None)
    if isinstance(found, Parts) and "encoder" in found:
        found = found.encoder
    if not isinstance(found, AttentionMaps):
        raise InputError(f"{model.name}: the report shows models of one part; this one has {found!r}")
    own = {name: each for name, each in neurons.items() if name == found.kind}
    return Input({found.kind: found}, neurons=own)


def _within(examples: Sequence[Input]) -> list[Input]:
    """The examples, with queries and keys as long as `NEURON_BYTES` lasts (a neuron travels as a byte)."""
    room = NEURON_BYTES
    kept: list[Input] = []
    for one in examples:
        room -= sum(array.size for each in one.neurons.values() for array in (*each.q, *each.k))
        kept.append(one if room >= 0 else replace(one, neurons={}))
    return kept
