"""Pages of cards: tables of plain HTML, which need no script and no network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from headscope.core.counts import plural
from headscope.views.digits import significant
from headscope.views.page import html_text, policy

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { text-align: right; padding: .15rem .6rem;
  border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); }
th { font-weight: 600; } th:first-child, td:first-child, .text { text-align: left; }
td:not(.text) { white-space: nowrap; }
.note { opacity: .7; } code { font-size: .9em; overflow-wrap: anywhere; } summary { cursor: pointer; }
"""

_TOP = 10
_FIGURES = ("score", "low", "high", "threshold", "chance", "q", "n")


def page(card: Mapping[str, Any]) -> str:
    """The page of one card."""
    model = card["model"]
    layers, heads = plural(len(model["heads"]), "layer"), plural(sum(model["heads"]), "head")
    sizes = f"{layers}, {heads}, {model['parameters']:,} weights"
    parts = [
        f"<h1>{html_text(model['name'])}</h1>",
        _paragraph(f"{model['class']}: {sizes}, {model['dtype']}."),
    ]
    parts += [_paragraph(text) for text in (*model["notes"], model["unseen"] or "") if text]
    for name, one in card["lists"].items():
        parts += [
            f"<h2>{html_text(name)}</h2>",
            _paragraph(_sentence(one["why"])),
            _paragraph(stability(one)),
        ]
        shown = [row for row in one["heads"] if _named(one, row)] or one["heads"][:_TOP]
        if one["tested"] and not _named(one, shown[0]):
            parts.append(_paragraph(f"No head has it (q above .05); the highest {len(shown)}:"))
        parts.append(_heads(shown))
        rest = one["heads"][len(shown) :]
        if rest:
            parts.append(
                f"<details><summary>{plural(len(rest), 'more head')}</summary>{_heads(rest)}</details>"
            )
    parts += ["<h2>Not told</h2>", _table(["list", "why"], card["not_told"].items(), text=True)]
    counts = ("documents", "inputs", "tokens")
    corpora = [
        (name, one["name"], *(f"{one[of]:,}" for of in counts), one["sha256"][:16])
        for name, one in card["corpora"].items()
    ]
    parts += ["<h2>What made it</h2>", _table(["read for", "corpus", *counts, "sha256"], corpora)]
    made = {"weights": model["weights"], **card["made"], **card["options"]}
    parts.append(_table(["", ""], [row for row in made.items() if row[1] is not None], text=True))
    return _html(f"{model['name']}: its heads", parts)


def site(cards: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """The page that compares cards, each with the address of its own page."""
    names = list(dict.fromkeys(name for _, card in cards for name in card["lists"]))
    called = [str(card["model"]["name"]) for _, card in cards]
    titles = [
        name if called.count(name) == 1 else f"{name} ({PurePosixPath(link).parent})"
        for name, (link, _) in zip(called, cards, strict=True)
    ]
    links = [
        f'<a href="{html_text(link)}">{html_text(title)}</a>'
        for title, (link, _) in zip(titles, cards, strict=True)
    ]
    parts = [
        "<h1>Heads of models</h1>",
        _paragraph("How many heads of each model have a role, and the highest of each list."),
    ]
    rows: list[list[str]] = []
    for name in names:
        cells = [html_text(name)]
        for _, card in cards:
            one = card["lists"].get(name)
            cells.append("" if one is None else _cell(one, sum(card["model"]["heads"])))
        rows.append(cells)
    head = "".join(f"<th>{cell}</th>" for cell in ["list", *links])
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    return _html("Heads of models", parts)


def stability(one: Mapping[str, Any]) -> str:
    """A list's overlap of halves, in a sentence."""
    overlap = one["stability"]
    if isinstance(overlap, str):
        return f"Overlap of halves: none, since {overlap}."
    share, low, high, chance = (f"{overlap[of]:.2f}" for of in ("share", "low", "high", "chance"))
    return (
        f"Overlap of the top {overlap['top']} in two halves of {overlap['documents']} documents: {share} "
        f"(of two other corpora {low} to {high}; chance {chance})."
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _named(one: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return bool(one["tested"]) and row.get("q") is not None and row["q"] <= 0.05


def _cell(one: Mapping[str, Any], heads: int) -> str:
    count = sum(_named(one, row) for row in one["heads"])
    best = one["heads"][0]
    score = "" if best["score"] is None else f" {best['score']:.2f}"
    share = f"{count} of {heads}<br>" if one["tested"] else ""
    return f'{share}<span class="note">{best["head"]}{score}</span>'


def _heads(rows: Sequence[Mapping[str, Any]]) -> str:
    names = [name for name in _FIGURES if any(row.get(name) is not None for row in rows)]
    cells = [(row["head"], row["paper"], *(_figure(row.get(name)) for name in names)) for row in rows]
    return _table(["head", "paper", *names], cells)


def _figure(value: Any) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else significant(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]], *, text: bool = False) -> str:
    kind = ' class="text"' if text else ""
    top = "".join(f"<th{kind}>{html_text(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{html_text(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _paragraph(text: str) -> str:
    return f"<p>{html_text(text)}</p>"


def _html(title: str, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'{policy()}\n<meta name="viewport" content="width=device-width">\n'
        f"<title>{html_text(title)}</title>\n<style>{_STYLE}</style>\n{body}\n</html>\n"
    )
