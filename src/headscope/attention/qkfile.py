"""Files of queries and keys: headscope's own layout, and which layout a file has.

Format ``headscope.qk/1`` (docs/servers.md): one safetensors file with ``query.<layer>`` ``[head query dim]``,
``key.<layer>`` ``[key_head key dim]``, and where there are any ``sinks.<layer>`` ``[head]`` and ``mask.<n>``; its
metadata has ``format`` and ``description``, a JSON object.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import torch

from headscope.attention import servers
from headscope.attention.recorded import Recorded, Stored, from_qk, tensor_of
from headscope.core.counts import plural
from headscope.core.failures import reason
from headscope.core.lazy import module
from headscope.core.mapfile import axes_of, save_arrays
from headscope.core.store import tokens_of
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.core.validation import Number, validated
from headscope.errors import InputError

FORMAT = "headscope.qk/1"
Positions = Literal["applied", "learned"]
"""Applied to the queries and keys that were recorded; or learned, a part of the embeddings, so that none are to be."""


@validated
def save_qk(recorded: Recorded, path: AnyPath) -> None:
    """Write queries and keys to a ``.safetensors`` file, in their own dtypes; `headscope.open_qk` reads it.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> recorded = hs.from_qk(np.zeros((1, 2, 3, 4)), np.zeros((1, 1, 3, 4)), tokens=["a", "b", "c"])
    >>> with TemporaryDirectory() as folder:
    ...     hs.save_qk(recorded, Path(folder) / "qk.safetensors")
    ...     hs.open_qk(Path(folder) / "qk.safetensors")
    Recorded(1 layer × 2 heads, 3 × 3 tokens, self)
    """
    axes, described = axes_of(recorded.query, recorded.key)
    arrays: AnyDict = {name: torch.tensor(array) for name, array in axes.items()}
    rules: list[Any] = []
    masks: dict[int, str] = {}
    written: set[int] = set()

    def apart(stored: Any) -> torch.Tensor:
        """A tensor of its own memory: safetensors writes none that stands in two places."""
        tensor = tensor_of(stored).contiguous()
        if tensor.data_ptr() in written:
            return tensor.clone()
        written.add(tensor.data_ptr())
        return tensor

    for place, layer in enumerate(recorded.index):
        arrays[f"query.{layer}"] = apart(recorded.q[place])
        arrays[f"key.{layer}"] = apart(recorded.k[place])
        if recorded.sinks[place] is not None:
            arrays[f"sinks.{layer}"] = recorded.sinks[place].clone()
        rule = recorded.mask[place]
        if not isinstance(rule, str | int):
            name = masks.setdefault(id(rule), f"mask.{len(masks)}")
            arrays[name], rule = apart(rule), {"tensor": name}
        rules.append(rule)
    description = {
        **described,
        "positions": "applied",
        "layers": list(recorded.index),
        "heads": [recorded.heads_of(place) for place in range(len(recorded))],
        "scale": list(recorded.scale),
        "softcap": list(recorded.softcap),
        "mask": rules,
        "kind": recorded.kind,
        "meta": dict(recorded.meta),
    }
    save_arrays(path, arrays, FORMAT, description, "torch")


@validated
def open_qk(
    *paths: AnyPath,
    input: Number | None = None,
    tokens: Tokens | Sequence[str] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    mask: Any = None,
    sinks: Any = None,
    positions: Positions | None = None,
) -> Recorded:
    """The queries and keys that a server wrote: no text and no model is needed. Arrays are read when they are used.

    Args:
        paths: a file of headscope's own layout (docs/servers.md); ``qk.safetensors`` files of vLLM-Hook with their
            ``qk.json``, one a rank (or the folder that holds them); or what llama.cpp's evaluation callback printed.
        input: which input of those that files hold, from 0; by default the only one, or of llama.cpp the longest.
        tokens: one string a token, where the file has none.
        scale, softcap, mask, sinks: as in `headscope.from_qk`, where the file does not say them: vLLM-Hook tells a
            scale, llama.cpp none of them.
        positions: ``learned`` for a model whose positions are part of its embeddings (GPT-2), where a file cannot tell.

    Raises `InputError`, which names the file: positions were not applied, or heads are missing.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     hs.save_qk(hs.from_qk(np.zeros((1, 4, 3, 4)), np.zeros((1, 1, 3, 4))), Path(folder) / "qk.safetensors")
    ...     hs.open_qk(Path(folder) / "qk.safetensors").row("L0H3", 1).tolist()
    [0.5, 0.5, 0.0]
    """
    if not paths:
        raise InputError("paths: expected at least one file, found none")
    files = servers.files_of([Path(path) for path in paths])
    given = {"scale": scale, "softcap": softcap, "mask": mask, "sinks": sinks, "tokens": tokens}
    more = {name: value for name, value in given.items() if value is not None}
    if files[0].suffix != ".safetensors":
        return servers.printed(files, input, positions, more)
    sidecar = files[0].with_suffix(".json")
    with _opened(files[0]) as (file, header):
        if header.get("format") == FORMAT:
            if len(files) > 1:
                raise InputError(f"{files[1]}: expected one file of {FORMAT}, found {len(files)}")
            return _read(files[0], file, header, input, more)
        format = header.get("format", "none")
    if not sidecar.is_file():
        raise InputError(
            f"{files[0]}: expected format {FORMAT}, or vLLM-Hook's {sidecar.name} beside it, found {format}"
        )
    return servers.hooked(files, _lazily, input, positions, more)


@contextmanager
def _opened(path: Path) -> Generator[tuple[Any, dict[str, str]]]:
    """A safetensors file and its metadata, refused in one line where it is none."""
    safetensors = module("safetensors")
    try:
        file = safetensors.safe_open(os.fspath(path), framework="pt")
        header = dict(file.metadata() or {})
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(
            f"{path}: expected a safetensors file, found something else ({reason(error)})"
        ) from None
    yield file, header


def _lazily(path: Path) -> dict[str, Stored]:
    """The arrays of a file, read when they are asked for."""
    with _opened(path) as (file, _):
        return {
            name: Stored(tuple(file.get_slice(name).get_shape()), partial(file.get_tensor, name))
            for name in file.keys()  # noqa: SIM118 (not a dict)
        }


def _read(path: Path, file: Any, header: Mapping[str, str], input: int | None, more: AnyMapping) -> Recorded:
    if input:
        raise InputError(f"{path}: expected no input but 0, found {input}: the file holds one")
    arrays = _lazily(path)
    with servers.from_file(path, f"a file of {FORMAT}"):
        described: AnyDict = json.loads(header["description"])
        layers: list[int] = described.get("layers") or sorted(
            int(name.removeprefix("query.")) for name in arrays if name.removeprefix("query.").isdecimal()
        )
        positions = described.get("positions")
        if positions not in ("applied", "learned"):
            raise InputError(
                f"{path}: expected queries and keys whose positions were applied, found {positions!r}: record "
                "them behind the rotary embedding"
            )
        counts: Any = described.get("heads")
        heads: list[Any] = (
            list(cast("list[Any]", counts)) if isinstance(counts, list) else [counts] * len(layers)
        )
        q: list[Stored] = []
        k: list[Stored] = []
        sinks: list[Stored | None] = []
        for layer, count in zip(layers, heads, strict=True):
            for name, side in (("query", q), ("key", k)):
                if f"{name}.{layer}" not in arrays:
                    raise InputError(f"{path}: expected {name}.{layer}, found no such array")
                side.append(arrays[f"{name}.{layer}"])
            if count is not None and q[-1].shape[0] != count:
                raise InputError(
                    f"{path}: expected {plural(count, 'head')} in layer {layer}, found {q[-1].shape[0]}: "
                    "heads are missing"
                )
            sinks.append(arrays.get(f"sinks.{layer}"))
        small = {name: file.get_tensor(name).numpy() for name in arrays if name.split(".")[0] in ("query", "key")
                 and not name.split(".")[-1].isdecimal()}  # fmt: skip
        axes = [_axis(described, small, side) for side in ("query", "key")]
        options: AnyDict = {
            "scale": described.get("scale"),
            "softcap": described.get("softcap"),
            "mask": _rules(described.get("mask", "causal"), arrays),
            "sinks": sinks if any(one is not None for one in sinks) else None,
            "tokens": axes[0],
            "key_tokens": axes[1],
        }
        if "tokens" in more:
            options["key_tokens"] = None
        return from_qk(
            q,
            k,
            **{**options, **more},
            kind=described.get("kind", "self"),
            index=layers,
            meta=described.get("meta"),
        )


def _axis(described: AnyMapping, arrays: AnyMapping, side: str) -> Tokens | None:
    side = "query" if described.get(side) is None else side
    pieces = described.get(side)
    known = any(name.startswith(f"{side}.") for name in arrays)
    return None if pieces is None else tokens_of(described, arrays, side) if known else Tokens.of(pieces)


def _rules(given: Any, arrays: Mapping[str, Stored]) -> Any:
    if isinstance(given, list):
        return [_rules(one, arrays) for one in cast("list[Any]", given)]
    return arrays[given["tensor"]].read() if isinstance(given, dict) else given
