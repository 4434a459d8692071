"""Streaming heads: what is lost when a head sees the first tokens and the last ones alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.patching.statistics import adjusted, placed
from headscope.analyses.result import returns_result
from headscope.analyses.roles.retrieval.needles import Needle, hidden, words_of
from headscope.analyses.roles.retrieval.run import produced
from headscope.analyses.streaming import statistics
from headscope.attention.one import output_of
from headscope.attention.parts import doubles
from headscope.attention.record import AttentionRecord, Hook
from headscope.attention.recording import recording
from headscope.attention.residual import Outputs, unembedding
from headscope.attention.whatif import edit
from headscope.core.arrays import Floats
from headscope.core.validation import Count, Level, Number, Seed, validated
from headscope.corpora import Corpus, Example
from headscope.corpora.readers import builtin
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs.long import described
from headscope.runs.options import COMMAND
from headscope.runs.progress import Progress, bar

Spot = tuple[int, int]
"""The place of a layer among those with heads, and a key head."""


@returns_result
@validated
def streaming(
    model: Model,
    corpus: Corpus | Iterable[Example] | None = None,
    *,
    sink: Number = 4,
    recent: Count = 64,
    needles: Count = 24,
    lengths: Sequence[Count] = (256,),
    exact: Number | Literal["all"] = 8,
    full: Level = 0.1,
    draws: Count = 3,
    seed: Seed = 0,
    progress: bool = False,
) -> xr.Dataset:
    """Which heads need the whole text, and which do with its first and last tokens (streaming heads).

    The answers to needles (`headscope.retrieval`) that stand outside the window: its first `sink` tokens and the last
    `recent` ones, the present token among them. What is told of each **key head**, with the heads that share it:

    - ``loss``: by how many nats a token of the answer has less log-probability when these heads see the window alone
      and all others everything. Measured for the `exact` key heads with the largest estimates. **p**: that it is no
      more than .01 nats over all needles there could be; **q** over all key heads.
    - ``estimate``: by how many nats it has more where these heads see everything and all others the window alone, to
      first order, from one backward pass. It says which heads to measure.
    - ``outside``: the share of attention beyond the window, over queries that have keys there.
    - **The check**: half of the needles choose the key heads with the largest estimates, a share `full` of them; the
      other half is answered where all heads see everything, where all see the window alone, where all but these do,
      and where all but as many others do.

    Sources: Xiao et al. 2024, "Efficient Streaming Language Models with Attention Sinks"; Xiao et al. 2025,
    "DuoAttention", whose trained gates tell the same heads apart.

    Args:
        model: a causal language model from `headscope.load`, with a tokenizer.
        corpus: where the text around the needles is from; by default the built-in corpus.
        sink: so many first tokens are in the window.
        recent: so many last tokens are in it.
        needles: how many needles are hidden.
        lengths: of the texts, in tokens, about; in turn.
        exact: how many key heads are measured, or "all".
        full: the share of key heads that see everything in the check.
        draws: how often as many others are drawn.
        seed: of needles, places and draws.
        progress: show a bar.

    Returns:
        A dataset over ``(layer, key_head)``: ``loss`` and ``estimate`` with ``_low`` and ``_high``, ``p``, ``q``,
        ``outside``; over ``condition`` ``accuracy``, the share of needles whose whole answer the model produces, and
        ``nats``, what a token of the answer costs, each with ``_low`` and ``_high``; ``agreement``, the correlation of
        losses and estimates. Its table has one row a key head; `headscope.save_duo_attention` writes DuoAttention's
        files of it.

    Raises:
        InputError: too few words, a window as long as the texts, or a model without a tokenizer.
        RefusedError: a model that is no causal language model, or whose heads' outputs cannot be told apart.

    >>> import transformers
    >>> reader = headscope.load().tokenizer
    >>> config = transformers.GPT2Config(vocab_size=len(reader), n_embd=8, n_layer=2, n_head=2, n_positions=128)
    >>> small = headscope.load((transformers.GPT2LMHeadModel(config), reader))
    >>> found = streaming(small, recent=32, needles=6, lengths=(96,), exact="all", full=0.25)
    >>> found["loss"].shape, bool((found["q"] <= 0.05).any())
    ((2, 2), False)
    """
    unembedding(model)
    if not lengths:
        raise InputError("lengths: expected one or more whole numbers above 0, found []")
    if needles < 2:
        raise InputError(f"needles: expected at least 2, one of them to choose heads, found {needles}")
    source = builtin(pack=None) if corpus is None else corpus
    made = hidden(model, words_of(source), needles, lengths, seed, beyond=recent)
    runs = _NeedleRuns(model, made, sink, recent)
    spots = runs.spots
    if exact != "all" and exact > len(spots):
        raise InputError(f"exact: expected at most the {len(spots)} key heads of {model.name}, found {exact}")
    with bar(None, len(made), progress, "estimating") as moved:
        estimated, outside = runs.estimate(moved)
    estimates = statistics.over_needles(estimated)
    order = np.argsort(-estimates.value, kind="stable").tolist()
    chosen: list[int] = order[: len(spots) if exact == "all" else exact]
    answers = runs.answered(())
    losses = np.empty((len(made), len(chosen)))
    with bar(None, losses.size, progress, "measuring") as moved:
        for column, which in enumerate(chosen):
            losses[:, column] = runs.answered([spots[which]], moved=moved).nats - answers.nats
    effects = statistics.over_needles(losses)
    p = statistics.p_values(losses)
    shape = len(runs.layers), max(key for _, key in spots) + 1
    tested = effects.named("loss") | {"p": p, "q": adjusted(p, len(spots))}
    measured = [spots[which] for which in chosen]
    figures = placed(shape, (spots, estimates.named("estimate") | {"outside": outside}), (measured, tested))
    meta = {
        **described(model, source),
        "sink": sink,
        "recent": recent,
        "needles": needles,
        "lengths": list(lengths),
        "exact": exact,
        "full": full,
        "draws": draws,
        "seed": seed,
        "groups": runs.groups,
        "command": COMMAND.get(),
    }
    checked = _checked(runs, answers, estimated, full, draws, seed, progress)
    return statistics.dataset(figures, runs.layers, meta, checked)


class _Answers(NamedTuple):
    """What a token of each needle's answer costs, and whether the whole answer is produced."""

    nats: Floats
    right: Floats


class _NeedleRuns:
    """Runs of a model on needles, in which some key heads see the window alone."""

    def __init__(self, model: Model, needles: Sequence[Needle], sink: int, recent: int) -> None:
        self._model, self._needles = model, needles
        self._sink, self._recent = sink, recent
        self._outputs = outputs = Outputs(model, model.inputs([needles[0].tokens]))
        self.layers = outputs.layers
        self.groups = [site.groups for site in outputs.sites]
        self.spots = [
            (place, key)
            for place, heads in enumerate(outputs.heads)
            for key in range(heads // self.groups[place])
        ]

    def estimate(self, moved: Progress) -> tuple[Floats, Floats]:
        """What each key head would gain, to first order ``[needle spot]``, and its attention outside ``[spot]``."""
        gains, shares = zip(*(self._estimated(needle, moved) for needle in self._needles), strict=True)
        return np.stack(gains), np.mean(shares, 0)

    def _estimated(self, needle: Needle, moved: Progress) -> tuple[Floats, Floats]:
        changes: dict[int, Tensor] = {}

        def keep(record: AttentionRecord) -> Tensor:
            few = self._cut(record).weights()
            with torch.no_grad():
                changes[record.layer] = ((few - record.weights()) @ record.values)[0].transpose(0, 1)
            return few

        with torch.enable_grad(), recording(self._model.module, keep, fused=True):
            ready = self._model.inputs([needle.tokens])
            logits, leaves = self._outputs.run(ready)
            gradients = torch.autograd.grad(_nats(needle, logits), [*leaves.values()])
        gained = [
            (gradient[0] * changes[layer]).sum((0, 2)).reshape(-1, groups).sum(-1)
            for layer, groups, gradient in zip(self.layers, self.groups, gradients, strict=True)
        ]
        shares = self._outside(needle)
        outside = [
            shares[layer].reshape(-1, groups).mean(-1)
            for layer, groups in zip(self.layers, self.groups, strict=True)
        ]
        moved(1)
        return doubles(torch.cat(gained)), doubles(torch.cat(outside))

    def _outside(self, needle: Needle) -> dict[int, Tensor]:
        """The share of each layer's heads beyond the window ``[head]``, where all see everything."""
        shares: dict[int, Tensor] = {}

        def keep(record: AttentionRecord) -> None:
            beyond = ~self._window(record)
            shares[record.layer] = (record.weights() * beyond).sum(-1)[0, :, beyond.any(-1)].mean(-1)

        with torch.no_grad():
            self._logits(needle, keep)
        return shares

    def answered(
        self, cut: Collection[Spot], some: slice = slice(None), moved: Progress | None = None
    ) -> _Answers:
        """The answers where these key heads see the window alone."""
        of = {
            layer: [
                key * groups + member
                for spot, key in sorted(cut)
                if spot == place
                for member in range(groups)
            ]
            for place, (layer, groups) in enumerate(zip(self.layers, self.groups, strict=True))
        }

        def change(record: AttentionRecord) -> Tensor | None:
            heads = of[record.layer]
            if not heads:
                return None
            weights = record.weights().clone()
            weights[:, heads] = self._cut(record).weights()[:, heads]
            return weights

        nats: list[float] = []
        right: list[bool] = []
        for needle in self._needles[some]:
            with torch.no_grad(), edit(self._model, change):
                logits = self._logits(needle)
            nats.append(float(_nats(needle, logits)))
            right.append(bool(produced(needle, logits).all()))
            if moved is not None:
                moved(1)
        return _Answers(np.array(nats), np.array(right, np.float64))

    def _logits(self, needle: Needle, keep: Hook | None = None) -> Tensor:
        return output_of(self._model, self._model.inputs([needle.tokens]), keep).logits

    def _window(self, record: AttentionRecord) -> Tensor:
        """Which keys stand in the window of each query ``[query key]``."""
        _, _, queries, keys = record.shape
        key = torch.arange(keys, device=record.q.device)
        query = torch.arange(queries, device=record.q.device)[:, None] + keys - queries
        return (key + record.key_offset < self._sink) | (key > query - self._recent)

    def _cut(self, record: AttentionRecord) -> AttentionRecord:
        return record.seeing(self._window(record))


def _nats(needle: Needle, logits: Tensor) -> Tensor:
    """What a token of the answer costs, given those before."""
    assert needle.tokens.ids is not None
    logs = logits[0, needle.answer[0] - 1 : needle.answer[-1]].double().log_softmax(-1)
    ids = torch.as_tensor(needle.tokens.ids[list(needle.answer)], device=logits.device)
    return -logs.gather(-1, ids[:, None].long()).mean()


def _checked(
    runs: _NeedleRuns,
    answers: _Answers,
    estimated: Floats,
    share: float,
    draws: int,
    seed: int,
    progress: bool,
) -> statistics.AnswerCheck:
    """Answers to every other needle where few key heads see everything: those that the rest chose, and others."""
    spots = runs.spots
    order: list[int] = np.argsort(-estimated[::2].mean(0), kind="stable").tolist()
    many = max(1, round(share * len(spots)))
    draw = np.random.default_rng(seed)
    rest = order[many:]
    kept = [
        [],
        order[:many],
        *(draw.choice(rest, min(many, len(rest)), replace=False).tolist() for _ in range(draws)),
    ]
    asked = slice(1, None, 2)
    results = [_Answers(answers.nats[asked], answers.right[asked])]
    with bar(None, len(kept) * len(answers.nats[asked]), progress, "checking") as moved:
        for group in kept:
            stay = {spots[which] for which in group}
            results.append(runs.answered([spot for spot in spots if spot not in stay], asked, moved))
    names = [
        statistics.name_of(runs.layers[place], key) for place, key in (spots[index] for index in kept[1])
    ]
    return statistics.AnswerCheck(
        np.stack([result.right for result in results]), np.stack([result.nats for result in results]), names
    )
