"""Attention between the sentences of long texts, and the heads whose attention few sentences receive.

A text in sentences: every character is in one.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import torch
import xarray as xr

from headscope.analyses.result import returns_result
from headscope.attention.one import output_of
from headscope.attention.parts import doubles
from headscope.attention.record import AttentionRecord
from headscope.core.arrays import Bools, Floats, of_layers
from headscope.core.counts import plural
from headscope.core.heads import AnyHead, Head
from headscope.core.lazy import module
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Number, validated
from headscope.errors import InputError, RefusedError
from headscope.measures.dataset import describe, description
from headscope.measures.tidy import tidy
from headscope.models import Model
from headscope.runs.long import described
from headscope.runs.options import COMMAND
from headscope.runs.progress import bar
from headscope.statistics.jackknife import ends, error, false_discovery, interval, skewness
from headscope.views.blocks import Block, rows_of
from headscope.views.charts import Figure, map_of_heads, meta_of, model_name

Unit = Literal["sentence", "line", "paragraph"]

_ENDS: dict[Unit, re.Pattern[str]] = {
    "sentence": re.compile(r"[.!?…。！？]+[\"'”’)\]]*(?:\s+|(?<=[。！？]))|\n+\s*"),
    "line": re.compile(r"\n\s*"),
    "paragraph": re.compile(r"\n[^\S\n]*\n\s*"),
}

_ABBREVIATED = re.compile(
    r"(?<!\w)(?:[A-Zzdu]|Drs?|Mr|Mrs|Ms|Messrs|Prof|St|Sr|Rev|Gen|Col|Lt|Capt|Sgt|Sen|Rep|Gov|vs|viz|e\.\s?g|i\.\s?e|cf|ca"
    r"|approx|al|[Ff]igs?|[Ee]qs?|[Ss]ecs?|[Cc]h|[Vv]ol|[Tt]ab|z\.\s?B|d\.\s?h|u\.\s?a|[Bb]zw|[Vv]gl|[Aa]bb|[Hh]rsg)\.\Z"
)
"""What stands before a point that ends no sentence."""

_NUMBERED = re.compile(r"(?<!\w)(?:[Nn]os?|[Nn]r|[Pp]p?|[Aa]rt|S)\.\Z")
"""The same where a number follows."""

_WITHIN = re.compile(
    r"(?:\w\.\w|(?<!\w)(?:etc|inc|ltd|co|corp|dept|est|usw|jr))\.\Z|[\"'”’)\]]\s\Z", re.IGNORECASE
)
"""The same where a small letter follows; or a quotation that ends."""


def _ends(text: str, unit: Unit) -> Iterator[int]:
    """Where stretches end."""
    for match in _ENDS[unit].finditer(text):
        after, point, end = text[match.end() : match.end() + 1], match.start() + 1, match.end()
        before = (text, max(0, point - 12), point)
        inside = "\n" not in match[0] and (
            _ABBREVIATED.search(*before)
            or (after.isdigit() and _NUMBERED.search(*before))
            or (after.islower() and (_WITHIN.search(*before) or _WITHIN.search(text, point, end)))
        )
        if unit == "sentence" and inside:
            continue
        yield match.end()


def split(text: str, unit: Unit = "sentence") -> list[tuple[int, int]]:
    """The stretches of a text, start and end by characters, with the white space behind each.

    A sentence ends with its mark and white space, or with a line; not behind an initial or an abbreviation that is
    known (English, some German), nor before a small letter.

    >>> text = "Let x be 2.5. Then?\\n\\nYes!"
    >>> [text[start:end] for start, end in split(text)]
    ['Let x be 2.5. ', 'Then?\\n\\n', 'Yes!']
    """
    edges = sorted({0, *_ends(text, unit), len(text)})
    kept: list[tuple[int, int]] = []
    for start, end in pairwise(edges):
        if kept and not text[start:end].strip():
            kept[-1] = (kept[-1][0], end)
        else:
            kept.append((start, end))
    return kept


COLUMNS = (
    *("layer", "head", "paper", "kurtosis", "ci_low", "ci_high", "chance", "p", "q"),
    *("sentence", "received", "text"),
)
"""Columns of the table: ``sentence`` is the one that receives most, of one text."""

FIGURES = {
    "kurtosis": "Fisher's kurtosis of what sentences receive, a mean over texts.",
    "kurtosis_low": "Lower end of its 95 % interval over texts.",
    "kurtosis_high": "Upper end of its 95 % interval over texts.",
    "p": "That sentences receive as if drawn from one normal distribution.",
    "q": "p, adjusted for all heads.",
}
"""Variables over heads, and what they are."""

LEAST = 5
"""How many sentences at least a test of a kurtosis takes."""

SHORT = 60
"""How many characters of a sentence are shown."""


class Maps(NamedTuple):
    """Attention between the sentences of one text, of so many tokens, ``[layer head later earlier]``; what each
    receives ``[layer head sentence]``, and their texts."""

    attention: Floats
    received: Floats
    texts: Sequence[str]
    layers: Sequence[int]
    tokens: int


def received(maps: Floats, seen: Floats, apart: int) -> Floats:
    """What sentences receive ``[… sentence]``, as a multiple of an even share; the last `apart` are left out.

    Args:
        maps: mean weights ``[… later sentence]``.
        seen: how many tokens each later sentence sees ``[later]``.
        apart: a sentence and the next are 1 apart.
    """
    size = maps.shape[-1]
    far: Bools = np.tri(size, size, -max(apart, 1), dtype=np.bool_)
    columns = far.any(0)
    total = np.where(far, maps * seen[:, None], 0.0).sum(-2)
    return total[..., columns] / far.sum(0)[columns]


def kurtosis(values: Floats) -> Floats:
    """Fisher's kurtosis over the last axis; 0 where all values are the same.

    >>> kurtosis(np.array([0.0, 0.0, 0.0, 0.0, 1.0])).round(2).item()
    0.25
    """
    away = values - values.mean(-1, keepdims=True)
    second, fourth = (away**2).mean(-1), (away**4).mean(-1)
    spread = second > 1e-24
    return np.where(spread, fourth / np.where(spread, second, 1.0) ** 2 - 3.0, 0.0)


def beyond_normal(values: Floats) -> Floats:
    """z of a kurtosis over the last axis, of draws from a normal distribution (Anscombe and Glynn 1983)."""
    spread = values.std(-1) > 1e-12
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of few sentences
        z = np.asarray(module("scipy.stats").kurtosistest(values, axis=-1).statistic)
    return np.where(spread, z, np.where(np.isfinite(values).all(-1), -np.inf, np.nan))


def dataset(texts: Sequence[Maps], meta: AnyMapping) -> xr.Dataset:
    """Label kurtoses.

    Args:
        texts: their maps, which are kept of one text.
        meta: what made them.
    """
    values = np.stack([kurtosis(text.received) for text in texts])
    mean = values.mean(0)
    many = np.full(mean.shape, float(len(values)))
    ones = np.ones_like(values)
    over = interval(mean, error(values, ones), many, skew=skewness(values, ones))
    z = sum(beyond_normal(text.received) for text in texts) / math.sqrt(len(texts))
    p = np.asarray(module("scipy.stats").norm.sf(z))
    figures = {
        **ends("kurtosis", mean, over),
        "p": p,
        "q": false_discovery(p.ravel()).reshape(p.shape),
    }
    variables: AnyDict = {name: (("layer", "head"), array) for name, array in figures.items()}
    variables["chance"] = ((), float(np.mean([-6 / (text.received.shape[-1] + 1) for text in texts])))
    coords: AnyDict = {"layer": list(texts[0].layers), "head": list(range(mean.shape[1]))}
    if len(texts) == 1:
        (maps,) = texts
        padded = np.full((*mean.shape, len(maps.texts)), np.nan)
        padded[..., : maps.received.shape[-1]] = maps.received
        variables["attention"] = ("layer", "head", "later", "sentence"), maps.attention.astype(np.float32)
        variables["received"] = ("layer", "head", "sentence"), padded
        coords |= {"sentence": np.arange(len(maps.texts)), "text": ("sentence", list(maps.texts))}
    result = xr.Dataset(variables, coords=coords, attrs=describe(meta))
    for name, about in FIGURES.items():
        units = "probability" if name in ("p", "q") else "kurtosis"
        result[name].attrs |= {"units": units, "description": about}
    return result


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a head, with `COLUMNS`, the highest kurtosis first."""
    figures = result[[*FIGURES, "chance"]].rename(kurtosis_low="ci_low", kurtosis_high="ci_high")
    if "received" in result:
        most = result["received"].fillna(-1.0).argmax("sentence")
        texts = [
            text if len(text) <= SHORT else f"{text[: SHORT - 1].rstrip()}…"
            for text in map(str, result["text"].values)
        ]
        figures = figures.assign(
            sentence=most,
            received=result["received"].max("sentence"),
            text=(most.dims, np.array(texts, object)[most.values]),
        )
    rows: Any = tidy(figures, ("layer", "head", "paper", *map(str, figures)), "kurtosis", ("layer", "head"))
    rows = rows.sort_values("kurtosis", ascending=False, kind="stable", ignore_index=True)
    return rows.reindex(columns=list(COLUMNS)).astype({"sentence": "Int64"})


def receivers(result: xr.Dataset, level: float = 0.05, most: int = 8) -> list[tuple[int, int]]:
    """The places of the heads with the highest kurtosis whose q is at most `level`; of none, those with the highest."""
    scores = np.nan_to_num(result["kurtosis"].values, nan=-np.inf)
    ranked = np.unravel_index(np.argsort(-scores, axis=None, kind="stable"), scores.shape)
    order = [(int(layer), int(head)) for layer, head in zip(*ranked, strict=True)]
    sure = [spot for spot in order if result["q"].values[spot] <= level]
    return (sure or order)[:most]


_WRITTEN = 46
"""The most sentences that a figure writes out; of more there are only the numbers."""


def figure(dataset: xr.Dataset, *, head: AnyHead | None = None, level: float = 0.05) -> Figure:
    """Where sentences look back, as a map of later against earlier sentences.

    Args:
        dataset: from `headscope.sentences`, of one text.
        head: whose map is drawn; by default the mean of the receiver heads, at most eight.
        level: receiver heads are those whose q is at most this.

    Raises `InputError` for figures of several texts, or for a head that the model has not.
    """
    if "attention" not in dataset:
        raise InputError("figure: expected figures of one text, found those of several, which have no map")
    meta, layers = meta_of(dataset), dataset["layer"].values.tolist()
    if head is None:
        spots = receivers(dataset, level)
        names = [str(Head(layers[layer], number)) for layer, number in spots]
        whose = f"mean of {len(spots)} heads: {', '.join(names)}" if len(spots) > 1 else names[0]
    else:
        one = Head.of(head)
        if one.layer not in layers or not 0 <= one.head < dataset.sizes["head"]:
            raise InputError(
                f"head: expected one of {len(layers)} layers of {dataset.sizes['head']}, found {one}"
            )
        spots, whose = [(layers.index(one.layer), one.head)], str(one)
    values = np.mean([dataset["attention"].values[spot] for spot in spots], 0).astype(np.float64)
    place = np.arange(len(values))
    far = place[:, None] - place >= max(int(meta["apart"]), 1)
    high = float(np.nanmax(np.where(far, values, 0.0))) or float(np.nanmax(values))
    written = [f"{text}  {number}" for number, text in enumerate(dataset["text"].values)]
    axes = xr.Dataset(coords={"sentence": written if len(written) <= _WRITTEN else place, "looked": place})
    chart = map_of_heads(
        axes,
        values,
        high,
        "mean weight of two tokens",
        "attention between sentences",
        root=True,
        across="looked",
        down="sentence",
    )
    chart["x"]["title"] = "sentence looked at"
    caption = " · ".join([model_name(meta["model"]), whose, f"{meta['tokens']:,} tokens"])
    return Figure([chart], caption, "Sentences", meta)


Stretch = tuple[int, int]


def findings(result: xr.Dataset) -> list[str | Block]:
    """The heads that look at few sentences."""
    rows: Any = table(result)
    about = description(result)
    return [
        f"{plural(about['sentences'], 'sentence')} of {plural(about['tokens'], 'token')}; "
        f"{int((rows['q'] <= 0.05).sum())} of {len(rows)} heads look at few sentences, surely (q ≤ .05)",
        *rows_of(rows, dropped=() if "received" in result else ("sentence", "received", "text")),
    ]


@returns_result
@validated
def sentences(
    model: Model,
    text: str | Sequence[str],
    *,
    spans: Sequence[tuple[int, int]] | None = None,
    unit: Unit = "sentence",
    apart: Number = 4,
    progress: bool = False,
) -> xr.Dataset:
    """Attention between the sentences of a long text, such as a reasoning trace, and its receiver heads.

    The map of two sentences is the mean weight over all pairs of a token of the later and a token of the earlier one.
    It is summed as the model runs, by blocks of queries: the maps of tokens are never whole in memory. The first token,
    where heads park their attention, and special tokens count for no sentence.

    What a sentence **receives** from a head is the mean of its column over sentences at least `apart` later, as a
    multiple of an even share: each row counts as often as it sees tokens, since weights are larger where there are few.
    A head whose attention few sentences receive has a high **kurtosis** over sentences (Fisher's: 0 for a normal
    distribution); such are receiver heads, and what they look at are the thought anchors of Bogdan et al., who take
    the mean of the weights as they are.

    - **p**: that sentences receive as if drawn from one normal distribution (Anscombe and Glynn 1983, one-sided; of
      several texts the sum of their z, Stouffer's). ``chance`` is the kurtosis of such draws. **q** over heads.
    - Of several texts kurtoses are means over texts, with intervals by the jackknife where there are five or more.

    Source: Bogdan et al. 2025, "Thought Anchors: Which LLM Reasoning Steps Matter?", section 4.

    Args:
        model: a causal model from `headscope.load`, with a tokenizer that says where pieces stand.
        text: one, or several.
        spans: of one text the stretches to take for sentences, start and end by characters, in order.
        unit: how a text is cut: by sentence, line or paragraph. Not where `spans` says it.
        apart: so many sentences at least lie between a sentence and what counts as received from later ones.
        progress: show a bar.

    Returns:
        A dataset over ``(layer, head)``: ``kurtosis`` with ``_low`` and ``_high``, ``p``, ``q``; ``chance``. Of one
        text also ``attention`` over ``(layer, head, later, sentence)``, NaN where a sentence is not seen; ``received``
        over ``(layer, head, sentence)``; ``text`` of each sentence. Its table has one row a head.

    Raises:
        InputError: a text of too few sentences or too long for the model, spans that overlap, or a model without a
            tokenizer.
        RefusedError: a model that sees later tokens, or a tokenizer that does not say where pieces stand.

    >>> import transformers
    >>> reader = headscope.load().tokenizer
    >>> config = transformers.GPT2Config(vocab_size=len(reader), n_embd=8, n_layer=2, n_head=2, n_positions=128)
    >>> small = headscope.load((transformers.GPT2LMHeadModel(config), reader))
    >>> text = "We try two. It fails. We try three. It holds. So it is three. Check it. Yes. Right. Done."
    >>> found = sentences(small, text)
    >>> found["attention"].shape, bool((found["q"] <= 0.05).any())
    ((2, 2, 9, 9), False)
    """
    texts = [text] if isinstance(text, str) else list(text)
    if not model.causal or model.encoder_decoder:
        raise RefusedError(
            f"{model.name}: expected a causal model, in which later sentences look at earlier ones"
        )
    if not texts:
        raise InputError("text: expected at least one, found none")
    if spans is not None and len(texts) > 1:
        raise InputError(f"spans: expected one text, found {len(texts)}")
    mapped: list[Maps] = []
    with bar(None, len(texts), progress, "texts") as moved:
        for number, passage in enumerate(texts):
            cut = split(passage, unit) if spans is None else list(spans)
            name = "text" if len(texts) == 1 else f"text {number + 1}"
            mapped.append(_mapped(model, passage, cut, name, apart))
            moved(1)
    meta: AnyDict = {
        "model": described(model, ())["model"],
        "texts": len(texts),
        "tokens": sum(text.tokens for text in mapped),
        "sentences": sum(len(text.texts) for text in mapped),
        "unit": None if spans is not None else unit,
        "apart": apart,
        "command": COMMAND.get(),
    }
    return dataset(mapped, meta)


def _mapped(model: Model, text: str, spans: Sequence[Stretch], name: str, apart: int) -> Maps:
    """The attention between the stretches of one text."""
    _check(text, spans, name)
    least = apart + LEAST
    if len(spans) < least:
        raise InputError(f"{name}: expected at least {least} sentences, found {len(spans)}")
    tokens = model.encode(text)
    if tokens.offsets is None:
        raise RefusedError(f"{model.name}: expected a tokenizer that says where its pieces stand in a text")
    of = np.full(len(tokens), -1)
    for number, (start, end) in enumerate(spans):
        first, last = tokens.offsets.T
        of[(first < end) & (last > start) & (last > first) & (of < 0)] = number
    of[tokens.mask("special")] = -1
    of[0] = -1
    counts = np.bincount(of[of >= 0], minlength=len(spans))
    if not counts.all():
        empty = int(np.flatnonzero(counts == 0)[0])
        start, end = spans[empty]
        raise InputError(f"{name}: expected tokens in every sentence, found none in {text[start:end]!r}")
    member = torch.zeros(len(tokens), len(spans), dtype=torch.float32, device=model.device)
    member[np.flatnonzero(of >= 0), of[of >= 0]] = 1.0
    sums: dict[int, torch.Tensor] = {}

    def keep(record: AttentionRecord) -> None:
        keys = member[record.key_offset : record.key_offset + record.shape[3]]
        total = torch.zeros(record.shape[1], len(spans), len(spans), device=member.device)
        for rows, weights in record.blocks():
            members = of[rows][of[rows] >= 0]
            if len(members):  # few sentences have a query among these rows
                few = slice(int(members.min()), int(members.max()) + 1)
                given = torch.einsum("hrk,rt->htk", weights[0].to(torch.float32), member[rows, few])
                total[:, few] += given @ keys
        sums[record.layer] = total

    with torch.no_grad():
        output_of(model, model.inputs([tokens]), keep)
    layers = sorted(sums)
    pairs = counts[:, None] * counts[None].astype(np.float64)
    maps = of_layers([doubles(sums[layer]) / pairs for layer in layers])
    maps[..., np.triu(np.ones((len(spans), len(spans)), np.bool_), 1)] = np.nan
    before = np.cumsum(of >= 0)
    seen = np.array([before[of == number].mean() for number in range(len(spans))])
    pieces = [text[start:end].strip() for start, end in spans]
    return Maps(maps, received(maps, seen, apart), pieces, layers, len(tokens))


def _check(text: str, spans: Sequence[Stretch], name: str) -> None:
    before = 0
    for start, end in spans:
        if not before <= start < end <= len(text):
            raise InputError(
                f"{name}: expected spans in order that do not overlap, within {len(text):,} characters, "
                f"found {(start, end)} behind {before}"
            )
        before = end
