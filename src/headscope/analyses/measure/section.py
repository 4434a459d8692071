"""Sections that draw the figures of all heads, and say what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from headscope.analyses.measure.figure import NAMED, joined, measured, plain
from headscope.analyses.measure.run import measure
from headscope.analyses.study import Study
from headscope.core.counts import plural
from headscope.core.tokens import WHAT, Kind
from headscope.measures.confidence import CONFIDENCE
from headscope.measures.conversation import CONVERSATION
from headscope.measures.dataset import description, means_over, measure_names
from headscope.measures.dataset import table as tidy_table
from headscope.measures.gradients import FIGURE_3
from headscope.measures.patterns import PATTERNS
from headscope.runs.rare import with_rarest
from headscope.views import blocks
from headscope.views.blocks import Block, HeadsBlock, MeasuresBlock, rows_of
from headscope.views.charts import Chart
from headscope.views.digits import fixed
from headscope.views.section import Ready, Section, rounded

FAR: Mapping[Kind, tuple[Sequence[str], str, str]] = {
    "images": (
        ("distance_pixels", "distance_share"),
        "How far a patch looks on average, from middle to middle, in pixels of the picture and as a share of the "
        "diagonal of what the model sees of it. Choose a point to see where the head looks.",
        "Dosovitskiy et al. 2021, figure 7: of ViT some heads look far from the first layer on, and all in the last.",
    ),
    "sounds": (
        ("distance_seconds", "diagonality"),
        "How far a frame looks on average, in seconds, and how close to itself as a share of what it could: 1 is the "
        "diagonal. Choose a point to see where the head looks.",
        "Diagonality after Zhang et al. 2021.",
    ),
}
"""Of each kind of inputs the measures of how far heads look, what they are, and where from."""

FEW = 2
"""So many panels have all the width."""

POINTS = "Each point is a head, the grey line the mean of a layer, the dashed line uniform attention."


def layers(
    dataset: xr.Dataset,
    title: str,
    about: str,
    measures: Sequence[str],
    notes: Sequence[str] = (),
    command: str | None = None,
) -> list[Section]:
    """Measures against the layer, a chart each; none where there are no measures.

    Args:
        dataset: with the measures.
        title: of the section.
        about: its caption.
        measures: their names.
        notes: how to read the charts, after what the points are.
        command: gives the same figures.
    """
    panels = [("", {"": name}) for name in measures]
    return _panels("layers", dataset, title, about, panels, [POINTS, *notes], command)


def classes(
    dataset: xr.Dataset,
    title: str,
    about: str,
    panels: Mapping[str, Mapping[str, str]],
    command: str | None = None,
    notes: Sequence[str] = (),
) -> list[Section]:
    """Kinds of tokens over one another, by layer (Clark et al. 2019, figures 2 and 3); none without a panel.

    Args:
        dataset: its measures; others are left out, and a panel with fewer than two measures too.
        title: of the section.
        about: its caption.
        panels: the title of each panel, and the name of each of its measures by what it is called there.
        command: gives the same figures.
        notes: how to read the panels, after what lines and points are.
    """
    there = [
        (panel, {label: name for label, name in measures.items() if name in dataset})
        for panel, measures in panels.items()
    ]
    several = [panel for panel in there if len(panel[1]) > 1]
    notes = ["Lines are means of layers, points heads.", *notes]
    return _panels("classes", dataset, title, about, several, notes, command)


def _panels(
    name: str,
    dataset: xr.Dataset,
    title: str,
    about: str,
    panels: Sequence[tuple[str, Mapping[str, str]]],
    notes: Sequence[str],
    command: str | None,
) -> list[Section]:
    """Charts beside one another. Of many those in which no head stands out are folded; the same figures stand once."""
    once: dict[Any, tuple[Chart, list[str]]] = {}
    for panel, measures in panels:
        chart = _panel(dataset, panel, measures)
        once.setdefault((repr(chart["y"]), repr(chart["rows"]["y"])), (chart, [*measures.values()]))
    few = len(once) <= FEW
    groups: tuple[list[tuple[Chart, list[str]]], ...] = [], []
    for chart, names in once.values():
        high = chart["y"].get("high") is None or max(filter(None, chart["rows"]["y"]), default=0) > NAMED
        groups[not few and not high].append((chart, names))
    shown, quiet = (
        blocks.charts(
            [chart for chart, _ in group], 176 if few else 136, measures=[names for _, names in group]
        )
        for group in groups
    )
    made: list[Block] = [shown]
    if quiet["charts"]:
        names = ", ".join(chart["title"] for chart in quiet["charts"])
        count = plural(len(quiet["charts"]), "measure")
        made.append(blocks.folded(f"{count} in which no head is above .5: {names}", quiet))
    return [Ready(blocks.section(name, title, about, made, notes, command))] if panels else []


def _panel(dataset: xr.Dataset, title: str, measures: Mapping[str, str]) -> Chart:
    """Measures by layer on one scale, each called by what tells it from the others; one has its own title."""
    series = [measured(dataset, name, i if title else None)[0] for i, name in enumerate(measures.values())]
    chart = plain(joined(series) if title else series[0])
    rows = chart["rows"]
    rows["y"] = [None if value is None else rounded(value) for value in rows["y"]]
    if "colour" in chart:
        chart["colour"]["names"] = [*measures]
        return {**chart, "title": title, "label": f"{title} {', '.join(measures)}, by layer"}
    heads = sorted(
        (-value, head)
        for value, head in zip(rows["y"], rows.get("link", ()), strict=True)
        if value is not None
    )
    most = f"; the highest is {heads[0][1]} with {fixed(-heads[0][0], 2)}" if heads else ""
    return {**chart, "label": f"{chart['title']} of {plural(len(heads), 'head')} by layer{most}"}


def every_head(command: str | None = None) -> Section:
    """The table of all heads and figures. `command` gives the same."""
    shown = [HeadsBlock(kind="heads")]
    return Ready(blocks.section("heads", "All heads, all figures", "", shown, command=command))


def every_map(command: str | None = None) -> Section:
    """Every measure as a map of layers and heads. `command` gives all of them."""
    info = blocks.section(
        "measures",
        "Every head",
        "Layers down, heads across. Choose a measure to see it large; choose a head to see where it looks.",
        [MeasuresBlock(kind="measures")],
        command=command,
    )
    return Ready(info)


_TYPED = "patterns,positional_previous,positional_next"
_MEASURED = f"{_TYPED},rare_word"
"""`headscope measure` does not know a corpus's rare words; `headscope roles` and the report do."""


def patterns(study: Study) -> xr.Dataset:
    """The measures of patterns, which the page shows and roles are told by."""

    def run() -> xr.Dataset:
        study.say_time("patterns and roles", 1.5)
        text = with_rarest(study.model, study.corpus, limit=study.limit)
        dataset = measure(study.model, text, measures=_MEASURED.split(","), **study.run)
        study.figures.insert(1, dataset)
        return dataset

    return study.once("patterns", run)


def gradients(study: Study) -> list[Section]:
    """What attention matters, by gradients (Clark et al. 2019, figure 3)."""
    dataset = measure(study.model, study.corpus, measures=FIGURE_3, **study.run)
    study.figures.append(dataset)
    meta = description(dataset)
    kinds = {"separators": "sep", "[CLS]": "cls", "punctuation": "punctuation", "other tokens": "others"}
    over = _over(dataset, measure_names(dataset), plural(meta["corpus"]["examples"], "input"))
    note = (
        f"The mean size of ∂L/∂α by one weight, where L is {meta['objective']}, over {over}. Where a head looks at "
        "what the output does not depend on, its attention does little (Clark et al. 2019, §3.2, figure 3)."
    )
    return classes(
        dataset,
        "What attention matters, by layer",
        "How much the model's output depends on attention to each kind of token.",
        {
            "Size of the gradient by a weight on": {
                kind: f"gradient_each_{name}" for kind, name in kinds.items()
            }
        },
        study.command("measure", "--measures", "gradients"),
        [note],
    )


def lookback(study: Study) -> list[Section]:
    """Whether heads look at the context or at the answer so far; nothing where the corpus has no answers."""
    shares = description(study.surface).get("corpus", {}).get("shares", {})
    if not study.model.causal or not (shares.get("generated") or shares.get("assistant")):
        return []
    dataset = measure(study.model, study.corpus, measures=list(CONVERSATION), **study.run)
    study.figures.append(dataset)
    whose = "that were generated" if shares.get("generated") else "that the assistant said"
    return layers(
        dataset,
        "Context or own words, by layer",
        "The lookback ratio: of what a token of an answer gives to a token of the context and to one of the answer so "
        "far, each on average, the share of the context. At .5 a head does not tell them apart; above, it looks back.",
        list(CONVERSATION),
        [
            f"Means over {_over(dataset, ['lookback'])} {whose}.",
            "An answer that heads do not look at the context for is more often made up (Chuang et al. 2024): the "
            "paper's classifier takes the ratios of all heads, and no head's ratio says it alone.",
            "A head that rests its attention on the first token looks back by this, whatever the context says.",
        ],
        study.command("measure", "--measures", "conversation"),
    )


def figures(study: Study) -> list[Section]:
    """Every measure as a map of heads and by layer; those of gradients have their own section."""
    if study.corpus.kind != "text":
        command = every_measure(study)
        return [every_map(command), *by_layer_perceived(study.dataset, command)]
    return by_layer(
        study.dataset,
        every=every_measure(study),
        surface=study.command("measure"),
        patterns=study.command("measure", "--measures", _TYPED),
    )


def table(study: Study) -> list[Section]:
    """The table of all heads and figures."""
    return [every_head(every_measure(study))]


def every_measure(study: Study) -> str | None:
    """The command that gives all figures of all heads again."""
    if study.corpus.kind != "text":
        return study.command("measure")
    measured = {str(name) for dataset in study.figures[1:] for name in dataset.data_vars}
    groups = ["surface"]
    groups += [_TYPED] if measured & PATTERNS.keys() else []
    groups += ["conversation"] if measured & CONVERSATION.keys() else []
    groups += ["gradients"] if measured & {one.name for one in FIGURE_3} else []
    return study.command("measure", "--measures", ",".join(groups))


def _over(dataset: xr.Dataset, drawn: Sequence[str], of: str = "") -> str:
    """What the measures drawn are means over, of so many inputs: a sink, for one, is looked for in long inputs only."""
    counts = means_over(dataset, drawn)
    parts = [
        f"{most:,} {noun}" if few == most else f"{few:,} to {most:,} {noun}, by measure,"
        for noun, (few, most) in counts.items()
    ]
    over = [" and ".join(parts), of if "inputs" not in counts else ""]
    return " of ".join(filter(None, over)).removesuffix(",")


def by_layer(
    dataset: xr.Dataset, *, every: str | None = None, surface: str | None = None, patterns: str | None = None
) -> list[Section]:
    """Figures 2 to 4 of Clark et al. 2019: every measure as a map of heads and by layer, without gradients.

    Args:
        dataset: measures over (layer, head), each with ``_n``.
        every, surface, patterns: the commands that give all measures again, the surface measures, and the patterns.
    """
    examples = int(description(dataset).get("corpus", {}).get("examples") or 0)

    def n(drawn: Sequence[str]) -> list[str]:
        over = _over(dataset, drawn, plural(examples, "input") if examples else "")
        return [f"Means over {over}."] if over else []

    names = [name for name in measure_names(dataset) if not name.startswith("gradient_")]
    shares = [name for name in names if dataset[name].attrs.get("units") == "share"]
    shown_elsewhere = {*PATTERNS, *CONFIDENCE, *CONVERSATION}
    looks = [name for name in shares if name not in shown_elsewhere]
    kinds = {
        "Attention to": {"separators": "sep", "[CLS]": "cls", "punctuation": "punctuation"},
        "Attention to separators from": {"separators": "sep_sep", "other tokens": "rest_sep"},
    }
    widely = [name for name in names if name not in shares]
    words = [name for name in shares if name in PATTERNS or name in CONFIDENCE]
    return [
        every_map(every),
        *layers(
            dataset,
            "Where heads look, by layer",
            "Heads that give more than half of their attention are named. Choose a point to see where the head looks.",
            looks,
            n(looks),
            surface,
        ),
        *classes(
            dataset,
            "Kinds of tokens, by layer",
            "Left what all tokens give to each kind of token, right what separators and all others give to separators.",
            kinds,
            surface,
            [
                "A head that does nothing else leaves its attention on separators (Clark et al. 2019, figure 2).",
                *n([name for measures in kinds.values() for name in measures.values()]),
            ],
        ),
        *layers(
            dataset,
            "How widely heads look, by layer",
            "A head at 0 nats looks at one token.",
            widely,
            [*n(widely), "Clark et al. 2019, figure 4."],
            surface,
        ),
        *layers(
            dataset,
            "Words, sentences and delimiters, by layer",
            "",
            words,
            [*n(words), "Each is a share of attention. Patterns after Vig 2018 and Voita et al. 2019."],
            patterns,
        ),
    ]


def by_layer_perceived(dataset: xr.Dataset, command: str | None = None) -> list[Section]:
    """How far heads look by layer, where, and how widely.

    Args:
        dataset: measures over (layer, head) of pictures or sounds, each with ``_n``.
        command: that gives them again.
    """
    corpus = description(dataset).get("corpus", {})
    kind: Kind = corpus.get("kind", "images")
    measures, about, source = FAR[kind]
    there = measure_names(dataset)
    far = [name for name in measures if name in there]
    shares = [name for name in there if dataset[name].attrs.get("units") == "share" and name not in measures]
    wide = [name for name in there if name not in shares and name not in measures]
    count = f"{int(corpus.get('examples') or 0):,} {corpus.get('noun', WHAT[kind])}"

    def n(drawn: Sequence[str]) -> str:
        return f"Means over {_over(dataset, drawn, count)}."

    return [
        *layers(
            dataset, "How far heads look, by layer", about, far, [n(far), source] if far else (), command
        ),
        *layers(
            dataset,
            "Where heads look, by layer",
            "Heads that give more than half of their attention are named. Choose a point to see where the head looks.",
            shares,
            [n(shares)] if shares else (),
            command,
        ),
        *layers(
            dataset,
            "How widely heads look, by layer",
            "A head at 0 nats looks at one token.",
            wide,
            [n(wide)] if wide else (),
            command,
        ),
    ]


def wide(dataset: xr.Dataset) -> list[Block]:
    """A row a head, a column a measure."""
    tidy: Any = tidy_table(dataset)
    rows: Any = tidy.pivot(index=["layer", "head", "paper"], columns="measure", values="value")
    return rows_of(rows[[*dict.fromkeys(tidy["measure"])]].reset_index(), most=len(rows))
