"""What cannot be done is refused in one sentence on stderr, with the exit code that it deserves; never a traceback."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.io import wavfile

import headscope
from headscope import cli
from headscope.core.lazy import NO_DOCSTRINGS
from headscope.errors import RunError
from headscope.views.view import View
from tests.helpers import golden
from tests.helpers.patience import PATIENCE
from tests.helpers.small_models import save_gpt2, save_whisper
from tests.helpers.typed import Typed

CONFIGS: dict[str, Any] = {  # what stands in config.json instead
    "no-heads": {"n_head": 0},
    "heads-of-letters": {"n_head": "four"},
    "no-words": {"vocab_size": 0},
    "too-many-layers": {"n_layer": 100_000},
    "kind-is-a-number": {"model_type": 5},
    "class-is-a-number": {"architectures": 5},
    "padding-beyond-the-words": {"pad_token_id": 10**6},
    "width-that-no-head-divides": {"n_embd": 7},
}
FILES: dict[str, tuple[str, bytes]] = {
    "config-is-deep": ("config.json", b"[" * 100_000),
    "config-is-no-text": ("config.json", b"\xff\xfe\x00"),
    "tokenizer-is-deep": ("tokenizer.json", b"[" * 100_000),
    "tokenizer-settings-are-a-list": ("tokenizer_config.json", b"[]"),
    "weights-of-no-bytes": ("model.safetensors", b""),
}
VIEW = ("view", "The cat", "-m", "gpt2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model, and many that are broken, each in its own way."""
    folder = tmp_path_factory.mktemp("refusals")
    save_gpt2(folder / "gpt2", n_positions=64, bos_token_id=0, eos_token_id=0)
    for name in (*CONFIGS, *FILES, "pickle-of-no-bytes"):
        shutil.copytree(folder / "gpt2", folder / name)
    for name, changes in CONFIGS.items():
        config = folder / name / "config.json"
        config.write_text(json.dumps(json.loads(config.read_text()) | changes))
    for name, (file, content) in FILES.items():
        (folder / name / file).write_bytes(content)
    (folder / "pickle-of-no-bytes" / "model.safetensors").rename(
        folder / "pickle-of-no-bytes" / "pytorch_model.bin"
    )
    (folder / "pickle-of-no-bytes" / "pytorch_model.bin").write_bytes(b"")
    (folder / "a.txt").write_text("The cat sat on the mat.\n\nA dog ran.\n")
    for file, content in {
        "empty.txt": b"",
        "blank.txt": b"\n\n",
        "latin.txt": b"fine\ncaf\xe9\n",
        "bad.jsonl": b'{"text": 5}\n',
        "broken.jsonl": b'{"text": "a"}\n{"text": \n',
    }.items():
        (folder / file).write_bytes(content)
    (folder / "hollow").mkdir()
    (folder / "whisper").mkdir()
    save_whisper(folder / "whisper")
    wavfile.write(folder / "a.wav", 16_000, np.zeros(9_000, np.float32))
    (folder / "deep.jsonl").write_text("[" * 100_000)
    (folder / "t.conllu").write_text("1\tit\t_\tPRON\t_\t_\t0\troot\t_\t_\n\n")
    for file in ("pipe.txt", "pipe.tsv"):
        os.mkfifo(folder / file)
    weights = folder / "model.safetensors-folder" / "model.safetensors"
    shutil.copytree(folder / "gpt2", weights.parent)
    weights.unlink()
    weights.mkdir()
    rows = "a\tthe cat\nb\tthe dog\n" * 4
    (folder / "p.tsv").write_text(f"label\ttext\n{rows}")
    return folder


def test_calls_that_cannot_be_done(typed: Typed, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Of golden/refusals.txt: each ends in the sentence below it, and leaves nothing behind."""
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())

    def refused(call: str) -> str:
        out, said = typed(*shlex.split(call), code=2)
        assert (out, sorted(folder.iterdir())) == ("", before)
        *usage, last = said.splitlines()
        assert "Usage: " in usage[0] if usage else last.startswith("headscope: ")
        return last

    golden.check("refusals.txt", "$ headscope ", refused)


def test_a_model_that_cannot_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    class Broken(torch.nn.Module):
        main_input_name = "input_ids"

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            raise IndexError("index out of range in self")

    with pytest.raises(
        headscope.errors.RefusedError,
        match=r"Broken: does not run on input_ids \(1, 12\).* \(IndexError: index out of range in self\)",
    ):
        headscope.load(Broken())


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError("Unable to allocate 5.8 TiB"), "not enough memory (Unable to allocate 5.8 TiB); use smaller"),
        (OSError(28, "No space left on device", "view.html"), "view.html: No space left on device"),
        (KeyError("x"), "stopped by an error that it does not know (KeyError: 'x'); HEADSCOPE_TRACEBACK=1 shows where"),
        (type("PanicException", (BaseException,), {})("split"), "stopped by an error that it does not know (PanicException: split)"),
    ],
)  # fmt: skip
def test_what_nobody_foresaw(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, folder: Path, error: BaseException, sentence: str
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.chdir(folder)
    monkeypatch.setattr("headscope.live.view.view", fail)
    assert typed(*VIEW, code=1).err.startswith(f"headscope: {sentence}")
    monkeypatch.setenv("HEADSCOPE_TRACEBACK", "1")
    monkeypatch.setattr("sys.argv", ["headscope", *VIEW])
    with pytest.raises(type(error)):
        cli.main()


@pytest.mark.parametrize("suffix", [".html", ".svg"])
def test_a_full_disk_leaves_the_old_page_whole(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path, suffix: str
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full, a device without room")
    page = tmp_path / f"page{suffix}"
    page.write_text("the old page")
    (tmp_path / f".page.{os.getpid()}{suffix}").symlink_to("/dev/full")
    view = headscope.model_view(headscope.wrap(torch.full((1, 1, 2, 2), 0.5), ["a", "b"]))
    monkeypatch.setattr(View, "html", lambda self: "x" * 100_000)
    monkeypatch.setattr(View, "picture", lambda self, *_, **__: b"x" * 100_000)
    with pytest.raises(RunError, match=r"page\..*: cannot be written \(No space left on device\)"):
        view.save(page)
    assert page.read_text() == "the old page"


def test_a_file_whose_name_is_no_text(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path
) -> None:
    """Bytes that are no UTF-8, in what is read and what is written: also in the description within .nc."""
    monkeypatch.chdir(tmp_path)
    source, output = os.fsdecode(b"\xff.txt"), os.fsdecode(b"\xfe.nc")
    try:
        shutil.copy(folder / "a.txt", source)
    except OSError:
        pytest.skip("needs a file system that takes names of any bytes")
    typed("measure", source, "--pack", "32", "-m", str(folder / "gpt2"), "-o", output)
    with xr.open_dataset(output, engine="h5netcdf") as found:
        described = json.loads(found.attrs["meta"])
    assert described["command"].startswith(r"headscope measure \udcff.txt")


def start(code: str, folder: Path, *flags: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(headscope.__file__).resolve().parents[1])}
    return subprocess.Popen(
        [sys.executable, *flags, "-c", code], stderr=subprocess.PIPE, text=True, cwd=folder, env=environment
    )


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    code = "import os; os.rmdir(os.getcwd()); from headscope.cli import main; main()"
    (tmp_path / "gone").mkdir()
    done = start(code, tmp_path / "gone")
    _, said = done.communicate(timeout=PATIENCE)
    assert (
        said
        == "headscope: the current folder cannot be read (No such file or directory); change to another\n"
    )
    assert done.returncode == 2


def test_a_python_without_docstrings(tmp_path: Path) -> None:
    begin = "import sys; sys.argv = ['headscope', 'view', 'A text']; from headscope.cli import main; main()"
    done = start(begin, tmp_path, "-OO")
    _, said = done.communicate(timeout=PATIENCE)
    assert (done.returncode, said) == (2, f"headscope: {NO_DOCSTRINGS}\n")


def test_an_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as file:
        file.write(str(headscope.__file__), "headscope/__init__.py")
    done = start("import sys; sys.path.insert(0, 'all.zip'); import headscope", tmp_path)
    _, said = done.communicate(timeout=PATIENCE)
    assert "ImportError: headscope cannot be imported from an archive: unpack it (" in said


def test_stopped_while_it_starts(tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['headscope', 'check']; from headscope.cli import main; print('', file=sys.stderr, flush=True); main()"
    started = start(code, tmp_path)
    started.stderr.readline()
    time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=PATIENCE)
    assert "Traceback" not in said
    assert started.returncode == 130
    assert said == "headscope: stopped\n"
