"""`hs.links` on a model of speech: the same heads get the same words right as in `hs.alignment_heads`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.models import Model
from tests.helpers.planted_alignment import recordings


@pytest.mark.slow
def test_links_of_speech_are_right_where_alignment_is(whisper: Model) -> None:
    speech = recordings(whisper, 12)
    linked: Any = hs.links(whisper, speech)
    aligned = hs.alignment_heads(whisper, speech)
    accuracy = linked["accuracy"].sel(label="word", direction="row")
    np.testing.assert_allclose(accuracy, aligned["aligned"], atol=1e-12)
    assert 0 < float(accuracy.min()) < float(accuracy.max()) < 0.6


def test_a_file_of_speech_has_links(workspace: Any) -> None:
    found: Any = hs.links(hs.load("whisper-tiny"), hs.corpora.spoken("speech.jsonl"), least=1)
    assert found.table()["n"].tolist() == [6]
    assert json.loads(found.attrs["meta"])["corpus"]["name"] == "speech.jsonl"
