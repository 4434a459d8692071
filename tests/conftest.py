from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

# One thread of torch a process, however many cores there are: the models are small, and threads beside other work wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")
if not Path("/dev/nvidia0").exists():
    os.environ["TRITON_INTERPRET"] = "1"  # kernels run as plain Python; Triton asks when it is imported
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import hypothesis
import pytest

from tests.helpers import once
from tests.helpers.presence import needs
from tests.helpers.typed import Typed

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


gc.disable()  # while tests are collected: what is imported then stays


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the browser come last, together."""
    items.sort(key=lambda item: "browser" in item.path.parts)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test that fails is named at once: of a run that is stopped nothing else would say which it was."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nFAILED {report.nodeid}", flush=True)


def pytest_collection_finish() -> None:
    """From here on the garbage collector looks through what tests make, and not through torch each time.

    Also when pytest collects what is left, five times, at its end.
    """
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data, models and reference figures that stand beside the repository."""
    if not SHARED.is_dir():
        message = f"needs {SHARED.parent.name}/shared beside the repository (real data and reference figures)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return SHARED


@pytest.fixture(scope="session")
def demo():
    """The demo model, checked."""
    import headscope as hs

    return hs.load()


@pytest.fixture(scope="session")
def stories(shared: Path):
    """A small trained causal model with grouped-query attention, checked."""
    import headscope as hs

    return hs.load(shared / "models" / "stories260K")


@pytest.fixture(scope="session")
def smollm():
    """The language model ``demo-lm``, checked: converted once into the cache of whoever runs the tests."""
    import headscope as hs
    from headscope.core.demo import DEMO_LM_PACKAGE

    needs(DEMO_LM_PACKAGE, "gguf", "accelerate")
    return hs.load("demo-lm")


@pytest.fixture(scope="module")
def planted():
    """An induction circuit that reads texts: L1H0 brings what followed the present token before."""
    import headscope as hs
    from tests.helpers.planted_induction import circuit
    from tests.helpers.planted_needles import reader

    return hs.load((circuit().module, reader()))


@pytest.fixture(scope="module")
def whisper():
    """A random model of speech that hears four seconds."""
    import headscope as hs
    from tests.helpers.small_models import whisper_parts

    return hs.load(whisper_parts(4))


@pytest.fixture(scope="module")
def llava():
    """A random model of texts and pictures."""
    import headscope as hs
    from tests.helpers.small_models import llava_parts

    return hs.load(llava_parts())


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what is made once a test run, in whichever worker needs it first."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of all workers
    return Path(os.environ.get("TESTS_BUILT", folder))  # that of all parts: tools/run_tests.py


@pytest.fixture(scope="session")
def build_once(built: Path) -> Callable[[str, Callable[[], str]], str]:
    """Build a page once a test run: ``build_once(name, function)``."""
    return lambda name, function: once.kept(built / name, function)


@pytest.fixture(scope="session")
def model_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small models in folders that have the names of large ones."""
    from tests.helpers.workspace import write_models

    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return folder


@pytest.fixture
def demo_at_hand(demo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo model where it is asked for, loaded once a run; another model is loaded once a test."""
    import headscope as hs
    from headscope.attention import load

    original = load.load

    @cache
    def cached(model: Any = None, **options: Any) -> Any:
        given = {key: value for key, value in options.items() if value is not None and value is not False}
        return demo if model is None and not given else original(model, **given)

    def load_once(model: Any = None, **options: Any) -> Any:
        return original(model, **options) if "inputs" in options else cached(model, **options)

    monkeypatch.setattr(load, "load", load_once)
    monkeypatch.setattr(hs, "load", load_once)


@pytest.fixture
def few_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """The roles of causal models are told from fewer repeats and needles than by default, where they are not the point."""
    once.few_repeats(monkeypatch.setattr)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """The command line: ``typed("measure", "a.txt").out``."""
    return Typed(monkeypatch, capsys)


@pytest.fixture
def workspace(
    demo_at_hand: None, model_folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The current folder, with the files and models that the documentation names; models are loaded once."""
    from tests.helpers.workspace import write_corpora

    write_corpora(tmp_path)
    for folder in model_folders.iterdir():
        (tmp_path / folder.name).symlink_to(folder.resolve())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path
