"""Measures of models with windows and chunks, against a plain loop over rows with transformers' own eager mask.

Which keys a row sees is taken from the mask that the model's own code makes for eager attention; what each measure is, is
written here once more, a row at a time, in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import headscope as hs
from headscope.attention.recording import recording
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.measures.choose import surface
from headscope.measures.dataset import chance_of
from headscope.measures.patterns import SINK_TOKENS
from headscope.models import Model
from tests.helpers.families import Family, build, family

WINDOWED = [
    "Mistral", "Gemma 2", "Gemma 3", "Gemma 3n", "gpt-oss", "GPT-Neo", "Llama 4", "ModernBERT", "Doge",
]  # fmt: skip
GROUPS = ["surface", "patterns", "confidence", "synthetic"]
_TEXT = "<s> straw ##y saw a cat , and the cats saw straw ##y again ; it walked <s> walk ##ing a cat saw the mouse ."
PIECES = _TEXT.split()
REPEAT = 6  # inputs of 144 tokens: far longer than every window, and long enough for sinks

Weights = NDArray[np.float64]
Row = Callable[[int, list[float], list[int]], float | None]
"""What a measure is of one row: (place, its weights, the keys that it sees) -> its figure; None: it does not count."""


def built(name: str) -> tuple[Model, Family]:
    """A model, in float64 where its experts take that, and its family; Doge keeps 20 keys a head."""
    of = family(name)
    config = {**of.config, "max_position_embeddings": 256}
    if name == "Doge":
        config["keep_window_size"] = 20
    made = Family(of.name, of.cls, of.model_type, config, of.heads, interface=of.interface)
    module = build(made)
    return hs.load(module if name == "gpt-oss" else module.double()), made


def text(length: int, start: int = 0) -> Tokens:
    """An input with words of several pieces, copies of words and related ones, two sentences, punctuation and classes."""
    pieces = (PIECES * REPEAT)[start : start + length]
    special = np.array([piece == "<s>" for piece in pieces])
    begins = np.array([not piece.startswith("##") for piece in pieces])
    sentence = np.minimum(np.arange(length) // max(1, length // 2), 1)
    begins |= np.diff(sentence, prepend=0) > 0
    vocabulary = {piece: place + 3 for place, piece in enumerate(dict.fromkeys(PIECES))}
    rarest = np.array([piece in ("mouse", ";") for piece in pieces])
    return Tokens(
        pieces,
        ids=np.array([vocabulary[piece] for piece in pieces]),
        special_mask=special,
        word_ids=np.where(special, -1, np.cumsum(begins & ~special)),
        sequence_ids=np.where(special, -1, sentence),
        classes={
            "sep": special,
            "cls": np.arange(length) == 0,
            "punctuation": np.array([piece in ",;." for piece in pieces]),
            "rarest": rarest,
            "rarest_two": rarest | np.array([piece == "again" for piece in pieces]),
        },
    )


def seen_and_used(model: Model, tokens: Tokens) -> list[tuple[NDArray[np.bool_], Weights]]:
    """Of each layer, the eager mask and the eager weights of one input alone, ``[head query key]``."""
    records: list[Any] = []
    ids = torch.tensor(np.array(tokens.ids))[None]
    with torch.no_grad(), recording(model.module, records.append):
        model.module(input_ids=ids, attention_mask=torch.ones_like(ids))
    layers: list[tuple[NDArray[np.bool_], Weights]] = []
    for record in sorted(records, key=lambda record: record.layer):
        weights = record.weights()[0].double().numpy()
        mask = torch.zeros(()) if record.mask is None else record.mask
        seen = (mask if mask.dtype == torch.bool else mask > -1e4).expand(1, *weights.shape)[0].numpy()
        layers.append((seen, weights))
    return layers


def definitions(tokens: Tokens) -> dict[str, Row]:
    """Every measure of the groups, of a row."""
    count, pieces, ids = len(tokens), tokens.pieces, tokens.ids
    word, sentence = tokens.word_ids.tolist(), tokens.sequence_ids.tolist()
    real = [not hidden for hidden in tokens.mask("special").tolist()]
    marks = {
        name: tokens.mask(name).tolist() for name in ("sep", "cls", "punctuation", "rarest", "rarest_two")
    }
    units = [(sentence[i], word[i]) if real[i] else (-1, -1 - i) for i in range(count)]
    called = [
        "".join(p.removeprefix("##") for p, unit in zip(pieces, units, strict=True) if unit == units[i])
        for i in range(count)
    ]
    names = [called[i] if real[i] and not marks["punctuation"][i] else None for i in range(count)]

    @cache
    def related(a: str, b: str) -> bool:
        common = 0
        while common < min(len(a), len(b)) and a[common] == b[common]:
            common += 1
        return a == b or (common >= 4 and max(len(a), len(b)) - common <= 3)

    def pairs(worth: Callable[[int, int], bool]) -> Row:
        worth = cache(worth)

        def of_row(i: int, weights: list[float], seen: list[int]) -> float | None:
            targets = [j for j in seen if worth(i, j)]
            return sum(weights[j] for j in targets) if targets else None

        return of_row

    def mass(of: Sequence[bool], whose: Callable[[int], bool] = lambda _: True) -> Row:
        return lambda i, weights, _: (
            sum(w for w, member in zip(weights, of, strict=True) if member) if whose(i) else None
        )

    def at(offset: int) -> Row:
        return lambda i, weights, seen: weights[i + offset] if i + offset in seen else None

    def largest_on(targets: Callable[[int], Sequence[int]]) -> Row:
        def of_row(i: int, weights: list[float], seen: list[int]) -> float | None:
            wanted = [j for j in targets(i) if j in seen]
            if not wanted or not real[i]:
                return None
            most = max(weights[j] for j in seen)
            best = [j for j in seen if weights[j] == most]
            return sum(j in wanted for j in best) / len(best)

        return of_row

    def entropy(weights: Sequence[float]) -> float:
        return -sum(w * math.log(w) for w in weights if w > 0)

    def bag(i: int, weights: list[float], seen: list[int]) -> float | None:
        own = [j for j in seen if real[i] and sentence[j] == sentence[i]]
        if not own:
            return None
        part = [weights[j] for j in own]
        total = sum(part)
        return total * math.exp(entropy([w / total for w in part])) / len(own) if total > 0 else 0.0

    def first(i: int, weights: list[float], seen: list[int]) -> float | None:
        return weights[0] if len(seen) > 1 else None

    def distance(i: int, weights: list[float], seen: list[int]) -> float:
        return sum(weights[j] * abs(i - j) for j in range(count))

    def confidence(i: int, weights: list[float], seen: list[int]) -> float | None:
        others = [weights[j] for j in seen if real[i] and real[j]]
        return max(others) if others else None

    same = lambda i, j: names[i] is not None and names[i] == names[j]  # noqa: E731
    kin = lambda i, j: names[i] is not None and names[j] is not None and related(str(names[i]), str(names[j]))  # noqa: E731
    near = lambda i, j: real[i] and real[j] and sentence[i] == sentence[j]  # noqa: E731
    far = lambda i, j: real[i] and real[j] and sentence[i] != sentence[j]  # noqa: E731
    copy = lambda i, j: real[i] and real[j] and ids[i] == ids[j]  # noqa: E731
    sep = marks["sep"]
    return {
        "previous": at(-1),
        "current": at(0),
        "next": at(1),
        "first": first,
        "sep": mass(sep),
        "sep_sep": mass(sep, lambda i: sep[i]),
        "rest_sep": mass(sep, lambda i: not sep[i]),
        "cls": mass(marks["cls"]),
        "punctuation": mass(marks["punctuation"]),
        "entropy": lambda i, weights, seen: entropy(weights),
        "entropy_first": lambda i, weights, seen: entropy(weights) if i == 0 else None,
        "largest": lambda i, weights, seen: max(weights),
        "same_word": pairs(lambda i, j: same(i, j) and near(i, j) and units[i] != units[j]),
        "same_word_other": pairs(lambda i, j: same(i, j) and far(i, j)),
        "related_word": pairs(lambda i, j: kin(i, j) and near(i, j) and units[i] != units[j]),
        "related_word_other": pairs(lambda i, j: kin(i, j) and far(i, j)),
        "word_pieces": pairs(lambda i, j: names[i] is not None and units[i] == units[j] and i != j),
        "delimiter": mass(tokens.mask("special").tolist(), lambda i: real[i]),
        "own_sentence": pairs(near),
        "other_sentence": pairs(far),
        "a_to_b": pairs(lambda i, j: sentence[i] == 0 and sentence[j] == 1),
        "b_to_a": pairs(lambda i, j: sentence[i] == 1 and sentence[j] == 0),
        "bag_of_words": bag,
        "distance": distance,
        "sink": pairs(lambda i, j: count >= SINK_TOKENS and j == 0 and i > 0),
        "confidence": confidence,
        "positional_previous": largest_on(lambda i: [i - 1]),
        "positional_next": largest_on(lambda i: [i + 1]),
        "rare_word": largest_on(lambda i: [j for j in range(count) if marks["rarest"][j]]),
        "rare_word_two": largest_on(lambda i: [j for j in range(count) if marks["rarest_two"][j]]),
        "induction": pairs(lambda i, j: 0 < j != i and j - 1 < i and copy(i, j - 1)),
        "duplicate": pairs(lambda i, j: j < i and copy(i, j)),
        "previous_token": pairs(lambda i, j: j == i - 1 and real[i] and real[j]),
    }


def sums_by_hand(
    tokens: Tokens, layers: Sequence[tuple[NDArray[np.bool_], Weights]]
) -> Mapping[str, NDArray[np.float64]]:
    """Of each measure the sums of one input, ``[figure, n, chance][layer head]``, a row at a time."""
    rows: list[tuple[int, int, int, list[float], list[int], list[float]]] = []
    for layer, (sight, weights) in enumerate(layers):
        for head, map_ in enumerate(weights.tolist()):
            for i, row in enumerate(map_):
                seen = np.flatnonzero(sight[head, i]).tolist()
                rows.append((layer, head, i, row, seen, (sight[head, i] / len(seen)).tolist()))
    found: dict[str, NDArray[np.float64]] = {}
    for name, of_row in definitions(tokens).items():
        total = found[name] = np.zeros((3, len(layers), len(layers[0][1])))
        for layer, head, i, row, seen, flat in rows:
            value = of_row(i, row, seen)
            if value is not None:
                even = of_row(i, flat, seen)
                assert even is not None
                total[:, layer, head] += (value, 1.0, even)
    return found


def by_hand(inputs: Sequence[Mapping[str, NDArray[np.float64]]]) -> Mapping[str, NDArray[np.float64]]:
    """Of each measure ``[figure, n, chance][layer head]`` over inputs."""
    totals = {name: np.sum([each[name] for each in inputs], 0) for name in inputs[0]}
    with np.errstate(invalid="ignore"):
        return {name: np.stack([t[0] / t[1], t[1], t[2] / t[1]]) for name, t in totals.items()}


def compare(found: Any, truth: Mapping[str, NDArray[np.float64]], atol: float) -> list[str]:
    compared: list[str] = []
    for name, (value, count, chance) in truth.items():
        if name not in found:
            assert not count.any() or name in ("next", "entropy_first"), name
            continue
        compared.append(name)
        np.testing.assert_array_equal(found[f"{name}_n"].values, count, err_msg=name)
        np.testing.assert_allclose(found[name].values, value, atol=atol, rtol=0, err_msg=name)
        np.testing.assert_allclose(
            chance_of(found, name), chance, atol=atol, rtol=0, err_msg=f"chance of {name}"
        )
    return compared


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "Llama 4" else pytest.mark.slow)
        for name in [*WINDOWED, "BLOOM"]
    ],
)
@pytest.mark.slow
def test_every_measure_equals_a_loop_over_rows(name: str) -> None:
    """Two inputs of different lengths in one padded batch, far longer than the window; and each input's own maps."""
    model, _ = built(name)
    inputs = [text(SINK_TOKENS + 4), text(40, start=3)]
    layers_of = [seen_and_used(model, tokens) for tokens in inputs]
    for sight, weights in layers_of[0]:
        np.testing.assert_array_equal(
            sight, weights > 0
        )  # drawn at random: no weight is 0 but those that are hidden
    assert name == "BLOOM" or any(
        len({row.sum() for row in sight[0]}) > 1 and sight[0].sum(-1).max() < 128 for sight, _ in layers_of[0]
    )
    corpus = [Example(tokens=tokens, document=place, source="test") for place, tokens in enumerate(inputs)]
    batch_size = (
        1 if name == "Doge" else 2
    )  # of equal keys, such as those of copies, Doge keeps others beside padding
    found = hs.measure(model, corpus, measures=GROUPS, batch_size=batch_size)
    sums = [*map(sums_by_hand, inputs, layers_of)]
    compared = compare(found, by_hand(sums), atol=1e-5)  # softmax is float32 in most eager functions
    assert len(compared) >= (30 if name == "ModernBERT" else 24)
    ids = torch.tensor(np.array(inputs[0].ids))[None]
    maps = hs.capture(model, inputs={"input_ids": ids})
    own = hs.wrap(list(maps.layers), inputs[0], causal=maps.causal, visible=maps.visible, partial=True)
    alone = surface(_whole(own, maps), GROUPS)
    compare(alone, by_hand(sums[:1]), atol=1e-5)  # softmax is float32 in most eager functions


def _whole(own: hs.AttentionMaps, maps: hs.AttentionMaps) -> hs.AttentionMaps:
    """Maps with the tokens of `own` and the sinks of `maps`."""
    return hs.AttentionMaps(
        own.layers,
        own.query,
        own.query,
        causal=maps.causal,
        sink=maps.sink,
        index=maps.index,
        visible=maps.visible,
    )


def test_doge_differs_by_head() -> None:
    model, _ = built("Doge")
    inputs = [text(SINK_TOKENS + 4)]
    found = hs.measure(model, [Example(tokens=inputs[0], source="test")], measures=["sink", "same_word"])
    assert found["sink_chance"].dims == ("layer", "head")
    assert len(set(found["sink_n"].values.ravel().tolist())) > 1
    assert set(hs.table(found)["chance"].round(9)) == set(chance_of(found, "sink").ravel().round(9)) | set(
        chance_of(found, "same_word").ravel().round(9)
    )


@pytest.mark.parametrize("width", [4, 9])
def test_a_uniform_head_is_a_whole_bag_of_words(width: int) -> None:
    """It scored .240 with a window of 4, and its sink had 417 rows in place of 9."""
    count = 132
    seen = np.tri(count, dtype=bool) & ~np.tri(count, k=-width, dtype=bool)
    even = (seen / seen.sum(-1, keepdims=True))[None, None]
    found = surface(hs.wrap(even, ["x"] * count, visible=seen), ["bag_of_words", "sink", "first"])
    assert found["bag_of_words"].item() == pytest.approx(1.0)
    assert found["sink_n"].item() == width - 1
    assert found["first_n"].item() == count - 1


def test_zeros_of_the_weights_hide_nothing() -> None:
    """A head that gives all to one token, of 20 that each query sees, is a twentieth of a bag (it scored .180)."""
    one = np.zeros((1, 1, 20, 20))
    one[..., 7] = 1.0
    found = surface(hs.wrap(one, ["x"] * 20, causal=False), ["bag_of_words"])
    assert found["bag_of_words"].item() == pytest.approx(0.05)


def test_functions_of_before_still_run_and_new_ones_see() -> None:
    """Three arguments, as documented so far; a fourth with a default of one's own; and ``visible``, by name."""

    @hs.row_measure("reach", "Keys with weight.")
    def reach(weights: Any, tokens: Any, queries: Any) -> Any:
        return (weights > 0).sum(-1)

    @hs.row_measure("reach_above", "Keys with weight.")
    def above(weights: Any, tokens: Any, queries: Any, least: float = 0.0) -> Any:
        return (weights > least).sum(-1)

    @hs.row_measure("keys", "Keys that are seen.")
    def keys(weights: Any, tokens: Any, queries: Any, visible: Any) -> Any:
        assert visible.shape[-2:] == weights.shape[-2:]
        return np.broadcast_to(visible.sum(-1), weights.shape[:-1])

    model, _ = built("Mistral")
    inputs = [text(30), text(17)]
    corpus = [Example(tokens=tokens, document=place, source="test") for place, tokens in enumerate(inputs)]
    found = hs.measure(model, corpus, measures=[reach, above, keys])
    expected = sum(min(i + 1, 4) for tokens in inputs for i in range(len(tokens))) / 47
    for name in ("reach", "reach_above", "keys"):
        np.testing.assert_allclose(found[name].values, expected, err_msg=name)
