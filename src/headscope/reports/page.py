"""The report: one page about a model's heads, its figures and the explorer behind them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope.errors import InputError
from headscope.measures.surface import MEASURES
from headscope.reports.sections import Methods, Unmeasured
from headscope.reports.summary import Column, Summary
from headscope.views.blobs import Blobs
from headscope.views.columns import measure_names
from headscope.views.explorer import Input, explorer_payload
from headscope.views.page import page, plain_text
from headscope.views.payload import CorpusInfo, ExplorerPayload, MeasureInfo, ModelInfo, ReportPayload
from headscope.views.section import Beside, Section


def report_page(
    dataset: xr.Dataset,
    examples: Sequence[Input | Beside] = (),
    *,
    sections: Sequence[Section] = (),
    unseen: Sequence[Section] = (),
    title: str | None = None,
    exact: bool = False,
) -> str:
    """The report as HTML that needs nothing else: figures of every head, and the explorer behind them.

    Args:
        dataset: what `headscope.measure` returns: measures over ``(layer, head)``, each with ``_se``, ``_n``
            and ``_chance``.
        examples: inputs on which the page shows a head, one explorer each, or two models on an input. The layers and
            heads of their first part are the dataset's.
        sections: in the order of the page.
        unseen: sections that are not shown; their findings are in the summary.
        title: the page's title; by default it names the model.
        exact: ship the maps in float32 instead of bytes (weights off by less than 0.004).
    """
    payload, texts = report_payload(
        dataset, examples, sections=sections, unseen=unseen, title=title, exact=exact
    )
    return page(payload, texts, bundle="report", title=payload["title"])


def report_payload(
    dataset: xr.Dataset,
    examples: Sequence[Input | Beside] = (),
    *,
    sections: Sequence[Section] = (),
    unseen: Sequence[Section] = (),
    title: str | None = None,
    exact: bool = False,
) -> tuple[ReportPayload, dict[str, str]]:
    """What the report's page is given: the payload, and its arrays in base64 by the names of their scripts."""
    names = measure_names(dataset)
    layers = [int(layer) for layer in dataset["layer"].values]
    heads = [int(head) for head in dataset["head"].values]
    meta = _meta(dataset)
    model = _model(meta.get("model"), len(layers), len(heads))
    columns = [_column(dataset, name) for name in names]
    measures = [_measure(dataset[name], name) for name in names]
    absent = {str(name): str(reason) for name, reason in _mapping(meta.get("absent")).items()}
    corpus = _corpus(meta.get("corpus"))
    blobs = Blobs()
    shown: list[Section] = [
        Summary(columns, layers, heads, [*sections, *unseen]),
        *sections,
        Unmeasured(absent),
        Methods(),
    ]
    beside = dataset[[str(name) for name in dataset.data_vars if _base(str(name)) in MEASURES]]
    opened = [
        _example(one, place, beside if beside else dataset, layers, heads, model["name"], exact)
        for place, one in enumerate(examples)
    ]
    payload = ReportPayload(
        kind="report",
        version=1,
        title=f"Where {model['name']} looks" if title is None else plain_text(title),
        model=model,
        corpus=corpus,
        measures=measures,
        layers=layers,
        heads=heads,
        value=blobs.plain(np.stack([column.values for column in columns])),
        error=blobs.plain(np.stack([_over(dataset, f"{name}_se", ("layer", "head")) for name in names])),
        count=blobs.plain(np.stack([_rows_of(dataset, name) for name in names])),
        chance=blobs.plain(np.stack([column.chance for column in columns])),
        sections=[info for section in shown if (info := section.info(blobs)) is not None],
        examples=[one for one, _ in opened],
        options=_texts(meta.get("options")),
        versions=_texts(meta.get("versions")),
        command=_text(meta.get("command")),
        created=_text(meta.get("created")),
        seconds=_number(meta.get("seconds")),
        route=_text(meta.get("route")),
    )
    texts = dict(blobs.texts)
    for place, (_, arrays) in enumerate(opened):
        texts |= {f"{place}-{name}": text for name, text in arrays.texts.items()}
    return payload, texts


def _base(name: str) -> str:
    """The measure of a variable of a dataset."""
    for part in ("_se", "_n", "_chance"):
        if name not in MEASURES:
            name = name.removesuffix(part)
    return name


def _column(dataset: xr.Dataset, name: str) -> Column:
    values = _over(dataset, name, ("layer", "head"))
    info = _measure(dataset[name], name)
    return Column(name, info["title"], info["units"], values, _over(dataset, f"{name}_chance", ("layer",)))


def _rows_of(dataset: xr.Dataset, name: str) -> npt.NDArray[np.float64]:
    """The rows that a figure is a mean over ``[layer head]``."""
    return _over(dataset, f"{name}_n", ("layer", "head"))


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
    one: Input | Beside,
    place: int,
    dataset: xr.Dataset,
    layers: Sequence[int],
    heads: Sequence[int],
    model: str,
    exact: bool,
) -> tuple[ExplorerPayload, Blobs]:
    first = one.first if isinstance(one, Beside) else one
    maps = next(iter(first.parts.values()))
    unknown = sorted(set(maps.index) - set(layers))
    if unknown:
        raise InputError(f"examples[{place}], axis layer: the figures have no layer {unknown[0]}")
    widest = max(len(layer) for layer in maps.layers)
    if widest > max(heads) + 1:
        raise InputError(
            f"examples[{place}], axis head: the figures have heads up to {max(heads)}, found {widest} heads"
        )
    inputs, state = ([one.first, one.second], one.state) if isinstance(one, Beside) else ([one], None)
    return explorer_payload(inputs, model=model, measures=dataset, state=state, exact=exact)


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
