"""The page of a card, which is a report of its lists, and the page that compares cards."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any, Literal

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.roles.definitions import BROAD, units_of
from headscope.analyses.roles.statistics import COLUMNS
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.types import AnyDict, AnyMapping
from headscope.statistics.overlap import in_words as in_words
from headscope.views import blocks, digits
from headscope.views.blobs import Blobs
from headscope.views.blocks import (
    Block,
    CellInfo,
    ColumnsBlock,
    HeadsBlock,
    ListBlock,
    ListEntry,
    MeasuresBlock,
)
from headscope.views.marks import map_of_marks
from headscope.views.page import html_text, policy
from headscope.views.page import page as html_page
from headscope.views.payload import Part, Reason
from headscope.views.reasons import because
from headscope.views.sentences import head_name

LEVEL = 0.05
_TOP = 5


def page(card: AnyMapping) -> str:
    """The page of one card: a report whose measures are the lists."""
    model, lists, blobs = card["model"], card["lists"], Blobs()
    heads = sorted({Head.parse(row["head"]) for one in lists.values() for row in one["heads"]})
    layers, columns = (sorted({head[axis] for head in heads}) for axis in (0, 1))
    shape = (len(lists), len(layers), len(columns))
    figures = {name: np.full(shape, np.nan) for name in ("score", "se", "n", "chance")}
    for at, row, head in _rows(lists):
        for name, values in figures.items():
            if (value := row.get(name)) is not None:
                values[[*lists].index(at), layers.index(head.layer), columns.index(head.head)] = value
    (read, *_) = [*card["corpora"].values(), AnyDict()]
    texts = {**_named_corpora(card["corpora"]), "weights": model["weights"], "class": model["class"]}
    payload: AnyDict = {
        "kind": "report",
        "version": 1,
        "title": f"What the heads of {model['name']} do",
        "model": {
            **{key: model[key] for key in ("name", "parameters", "dtype", "causal", "revision")},
            "layers": len(layers),
            "heads": len(columns),
            "unseen": model["unseen"] or "",
        },
        "corpus": {
            **dict.fromkeys(("words", "split_words")),
            **{key: read.get(key) for key in ("documents", "tokens")},
            "noun": "examples",
            "name": read.get("name", ""),
            "examples": read.get("inputs"),
            "shares": {},
        },
        "measures": [
            dict.fromkeys(("by", "over", "source"), "")
            | {"name": name, "title": name, "description": _sentence(one["why"]), "units": _units(name)}
            for name, one in lists.items()
        ],
        "layers": layers,
        "heads": columns,
        "value": blobs.plain(figures["score"]),
        "error": blobs.plain(figures["se"]),
        "count": blobs.plain(figures["n"]),
        "chance": blobs.plain(np.fmax.reduce(figures["chance"], -1)),
        "seen": blobs.plain(np.full((*shape, 2), -1), "int32"),
        "here": blobs.plain(np.full(shape, np.nan)),
        "sections": [*_sections(card, heads)],
        "examples": [],
        "options": {name: str(value) for name, value in card["options"].items() if value is not None} | texts,
        "versions": card["made"],
        **dict.fromkeys(("command", "created", "seconds", "route")),
    }
    return html_page(payload, blobs.texts, bundle="report", title=payload["title"])


def _rows(lists: AnyMapping) -> Iterator[tuple[str, AnyMapping, Head]]:
    for name, one in lists.items():
        for row in one["heads"]:
            yield name, row, Head.parse(row["head"])


def _named_corpora(corpora: AnyMapping) -> dict[str, str]:
    """Of each reading the corpus, how much of it, and the beginning of its checksum."""
    return {
        f"read for {name}": f"{one['name']}: {plural(one['documents'], 'document')}, "
        f"{plural(one['inputs'], 'input')}, {plural(one['tokens'], 'token')}, sha256 {one['sha256'][:16]}"
        for name, one in corpora.items()
    }


def _units(name: str) -> str:
    return {"importance": "objective", "copying": "score"}.get(name) or units_of(name)


def named(one: AnyMapping, row: AnyMapping) -> bool:
    """Whether a head of a list stands out there."""
    return bool(one["tested"]) and row.get("q") is not None and row["q"] <= LEVEL


def _reason(name: str, row: AnyMapping) -> Reason:
    units = _units(name)
    figure = f"{row['score']:.3f}" if units == "share" else f"{row['score']:.2f} {units}"
    return because(name, figure, measure=name)


def _marks(lists: AnyMapping) -> dict[str, dict[Head, Reason]]:
    """The heads that stand out in a list, in lists of their whole attention."""
    marks: dict[str, dict[Head, Reason]] = {}
    for name, row, head in _rows(lists):
        if named(lists[name], row) and "off the sink" not in name:
            marks.setdefault(name, {})[head] = _reason(name, row)
    return dict(sorted(marks.items(), key=lambda one: one[0] in ("sink", BROAD)))


def _sections(card: AnyMapping, heads: Sequence[Head]) -> Iterator[Any]:
    """What stands out, every list as a map, and all scores."""
    lists, marks = card["lists"], _marks(card["lists"])
    rows: Any = pd.DataFrame(
        {**row, "layer": head.layer, "head": head.head, "role": name, "units": _units(name)}
        for name, row, head in _rows(lists)
    ).rename(columns={"low": "ci_low", "high": "ci_high"})
    reasons = [_reason(name, row) if named(lists[name], row) else None for name, row, _ in _rows(lists)]
    shown = [place for place, reason in enumerate(reasons) if reason]
    bar: CellInfo = {**blocks.bar("score", "ci_low", "ci_high", "threshold"), "label": "", "chance": "chance"}
    cells: list[CellInfo | str] = ["head", "role", blocks.figure("score", "ci_low", "ci_high"), bar, "q", "n"]
    cells += ["stays"] if "stays" in rows else []
    table = blocks.table(
        "roles",
        rows,
        [name for name in COLUMNS if name in rows],
        cells if shown else [],
        of="roles",
        title="Heads that stand out",
        reasons=reasons,
        shown=shown,
        units="units",
    )
    entries = [
        ListEntry(name=name, parts=[_part(name, row) for row in one["heads"] if named(one, row)])
        for name, one in lists.items()
    ]
    quiet = [one["name"] for one in entries if not one["parts"] and lists[one["name"]]["tested"]]
    entries += [
        ListEntry(name=f"{name}, highest", parts=[_part(name, row) for row in one["heads"][:_TOP]])
        for name, one in lists.items()
        if not one["tested"]
    ]
    findings: list[Block] = [ListBlock(kind="list", entries=[one for one in entries if one["parts"]])]
    if quiet:
        findings.append(blocks.paragraph(f"No head stands out in: {', '.join(quiet)}.", tone="note"))
    findings += [blocks.paragraph(text, tone="note") for text in (_overlaps(lists), *card["model"]["notes"])]
    columns = [map_of_marks(heads, marks, out={*marks} - {BROAD}), findings]
    yield blocks.section("summary", "", "", [ColumnsBlock(kind="beside", columns=columns)])
    about = (
        f"Their scores are above the bar by more than luck (q ≤ {LEVEL:g}); intervals are 95 %, by document."
    )
    yield blocks.section("roles", "Heads that stand out", about, [table])
    yield blocks.section("measures", "Every list", "", [MeasuresBlock(kind="measures")])
    yield blocks.section("heads", "All heads, all lists", "", [HeadsBlock(kind="heads")])
    table, whys = _held(card)
    folds: list[Block] = [table]
    if whys:
        folds.append(blocks.folded("What is not told of lists, and why", blocks.definitions(whys)))
    if missing := card["not_told"]:
        folds.append(
            blocks.folded(f"{plural(len(missing), 'list')} not told, and why", blocks.definitions(missing))
        )
    about = (
        "What the highest heads share with those of the other half of the documents, or of the model varied; and about "
        "how many documents it takes to share .9."
    )
    yield blocks.section("lists", "How stable the lists are", about, folds)


def _held(card: AnyMapping) -> tuple[Block, dict[str, str]]:
    """How far lists hold, in halves and under each variation, a row a list; and why that is not told."""
    varied, whys = card.get("varied", {}), dict[str, str]()
    columns = ["list", "share", "low", "high", "chance", "documents", "needed", *varied]
    rows: list[AnyDict] = []
    for name, one in card["lists"].items():
        row: AnyDict = {"list": name}
        every = {"halves": one["stability"], **{by: of.get(name, "") for by, of in varied.items()}}
        for of, agreed in every.items():
            if isinstance(agreed, str):
                whys |= {f"{name}, {of}": agreed} if agreed else {}
            else:
                row |= agreed if of == "halves" else {of: agreed["share"]}
        rows.append(row)
    cells = ["list", blocks.figure("share", "low", "high"), *columns[4:]]
    frame = pd.DataFrame(rows, columns=columns)
    return blocks.table("lists", frame, columns, cells, title="How far lists hold", of="card"), whys


def _part(name: str, row: AnyMapping) -> Part:
    """A head of a list with its score."""
    part = head_name(Head.parse(row["head"]), _reason(name, row))
    return {**part, "text": f"{row['head']} {digits.figure(row['score'])}"}


def _overlaps(lists: AnyMapping) -> str:
    """How stable the lists are, in one sentence."""
    known = {name: one["stability"] for name, one in lists.items() if not isinstance(one["stability"], str)}
    if not known:
        return "How stable the lists are is not known: too few documents, it takes ten, and two heads."
    by_share = sorted(known, key=lambda name: known[name]["share"])
    (low, one), (high, other) = ((name, known[name]) for name in (by_share[0], by_share[-1]))
    return (
        f"Two halves of the documents share from {digits.percent(one['share'])} ({low}) to "
        f"{digits.percent(other['share'])} ({high}) of the {one['top']} highest heads; "
        f"by chance {digits.percent(one['chance'])}."
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


_STYLE = """
body { margin: 0 auto; max-width: 1200px; padding: 20px 32px 48px; background: var(--bg); color: var(--ink);
  font: 13px/20px Inter, -apple-system, "Segoe UI", system-ui, Arial, sans-serif; font-variant-numeric: tabular-nums; }
h1 { font-size: 24px; line-height: 30px; } h2 { font-size: 15px; margin: 0; } p, small { color: var(--ink2); }
a { color: var(--accent); font-weight: 550; text-decoration: none; } a:hover { text-decoration: underline; }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); gap: 24px 32px; margin: 24px 0; }
svg { display: block; width: 100%; max-width: 300px; margin: 8px 0; }
rect { fill: var(--track); }
i { display: inline-block; width: 9px; height: 9px; border-radius: 2px; margin-right: 4px; }
span { margin-right: 12px; white-space: nowrap; font-size: 12px; }
.box { overflow-x: auto; } table { border-collapse: collapse; font-size: 12px; }
th, td { padding: 4px 18px 4px 0; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
th { font-weight: 550; }
@media (max-width: 520px) { body { padding: 12px 16px 48px; } }
"""


def _variables(theme: Literal["light", "dark"]) -> str:
    """The colours of the report."""
    colours = json.loads((files("headscope.views") / "colours.json").read_text("utf-8"))[theme]
    named = {name: value for name, value in colours.items() if isinstance(value, str)}
    named |= {f"head-{place}": value for place, value in enumerate(colours["heads"])}
    return "".join(f"--{name}:{value};" for name, value in named.items())


def site(cards: Sequence[tuple[str, AnyMapping]]) -> str:
    """The page that compares cards, each with the address of its own page: a map of each model, and all lists."""
    called = [str(card["model"]["name"]) for _, card in cards]
    titles = [
        name if called.count(name) == 1 else f"{name} ({PurePosixPath(link).parent})"
        for name, (link, _) in zip(called, cards, strict=True)
    ]
    marks = [_marks(card["lists"]) for _, card in cards]
    names = list(dict.fromkeys(name for of_model in marks for name in of_model))
    maps = [
        f'<section><h2><a href="{html_text(link)}">{html_text(title)}</a></h2>'
        f"{_map(link, card, of_model, names)}</section>"
        for title, (link, card), of_model in zip(titles, cards, marks, strict=True)
    ]
    every = list(dict.fromkeys(name for _, card in cards for name in card["lists"]))
    listed = {
        name
        for _, card in cards
        for name, row, _ in _rows(card["lists"])
        if named(card["lists"][name], row) or not card["lists"][name]["tested"]
    }
    rows = [
        [html_text(name), *(_cell(link, card, name) for link, card in cards)]
        for name in every
        if name in listed
    ]
    quiet = [name for name in every if name not in listed]
    none = f"<p>No head of any model stands out in: {html_text(', '.join(quiet))}.</p>" if quiet else ""
    key = "".join(
        f'<span><i style="background:{_colour(names, name)}"></i>{html_text(name)}</span>' for name in names
    )
    body = [
        "<h1>Heads of models</h1><p>Layers down, heads across; a head opens its page.</p>",
        f"<p>{key}</p><main>{''.join(maps)}</main>",
        f'<div class="box"><table>{_line("th", ["heads that stand out", *map(html_text, titles)])}'
        f"{''.join(_line('td', row) for row in rows)}</table></div>{none}",
    ]
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {_variables('dark')} }} }}"
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n{policy()}\n'
        '<meta name="viewport" content="width=device-width">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>Heads of models</title>\n<style>:root {{ {_variables('light')} }} {dark} {_STYLE}</style>\n"
        f"{''.join(body)}\n</html>\n"
    )


def _colour(names: Sequence[str], name: str) -> str:
    return "var(--tick)" if name == BROAD else f"var(--head-{names.index(name) % 12})"


def _map(
    link: str, card: AnyMapping, marks: Mapping[str, Mapping[Head, Reason]], names: Sequence[str]
) -> str:
    """What stands out of a model, a square a head."""
    heads = sorted({head for *_, head in _rows(card["lists"])})
    layers = sorted({head.layer for head in heads})
    known = {head: [name for name, having in marks.items() if head in having] for head in heads}
    squares = [
        f'<a href="{html_text(link)}#{head}"><title>{head} {html_text(", ".join(roles))}</title>'
        f'<rect x="{11 * head.head}" y="{11 * layers.index(head.layer)}" width="10" height="10" rx="1.5"'
        + (f' style="fill:{_colour(names, roles[0])}"' if roles else "")
        + "/></a>"
        for head, roles in known.items()
    ]
    out = sum(any(name != BROAD for name in roles) for roles in known.values())
    size = f"0 0 {11 * (1 + max(head.head for head in heads))} {11 * len(layers)}"
    caption = f"{out} of {plural(len(heads), 'head')} stand{'s' * (out == 1)} out"
    return f'<svg viewBox="{size}" role="group" aria-label="{caption}">{"".join(squares)}</svg><small>{caption}</small>'


def _cell(link: str, card: AnyMapping, name: str) -> str:
    """How many heads of a model stand out in a list, and the highest."""
    one = card["lists"].get(name)
    if one is None:
        return ""
    count = sum(named(one, row) for row in one["heads"])
    best = one["heads"][0]
    score = "" if best["score"] is None else f" {digits.figure(best['score'])}"
    share = f"{count} · " if one["tested"] else ""
    return f'{share}<a href="{html_text(link)}#{best["head"]}">{best["head"]}</a>{score}'


def _line(kind: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{kind}>{cell}</{kind}>' for cell in cells)}</tr>"
