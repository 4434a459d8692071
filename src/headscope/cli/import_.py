"""`headscope import`: queries and keys that a server wrote, as maps, a view or measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from headscope.console.options import PAGES, TABLES, check_places, say
from headscope.core.counts import plural
from headscope.core.validation import Number
from headscope.errors import InputError


def import_(
    files: list[Path],
    *,
    output: Path | None = None,
    input: Number | None = None,
    tokens: Path | None = None,
    rows: str | None = None,
    keys: str | None = None,
    measures: str | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    mask: str | None = None,
    positions: Literal["applied", "learned"] | None = None,
) -> None:
    """Make maps, a view or measures of queries and keys that a server wrote; without -o say what they are.

    Args:
        files (FILE): a file of headscope's layout, vLLM-Hook's qk.safetensors (one a rank, or their folder), or what
            llama.cpp's evaluation callback printed.
        output: .safetensors for the maps; .html, .svg, .png or .pdf for a view; .parquet, .csv, .json, .tex or .nc for
            measures.
        input: which input of the files, from 0.
        tokens: the tokens, as a JSON list of strings or one a line, where the files have none.
        rows (A:B): of maps and views these queries only, from 0; the end is not among them.
        keys (A:B): of maps and views these keys only.
        measures (A,B): of measures these only.
        scale: the factor of q·k, where the files do not say it; by default 1/√dim.
        softcap: c of c·tanh(score/c), where the files do not say it.
        mask (causal|all|WINDOW): what a query sees, where the files do not say it; by default causal.
        positions: learned, where positions are part of the embeddings and files cannot tell (GPT-2).
    """
    check_places(output, suffixes=(".safetensors", *PAGES, *TABLES, ".nc"))
    parts = [_slice(name, text) for name, text in (("--rows", rows), ("--keys", keys))]
    suffix = "" if output is None else output.suffix.lower()
    of_table = suffix in (*TABLES, ".nc")
    if (rows or keys) and (of_table or not suffix):
        raise InputError("--rows, --keys: expected maps or a view of them, such as -o maps.safetensors")
    if measures is not None and not of_table:
        raise InputError("--measures: expected a table of them, such as -o heads.csv")
    from headscope.runs.recorded import measure_qk, open_qk

    recorded = open_qk(
        *files,
        input=input,
        tokens=None if tokens is None else _tokens(tokens),
        scale=scale,
        softcap=softcap,
        mask=int(mask) if mask is not None and mask.isdecimal() else mask,
        positions=positions,
    )
    if output is None:
        print(recorded)
    elif of_table:
        from headscope.measures.dataset import table, write

        result = measure_qk(recorded, measures=None if measures is None else measures.split(","))
        write(result, output, table)
        say(f"{output}: measures of {plural(len(recorded.heads), 'head')}")
    else:
        _write(recorded, parts, output)


def _write(recorded: Any, parts: list[slice], output: Path) -> None:
    from headscope.live.view import view

    full = all(part == slice(None) for part in parts)
    maps = recorded if full and output.suffix != ".safetensors" else recorded.take(*parts)
    if output.suffix == ".safetensors":
        maps.save(output)
    else:
        view(maps).save(output)
    say(f"{output}: {maps}")


def _slice(name: str, text: str | None) -> slice:
    if text is None:
        return slice(None)
    start, colon, end = text.partition(":")
    if not colon or not all(not one or one.isdecimal() for one in (start, end)):
        raise InputError(f"{name}: expected A:B, numbers from 0, found {text!r}")
    return slice(int(start) if start else None, int(end) if end else None)


def _tokens(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: expected a file of tokens, found none that can be read ({error})"
        ) from None
    try:
        pieces: Any = json.loads(text)
    except ValueError:
        return text.splitlines()
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):  # pyright: ignore[reportUnknownVariableType]
        raise InputError(f"{path}: expected a list of strings")
    return pieces  # pyright: ignore[reportUnknownVariableType]
