"""Retrieval heads: how often each looks at the token that the model copies, and what is lost without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, Unpack

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.options import Stepping, with_options
from headscope.analyses.result import returns_result
from headscope.analyses.roles.retrieval import statistics
from headscope.analyses.roles.retrieval.needles import Needle, hidden, words_of
from headscope.attention.one import output_of
from headscope.attention.record import AttentionRecord
from headscope.attention.residual import Outputs, Put, unembedding
from headscope.core.arrays import Arrays, of_layers
from headscope.core.heads import Head
from headscope.core.link import Link, Span
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Number, Seed
from headscope.corpora import Corpus, Example
from headscope.corpora.readers import builtin
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs.long import Kind, described
from headscope.runs.options import RunOptions
from headscope.runs.steps import StepRows, Steps


def _figures(sums: StepRows, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    rows = {name: np.stack([row[name] for row in sums.rows]) for name in sums.rows[0]}
    layers: list[int] = rows["layers"][-1].tolist()
    counts = rows["produced"].astype(np.float64)
    scores = statistics.scores(rows["hits"], counts, about["chance"])
    if "chat_hits" in rows:
        produced = rows["chat_produced"].tolist()
        scores |= statistics.within_template(scores["retrieval"], rows["chat_hits"], produced)
    ablation = None
    for top in about["top"]:
        answered = np.stack(
            [[row["produced"] == row["tokens"], *row["answered"]] for row in sums.rows[1::2]], 1
        )
        names = [str(Head(layers[layer], head)) for layer, head in top]
        ablation = statistics.Ablation(answered.astype(np.float64), names)
    return statistics.dataset(scores, layers, meta | {"produced": int(counts.sum())}, ablation)


KIND = Kind("retrieval", StepRows.from_arrays, _figures)


@returns_result
@with_options()
def retrieval(
    model: Model,
    corpus: Corpus | Iterable[Example] | None = None,
    *,
    needles: Count = 32,
    lengths: Sequence[Count] = (256, 512),
    k: Number = 10,
    draws: Count = 3,
    chat: bool = False,
    seed: Seed = 0,
    **options: Unpack[Stepping],
) -> xr.Dataset:
    """Which heads retrieve, and whether the model answers without them.

    A needle, "The secret code of Oslo is 41 78 26.", stands amid a text, whose last line asks for it: "The secret
    code of Oslo is". The answer is put behind it, and counted are those of its tokens that the model itself would
    produce (greedily, given those before). A head's **retrieval score** is the share of them for which, while they are
    produced, the key that it looks at most is that very token of the needle.

    - **Intervals** are over needles, which count, not their tokens. **p**: that the score over all needles is no higher
      than .1, above which Wu et al. call a head a retrieval head; **q** over all heads. ``chance`` is what a head
      scores that looks at any one key as often as at any other.
    - **Ablation**: with half of the needles the `k` heads with the highest scores are chosen; the other half is
      answered with all heads, without these (their outputs 0), and without `k` others, drawn `draws` times among heads
      that score at most .1. ``accuracy`` is the share of needles whose whole answer the model produces.

    Source: Wu et al. 2024, "Retrieval Head Mechanistically Explains Long-Context Factuality".

    Args:
        model: a causal language model from `headscope.load`, with a tokenizer.
        corpus: where the text around the needles is from; by default the built-in corpus.
        needles: how many needles are hidden.
        lengths: of the texts, in tokens, about; in turn.
        k: how many heads are ablated at once; 0 for no ablation.
        draws: how often as many others are drawn.
        chat: also ask within the model's chat template, and say how many of the highest heads both lists share.
        seed: of needles, places and draws.

    Returns:
        A dataset over ``(layer, head)``: ``retrieval`` with ``_low``, ``_high``, ``_se``, ``p`` and ``q``; over
        ``condition`` ("all heads", "without the top k", "without k others") ``accuracy`` with ``_low`` and ``_high``;
        ``loss``, by how much accuracy is lower without the top than without others. ``produced`` says how many
        tokens of answers the model produced, ``answered`` how many of each ``needle``, and ``hits`` at how many of
        these a head looked. With `chat` also ``chat``, the scores within the template, ``chat_produced``, and
        ``overlap``: the share of the 10 highest heads (or of half of them all) that both lists have, with its
        ``overlap_chance``. Its table has one row a head.

    Raises:
        InputError: too few words or heads, a length that does not fit, or a model without a tokenizer.
        RefusedError: a model that is no causal language model, or a tokenizer that does not say where pieces stand.

    >>> import transformers
    >>> reader = headscope.load().tokenizer
    >>> config = transformers.GPT2Config(vocab_size=len(reader), n_embd=8, n_layer=2, n_head=2, n_positions=128)
    >>> small = headscope.load((transformers.GPT2LMHeadModel(config), reader))
    >>> found = retrieval(small, needles=4, lengths=(96,), k=1)
    >>> dict(zip(found["condition"].values.tolist(), found["accuracy"].values.tolist()))
    {'all heads': 0.0, 'without the top k': 0.0, 'without k others': 0.0}
    """
    unembedding(model)
    if not lengths:
        raise InputError("lengths: expected one or more whole numbers above 0, found []")
    if k and needles < 2:
        raise InputError(f"needles: expected at least 2, one of them to choose heads, found {needles}")
    source = builtin(pack=None) if corpus is None else corpus
    words = words_of(source)
    made = hidden(model, words, needles, lengths, seed)
    talks = hidden(model, words, needles, lengths, seed, chat=True) if chat else []
    asked = {"needles": needles, "lengths": list(lengths), "k": k, "draws": draws, "seed": seed}
    asked |= {"chat": True} if chat else {}
    items = [(*pair, number % 2 == 1) for number, pair in enumerate(zip_longest(made, talks))]
    with Steps(KIND, model, items, asked, RunOptions(**options), digest=_identity) as steps:
        steps.through(
            "needles", "needles", lambda item, done: looked_at(model, item[0], done), last=not (k or chat)
        )
        ablated: list[list[Any]] = []
        about = {"chance": float(np.mean([1 / needle.answer[0] for needle in made]))}
        if k or chat:
            ablated = _ablated(steps.rows, k, draws, seed) if k else []
            without = partial(_answers, model, Outputs(model, model.inputs([made[0].tokens])), ablated)
            steps.through("answers", "answers", without, ablated, last=True)
        answers = sum(len(needle.answer) for needle in made)
        meta = {**described(model, source), **asked, "answers": answers}
        return steps.result(meta, {**about, "top": ablated[:1]})


def needle_examples(
    model: Model,
    corpus: Corpus | None = None,
    *,
    needles: int,
    lengths: Sequence[int] = (128,),
    seed: int = 0,
) -> list[Example]:
    """Texts with a needle, in which each token of the answer that the model produces links what stands before it to
    that token of the needle (label ``needle``). Raises `RefusedError` for what is no causal language model."""
    unembedding(model)
    made = hidden(model, words_of(builtin(pack=None) if corpus is None else corpus), needles, lengths, seed)
    examples: list[Example] = []
    for number, needle in enumerate(made):
        right = _answered(model, needle, _pass)
        pairs = [
            pair
            for pair, here in zip(zip(needle.answer, needle.inside, strict=True), right, strict=True)
            if here
        ]
        links = [
            Link(Span(answer - 1, answer), (Span(key, key + 1),), "needle", unit="tokens")
            for answer, key in pairs
        ]
        examples.append(Example(tokens=needle.tokens, links=links, document=number))
    return examples


def _pass(_: object) -> None:
    """Nothing is kept of a call."""


_Item = tuple[Needle, Needle | None, bool]
"""A needle, the same within the chat template, and whether it is answered without heads."""


def _identity(item: _Item) -> object:
    """Tell these needles from others."""
    return [
        (None if one.tokens.ids is None else one.tokens.ids.tolist(), list(one.answer), list(one.inside))
        for one in item[:2]
        if one is not None
    ]


def looked_at(model: Model, needle: Needle, done: Callable[[int], None]) -> Arrays:
    """How many produced tokens each head looks at in the needle ``[layer head]``; how many of all; the layers."""
    asked = slice(needle.answer[0] - 1, needle.answer[-1])
    most: dict[int, Any] = {}

    def keep(record: AttentionRecord) -> None:
        most[record.layer] = (
            record.weights(asked)[0].argmax(-1).cpu().numpy() + record.key_offset
        )  # [head row]

    right = _answered(model, needle, keep)
    layers = sorted(most)
    hits = of_layers([((most[layer] == np.array(needle.inside)) & right).sum(-1) for layer in layers])
    done(1)
    counts = {"produced": np.array(int(right.sum())), "tokens": np.array(len(right))}
    return {"hits": hits, **counts, "layers": np.array(layers)}


def _answered(model: Model, needle: Needle, keep: Any) -> np.ndarray:
    """Which tokens of the answer the model produces, given those before; `keep` is shown the attention calls."""
    with torch.no_grad():
        return produced(needle, output_of(model, model.inputs([needle.tokens]), keep).logits)


def produced(needle: Needle, logits: Tensor) -> np.ndarray:
    """Which tokens of the answer have the largest logit."""
    assert needle.tokens.ids is not None
    predicted = logits[0, needle.answer[0] - 1 : needle.answer[-1]].argmax(-1).cpu().numpy()
    return predicted == needle.tokens.ids[list(needle.answer)]


def _ablated(rows: Sequence[Arrays], k: int, draws: int, seed: int) -> list[list[Any]]:
    """The heads that every other needle is answered without: those that the rest of them choose, then others."""
    hits, counts = (np.stack([row[name] for row in rows[::2]]) for name in ("hits", "produced"))
    if 2 * k > np.isfinite(hits[0]).sum():
        raise InputError(f"k: expected at most half of {np.isfinite(hits[0]).sum()} heads, found {k}")
    score = hits.sum(0) / max(counts.sum(), 1)
    ranked = statistics.highest(score)
    rest = [spot for spot in ranked[k:] if score[spot] <= statistics.BAR]
    rest = rest if len(rest) >= k else ranked[k:]
    draw = np.random.default_rng(seed)
    return [
        ranked[:k],
        *([rest[which] for which in draw.choice(len(rest), k, replace=False)] for _ in range(draws)),
    ]


def _answers(
    model: Model, outputs: Outputs, ablated: Sequence[Sequence[Any]], item: _Item, done: Callable[[int], None]
) -> Arrays:
    """What is looked at within the template; whether the answer is produced with all heads, and without these."""
    needle, talk, asked = item
    rows: Arrays = {}
    if talk is not None:
        rows = {f"chat_{name}": array for name, array in looked_at(model, talk, _pass).items()}
    if asked:
        inputs, puts = (
            model.inputs([needle.tokens]),
            [[Put(0, place, head, 0.0) for place, head in spots] for spots in ablated],
        )
        with torch.no_grad():
            rows["answered"] = np.array(
                [produced(needle, outputs.run(inputs, some)[0]).all() for some in puts]
            )
    done(1)
    return rows
