"""`headscope skill`: how an agent uses headscope, and the formats of what commands answer."""

from __future__ import annotations

import json
from importlib.resources import files

from headscope.console.answer import Answer
from headscope.console.formats import formats, schema
from headscope.core.saving import listening


def skill(command: list[str] | None = None) -> None:
    """How an agent uses headscope: which command for which question, what to report, what not to say.

    Args:
        command: print the JSON Schema of what this command answers with --json; or of error, estimate or files.
    """
    answer = listening(Answer)
    if command:
        made = schema(" ".join(command))
        print(json.dumps(made)) if answer is None else answer.give("schema", schema=made)
        return
    text = (files("headscope.cli") / "skill.txt").read_text("utf-8")
    print(text, end="") if answer is None else answer.give("skill", text=text, formats=sorted(formats()))
