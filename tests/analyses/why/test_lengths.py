"""Rotary frequencies that hang on the length of an input: every figure is that of one plain pass over all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.analyses.why.asked import ask
from tests.helpers.small_models import BORDER, SCALED, scaled, small_roberta

ANSWER = [7, 9, 11]
SPANS = [(1, 4), (5, 9), (10, 13), (14, 17)]


def tokens_of(ids: Any) -> hs.Tokens:
    return hs.Tokens([str(number) for number in ids], ids=np.array(ids))


class Plain:
    """A module that has read nothing, and what it says of the answer in one pass with a mask of its own."""

    def __init__(self, kind: str, ids: list[int]) -> None:
        self.module = scaled(kind)
        self.count, self.ids = len(ids), torch.tensor([[*ids, *ANSWER[:-1]]])
        self.places = torch.arange(self.ids.shape[1])

    def hidden(self, *spans: tuple[int, int]) -> torch.Tensor:
        """Which pairs later tokens do not see, ``[query key]``."""
        pairs = torch.zeros(len(self.places), len(self.places), dtype=torch.bool)
        for first, end in spans:
            span = (self.places >= first) & (self.places < end)
            pairs |= (~span | (self.places >= self.count - 1))[:, None] & span
        return pairs & ~torch.eye(len(pairs), dtype=torch.bool)

    def sure(self, hidden: torch.Tensor, bias: Any = None) -> torch.Tensor:
        """The log-probability of the answer; with a bias these pairs are seen with it."""
        later = torch.ones(len(hidden), len(hidden)).triu(1).bool()
        mask = torch.zeros(hidden.shape, dtype=torch.float64).masked_fill(later, -torch.inf)
        mask = mask.masked_fill(hidden, -torch.inf) if bias is None else mask + bias * hidden
        self.module.set_attn_implementation("sdpa")
        output = self.module(input_ids=self.ids, attention_mask=mask[None, None], use_cache=False)
        return output.logits[0, -len(ANSWER) :].log_softmax(-1)[range(len(ANSWER)), ANSWER].sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "size"),
    [(BORDER - 1, 8), (BORDER, 8), (BORDER + 1, 1), (BORDER + 1, 8), (BORDER + 6, 8), (2 * BORDER, 1)],
)
@pytest.mark.parametrize("kind", SCALED)
def test_figures_are_those_of_one_pass(
    kind: str, length: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.analyses.why.passes.CHUNK", 5)
    ids = np.random.default_rng(1).integers(12, 60, length - len(ANSWER) + 1).tolist()
    model = hs.load(scaled(kind))
    with torch.no_grad():
        model.module(torch.tensor([[*range(1, 58)]]))  # what it remembers of it must not matter
    spans = [*SPANS, (len(ids) - 2, len(ids))]
    starts = np.cumsum([0, *(len(str(number)) + 1 for number in ids)])
    cuts = [(int(starts[first]), int(starts[end]) - 1) for first, end in spans]
    found = hs.why(model, tokens_of(ids), ANSWER, cuts, delete=True, batch_size=size)
    plain, none = Plain(kind, ids), torch.zeros(length, length, dtype=torch.bool)
    with torch.no_grad():
        whole = float(plain.sure(none))

        def lost(*spans: tuple[int, int]) -> float:
            return whole - float(plain.sure(plain.hidden(*spans)))

        for place, (first, end) in enumerate(spans):
            shorter = Plain(kind, [*ids[:first], *ids[end:]])
            gone = whole - float(shorter.sure(torch.zeros(len(shorter.places), len(shorter.places)).bool()))
            assert float(found["masked"][place]) == pytest.approx(lost((first, end)), abs=1e-5)
            assert float(found["deleted"][place]) == pytest.approx(gone, abs=1e-5)
        pairs = ("first", "second", "together") if "pair" in found.dims else ()
        for one, other, together in zip(*(found[name].values for name in pairs), strict=True):
            assert float(together) == pytest.approx(lost(spans[one], spans[other]), abs=1e-5)
        assert float(found["context"]) == pytest.approx(lost(*spans), abs=1e-5)
    for place, span in enumerate(spans):
        bias = torch.zeros((), dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(plain.sure(plain.hidden(span), bias), bias)
        assert float(found["estimate"][place]) == pytest.approx(float(slope), abs=1e-5)


TEXT = "The cat sat here. A dog ran. It was late."
MASKED = "The cat sat here. A dog <mask>. It was late."


@pytest.mark.slow
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
