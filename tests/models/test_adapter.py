"""Adapters: added to the weights, exactly; and what is said of one that does not fit."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope import corpora
from headscope.errors import HeadscopeWarning, InputError, ModelError
from headscope.runs.identity import weights
from tests.helpers.forked import forked
from tests.helpers.presence import needs
from tests.helpers.small_models import sharpen, sizes
from tests.helpers.small_tokenizers import byte_level
from tests.helpers.typed import Typed

pytestmark = pytest.mark.filterwarnings(  # peft asks transformers for it by its old name
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning:transformers"
)

TEXT = "She opened the door; nobody was there."
LINES = [TEXT, "The cat did not sit on the mat.", "They walked to the old bridge."]


def llama(layers: int = 2, hidden: int = 32) -> transformers.LlamaForCausalLM:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(byte_level()), **sizes(hidden=hidden, layers=layers, inner=48, keys=2, length=128)
    )
    return sharpen(transformers.LlamaForCausalLM(config))


def saved(module: Any, folder: Path) -> Path:
    module.save_pretrained(folder)
    byte_level().save_pretrained(folder)
    return folder


def trained(module: Any, config: Any) -> Any:
    """The module with an adapter that changes every map."""
    import peft

    torch.manual_seed(1)
    wrapped = peft.get_peft_model(module, config)
    with torch.no_grad():
        for name, parameter in wrapped.named_parameters():
            if parameter.requires_grad:
                parameter.copy_(torch.randn_like(parameter) * (0.3 if "lora" in name else 1.0))
    return wrapped.eval()


def lora(**more: Any) -> Any:
    import peft

    return peft.LoraConfig(**{"r": 4, "target_modules": ["q_proj", "k_proj", "v_proj"], **more})


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("peft")
    return saved(llama(), tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory, base: Path) -> Path:
    folder = tmp_path_factory.mktemp("adapter") / "tuned"
    trained(llama(), lora()).save_pretrained(folder)
    return folder


def eager(module: Any, ids: Any) -> list[Any]:
    """The module's own maps."""
    for part in module.modules():
        if isinstance(part, transformers.PreTrainedModel):
            part.set_attn_implementation("eager")
    with torch.no_grad():
        found = module(input_ids=torch.tensor(ids)[None], output_attentions=True)
    return [each[0].double().numpy() for each in found.attentions]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_maps_are_those_of_the_model_with_its_adapter(base: Path, adapter: Path, dtype: str) -> None:
    import peft

    model = hs.load(base, adapter=adapter, dtype=dtype)
    maps = hs.capture(model, TEXT)
    module = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=getattr(torch, dtype))
    ids = model.encode(TEXT).ids
    plain = eager(module, ids)
    expected = eager(peft.PeftModel.from_pretrained(module, adapter).eval(), ids)
    allowed = 1e-5 if dtype == "float32" else 1e-6  # maps are kept in float32
    for layer, each in enumerate(expected):
        np.testing.assert_allclose(maps.weights[layer], each, rtol=0, atol=allowed)
        assert np.abs(plain[layer] - each).max() > 0.05
    assert type(model.module).__name__ == "LlamaForCausalLM"
    assert model.notes == ("adapter tuned",)
    assert model.recipe.arguments["adapter"] == str(adapter.resolve())
    assert weights(model) != weights(hs.load(base, dtype=dtype))


@pytest.mark.slow
def test_what_an_adapter_changed(typed: Typed, base: Path, adapter: Path, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(LINES))
    table = tmp_path / "drift.json"
    words = ["compare", "models", str(base), "--adapter", str(adapter), str(lines), "--measures", "previous"]
    typed(*words, "--pack", 0, "-o", table, "--meta", tmp_path / "meta.json")
    rows = json.loads(table.read_text())
    assert {row["measure"] for row in rows} == {"previous"}
    assert max(abs(row["difference"]) for row in rows) > 0.01
    assert json.loads(table.with_name("meta.json").read_text())["b"]["notes"] == ["adapter tuned"]


@pytest.mark.slow
def test_workers_load_the_adapter_too(base: Path, adapter: Path) -> None:
    model = hs.load(base, adapter=adapter)
    texts = corpora.texts(LINES)
    here = hs.measure(model, texts, measures=["previous"])
    with forked():
        there = hs.measure(model, texts, measures=["previous"], engine="cpu:1")
    np.testing.assert_array_equal(here["previous"], there["previous"])
    assert not np.array_equal(
        here["previous"], hs.measure(hs.load(base), texts, measures=["previous"])["previous"]
    )


def of_another_family() -> Any:
    module = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=1, n_embd=16, n_head=2))
    return trained(module, lora(target_modules=["c_attn"], fan_in_fan_out=True))


def of_prompts() -> Any:
    import peft

    config = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)
    return peft.get_peft_model(llama(), config)


WRONG: dict[str, Callable[[], Any]] = {
    "(size mismatch for model.layers.0.self_attn.q_proj.lora_A.weight": lambda: trained(
        llama(hidden=16), lora()
    ),
    "(the adapter has weights for what is not there: model.layers.2.": lambda: trained(llama(3), lora()),
    "(the adapter has no weights for model.layers.1.": lambda: trained(llama(1), lora()),
    "(Target modules": of_another_family,
    "expected an adapter of weights, such as LoRA, found PROMPT_TUNING": of_prompts,
}


@pytest.mark.parametrize("said", WRONG)
def test_an_adapter_that_does_not_fit(base: Path, tmp_path: Path, said: str) -> None:
    WRONG[said]().save_pretrained(tmp_path / "wrong")
    said = f"does not fit {base.name} {said}" if said.startswith("(") else said
    with pytest.raises(ModelError, match=f"{re.escape(said)}[^\n]*$"):
        hs.load(base, adapter=tmp_path / "wrong")


def test_what_is_no_adapter_is_refused(typed: Typed, base: Path, adapter: Path, tmp_path: Path) -> None:
    typed.refuses(
        "no adapter_config.json in this folder; expected an adapter", "check", base, "--adapter", tmp_path
    )
    for name in ("../none", "[]", "x" * 200):
        with pytest.raises(ModelError, match=r"expected a folder|cannot be"):
            hs.load(base, adapter=name)
    shutil.copy(adapter / "adapter_config.json", tmp_path)
    with pytest.raises(ModelError, match="cannot be loaded"):
        hs.load(base, adapter=tmp_path)
    with pytest.raises(InputError, match="adapter: expected the name of a model beside it, found a module"):
        hs.load(llama(), adapter=adapter)
    with pytest.raises(ModelError, match="an adapter; load the model that it belongs to, with adapter="):
        hs.load(adapter)


BERT = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
CASES: list[tuple[str, str, str | None]] = [
    ("BertForMaskedLM", "BertForSequenceClassification", "SEQ_CLS"),
    ("BertModel", "BertForTokenClassification", "TOKEN_CLS"),
    ("BertForMaskedLM", "BertForQuestionAnswering", "QUESTION_ANS"),
    ("BertForMaskedLM", "BertModel", "FEATURE_EXTRACTION"),
    ("LlamaForCausalLM", "LlamaForSequenceClassification", "SEQ_CLS"),
    ("LlamaForCausalLM", "LlamaForCausalLM", "CAUSAL_LM"),
    ("BertForMaskedLM", "BertForSequenceClassification", None),
]
"""What the base was saved as, what the adapter was trained on, and as which task."""


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after", "task"), CASES)
def test_the_class_is_the_one_that_the_adapter_was_trained_on(
    before: str, after: str, task: str | None, tmp_path: Path
) -> None:
    needs("peft")
    torch.manual_seed(0)
    if before.startswith("Bert"):
        whole = sharpen(
            getattr(transformers, before)(transformers.BertConfig(vocab_size=len(byte_level()), **BERT))
        )
        targets = ["query", "key"]
    else:
        whole, targets = llama(), ["q_proj", "k_proj"]
        whole.config.pad_token_id = 0
    saved(whole, tmp_path / "base")
    labels = {} if after.endswith(("LM", "Model", "Answering")) else {"num_labels": 5}
    module = getattr(transformers, after).from_pretrained(tmp_path / "base", **labels)
    more = {} if task is None else {"task_type": task}
    if task is None:
        more = {"modules_to_save": ["classifier"]}
    trained(module, lora(target_modules=targets, **more)).save_pretrained(tmp_path / "tuned")
    with warnings.catch_warnings(record=True, action="always", category=HeadscopeWarning) as said:
        model = hs.load(tmp_path / "base", adapter=tmp_path / "tuned")
    random = [str(each.message) for each in said]  # a head comes with the adapter, a pooler from nowhere
    assert all("pooler.dense.bias, " in line and "classifier" not in line for line in random)
    assert type(model.module).__name__ == after
    import peft

    again = getattr(transformers, after).from_pretrained(tmp_path / "base", **labels)
    wrapped = peft.PeftModel.from_pretrained(again, tmp_path / "tuned").eval()
    ids = torch.tensor(model.encode(TEXT).ids)[None]
    with torch.no_grad():
        same = zip(model.module(ids).to_tuple(), wrapped(ids).to_tuple(), strict=True)
        for mine, theirs in () if random else same:
            if isinstance(mine, torch.Tensor):
                torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)
    for mine, theirs in zip(
        hs.capture(model, TEXT).layers, eager(again, model.encode(TEXT).ids), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)
