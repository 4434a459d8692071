"""What an answer loses where a span is deleted: a pass over the shorter text, read where the answer stands in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.why.asked import ask
from tests.helpers.small_models import small_roberta

TEXT = "The cat sat here. A dog ran. It was late."
MASKED = "The cat sat here. A dog <mask>. It was late."


@pytest.mark.parametrize(
    ("head", "prompt", "answer", "position"),
    [
        ("MaskedLM", MASKED, None, None),
        ("MaskedLM", TEXT, None, -3),
        ("TokenClassification", TEXT, 2, -2),
        ("QuestionAnswering", ("Who ran?", TEXT), "A dog", None),
        ("QuestionAnswering", ("What was it?", TEXT), "late", None),
        ("SequenceClassification", TEXT, 1, None),
    ],
)
def test_an_answer_is_read_where_it_stands_then(
    head: str, prompt: Any, answer: Any, position: int | None
) -> None:
    labels = 2 if head == "QuestionAnswering" else 3
    model = small_roberta(cls=getattr(transformers, f"RobertaFor{head}"), num_labels=labels)
    tokens = model.encode(*([prompt] if isinstance(prompt, str) else prompt))
    position = None if position is None else len(tokens) + position
    asked = ask(model, prompt, answer, position=position)
    ids, read = asked.ready["input_ids"][0].tolist(), np.flatnonzero(asked.rows).tolist()

    def sure(keep: list[int]) -> float:
        with torch.no_grad():
            output: Any = model.module(input_ids=torch.tensor([[ids[place] for place in keep]]))
        if asked.kind == "class":
            return float(output.logits[0].log_softmax(-1)[answer])
        here = [keep.index(place) for place in read]
        if asked.kind == "span":
            ends = zip((output.start_logits, output.end_logits), (here[0], here[-1]), strict=True)
            return sum(float(logits[0].log_softmax(-1)[place]) for logits, place in ends)
        return float(output.logits[0, here[0]].log_softmax(-1)[asked.targets[0]])

    found = hs.why(model, prompt, answer, position=position, delete=True)
    every = list(range(len(ids)))
    for first, last, deleted in zip(
        *(found[name].values for name in ("first_token", "last_token", "deleted")), strict=True
    ):
        left = [place for place in every if not first <= place <= last or place in read]
        assert float(deleted) == pytest.approx(sure(every) - sure(left), abs=1e-4)
