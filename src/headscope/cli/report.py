"""`headscope report`: one page about a model."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.analyses import analyses
from headscope.analyses.record import Entry, entries
from headscope.console import options as console
from headscope.console import sources
from headscope.console.groups import written
from headscope.core.saving import check_place, replacing
from headscope.core.validation import Number
from headscope.errors import InputError, RunError

_SECTIONS: Any = typer.Option(
    metavar="A,B", help=f"Of {', '.join(entry.name for _, entry in entries(analyses()))}."
)


def report(
    model: console.ModelOptions,
    inputs: sources.InputOptions,
    *,
    text: list[Path] | None = None,
    treebank: list[Path] | None = None,
    coref: list[Path] | None = None,
    against: str | None = None,
    pairs: Path | None = None,
    label: str | None = None,
    links: list[Path] | None = None,
    prompts: list[Path] | None = None,
    output: Path = Path("report.html"),
    title: str | None = None,
    examples: Number | None = None,
    sections: Annotated[str | None, _SECTIONS] = None,
    limit_sentences: int | None = None,
    live: bool = False,
) -> None:
    """Write one page about a model: what every head does over a corpus, and the maps behind the figures.

    Args:
        model, inputs: which model, and how the corpus is read.
        text: the same as CORPUS.
        treebank: trees for tables 1 and 3: .conllu, _conll or word-heads .txt; the built-in ones by default.
        coref: coreference for table 2; the built-in corpus by default.
        against (MODEL): compare with this model (hub name, folder or demo; @REVISION); else with the same one
            untrained.
        pairs: labelled texts or pairs whose groups are compared: .tsv, .txt (by tabs), .csv or .jsonl.
        label (COLUMN): of the labels of --pairs, if it is not known.
        links: links whose best heads are shown, as headscope links reads them.
        prompts: prompts whose answers are explained, as headscope why reads a data set of them: .jsonl.
        output: the page, .html; or .pdf, printed by a browser that is installed.
        title: title of the page.
        examples: how many examples to show heads on, at most: 20, or 8 pictures or sounds.
        sections: those of the page.
        limit_sentences: stop after this many sentences of --treebank, --coref and --links; else all are read.
        live: put the model into the page: type, look and change there, offline.
    """
    from headscope import corpora
    from headscope.analyses.reproduce import Typed
    from headscope.reports.run import EXAMPLES, room_of
    from headscope.reports.run import report as run
    from headscope.views.pdf import find_browser, print_page

    console.check_places(output, suffixes=(".html", ".pdf"), printed=True)
    if live and output.suffix.lower() == ".pdf":
        raise InputError("--live: expected a page to write, found a .pdf")
    browser = find_browser() if output.suffix.lower() == ".pdf" else None
    started = time.monotonic()
    inputs = replace(inputs, corpus=[*(inputs.corpus or []), *(text or [])])
    loaded, texts = inputs.inputs(model)
    count = EXAMPLES[texts.kind] if examples is None else examples
    check_place(output, room_of(loaded, count, texts.kind))
    modality, files = inputs.given
    several = {"treebank": treebank, "coref": coref, "links": links, "prompts": prompts}
    one = {"against": against, "pairs": pairs, "label": label}
    asked = several | {name: [value] for name, value in one.items() if value}
    typed = Typed(
        [*map(str, files or inputs.corpus or [])],
        written(model) | written(replace(inputs, limit=None, images=None, audio=None)),
        {f"--{name}": [*map(str, values or [])] for name, values in asked.items()},
        inputs.limit,
        limit_sentences,
        modality,
    )
    failed: list[tuple[Entry, str]] = []
    once = partial(sources.once, distinct=inputs.distinct)
    page = run(
        loaded,
        texts,
        title=title,
        examples=count,
        sections=sections.split(",") if sections else None,
        limit=inputs.limit,
        treebank=once(sources.annotated(treebank, None, strict=inputs.strict)) if treebank else None,
        coref=once(sources.annotated(coref, None, clusters=True, strict=inputs.strict)) if coref else None,
        against=model.trained.named(against) if against else None,
        pairs=once(corpora.pairs(pairs, label=label, strict=inputs.strict)) if pairs else None,
        links=once(sources.linked(links, None, strict=inputs.strict)) if links else None,
        prompts=corpora.prompts(prompts, strict=inputs.strict) if prompts else None,
        limit_sentences=limit_sentences,
        live=live,
        progress=True,
        typed=typed,
        failed=failed,
    )
    if browser is None:
        with replacing(output) as file:
            file.write_text(page, encoding="utf-8")
    else:
        print_page(page, output, browser)
    size, seconds = output.stat().st_size / 1e6, time.monotonic() - started
    what = "to print" if browser else "open it in a browser, it needs no network"
    print(f"{output.resolve()}  ({size:.1f} MB, {seconds:.0f} s; {what})", flush=True)
    given = {**asked, "text": inputs.corpus or files or against}
    unmade = [f"{entry.name} ({why})" for entry, why in failed if given.get(entry.reads)]
    if unmade:
        raise RunError(f"{output}: written without the section{'s' * (len(unmade) > 1)} {'; '.join(unmade)}")
