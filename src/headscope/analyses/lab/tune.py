"""A fine-tuned copy of a model, made in seconds: what the lab on fine-tuning compares where none is named."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope import corpora
from headscope.models import Model

STEPS, BATCH, RATE = 24, 16, 1e-4


def fine_tuned(model: Model, *, steps: int = STEPS, seed: int = 0) -> Model:
    """A copy of an encoder that was trained to tell sentences of the built-in corpus from their words in another order.

    It takes some ten seconds on two cores; the model itself is left as it is.
    """
    sentences = [str(example.text).split() for example in corpora.builtin(pack=None)]
    draw: Any = np.random.default_rng(seed)
    module: Any = copy.deepcopy(model.module).eval()  # without dropout: the copy differs by what it learnt
    last = torch.zeros(model.text_config.hidden_size, 2, device=model.device, requires_grad=True)
    learns: Any = torch.optim.AdamW([*module.parameters(), last], lr=RATE)
    for _ in range(steps):
        chosen: list[list[str]] = [sentences[place] for place in draw.choice(len(sentences), BATCH)]
        labels = torch.arange(BATCH, device=model.device) % 2
        texts: list[str] = [
            " ".join(draw.permutation(words) if at % 2 else words) for at, words in enumerate(chosen)
        ]
        given = model.tokenizer(texts, padding=True, truncation=True, max_length=64, return_tensors="pt").to(
            model.device
        )
        states = module(**given, output_hidden_states=True).hidden_states[-1]
        loss: Any = nn.functional.cross_entropy(pooled(states, given["attention_mask"]) @ last, labels)
        learns.zero_grad()
        loss.backward()
        learns.step()
    note = f"trained in {steps} steps to tell sentences from their words in another order"
    return replace(
        model, module=module, name=f"{model.name}, fine-tuned", notes=[note], revision=None, recipe=None
    )


def pooled(states: Tensor, mask: Tensor) -> Tensor:
    """The mean state of each input's own tokens: padding is none.

    >>> pooled(torch.tensor([[[1.0], [3.0], [99.0]]]), torch.tensor([[1, 1, 0]])).tolist()
    [[2.0]]
    """
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
