"""What heads know of syntax and coreference, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.analyses.coref.section import Coref
from headscope.analyses.probes.section import Probes
from headscope.analyses.syntax.section import Syntax
from headscope.analyses.syntax.statistics import ALL, WITHOUT, table
from headscope.heads import Head
from headscope.views.payload import Part
from headscope.views.section import Section
from headscope.views.sentences import comma, head_name, percent, text

_NAMED = 5  # relations named in a sentence; the rest are counted
_LEVEL = 0.05


def linguistics(sections: Sequence[Section]) -> list[list[Part]]:
    """A sentence on each of the three tables that is there."""
    lines: list[list[Part]] = []
    for section in sections:
        if isinstance(section, Syntax):
            lines.append(_syntax(section.found))
        elif isinstance(section, Coref):
            lines.append(_coref(section.found))
        elif isinstance(section, Probes):
            lines += _probes(section)
    return lines


def _syntax(found: xr.Dataset) -> list[Part]:
    """The relations whose best head is better than a fixed offset, both chosen and scored apart."""
    best: Any = table(found)
    rows = [row for row in best.itertuples() if row.relation not in (ALL, WITHOUT) and not row.few]
    if not rows:
        return [text("No dependency relation has enough words here to name its best head.")]
    tested = f"{len(rows)} dependency relation{'' if len(rows) == 1 else 's'} with enough words"
    clear = [row for row in rows if row.q < _LEVEL]
    clear.sort(key=lambda row: row.baseline_accuracy - row.split_accuracy)
    verb = "have" if len(clear) > 1 else "has"
    if not clear:
        return [text(f"Of {tested}, none has a head that finds the other word better than the best offset.")]
    parts = [
        text(
            f"Of {tested}, {len(clear)} {verb} a head that finds the other word better than the best offset: "
        )
    ]
    for position, row in enumerate(clear[:_NAMED]):
        share, offset = percent(row.split_accuracy), percent(row.baseline_accuracy)
        beside = ", by offset" if position == 0 else ","
        parts += [*comma(position), text(f"{row.relation} "), head_name(Head(int(row.layer), int(row.head)))]
        parts.append(text(f" ({share}{beside} {offset})"))
    more = len(clear) - _NAMED
    return [*parts, text(f" and {more} more." if more > 0 else ".")]


def _coref(found: xr.Dataset) -> list[Part]:
    """The head that chooses antecedents best among the mentions before, and the best rule."""
    one = found.sel(candidates="preceding_mentions")
    layer, head = divmod(int(one["best"]), found.sizes["head"])
    scored = float(one["split"])
    apart = " (chosen and scored on different documents)" if np.isfinite(scored) else ""
    share = scored if np.isfinite(scored) else float(one["accuracy"].isel(layer=layer, head=head, type=0))
    rules = found["rules"].values[:, 0]
    rule = str(found["rule"].values[rules.argmax()])
    name = head_name(Head(int(found["layer"].values[layer]), int(found["head"].values[head])))
    return [
        text(f"Of {int(found['n'].values[0]):,} mentions, "),
        name,
        text(
            f" finds the antecedent of {percent(share)} among the mentions before{apart}; the best rule, "
            f"{rule.replace('_', ' ')}, of {percent(float(rules.max()))}."
        ),
    ]


def _probes(section: Probes) -> list[list[Part]]:
    """What a probe of all heads gets, beside taking the next word; nothing where one of the two is not there."""
    found: Any = section.found
    names = [str(name) for name in found["probe"].values]
    if "attention" not in names or "right-branching" not in names:
        return []
    own, chain = (float(found["uas"].sel(probe=name)) for name in ("attention", "right-branching"))
    small = ", on too few sentences to conclude from" if section.small else ""
    return [
        [
            text(
                f"From the attention of all heads together a probe finds the head of {percent(own)} of the words, "
                f"taking the next word finds {percent(chain)}{small}."
            )
        ]
    ]
