"""Figures as labelled arrays, as tidy tables, and on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.errors import InputError
from headscope.heads import Head
from headscope.measures.files import netcdf, replacing
from headscope.measures.measure import Measure, without
from headscope.measures.sums import By, Sums

COLUMNS = ("layer", "head", "paper", "measure", "value", "se", "n", "chance")
"""Columns of the tidy table; ``paper`` is the 1-based label."""

_PARTS = ("_se", "_n", "_chance")


def dataset(
    sums: Sums,
    measures: Sequence[Measure],
    *,
    by: By = "token",
    causal: bool = False,
    over: str = "pieces",
    meta: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Figures over ``(layer, head)``: a measure ``m`` has ``m``, ``m_se``, ``m_n`` and ``m_chance``.

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
    sums = sums.closed()
    counts = {name[6:]: count for name, count in sums.counts.items() if name.startswith("class ")}
    absent = without(measures, causal, counts, sums.n > 0)
    value, error, chance = sums.value(), sums.error(), sums.by_chance()
    there = np.isfinite(sums.s[0])
    variables: dict[str, Any] = {}
    for place, measure in enumerate(measures):
        if measure.name in absent:
            continue
        attrs = {
            "title": measure.title,
            "description": measure.description,
            "units": measure.units,
            "by": by,
            "over": over,
            "source": measure.source,
            "cites": " ".join(
                measure.keys
            ),  # not "keys": xarray would take a variable that has them for a mapping
            "documents": int(sums.documents[place]),
        }
        variables[measure.name] = (("layer", "head"), value[place], attrs)
        variables[f"{measure.name}_se"] = (("layer", "head"), error[place])
        variables[f"{measure.name}_n"] = (("layer", "head"), np.where(there, sums.n[place], np.nan))
        variables[f"{measure.name}_chance"] = (("layer",), chance[place])
    described = dict(meta or {})
    described["corpus"] = {**described.get("corpus", {}), **_corpus(sums, counts)}
    described["absent"] = absent
    return xr.Dataset(
        variables,
        coords={"layer": list(sums.layers), "head": np.arange(sums.s.shape[2])},
        attrs={"meta": json.dumps(described, ensure_ascii=False)},
    )


def _corpus(sums: Sums, counts: Mapping[str, int]) -> dict[str, Any]:
    known = ("documents", "examples", "tokens", "words", "split_words")
    found: dict[str, Any] = {name: sums.counts.get(name, 0) for name in known}
    total = max(1, found["tokens"])
    split = found["split_words"] / found["words"] if found["words"] else None
    return {**found, "split_words": split, "shares": {name: count / total for name, count in counts.items()}}


def names(found: xr.Dataset) -> list[str]:
    """The measures of a dataset."""
    variables = [str(name) for name in found.data_vars]
    return [
        name
        for name in variables
        if not any(name.endswith(part) and name.removesuffix(part) in variables for part in _PARTS)
    ]


def table(found: xr.Dataset) -> pd.DataFrame:
    """One row a figure, with `COLUMNS`. Heads that a layer does not have have no row."""
    frames: list[pd.DataFrame] = []
    layer, head = np.meshgrid(found["layer"].values, found["head"].values, indexing="ij")
    for name in names(found):
        value = found[name].transpose("layer", "head").values
        keep = np.isfinite(value)
        chance = np.broadcast_to(found[f"{name}_chance"].values[:, None], value.shape)
        frames.append(
            pd.DataFrame(
                {
                    "layer": layer[keep].astype(np.int64),
                    "head": head[keep].astype(np.int64),
                    "paper": [
                        Head(int(a), int(b)).paper for a, b in zip(layer[keep], head[keep], strict=True)
                    ],
                    "measure": name,
                    "value": value[keep],
                    "se": found[f"{name}_se"].values[keep],
                    "n": found[f"{name}_n"].values[keep].astype(np.int64),
                    "chance": chance[keep],
                }
            )
        )
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(COLUMNS))


def write(
    found: xr.Dataset, path: str | os.PathLike[str], rows: Callable[[xr.Dataset], pd.DataFrame] = table
) -> None:
    """Write figures in the format that the suffix names: the tidy table, or the dataset itself as ``.nc``.

    `rows` makes the tidy table. The file is written whole or not at all: one that is there already stays good
    until then. Raises `InputError` for an unknown suffix and a place where nothing can be written, `RunError`
    when the disk is full.
    """
    check_suffix(path)
    if Path(path).suffix.lower() != ".nc":
        write_table(rows(found), path)
        return
    with replacing(path) as place:
        netcdf(found, place)


def write_table(rows: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a tidy table as ``.parquet``, ``.csv`` or ``.json``. Raises as `write` does."""
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise InputError(
            f"{os.fspath(path)}: expected a name that ends in {', '.join(_WRITERS)}, found {suffix or 'none'}"
        )
    with replacing(path) as place:
        _WRITERS[suffix](rows, os.fspath(place))


def read(path: str | os.PathLike[str]) -> xr.Dataset:
    """A dataset that `write` wrote as ``.nc``. Raises `InputError` for anything else."""
    place = Path(path)
    if place.suffix.lower() != ".nc":
        raise InputError(f"{place}: expected a .nc file; the other formats hold the tidy table only")
    if not place.is_file():
        raise InputError(f"{place}: no such file")
    try:
        return xr.load_dataset(place, engine="h5netcdf")  # pyright: ignore[reportUnknownMemberType]
    except (OSError, ValueError) as error:
        raise InputError(f"{place}: not a netCDF file ({error})") from None


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise `InputError` where nothing can be written: to be told before a long run, not after it."""
    place = Path(path)
    if not place.parent.is_dir():
        raise InputError(f"{place}: cannot be written (no such folder)")
    if place.is_dir():
        raise InputError(f"{place}: cannot be written (a folder)")


def check_suffix(path: str | os.PathLike[str], allowed: Sequence[str] = ()) -> None:
    """Raise `InputError` where no format has the path's suffix; by default the formats of `write`."""
    allowed = allowed or [*_WRITERS, ".nc"]
    if Path(path).suffix.lower() not in allowed:
        found = Path(path).suffix or "none"
        raise InputError(
            f"{os.fspath(path)}: expected a name that ends in {', '.join(allowed)}, found {found}"
        )


def _parquet(found: Any, path: str) -> None:
    found.to_parquet(path, index=False)


def _csv(found: Any, path: str) -> None:
    found.to_csv(path, index=False)


def _json(found: Any, path: str) -> None:
    rows = found.astype(object).where(found.notna(), None).to_dict(orient="records")
    Path(path).write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


_WRITERS: Mapping[str, Callable[[Any, str], None]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".json": _json,
}
