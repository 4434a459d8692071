"""What cannot be done is refused in one sentence on stderr, with the exit code that it deserves; never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
import xarray as xr

import headscope
from headscope import cli
from headscope.core.lazy import NO_DOCSTRINGS
from headscope.errors import RunError
from headscope.views.view import View
from tests.helpers.patience import PATIENCE
from tests.helpers.small_models import save_gpt2
from tests.helpers.typed import Typed

CONFIGS: dict[str, Any] = {  # what stands in config.json instead
    "no-heads": {"n_head": 0},
    "heads-of-letters": {"n_head": "four"},
    "no-words": {"vocab_size": 0},
    "fewer-than-no-layers": {"n_layer": -1},
    "too-many-layers": {"n_layer": 100_000},
    "size-of-letters": {"n_embd": "x"},
    "kind-is-a-number": {"model_type": 5},
    "class-is-a-number": {"architectures": 5},
    "padding-beyond-the-words": {"pad_token_id": 10**6},
    "padding-below-the-words": {"pad_token_id": -5},
    "no-positions": {"n_positions": -1},
    "no-such-activation": {"activation_function": "nope"},
    "width-that-no-head-divides": {"n_embd": 7},
}
FILES: dict[str, tuple[str, bytes]] = {
    "config-is-a-list": ("config.json", b"[1]"),
    "config-is-deep": ("config.json", b"[" * 100_000),
    "config-is-no-text": ("config.json", b"\xff\xfe\x00"),
    "tokenizer-is-deep": ("tokenizer.json", b"[" * 100_000),
    "tokenizer-is-empty": ("tokenizer.json", b"{}"),
    "tokenizer-settings-are-a-list": ("tokenizer_config.json", b"[]"),
    "weights-of-no-bytes": ("model.safetensors", b""),
}
VIEW, MEASURE = ("view", "The cat"), ("measure", "a.txt", "--pack", "32", "-m", "gpt2")

CALLS: list[tuple[tuple[str, ...], str]] = [
    ((*VIEW, "-m", "a@b@c"), "expected a folder, or a hub name"),
    ((*VIEW, "-m", "x:y"), "expected a folder, or a hub name"),
    ((*VIEW, "-m", "a\nb"), r"such as owner/name, found 'a\nb'"),
    ((*VIEW, "-m", "x" * 5000), "(File name too long)"),
    ((*VIEW, "-m", "a/" + "b" * 200), "of at most 96 letters"),
    ((*VIEW, "-m", "ünï/mödel"), "expected a folder, or a hub name"),
    ((*VIEW, "-m", "@main"), "expected a folder, or a hub name"),
    ((*VIEW, "-m", ""), "found an empty string"),
    *[((*VIEW, "-m", "gpt2", "--device", name), "device: expected one that is here (cpu") for name in
      ("cuda:99", "xyz", "meta", "", "cuda:-3")],
    ((*VIEW, "-m", "gpt2", "--dtype", "int8"), "dtype: expected one of float32"),
    ((*VIEW, "-m", "gpt2", "--untrained", "-1"), "untrained: expected a seed from 0 to 4294967295, found -1"),
    ((*VIEW, "-m", "gpt2", "--untrained", "9" * 25), "untrained: expected a seed"),
    ((*VIEW, "-m", "gpt2", "--layer", "9" * 30), "layer takes 0, 1"),
    ((*VIEW, "-m", "gpt2", "--head", "-1"), "expected a head such as 'L7H9' or '7-9', found '-1'"),
    ((*VIEW, "-m", "gpt2", "-o", "x" * 400 + ".html"), "cannot be written (File name too long)"),
    ((*VIEW, "-m", "gpt2", "-o", "none/a.html"), "cannot be written (no such folder)"),
    ((*VIEW, "-m", "gpt2", "-o", "."), "expected a name that ends in"),
    ((*MEASURE, "--limit", "-1"), "limit: expected at least 1, found -1"),
    ((*MEASURE, "--limit", "9" * 30), "limit: expected at most"),
    ((*MEASURE, "--batch-size", "0"), "batch_size: expected at least 1, found 0"),
    ((*MEASURE, "-o", "x" * 400 + ".csv"), "cannot be written (File name too long)"),
    (("distance", "a.txt", "-m", "gpt2", "--seed", "-1"), "seed: expected a seed from 0 to 4294967295, found -1"),
    (("roles", "a.txt", "-m", "gpt2", "--seed", "9" * 30), "seed: expected a seed from 0 to"),
    (("probe", "a.conllu", "b.conllu", "--seed", "-1"), "seed: expected a seed from 0 to"),
    (("compare", "groups", "p.tsv", "--permutations", "9" * 14), "permutations: expected at most 1,000,000"),
    (("compare", "groups", "p.tsv", "--permutations", "-1"), "permutations: expected at least 20,000, found -1"),
    (("merge", "a.txt", "-o", "x.nc"), "a.txt: expected a part, found a broken file"),
    (("check", "no-heads"), "config.json: num_attention_heads: expected at least 1, found 0"),
    (("check", "heads-of-letters"), "Field 'n_head' expected int, got str"),
    (("check", "no-words"), "config.json: vocab_size: expected at least 1, found 0"),
    (("check", "fewer-than-no-layers"), "config.json: num_hidden_layers: expected 1 to 10,000, found -1"),
    (("check", "too-many-layers"), "config.json: num_hidden_layers: expected 1 to 10,000, found 100,000"),
    (("check", "size-of-letters"), "Field 'n_embd' expected int, got str"),
    (("check", "kind-is-a-number"), "kind-is-a-number: cannot be loaded"),
    (("check", "class-is-a-number"), "architectures"),
    *[(("check", name), f"{name}: cannot be loaded") for name in FILES],
    (("check", "pickle-of-no-bytes"), "pickle-of-no-bytes: cannot be loaded (a file ends too early)"),
]  # fmt: skip


OPTIONS: dict[tuple[str, ...], dict[str, list[tuple[str, str]]]] = {
    MEASURE: {
        "--limit": [("0", "at least 1"), ("x", "valid int"), ("1.5", "valid int")],
        "--batch-size": [("x", "valid int"), ("-1", "at least 1")],
        "--measures": [("nope", "expected surface"), ("", "expected surface"), (",", "expected surface"),
                       ("file.py:x", "file.py: no such file"), ("nope:x", "cannot be run"), ("offset+" + "9" * 20, "expected surface")],
        "--by": [("x", "is not one of"), ("", "is not one of")],
        "--preset": [("x", "is not")],
        "--pack": [("3", "at least 8 tokens"), ("-1", "at least 8 tokens"), ("x", "valid int"), ("9" * 12, "at most the 64 tokens")],
        "--shard": [("9/8", "expected"), ("x", "expected"), ("0/0", "expected")],
        "--resume": [("a.txt", "cannot be used for checkpoints"), ("a.txt/x", "cannot be used for checkpoints")],
        "-o": [("none/x.csv", "no such folder"), ("x.jpg", "expected a name that ends in"), (".", "expected")],
        "--meta": [("none/x.json", "no such folder"), (".", "a folder")],
        "--objective": [("x", "expected natural"), ("logit:x", "expected natural"), ("causal-lmm", "expected natural")],
        "--documents": [("page", "expected blank or line or file")],
        "--format": [("x", "is not one of")],
        "--device": [("tpu:9", "expected one that is here")],
        "--revision": [("x", "expected the name of a model on the hub beside it")],
        "--untrained": [("x", "valid int")],
        "--nope": [("x", "No such option")],
    },
    ("compare", "groups", "p.tsv", "-m", "gpt2"): {
        "--level": [(value, "level: expected a number between 0 and 1") for value in ("0", "1", "2", "-1", "nan", "inf")],
        "--permutations": [("5", "at least 20,000"), ("x", "valid int"), ("9" * 30, "at most 1,000,000")],
        "--null": [("x", "is not one of")],
        "--length": [("x", "is not one of")],
        "--groups": [("x", "expected two labels"), ("a,b,c", "expected two labels"), ("", "expected two labels")],
        "--label": [("x", "expected a column 'x'")],
        "--text-a": [("x", "expected a column 'x'")],
        "--text-b": [("x", "expected text_a beside it")],
        "--figure": [("x.gif", "expected a name that ends in"), ("none/x.svg", "no such folder")],
        "--limit": [("0", "at least 1"), ("9" * 30, "at most")],
    },
    (*VIEW, "-m", "gpt2"): {
        "--layer": [("99", "layer takes 0, 1"), ("x", "valid int")],
        "--head": [("99", "heads takes 0 to 3"), ("x", "expected a head such as"), ("L0H99", "heads takes 0 to 3")],
        "--target": [("x", "target is for encoder-decoders")],
        "--view": [("x", "is not one of")],
        "-o": [("x.docx", "expected a name that ends in"), ("a.txt/x.html", "cannot be written")],
    },
    ("syntax", "t.conllu", "-m", "gpt2"): {
        "--rows": [("last", "is not one of")],
        "--limit": [("-5", "at least 1")],
        "--meta": [("none/m.json", "none/m.json: cannot be written (no such folder)")],
        "-o": [("heads.html", "heads.html: expected a name that ends in .parquet, .csv, .json, .tex, .nc")],
        "--seed": [("-1", "a seed from 0"), ("x", "valid int")],
    },
    ("coref", "t.conllu", "-m", "gpt2"): {"--candidates": [("x", "is not one of")], "--window": [("0", "at least 1"), ("x", "valid int")]},
    ("probe", "t.conllu", "t.conllu", "-m", "gpt2"): {
        "--kind": [("x", "expected right-branching"), ("", "expected right-branching")],
        "--epochs": [("0", "at least 1"), ("x", "valid int")],
        "--vectors": [("none", "expected a file of word vectors"), (".", "expected a file of word vectors")],
    },
    ("distance", "a.txt", "-m", "gpt2"): {
        "--rows": [("0", "rows: expected at least 1, found 0"), ("x", "valid int")],
        "--map": [("m.nc", "m.nc: expected a name that ends in .parquet, .csv, .json, .tex, .svg, .pdf, .png"), ("none/x.csv", "no such folder")],
        "-o": [("d.svg", "d.svg: expected a name that ends in .parquet, .csv, .json, .tex, .nc, found .svg"), ("none/d.csv", "cannot be written")],
    },
    ("report", "-m", "gpt2"): {
        "--sections": [("x", "expected some of")],
        "--examples": [("-1", "examples: expected at least 0"), ("x", "valid int")],
        "--text": [("none.txt", "expected a file")],
        "--treebank": [("none.conllu", "expected a file")],
        "--pairs": [("none.tsv", "expected a file")],
        "--against": [("none/x/y", "no such folder")],
    },
}  # fmt: skip
INPUTS = [
    ("none.txt", "expected a file"), ("", "expected a file or folder, found an empty name"), ("x" * 5000, "expected a file"), ("a\0b", "expected a file"),
    ("empty.txt", "an empty file"), ("blank.txt", "blank lines only"), ("latin.txt", "latin.txt:2: "),
    ("bad.jsonl", "'text': expected a string"), ("deep.jsonl", "nested too deeply"), ("gpt2", "found 5 other files (4 .json, 1 .safetensors)"),
    ("pipe.txt", "found a pipe or a device"), ("/dev/null", "expected a file, which can be read again"),
]  # fmt: skip
CALLS += [
    ((*call, option, value), words)
    for call, options in OPTIONS.items()
    for option, values in options.items()
    for value, words in values
]
CALLS += [
    ((command, path, "--pack", "32", "-m", "gpt2"), words)
    for command in ("measure", "distance")
    for path, words in INPUTS
]
CALLS += [
    (("compare", "groups", "pipe.tsv", "-m", "gpt2"), "pipe.tsv: expected a file, which can be read again, found a pipe"),
    (("check", "padding-beyond-the-words"), "config.json: pad_token_id: expected one from 0 to 364, found 1,000,000"),
    (("check", "padding-below-the-words"), "config.json: pad_token_id: expected one from 0 to 364, found -5"),
    *[(("check", name), f"{name}: cannot be loaded") for name in
      ("no-positions", "no-such-activation", "width-that-no-head-divides", "model.safetensors-folder", "tokenizer.json-folder")],
    (("merge", "none.nc"), "none.nc: no such file"),
    (("compare", "models", "gpt2", "-m", "gpt2", "a.txt"), "No such option"),
    (("nope",), "No such command"),
    (("measure", "hollow", "-m", "gpt2"), "hollow: expected files that end in "),
    (("measure", "broken.jsonl", "--strict", "-m", "gpt2"), "broken.jsonl:2: expected a JSON object, found broken JSON at column"),
    (("measure", "a.txt", "broken.jsonl"), "these files are text and jsonl"),
    (("measure", "--measures", "entrpy", "-m", "gpt2"), "measures: found 'entrpy'; did you mean 'entropy'? expected surface"),
    (("measure", "t.conllu", "a.txt", "-m", "gpt2"), "these files are conllu and text; give them apart"),
    (("syntax", "none.conllu", "-m", "gpt2"), "none.conllu: expected a file, found nothing there"),
    (("syntax", "p.tsv", "-m", "gpt2"), "p.tsv: expected a name that ends in .conllu, _conll or .txt"),
    (("syntax", "a.txt", "t.conllu", "-m", "gpt2"), "these files are word-heads and conllu; give them apart"),
    (("syntax", "a.txt", "--words", "surface", "-m", "gpt2"), "--words: expected CoNLL-U, found word-heads"),
    (("negation", "none.jsonl", "-m", "gpt2"), "none.jsonl: expected a file, found nothing there"),
    (("negation", "t.conllu", "-m", "gpt2"), "t.conllu:1: expected a JSON object, found broken JSON"),
    (("negation", "a.txt", "-m", "gpt2", "--against", "gpt2", "-o", "x.nc"), "x.nc: expected a name that ends in .parquet, .csv, .json, .tex"),
    (("coref", "t.conllu", "-m", "gpt2"), "expected coreference (# global.Entity and Entity= in MISC)"),
    (("coref", "--window", "8", "-m", "gpt2"), "expected at most 8 tokens in a sentence, found"),
    (("check", "."), ".: no config.json in this folder"),
    (("check", "bert-base-uncased"), "bert-base-uncased: no such folder, not in the local cache"),
    (("report", "-o", "report.docx"), "report.docx: expected a name that ends in .html, .pdf"),
    (("compare", "models", "a.txt", "demo"), "expected A [B] [CORPUS], models first, found the file a.txt"),
    ((*VIEW, "-m", "gpt2", "--layer", "-1"), "layer takes 0, 1; found -1"),
    (("view",), "TEXT: expected a text, --image or --audio, found none of them"),
    (("view", "hello", "--audio", "a.wav"), "--audio: expected --target beside it, or nothing, found another input"),
    (("view", "hello", "--no-sound"), "--no-sound: expected --audio beside it"),
    (("view", "", "-m", "gpt2"), "expected at least one token"),
    (("view", "a.txt", "-m", "gpt2"), 'TEXT: a.txt is a file; give what it says, as in headscope view "$(cat a.txt)"'),
    ((*VIEW, "--layer", "2", "--head", "L2H3"), "--layer: expected none beside --head L2H3, which says it"),
    (("why", "The cat sat.", "-m", "none", "--exact", "0"), "exact: expected at least 1, found 0"),
    (("view", "a" * 5000, "-m", "gpt2"), "takes at most 64"),
    (("compare", "inputs", "", "", "-m", "gpt2"), "expected at least one token"),
]  # fmt: skip


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
    (folder / "deep.jsonl").write_text("[" * 100_000)
    (folder / "t.conllu").write_text("1\tit\t_\tPRON\t_\t_\t0\troot\t_\t_\n\n")
    for file in ("pipe.txt", "pipe.tsv"):
        os.mkfifo(folder / file)
    for file in (
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ):  # root reads what it may not: a folder in place
        shutil.copytree(folder / "gpt2", folder / f"{file}-folder")
        (folder / f"{file}-folder" / file).unlink()
        (folder / f"{file}-folder" / file).mkdir()
    rows = "a\tthe cat\nb\tthe dog\n" * 4
    (folder / "p.tsv").write_text(f"label\ttext\n{rows}")
    return folder


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    CALLS,
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)
def test_a_call_that_cannot_be_done(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, folder: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    out, said = typed(*arguments, code=2)
    assert out == ""
    assert "Traceback" not in said
    last = said.strip().splitlines()[-1]
    assert sentence in last
    assert said.startswith("headscope: ") == (len(said.splitlines()) == 1)
    assert last.startswith("headscope: ") or "Usage:" in said
    assert "does not know" not in last
    assert len(last) < 1600 or "x" * 400 in last
    assert sorted(folder.iterdir()) == before


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
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes"), "not enough memory (Def"),
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
    assert typed(*VIEW, "-m", "gpt2", code=1).err.startswith(f"headscope: {sentence}")
    monkeypatch.setenv("HEADSCOPE_TRACEBACK", "1")
    monkeypatch.setattr("sys.argv", ["headscope", *VIEW, "-m", "gpt2"])
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
