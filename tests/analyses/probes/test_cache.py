"""What is kept on disk."""

from __future__ import annotations

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
    with store(tmp_path) as one:
        one.append(stored([0]))
        one.append(stored([1]))
    path = tmp_path / "maps.bin"
    path.write_bytes(path.read_bytes() + b"half of what was to come")
    with store(tmp_path) as two:
        assert two.done == 2
        two.append(stored([2]))
        assert two.done == len(two) == 3
        assert path.stat().st_size == two.nbytes == 8 * 4
        for number, array in enumerate(ARRAYS):
            np.testing.assert_array_equal(two.read(number), array.astype(np.float32))
        np.testing.assert_array_equal(two.read(2, 1, 2), np.float32([0.2, 0.3]))


def test_another_run_and_broken_files_are_refused(tmp_path: Path) -> None:
    with store(tmp_path) as one:
        one.append(stored([0, 1]))
    about = tmp_path / "maps.json"
    with pytest.raises(
        InputError, match=r"maps.json: is of another run; expected the same model\. Give another"
    ):
        store(tmp_path, model="b")
    path = tmp_path / "maps.bin"
    path.write_bytes(path.read_bytes()[:5])
    with pytest.raises(InputError, match=r"maps.json: expected 2 sentences beside it, found 5 bytes"):
        store(tmp_path)
    about.write_text("[]")
    with pytest.raises(InputError, match=r"maps.json: expected what a probe wrote, found something else"):
        store(tmp_path)
    with pytest.raises(InputError, match="cannot be used"):
        store(about)


@pytest.mark.parametrize("done", [2, 3])
def test_a_flipped_bit_changes_no_figure(tmp_path: Path, done: int) -> None:
    """Wherever it is, in either file: what is read is what was written, or one sentence names the file."""
    with store(tmp_path) as one:
        one.append(stored([0, 1, 2][:done]))
    about, numbers = tmp_path / "maps.json", tmp_path / "maps.bin"
    refused = dict.fromkeys((about, numbers), 0)
    messages: list[str] = []
    for path in (about, numbers):
        whole = path.read_bytes()
        for place in range(len(whole)):
            for bit in (0, 3, 6, 7):
                path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
                try:
                    with store(tmp_path) as again:
                        assert again.done == done
                        for number, array in enumerate(ARRAYS[:done]):
                            np.testing.assert_array_equal(again.read(number), array.astype(np.float32))
                except InputError as error:
                    refused[path] += 1
                    messages.append(str(error))
        path.write_bytes(whole)
    assert all(message.startswith((str(about), str(numbers))) for message in messages)
    assert refused[numbers] == 4 * numbers.stat().st_size
    assert refused[about] > 3 * about.stat().st_size
    with store(tmp_path) as again:
        assert again.done == done


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
