"""`headscope compare training`: the checkpoints that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headscope.errors import InputError


def read(items: Sequence[str], *, reading: Any) -> tuple[Any, Any]:
    """Checkpoints and a corpus of what was typed.

    Args:
        items: checkpoints, then files.
        reading: how they are read.
    """
    start = next((index for index, item in enumerate(items) if reading.is_text(Path(item))), len(items))
    checkpoints, texts = items[:start], [*map(Path, items[start:])]
    if not checkpoints:
        raise InputError(f"training: expected a checkpoint before the texts, found {items[0]}")
    return checkpoints[0] if len(checkpoints) == 1 else checkpoints, reading.of(texts)
