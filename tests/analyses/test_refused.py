"""What an analysis cannot be asked of a model or a text: one line says what was found and what was expected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.analyses.artefacts.run import artefacts
from headscope.analyses.contribution.variability import variability
from headscope.models import Model
from tests.helpers import golden
from tests.helpers.families import build, family
from tests.helpers.planted_induction import circuit
from tests.helpers.planted_needles import HAY
from tests.helpers.small_models import small, small_roberta, translator

TOKENS = hs.Tokens(list("0123456789"), ids=np.arange(10))


def pair(**change: Any) -> dict[str, Any]:
    """A pair of prompts for patching."""
    corrupted = hs.Tokens(TOKENS.pieces, ids=np.arange(10) + 1)
    return {"clean": TOKENS, "corrupted": corrupted, "answer": 40, "wrong": 41, **change}


@pytest.mark.slow
def test_calls_that_cannot_be_done(
    demo: Model, stories: Model, planted: Model, whisper: Model, llava: Model
) -> None:
    """Of golden/analyses.txt: each ends in the error below it."""
    golden.refusals(
        "analyses.txt", hs=hs, np=np, replace=replace, artefacts=artefacts, variability=variability,
        circuit=circuit, small=small, small_roberta=small_roberta, translator=translator, pair=pair,
        demo=demo, stories=stories, planted=planted, whisper=whisper, llava=llava, gpt2=hs.load(build(family("GPT-2"))),
        half=hs.load(build(family("Llama")).bfloat16()),
        tokens=TOKENS, corpus=hs.corpora.texts(["The cat sat.", "A dog ran."]), HAY=HAY,
        hay=hs.corpora.texts([" ".join([HAY] * 4)]), NOISE=np.zeros(24_000, np.float32),
        cross=hs.wrap(np.full((1, 1, 2, 3), 1 / 3), ["a", "b"], ["x", "y", "z"], kind="cross"),
    )  # fmt: skip
