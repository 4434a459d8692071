"""`headscope similar`: two texts, a file of pairs, or a query and a corpus."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from headscope.analyses.shown import Table
from headscope.core.counts import plural
from headscope.core.types import AnyDict
from headscope.core.validation import Count
from headscope.errors import InputError


def run(
    model: Any,
    a: str | None = None,
    b: str | None = None,
    *,
    units: str = "word",
    in_: Path | None = None,
    top: Count = 5,
    second: str | None = None,
    against: str | None = None,
    trees: Path | None = None,
    prompt: str | None = None,
    background: Path | None = None,
    **options: Any,
) -> Any:
    """Say why two texts are near.

    Args:
        model: that reads.
        a: a text, or a query; or a table of pairs, with columns text_a, text_b and label; by default minimal pairs that
            ship with headscope. Labels that are numbers give a rank correlation, triplets an accuracy.
        b: another text, or a picture.
        units: what texts are cut into: word, token, sentence, line or paragraph; several, parted by commas, from the
            largest to the smallest.
        in_: find the texts of this file that are nearest to the query, and explain the first two. Their vectors are
            kept beside it, in FILE.npz.
        top: so many texts are found.
        second: a model that reads B, of two towers.
        against: of pairs another model, whose figures stand beside with the difference.
        trees: a treebank (.conllu) for how much words of each class are heeded; the built-in one without a table.
        prompt: what stands before each text, or its name in the model's files; of A and B, parted by a bar.
        background: a file of texts that have nothing to do with these, a line each.
    """
    from headscope.analyses.result import Result
    from headscope.analyses.similar.run import similar
    from headscope.attention.load import load
    from headscope.corpora import builtin_trees, conllu

    table = b is None and in_ is None and (a is None or Path(a).suffix in (".tsv", ".csv", ".jsonl"))
    if not table and (b is None) == (in_ is None):
        raise InputError(
            f"B: expected a second text, or --in FILE of texts, found {'neither' if b is None else 'both'}"
        )
    given: AnyDict = {**options, "units": units.split(",") if "," in units else units}
    if prompt is not None:
        given["prompt"] = tuple(prompt.split("|", 1)) if "|" in prompt else prompt
    given |= {name: load(one) for name, one in (("second", second), ("against", against)) if one is not None}
    if trees is not None or a is None:
        given["trees"] = builtin_trees() if trees is None else conllu(trees)
    if background is not None:
        given["background"] = _lines(background)
    if table:
        return similar(model, **labelled(a), **given)
    if in_ is not None:
        given["keep"] = in_.with_name(f"{in_.name}.npz")
    result = similar(model, a or "", _lines(in_) if b is None else b, show=top, **given)
    return Result.of(result, result.view)


def labelled(path: str | None = None) -> dict[str, Any]:
    """Texts A and B of a table, by default of minimal pairs, and their labels, as `headscope.similar` takes them."""
    from headscope.corpora import pairs

    rows = [*pairs(path or str(files("headscope.corpora") / "data" / "minimal_pairs.tsv"))]
    if single := next((one for one in rows if one.pair is None), None):
        raise single.error("expected a second text, found none")
    names = {"a": "text", "b": "pair", "labels": "label"}
    return {name: [str(getattr(one, of)) for one in rows] for name, of in names.items()}


def _lines(path: Any) -> list[str]:
    from headscope.corpora import text

    return [str(one.text) for one in text(path, pack=None)]


def save_pairs(result: Any, pairs: Table) -> str:
    """Write the table of all pairs of units.

    Args:
        result: of two texts.
        pairs: the table of all pairs of words.
    """
    from headscope.analyses.similar.statistics import pairs as rows
    from headscope.measures.dataset import description, unseen, write_table

    write_table(frame := rows(result), pairs, unseen(description(result)))
    return plural(len(frame), "pair")
