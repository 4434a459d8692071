"""What `headscope probe` says of trees read off attention, words and hidden states."""

from __future__ import annotations

from typing import Any

from headscope.analyses.shown import Shown, printed
from headscope.views import digits


def shown(dataset: Any) -> Shown:
    """The scores of probes, and what some have more than others."""
    from headscope.analyses.clusters import note
    from headscope.analyses.probes import statistics
    from headscope.measures.dataset import description

    described, remarks = description(dataset), list[str]()
    if "vectors" in described:
        words = described["vectors"]
        remarks.append(
            f"vectors: {words['name']}; {words['share of words without']:.1%} of the words have none"
        )
    if "root" in described:
        remarks.append(f"the root is read off attention to: {', '.join(described['root'])}")
    rows: Any = statistics.table(dataset)
    text = _shown(rows) + _compared(statistics.differences(dataset))
    return Shown(rows, text, dataset, remarks=[*remarks, note(described)])


_SHOWN = (
    "probe",
    "uas",
    "uas_low",
    "uas_high",
    "uas_punct",
    "uuas",
    "spearman",
    "depth_spearman",
    "root_accuracy",
    "control",
    "selectivity",
    "n",
    "vectors",
)


def _shown(rows: Any) -> str:
    """What fits a screen; UAS is without punctuation, uas_punct with it."""
    filled = [name for name in _SHOWN if (rows[name].notna() & (rows[name] != "")).any()]
    return printed(rows[filled])


def _compared(rows: Any) -> str:
    """What probes have more than others, for a screen: pairs of the same sentences."""
    if not len(rows):
        return ""
    shown = rows.copy()
    for column in ("difference", "low", "high"):
        shown[column] = ["" if value != value else digits.signed(value, 3) for value in shown[column]]
    shown["p"] = ["" if value != value else f"{value:.2g}" for value in shown["p"]]
    return (
        "\n\nwhat a probe has more than another, of the same sentences, with 95 % intervals and two-sided p\n"
        + str(shown.to_string(index=False))
    )
