"""Models whose weights are packed in few bits: maps are their own, and what reads weights reads what they map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope import contribution, corpora
from headscope.errors import InputError, ModelError, RefusedError
from headscope.models import Model
from headscope.models.weights import held
from headscope.runs.identity import weights
from tests.helpers.presence import needs
from tests.helpers.small_models import save_llama
from tests.helpers.small_tokenizers import byte_level

TEXT = "The cat sat on the mat."
LINES = corpora.texts([TEXT, "She opened the door; nobody was there."])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_llama(
        tmp_path_factory.mktemp("llama"), hidden_size=128, intermediate_size=192, num_hidden_layers=2
    )


def how(kind: str) -> Any:
    """How to pack; torchao and bitsandbytes are installed by hand, for torchao writes to stderr wherever it is."""
    if kind == "torchao":
        quantization = pytest.importorskip("torchao.quantization")
        return transformers.TorchAoConfig(quantization.Int8WeightOnlyConfig())
    pytest.importorskip("bitsandbytes")
    four = kind == "4 bit"
    more = {"bnb_4bit_compute_dtype": torch.float32} if four else {}
    return transformers.BitsAndBytesConfig(load_in_4bit=four, load_in_8bit=not four, **more)


@pytest.fixture(scope="module", params=["torchao", "8 bit", "4 bit"])
def saved(request: pytest.FixtureRequest, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model with packed weights, in a folder."""
    module = transformers.AutoModelForCausalLM.from_pretrained(
        folder, quantization_config=how(request.param), dtype=torch.float32
    )
    place = tmp_path_factory.mktemp("packed")
    module.save_pretrained(place)
    byte_level().save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def packed(saved: Path) -> Model:
    return hs.load(saved)


def test_maps_are_its_own(folder: Path, saved: Path, packed: Model) -> None:
    module: Any = transformers.AutoModelForCausalLM.from_pretrained(
        saved, dtype=torch.float32, attn_implementation="eager"
    )
    ids = torch.tensor(packed.encode(TEXT).ids)[None]
    with torch.no_grad():
        expected = [each[0].numpy() for each in module(input_ids=ids, output_attentions=True).attentions]
    found = hs.capture(packed, TEXT).weights
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    module.set_attn_implementation("sdpa")
    given = hs.load((module, byte_level()))
    np.testing.assert_array_equal(hs.capture(given, TEXT).weights, found)
    full = hs.load(folder)
    assert np.abs(found - hs.capture(full, TEXT).weights).max() > 1e-3
    assert weights(packed) == weights(given) != weights(full)


def test_what_quantisation_changed(folder: Path, packed: Model) -> None:
    full = hs.load(folder)
    moved = hs.compare.models(full, packed, LINES, measures=["previous"]).figures
    assert 1e-6 < float(moved["js"].max()) < 0.6
    assert float(hs.compare.models(packed, packed, LINES, measures=["previous"]).figures["js"].max()) == 0


def test_norms_are_of_what_its_weights_map(packed: Model) -> None:
    module: Any = packed.module
    layer = module.model.layers[0].self_attn.o_proj
    matrix = held(layer)
    vector = torch.randn(3, 128, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = layer(vector)
    torch.testing.assert_close(vector @ matrix.T, expected, rtol=0, atol=0.03 * float(expected.abs().max()))
    found = contribution.norms(packed, TEXT)["self"][0]
    values, maps = [], hs.capture(packed, TEXT).weights[0]
    hook = module.model.layers[0].self_attn.v_proj.register_forward_hook(
        lambda _, __, out: values.append(out[0].detach())
    )
    hs.capture(packed, TEXT)
    hook.remove()
    value = values[-1].reshape(-1, 2, 32).repeat_interleave(2, 1).double()
    sent = torch.einsum("khd,ohd->hko", value, matrix.double().reshape(128, 4, 32)).norm(dim=-1)
    np.testing.assert_allclose(found, maps * sent.numpy()[:, None], rtol=1e-4, atol=1e-6)


def test_logits_are_explained_or_refused(packed: Model) -> None:
    if packed.config.quantization_config.quant_method == "torchao":
        assert len(hs.attribute(packed, TEXT).heads)
        return
    for analysis in (lambda: hs.attribute(packed, TEXT), lambda: hs.writes(packed)):
        with pytest.raises(
            RefusedError, match="expected weights that map exactly, found those of bitsandbytes"
        ):
            analysis()


def test_what_cannot_be_done_with_it(saved: Path, packed: Model, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="untrained: expected plain weights, found packed ones"):
        hs.load(packed, untrained=0)
    with pytest.raises(
        InputError, match=r"dtype: expected none, or float32, for .*, whose weights are packed"
    ):
        hs.load(packed, dtype="bfloat16")
    needs("peft")
    import peft

    config = peft.LoraConfig(r=2, target_modules=["q_proj"])
    peft.get_peft_model(transformers.AutoModelForCausalLM.from_pretrained(saved), config).save_pretrained(
        tmp_path
    )
    with pytest.raises(ModelError, match="holds packed weights, to which nothing can be added exactly"):
        hs.load(saved, adapter=tmp_path)
