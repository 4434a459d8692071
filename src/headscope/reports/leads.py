"""What stands behind a finding of the summary: the figures of the heads that it is about, and a small picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.measure.figure import measured, plain
from headscope.core.heads import Head
from headscope.core.types import AnyDict
from headscope.views import blocks
from headscope.views.blocks import (
    Block,
    CaseBlock,
    CasesInfo,
    CasesOf,
    GlancesBlock,
    PicturedItem,
    TableBlock,
)
from headscope.views.charts import Chart
from headscope.views.digits import percent
from headscope.views.payload import Part

COLUMNS: Mapping[str, tuple[str, str, str]] = {
    "roles": ("role", "score", "threshold"),
    "syntax": ("relation", "accuracy", "baseline_accuracy"),
    "links": ("label", "accuracy", "baseline_accuracy"),
    "coref": ("system", "all", ""),
    "probes": ("probe", "uas", ""),
    "retrieval": ("", "score", ""),
    "artefacts": ("", "attention", "chance"),
    "writes": ("", "itself", ""),
}
"""Of a section's table the columns of a row's name (empty: its head's), of its share, and of that beside it."""

MOST, GLANCES = 3, 4


@dataclass(frozen=True)
class Finding:
    """A sentence on what heads do, from a section of kind `about`, or on a measure of that name (None: neither).

    With a `headline` it is told in full where it is asked for.
    """

    parts: Sequence[Part]
    about: str | None
    headline: str = ""

    @property
    def heads(self) -> list[Part]:
        """The heads that it names, each once."""
        return list({part["text"]: part for part in reversed(self.parts) if part["reason"]}.values())[::-1]


def tables(shown: Iterable[Any], *names: str | None) -> list[TableBlock]:
    """The tables of the sections of these names, in the order of the page."""
    there = [info["blocks"] for info in shown if info["kind"] == "blocks" and info["name"] in names]
    return [block for every in there for block in every if block["kind"] == "table"]


def lead(finding: Finding, shown: Sequence[Any], dataset: xr.Dataset, *, examples: bool) -> PicturedItem:
    """A finding of the first screen; `shown` are the sections of the page."""
    picture = _picture(finding, shown, dataset, examples=examples)
    if not finding.headline:
        return PicturedItem(picture=picture, blocks=[blocks.paragraph(*finding.parts)])
    paragraphs: list[Block] = [
        blocks.paragraph(finding.headline, tone="headline"),
        *_dots(finding.about, tables(shown, finding.about)),
    ]
    if finding.heads:
        paragraphs.append(blocks.paragraph(*finding.heads, tone="heads"))
    paragraphs.append(blocks.folded("How sure", blocks.paragraph(*finding.parts)))
    return PicturedItem(picture=picture, blocks=paragraphs)


def _dots(about: str | None, tables: Sequence[TableBlock]) -> list[Block]:
    """A row for each thing that a table is about, a dot for each head, a tick for what it is held against."""
    name, value, against = COLUMNS.get(about or "", ("", "", ""))
    table = next((one for one in tables if value in one["values"]), None)
    if table is None:
        return []
    values, points = table["values"], list[tuple[str, float, Any, str, Any]]()
    first = values.get("candidates", [None])[0]
    for row, reason in zip_longest(zip(*values.values(), strict=True), table["reasons"]):
        of: AnyDict = dict(zip(values, row, strict=True))
        link = "" if of.get("layer") is None else str(Head(of["layer"], of["head"]))
        title = str(of.get("meaning") or of[name]).strip() if name else link
        other = of.get("units", "share") != "share" or (link and of.get("candidates") != first)
        over_all = title == "all" or title.startswith("all but ")
        if of[value] is None or other or over_all or of.get(table.get("faint", "")):
            continue
        points.append((title, of[value], of.get(against), link, reason))
    points.sort(key=lambda one: -one[1])
    best = {title: percent(share) for title, share, *_ in reversed(points)}
    names = list(dict.fromkeys(title for title, *_ in points))[:MOST]
    points = [one for one in points if one[0] in names]
    if not points:
        return []
    tick = next((one for one in (*table["columns"], *table["more"]) if one["name"] == against), None)
    label = tick and tick.get("label", against.replace("_", " ")).replace("\n", " ")
    chart: Chart = {
        "kind": "strips",
        "title": "",
        "x": {"title": f"tick: {label}" if label else "", "ticks": False, "low": 0, "high": 1},
        "y": {"title": "", "names": names, "opposite": [best[name] for name in names]},
        "rows": {
            "x": [share for _, share, *_ in points],
            "y": [names.index(title) for title, *_ in points],
            "link": [link for *_, link, _ in points],
            "against": [bar for _, _, bar, *_ in points],
        },
        "label": ", ".join(f"{name} {best[name]}" for name in names),
    }
    tips = [f"{title} {percent(share)}" for title, share, *_ in points]
    return [blocks.charts([chart], reasons=[reason for *_, reason in points], tips=tips)]


def _picture(finding: Finding, shown: Sequence[Any], dataset: xr.Dataset, *, examples: bool) -> list[Block]:
    """The picture of a finding: what its heads look at, a sentence, or a measure by layer; none where there is none."""
    about, named = finding.about, finding.heads
    made: Block | None = None
    if about == "roles" and examples:
        made = _by_role(named, tables(shown, about))
    elif about in ("coref", "syntax", "links"):
        made = _case(named, tables(shown, about))
    elif about == "compare":
        for heads in [table["values"] for table in tables(shown, about) if table["name"] == "heads"]:
            rows: Any = pd.DataFrame(
                {name: heads[name] for name in ("layer", "head", "js")}
            ).drop_duplicates()
            made = _small(rows.set_index(["layer", "head"]).to_xarray(), "js", "drift of each head")
    elif about in dataset and (dataset[about].attrs.get("units") != "share" or not named):
        made = _small(dataset, str(about))
    if made is None and named and examples:
        made = GlancesBlock(kind="glances", heads=named[:1])
    return [made] if made else []


def _by_role(named: Sequence[Part], tables: Sequence[TableBlock]) -> Block | None:
    """The first head of each role, by score: as many as have room."""
    names: Any = {(part["layer"], part["head"]): part for part in named}
    best: dict[Any, tuple[Any, Any]] = {}
    for table in tables:
        columns = (table["values"][name] for name in ("layer", "head", "role", "score"))
        for (*place, role, score), reason in zip(zip(*columns, strict=True), table["reasons"], strict=False):
            part = names.get(tuple(place))
            if part and reason and score > best.get(role, (-1, None))[0]:
                best[role] = score, {**part, "reason": reason, "title": role}
    heads = [part for _, part in sorted(best.values(), key=lambda one: -one[0])[:GLANCES]]
    return GlancesBlock(kind="glances", heads=heads) if heads else None


def _small(dataset: xr.Dataset, name: str, title: str = "") -> Block:
    """A measure of all heads by layer, without links."""
    chart = plain(measured(dataset, name)[0])
    chart["rows"] = {"x": chart["rows"]["x"], "y": chart["rows"]["y"]}
    return blocks.charts([{**chart, "title": title, "label": f"{chart['title']} by layer"}], height=84)


def _case(named: Sequence[Part], tables: Sequence[TableBlock]) -> Block | None:
    """The shortest sentence in which the first head that has one is right, or the mention that it is surest of."""
    ranks = {(part["layer"], part["head"]): rank for rank, part in enumerate(named)}
    ranked: list[tuple[float, float, Part, CasesInfo]] = []
    for table in tables:
        info = table.get("cases")
        for row, cases in enumerate(info["rows"] if info else ()):
            place: Any = (table["values"]["layer"][row], table["values"]["head"][row])
            reason = table["reasons"][row]
            if info is None or cases is None or reason is None or place not in ranks:
                continue
            rank = ranks[place]
            head: Part = {**named[rank], "reason": reason}
            none: CasesOf = {**cases, "links": [], "mentions": []}
            for link in cases["links"]:
                sentence = info["sentences"][link["sentence"]]
                only: CasesOf = {**none, "links": [{**link, "sentence": 0}]}
                one: CasesInfo = {**info, "sentences": [sentence], "texts": [], "rows": [only]}
                if all(link["right"]):
                    ranked.append((rank, len(" ".join(sentence["words"])), head, one))
            for mention in cases["mentions"]:
                only = {**none, "mentions": [{**mention, "window": 0}]}
                one = {**info, "sentences": [], "texts": [info["texts"][mention["window"]]], "rows": [only]}
                if mention["right"]:
                    ranked.append((0, -mention["weight"], head, one))
    if not ranked:
        return None
    *_, head, cases = min(ranked, key=lambda one: one[:2])
    return CaseBlock(kind="case", head=head, cases=cases)
