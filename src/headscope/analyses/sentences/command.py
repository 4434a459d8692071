"""`headscope sentences`: where a long text looks back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.analyses.sentences.split import Unit
from headscope.console import options as console


def sentences(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Text files, each one text.")],
    model: console.ModelOptions,
    table: console.TableOptions,
    unit: Annotated[Unit, typer.Option(help="How a text is cut.")] = "sentence",
    apart: Annotated[
        int, typer.Option(min=0, help="Sentences that lie between a sentence and those that count as later.")
    ] = 4,
    head: Annotated[
        str | None, typer.Option(metavar="L.H", help="Whose map is drawn; else that of the receiver heads.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The map of one text: .svg, .png or .pdf.")
    ] = None,
) -> None:
    """Where does a long text look back, sentence by sentence, and which heads look at few sentences?"""
    from headscope.analyses.sentences.run import sentences as run
    from headscope.corpora.kinds import text_of
    from headscope.measures.dataset import description

    table.check((*console.TABLES, ".nc"))
    console.check_places(figure, suffixes=console.PICTURES)
    texts = ["\n".join(line.text for line in text_of(file)) for file in files]
    text = texts[0] if len(texts) == 1 else texts
    result = run(model.load(), text, unit=unit, apart=apart, progress=True)
    rows: Any = result.table()
    told = description(result)
    lines = [
        f"{told['sentences']:,} sentences of {told['tokens']:,} tokens; "
        f"{int((rows['q'] <= 0.05).sum())} of {len(rows)} heads look at few sentences, surely (q ≤ .05)",
        console.on_screen(
            rows.head(console.SHOWN), dropped=() if len(texts) == 1 else ("sentence", "received", "text")
        ),
    ]
    table.out(rows, "\n".join(lines), dataset=result)
    if figure is not None:
        console.write_figure(result.figure(head=head), figure)
