"""What is kept on disk."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.probes.cache import Store, kept, restored
from headscope.errors import InputError, RefusedError

SIZES = np.array([3, 1, 4])
ARRAYS = [np.array([0.0, 0.25, 1.0]), np.array([0.5]), np.array([0.1, 0.2, 0.3, 0.4])]
CPU = torch.device("cpu")


def store(folder: Path, **identity: Any) -> Store:
    return Store(folder, "maps", SIZES, "float32", identity or {"model": "a"})


def stored(numbers: list[int]) -> list[np.ndarray]:
    return [kept(ARRAYS[number], "float32", "") for number in numbers]


def test_it_goes_on_where_it_was_left(tmp_path: Path) -> None:
    one = store(tmp_path)
    one.append(stored([0, 1]))
    (tmp_path / ".maps-00000002.1.safetensors").write_bytes(b"half of what was to come")
    two = store(tmp_path)
    assert two.done == 2
    two.append(stored([2]))
    for again in (two, store(tmp_path)):
        assert again.done == len(again) == 3
        assert again.nbytes == 8 * 4
        for number, array in enumerate(ARRAYS):
            np.testing.assert_array_equal(again.read(number), array.astype(np.float32))
        np.testing.assert_array_equal(again.read(2, 1, 2), np.float32([0.2, 0.3]))
    assert sorted(path.name for path in tmp_path.glob("maps*")) == [
        "maps-00000000.safetensors",
        "maps-00000002.safetensors",
    ]


def test_another_run_and_broken_files_are_refused(tmp_path: Path) -> None:
    store(tmp_path).append(stored([0, 1]))
    file = tmp_path / "maps-00000000.safetensors"
    with pytest.raises(
        InputError,
        match=rf"^{re.escape(str(file))}: is of another run: model: expected b, found a\. Give another",
    ):
        store(tmp_path, model="b")
    with pytest.raises(InputError, match=r"safetensors: expected sentences from 0 on, found others$"):
        Store(tmp_path, "maps", SIZES[1:], "float32", {"model": "a"})
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(InputError, match=rf"^{re.escape(str(file))}: expected [\d,]+ bytes, found [\d,]+$"):
        store(tmp_path)
    with pytest.raises(InputError, match="cannot be used"):
        store(file)
    file.unlink()
    assert store(tmp_path).done == 0


def test_what_an_earlier_version_kept_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "maps.json").write_text('{"identity": {"format": "headscope.probes/2"}, "done": 2}')
    (tmp_path / "maps.bin").write_bytes(bytes(16))
    with pytest.raises(
        InputError, match=r"maps.json: was kept by another version of headscope. Give another folder$"
    ):
        store(tmp_path)


@pytest.mark.slow
def test_a_flipped_bit_changes_no_figure(tmp_path: Path) -> None:
    """Wherever it is, one sentence names the file."""
    store(tmp_path).append(stored([0, 1, 2]))
    path = tmp_path / "maps-00000000.safetensors"
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in (0, 3, 6, 7):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            with pytest.raises(InputError, match=rf"^{re.escape(str(path))}: .*$"):
                store(tmp_path)
    path.write_bytes(whole)
    assert store(tmp_path).done == 3


def test_a_disk_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 1))
    with pytest.raises(
        InputError, match=r"expected 0.0 GB to be free for maps, found 0.0; use fewer sentences"
    ):
        store(tmp_path)


@given(st.lists(st.floats(0, 1), min_size=1))
@settings(deadline=None)
def test_maps_in_one_byte(values: list[float]) -> None:
    """√w in 255 steps: off by at most half a step of √w, and exact at 0 and 1."""
    found = restored(kept(np.array(values), "uint8", ""), CPU).double().numpy()
    np.testing.assert_allclose(np.sqrt(found), np.sqrt(values), atol=0.5 / 255 + 1e-6)
    assert restored(kept(np.array([0.0, 1.0]), "uint8", ""), CPU).tolist() == [0.0, 1.0]


def test_what_does_not_fit() -> None:
    with pytest.raises(RefusedError, match=r"hidden states: expected numbers that fit float16, found 1e\+05"):
        kept(np.array([1.0, -1e5]), "float16", "hidden states")
