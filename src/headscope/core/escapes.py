"""Text that is shown where some characters do harm."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str, keep: str = "\n\t") -> str:
    r"""A text whose control characters, but those to `keep`, are written out: on a terminal it changes nothing.

    >>> print(printable("a\x1b[2J.txt"))
    a\x1b[2J.txt
    """
    return _CONTROL.sub(
        lambda match: match[0] if match[0] in keep else match[0].encode("unicode_escape").decode(), text
    )
