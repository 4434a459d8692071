"""The report: one page about a model's heads, its figures and the explorer behind them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope.core.heads import Head
from headscope.core.types import AnyMapping
from headscope.errors import InputError
from headscope.measures.dataset import (
    count_of,
    description,
    error_of,
    figures_of,
    interval_of,
    mean_chance_of,
    measure_names,
)
from headscope.reports.payload import CorpusInfo, MeasureInfo, ModelInfo, ReportPayload
from headscope.reports.sections import Standalone, absent, methods
from headscope.reports.summary import Summary
from headscope.views.blobs import Blobs
from headscope.views.explorer import Input, explorer_payload
from headscope.views.page import page
from headscope.views.payload import ExplorerPayload
from headscope.views.reasons import seen
from headscope.views.section import Section, SideBySide

HALVES = (
    ("A to B", "first half to second"),
    ("B to A", "second half to first"),
    ("text A", "the first half"),
    ("text B", "the second half"),
    ("the other text", "the other half"),
    ("its own text", "its own half"),
    ("other sentence", "other half"),
    ("own sentence", "own half"),
    ("a token of a text", "a token of one half"),
)
"""What texts A and B are called where the corpus has none: a model that was trained on two texts gets two stretches of
one, each of whole lines."""

NEURON_BYTES = 260_000
"""Up to how many bytes of queries and keys of named heads come with the examples (a neuron travels as a byte)."""


def report_page(
    dataset: xr.Dataset,
    examples: Sequence[Input | SideBySide] = (),
    *,
    sections: Sequence[Section] = (),
    **options: Any,
) -> str:
    """The report as HTML that needs nothing else: figures of every head, and the explorer behind them.

    It takes what `report_payload` takes.
    """
    payload, texts = report_payload(dataset, examples, sections=sections, **options)
    worker = any(isinstance(section, Standalone) for section in sections)
    return page(payload, texts, bundle="report", title=payload["title"], worker=worker)


def report_payload(
    dataset: xr.Dataset,
    examples: Sequence[Input | SideBySide] = (),
    *,
    sections: Sequence[Section] = (),
    unseen: Sequence[Section] = (),
    title: str | None = None,
    exact: bool = False,
    halves: bool = False,
    grid: xr.Dataset | None = None,
) -> tuple[ReportPayload, dict[str, str]]:
    """What the report's page is given: the payload, and its arrays in letters by the names of their scripts.

    Args:
        dataset: what `headscope.measure` returns: measures over ``(layer, head)``, each with ``_se``, ``_n``
            and ``_chance``.
        examples: inputs on which the page shows a head, one explorer each, or two models on an input. The layers and
            heads of their first part are the dataset's.
        sections: in the order of the page.
        unseen: sections that are not shown; their findings are in the summary.
        title: the page's title; by default it names the model.
        exact: ship the maps in float32 instead of bytes (weights off by less than 0.004).
        halves: texts A and B of an input are two stretches of one text, and not a pair that the corpus has.
        grid: the figures that stand beside the examples' grids; by default all.
    """
    layers = [int(layer) for layer in dataset["layer"].values]
    heads = [int(head) for head in dataset["head"].values]
    _check(examples, layers, heads)
    meta, names = description(dataset), measure_names(dataset)
    value, error, count, chance = (
        np.stack([figures(dataset, name) for name in names])
        for figures in (figures_of, error_of, count_of, mean_chance_of)
    )
    confidence = 1 - 0.05 / value[0].size  # Bonferroni: the intervals of all heads hold at once
    low = {name: interval_of(dataset, name, confidence=confidence)[0] for name in names}
    where, here = seen(examples, names, value, layers, heads)
    corpus = meta.get("corpus", {})
    measures = [_measure(dataset[name], name, halves=halves) for name in names]
    blobs = Blobs()
    made: list[Section] = [
        *sections,
        *absent(meta.get("absent", {})),
        methods(measures, corpus.get("document") or "", int(corpus.get("identical") or 0)),
    ]
    shown = [info for section in made if (info := section.info(blobs)) is not None]
    summary = Summary(
        dataset,
        dict(zip(names, value, strict=True)),
        low,
        dict(zip(names, chance, strict=True)),
        layers,
        heads,
        [*sections, *unseen],
        corpus.get("kind", "text"),
        shown,
        bool(examples),
    ).info(blobs)
    model = _model(meta.get("model", {}), len(layers), len(heads))
    opened = [
        _example(example, dataset if grid is None else grid, model, exact)
        for example in _with_neurons(examples, sections, names, where, layers, heads)
    ]
    payload = ReportPayload(
        kind="report",
        version=1,
        title=f"Where {model['name']} looks" if title is None else title,
        model=model,
        corpus=_corpus(corpus),
        measures=measures,
        layers=layers,
        heads=heads,
        value=blobs.plain(value),
        error=blobs.plain(error),
        count=blobs.plain(count),
        chance=blobs.plain(chance),
        seen=blobs.plain(where, "int32"),
        here=blobs.plain(here),
        sections=[summary, *shown] if summary else shown,
        examples=[explorer for explorer, _ in opened],
        options=_texts(meta.get("options", {})),
        versions=_texts(meta.get("versions", {})),
        command=_text(meta.get("command")),
        created=_text(meta.get("created")),
        seconds=meta.get("seconds"),
        route=_text(meta.get("route")),
    )
    texts = dict(blobs.texts)
    for place, (_, arrays) in enumerate(opened):
        texts |= {f"{place}-{name}": text for name, text in arrays.texts.items()}
    return payload, texts


def _measure(array: xr.DataArray, name: str, *, halves: bool) -> MeasureInfo:
    attrs = {"title": name.replace("_", " "), **array.attrs}
    if halves:
        for key in ("title", "description"):
            for phrase, meant in HALVES:
                attrs[key] = str(attrs.get(key, "")).replace(phrase, meant)
        if " half" in attrs["description"]:
            attrs["description"] += (
                " An input is two stretches of one text, each of whole lines: its first and its second half."
            )
    keys = ("title", "description", "units", "by", "over", "source")
    return MeasureInfo(name=name, **{key: str(attrs.get(key, "")) for key in keys})  # pyright: ignore[reportArgumentType]


def _with_neurons(
    examples: Sequence[Input | SideBySide],
    sections: Sequence[Section],
    names: Sequence[str],
    where: npt.NDArray[np.int32],
    layers: Sequence[int],
    heads: Sequence[int],
) -> list[Input | SideBySide]:
    """The examples, with queries and keys of the heads that sections open on them, as long as `NEURON_BYTES` lasts.

    The sections take turns, so that none uses it up.
    """
    room = NEURON_BYTES
    opened: dict[int, set[Head]] = {}
    for turn in zip_longest(*(section.named() for section in sections)):
        for head, place in (pair for pair in turn if pair is not None):
            if not isinstance(place, int):
                at = (
                    (names.index(place), layers.index(head.layer), heads.index(head.head))
                    if place in names
                    else None
                )
                place = -1 if at is None else int(where[(*at, 0)])
            if place < 0 or head in opened.get(place, ()):
                continue
            size = sum(_neuron_bytes(side, head) for side in _inputs(examples[place]))
            if 0 < size <= room:
                room -= size
                opened.setdefault(place, set()).add(head)
    return [_opened(example, opened.get(place, ())) for place, example in enumerate(examples)]


def _neuron_bytes(example: Input, head: Head) -> int:
    """What queries and keys of a head add to the page; 0 where there are none or all are there."""
    neurons = example.neurons.get(example.part())
    if neurons is None or example.opened is None or head.layer not in example.first.index:
        return 0
    place = list(example.first.index).index(head.layer)
    vectors, bias = (neurons.q[place][0], neurons.k[place][0]), neurons.bias[place]
    scales = sum(8 * vector.shape[1] for vector in vectors)  # each neuron's range, two float32
    return sum(vector.size for vector in vectors) + scales + (0 if bias is None else 4 * bias[0].size)


def _inputs(example: Input | SideBySide) -> list[Input]:
    return [example.first, example.second] if isinstance(example, SideBySide) else [example]


def _opened(example: Input | SideBySide, heads: Collection[Head]) -> Input | SideBySide:
    if isinstance(example, SideBySide):
        return replace(
            example, first=replace(example.first, opened=heads), second=replace(example.second, opened=heads)
        )
    return example if example.opened is None else replace(example, opened=heads)


def _check(examples: Sequence[Input | SideBySide], layers: Sequence[int], heads: Sequence[int]) -> None:
    """Refuse examples with a layer or head that the figures have not."""
    for place, example in enumerate(examples):
        maps = _inputs(example)[0].first
        unknown = sorted(set(maps.index) - set(layers))
        if unknown:
            raise InputError(f"examples[{place}], axis layer: the figures have no layer {unknown[0]}")
        widest = max(len(layer) for layer in maps.layers)
        if widest > max(heads) + 1:
            raise InputError(
                f"examples[{place}], axis head: the figures have heads up to {max(heads)}, found {widest} heads"
            )


def _example(
    example: Input | SideBySide, dataset: xr.Dataset, model: ModelInfo, exact: bool
) -> tuple[ExplorerPayload, Blobs]:
    state = example.state if isinstance(example, SideBySide) else None
    payload, blobs = explorer_payload(
        _inputs(example), model=model["name"], measures=dataset, state=state, exact=exact
    )
    for shown in payload["inputs"]:
        if shown.get("unseen") == model["unseen"]:  # it stands at the top of the page
            shown.pop("unseen")
    return payload, blobs


def _model(model: AnyMapping, layers: int, heads: int) -> ModelInfo:
    return ModelInfo(
        name=_text(model.get("name")) or "the model",
        layers=model.get("layers") or layers,
        heads=model.get("heads") or heads,
        parameters=model.get("parameters"),
        dtype=_text(model.get("dtype")),
        causal=bool(model.get("causal", False)),
        revision=_text(model.get("revision")),
        unseen=_text(model.get("unseen")) or "",
    )


def _corpus(corpus: AnyMapping) -> CorpusInfo:
    return CorpusInfo(
        noun=corpus.get("noun", "examples"),
        name=_text(corpus.get("name")) or "",
        documents=corpus.get("documents"),
        examples=corpus.get("examples"),
        tokens=corpus.get("tokens"),
        words=corpus.get("words"),
        split_words=corpus.get("split_words"),
        shares={**corpus.get("shares", {})},
    )


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _texts(values: AnyMapping) -> dict[str, str]:
    return {key: _text(value) or "" for key, value in values.items()}
