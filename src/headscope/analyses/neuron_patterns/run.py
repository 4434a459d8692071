"""Which dimensions of queries and keys carry the patterns of a model's heads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]  # pyright: ignore[reportMissingTypeStubs]

from headscope.attention.neurons import capture_with_neurons
from headscope.attention.one import tokens_of as read
from headscope.core.arrays import Bools, Floats
from headscope.core.heads import Head
from headscope.core.maps import AttentionMaps
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict
from headscope.core.validation import Count, validated
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs.batches import examples, tokens_of
from headscope.runs.progress import bar

COLUMNS = (
    *("layer", "head", "paper", "pattern", "rank", "weight", "breadth", "score", "dimensions", "of", "which"),
    *("positive_inside", "positive_outside", "key_dimensions", "key_dimensions_outside"),
    *("weight_at_delimiter", "score_at_delimiter", "n"),
)
"""Columns of the tidy table, see `table`."""

CARRY = 0.9
"""Share of a pattern's score difference, or of a key's squared length, whose dimensions are counted."""


class PatternPairs(NamedTuple):
    """A pattern's pairs in one input, ``[query key]`` each; rows without a pair of either kind do not count."""

    inside: Bools
    outside: Bools


def patterns(tokens: Tokens, sight: Bools) -> dict[str, PatternPairs]:
    """The pairs of each pattern that an input can show, among those that are visible, `sight` ``[query key]``.

    - ``delimiter``: from tokens that are no separators to separators, against all other keys;
    - ``bag_of_words``: from tokens of a sentence to tokens of the same one, against those of the other (of a pair);
    - ``next_token`` and ``previous_token``: to that token, against all other keys.
    """
    count = len(tokens)
    pairs: dict[str, PatternPairs] = {}
    if "sep" in tokens.classes and tokens.classes["sep"].any():
        sep = tokens.classes["sep"]
        rows = ~sep[:, None] & sight
        pairs["delimiter"] = PatternPairs(rows & sep, rows & ~sep)
    ids = tokens.sequence_ids
    if ids is not None and {0, 1} <= set(ids.tolist()):
        known = np.asarray(ids >= 0, np.bool_)
        words = known[:, None] & known & sight
        same = np.equal(ids[:, None], ids)
        pairs["bag_of_words"] = PatternPairs(words & same, words & ~same)
    for name, offset in (("next_token", 1), ("previous_token", -1)):
        here = np.eye(count, k=offset, dtype=np.bool_) & sight
        if here.any():
            pairs[name] = PatternPairs(here, sight & ~here)
    return pairs


Sums = AnyDict
"""Sums over rows of one pattern in one layer, by what they are of: ``rows`` that count; ``parts``, what each dimension
adds ``[head dim]``; ``weight``, attention to the keys inside, and ``breadth``, over what share of these it is spread
``[head]``; ``positive`` products inside and outside, as shares of the row's, and ``keys``, dimensions that hold `CARRY`
of the squared length of keys inside and outside ``[2 head]``; and of rows that are delimiters, which the others leave
out, how many there are ``at``, ``weight_at`` and ``score_at``, the score difference."""


def sums_over_rows(
    q: Floats, k: Floats, scaling: float, weights: Floats, pairs: PatternPairs, delimiters: Bools
) -> Sums:
    """The sums of one input: ``q [head query dim]``, ``k [head key dim]``, ``weights [head query key]``."""
    alive: Bools = np.logical_and(pairs.inside.any(1), pairs.outside.any(1))
    inside, outside = _means(pairs.inside & alive[:, None]), _means(pairs.outside & alive[:, None])
    added = scaling * q * ((inside - outside) @ k)  # [head query dim]
    mass = (weights * pairs.inside).sum(-1)
    plain, at = alive & ~delimiters, alive & delimiters
    agree = ((q > 0) * 1.0) @ ((k > 0) * 1.0).swapaxes(1, 2) + ((q < 0) * 1.0) @ ((k < 0) * 1.0).swapaxes(
        1, 2
    )
    spread, sides = _needed(k**2), (inside, outside)
    return {
        "rows": int(plain.sum()),
        "at": int(at.sum()),
        "parts": added[:, plain].sum(1),
        "weight": mass[:, plain].sum(1),
        "breadth": _breadth(weights[:, plain], pairs.inside[plain]).sum(1),
        "weight_at": mass[:, at].sum(1),
        "score_at": added[:, at].sum((1, 2)),
        "positive": np.stack([(agree * share)[:, plain].sum((1, 2)) / q.shape[2] for share in sides]),
        "keys": np.stack([(spread[:, None] * share)[:, plain].sum((1, 2)) for share in sides]),
    }


def table(sums_by_pattern: Mapping[tuple[int, str], Sums]) -> pd.DataFrame:
    """One row a head and pattern, from the sums by layer and pattern, with `COLUMNS`:

    - ``rank``: of the head among all heads in the pattern, 1 for the first: by ``weight``, and for ``bag_of_words`` by
      ``weight`` × ``breadth``, since a head that looks at one neighbour keeps within its sentence as well;
    - ``weight``: mean attention to the keys inside (share of a row);
    - ``breadth``: over what share of the keys inside it is spread, e to the entropy of the attention among them by
      their number: 1 for all of them alike;
    - ``score``: mean score inside less outside, what softmax sees (no unit: log odds);
    - ``dimensions``: the fewest whose parts add up to 90 % of ``score``, ``of`` so many; NaN where ``score`` is not
      above 0, so that q × k does not carry the pattern; ``which``: their indices, largest part first;
    - ``positive_inside``, ``positive_outside``: share of the products q_id k_jd that are above 0;
    - ``key_dimensions``, ``key_dimensions_outside``: in how many dimensions the keys have 90 % of their squared length;
    - ``weight_at_delimiter``, ``score_at_delimiter``: the same as ``weight`` and ``score``, of the rows that are
      separators, which the other columns leave out; NaN without such rows;
    - ``n``: rows. Means over inside (outside) keys are taken within a row first, then over rows.
    """
    frames: list[pd.DataFrame] = []
    for (layer, pattern), sums in sums_by_pattern.items():
        if not (count := sums["rows"]):
            continue
        means = sums["parts"] / count
        orders = [carrying(parts) for parts in means]
        at, (heads, size) = sums["at"] or np.nan, means.shape
        columns: AnyDict = {
            "layer": layer,
            "head": np.arange(heads),
            "paper": [Head(layer, head).paper for head in range(heads)],
            "pattern": pattern,
            "rank": 0,
            "weight": sums["weight"] / count,
            "breadth": sums["breadth"] / count,
            "score": [parts.sum() for parts in means],
            "dimensions": [float(len(order)) if order else np.nan for order in orders],
            "of": size,
            "which": [" ".join(map(str, order)) for order in orders],
            "positive_inside": sums["positive"][0] / count,
            "positive_outside": sums["positive"][1] / count,
            "key_dimensions": sums["keys"][0] / count,
            "key_dimensions_outside": sums["keys"][1] / count,
            "weight_at_delimiter": sums["weight_at"] / at,
            "score_at_delimiter": sums["score_at"] / at,
            "n": count,
        }
        frames.append(pd.DataFrame(columns))
    if not frames:
        return pd.DataFrame(columns=list(COLUMNS))
    rows: Any = pd.concat(frames, ignore_index=True)
    broad = np.where(rows["pattern"] == "bag_of_words", rows["breadth"], 1.0)
    ranks = (rows["weight"] * broad).groupby(rows["pattern"]).rank(method="first", ascending=False)
    return rows.assign(rank=ranks.astype(int))


def carrying(parts: Floats, share: float = CARRY) -> list[int]:
    """The fewest dimensions whose parts add up to a share of the whole, largest first; none where it is not above 0.

    >>> carrying(np.array([1.0, 8.0, -1.0, 2.0]))  # of 10
    [1, 3]
    """
    total = parts.sum()
    if not total > 0:
        return []
    order = np.argsort(-parts, kind="stable")
    count = int(np.argmax(np.cumsum(parts[order]) >= share * total)) + 1
    return [int(dimension) for dimension in order[:count]]


def sums_of(
    inputs: Iterable[tuple[AttentionMaps, Neurons]],
) -> dict[tuple[int, str], Sums]:
    """The sums of some inputs' maps and neurons, by the model's index of the layer and by pattern."""
    sums: dict[tuple[int, str], Sums] = {}
    for maps, neurons in inputs:
        tokens = maps.query
        delimiters = tokens.classes.get("sep", np.zeros(len(tokens), np.bool_))
        for position, layer in enumerate(maps.index):
            named = patterns(tokens, np.asarray(maps.sight(position).all(0)))
            q = neurons.q[position].astype(np.float64)
            k = np.repeat(neurons.k[position].astype(np.float64), neurons.groups(position), 0)
            weights = maps.layers[position].astype(np.float64)
            for name, pairs in named.items():
                total = sums.setdefault((layer, name), {})
                rows = sums_over_rows(q, k, neurons.scaling[position], weights, pairs, delimiters)
                total.update({figure: total.get(figure, 0) + part for figure, part in rows.items()})
    return sums


def _means(pairs: Bools) -> Floats:
    """Pairs as weights that take the mean over each row's keys."""
    return pairs / np.maximum(pairs.sum(1, keepdims=True), 1)


def _breadth(weights: Floats, inside: Bools) -> Floats:
    """e to the entropy of each row's attention among the keys inside, by their number, ``[head query]``."""
    kept = weights * inside
    share = kept / np.maximum(kept.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
    entropy = -np.sum(share * np.log(np.where(share > 0, share, 1.0)), -1)
    return np.where(kept.sum(-1) > 0, np.exp(entropy) / np.maximum(inside.sum(-1), 1), 0.0)


def _needed(squares: Floats) -> Floats:
    """How many of the last axis' entries, largest first, hold `CARRY` of its sum."""
    ordered = -np.sort(-squares, -1)
    total = np.cumsum(ordered, -1)
    return 1.0 + (total < CARRY * total[..., -1:]).sum(-1)


@validated
def neuron_patterns(
    model: Model,
    corpus: Corpus | Iterable[Example] | str | tuple[str, str] | Tokens,
    *,
    limit: Count | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """How many dimensions of q × k carry each head's delimiter, bag-of-words, next- and previous-token pattern.

    Source: Vig 2019, "Deconstructing BERT, Part 2". The table has a row for every head and pattern, whether the head
    has it or not: ``weight`` says how far it does. See
    `table` for its columns.
    Figures are means over rows (pieces), without errors.

    Args:
        model: from `headscope.load`: a model of one part.
        corpus: from `headscope.corpora`, examples that have their tokens, or one text or pair.
        limit: read at most this many inputs; they run one at a time.
        progress: show progress on stderr.

    Raises:
        InputError: an encoder-decoder, or a corpus without any of the patterns.

    >>> rows = neuron_patterns(headscope.load(), ("The cat sat.", "It was tired."))
    >>> best = rows[rows.pattern == "next_token"].nlargest(1, "weight")
    >>> best[["layer", "head", "paper"]].values.tolist()
    [[1, 8, '2-9']]
    """
    if model.encoder_decoder:
        raise InputError(f"{model.name}: expected a model of one part, found an encoder-decoder")
    if isinstance(corpus, (str, tuple, Tokens)):
        corpus = [Example(tokens=read(model, corpus), source="text")]

    def captured() -> Iterator[tuple[AttentionMaps, Neurons]]:
        with bar(corpus, limit, progress, "neurons") as done:
            for example in examples(model, corpus, limit):
                maps, neurons = capture_with_neurons(model, tokens_of(example))
                if not isinstance(maps, AttentionMaps):
                    raise InputError(
                        f"{model.name}: expected a model of one part, found {', '.join(neurons)}"
                    )
                yield maps, neurons["self"]
                done(1)

    rows = table(dict(sorted(sums_of(captured()).items())))
    if not len(rows):
        raise InputError("corpus: expected an input of two tokens or more, found none")
    return rows
