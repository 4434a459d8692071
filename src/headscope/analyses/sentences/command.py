"""`headscope sentences`: the files that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run(model: Any, files: Sequence[Path], **options: Any) -> Any:
    """Attention between sentences of text files, each one text."""
    from headscope.analyses.sentences.run import sentences
    from headscope.corpora.held import text_of

    texts = ["\n".join(line.text for line in text_of(file)) for file in files]
    return sentences(model, texts[0] if len(texts) == 1 else texts, **options)
