"""The report: one page about a model's heads."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope.errors import InputError
from headscope.maps import AttentionMaps
from headscope.tokens import Tokens
from headscope.views.page import page, plain_text
from headscope.views.payload import (
    Absent,
    Blobs,
    CorpusInfo,
    ExampleInfo,
    MeasureInfo,
    ModelInfo,
    ReportPayload,
)
from headscope.views.summary import Column, summary

ORDER = (
    "previous",
    "current",
    "next",
    "first",
    "cls",
    "sep",
    "sep_sep",
    "rest_sep",
    "punctuation",
    "largest",
    "entropy",
    "entropy_first",
)
"""The order in which a reader meets the measures; others follow by name, entropies last."""


def report_page(
    dataset: xr.Dataset,
    examples: Sequence[AttentionMaps] = (),
    *,
    title: str | None = None,
    exact: bool = False,
) -> str:
    """The report as HTML that needs nothing else: figures of every head, and maps of inputs behind them.

    Args:
        dataset: what `headscope.measure` returns: measures over ``(layer, head)``, each with ``_se``, ``_n``
            and ``_chance``.
        examples: maps of inputs on which the page shows a head. Their layers and heads are the dataset's.
        title: the page's title; by default it names the model.
        exact: ship the maps in float32 instead of bytes (weights off by less than 0.004).
    """
    payload, blobs = report_payload(dataset, examples, title=title, exact=exact)
    return page(payload, blobs.texts, bundle="report", title=payload["title"])


def report_payload(
    dataset: xr.Dataset,
    examples: Sequence[AttentionMaps] = (),
    *,
    title: str | None = None,
    exact: bool = False,
) -> tuple[ReportPayload, Blobs]:
    """What the report's page is given: the payload, and the arrays beside it."""
    names = measure_names(dataset)
    layers = [int(layer) for layer in dataset["layer"].values]
    heads = [int(head) for head in dataset["head"].values]
    meta = _meta(dataset)
    model = _model(meta.get("model"), len(layers), len(heads))
    columns = [_column(dataset, name) for name in names]
    blobs = Blobs()
    payload = ReportPayload(
        kind="report",
        version=1,
        title=f"Where {model['name']} looks" if title is None else plain_text(title),
        model=model,
        corpus=_corpus(meta.get("corpus")),
        measures=[_measure(dataset[name], name) for name in names],
        layers=layers,
        heads=heads,
        value=blobs.plain(np.stack([column.values for column in columns])),
        error=blobs.plain(np.stack([_over(dataset, f"{name}_se", ("layer", "head")) for name in names])),
        count=blobs.plain(np.stack([_over(dataset, f"{name}_n", ("layer", "head")) for name in names])),
        chance=blobs.plain(np.stack([column.chance for column in columns])),
        summary=summary(columns, layers, heads),
        absent=[
            Absent(measure=str(name), reason=str(reason))
            for name, reason in _mapping(meta.get("absent")).items()
        ],
        examples=[_example(blobs, maps, place, layers, heads, exact) for place, maps in enumerate(examples)],
        options=_texts(meta.get("options")),
        versions=_texts(meta.get("versions")),
        command=_text(meta.get("command")),
        created=_text(meta.get("created")),
        seconds=_number(meta.get("seconds")),
        route=_text(meta.get("route")),
    )
    return payload, blobs


def measure_names(dataset: xr.Dataset) -> list[str]:
    """The measures of a dataset, in reading order. `InputError` when there is none."""
    parts = ("_se", "_n", "_chance")
    names = [str(name) for name in dataset.data_vars]
    bases = set(names)

    def is_part(name: str) -> bool:
        return any(name.endswith(end) and name.removesuffix(end) in bases for end in parts)

    found = [name for name in names if not is_part(name) and set(dataset[name].dims) == {"layer", "head"}]
    if not found:
        raise InputError(
            f"dataset: expected measures over (layer, head), found {', '.join(names) or 'nothing'}"
        )

    def rank(name: str) -> tuple[int, bool, float, str]:
        if name in ORDER:
            return (ORDER.index(name), False, 0.0, name)
        entropy = ORDER.index("entropy")
        return (entropy - 1, True, _offset(name), name)

    return sorted(found, key=rank)


def _offset(name: str) -> float:
    try:
        return float(name.removeprefix("offset")) if name.startswith("offset") else math.inf
    except ValueError:
        return math.inf


def _column(dataset: xr.Dataset, name: str) -> Column:
    values = _over(dataset, name, ("layer", "head"))
    info = _measure(dataset[name], name)
    return Column(name, info["title"], info["units"], values, _over(dataset, f"{name}_chance", ("layer",)))


def _over(dataset: xr.Dataset, name: str, dims: tuple[str, ...]) -> npt.NDArray[np.float64]:
    if name not in dataset.data_vars:
        return np.full([dataset.sizes[dim] for dim in dims], np.nan)
    array = dataset[name]
    if set(array.dims) != set(dims):
        raise InputError(
            f"dataset: expected {name} over ({', '.join(dims)}), found ({', '.join(map(str, array.dims))})"
        )
    return np.asarray(array.transpose(*dims).values, dtype=np.float64)


def _measure(array: xr.DataArray, name: str) -> MeasureInfo:
    attrs: dict[str, Any] = {str(key): value for key, value in array.attrs.items()}

    def attr(key: str, otherwise: str = "") -> str:
        return str(attrs.get(key, otherwise))

    return MeasureInfo(
        name=name,
        title=attr("title", name.replace("_", " ")),
        description=attr("description"),
        units=attr("units"),
        by=attr("by"),
        over=attr("over"),
        source=attr("source"),
    )


def _example(
    blobs: Blobs, maps: AttentionMaps, place: int, layers: Sequence[int], heads: Sequence[int], exact: bool
) -> ExampleInfo:
    unknown = sorted(set(maps.index) - set(layers))
    if unknown:
        raise InputError(f"examples[{place}], axis layer: the figures have no layer {unknown[0]}")
    widest = max(len(layer) for layer in maps.layers)
    if widest > max(heads) + 1:
        raise InputError(
            f"examples[{place}], axis head: the figures have heads up to {max(heads)}, found {widest} heads"
        )
    return ExampleInfo(
        query=list(maps.query.pieces),
        key=list(maps.key.pieces),
        query_sequences=_sequences(maps.query),
        key_sequences=_sequences(maps.key),
        causal=maps.causal,
        index=[int(number) for number in maps.index],
        layers=[blobs.weights(layer, exact=exact) for layer in maps.layers],
    )


def _sequences(tokens: Tokens) -> list[int] | None:
    return None if tokens.sequence_ids is None else [int(number) for number in tokens.sequence_ids]


def _meta(dataset: xr.Dataset) -> Mapping[str, Any]:
    meta = dataset.attrs.get("meta", {})
    if isinstance(meta, str):
        try:
            meta = json.loads(meta)
        except ValueError as error:
            raise InputError(f"dataset.attrs['meta']: expected JSON, found {meta[:40]!r}: {error}") from None
    return _mapping(meta)


def _model(found: Any, layers: int, heads: int) -> ModelInfo:
    model = _mapping(found)
    return ModelInfo(
        name=_text(model.get("name")) or "the model",
        layers=_count(model.get("layers")) or layers,
        heads=_count(model.get("heads")) or heads,
        parameters=_count(model.get("parameters")),
        dtype=_text(model.get("dtype")),
        causal=bool(model.get("causal", False)),
        revision=_text(model.get("revision")),
    )


def _corpus(found: Any) -> CorpusInfo:
    corpus = _mapping(found)
    shares = {str(name): _number(share) for name, share in _mapping(corpus.get("shares")).items()}
    return CorpusInfo(
        name=_text(corpus.get("name")) or "",
        documents=_count(corpus.get("documents")),
        examples=_count(corpus.get("examples")),
        tokens=_count(corpus.get("tokens")),
        words=_count(corpus.get("words")),
        split_words=_number(corpus.get("split_words")),
        shares={name: share for name, share in shares.items() if share is not None},
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return plain_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _texts(value: Any) -> dict[str, str]:
    return {str(key): _text(item) or "" for key, item in _mapping(value).items()}


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _count(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
