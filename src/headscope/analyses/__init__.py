"""What can be asked about heads: a folder for each analysis, with its record in the folder's ``__init__``."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache

from headscope import lazy
from headscope.analyses.record import Analysis


@cache
def analyses() -> Mapping[str, Analysis]:
    """Every analysis by its name, in the order of the command line's help."""
    names = [each.name for each in pkgutil.iter_modules(__path__) if each.ispkg]
    records: list[Analysis] = [lazy.attribute(f"{__name__}.{name}:ANALYSIS") for name in names]
    return {record.name: record for record in sorted(records, key=lambda record: record.order)}
