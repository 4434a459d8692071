"""Models in several devices: on disk, and on a second device that computes on the CPU (torch's lazy tensors)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope import contribution, corpora
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs import batches
from headscope.runs.identity import weights
from tests.helpers.presence import needs
from tests.helpers.small_models import save_llama
from tests.helpers.small_tokenizers import byte_level

TEXT = "The cat sat on the mat."
LINES = corpora.texts([TEXT, "She opened the door; nobody was there.", "It was late."])
PARTS = ["model.embed_tokens", *(f"model.layers.{layer}" for layer in range(4)), "model.norm", "lm_head"]


def placed(here: str, there: str) -> dict[str, str]:
    """The middle layers and the end in one place, the rest in another."""
    map = {part: there if number in (2, 3, 5, 6) else here for number, part in enumerate(PARTS)}
    return {**map, "model.rotary_emb": here}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("accelerate")
    return save_llama(
        tmp_path_factory.mktemp("llama"), hidden_size=32, intermediate_size=48, num_hidden_layers=4
    )


@pytest.fixture(scope="module")
def whole(folder: Path) -> Model:
    """In float64: large random weights make float32's unit large, and another device rounds otherwise."""
    return hs.load(folder, dtype="float64")


class _NoStorage:
    def data_ptr(self) -> int:
        return 0


@cache
def lazy() -> None:
    """Start the device, once a process."""
    import torch._lazy.ts_backend as backend

    backend.init()


def second_device(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model whose middle is on a device of its own: operations of tensors there and elsewhere fail."""
    from accelerate import dispatch_model

    storage, address = torch.Tensor.untyped_storage, torch.Tensor.data_ptr  # lazy tensors have neither
    lazy()
    monkeypatch.setattr(
        torch.Tensor, "untyped_storage", lambda x: _NoStorage() if x.device.type == "lazy" else storage(x)
    )
    monkeypatch.setattr(torch.Tensor, "data_ptr", lambda x: id(x) if x.device.type == "lazy" else address(x))
    module = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
    module = dispatch_model(module, device_map=placed("cpu", "lazy:0"), main_device="cpu")
    return hs.load((module, byte_level()))


@pytest.fixture(params=["disk", "second device"])
def spread(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    if request.param == "disk":
        return hs.load(folder, device=placed("cpu", "disk"), dtype="float64")
    model = second_device(folder, monkeypatch)
    assert "lazy" in {each.device.type for each in model.module.parameters()}
    return model


@pytest.mark.slow
def test_maps_norms_and_gradients(spread: Model, whole: Model) -> None:
    assert spread.device == torch.device("cpu")
    for of in (
        lambda model: hs.capture(model, TEXT).weights,
        lambda model: contribution.norms(model, TEXT)["self"],
        lambda model: hs.gradients(model, TEXT)["self"],
    ):
        np.testing.assert_allclose(np.stack(of(spread)), np.stack(of(whole)), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_figures(spread: Model, whole: Model) -> None:
    measured: list[Any] = [hs.measure(each, LINES, measures=["surface"]) for each in (spread, whole)]
    for name in ("previous", "entropy"):
        np.testing.assert_allclose(measured[0][name], measured[1][name], rtol=1e-4, atol=1e-6)
    between: list[Any] = [hs.distance(each, LINES) for each in (spread, whole)]
    np.testing.assert_allclose(between[0]["distance"], between[1]["distance"], rtol=0, atol=1e-5)
    moved = hs.compare.models(whole, spread, LINES, measures=["previous"]).figures
    assert float(np.abs(moved["js"]).max()) < 1e-9


@pytest.mark.slow
def test_what_reads_weights(spread: Model, whole: Model) -> None:
    a, b = (hs.attribute(each, TEXT) for each in (spread, whole))
    np.testing.assert_allclose(a.heads, b.heads, rtol=0, atol=1e-4)
    a, b = (hs.writes(each) for each in (spread, whole))
    np.testing.assert_allclose(a["copying"], b["copying"], rtol=0, atol=1e-4)


def test_weights_are_told_wherever_they_are(folder: Path, whole: Model) -> None:
    assert weights(hs.load(folder, device=placed("cpu", "disk"), dtype="float64")) == weights(whole)


def test_a_weight_on_disk_that_is_no_number_is_told(folder: Path, tmp_path: Path) -> None:
    module = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        module.model.layers[1].self_attn.q_proj.weight[3, 5] = torch.nan
    module.save_pretrained(tmp_path)
    with pytest.raises(
        hs.errors.RefusedError, match=r"found nan in model.layers.1.self_attn.q_proj.weight\[3, 5\]"
    ):
        hs.load(tmp_path, device=placed("cpu", "disk"))


def test_auto_is_one_device_where_there_is_one(folder: Path, whole: Model) -> None:
    model = hs.load(folder, device="auto", dtype="float64")
    # The device may be a GPU; maps are float32.
    np.testing.assert_allclose(hs.capture(model, TEXT).weights, hs.capture(whole, TEXT).weights, atol=1e-6)
    assert "device" not in model.recipe.arguments


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"device": "cpu"},
            "device: expected none, or cpu, for .*, which is in several devices or on disk; found cpu",
        ),
        ({"dtype": "bfloat16"}, "dtype: expected none, or float32, for .*, which is in several devices"),
        ({"untrained": 0}, "untrained: expected a model in one device, found one in several or on disk"),
        ({"device": "auto"}, "device: expected one device for a module, found a map"),
    ],
)
def test_what_cannot_be_done_with_it(folder: Path, more: dict[str, Any], said: str) -> None:
    module = transformers.AutoModelForCausalLM.from_pretrained(folder, device_map=placed("cpu", "disk"))
    with pytest.raises(InputError, match=said):
        hs.load((module, byte_level()), **more)


@pytest.mark.slow
@pytest.mark.usefixtures("few_repeats")
def test_the_untrained_self_of_a_model_is_left_out_of_its_report(
    folder: Path, whole: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page(model: Model, *more: str) -> str:
        return hs.report(model, LINES, sections=["compare", *more], examples=0, limit_sentences=8)

    left_out = "not compared with itself untrained"
    assert f"{left_out}: it is in several devices" in page(hs.load(folder, device=placed("cpu", "disk")))
    monkeypatch.setattr("headscope.models.weights.LARGE", 100)
    alone = page(whole, "probes")
    assert f"{left_out}: that is a second model of 0.0 GB" in alone
    assert "The re-initialised network is left out: that is a second model" in alone


def test_batches_of_a_large_model_are_smaller(whole: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [TEXT] * 24

    def sizes() -> list[int]:
        inputs = batches.examples(whole, corpora.texts(texts))
        return [len(batch) for block in batches.cut(inputs, 2, whole) for batch in block]

    length = len(whole.encode(TEXT))
    assert length < 32
    monkeypatch.setattr(batches, "TOKENS_PER_INPUT", 4 * length)
    monkeypatch.setattr(batches, "TOKENS_PER_INPUT_LARGE_CPU", length // 2)
    assert sizes() == [2] * 12
    monkeypatch.setattr(batches, "LARGE", 100)
    assert sizes() == [1] * 24
