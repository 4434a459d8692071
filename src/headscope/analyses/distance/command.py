"""What `headscope distance` says of distances."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from headscope.analyses.shown import Shown, TableOrPicture, drawn
from headscope.core.saving import PICTURES
from headscope.core.validation import Seed


def shown(dataset: Any, *, map: TableOrPicture | None = None, seed: Seed = 0) -> Shown:
    """Distances, their map, and what they say.

    Args:
        dataset: from `headscope.distance`.
        map: also the heads' map: .parquet, .csv, .json or .tex; .svg, .pdf or .png for a figure.
        seed: of the rows drawn, of the map and of the test.
    """
    from headscope.analyses.distance.arrangement import by_layer, head_map, summary
    from headscope.analyses.distance.statistics import table
    from headscope.analyses.tables import figure
    from headscope.measures.dataset import description, unseen, write_table

    def mapped(path: Path) -> str:
        places = head_map(dataset, seed=seed)
        if path.suffix.lower() in PICTURES:
            drawn(partial(figure, dataset, places=places))(path)
        else:
            write_table(places, path, unseen(description(dataset)))
        return f"{len(places):,} heads, stress {places.attrs['stress']:.3f}"

    layers: Any = by_layer(dataset).to_pandas()
    lines = [
        f"mean distance of the heads of two layers, {dataset['distance'].attrs['units']}",
        layers.round(3).to_string(na_rep=""),
        *summary(dataset, seed=seed),
    ]
    return Shown(table(dataset), dataset=dataset, also="\n".join(lines), files=[(map, mapped)])
