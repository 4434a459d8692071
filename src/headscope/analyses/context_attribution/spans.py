"""What is known of each span of the prompts of a data set, and of each statement of their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Annotated, Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.shown import WrittenSuffixes
from headscope.analyses.why import statistics as one
from headscope.analyses.why.cite import save as save_one
from headscope.analyses.why.cite import statements, write_statements
from headscope.core.types import AnyDict
from headscope.core.validation import Level
from headscope.errors import InputError
from headscope.measures.dataset import description

Lines = Annotated[Path, WrittenSuffixes((".jsonl",))]

COLUMNS = ("input", *one.COLUMNS)
"""Columns of the table of spans."""


def record(source: str, result: xr.Dataset) -> str:
    """What is known of the spans and statements of a prompt, as JSON that gives the same digits when it is read."""
    rows: Any = one.table(result).sort_values("span")
    cited = statements(result, 1.0) if description(result)["kind"] == "text" else []
    name = PurePath(source).name  # the same wherever the file lies
    return json.dumps({"input": name, "spans": rows.to_dict("list"), "statements": cited})


def variables(records: Sequence[str]) -> AnyDict:
    """What a dataset has of it: the table's columns over ``(row)``, and ``statements`` over ``(prompt)``, as JSON."""
    prompts = sorted(map(json.loads, records), key=_order)
    names = [prompt["input"] for prompt in prompts]
    counts = [len(prompt["spans"]["span"]) for prompt in prompts]
    values = {name: [value for prompt in prompts for value in prompt["spans"][name]] for name in COLUMNS[1:]}
    values["input"] = [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
    statements = [json.dumps(prompt["statements"], ensure_ascii=False) for prompt in prompts]
    return {
        **{f"span_{name}": ("row", _column(values[name])) for name in COLUMNS},
        "prompt_input": ("prompt", _column(names)),
        "statements": ("prompt", _column(statements)),
    }


def table(result: xr.Dataset) -> pd.DataFrame:
    """One row a prompt and span, with `COLUMNS`, in the order of the data set."""
    return pd.DataFrame({name: result[f"span_{name}"].values for name in COLUMNS})


def save(result: xr.Dataset, cite: Lines, *, level: Level = 0.05) -> str:
    """Write the statements of all answers, each with its input; of one as `headscope.analyses.why.cite.save` does.

    Args:
        result: of a data set, or of one prompt.
        cite: statements of the answer with their sources, one object a line: .jsonl.
        level: the q up to which a span is cited.

    Raises `InputError` where no answer is a text.
    """
    if "masked" in result:
        return save_one(result, cite, level)
    lines: list[AnyDict] = []
    for name, text in zip(result["prompt_input"].values, result["statements"].values, strict=True):
        for one_of in json.loads(str(text)):
            sources = [source for source in one_of["sources"] if source["q"] <= level]
            lines.append({"input": str(name), **one_of, "sources": sources})
    if not lines:
        raise InputError("cite: expected answers that a model wrote, found none")
    return write_statements(lines, cite)


def _column(values: list[Any]) -> Any:
    return np.array(values, object) if any(isinstance(value, str) for value in values) else np.array(values)


def _order(prompt: AnyDict) -> tuple[str, int]:
    """By file and line, or by number; a block has its prompts by their length."""
    match = re.fullmatch(r"(.*?)(\d*)\]?", prompt["input"], re.DOTALL)
    assert match is not None
    return match[1], int(match[2] or 0)
