"""CoNLL-2012 files, and Collins' heads on trees small enough for paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from headscope.corpora import Mention, collins, conll2012


def tree(*rows: str) -> list[int]:
    """Heads of words that are given as ``tag bit``."""
    tags, bits = zip(*(row.split() for row in rows), strict=True)
    return collins.heads(collins.read(bits, tags), len(rows))


def test_a_sentence() -> None:
    """*The man in the hat slept.*"""
    found = tree("DT (TOP(S(NP(NP*", "NN *)", "IN (PP*", "DT (NP*", "NN *)))", "VBD (VP*)", ". *))")
    assert found == [1, 5, 1, 4, 2, -1, 5]


@pytest.mark.parametrize(
    ("rows", "head"),
    [
        (("NNP (NP*", "POS *)"), 1),  # Ann 's
        (("NN (NP*", "CC *", "NN *)"), 0),  # cats and dogs
        (("DT (NP*", "JJ *)"), 1),  # the rich
        (("NP (NP(NP*)", "SBAR (SBAR*))"), 0),
        (("TO (VP*", "VB (VP*))"), 0),  # to go
        (("MD (VP*", "VB (VP*))"), 0),  # can go
        (("IN (SBAR*", "NN (S*))"), 0),  # that he …
        (("NN (NP(NP*)", "VBG (VP*))"), 0),
        (("`` (NP*", "NN *", "'' *)"), 1),
        (("CD (QP*", "CD *)"), 0),
    ],
)
def test_heads_of_phrases(rows: tuple[str, ...], head: int) -> None:
    assert [place for place, own in enumerate(tree(*rows)) if own < 0] == [head]


FILE = """\
#begin document (nw/x); part 000
nw/x 0 0 Ann NNP (TOP(S(NP*) - - - - * (1)
nw/x 0 1 saw VBD (VP* - - - - * -
nw/x 0 2 her PRP$ (NP* - - - - * (2|(1)
nw/x 0 3 dogs NNS *)))) - - - - * 2)

nw/x 0 0 They PRP (TOP(S(NP*) - - - - * (2)
nw/x 0 1 slept VBD (VP*))) - - - - * -

#end document
#begin document (nw/x); part 001
nw/x 1 0 Yes UH (TOP(INTJ*)) - - - - * -

#end document
"""


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.gold_conll"
    path.write_text(FILE)
    first, second, third = conll2012(path)
    assert first.words == ["Ann", "saw", "her", "dogs"]
    assert first.heads == [1, -1, 3, 1]
    assert first.tags == ["PROPN", "VERB", "PRON", "NOUN"]
    assert first.features == [
        {"Number": "Sing"},
        {},
        {"Number": "Sing", "Person": "3", "Gender": "Fem"},
        {"Number": "Plur"},
    ]
    assert first.mentions == [Mention(0, 1, "1"), Mention(2, 4, "2"), Mention(2, 3, "1")]
    assert (second.document, third.document, third.name) == (0, 1, "nw/x/1/0")
    assert second.document_known
    assert second.name == "nw/x/0/1"
