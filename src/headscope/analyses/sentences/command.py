"""`headscope sentences`: the files that it reads, and what it says of where a long text looks back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from headscope.analyses.shown import Picture, Shown, drawn, tabulated
from headscope.core.counts import plural


def run(model: Any, files: Sequence[Path], **options: Any) -> Any:
    """Attention between sentences of text files, each one text."""
    from headscope.analyses.sentences.run import sentences
    from headscope.corpora.kinds import text_of

    texts = ["\n".join(line.text for line in text_of(file)) for file in files]
    return sentences(model, texts[0] if len(texts) == 1 else texts, **options)


def shown(result: Any, *, head: str | None = None, figure: Picture | None = None, files: Any) -> Shown:
    """The heads that look at few sentences.

    Args:
        result: from `headscope.sentences`.
        head: whose map is drawn; else that of the receiver heads.
        figure: the map of one text: .svg, .png or .pdf.
    """
    from headscope.measures.dataset import description

    rows: Any = result.table()
    about = description(result)
    lines = [
        f"{plural(about['sentences'], 'sentence')} of {plural(about['tokens'], 'token')}; "
        f"{int((rows['q'] <= 0.05).sum())} of {len(rows)} heads look at few sentences, surely (q ≤ .05)",
        tabulated(rows, dropped=() if len(files) == 1 else ("sentence", "received", "text")),
    ]
    save = drawn(partial(result.figure, head=head))
    return Shown(rows, "\n".join(lines), result, files=[(figure, save)])
