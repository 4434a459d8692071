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
    prompt: str | None = None,
    background: Path | None = None,
    **options: Any,
) -> Any:
    """Say why two texts are near.

    Args:
        model: that reads.
        a: a text, or a query; or a table of pairs, with columns text_a, text_b and label; by default minimal pairs that
            ship with headscope.
        b: another text, or a picture.
        units: what texts are cut into: word, token, sentence, line or paragraph; several, parted by commas, from the
            largest to the smallest.
        in_: find the texts of this file that are nearest to the query, and explain the first two.
        top: so many texts are found.
        second: a model that reads B, of two towers.
        prompt: what stands before each text, or its name in the model's files; of A and B, parted by a bar.
        background: a file of texts that have nothing to do with these, a line each.
    """
    from headscope.analyses.result import Result
    from headscope.analyses.similar.run import similar
    from headscope.attention.load import load
    from headscope.corpora import pairs

    path = Path(str(files("headscope.corpora") / "data" / "minimal_pairs.tsv")) if a is None else Path(a)
    table = b is None and in_ is None and path.suffix in (".tsv", ".csv", ".jsonl")
    if not table and (b is None) == (in_ is None):
        raise InputError(
            f"B: expected a second text, or --in FILE of texts, found {'neither' if b is None else 'both'}"
        )
    given: AnyDict = {**options, "units": units.split(",") if "," in units else units}
    if prompt is not None:
        given["prompt"] = tuple(prompt.split("|", 1)) if "|" in prompt else prompt
    if second is not None:
        given["second"] = load(second)
    if background is not None:
        given["background"] = _lines(background)
    if table:
        rows = [*pairs(path)]
        texts = [
            [str(text) for text in some] for some in zip(*((one.text, one.pair) for one in rows), strict=True)
        ]
        return similar(model, *texts, labels=[str(one.label) for one in rows], **given)
    result = similar(model, a or "", _lines(in_) if b is None else b, show=top, **given)
    return Result.of(result, result.view)


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
