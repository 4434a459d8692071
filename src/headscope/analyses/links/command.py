"""`headscope links`: heads alone or together, and what it says of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headscope.analyses.shown import Shown, on_screen
from headscope.core.counts import plural
from headscope.core.validation import Count
from headscope.errors import InputError


def checks(
    *,
    together: bool = False,
    symmetrise: bool = False,
    documents: str | None = None,
    devices: str | None = None,
    dask: str | None = None,
    **flags: Any,
) -> None:
    """Raise `InputError` for an option that heads together, or heads alone, do not have."""
    if documents is not None and not documents.removeprefix("field:"):
        raise InputError("--documents: expected field:NAME, found no name")
    for name in ("shard", "skip_failures", "estimate", "all_heads") if together else ():
        if flags.get(name):
            raise InputError(f"--{name.replace('_', '-')}: expected none with --together, found it")
    if together and (devices or dask):
        raise InputError("--devices, --dask: expected no --together with them, found it")
    if symmetrise and not together:
        raise InputError("--symmetrise: expected --together with it, found none")


def run(
    model: Any,
    corpus: Any,
    *,
    together: bool = False,
    symmetrise: bool = False,
    least: Count | None = None,
    paths: Any = None,
    format: Any = None,
    **options: Any,
) -> Any:
    """The heads of links, or all of them together.

    Args:
        model: from `headscope.load`.
        corpus: with links.
        together: all heads together: a sparse logistic regression and the mean of the best few, beside the best head.
        symmetrise: with --together: maps and their transposes with average-product correction, for contacts.
        least: instances that a label needs to get a best head: by default 20, of the built-in pictures 10.
        paths, format: what was typed, by which the corpus is one that ships in the package.
        **options: of `headscope.links`.
    """
    from headscope.analyses.links.combine.run import combine_heads
    from headscope.analyses.links.run import links

    pictures = not paths and format is None and model.image_processor is not None
    options["least"] = least or (10 if pictures else 20)
    if not together:
        return links(model, corpus, **options)
    del options["skip_failures"]
    return combine_heads(model, corpus, symmetrise=symmetrise, **options)


def shown(dataset: Any, *, all_heads: bool = False, together: bool = False) -> Shown:
    """The heads of each label.

    Args:
        dataset: from `headscope.links`, or `headscope.combine_heads`.
        all_heads: every head and direction, not only the best of each label.
    """
    from headscope.analyses.links import statistics
    from headscope.analyses.links.combine import command as combined

    if together:
        return combined.shown(dataset)
    every: Any = None
    if all_heads:
        every = statistics.every_head(dataset).dropna(subset=["accuracy"])  # of directions without sources
    return best_heads(
        dataset, statistics.table(dataset), every, _DROPPED, ", or no head that is right,", _unasked(dataset)
    )


def best_heads(
    dataset: Any,
    best: Any,
    every: Any,
    dropped: Sequence[str],
    few_for: str = ",",
    remarks: Sequence[str] = (),
    read: Callable[[Any], Any] = lambda rows: rows,
) -> Shown:
    """The best head of each kind of link, or every head.

    Args:
        dataset: of the links.
        best: its table.
        every: the table of every head, where that is shown.
        dropped: columns that a screen has no room for.
        few_for: why a row may have no best head, beside too few instances.
        remarks: what is said on stderr.
        read: makes of a table what is read on a screen.
    """
    from headscope.analyses.clusters import CHOSEN_ON, note
    from headscope.measures.dataset import description

    described, few = description(dataset), [bool(one) for one in best["few"]]
    least = plural(described["least"], "instance")
    warning = f"{sum(few)} of {plural(len(few), 'row')} have fewer than {least}{few_for} and no best head"
    remarks = [*([warning] if any(few) else []), *remarks, note(described)]
    if every is not None:
        return Shown(every, on_screen(read(every)), dataset, remarks=remarks)
    if not all(few):
        remarks.append(
            f"split: the head that is best on {CHOSEN_ON} of the {best['clusters'][0]}, scored on the rest; the head "
            f"named was the choice so many times of {best['choices'].max()}"
        )
    dropped = [name for name in dropped if name in best]
    return Shown(best, on_screen(read(best), few, dropped=dropped), dataset, remarks=remarks)


def _unasked(dataset: Any) -> list[str]:
    """Count the sources without candidates, in each direction in which others of their label have some."""
    from headscope.analyses.links.questions import ALL

    labels = [label for label in dataset["label"].values if label != ALL or dataset.sizes["label"] == 1]
    some = dataset.sel(label=labels)
    missing = some["n"] - some["asked"].where(some["asked"] > 0, some["n"])
    return [
        f"{direction}: {int(count):,} of {int(some['n'].sum()):,} sources have no candidates: no head is right there, "
        "and mass, rank and average precision are over the others"
        for direction, count in zip(some["direction"].values, missing.sum("label").values, strict=True)
        if count
    ]


_DROPPED = (
    "few",
    "p",
    "difference",
    "difference_low",
    "difference_high",
    "split_low",
    "split_high",
    "aer_low",
    "aer_high",
    "choices",
    "clusters",
)
"""Columns that files have and a screen has no room for."""
