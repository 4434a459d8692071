"""What the intervals of annotated corpora are over, in words: documents, or sentences where none are known."""

from __future__ import annotations

from headscope.core.types import AnyMapping
from headscope.statistics.jackknife import LEAST

CHOSEN_ON = "three quarters"
"""What heads are chosen on, by `headscope.statistics.resample.PARTS`; they are scored on the rest."""


def over(meta: AnyMapping) -> str:
    """Such as ``316 documents``, or ``2,077 sentences, since the corpus names no documents``."""
    kind, count = str(meta["clusters"]), int(meta["clusters_count"])
    counted = f"{count:,} {kind[:-1] if count == 1 else kind}"
    if kind == "documents":
        return counted
    return f"{counted}, since {'the corpus' if kind == 'sentences' else 'a file'} names no documents"


def note(meta: AnyMapping) -> str:
    """What the intervals are, for those who read figures."""
    kind = str(meta["clusters"])
    narrow = (
        ""
        if kind == "documents"
        else " Sentences of one text are alike, so intervals over them are too narrow."
    )
    same = int(meta.get("corpus", {}).get("identical", 0))
    repeated = f" {alike(same)}." if same else ""
    return (
        f"Intervals and tests are of a jackknife over {over(meta)}, with Student's t for as many as count in effect; "
        f"under {LEAST:.0f} of these there are none.{narrow}{repeated}"
    )


def alike(same: int) -> str:
    """That so many documents are the same as one before."""
    return f"{same:,} {'document is' if same == 1 else 'documents are'} the same as one before, and count like others"


def untested(meta: AnyMapping) -> str:
    """Why there is no interval and no test."""
    return f"an interval needs {LEAST:.0f} {meta['clusters']} that count in effect"
