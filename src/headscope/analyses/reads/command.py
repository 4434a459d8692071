"""What `headscope reads` says of who wrote what a head reads."""

from __future__ import annotations

from typing import Any

from headscope.analyses.shown import Shown, tabulated


def shown(result: Any) -> Shown:
    """The contrast, and the writers of either side."""
    from headscope.core.terms import SIDES
    from headscope.measures.dataset import description

    rows: Any = result.table()
    about = description(result)
    foil = {"mean": " less the mean of the other keys", "none": ""}.get(
        about["foil"], f" less key {about['foil']}"
    )
    capped = f", before the softcap of {about['softcap']:g}" if about["softcap"] else ""
    lines = [
        f"{about['head']} gives {float(result['weight']):.3f} from {about['query_token']!r} ({about['query']}) to "
        f"{about['key_token']!r} ({about['key']}); its score{foil}: {float(result['contrast']):.3f}{capped}"
    ]
    sides = {
        "key": "who wrote the key, read with the whole query",
        "query": "who wrote the query, read by the keys",
    }
    for side in SIDES:
        some = rows[rows["side"] == side].dropna(axis="columns", how="all")
        lines += [
            sides[side],
            tabulated(some, dropped=("side", "head", "paper"), most=len(some)),
        ]
    if "pair" in result:
        lines += [
            "pairs: writers of the query by writers of the key",
            result["pair"].to_pandas().round(3).to_string(),
        ]
    return Shown(rows, "\n".join(lines), result)
