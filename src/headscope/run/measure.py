"""Measure every head of a model over a corpus of any size, and say beforehand what that will take."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal

import numpy as np
import torch
import transformers
import xarray as xr
from tqdm import tqdm

import headscope
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.measures.choose import choose
from headscope.measures.dataset import dataset
from headscope.measures.measure import Measure
from headscope.measures.sums import By, Sums
from headscope.measures.surface import Preset
from headscope.models import Model
from headscope.run.stream import Task

SAMPLE = 512
"""How many inputs an estimate reads; what is beyond it tells from the size of the files."""


def measure(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    measures: Sequence[str | Measure] | None = None,
    by: Literal["token", "document"] = "token",
    preset: Preset | None = None,
    batch_size: int = 32,
    limit: int | None = None,
    progress: bool = False,
    command: str = "",
) -> xr.Dataset:
    """Surface measures of every head over a corpus, with errors and chance (Clark et al. 2019, section 3).

    The model runs its own fused attention, and statistics of rows are computed exactly beside it, without the
    map, in memory that depends neither on the corpus nor on the square of an input's length.

    Args:
        model: from `headscope.load`. Of an encoder-decoder the encoder is measured.
        corpus: from `headscope.corpora`, or examples that have their tokens.
        measures: names (see `headscope.measures.surface`), such as ``previous``, ``entropy``, ``offset-2`` or
            ``to_<class>``; by default all that have a name of their own.
        by: average over tokens, or over documents' means.
        preset: ``clark2019`` computes what the released code of that paper does: token types all 0, means of
            inputs and then over inputs, offsets over all rows, smoothed entropies, punctuation "." and ",".
        batch_size: inputs in a batch, at most; long ones come in fewer.
        limit: measure at most this many inputs.
        progress: show progress on stderr.
        command: what was typed, for the record.

    Returns:
        A dataset over ``(layer, head)``: ``m``, ``m_se`` (standard error, clustered by document), ``m_n`` and
        ``m_chance`` (uniform attention over the visible keys, ``(layer)``) for each measure m.
        ``attrs["meta"]`` holds as JSON what made it, and under ``absent`` why a measure has no figures.

    Raises:
        InputError: an unknown measure, or none that says anything here.
        CorpusError: a broken corpus, with file and line.
        RunError: the model failed on an input, which the message names.
    """
    chosen = choose(measures, preset)
    if by not in ("token", "document") or (preset is not None and by == "document"):
        expected = "token (the preset averages over inputs)" if preset else "token or document"
        raise InputError(f"by: expected {expected}, found {by!r}")
    for name, value in (("batch_size", batch_size), ("limit", limit)):
        if value is not None and value < 1:
            raise InputError(f"{name}: expected at least 1, found {value}")
    if all(measure.absent(model.causal) for measure in chosen):
        raise InputError(f"measures: {chosen[0].name}: {chosen[0].absent(model.causal)}")
    unit: By = by if preset is None else "segment"
    task = Task(model, chosen, unit, preset)
    started = time.monotonic()
    total: Sums | None = None
    with _bar(corpus, limit, progress) as done:
        for sums in task.sums(_examples(model, corpus, limit), batch_size, done):
            total = sums if total is None else total + sums
    if total is None:
        raise InputError("corpus: expected at least one input, found none")
    pack = corpus.pack if isinstance(corpus, Corpus) else None
    options = {"by": unit, "preset": preset, "limit": limit, "batch_size": batch_size, "pack": pack}
    meta = _described(model, corpus)
    meta["model"] |= {"layers": len(total.layers), "heads": total.s.shape[2]}
    meta["options"] = {name: value for name, value in options.items() if value is not None}
    meta |= {"command": command, "seconds": round(time.monotonic() - started, 3), "route": task.route}
    return dataset(total, chosen, by=unit, causal=model.causal, meta=meta)


def estimate(
    model: Model,
    corpus: Corpus,
    *,
    measures: Sequence[str | Measure] | None = None,
    batch_size: int = 32,
    limit: int | None = None,
) -> str:
    """One line that says what `measure` will take, told from the first inputs.

    Args:
        model, corpus, measures, batch_size, limit: as in `measure`.
    """
    stream = _examples(model, corpus, limit)
    sample = list(islice(stream, SAMPLE))
    inputs, tokens = len(sample), sum(len(example.tokens or ()) for example in sample)
    if not inputs:
        raise InputError("corpus: expected at least one input, found none")
    known = "" if next(stream, None) is None else "about "
    size = corpus.size_hint()
    if known and size:
        factor = max(1.0, size / max(1, corpus.bytes_read))
        factor = min(factor, limit / inputs) if limit else factor
        inputs, tokens = round(inputs * factor), round(tokens * factor)
    elif known:
        rest = [len(example.tokens or ()) for example in stream]
        inputs, tokens, known = inputs + 1 + len(rest), tokens + sum(rest), ""
    speed = _tokens_a_second(Task(model, choose(measures)), sample, batch_size)
    noun = "input" if inputs == 1 else "inputs"
    return (
        f"{known}{inputs:,} {noun}, {tokens:,} tokens: about {_duration(tokens / speed)} on {model.device} "
        f"and {_peak_memory(model)} of memory, whatever the size of the corpus"
    )


def _tokens_a_second(task: Task, sample: Sequence[Example], batch_size: int) -> float:
    """How fast the first inputs go, after a first run that warms up."""
    ready = [example for example in sample if example.tokens is not None][:batch_size]
    for _ in task.sums(ready[:1]):
        pass
    started = time.perf_counter()
    for _ in task.sums(ready, batch_size):
        pass
    return sum(len(example.tokens or ()) for example in ready) / (time.perf_counter() - started)


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{max(1, round(seconds))} s"


def _peak_memory(model: Model) -> str:
    """The most memory that the process has used so far."""
    if model.device.type == "cuda":
        return f"{torch.cuda.max_memory_allocated(model.device) / 1e9:.1f} GB"
    try:
        import resource
    except ImportError:  # Windows
        return f"{4 * model.parameters / 1e9 + 0.5:.1f} GB"
    scale = 1 if sys.platform == "darwin" else 1024
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e9:.1f} GB"


def _examples(model: Model, corpus: Corpus | Iterable[Example], limit: int | None) -> Iterator[Example]:
    return islice(corpus.encoded(model) if isinstance(corpus, Corpus) else iter(corpus), limit)


def _described(model: Model, corpus: Corpus | Iterable[Example]) -> dict[str, Any]:
    """What made the figures, but for the run itself."""
    named: dict[str, Any] = {"name": "examples"}
    if isinstance(corpus, Corpus):
        named = {"name": corpus.name, "cuts": corpus.counts.cuts, "empty": corpus.counts.empty}
    return {
        "model": {
            "name": model.name,
            "revision": model.revision,
            "parameters": model.parameters,
            "dtype": str(model.dtype).removeprefix("torch."),
            "causal": model.causal,
            "device": str(model.device),
            "notes": list(model.notes),
        },
        "corpus": named,
        "versions": {
            "headscope": headscope.__version__,
            "torch": str(torch.__version__),
            "transformers": transformers.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@contextmanager
def _bar(corpus: object, limit: int | None, shown: bool) -> Generator[Callable[[int], None]]:
    """Progress on stderr: by inputs where a limit is known, else by the bytes of the files."""
    size = corpus.size_hint() if isinstance(corpus, Corpus) and limit is None else None
    unit = {"unit": "B", "unit_scale": True} if size else {"unit": " inputs"}
    bar = tqdm(total=size or limit, desc="measuring", disable=not shown, delay=1, leave=False, **unit)  # pyright: ignore[reportArgumentType, reportCallIssue]
    read = 0

    def done(count: int) -> None:
        nonlocal read
        read += count
        if size and isinstance(corpus, Corpus):
            bar.set_postfix_str(f"{read:,} inputs", refresh=False)
            bar.update(corpus.bytes_read - bar.n)
        else:
            bar.update(count)

    with bar:
        yield done
