"""What is said, in one line, where transformers, torch or the hub cannot give what was asked for."""

from __future__ import annotations

import os
import pickle
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlparse

from headscope.core.lazy import NO_DOCSTRINGS
from headscope.errors import HeadscopeError, ModelError


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
