"""Virtual tokens: prompts and prefixes that peft has tuned stand on the axes by their name, and text is written after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose

import headscope as hs
from headscope import corpora
from headscope.errors import RefusedError
from tests.helpers.presence import needs
from tests.helpers.small_models import sharpen, sizes
from tests.helpers.small_tokenizers import byte_level, roberta

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

TEXT = "The cat sat on the mat."
NAMES = ("virtual 0", "virtual 1", "virtual 2")


def llama() -> Any:
    torch.manual_seed(0)
    size = sizes(inner=48, keys=2)
    return sharpen(
        transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=len(byte_level()), **size))
    )


def gpt2() -> Any:
    torch.manual_seed(0)
    size = {"n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 0, "eos_token_id": 0}
    return sharpen(
        transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=len(byte_level()), **size))
    )


def bart() -> Any:
    torch.manual_seed(0)
    sides = {
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in {"layers": 2, "attention_heads": 4, "ffn_dim": 48}.items()
    }
    config = transformers.BartConfig(
        vocab_size=len(roberta()),
        d_model=32,
        max_position_embeddings=64,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        **sides,
    )
    return sharpen(transformers.BartForConditionalGeneration(config))


def tuned(make: Callable[[], Any], kind: str, task: str = "CAUSAL_LM") -> Any:
    needs("peft")
    import peft

    more = {"encoder_hidden_size": 16} if kind == "PromptEncoder" else {}
    config = getattr(peft, f"{kind}Config")(task_type=task, num_virtual_tokens=3, **more)
    torch.manual_seed(1)
    return peft.get_peft_model(make(), config).eval()


def eager(module: Any, ids: Any) -> list[Any]:
    """The maps of the base model, on embeddings with the tuned prompt before them or with the tuned prefix as its cache."""
    base = module.get_base_model()
    base.set_attn_implementation("eager")
    with torch.no_grad():
        prompt = module.get_prompt(batch_size=1)
        if isinstance(prompt, torch.Tensor):
            given = {"inputs_embeds": torch.cat([prompt, base.get_input_embeddings()(ids)], 1)}
        else:
            given = {"input_ids": ids, "past_key_values": prompt}
        return [layer[0].numpy() for layer in base(**given, output_attentions=True).attentions]


@pytest.mark.parametrize("make", [llama, gpt2])
@pytest.mark.parametrize("kind", ["PromptTuning", "PrefixTuning", "PromptEncoder"])
def test_virtual_tokens_are_named_and_seen(make: Callable[[], Any], kind: str) -> None:
    module = tuned(make, kind)
    model = hs.load((module, byte_level()))
    assert model.module is module
    maps = hs.capture(model, TEXT)
    tokens = model.encode(TEXT)
    expected = eager(module, torch.tensor([tokens.ids]))
    for mine, theirs in zip(maps.layers, expected, strict=True):
        assert_allclose(mine, theirs, atol=1e-5)
    both = (*NAMES, *tokens.pieces)
    assert maps.key.pieces == both
    assert maps.query.pieces == (tokens.pieces if kind == "PrefixTuning" else both)
    assert maps.key.mask("virtual").tolist() == [piece in NAMES for piece in both]
    assert maps.key.ids.tolist() == [-1, -1, -1, *tokens.ids.tolist()]
    seen = np.tri(*expected[0].shape[1:], len(both) - expected[0].shape[1], dtype=bool)
    assert all((maps.sight(layer) == seen).all() for layer in range(2))
    assert hs.view(maps).html()


@pytest.mark.parametrize("kind", ["PromptTuning", "PrefixTuning", "PromptEncoder"])
def test_text_is_written_after_virtual_tokens(kind: str) -> None:
    module = tuned(llama, kind)
    model = hs.load((module, byte_level()))
    maps = hs.generate(model, TEXT, max_new_tokens=4)
    ids = torch.tensor([model.encode(TEXT).ids])
    with torch.no_grad():
        written = module.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=4, do_sample=False
        )
    assert maps.key.ids.tolist() == [-1, -1, -1, *written[0, :-1].tolist()]
    assert maps.query.mask("generated").sum() == 3
    for mine, theirs in zip(maps.layers, eager(module, written[:, :-1]), strict=True):
        assert_allclose(mine, theirs, atol=1e-5)


@pytest.mark.parametrize("kind", ["PromptTuning", "PrefixTuning"])
def test_an_encoder_decoder_has_them_where_peft_puts_them(kind: str) -> None:
    model = hs.load((tuned(bart, kind, "SEQ_2_SEQ_LM"), roberta()))
    for parts in (
        hs.capture(model, "The cat.", target="It was."),
        hs.generate(model, "The cat.", max_new_tokens=3),
    ):
        with_prompt = {"encoder", "cross"} if kind == "PromptTuning" else {"decoder"}
        assert {name for name, maps in parts.items() if maps.key.pieces[:3] == NAMES} == with_prompt
        assert len(parts.cross.query) == len(parts.decoder.query)


def test_rows_of_a_batch_lose_their_padding_not_their_prompt() -> None:
    model = hs.load((tuned(llama, "PromptTuning"), byte_level()))
    texts = [TEXT, "The cat"]
    tokens = [model.encode(text) for text in texts]
    batch = model.inputs(tokens)
    for maps, text in zip(hs.capture(model, inputs=batch), texts, strict=True):
        alone = hs.capture(model, text)
        assert maps.key.pieces == alone.key.pieces
        for mine, theirs in zip(maps.layers, alone.layers, strict=True):
            assert_allclose(mine, theirs, atol=1e-5)


@pytest.mark.parametrize("run", [
    lambda model: hs.measure(model, corpora.texts([TEXT, "She opened the door."])),
    lambda model: hs.why(model, TEXT, answer=" Yes"),
    lambda model: hs.reads(model, TEXT, head=hs.Head(0, 0)),
    lambda model: hs.attribute(model, TEXT),
    lambda model: hs.card(model, corpora.texts([TEXT])),
    hs.explore,
], ids=["measure", "why", "reads", "attribute", "card", "explore"])  # fmt: skip
def test_what_is_of_a_text_alone_is_refused_with_them(run: Callable[[Any], Any]) -> None:
    model = hs.load((tuned(llama, "PromptTuning"), byte_level()))
    with pytest.raises(
        RefusedError,
        match=r"found 3 virtual tokens before it, of adapter default .prompt tuning.; headscope.capture",
    ):
        run(model)


def test_an_adapter_of_weights_is_read_as_the_model_that_it_changed() -> None:
    needs("peft")
    import peft

    torch.manual_seed(1)
    config = peft.LoraConfig(
        task_type="CAUSAL_LM", target_modules=["q_proj", "v_proj"], init_lora_weights=False
    )
    module = peft.get_peft_model(llama(), config).eval()
    model = hs.load((module, byte_level()))
    assert model.notes == ("adapter default (lora)",)
    maps = hs.generate(model, TEXT, max_new_tokens=4)
    ids = torch.tensor([model.encode(TEXT).ids])
    with torch.no_grad():
        written = module.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=4, do_sample=False
        )
        module.get_base_model().set_attn_implementation("eager")
        expected = module(input_ids=written[:, :-1], output_attentions=True).attentions
    assert maps.query.ids.tolist() == written[0, :-1].tolist()
    for mine, theirs in zip(maps.layers, expected, strict=True):
        assert_allclose(mine, theirs[0].numpy(), atol=1e-5)


def test_a_prompt_inside_attention_is_refused() -> None:
    needs("peft")
    import peft

    config = peft.AdaptionPromptConfig(task_type="CAUSAL_LM", adapter_layers=1, adapter_len=3)
    with pytest.raises(RefusedError, match="AdaptedAttention attends to a prompt of its own beside the keys"):
        hs.load((peft.get_peft_model(llama(), config).eval(), byte_level()))
