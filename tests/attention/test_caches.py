"""`hs.wrap` of what other tools hold is what `hs.capture` gives of the same model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from transformers import AutoModelForCausalLM, AutoTokenizer

import headscope as hs
from headscope.errors import InputError, ShapeError
from tests.helpers.small_models import save_gpt2

TEXT = "The old bridge looked at the water."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpt2")
    save_gpt2(folder)
    return folder


@pytest.fixture(scope="module")
def eager(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def captured(folder: Path) -> hs.AttentionMaps:
    return hs.capture(hs.load(str(folder)), TEXT)


def same(found: hs.AttentionMaps, expected: hs.AttentionMaps) -> None:
    assert_allclose(found.weights, expected.weights, atol=1e-6)
    assert (found.query.pieces, found.index, found.causal) == (expected.query.pieces, expected.index, True)


def test_outputs_of_transformers(eager: Any, tokenizer: Any, captured: hs.AttentionMaps) -> None:
    ids = tokenizer(TEXT, return_tensors="pt").input_ids
    with torch.no_grad():
        outputs = eager(torch.cat([ids, ids.flip(1)]), output_attentions=True)
    same(hs.wrap(outputs, captured.query.pieces, batch=0), captured)
    same(hs.wrap(outputs.attentions, captured.query.pieces, batch=0), captured)
    with pytest.raises(
        ShapeError, match=r"layer 0, axis batch: expected 1, found 2; say which input by batch="
    ):
        hs.wrap(outputs, captured.query.pieces)
    with pytest.raises(ShapeError, match="axis batch: expected more than 2, found 2"):
        hs.wrap(outputs, captured.query.pieces, batch=2)


def test_steps_of_generate(folder: Path, eager: Any, tokenizer: Any) -> None:
    inputs = tokenizer(TEXT, return_tensors="pt")
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    written = eager.generate(**inputs, **options, output_attentions=True, return_dict_in_generate=True)
    pieces = tokenizer.convert_ids_to_tokens(written.sequences[0].tolist())
    found = hs.wrap(written, pieces)
    with torch.no_grad():
        whole = eager(written.sequences[:, :-1], output_attentions=True).attentions
    same(found, hs.wrap(whole, pieces[:-1]))
    same(hs.wrap(written.attentions, pieces[:-1]), found)
    known = hs.capture(hs.load(str(folder)), TEXT).weights
    assert_allclose(found.weights[..., : known.shape[2], : known.shape[3]], known, atol=1e-6)
    cut = [tuple(layer[..., -3:] for layer in step) for step in written.attentions]
    with pytest.raises(ShapeError, match="layer 0: expected steps that see"):
        hs.wrap([written.attentions[0], *cut[1:]], pieces)


def test_transformer_lens(folder: Path, eager: Any, tokenizer: Any, captured: hs.AttentionMaps) -> None:
    bridge = pytest.importorskip("transformer_lens.model_bridge").TransformerBridge
    lens = bridge.boot_transformers(str(folder), hf_model=eager, tokenizer=tokenizer)
    _, cache = lens.run_with_cache(TEXT, prepend_bos=False)
    same(hs.wrap(cache), captured)
    same(hs.wrap(cache.remove_batch_dim(), captured.query), captured)
    same(hs.wrap(cache), captured)
    del cache.cache_dict["blocks.0.attn.hook_pattern"]
    assert hs.wrap(cache).index == (1,)


def test_nnsight(eager: Any, tokenizer: Any, captured: hs.AttentionMaps) -> None:
    nnsight = pytest.importorskip("nnsight")
    inside = nnsight.NNsight(eager)
    with inside.trace(tokenizer(TEXT, return_tensors="pt").input_ids):
        named = nnsight.save({})
        for place in range(2):
            named[f"transformer.h.{place}.attn"] = inside.transformer.h[place].attn.output[1]
    same(hs.wrap(named, captured.query.pieces), captured)
    same(hs.wrap(list(named.values()), captured.query.pieces), captured)


def test_proxies_and_caches_as_other_versions_have_them(captured: hs.AttentionMaps) -> None:
    """Stand-ins with the attributes of nnsight 0.4's saved proxies and TransformerLens 2's ActivationCache."""
    proxies = [SimpleNamespace(value=torch.tensor(layer[None])) for layer in captured.layers]
    same(hs.wrap(proxies, captured.query.pieces), captured)
    named = {f"blocks.{place}.attn.hook_pattern": proxy.value for place, proxy in enumerate(proxies)}
    cache = SimpleNamespace(cache_dict={"hook_embed": torch.zeros(1, 8, 4), **named}, model=None)
    same(hs.wrap(cache, captured.query.pieces), captured)
    with pytest.raises(
        InputError, match="tokens: expected one string a token, found none; SimpleNamespace does"
    ):
        hs.wrap(cache)
    with pytest.raises(
        InputError, match=r"expected one name a layer, found 'enc\.0\.a\.hook_pattern' and 'dec\.0"
    ):
        hs.wrap({"enc.0.a.hook_pattern": proxies[0].value, "dec.0.a.hook_pattern": proxies[0].value}, ["a"])


def test_pictures_of_vit_pytorch() -> None:
    recorder = pytest.importorskip("vit_pytorch.recorder").Recorder
    torch.manual_seed(0)
    size = {
        "image_size": 32,
        "patch_size": 16,
        "num_classes": 3,
        "dim": 16,
        "depth": 2,
        "heads": 2,
        "mlp_dim": 8,
    }
    model = pytest.importorskip("vit_pytorch").ViT(**size).eval()
    _, recorded = recorder(model)(torch.randn(1, 3, 32, 32))
    maps = hs.wrap(recorded, ["[CLS]", "1", "2", "3", "4"])
    assert_allclose(maps.weights, recorded[0].detach(), atol=1e-6)
    assert not maps.causal


def test_pictures_of_timm() -> None:
    timm = pytest.importorskip("timm")
    torch.manual_seed(0)
    model = timm.create_model("vit_tiny_patch16_224", img_size=32, depth=2, pretrained=False).eval()
    for block in model.blocks:
        block.attn.fused_attn = False
    extract = timm.utils.AttentionExtract(model, method="hook")
    found = extract(torch.randn(1, 3, 32, 32))
    maps = hs.wrap(found, ["[CLS]", "1", "2", "3", "4"])
    assert_allclose(maps.weights, np.concatenate([layer.detach() for layer in found.values()]), atol=1e-6)
