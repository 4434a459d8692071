"""What is said of heads together."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headscope.analyses.links.combine.statistics import table
from headscope.measures.dataset import description
from headscope.views.blocks import Block, rows_of


def section(dataset: xr.Dataset) -> list[str | Block]:
    """The scores of heads together."""
    described = description(dataset)
    rows: Any = table(dataset)
    few, clusters, remarks = rows["accuracy"].isna(), described["clusters"], list[str]()
    if few.any():
        labels = rows["label"][few].nunique()
        remarks.append(
            f"{labels} of {rows['label'].nunique()} labels have fewer than {described['options']['least']} sources, or "
            f"fewer than two {clusters} in a half, and no score"
        )
    remarks.append(
        f"chosen and fitted on one half of the {clusters}, scored on the other, both ways; intervals over {clusters}"
    )
    shown = rows.assign(system=rows["system"].mask(few, ""))[~few | ~rows.duplicated("label")]
    return [*rows_of(shown, most=len(shown)), *remarks]
