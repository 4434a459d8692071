"""What ``headscope links --together`` says of heads together."""

from __future__ import annotations

from typing import Any

from headscope.analyses.shown import Shown, printed


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
    shown = rows.drop(columns=[name for name in rows if name.endswith(("_low", "_high"))])
    shown["system"] = shown["system"].mask(few, "")
    text = printed(shown[~few | ~rows.duplicated("label")])
    return Shown(rows, text, dataset, remarks=remarks)
