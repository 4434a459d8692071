"""Where measures come from: BibTeX entries by key, for `Measure.cite`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

from headscope.errors import InputError

_TEXT = (files("headscope.measures") / "sources.bib").read_text("utf-8")

BIBTEX: Mapping[str, str] = {
    entry[entry.index("{") + 1 : entry.index(",")]: entry for entry in re.split(r"\n\n(?=@)", _TEXT.strip())
}
"""The entries of ``sources.bib``. A key is the first author and the year in which the work first appeared."""


def bibtex(keys: Iterable[str]) -> str:
    """The entries of some keys, in their order, a blank line between them; empty for none.

    Raises `InputError` for a key that is not in `BIBTEX`.
    """
    wanted = list(dict.fromkeys(keys))
    for key in wanted:
        if key not in BIBTEX:
            raise InputError(f"sources: expected one of {', '.join(BIBTEX)}, found {key!r}")
    return "\n\n".join(BIBTEX[key] for key in wanted)
