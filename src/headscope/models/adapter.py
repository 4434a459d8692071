"""Adapters such as LoRA (Hu et al. 2021): small trained changes that are added to a model's weights."""

from __future__ import annotations

import os
import pickle
import re
import socket
import sys
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlparse

from torch import nn

from headscope.core.lazy import NO_DOCSTRINGS
from headscope.core.lazy import module as library
from headscope.core.types import AnyMapping, AnyPath
from headscope.errors import HeadscopeError, ModelError
from headscope.models.revision import name_and_revision


@contextmanager
def one_line(name: str, downloads: bool = False) -> Generator[None]:
    """Turn what transformers and torch say of a broken model into one line that names it."""
    from transformers.utils import logging

    quiet = logging.is_progress_bar_enabled() and not downloads
    if quiet:  # a bar is for downloads
        logging.disable_progress_bar()
    try:
        yield
    except HeadscopeError:
        raise
    except pickle.UnpicklingError:
        raise ModelError(
            f"{name}: the checkpoint holds more than tensors and is refused; expected tensors only (safetensors)"
        ) from None
    except MemoryError:
        raise
    except Exception as error:  # whatever a broken file leads transformers to
        if sys.flags.optimize > 1:
            raise ModelError(f"{name}: {NO_DOCSTRINGS}") from None
        text = str(error)
        if "couldn't connect" in text or "Name or service" in text or "offline" in text.lower():
            raise ModelError(no_network(name)) from None
        if "trust_remote_code" in text:
            raise ModelError(
                f"{name}: needs code from its repository; read it, then ask for trust_remote_code"
            ) from None
        raise ModelError(f"{name}: cannot be loaded ({_first(error)})") from None
    finally:
        if quiet:
            logging.enable_progress_bar()


def reachable(name: str, file: str = "config.json") -> None:
    """Refuse at once, not after half a minute of retries, what is neither cached (by this file) nor within reach."""
    from huggingface_hub import constants, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        if isinstance(try_to_load_from_cache(name, file), str):
            return
    except HFValidationError:
        raise ModelError(f"{name}: expected a folder, or a name that the Hugging Face hub can have") from None
    host = urlparse(constants.ENDPOINT).hostname or ""
    proxied = any(os.environ.get(key) for key in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"))
    if constants.HF_HUB_OFFLINE:
        raise ModelError(no_network(name))
    if not proxied:
        try:
            socket.getaddrinfo(host, 443)
        except OSError:
            raise ModelError(no_network(name)) from None


def no_network(name: str) -> str:
    """What to say of a model that the hub would have."""
    return (
        f"{name}: no such folder, not in the local cache, and the Hugging Face hub cannot be reached; "
        "name a folder, or connect to a network"
    )


def _first(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return "a file ends too early" if isinstance(error, EOFError) else type(error).__name__
    first = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    bare = isinstance(error, (KeyError, AttributeError, TypeError, IndexError, ZeroDivisionError))
    return (f"{type(error).__name__}: {first}" if bare else first)[:200]


CONFIG = "adapter_config.json"


def located(adapter: AnyPath) -> tuple[str, str | None]:
    """The folder of an adapter, or its hub name with the revision behind an @.

    Raises `ModelError` where there is none.
    """
    name = os.fspath(adapter)
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / CONFIG).is_file():
            raise ModelError(
                f"{name}: no {CONFIG} in this folder; expected an adapter as peft saves it "
                f"({CONFIG}, adapter_model.safetensors)"
            )
        return str(path), None
    if not name.strip() or path.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ModelError(f"adapter: expected a folder with {CONFIG} or a hub name, found {name!r}")
    return name_and_revision(name)


def called(adapter: AnyPath) -> str:
    """What to call an adapter: of a folder its own name."""
    name = os.fspath(adapter)
    path = Path(name).expanduser()
    return path.resolve().name if path.is_dir() else name


class AdapterModel(NamedTuple):
    """What an adapter says of the model that it was trained on.

    Attributes:
        kind: the class, or one of transformers' Auto classes; None where nothing says it.
        labels: how many its head tells apart; None without a head of classes.
        given: the names of weights that it brings whole, such as those of its head.
    """

    kind: Any = None
    labels: int | None = None
    given: frozenset[str] = frozenset()


_TASKS = {
    "SEQ_CLS": "AutoModelForSequenceClassification",
    "TOKEN_CLS": "AutoModelForTokenClassification",
    "QUESTION_ANS": "AutoModelForQuestionAnswering",
    "CAUSAL_LM": "AutoModelForCausalLM",
    "SEQ_2_SEQ_LM": "AutoModelForSeq2SeqLM",
    "FEATURE_EXTRACTION": "AutoModel",
}


@contextmanager
def _opened(adapter: AnyPath) -> Generator[tuple[Any, Any, str, dict[str, str]]]:
    """peft, the configuration of an adapter, where it lies and its revision; what fails within it is one line."""
    where, revision = located(adapter)
    options = {} if revision is None else {"revision": revision}
    peft, local = library("peft"), Path(where).is_dir()
    if not local:
        reachable(where, CONFIG)
    with one_line(os.fspath(adapter), not local), warnings.catch_warnings(action="ignore"):
        yield peft, peft.PeftConfig.from_pretrained(where, **options), where, options


def wanted(adapter: AnyPath) -> AdapterModel:
    """The model that an adapter was trained on: by its task, or by the class that peft wrote down.

    Raises `ModelError` where there is no such adapter, or it cannot be read.
    """
    import transformers

    with _opened(adapter) as (peft, config, where, options):
        task = str(getattr(config.task_type, "value", config.task_type))
        mapping: Mapping[str, str] = config.auto_mapping or {}
        kind: Any = getattr(transformers, _TASKS.get(task, mapping.get("base_model_class", "")), None)
        if config.is_prompt_learning or not (Path(where) / "adapter_model.safetensors").is_file():
            return AdapterModel(kind)
        weights: AnyMapping = peft.load_peft_weights(where, device="cpu", **options)
    given = {_plain(name): tuple(value.shape) for name, value in weights.items() if "lora_" not in name}
    heads = [
        shape[0]
        for name, shape in given.items()
        if re.search(r"(classifier|score)(\.out_proj)?\.weight$", name)
    ]
    return AdapterModel(kind, heads[0] if len(heads) == 1 else None, frozenset(given))


def merged(module: nn.Module, adapter: AnyPath, base: str) -> nn.Module:
    """The module with an adapter added to its weights, in place: a plain module again, no larger than before.

    Args:
        module: whose weights change.
        adapter: a folder, or a hub name, with ``@REVISION`` or without.
        base: what to call the model that the adapter has to fit.

    Raises:
        InputError: peft is not installed.
        ModelError: there is no such adapter, it does not fit the model in every weight, or it adds tokens, not weights.
    """
    name = os.fspath(adapter)
    if getattr(module, "hf_quantizer", None) is not None:
        raise ModelError(
            f"{name}: {base} holds packed weights, to which nothing can be added exactly; load the base with plain "
            "weights, or give hs.load((PeftModel, tokenizer))"
        )
    with _opened(adapter) as (peft, config, where, options):
        kind = getattr(config.peft_type, "value", config.peft_type)
        if config.is_prompt_learning or getattr(config, "is_adaption_prompt", False):
            raise ModelError(
                f"{name}: expected an adapter of weights, such as LoRA, found {kind}, which adds to the input"
            )
        try:
            wrapped = peft.PeftModel(module, config)
        except ValueError as error:
            raise ModelError(f"{name}: does not fit {base} ({_short(error)})") from None
        try:
            read = wrapped.load_adapter(where, "default", autocast_adapter_dtype=False, **options)
        except RuntimeError as error:
            raise ModelError(f"{name}: does not fit {base} ({_short(error)})") from None
        if wrong := [*read.missing_keys, *read.unexpected_keys]:
            others = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            what = "has no weights for" if read.missing_keys else "has weights for what is not there:"
            raise ModelError(f"{name}: does not fit {base} (the adapter {what} {_plain(wrong[0])}{others})")
        return wrapped.merge_and_unload()


def _short(error: Exception) -> str:
    """The line of a long message that says what is wrong."""
    message = next((line for line in str(error).splitlines() if "size mismatch" in line), _first(error))
    return _plain(message).strip().rstrip(".")[:200]


def _plain(name: str) -> str:
    return name.replace("base_model.model.", "").replace(".default", "")
