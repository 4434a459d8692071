"""Where blocks are worked on in another process: its models, each loaded once, and the work of the run under way.

What travels to other processes and back: work without its models, models, blocks, and what these gave.

Work is a function with all that it holds, so measures of one's own go with it: functions that can be imported by their
name, others (of a notebook, a script or a file) as their code (cloudpickle). The models in it are left out, and put
back where it arrives: each process has its own.
"""

from __future__ import annotations

import copyreg
import io
import os
import pickle
import site
import sys
import sysconfig
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO, cast

import torch

import headscope
from headscope.attention.load import load
from headscope.core.failures import reason
from headscope.core.lazy import module as library
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import HeadscopeError, InputError, ModelError, RunError
from headscope.models import Model
from headscope.models import load as find
from headscope.runs.engines.here import Work
from headscope.runs.identity import circumstances, installed, weights

cloudpickle: Any = library("cloudpickle")

_READS = ("tokenizer", "feature_extractor", "image_processor", "processor")


class _Pickler(cloudpickle.Pickler):
    """Leaves out models, and parts of them."""

    def __init__(self, file: io.BytesIO, models: Sequence[Model]) -> None:
        super().__init__(file, protocol=5)  # pyright: ignore[reportUnknownMemberType]
        self._places: dict[int, tuple[int, str, str]] = {}
        for number, model in enumerate(models):
            self._places.setdefault(id(model), (number, "model", ""))
            for name in _READS:
                if getattr(model, name) is not None:
                    self._places.setdefault(id(getattr(model, name)), (number, "reader", name))
            parts = cast("Iterator[tuple[str, Any]]", model.module.named_modules())
            for name, part in parts:
                self._places.setdefault(id(part), (number, "module", name))

    def persistent_id(self, obj: Any) -> tuple[int, str, str] | None:
        return self._places.get(id(obj))


class _Unpickler(pickle.Unpickler):
    """Puts the models of this process in their places."""

    def __init__(self, file: io.BytesIO, models: Sequence[Model]) -> None:
        super().__init__(file)
        self._models = models

    def persistent_load(self, pid: Any) -> Any:
        number, kind, name = cast("tuple[int, str, str]", pid)
        model = self._models[number]
        if kind == "model":
            return model
        return getattr(model, name) if kind == "reader" else model.module.get_submodule(name)


def packed(work: Work, models: Sequence[Model]) -> bytes:
    """Work without these models. Raises `InputError` for what cannot travel."""
    file = io.BytesIO()
    _write(file, lambda: _Pickler(file, models).dump(work), "engine: expected work")
    return file.getvalue()


def unpacked(data: bytes, models: Sequence[Model]) -> Work:
    """The work, with the models of this process."""
    return _Unpickler(io.BytesIO(data), models).load()


def save(model: Model, file: BinaryIO) -> None:
    """Write a model with all that belongs to it: weights, buffers, tokenizer.

    Raises `InputError` for one that cannot travel.
    """
    _by_name("transformers.utils.output_capturing", "_active_collector")
    bare = replace(model, checked=None, recipe=None)
    expected = f"{model.name}: expected a model"
    _write(file, lambda: torch.save(bare, file, pickle_module=cloudpickle), expected)


def _by_name(where: str, name: str) -> None:
    """Have a variable of a module pickled as its name: hooks that transformers leaves in a model refer to one."""

    def named(_: Any) -> str:
        return name

    variable: object = getattr(sys.modules.get(where), name, None)
    if variable is not None:
        copyreg.pickle(type(variable), named)


def _write(file: BinaryIO, write: Callable[[], None], expected: str) -> None:
    """Write with the code of the caller's own files, or else with what it is called there."""
    try:
        with _own_code():
            write()
    except _REFUSED:
        file.seek(0)
        file.truncate()
        try:
            write()
        except _REFUSED as error:
            raise InputError(
                f"{expected} that can be sent to other processes, found one that cannot ({reason(error)})"
            ) from error


_REFUSED = pickle.PicklingError, TypeError, AttributeError, RecursionError


_registry = threading.RLock()


@contextmanager
def _own_code() -> Generator[None]:
    """Within it what is defined in the caller's own files is pickled as code."""
    registered: list[Any] = []
    with _registry:
        before = set(cloudpickle.list_registry_pickle_by_value())
        try:
            for name, module in list(sys.modules.items()):
                named = getattr(module, "__name__", None) == name  # others cannot be registered
                if named and name not in before and _is_own(module):
                    cloudpickle.register_pickle_by_value(module)
                    registered.append(module)
            yield
        finally:
            for module in registered:
                cloudpickle.unregister_pickle_by_value(module)


def _is_own(module: Any) -> bool:
    """Whether a module is of a file of the caller's: of no library, wherever this is installed."""
    file: Any = getattr(module, "__file__", None)
    if module.__name__ == "__main__" or not isinstance(file, str) or file.startswith(_places()):
        return False
    if not os.path.isabs(file):  # torch has such, which are no files
        return False
    folders = Path(file).parents
    levels: int = module.__name__.count(".") + os.path.basename(file).startswith("__init__.")
    root = folders[min(levels, len(folders) - 1)]
    if root.name in ("site-packages", "dist-packages"):
        return False
    return module.__name__.partition(".")[0] not in _installed(str(root))


@cache
def _places() -> tuple[str, ...]:
    """Where the libraries of this Python are."""
    paths = sysconfig.get_paths()
    installed = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    installed |= {*site.getsitepackages(), site.getusersitepackages()}
    return tuple(f"{place}{os.sep}" for place in (*installed, os.path.dirname(headscope.__file__)))


@cache
def _installed(folder: str) -> frozenset[str]:
    """The modules and packages that are in a folder as it was installed to, by the metadata of distributions there."""
    return frozenset(
        path.parts[0].partition(".")[0]
        for distribution in metadata.distributions(path=[folder])
        if distribution.read_text("RECORD")
        or distribution.read_text("installed-files.txt")  # none in a project's own folder
        for path in distribution.files or ()
    )


@dataclass(frozen=True)
class SentModel:
    """A model on its way to other processes.

    Attributes:
        name: of the model.
        weights: the checksum of its weights and configuration.
        recipe: the arguments of `headscope.load`, where it was loaded by them.
        checked: whether it was checked.
        key: what tells it from any other.
        saved: where there is no recipe the model itself, as a file, or as bytes that come by another way.
    """

    name: str
    weights: str
    recipe: AnyMapping | None
    checked: bool
    key: str
    saved: str | None = None

    def load(self, device: str, blob: bytes = b"") -> Model:
        """The model, on a device. Raises `ModelError` where it is another one."""
        with warnings.catch_warnings(action="ignore"):  # said where it was loaded first
            if self.recipe is not None:
                model = load(**self.recipe, device=device)
            else:
                where = self.saved or io.BytesIO(blob)
                given = torch.load(where, map_location="cpu", weights_only=False, mmap=bool(self.saved))
                model = load(given, device=device) if self.checked else find(given, device=device)
        if (now := weights(model)) != self.weights:
            raise ModelError(f"{self.name}: expected the weights {self.weights}, found {now}")
        return model


@dataclass(frozen=True)
class Setup:
    """What a worker needs before the first unit.

    Attributes:
        models: that run.
        work: `packed`.
        versions: of libraries, which have to be the same.
        device: where workers run that have none of their own.
        threads: of torch.
        precision: of products of float32 matrices.
    """

    models: tuple[SentModel, ...]
    work: bytes
    versions: Mapping[str, str]
    device: str
    threads: int
    precision: str


def answer(work: Callable[[], Any]) -> bytes:
    """What work gave, or its error, and what it warned of."""
    value: Any = None
    error: BaseException | None = None
    with warnings.catch_warnings(record=True, action="always") as warned:
        try:
            value = work()
        except Exception as raised:
            error = _portable(raised)
    heard = list(dict.fromkeys((str(warning.message), warning.category) for warning in warned))
    try:
        return pickle.dumps((value, error, heard), 5)
    except Exception as raised:  # what work gave cannot travel: to say so is better than to end
        return pickle.dumps((None, _portable(raised), heard), 5)


def _portable(error: Exception) -> Exception:
    """An error that another process can read."""
    trace = "".join(traceback.format_exception(error))
    error.__cause__ = error.__context__ = error.__traceback__ = None
    kind = next((kind for kind in (InputError, ModelError, RunError) if isinstance(error, kind)), RunError)
    if isinstance(error, HeadscopeError):
        return error if type(error) is kind else kind(str(error))
    plain = RunError(f"a worker failed ({reason(error)})")
    plain.add_note(trace)
    return plain


def answered(data: bytes) -> tuple[Any, Exception | None, Sequence[tuple[str, type[Warning]]]]:
    """The value, the error and the warnings of an `answer`."""
    return pickle.loads(data)


def natural(names: Iterator[str]) -> tuple[str, str]:
    """The first and the last of some names that end in numbers, such as ``news.txt:12``."""

    def key(name: str) -> tuple[str, int]:
        path, _, line = name.rpartition(":")
        return (path, int(line)) if line.isdecimal() else (name, 0)

    ordered = sorted(names, key=key)
    return (ordered[0], ordered[-1]) if ordered else ("", "")


_one = threading.Lock()  # units are worked on one at a time, whichever thread asks


@dataclass
class _WorkerState:
    models: dict[tuple[str, str], Model]  # by key and device
    under_way: tuple[Work, Setup] | None = None


@cache
def _state() -> _WorkerState:
    """That of this process."""
    return _WorkerState({})


def prepare(data: bytes, device: str | None, keys: Sequence[str], *saved: bytes) -> AnyDict:
    """Load what a run needs that is not there yet, and say what may move last digits here.

    Args:
        data: the pickled `Setup`.
        device: where models go; None for that of the setup.
        keys: of the models that came by another way.
        saved: these models.

    Raises `ModelError` for a model that cannot be loaded, and for other versions of libraries.
    """
    setup: Setup = pickle.loads(data)
    here, there = installed(), setup.versions
    if sys.version_info[:2] == tuple(map(int, there["python"].split(".")[:2])):
        there = {**there, "python": here["python"]}
    if differs := [
        f"{name} {wanted}, found {here[name]}" for name, wanted in there.items() if here[name] != wanted
    ]:
        raise ModelError(f"expected {'; '.join(differs)}")
    with _one:
        _settle(setup)
        torch.set_float32_matmul_precision(setup.precision)
        where, blobs = device or setup.device, dict(zip(keys, saved, strict=True))
        wanted = {(sent.key, where): sent for sent in setup.models}
        state = _state()
        state.models = {key: model for key, model in state.models.items() if key in wanted}
        for key, sent in wanted.items():
            if key not in state.models:
                state.models[key] = sent.load(where, blobs.get(sent.key, b""))
        models = [state.models[sent.key, where] for sent in setup.models]
        state.under_way = unpacked(setup.work, models), setup
        return circumstances(torch.device(where))


def work(data: bytes) -> bytes:
    """What a unit of blocks gives, as an `answer`."""
    with _one:
        if (under_way := _state().under_way) is None:
            raise LookupError("nothing to do is known")
        task, setup = under_way
        _settle(setup)
        return answer(lambda: task(pickle.loads(data), _nothing))


def forget() -> None:
    """Let go of the models."""
    _state.cache_clear()


def _settle(setup: Setup) -> None:
    if torch.get_num_threads() != setup.threads:
        torch.set_num_threads(setup.threads)


def _nothing(_: int) -> None: ...
