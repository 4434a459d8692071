"""The lookback ratio in the report: on text that a model wrote, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import headscope as hs
from headscope.analyses.measure.run import measure
from headscope.analyses.measure.section import lookback
from headscope.analyses.study import Study
from headscope.models import Model
from headscope.views.blobs import decode
from tests.helpers import pages


@pytest.fixture(scope="module")
def log(stories: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two texts that the model went on with."""
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    lines: list[str] = []
    for prompt in ("Once upon a time", "One day a dog"):
        made = hs.generate(stories, prompt, max_new_tokens=8)
        ids = np.array(made.query.ids).tolist()
        written = int(made.query.mask("generated").sum())
        lines.append(json.dumps({"prompt_token_ids": ids[:-written], "token_ids": ids[-written:]}))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.slow
def test_generated_text_has_the_ratio_of_every_head(stories: Model, log: Path) -> None:
    corpus = hs.corpora.jsonl(log)
    page = hs.report(stories, corpus, sections=["lookback", "figures", "table"], examples=0)
    payload, texts = pages.payload(page), pages.arrays(page)
    panels = [
        one
        for one in payload["sections"]
        if one.get("name") == "layers" and one["blocks"][0]["measures"] == [["lookback"]]
    ]
    assert [one["title"] for one in panels] == ["Context or own words, by layer"]
    written = sum(len(json.loads(line)["token_ids"]) for line in log.read_text().splitlines())
    assert panels[0]["notes"][1] == f"Means over {written} tokens that were generated."
    at = [one["name"] for one in payload["measures"]].index("lookback")
    expected = hs.measure(stories, corpus, measures=["lookback"])
    assert_allclose(decode(payload["value"], texts)[at], expected["lookback"].values)
    assert_allclose(decode(payload["error"], texts)[at], expected["lookback_se"].values)
    # Even attention gives a token of the context as much as one of the answer.
    assert_allclose(decode(payload["chance"], texts)[at], 0.5)


def test_plain_text_says_nothing_of_it(stories: Model) -> None:
    corpus = hs.corpora.texts(["Once upon a time there was a dog."])
    study = Study(stories, corpus, ["lookback"], 0, figures=[measure(stories, corpus)])
    assert lookback(study) == []
    assert len(study.figures) == 1
