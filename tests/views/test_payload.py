from __future__ import annotations

import base64
import gzip

import numpy as np
import protocol
import pytest

from headscope.errors import ShapeError
from headscope.views.blobs import Blobs, decode, lettered


def test_weights_travel_as_a_byte_of_the_root():
    weights = np.random.default_rng(0).dirichlet(np.full(64, 0.1), (2, 64)).astype(np.float32)
    blobs = Blobs()
    ref = blobs.weights(weights)
    assert (ref["dtype"], ref["encoding"], ref["shape"]) == ("uint8", "sqrt", [2, 64, 64])
    assert np.abs(decode(ref, blobs.texts) - weights).max() < 0.004


def test_exact_weights_travel_as_they_are():
    weights = np.random.default_rng(0).random((3, 5)).astype(np.float32)
    blobs = Blobs()
    ref = blobs.weights(weights, exact=True)
    assert ref["dtype"] == "float32"
    assert np.array_equal(decode(ref, blobs.texts), weights)


def test_numbers_keep_every_digit_and_their_gaps():
    array = np.array([[1 / 3, np.nan], [-1e-300, np.inf]])
    blobs = Blobs()
    assert np.array_equal(decode(blobs.plain(array), blobs.texts), array, equal_nan=True)


def test_bytes_are_little_endian_and_the_same_every_time():
    one, two = Blobs(), Blobs()
    ref = one.plain(np.array([1], dtype=">i4"), "int32")
    two.plain([1], "int32")
    assert one.texts == two.texts
    assert gzip.decompress(one.packed(ref["data"])) == b"\x01\x00\x00\x00"


def test_letters_are_base85_that_begins_no_tag():
    raw = np.random.default_rng(0).bytes(1003)
    assert b"<" in base64.b85encode(raw)
    for size in (*range(9), 1003):
        assert lettered(raw[:size]) == base64.b85encode(raw[:size]).decode().replace("<", ".")


def test_a_sliced_array_travels_in_its_own_order():
    array = np.arange(12.0).reshape(3, 4).T[::2]
    blobs = Blobs()
    assert np.array_equal(decode(blobs.plain(array), blobs.texts), array)


@pytest.mark.parametrize("scale", [None, 2.0])
def test_a_layer_of_large_heads_travels_a_head_at_a_time(scale: float | None):
    draw = np.random.default_rng(0)
    weights = (draw.random((5, 400, 400)) > 0.99).astype(np.float32)
    blobs = Blobs()
    ref = blobs.weights(weights) if scale is None else blobs.shares(scale * weights, scale, signed=True)
    assert np.abs(decode(ref, blobs.texts) - weights).max() < 0.004
    sizes = ref.get("pieces", [])
    assert len(sizes) == 5
    text, at = blobs.texts[ref["data"]], 0
    small = Blobs()
    for size, head in zip(sizes, weights, strict=True):
        letters = 5 * -(-size // 4)
        stream = base64.b85decode(text[at : at + letters].replace(".", "<"))
        alone = small.weights(head) if scale is None else small.shares(scale * head, scale, signed=True)
        assert gzip.decompress(stream[:size]) == gzip.decompress(small.buffers[alone["data"]])
        assert not any(stream[size:])
        at += letters
    assert at == len(text)


def test_many_small_heads_travel_together():
    ref = Blobs().weights(np.zeros((1024, 64, 64)))
    assert "pieces" not in ref


@pytest.mark.parametrize("wrong", [[-0.1, 0.5], [0.5, 1.5], [np.nan, 0.5]])
def test_what_is_no_weight_is_refused(wrong: list[float]):
    with pytest.raises(ShapeError, match="weights: expected values from 0 to 1, found"):
        Blobs().weights(wrong)


def test_a_row_that_rounds_above_one_is_taken():
    blobs = Blobs()
    assert decode(blobs.weights([1 + 1e-6]), blobs.texts)[0] == 1


def test_the_front_end_knows_this_wire(capsys: pytest.CaptureFixture[str]):
    assert protocol.main(["--check"]) == 0, capsys.readouterr().err
