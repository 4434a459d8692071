"""What taking heads away does to a loss, or to any number of the output."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Unpack

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.contribution.inputs import Figures, figure, over_inputs
from headscope.analyses.options import Through, with_options
from headscope.analyses.result import returns_result
from headscope.attention.objective import Objective, Prepared, Scalar
from headscope.attention.objective import objective as make_objective
from headscope.attention.record import AttentionRecord, silenced
from headscope.attention.recording import recording
from headscope.core.arrays import Floats
from headscope.core.counts import plural
from headscope.core.heads import AnyHead, Head
from headscope.core.tokens import Tokens
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.weights import not_finite
from headscope.runs.batches import tokens_of
from headscope.runs.options import COMMAND, RunOptions

NAMES = ("ablation", "ablated")
_SOURCE = "Michel et al. 2019, §3.2"


@returns_result
@with_options()
def ablation(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    objective: str | Scalar | Objective | None = None,
    heads: Sequence[AnyHead] | None = None,
    together: bool = False,
    **options: Unpack[Through],
) -> xr.Dataset:
    """What silencing a head (all its weights 0) does to a number of the output, on average over inputs.

    One forward pass a batch as the model is, and one more for each head: layers × heads + 1 passes over the corpus
    (`estimate` says how long that takes). Nothing is retrained or rescaled.

    Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?", section 3.2 (one head), 3.3 (several).

    Args:
        model: from `headscope.load`. Of an encoder-decoder the encoder's heads are silenced.
        corpus: from `headscope.corpora`, or examples that have their tokens.
        objective: the number of each input, as in `headscope.measure`; a masked language model sees the same masks
            in every pass.
        heads: these heads only, ``Head(7, 9)`` or ``"L7H9"``.
        together: silence all `heads` at once, in one pass.

    Returns:
        A dataset over ``(layer, head)``, NaN for heads not asked for: ``ablation``, the mean over inputs of the
        number without the head less the number with it (above 0: a loss is higher without the head), and
        ``ablated``, the mean of the number without the head; each with ``_se`` (a jackknife by document) and ``_n``
        (inputs), in units of the objective. The mean as the model is, is ``ablated - ablation``.
        With `together` the same without axes.

    Raises:
        InputError: heads that the model does not have, none with `together`; an unknown objective.
        RunError: the model failed on an input, which the message names.

    >>> model = headscope.load()
    >>> result = ablation(model, headscope.corpora.builtin(), objective="cosine", heads=["L0H2", "L1H8"], limit=4)
    >>> result.ablation.notnull().sum().item()  # of the heads asked for
    2
    >>> ablation(model, headscope.corpora.builtin(), heads=["L0H2", "L1H8"], together=True, limit=4).ablated.shape
    ()
    """
    number = make_objective(model, objective)
    silent = [*map(Head.of, heads or ())]
    if not silent and (together or heads is not None):
        what = "those that are silenced together" if heads is None else "at least one"
        raise InputError(f"heads: expected {what}, found none")
    through = RunOptions(**options)
    if through.progress and isinstance(corpus, Corpus):
        size, limit = through.batch_size, through.limit
        line = estimate(model, corpus, objective=number, heads=silent or None, batch_size=size, limit=limit)
        print(line, file=sys.stderr, flush=True)
    what = "with these heads silenced" if together else "with the head silenced"
    definitions = [
        figure(NAMES[0], "effect of ablation", f"Mean change of the objective {what}.", "objective", _SOURCE),
        figure(NAMES[1], "objective without", f"Mean of the objective {what}.", "objective", _SOURCE),
    ]
    result = over_inputs(
        model,
        corpus,
        definitions,
        lambda tokens: _effects(number, tokens, silent, together),
        title="ablation",
        options=through,
        asked={
            "objective": number.identity,
            "heads": [str(head) for head in silent] or None,
            "together": together,
        },
        meta=lambda: {"objective": number.description, "command": COMMAND.get()},
    )
    if together:
        return result.isel(layer=0, head=0, drop=True)
    for name in NAMES:
        result[f"{name}_n"] = result[f"{name}_n"].where(np.isfinite(result[name]))
    return result


def estimate(
    model: Model,
    corpus: Corpus,
    *,
    objective: str | Scalar | Objective | None = None,
    heads: Sequence[Head | str] | None = None,
    batch_size: int = 32,
    limit: int | None = None,
) -> str:
    """One line that says how long `ablation` will take, measured on one batch. Arguments as there."""
    number = make_objective(model, objective)
    sample = [
        tokens_of(example)
        for example in islice(corpus.encoded(model), min(batch_size, 8, limit or batch_size))
    ]
    sample = sample[:1] if model.same_length else sample
    if not sample:
        raise InputError("corpus: expected at least one input, found none")
    count = sum(1 for _ in islice(corpus.encoded(model), limit))
    batch = number.prepare(sample)
    sizes = _run(batch, [])[1]
    started = time.perf_counter()
    _run(batch, [])
    seconds = (time.perf_counter() - started) / len(sample)
    passes = 1 + (sum(sizes.values()) if heads is None else len(heads))
    took = count * passes * seconds
    return f"{plural(count, 'input')}, {passes} forward passes each: about {took:,.0f} s on {model.device}"


def _effects(number: Objective, tokens: Sequence[Tokens], silent: Sequence[Head], together: bool) -> Figures:
    """The change and the number of each input, by head."""
    batch = number.prepare(tokens)
    plain, sizes = _run(batch, [])
    if unknown := [head for head in silent if not 0 <= head.head < sizes.get(head.layer, 0)]:
        raise InputError(f"heads: this model has no {unknown[0]}")
    layers = sorted(sizes)
    if together:
        without, _ = _run(batch, silent)
        return Figures(layers[:1], np.stack([without - plain, without], 1)[:, :, None, None])
    values = np.full((len(tokens), 2, len(layers), max(sizes.values())), np.nan)
    for head in silent or [Head(layer, head) for layer in layers for head in range(sizes[layer])]:
        without, _ = _run(batch, [head])
        values[:, :, layers.index(head.layer), head.head] = np.stack([without - plain, without], 1)
    return Figures(layers, values)


def _run(batch: Prepared, silent: Collection[Head]) -> tuple[Floats, dict[int, int]]:
    """Each input's number with some heads silenced, and how many heads each layer has."""
    sizes: dict[int, int] = {}

    def hook(record: AttentionRecord) -> Tensor | None:
        if record.kind == "cross":
            return None
        sizes[record.layer] = record.shape[1]
        heads = [head.head for head in silent if head.layer == record.layer]
        return silenced(record, heads) if heads else None

    with torch.no_grad(), recording(batch.objective.module, hook, fused=True):
        numbers = batch.run().double().cpu().numpy()
    if not np.isfinite(numbers).all():
        model = batch.objective.model
        raise not_finite(model.name, model.module, "objective")
    return numbers, sizes
