"""Models in a GGUF file: read through transformers once, and kept in the user's cache as safetensors."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import torch

from headscope.core.failures import warn
from headscope.core.lazy import module
from headscope.core.types import AnyDict
from headscope.errors import ModelError

_BLOCK = re.compile(r"\bblk\.(\d+)\.")
_SPLIT = re.compile(r"-\d{5}-of-\d{5}\.gguf$")


def cache() -> Path:
    """Where converted models are kept: the folder of the Hugging Face libraries' assets (``HF_ASSETS_CACHE``)."""
    from huggingface_hub import constants

    return Path(constants.HF_ASSETS_CACHE).expanduser() / "headscope" / "gguf"


def converted(path: Path, digest: str) -> Path | None:
    """The folder of the cache with this file's model, converted if it is not there; None where none can be written.

    Args:
        path: the file.
        digest: its sha256, by which the folder is found again, wherever the file lies.

    The folder gets its name when everything is in it, so half a model is never read. Raises `ModelError` where the file
    cannot be read as a model, `InputError` where the libraries that read it are not installed.
    """
    import transformers
    from huggingface_hub.utils import WeakFileLock
    from safetensors import SafetensorError

    folder = cache() / f"{digest[:16]}-transformers-{transformers.__version__}"
    if folder.is_dir():
        return folder
    part = folder.with_name(f"{folder.name}.part")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with WeakFileLock(folder.with_name(f"{folder.name}.lock")):
            if not folder.is_dir():  # nobody else converted it meanwhile
                shutil.rmtree(part, ignore_errors=True)  # of a process that was killed
                for component in read(path):
                    component.save_pretrained(part)
                part.rename(folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(part, ignore_errors=True)
        warn(
            f"{path.name}: converted in memory alone, and again the next time: {folder.parent} cannot be written "
            f"({error})"
        )
        return None
    return folder


def read(path: Path) -> tuple[Any, Any]:
    """The module, its weights in float32, and the tokenizer of a GGUF file. Raises as `converted` does."""
    import transformers

    if _SPLIT.search(path.name):
        raise ModelError(
            f"{path}: one of several files; expected a model in one (llama-gguf-split --merge joins them)"
        )
    with path.open("rb") as file:
        if (magic := file.read(4)) != b"GGUF":
            raise ModelError(f"{path}: expected a file that begins with GGUF, found {magic!r}")
    for library in ("gguf", "accelerate"):
        module(library)
    hub: Any = transformers
    where: AnyDict = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    where["trust_remote_code"] = False
    config = hub.AutoConfig.from_pretrained(**where)
    options: AnyDict = {"dtype": torch.float32, "output_loading_info": True}
    if hasattr(hub, "GgufConfig"):  # else weights may stay packed, in kernels of their own
        options["quantization_config"] = hub.GgufConfig(dequantize=True)
    kinds = hub.AutoModelForCausalLM, hub.AutoModelForSeq2SeqLM
    read_as = next((kind for kind in kinds if type(config) in kind._model_mapping), hub.AutoModel)
    _expect_weights(path, read_as, config)
    network, info = read_as.from_pretrained(**where, config=config, **options)
    if missing := sorted(info["missing_keys"]):
        raise ModelError(f"{path}: expected all weights, found none of {', '.join(missing[:3])}")
    network.hf_quantizer = None  # its weights are plain now
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config
    return network.eval(), hub.AutoTokenizer.from_pretrained(**where)


def _expect_weights(path: Path, kind: Any, config: Any) -> None:
    """Raise `ModelError` for a file whose header speaks of more than it holds, before there is any room made for it."""
    tensors: list[Any] = module("gguf").GGUFReader(path).tensors
    size, stated = path.stat().st_size, sum(int(tensor.n_bytes) for tensor in tensors)
    if stated > size:
        raise ModelError(
            f"{path}: expected tensors of at most {size:,} bytes, as the file has, found {stated:,}"
        )
    blocks = {int(match[1]) for tensor in tensors if (match := _BLOCK.search(tensor.name))}
    layers: int = config.get_text_config().num_hidden_layers
    if layers > len(blocks):
        raise ModelError(f"{path}: expected the weights of {layers:,} layers, found those of {len(blocks):,}")
    held = sum(int(tensor.n_elements) for tensor in tensors)
    with torch.device("meta"):
        needed = sum(weight.numel() for weight in kind.from_config(config).parameters())
    if needed > 2 * held:  # twice: what stands for two is there once
        raise ModelError(f"{path}: expected {needed:,} weights, as its header says, found {held:,}")
