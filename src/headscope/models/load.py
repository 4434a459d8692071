"""Find and load a model: a hub name, a folder, a module; or the demo model when none is named."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, cast

import torch
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from torch import nn

from headscope.core.demo import (
    DEMO_LM,
    DEMO_LM_NAME,
    DEMO_LM_SHA256,
    DEMO_NAME,
    DEMO_SHA256,
    checksum,
    demo_folder,
    demo_lm_file,
)
from headscope.core.failures import warn
from headscope.core.lazy import module
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.errors import InputError, MissingError, ModelError, RefusedError
from headscope.models import checkpoint, gguf
from headscope.models.adapter import CONFIG, AdapterModel, merged, one_line, reachable, wanted
from headscope.models.adapter import called as adapter_name
from headscope.models.model import Model
from headscope.models.weights import expect_there, packed, reinitialise, several_devices
from headscope.models.within import Loadable, Pipeline, held, self_reading, tuned, unwrapped


def load(
    model: Loadable | Model | None = None,
    *,
    device: str | torch.device | AnyMapping | None = None,
    dtype: str | torch.dtype | None = None,
    revision: str | None = None,
    adapter: AnyPath | None = None,
    untrained: int | None = None,
    keep: Literal["embeddings"] | None = None,
    init: Literal["architecture", "reset_parameters"] = "architecture",
    trust_remote_code: bool = False,
    allow_unknown: bool = False,
) -> Model:
    """Load a model for reading its attention, with the arguments of `headscope.load`, which checks it, too.

    Raises:
        ModelError: there is no such model, or it cannot be read; a checkpoint that holds more than tensors is refused.
    """
    if untrained is None and (keep is not None or init != "architecture"):
        raise InputError("keep and init belong to untrained: give untrained=SEED too")
    torch_dtype = _dtype(dtype)
    if isinstance(model, nn.Module):
        model = (model, None)
    elif isinstance(model, Pipeline):
        model = cast("tuple[nn.Module, Any]", held(model))
    one, spread = _places(device, model)
    check_device(one)
    file = _gguf_file(model)
    if revision is not None and (not isinstance(model, str) or Path(model).is_dir() or file is not None):
        given = "a module" if isinstance(model, tuple | Model) else f"{model or 'the demo model'}"
        raise InputError(f"revision: expected the name of a model on the hub beside it, found {given}")
    asked = AdapterModel()
    if adapter is not None:
        if isinstance(model, tuple | Model):
            raise InputError("adapter: expected the name of a model beside it, found a module")
        asked = wanted(adapter)  # before a large model is read
    if isinstance(model, Model):
        loaded = replace(model, checked=None)
    elif isinstance(model, tuple):
        loaded = _given(cast("tuple[Any, ...]", model))
    elif model is None:
        loaded = _pretrained(demo_folder(), DEMO_NAME, torch_dtype, None, False, spread, asked)
        loaded.revision = f"sha256:{DEMO_SHA256[:12]}"
    elif file is not None:
        loaded = _converted(file, file.name if model != DEMO_LM else DEMO_LM_NAME, torch_dtype, spread)
    else:
        where = _locate(os.fspath(model))
        loaded = _pretrained(*where, torch_dtype, revision, trust_remote_code, spread, asked)
    expect_there(loaded.name, loaded.module)
    loaded.allow_unknown = loaded.allow_unknown or allow_unknown
    if adapter is not None:
        loaded.module = merged(loaded.module, adapter, loaded.name)
        loaded.notes = (*loaded.notes, f"adapter {adapter_name(adapter)}")
    if untrained is not None:
        fresh = not isinstance(model, tuple | Model)
        loaded.module = reinitialise(loaded.module, untrained, keep=keep, init=init, in_place=fresh)
        kept = ", embeddings kept" if keep else ""
        loaded.notes = (*loaded.notes, f"untrained, seed {untrained}{kept}")
    if torch_dtype is not None and loaded.dtype != torch_dtype:
        _expect_plain(loaded, "dtype", str(loaded.dtype).removeprefix("torch."), dtype)
        loaded.module = loaded.module.to(torch_dtype)
    if loaded.dtype.itemsize < 2 and packed(loaded.module) is None:
        plain = str(loaded.dtype).removeprefix("torch.")
        raise InputError(
            f"{loaded.name}: expected float32, float64, bfloat16 or float16, found {plain}; give dtype='float32'"
        )
    if one is not None and (several_devices(loaded.module) or loaded.device != torch.device(one)):
        _expect_plain(loaded, "device", str(loaded.device), one)
        loaded.module = loaded.module.to(one)
    return loaded


def _places(
    device: str | torch.device | AnyMapping | None, model: object
) -> tuple[str | torch.device | None, Spread | None]:
    """The one device that a model goes to, or else what spreads it over several.

    Raises `InputError` where a module that is given is to be spread, or accelerate is not installed.
    """
    if device != "auto" and not isinstance(device, Mapping):
        return device, None
    if isinstance(model, tuple | Model):
        raise InputError(
            "device: expected one device for a module, found a map; spread it with accelerate.dispatch_model, "
            "then give it as it is"
        )
    if find_spec("accelerate") is None:
        raise MissingError("accelerate is not installed: pip install 'headscope[large]'")
    return None, dict(device) if isinstance(device, Mapping) else "auto"


def _expect_plain(loaded: Model, what: str, current: str, given: object) -> None:
    """Raise `InputError` for a model that cannot be moved or cast: its weights are packed or in several places."""
    kind = packed(loaded.module)
    if kind is not None and what == "dtype":
        why = f"whose weights are packed ({kind})"
    elif several_devices(loaded.module):
        why = "which is in several devices or on disk"
    else:
        return
    raise InputError(f"{what}: expected none, or {current}, for {loaded.name}, {why}; found {given}")


def _gguf_file(model: object) -> Path | None:
    """The .gguf file that is named; None for whatever else is given."""
    if not isinstance(model, str | os.PathLike):
        return None
    name = os.fspath(cast("AnyPath", model))
    if name == DEMO_LM and not Path(name).exists():
        return demo_lm_file()
    path = Path(name).expanduser()
    return path if path.suffix.lower() == ".gguf" and path.is_file() else None


def _converted(file: Path, name: str, dtype: torch.dtype | None, spread: Spread | None) -> Model:
    """The model of a .gguf file: from the cache, or where that cannot be written as it was read."""
    digest = DEMO_LM_SHA256 if name == DEMO_LM_NAME else checksum(file)
    with one_line(str(file), downloads=True):  # a bar, for the first time takes long
        folder = gguf.converted(file, digest)
        module, tokenizer = (None, None) if folder is not None else gguf.read(file)
    if folder is not None:
        loaded = _pretrained(folder, name, dtype, None, False, spread)
    else:
        loaded = Model(cast(nn.Module, module), tokenizer)
    loaded.name, loaded.revision = name, f"sha256:{digest[:12]}"
    loaded.notes = (*loaded.notes, f"dequantized from {file.name}")
    return loaded


def _given(given: tuple[Any, ...]) -> Model:
    """A module, with what reads its inputs: tokenizer, image processor, feature extractor, or a processor of these."""
    module, *others = given or (None,)
    readers: AnyDict = {}
    for reader in others:
        kind = next((kind for kind, mark in _READERS.items() if hasattr(reader, mark)), None)
        if reader is not None and (kind is None or readers.setdefault(kind, reader) is not reader):
            module = None
    if not isinstance(module, nn.Module):
        types = ", ".join(type(part).__name__ for part in given)
        raise InputError(
            f"model: expected (nn.Module, tokenizer), found ({types}); a processor, an image processor or a feature "
            "extractor may stand in place of the tokenizer or after it"
        )
    processor = readers.get("processor") or readers.get("speech")
    for name in ("tokenizer", "image_processor" if "processor" in readers else "feature_extractor"):
        readers.setdefault(name, getattr(processor, name, None))
    readers.pop("speech", None)
    if any(isinstance(part, torch.jit.ScriptModule) for part in module.modules()):
        raise RefusedError(
            f"{type(module).__name__}: expected a module that runs in Python, found TorchScript, whose operations "
            "cannot be followed; give the module that it was made of"
        )
    bare = unwrapped(module)
    inner, tokenizer = self_reading(bare)
    if readers.get("tokenizer") is None:
        readers["tokenizer"] = tokenizer
    model = Model(inner, **readers)
    if inner is not bare and hasattr(bare, "default_prompt_name"):
        model.sentences = bare
    within = "" if inner is bare else f"the transformer within {type(bare).__name__}"
    model.notes = tuple(note for note in (tuned(module), within) if note)
    return model


_READERS = {
    "processor": "image_processor",
    "speech": "feature_extractor",
    "image_processor": "image_mean",
    "feature_extractor": "sampling_rate",
    "tokenizer": "is_fast",
}
"""What reads inputs, by an attribute that none of those after it has."""


def check_device(device: str | torch.device | None) -> None:
    """Raise `InputError` for a device that is not there."""
    if device is None:
        return
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, ImportError):
        there = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
        if torch.backends.mps.is_available():
            there.append("mps")
        raise InputError(
            f"device: expected one that is here ({', '.join(there)}), found {str(device)!r}"
        ) from None


def _locate(name: str) -> tuple[str, str]:
    """Where transformers should look, and the name to print."""
    if not name.strip():
        raise ModelError("model: expected a hub name or a folder, found an empty string")
    path = Path(name).expanduser()
    try:
        path.exists()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ModelError(f"model: expected a hub name or a folder, found {name[:60]!r}… ({why})") from None
    if path.is_dir():
        if not (path / "config.json").is_file() and (path / CONFIG).is_file():
            raise ModelError(f"{name}: an adapter; load the model that it belongs to, with adapter={name!r}")
        if not (path / "config.json").is_file():
            raise ModelError(
                f"{name}: no config.json in this folder; "
                "expected a Hugging Face model (config.json, weights, tokenizer)"
            )
        return str(path), name
    if path.is_file():
        raise ModelError(
            f"{name}: a file; expected the folder that holds config.json and the weights, or a .gguf file"
        )
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name:
        raise ModelError(f"{name}: no such {'file' if path.suffix.lower() == '.gguf' else 'folder'}")
    try:
        validate_repo_id(name)
    except HFValidationError:
        raise ModelError(
            f"model: expected a folder, or a hub name of at most 96 letters, digits, '-', '_' and '.', such as "
            f"owner/name, found {name!r}"
        ) from None
    return name, name


def _pretrained(
    where: str | Path,
    name: str,
    dtype: torch.dtype | None,
    revision: str | None,
    trust_remote_code: bool,
    spread: Spread | None,
    asked: AdapterModel | None = None,
) -> Model:
    import transformers

    hub: Any = transformers
    options: AnyDict = {"trust_remote_code": trust_remote_code}
    local = Path(where).is_dir()
    if not local:
        reachable(name)
        options["revision"] = revision or "main"
    else:
        checkpoint.expect_no_pointers(name, Path(where))
    taken: str | None = None
    with one_line(name, not local):
        config = hub.AutoConfig.from_pretrained(where, **options)
        _check_config(config, name)
        # Whatever kernels a file asks for: weights are computed here, and need none that is not installed.
        config._attn_implementation = config._experts_implementation = None
        architecture = (config.architectures or [""])[0]
        named: Any = getattr(hub, architecture, None)  # a name of a file: of a model, or of anything
        known = isinstance(named, type) and issubclass(named, hub.PreTrainedModel)
        loader: Any = named if known else hub.AutoModel
        asked = asked or AdapterModel()
        if asked.kind is not None and isinstance(config, getattr(asked.kind, "config_class", None) or object):
            loader = asked.kind
        if asked.labels is not None and config.num_labels != asked.labels:
            config.num_labels = asked.labels
        if getattr(config, "auto_map", None) and trust_remote_code:
            loader = hub.AutoModel

        def read(place: str | Path | None, **more: Any) -> tuple[Any, AnyDict]:
            verbosity = hub.logging.get_verbosity()
            hub.logging.set_verbosity_error()  # what was not there is said below, in one line
            try:
                return loader.from_pretrained(
                    place,
                    config=config,
                    dtype=dtype or torch.float32,
                    output_loading_info=True,
                    **({} if spread is None else {"device_map": spread}),
                    **options,
                    **more,
                )
            finally:
                hub.logging.set_verbosity(verbosity)

        module, info = read(where)
        if missing := checkpoint.needed(module, info["missing_keys"]):
            taken = checkpoint.prefix(missing, info["unexpected_keys"])
            if taken is not None:
                module, info = read(where, key_mapping={f"^{re.escape(taken)}": ""})
            elif local and (inner := checkpoint.within(Path(where), missing)) is not None:
                taken, weights = inner
                module, info = read(None, state_dict=weights)
    model = Model(
        module.eval(),
        _reader("AutoTokenizer", _TOKENIZERS, where, name, options),
        Path(where).resolve().name if local and name != DEMO_NAME else name,
        getattr(config, "_commit_hash", None) or revision,
    )
    if model.reads in ("input_features", "input_values"):
        model.feature_extractor = _reader("AutoFeatureExtractor", _PROCESSORS, where, name, options)
    if model.reads == "pixel_values" or hasattr(config, "vision_config"):
        _find_processors(model, where, name, options)
    model.notes = tuple(
        checkpoint.notes(name, module, set(info["missing_keys"]) - asked.given, info["unexpected_keys"])
    )
    if taken is not None:
        model.notes += (f"{checkpoint.UNDER} {taken} in the checkpoint",)
    return model


Spread = str | AnyDict
"""How a model is spread over devices: transformers' ``device_map``."""

_MOST_LAYERS = 10_000


def _check_config(config: Any, name: str) -> None:
    """Raise `ModelError` for what no model can be made of, before it is tried."""
    named: Any = config.architectures
    if named is not None and not (
        isinstance(named, list) and all(isinstance(entry, str) for entry in cast("list[Any]", named))
    ):
        raise ModelError(f"{name}: config.json: architectures: expected a list of names, found {named!r}")
    text = config.get_text_config()
    for key in ("num_hidden_layers", "num_attention_heads", "hidden_size", "vocab_size"):
        value = getattr(text, key, None)
        most = _MOST_LAYERS if key == "num_hidden_layers" else None
        if isinstance(value, int) and (value < 1 or (most is not None and value > most)):
            expected = "at least 1" if most is None else f"1 to {most:,}"
            raise ModelError(f"{name}: config.json: {key}: expected {expected}, found {value:,}")
    pad, words = getattr(text, "pad_token_id", None), getattr(text, "vocab_size", None)
    if isinstance(pad, int) and isinstance(words, int) and not -1 <= pad < words:
        raise ModelError(
            f"{name}: config.json: pad_token_id: expected one from 0 to {words - 1:,}, found {pad:,}"
        )


def _reader(kind: str, files: Sequence[str], where: str | Path, name: str, options: AnyDict) -> Any:
    """What reads inputs, by its class of transformers, or None for a model that has none of these files."""
    if not _has(where, *files):
        return None
    try:
        with one_line(name, not Path(where).is_dir()):
            return getattr(module("transformers"), kind).from_pretrained(where, **options)
    except ModelError as error:
        if any(word in str(error) for word in ("sentencepiece", "protobuf", "tiktoken")):
            _expect_sentencepiece(name)
        if Path(where).is_dir():
            raise
        return None


def _has(where: str | Path, *files: str) -> bool:
    """Whether one of these files is in a folder; of a name on the hub it is tried."""
    local = Path(where)
    return not local.is_dir() or any((local / file).exists() for file in files)


_TOKENIZERS = (
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "vocab.json",
    "tokenizer.model",
    "spiece.model",
)
_PROCESSORS = ("preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json")


def _expect_sentencepiece(name: str) -> None:
    """Raise `ModelError` where that is missing with which tokenizers are read that have no tokenizer.json."""
    try:
        module("sentencepiece")
        module("google.protobuf")
    except ModuleNotFoundError:
        raise ModelError(
            f"{name}: its tokenizer has no tokenizer.json and needs sentencepiece: "
            "pip install 'headscope[sentencepiece]'"
        ) from None


def _find_processors(model: Model, where: str | Path, name: str, options: AnyDict) -> None:
    """Give a model of vision what it sees with, where there is something of the kind."""
    if not _has(where, *_PROCESSORS):
        return
    local, hub = Path(where).is_dir(), module("transformers")
    verbosity = hub.logging.get_verbosity()
    hub.logging.set_verbosity_error()  # of a backend that is not installed another one is taken
    try:
        with one_line(name, not local):
            if model.tokenizer is not None:
                model.processor = hub.AutoProcessor.from_pretrained(where, **options)
                model.image_processor = getattr(model.processor, "image_processor", None)
            if model.image_processor is None:
                kind = hub.AutoImageProcessor if _has(where, *_PROCESSORS[:-1]) else hub.AutoVideoProcessor
                model.image_processor = kind.from_pretrained(where, **options)
    except ModelError as error:
        if isinstance(
            error.__context__, ImportError
        ):  # what reads pictures is optional; its texts can be read
            why = str(error).removeprefix(f"{name}: ")
            warn(f"{name}: its processor {why}, so it reads no pictures here")
        elif local:
            raise
    finally:
        hub.logging.set_verbosity(verbosity)


def _dtype(dtype: str | torch.dtype | None) -> torch.dtype | None:
    known = ("float32", "float64", "bfloat16", "float16")
    if dtype is None:
        return None
    dtype = str(dtype).removeprefix("torch.")
    if dtype not in known:
        raise InputError(f"dtype: expected one of {', '.join(known)}, found {dtype!r}")
    return getattr(torch, dtype)
