"""Attention between the sentences of long texts, and the heads whose attention few sentences receive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr

from headscope.analyses.result import returns_result
from headscope.analyses.sentences import statistics
from headscope.analyses.sentences.split import Unit, split
from headscope.attention.one import running
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import evaluating, recording
from headscope.core.arrays import Floats
from headscope.core.validation import Number, validated
from headscope.errors import InputError, RefusedError
from headscope.models import Model
from headscope.models.model import uncached
from headscope.runs.long import described
from headscope.runs.progress import bar
from headscope.runs.provenance import COMMAND

Stretch = tuple[int, int]


class _Text(NamedTuple):
    """A text, its stretches by characters, attention between them ``[layer head later earlier]``, and how many tokens
    each sees."""

    text: str
    spans: Sequence[Stretch]
    maps: Floats
    seen: Floats
    layers: Sequence[int]
    tokens: int


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
    mapped: list[_Text] = []
    with bar(None, len(texts), progress, "texts") as moved:
        for number, passage in enumerate(texts):
            cut = split(passage, unit) if spans is None else list(spans)
            name = "text" if len(texts) == 1 else f"text {number + 1}"
            mapped.append(_mapped(model, passage, cut, name, apart))
            moved(1)
    received = [statistics.received(text.maps, text.seen, apart) for text in mapped]
    meta: dict[str, Any] = {
        "model": described(model, ())["model"],
        "texts": len(texts),
        "tokens": sum(text.tokens for text in mapped),
        "sentences": sum(len(text.spans) for text in mapped),
        "unit": None if spans is not None else unit,
        "apart": apart,
        "command": COMMAND.get(),
    }
    only = mapped[0] if len(mapped) == 1 else None
    shown = None
    if only is not None:
        pieces = [only.text[start:end].strip() for start, end in only.spans]
        shown = statistics.Maps(only.maps, received[0], pieces)
    return statistics.dataset(received, mapped[0].layers, meta, shown)


def _mapped(model: Model, text: str, spans: Sequence[Stretch], name: str, apart: int) -> _Text:
    """The attention between the stretches of one text."""
    _check(text, spans, name)
    least = apart + statistics.LEAST
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

    ready, module = model.inputs([tokens]), model.module
    with torch.no_grad(), evaluating(module), recording(module, keep, fused=True), running(model, ready):
        module(**ready, **uncached(module))
    layers = sorted(sums)
    pairs = counts[:, None] * counts[None].astype(np.float64)
    maps = np.full((len(layers), max(len(array) for array in sums.values()), len(spans), len(spans)), np.nan)
    hidden = np.triu(np.ones((len(spans), len(spans)), np.bool_), 1)
    for place, layer in enumerate(layers):
        means = sums[layer].double().cpu().numpy() / pairs
        maps[place, : len(means)] = np.where(hidden, np.nan, means)
    before = np.cumsum(of >= 0)
    seen = np.array([before[of == number].mean() for number in range(len(spans))])
    return _Text(text, spans, maps, seen, layers, len(tokens))


def _check(text: str, spans: Sequence[Stretch], name: str) -> None:
    before = 0
    for start, end in spans:
        if not before <= start < end <= len(text):
            raise InputError(
                f"{name}: expected spans in order that do not overlap, within {len(text):,} characters, "
                f"found {(start, end)} behind {before}"
            )
        before = end
