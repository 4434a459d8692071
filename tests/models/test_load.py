"""Loading: folders, modules, the demo model; what is refused and how it is said."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope import corpora
from headscope.core.demo import DEMO_PACKAGE, demo_folder
from headscope.core.tokens import Tokens
from headscope.errors import HeadscopeWarning, InputError, ModelError, RefusedError
from headscope.models import Model
from tests.helpers.small_models import llava_parts, sizes

SMALL: dict[str, Any] = {"vocab_size": 50, **sizes(16, 2, 2, inner=20)}


@pytest.fixture
def bert() -> transformers.BertModel:
    torch.manual_seed(0)
    return transformers.BertModel(transformers.BertConfig(**SMALL, architectures=["BertModel"])).eval()


@pytest.fixture
def folder(tmp_path: Path, bert: transformers.BertModel) -> Path:
    """A folder with a configuration and a pickle checkpoint of tensors."""
    bert.config.save_pretrained(tmp_path)
    torch.save(bert.state_dict(), tmp_path / "pytorch_model.bin")
    return tmp_path


def test_a_folder_with_a_pickle_of_tensors(folder: Path, bert: transformers.BertModel) -> None:
    model = hs.load(folder)
    torch.testing.assert_close(model.module.state_dict(), bert.state_dict())
    assert model.checked.route == "interface"
    assert model.name == folder.name


class Evil:
    def __reduce__(self) -> Any:
        return (os.mkdir, ("owned",))


def test_a_pickle_with_more_than_tensors_is_refused(
    folder: Path, bert: transformers.BertModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    torch.save({**bert.state_dict(), "extra": Evil()}, folder / "pytorch_model.bin")
    with pytest.raises(
        ModelError,
        match=r"the checkpoint holds more than tensors and is refused; expected tensors only \(safetensors\)$",
    ):
        hs.load(folder)
    assert not (folder / "owned").exists()


OWN = "open('owned', 'w').close()\nfrom transformers import BertConfig, BertModel\nclass Config(BertConfig): pass\n"


@pytest.mark.parametrize(
    "architecture", ["AutoModelForObjectDetection", "AutoModel", "pipeline", "BertModel", "Nope"]
)
def test_code_of_a_folder_is_not_run_and_nobody_is_asked(
    folder: Path, bert: transformers.BertModel, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    named = ("AutoConfig", "AutoModel", "AutoModelForObjectDetection", "AutoTokenizer", "AutoProcessor")
    for file in ("config.json", "tokenizer_config.json", "preprocessor_config.json"):
        own = json.loads((folder / file).read_text()) if (folder / file).exists() else {}
        own |= {"architectures": [architecture], "auto_map": dict.fromkeys(named, "own.Config")}
        (folder / file).write_text(json.dumps(own))
    (folder / "own.py").write_text(OWN)
    for model in ("bert", "nope"):  # a family that transformers has, and one that is in the folder alone
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"model_type": model}))
        with contextlib.suppress(ModelError):
            hs.load(folder)
        assert not (folder / "owned").exists()


def test_weights_that_are_missing_are_said(folder: Path, bert: transformers.BertModel) -> None:
    kept = {
        name: value for name, value in bert.state_dict().items() if "layer.1.attention.self.key" not in name
    }
    torch.save(kept, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"encoder.layer.1.attention.self.key.bias, .* are not there$"):
        hs.load(folder)
    kept = {name: value for name, value in bert.state_dict().items() if "pooler" not in name}
    torch.save(kept, folder / "pytorch_model.bin")
    with pytest.warns(HeadscopeWarning, match=r"not in the checkpoint, drawn at random: pooler.dense.bias"):
        hs.load(folder)


WRAPPED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "its weights stand under module. in": lambda own: {f"module.{name}": one for name, one in own.items()},
    "its weights stand under _orig_mod. in": lambda own: {f"_orig_mod.{name}": one for name, one in own.items()},
    "its weights stand under model_state_dict in": lambda own: {"epoch": 3, "model_state_dict": own},
    "its weights stand under state_dict: model.bert. in": lambda own: {
        "state_dict": {f"model.bert.{name}": one for name, one in own.items()} | {"model.out.bias": torch.zeros(2)},
        "optimizer_states": [],
    },
    "in the checkpoint, but beyond the layers of config.json: encoder.layer.7.a": lambda own: {
        **own, "encoder.layer.7.attention.self.key.bias": torch.zeros(2),
    },
}  # fmt: skip
"""What is said of a checkpoint, and what was saved of a model's own weights."""


@pytest.mark.parametrize("said", WRAPPED)
def test_weights_that_were_saved_from_within_something_else(
    folder: Path, bert: transformers.BertModel, said: str
) -> None:
    torch.save(WRAPPED[said](dict(bert.state_dict())), folder / "pytorch_model.bin")
    with pytest.warns(HeadscopeWarning, match=re.escape(said)):
        loaded = hs.load(folder)
    for name, weight in loaded.module.state_dict().items():
        assert torch.equal(weight, bert.state_dict()[name]), name


def test_weights_that_may_be_either_are_refused(folder: Path, bert: transformers.BertModel) -> None:
    both = {
        f"{one}.{name}": value for name, value in bert.state_dict().items() for one in ("query", "passage")
    }
    for held in (
        both,
        {"a": dict(bert.state_dict()), "b": dict(bert.state_dict())},
        {"weights": torch.zeros(2)},
    ):
        torch.save(held, folder / "pytorch_model.bin")
        with pytest.raises(
            ModelError, match=r"all layers of BertModel in the checkpoint; .* are not there, found "
        ):
            hs.load(folder)


def test_a_pointer_of_git_lfs_is_named(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n"
    )
    with pytest.raises(
        ModelError, match=r"pytorch_model\.bin is a pointer of git-lfs, not the file: run git lfs pull$"
    ):
        hs.load(folder)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        ({"config.json": "{"}, "cannot be loaded .*not a valid JSON"),
        ({"config.json": '{"model_type": "nope"}'}, "cannot be loaded .*model type `nope`"),
        ({"pytorch_model.bin": None}, "cannot be loaded .*no file named model.safetensors"),
        (
            {"config.json": None},
            r"no config.json in this folder; expected a Hugging Face model \(config.json, weights, tokenizer\)$",
        ),
    ],
)
def test_a_broken_folder(folder: Path, write: dict[str, str | None], message: str) -> None:
    for name, text in write.items():
        (folder / name).unlink(missing_ok=True)
        if text is not None:
            (folder / name).write_text(text)
    with pytest.raises(ModelError, match=message) as error:
        hs.load(folder)
    assert str(error.value).startswith(str(folder))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["/no/such/folder", "a/b/c"])
def test_no_such_folder(name: str) -> None:
    with pytest.raises(ModelError, match=r": no such folder$"):
        hs.load(name)


def test_a_hub_name_without_a_network() -> None:
    message = "bert-base-uncased: no such folder, not in the local cache, and the Hugging Face hub cannot be reached"
    with pytest.raises(ModelError, match=message):
        hs.load("bert-base-uncased")


def test_a_module_stays_as_it_is(bert: transformers.BertModel) -> None:
    bert.train()
    model = hs.load(bert)
    assert model.module is bert
    assert bert.training
    assert hs.capture(model, inputs={"input_ids": [[1, 2, 3]]}).weights.shape == (2, 2, 3, 3)
    assert all(part.training for part in bert.modules())
    assert bert.config._attn_implementation == "sdpa"


def test_a_module_that_is_no_attention_is_refused() -> None:
    class Bag(torch.nn.Module):
        main_input_name = "input_ids"

        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(100, 4)

        def forward(self, input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
            return self.table(input_ids).mean(1)

    with pytest.raises(RefusedError, match="no softmax over query-key scores was seen"):
        hs.load(Bag())


def test_the_demo_model_is_found_without_importing_its_package(demo: hs.load) -> None:
    import sys

    assert DEMO_PACKAGE not in sys.modules
    assert "sentence_transformers" not in sys.modules
    assert (demo.checked.parts[0].layers, demo.checked.parts[0].heads[0], demo.causal) == (6, 12, False)
    assert demo.max_length == 512


def test_a_demo_model_with_other_weights_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / DEMO_PACKAGE
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "model" / "model.safetensors").write_bytes(b"other")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        ModelError, match=re.escape("sha256 is d9298a10d1b0…, expected 53aa51172d14… (all-MiniLM-L6-v2)")
    ):
        demo_folder()


def test_without_the_demo_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    with pytest.raises(
        ModelError, match=r"no model named and the demo model is not installed; name one \(-m NAME\)"
    ):
        hs.load()


@pytest.mark.parametrize(
    "read",
    [
        lambda model: model.encode("a text"),
        lambda model: model.from_words(["a", "word"]),
        lambda model: model.from_pieces(["a", "##b"]),
        lambda model: model.chat([{"role": "user", "content": "Hello."}]),
        lambda model: model.count(["a text"]),
        lambda model: model.split("a text", 4),
        lambda model: next(corpora.texts(["a text"]).encoded(model)),
    ],
)
def test_a_model_without_a_tokenizer_says_what_is_missing(read: Callable[[Model], object], bert: Any) -> None:
    with pytest.raises(
        InputError, match=r"^BertModel: no tokenizer, so no text: give hs\.load\(\(module, tokenizer\)\)"
    ):
        read(Model(bert))


def test_a_model_without_a_tokenizer_takes_inputs(bert: Any) -> None:
    tokens = Tokens(["3", "4", "5"], ids=np.array([3, 4, 5]))
    ready = Model(bert).inputs([tokens])
    assert ready["input_ids"].tolist() == [[3, 4, 5]]
    assert bert(**ready).last_hidden_state.shape[:2] == (1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
@pytest.mark.parametrize(
    "kernel", ["flash_attention_2", "kernels-community/flash-attn2", "paged|flash_attention_3", "none such"]
)
def test_a_configuration_may_ask_for_a_kernel_that_is_not_installed(
    folder: Path, key: str, kernel: str
) -> None:
    plain = hs.capture(hs.load(folder), inputs={"input_ids": [[3, 4, 5]]})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {key: kernel}))
    maps = hs.capture(hs.load(folder), inputs={"input_ids": [[3, 4, 5]]})
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(maps.layers, plain.layers, strict=True))


def mixtral() -> list[Any]:
    size = sizes(inner=32, keys=2)
    config = transformers.MixtralConfig(vocab_size=50, num_local_experts=2, **size)
    return [transformers.MixtralForCausalLM(config)]


@pytest.mark.parametrize("parts", [llava_parts, mixtral])
def test_parts_and_experts_may_ask_for_kernels_too(
    tmp_path: Path, parts: Callable[[], Sequence[Any]]
) -> None:
    for part in parts():
        part.save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text())
    for config in (saved, saved.get("vision_config", {}), saved.get("text_config", {})):
        config |= {"attn_implementation": "flash_attention_2", "experts_implementation": "sonicmoe"}
    (tmp_path / "config.json").write_text(json.dumps(saved))
    assert hs.load(tmp_path).checked.route == "interface"
