"""What an analysis cannot be asked of a model or a text: one line says what was found and what was expected."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers

import headscope as hs
from headscope.analyses.compare.groups import statistics as two_groups
from headscope.analyses.contribution.statistics import relevance
from headscope.analyses.contribution.variability import variability
from headscope.analyses.distance import arrangement
from headscope.analyses.roles.run import repeated_tokens
from headscope.measures.choose import choose
from headscope.models import Model
from headscope.runs.rare import with_rarest
from headscope.statistics.design import Design
from tests.helpers import golden
from tests.helpers.families import build, family
from tests.helpers.planted_induction import circuit
from tests.helpers.planted_needles import HAY
from tests.helpers.small_models import seeing, small, small_bert, small_roberta, translator
from tests.helpers.typed import Typed

TOKENS = hs.Tokens(list("0123456789"), ids=np.arange(10))


def pair(**change: Any) -> dict[str, Any]:
    """A pair of prompts for patching."""
    corrupted = hs.Tokens(TOKENS.pieces, ids=np.arange(10) + 1)
    return {"clean": TOKENS, "corrupted": corrupted, "answer": 40, "wrong": 41, **change}


def built(name: str, cls: str | None = None, **config: Any) -> Model:
    """A family's model, with a class and settings of its own."""
    plain = family(name)
    return hs.load(build(replace(plain, cls=cls or plain.cls, config={**plain.config, **config})))


@pytest.mark.slow
def test_calls_that_cannot_be_done(
    demo: Model, stories: Model, planted: Model, whisper: Model, llava: Model
) -> None:
    """Of golden/analyses.txt: each ends in the error below it."""
    corpus = hs.corpora.texts(["The cat sat.", "A dog ran."])
    golden.refusals(
        "analyses.txt", hs=hs, np=np, transformers=transformers, replace=replace, variability=variability, relevance=relevance,
        arrangement=arrangement, two_groups=two_groups, repeated_tokens=repeated_tokens, with_rarest=with_rarest, choose=choose, Design=Design,
        circuit=circuit, small=small, small_roberta=small_roberta, translator=translator, pair=pair, built=built,
        demo=demo, stories=stories, planted=planted, whisper=whisper, llava=llava, gpt2=built("GPT-2"), vit=seeing(),
        wordpiece=small_bert(demo.tokenizer), half=hs.load(build(family("Llama")).bfloat16()),
        distances=hs.distance(small_roberta(heads=8), corpus), tokens=TOKENS, corpus=corpus, HAY=HAY,
        hay=hs.corpora.texts([" ".join([HAY] * 4)]), NOISE=np.zeros(24_000, np.float32), PICTURE=np.zeros((64, 64, 3), np.uint8),
        even=hs.wrap(np.full((2, 1, 2, 2), 0.5), ["a", "b"]), cross=hs.wrap(np.full((1, 1, 2, 3), 1 / 3), ["a", "b"], ["x", "y", "z"], kind="cross"),
    )  # fmt: skip


TOOLS = b'{"messages": [{"role": "user", "content": "x"}], "tools": ["x"]}'
ASKED = b'{"question": "Who?", "answer": "Anna"}'
FILES = {
    "broken.json": b'{"text": ',
    "tools.json": TOOLS,
    "empty.txt": b"\n",
    "latin.txt": b"Caf\xe9.",
    "keys.json": ASKED,
    "list.json": b"[%b]" % ASKED,
    "unlike.jsonl": b'{"clean": "a b", "corrupted": "a", "answer": "a", "wrong": "b"}',
}


@pytest.mark.slow
def test_commands_that_cannot_be_done(workspace: Path, typed: Typed) -> None:
    """Of golden/commands.txt: each ends in the line below it, before a model is loaded where there is none."""
    for name, content in FILES.items():
        (workspace / name).write_bytes(content)
    golden.check(
        "commands.txt", "$ headscope ", lambda line: typed(*shlex.split(line), code=2).err.splitlines()[-1]
    )
