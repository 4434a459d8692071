"""Names with a revision."""

from __future__ import annotations

import os


def name_and_revision(name: str) -> tuple[str, str | None]:
    """A model's name and the revision behind its last @; a folder has none.

    >>> name_and_revision("gpt2@step100"), name_and_revision("gpt2")
    (('gpt2', 'step100'), ('gpt2', None))
    """
    before, at, after = name.rpartition("@")
    if at and before and after and not os.path.exists(name):
        return before, after
    return name, None
