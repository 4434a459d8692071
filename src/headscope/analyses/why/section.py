"""What is said of where an answer came from."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headscope.analyses.reproduce import see_head
from headscope.analyses.why import statistics
from headscope.analyses.why.cite import cite as marked
from headscope.core.escapes import beginning
from headscope.core.heads import Head
from headscope.measures.dataset import description
from headscope.views.blocks import Block, rows_of
from headscope.views.digits import fixed, signed

COLUMNS = (
    "nats lost: what the answer loses where no later token sees the span; of the context: the share of what all spans "
    "give; p, q: that\nany token would lose as much; estimate: a slope that orders spans; words shared: the share of "
    "the answer's words in\nthe span; attention: how much the answer looks at it"
)
"""What the columns are."""

_DROPPED = ("start", "end", "parent", "ci_low", "ci_high")


def section(result: xr.Dataset, *, cite: object = None, level: float = 0.05) -> list[str | Block]:
    """The spans that the answer hangs on, and whether to believe their order; where these are cited, with marks."""
    about = description(result)
    rows: Any = statistics.table(result)
    hidden = [*_DROPPED, *(["deleted"] if rows["deleted"].isna().all() else [])]
    origin = "given" if not about["generated"] else "wrote" if about["kind"] == "text" else "said"
    heads: Any = statistics.heads(result).head(3)
    named = ", ".join(
        f"{Head(row.layer, row.head)} {signed(row.estimate, 2)}"
        + ("" if row.effect != row.effect else f" (masked alone {signed(row.effect, 2)})")
        for row in heads.itertuples()
    )
    lines: list[str | Block] = [
        f"answer ({origin}): {about['answer'].strip()!r}, log-probability {fixed(float(result['log_probability']), 2)}"
        + (
            f"; against {about['against'].strip()!r}, {fixed(float(result['against_log_probability']), 2)}"
            if "against" in about
            else ""
        ),
        *rows_of(rows.assign(text=[beginning(text, 60) for text in rows["text"]]), of="why", dropped=hidden),
        COLUMNS,
        *statistics.sentences(result),
        f"{statistics.named(result, statistics.first(result))} reaches the answer through {named}",
    ]
    if about["through"]:
        through = about["through"]
        lines.append(
            f"without these heads seeing it the answer loses {signed(through['together'], 2)} nats, without as "
            f"many others {signed(through['others'], 2)}"
        )
    prompt = about["prompt"]
    if len(prompt) >= 400 or "\n" in prompt.strip():
        lines.append("to see the head on the prompt: -o why.html, up to 512 tokens")
    else:
        lines.append(see_head(prompt, heads.iloc[0], about))
    return lines if cite is None else [*lines, f"\n{marked(result, level=level)}"]
