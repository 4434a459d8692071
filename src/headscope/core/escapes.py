"""Text that is shown where some characters do harm."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

GREY, PLAIN = "\x1b[90m", "\x1b[0m"
"""Of a terminal: what follows is grey, or no longer."""


def printable(text: str, keep: str = "\n\t") -> str:
    r"""A text whose control characters, but those to `keep`, are written out: on a terminal it changes nothing.

    >>> print(printable("a\x1b[2J.txt"))
    a\x1b[2J.txt
    """
    return _CONTROL.sub(
        lambda match: match[0] if match[0] in keep else match[0].encode("unicode_escape").decode(), text
    )


def beginning(text: str, most: int) -> str:
    """The beginning of a text, of at most so many characters: cut between words where these are short.

    >>> beginning("The cat sat on the mat.", 12), beginning("猫坐在垫子上看着窗外的鸟。", 8)
    ('The cat sat…', '猫坐在垫子上看…')
    """
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    words = text[:most].rpartition(" ")[0]
    return f"{(words if 2 * len(words) > most else text[: most - 1]).rstrip()}…"
