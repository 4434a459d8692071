"""The report of a model: measure it over a corpus, and open the heads behind the figures on examples."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from headscope.analyses import analyses
from headscope.analyses.cards.section import MAPS
from headscope.analyses.record import Analysis, Entry, entries
from headscope.analyses.reproduce import Typed
from headscope.analyses.study import EXAMPLE_TOKENS, Study, strange, told_once
from headscope.attention.load import load
from headscope.core.failures import reason, warn
from headscope.core.tokens import WHAT, Kind
from headscope.core.validation import Count, Number, validated
from headscope.corpora import Corpus
from headscope.corpora.given import AnnotatedCorpus, PromptCorpus
from headscope.corpora.perceived import shipped
from headscope.errors import FewError, InputError, UnknownError
from headscope.live.standalone import carry
from headscope.models import Model
from headscope.models.model import expect_attention, expect_text_alone
from headscope.models.perceive import expect_reads, reads
from headscope.reports.page import report_page
from headscope.reports.sections import Failed, Standalone
from headscope.runs.batches import reader_of
from headscope.views.section import Section

LIVE_TEXT = "She sold the old house because it was too small for her growing family."
"""What a model in the page reads first."""

EXAMPLES: Mapping[Kind, int] = {"text": 20, "images": 8, "sounds": 8}
"""How many inputs of a corpus a page shows heads on, unless it is said."""


LOOKED = 1000
"""So many inputs of a corpus are looked at for pairs."""

PAGE_BYTES = 8_000_000
"""About what a page takes but for its examples."""


def room_of(model: Model, examples: int, kind: Kind) -> float:
    """About how many bytes a report of this model takes, with so many examples: a map travels in bytes."""
    if kind != "text":
        return PAGE_BYTES + 1.4 * MAPS
    expect_text_alone(model)
    expect_attention(model)
    heads = sum(model.checked.parts[0].heads) if model.checked is not None else 0
    return PAGE_BYTES + examples * heads * EXAMPLE_TOKENS**2


def available() -> Mapping[str, tuple[Analysis, Entry]]:
    """What a report is made of, by the names that ``--sections`` takes, in the order of the page."""
    return {entry.name: (analysis, entry) for analysis, entry in entries(analyses())}


def expect_fits(
    model: Model, kind: Kind, inputs: Mapping[str, object], sections: Sequence[str] | None
) -> dict[str, str]:
    """Which sections there are not of inputs of a kind, and why.

    Raises `InputError` for a section that is not known, or not of such inputs, for inputs that go with texts only, and
    for a model that reads no such inputs.
    """
    known = available()
    for name in sections or ():
        if name not in known:
            raise InputError(f"sections: unknown section {name!r}; expected some of {', '.join(known)}")
    not_of = {name: entry for name, (_, entry) in known.items() if kind not in entry.of and not entry.needs}
    for name in sections or ():
        if name in not_of:
            raise InputError(
                f"sections: {name} is {not_of[name].unless}, and the inputs are {WHAT[kind]}; leave it out"
            )
    if kind == "text":
        return {}
    expect_reads(model, kind)
    for name, given in inputs.items():
        if given is not None:
            raise InputError(f"{name}: goes with texts, found a corpus of {WHAT[kind]}")
    names: dict[str, list[str]] = {}
    for name, entry in not_of.items():
        if "text" in entry.of:
            names.setdefault(entry.unless, []).append(name)
    return {", ".join(some): f"{why}; the inputs here are no texts" for why, some in names.items()}


@validated
def report(
    model: Model | None = None,
    corpus: Corpus | None = None,
    *,
    title: str | None = None,
    examples: Number | Sequence[str | tuple[str, str]] | None = None,
    sections: Sequence[str] | None = None,
    limit: Count | None = None,
    treebank: AnnotatedCorpus | None = None,
    coref: AnnotatedCorpus | None = None,
    against: Model | None = None,
    pairs: Corpus | None = None,
    links: AnnotatedCorpus | None = None,
    prompts: PromptCorpus | None = None,
    limit_sentences: Count | None = None,
    live: bool = False,
    progress: bool = False,
    typed: Typed | None = None,
    failed: list[tuple[Entry, str]] | None = None,
) -> str:
    """One self-contained HTML page about a model: what every head does, and the explorer of it on examples.

    Args:
        model: from `headscope.load`; the demo model by default.
        corpus: from `headscope.corpora`, of texts, pictures or sounds; by default the built-in ones of what the model
            reads.
        title: of the page.
        examples: texts or pairs to show heads on, or paths of pictures or sounds; or how many to choose from the
            corpus, by default 20 texts, or 8 pictures or sounds.
        sections: the names that ``headscope report --help`` lists; all by default. One that fails says why in the page.
        limit: measure at most this many inputs of the corpus, and of the pairs; the built-in sentences are cut alike.
        treebank: sentences with trees for syntax and probes; the built-in ones by default.
        coref: documents with trees and coreference; the built-in ones by default.
        against: another model, to compare with; by default the same one untrained (weights drawn with seed 0).
        pairs: labelled texts or pairs (`headscope.corpora.pairs`), whose groups are compared; without them that section
            is left out.
        links: inputs with links (`headscope.corpora.links`, `linked`, `alignments`), whose best heads are shown;
            without them that section is left out.
        prompts: prompts with their answers (`headscope.corpora.prompts`): which tool description, document or message
            each came from; without them that section is left out.
        limit_sentences: measure at most this many sentences of the treebank, of coreference and of links.
        live: put the model into the page, to type and look there (an encoder like BERT or a decoder like GPT-2 and
            Llama, of at most 150 million weights); needs the extra ``page``.
        progress: show progress on stderr, and say beforehand what takes long.
        typed: the same in its parts, for the commands that give single figures again; without it there are none.
        failed: a list to which the sections that could not be made are added, each with the reason that the page gives.

    Raises:
        InputError: an unknown section; a model to compare with, but no such section; a corpus without inputs.
        CorpusError: a broken corpus or treebank, with file and line.
        RefusedError: `live`, and the model cannot be put into a page; the message has the reason.
        RunError: the model failed on an input while the surface measures were taken.

    >>> hs.report(model, corpus, sections=["table"], examples=0)[:15]
    '<!doctype html>'
    """
    inputs = {"treebank": treebank, "coref": coref, "against": against, "pairs": pairs, "links": links}
    inputs["prompts"] = prompts
    known = available()
    measured = load() if model is None else model
    expect_attention(measured)
    texts = shipped(reads(measured)) if corpus is None else corpus
    absent = expect_fits(measured, texts.kind, inputs, sections)
    kind = texts.kind
    asked = [
        name
        for name, (_, entry) in known.items()
        if kind in entry.of and (not entry.needs or inputs[entry.needs] is not None)
    ]
    asked = asked if sections is None else list(sections)
    for name, (_, entry) in known.items():
        if name in asked and entry.needs and inputs[entry.needs] is None:
            raise InputError(f"{entry.needs}: the section {name} needs it, found none")
        for option in entry.options:
            given = option.removeprefix("--")
            if name not in asked and inputs.get(given) is not None:
                raise InputError(f"{given}: only the section {name} takes it; add that to the sections")
    for read in (treebank, coref, pairs, links, prompts):  # a broken file is told before a long run
        for _ in read or ():
            pass
    measured = reader_of(measured, texts)
    for read in (texts, treebank, coref, pairs, links):  # and what does not fit
        if read is not None and read.strict:
            for _ in read.encoded(measured):
                pass
    if (why := strange(measured, texts)) is not None:
        absent[texts.name] = why
        warn(f"{texts.name}: {why}")
        measured = replace(measured, allow_unknown=True)
        typed = typed and replace(typed, options={**typed.options, "--allow-unknown": ""})
    study = Study(
        measured,
        texts,
        asked,
        EXAMPLES[kind] if examples is None else examples,
        limit,
        treebank,
        coref,
        against,
        pairs,
        links,
        prompts,
        progress,
        typed,
        limit_sentences,
        absent=absent,
    )
    standalone = None
    if live:  # what cannot be is told before the model runs for long
        study.say("headscope: putting the model into the page")
        standalone = Standalone(carry(measured, {"text": LIVE_TEXT}))
    with told_once():
        page = _page(study, title, standalone)
    if failed is not None:
        failed += study.failed
    return page


def _page(study: Study, title: str | None, standalone: Standalone | None) -> str:
    """The whole page. The surface measures must be there; any other section may fail."""
    paired = _paired(study.corpus)
    surface = analyses()["measure"]
    measure = surface.load(surface.function)
    study.figures.append(measure(study.model, study.corpus, **study.run))
    study.seconds = time.monotonic() - study.started
    made: dict[str, list[Section]] = {}
    order = list(analyses())
    for analysis, entry in sorted(
        available().values(), key=lambda pair: (pair[1].last, order.index(pair[0].name))
    ):
        accompanies = "*" in entry.accompanies or {*entry.accompanies} & {*study.sections}
        if entry.name in study.sections or (accompanies and study.corpus.kind in entry.of):
            made[entry.name] = _made(study, analysis, entry)
    dataset = study.dataset
    shown: list[Section] = []
    unseen: list[Section] = []
    places = {name: entry.place(causal=study.model.causal) for name, (_, entry) in available().items()}
    for name in sorted(made, key=places.__getitem__):
        for section in made[name]:
            (shown if name in study.sections or isinstance(section, Failed) else unseen).append(section)
    if standalone is not None:
        shown.append(standalone)
    return report_page(
        dataset,
        study.inputs,
        sections=shown,
        unseen=unseen,
        title=title,
        halves=not paired and ("other_sentence" in dataset or "a_to_b" in dataset),
        grid=study.surface,
    )


def _paired(corpus: Corpus) -> bool:
    """Whether inputs of a corpus are pairs of texts, or tokens that may be."""
    return any(
        (example.text is None and example.words is None)
        or example.pair is not None
        or example.pair_words is not None
        for example in islice(corpus.examples(), LOOKED)
    )


def _made(study: Study, analysis: Analysis, entry: Entry) -> list[Section]:
    """A section, or one that says why it could not be made."""
    if entry.doing:
        study.say_time(entry.doing, entry.cost)
    model = replace(study.model, allow_unknown=study.model.allow_unknown and not entry.language)
    try:
        return list(analysis.load(entry.make)(replace(study, model=model)))
    except (UnknownError, FewError) as error:
        study.absent[entry.name] = error.reason
        study.say(f"headscope: section {entry.name} is left out: {error.reason}")
        return []
    except Exception as error:
        why = reason(error)
        study.say(f"headscope: section {entry.name}: {why}")
        study.failed.append((entry, why))
        command = study.typed and study.typed.section(entry.name)
        return [Failed(entry.name, f"Not made: {entry.title}", why, command)]
