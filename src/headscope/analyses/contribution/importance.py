"""What heads add to a number of the output: how it changes to first order, and what taking them away does to it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Unpack

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.contribution import statistics
from headscope.analyses.contribution.inputs import Figures, over_inputs
from headscope.analyses.options import Through, with_options
from headscope.analyses.result import returns_result
from headscope.attention.objective import Objective, Prepared, Scalar, natural
from headscope.attention.objective import objective as make_objective
from headscope.attention.one import Text, capture, expect_one_row, gradients, prepare
from headscope.attention.parts import doubles
from headscope.attention.record import AttentionRecord, silenced
from headscope.attention.recording import recording
from headscope.core.arrays import AnyFloats, Floats, of_layers
from headscope.core.counts import plural
from headscope.core.heads import AnyHead, Head
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import validated
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.measures.measure import Measure
from headscope.models import Model
from headscope.models.weights import not_finite
from headscope.runs.batches import tokens_of
from headscope.runs.options import COMMAND, RunOptions
from headscope.runs.task import parts, slopes_of

NAME = "importance"


@returns_result
@with_options()
def importance(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    objective: str | Scalar | Objective | None = None,
    normalise: bool = False,
    **options: Unpack[Through],
) -> xr.Dataset:
    """Head importance ``E_x |∂L(x)/∂ξ_h|``, where ξ_h is a gate that the head's output is multiplied by.

    At ξ = 1 the derivative is ``Σ_ij A_ij ∂L/∂A_ij``, since what a head gives is linear in its weights A; so one
    forward and one backward pass give it for all heads. It says, to first order, how much L changes per input
    when the head is taken away, whatever the sign.

    Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?", section 4.1.

    Args:
        model: from `headscope.load`. Of an encoder-decoder the encoder is measured.
        corpus: from `headscope.corpora`, or examples that have their tokens.
        objective: L of an input, as in `headscope.measure`.
        normalise: divide each layer by its l2 norm over heads, as that section does before heads of several
            layers are compared (a layer of zeros stays one). Errors are divided by the same norm, as if it were
            known exactly.

    Returns:
        A dataset over ``(layer, head)``: ``importance`` (in units of L; without one when normalised), a mean over
        inputs, ``importance_se`` (a jackknife by document) and ``importance_n`` (inputs).

    Raises:
        InputError: an unknown objective, or one that the model does not have; a corpus without inputs.
        RunError: the model failed on an input, which the message names.

    >>> model = headscope.load()
    >>> result = importance(model, headscope.corpora.builtin(), objective="cosine", limit=4)
    >>> (result.importance >= 0).all().item(), result.importance.attrs["units"]
    (True, 'objective')
    """
    return by_gates(make_objective(model, objective), corpus, RunOptions(**options), normalise=normalise)


def by_gates(
    number: Objective,
    corpus: Corpus | Iterable[Example],
    options: RunOptions,
    *,
    normalise: bool = False,
    seen: Callable[[Example, Floats, Floats], None] | None = None,
) -> xr.Dataset:
    """`importance` by an objective; `seen` as in `over_inputs`."""
    text = "Mean over inputs of the size of the derivative of the objective by a gate on the head's output."
    if normalise:
        text += " Divided by the l2 norm over the heads of its layer."
    units = "share" if normalise else "objective"
    result = over_inputs(
        number.model,
        corpus,
        [Measure(NAME, "importance", text, units, "Michel et al. 2019, §4.1", "rows")],
        lambda tokens: gates(number, tokens),
        title="importance",
        options=options,
        asked={"objective": number.identity, "normalise": normalise},
        meta=lambda: {"objective": number.description, "command": COMMAND.get()},
        seen=seen,
    )
    if normalise:
        norm = np.sqrt(np.nansum(result[NAME].values ** 2, 1, keepdims=True))
        for name in (NAME, f"{NAME}_se"):
            result[name].values[:] = result[name].values / np.where(norm > 0, norm, 1.0)
    return result


@validated
def relevance(
    model: Model,
    text: Text | None = None,
    *,
    pair: str | None = None,
    target: str | None = None,
    inputs: AnyMapping | None = None,
    objective: str | Scalar | None = None,
) -> AnyFloats | dict[str, AnyFloats]:
    """Gradient × attention relevance of each token to each token after each layer.

    Source: Chefer et al. 2021, "Generic Attention-model Explainability", section 3.1. For each layer
    ``Ā = E_h[(∇A ⊙ A)⁺]``, the mean over heads of the positive part of gradient times weight, and
    ``R ← R + Ā R``, from R = I. Of an encoder-decoder the decoder's and the encoder's own relevances follow the same
    rule, and their relevance to one another follows equations 8 to 10 of that section.

    Args:
        model: from `headscope.load`.
        text, pair, target, inputs: as in `headscope.capture`; one row.
        objective: the number whose gradient is taken: a name (``natural``, ``causal-lm``, ``logit:N``, ``cosine``,
            ``masked-lm``) or a function of what the module returns; of an encoder-decoder a function or nothing.
            By default what `headscope.attention.objective.natural` says.

    Returns:
        ``[layer query key]``: row i of the last layer is what each token is worth to token i's part in the number.
        Of a classifier that reads its first token, row 0 explains the class. For an encoder-decoder a dict of such
        arrays, ``encoder``, ``decoder`` and ``cross`` (decoder to encoder).

    Raises:
        InputError: the input does not go with the model; several rows; models of other parts.

    >>> model = headscope.load()
    >>> result = relevance(model, "The cat sat.", pair="It was tired.")
    >>> result.shape  # after each of 6 layers, of each of 11 tokens to each
    (6, 11, 11)
    >>> page = headscope.view(model, "The cat sat.", pair="It was tired.", quantities={"relevance": result})
    """
    given: AnyDict = {"pair": pair, "target": target, "inputs": inputs}
    axes, ready = prepare(model, text, pair, target, inputs)
    expect_one_row(ready, "relevance is")
    maps = capture(model, text, **given)
    assert not isinstance(maps, list)
    if isinstance(objective, str) and objective != "natural":
        if not isinstance(maps, AttentionMaps) or "self" not in axes:
            raise InputError("objective: a name needs a text and a model of one part; give a function")
        _, _, slopes = slopes_of(make_objective(model, objective).prepare([axes["self"]]))
        result = statistics.relevance(maps, [slope[0].float().cpu().numpy() for slope in slopes])
        if not np.isfinite(result).all():
            raise not_finite(model.name, model.module, "gradients")
        return result
    if objective is None or isinstance(objective, str):
        objective = natural(model, axes, ready)
    by_part = gradients(model, text, objective, **given)
    if isinstance(maps, AttentionMaps):
        return statistics.relevance(maps, by_part.get("self", next(iter(by_part.values()))))
    if set(maps) != {"encoder", "decoder", "cross"}:
        raise InputError(f"relevance: expected a model of one part or an encoder-decoder, found {maps!r}")
    return statistics.relevance_of_parts(dict(maps), by_part)


def gates(number: Objective, tokens: Sequence[Tokens]) -> Figures:
    """``|∂L/∂ξ_h|`` of each input."""
    layers: list[int] = []
    values: list[Floats] = []
    for part in parts(number.model, tokens):
        _, records, slopes = slopes_of(number.prepare(tokens[part]))
        by_layer = {
            record.layer: doubles((record.weights().double() * slope.double()).sum((2, 3)).abs().T)
            for record, slope in zip(records, slopes, strict=True)
        }
        if len(by_layer) < len(records):
            raise InputError(
                f"{number.model.name}: expected one self-attention a layer, found {len(records)} in {len(by_layer)}"
            )
        layers = sorted(by_layer)
        values.append(np.moveaxis(of_layers([by_layer[layer] for layer in layers]), -1, 0))
    return Figures(layers, np.concatenate(values)[:, None])


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
        Measure(
            NAMES[0],
            "effect of ablation",
            f"Mean change of the objective {what}.",
            "objective",
            _SOURCE,
            "rows",
        ),
        Measure(
            NAMES[1], "objective without", f"Mean of the objective {what}.", "objective", _SOURCE, "rows"
        ),
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
