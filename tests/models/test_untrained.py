"""Re-initialised models: every weight that should change changes, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from torch import nn

from headscope.errors import InputError
from headscope.models.weights import reinitialise
from tests.helpers.small_models import sizes

SMALL: dict[str, Any] = {"vocab_size": 50, **sizes(16, 2, 2, inner=20)}
MODELS: dict[str, Any] = {
    "bert": lambda: transformers.BertForMaskedLM(transformers.BertConfig(**SMALL)),
    "gpt2": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)),
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL)),
    "t5": lambda: transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=16, num_layers=2, num_heads=2)),
    "vit": lambda: transformers.ViTModel(transformers.ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20, image_size=16, patch_size=8)),
}  # fmt: skip


def loaded(name: str, tmp_path: Any) -> nn.Module:
    """A model that came from a checkpoint, so that transformers has marked its weights as initialised."""
    torch.manual_seed(7)
    model = MODELS[name]()
    model.save_pretrained(tmp_path)
    return type(model).from_pretrained(tmp_path)


def unchanged(before: nn.Module, after: nn.Module) -> set[str]:
    old = dict(before.named_parameters())
    return {
        name for name, value in after.named_parameters() if value.ndim > 1 and torch.equal(value, old[name])
    }


@pytest.mark.slow
@pytest.mark.parametrize("init", ["architecture", "reset_parameters"])
@pytest.mark.parametrize("name", MODELS)
def test_every_matrix_changes(name: str, init: Any, tmp_path: Any) -> None:
    model = loaded(name, tmp_path)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    state = torch.random.get_rng_state()
    after = reinitialise(model, 0, init=init)
    assert unchanged(model, after) == set()
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)  # the given model stays
    assert torch.equal(torch.random.get_rng_state(), state)
    again, other = reinitialise(model, 0, init=init), reinitialise(model, 1, init=init)
    torch.testing.assert_close(again.state_dict(), after.state_dict(), rtol=0, atol=0)
    assert unchanged(after, other) == set()


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("bert", {"bert.embeddings.word_embeddings.weight", "bert.embeddings.position_embeddings.weight"}),
        ("gpt2", {"transformer.wte.weight", "transformer.wpe.weight"}),
        ("llama", {"model.embed_tokens.weight"}),
    ],
)
def test_embeddings_are_kept(name: str, kept: set[str], tmp_path: Any) -> None:
    model = loaded(name, tmp_path)
    assert unchanged(model, reinitialise(model, 0, keep="embeddings")) == kept


def test_the_initialiser_is_the_architectures_own(tmp_path: Any) -> None:
    model = loaded("bert", tmp_path)
    model.config.initializer_range = 0.5
    after = reinitialise(model, 0)
    assert after.get_parameter("bert.encoder.layer.0.output.dense.weight").std().item() == pytest.approx(
        0.5, rel=0.2
    )
    assert after.get_parameter("bert.encoder.layer.0.output.dense.bias").abs().max() == 0


def test_a_matrix_that_is_not_reached_is_said() -> None:
    class Stubborn(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 3)

        def init_weights(self) -> None:
            pass

    with pytest.raises(InputError, match=r"untrained: inner.weight was left as it was"):
        reinitialise(Stubborn(), 0)


def test_wrong_arguments() -> None:
    with pytest.raises(InputError, match="Linear has no initialiser of its own"):
        reinitialise(nn.Linear(2, 2), 0)
    with pytest.raises(InputError, match="no embeddings"):
        reinitialise(nn.Linear(2, 2), 0, keep="embeddings", init="reset_parameters")
