"""What Clark et al. 2019 print in tables 1 to 3, on WSJ (Stanford dependencies) and CoNLL-2012."""

from __future__ import annotations

from typing import NamedTuple


def orientation(where: str, differing: str) -> str:
    """A note that the paper's figures are of another model and corpus."""
    return (
        f"“In the paper” is what Clark et al. 2019 give for bert-base-uncased{where}: {differing} differ, so it is "
        "for orientation only."
    )


class Printed(NamedTuple):
    """A row of table 1: accuracies in per cent, the head counted from 1, UD's name of the relation (None:
    none)."""

    label: str
    relation: str | None
    head: str
    accuracy: float
    baseline: float
    offset: int


TABLE_1 = (
    Printed("All", "all", "7-6", 34.5, 26.3, 1),
    Printed("prep", None, "7-4", 66.7, 61.8, -1),
    Printed("pobj", None, "9-6", 76.3, 34.6, -2),
    Printed("det", "det", "8-11", 94.3, 51.7, 1),
    Printed("nn", "compound", "4-10", 70.4, 70.2, 1),
    Printed("nsubj", "nsubj", "8-2", 58.5, 45.5, 1),
    Printed("amod", "amod", "4-10", 75.6, 68.3, 1),
    Printed("dobj", "obj", "8-10", 86.8, 40.0, -2),
    Printed("advmod", "advmod", "7-6", 48.8, 40.2, 1),
    Printed("aux", "aux", "4-10", 81.1, 71.5, 1),
    Printed("poss", "nmod:poss", "7-6", 80.5, 47.7, 1),
    Printed("auxpass", "aux:pass", "4-10", 82.5, 40.5, 1),
    Printed("ccomp", "ccomp", "8-1", 48.8, 12.4, -2),
    Printed("mark", "mark", "8-2", 50.7, 14.5, 2),
    Printed("prt", "compound:prt", "6-7", 99.1, 91.4, -1),
)

TABLE_2: dict[str, tuple[float | None, ...]] = {
    "nearest": (27, 29, 29, 19),
    "head match": (52, 47, 67, 40),
    "rule-based": (69, 70, 77, 60),
    "neural coreference": (83, None, None, None),
    "head 5-4": (65, 64, 73, 58),
}
"""Accuracies in per cent: all, pronoun, proper, nominal."""

TABLE_3: dict[str, float] = {
    "structural probe (undirected, not comparable)": 80,
    "right-branching": 26,
    "distances and GloVe": 58,
    "random-init attention and GloVe": 30,
    "attention": 61,
    "attention and GloVe": 77,
}
"""UAS in per cent."""

AS_PROBES = {
    "right-branching": "right-branching",
    "distance+words": "distances and GloVe",
    "attention+words, re-initialised": "random-init attention and GloVe",
    "attention": "attention",
    "attention+words": "attention and GloVe",
}
"""What the paper calls the probes of `headscope.probe`."""
