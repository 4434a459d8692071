"""How near the texts of pairs are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr

from headscope.analyses.similar.heed import heeded
from headscope.analyses.similar.reader import TextReader, of_both, unhidden
from headscope.analyses.similar.statistics import NEAR
from headscope.corpora import Corpus
from headscope.errors import InputError


def compared(
    every: Sequence[Sequence[TextReader]],
    a: Sequence[str],
    b: Sequence[str],
    labels: Sequence[str] | None,
    trees: Corpus | None,
) -> xr.Dataset:
    """How near the texts of each pair are, of each model's readers, and how much words of a class are heeded."""
    if not len(a) == len(b) == len(labels or a) or not a:
        raise InputError(
            f"b, labels: expected as many as texts in a, {len(a)}, found {len(b)} and {len(labels or a)}"
        )
    made: dict[str, Any] = {"interaction": ("pair", [])}
    for measured, readers in zip(NEAR, every, strict=False):
        read = [
            unhidden([reader.text(text, f"{name}[{place}]") for place, text in enumerate(texts)])
            for reader, name, texts in zip(readers, "ab", (a, b), strict=True)
        ]
        near = [
            float(readers[0].near(one[None], other[None]))
            for one, other in zip(*of_both(readers, read), strict=True)
        ]
        made[measured] = ("input", near)
    coords: dict[str, Any] = {
        "label": ("input", list(labels or ["pair"] * len(a))),
        "text_a": ("input", list(a)),
        "text_b": ("input", list(b)),
    }
    if trees is not None:
        words: Any = heeded([readers[0] for readers in every], trees)
        coords |= {"class": ("word", words["label"]), "document_of": ("word", words["document"])}
        made["heed"] = (("model", "word"), words[[*range(len(every))]].to_numpy().T)
    return xr.Dataset(made, {"input": range(len(a)), **coords})
