"""What stands in a page, and what is saved from it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

from tests.helpers.section_blocks import every, name_of


def payload(html: str) -> Any:
    """What a page shows, as its script reads it."""
    found = re.search(
        r'<script type="application/json" id="headscope-payload">(.*?)</script>', html, re.DOTALL
    )
    return json.loads(found[1])


def arrays(html: str) -> dict[str, str]:
    """The arrays of a page by their names."""
    return dict(
        re.findall(r'<script type="text/plain" id="headscope-data-([^"]+)">(.*?)</script>', html, re.DOTALL)
    )


def section(report: Any, kind: str) -> Any:
    """The first section that is about something, of a report's payload."""
    return next(one for one in report["sections"] if name_of(one) == kind)


def told(report: Any) -> list[Any]:
    """The sentences of the summary, in parts."""
    return [
        block["parts"]
        for block in every(section(report, "summary")["blocks"])
        if block["kind"] == "text" and block["tone"] == "plain"
    ]


def said(report: Any) -> list[str]:
    """The sentences of the summary."""
    return ["".join(part["text"] for part in line) for line in told(report)]


def saved(button: Any) -> str:
    """The text of the file that a button of a page in a browser saves."""
    with button.page.expect_download() as download:
        button.click()
    return Path(download.value.path()).read_text(encoding="utf-8")


def table(button: Any) -> list[dict[str, str]]:
    """The rows of the CSV that a button saves."""
    return list(csv.DictReader(io.StringIO(saved(button))))
