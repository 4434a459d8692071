"""`headscope streaming`: which heads need the whole text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console import options as console
from headscope.console import sources


def streaming(
    texts: sources.TextOptions,
    model: console.ModelOptions,
    table: console.TableOptions,
    sink: Annotated[int, typer.Option(min=0, help="So many first tokens are in the window.")] = 4,
    recent: Annotated[int, typer.Option(min=1, help="So many last tokens are in it.")] = 64,
    needles: Annotated[int, typer.Option(min=2, help="How many needles are hidden.")] = 24,
    length: Annotated[
        list[int] | None,
        typer.Option(
            min=1, help="Of the texts, in tokens, about; repeatable. By default 256.", show_default=False
        ),
    ] = None,
    exact: Annotated[
        int, typer.Option(min=0, help="So many key heads are measured, those with the largest estimates.")
    ] = 8,
    all_heads: Annotated[bool, typer.Option("--all", help="Measure all key heads.")] = False,
    whole: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The share of key heads that see everything in the check.")
    ] = 0.1,
    draws: Annotated[int, typer.Option(min=1, help="How often as many others are drawn.")] = 3,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The estimates as a map: .svg, .png or .pdf.")
    ] = None,
    duo: Annotated[
        Path | None,
        typer.Option("--duo-attention", metavar="FOLDER", help="Write the files that DuoAttention loads."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=console.MOST_SEED, help="Of needles, places and draws.")
    ] = 0,
) -> None:
    """Which heads need the whole text, and which do with its start and the last tokens?"""
    from headscope.analyses.streaming.duo import save_duo_attention
    from headscope.analyses.streaming.run import streaming as run
    from headscope.analyses.streaming.statistics import BAR, name_of
    from headscope.statistics.jackknife import LEAST, between, needs

    table.check((*console.TABLES, ".nc"))
    console.check_places(figure, suffixes=console.PICTURES)
    corpus = texts.read()
    result = run(
        model.load(),
        corpus,
        sink=sink,
        recent=recent,
        needles=needles,
        lengths=length or (256,),
        exact="all" if all_heads else exact,
        whole=whole,
        draws=draws,
        seed=seed,
        progress=True,
    )
    rows: Any = result.table()
    losses = rows["loss"].dropna()
    told = [
        f"{int((losses > BAR).sum())} of {len(losses)} key heads measured, of {len(rows)}, lose more than {BAR:g} "
        f"nats a token of the answer when they see the first {sink} and last {recent} tokens alone, "
        f"{int((rows['q'] <= 0.05).sum())} of them surely (q ≤ .05)",
        console.on_screen(
            rows.head(console.SHOWN), dropped=("estimate_low", "estimate_high"), head="key_head", name=name_of
        ),
        "answers that are right, and nats a token, of the needles that did not choose the heads:",
    ]
    names = ["all see everything", "all see the window alone"]
    many = result.sizes["top"]
    names += [f"all but the {each} {many}" for each in ("top", "other")]
    columns = ("accuracy", "accuracy_low", "accuracy_high", "nats")
    for name, value, low, high, nats in zip(names, *(result[each].values for each in columns), strict=True):
        told.append(f"  {name}: {value:.2f}{between(low, high)}, {nats:.3f}")
    if needles < 2 * LEAST:
        told.append(needs("needles, and answers as many that did not choose the heads"))
    table.out(rows, "\n".join(told), dataset=result)
    if figure is not None:
        console.write_figure(result.figure(), figure)
    if duo is not None:
        console.say(f"wrote {save_duo_attention(result, duo)}")
