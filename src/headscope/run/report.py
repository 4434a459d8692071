"""The report of a model: measure it over a corpus, and open the heads behind the figures on examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from headscope.attention.neurons import capture_with_neurons
from headscope.attention.parts import Parts
from headscope.corpora import Corpus, builtin
from headscope.errors import InputError
from headscope.maps import AttentionMaps
from headscope.models import Model
from headscope.run.load import load
from headscope.run.measure import measure
from headscope.tokens import Tokens
from headscope.views.explorer import Input
from headscope.views.report import report_page

EXAMPLE_TOKENS = 48
"""The most tokens an example is packed to: a map that can be read on a page."""

NEURON_BYTES = 400_000
"""Up to how many bytes queries and keys come with the examples; the later ones go without."""

SEARCHED = 1000
"""How many inputs at the head of a corpus are searched for examples."""


def report(
    model: Model | None = None,
    corpus: Corpus | None = None,
    *,
    title: str | None = None,
    examples: int | Sequence[str | tuple[str, str]] = 3,
    limit: int | None = None,
    progress: bool = False,
    command: str = "",
) -> str:
    """One self-contained HTML page about a model: what every head does, and the explorer of it on examples.

    Args:
        model: from `headscope.load`; the demo model by default.
        corpus: from `headscope.corpora`; the built-in corpus by default.
        title: of the page.
        examples: texts or pairs to show heads on, or how many to take from the corpus.
        limit: measure at most this many inputs.
        progress: show progress on stderr.
        command: what was typed, for the page's own record.
    """
    model = load() if model is None else model
    corpus = builtin() if corpus is None else corpus
    dataset = measure(model, corpus, limit=limit, progress=progress, command=command)
    texts = _examples(model, corpus, examples) if isinstance(examples, int) else examples
    return report_page(dataset, _within([_input(model, text) for text in texts]), title=title)


def _examples(model: Model, corpus: Corpus, count: int) -> list[Tokens]:
    """A few short inputs, each from another document of the corpus."""
    if corpus.pack is not None:
        corpus = Corpus(corpus.name, corpus.__iter__, pack=min(corpus.pack, EXAMPLE_TOKENS))
    first: dict[int, Tokens] = {}
    for example in islice(corpus.encoded(model), SEARCHED):
        tokens = example.tokens
        if tokens is not None and len(tokens) <= 2 * EXAMPLE_TOKENS:
            first.setdefault(example.document, tokens)
    chosen = list(first.values())
    step = max(1, len(chosen) // max(1, count))
    return chosen[::step][:count]


def _input(model: Model, text: str | tuple[str, str] | Tokens) -> Input:
    """The part that is measured: of an encoder-decoder the encoder, whatever its decoder reads."""
    found, neurons = capture_with_neurons(model, text, target="." if model.encoder_decoder else None)
    if isinstance(found, Parts) and "encoder" in found:
        found = found.encoder
    if not isinstance(found, AttentionMaps):
        raise InputError(f"{model.name}: the report shows models of one part; this one has {found!r}")
    own = {name: each for name, each in neurons.items() if name == found.kind}
    return Input({found.kind: found}, neurons=own)


def _within(examples: Sequence[Input]) -> list[Input]:
    """The examples, with queries and keys as long as `NEURON_BYTES` lasts (a neuron travels as a byte)."""
    room = NEURON_BYTES
    kept: list[Input] = []
    for one in examples:
        room -= sum(array.size for each in one.neurons.values() for array in (*each.q, *each.k))
        kept.append(one if room >= 0 else replace(one, neurons={}))
    return kept
