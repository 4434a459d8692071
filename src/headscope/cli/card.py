"""`headscope card` and `headscope cards`: what a model's heads do, as one file that others can read and compare."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from headscope.console import options as console
from headscope.console import sources
from headscope.core.counts import plural
from headscope.core.saving import replacing
from headscope.core.validation import Level, Seed
from headscope.errors import InputError


def card(
    model: console.ModelOptions,
    inputs: sources.InputOptions,
    *,
    output: Path = Path("card"),
    seed: Seed = 0,
    tsv: Path | None = None,
    duo: Path | None = None,
    vary: str | None = None,
) -> None:
    """Write the card of a model's heads: what each does, with intervals, how stable the lists are, and what made them.

    Args:
        model: which one.
        inputs: the corpus; by default the built-in one of what the model reads.
        output (FOLDER): the folder for card.json and its page, index.html.
        seed: of needles, random tokens and rotations.
        tsv: also all lists as a table by tabs.
        duo (FOLDER): also the pattern of retrieval heads as DuoAttention and kvpress read it.
        vary (A,B): also what lists on texts share under another template, special, dtype, attention or cache.
    """
    from headscope.analyses.model_card.page import in_words
    from headscope.analyses.model_card.run import card as run
    from headscope.analyses.model_card.vary import varied_lines

    if output.exists() and not output.is_dir():
        raise InputError(f"-o: expected a folder, found the file {output}")
    console.check_places(None, tsv)
    loaded, corpus = inputs.inputs(model)
    names: Any = () if vary is None else tuple(name.strip() for name in vary.split(","))
    made = run(loaded, corpus, seed=seed, vary=names, limit=inputs.limit, progress=True)
    made.save(output)
    if tsv is not None:
        made.save_tsv(tsv)
    print(f"{output}: {made}")
    for name, one in made.lists.items():
        heads = made.heads(name, top=None if one["tested"] else 5)
        count = plural(len(heads), "head") if one["tested"] else "highest"
        print(f"{name}: {count} {' '.join(map(str, heads[:10]))}{' …' * (len(heads) > 10)}".rstrip())
        print(f"  {in_words(one['stability'])}")
    for name, why in made.data["not_told"].items():
        console.say(f"{name}: {why}")
    for line in varied_lines(made.data):
        print(line)
    if duo is not None:
        made.save_duo_attention(duo)


def diff(
    a: Path,
    b: Path,
    *,
    table: console.TableOptions,
    level: Level = 0.05,
) -> None:
    """Say what differs between two cards beyond its error.

    Args:
        a: a card, or its folder.
        b: another of a model with as many layers and heads.
        table: where the table goes.
        level: the expected share of wrong differences among those named.
    """
    from headscope.analyses.model_card.card import card_differences, open_card
    from headscope.analyses.shown import ShownResult
    from headscope.views.blocks import rows_of

    table.check(console.TABLES)
    rows = card_differences(open_card(a), open_card(b), level=level)
    about: Any = rows.attrs
    weights = f"weights differ in {', '.join(about['layers'])}" if about["layers"] else "the same weights"
    remarks = [f"{weights}; {len(rows):,} of {about['tests']:,} scores differ beyond their error"]
    remarks += [f"another corpus for {', '.join(about['corpora'])}"] * bool(about["corpora"])
    remarks += [f"in one card only: {', '.join(about['only'])}"] * bool(about["only"])
    blocks = rows_of(rows, dropped=("paper", "p"), most=len(rows)) if len(rows) else []
    table.out(ShownResult(rows, blocks, remarks=remarks), "cards diff")


def site(
    folder: Path,
    *,
    output: Path | None = None,
) -> None:
    """Make a static page that compares the heads of all cards under a folder, and a page for each.

    Args:
        folder: with cards in it, at any depth.
        output: the page; by default index.html in the folder.
    """
    from headscope.analyses.model_card.card import NAME, open_card
    from headscope.analyses.model_card.page import page
    from headscope.analyses.model_card.page import site as compared

    place = folder / "index.html" if output is None else output
    console.check_places(place, suffixes=(".html",))
    cards = [(path, open_card(path)) for path in sorted(folder.rglob(NAME))]
    if not cards:
        raise InputError(f"{folder}: expected folders with {NAME}, found none")
    links: list[tuple[str, Any]] = []
    for path, made in cards:
        target = path.with_name("index.html" if path.parent != place.parent else "card.html")
        with replacing(target) as file:
            file.write_text(page(made.data), encoding="utf-8")
        links.append((Path(os.path.relpath(target, place.parent)).as_posix(), made.data))
    with replacing(place) as file:
        file.write_text(compared(links), encoding="utf-8")
    print(f"{place}: {plural(len(cards), 'model')}")
