"""`headscope patch`: which heads made an answer."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.console import options as console
from headscope.errors import InputError

_DROPPED = ("chance", "n", "estimate_low", "estimate_high")


def patch(
    model: console.ModelOptions,
    table: console.TableOptions,
    pairs: Annotated[
        Path | None,
        typer.Argument(
            metavar="PAIRS.jsonl",
            help='One object a line: "clean" and "corrupted", prompts of as many tokens, "answer" and "wrong", one '
            "token each (mind the space). By default 48 pairs that ship in the package.",
        ),
    ] = None,
    noising: Annotated[
        bool,
        typer.Option("--noising", help="Put the corrupted run's outputs in the clean run: what is lost."),
    ] = False,
    positions: Annotated[
        Literal["all", "last"], typer.Option(help="At which tokens outputs are patched.")
    ] = "all",
    exact: Annotated[
        str, typer.Option(metavar="K|all", help="How many heads are patched exactly, by their estimates.")
    ] = "20",
    edges: Annotated[
        int,
        typer.Option(
            min=0, metavar="K", help="Among how many of these heads edges are measured: path patching."
        ),
    ] = 0,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The effects as a map of heads: .svg, .png or .pdf.")
    ] = None,
    batch_size: console.BatchSize = 32,
    resume: console.Resume = None,
    seed: Annotated[int, typer.Option(hidden=True, help="No longer used.")] = 0,
) -> None:
    """Which heads made the answer? Their outputs patched between a clean and a corrupted prompt, over pairs."""
    del seed
    from headscope.analyses.patching.run import patching as run
    from headscope.measures.dataset import description

    table.check((*console.TABLES, ".nc"))
    console.check_places(figure, suffixes=console.PICTURES)
    if exact != "all" and not exact.isdecimal():
        raise InputError(f"--exact: expected a whole number or all, found {exact!r}")
    loaded = model.load()
    result = run(
        loaded,
        pairs,
        noising=noising,
        positions=positions,
        exact="all" if exact == "all" else int(exact),
        edges=edges,
        batch_size=batch_size,
        resume=resume,
        progress=True,
    )
    rows: Any = result.table()
    heads, paths = (
        rows[here].head(console.SHOWN).reset_index(drop=True) for here in (rows["to"] == "", rows["to"] != "")
    )
    told = description(result)
    lines = [
        f"{told['corpus']['name']}: {told['pairs']:,} pairs; logit of the answer less that of the other token: "
        f"{float(result['clean']):.2f} after clean prompts (above 0 in {float(result['solved']):.0%}), "
        f"{float(result['corrupted']):.2f} after corrupted ones",
        f"effect: share of that gap that a head's output {'takes away' if noising else 'brings back'}; by chance "
        f"within ±{2 * float(result['chance']):.3f}; estimates agree with it (correlation "
        f"{float(result['agreement']):.2f})",
        console.on_screen(heads, dropped=("to", *_DROPPED)),
    ]
    if edges:
        lines += [
            "edges: what a head hands to another, or to the logits directly, all other heads held",
            console.on_screen(paths, dropped=("estimate", *_DROPPED)),
        ]
    if told["example"] is not None:
        lines.append(_opens(told["example"], rows.iloc[0], model.model))
    table.out(rows, "\n".join(lines), dataset=result)
    if figure is not None:
        console.write_figure(result.figure(), figure)
    if rows["q"].isna().all() and exact != "0":
        console.say(
            "no interval, p or q: the model does not tell the clean prompts from the corrupted, or there are too few"
        )


def _opens(prompt: str, first: Any, model: str | None) -> str:
    """How the first head is seen on a prompt."""
    named = f" -m {shlex.quote(model)}" if model else ""
    return (
        f"to see a head, here the first: headscope view {shlex.quote(prompt)}{named} --layer {first['layer']} "
        f"--head {first['head']}"
    )
