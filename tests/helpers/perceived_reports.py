"""Reports of small models of pictures and sounds, of which it is known where heads look."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import headscope as hs
from headscope.analyses.reproduce import Typed
from headscope.corpora import Corpus
from tests.helpers.planted_vision import planted_vit
from tests.helpers.small_models import whisper_parts

LOOKS = [["around", "row", "column", "near"], ["far", "cls", "bright", "even"]]
"""Where the heads of the model of pictures look."""

ARTEFACTS = [20, 47, 130]
"""Which of its patches are artefacts."""


def vision() -> hs.Model:
    """The model of pictures."""
    return hs.load(planted_vit(LOOKS, ARTEFACTS))


def hearing() -> hs.Model:
    """A model of sounds that hears four seconds."""
    return hs.load(whisper_parts(4))


def speech(count: int = 6) -> Corpus:
    """Tones with words and their times, each a little longer than the last."""
    examples: list[Any] = []
    for place in range(count):
        seconds = 1.0 + 0.3 * place
        time = np.arange(int(16_000 * seconds)) / 16_000
        samples = (0.3 * np.sin(2 * math.pi * (200 + 90 * place) * time)).astype(np.float32)
        words = ["so", "it", "was"]
        times = [[part * seconds / 3, (part + 1) * seconds / 3] for part in range(3)]
        examples.append({"audio": (samples, 16_000), "words": words, "times": times})
    return hs.corpora.sounds(examples)


def of_pictures() -> str:
    """A report on pictures."""
    return hs.report(vision(), typed=Typed([], {"-m": "some/vit"}))


def of_sounds() -> str:
    """A report on sounds with words."""
    return hs.report(
        hearing(), speech(), typed=Typed(["speech.jsonl"], {"-m": "some/whisper"}, read_by="--audio")
    )
