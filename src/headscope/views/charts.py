"""Charts as data: what a result shows in a figure, drawn by the page's own code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from headscope.core.arrays import Floats
from headscope.core.heads import Head
from headscope.core.saving import PAGES, check_place, replacing
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.errors import InputError
from headscope.measures.dataset import check_suffix
from headscope.views.blobs import Blobs
from headscope.views.page import page
from headscope.views.still import Kind, Width, picture

PANELS = 6
"""At most so many measures are drawn side by side, unless they are named."""

Theme = Literal["light", "dark"]


class ChartAxis(TypedDict):
    """A side of a chart. `names`: of the places 0, 1, …; else numbers, from `low` to `high` or as far as rows go.

    `ticks`: false where only distances count; `root`: it goes by the square root; `opposite`: what stands at the other
    end of each place.
    """

    title: str
    names: NotRequired[list[str]]
    low: NotRequired[float]
    high: NotRequired[float]
    ticks: NotRequired[bool]
    root: NotRequired[bool]
    opposite: NotRequired[list[str]]


class ChartColour(TypedDict):
    """What the rows' colours are of: numbers up to `high`, which diverge where `low` is negative, else `names`.

    `names` of numbers stand below their colours. `root`: they go by the square root; `none`: what rows without a
    colour are. `counts` stand behind names. `lettered`: cells have the letter and the colour by which names are known.
    """

    title: str
    of: Literal["numbers", "heads", "layers"]
    names: NotRequired[list[str]]
    none: NotRequired[str]
    counts: NotRequired[list[int]]
    lettered: NotRequired[bool]
    low: NotRequired[float]
    high: NotRequired[float]
    root: NotRequired[bool]


class ChartRows(TypedDict):
    """The rows of a chart, a list a column. `link`: the head of each; `marked`: rows with an edge or their name.

    `against`: what each is held against; `text`: what a cell of a map says in place of its number.
    """

    x: list[float | None]
    y: list[float | None]
    colour: NotRequired[list[float | None]]
    link: NotRequired[list[str]]
    marked: NotRequired[list[int]]
    against: NotRequired[list[float | None]]
    text: NotRequired[list[str]]


class ChartLine(TypedDict):
    """A figure of each place of `x`, with its interval. `steps`: dashed, a step a place; `name`: at its end."""

    y: list[float | None]
    low: NotRequired[list[float | None]]
    high: NotRequired[list[float | None]]
    colour: NotRequired[int]
    dots: NotRequired[bool]
    steps: NotRequired[bool]
    name: NotRequired[str]


class Chart(TypedDict):
    """A chart: its kind, and the rows that it shows. `equal`: a step is as long on either axis.

    `label`: said in place of the title to readers who hear the page.
    """

    kind: Literal["layers", "head_map", "scatter", "strips", "bars"]
    title: str
    x: ChartAxis
    y: ChartAxis
    rows: ChartRows
    colour: NotRequired[ChartColour]
    lines: NotRequired[list[ChartLine]]
    equal: NotRequired[bool]
    label: NotRequired[str]


class ChartsState(TypedDict):
    """The ground that charts are on."""

    theme: Theme


class ChartsFrame(TypedDict):
    """What stands above the charts at a step, such as a checkpoint."""

    name: str
    charts: list[Chart]


class ChartsPayload(TypedDict):
    """A figure: its charts, at most `across` of them in a row, over what its numbers are; on a page, its `frames`."""

    kind: Literal["charts"]
    title: str
    frames: list[ChartsFrame]
    charts: list[Chart]
    across: int
    caption: str
    state: ChartsState


@dataclass(frozen=True, repr=False)
class Figure:
    """A figure of a result, which shows itself in a notebook.

    Attributes:
        charts: what it shows, as data.
        caption: what the numbers are, in parts that are divided by `` · ``; printed below.
        about: what it is, for the properties of its file.
        meta: the description of the run, for the same.
        across: so many charts stand side by side at most.
        theme, width, title: as in `headscope.figure`.
        frames: what a page steps through above the charts.
    """

    charts: Sequence[Chart]
    caption: str
    about: str
    meta: AnyMapping
    across: int = 1
    theme: Theme = "light"
    width: Width = "page"
    title: str | None = None
    frames: Sequence[ChartsFrame] = ()

    @property
    def payload(self) -> ChartsPayload:
        """What is drawn."""
        return {
            "kind": "charts",
            "title": self.about,
            "frames": list(self.frames),
            "charts": list(self.charts),
            "across": self.across,
            "caption": self.caption,
            "state": {"theme": self.theme},
        }

    def picture(self, kind: Kind, *, dots: float = 300.0) -> bytes:
        """It as a file of kind svg, pdf or png."""
        payload = self.payload
        about = {
            "title": payload["title"],
            "description": json.dumps(self.meta, ensure_ascii=True),
        }
        return picture(
            kind, payload, Blobs(), width=self.width, dots=dots, title=self.title or "", about=about
        )

    def html(self) -> str:
        """It as a page that needs nothing else."""
        views = {"kind": "views", "version": 1, "title": self.about, "views": [self.payload]}
        return page(views, {}, bundle="explorer", title=self.about)

    def save(self, path: AnyPath, *, dots: float = 300.0) -> Path:
        """Write it as ``.svg``, ``.pdf``, ``.png`` (so many `dots` an inch) or ``.html``, and return its path.

        Raises `InputError` for another suffix and where nothing can be written.
        """
        target = Path(path)
        check_suffix(target, PAGES)
        check_place(target)
        kind: Any = target.suffix.lower().removeprefix(".")
        data = self.html().encode() if kind == "html" else self.picture(kind, dots=dots)
        with replacing(target) as file:
            file.write_bytes(data)
        return target

    def __repr__(self) -> str:
        payload = self.payload
        return f"{payload['title']}\n{payload['caption']}"

    def _repr_png_(self) -> bytes:
        return self.picture("png", dots=160.0)


def meta_of(dataset: Any) -> AnyDict:
    """The description of the run that made a dataset."""
    return json.loads(dataset.attrs.get("meta", "{}"))


def model_name(model: AnyMapping) -> str:
    """The last part of a model's name."""
    return str(model["name"]).rstrip("/").split("/")[-1]


def numbers(values: Any) -> list[float | None]:
    """Figures of rows; None where there is none."""
    return [float(value) if np.isfinite(value) else None for value in np.ravel(values)]


def texts(values: Iterable[Any]) -> list[str]:
    """Names of places."""
    return [str(value) for value in values]


def points(dataset: Any, values: Floats, colour: int | None = None) -> ChartRows:
    """A row a head of its layer, from values ``[layer head]``."""
    layers, heads = dataset["layer"].values.tolist(), dataset["head"].values.tolist()
    links = [str(Head(layer, head)) for layer in layers for head in heads]
    x: list[float | None] = [place for place in range(len(layers)) for _ in heads]
    rows: ChartRows = {"x": x, "y": numbers(values), "link": links}
    return rows if colour is None else {**rows, "colour": [colour] * len(x)}


def measures_to_draw(dataset: Any, measures: Sequence[str] | None, order: npt.NDArray[Any]) -> list[int]:
    """Indices along ``measure`` of the measures that are named, or the first `PANELS` in an order.

    Raises `InputError` for a measure that is not there.
    """
    known = [str(name) for name in dataset["measure"].values]
    if measures is None:
        return [int(index) for index in order[:PANELS]]
    for name in measures:
        if name not in known:
            raise InputError(f"measures: expected some of {', '.join(known)}, found {name!r}")
    return [known.index(name) for name in measures]


def rounded_up(value: float) -> float:
    """The next number of one digit, 1, 2 or 5, and zeros."""
    if not value > 0 or not np.isfinite(value):
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9)))


def map_of_heads(
    dataset: Any,
    values: Floats,
    high: float,
    units: str,
    title: str = "",
    *,
    edged: Any = None,
    signed: bool = False,
    root: bool = False,
    across: str = "head",
    down: str = "layer",
) -> Chart:
    """A value of every head ``[layer head]`` as a map, layers down and heads across.

    Args:
        dataset: its coordinates name rows and columns.
        values: NaN where a layer has no such head.
        high: what has the strongest colour.
        units: what the colours are of.
        title: printed above the map.
        edged: which heads have an edge, bool ``[layer head]``.
        signed: colours go from ``-high`` on.
        root: colours go by the square root.
        across: the coordinate that names columns.
        down: that which names rows.
    """
    rows, columns = (numbers(places) for places in np.indices(values.shape))
    chart: Chart = {
        "kind": "head_map",
        "title": title,
        "x": {"title": across.replace("_", " "), "names": texts(dataset[across].values)},
        "y": {"title": down.replace("_", " "), "names": texts(dataset[down].values)},
        "rows": {"x": columns, "y": rows, "colour": numbers(values)},
        "colour": {
            "title": units,
            "of": "numbers",
            "low": -high if signed else 0.0,
            "high": high,
            "root": root,
        },
    }
    if edged is not None:
        chart["rows"]["marked"] = np.flatnonzero(edged).tolist()
    return chart
