"""The picture of a whole model: what its heads are known to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.views import blocks
from headscope.views.blocks import Block
from headscope.views.charts import Chart
from headscope.views.payload import Reason


def map_of_marks(
    heads: Sequence[Head], marks: Mapping[str, Mapping[Head, Reason]], *, out: Collection[str]
) -> list[Block]:
    """Layers down, heads across, what each head is known to do as a colour and a letter, and how many stand out.

    Args:
        heads: all of them.
        marks: the heads that are known to do a thing, and for which figure each opens.
        out: the things by which a head stands out.
    """
    layers, columns = (sorted({head[axis] for head in heads}) for axis in (0, 1))
    known = [[name for name, having in marks.items() if head in having] for head in heads]
    every, none = plural(len(heads), "head"), sum(not names for names in known)
    listed = "; ".join(f"{name}: {', '.join(map(str, having))}" for name, having in marks.items())
    chart: Chart = {
        "kind": "head_map",
        "title": "",
        "x": {"title": "", "names": [*map(str, columns)]},
        "y": {"title": "", "names": [*map(str, layers)]},
        "rows": {
            "x": [columns.index(head.head) for head in heads],
            "y": [layers.index(head.layer) for head in heads],
            "colour": [[*marks].index(names[0]) if names else None for names in known],
            "link": [*map(str, heads)],
        },
        "colour": {
            "title": "",
            "of": "heads",
            "lettered": True,
            "names": [*marks],
            "counts": [*map(len, marks.values())],
        },
        "label": f"{every}, layers down, heads across. {listed}. Arrow keys move between heads.",
    }
    if none:
        chart["colour"]["none"] = f"none of these {none}"
    count = sum(any(name in out for name in names) for names in known)
    return [
        blocks.paragraph(f"{count} of {every} stand{'s' * (count == 1)} out", tone="headline"),
        blocks.charts(
            [chart],
            reasons=[
                marks[names[0]][head] if names else None for head, names in zip(heads, known, strict=True)
            ],
            tips=[", ".join(names) or "none of these" for names in known],
        ),
    ]
