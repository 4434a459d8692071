"""One row of a public table for a model, with the published rows beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.align.heads import alignment_heads
from headscope.analyses.bench import Name
from headscope.analyses.bench.alignment import Aligned, by_heads, by_hidden_states
from headscope.analyses.links.combine.run import combine_heads
from headscope.analyses.measure.run import measure
from headscope.analyses.probes.run import probe
from headscope.analyses.roles.retrieval.run import retrieval
from headscope.analyses.roles.synthetic import repeated_tokens
from headscope.analyses.tables import table
from headscope.core.counts import plural
from headscope.core.validation import Count, Seed, validated
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model, expect_model

SEPARATION = 24
"""Of contacts: residues that are nearer to each other in the sequence do not count, as in the published rows."""

Made = Iterator[Mapping[str, Any]]
Source = Corpus | Iterable[Example]


@cache
def published() -> Mapping[str, list[dict[str, Any]]]:
    """The published rows of each table, with their source and n."""
    return json.loads((files("headscope.analyses.bench") / "published.json").read_text("utf-8"))


@validated
def bench(
    name: Name,
    model: Model,
    corpora: Sequence[Any] = (),
    *,
    data: str = "",
    seed: Seed = 0,
    limit: Count | None = None,
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

    Args:
        name: which table.
        model: from `headscope.load`.
        corpora: what it is measured on: of ``aer`` and ``contacts`` links, of ``timing`` `headscope.corpora.spoken`, of
            ``uuas`` a treebank to train on and one to score; of the others none.
        data: what to call it.
        seed: of halves, needles, random tokens and probes.
        limit: use at most this many inputs.

    Returns:
        A table ``name, data, model, layer, head, system, NAME, ci_low, ci_high, n, source``, where NAME is the table's.
        Intervals are given what was chosen, of ``timing``, ``retrieval`` and ``induction`` on the same data.

    >>> hs.bench("induction", model)["source"].tolist()
    ['measured here']
    """
    expect_model(model)
    tables: dict[Name, tuple[int, Callable[..., Made]]] = {
        "aer": (1, _aer), "timing": (1, _timing), "contacts": (1, _contacts), "uuas": (2, _uuas),
        "retrieval": (0, _retrieval), "induction": (0, _induction),
    }  # fmt: skip
    count, make = tables[name]
    if len(corpora) != count:
        raise InputError(f"corpora: expected {count} of {name}, found {len(corpora)}")
    mine = [
        {"data": data, "model": model.name, "source": "measured here", **row}
        for row in make(model, *corpora, seed=seed, limit=limit)
    ]
    rows: Any = pd.DataFrame([*mine, *published()[name]])
    rows = rows.assign(name=name).rename(columns={"value": name})
    columns = ("name", "data", "model", "layer", "head", "system", name, "ci_low", "ci_high", "n", "source")
    rows = rows.reindex(columns=list(columns))
    return rows.astype({"layer": "Int64", "head": "Int64", "n": "Int64"})


def _aer(model: Model, corpus: Source, *, seed: int, limit: int | None) -> Made:
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


def _error(one: Aligned) -> dict[str, Any]:
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


def _head(row: Any, score: str) -> dict[str, Any]:
    """The best head's row of a table of heads, in per cent."""
    figures = {"value": score, "ci_low": "ci_low", "ci_high": "ci_high"}
    per_cent = {name: 100 * row[of] for name, of in figures.items()}
    return {"system": "best_head", "layer": row["layer"], "head": row["head"], **per_cent}
