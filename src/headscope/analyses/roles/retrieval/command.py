"""`headscope retrieval`: which heads retrieve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console import options as console
from headscope.console import sources


def retrieval(
    texts: sources.TextOptions,
    model: console.ModelOptions,
    table: console.TableOptions,
    needles: Annotated[int, typer.Option(min=1, help="How many needles are hidden.")] = 32,
    length: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            help="Of the texts, in tokens, about; repeatable. By default 256 and 512.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        int, typer.Option("-k", min=0, help="How many heads are ablated at once; 0 for no ablation.")
    ] = 10,
    draws: Annotated[int, typer.Option(min=1, help="How often as many others are drawn.")] = 3,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The scores as a map of heads: .svg, .png or .pdf.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=console.MOST_SEED, help="Of needles, places and draws.")
    ] = 0,
    resume: console.Resume = None,
) -> None:
    """Which heads retrieve what the model copies from far back, and does it answer without them?"""
    from headscope.analyses.roles.retrieval.run import retrieval as run
    from headscope.analyses.roles.retrieval.statistics import BAR
    from headscope.measures.dataset import description
    from headscope.statistics.jackknife import LEAST, between, needs

    table.check((*console.TABLES, ".nc"))
    console.check_places(figure, suffixes=console.PICTURES)
    corpus = texts.read()
    result = run(
        model.load(),
        corpus,
        needles=needles,
        lengths=length or (256, 512),
        k=k,
        draws=draws,
        seed=seed,
        resume=resume,
        progress=True,
    )
    rows: Any = result.table()
    told = description(result)
    lines = [
        f"the model produces {told['produced']:,} of {told['answers']:,} tokens of answers to {needles:,} needles; "
        f"{int((rows['score'] > BAR).sum())} of {len(rows)} heads score above {BAR:g}, "
        f"{int((rows['q'] <= 0.05).sum())} of them surely (q ≤ .05)",
        console.on_screen(rows.head(console.SHOWN), dropped=("chance", "n")),
    ]
    if k:
        accuracy = [
            f"{name.replace('k', str(k)) if name != 'all heads' else name} {value:.2f}{between(low, high)}"
            for name, value, low, high in zip(
                *(result[each].values for each in ("condition", "accuracy", "accuracy_low", "accuracy_high")),
                strict=True,
            )
        ]
        lines.append(
            f"answers that are right, of the needles that did not choose the heads: {'; '.join(accuracy)}"
        )
    if needles < 2 * LEAST:
        lines.append(needs("needles, and answers as many that did not choose the heads"))
    table.out(rows, "\n".join(lines), dataset=result)
    if figure is not None and told["produced"]:
        console.write_figure(result.figure(), figure)
    if not told["produced"]:
        console.say("no scores: the model produced no token of an answer")
