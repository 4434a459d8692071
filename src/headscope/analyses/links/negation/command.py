"""`headscope negation`: the scope of negations in every head."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.analyses.clusters import CHOSEN_ON, note
from headscope.console import options as console
from headscope.console import sources
from headscope.console.engines import EngineOptions
from headscope.core.heads import Head
from headscope.errors import InputError


def negation(
    model: console.ModelOptions,
    table: console.TableOptions,
    long: console.LongOptions,
    engines: EngineOptions,
    scopes: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help='JSON lines: {"words": [...], "cue": [2], "scope": [0, 1, 3]}.'),
    ],
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Also what changed since this model, before fine-tuning (hub name, folder or demo; @REVISION).",
        ),
    ] = None,
    limit: console.Sentences = None,
    strict: console.Strict = False,
    distinct: console.Distinct = False,
    seed: console.SplitSeed = 0,
    batch_size: Annotated[int, typer.Option(help="Sentences in a batch, at most.")] = 32,
    estimate: console.Estimate = False,
) -> None:
    """Do the words in the scope of a negation look at its cue? Precision, recall and F1 of every head."""
    from headscope import corpora
    from headscope.analyses.links.negation import run, statistics

    kept = long.run(table.output)
    if against is not None and (long.shard is not None or long.resume is not None):
        raise InputError("--against: expected no --shard and no --resume, since two models are run")
    table.check(() if against is None else console.TABLES)
    sentences = sources.once(corpora.negations(scopes, strict=strict), distinct)
    loaded = model.load()
    options: dict[str, Any] = {"limit": limit, "batch_size": batch_size, "engine": engines.engine()}
    line = partial(run.estimate, loaded, sentences, **options)
    if console.foreseen(estimate, sentences.size_hint(), line, limit=limit):
        return
    options |= {"seed": seed, "progress": True}
    dataset = run.negation(loaded, sentences, **options, **kept)
    if long.ends(dataset, table):
        return
    if against is None:
        printed(dataset, table.output, table.as_json, table.meta)
        return
    console.say(note(json.loads(dataset.attrs["meta"])))
    before = run.negation(model.how.trained.named(against), sentences, **options)
    rows: Any = statistics.difference(before, dataset)
    described = {"before": json.loads(before.attrs["meta"]), "after": json.loads(dataset.attrs["meta"])}
    table.out(rows, _changed(rows), described=described)


def printed(
    dataset: Any,
    output: Path | None,
    as_json: bool,
    meta: Path | None,
    *,
    map: Path | None = None,
    seed: int = 0,
) -> None:
    """Write or print the heads that tell the scope."""
    from headscope.analyses.links.negation import statistics

    console.no_map(map)
    described = json.loads(dataset.attrs["meta"])
    console.say_left_out(described)
    console.say(note(described))
    rows: Any = statistics.table(dataset)
    console.TableOptions(output, as_json, meta).out(rows, _best(rows), dataset=dataset)


def _best(rows: Any) -> str:
    """The heads of the largest F1, a column a score; the best baseline; the best head, chosen on other sentences."""
    heads = rows[rows["system"] == "head"]
    wide = heads.pivot(index=["layer", "head", "paper"], columns="score", values="value").reset_index()
    more = ["ci_low", "ci_high", "difference", "q", "n"]
    ends = heads[heads["score"] == "f1"].set_index(["layer", "head"])[more]
    wide = wide.join(ends, on=["layer", "head"]).sort_values("f1", ascending=False, kind="stable")
    columns = ["layer", "head", "paper", "precision", "recall", "f1", *more]
    table = _few(
        "the heads of the largest F1, with its 95 % interval (given the choice), and what it is more than that "
        "of the best baseline",
        wide[columns],
    )
    rules = rows[rows["score"].eq("f1") & rows["layer"].isna()]
    chosen = rules.iloc[-1]
    best = rules.iloc[:-1].sort_values("value", ascending=False, kind="stable").head(3)
    known = ", ".join(f"{row.system} {row.value:.3f}" for row in best.itertuples())
    lines = [table, f"baselines of the largest F1, which know the cue alone: {known}"]
    if chosen["choices"]:
        head = Head(int(wide["layer"].iloc[0]), int(wide["head"].iloc[0]))
        between = (
            f" ({chosen['ci_low']:.3f} to {chosen['ci_high']:.3f})"
            if chosen["ci_low"] == chosen["ci_low"]
            else ""
        )
        gain = f" (p = {chosen['p']:.2g})" if chosen["p"] == chosen["p"] else ""
        lines.append(
            f"the head that is best on {CHOSEN_ON} of the {chosen['clusters']}, {head} in {chosen['times']} of "
            f"{chosen['choices']} choices, has an F1 of {chosen['value']:.3f}{between} on the rest; beside the best "
            f"baseline: {chosen['difference']:+.3f}{gain}"
        )
    return "\n".join(lines)


def _changed(rows: Any) -> str:
    """The heads whose F1 changed most."""
    own = rows[rows["score"] == "f1"].drop(columns="score")
    own = own.loc[own["difference"].abs().sort_values(ascending=False, kind="stable").index]
    return _few("the heads whose F1 changed most, with the 95 % interval of the change", own)


def _few(title: str, rows: Any) -> str:
    lines = [title, console.on_screen(rows.head(console.SHOWN).reset_index(drop=True))]
    if len(rows) > console.SHOWN:
        lines.append(f"… and {len(rows) - console.SHOWN:,} more; -o FILE writes them all")
    return "\n".join(lines)
