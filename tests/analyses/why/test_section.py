"""The section of the report on which part of each prompt its answer came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from tests.analyses.why.test_cite import SIZE
from tests.analyses.why.test_spans import CHATML
from tests.helpers import pages
from tests.helpers.section_blocks import rows
from tests.helpers.small_models import save_llama
from tests.helpers.typed import Typed

TALK = [{"role": "user", "content": "Is it wet? Where?"}, {"role": "assistant", "content": "Yes. In Oslo."}]
ROW: dict[str, Any] = {
    "messages": TALK,
    "tools": [{"type": "function", "function": {"name": "weather", "description": "Rain."}}],
    "documents": [{"title": "doc-3", "text": "Oslo is wet."}],
}


@pytest.mark.slow
def test_a_report_says_which_part_an_answer_came_from(tmp_path: Path, typed: Typed) -> None:
    folder = save_llama(tmp_path / "model", **SIZE)
    loaded = hs.load(folder)
    tokenizer: Any = loaded.tokenizer
    tokenizer.chat_template = CHATML
    tokenizer.save_pretrained(folder)
    prompts, text = tmp_path / "prompts.jsonl", tmp_path / "text.txt"
    prompts.write_text(
        "\n".join(map(json.dumps, (ROW, {"text": "It rained. A dog ran.", "answer": " Wet."})))
    )
    text.write_text("The cat sat here. A dog ran.\n\nIt was late.\n")
    page = tmp_path / "page.html"
    given = ("-m", folder, "--examples", 0, "--sections", "sources", "-o", page)
    typed("report", "--text", text, "--prompts", prompts, *given)
    made = pages.payload(page.read_text("utf-8"))["sections"]
    (info,) = [one for one in made if one.get("name") == "sources"]
    told = hs.why(hs.load(folder), TALK, spans="part", tools=ROW["tools"], documents=ROW["documents"])
    assert [one[:5] for one in told["text"].values] == ["weath", "doc-3", "user:"]
    first, second = rows(info, "sources")
    assert (first["answer"], second["answer"]) == ("Yes. In Oslo.", "Wet.")
    best = told.table().iloc[0]
    assert (first["part"], first["unsure"]) == (best["text"], best["q"] > 0.05)
    assert first["effect"] == pytest.approx(best["effect"], rel=1e-4)
    assert second["part"] in ("It rained.", "A dog ran.")
    assert info["command"].startswith("headscope why ")
