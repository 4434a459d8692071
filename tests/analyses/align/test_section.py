"""The section on words and their sound: the planted head is first, and where there are no words it says so."""

from __future__ import annotations

from typing import Any

import pytest

import headscope as hs
from headscope.analyses.align.section import section
from headscope.analyses.study import Study
from headscope.corpora import Corpus, Example
from headscope.models import Model
from headscope.views.blobs import Blobs
from tests.helpers.planted_alignment import PLANTED, planting, recordings
from tests.helpers.section_blocks import rows, table


def corpus(examples: list[Example]) -> Corpus:
    return Corpus("speech", lambda: iter(examples), kind="sounds")


@pytest.mark.slow
def test_the_planted_head_is_first(whisper: Model) -> None:
    speech = recordings(whisper, 12)
    with hs.edit(whisper, planting(whisper, speech)):
        (made,) = section(Study(whisper, corpus(speech), ["align"], 0))
    info = made.info(Blobs())
    first, second, *_ = heads = rows(info, "heads")
    assert (first["layer"], first["head"]) == PLANTED
    assert first["accuracy"] > 0.9 > second["accuracy"]
    assert (first["chosen"], len(heads), "look" in table(info, "heads")) == (True, 8, False)
    ((said,),) = made.findings()
    assert said["text"].startswith(f"Of the decoder {PLANTED} looks at ")


@pytest.mark.parametrize(
    ("examples", "why"),
    [
        (hs.corpora.builtin_sounds(), "the built-in sounds are no speech"),
        (None, "no sound comes with its words and their times"),
    ],
)
def test_without_words_it_says_so(whisper: Model, examples: Any, why: str) -> None:
    silent = [Example(audio=each.audio) for each in recordings(whisper, 2)]
    study = Study(whisper, examples or corpus(silent), ["align"], 0)
    assert section(study) == []
    assert study.absent == {"align": why}
