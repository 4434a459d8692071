"""What heads do while a model trains: transformers' Trainer measures them, logs them and keeps them."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import transformers
import xarray as xr

from headscope.analyses.measure.run import measure
from headscope.analyses.roles.run import repeated_tokens
from headscope.attention.load import load
from headscope.attention.recording import evaluating
from headscope.core.heads import Head
from headscope.core.saving import replacing
from headscope.core.types import AnyPath
from headscope.core.validation import Count, Level, validated
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.measures.confidence import SYNTHETIC
from headscope.measures.dataset import measure_names
from headscope.measures.measure import Measure
from headscope.models import Model

_hub: Any = transformers

SEQUENCES = 8
"""Sequences of repeated random tokens that heads are measured on unless there is a corpus."""


def numbered(folder: Path, pattern: str) -> list[tuple[int, Path]]:
    """What in a folder has a name such as ``checkpoint-500``, by its number: the first group of a pattern."""
    inside = folder.iterdir() if folder.is_dir() else ()
    return sorted((int(match[1]), one) for one in inside if (match := re.fullmatch(pattern, one.name)))


def kept(folder: Path) -> list[tuple[int, Path]]:
    """The files of a folder that `callback` wrote, by their step."""
    return numbered(folder, r"step-(\d+)\.json")


def read(path: Path) -> xr.Dataset:
    """Figures that `callback` kept, as `headscope.measure` gives them."""
    try:
        figures: xr.Dataset = xr.Dataset.from_dict(json.loads(path.read_text(encoding="utf-8")))
        figures.attrs["meta"]
        return figures
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: expected figures that hs.callback kept, found {error}") from None


@validated
def callback(
    measures: Sequence[str | Measure] = tuple(SYNTHETIC),
    corpus: Corpus | Iterable[Example] | None = None,
    *,
    every: Count = 500,
    folder: AnyPath | None = None,
    share: Level | None = 0.02,
    limit: Count | None = None,
    batch_size: Count = 32,
) -> Any:
    """Measure every head while transformers' Trainer trains: ``Trainer(…, callbacks=[hs.callback()])``.

    Heads are measured at the first step and then each `every` steps, without dropout, on the module that trains;
    weights, random numbers and losses are what they are without it. The Trainer logs ``heads/MEASURE/L1H0``, wherever
    it logs the loss, and ``heads/share``, the share of the time that measuring took. The folder holds a file a step;
    ``headscope compare training FOLDER`` and `headscope.compare.training` read it.

    Args:
        measures: which measures, as `headscope.measure` takes them; by default ``induction``, ``duplicate`` and
            ``previous_token``.
        corpus: from `headscope.corpora`; by default 8 sequences of random tokens that come twice.
        every: steps from one measurement to the next.
        folder: where the files are kept; by default ``heads`` in the Trainer's output folder. Files of later steps
            there, of a run before, are removed.
        share: the most of the time since training began that measuring may take; a step at which the next measurement
            would take more is passed over. The first is always made. None: there is no bound.
        limit, batch_size: as in `headscope.measure`.

    Raises `InputError` when training begins with weights that are spread (FSDP, DeepSpeed).

    >>> hs.callback(["induction"], every=100).every
    100
    """
    corpus = corpus if corpus is None or isinstance(corpus, Corpus) else list(corpus)
    options = {"measures": list(measures), "limit": limit, "batch_size": batch_size}
    return _Heads(corpus, options, every, None if folder is None else Path(folder), share)


class _Heads(_hub.TrainerCallback):
    def __init__(
        self,
        corpus: Corpus | list[Example] | None,
        options: Mapping[str, Any],
        every: int,
        folder: Path | None,
        share: float | None,
    ) -> None:
        self.every = every
        self._corpus, self._options, self._folder, self._share = corpus, options, folder, share
        self._trainer: Any = None
        self._model: Model | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if args.fsdp or args.deepspeed:
            raise InputError("callback: expected a module whole on each device, found FSDP or DeepSpeed")
        if not state.is_world_process_zero:
            return
        self._trainer = _trainer()
        self._into = self._folder or Path(args.output_dir) / "heads"
        for step, path in kept(self._into):
            if step > state.global_step:
                path.unlink()
        self._began, self._last, self._step = time.perf_counter(), 0.0, -1
        with evaluating(kwargs["model"]):
            self._model = load((kwargs["model"], kwargs["processing_class"]))
            if self._corpus is None:
                self._corpus = repeated_tokens(self._model, sequences=SEQUENCES)
        self._spent = time.perf_counter() - self._began
        self._measure(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step % self.every == 0:
            self._measure(state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._measure(state.global_step)
        self._trainer = self._model = None

    def _measure(self, step: int) -> None:
        start = time.perf_counter()
        if self._model is None or step == self._step or not self._allowed(start):
            return
        assert self._corpus is not None
        with evaluating(self._model.module):
            figures = measure(self._model, self._corpus, **self._options)
        self._into.mkdir(parents=True, exist_ok=True)
        with replacing(self._into / f"step-{step}.json") as path:
            path.write_text(json.dumps(figures.to_dict()), encoding="utf-8")
        self._last, self._step = time.perf_counter() - start, step
        self._spent += self._last
        if self._trainer is not None:
            control, elapsed = self._trainer.control, time.perf_counter() - self._began
            due = control.should_log
            self._trainer.log({**_logged(figures), "heads/share": self._spent / elapsed})
            control.should_log = due  # logging clears it, and the loss of this step is yet to be logged

    def _allowed(self, now: float) -> bool:
        """Whether another measurement, as long as the last, keeps within the share of the time."""
        bound = self._share
        return self._step < 0 or bound is None or self._spent + self._last <= bound * (now - self._began)


def _logged(figures: xr.Dataset) -> dict[str, float]:
    layers: list[int] = figures["layer"].values.tolist()
    return {
        f"heads/{name}/{Head(layers[layer], head)}": value
        for name in measure_names(figures)
        for layer, row in enumerate(figures[name].values.tolist())
        for head, value in enumerate(row)
        if value == value
    }


def _trainer() -> Any:
    """The Trainer, which is above in the stack: callbacks are not given it, and its `log` is what reports get."""
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        owner = frame.f_locals.get("self")
        if hasattr(owner, "callback_handler") and hasattr(owner, "log"):
            return owner
        frame = frame.f_back
    return None
