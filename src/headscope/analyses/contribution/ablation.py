"""What taking heads away does to a loss, or to any number of the output."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable, Sequence
from itertools import islice

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.attention.objective import Objective, Prepared
from headscope.attention.objective import objective as make_objective
from headscope.attention.record import AttentionRecord, Hook
from headscope.attention.recording import recording
from headscope.attention.scalar import Scalar
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.heads import Head
from headscope.measures.dataset import dataset
from headscope.measures.sums import Floats
from headscope.models import Model
from headscope.stream.inputs import Figures, figure, over_inputs
from headscope.stream.long import described, examples
from headscope.tokens import Tokens

NAMES = ("ablation", "ablated")
_SOURCE = "Michel et al. 2019, §3.2"


def ablation(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    objective: str | Scalar | Objective | None = None,
    heads: Sequence[Head | str] | None = None,
    together: bool = False,
    batch_size: int = 32,
    limit: int | None = None,
    progress: bool = False,
    command: str = "",
) -> xr.Dataset:
    """What silencing a head (all its weights 0) does to a number of the output, on average over inputs.

    One forward pass a batch as the model is, and one more for each head: layers × heads + 1 passes over the corpus
    (`estimate` says how long that takes). Silenced heads are not made up for: nothing is retrained or rescaled.

    Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?", section 3.2 (one head), 3.3 (several).

    Args:
        model: from `headscope.load`. Of an encoder-decoder the encoder's heads are silenced.
        corpus: from `headscope.corpora`, or examples that have their tokens.
        objective: the number of each input, as in `headscope.measure`; a masked language model sees the same masks
            in every pass.
        heads: these heads only, ``Head(7, 9)`` or ``"L7H9"``.
        together: silence all `heads` at once, in one pass.
        batch_size, limit, progress, command: as in `headscope.measure`.

    Returns:
        A dataset over ``(layer, head)``, NaN for heads not asked for: ``ablation``, the mean over inputs of the
        number without the head less the number with it (above 0: a loss is higher without the head), and
        ``ablated``, the mean of the number without the head; each with ``_se`` (clustered by document) and ``_n``
        (inputs), in units of the objective. The mean as the model is, is ``ablated - ablation``.
        With `together` the same without axes.

    Raises:
        InputError: heads that the model does not have, none with `together`; an unknown objective.
        RunError: the model failed on an input, which the message names.

    >>> found = ablation(model, headscope.corpora.builtin(), objective="cosine", heads=["L0H2", "L1H8"])
    >>> ablation(model, corpus, heads=["L0H2", "L1H8"], together=True).ablation.item()
    """
    of = make_objective(model, objective)
    chosen = (
        None if heads is None else [Head.parse(head) if isinstance(head, str) else head for head in heads]
    )
    if chosen is not None and not chosen:
        raise InputError("heads: expected at least one, found none")
    if together and chosen is None:
        raise InputError("heads: expected those that are silenced together, found none")
    if progress and isinstance(corpus, Corpus):
        print(
            estimate(model, corpus, objective=of, heads=chosen, batch_size=batch_size, limit=limit),
            file=sys.stderr,
            flush=True,
        )
    sums = over_inputs(
        model,
        corpus,
        NAMES,
        lambda tokens: _effects(of, tokens, chosen, together),
        batch_size=batch_size,
        limit=limit,
        progress=progress,
        title="ablation",
    )
    what = "with these heads silenced" if together else "with the head silenced"
    definitions = [
        figure(NAMES[0], "effect of ablation", f"Mean change of the objective {what}.", "objective", _SOURCE),
        figure(NAMES[1], "objective without", f"Mean of the objective {what}.", "objective", _SOURCE),
    ]
    meta = {**described(model, corpus), "objective": of.description, "command": command}
    options = {
        "objective": of.identity,
        "heads": None if chosen is None else [str(head) for head in chosen],
        "together": together,
        "batch_size": batch_size,
        "limit": limit,
    }
    meta["options"] = {name: value for name, value in options.items() if value is not None}
    found = dataset(sums, definitions, by="segment", causal=model.causal, meta=meta)
    if chosen is not None and not together:
        for name in NAMES:
            found[f"{name}_n"].values[:] = np.where(
                np.isfinite(found[name].values), found[f"{name}_n"].values, np.nan
            )
    return found.isel(layer=0, head=0, drop=True) if together else found


def estimate(
    model: Model,
    corpus: Corpus,
    *,
    objective: str | Scalar | Objective | None = None,
    heads: Sequence[Head | str] | None = None,
    batch_size: int = 32,
    limit: int | None = None,
) -> str:
    """One line that says what `ablation` will take, told from one batch. Arguments as there."""
    of = make_objective(model, objective)
    sample = [example.tokens for example in islice(examples(model, corpus, limit), min(batch_size, 8))]
    tokens = [each for each in sample if each is not None]
    if not tokens:
        raise InputError("corpus: expected at least one input, found none")
    count = sum(1 for _ in examples(model, corpus, limit))
    batch = of.prepare(tokens)
    seen = _run(batch, [])[1]
    started = time.perf_counter()
    _run(batch, [])
    each = (time.perf_counter() - started) / len(tokens)
    passes = 1 + (sum(seen.values()) if heads is None else len(heads))
    of.said.clear()
    return f"{count:,} inputs, {passes} forward passes each: about {count * passes * each:,.0f} s on {model.device}"


def _effects(
    of: Objective, tokens: Sequence[Tokens], chosen: Sequence[Head] | None, together: bool
) -> Figures:
    """The change and the number of each input, by head."""
    batch = of.prepare(tokens)
    plain, seen = _run(batch, [])
    if unknown := [head for head in chosen or () if not 0 <= head.head < seen.get(head.layer, 0)]:
        raise InputError(f"heads: this model has no {unknown[0]}")
    layers = sorted(seen)
    if together:
        without, _ = _run(batch, chosen or ())
        return Figures(layers[:1], np.stack([without - plain, without], 1)[:, :, None, None])
    values = np.full((len(tokens), 2, len(layers), max(seen.values())), np.nan)
    every = [Head(layer, head) for layer in layers for head in range(seen[layer])]
    said = of.said.copy()
    for head in every if chosen is None else chosen:
        without, _ = _run(batch, [head])
        place = layers.index(head.layer)
        values[:, 0, place, head.head], values[:, 1, place, head.head] = without - plain, without
    of.said.clear()
    of.said.update(said)
    return Figures(layers, values)


def _run(batch: Prepared, silent: Collection[Head]) -> tuple[Floats, dict[int, int]]:
    """Each input's number with some heads silenced, and how many heads each layer has."""
    seen: dict[int, int] = {}
    with torch.no_grad(), recording(batch.objective.module, _silencing(silent, seen), fused=True):
        numbers = batch.run()
    return numbers.double().cpu().numpy(), seen


def _silencing(silent: Collection[Head], seen: dict[int, int]) -> Hook:
    def hook(record: AttentionRecord) -> Tensor | None:
        if record.kind == "cross":
            return None
        seen[record.layer] = record.shape[1]
        here = [head.head for head in silent if head.layer == record.layer]
        if not here:
            return None
        weights = record.weights().clone()
        weights[:, here] = 0.0
        return weights

    return hook
