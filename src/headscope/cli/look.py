"""`headscope look`: what a file is, its first input as it is read, and which commands take it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headscope.console.answer import Answer
from headscope.core.counts import plural
from headscope.core.saving import listening
from headscope.core.types import AnyDict
from headscope.errors import CorpusError

_KEYS = {
    "links": "links, measure", "mention_clusters": "coref", "clusters": "coref", "clean": "patch",
    "prompt": "why", "messages": "why, measure, view --replay", "prompt_token_ids": "why, measure, view --replay",
    "audio": "align --choose", "image": "links", "cue": "negation", "label": "compare groups, measure",
}  # fmt: skip
"""Commands that take records with a key."""

_SHOWN = 300


def look(file: Path) -> None:
    """What a file is, its first input as it is read, and which commands take it.

    Args:
        file: of texts, links, prompts, conversations, times of speech, sequences, or what else people have.
    """
    from headscope.corpora.files import Files
    from headscope.corpora.formats import COMMANDS, known_format, lines_as, read_as
    from headscope.corpora.held import SAID, kind_of
    from headscope.corpora.jsonlines import json_object
    from headscope.corpora.shapes.rows import Kind
    from headscope.corpora.sources import suffix_of

    files = Files(file, rows=suffix_of(file) in (".parquet", ".arrow"), records=True)
    known = known_format(file)
    inputs, first, left, held = 0, None, list[str](), ""
    if known is not None:
        what = "; ".join(filter(None, [known.name, known.instead]))
        kinds: list[Kind] = [kind for kind in COMMANDS if read_as(known, kind)]
        takes = [COMMANDS[kind][0] for kind in kinds]
        lines: Any = lines_as(files, kinds[0]) if kinds else ()
    else:
        held = kind_of(file)
        what, _, names = SAID[held]
        lines = files if held in ("text", "jsonl") else ()
        if held == "jsonl":
            row: AnyDict = next((json_object(line) for line in files if line.text.strip()), AnyDict())
            names = next((some for key, some in _KEYS.items() if key in row), names)
        takes = names.split(", ")
    for line in lines:
        if not line.text.strip():
            continue
        try:
            row = json_object(line) if known is not None or held == "jsonl" else line.text
        except CorpusError as error:
            left.append(str(error))
            continue
        inputs, first = inputs + 1, row if first is None else first
    commands = [f"headscope {command} {file}" for command in takes]
    if isinstance(first, dict) and "messages" in first and known is not None:
        commands.append(f"headscope view --replay {file}")
    remarks = [*(remark.partition("; ")[2] for remark in files.remarks if "; " in remark), *left[:3]]
    if (answer := listening(Answer)) is not None:
        answer.remarks += remarks
        answer.give("look", file=file, **{"is": what}, inputs=inputs, first=first, commands=commands)
        return
    print(f"{file}: {what}" + (f", {plural(inputs, 'input')}" if inputs else ""))
    if first is not None:
        text = str(first) if isinstance(first, str) else json.dumps(first, ensure_ascii=False)
        print(f"  first: {text if len(text) <= _SHOWN else text[:_SHOWN] + ' …'}")
    for remark in remarks:
        print(f"  {remark}")
    for command in commands or ["no command takes it"]:
        print(f"  {command}")
