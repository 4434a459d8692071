"""DuoAttention's files: which key heads keep the whole text, as its loader reads them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import xarray as xr

from headscope.core.arrays import Floats
from headscope.core.saving import made_folder, replacing
from headscope.core.types import AnyPath
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.measures.dataset import description


@validated
def save_duo_attention(result: xr.Dataset, folder: AnyPath) -> Path:
    """Write ``full_attention_heads.tsv`` and ``config.json`` as DuoAttention's ``load_attn_pattern`` reads them.

    The table has a row a layer and a column a key head, between 0 (streaming) and 1 (the head that loses most): the
    share of the largest loss where all were measured (``exact="all"``), else of the largest estimate. DuoAttention
    takes its heads by a quantile of them (``sparsity``), so their order is what counts. Its own gates are trained;
    these are measured.

    Source: Xiao et al. 2025, "DuoAttention", and its code, ``duo_attn/utils.py``.

    Args:
        result: from `headscope.streaming`.
        folder: also the files that DuoAttention loads; made where it is missing.

    Returns the folder. Raises `InputError` for another result, or a model whose layers have different numbers of key
    heads.

    >>> import tempfile, transformers
    >>> reader = headscope.load().tokenizer
    >>> config = transformers.GPT2Config(vocab_size=len(reader), n_embd=8, n_layer=2, n_head=2, n_positions=128)
    >>> small = headscope.load((transformers.GPT2LMHeadModel(config), reader))
    >>> found = headscope.streaming(small, recent=32, needles=2, lengths=(96,), exact=0)
    >>> sorted(path.name for path in save_duo_attention(found, tempfile.mkdtemp()).iterdir())
    ['config.json', 'full_attention_heads.tsv']
    """
    if "key_head" not in result.dims or "estimate" not in result:
        axes = ", ".join(map(str, result.dims)) or "no axes"
        raise InputError(f"result: expected one of headscope.streaming, found one with {axes}")
    gates = _gates(result)
    if not np.isfinite(gates).all():
        raise InputError(
            "result: expected as many key heads in each layer, as DuoAttention does, found fewer in some"
        )
    meta = description(result)
    return save_gates(gates, folder, meta["sink"], meta["recent"])


def save_gates(gates: Floats, folder: AnyPath, sink: int, recent: int) -> Path:
    """Write the two files of gates ``[layer key_head]``; the folder."""
    place = made_folder(folder)
    with replacing(place / "full_attention_heads.tsv") as file:
        np.savetxt(file, gates, delimiter="\t")
    sizes = {"sink_size": sink, "recent_size": recent}
    with replacing(place / "config.json") as file:
        file.write_text(json.dumps(sizes, indent=2) + "\n", encoding="utf-8")
    return place


def _gates(result: xr.Dataset) -> Floats:
    measured = np.asarray(result["loss"].values, np.float64)
    estimates = np.asarray(result["estimate"].values, np.float64)
    known = np.isfinite(estimates)
    values = measured if np.isfinite(measured[known]).all() else estimates
    values = values.clip(0.0)
    return values / max(float(np.nanmax(values)), 1e-12)
