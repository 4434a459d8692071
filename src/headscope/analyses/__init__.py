"""What can be asked about heads: a folder for each analysis, which has its record, or for a kind of them."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from typing import cast

from headscope.analyses.record import Analysis
from headscope.core import lazy


@cache
def analyses() -> Mapping[str, Analysis]:
    """Every analysis by its name, in the order of the command line's help: headscope's, and those of plug-ins.

    A plug-in is a package with an `ANALYSIS`, which its distribution names as an entry point of ``headscope.analyses``.
    """
    packages = [info.name for info in pkgutil.walk_packages(__path__, f"{__name__}.") if info.ispkg]
    packages += [plugin.value for plugin in entry_points(group=__name__)]
    records = [
        replace(cast("Analysis", module.ANALYSIS), package=module.__name__)
        for module in map(lazy.module, packages)
        if hasattr(module, "ANALYSIS")
    ]
    return {record.name: record for record in sorted(records, key=lambda record: record.order)}
