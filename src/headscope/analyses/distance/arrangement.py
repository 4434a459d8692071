"""How heads lie to one another, told from their distances: maps, clusters and layers (Clark et al. 2019, section 6).

All of it takes what `headscope.distance` gives, and nothing but that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.distance.statistics import heads
from headscope.analyses.result import figure as draw
from headscope.analyses.shown import TableOrPicture
from headscope.core.arrays import Floats, Ints, quiet
from headscope.core.heads import Head
from headscope.core.lazy import module
from headscope.core.saving import PICTURES
from headscope.core.validation import Seed
from headscope.errors import InputError
from headscope.measures.dataset import description, unseen, write_table
from headscope.statistics.permutation import nearer
from headscope.views.charts import Chart, ChartAxis, ChartColour, Figure, meta_of, model_name, numbers, texts

_STARTS = 5  # of metric scaling: classical scaling, and places at random
_STEPS = 1000
_ENOUGH = 1e-6  # the share of the stress that a last step takes off


def head_map(
    dataset: xr.Dataset, *, kind: Literal["metric", "classical"] = "metric", seed: int = 0
) -> pd.DataFrame:
    """Heads as points of a plane whose distances are the heads' distances as nearly as can be (figure 6).

    Args:
        dataset: from `headscope.distance`.
        kind: ``metric`` looks for the least stress Σ (distance − distance on the map)² by majorisation (SMACOF),
            from the classical map and from places at random, as the paper does; ``classical`` takes the two
            leading axes of the doubly centred squares (Torgerson), in which nothing is random.
        seed: of the places at random.

    Returns:
        layer, head, paper, x and y, a row a head. The map is centred, along its own axes, wider than high, and of each
        axis the largest place is positive; a unit is what a unit of distance is. ``attrs["stress"]`` is Kruskal's
        stress-1, √(Σ (distance − map)² / Σ distance²): 0 for a perfect map.
    """
    if kind not in ("metric", "classical"):
        raise InputError(f"kind: expected metric or classical, found {kind!r}")
    distances = _square(dataset)
    places = _classical(distances)
    if kind == "metric":
        draw = np.random.default_rng(seed)
        spread = max(float(distances.mean()), 1e-12)
        starts = [places, *(draw.normal(scale=spread, size=places.shape) for _ in range(_STARTS - 1))]
        places = min(
            (_smacof(distances, start) for start in starts), key=lambda layout: _stress(distances, layout)
        )
    places = _turned(places)
    rows = _rows(dataset, x=places[:, 0], y=places[:, 1])
    total = float((distances**2).sum())
    stress = float(np.sqrt(_stress(distances, places) / total)) if total else 0.0
    rows.attrs = {"kind": kind, "seed": seed, "stress": stress}
    return rows


def tree(dataset: xr.Dataset) -> Floats:
    """The heads' hierarchy by average linkage: scipy's linkage matrix ``[merger 4]``."""
    distances = _square(dataset)
    hierarchy = module("scipy.cluster.hierarchy")
    condensed = distances[np.triu_indices(len(distances), 1)]
    return np.asarray(hierarchy.linkage(condensed, "average", optimal_ordering=True), np.float64)


def clusters(dataset: xr.Dataset, count: int = 8) -> pd.DataFrame:
    """The hierarchy cut into at most `count` clusters: ``layer, head, paper, cluster``.

    Clusters count from 1 in the order of their first heads. ``attrs["medoids"]`` names the head of each that is
    nearest to the others of it.
    """
    distances, names = _square(dataset), heads(dataset)
    if not 1 <= count <= len(names):
        raise InputError(f"count: expected from 1 to {len(names)} clusters, found {count}")
    hierarchy = module("scipy.cluster.hierarchy")
    labels = np.asarray(hierarchy.fcluster(tree(dataset), count, "maxclust"))
    order = {label: place + 1 for place, label in enumerate(dict.fromkeys(labels.tolist()))}
    numbers = np.array([order[label] for label in labels.tolist()])
    medoids: list[str] = []
    for label in order.values():
        inside = np.flatnonzero(numbers == label)
        medoids.append(str(names[inside[distances[np.ix_(inside, inside)].sum(1).argmin()]]))
    rows = _rows(dataset, cluster=numbers)
    rows.attrs = {"medoids": medoids}
    return rows


def by_layer(dataset: xr.Dataset) -> xr.DataArray:
    """Mean distance of the heads of one layer to those of another, ``(layer_a, layer_b)``.

    On the diagonal the mean over pairs of different heads; NaN where a layer has only one.
    """
    distances = _square(dataset)
    layers, member = _layers(dataset)
    sums, sizes = member.T @ distances @ member, member.sum(0)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    with quiet():
        means = np.where(pairs > 0, sums / pairs, np.nan)
    return xr.DataArray(
        means,
        {"layer_a": layers, "layer_b": layers},
        ("layer_a", "layer_b"),
        "distance",
        dict(dataset["distance"].attrs),
    )


@dataclass(frozen=True)
class SameLayer:
    """Whether heads of one layer are nearer to each other than to those of others.

    Attributes:
        within: mean distance over pairs of heads of one layer.
        between: the same over pairs of different layers.
        p: share of permutations of the heads over the layers, the heads as they are among them, whose mean within
            layers is as small or smaller: (1 + how many) / (1 + permutations).
        permutations: how many were drawn.
    """

    within: float
    between: float
    p: float
    permutations: int


def same_layer(dataset: xr.Dataset, *, permutations: int = 9999, seed: int = 0) -> SameLayer:
    """Test whether heads of one layer are nearer to each other than to others (one-sided, by permutation).

    Raises `InputError` where there is only one layer, or no layer of two heads.
    """
    if permutations < 1:
        raise InputError(f"permutations: expected at least 1, found {permutations}")
    distances = _square(dataset)
    layers, member = _layers(dataset)
    sizes = member.sum(0)
    inside, everywhere = float((sizes * (sizes - 1)).sum()), len(distances) * (len(distances) - 1)
    if len(layers) < 2 or not inside:
        raise InputError(
            f"same_layer: expected two layers or more and one of two heads or more, found {sizes.tolist()} heads"
        )
    observed = float((member * (distances @ member)).sum())
    return SameLayer(
        within=observed / inside,
        between=(float(distances.sum()) - observed) / (everywhere - inside),
        p=nearer(distances, member, permutations=permutations, seed=seed),
        permutations=permutations,
    )


@dataclass(frozen=True)
class FirstAndLast:
    """Whether the first layer is near the last.

    Attributes:
        distance: mean distance of the first layer's heads to the last layer's.
        others: mean over all other pairs of different layers.
        rank: its place among all pairs of different layers, 1 for the nearest.
        pairs: how many such pairs there are.
    """

    distance: float
    others: float
    rank: int
    pairs: int

    @property
    def p(self) -> float:
        """Share of pairs of layers that are as near or nearer, this one among them: were layers alike, its p."""
        return self.rank / self.pairs


def first_and_last(dataset: xr.Dataset) -> FirstAndLast:
    """Where the distance of the first and the last layer stands among those of all pairs of layers.

    Raises `InputError` where there are fewer than three layers.
    """
    means = by_layer(dataset).values
    if len(means) < 3:
        raise InputError(f"first_and_last: expected three layers or more, found {len(means)}")
    every = means[np.triu_indices(len(means), 1)]
    distance = float(means[0, -1])
    return FirstAndLast(
        distance=distance,
        others=float((every.sum() - distance) / (len(every) - 1)),
        rank=int((every <= distance).sum()),
        pairs=len(every),
    )


def _rows(result: xr.Dataset, **columns: np.ndarray) -> pd.DataFrame:
    """Give each head a row."""
    names = heads(result)
    layers, numbers = np.array(names).T
    return pd.DataFrame(
        {"layer": layers, "head": numbers, "paper": [head.paper for head in names], **columns}
    )


def _square(result: xr.Dataset) -> Floats:
    distances = np.asarray(result["distance"].transpose("head_a", "head_b").values, np.float64)
    if len(distances) < 2:
        raise InputError(f"distances: expected two heads or more, found {len(distances)}")
    return distances


def _layers(result: xr.Dataset) -> tuple[Ints, Floats]:
    """The layers, and 1 where a head is of a layer, ``[head layer]``."""
    layers, place = np.unique(result["layer_a"].values, return_inverse=True)
    return layers, np.eye(len(layers))[place]


def _classical(distances: Floats) -> Floats:
    centre = np.eye(len(distances)) - 1.0 / len(distances)
    values, vectors = np.linalg.eigh(-0.5 * centre @ distances**2 @ centre)
    return vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))


def _smacof(distances: Floats, places: Floats) -> Floats:
    """Places of less and less stress (de Leeuw 1977), each step the Guttman transform of the last."""
    before = np.inf
    for _ in range(_STEPS):
        apart = _apart(places)
        now = float(((distances - apart) ** 2).sum())
        if before - now <= _ENOUGH * now:
            break
        before = now
        ratio = np.divide(distances, apart, out=np.zeros_like(apart), where=apart > 0)
        places = (ratio.sum(1)[:, None] * places - ratio @ places) / len(places)
    return places


def _stress(distances: Floats, places: Floats) -> float:
    return float(((distances - _apart(places)) ** 2).sum())


def _apart(places: Floats) -> Floats:
    x, y = places.T
    return np.hypot(x[:, None] - x, y[:, None] - y)


def _turned(places: Floats) -> Floats:
    """The same map, centred, along its own axes, wider than high, of each axis the largest place positive."""
    places = places - places.mean(0)
    places = places @ np.linalg.svd(places, full_matrices=False)[2].T
    if np.ptp(places[:, 1]) > np.ptp(places[:, 0]):
        places = places[:, ::-1]
    largest = places[np.abs(places).argmax(0), np.arange(places.shape[1])]
    return places * np.where(largest < 0, -1.0, 1.0)


def save_map(dataset: xr.Dataset, map: TableOrPicture, *, seed: Seed = 0) -> str:
    """Write the map of heads; say what it is.

    Args:
        dataset: from `headscope.distance`.
        map: also the heads' map: .parquet, .csv, .json or .tex; .svg, .pdf or .png for a figure.
        seed: of the rows drawn, and of the map.
    """
    places = head_map(dataset, seed=seed)
    if map.suffix.lower() in PICTURES:
        draw(dataset, places=places).save(map)
    else:
        write_table(places, map, unseen(description(dataset)))
    return f"{len(places):,} heads, stress {places.attrs['stress']:.3f}"


FUNCTIONS = 12
"""So many functions have a colour each."""

_NAMED = 24
"""So many functions' heads are named."""


def figure(
    dataset: xr.Dataset,
    functions: Mapping[Head, str] | None = None,
    *,
    notable: Sequence[Head] | None = None,
    places: pd.DataFrame | None = None,
) -> Figure:
    """Two panels of the same map: heads coloured by layer, and by function.

    Args:
        dataset: from `headscope.distance`.
        functions: what heads do, in at most 12 words or phrases, each with a colour; the other heads are grey
            rings. By default the heads' clusters, each called by its middle head.
        notable: the heads that have their name beside them in both panels; by default those with a function, or
            where none or too many have one the middle head of each cluster of three or more.
        places: from `headscope.analyses.distance.arrangement.head_map`; by default metric scaling with seed 0.

    Raises `InputError` for a head that is not there, and for more functions than there are colours.
    """
    known, meta = heads(dataset), meta_of(dataset)
    places = head_map(dataset) if places is None else places
    title, rest = "by function", "none of these"
    if notable is None and functions is not None and len(functions) <= _NAMED:
        notable = list(functions)
    if functions is None or notable is None:
        groups: Any = clusters(dataset, min(8, len(known)))
        medoids = [Head.parse(name) for name in groups.attrs["medoids"]]
        sizes: Counter[int] = Counter(groups["cluster"].tolist())
        if functions is None:
            title, rest = "by cluster", "alone"
            members = zip(known, groups["cluster"], strict=True)
            functions = {
                head: f"about {medoids[cluster - 1]}" for head, cluster in members if sizes[cluster] > 1
            }
        if notable is None:
            notable = [head for place, head in enumerate(medoids) if sizes[place + 1] > 2]
    for head in [*functions, *notable]:
        if head not in known:
            raise InputError(f"figure: expected heads from {known[0]} to {known[-1]}, found {head}")
    counts = Counter(functions.values())
    if len(counts) > FUNCTIONS:
        raise InputError(f"functions: expected at most {FUNCTIONS}, a colour each, found {len(counts)}")
    layers, order = sorted({head.layer for head in known}), list(counts)
    by_layer: ChartColour = {"title": "layer", "of": "layers", "names": texts(layers)}
    by_function: ChartColour = {
        "title": "",
        "of": "heads",
        "names": texts([f"{name} ({count})" for name, count in counts.items()]),
    }
    if len(known) > len(functions):
        by_function["none"] = f"{rest} ({len(known) - len(functions)})"

    def panel(title: str, colour: ChartColour, values: list[float | None]) -> Chart:
        units = str(dataset["distance"].attrs["units"])
        x: ChartAxis = {"title": f"first dimension of the map, {units}"}
        y: ChartAxis = {"title": f"second dimension, {units}"}
        xs, ys = (numbers(places[axis]) for axis in "xy")
        marked = [known.index(head) for head in notable]
        return {
            "kind": "scatter",
            "title": title,
            "x": x,
            "y": y,
            "rows": {"x": xs, "y": ys, "colour": values, "link": texts(known), "marked": marked},
            "colour": colour,
            "equal": True,
        }

    charts = [
        panel("by layer", by_layer, [layers.index(head.layer) for head in known]),
        panel(
            title,
            by_function,
            [order.index(functions[head]) if head in functions else None for head in known],
        ),
    ]
    parts = [f"{len(known)} heads", f"Jensen–Shannon, {dataset['distance'].attrs['units']}"]
    parts.append(f"{int(dataset.attrs['n']):,} rows compared")
    if "stress" in places.attrs:
        parts.append(f"{places.attrs['kind']} scaling, stress {places.attrs['stress']:.2f}")
    name = meta.get("model", {}).get("name")
    about = f"Distances between heads of {name or 'a model'}"
    return Figure(
        charts, " · ".join([*parts, *([model_name(meta["model"])] if name else [])]), about, meta, 2
    )
