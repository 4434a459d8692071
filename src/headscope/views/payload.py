"""What travels from Python to the page.

The classes here are the wire: ``tools/protocol.py`` generates ``frontend/src/protocol.ts`` from them, so both
sides agree. A payload is plain JSON; arrays stand beside it as blobs, and `ArrayRef` says how to read one.
"""

from __future__ import annotations

import base64
import gzip
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from headscope.errors import ShapeError

DType = Literal["uint8", "int32", "float32", "float64"]
Encoding = Literal["plain", "sqrt"]


class ArrayRef(TypedDict):
    """An array in a blob: little-endian, in C order, gzip, base64.

    With the encoding "sqrt" a byte b stands for the weight (b / 255)², which is off by less than 0.004.
    """

    dtype: DType
    shape: list[int]
    encoding: Encoding
    data: str


class ModelInfo(TypedDict):
    """The model that was measured."""

    name: str
    layers: int
    heads: int
    parameters: int | None
    dtype: str | None
    causal: bool
    revision: str | None


class CorpusInfo(TypedDict):
    """What it was measured on.

    `shares` is the share of the tokens in each class, `split_words` the share of words in several pieces.
    """

    name: str
    documents: int | None
    examples: int | None
    tokens: int | None
    words: int | None
    split_words: float | None
    shares: dict[str, float]


class MeasureInfo(TypedDict):
    """One measure: its name, and how to read it."""

    name: str
    title: str
    description: str
    units: str
    by: str
    over: str
    source: str


class Absent(TypedDict):
    """A measure that does not apply to this model or corpus, and why."""

    measure: str
    reason: str


class Part(TypedDict):
    """A stretch of a sentence; with a layer and a head it is the name of that head."""

    text: str
    layer: int | None
    head: int | None


class ExampleInfo(TypedDict):
    """The maps of one input: an array [head query key] a layer, and the model's own index of each layer."""

    query: list[str]
    key: list[str]
    query_sequences: list[int] | None
    key_sequences: list[int] | None
    causal: bool
    index: list[int]
    layers: list[ArrayRef]


class ReportPayload(TypedDict):
    """The report page. `layers` and `heads` are the indices along the arrays' axes.

    `value`, `error` and `count` are [measure layer head], `chance` is [measure layer]; NaN: there is none.
    """

    kind: Literal["report"]
    version: Literal[1]
    title: str
    model: ModelInfo
    corpus: CorpusInfo
    measures: list[MeasureInfo]
    layers: list[int]
    heads: list[int]
    value: ArrayRef
    error: ArrayRef
    count: ArrayRef
    chance: ArrayRef
    summary: list[list[Part]]
    absent: list[Absent]
    examples: list[ExampleInfo]
    options: dict[str, str]
    versions: dict[str, str]
    command: str | None
    created: str | None
    seconds: float | None
    route: str | None


class Blobs:
    """The arrays of a payload, by name.

    >>> blobs = Blobs()
    >>> blobs.weights(np.eye(2))["encoding"]
    'sqrt'
    >>> list(blobs.texts)
    ['0']
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def plain(self, array: npt.ArrayLike, dtype: DType = "float64") -> ArrayRef:
        """Keep an array as it is."""
        return self._add(np.asarray(array), dtype, "plain")

    def weights(self, array: npt.ArrayLike, *, exact: bool = False) -> ArrayRef:
        """Keep attention weights: a byte of the root each (off by less than 0.004), or `exact` float32."""
        weights = np.asarray(array)
        if exact:
            return self._add(weights, "float32", "plain")
        if weights.size and not (weights.min() >= 0 and weights.max() <= 1 + 1e-3):
            raise ShapeError(
                f"weights: expected values from 0 to 1, found {weights.min():.4g} to {weights.max():.4g}"
            )
        codes = np.rint(255 * np.sqrt(np.minimum(weights, 1.0)))
        return self._add(codes, "uint8", "sqrt")

    def _add(self, array: npt.NDArray[Any], dtype: DType, encoding: Encoding) -> ArrayRef:
        name = str(len(self.texts))
        raw = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()
        self.texts[name] = base64.b64encode(gzip.compress(raw, 9, mtime=0)).decode("ascii")
        return {"dtype": dtype, "shape": list(array.shape), "encoding": encoding, "data": name}


def decode(ref: ArrayRef, texts: dict[str, str]) -> npt.NDArray[Any]:
    """The array that an `ArrayRef` stands for: what the page reads."""
    raw = gzip.decompress(base64.b64decode(texts[ref["data"]]))
    array = np.frombuffer(raw, np.dtype(ref["dtype"]).newbyteorder("<")).reshape(ref["shape"])
    return (array / 255.0) ** 2 if ref["encoding"] == "sqrt" else array
