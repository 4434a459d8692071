"""One row of a public table for a model, with the published rows beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import torch
import xarray as xr

from headscope.analyses.align.heads import alignment_heads
from headscope.analyses.bench import By, Name
from headscope.analyses.bench.circuits import circuits_rows, faithfulness_rows
from headscope.analyses.context_attribution.run import context_attribution
from headscope.analyses.links.combine.run import combine_heads
from headscope.analyses.measure.run import measure
from headscope.analyses.probes.run import probe
from headscope.analyses.result import table
from headscope.analyses.roles.retrieval.run import retrieval
from headscope.analyses.roles.run import repeated_tokens
from headscope.analyses.similar.reader import ReadText, TextReader, direction, together
from headscope.attention.one import capture
from headscope.core.arrays import AnyFloats, Bools, Floats
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.link import Span
from headscope.core.maps import AttentionMaps
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Seed, validated
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.statistics import jackknife
from headscope.statistics.jackknife import share_interval

MOST = 20
"""Heads that are added up, at most."""


@dataclass(frozen=True)
class Aligned:
    """The error of alignments.

    Attributes:
        aer: in per cent.
        low, high: its 95 % interval by sentence, given what was chosen.
        chosen: what each half of the sentences chose.
        n: sentences.
    """

    aer: float
    low: float
    high: float
    chosen: tuple[tuple[int, ...], tuple[int, ...]]
    n: int


@dataclass(frozen=True, eq=False)
class Sentence:
    """Two sentences: scores of their words ``[what a b]``, and which pairs are sure, or at least possible ``[a b]``."""

    scores: Floats
    sure: Bools
    both: Bools

    def counts(self, scores: Floats) -> Floats:
        """|A ∩ S| + |A ∩ P| and |A| + |S| where words choose each other, ``[... a b] -> [2 ...]``."""
        pairs = (scores == scores.max(-1, keepdims=True)) & (scores == scores.max(-2, keepdims=True))
        right = (pairs & self.sure).sum((-2, -1)) + (pairs & self.both).sum((-2, -1))
        return np.stack([right, pairs.sum((-2, -1)) + self.sure.sum()]).astype(np.float64)


def by_hidden_states(model: Model, corpus: Corpus | Iterable[Example], *, seed: int = 0) -> Aligned:
    """The error of hidden states: each sentence is read by itself, a word is the mean of its pieces, near by cosine.

    Source: Jalili Sabet et al. 2020, "SimAlign", Argmax. What is chosen is the layer; 0 is the embedding.
    """
    return by_halves(sentences(corpus, lambda example: _near(model, example)), 1, seed)


def by_heads(
    model: Model, corpus: Corpus | Iterable[Example], *, seed: int = 0
) -> tuple[Aligned, Aligned, list[Head]]:
    """The error of the best head, and of heads added up; and the heads, in the order of what was chosen.

    Both sentences are one input. A head's score is what it gives from A to B and from B to A, each row put to sum to 1
    over the other sentence. Heads are added one by one, on the half that chooses, for as long as that lowers the error.
    """
    heads: list[Head] = []

    def scores(example: Example) -> Floats:
        assert example.words is not None
        maps = capture(model, model.from_words(example.words, example.pair_words))
        if not isinstance(maps, AttentionMaps):
            raise InputError(
                f"{model.name}: expected a model that reads two sentences as one input, found one of parts"
            )
        heads[:] = maps.heads
        words = maps.words()
        to, back = words.between(0, 1), words.between(1, 0)
        return np.concatenate([
            _even(there) + _even(here).swapaxes(1, 2) for there, here in zip(to, back, strict=True)
        ])  # fmt: skip

    read = sentences(corpus, scores)
    return by_halves(read, 1, seed), by_halves(read, MOST, seed), heads


def by_similar(model: Model, corpus: Corpus | Iterable[Example]) -> tuple[Aligned, Aligned]:
    """The error of words by what their absence does to the vectors of sentences read apart: by its direction, and by
    what two of them give only together. Nothing is chosen.
    """
    reader = TextReader(model)

    def scores(example: Example) -> Floats:
        sides: list[ReadText] = []
        for words in (example.words, example.pair_words):
            assert words is not None
            sides.append(reader.words(words, example.source or "text"))
        near = reader.embedder.near(*(one.vectors for one in sides))
        return np.stack([direction(*sides), together(near.numpy())])

    read = sentences(corpus, scores)
    first, second = (
        by_halves([replace(one, scores=one.scores[[place]]) for one in read], 1, 0) for place in (0, 1)
    )
    return first, second


def sentences(corpus: Corpus | Iterable[Example], scores: Callable[[Example], Floats]) -> list[Sentence]:
    """Each pair of sentences with its scores and its gold pairs. Raises `InputError` for fewer than two."""
    read: list[Sentence] = []
    for example in corpus:
        if example.words is None or example.pair_words is None:
            raise example.error("expected words of two texts, found one text")
        sure, both = np.zeros((2, len(example.words), len(example.pair_words)), np.bool_)
        for link in example.links or ():
            for targets, masks in ((link.targets, (sure, both)), (link.possible, (both,))):
                for target in targets:
                    if not isinstance(target, Span) or not isinstance(link.source, Span):
                        raise example.error("expected links between words, found others")
                    a, b = (link.source, target) if link.source.text == "a" else (target, link.source)
                    for mask in masks:
                        mask[a.start : a.end, b.start : b.end] = True
        read.append(Sentence(scores(example), sure, both))
    if read and not any(one.both.any() for one in read):
        raise InputError("corpus: expected pairs of words that are aligned, found none")
    if len(read) < 2:
        raise InputError(f"corpus: expected at least 2 sentences with alignments, found {len(read)}")
    return read


def _near(model: Model, example: Example) -> Floats:
    """How near words are after each layer, ``[layer a b]``."""
    sides = [_words(model, words) for words in (example.words, example.pair_words) if words is not None]
    return sides[0] @ sides[1].swapaxes(1, 2)


def _words(model: Model, words: Sequence[str]) -> Floats:
    """Unit vectors of words after each layer, the embedding's first, ``[layer word dim]``."""
    tokens = model.from_words(words)
    with torch.no_grad():
        states = model.backbone(**model.inputs([tokens]), output_hidden_states=True).hidden_states
    of = np.asarray(tokens.word_ids)
    mean = np.stack([(of == word) / max((of == word).sum(), 1) for word in range(len(words))])
    vectors = np.stack([mean @ state[0].double().cpu().numpy() for state in states])
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def _even(weights: AnyFloats) -> Floats:
    """Rows put to sum to 1."""
    rows = weights.astype(np.float64)
    return rows / np.maximum(rows.sum(-1, keepdims=True), 1e-12)


def _halves(count: int, seed: int) -> tuple[Bools, Bools]:
    half = np.zeros(count, np.bool_)
    half[np.random.default_rng(seed).permutation(count)[: count // 2]] = True
    return half, ~half


def by_halves(read: Sequence[Sentence], most: int, seed: int) -> Aligned:
    """The error of the scores that each half chooses, one by one and at most so many, added up."""
    chosen: list[tuple[int, ...]] = []
    scored = np.zeros((len(read), 2))
    for half in _halves(len(read), seed):
        mine = [one for one, here in zip(read, half, strict=True) if here]
        sums = [np.zeros_like(one.scores[0]) for one in mine]
        heads: list[int] = []
        best = -1.0
        while len(heads) < most:
            tried = [one.counts(total + one.scores) for one, total in zip(mine, sums, strict=True)]
            right, total = np.sum(tried, 0)
            share = right / np.maximum(total, 1)
            if share.max() <= best:
                break
            best = float(share.max())
            heads.append(int(share.argmax()))
            sums = [total + one.scores[heads[-1]] for one, total in zip(mine, sums, strict=True)]
        for place, (one, here) in enumerate(zip(read, half, strict=True)):
            if not here:
                scored[place] = one.counts(one.scores[heads].sum(0))
        chosen.append(tuple(heads))
    s, n = scored.T
    share = s.sum() / n.sum()
    low, high = share_interval(share, jackknife.error(s, n), jackknife.effective(n), n.sum())
    aer, first, last = (100 * (1 - float(value)) for value in (share, high, low))
    return Aligned(aer, first, last, (chosen[0], chosen[1]), len(scored))


SEPARATION = 24
"""Of contacts: residues that are nearer to each other in the sequence do not count, as in the published rows."""

Made = Iterator[AnyMapping]
Source = Corpus | Iterable[Example]


@cache
def published() -> Mapping[str, list[AnyDict]]:
    """The published rows of each table, with their source and n."""
    return json.loads((files("headscope.analyses.bench") / "published.json").read_text("utf-8"))


@validated
def bench(
    name: Name,
    model: Model | None = None,
    corpora: Sequence[Any] = (),
    *,
    data: str = "",
    seed: Seed = 0,
    limit: Count | None = None,
    by: By = "heads",
) -> pd.DataFrame:
    """One row of a public table for a model, or several, with the published rows beside it.

    - ``aer``: word alignment, error in per cent, of words that choose each other: by the ``best_head``, by up to 20
      heads added up (``together``), by hidden states of sentences read apart (``hidden``); all chosen on a half of the
      sentences and scored on the other (`headscope.analyses.bench.alignment`).
    - ``timing``: off in ms, the best head of a model of speech and those chosen together (`headscope.alignment_heads`).
    - ``contacts``: precision at L in per cent, of pairs of residues 24 or more apart.
    - ``uuas``: trees, the structural probe and the attention probe, in per cent.
    - ``retrieval``: the best head's score, and the share of heads above .1, in per cent.
    - ``induction``: the best head's share on the token that followed an earlier copy, on repeated random tokens, in per
      cent.
    - ``cite``: the F1 of the spans that an answer cites and its sources, of HotpotQA's facts or other prompts whose
      sources are known, beside the spans that share most words with the answer; and of answers with marked stretches
      (RAGTruth) how often a token of one loses less by its best span than another token, in per cent.
    - ``circuits``: how well edges (area under the ROC curve) and heads (precision of as many as there are) of a circuit
      are found that is known, in twenty small models of the package, ten of them compiled and ten trained: by path
      patching of each edge, EAP-IG, EAP, `reads` and `attribute`, attention to the tokens that differ, and at random.
    - ``faithfulness``: CPR and CMD of a model's circuits (Mueller et al. 2025, "MIB"): the area under their
      faithfulness by their share of all edges, in order of scores, and the area between it and 1, in order of their
      sizes. Edges are chosen on some pairs and run on others. An edge is one of `headscope.patching`: MIB counts a
      head's queries, keys and values apart.

    Args:
        name: which table.
        model: from `headscope.load`; of ``circuits`` none.
        corpora: what it is measured on: of ``aer`` and ``contacts`` links, of ``timing`` `headscope.corpora.spoken`, of
            ``cite`` prompts, of ``uuas`` a treebank to train on and one to score, of ``faithfulness`` pairs to choose
            on and to score on, each a list of dictionaries as `headscope.patching` takes them (of one list, halves); of
            the others none.
        data: what to call it.
        seed: of halves, needles, random tokens and probes.
        limit: use at most this many inputs.
        by: of ``aer``, heads and hidden states, or ``similar``: what a word's absence does to each sentence's vector.

    Returns:
        A table ``name, data, model, layer, head, system, NAME, ci_low, ci_high, n, source``, where NAME is the table's.
        Intervals are given what was chosen, of ``timing``, ``retrieval`` and ``induction`` on the same data.

    >>> hs.bench("induction", model)["source"].tolist()
    ['measured here']
    """
    tables: dict[Name, tuple[int, Callable[..., Made]]] = {
        "aer": (1, _aer), "timing": (1, _timing), "contacts": (1, _contacts), "uuas": (2, _uuas),
        "cite": (1, _cite), "retrieval": (0, _retrieval), "induction": (0, _induction), "circuits": (0, circuits_rows),
        "faithfulness": (len(corpora) if len(corpora) == 2 else 1, faithfulness_rows),
    }  # fmt: skip
    count, make = tables[name]
    if (model is None) != (name == "circuits"):
        raise InputError(
            f"model: expected {'none' if model else 'one'} of {name}, found {model.name if model else 'none'}"
        )
    if by != "heads" and name != "aer":
        raise InputError(f"by: expected the table aer beside {by}, found {name}")
    if len(corpora) != count:
        raise InputError(f"corpora: expected {count} of {name}, found {len(corpora)}")
    mine = [
        {"data": data, "model": model and model.name, "source": "measured here", **row}
        for row in make(model, *corpora, seed=seed, limit=limit, **({"by": by} if name == "aer" else {}))
    ]
    rows: Any = pd.DataFrame([*mine, *published().get(name, [])])
    rows = rows.assign(name=name).rename(columns={"value": name})
    columns = ("name", "data", "model", "layer", "head", "system", name, "ci_low", "ci_high", "n", "source")
    rows = rows.reindex(columns=list(columns))
    return rows.astype({"layer": "Int64", "head": "Int64", "n": "Int64"})


def _aer(model: Model, corpus: Source, *, seed: int, limit: int | None, by: By) -> Made:
    if by == "similar":
        for system, one in zip(
            ("direction", "interaction"), by_similar(model, islice(corpus, limit)), strict=True
        ):
            yield {"system": f"similar, {system}", **_error(one)}
        return
    corpus = corpus if isinstance(corpus, Corpus) else list(corpus)
    best, together, heads = by_heads(model, islice(corpus, limit), seed=seed)
    hidden = by_hidden_states(model, islice(corpus, limit), seed=seed)
    same = best.chosen[0] == best.chosen[1]
    head = heads[best.chosen[0][0]]
    where = {"layer": head.layer, "head": head.head} if same else {}
    yield {"system": "best_head", **_error(best), **where}
    *some, last = dict.fromkeys(len(heads) for heads in together.chosen)
    counts = "".join(f"{count} and " for count in some) + plural(last, "head")
    yield {"system": f"together, {counts}", **_error(together)}
    layers = dict.fromkeys(str(layer) for (layer,) in hidden.chosen)
    yield {"system": f"hidden, layer {' and '.join(layers)}", **_error(hidden)}


def _error(one: Aligned) -> AnyDict:
    return {"value": one.aer, "ci_low": one.low, "ci_high": one.high, "n": one.n}


def _contacts(model: Model, corpus: Source, *, seed: int, limit: int | None) -> Made:
    yield from _together(
        combine_heads(model, corpus, symmetrise=True, min_separation=SEPARATION, seed=seed, limit=limit),
        "precision_at_l",
    )


def _together(result: xr.Dataset, score: str) -> Made:
    """The best head's and the regression's row of a score, over all labels."""
    labels: list[str] = result["label"].values.tolist()
    of: Any = result.sel(label="all" if "all" in labels else labels[0], score=score)
    for system, called in (("best head", "best_head"), ("regression", "together")):
        row = of.sel(system=system)
        value, low, high = (100 * float(row[part]) for part in ("value", "ci_low", "ci_high"))
        where = _best(of) if called == "best_head" else {}
        yield {"system": called, "value": value, "ci_low": low, "ci_high": high, "n": int(of["n"]), **where}


def _best(of: Any) -> dict[str, int]:
    """The best head, where both halves chose the same."""
    weight = of["weight"].sel(weighted="best head").sum("direction").transpose("half", "layer", "head")
    chosen = {tuple(np.unravel_index(int(half.argmax()), half.shape)) for half in weight.values}
    if len(chosen) != 1:
        return {}
    ((layer, head),) = chosen
    return {"layer": int(of["layer"].values[layer]), "head": int(of["head"].values[head])}


def _timing(model: Model, corpus: Source, *, seed: int, limit: int | None) -> Made:
    result = alignment_heads(model, corpus, limit=limit)
    meta: Any = json.loads(result.attrs["meta"])
    error = result["error"].transpose("layer", "head").values
    layer, head = np.unravel_index(int(np.nanargmin(error)), error.shape)
    n = int(meta["words"])
    best = {"layer": int(result["layer"].values[layer]), "head": int(result["head"].values[head])}
    yield {"system": "best_head", "value": 1000 * float(error[layer, head]), "n": n, **best}
    count = len(meta["heads"])
    yield {
        "system": f"together, {plural(count, 'head')}",
        "value": 1000 * float(meta["error"]),
        "n": n,
    }


def _uuas(model: Model, train: Source, dev: Source, *, seed: int, limit: int | None) -> Made:
    rows: Any = table(probe(model, train, dev, kinds=["structural", "attention"], seed=seed, limit=limit))
    for row in rows.to_dict("records"):
        if row["probe"] in ("structural", "attention"):
            yield {"system": row["probe"], "value": 100 * row["uuas"], "n": row["n"]}


def _cite(model: Model, corpus: Source, *, seed: int, limit: int | None) -> Made:
    rows: Any = table(context_attribution(model, corpus, exact="all", seed=seed, limit=limit))
    rows = rows[rows["kind"] == "all"].set_index("figure")
    systems = {"cited_f1": "cited", "lexical_f1": "shared words", "unsupported": "AUROC of marked stretches"}
    there = [name for name in systems if name in rows.index]
    if not there:
        raise InputError("cite: expected prompts with sources, or answers with marked stretches, found none")
    for name in there:
        value, low, high = (100 * float(rows.loc[name, part]) for part in ("value", "ci_low", "ci_high"))
        yield {
            "system": systems[name],
            "value": value,
            "ci_low": low,
            "ci_high": high,
            "n": rows.loc[name, "n"],
        }


def _retrieval(model: Model, *, seed: int, limit: int | None) -> Made:
    lengths = [min(length, model.max_length or length) for length in (256, 512)]
    rows: Any = table(retrieval(model, seed=seed, k=0, lengths=lengths, needles=min(limit or 32, 32)))
    if not rows["n"].any():
        raise InputError(f"{model.name}: the model produced no token of an answer to a needle")
    yield _head(rows.iloc[0], "score") | {"n": rows.iloc[0]["n"]}
    share = 100 * float((rows["score"] > 0.1).mean())
    yield {"system": "share of heads above .1", "value": share, "n": len(rows)}


def _induction(model: Model, *, seed: int, limit: int | None) -> Made:
    inputs = repeated_tokens(model, sequences=limit or 64, seed=seed)
    rows: Any = table(measure(model, inputs, measures=["induction"]))
    yield _head(rows.loc[rows["value"].idxmax()], "value") | {"n": len(inputs)}


def _head(row: Any, score: str) -> AnyDict:
    """The best head's row of a table of heads, in per cent."""
    figures = {"value": score, "ci_low": "ci_low", "ci_high": "ci_high"}
    per_cent = {name: 100 * row[of] for name, of in figures.items()}
    return {"system": "best_head", "layer": row["layer"], "head": row["head"], **per_cent}
