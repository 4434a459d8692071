"""What decides about the digits of a run: the weights, the versions of libraries, the machine and its threads."""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import transformers

import headscope
from headscope.core.types import AnyDict, AnyMapping
from headscope.models import Model
from headscope.models.weights import stored


def weights(model: Model) -> str:
    """A sha256 of the model's weights and configuration."""
    digest = hashlib.sha256()
    for name, value in stored(model.module):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        flat = value.cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    if hasattr(model.config, "to_dict"):
        digest.update(_settings(model.config))
    return digest.hexdigest()[:16]


def reading(model: Model) -> str | None:
    """A sha256 of what makes inputs of texts, pictures and sounds; None for a model that has none."""
    digest, reads = hashlib.sha256(), False
    tokenizer: Any = model.tokenizer
    if tokenizer is not None:
        reads = True
        backend = getattr(tokenizer, "backend_tokenizer", None)
        written = _sorted(tokenizer.get_vocab()) if backend is None else _rules(backend.to_str())
        digest.update(f"{type(tokenizer).__name__} {tokenizer.special_tokens_map} {written}".encode())
    for processor in (model.image_processor, model.feature_extractor):
        if processor is not None:
            reads = True
            digest.update(_settings(processor))
    return digest.hexdigest()[:16] if reads else None


def read_with(model: Model) -> AnyDict:
    """What decides how a text reaches a model: checksums of its chat template and of the files of its tokenizer and
    processors, and which special tokens are put before and after a text."""
    tokenizer: Any = model.tokenizer
    template = getattr(tokenizer, "chat_template", None)
    around: list[list[str]] = []
    if tokenizer is not None:
        tokens = model.encode(model.sample())
        text = np.flatnonzero(~tokens.mask("special"))
        around = [list(tokens.pieces[: text[0]]), list(tokens.pieces[text[-1] + 1 :])]
    made: dict[str, str] = {}
    for reader in filter(None, (tokenizer, model.image_processor, model.feature_extractor)):
        with tempfile.TemporaryDirectory() as folder:
            reader.save_pretrained(folder)
            for file in sorted(Path(folder).rglob("*")):
                if file.is_file():
                    made[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    written = None if not template else hashlib.sha256(_sorted({"template": template}).encode()).hexdigest()
    return {"template": written, "special": around, "files": made}


@lru_cache(maxsize=4)
def _rules(written: str) -> str:
    """What a fast tokenizer says of itself, but for how the last call padded and cut."""
    rules: AnyDict = json.loads(written)
    return _sorted({name: rule for name, rule in rules.items() if name not in ("padding", "truncation")})


def _sorted(rules: AnyMapping) -> str:
    return json.dumps(rules, sort_keys=True)


def _settings(of: Any) -> bytes:
    """The settings of a model or a processor."""
    settings = {name: value for name, value in of.to_dict().items() if not name.startswith("_")}
    return json.dumps(settings, sort_keys=True, default=_encoded).encode()


def _encoded(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(map(str, cast(set[Any], value)))
    return type(value).__name__


def versions() -> dict[str, str]:
    """The versions of the libraries that make figures."""
    return {
        "headscope": headscope.__version__,
        "torch": str(torch.__version__),
        "transformers": transformers.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


@cache
def installed() -> dict[str, str]:
    """These versions and a checksum of headscope's own code, as two checkouts of one version may differ."""
    digest, folders = hashlib.sha256(), [files(headscope)]
    for folder in folders:
        for item in sorted(folder.iterdir(), key=lambda item: item.name):
            if item.name.endswith(".py"):
                digest.update(f"{item.name} ".encode() + item.read_bytes())
            elif item.is_dir() and item.name.isidentifier():
                folders.append(item)
    return {**versions(), "headscope's code": digest.hexdigest()[:16]}


def about_model(model: Model) -> AnyDict:
    """What descriptions and checkpoints say of a model."""
    return {
        "name": model.name,
        "revision": model.revision,
        "parameters": model.parameters,
        "dtype": str(model.dtype).removeprefix("torch."),
        "causal": model.causal,
        "notes": list(model.notes),
        "unseen": model.unseen,
    }


def identity(model: Model, kind: str, device: str) -> AnyDict:
    """Which run it is, but for its corpus and options: its kind, and the model with what makes its inputs."""
    libraries = {name: version for name, version in versions().items() if name != "python"}
    about = {**about_model(model), "device": device, "weights": weights(model), "reading": reading(model)}
    return {"kind": kind, "model": about, "versions": libraries}


def circumstances(device: torch.device) -> AnyDict:
    """What may move the last digits of what runs on a device, in this process and thread."""
    description: AnyDict = {
        "machine": platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
    }
    if device.type == "cuda":
        description["device"] = torch.cuda.get_device_name(device)
    return description
