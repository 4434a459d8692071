"""The report of a model whose tokenizer does not know the text."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import headscope as hs
from headscope.errors import HeadscopeWarning, UnknownError
from tests.helpers import section_blocks
from tests.helpers.pages import payload
from tests.helpers.small_models import small_bert
from tests.helpers.small_tokenizers import listed


def sections(page: str) -> dict[str, Any]:
    """The sections of a page by their kinds."""
    return {section_blocks.name_of(each): each for each in payload(page)["sections"]}


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True])
def test_language_is_left_out_where_the_tokenizer_knows_none(own: bool, capsys: Any) -> None:
    """Of a model of molecules, on the built-in corpus and on texts that it may not know."""
    chemist = small_bert(listed(tuple("CNO")), allow_unknown=own)
    asked = ["figures", "syntax", "coref", "probes"]
    options: dict[str, Any] = {"sections": asked, "examples": 0, "limit": 60, "progress": True}
    corpus = hs.corpora.texts(["C N O", "C x y z"] * 4) if own else None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", HeadscopeWarning)
        page = hs.report(chemist, corpus, **options)
    advice = [
        each for each in warned if re.search(r"figures on it say little: .* \(--text\)", str(each.message))
    ]
    assert len(advice) == (not own)
    found = sections(page)
    assert {"summary", "absent", "methods"} <= set(found)
    assert not {"failed", "syntax", "coref", "probes"} & set(found)
    absent = {row["measure"]: row["reason"] for row in section_blocks.rows(found["absent"], "measures")}
    left = ["syntax", "coref", "probes"]
    assert all(
        re.match(r"built-in treebank: .* are unknown to the tokenizer of BertModel", absent[name])
        for name in left
    )
    assert ("built-in corpus" in absent) is not own
    said = capsys.readouterr().err
    assert all(f"section {name} is left out: built-in treebank: " in said for name in left)


def test_text_that_may_not_be_unknown_is_refused_at_once() -> None:
    with pytest.raises(UnknownError, match=r"^texts: 12 of 28 pieces"):
        hs.report(small_bert(listed(tuple("CNO"))), hs.corpora.texts(["C N O", "C x y z"] * 4), examples=0)


@pytest.mark.slow
def test_what_is_said_of_a_corpus_is_said_once() -> None:
    model = small_bert(listed(tuple("CNO")))
    with pytest.warns(HeadscopeWarning) as said:
        hs.report(model, hs.corpora.texts(["C N O"] * 9 + ["C x"]), sections=["clusters"], examples=0)
    assert [str(each.message) for each in said] == [
        "texts: 1 of 29 pieces (3.4 %) are unknown to the tokenizer of BertModel",
        "texts: 8 of 10 documents are the same as one before: errors and tests take each for further evidence "
        "(corpora.distinct, --distinct: take them once)",
    ]
