"""The report: one page about a model's heads, its figures and the explorer behind them."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import xarray as xr

from headscope.analyses.measure.section import Classes, Heads, Layers, Measures, Methods, Unmeasured
from headscope.errors import InputError
from headscope.heads import Head
from headscope.measures.confidence import CONFIDENCE
from headscope.measures.patterns import PATTERNS
from headscope.measures.surface import MEASURES
from headscope.reports.summary import Column, Summary
from headscope.views.blobs import Blobs
from headscope.views.columns import measure_names
from headscope.views.explorer import Input, explorer_payload
from headscope.views.page import page, plain_text
from headscope.views.payload import CorpusInfo, ExplorerPayload, MeasureInfo, ModelInfo, ReportPayload
from headscope.views.section import Section

FIGURES, TABLE = "figures", "table"
"""The parts of a report that come from the figures alone: curves and maps by layer, and the table of heads."""


@dataclass(frozen=True)
class Beside:
    """An example with the maps of two models: the report's own, and another.

    Attributes:
        first, second: what each shows; their labels name the models.
        state: what the explorer begins with.
    """

    first: Input
    second: Input
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])


def report_page(
    dataset: xr.Dataset,
    examples: Sequence[Input | Beside] = (),
    *,
    sections: Sequence[Section] = (),
    parts: Collection[str] = (FIGURES, TABLE),
    roles: Mapping[Head, str] | None = None,
    commands: Mapping[str, str | None] | None = None,
    title: str | None = None,
    exact: bool = False,
) -> str:
    """The report as HTML that needs nothing else: figures of every head, and the explorer behind them.

    Args:
        dataset: what `headscope.measure` returns: measures over ``(layer, head)``, each with ``_se``, ``_n``
            and ``_chance``.
        examples: inputs on which the page shows a head, one explorer each, or two models on an input. The layers and
            heads of their first part are the dataset's.
        sections: further sections, after the figures by layer and before the table.
        parts: which of `FIGURES` and `TABLE` the page has.
        roles: the leading role of heads that have one, for the summary.
        commands: what gives ``all`` figures, the ``surface`` ones and those of ``patterns`` again.
        title: the page's title; by default it names the model.
        exact: ship the maps in float32 instead of bytes (weights off by less than 0.004).
    """
    payload, texts = report_payload(
        dataset,
        examples,
        sections=sections,
        parts=parts,
        roles=roles,
        commands=commands,
        title=title,
        exact=exact,
    )
    return page(payload, texts, bundle="report", title=payload["title"])


def report_payload(
    dataset: xr.Dataset,
    examples: Sequence[Input | Beside] = (),
    *,
    sections: Sequence[Section] = (),
    parts: Collection[str] = (FIGURES, TABLE),
    roles: Mapping[Head, str] | None = None,
    commands: Mapping[str, str | None] | None = None,
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
    counts = {name: int(np.nan_to_num(_rows_of(dataset, name)).max()) for name in names}
    blobs = Blobs()
    commands = commands or {}
    shown: list[Section] = [
        Summary(columns, layers, heads, roles, sections),
        *(by_layer(measures, corpus, commands, counts) if FIGURES in parts else ()),
        *sections,
        *([Heads(commands.get("all"))] if TABLE in parts else ()),
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


def by_layer(
    measures: Sequence[MeasureInfo],
    corpus: CorpusInfo,
    commands: Mapping[str, str | None],
    counts: Mapping[str, int],
) -> list[Section]:
    """Figures 2 to 4: every measure as a map of heads and by layer; those of gradients have their own section.

    `counts` are the tokens (rows) that a measure is a mean over.
    """

    def n(drawn: Sequence[str]) -> str:
        """What the measures drawn are means over: a sink, for one, is looked for in long inputs only."""
        found = [counts[name] for name in drawn if counts.get(name)]
        tokens = ""
        if found:
            few, most = min(found), max(found)
            tokens = f"{most:,} tokens" if few == most else f"{few:,} to {most:,} tokens, by measure,"
        inputs = f"{corpus['examples']:,} inputs" if corpus["examples"] else ""
        said = " of ".join(part for part in (tokens, inputs) if part)
        return f" Means over {said.removesuffix(',')}." if said else ""

    names = [one["name"] for one in measures if not one["name"].startswith("gradient_")]
    shares = [one["name"] for one in measures if one["units"] == "share" and one["name"] in names]
    surface, patterns = commands.get("surface"), commands.get("patterns")
    looks = [name for name in shares if name not in PATTERNS and name not in CONFIDENCE]
    kinds = {
        "Attention to": {"separators": "sep", "[CLS]": "cls", "punctuation": "punctuation"},
        "Attention to separators from": {"separators": "sep_sep", "other tokens": "rest_sep"},
    }
    widely = [name for name in names if name not in shares]
    words = [name for name in shares if name in PATTERNS or name in CONFIDENCE]
    return [
        Measures(commands.get("all")),
        Layers(
            "Where heads look, by layer",
            f"Heads that give more than half of their attention are named.{n(looks)}",
            looks,
            surface,
        ),
        Classes(
            "Kinds of tokens, by layer",
            "Lines are means of layers, points heads. Left what all tokens give to each kind of token, right what "
            "separators and all others give to separators: a head that does nothing else leaves its attention there "
            f"(Clark et al. 2019, figure 2).{n([name for each in kinds.values() for name in each.values()])}",
            kinds,
            names,
            surface,
        ),
        Layers(
            "How widely heads look, by layer",
            f"A head at 0 nats looks at one token (Clark et al. 2019, figure 4).{n(widely)}",
            widely,
            surface,
        ),
        Layers(
            "Words, sentences and delimiters, by layer",
            f"Patterns after Vig 2018 and Voita et al. 2019, each a share of attention.{n(words)}",
            words,
            patterns,
        ),
    ]


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
