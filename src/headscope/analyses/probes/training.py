"""Training of one probe with a file from which it goes on, and what it predicts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from headscope.analyses.probes.data import Data, batches
from headscope.analyses.probes.fit import Fitted, fit
from headscope.analyses.probes.pairs import PairProbe
from headscope.errors import InputError
from headscope.models.untrained import seeded
from headscope.stream.safefile import decode, encode, write
from headscope.tokens import IntArray

P = TypeVar("P", bound=nn.Module)


def trained(
    make: Callable[[], P],
    data: Data,
    path: Path,
    identity: Mapping[str, Any],
    *,
    rate: float,
    seed: int,
    epochs: int,
    title: str,
    progress: bool,
) -> tuple[P, Fitted]:
    """A trained probe. After each epoch `path` is written; what it holds already is gone on with, to the same digits.

    Args:
        make: makes the probe; its first weights are drawn from `seed`.
        data: what it is trained on.
        path: the file.
        identity: what the probe is of, as JSON.
        rate, seed, epochs: see `headscope.analyses.probes.fit.fit`.
        title, progress: of what is shown on stderr: epochs, and the loss on what it is trained on and on what is held
            out.

    Raises `InputError` for a file of another probe.
    """
    with seeded(seed):
        probe = make()
    probe.to(data.device)
    vectors = (
        None if data.vectors is None else hashlib.sha256(data.vectors.cpu().numpy().data).hexdigest()[:16]
    )
    about = {**identity, "seed": seed, "rate": rate, "treebank": data.trees.fingerprint(), "vectors": vectors}
    begin = _begun(path, about)
    with tqdm(total=epochs, desc=title, unit=" epochs", disable=not progress, leave=False) as bar:
        bar.update(len(begin.losses) if begin else 0)

        def each(state: Fitted) -> None:
            write(path, encode(state.arrays, {"identity": about, **state.described()}))
            bar.set_postfix_str("loss {:.4f}, held out {:.4f}".format(*state.losses[-1]), refresh=False)
            bar.update()

        return probe, fit(probe, data, rate=rate, seed=seed, epochs=epochs, begin=begin, each=each)


def _begun(path: Path, identity: Mapping[str, Any]) -> Fitted | None:
    """What a file holds of an earlier training, or None. Raises `InputError` for that of another probe."""
    if not path.is_file():
        return None
    arrays, about = decode(path.read_bytes(), str(path))
    expected = json.loads(json.dumps(identity))
    if about.get("identity") != expected:
        found = cast(dict[str, Any], about.get("identity") or {})
        differing = sorted(name for name in expected if found.get(name) != expected[name])
        raise InputError(
            f"{path}: is of another run; expected the same {', '.join(differing)}. Give another folder"
        )
    return Fitted.of(arrays, about)


def predictions(probe: PairProbe, data: Data) -> IntArray:
    """Each word's head, its place in the sentence, −1 for the root, ``[word]``."""
    trees = data.trees
    found: IntArray = np.zeros(len(trees.heads), np.int64)
    with torch.no_grad():
        for sentences in batches(trees.lengths, np.arange(len(trees))):
            heads = probe.predict(data.batch(sentences)).cpu().numpy()
            for place, number in enumerate(sentences):
                words = trees.words(int(number))
                found[words] = heads[place, : words.stop - words.start]
    return found
