"""Analyses that are sums over a corpus: of what makes their run, the public function, its estimate and its merge."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, cast

import xarray as xr

from headscope.analyses.options import with_options
from headscope.analyses.result import Result
from headscope.core.types import AnyPath
from headscope.core.validation import expect
from headscope.corpora import Corpus
from headscope.errors import HeadscopeWarning
from headscope.runs.long import Kind, Run

P = ParamSpec("P")


class LongRun(Protocol[P]):
    """A function that goes over a corpus and gives figures."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result:
        """The figures."""
        ...

    def estimate(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """One line that says what it will take with these arguments."""
        ...

    def merge(self, parts: Sequence[AnyPath]) -> xr.Dataset:
        """The figures of a whole corpus from the parts of all its shards; see `headscope.merge`."""
        ...


def long_run(kind: Kind[Any], **defaults: Any) -> Callable[[Callable[P, Run[Any]]], LongRun[P]]:
    """Of a function that makes a run of this kind, the one that runs it, with its ``estimate`` and ``merge``.

    The second argument is the corpus; ``**options`` become keyword arguments, as in
    `headscope.analyses.options.with_options`.
    """

    def decorate(make: Callable[P, Run[Any]]) -> LongRun[P]:
        made = with_options(**defaults)(make)
        signature = inspect.signature(made)

        @functools.wraps(made)
        def call(*args: P.args, **kwargs: P.kwargs) -> Result:
            return Result.of(made(*args, **kwargs).result())

        @functools.wraps(made)
        def estimate(*args: P.args, **kwargs: P.kwargs) -> str:
            with warnings.catch_warnings(action="ignore", category=HeadscopeWarning):  # the run says it
                run = made(*args, **kwargs)
            expect(list(signature.parameters)[1], run.corpus, Corpus)
            return run.estimate(cast("Corpus", run.corpus), cast("int | None", kwargs.get("limit")))

        for function, gives in ((call, Result), (estimate, str)):
            vars(function)["__signature__"] = signature.replace(return_annotation=gives.__name__)
            function.__annotations__ = {**function.__annotations__, "return": gives}
        estimate.__doc__ = f"One line that says what `{make.__name__}` will take with these arguments."
        vars(call).update(estimate=estimate, merge=kind.merge)
        return cast("LongRun[P]", call)

    return decorate
