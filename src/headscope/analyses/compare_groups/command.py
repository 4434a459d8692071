"""`headscope compare`: groups of inputs, models, inputs and checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.analyses.comparing import (
    PAGES,
    PICTURES,
    SHOWN,
    Batch,
    Colours,
    Figure,
    Measures,
    drawn,
    ground,
    say_absent,
)
from headscope.console.options import (
    AsJson,
    Device,
    Dtype,
    Estimate,
    Keep,
    Limit,
    Meta,
    ModelName,
    Output,
    Remote,
    Revision,
    Theme,
    Untrained,
    check_places,
    command,
    foreseen,
    load,
    on_screen,
    say,
    table_out,
)


def groups(
    pairs: Annotated[Path, typer.Argument(metavar="PAIRS", help=".tsv, .txt (by tabs), .csv or .jsonl.")],
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The labels; by default a column that is known.")
    ] = None,
    text_a: Annotated[str | None, typer.Option(metavar="COLUMN", help="Text A, or the only text.")] = None,
    text_b: Annotated[str | None, typer.Option(metavar="COLUMN", help="Text B.")] = None,
    document: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Which rows are of one document, permuted together.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="A,B", help="The labels to compare, where there are more than two.")
    ] = None,
    model: ModelName = None,
    output: Output = None,
    figure: Figure = None,
    view: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also an input of each group, side by side: .html, .svg, .pdf or .png."
        ),
    ] = None,
    measures: Measures = None,
    permutations: Annotated[int, typer.Option(help="Of the labels, at least 20,000.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the permutations.")] = 0,
    level: Annotated[float, typer.Option(help="Up to which q a head is said to differ.")] = 0.05,
    theme: Colours = Theme.auto,
    limit: Limit = None,
    batch_size: Batch = 32,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
    estimate: Estimate = False,
    as_json: AsJson = False,
    meta: Meta = None,
) -> None:
    """Does attention differ between two groups of texts or pairs? Every measure of every head, tested."""
    from headscope import corpora
    from headscope.analyses.compare_figures import groups_figure
    from headscope.analyses.compare_groups.run import groups as run
    from headscope.stream.estimate import groups as foresee

    check_places(output, meta)
    check_places(figure, suffixes=PICTURES)
    check_places(view, suffixes=PAGES)
    texts = corpora.pairs(pairs, label=label, text_a=text_a, text_b=text_b, document=document)
    loaded = load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    options: dict[str, Any] = {
        "groups": groups.split(",") if groups else None,
        "measures": measures.split(",") if measures else None,
        "permutations": permutations,
        "seed": seed,
        "batch_size": batch_size,
        "limit": limit,
    }

    def line() -> str:
        return foresee(loaded, texts, **options)

    if foreseen(estimate, texts.size_hint(), line, limit=limit):
        return
    found = run(loaded, texts, **options, progress=True, command=command())
    about: dict[str, Any] = json.loads(found.figures.attrs["meta"])
    say_absent(about)
    for name, one in zip("AB", about["groups"], strict=True):
        say(
            f"group {name}: label {one['label']}, {one['inputs']:,} inputs of {one['tokens']:.1f} tokens on average"
        )
    rows: Any = found.differing(level)
    shown = [found.told(level)]
    if len(rows):
        few = rows.head(SHOWN).assign(**{name: rows[name].map("{:.2g}".format) for name in ("p", "q")})
        shown.append(on_screen(few))
    if len(rows) > SHOWN:
        shown.append(f"… and {len(rows) - SHOWN:,} more; -o FILE writes them all")
    table_out(found.table, found.figures, output, as_json, meta, "\n".join(shown))
    if figure is not None:
        drawn(
            groups_figure(found.figures, level=level, theme=ground(theme)),
            found.figures,
            figure,
            "Two groups",
        )
    if view is not None:
        found.view(theme=theme.value).save(view)
        say(f"{view}: an input of each group")
