"""Modules of one's own around a transformer: they get what their `forward` names, as transformers' Trainer gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    BertConfig,
    BertModel,
    BertPreTrainedModel,
    GPT2Model,
    PreTrainedModel,
    T5EncoderModel,
)
from transformers.modeling_outputs import SequenceClassifierOutput

import headscope as hs
from headscope.errors import InputError, RefusedError
from tests.helpers.small_models import sharpen
from tests.helpers.small_tokenizers import demo

TEXT, PAIR = "A cat sat on it.", "It slept."


class Around(nn.Module):
    """A classifier of BERT's first token."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
        self.bert = BertModel(BertConfig(vocab_size=len(demo()), **size))
        self.out = nn.Linear(32, 2)
        sharpen(self)

    def told(self, *args: Any, **kwargs: Any) -> Tensor:
        return self.out(self.bert(*args, **kwargs).last_hidden_state[:, 0])


class Net(Around):
    """The classifier of every tutorial."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.told(input_ids, attention_mask=attention_mask)


class Ids(Around):
    def forward(self, input_ids: Tensor) -> Tensor:
        return self.told(input_ids)


class Types(Around):
    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        return self.told(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)


class Optional(Around):
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> Any:
        return {"logits": self.told(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)}


class ByName(Around):
    def forward(self, *, attention_mask: Tensor, input_ids: Tensor) -> Tensor:
        return self.told(input_ids, attention_mask=attention_mask)


class Everything(Around):
    def forward(self, **batch: Tensor) -> Tensor:
        return self.told(**batch)


class Rest(Around):
    def forward(self, input_ids: Tensor, **rest: Any) -> Tensor:
        return self.told(input_ids, **rest)


class Wrapper(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.inner(*args, **kwargs)


class Other(Around):
    def forward(self, tokens: Tensor, masks: Tensor) -> Tensor:
        return self.told(tokens, attention_mask=masks)


class Labels(Around):
    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Any:
        logits = self.told(input_ids, attention_mask=attention_mask)
        return nn.functional.cross_entropy(logits, labels), logits


class Documents(Around):
    """Reads ``[document sentence token]``."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        documents, sentences, _ = input_ids.shape
        told = self.told(input_ids.flatten(0, 1), attention_mask=attention_mask.flatten(0, 1))
        return told.unflatten(0, (documents, sentences)).mean(1)


class Embedded(Around):
    """Looks its embeddings up itself."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        embeddings = self.bert.get_input_embeddings()(input_ids)
        return self.told(inputs_embeds=embeddings, attention_mask=attention_mask)


class Recurrent(Around):
    """Ends in a recurrent layer, and gives a tuple."""

    def __init__(self) -> None:
        super().__init__()
        self.after = nn.LSTM(32, 8, batch_first=True, bidirectional=True)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, lengths: Tensor | None = None) -> Any:
        found = self.bert(input_ids, attention_mask=attention_mask)
        return self.after(found.last_hidden_state)[0], found.pooler_output


class Subclass(BertPreTrainedModel):
    """As transformers' own classes are written."""

    def __init__(self) -> None:
        super().__init__(Around().bert.config)
        around = Around()
        self.bert, self.out = around.bert, around.out

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Any:
        found = self.bert(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        return SequenceClassifierOutput(logits=self.out(found.pooler_output))


class Base(nn.Module):
    """A head on any model."""

    def __init__(self, base: PreTrainedModel) -> None:
        super().__init__()
        self.net = nn.ModuleDict({"backbone": base})
        self.out = nn.Linear(base.config.hidden_size, 3)
        sharpen(self)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states = self.net["backbone"](input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return self.out((states * attention_mask[..., None]).sum(1))


def _on(kind: type[PreTrainedModel], **size: int) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        torch.manual_seed(0)
        config: Any = kind.config_class
        return Base(kind(config(vocab_size=len(demo()), **size)))

    return make


READ: dict[str, tuple[Callable[[], nn.Module], bool]] = {
    "ids and mask": (Net, False),
    "ids alone": (Ids, False),
    "types needed": (Types, True),
    "all optional": (Optional, True),
    "by name alone": (ByName, False),
    "any name": (Everything, True),
    "ids and any name": (Rest, True),
    "in a wrapper": (lambda: Wrapper(Optional()), True),
    "embeddings of its own": (Embedded, False),
    "a recurrent layer after it": (Recurrent, False),
    "a class of transformers": (Subclass, True),
    "on GPT-2": (_on(GPT2Model, n_embd=32, n_layer=2, n_head=4), False),
    "on T5's encoder": (_on(T5EncoderModel, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4), False),
}
"""A module, and whether it is given token types."""


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_a_module_gets_what_its_forward_names(name: str) -> None:
    make, types = READ[name]
    module = make().eval()
    base = [part for part in module.modules() if isinstance(part, PreTrainedModel)][-1]
    model = hs.load((module, demo()))
    maps = hs.capture(model, TEXT, pair=PAIR)
    given = demo()(TEXT, PAIR, return_tensors="pt")
    assert np.count_nonzero(given["token_type_ids"])
    if not types:
        del given["token_type_ids"]
    base.set_attn_implementation("eager")
    with torch.no_grad():
        # DataParallel puts a module on a GPU where there is one.
        expected = base(**given.to(base.device), output_attentions=True).attentions
    assert len(maps.layers) == len(expected) == 2
    for mine, theirs in zip(maps.layers, expected, strict=True):
        assert_allclose(mine, theirs[0].cpu().numpy(), atol=1e-5)


IDS = torch.tensor([demo()(TEXT)["input_ids"]])
ONES = torch.ones_like(IDS)
GIVEN: dict[type[Around], dict[str, Tensor]] = {
    Other: {"tokens": IDS, "masks": ONES},
    Labels: {"input_ids": IDS, "attention_mask": ONES, "labels": torch.tensor([1])},
}


@pytest.mark.parametrize("kind", GIVEN)
def test_a_module_that_takes_more_is_loaded_on_what_it_takes(kind: type[Around]) -> None:
    module = kind().eval()
    with pytest.raises(RefusedError) as refused:
        hs.load((module, demo()))
    line = f"hs.load(model, inputs={{{', '.join(f'{name!r}: …' for name in GIVEN[kind])}}})"
    assert line in str(refused.value)
    assert "hs.load((model.bert, tokenizer))" in str(refused.value)
    model = hs.load((module, demo()), inputs=GIVEN[kind])
    maps = hs.capture(model, inputs=GIVEN[kind])
    alone = hs.capture(hs.load((module.bert, demo())), TEXT)
    for mine, theirs in zip(maps.layers, alone.layers, strict=True):
        assert_allclose(mine, theirs, atol=1e-5)
    with pytest.raises(RefusedError, match="found one that takes"):
        hs.capture(model, TEXT)


class Batch(Around):
    """Takes a dict, as a loop of training has it."""

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return self.told(**batch)


class Task(Around):
    def forward(self, input_ids: Tensor, task: str = "a") -> Tensor:
        return self.told(input_ids) * {"a": 1, "b": 2}[task]


def test_a_module_of_dicts_is_refused_by_the_line_that_loads_what_is_within() -> None:
    with pytest.raises(
        InputError, match=r"inputs\['batch'\]: expected an array of numbers, found a dict; give"
    ) as refused:
        hs.load((Batch().eval(), demo()), inputs={"batch": {"input_ids": IDS}})
    assert str(refused.value).endswith("give hs.load((model.bert, tokenizer)) for the transformer within")


def test_a_module_may_take_a_word_beside_its_ids() -> None:
    given = {"input_ids": IDS, "task": "b"}
    model = hs.load((Task().eval(), demo()), inputs=given)
    assert len(hs.capture(model, inputs=given).query) == IDS.shape[1]


def test_a_tokenizers_lists_are_what_its_tensors_are() -> None:
    model = hs.load((Optional().eval(), demo()))
    alone = [hs.capture(model, text) for text in (TEXT, PAIR)]
    assert demo()(TEXT)["input_ids"] != [demo()(TEXT)["input_ids"]]
    for given in (
        demo()(TEXT),
        demo()([TEXT]),
        demo()(TEXT, return_tensors="pt"),
        demo()(TEXT, return_tensors="np"),
    ):
        assert_allclose(hs.capture(model, inputs=given).weights, alone[0].weights, atol=1e-6)
    both = hs.capture(model, inputs=demo()([TEXT, PAIR], padding=True))
    for mine, theirs in zip(both, alone, strict=True):
        assert_allclose(mine.weights, theirs.weights, atol=1e-5)
    with pytest.raises(
        InputError,
        match="expected rows of one length, found several; a tokenizer pads them with padding=True",
    ):
        hs.capture(model, inputs=demo()([TEXT, PAIR]))


def test_documents_of_sentences_are_refused_by_what_they_are() -> None:
    module = Documents().eval()
    with pytest.raises(RefusedError, match=r"does not run on .*; give hs\.load\(model, inputs="):
        hs.load((module, demo()))
    given = {"input_ids": torch.stack([IDS, IDS], 1), "attention_mask": torch.stack([ONES, ONES], 1)}
    model = hs.load((module, demo()), inputs=given)
    with pytest.raises(RefusedError, match="attends within 2 windows of 8 positions for 1 input"):
        hs.capture(model, inputs=given)


class Long(BertModel):
    """Reads twelve tokens or more."""

    def __init__(self) -> None:
        super().__init__(Around().bert.config)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Any:
        if input_ids.shape[1] < 12:
            raise ValueError("expected twelve tokens")
        return super().forward(input_ids, attention_mask=attention_mask)


def uneven() -> nn.Module:
    """Its eager attention repeats keys that are not fewer than queries: no keys are left."""
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "vocab_size": 30_522}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 16, "q_lora_rank": 16, "kv_lora_rank": 16}
    widths = {
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8,
        "v_head_dim": 8,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return AutoModelForCausalLM.from_config(AutoConfig.for_model("youtu", **sizes, **heads, **widths))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            uneven,
            r"\(1, \d+\) \(RuntimeError: The size of .*; unrecorded it runs: a recording takes the eager",
        ),
        (Long, r"\(1, \d\) \(ValueError: expected twelve tokens\)$"),
    ],
)
def test_a_module_that_fails_while_it_is_checked_is_refused_in_one_line(
    make: Callable[[], nn.Module], said: str
) -> None:
    with pytest.raises(RefusedError, match=rf"does not run on input_ids .*{said}"):
        hs.load((make(), demo()))
