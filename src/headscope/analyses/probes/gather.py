"""What probes read of a model: maps over words and hidden states, kept on disk, and the vectors of words."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from headscope.analyses.probes.cache import Precision, Store, kept
from headscope.analyses.probes.modules import SPECIAL
from headscope.analyses.probes.vectors import Vectors
from headscope.attention.recording import evaluating
from headscope.core.arrays import Floats
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.errors import InputError, RefusedError
from headscope.models import Model
from headscope.runs.batches import Batches, tokens_per_batch
from headscope.runs.engines import engine_of
from headscope.runs.forward import forward
from headscope.runs.options import RunOptions
from headscope.runs.outcome import Given
from headscope.runs.progress import Progress
from headscope.runs.words import word_maps

_WINDOW = 256
_NUMBERS = 1 << 26
"""Sentences, and about how many numbers, that are written together."""

Work = Callable[[Sequence[Example]], list[npt.NDArray[Any]]]
"""What is kept of each input of a batch."""


def fill(
    store: Store, examples: Iterable[Example], model: Model, work: Work, options: RunOptions, shown: Progress
) -> None:
    """Write what is not yet in a store.

    Args:
        store: is filled.
        examples: all sentences, with tokens.
        model: that the work runs. One that padding moves gets batches of sentences of as many tokens.
        work: what is kept of each sentence of a batch.
        options: where the work is done, and how many sentences are in a batch at most.
        shown: counts the sentences.
    """
    engine = engine_of(options.engine)
    shown(store.done)
    orders: deque[list[list[int]]] = deque()

    def units() -> Iterator[list[Given]]:
        for number, window in enumerate(_windows(islice(examples, store.done, None))):
            batches = list(_batches(model, window, options.batch_size))
            orders.append(batches)
            yield [Given(number, [[window[place] for place in batch] for batch in batches])]

    for results in engine.results([model], Batches(work), units(), shown if engine.remote else None):
        places = [place for batch in orders.popleft() for place in batch]
        arrays = dict(zip(places, (array for batch in results for array in batch), strict=True))
        store.append([arrays[place] for place in range(len(places))])
        shown(len(places))


def _batches(model: Model, window: Sequence[Example], batch_size: int) -> Iterator[list[int]]:
    """The places of sentences of similar length."""
    lengths = [len(example.tokens or ()) for example in window]
    order = sorted(range(len(window)), key=lengths.__getitem__)
    most = tokens_per_batch(batch_size, model)
    while order:
        size = min(batch_size, len(order))
        while size > 1 and size * lengths[order[size - 1]] > most:
            size -= 1
        if model.same_length:
            most_padded = max(lengths[order[0]], model.same_length)
            size = sum(lengths[place] <= most_padded for place in order[:size])
        yield order[:size]
        order = order[size:]


def _windows(stream: Iterator[Example]) -> Iterator[list[Example]]:
    window: list[Example] = []
    numbers = 0
    for example in stream:
        window.append(example)
        numbers += 256 * len(example.words or ()) ** 2
        if len(window) == _WINDOW or numbers >= _NUMBERS:
            yield window
            window, numbers = [], 0
    if window:
        yield window


def roots(tokens: Tokens) -> tuple[list[int], tuple[str, str]]:
    """The tokens that stand for the root, and which they are.

    They are [CLS] and the last [SEP]; for models without them the token at the beginning and that at the end of a
    text, or the first token, whatever it is, and none.
    """

    def token(classes: tuple[str, str], which: int, absent: tuple[int, str]) -> tuple[int, str]:
        for name in classes:
            if name in tokens.classes and (places := np.flatnonzero(tokens.mask(name))).size:
                return int(places[which]), name
        return absent

    begin, end = token(("cls", "bos"), 0, (0, "first token")), token(("sep", "eos"), -1, (-1, "none"))
    return [begin[0], end[0]], (begin[1], end[1])


def heads_of(model: Model, example: Example) -> list[tuple[int, int]]:
    """Layer and number of heads, of each layer."""
    heads: dict[int, int] = {}
    word_maps(model, [example], lambda layer, maps: heads.update({layer: maps.shape[1]}))
    return sorted(heads.items())


def maps_of(model: Model, heads: Sequence[tuple[int, int]], precision: Precision) -> Work:
    """Maps over words with columns for the root, ``[word, word + special, head]`` a sentence."""
    ends = dict(zip((layer for layer, _ in heads), accumulate(number for _, number in heads), strict=True))
    total = sum(number for _, number in heads)

    def work(batch: Sequence[Example]) -> list[npt.NDArray[Any]]:
        sizes = [len(example.words or ()) for example in batch]
        arrays = [np.zeros((size, size + SPECIAL, total), precision) for size in sizes]
        columns = [roots(cast(Tokens, example.tokens))[0] for example in batch]
        width = max(sizes)

        def add(layer: int, maps: npt.NDArray[Any]) -> None:
            columns_of = slice(ends[layer] - maps.shape[1], ends[layer])
            for array, weights, size in zip(arrays, maps, sizes, strict=True):
                among = np.r_[0:size, width : width + SPECIAL]
                array[..., columns_of] = kept(
                    weights[:, :size, among].transpose(1, 2, 0), precision, f"layer {layer}"
                )

        word_maps(model, batch, add, columns=columns)
        return arrays

    return work


def states_of(model: Model) -> Work:
    """Hidden states, the mean over each word's pieces, ``[layer word size]`` a sentence; layer 0 is the embeddings."""

    def work(batch: Sequence[Example]) -> list[npt.NDArray[Any]]:
        layers = _hidden(model, [cast(Tokens, example.tokens) for example in batch])
        arrays: list[npt.NDArray[Any]] = []
        for place, example in enumerate(batch):
            ids = cast(Tokens, example.tokens).word_ids
            if ids is None or example.words is None:
                raise example.error("expected a tokenizer that tells words from pieces, found none")
            give = ids == np.arange(len(example.words))[:, None]
            give = give / give.sum(1, keepdims=True).clip(1)
            states = np.stack([give @ layer[place, : len(ids)] for layer in layers])
            arrays.append(kept(states, "float16", "hidden states"))
        return arrays

    return work


def layers_of(model: Model, example: Example) -> tuple[int, int]:
    """How many hidden states there are of each token, and their size."""
    layers = _hidden(model, [cast(Tokens, example.tokens)])
    return len(layers), layers[0].shape[-1]


def _hidden(model: Model, inputs: Sequence[Tokens]) -> list[Floats]:
    """The hidden states of each layer, ``[input token size]``."""
    with torch.no_grad(), evaluating(model.backbone):
        out = forward(model, inputs, output_hidden_states=True)
    states = getattr(out, "hidden_states", None)
    if not states:
        raise RefusedError(f"{model.name}: expected hidden states for the structural probe, found none")
    sizes = {tuple(state.shape) for state in states}
    if len(sizes) > 1:
        raise RefusedError(f"{model.name}: expected hidden states of one size, found {sorted(sizes)}")
    return [state.double().cpu().numpy() for state in states]


def model_vectors(model: Model, vocabulary: Mapping[str, int]) -> Vectors:
    """The model's own input embeddings of each form's pieces (as they are within a text), averaged.

    Raises `InputError` for a model that has none.
    """
    module: Any = model.backbone
    table = module.get_input_embeddings() if hasattr(module, "get_input_embeddings") else None
    if not isinstance(table, nn.Embedding):
        raise InputError(
            f"{model.name}: has no input embeddings of pieces; give vectors of words (--vectors)"
        )
    values = np.zeros((len(vocabulary), table.embedding_dim), np.float32)
    known = np.zeros(len(vocabulary), np.bool_)
    for form, number in vocabulary.items():
        tokens = model.from_words([".", form])
        assert tokens.ids is not None
        assert tokens.word_ids is not None
        ids = tokens.ids[tokens.word_ids == 1]
        if ids.size:
            rows = table.weight.detach()[torch.as_tensor(ids, device=table.weight.device)]
            values[number] = rows.float().cpu().numpy().mean(0)
            known[number] = True
    return Vectors(f"input embeddings of {model.name}", values, known)
