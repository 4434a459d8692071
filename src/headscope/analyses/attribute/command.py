"""What `headscope attribute` says of a token's logit."""

from __future__ import annotations

from typing import Any

from headscope.analyses.shown import Shown, tabulated


def shown(result: Any) -> Shown:
    """What the logit is the sum of, and the heads that add or take most."""
    from headscope.measures.dataset import description

    rows: Any = result.table()
    about = description(result)
    parts = ", ".join(
        f"{name} {float(result[key].sum()):.3f}"
        for key, name in {
            "heads": "heads",
            "attention_bias": "biases of attention",
            "mixer": "what else mixes tokens",
            "mlp": "MLPs",
            "embedding": "embedding",
            "bias": "final biases",
        }.items()
        if key in result
    )
    capped = f", before the softcap of {about['softcap']:g}" if about["softcap"] else ""
    heads = rows[rows["part"] == "head"]
    lines = [
        f"the logit of {about['token']!r} after {about['after']!r}: {float(result['logit']):.3f}{capped} = {parts}",
        "the heads that add or take most (token: from which most of it comes)",
        tabulated(heads, of="attribute", dropped=("part", "source")),
    ]
    return Shown(rows, "\n".join(lines), result)
