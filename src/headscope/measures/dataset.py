"""Figures as labelled arrays, as tidy tables, and on disk."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.core.arrays import Floats
from headscope.core.failures import reason
from headscope.core.heads import Head
from headscope.core.kinds import is_list_or_tuple, is_mapping, json_value
from headscope.core.lazy import module
from headscope.core.saving import replacing
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.errors import InputError
from headscope.measures.columns import column
from headscope.measures.files import netcdf
from headscope.measures.measure import Measure, without
from headscope.measures.sums import By, Sums
from headscope.statistics.jackknife import interval, share_interval
from headscope.statistics.overlap import held

if TYPE_CHECKING:
    import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
    import xarray as xr

_MODELS = ("model", "a", "b", "before", "after", "models")
"""Keys under which a description has that of a model, or of another run."""

COLUMNS = ("layer", "head", "paper", "measure", "value", "se", "n", "chance", "ci_low", "ci_high")
"""Columns of the tidy table; ``paper`` is the 1-based label, intervals are 95 %, by document."""

ERROR, COUNT, CHANCE, DOCUMENTS, SKEWNESS, OFFSETS, STAYS = (
    "_se",
    "_n",
    "_chance",
    "_documents",
    "_skewness",
    "_offsets",
    "_stays",
)
"""What a dataset has beside a measure ``m``: ``m_se``, ``m_n``, ``m_chance``, ``m_documents``, ``m_skewness``
and, where roles are told, ``m_offsets`` and ``m_stays``."""

ORDER = (
    "distance_pixels",
    "distance_seconds",
    "locality",
    "locality_seconds",
    "same_row",
    "same_column",
    "previous",
    "current",
    "next",
    "first",
    "cls",
    "to_register",
    "to_artefact",
    "after_sound",
    "sep",
    "sep_sep",
    "rest_sep",
    "punctuation",
    "distance_share",
    "diagonality",
    "largest",
    "entropy",
    "entropy_first",
)
"""The order in which a reader meets the measures; others follow by name, entropies last."""


def dataset(
    sums: Sums,
    measures: Sequence[Measure],
    *,
    by: By = "token",
    causal: bool = False,
    over: str = "pieces",
    meta: AnyMapping | None = None,
) -> xr.Dataset:
    """Figures over ``(layer, head)``: a measure ``m`` has ``m``, and beside it what is named after it.

    ``m_se`` is the jackknife error over documents, ``m_n`` counts the rows (or documents, or inputs: its ``units``)
    that it is a mean over, ``m_chance`` is what uniform attention over the visible keys gives (over ``(layer)``; over
    ``(layer, head)`` where heads do not see the same), ``m_documents`` how many documents of equal size would tell as
    much, ``m_skewness`` that of the figure over documents (`headscope.statistics.jackknife`). `interval_of` makes
    intervals of them.

    Args:
        sums: over the corpus.
        measures: the definitions, in the order of the sums.
        by: what a figure is a mean over.
        causal: whether the model is causal.
        over: the unit of a token: ``pieces`` or ``words``.
        meta: what made the figures. `absent` and the corpus' counts are added to it; kept as JSON in
            ``dataset.attrs["meta"]``.

    Raises `InputError` when no measure says anything.
    """
    import xarray as xr

    sums = sums.closed()
    counts = {name[6:]: count for name, count in sums.counts.items() if name.startswith("class ")}
    absent = without(measures, causal, counts, np.any(sums.n > 0, (1, 2)))
    value, error, chance = sums.value(), sums.error(), sums.by_chance()
    effective, skewness = sums.effective(), sums.skewness()
    there = np.isfinite(sums.s[0])
    variables: AnyDict = {}
    for place, measure in enumerate(measures):
        if measure.name in absent:
            continue
        attrs = {
            "title": measure.title,
            "description": measure.description,
            "units": measure.units,
            "by": by,
            "over": over,
            "source": measure.source or "",
            "cites": " ".join(
                measure.keys
            ),  # not "keys": xarray would take a variable that has them for a mapping
            "documents": int(sums.documents[place].max()),
        }
        variables[measure.name] = (("layer", "head"), value[place], attrs)
        variables[measure.name + ERROR] = (("layer", "head"), error[place])
        counted = {"units": _counted(by, over)}
        variables[measure.name + COUNT] = (("layer", "head"), np.where(there, sums.n[place], np.nan), counted)
        variables[measure.name + DOCUMENTS] = (("layer", "head"), np.where(there, effective[place], np.nan))
        variables[measure.name + SKEWNESS] = (("layer", "head"), np.where(there, skewness[place], np.nan))
        variables[measure.name + CHANCE] = _chance(np.where(there, chance[place], np.nan))
        if measure.stays and len(sums.folds):
            s, n = sums.folds[:, 0, place], sums.folds[:, 1, place]
            variables[measure.name + STAYS] = staying(s, n, int(sums.documents[place].max()))
    described = dict(meta or {})
    described["corpus"] = {**described.get("corpus", {}), **_corpus(sums, counts)}
    described["absent"] = absent
    return xr.Dataset(
        variables,
        coords={"layer": list(sums.layers), "head": np.arange(sums.s.shape[2])},
        attrs=describe(described),
    )


def staying(s: Floats, n: Floats, documents: int = 0) -> tuple[tuple[str, ...], Floats, AnyDict]:
    """In which share of draws each head is among the highest, as a variable; its attributes are the `Overlap`, if any.

    Args:
        s, n: sums and counts of each document, or of each of as many parts of the documents, ``[part layer head]``.
        documents: how many there are, where these are parts.
    """
    shared, shares = held(s.reshape(len(s), s[0].size), n.reshape(len(n), s[0].size), documents=documents)
    attrs = {} if shared is None else shared._asdict()
    return ("layer", "head"), np.where(np.isfinite(s.sum(0)), shares.reshape(s.shape[1:]), np.nan), attrs


def _chance(values: Floats) -> tuple[tuple[str, ...], Floats]:
    """Chance ``[layer head]`` (NaN for heads that are not there), by layer where its heads agree."""
    first = values[:, :1]
    alike = (values == first) | np.isnan(values)
    return (("layer",), values[:, 0]) if alike.all() else (("layer", "head"), values)


def _corpus(sums: Sums, counts: Mapping[str, int]) -> AnyDict:
    known = ("documents", "examples", "tokens", "words", "split_words")
    totals: AnyDict = {name: sums.counts.get(name, 0) for name in known}
    total = max(1, totals["tokens"])
    split = totals["split_words"] / totals["words"] if totals["words"] else None
    return {**totals, "split_words": split, "shares": {name: count / total for name, count in counts.items()}}


def description(dataset: xr.Dataset) -> AnyDict:
    """What made a dataset: its model, corpus, options and versions; empty where it does not say.

    Raises `InputError` where ``attrs["meta"]`` is not JSON.
    """
    meta: Any = dataset.attrs.get("meta", {})
    try:
        meta = json.loads(meta) if isinstance(meta, str) else meta
    except ValueError as error:
        raise InputError(f"dataset.attrs['meta']: expected JSON, found {meta[:40]!r}: {error}") from None
    return dict(meta) if is_mapping(meta) else {}


def unseen(meta: AnyMapping) -> str:
    """What of the layers of a result's models has no attention map, in sentences; empty where there is nothing.

    `meta` is its description, or that of maps.
    """
    sentences: dict[str, str] = {}  # what is said, and of which model
    waiting: list[Any] = [meta]
    while waiting:
        entry: Any = waiting.pop(0)
        if is_mapping(entry):
            if "unseen" in entry:
                sentences.setdefault(str(entry["unseen"]), str(entry.get("name") or entry.get("model")))
            waiting += [entry.get(name) for name in _MODELS]
        elif is_list_or_tuple(entry):
            waiting += entry
    return " ".join(
        sentence if len(sentences) == 1 else f"{name}: {sentence}"
        for sentence, name in sentences.items()
        if sentence
    )


def describe(meta: AnyMapping) -> dict[str, str]:
    """The attributes of a dataset from which `description` reads `meta`."""
    return {"meta": json.dumps(meta, ensure_ascii=False)}


def measure_of(dataset: xr.Dataset, variable: str) -> str:
    """The measure that a variable of a dataset belongs to: itself, or what its error, count or chance is of."""
    for part in (ERROR, COUNT, CHANCE, DOCUMENTS, SKEWNESS, OFFSETS, STAYS):
        if variable.endswith(part) and variable.removesuffix(part) in dataset.data_vars:
            return variable.removesuffix(part)
    return variable


def names(dataset: xr.Dataset) -> list[str]:
    """The measures of a dataset."""
    return [name for name in map(str, dataset.data_vars) if measure_of(dataset, name) == name]


def measure_names(dataset: xr.Dataset) -> list[str]:
    """The measures of a dataset over ``(layer, head)``, in reading order. `InputError` when there is none."""
    measures = [name for name in names(dataset) if set(dataset[name].dims) == {"layer", "head"}]
    if not measures:
        variables = ", ".join(map(str, dataset.data_vars)) or "nothing"
        raise InputError(f"dataset: expected measures over (layer, head), found {variables}")

    def rank(name: str) -> tuple[float, float, str]:
        if name in ORDER:
            return ORDER.index(name), 0, name
        number = re.fullmatch(r"offset([+-]\d+)", name)
        return ORDER.index("entropy") - 0.5, float(number[1]) if number else math.inf, name

    return sorted(measures, key=rank)


def figures_of(dataset: xr.Dataset, variable: str, dims: Sequence[str] = ("layer", "head")) -> Floats:
    """The figures of a variable, ``[layer head]``; NaN where the dataset does not have it.

    Raises `InputError` for one over other dimensions.
    """
    if variable not in dataset.data_vars:
        return np.full([dataset.sizes[dim] for dim in dims], np.nan)
    array = dataset[variable]
    if set(array.dims) != set(dims):
        axes = ", ".join(map(str, array.dims))
        raise InputError(f"dataset: expected {variable} over ({', '.join(dims)}), found ({axes})")
    return np.asarray(array.transpose(*dims).values, np.float64)


def error_of(dataset: xr.Dataset, measure: str) -> Floats:
    """The standard errors of a measure, ``[layer head]``; NaN where the dataset has none."""
    return figures_of(dataset, measure + ERROR)


def count_of(dataset: xr.Dataset, measure: str) -> Floats:
    """How many rows, documents or inputs a measure is a mean over, ``[layer head]``; NaN where the dataset has none."""
    return figures_of(dataset, measure + COUNT)


def _counted(by: str, over: str) -> str:
    """What a mean is over, as a noun."""
    nouns = {"document": "documents", "segment": "inputs"}
    return nouns.get(by, "words" if over == "words" else "tokens")


def means_over(dataset: xr.Dataset, measures: Collection[str]) -> dict[str, tuple[int, int]]:
    """The least and the most that some measures are means over, by what it is: tokens, words, documents or inputs."""
    ranges: dict[str, tuple[int, int]] = {}
    for name in measures:
        n = count_of(dataset, name)
        most = int(np.nanmax(n)) if np.isfinite(n).any() else 0
        if most:
            attrs = dataset[name].attrs
            noun = str(
                dataset[name + COUNT].attrs.get("units")
                or _counted(attrs.get("by", ""), attrs.get("over", ""))
            )
            few, before = ranges.get(noun, (most, most))
            ranges[noun] = min(few, most), max(before, most)
    return ranges


def documents_of(dataset: xr.Dataset, measure: str) -> Floats:
    """How many effective documents a measure is over, ``[layer head]``; NaN where the dataset does not say."""
    return figures_of(dataset, measure + DOCUMENTS)


def interval_of(dataset: xr.Dataset, measure: str, *, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """The ends of a measure's intervals, ``[layer head]`` each; NaN with fewer than 5 effective documents."""
    value, se = figures_of(dataset, measure), error_of(dataset, measure)
    documents = documents_of(dataset, measure)
    skew = figures_of(dataset, measure + SKEWNESS) if measure + SKEWNESS in dataset else None
    if dataset[measure].attrs.get("units") == "share":
        return share_interval(value, se, documents, confidence=confidence)
    return interval(value, se, documents, confidence=confidence, skew=skew)


def chance_of(dataset: xr.Dataset, measure: str) -> Floats:
    """What uniform attention gives of a measure, ``[layer head]``; NaN where the dataset has none."""
    name = measure + CHANCE
    if name in dataset.data_vars and "head" in dataset[name].dims:
        return figures_of(dataset, name)
    by_layer = figures_of(dataset, name, ("layer",))
    return np.tile(by_layer[:, None], (1, dataset.sizes["head"]))


def mean_chance_of(dataset: xr.Dataset, measure: str) -> Floats:
    """`chance_of`, the mean over heads where these see different keys, ``[layer]``."""
    chance = chance_of(dataset, measure)
    there = np.isfinite(chance)
    return np.where(there, chance, 0.0).sum(1) / np.where(there.any(1), there.sum(1), np.nan)


def table(dataset: xr.Dataset) -> pd.DataFrame:
    """One row a figure, with `COLUMNS`. Heads that a layer does not have have no row."""
    import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

    frames: list[Any] = []
    for name in names(dataset):
        low, high = interval_of(dataset, name)
        figures = {
            "value": figures_of(dataset, name),
            "se": error_of(dataset, name),
            "n": np.nan_to_num(count_of(dataset, name)).astype(np.int64),
            "chance": chance_of(dataset, name),
            "ci_low": low,
            "ci_high": high,
        }
        columns = {column: array.ravel() for column, array in figures.items()}
        rows: Any = of_heads(dataset)
        frames.append(rows.assign(measure=name, **columns)[np.isfinite(columns["value"])])
    rows = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(COLUMNS))
    return rows[list(COLUMNS)]


def papers(layers: Any, heads: Any) -> list[str]:
    """The labels that papers print, such as ``8-10``."""
    return [Head(int(layer), int(head)).paper for layer, head in zip(layers, heads, strict=True)]


def of_heads(dataset: xr.Dataset) -> pd.DataFrame:
    """A row a head: ``layer, head, paper``."""
    import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

    axes = np.meshgrid(dataset["layer"].values, dataset["head"].values, indexing="ij")
    layers, heads = (axis.ravel() for axis in axes)
    return pd.DataFrame({"layer": layers, "head": heads, "paper": papers(layers, heads)})


def write(dataset: xr.Dataset, path: AnyPath, rows: Callable[[xr.Dataset], pd.DataFrame] = table) -> None:
    """Write figures in the format that the suffix names: the tidy table, or the dataset itself as ``.nc``.

    `rows` makes the tidy table. The file is written whole or not at all: one that is there already stays good
    until then. Raises `InputError` for an unknown suffix and a place where nothing can be written, `RunError`
    when the disk is full.
    """
    check_suffix(path)
    if Path(path).suffix.lower() != ".nc":
        write_table(rows(dataset), path, unseen(description(dataset)))
        return
    with replacing(path) as place:
        netcdf(dataset, place)


def write_table(rows: pd.DataFrame, path: AnyPath, note: str = "") -> None:
    """Write a tidy table as ``.parquet``, ``.csv``, ``.json`` or ``.tex`` (LaTeX). Raises as `write` does.

    A cell of text that begins as a formula (``= + - @``) has a quote mark before it in ``.csv``, so that no spreadsheet
    runs it; within `raw_csv`, and in other formats, it is as it is.

    `note` is what a reader must know of the models; LaTeX has it as a comment, as other formats hold rows alone.
    """
    check_suffix(path, tuple(_WRITERS))
    suffix = Path(path).suffix.lower()
    with replacing(path) as place:
        _WRITERS[suffix](rows, os.fspath(place))
        if note and suffix == ".tex":
            place.write_text(f"% {note}\n{place.read_text(encoding='utf-8')}", encoding="utf-8")


MOST_BYTES = 1_000_000_000
"""Bytes of the arrays of a .nc file at most: a few of its own can say that there are terabytes."""


def read(path: AnyPath) -> xr.Dataset:
    """A dataset that `write` wrote as ``.nc``. Raises `InputError` for anything else."""
    place = Path(path)
    check_suffix(place, (".nc",))  # the other formats hold the tidy table only
    if not place.is_file():
        raise InputError(f"{place}: no such file")
    import xarray as xr

    try:
        with xr.open_dataset(place, engine="h5netcdf") as figures:  # pyright: ignore[reportUnknownMemberType]
            if figures.nbytes <= MOST_BYTES:
                return figures.load()  # pyright: ignore[reportUnknownMemberType]
    except MemoryError:
        raise
    except Exception as error:  # a broken file leads to many
        raise InputError(f"{place}: not a netCDF file ({reason(error)})") from None
    raise InputError(f"{place}: expected figures of at most {MOST_BYTES:,} bytes, found {figures.nbytes:,}")


def check_suffix(path: AnyPath, allowed: Sequence[str] = ()) -> None:
    """Raise `InputError` where no format has the path's suffix (by default the formats of `write`), or where the
    libraries that write it are not installed.
    """
    allowed = allowed or SUFFIXES
    suffix = Path(path).suffix.lower()
    if suffix not in allowed:
        ending = Path(path).suffix or "none"
        raise InputError(
            f"{os.fspath(path)}: expected a name that ends in {', '.join(allowed)}, found {ending}"
        )
    for library in _LIBRARIES.get(suffix, ()):
        module(library)


def _parquet(rows: Any, path: str) -> None:
    Path(path).write_bytes(rows.to_parquet(index=False))  # pyarrow's own errors have no number


_RAW: ContextVar[bool] = ContextVar("headscope_raw_csv", default=False)

_RUN = tuple("=+-@\t\r＝＋－＠")  # with what a cell begins that a spreadsheet may run


@contextmanager
def raw_csv(raw: bool = True) -> Generator[None]:
    """Within it, or in what is started within it, cells of ``.csv`` files are written as they are."""
    before = _RAW.set(raw)
    try:
        yield
    finally:
        _RAW.reset(before)


def _csv(rows: Any, path: str) -> None:
    texts = rows.select_dtypes(exclude="number").columns
    cell = _cell if _RAW.get() else _calm
    cells = rows.assign(**{name: rows[name].astype(object).map(cell) for name in texts})
    cells.rename(columns=cell).to_csv(path, index=False)


def _cell(cell: Any) -> Any:
    """A cell whose lines end as those of the file do: another end would end the row."""
    return cell.replace("\r", "\n") if isinstance(cell, str) and "\r" in cell else cell


def _calm(cell: Any) -> Any:
    """A cell that no spreadsheet runs: behind a quote what is no figure and begins as a formula."""
    if not isinstance(cell, str) or not cell.startswith(_RUN):
        return _cell(cell)
    with suppress(ValueError):
        float(cell)
        return cell
    return f"'{_cell(cell)}"


def records(figures: Any) -> list[AnyDict]:
    """A table's rows as JSON has them, with every digit; None for what is no finite number."""
    rows = figures.astype(object).where(figures.notna(), None)
    return json_value(rows.to_dict(orient="records"))


def _json(figures: Any, path: str) -> None:
    rows = records(figures)
    Path(path).write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _probability(value: float) -> str:
    return f"{value:.4g}" if value >= 5e-5 else "<.0001"


def _tex(rows: Any, path: str) -> None:
    """A tabular with booktabs' rules under the labels of the columns (`headscope.measures.columns`), in four digits; a
    place without a figure is empty, and no probability is 0."""
    columns = [column(str(name)) for name in rows]
    rows = rows.set_axis([" ".join(one.label.split()) for one in columns], axis=1)
    text: str = rows.to_latex(
        index=False,
        escape=True,
        na_rep="",
        float_format="{:.4g}".format,
        formatters={one.label: _probability for one in columns if one.format == "probability"},
    )
    for sign, name in (("<", "less"), (">", "greater")):  # they are other signs in LaTeX's first encoding
        text = text.replace(sign, rf"\text{name}{{}}")
    Path(path).write_text(f"% \\usepackage{{booktabs}}\n{text}", encoding="utf-8")


_WRITERS: Mapping[str, Callable[[Any, str], None]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".json": _json,
    ".tex": _tex,
}

SUFFIXES = (*_WRITERS, ".nc")
"""Suffixes of the files that `write` writes."""

_LIBRARIES = {".parquet": ("pyarrow",), ".nc": ("h5netcdf", "h5py")}
"""Optional libraries that write them."""
