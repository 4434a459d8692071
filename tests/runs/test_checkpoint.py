"""Runs that are killed, resumed, sharded and merged: the same bytes; and checkpoints that are not whole."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headscope.errors import HeadscopeWarning, InputError, RunError
from headscope.runs.checkpoint import Folder, Outcome, SentBlock, Shard
from headscope.runs.parts import merge_parts, write_part
from headscope.runs.reduce import Reduced, reduce
from headscope.runs.safefile import BrokenFileError, FormatError, decode, encode
from tests.helpers.toy_blocks import IDENTITY, Corpus, Numbers, alone, folder

HERE = Path(__file__).resolve().parents[1]


def reduced(
    corpus: Corpus,
    own: Folder[Numbers] | None = None,
    work: Callable[[SentBlock], Outcome[Numbers]] | None = None,
    **more: Any,
) -> Reduced[Numbers]:
    if own is not None:
        more = {"span": own.width, **more}
    return reduce(corpus, alone(work or corpus.work), folder=own, fingerprint=corpus.fingerprint, **more)


def run(corpus: Corpus, own: Folder[Numbers] | None = None, **more: Any) -> Outcome[Numbers]:
    if own is None:
        return reduced(corpus, **more).outcome
    with own:
        return reduced(corpus, own, **more).outcome


def same(a: Outcome[Numbers], b: Outcome[Numbers]) -> None:
    assert (a.sums is None) == (b.sums is None)
    assert a.failures == b.failures
    if a.sums is not None and b.sums is not None:
        assert a.sums.values.tobytes() == b.sums.values.tobytes()
        assert a.sums.names == b.sums.names


def part(path: Path, place: Path, corpus: Corpus, shard: Shard, **more: Any) -> Path:
    with folder(place, shard, **more) as own:
        found = reduced(corpus, own)
        figures = xr.Dataset({"sum": ("x", np.zeros(2))}, attrs={"meta": "{}"})
        write_part(path, figures, own, found, {"what": "toy"})
    return path


def merged(*paths: Path) -> Outcome[Numbers]:
    return merge_parts(paths, "toy", Numbers.from_arrays)[0]


class StopError(Exception):
    pass


def stopping(corpus: Corpus, at: int) -> Callable[[SentBlock], Outcome[Numbers]]:
    """As `Corpus.work`, but block `at` ends the run."""

    def work(block: SentBlock) -> Outcome[Numbers]:
        if block.number == at:
            raise StopError
        return corpus.work(block)

    return work


# --- any cut, any end: the same bytes


def test_the_order_of_additions_shows_in_the_digits() -> None:
    """Else these tests would say nothing."""
    corpus = Corpus(12)
    own = [corpus.work(block) for block in corpus]
    own = [one for one in own if one.sums is not None]
    backwards: Outcome[Numbers] = Outcome()
    for one in reversed(own):
        backwards = backwards.then(one)
    whole = run(Corpus(12)).sums
    assert backwards.sums.values.tobytes() != whole.values.tobytes()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    blocks=st.integers(0, 14),
    stops=st.lists(st.integers(0, 14), max_size=4),
    every=st.sampled_from([0.0, 1e9]),
    span=st.sampled_from([1, 3, 4]),
)
def test_any_ends_on_the_way_give_the_same_bytes(
    blocks: int, stops: list[int], every: float, span: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        done = 0
        for stop in stops:
            corpus = Corpus(blocks)
            with folder(Path(name), every=every, span=span) as own:
                try:
                    reduced(corpus, own, stopping(corpus, stop))
                    done = blocks
                except StopError:
                    done = max(done, stop)
        corpus = Corpus(blocks)
        same(run(corpus, folder(Path(name), every=every, span=span)), run(Corpus(blocks), span=span))
        assert corpus.worked == list(range(min(done, blocks), blocks))
        assert len(list(Path(name).glob("span-*"))) == -(-blocks // span)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    blocks=st.integers(1, 12),
    shards=st.integers(1, 5),
    stops=st.lists(st.integers(0, 12), min_size=5, max_size=5),
    seed=st.randoms(use_true_random=False),
    span=st.sampled_from([1, 3, 4]),
)
def test_any_shards_and_ends_merge_to_the_same_bytes(
    blocks: int, shards: int, stops: list[int], seed: random.Random, span: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        paths: list[Path] = []
        for number in range(1, shards + 1):
            shard, place = Shard(number, shards), Path(name) / str(number)
            corpus = Corpus(blocks)
            with folder(place, shard, span=span) as own:
                try:
                    reduced(corpus, own, stopping(corpus, stops[number - 1]))
                except StopError:
                    assert stops[number - 1] // span in shard
            again = Corpus(blocks)
            paths.append(part(Path(name) / f"{number}.nc", place, again, shard, span=span))
            assert sorted(corpus.worked + again.worked) == [n for n in range(blocks) if n // span in shard]
        seed.shuffle(paths)
        same(merged(*paths), run(Corpus(blocks), span=span))


def test_a_shard_that_goes_on_gives_what_it_gives_at_once(tmp_path: Path) -> None:
    """Its sums and its failures, in the order of its blocks, wherever it was stopped or lost a block."""
    whole = run(Corpus(30), folder(tmp_path / "whole", Shard(2, 2)))
    assert len(whole.failures) > 3
    place = tmp_path / "shard"
    run(Corpus(30), folder(place, Shard(2, 2)))
    for lost in (3, 11, 17, 29):
        (place / f"span-{lost:08d}.safetensors").unlink()
    corpus = Corpus(30)
    same(run(corpus, folder(place, Shard(2, 2))), whole)
    assert corpus.worked == [3, 11, 17, 29]


# --- kill -9


def worker(place: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(HERE / "helpers" / "toy_blocks.py"), str(place), *more]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src")}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def last_line(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return out.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kill -9")
@pytest.mark.parametrize(("shard", "wanted"), [((), 4), (("2/2", "7"), 2)], ids=["run", "shard of spans"])
def test_killed_at_random_moments(tmp_path: Path, shard: tuple[str, ...], wanted: int) -> None:
    """While it starts, between blocks and in them, while checkpoints are written, up to the end."""
    draw = random.Random(4)
    expected = last_line(worker(tmp_path / "whole", *shard))
    kills = place = 0
    while kills < wanted:
        for _ in range(draw.randint(2, 6)):
            process = worker(tmp_path / str(place), *shard)
            if draw.random() < 0.85:
                process.stdout.readline()  # the folder is open: from here on blocks are done
            time.sleep(draw.uniform(0, 0.15))
            if process.poll() is None:
                process.kill()
                kills += 1
            process.communicate()
            assert process.returncode in (0, -signal.SIGKILL)
        assert last_line(worker(tmp_path / str(place), *shard)) == expected
        place += 1


# --- what is not whole


def ready(place: Path, blocks: int = 6) -> list[Path]:
    """The checkpoints of a run of so many blocks, the newest last."""
    run(Corpus(blocks), folder(place))
    files = sorted(place.glob("span-*"))
    assert len(files) == blocks
    return files


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


BROKEN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "truncated": (lambda data: data[:-9], r"expected [\d,]+ bytes, found [\d,]+"),
    "truncated in its header": (lambda data: data[:99], r"expected at least [\d,]+ bytes, found 99"),
    "longer": (lambda data: data + b"x", r"expected [\d,]+ bytes, found [\d,]+"),
    "a flipped bit": (
        lambda data: flipped(data, len(data) - 5),
        r"expected the checksum \w{12}, found \w{12}",
    ),
    "a flipped bit of the text": (
        lambda data: flipped(data, data.index(b"toy")),
        r"expected the checksum \w{12}, found \w{12}",
    ),
    "empty": (lambda data: b"", r"expected a checkpoint \(headscope.checkpoint/4\), found an empty file"),
    "something else": (lambda data: b"PK\3\4 a zip file, say", "found something else"),
    "short": (lambda data: b"abc", "found something else"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_block_is_said_and_done_again(tmp_path: Path, name: str) -> None:
    shard = Shard(1, 2)
    run(Corpus(6), folder(tmp_path, shard))
    broken = tmp_path / "span-00000002.safetensors"
    change, message = BROKEN[name]
    broken.write_bytes(change(broken.read_bytes()))
    corpus = Corpus(6)
    with pytest.warns(HeadscopeWarning, match=rf"^\S*{broken.name}: .*{message}; block 2 is done again$"):
        run(corpus, folder(tmp_path, shard))
    assert corpus.worked == [2]


@pytest.mark.parametrize("end", range(9))
def test_a_span_is_one_unit_where_that_is_asked_for(tmp_path: Path, end: int) -> None:
    """The same bytes, also where a checkpoint ends in the midst of a span, whose other blocks then go alone."""
    sizes: list[int] = []

    def each(units: Any) -> Any:
        for unit in units:
            sizes.append(len(unit))
            yield next(alone(again.work)(iter([unit])))

    corpus, again = Corpus(11), Corpus(11)
    with folder(tmp_path, span=4) as own, suppress(StopError):
        reduced(corpus, own, stopping(corpus, end))
    with folder(tmp_path, span=4) as own:
        found = reduce(
            again, each, folder=own, span=4, fingerprint=again.fingerprint, together=lambda index: index > 0
        )
    same(found.outcome, run(Corpus(11), span=4))
    assert sizes == {0: [1] * 4 + [4, 3], 4: [4, 3], 8: [3]}.get(end, [1] * (-end % 4) + [4, 3][(end > 4) :])


def test_what_was_read_before_a_broken_input_is_kept(tmp_path: Path) -> None:
    """Where a unit is ahead of what is added, or has several blocks."""

    class Breaks(Corpus):
        def __iter__(self) -> Any:
            yield from list(super().__iter__())[:7]
            raise StopError

    corpus = Breaks(9)
    with folder(tmp_path, every=1e9, span=4) as own, pytest.raises(StopError):
        reduce(
            corpus,
            alone(corpus.work),
            folder=own,
            span=4,
            fingerprint=corpus.fingerprint,
            together=lambda _: True,
        )
    kept = [f"span-{index:08d}.safetensors" for index in range(2)]
    assert sorted(file.name for file in tmp_path.glob("span-*")) == kept
    same(run(Corpus(9), folder(tmp_path, span=4)), run(Corpus(9), span=4))


@settings(max_examples=60, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@example(place=0.76953125, bit=1)  # the comma between two offsets becomes a point
def test_no_flipped_bit_goes_unseen(place: float, bit: int) -> None:
    data = bytearray(encode({"a": np.arange(9.0), "b": np.array(["x", "ÿ"])}, {"sha256": "y"}))
    decode(bytes(data), "file")
    data[int(place * len(data))] ^= 1 << bit
    with pytest.raises((BrokenFileError, FormatError), match=r"^file: expected "):
        decode(bytes(data), "file")


def signed(data: bytes) -> bytes:
    """A file whose checksum is right, whatever it says."""
    place = data.find(b'"sha256":"') + 10
    blank = data[:place] + b"0" * 64 + data[place + 64 :]
    return data[:place] + hashlib.sha256(blank).hexdigest().encode() + data[place + 64 :]


@settings(max_examples=100, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), byte=st.binary(min_size=1, max_size=1))
def test_no_file_that_says_other_things_than_it_holds_is_believed(place: float, byte: bytes) -> None:
    """A header may say that an array has any shape."""
    data = bytearray(encode({"a": np.arange(9.0), "b": np.array(["x", "ÿ"])}, {"c": 1}))
    data[8 + int(place * (len(data) - 8))] = byte[0]
    with suppress(BrokenFileError, FormatError):
        arrays, _ = decode(signed(bytes(data)), "file")
        assert sum(array.nbytes for array in arrays.values()) <= len(data)


@pytest.mark.parametrize("name", ["identity", "circumstances", "failures", "read"])
def test_a_checkpoint_without_what_it_needs_is_broken(name: str, tmp_path: Path) -> None:
    run(Corpus(4), folder(tmp_path))
    for file in sorted(tmp_path.glob("span-*"))[:1]:
        arrays, described = decode(file.read_bytes(), "file")
        del described[name]
        file.write_bytes(encode(arrays, described))
    with pytest.warns(
        HeadscopeWarning, match=rf"expected a checkpoint .*KeyError: '{name}'; block 0 is done"
    ):
        run(Corpus(4), folder(tmp_path))


def test_arrays_and_strings_come_back_exactly() -> None:
    given_ = {
        "f": np.array([[np.nan, -0.0, np.inf], [1e-310, 0.1, 3]]).T,
        "scalar": np.array(2.5),
        "i": np.array([2**62]),
        "half": np.array([[0.1], [2]], np.float16),
        "bytes": np.array([7, 255], np.uint8),
        "rows": np.zeros((0, 3), np.float32),
        "b": np.array([True, False]),
        "s": np.array(["a", "", "é\n"]),
        "none": np.array([], np.str_),
    }
    found, about = decode(encode(given_, {"x": [1, None]}), "file")
    assert about == {"x": [1, None]}
    assert set(found) == set(given_)
    for name, array in given_.items():
        assert found[name].shape == array.shape
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes()


def test_numbers_of_the_other_byte_order_keep_their_values() -> None:
    found, _ = decode(encode({"a": np.array([1.5, -2], ">f8"), "n": np.array([3], ">i4")}, {}), "file")
    assert found["a"].tolist() == [1.5, -2]
    assert found["n"].tolist() == [3]


# --- what is of something else


@pytest.mark.parametrize("shard", [None, Shard(1, 2)], ids=["run", "shard"])
def test_another_run_is_refused_before_anything_is_done(tmp_path: Path, shard: Shard | None) -> None:
    run(Corpus(4), folder(tmp_path, shard))
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    for more, message in (
        ({"model": {"name": "toy", "weights": "abd"}}, "model.weights: expected abd, found abc$"),
        ({"versions": {"headscope": "2"}}, "versions.headscope: expected 2, found 1$"),
        (
            {"options": {"limit": 3}},
            "options.limit: expected 3, found none; options.by: expected none, found token$",
        ),
    ):
        with pytest.raises(InputError, match=rf"00\d\.safetensors: a checkpoint of another run: {message}"):
            folder(tmp_path, shard, **more)
    other = None if shard else Shard(2, 3)
    with pytest.raises(InputError, match=r"another run: shard: expected (none|2/3), found (1/2|none)$"):
        folder(tmp_path, other)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize(("shard", "other"), [(None, 0), (Shard(1, 2), 2)])
def test_other_inputs_are_refused(tmp_path: Path, shard: Shard | None, other: int) -> None:
    run(Corpus(6), folder(tmp_path, shard))
    corpus = Corpus(6, other=other)
    with pytest.raises(
        InputError, match=r"a checkpoint of other inputs: block.* of the corpus had the fingerprint"
    ):
        run(corpus, folder(tmp_path, shard))
    assert not corpus.worked
    if other == 0:
        assert corpus.looked == [0]


def test_what_is_done_or_of_others_is_not_read(tmp_path: Path) -> None:
    corpus = Corpus(9)
    run(corpus, folder(tmp_path / "1", Shard(2, 3)))
    assert (corpus.read, corpus.looked) == ([1, 4, 7], [1, 4, 7])
    run(Corpus(5), folder(tmp_path / "2"))
    corpus = Corpus(9)
    run(corpus, folder(tmp_path / "2"))
    assert (corpus.read, corpus.looked) == ([5, 6, 7, 8], [*range(9)])


def test_a_shorter_corpus_is_refused(tmp_path: Path) -> None:
    run(Corpus(6), folder(tmp_path))
    with pytest.raises(InputError, match=r"expected a corpus of at least 6 blocks, found 3$"):
        run(Corpus(3), folder(tmp_path))


def test_other_circumstances_are_said(tmp_path: Path) -> None:
    with Folder(tmp_path, IDENTITY, Numbers.from_arrays, circumstances={"threads": 2}, every=0) as own:
        reduced(Corpus(3), own)
    with (
        pytest.warns(HeadscopeWarning, match="the last digits may differ: threads: expected 4, found 2$"),
        Folder(tmp_path, IDENTITY, Numbers.from_arrays, circumstances={"threads": 4}) as own,
    ):
        assert own.span(2)[0] == 3


@pytest.mark.skipif(os.name == "nt", reason="locks")
def test_one_run_a_folder(tmp_path: Path) -> None:
    with folder(tmp_path), pytest.raises(InputError, match="another run is using this folder"):
        folder(tmp_path)
    folder(tmp_path).close()


# --- a full disk


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_checkpoint_before(
    tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(Corpus(4), folder(tmp_path))
    before = sorted(file.name for file in tmp_path.iterdir())

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    corpus = Corpus(9)
    with monkeypatch.context() as patch:
        patch.setattr(f"headscope.core.saving.os.{call}", full)
        with pytest.raises(
            RunError,
            match=r"^\S*span-00000004.safetensors: cannot be written \(No space left on device\); what was done before is kept in ",
        ):
            run(corpus, folder(tmp_path))
    assert sorted(file.name for file in tmp_path.iterdir()) == before
    again = Corpus(9)
    same(run(again, folder(tmp_path)), run(Corpus(9)))
    assert again.worked == [4, 5, 6, 7, 8]


# --- parts


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    return [part(tmp_path / f"{n}.nc", tmp_path / str(n), Corpus(7), Shard(n, 3)) for n in (1, 2, 3)]


def test_a_part_is_a_dataset_too(parts: list[Path]) -> None:
    with xr.open_dataset(parts[0], engine="h5netcdf") as found:
        assert list(found.data_vars) == ["sum"]


def test_missing_parts_are_named(parts: list[Path]) -> None:
    with pytest.raises(
        InputError,
        match=r"expected all 7 blocks, 2 are missing: 1, 4 \(the parts are of the shards 3/3, 1/3\)$",
    ):
        merged(parts[2], parts[0])


def test_blocks_in_two_parts_are_refused(parts: list[Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found block 0 \(shard 1/3\) in \S*1.nc as well$"):
        merged(*parts, parts[0])
    other = part(tmp_path / "half.nc", tmp_path / "half", Corpus(7), Shard(2, 2))
    with pytest.raises(
        InputError, match=r"half.nc: expected each block in one part, found block 1 \(shard 2/2\)"
    ):
        merged(parts[1], other)


def test_parts_of_other_runs_and_inputs_are_refused(parts: list[Path], tmp_path: Path) -> None:
    other = part(
        tmp_path / "o.nc", tmp_path / "o", Corpus(7), Shard(3, 3), model={"name": "other", "weights": "abc"}
    )
    with pytest.raises(
        InputError, match=r"o.nc: not of the same run as \S*1.nc: model.name: expected toy, found other$"
    ):
        merged(parts[0], parts[1], other)
    longer = part(tmp_path / "l.nc", tmp_path / "l", Corpus(8), Shard(3, 3))
    with pytest.raises(
        InputError, match=r"l.nc: not of the same inputs as \S*1.nc: blocks: expected 7, found 8$"
    ):
        merged(parts[0], longer)
    with pytest.raises(InputError, match=r"1.nc: expected a part of a run of distance, found one of toy$"):
        merge_parts(parts, "distance", Numbers.from_arrays)


def test_broken_parts_are_said(parts: list[Path], tmp_path: Path) -> None:
    whole = parts[1].read_bytes()
    parts[1].write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"2.nc: expected a part, found a broken file \(.*truncated"):
        merged(*parts)
    place = whole.rindex(b"\0\0\0\0\0\0\xf8\x7f") + 2  # in the numbers of a block
    parts[1].write_bytes(flipped(whole, place))
    with pytest.raises(InputError, match=r"2.nc: block \d: expected the checksum \w+, found \w+$"):
        merged(*parts)
    xr.Dataset({"a": ("x", [1.0])}).to_netcdf(parts[1], engine="h5netcdf")
    with pytest.raises(
        InputError, match=r"2.nc: expected a part, made with --shard, found a file without sums"
    ):
        merged(*parts)
    with pytest.raises(InputError, match=r"none.nc: no such file$"):
        merged(tmp_path / "none.nc")
    with pytest.raises(InputError, match="expected at least one file"):
        merged()


def header_of(path: Path, **more: Any) -> None:
    """Have the header of a part say something else."""
    with h5py.File(path, "a") as file:
        group: Any = file["blocks"]
        about = decode(group["header"][()].tobytes(), "header")[1]
        del group["header"]
        group["header"] = np.frombuffer(encode({}, {**about, **more}), np.uint8)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("blocks", "7", "header: expected a checkpoint .* found TypeError: blocks: '7'"),
        ("span", 0, "header: expected a checkpoint .* found ValueError: 3 spans of 0 of 7 blocks"),
        ("identity", [], "header: expected a checkpoint .* found TypeError"),
    ],
)
def test_a_header_that_is_none_is_said(name: str, value: Any, told: str, parts: list[Path]) -> None:
    header_of(parts[0], **{name: value})
    with pytest.raises(InputError, match=f"1.nc: {told}"):
        merged(*parts)


def test_a_header_of_very_many_blocks_is_no_list_of_them(parts: list[Path]) -> None:
    for path in parts:
        header_of(path, blocks=10**15)
    with pytest.raises(
        InputError, match=r"999,999,999,999,993 are missing: 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, …"
    ):
        merged(*parts)


def test_a_part_whose_sums_would_be_larger_than_it_is_not_read(parts: list[Path]) -> None:
    with h5py.File(parts[0], "a") as file:
        group: Any = file["blocks"]
        del group["00000000"]
        group.create_dataset("00000000", (10**13,), np.uint8, chunks=(4096,))
    with pytest.raises(
        InputError, match=r"1.nc: expected sums of at most [\d,]+ bytes, as the file has, found 10,000"
    ):
        merged(*parts)
