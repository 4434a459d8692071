"""What is dear and the same in several tests, made once a run by the process that needs it first."""

from __future__ import annotations

import hashlib
import importlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock


def kept(path: Path, make: Callable[[], Any]) -> Any:
    """What a file holds, which this or another process has made."""
    with FileLock(f"{path}.lock"):
        if not path.exists():
            path.write_bytes(pickle.dumps(make()))
    return pickle.loads(path.read_bytes())


def few_repeats(patch: Callable[[Any, str, Any], None] = setattr) -> None:
    """From here on the roles of causal models are told from fewer repeats and needles than by default."""
    run = importlib.import_module("headscope.analyses.roles.run")
    for name, few in (("SEQUENCES", 16), ("NEEDLES", 4), ("NEEDLE_TEXT", 96)):
        patch(run, name, few)


def share_roles(folder: Path, patch: Callable[[Any, str, Any], None] = setattr) -> None:
    """From here on the heads of one model, by its weights, are tested against every role once for the same inputs.

    In batches of any size: that these do not matter has tests of its own.
    """
    run = importlib.import_module("headscope.analyses.roles.run")
    here = importlib.import_module("headscope.engines").Here
    tested = run._every_role

    def once(model: Any, corpus: Any, seed: int, through: Any, *given: Any) -> Any:
        if not isinstance(through.engine, here) or through.resume is not None or given != (run.measure, None):
            return tested(model, corpus, seed, through, *given)
        of = (model.name, model.notes, model.config, corpus.name, corpus.pack, list(corpus), seed)
        few = run.SEQUENCES if model.causal else None
        of = (*of, few, through.limit, through.skip_failures)
        return kept(folder / _key(model, of), lambda: tested(model, corpus, seed, through, *given))

    patch(run, "_every_role", once)


def share_graphs(folder: Path, patch: Callable[[Any, str, Any], None] = setattr) -> None:
    """From here on a model, by its weights, is exported once for the pages that carry it."""
    standalone = importlib.import_module("headscope.live.standalone")
    exported = standalone.graphs

    def once(model: Any, sample: Any) -> Any:
        of = (type(model.module), model.config, sorted(sample))
        return kept(folder / f"graphs {_key(model, of)}", lambda: exported(model, sample))

    patch(standalone, "graphs", once)


def _key(model: Any, of: object) -> str:
    """What names a model, by its weights, and what it is asked."""
    key = hashlib.sha256(repr(of).encode())
    for each in model.module.parameters():
        key.update(each.detach().numpy())
    return key.hexdigest()
