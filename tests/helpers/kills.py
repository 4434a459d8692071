"""Long runs that are killed at random moments: measure, links, roles and why, each with a folder where that is taken."""

from __future__ import annotations

import inspect
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

import headscope as hs
from headscope import corpora
from headscope.analyses.measure.run import measure
from headscope.measures.measure import Measure
from headscope.models import Model
from headscope.runs.checkpoint import Folder
from tests.helpers.small_models import sharpen, sizes, small_roberta
from tests.helpers.small_tokenizers import byte_level

BLOCK = 4
"""Inputs of a block: many blocks, so that a kill is within one."""


@cache
def model() -> Model:
    return small_roberta()


@cache
def writer() -> Model:
    tokenizer = byte_level()
    torch.manual_seed(0)
    settings = transformers.LlamaConfig(vocab_size=len(tokenizer), **sizes(inner=48, keys=2, length=512))
    return hs.load((sharpen(transformers.LlamaForCausalLM(settings)), tokenizer))


def slow(seconds: float) -> Measure:
    """A measure that takes its time."""

    @hs.pair_measure("slow", "Mass on even places, at leisure.")
    def slow(tokens: hs.Tokens, queries: Any) -> Any:
        time.sleep(seconds)
        return np.broadcast_to(np.arange(len(tokens)) % 2 == 0, (len(queries), len(tokens)))

    return slow


def resumes(name: str) -> bool:
    """Whether a run can be resumed."""
    function = {"measure": measure, "links": hs.links, "roles": hs.roles, "why": hs.context_attribution}[name]
    return "resume" in inspect.signature(function).parameters


def found(name: str, engine: Any = None, resume: Path | None = None, pause: float = 0.0) -> Any:
    """What a run gives, with a checkpoint behind each block."""
    options: dict[str, Any] = {"engine": engine}
    if resume is not None and resumes(name):
        options["resume"] = resume
    if name == "measure":
        return measure(
            model(), corpora.builtin(pack=None), measures=["previous", "entropy", slow(pause)], **options
        )
    if name == "links":
        words = ["the", "cat", "sat", "on", "the", "mat", "as", "it", "slept"]
        texts = [words[: 5 + n % 5] for n in range(240)]
        linked = corpora.linked(texts, [[(4, 1), (2, n % 2)] for n in range(240)])
        return hs.links(model(), linked, least=5, **options)
    if name == "why":
        spans = ["The cat sat here.", "A dog ran.", "It was late."]
        rows = [
            {"prompt": " ".join(spans[: 2 + n % 2]), "answer": " It slept." * (n % 3 + 1)} for n in range(40)
        ]
        return hs.context_attribution(writer(), rows, **options)
    lines = [example.text or "" for example in corpora.builtin(pack=None)]
    return hs.roles(model(), corpora.texts(lines[:48]), **options)


def client(name: str, where: str, resume: str, at_work: Any) -> None:
    """What a client does until it is killed: a run in processes of its own, or on a cluster by its address."""
    import torch

    import headscope.runs.batches

    torch.set_num_threads(1)
    headscope.runs.batches.BLOCK = BLOCK
    Folder.__init__.__kwdefaults__["every"] = 0.0  # pyright: ignore[reportOptionalSubscript]
    engine = hs.engines.Processes(where) if where.startswith("cpu") else hs.engines.Dask(where)
    (writer if name == "why" else model)()
    at_work.set()
    found(name, engine, Path(resume), 0.002)
