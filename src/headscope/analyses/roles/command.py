"""What `headscope roles` says of roles."""

from __future__ import annotations

from typing import Any

from headscope.analyses.shown import Shown, printed
from headscope.core.counts import plural

_PRINTED = 13  # columns, to what the head's offsets score; files have all


def shown(rows: Any) -> Shown:
    """The heads that have roles, which roles no head has, and which were not tested."""
    from headscope.analyses.roles.statistics import COLUMNS, NONE

    named = rows[rows["role"] != NONE]
    none = len(rows) - len(named)
    few = printed(named[list(COLUMNS[:_PRINTED])], 4)
    return Shown(
        rows,
        few if len(named) else "no head has a role",
        described=rows.attrs["meta"],
        remarks=[
            *(f"{role}: not tested ({reason})" for role, reason in rows.attrs["untested"].items()),
            *(
                f"{role}: no head is known to have it ({best})"
                for role, best in rows.attrs["not_found"].items()
            ),
        ],
        after=[f"{plural(none, 'head')} {'has' if none == 1 else 'have'} no role"],
    )
