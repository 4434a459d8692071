"""Retrieval heads: how often each looks at the token that the model copies, and what is lost without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
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
from headscope.core.arrays import Arrays, Floats, of_layers
from headscope.core.heads import Head
from headscope.core.link import Link, Span
from headscope.core.validation import Count, Number, Seed
from headscope.corpora import Corpus, Example
from headscope.corpora.readers import builtin
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs.long import described
from headscope.runs.options import COMMAND, RunOptions
from headscope.runs.steps import Steps


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
    with Steps(model, "retrieval", asked, RunOptions(**options)) as steps:
        looked = partial(looked_at, model)
        rows = steps.results("needles", made, looked, digest=_identity, title="needles", total=len(made))
        layers = rows[-1]["layers"].tolist()
        hits = np.stack([row["hits"] for row in rows])
        counts = np.array([int(row["produced"]) for row in rows], np.float64)
        if 2 * k > np.isfinite(hits[0]).sum():
            raise InputError(f"k: expected at most half of {np.isfinite(hits[0]).sum()} heads, found {k}")
        lengths_seen = np.array([needle.answer[0] for needle in made], np.float64)
        scores = statistics.scores(hits, counts, chance=float((1 / lengths_seen).mean()))
        if chat:
            rows = steps.results(
                "chat", talks, looked, digest=_identity, title="in the template", total=len(talks)
            )
            scores |= statistics.within_template(
                scores["retrieval"],
                np.stack([row["hits"] for row in rows]),
                [int(row["produced"]) for row in rows],
            )
        ablated = _ablated(model, made, hits, counts, layers, k, draws, seed, steps) if k else None
    meta = {
        **described(model, source),
        **asked,
        "produced": int(counts.sum()),
        "answers": sum(len(needle.answer) for needle in made),
        "command": COMMAND.get(),
    }
    return statistics.dataset(scores, layers, meta, ablated)


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


def _pass(record: AttentionRecord) -> None:
    """Nothing is kept of a call."""


def _identity(needle: Needle) -> object:
    """Tell this needle from others."""
    assert needle.tokens.ids is not None
    return needle.tokens.ids.tolist(), list(needle.answer), list(needle.inside)


def looked_at(model: Model, needle: Needle, done: Callable[[int], None]) -> Arrays:
    """How many produced tokens each head looks at in the needle ``[layer head]``; how many there are; the layers."""
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
    return {"hits": hits, "produced": np.array(int(right.sum())), "layers": np.array(layers)}


def _answered(model: Model, needle: Needle, keep: Any) -> np.ndarray:
    """Which tokens of the answer the model produces, given those before; `keep` is shown the attention calls."""
    with torch.no_grad():
        return produced(needle, output_of(model, model.inputs([needle.tokens]), keep).logits)


def produced(needle: Needle, logits: Tensor) -> np.ndarray:
    """Which tokens of the answer have the largest logit."""
    assert needle.tokens.ids is not None
    predicted = logits[0, needle.answer[0] - 1 : needle.answer[-1]].argmax(-1).cpu().numpy()
    return predicted == needle.tokens.ids[list(needle.answer)]


def _ablated(
    model: Model,
    made: Sequence[Needle],
    hits: Floats,
    counts: Floats,
    layers: Sequence[int],
    k: int,
    draws: int,
    seed: int,
    steps: Steps,
) -> statistics.Ablation:
    """Answers to every other needle without the heads that the rest of them choose, and without others."""
    score = hits[::2].sum(0) / max(counts[::2].sum(), 1)
    ranked = statistics.highest(score)
    top = ranked[:k]
    rest = [spot for spot in ranked[k:] if score[spot] <= statistics.BAR]
    rest = rest if len(rest) >= k else ranked[k:]
    draw = np.random.default_rng(seed)
    others: list[list[Any]] = [
        [rest[which] for which in draw.choice(len(rest), k, replace=False)] for _ in range(draws)
    ]
    asked = made[1::2]
    outputs = Outputs(model, model.inputs([asked[0].tokens]))
    answered = np.empty((2 + draws, len(asked)))
    answered[0] = counts[1::2] == [len(needle.answer) for needle in asked]
    items = [(spots, needle) for spots in (top, *others) for needle in asked]
    rows = steps.results(
        "ablation",
        items,
        partial(_without, model, outputs),
        digest=lambda item: (item[0], _identity(item[1])),
        title="ablation",
        total=len(items),
    )
    answered[1:] = np.reshape([row["answered"] for row in rows], answered[1:].shape)
    return statistics.Ablation(answered, [str(Head(layers[layer], head)) for layer, head in top])


def _without(
    model: Model, outputs: Outputs, item: tuple[Sequence[Any], Needle], done: Callable[[int], None]
) -> Arrays:
    """Whether a needle is answered without some heads."""
    spots, needle = item
    with torch.no_grad():
        logits, _ = outputs.run(
            model.inputs([needle.tokens]), [Put(0, place, head, 0.0) for place, head in spots]
        )
    done(1)
    return {"answered": np.array(produced(needle, logits).all())}
