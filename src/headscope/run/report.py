"""The report of a model: measure it over a corpus, and show the maps behind the figures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from headscope.attention.one import capture
from headscope.attention.parts import Parts
from headscope.corpora import Corpus, builtin
from headscope.errors import InputError
from headscope.maps import AttentionMaps
from headscope.models import Model
from headscope.run.load import load
from headscope.run.measure import measure
from headscope.tokens import Tokens
from headscope.views.report import report_page

EXAMPLE_TOKENS = 48
"""The most tokens an example is packed to: a map that can be read on a page."""

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
    """One self-contained HTML page about a model: what every head does, and its maps on examples.

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
    shown = (
        _examples(model, corpus, examples)
        if isinstance(examples, int)
        else [_map(model, text) for text in examples]
    )
    return report_page(dataset, shown, title=title)


def _examples(model: Model, corpus: Corpus, count: int) -> list[AttentionMaps]:
    """Maps of a few short inputs, each from another document of the corpus."""
    if corpus.pack is not None:
        corpus = Corpus(corpus.name, corpus.__iter__, pack=min(corpus.pack, EXAMPLE_TOKENS))
    first: dict[int, Tokens] = {}
    for example in islice(corpus.encoded(model), SEARCHED):
        tokens = example.tokens
        if tokens is not None and len(tokens) <= 2 * EXAMPLE_TOKENS:
            first.setdefault(example.document, tokens)
    chosen = list(first.values())
    step = max(1, len(chosen) // max(1, count))
    return [_map(model, tokens) for tokens in chosen[::step][:count]]


def _map(model: Model, text: str | tuple[str, str] | Tokens) -> AttentionMaps:
    """The maps of the part that is measured: of an encoder-decoder the encoder, whatever its decoder reads."""
    found = capture(model, text, target="." if model.encoder_decoder else None)
    if isinstance(found, Parts) and "encoder" in found:
        return found.encoder
    if not isinstance(found, AttentionMaps):
        raise InputError(f"{model.name}: the report shows models of one part; this one has {found!r}")
    return found
