"""`headscope distance`: the map of heads that it writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from headscope.analyses.record import Analysis
from headscope.analyses.shown import ShownResult, TableOrPicture, of_result
from headscope.core.saving import PICTURES
from headscope.core.validation import Seed


def shown(
    dataset: Any, *, analysis: Analysis, map: TableOrPicture | None = None, seed: Seed = 0
) -> ShownResult:
    """Distances, their map, and how heads and layers lie to one another.

    Args:
        dataset: from `headscope.distance`.
        analysis: its record.
        map: also the heads' map: .parquet, .csv, .json or .tex; .svg, .pdf or .png for a figure.
        seed: of the rows drawn, and of the map.
    """
    from headscope.analyses.distance.arrangement import head_map
    from headscope.analyses.tables import figure
    from headscope.measures.dataset import description, unseen, write_table

    def mapped(path: Path) -> str:
        places = head_map(dataset, seed=seed)
        if path.suffix.lower() in PICTURES:
            figure(dataset, places=places).save(path)
        else:
            write_table(places, path, unseen(description(dataset)))
        return f"{len(places):,} heads, stress {places.attrs['stress']:.3f}"

    return replace(of_result(dataset, analysis=analysis), files=[(map, mapped)])
