"""What is measured with a span masked is what a plain pass gives whose softmax does not see the span."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

import headscope as hs
from headscope.analyses.why.asked import AskedPrompt, ask
from headscope.analyses.why.passes import Masked, Passes
from tests.helpers.asked import Doubled, _class, _text, sources  # pyright: ignore[reportPrivateUsage]
from tests.helpers.vision_models import TEN


class Blind(TorchFunctionMode):
    """Hides keys ``[query key]`` from each softmax over scores of that size."""

    def __init__(self, hidden: torch.Tensor) -> None:
        super().__init__()
        self._hidden, self.met = hidden, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation."""
        if getattr(func, "__name__", "") == "softmax" and args[0].shape[-2:] == self._hidden.shape:
            self.met += 1
            args = args[0].masked_fill(self._hidden, -torch.inf), *args[1:]
        return func(*args, **(kwargs or {}))


def _sees() -> AskedPrompt:
    module, processor = TEN["Qwen2-VL"]()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    module.set_attn_implementation("eager")
    image = np.random.default_rng(0).integers(0, 255, (84, 112, 3), np.uint8)
    text = "What is <|vision_start|><|image_pad|><|vision_end|> there?"
    return ask(hs.load((module.double().eval(), processor)), text, " a cat", image=image)


RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0}
KINDS = {
    **{name: _text(name) for name in ("BLOOM", "MPT", "Falcon ALiBi")},
    "DeBERTa": _class("DebertaForSequenceClassification", "deberta", **RELATIVE),
    "DeBERTa-v2": _class("DebertaV2ForSequenceClassification", "deberta-v2", **RELATIVE),
    "Qwen2-VL": _sees,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_masked_spans_are_not_seen(kind: str) -> None:
    asked = KINDS[kind]()
    every = [Masked(spans) for spans in ((0,), (1,), (2,), (0, 2), (0, 1, 2))]
    with Doubled():
        passes = Passes(asked, sources(asked))
        passes.slopes(torch.ones(1, len(asked.targets)))
        measured: dict[int, float] = {}

        def receive(rows: Any, scores: torch.Tensor) -> None:
            measured.update(zip(rows, asked.log_p(scores).sum(1).tolist(), strict=True))

        passes.masked(every, receive)
        members = passes.members.numpy()
        gives = np.asarray(asked.rows)  # the answer sees none of a span that reaches it
        for number, one in enumerate(every):
            hidden = np.zeros((asked.length, asked.length), np.bool_)
            for span in one.spans:
                hidden |= members[span] & ~(members[span] & ~gives)[:, None]
            np.fill_diagonal(hidden, False)
            with torch.no_grad(), Blind(torch.as_tensor(hidden)) as blind:
                output = asked.model.module(**asked.ready)
            assert blind.met > 0
            expected = float(asked.log_p(asked.scores(output)).sum())
            assert measured[number] == pytest.approx(expected, rel=1e-12)
