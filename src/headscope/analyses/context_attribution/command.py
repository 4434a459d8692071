"""`headscope why`: a prompt that it reads, or a data set of them, and what it says of where an answer came from."""

from __future__ import annotations

import json
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from headscope.analyses.shown import Table
from headscope.core.counts import plural
from headscope.core.saving import PICTURES
from headscope.core.types import AnyDict
from headscope.core.validation import Count
from headscope.errors import InputError

DATA = (".jsonl", ".gz", ".zst")
"""Suffixes of data sets."""


def run(
    model: Any,
    prompt: str,
    *,
    answer: str | None = None,
    against: str | None = None,
    spans: str = "sentence",
    exact: Count | Literal["all"] = 5,
    image: list[Path] | None = None,
    video: Path | None = None,
    than: str | None = None,
    output: Path | None = None,
    **options: Any,
) -> Any:
    """Explain one answer, or those of a data set.

    Args:
        model: that answers.
        prompt: a text; a file of one; or ``.json`` with one object of a conversation, as a line of a data set.
        answer: what is explained, as it follows the prompt (mind the space), or a class; by default what the model
            says.
        against: another answer: why this rather than that?
        spans: what the prompt is cut into: sentence, line, paragraph, document, message, call (of a tool) and
            its result, tool, part (all of these, beside each other), word, token, image or sound; several, parted by
            commas, from the largest to the smallest.
        exact: how many of more than 20 spans are masked, or ``all``.
        image: a picture beside the prompt.
        video: in its place a folder of frames, or a GIF.
        than: of a data set, another model beside it.
    """
    from headscope.analyses.context_attribution.run import context_attribution
    from headscope.analyses.result import Result
    from headscope.analyses.why.run import why
    from headscope.attention.load import load
    from headscope.corpora.prompts import prompts

    path, many = _file(prompt)
    given: AnyDict = {
        **options,
        "answer": answer,
        "against": against,
        "image": image,
        "video": video,
        "than": than,
    }
    taken = signature(context_attribution if many else why).parameters
    for name, value in given.items():
        if value and name not in (*taken, "progress"):
            kinds = ("one prompt", "a data set") if many else ("a data set (.jsonl)", "one prompt")
            raise InputError(f"--{name.replace('_', '-')}: expected {kinds[0]}, found {kinds[1]}")
    given = {name: value for name, value in given.items() if value is not None and name in taken}
    units: Any = spans.split(",") if "," in spans else spans
    if path is not None and many:
        if than is not None:
            given["than"] = load(than)
        result = context_attribution(model, prompts(path), spans=units, exact=exact, **given)
        if not _page(output):
            return result
        from headscope.analyses.context_attribution.run import PromptsPage, shaded

        known = {name: given[name] for name in ("max_new_tokens", "batch_size", "limit") if name in given}
        views = shaded(model, prompts(path), units, exact=exact, **known)
        return Result.of(result, lambda: PromptsPage(result, views))
    text, more = (prompt, {}) if path is None else _content(path)
    units = more.pop("spans", units) if spans == "sentence" else units
    known = {name: more[name] for name in ("answer", "tools", "documents") if name in more}
    result = why(model, text, spans=units, exact=exact, **{**known, **given})
    return Result.of(result, lambda: result.view(model if _page(output) else None))


def checks(
    prompt: str, *, output: Path | None = None, open_: bool = False, figures: Path | None = None, **_: Any
) -> None:
    """Refuse, before a model is loaded, what is written of one prompt or a data set alone, and to open no page.

    Args:
        prompt: what was typed.
        output: where the page goes.
        open_: open the page that -o wrote in a browser.
        figures: of a data set also its figures over all, as printed.
    """
    if open_ and not _page(output):
        raise InputError(f"--open: expected -o FILE.html beside it, found {output or 'no -o'}")
    path, many = _file(prompt)
    if path is None and len(prompt.split()) == 1 and Path(prompt).suffix in (".txt", ".json", *DATA):
        raise InputError(f"PROMPT: expected a text or a file, found no file {prompt}")
    if path is not None and not many:
        _content(path)
    if figures is not None and not many:
        raise InputError("--figures: expected a data set (.jsonl), found one prompt")
    if output is not None and many and output.suffix.lower() in PICTURES:
        raise InputError(
            f"-o {output}: expected one prompt for a picture, found a data set; .html is its page"
        )


def _page(output: Path | None) -> bool:
    return output is not None and output.suffix.lower() == ".html"


def _content(path: Path) -> tuple[Any, AnyDict]:
    """The prompt in a file, and of a JSON object what stands beside it. Raises `InputError` where there is none."""
    from headscope.corpora.arrays import broken
    from headscope.corpora.prompts import prompt_of

    if known := _known(path):
        return prompt_of(known[0], lambda message: InputError(f"{path}: {message}"))

    try:
        text = path.read_text(encoding="utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected UTF-8, found another byte at {error.start}") from None
    if not text.strip():
        raise InputError(f"{path}: expected some text, found none")
    if path.suffix != ".json":
        return text, {}
    try:
        row: Any = json.loads(text)
    except ValueError as error:
        raise InputError(f"{path}: expected a JSON object, found {broken(error)}") from None
    return prompt_of(row, lambda message: InputError(f"{path}: {message}"))


def _file(prompt: str) -> tuple[Path | None, bool]:
    """The file that a prompt names, None where it is a text; and whether that is a data set."""
    path = Path(prompt)
    try:
        there = path.is_file()
    except (OSError, ValueError):  # longer than a name, or with what no name has
        there = False
    return (path, path.suffix in DATA or len(_known(path)) > 1) if there else (None, False)


def _known(path: Path) -> list[AnyDict]:
    """The first two rows of a file of a known format of prompts; none of no known format."""
    from headscope.corpora.files import Files
    from headscope.corpora.formats import known_format, lines_as
    from headscope.corpora.jsonlines import json_object

    known = known_format(path)
    if known is None or not known.reads:
        return []
    return [json_object(line) for line in islice(lines_as(Files(path, records=True), "prompts"), 2)]


def save_figures(result: Any, figures: Table) -> str:
    """Write the figures of a data set.

    Args:
        result: of a data set.
        figures: of a data set also its figures over all, as printed.
    """
    from headscope.analyses.context_attribution.statistics import table
    from headscope.measures.dataset import description, unseen, write_table

    rows = table(result)
    write_table(rows, figures, unseen(description(result)))
    return plural(len(rows), "figure")
