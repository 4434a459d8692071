"""`headscope report`: one page about a model."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from headscope.analyses import analyses
from headscope.analyses.record import Entry, entries
from headscope.console import options as console
from headscope.console import sources
from headscope.core.saving import check_place, replacing
from headscope.errors import InputError, RunError


def report(
    model: console.ModelOptions,
    reading: sources.ReadingOptions,
    modalities: sources.ModalityOptions,
    text: Annotated[
        list[Path] | None,
        typer.Option(
            "--text", help="Text or jsonl to measure; by default the built-in corpus of what the model reads."
        ),
    ] = None,
    treebank: Annotated[
        list[Path] | None,
        typer.Option(
            help="Trees for tables 1 and 3: .conllu, _conll or word-heads .txt; the built-in ones by default."
        ),
    ] = None,
    coref: Annotated[
        list[Path] | None,
        typer.Option(help="Coreference for table 2, as `coref` reads it; the built-in corpus by default."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Compare with this model (hub name, folder or demo; @REVISION); else with the same one untrained.",
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="Labelled texts or pairs whose groups are compared: .tsv, .txt (by tabs), .csv or .jsonl."
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="With --pairs: the labels; by default a column that is known."),
    ] = None,
    links: Annotated[
        list[Path] | None,
        typer.Option(
            help="Links whose best heads are shown, as headscope links reads them; of several files each with --links."
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="The page, .html; or .pdf, printed by a browser that is installed."
        ),
    ] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    examples: Annotated[
        int | None,
        typer.Option(help="How many examples to show heads on, at most: 20, or 8 pictures or sounds.", min=0),
    ] = None,
    sections: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help=f"Of {', '.join(entry.name for _, entry in entries(analyses()))}.",
        ),
    ] = None,
    limit_sentences: Annotated[
        int | None,
        typer.Option(
            help="Stop after this many sentences of --treebank, --coref and --links; else all are read."
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Put the model into the page: type, look and change there, offline."),
    ] = False,
) -> None:
    """Write one page about a model: what every head does over a corpus, and the maps behind the figures."""
    from headscope import corpora
    from headscope.analyses.reproduce import Typed
    from headscope.reports.run import EXAMPLES, room_of
    from headscope.reports.run import report as run
    from headscope.views.pdf import find_browser, print_page

    console.check_places(output, suffixes=(".html", ".pdf"), printed=True)
    if live and output.suffix.lower() == ".pdf":
        raise InputError("--live: expected a page to write, found a .pdf")
    browser = find_browser() if output.suffix.lower() == ".pdf" else None
    if label is not None and pairs is None:
        raise InputError("--label: expected --pairs as well")
    started = time.monotonic()
    texts, loaded = modalities.read(reading, text, model)
    count = EXAMPLES[texts.kind] if examples is None else examples
    check_place(output, room_of(loaded, count, texts.kind))
    modality, files = modalities.given
    options = {
        "-m": model.model,
        "--format": reading.format,
        "--pack": None if reading.pack == 128 else reading.pack,
        "--documents": reading.documents,
        "--text-field": reading.text_field,
    }
    options |= {"--device": model.device, "--dtype": model.dtype, "--revision": model.revision}
    options |= {"--adapter": model.adapter, "--untrained": model.untrained, "--keep": model.keep}
    options |= {"--distinct": "" if reading.distinct else None}
    options |= {"--trust-remote-code": "" if model.trust_remote_code else None}
    options |= {"--allow-unknown": "" if model.allow_unknown else None}
    typed = Typed(
        [*map(str, files or text or [])],
        {name: str(value) for name, value in options.items() if value is not None},
        {
            "--treebank": [*map(str, treebank or [])],
            "--coref": [*map(str, coref or [])],
            "--against": [against] if against else [],
            "--pairs": [str(pairs)] if pairs else [],
            "--label": [label] if label else [],
            "--links": [*map(str, links or [])],
        },
        reading.limit,
        limit_sentences,
        modality,
    )
    failed: list[tuple[Entry, str]] = []
    own = partial(sources.once, distinct=reading.distinct)
    page = run(
        loaded,
        texts,
        title=title,
        examples=count,
        sections=sections.split(",") if sections else None,
        limit=reading.limit,
        treebank=own(sources.annotated(treebank, None, strict=reading.strict)) if treebank else None,
        coref=own(sources.annotated(coref, None, clusters=True, strict=reading.strict)) if coref else None,
        against=model.how.trained.named(against) if against else None,
        pairs=own(corpora.pairs(pairs, label=label, strict=reading.strict)) if pairs else None,
        links=own(sources.linked(links, None, strict=reading.strict)) if links else None,
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
    given = {
        "text": text or files or against,
        "treebank": treebank,
        "coref": coref,
        "pairs": pairs,
        "links": links,
    }
    own = [f"{entry.name} ({why})" for entry, why in failed if given[entry.reads]]
    if own:
        raise RunError(f"{output}: written without the section{'s' * (len(own) > 1)} {'; '.join(own)}")
