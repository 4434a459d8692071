"""Models of many kinds that are asked where their answers come from, and attention changed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor
from torch.overrides import TorchFunctionMode

import headscope as hs
from headscope.analyses.why.asked import AskedPrompt, ask
from headscope.analyses.why.passes import Passes
from headscope.analyses.why.spans import Source
from headscope.attention.record import AttentionRecord
from tests.helpers.families import VOCABULARY, build, family
from tests.helpers.small_models import llava_parts, sizes, whisper_parts


class Doubled(TorchFunctionMode):
    """Within it what a model does in half the digits (norms, softmax) is done in all of them."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def kept(value: Any) -> Any:
            return torch.float64 if value is torch.float32 else value

        if func is torch.Tensor.float:
            return args[0]
        return func(*map(kept, args), **{name: kept(value) for name, value in (kwargs or {}).items()})


LENGTH = 12
SPANS = [(1, 4), (4, 8), (9, 12)]
"""Tokens of the spans; the last reaches the end of the prompt."""


def redrawn(cls: str, kind: str, **config: Any) -> Any:
    """A model of another head, each parameter drawn anew."""
    module = getattr(transformers, cls)(transformers.AutoConfig.for_model(kind, **config))
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw) * 0.3)
    return module.eval()


_BERT: dict[str, Any] = {"vocab_size": VOCABULARY, **sizes(inner=48, length=64), "pad_token_id": 0}


def _tokens() -> hs.Tokens:
    ids = np.random.default_rng(0).integers(3, VOCABULARY, LENGTH)
    return hs.Tokens([str(number) for number in ids], ids=ids)


def _text(name: str) -> Callable[[], AskedPrompt]:
    return lambda: ask(hs.load(build(family(name)).double()), _tokens(), [7, 9, 11])


def _sees() -> AskedPrompt:
    module, processor = llava_parts()
    image = np.random.default_rng(0).integers(0, 255, (56, 56, 3), np.uint8)
    return ask(hs.load((module.double(), processor)), "What is <image> there?", " a cat", image=image)


def _looks() -> AskedPrompt:
    sizes = {"image_size": 64, "patch_size": 16, "num_labels": 3}
    module = redrawn("ViTForImageClassification", "vit", **{**_BERT, **sizes})
    processor = transformers.ViTImageProcessor(size={"height": 64, "width": 64})
    image = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    return ask(hs.load((module.double(), processor)), None, image=image)


def _hears() -> AskedPrompt:
    module, *rest = whisper_parts()
    sound = np.random.default_rng(0).normal(0, 0.1, 32000).astype(np.float32), 16000
    return ask(hs.load((module.double(), *rest)), None, "the cat", audio=sound)


def _class(cls: str, kind: str, **more: Any) -> Callable[[], AskedPrompt]:
    return lambda: ask(hs.load(redrawn(cls, kind, **{**_BERT, "num_labels": 3, **more}).double()), _tokens())


KINDS: dict[str, Callable[[], AskedPrompt]] = {
    **{name: _text(name) for name in ("GPT-2", "Llama", "Mistral", "Gemma 2", "BLOOM", "T5", "BART")},
    "gpt-oss": lambda: ask(hs.load(build(family("gpt-oss"))), _tokens(), [7, 9, 11]),
    "BERT, class": _class("BertForSequenceClassification", "bert"),
    "DeBERTa-v2, class": _class(
        "DebertaV2ForSequenceClassification",
        "deberta-v2",
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        type_vocab_size=0,
    ),
    "ViT": _looks,
    "LLaVA": _sees,
    "Whisper": _hears,
}


def sources(asked: AskedPrompt) -> list[Source]:
    """Spans of any axis."""
    size = len(asked.prompt.tokens)
    where = [(first, last if last < LENGTH else size) for first, last in SPANS]
    return [Source("given", np.isin(np.arange(size), np.arange(*span)), -1, -1, str(span)) for span in where]


def by_hand(
    passes: Passes, factor: float, *, spans: list[int], only: Any = None
) -> Callable[[AttentionRecord], Tensor | None]:
    """An edit that gives the keys of spans so many times the weight before a row is made to sum to 1 again."""
    members = passes.members.numpy()
    rows = passes.asked.rows

    def change(record: AttentionRecord) -> Tensor | None:
        if not passes.concerns(record):
            return None
        weights = record.weights()
        _, heads, queries, keys = weights.shape
        times = np.ones((heads, queries, keys))
        for query in range(queries):
            for key in range(keys):
                for span in spans:
                    there = record.kind != "cross" and members[span, query] and not rows[query]
                    itself = record.kind != "cross" and query == key
                    if members[span, key] and not there and not itself:
                        times[:, query, key] *= factor
        if only is not None:
            others = [head for head in range(heads) if (record.kind, hs.Head(record.layer, head)) not in only]
            times[others] = 1
        rest = 1 - weights.sum(-1, keepdim=True) if record.sinks is not None else 0.0
        made = weights * torch.as_tensor(times)
        total = made.sum(-1, keepdim=True) + rest
        return made / torch.where(total > 0, total, 1.0)

    return change


def sure(asked: AskedPrompt) -> float:
    """The log-probability of the answer, by the model as it runs now."""
    with torch.no_grad():
        output = asked.model.module(**asked.ready)
    return float(asked.log_p(asked.scores(output)).sum())
