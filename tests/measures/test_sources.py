"""BibTeX entries are well formed, and named by their keys."""

from __future__ import annotations

import re

import pytest

from headscope.errors import InputError
from headscope.measures.measure import BIBTEX, bibtex, pair_measure


@pytest.mark.parametrize("key", BIBTEX)
def test_entries(key: str) -> None:
    entry = BIBTEX[key]
    assert re.match(rf"@(inproceedings|article|misc)\{{{key},\n", entry)
    assert entry.endswith("\n}")
    assert entry.count("{") == entry.count("}")
    fields = dict(re.findall(r"^  (\w+) = \{(.*?)\},?$", entry, re.MULTILINE | re.DOTALL))
    assert {"title", "author", "year"} <= set(fields)
    assert abs(int(fields["year"]) - int(re.findall(r"\d{4}", key)[0])) <= 1  # preprint and proceedings
    assert set(fields) & {"booktitle", "journal", "howpublished"}


def test_several_and_none() -> None:
    both = bibtex(["voita2019", "clark2019", "voita2019"])
    assert both.count("@") == 2
    assert both.index("voita2019") < both.index("clark2019")
    assert bibtex([]) == ""
    with pytest.raises(InputError, match=r"sources: expected one of clark2019, .* found 'nobody1999'"):
        bibtex(["nobody1999"])


def test_a_measure_of_ones_own_cites_what_it_names() -> None:
    own = pair_measure("own", "Mine.", keys=("gu2024",))(lambda tokens, queries: queries)
    assert own.cite() == BIBTEX["gu2024"]
