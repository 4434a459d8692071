"""Measure every head of a model over a corpus of any size, and say beforehand what that will take."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Literal, Unpack

import xarray as xr

from headscope.analyses.long_runs import long_run
from headscope.analyses.options import BlockOptions
from headscope.attention.check import probe_inputs
from headscope.attention.objective import Objective, Scalar
from headscope.attention.objective import objective as make_objective
from headscope.attention.one import record, unmapped
from headscope.attention.record import AttentionRecord
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.measures.choose import choose, default_measures
from headscope.measures.dataset import dataset
from headscope.measures.measure import Measure
from headscope.measures.sums import By, Sums
from headscope.measures.surface import Preset
from headscope.models import Model
from headscope.models.model import expect_attention
from headscope.runs.batches import reader_of
from headscope.runs.blocks import Encoded
from headscope.runs.long import Kind, Run
from headscope.runs.options import RunOptions
from headscope.runs.task import Task, objective_of, route


def _figures(sums: Sums, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    measures = [Measure(**arguments) for arguments in about["measures"]]
    meta["model"] = {**meta["model"], "layers": len(sums.layers), "heads": sums.s.shape[2]}
    if about.get("unseen") is not None:
        meta["model"]["unseen"] = about["unseen"]
    meta["route"] = route(sums.counts)
    if (of := objective_of(sums.counts)) is not None:
        meta["objective"] = of
    return dataset(sums, measures, by=about["by"], causal=bool(meta["model"]["causal"]), meta=meta)


KIND = Kind("measure", Sums.from_arrays, _figures)


@long_run(KIND)
def measure(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    measures: Sequence[str | Measure] | None = None,
    by: Literal["token", "document"] = "token",
    preset: Preset | None = None,
    objective: str | Scalar | Objective | None = None,
    implicit: bool = False,
    **options: Unpack[BlockOptions],
) -> Run[Sums]:
    """Surface measures of every head over a corpus, with errors and chance (Clark et al. 2019, section 3).

    The model runs its own fused attention, and statistics of rows are computed exactly beside it, without the
    map, in memory that depends neither on the corpus nor on the square of an input's length.

    Args:
        model: from `headscope.load`. Of an encoder-decoder the encoder is measured.
        corpus: from `headscope.corpora`, or examples that have their tokens.
        measures: which measures, such as ``previous``, ``entropy``, ``offset-2`` or ``to_<class>``. By default what
            `headscope.measures.choose.default_measures` names for texts, pictures or sounds; see
            `headscope.measures.surface`.
        by: average over tokens, or over documents' means.
        preset: ``clark2019`` computes what the released code of that paper does: token types all 0, means of
            inputs and then over inputs, offsets over all rows, smoothed entropies, punctuation "." and ",".
        objective: what the measures ``gradient_…`` are of: ``masked-lm``, ``causal-lm``, ``logit:N`` or ``cosine``; by
            default what is natural for the model (docs/importance.md). Or a function that takes what the module returns
            for one input and gives a scalar tensor, as `headscope.attention.objective.objective` does.
        implicit: measure the implicit maps M of layers that do not attend in place of attention, as the shares
            \\|M\\| / Σ \\|M\\| of each row (docs/models.md).

    Returns:
        A dataset over ``(layer, head)``: ``m``, ``m_se`` (standard error, a jackknife by document), ``m_n`` and
        ``m_chance`` (uniform attention over the visible keys, ``(layer)``, or ``(layer, head)`` where heads do not see
        the same) for each measure m. Of a layer with windows only rows that see what is meant count, so ``m_n`` may
        differ by layer and head.
        ``attrs["meta"]`` holds as JSON what made it, and under ``absent`` why a measure has no figures.

    Raises:
        InputError: an unknown measure, or none that says anything here; a checkpoint that is broken, or of another
            run.
        CorpusError: a broken corpus, with file and line.
        RunError: the model failed on an input, which the message names; the disk is full.
        RefusedError: `implicit` of a model in which no such map is known, or of inputs of more than 1,024 tokens.

    >>> stats = hs.measure(model, corpus, measures=["previous", "entropy"])
    >>> round(float(stats["previous"].sel(layer=0, head=2)), 2)
    1.0
    """
    model = reader_of(model, corpus)
    chosen = choose(_named(model, measures, corpus), preset)
    if by not in ("token", "document") or (preset is not None and by == "document"):
        expected = "token (the preset averages over inputs)" if preset else "token or document"
        raise InputError(f"by: expected {expected}, found {by!r}")
    if all(measure.absent(model.causal) for measure in chosen):
        raise InputError(f"measures: {chosen[0].name}: {chosen[0].absent(model.causal)}")
    unit: By = by if preset is None else "segment"
    needed = any(one.matrix == "gradient" for one in chosen)
    of = make_objective(model, objective) if needed or objective is not None else None
    notes = _expect_implicit(model, chosen) if implicit else expect_attention(model)
    task = Task(model, chosen, unit, preset, of, implicit=implicit)
    return Run(
        KIND,
        model,
        corpus,
        task.block,
        RunOptions(**options),
        decides={"by": unit, "preset": preset, "objective": None if of is None else of.identity}
        | ({"implicit": True} if implicit else {}),
        identity={"measures": [one.name for one in chosen], "definitions": _exactly(chosen)},
        about={"measures": [_definition(one) for one in chosen], "by": unit, "unseen": notes},
        inputs=Encoded(model),
    )


def _expect_implicit(model: Model, measures: Sequence[Measure]) -> str:
    """What is said before figures of implicit maps. Raises for a model without, and for measures of another matrix."""
    if other := [one.name for one in measures if one.matrix != "weights"]:
        raise InputError(
            f"measures: {other[0]}: implicit maps have shares |M| alone, no gradients and no norms"
        )
    ready = probe_inputs(model)
    mixed: list[AttentionRecord] = []
    calls = record(model, ready, mixed.append)
    notes = (
        f"Figures are of implicit maps, as shares |M| of each row. {unmapped(model, [*calls, *mixed], ready)}"
    )
    return notes.strip()


def _named(
    model: Model, measures: Sequence[str | Measure] | None, corpus: Corpus | Iterable[Example]
) -> Sequence[str | Measure]:
    """The measures that were asked for, or those of what the corpus holds."""
    if measures is not None or not isinstance(corpus, Corpus):
        return default_measures("text") if measures is None else measures
    first = next(corpus.examples(), None) if corpus.kind == "images" else None
    with_text = first is not None and first.text is not None and model.processor is not None
    return default_measures(corpus.kind, with_text=with_text)


def _definition(measure: Measure) -> AnyDict:
    """A measure without its functions, as JSON."""
    definition = {field.name: getattr(measure, field.name) for field in fields(measure)}
    return {name: value for name, value in definition.items() if not callable(value)}


def _exactly(measures: Sequence[Measure]) -> str:
    """A checksum of the definitions, with the source of one's own."""
    texts: list[str] = []
    for measure in measures:
        texts.append(json.dumps(_definition(measure)))
        for function in (measure.pairs, measure.among, measure.function):
            if function is not None:
                try:
                    texts.append(inspect.getsource(function))
                except (OSError, TypeError):
                    texts.append(function.__code__.co_code.hex() if inspect.isfunction(function) else "")
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
