"""Surface measures of queries and keys that were recorded elsewhere: sums over rows, no map is ever whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import headscope
from headscope.attention.qkfile import open_qk as open_qk
from headscope.attention.recorded import Recorded
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.measures.choose import choose
from headscope.measures.dataset import dataset
from headscope.measures.measure import Measure
from headscope.measures.sums import Documents, Sums
from headscope.runs.rows import RowSums

if TYPE_CHECKING:
    import xarray as xr


@validated
def measure_qk(
    recorded: Recorded | Iterable[Recorded], *, measures: Sequence[str | Measure] | None = None
) -> xr.Dataset:
    """Measures of every head of what `headscope.from_qk` or `headscope.open_qk` gave, as `headscope.measure` has them.

    Args:
        recorded: one input, or any number of the same model, each of which is one document: a generator is asked for
            one after another, and nothing is kept of it but sums. Standard errors need two.
        measures: names, or measures of your own, of the weights; by default the group ``surface``.

    Raises:
        InputError: queries of some tokens only, as of one step of decoding; a measure that needs the model (gradients,
            norms).

    >>> recorded = hs.from_qk(np.zeros((1, 2, 3, 4)), np.zeros((1, 1, 3, 4)), tokens=["a", "b", "c"])
    >>> hs.measure_qk(recorded, measures=["previous"])["previous"].values.round(3).tolist()
    [[0.417, 0.417]]
    """
    chosen = choose(measures)
    if other := [one.name for one in chosen if one.matrix != "weights"]:
        raise InputError(
            f"measures: expected those of attention weights, found {other[0]}, which needs the model"
        )
    total: Sums | None = None
    meta: AnyDict = {}
    causal = False
    for place, one in enumerate([recorded] if isinstance(recorded, Recorded) else recorded):
        sums = sums_of(one, chosen, place)
        causal, meta = one.causal, meta or dict(one.meta)
        total = sums if total is None else total + sums
    if total is None:
        raise InputError("recorded: expected at least one input, found none")
    return figures(total, chosen, causal=causal, meta=meta)


def figures(
    sums: Sums, measures: Sequence[Measure], *, causal: bool = True, meta: AnyMapping | None = None
) -> xr.Dataset:
    """The figures of sums (`sums_of`), added up over inputs."""
    model = {"layers": len(sums.layers), "heads": sums.s.shape[2], "causal": causal}
    described = {"model": model, "versions": {"headscope": headscope.__version__}, **(meta or {})}
    return dataset(sums, measures, causal=causal, meta=described)


def sums_of(recorded: Recorded, measures: Sequence[Measure], document: int = 0) -> Sums:
    """The sums over rows of one input, which add up to those of many.

    Raises `InputError` where not every token has a query.
    """
    if len(recorded.query) != len(recorded.key) or recorded.kind == "cross":
        raise InputError(
            f"{recorded!r}: expected self-attention with a query for each key; of some queries take() makes the rows"
        )
    rows = RowSums(recorded, measures, [recorded.query], 0.0, Counter())
    for place in range(len(recorded)):
        rows.reduce(recorded.record(place))
    measured = rows.close()
    if not measured.finite.all():
        raise InputError(f"{recorded!r}: expected finite figures, found others")
    documents = Documents([measure.name for measure in measures])
    documents.add(
        document, recorded.query, measured.layers, measured.sums[0], measured.chance[0], measured.divisors[0]
    )
    return documents.close()
