"""Retrieval heads: how often each looks at the token that the model copies, and what is lost without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.options import Stepping, with_options
from headscope.analyses.result import returns_result
from headscope.analyses.roles.retrieval import statistics
from headscope.analyses.roles.retrieval.needles import Asks, Needle, hidden, known, words_of
from headscope.attention.one import output_of
from headscope.attention.parts import doubles
from headscope.attention.record import AttentionRecord
from headscope.attention.residual import Outputs, Put, attending, no_stream, unembedding
from headscope.attention.stream import Reader
from headscope.core.arrays import Arrays, Floats, of_layers
from headscope.core.heads import Head
from headscope.core.link import Link, Span
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Number, Seed
from headscope.corpora import Corpus, Example
from headscope.corpora.readers import builtin
from headscope.errors import InputError, RefusedError
from headscope.models import Model
from headscope.runs.long import Kind, described
from headscope.runs.options import RunOptions
from headscope.runs.steps import StepRows, Steps


def _figures(sums: StepRows, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    rows = {name: np.stack([row[name] for row in sums.rows]) for name in sums.rows[0]}
    layers: list[int] = rows["layers"][-1].tolist()
    counts, seed = rows["produced"].astype(np.float64), meta["seed"]
    scores = statistics.scores(rows["hits"], counts, about["chance"])
    if "chat_hits" in rows:
        produced = rows["chat_produced"].tolist()
        scores |= statistics.within_template(scores["retrieval"], rows["chat_hits"], produced)
    if "written" in rows:
        scores |= statistics.writing(rows["hits"], rows["written"], counts, seed)
    ablation = None
    if about["top"]:
        asked = sums.rows[1::2]
        answered = np.stack([[row["produced"] == row["tokens"], *row["answered"]] for row in asked], 1)
        names = [[str(Head(layers[layer], head)) for layer, head in top] for top in about["top"]]
        known = np.stack([row["known"] for row in asked], 1) if "known" in asked[0] else None
        ablation = statistics.Ablation(answered.astype(np.float64), names, known)
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
    asks: Asks = "code",
    written: bool = True,
    chat: bool = False,
    seed: Seed = 0,
    **options: Unpack[Stepping],
) -> xr.Dataset:
    """Which heads retrieve, and whether the model answers without them.

    A needle, "The secret code of Oslo is 41 78 26.", stands amid a text, whose last line asks for it: "The secret
    code of Oslo is". The answer is put behind it, and counted are those of its tokens that the model itself would
    produce (greedily, given those before). A head's **retrieval score** is the share of them for which, while they are
    produced, the key that it looks at most is that very token of the needle. A head that looks at a word and writes
    another scores 0, so beside it stands the **written score**: what the head's output adds from the needle's tokens
    to the logit of the answer, less what it adds from all others, in logits a token. A logit is taken less the mean of
    all, or of the answers that there are.

    Needles of *facts* share no word with their questions, and it takes a step to answer: "Anna lives by the Eiffel
    Tower.", "Someone at home in Paris is somebody named". The model's answer is the likeliest of sixteen names.

    - **Intervals** are over needles, which count, not their tokens. **p**: that the score over all needles is no higher
      than .1, above which Wu et al. call a head a retrieval head; **q** over all heads. ``chance`` is what a head
      scores that looks at any one key as often as at any other.
    - Of the written score p says that it is one that most heads have, as in `headscope.patching`.
    - **Two lists**: ``shared`` is the share of the 10 highest heads (or of half of them all) by what they look at, told
      from half of the needles, that are among those by what they write, told from the other half; ``halves`` the same
      of either list with itself, and ``stays`` how often a head is among the highest when as many needles are drawn.
    - **Ablation**: with half of the needles the `k` heads with the highest scores are chosen, by either score; the
      other half is answered with all heads, without these (their outputs 0), and without `k` others, drawn `draws`
      times among heads of neither list that score at most .1. ``accuracy`` is the share of needles whose whole answer
      the model produces, ``known`` that of as many questions which need no retrieval ("Kenya is a country in").

    Sources: Wu et al. 2024, "Retrieval Head Mechanistically Explains Long-Context Factuality"; Modarressi et al. 2025,
    "NoLiMa".

    Args:
        model: a causal language model from `headscope.load`, with a tokenizer.
        corpus: where the text around the needles is from; by default the built-in corpus.
        needles: how many needles are hidden.
        lengths: of the texts, in tokens, about; in turn.
        k: how many heads are ablated at once; 0 for no ablation.
        draws: how often as many others are drawn.
        asks: what needles say: a ``code`` whose question repeats the words before it, or a ``fact``.
        written: also tell what heads write; of a model whose layers do not add to one residual stream it is left out.
        chat: also ask within the model's chat template, and say how many of the highest heads both lists share.
        seed: of needles, places and draws.

    Returns:
        A dataset over ``(layer, head)``: ``retrieval`` with ``_low``, ``_high``, ``_se``, ``p`` and ``q``, and
        ``written`` with ``_low``, ``_high``, ``_p`` and ``_q``; over ``condition`` ("all heads", "without the top k",
        "without k others", "without the top k by what they write") ``accuracy`` and ``known`` with ``_low`` and
        ``_high``; ``loss`` and ``written_loss``, by how much accuracy is lower without the top than without others;
        ``shared`` with ``_low``, ``_high`` and ``_chance``, over ``list`` ``halves`` with ``_low``, ``_high`` and
        ``needed``, about how many needles two lists need to share .9, and ``stays``. ``produced`` says how many
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
    >>> found = retrieval(small, needles=4, lengths=(96,), k=1, written=False)
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
    made = hidden(model, words, needles, lengths, seed, asks=asks)
    talks = hidden(model, words, needles, lengths, seed, chat=True, asks=asks) if chat else []
    controls = known(model, words, needles, lengths, seed) if k and written else []
    asked = {"needles": needles, "lengths": list(lengths), "k": k, "draws": draws, "seed": seed}
    asked |= {"chat": True} if chat else {}
    asked |= {"asks": asks} if asks != "code" else {}
    reader, why = _reader(model, made[0]) if written else (None, None)
    asked |= {"written": why or True} if written else {}
    items = [
        _Item(needle, talk, control if number % 2 else None, number % 2 == 1)
        for number, (needle, talk, control) in enumerate(zip_longest(made, talks, controls))
    ]
    with Steps(KIND, model, items, asked, RunOptions(**options), digest=_identity) as steps:
        steps.through(
            "needles",
            "needles",
            lambda item, done: looked_at(model, item.needle, done, reader),
            last=not (k or chat),
        )
        ablated: list[list[Any]] = []
        about = {"chance": float(np.mean([1 / needle.answer[0] for needle in made]))}
        if k or chat:
            ablated = _ablated(steps.rows, k, draws, seed) if k else []
            without = partial(_answers, model, Outputs(model, model.inputs([made[0].tokens])), ablated)
            steps.through("answers", "answers", without, ablated, last=True)
        answers = sum(len(needle.answer) for needle in made)
        meta = {**described(model, source), **asked, "answers": answers}
        return steps.result(meta, {**about, "top": ablated[: len(ablated) - draws]})


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


class _Item(NamedTuple):
    """A needle, the same within the chat template, a question for what the model may know, and whether both are
    answered without heads."""

    needle: Needle
    talk: Needle | None
    control: Needle | None
    ablates: bool


def _identity(item: _Item) -> object:
    """Tell these needles from others."""
    return [
        (None if one.tokens.ids is None else one.tokens.ids.tolist(), list(one.answer), list(one.inside))
        for one in item[:3]
        if one is not None
    ]


def _reader(model: Model, needle: Needle) -> tuple[Reader | None, str | None]:
    """What reads what heads write, or why nothing does."""
    reader = Reader(model, model.inputs([needle.tokens]))
    try:
        _written(model, needle, reader, np.ones(len(needle.answer), np.bool_))
    except RefusedError as error:
        return None, str(error)
    return reader, None


def looked_at(
    model: Model, needle: Needle, done: Callable[[int], None], reader: Reader | None = None
) -> Arrays:
    """How many produced tokens each head looks at in the needle ``[layer head]``; how many of all; the layers; and
    given a reader what each head writes."""
    asked = slice(needle.answer[0] - 1, needle.answer[-1])
    most: dict[int, Any] = {}

    def keep(record: AttentionRecord) -> None:
        most[record.layer] = (
            record.weights(asked)[0].argmax(-1).cpu().numpy() + record.key_offset
        )  # [head row]

    right = _answered(model, needle, keep)
    layers = sorted(most)
    hits = of_layers([((most[layer] == np.array(needle.inside)) & right).sum(-1) for layer in layers])
    rows = {"hits": hits, "produced": np.array(int(right.sum())), "tokens": np.array(len(right))}
    if reader is not None:
        rows["written"] = _written(model, needle, reader, right) if right.any() else 0 * hits
    done(1)
    return rows | {"layers": np.array(layers)}


def _written(model: Model, needle: Needle, reader: Reader, right: np.ndarray) -> Floats:
    """What each head adds to the logits of these tokens from the needle's, less from all others ``[layer head]``."""
    assert needle.tokens.ids is not None
    read = reader.read(model.inputs([needle.tokens]), unembeds=unembedding(model))
    if not read.logits.requires_grad:
        raise no_stream(model, "logits that no layer has a part in")
    rows = np.flatnonzero(right) + needle.answer[0] - 1
    logits = read.logits[rows]
    number = logits[range(len(rows)), needle.tokens.ids[rows + 1]].sum() - logits.mean(1).sum()
    if needle.among and right[0]:  # what it is not among does not count
        number = number + logits[0].mean() - logits[0, list(needle.among)].mean()
    by_layer: dict[int, Floats] = {}
    for call, writer, (slope,) in attending(read, number[None]):
        weights = call.record.weights(slice(rows[0], rows[-1] + 1))[0][:, rows - rows[0]]
        from_needle = torch.full((weights.shape[-1],), -1.0)
        from_needle[[place - call.record.key_offset for place in needle.sentence]] = 1.0
        mixed = torch.einsum("hrk,hkd,k->hrd", weights, call.record.values[0], from_needle.to(weights))
        by_layer[writer.layer] = doubles(torch.einsum("hrd,hde,re->h", mixed, writer.matrix, slope[rows]))
    return of_layers([by_layer[layer] for layer in sorted(by_layer)])


def _answered(model: Model, needle: Needle, keep: Any) -> np.ndarray:
    """Which tokens of the answer the model produces, given those before; `keep` is shown the attention calls."""
    with torch.no_grad():
        return produced(needle, output_of(model, model.inputs([needle.tokens]), keep).logits)


def produced(needle: Needle, logits: Tensor) -> np.ndarray:
    """Which tokens of the answer have the largest logit, the first of them among the answers that there are."""
    assert needle.tokens.ids is not None
    logits = logits[0, needle.answer[0] - 1 : needle.answer[-1]]
    predicted = logits.argmax(-1).cpu().numpy()
    if needle.among:
        predicted[0] = needle.among[int(logits[0, list(needle.among)].argmax())]
    return predicted == needle.tokens.ids[list(needle.answer)]


def _ablated(rows: Sequence[Arrays], k: int, draws: int, seed: int) -> list[list[Any]]:
    """The heads that every other needle is answered without: those that the rest of them choose, then others."""
    hits, counts = (np.stack([row[name] for row in rows[::2]]) for name in ("hits", "produced"))
    if 2 * k > np.isfinite(hits[0]).sum():
        raise InputError(f"k: expected at most half of {np.isfinite(hits[0]).sum()} heads, found {k}")
    score = hits.sum(0) / max(counts.sum(), 1)
    tops = [statistics.highest(score)[:k]]
    if "written" in rows[0]:
        tops.append(statistics.highest(np.sum([row["written"] for row in rows[::2]], 0))[:k])
    ranked = [spot for spot in statistics.highest(score) if not any(spot in top for top in tops)]
    rest = [spot for spot in ranked if score[spot] <= statistics.BAR]
    rest = next(one for one in (rest, ranked, statistics.highest(score)[k:]) if len(one) >= k)
    draw = np.random.default_rng(seed)
    return [
        *tops,
        *([rest[which] for which in draw.choice(len(rest), k, replace=False)] for _ in range(draws)),
    ]


def _answers(
    model: Model, outputs: Outputs, ablated: Sequence[Sequence[Any]], item: _Item, done: Callable[[int], None]
) -> Arrays:
    """What is looked at within the template; whether the answer is produced with all heads, and without these."""
    rows: Arrays = {}
    if item.talk is not None:
        rows = {f"chat_{name}": array for name, array in looked_at(model, item.talk, _pass).items()}
    if item.ablates:
        rows["answered"] = _without(model, outputs, item.needle, ablated)
    if item.control is not None:
        rows["known"] = _without(model, outputs, item.control, [[], *ablated])
    done(1)
    return rows


def _without(model: Model, outputs: Outputs, needle: Needle, ablated: Sequence[Sequence[Any]]) -> np.ndarray:
    """Whether the whole answer is produced without each of these sets of heads."""
    inputs = model.inputs([needle.tokens])
    puts = [[Put(0, place, head, 0.0) for place, head in spots] for spots in ablated]
    with torch.no_grad():
        return np.array([produced(needle, outputs.run(inputs, some)[0]).all() for some in puts])
