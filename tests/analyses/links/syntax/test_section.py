"""What the section on dependency relations sends to the page, and what the summary says of it."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.analyses.links.sums import LinkSums
from headscope.analyses.links.syntax.section import Syntax
from headscope.analyses.links.syntax.statistics import DIRECTIONS
from headscope.analyses.links.syntax.statistics import dataset as syntax_dataset
from headscope.views.blobs import Blobs
from tests.helpers.section_blocks import rows


def test_each_relation_stands_beside_its_own_printed_figure() -> None:
    """Table 1 of the paper, by UD's names of its relations."""
    paper = {
        "all": ("All", "7-6", 0.345),
        "compound": ("nn", "4-10", 0.704),
        "obj": ("dobj", "8-10", 0.868),
        "nmod:poss": ("poss", "7-6", 0.805),
        "aux:pass": ("auxpass", "4-10", 0.825),
        "compound:prt": ("prt", "6-7", 0.991),
        "mark": ("mark", "8-2", 0.507),
        "ccomp": ("ccomp", "8-1", 0.488),
        "conj": None,
    }
    words = LinkSums(DIRECTIONS, [0], 1, (-1, 1))
    for _ in range(2):
        count = len(paper) - 1
        words.add(list(paper)[1:], np.ones((2, 1, 1, count), np.bool_), np.zeros((2, count), np.bool_))
    info = Syntax(syntax_dataset(words, least=1)).info(Blobs())
    for relation, expected in paper.items():
        own = next(one for one in rows(info, "relations") if one["relation"] == relation)
        if expected is None:
            assert own["printed"] is own["source"] is None
        else:
            label, head, value = expected
            assert own["source"] == f"{label} {head}"
            assert own["printed"] == pytest.approx(value)
