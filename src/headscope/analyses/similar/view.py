"""Why texts are near, as a page, in a notebook and as a picture."""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
import xarray as xr

from headscope.analyses.similar import statistics
from headscope.analyses.similar.section import notes, rather, sentence
from headscope.analyses.why.view import box_of
from headscope.core.escapes import beginning
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.views.blobs import Blobs
from headscope.views.charts import meta_of, model_name
from headscope.views.digits import fixed
from headscope.views.section import rounded
from headscope.views.sources import CarrierInfo, NearTexts, NearUnit, SimilarPayload, SimilarState
from headscope.views.still_view import StillView


@validated
def view(
    dataset: xr.Dataset,
    *,
    input: int = 0,
    level: str | None = None,
    drawn: Literal["lines", "matrix"] = "lines",
    pin: tuple[Literal["a", "b"], int] | None = None,
    theme: Literal["auto", "light", "dark"] = "auto",
) -> SimilarView:
    """Draw two texts beside each other, with a line between units that make them near, or less near.

    Args:
        dataset: from `headscope.similar`.
        input: of several documents the place of the one that is shown, from 0.
        level: of units in one another those that are shown; by default the largest.
        drawn: as ``lines`` or as a ``matrix``, a row a unit of A.
        pin: the side and the number of a unit whose lines are shown alone.
        theme: ``auto``, ``light`` or ``dark``.

    Raises `InputError` for an input, a level or a unit that is not there.
    """
    rows: Any = statistics.table(dataset)
    if not 0 <= input < dataset.sizes["input"]:
        raise InputError(f"input: expected one from 0 to {dataset.sizes['input'] - 1}, found {input}")
    units = rows[rows["input"] == input]
    levels = list(dict.fromkeys(units["level"]))
    if level is not None and level not in levels:
        raise InputError(f"level: expected one of {', '.join(levels)}, found {level!r}")
    if pin is not None and pin[1] not in units[units["side"] == pin[0]]["unit"].to_numpy():
        raise InputError(f"pin: expected a unit of {pin[0]}, found {pin[1]}")
    pinned = None if pin is None else ["ab".index(pin[0]), pin[1]]
    return SimilarView(
        dataset, SimilarState(input=input, drawn=drawn, level=level or levels[0], pin=pinned, theme=theme)
    )


class SimilarView(StillView):
    """Two texts that are read apart, and what makes them near."""

    def __init__(self, dataset: xr.Dataset, state: SimilarState) -> None:
        name = model_name(meta_of(dataset)["model"])
        payload = SimilarPayload(
            kind="similar",
            version=1,
            title=f"Why are these two {'' if 'picture' in dataset else 'texts '}near? · {name}",
            model=name,
            pairs=[_texts(dataset, number) for number in range(dataset.sizes["input"])],
            ranked=ranking(dataset),
            notes=[*([rather(dataset)] if dataset.sizes["input"] > 1 else []), *notes(dataset)],
            state=state,
        )
        super().__init__(payload, Blobs())

    def __repr__(self) -> str:
        return f"SimilarView({self._payload['title']!r})"


def ranking(dataset: xr.Dataset) -> list[str]:
    """A line a document, the nearest first; none where there is one text."""
    if "ranked" not in dataset:
        return []
    rows: Any = statistics.ranked(dataset)
    return [f"{fixed(row.similarity, 3)} {beginning(row.text, 70)}" for row in rows.itertuples()]


def _texts(dataset: xr.Dataset, number: int) -> NearTexts:
    rows: Any = statistics.table(dataset)
    rows = rows.assign(first=dataset["first"].values, last=dataset["last"].values)[rows["input"] == number]
    through: dict[tuple[str, int], list[CarrierInfo]] = {}
    carriers: Any = statistics.through(dataset)
    for one in carriers[carriers["input"] == number].itertuples():
        figures = rounded(one.estimate), rounded(one.effect)
        head = CarrierInfo(
            part="self", layer=one.layer, head=one.head, estimate=figures[0], effect=figures[1]
        )
        through.setdefault((one.side, one.unit), []).append(head)
    here = np.flatnonzero(dataset["input_of_pair"].values == number)
    sides = [rows[rows["side"] == side] for side in "ab"]
    interactions, q = (
        [[rounded(value) for value in row] for row in dataset[name].values[here].reshape([*map(len, sides)])]
        for name in ("interaction", "q_pair")
    )
    one = dataset.isel(input=number)
    return NearTexts(
        name=beginning(str(one["text_b"].values), 60),
        similarity=rounded(float(one["similarity"])),
        says=sentence(dataset, number),
        units=[
            [
                NearUnit(
                    level=row.level,
                    text=row.text,
                    first=row.first,
                    last=row.last,
                    effect=rounded(row.effect),
                    q=rounded(row.q),
                    heads=through.get((row.side, row.unit), []),
                    box=box_of(dataset["box"].values[row.Index]) if "box" in dataset else None,
                )
                for row in side.itertuples()
            ]
            for side in sides
        ],
        interactions=interactions,
        q=q,
        picture=json.loads(str(one["picture"].values)) if "picture" in dataset else None,
    )
