"""Which patches hold no content, and which heads look at them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from headscope.analyses.artefacts import statistics
from headscope.analyses.artefacts.statistics import MEASURES, TAU, SeenPicture
from headscope.analyses.options import Through, with_options
from headscope.analyses.result import returns_result
from headscope.attention.recording import Hooks
from headscope.core.arrays import Bools, Floats
from headscope.core.tokens import Tokens
from headscope.core.validation import Number
from headscope.corpora import Corpus, Example
from headscope.errors import InputError, RefusedError
from headscope.measures.dataset import description
from headscope.measures.measure import mask
from headscope.measures.sums import Documents, Gathering, Ratios
from headscope.models import Model
from headscope.models.within import modules_of
from headscope.runs.batches import examples, no_input, over_blocks, reader_of, tokens_of
from headscope.runs.forward import forward, self_attention
from headscope.runs.long import described
from headscope.runs.options import COMMAND, RunOptions
from headscope.runs.task import Task


class States:
    """The layers of a model that hold its self-attention, and what leaves them.

    Args:
        model: the model.
        example: an input, on which they are found.

    Attributes:
        layers: the model's index of each.

    Raises `RefusedError` for a model without layers of their own.
    """

    def __init__(self, model: Model, example: Tokens) -> None:
        modules = modules_of(model.backbone)
        records = self_attention(model, [example])
        names = [re.match(r"((?:.*\.)?\d+)\.", record.module) for record in records]
        self._modules = [modules[name[1]] for name in names if name is not None]
        self._model = model
        self.layers = [record.layer for record in records]
        if len(set(self._modules)) < len(records):
            raise RefusedError(
                f"{model.name}: expected a layer of its own around each attention, found {len(set(self._modules))} "
                f"around {len(records)}"
            )

    @contextmanager
    def watching(self, reduce: Callable[[Tensor], Tensor]) -> Generator[list[Tensor]]:
        """Within it what `reduce` makes of what leaves each layer, ``[batch token dim]``, is listed, in order."""
        reduced: list[Tensor] = []

        def leaves(module: nn.Module, state: Any) -> None:
            if not isinstance(state, Tensor) or state.ndim != 3:
                raise RefusedError(
                    f"{self._model.name}: expected a hidden state [batch token dim] from each layer, found another "
                    f"from a {type(module).__name__}"
                )
            reduced.append(reduce(state.detach().float()))

        with Hooks() as hooks:
            for module in self._modules:
                hooks.on_exit(module, partial(leaves, module))
            yield reduced


@returns_result
@with_options(batch_size=8)
def artefacts(
    model: Model,
    corpus: Corpus | Sequence[Example],
    *,
    cutoff: float | None = None,
    dimensions: Sequence[Number] | None = None,
    **options: Unpack[Through],
) -> xr.Dataset:
    """Patches that hold no content but are looked at: how many there are, where they sit, which heads look at them.

    Of a **model of pictures** they are *artefacts*: patches whose state behind the last layer (before a final norm) has
    a norm far above the rest. The paper reads a cutoff from the two peaks of DINOv2's norms, 150, and says that others
    need another one; here it is 6 robust standard deviations above the median of all patches, and at least 1.5 times
    that, unless `cutoff` is given. ``[CLS]`` and registers are no patches.

    Of a **model of texts and pictures** they are *visual sinks*: tokens of the picture whose state, in any layer but
    behind the last, has φ = max |x_d| / √(mean x²) of at least 20 in a *sink dimension* d. These are the model's own;
    the paper reads them from the state of the first token (BOS). So they are found here: all d in which that token has
    such a φ, unless `dimensions` are given (``[1415, 2533]`` for LLaMA-2-7B); where it has none, there are no sinks.
    The first token itself is no visual sink.

    Sources: Darcet et al. 2024, "Vision Transformers Need Registers", section 2.1; Kang et al. 2025, "See What You Are
    Told: Visual Attention Sink in Large Multimodal Models", section 4.1.

    Args:
        model: that reads pictures, or texts with a picture.
        corpus: of pictures (`headscope.corpora.images`), read twice; with a text each for a model of both.
        cutoff: the norm (or φ) of an artefact; by default told from all patches (or 20).
        dimensions: the sink dimensions of the model; by default the first token's.

    Returns:
        A dataset. Over ``(layer, head)``: ``attention``, the share that goes to artefacts, over the tokens that see one
        (of a text with a picture, its words behind it), and ``from_cls``, what ``[CLS]`` gives, each with ``_se``,
        ``_n``, ``_chance`` (uniform attention), ``_low`` and ``_high``; NaN where there is no artefact. ``artefacts``,
        the share of patches that are some, with ``_low``, ``_high`` and ``_n``; ``cutoff``, and the ``median`` of all
        patches. Over ``(state, kind)``: ``strength``, the mean norm (or φ) of artefacts and others behind each layer,
        with ``_se``. Over ``(kind)``: ``contrast``, the standard deviation of the brightness within a patch, with
        ``_se``: artefacts sit where the picture is even. Over ``(row, column)``: ``where``, the share of patches in
        each part of the picture (8 × 8 at most) that are artefacts. Over ``(bin)``: the ``count`` of patches whose norm
        (or φ) is between ``from`` and ``to``. Its table has one row a head. Errors and intervals are by document.

    Raises:
        InputError: inputs without patches, or no such dimension.
        RefusedError: a model whose layers' states are not along one axis.

    >>> import transformers
    >>> small = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    >>> module = transformers.ViTModel(transformers.ViTConfig(**small, image_size=32, patch_size=8))
    >>> processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32})
    >>> photos = hs.corpora.images([np.full((20, 30, 3), each, np.uint8) for each in (0, 90)])
    >>> found = artefacts(hs.load((module, processor)), photos)
    >>> found["attention"].shape, float(found["artefacts"]), int(found["artefacts_n"])
    ((2, 2), 0.0, 32)
    """
    if cutoff is not None and not cutoff > 0:
        raise InputError(f"cutoff: expected a number above 0, found {cutoff:g}")
    reader = reader_of(model, corpus)
    first = next(iter(examples(reader, corpus, 1)), None)
    if first is None:
        raise no_input(corpus)
    look = _Look(reader, tokens_of(first), cutoff, dimensions)
    through = RunOptions(**options)
    numbers: dict[int, int] = {}
    strengths: dict[int, Floats] = {}
    inputs = _numbered(examples(reader, corpus, through.limit), numbers)
    for block in over_blocks(reader, corpus, look.strengths, through, inputs=inputs, title="looking"):
        for batch, values in block:
            strengths |= {
                numbers.pop(id(example)): value for example, value in zip(batch, values, strict=True)
            }
    every = np.concatenate([strengths[number] for number in range(len(strengths))])
    bar = look.cutoff or statistics.cutoff_of(every)
    documents, figures = Documents([measure.name for measure in MEASURES]), Gathering(Ratios)
    marked = _marked(examples(reader, corpus, through.limit), look, strengths, bar)
    for block in over_blocks(reader, corpus, look.measured, through, inputs=marked):
        for batch, (rows, seen) in block:
            for place, picture in enumerate(batch):
                sums = rows.sums[place], rows.chance[place], rows.divisors[place]
                documents.add(picture.document, rows.tokens[place], rows.layers, *sums)
                of_picture = statistics.figures_of(seen[place], look.grid)
                figures.gather(picture.document, of_picture, Counter(examples=1))
    heads = documents.close()
    meta = described(reader, corpus)
    meta["corpus"] |= {"examples": heads.counts["examples"], "tokens": heads.counts["tokens"]}
    meta |= {
        "rule": look.rule,
        "dimensions": look.dimensions,
        "limit": through.limit,
        "command": COMMAND.get(),
    }
    return statistics.dataset(heads, figures.close(), look.states.layers, look.grid, every, bar, meta)


def marked(model: Model, inputs: Iterable[Example], result: xr.Dataset) -> Iterator[Example]:
    """Inputs with the class ``artefact``, as a result tells them."""
    cutoff, look = float(result["cutoff"]), None
    for example in inputs:
        look = look or _Look(model, tokens_of(example), cutoff, description(result)["dimensions"])
        yield from _marked([example], look, {0: look.strengths([example])[0]}, cutoff)


class _Look:
    """What is looked at in a model's states: norms of patches, or φ of the tokens of a picture.

    Attributes:
        rule: ``norm`` or ``sink``.
        cutoff: where it is known beforehand.
        dimensions: the sink dimensions; None for norms.
        states: the layers.
        grid: rows and columns of the map of where artefacts sit.
    """

    def __init__(
        self, model: Model, first: Tokens, cutoff: float | None, dimensions: Sequence[int] | None
    ) -> None:
        if not mask(first, "patch").any():
            raise InputError(
                f"artefacts: expected pictures, found an input of {len(first)} tokens without patches"
            )
        self._model, self.states = model, States(model, first)
        self.grid = statistics.grid_of(first, mask(first, "patch"))
        self._task = Task(model, MEASURES)
        self.rule = "sink" if first.ids is not None else "norm"
        self.cutoff = cutoff if self.rule == "norm" else cutoff or TAU
        self.dimensions: list[int] | None = None
        if self.rule == "sink":
            self.dimensions = self._sinks(first, dimensions)
        elif dimensions is not None:
            raise InputError(
                f"dimensions: {model.name} reads pictures alone, whose artefacts are told by their norms"
            )

    def patches(self, tokens: Tokens) -> Bools:
        """Which tokens may be artefacts."""
        return mask(tokens, "patch") & ((self.rule == "norm") | (np.arange(len(tokens)) > 0))

    def strengths(self, batch: Sequence[Example]) -> list[Floats]:
        """Measure what is compared with the cutoff, of each patch of each input."""
        tokens = [tokens_of(example) for example in batch]
        with torch.no_grad(), self.states.watching(self._reduced) as reduced:
            forward(self._model, tokens)
        states = reduced[-1:] if self.rule == "norm" else reduced[:-1]
        most = torch.stack(states).amax(0).double().cpu().numpy()
        return [
            values[: len(picture)][self.patches(picture)]
            for values, picture in zip(most, tokens, strict=True)
        ]

    def measured(self, batch: Sequence[Example]) -> tuple[Any, list[SeenPicture]]:
        """What heads give to artefacts, and what is known of each picture."""
        with self.states.watching(self._reduced) as reduced:
            rows = self._task.measured(batch)
        states = torch.stack(reduced, 1).double().cpu().numpy()
        seen = [
            SeenPicture(tokens, self.patches(tokens), mask(tokens, "artefact"), state[:, : len(tokens)])
            for tokens, state in zip(map(tokens_of, batch), states, strict=True)
        ]
        return rows, seen

    def _reduced(self, states: Tensor) -> Tensor:
        """``[batch token dim] -> [batch token]``."""
        if self.dimensions is None:
            return states.square().sum(-1).sqrt()
        if not self.dimensions:
            return states.new_zeros(states.shape[:2])
        size = states.square().mean(-1).sqrt()
        return states[..., self.dimensions].abs().amax(-1) / size.clamp(min=1e-12)

    def _sinks(self, first: Tokens, given: Sequence[int] | None) -> list[int]:
        """The sink dimensions: those given, or in which the first token has a large φ."""
        with torch.no_grad(), self.states.watching(_of_first) as reduced:
            forward(self._model, [first])
        most = torch.stack(reduced[:-1]).amax(0)[0].cpu().numpy()
        if given is None:
            assert self.cutoff is not None
            return np.flatnonzero(most >= self.cutoff).tolist()
        if not given or not all(0 <= dimension < len(most) for dimension in given):
            raise InputError(f"dimensions: expected some from 0 to {len(most) - 1}, found {list(given)}")
        return list(given)


def _of_first(states: Tensor) -> Tensor:
    """φ of the first token in each dimension, ``[batch dim]``."""
    first = states[:, 0]
    return first.abs() / first.square().mean(-1, keepdim=True).sqrt().clamp(min=1e-12)


def _numbered(inputs: Iterable[Example], numbers: dict[int, int]) -> Iterator[Example]:
    """The inputs; `numbers` has the place of each, by its id, until it is taken."""
    for number, example in enumerate(inputs):
        numbers[id(example)] = number
        yield example


def _marked(
    inputs: Iterable[Example], look: _Look, strengths: dict[int, Floats], bar: float
) -> Iterator[Example]:
    """The inputs with the class ``artefact``."""
    above: Callable[[Floats, float], Any] = np.greater if look.rule == "norm" else np.greater_equal
    for number, example in enumerate(inputs):
        tokens = tokens_of(example)
        which = look.patches(tokens)
        which[which] = above(strengths[number], bar)
        yield replace(example, tokens=tokens.with_classes(artefact=which))
