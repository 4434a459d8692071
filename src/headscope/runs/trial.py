"""A run that is tried for some seconds, which tells how long all of it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from typing import Any

from tqdm import tqdm

from headscope.core.saving import Listener
from headscope.core.types import AnyPath

SECONDS = 10.0
"""So long a run is tried."""


class TrialEnded(BaseException):
    """Ends a trial, through all that handles errors."""


class Trial(Listener):
    """A run that is tried: it ends where its time is over, or where it would write the first file.

    Attributes:
        bars: of progress.
        bar: the outermost that had moved and not come to its end, where the time was over.
        model: the last one that was loaded.
        loading: seconds until then.
        seconds: of the run after that.
        complete: whether it came to its end.
    """

    def __init__(self) -> None:
        self.bars: list[TrialBar] = []
        self.bar: TrialBar | None = None
        self.model: Any = None
        self.loading, self.complete = 0.0, False
        self._begun = time.monotonic()

    def run(self, function: Callable[[], object]) -> None:
        """Try a function, which prints nothing."""
        import torch

        hook = torch.nn.modules.module.register_module_forward_pre_hook(
            lambda *_: self.model and self.check()
        )
        try:
            with self.on(), redirect_stdout(StringIO()), redirect_stderr(StringIO()), suppress(TrialEnded):
                function()
                self.complete = True
        finally:
            hook.remove()

    def loaded(self, model: Any) -> None:
        """Count from here on."""
        self.model, self.loading = model, self.loading + self.seconds
        self._begun = time.monotonic()

    def check(self) -> None:
        """End where the time is over."""
        if self.seconds > SECONDS:
            self.bar = next((bar for bar in self.bars if bar.rest and not bar.disable), None)
            raise TrialEnded

    @property
    def seconds(self) -> float:
        """Of the run so far."""
        return time.monotonic() - self._begun

    def writes(self, path: AnyPath) -> None:
        """End: the run has come to what it writes."""
        self.complete = True
        raise TrialEnded


class TrialBar(tqdm):  # pyright: ignore[reportMissingTypeArgument]
    """A bar of a trial, which nobody sees."""

    monitor_interval = 0

    def __init__(self, trial: Trial, **options: Any) -> None:
        super().__init__(**options, mininterval=0, miniters=1)  # pyright: ignore[reportUnknownMemberType]
        self._trial = trial
        trial.bars.append(self)

    @property
    def rest(self) -> float:
        """Seconds to go; 0 where that cannot be told."""
        done = self.n - self.initial
        return max(0.0, (self.total or 0) - self.n) * (time.time() - self.start_t) / done if done else 0.0

    def update(self, n: float | None = 1) -> bool | None:
        """Go on, while there is time."""
        moved = super().update(n)
        self._trial.check()
        return moved

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Show nothing."""
