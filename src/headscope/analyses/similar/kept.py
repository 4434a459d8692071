"""Vectors of a corpus, kept in a file beside it."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from headscope.core.arrays import Floats
from headscope.core.failures import warn
from headscope.core.saving import replacing
from headscope.errors import HeadscopeError


def kept(path: Path, key: object, make: Callable[[], Tensor]) -> Tensor:
    """The vectors that a file keeps of the same texts and model, as the key says, or those that are made and kept."""
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()
    try:
        with np.load(path, allow_pickle=False) as file:
            if str(file["key"]) == digest:
                return torch.tensor(file["vectors"], dtype=torch.float64)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        pass  # there is none yet, or it is none of these
    vectors = make()
    try:
        with replacing(path, asked=False) as place, open(place, "wb") as file:
            np.savez(file, key=digest, vectors=vectors.float().numpy())
    except HeadscopeError as error:
        warn(f"{error}: vectors are not kept")
    return vectors


def quantised(query: Floats, documents: Floats) -> dict[str, Floats]:
    """How near documents are to a query for an index that keeps a byte of each dimension, or its sign.

    As sentence-transformers' ``quantize_embeddings`` has them: 256 steps between the least and the largest of all
    documents, compared by their product; and bits, by how many are equal.

    Args:
        query: ``[dimension]``
        documents: ``[document, dimension]``
    """
    low, high = documents.min(0), documents.max(0)
    steps = (high - low) / 255
    steps[steps == 0] = 1
    of_query, codes = (np.clip(np.floor((one - low) / steps), 0, 255) - 128 for one in (query, documents))
    return {"int8": codes @ of_query, "binary": ((documents > 0) == (query > 0)).sum(1).astype(float)}
