"""Queries and keys as servers write them: vLLM-Hook's safetensors, and what llama.cpp's evaluation callback prints.

Of vLLM-Hook: ``qk.safetensors`` with ``qk.json`` (https://github.com/IBM/vLLM-Hook, ``save_qk_cache_safetensors`` at
32641002, 2026), one of each a rank of tensor parallelism. Of llama.cpp: the text of ``llama-eval-callback`` and
``llama-debug`` (``common/debug.cpp`` at 27c299a6, 2026; before that ``ggml_debug``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headscope.attention.recorded import Recorded, Stored, from_qk
from headscope.core.counts import plural
from headscope.core.failures import reason
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError

Arrays = Callable[[Path], Mapping[str, Stored]]


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files that are named; of a folder the ``qk.safetensors`` in it."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            held = sorted(path.rglob("qk.safetensors"))
            if not held:
                raise InputError(f"{path}: expected a folder with qk.safetensors, found none")
            files += held
        elif path.is_file():
            files.append(path)
        else:
            raise InputError(f"{path}: expected a file of queries and keys, found no such file")
    return files


@dataclass(frozen=True)
class _Rank:
    """What one rank of vLLM-Hook wrote."""

    path: Path
    description: AnyMapping
    arrays: Mapping[str, Stored]

    @property
    def rank(self) -> int:
        return int(self.description.get("tp_rank", 0))

    @property
    def size(self) -> int:
        """How many ranks there were."""
        shard: Any = self.description.get("tp_shard") or {"tp_size": 1}
        return int(shard.get("tp_size", 1))


@contextmanager
def from_file(path: Path, expected: str) -> Generator[None]:
    """Within it a file is read. Raises `InputError`, with the path, where it is broken."""
    try:
        yield
    except InputError as error:
        raise error if str(error).startswith(str(path)) else InputError(f"{path}: {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise InputError(f"{path}: expected {expected}, found it broken ({reason(error)})") from None


def hooked(
    files: Sequence[Path], read: Arrays, input: int | None, positions: str | None, more: AnyMapping
) -> Recorded:
    """What vLLM-Hook wrote of one input, the ranks' heads side by side. Arguments as in `headscope.open_qk`."""
    ranks = sorted((_rank(path, read) for path in files), key=lambda rank: rank.rank)
    first = ranks[0]
    size = max(len(ranks), *(rank.size for rank in ranks))
    numbers = [rank.rank for rank in ranks]
    if numbers != [*range(size)]:
        missing = next((number for number in range(size) if number not in numbers), numbers)
        raise InputError(
            f"{first.path}: expected {size} ranks, found {numbers}: the heads of rank {missing} are missing"
        )
    with from_file(first.path, "what vLLM-Hook writes"):
        config = first.description["config"]
        heads, key_heads = int(config["num_attention_heads"]), int(config["num_key_value_heads"])
        dim = int(config.get("head_dim") or config["hidden_size"] // heads)
        q: list[Any] = []
        k: list[Any] = []
        index: list[int] = []
        for entry in first.description["layer_order"]:
            name, layer = str(entry["module_name"]), int(entry["layer_num"])
            if not name.endswith(".attn") and positions is None:
                raise InputError(
                    f"{first.path}: {name}: expected what enters attention (….attn), its positions applied, found "
                    "another module; positions='learned' where the model's are part of its embeddings"
                )
            parts = [_chunk(rank, entry, input) for rank in ranks]
            sides = [torch.cat([part[side] for part in parts], -1) for side in (0, 1)]
            for side, (numbers_of, count, array) in enumerate(
                zip("qk", (heads, key_heads), sides, strict=True)
            ):
                if array.shape[-1] != count * dim:
                    raise InputError(
                        f"{first.path}: layer {layer}, {numbers_of}: expected {plural(count, 'head')} of {dim}, "
                        f"{count * dim:,} numbers a token, found {array.shape[-1]:,}: heads are missing, or "
                        "config.head_dim is not the model's"
                    )
                (q, k)[side].append(array.reshape(-1, count, dim).transpose(0, 1))
            index.append(layer)
        scale = float(config["attention_multiplier"]) if "attention_multiplier" in config else None
        order = sorted(range(len(index)), key=index.__getitem__)
        options: AnyDict = {"scale": scale, **more}
        return from_qk(
            *([side[place] for place in order] for side in (q, k)),
            **options,
            index=[index[place] for place in order],
            meta={"layout": "vLLM-Hook"},
        )


def _rank(path: Path, read: Arrays) -> _Rank:
    place = path.with_suffix(".json")
    try:
        description = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{place}: expected vLLM-Hook's description of {path.name} ({reason(error)})"
        ) from None
    if not isinstance(description, dict) or "layer_order" not in description:
        raise InputError(f"{place}: expected vLLM-Hook's description of {path.name}, found no layer_order")
    return _Rank(path, description, read(path))  # pyright: ignore[reportUnknownArgumentType]


def _chunk(rank: _Rank, entry: AnyMapping, input: int | None) -> tuple[Tensor, Tensor]:
    """The queries ``[query width]`` and keys ``[key width]`` of one input in one layer."""
    description = rank.description
    q, k = (rank.arrays[entry[name]].read() for name in ("key_q", "key_k"))
    if description.get(
        "compact_all_tokens"
    ):  # queries of each step one after another, keys of each input once
        ends: list[list[int]] = description["k_prefix_ends"]
        place = _which(rank.path, input, len(ends))
        steps = [len(one) for one in ends]
        lengths: list[int] = description["q_seq_lens"]
        begin = sum(lengths[: sum(steps[:place])])
        count = sum(lengths[sum(steps[:place]) : sum(steps[: place + 1])])
        from_key = sum(description["k_full_lens"][:place])
        return q[begin : begin + count], k[from_key : from_key + ends[place][-1]]
    place = _which(rank.path, input, len(q))
    keys = description["k_seq_lens"][place]
    queries = description["q_seq_lens"][place] if q.ndim == 3 else 1
    return (q[place, :queries] if q.ndim == 3 else q[place][None]), k[place, :keys]


def _which(path: Path, input: int | None, count: int) -> int:
    if input is None and count != 1:
        raise InputError(f"{path}: expected which input, of 0 to {count - 1}, found none named")
    if not (input or 0) < count:
        raise InputError(f"{path}: expected an input from 0 to {count - 1}, found {input}")
    return input or 0


_HEAD = re.compile(r":\s+(\S.*?) = \((\w+)\)\s+(\w+)\(.*\) = \{(\d+), (\d+), (\d+), (\d+)\}\s*$")
_NAME = re.compile(r"([QK])cur\w*-(\d+)")


@dataclass
class _Printed:
    """One tensor that the callback printed."""

    line: int
    side: str
    layer: int
    op: str
    shape: tuple[int, ...]
    values: list[str]

    @property
    def flat(self) -> bool:
        """Whether it is ``[width token]``, not yet by heads."""
        return self.op in ("MUL_MAT", "ADD") and self.shape[2:] == (1, 1)

    @property
    def tokens(self) -> int:
        return self.shape[1 if self.flat else 2]

    def tensor(self, path: Path) -> Tensor:
        """``[head token dim]``."""
        if "..." in self.values:
            raise InputError(
                f"{path}:{self.line}: expected all values of {self.side}cur-{self.layer}, found some left out (…): "
                "build the callback with a larger n in common_debug_print_tensor(…, n, …)"
            )
        if self.flat:
            raise InputError(
                f"{path}:{self.line}: expected {self.side}cur-{self.layer} by heads, found one row a token"
            )
        dim, heads, tokens, _ = self.shape
        try:
            return (
                torch.tensor([float(value) for value in self.values])
                .reshape(tokens, heads, dim)
                .transpose(0, 1)
            )
        except (ValueError, RuntimeError):
            size = dim * heads * tokens
            raise InputError(
                f"{path}:{self.line}: expected {size:,} numbers of {self.side}cur-{self.layer}, "
                f"found {len(self.values):,}"
            ) from None


def printed(files: Sequence[Path], input: int | None, positions: str | None, more: AnyMapping) -> Recorded:
    """What llama.cpp's evaluation callback printed of one pass, to four decimals. Arguments as in `open_qk`."""
    path = files[0]
    if len(files) > 1:
        raise InputError(f"{files[1]}: expected one file of llama.cpp's callback, found {len(files)}")
    passes = _passes(path)
    if not passes:
        raise InputError(
            f"{path}: expected a file of queries and keys: .safetensors, or what llama.cpp's evaluation callback "
            "printed, found no Qcur and Kcur in it"
        )
    if input is not None and input >= len(passes):
        raise InputError(f"{path}: expected an input from 0 to {len(passes) - 1}, found {input}")
    tokens = [max(one.tokens for calls in each_pass.values() for one in calls) for each_pass in passes]
    place = max(range(len(passes)), key=tokens.__getitem__) if input is None else input
    chosen = passes[place]
    layers = sorted({layer for _, layer in chosen})
    sides: dict[str, list[Tensor]] = {"Q": [], "K": []}
    scaled: list[bool] = []
    for layer in layers:
        for side, arrays in sides.items():
            calls = chosen.get((side, layer))
            if calls is None:
                raise InputError(
                    f"{path}: expected {side}cur-{layer} beside the other, found none: heads are missing"
                )
            ops = [call.op for call in calls]
            if not any(op.startswith("ROPE") for op in ops) and positions != "learned":
                raise InputError(
                    f"{path}:{calls[-1].line}: expected {side}cur-{layer} behind ROPE, found {', '.join(ops)}: "
                    "positions were not applied; positions='learned' where the model's are part of its embeddings"
                )
            arrays.append(calls[-1].tensor(path))
        scaled.append(chosen["Q", layer][-1].op == "SCALE")
    options: AnyDict = {"scale": 1.0 if all(scaled) else None, **more}
    meta = {"layout": "llama.cpp", "pass": f"{place + 1} of {len(passes)}", "decimals": 4}
    return from_qk(sides["Q"], sides["K"], **options, index=layers, meta=meta)


def _passes(path: Path) -> list[dict[tuple[str, int], list[_Printed]]]:
    """What was printed of queries and keys in each pass over the layers, with three axes, in the order of printing."""
    passes: list[dict[tuple[str, int], list[_Printed]]] = []
    last = -1
    for one in _tensors(path):
        if not passes or one.layer < last:
            passes.append({})
        last = one.layer
        passes[-1].setdefault((one.side, one.layer), []).append(one)
    return passes


def _tensors(path: Path) -> Iterator[_Printed]:
    now: _Printed | None = None
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if head := _HEAD.search(line):
                if now is not None:
                    yield now
                name = _NAME.match(head[1])
                shape = tuple(int(head[place]) for place in range(4, 8))
                now = _Printed(number, name[1], int(name[2]), head[3], shape, []) if name else None
            elif now is not None and "sum" not in line:
                now.values += re.findall(r"\.\.\.|-?(?:\d+\.\d+|nan|inf)", line)
    if now is not None:
        yield now
