"""Compare the data of two report pages: every value and every array, to the last bit.

python tools/compare_reports.py OLD.html NEW.html                        exit 1 when a value differs
python tools/compare_reports.py OLD.html NEW.html --ignore 'sections.*.command'

Prints each difference with its path in the payload. `--ignore` names paths that may differ, as shell patterns; it
replaces the default, which is what a run says of itself: created, seconds, versions and command.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from headscope.views.blobs import ArrayRef, decode

IGNORED = ("created", "seconds", "versions", "command")
VIEWS = ("examples", "views")  # lists of explorers: the arrays of the third are named 2-0, 2-1, …

_PAYLOAD = re.compile(r'<script type="application/json" id="headscope-payload">(.*?)</script>', re.DOTALL)
_ARRAY = re.compile(r'<script type="text/plain" id="headscope-data-([^"]*)">(.*?)</script>', re.DOTALL)
_MISSING = object()


def read_page(path: Path) -> Any:
    """The payload of a page, with each reference to an array replaced by its encoding and values.

    Raises `ValueError` when the page holds no payload, or its arrays are not those that the payload refers to.
    """
    text = path.read_text(encoding="utf-8")
    payload = _PAYLOAD.search(text)
    if payload is None:
        raise ValueError(f"{path}: no headscope payload in this page")
    arrays = dict(_ARRAY.findall(text))
    unused = set(arrays)

    def resolve(value: Any, prefix: str = "") -> Any:
        if isinstance(value, list):
            return [resolve(entry, prefix) for entry in value]
        if not isinstance(value, dict):
            return value
        if {"data", "encoding", "shape"} <= value.keys() <= ArrayRef.__annotations__.keys():
            reference = ArrayRef(**{**value, "data": f"{prefix}{value['data']}"})
            if reference["data"] not in arrays:
                raise ValueError(f"{path}: array {reference['data']} is missing")
            unused.discard(reference["data"])
            return {"encoding": value["encoding"], "values": decode(reference, arrays)}
        return {
            key: [resolve(view, f"{index}-") for index, view in enumerate(entry)]
            if key in VIEWS and isinstance(entry, list)
            else resolve(entry, prefix)
            for key, entry in value.items()
        }

    resolved = resolve(json.loads(payload[1]))
    if unused:
        raise ValueError(f"{path}: the payload does not refer to array {min(unused)} ({len(unused)} such)")
    return resolved


def differences(old: Any, new: Any, path: str = "", ignore: tuple[str, ...] = ()) -> Iterator[str]:
    """Each difference between two payloads, as ``path: old → new``."""
    if any(fnmatchcase(path, pattern) for pattern in ignore):
        return
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        if message := array_difference(old, new):
            yield f"{path}: {message}"
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            yield from differences(
                old.get(key, _MISSING), new.get(key, _MISSING), f"{path}.{key}" if path else key, ignore
            )
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            yield from differences(
                old[index] if index < len(old) else _MISSING,
                new[index] if index < len(new) else _MISSING,
                f"{path}.{index}",
                ignore,
            )
    elif type(old) is not type(new) or old != new:
        yield f"{path}: {brief(old)} → {brief(new)}"


def array_difference(old: np.ndarray, new: np.ndarray) -> str | None:
    """How two arrays differ: type, shape or values. None when they agree to the last bit."""
    if (old.dtype, old.shape) != (new.dtype, new.shape):
        return f"{brief(old)} → {brief(new)}"
    differs = (old != new) & ~(np.isnan(old) & np.isnan(new))
    if not differs.any():
        return None
    first = tuple(np.argwhere(differs)[0].tolist())
    gap = np.abs(old[differs].astype(float) - new[differs].astype(float)).max()
    values = f"first {list(first)}: {old[first]} → {new[first]}, at most {gap:.3g} apart"
    return f"{differs.sum()} of {old.size} values, {values}"


def brief(value: Any) -> str:
    """A value on one short line."""
    if value is _MISSING:
        return "(missing)"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {list(value.shape)}"
    if isinstance(value, dict | list):
        return f"a {type(value).__name__} of {len(value)}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare the data of two report pages.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--ignore", nargs="*", default=IGNORED, metavar="PATH", help="may differ")
    options = parser.parse_args(arguments)
    try:
        old, new = read_page(options.old), read_page(options.new)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    lines = list(differences(old, new, ignore=tuple(options.ignore)))
    print("\n".join(lines) if lines else f"identical, apart from {', '.join(options.ignore) or 'nothing'}")
    return 1 if lines else 0


if __name__ == "__main__":
    raise SystemExit(main())
