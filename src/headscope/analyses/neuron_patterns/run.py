"""Which dimensions of queries and keys carry the patterns of a model's heads."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.neuron_patterns.statistics import PatternSums, sums_of, table
from headscope.attention.neurons import capture_with_neurons
from headscope.attention.one import tokens_of
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.core.validation import Count, validated
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs.batches import examples
from headscope.runs.progress import bar


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
    `headscope.analyses.neuron_patterns.statistics.table` for its columns.
    Figures are means over rows (pieces), without errors.

    Args:
        model: from `headscope.load`: a model of one part.
        corpus: from `headscope.corpora`, examples that have their tokens, or one text or pair.
        limit: read at most this many inputs; they run one at a time.
        progress: show progress on stderr.

    Raises:
        InputError: an encoder-decoder, or a corpus without inputs or without any of the patterns.

    >>> rows = neuron_patterns(headscope.load(), ("The cat sat.", "It was tired."))
    >>> best = rows[rows.pattern == "next_token"].nlargest(1, "weight")
    >>> best[["layer", "head", "paper"]].values.tolist()
    [[1, 8, '2-9']]
    """
    if model.encoder_decoder:
        raise InputError(f"{model.name}: expected a model of one part, found an encoder-decoder")
    if isinstance(corpus, (str, tuple, Tokens)):
        corpus = [Example(tokens=tokens_of(model, corpus), source="text")]
    sums: dict[tuple[int, str], PatternSums] = {}
    read = 0
    with bar(corpus, limit, progress, "neurons") as done:
        for example in examples(model, corpus, limit):
            if example.tokens is None:
                raise example.error("expected an example with tokens: give corpus.encoded(model)")
            maps, neurons = capture_with_neurons(model, example.tokens)
            if not isinstance(maps, AttentionMaps):
                raise InputError(f"{model.name}: expected a model of one part, found {', '.join(neurons)}")
            sums_of([(maps, neurons["self"])], sums)
            read += 1
            done(1)
    if not read:
        raise InputError("corpus: expected at least one input, found none")
    rows = table(dict(sorted(sums.items())))
    if not len(rows):
        raise InputError("corpus: expected an input of two tokens or more, found none")
    return rows
