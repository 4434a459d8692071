"""What probes read of a model: maps over words and hidden states, kept on disk, and the vectors of words."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from headscope.analyses.probes.cache import Precision, Store, kept
from headscope.analyses.probes.modules import SPECIAL
from headscope.attention.recording import evaluating
from headscope.core.arrays import Bools, Floats, Singles
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.corpora.files import Files
from headscope.errors import CorpusError, InputError, RefusedError
from headscope.models import Model
from headscope.runs.batches import Batches, tokens_per_batch
from headscope.runs.checkpoint import SentBlock
from headscope.runs.engines import engine_of
from headscope.runs.forward import forward, word_maps
from headscope.runs.options import RunOptions
from headscope.runs.progress import Progress


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A vector for each form of a vocabulary.

    Attributes:
        name: where they are from, for tables.
        values: ``[form size]``; zeros for a form that has none.
        known: which forms have one.
    """

    name: str
    values: Singles
    known: Bools

    def standardised(self, forms: int) -> Singles:
        """The vectors less the mean of the first `forms` known ones, over their standard deviation (one number).

        Probes are linear in them or begin with a linear layer, so it changes nothing that they could express; they
        train alike on vectors of any scale. Unknown forms stay zero: an average word.
        """
        counted = self.known & (np.arange(len(self.known)) < forms)
        if not counted.any():
            return self.values
        mean = self.values[counted].mean(0, dtype=np.float64)
        spread = float((self.values[counted] - mean).std()) or 1.0
        return np.where(self.known[:, None], (self.values - mean) / spread, 0.0).astype(np.float32)


def read_vectors(path: str | Path, vocabulary: Mapping[str, int]) -> WordVectors:
    """Vectors of the forms of a vocabulary: one line a word, the word and its numbers parted by blanks.

    A first line of two whole numbers (word2vec's count and size) is passed over. A form that the file does not have
    as it is spelled gets the vector of its lower case. Of a word that comes twice the first one counts.

    Raises `CorpusError` with file and line for a line with another number of numbers, for one that is not finite, and
    where the file has none of the words.
    """
    lower: dict[str, list[int]] = {}
    for form, number in vocabulary.items():
        lower.setdefault(form.lower(), []).append(number)
    size, values = 0, np.zeros((len(vocabulary), 0), np.float32)
    exact, any_case = np.zeros(len(vocabulary), np.bool_), np.zeros(len(vocabulary), np.bool_)
    files = Files(path)
    for line in files:
        parts = line.text.rstrip(" \t").replace("\t", " ").split(" ")
        if line.number == 1 and len(parts) == 2 and all(map(str.isdigit, parts)):
            continue
        if not size:
            size = len(parts) - 1
            if size < 1:
                raise line.error(f"expected a word and its numbers, found {parts[0][:40]!r}")
            values = np.zeros((len(vocabulary), size), np.float32)
        if len(parts) <= size:
            raise line.error(f"expected a word and {size} numbers, found {len(parts) - 1} numbers")
        word = " ".join(parts[:-size])  # some words of GloVe's largest file hold blanks
        form = vocabulary.get(word)
        as_spelled = form is not None and not exact[form]
        forms = [number for number in lower.get(word, ()) if not exact[number] and not any_case[number]]
        if not as_spelled and not forms:
            continue
        try:
            vector = np.array(parts[-size:], np.float32)
        except ValueError:
            raise line.error(
                f"{word!r}: expected {size} numbers, found {_not_a_number(parts[-size:])!r}"
            ) from None
        if not np.isfinite(vector).all():
            raise line.error(f"{word!r}: expected finite numbers, found inf or nan")
        values[forms] = vector
        any_case[forms] = True
        if as_spelled:
            values[form] = vector
            exact[form] = True
    known: Bools = exact | any_case
    if not known.any():
        raise CorpusError(
            files.paths[0], None, "expected vectors of the treebank's words, found none of them"
        )
    return WordVectors(files.name, values, known)


def _not_a_number(parts: list[str]) -> str:
    for part in parts:
        try:
            float(part)
        except ValueError:
            return part
    return ""


_WINDOW = 256
_NUMBERS = 1 << 26
"""Sentences, and about how many numbers, that are written together."""

Work = Callable[[Sequence[Example]], list[np.ndarray]]
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

    def units() -> Iterator[list[SentBlock]]:
        for number, window in enumerate(_windows(islice(examples, store.done, None))):
            batches = list(_batches(model, window, options.batch_size))
            orders.append(batches)
            yield [SentBlock(number, [[window[place] for place in batch] for batch in batches])]

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

    def work(batch: Sequence[Example]) -> list[np.ndarray]:
        sizes = [len(example.words or ()) for example in batch]
        arrays = [np.zeros((size, size + SPECIAL, total), precision) for size in sizes]
        columns = [roots(cast(Tokens, example.tokens))[0] for example in batch]

        def add(layer: int, maps: np.ndarray) -> None:
            columns_of = slice(ends[layer] - maps.shape[1], ends[layer])
            for array, weights, size in zip(arrays, maps, sizes, strict=True):
                of_words = weights[:, :size, : size + SPECIAL].transpose(1, 2, 0)
                array[..., columns_of] = kept(of_words, precision, f"layer {layer}")

        word_maps(model, batch, add, columns=columns)
        return arrays

    return work


def states_of(model: Model) -> Work:
    """Hidden states, the mean over each word's pieces, ``[layer word size]`` a sentence; layer 0 is the embeddings."""

    def work(batch: Sequence[Example]) -> list[np.ndarray]:
        layers = _hidden(model, [cast(Tokens, example.tokens) for example in batch])
        arrays: list[np.ndarray] = []
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


def model_vectors(model: Model, vocabulary: Mapping[str, int]) -> WordVectors:
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
    return WordVectors(f"input embeddings of {model.name}", values, known)
