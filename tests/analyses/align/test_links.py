"""`hs.links` on a model of speech: the same heads get the same words right as in `hs.alignment_heads`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.models import Model
from tests.helpers.planted_alignment import PLANTED, planting, recordings


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["both", "row"])
def test_links_of_speech_are_right_where_alignment_is(whisper: Model, direction: Any) -> None:
    speech = recordings(whisper, 12)
    linked: Any = hs.links(whisper, speech, direction=direction)
    aligned = hs.alignment_heads(whisper, speech)
    accuracy = linked["accuracy"].sel(label="word", direction="row")
    np.testing.assert_allclose(accuracy, aligned["aligned"], atol=1e-12)
    assert 0 < float(accuracy.min()) < float(accuracy.max()) < 0.6


def test_links_find_a_planted_head(whisper: Model) -> None:
    """One recording at a time, as the head knows the times of one."""
    speech = recordings(whisper, 3)
    for example in speech:
        with hs.edit(whisper, planting(whisper, [example])):
            found: Any = hs.links(whisper, [example], direction="row", least=1)
        row = found.table().iloc[0]
        assert (row["layer"], row["head"], row["accuracy"]) == (*PLANTED, 1.0)
        assert row["n"] == len(example.words or ())


def test_a_file_of_speech_has_links(workspace: Any) -> None:
    found: Any = hs.links(hs.load("whisper-tiny"), hs.corpora.spoken("speech.jsonl"), least=1)
    assert found.table()["n"].tolist() == [6]
    assert json.loads(found.attrs["meta"])["corpus"]["name"] == "speech.jsonl"
