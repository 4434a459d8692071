"""`headscope sentences`: the files that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headscope.analyses.record import Analysis
from headscope.analyses.shown import Picture, ShownResult, of_result


def run(model: Any, files: Sequence[Path], **options: Any) -> Any:
    """Attention between sentences of text files, each one text."""
    from headscope.analyses.sentences.run import sentences
    from headscope.corpora.kinds import text_of

    texts = ["\n".join(line.text for line in text_of(file)) for file in files]
    return sentences(model, texts[0] if len(texts) == 1 else texts, **options)


def shown(
    result: Any, *, analysis: Analysis, head: str | None = None, figure: Picture | None = None
) -> ShownResult:
    """The heads that look at few sentences.

    Args:
        result: from `headscope.sentences`.
        analysis: its record.
        head: whose map is drawn; else that of the receiver heads.
        figure: the map of one text: .svg, .png or .pdf.
    """
    return of_result(result, analysis=analysis, figure=figure, head=head)
