"""The arrays of a payload, as they travel to the page."""

from __future__ import annotations

import base64
import gzip
import zlib
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from headscope.errors import ShapeError

DType = Literal["uint8", "int32", "float32", "float64"]
Encoding = Literal["plain", "sqrt", "signed"]


class ArrayRef(TypedDict):
    """An array in a blob: little-endian, in C order, gzip, and in a page `lettered`.

    An array of large heads comes in `pieces`, a gzip stream a head, so that a page unpacks only those it shows:
    each says how many bytes its stream has. Zeros fill up each stream to a multiple of four bytes, so that its
    letters stand apart too.

    With the encoding "sqrt" a byte b stands for the weight (b / 255)², which is off by less than 0.004. With
    "signed" it stands for ±((b - 127) / 127)², the sign that of b - 127: a share of a scale said beside it.
    """

    dtype: DType
    shape: list[int]
    encoding: Encoding
    data: str
    pieces: NotRequired[list[int]]


class Vectors(TypedDict):
    """Vectors ``[head token dim]`` in bytes: ``low + step · code``, `low` and `step` ``[head dim]``.

    Exact ones are float32 in `codes` with no `low` and `step`.
    """

    codes: ArrayRef
    low: ArrayRef | None
    step: ArrayRef | None


# Bytes of a head from which an array of heads comes in pieces.
_LARGE = 2**17
_LETTERS = np.frombuffer(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;.=>?@^_`{|}~", np.uint8
)


class Blobs:
    """The arrays of a payload, by name.

    >>> blobs = Blobs()
    >>> blobs.weights(np.eye(2))["encoding"]
    'sqrt'
    >>> list(blobs.texts)
    ['0']
    """

    def __init__(self) -> None:
        self.buffers: dict[str, bytes] = {}

    @property
    def texts(self) -> dict[str, str]:
        """What stands in a page: each buffer in letters."""
        return {name: lettered(buffer) for name, buffer in self.buffers.items()}

    def packed(self, name: str) -> bytes:
        """What travels of an array. Raises `KeyError` for one that is not there."""
        return self.buffers[name]

    def plain(self, array: npt.ArrayLike, dtype: DType = "float64") -> ArrayRef:
        """Keep an array as it is."""
        return self._add(np.asarray(array), dtype, "plain")

    def weights(self, array: npt.ArrayLike, *, exact: bool = False) -> ArrayRef:
        """Keep attention weights: a byte of the root each (off by less than 0.004), or `exact` float32."""
        weights = np.asarray(array)
        if exact:
            return self._add(weights, "float32", "plain", heads=True)
        if weights.size and not (weights.min() >= 0 and weights.max() <= 1 + 1e-3):
            raise ShapeError(
                f"weights: expected values from 0 to 1, found {weights.min():.4g} to {weights.max():.4g}"
            )
        return self._add(np.rint(255 * np.sqrt(np.minimum(weights, 1.0))), "uint8", "sqrt", heads=True)

    def shares(self, array: npt.ArrayLike, scale: float, *, signed: bool, exact: bool = False) -> ArrayRef:
        """Keep values as shares of `scale`, their largest magnitude: a byte each, or `exact` float32."""
        values = np.asarray(array) / scale
        if exact:
            return self._add(values, "float32", "plain", heads=True)
        if not signed:
            return self.weights(values)
        codes = 127 + np.rint(127 * np.sign(values) * np.sqrt(np.minimum(np.abs(values), 1.0)))
        return self._add(codes, "uint8", "signed", heads=True)

    def vectors(self, array: npt.ArrayLike, *, exact: bool = False) -> Vectors:
        """Keep vectors ``[head token dim]``: 256 steps over the range of each neuron, or `exact` float32."""
        vectors = np.asarray(array, np.float32)
        if exact:
            return {"codes": self._add(vectors, "float32", "plain"), "low": None, "step": None}
        low, high = vectors.min(1, keepdims=True), vectors.max(1, keepdims=True)
        step = np.maximum((high - low) / 255.0, 1e-12)
        codes = np.rint((vectors - low) / step)
        return {
            "codes": self._add(codes, "uint8", "plain"),
            "low": self.plain(low[:, 0], "float32"),
            "step": self.plain(step[:, 0], "float32"),
        }

    def _add(
        self, array: npt.NDArray[Any], dtype: DType, encoding: Encoding, *, heads: bool = False
    ) -> ArrayRef:
        name = str(len(self.buffers))
        raw = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<"))
        ref: ArrayRef = {"dtype": dtype, "shape": list(array.shape), "encoding": encoding, "data": name}
        self.buffers[name] = self._packed(raw, ref, heads)
        return ref

    def _packed(self, raw: npt.NDArray[Any], ref: ArrayRef, heads: bool) -> bytes:
        """The bytes of an array; an array of large heads is told in pieces."""
        if heads and raw.ndim == 3 and raw.nbytes >= _LARGE * max(1, len(raw)):
            streams = [_squeezed(head) for head in raw]
            ref["pieces"] = [len(stream) for stream in streams]
            return b"".join(stream + bytes(-len(stream) % 4) for stream in streams)
        return _squeezed(raw)


def lettered(raw: bytes) -> str:
    """Bytes as they stand in a script element: Python's base85, a dot for its <, so that no tag can begin.

    >>> lettered(b"a page")
    'VIXi}XJr'
    """
    # As base64.b85encode, which takes seven times as long.
    words = np.frombuffer(raw + bytes(-len(raw) % 4), ">u4").astype(np.uint32)
    digits = np.empty((len(words), 5), np.uint8)
    for place in range(4, -1, -1):
        words, digits[:, place] = np.divmod(words, np.uint32(85))
    return _LETTERS[digits].tobytes()[: -(-len(raw) * 5 // 4)].decode("ascii")


def _squeezed(array: npt.NDArray[Any]) -> bytes:
    """An array in gzip. Bytes hardly repeat, as weights: with few matches they are smaller, and found sooner."""
    if array.itemsize > 1:
        return gzip.compress(array.tobytes(), 6, mtime=0)
    packer = zlib.compressobj(5, zlib.DEFLATED, 16 + zlib.MAX_WBITS, 7, zlib.Z_FILTERED)
    return packer.compress(array.tobytes()) + packer.flush()


class LiveBlobs(Blobs):
    r"""Arrays that are packed when they are asked for, by one who is near: `buffers` holds them as they are.

    >>> blobs = LiveBlobs()
    >>> ref = blobs.weights(np.eye(2))
    >>> gzip.decompress(blobs.packed(ref["data"]))
    b'\xff\x00\x00\xff'
    """

    def _packed(self, raw: npt.NDArray[Any], ref: ArrayRef, heads: bool) -> bytes:
        return raw.tobytes()

    def packed(self, name: str) -> bytes:
        """What travels of an array. Raises `KeyError` for one that is not there."""
        return gzip.compress(self.buffers[name], 1, mtime=0)


def decode(ref: ArrayRef, texts: dict[str, str]) -> npt.NDArray[Any]:
    """The array that an `ArrayRef` stands for: what the page reads."""
    raw = gzip.decompress(base64.b85decode(texts[ref["data"]].replace(".", "<")))
    array = np.frombuffer(raw, np.dtype(ref["dtype"]).newbyteorder("<")).reshape(ref["shape"])
    if ref["encoding"] == "signed":
        share = (array - 127.0) / 127.0
        return np.sign(share) * share**2
    return (array / 255.0) ** 2 if ref["encoding"] == "sqrt" else array
