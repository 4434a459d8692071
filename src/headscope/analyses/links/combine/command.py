"""What ``headscope links --together`` says of heads together."""

from __future__ import annotations

from typing import Any

from headscope.analyses.shown import Shown, tabulated


def shown(dataset: Any) -> Shown:
    """The scores of heads together."""
    from headscope.measures.dataset import description

    described = description(dataset)
    rows: Any = dataset.table()
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
    text = tabulated(shown, most=len(shown))
    return Shown(rows, text, dataset, remarks=remarks)
