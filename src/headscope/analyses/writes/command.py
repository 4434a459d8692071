"""`headscope writes`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headscope.console import options as console


def writes(
    model: console.ModelOptions,
    table: console.TableOptions,
    head: Annotated[str | None, typer.Option(metavar="L.H", help="Such as 5.1 or L5H1; else all.")] = None,
    token: Annotated[
        list[str] | None,
        typer.Option(help='What it looks at, such as " Paris" (mind the space); may be repeated.'),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many tokens are named.")] = 10,
    sample: Annotated[int, typer.Option(help="How many tokens are sampled.")] = 256,
    seed: Annotated[int, typer.Option(min=0, max=console.MOST_SEED, help="Of the sample.")] = 0,
) -> None:
    """Which heads copy, what do they write when they look at a token, and which would they look at? From weights."""
    from headscope.analyses.writes import statistics
    from headscope.analyses.writes.run import writes as run
    from headscope.measures.dataset import description

    table.check((*console.TABLES, ".nc"))
    result = run(model.load(), head, tokens=token, k=k, sample=sample, seed=seed)
    rows: Any = result.table()
    told = description(result)
    shown = rows if head is not None else statistics.ranked(rows, result).head(console.SHOWN)
    lines = [
        f"copying: eigenvalues from -1 to 1, by chance within ±{float(result['copying_chance'].max()):.2f}; positive: "
        f"the share of them, by chance .5 ± {float(result['positive_chance'].max()):.2f}; itself: the share of "
        f"{told['sample']:,} sampled tokens among the {k} that they promote most, by chance "
        f"{float(result['itself_chance']):.2g}",
        console.on_screen(
            shown.rename(columns={"copying_q": "q"}),
            dropped=(
                *("copying_chance", "copying_p", "positive_chance"),
                *("itself_chance", "itself_low", "itself_high"),
            ),
        ),
    ]
    table.out(rows, "\n".join(lines), dataset=result)
