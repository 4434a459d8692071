"""The report of a model: measure it over a corpus, and show the maps behind the figures."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.capture.one import capture
from headscope.corpora import Corpus, builtin
from headscope.maps import AttentionMaps
from headscope.models import Model
from headscope.run.load import load
from headscope.run.measure import measure
from headscope.views.report import report_page

EXAMPLE_TOKENS = 48
"""The most tokens an example may have: a map that can be read on a page."""


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
    shown = _examples(model, corpus, examples) if isinstance(examples, int) else [_map(model, text) for text in examples]
    return report_page(dataset, shown, title=title)
