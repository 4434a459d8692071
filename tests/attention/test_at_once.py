"""Several at once with one model, in any order: each sees its own calls, and the model is left exactly as it was."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import dis
import gc
import random
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

import headscope as hs
from headscope.attention.recording import recording
from headscope.models import Model
from tests.helpers.patience import PATIENCE
from tests.helpers.small_models import SMALL, sharpen, small

IDS = torch.tensor([[5, 9, 2, 7, 11, 3]])


@pytest.fixture(scope="module", params=["bert", "mpnet"], ids=["interface", "trace"])
def model(request: pytest.FixtureRequest) -> Model:
    """A model of each way in. Beside it, garbage is looked for in what the tests make alone."""
    made = small(request.param)
    gc.collect()
    gc.freeze()
    return made


@pytest.fixture(autouse=True)
def left_as_found(request: pytest.FixtureRequest) -> Generator[None]:
    """Whatever a test does with the model, afterwards it is what it was."""
    if "model" not in request.fixturenames:
        yield
        return
    model: Model = request.getfixturevalue("model")
    expected, before = run(model), state(model.module)
    yield
    gc.collect()
    assert state(model.module) == before
    assert torch.equal(run(model), expected)


def state(module: nn.Module) -> Any:
    configs = {id(part.config): part.config for part in module.modules() if hasattr(part, "config")}
    return (
        [(len(part._forward_hooks), len(part._forward_pre_hooks)) for part in module.modules()],
        ["forward" in vars(part) for part in module.modules()],
        [part.training for part in module.modules()],
        [config._attn_implementation for config in configs.values()],
        torch.overrides._get_current_function_mode_stack(),
    )


def run(model: Model, ids: Tensor = IDS) -> Tensor:
    """What the user's own call of the module gives."""
    with torch.no_grad():
        return model.module(input_ids=ids).last_hidden_state


def maps(model: Model, ids: Tensor = IDS) -> Any:
    return hs.capture(model, inputs={"input_ids": ids}).weights


def in_threads(*works: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(timeout=PATIENCE) for future in [pool.submit(work) for work in works]]


# ---- threads


@pytest.mark.slow
def test_eight_threads_capture_what_one_captures(model: Model) -> None:
    rows = [torch.randint(3, 60, (1, length)) for length in (4, 5, 6, 7, 8, 9, 10, 11)]
    expected = [maps(model, ids) for ids in rows]
    begin = threading.Barrier(8)

    def work(ids: Tensor) -> list[Any]:
        begin.wait()
        return [maps(model, ids) for _ in range(6)]

    found = in_threads(*[partial(work, ids) for ids in rows])
    for each, reference in zip(found, expected, strict=True):
        for weights in each:
            np.testing.assert_array_equal(weights, reference)


def test_the_last_that_leaves_restores_though_the_first_came_first(model: Model) -> None:
    entered, may_leave = threading.Barrier(3), [threading.Event(), threading.Event()]

    def work(number: int) -> Tensor:
        with hs.ablate(model, f"L{number}H0"):
            entered.wait()
            run(model)
            assert may_leave[number].wait(60)
            return run(model)

    before = state(model.module)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(work, 0), pool.submit(work, 1)
        entered.wait()
        may_leave[0].set()
        first.result(60)
        assert state(model.module) != before
        plain = run(model)
        may_leave[1].set()
        assert not torch.equal(second.result(60), plain)
    assert state(model.module) == before
    assert torch.equal(run(model), plain)


def test_a_whole_model_and_its_backbone_at_once() -> None:
    torch.manual_seed(0)
    config = transformers.BertConfig(**SMALL)
    model = hs.load(sharpen(transformers.BertForMaskedLM(config)))
    before, backbone = state(model.module), model.backbone
    outer, inner = recording(model.module, lambda record: None), recording(backbone, lambda record: None)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert config._attn_implementation == "headscope"
    inner.__exit__(None, None, None)
    assert state(model.module) == before


def test_fused_and_whole_recordings_at_once() -> None:
    model = small("bert")
    plain, fused, whole = run(model), [], []
    with recording(model.module, fused.append, fused=True):
        run(model)

        def look() -> None:
            with recording(model.module, whole.append):
                run(model)

        in_threads(look)
        run(model)
    assert [record.given is None for record in fused] == [True] * 6
    assert [record.given is None for record in whole] == [False] * 3
    for one, other in zip(fused, whole, strict=False):
        torch.testing.assert_close(one.weights(), other.weights())
    assert torch.equal(run(model), plain)


def test_training_goes_on_where_it_was(model: Model) -> None:
    module = model.module
    module.train()
    module.get_submodule("encoder").eval()  # some of it frozen
    before = state(module)
    entered, leave = threading.Barrier(2), threading.Event()

    def first() -> None:
        with hs.ablate(model, "L0H0"):
            run(model)
            entered.wait()
            assert leave.wait(60)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(first)
        entered.wait()
        with recording(module, lambda record: None):
            leave.set()
            future.result(60)
            assert not any(part.training for part in module.modules())
    assert state(module) == before
    module.eval()


# ---- tasks


def test_tasks_that_cross_each_other(model: Model) -> None:
    """Entered A, B and left A, B: neither takes the other's edit with it."""
    plain = run(model)
    with hs.ablate(model, "L0H0"):
        first = run(model)
    with hs.ablate(model, "L1H1"):
        second = run(model)

    async def edit(head: str, pause: float) -> list[Tensor]:
        outputs = []
        with hs.ablate(model, head):
            for _ in range(4):
                await asyncio.sleep(pause)
                outputs.append(run(model))
        return [*outputs, run(model)]

    async def main() -> tuple[list[Tensor], list[Tensor]]:
        return await asyncio.gather(edit("L0H0", 0.001), edit("L1H1", 0.003))

    for outputs, expected in zip(asyncio.run(main()), (first, second), strict=True):
        assert all(torch.equal(output, expected) for output in outputs[:4])
        assert torch.equal(outputs[4], plain)


def test_an_edit_reaches_the_threads_that_its_task_starts(model: Model) -> None:
    with hs.ablate(model, "L0H1"):
        expected = run(model)

    async def main() -> list[Tensor]:
        with hs.ablate(model, "L0H1"):
            return await asyncio.gather(*[asyncio.to_thread(run, model) for _ in range(4)])

    assert all(torch.equal(output, expected) for output in asyncio.run(main()))


def test_an_edit_outlives_no_context_that_was_copied_within_it(model: Model) -> None:
    plain = run(model)
    with hs.ablate(model, "L0H1"):
        run(model)
        context = contextvars.copy_context()
    assert torch.equal(context.run(run, model), plain)


# ---- contexts in another order


def test_left_in_random_orders(model: Model) -> None:
    draw = random.Random(0)
    heads = ["L0H0", "L0H3", "L1H1", "L2H2"]

    def expected(left: list[str]) -> Tensor:
        with ExitStack() as stack:
            for head in left:
                stack.enter_context(hs.ablate(model, head))
            output = run(model)
        return output

    for _ in range(5):
        edits = {head: hs.ablate(model, head) for head in draw.sample(heads, 4)}
        for edit in edits.values():
            edit.__enter__()
        run(model)
        for head in draw.sample(heads, 4):
            edits.pop(head).__exit__(None, None, None)
            (reference,) = in_threads(partial(expected, list(edits)))  # a thread that is within none of them
            assert torch.equal(run(model), reference)


# ---- generators


def ablating(model: Model, head: str = "L0H1") -> Generator[Tensor]:
    with hs.ablate(model, head):
        while True:
            yield run(model)


def test_a_generator_that_only_the_garbage_collector_finds(model: Model) -> None:
    plain = run(model)
    steps = [ablating(model)]
    next(steps[0])
    steps.append(steps)  # type: ignore[arg-type]
    del steps
    gc.collect()
    assert torch.equal(run(model), plain)


def test_a_generator_that_another_thread_closes(model: Model) -> None:
    plain, steps = run(model), ablating(model)
    ablated = next(steps)
    assert not torch.equal(ablated, plain)
    in_threads(steps.close)
    assert torch.equal(run(model), plain)


def test_a_generator_that_stands_still_changes_nothing_of_its_callers(model: Model) -> None:
    plain, whole, steps = run(model), maps(model), ablating(model)
    ablated = next(steps)
    assert torch.equal(run(model), plain)
    np.testing.assert_array_equal(maps(model), whole)
    with hs.ablate(model, "L1H1"):
        other = run(model)
    assert torch.equal(next(steps), ablated)
    second = ablating(model, "L1H1")
    assert torch.equal(next(second), other)
    assert torch.equal(next(steps), ablated)
    assert torch.equal(run(model), plain)
    steps.close()
    assert torch.equal(next(second), other)
    second.close()


def test_what_a_generator_calls_is_within_its_edit(model: Model) -> None:
    def inner() -> Generator[Tensor]:
        yield run(model)
        yield in_threads(partial(contextvars.copy_context().run, run, model))[0]

    def outer() -> Generator[Tensor]:
        with ExitStack() as stack:
            stack.enter_context(hs.ablate(model, "L0H1"))
            yield from inner()

    with hs.ablate(model, "L0H1"):
        expected = run(model)
    for output in outer():
        assert torch.equal(output, expected)
        assert not torch.equal(run(model), expected)


def test_a_context_manager_made_of_a_generator_is_none_of_these(model: Model) -> None:
    @contextmanager
    def without() -> Generator[None]:
        with hs.ablate(model, "L0H1"):
            yield

    with hs.ablate(model, "L0H1"):
        expected = run(model)
    with without():
        assert torch.equal(run(model), expected)
    with ExitStack() as stack:
        stack.enter_context(without())
        assert torch.equal(run(model), expected)

    def steps() -> Generator[Tensor]:
        with without():
            yield run(model)

    for output in steps():
        assert torch.equal(output, expected)
        assert not torch.equal(run(model), expected)


def test_an_asynchronous_generator_that_the_loop_closes(model: Model) -> None:
    plain = run(model)

    async def steps() -> AsyncGenerator[Tensor]:
        with hs.ablate(model, "L0H1"):
            while True:
                yield run(model)

    async def main() -> None:
        async for output in steps():
            assert not torch.equal(output, plain)
            break

    asyncio.run(main())
    assert torch.equal(run(model), plain)


# ---- exceptions


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_what_ends_a_pass_leaves_nothing_behind(model: Model, error: type[BaseException]) -> None:
    plain = run(model)

    def fail(record: Any) -> None:
        if record.layer == 1:
            raise error

    with pytest.raises(error), hs.edit(model, fail):
        run(model)
    assert torch.equal(run(model), plain)
    assert not torch.overrides._get_current_function_mode_stack()
    with hs.ablate(model, "L2H0"), hs.edit(model, lambda record: None):
        with pytest.raises(error), hs.edit(model, fail):
            run(model)
        whole = maps(model)
    assert not whole[2, 0].any()
    assert whole[1].any()


CHECKED = {
    dis.opmap[name]
    for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD")
    if name in dis.opmap
}
"""After these instructions Python looks whether Ctrl-C was pressed."""

WATCHED = ("headscope/attention", "contextlib.py", "nn/modules/module.py", "utils/hooks.py", "weakref.py")


Moment = tuple[CodeType, int, Any]
"""Some code, the instruction in it, and from where it was called."""


class Moments:
    """A trace of every moment at which Ctrl-C may come in the files of `WATCHED`; it comes at the one named `wanted`."""

    def __init__(self, wanted: Moment | None = None) -> None:
        self.wanted = wanted
        self.seen: dict[Moment, None] = {}
        self._last: dict[FrameType, int] = {}

    def __call__(self, frame: FrameType, event: str, value: Any) -> Any:
        if self.wanted is None:
            watched = any(part in frame.f_code.co_filename for part in WATCHED)
        else:
            watched = frame.f_code is self.wanted[0]
        if not watched:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._instruction

    def _instruction(self, frame: FrameType, event: str, value: Any) -> Any:
        if event == "return":
            self._last.pop(frame, None)
        elif event == "opcode":
            last = self._last.get(frame)
            self._last[frame] = frame.f_lasti
            if last is not None and frame.f_code.co_code[last] in CHECKED:
                caller = frame.f_back
                moment = (frame.f_code, frame.f_lasti, caller and (caller.f_code, caller.f_lasti))
                if moment not in self.seen:
                    self.seen[moment] = None
                    if moment == self.wanted:
                        sys.settrace(None)
                        self._last.clear()  # frames that we keep would keep what they hold
                        raise KeyboardInterrupt
        return self._instruction


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "model", ["bert"], ids=["interface"], indirect=True
)  # torch's stack of modes is not ours
def test_interrupts_at_any_moment(model: Model) -> None:
    """Ctrl-C at each moment of Python code at which it can come, one after the other."""

    def moments(wanted: Moment | None = None) -> list[Moment]:
        trace = Moments(wanted)
        tracer = sys.gettrace()
        try:
            sys.settrace(trace)
            with hs.ablate(model, "L0H1"):
                maps(model)
        finally:
            sys.settrace(tracer)
        return list(trace.seen)

    moments()  # what is imported or kept at the first time
    plain, before, every = run(model), state(model.module), moments()
    assert len(every) > 300
    for moment in every:
        with pytest.raises(KeyboardInterrupt):
            moments(moment)
        gc.collect()
        assert state(model.module) == before, moment
        assert torch.equal(run(model), plain), moment


# ---- copies


def test_a_copy_made_within_an_edit_is_a_model_of_its_own(model: Model) -> None:
    plain = run(model)
    with hs.ablate(model, "L0H1"):
        run(model)
        module = copy.deepcopy(model.module)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.mul_(0.5)
        halved = Model(module)
        within = run(halved)
    assert torch.equal(run(halved), within)
    torch.testing.assert_close(within, run(Model(copy.deepcopy(module))))
    assert not torch.allclose(within, plain)


# ---- all of it together


@pytest.mark.slow
def test_any_mixture_leaves_each_its_own(model: Model) -> None:
    """Threads with tasks, generators, errors and captures, at random: each result is what it is alone."""
    heads = [f"L{layer}H{head}" for layer in range(3) for head in range(4)]
    plain, whole, ablated = run(model), maps(model), {}
    for head in heads:
        with hs.ablate(model, head):
            ablated[head] = run(model)
    kept: list[Generator[Tensor]] = []

    def work(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(20):
            kind, head = draw.randrange(6), draw.choice(heads)
            if kind == 0:
                np.testing.assert_array_equal(maps(model), whole)
            elif kind == 1:
                assert torch.equal(run(model), plain)
            elif kind == 2:
                with hs.ablate(model, head):
                    assert torch.equal(run(model), ablated[head])
            elif kind == 3:
                with pytest.raises(ZeroDivisionError), hs.edit(model, lambda record: 1 / 0):
                    run(model)
            elif kind == 4:
                steps = ablating(model, head)
                assert torch.equal(contextvars.copy_context().run(next, steps), ablated[head])
                kept.append(steps)  # left open, for another thread to close
            elif kept:
                kept.pop().close()

    in_threads(*[partial(work, seed) for seed in range(8)])
    for steps in kept:
        steps.close()


# ---- arrays


def test_wrap_leaves_the_callers_array_alone() -> None:
    array = np.full((1, 2, 3, 3), 1 / 3)
    layers = [array[0].copy()]
    tokens = hs.Tokens(["a", "b", "c"], ids=(ids := np.arange(3)))
    wrapped, listed = hs.wrap(array, tokens), hs.wrap(layers, tokens)
    direct = hs.AttentionMaps(layers, tokens, tokens)
    array[:] = 0
    layers[0][:] = 0
    ids[0] = 99
    assert (wrapped.weights == 1 / 3).all()
    assert (listed.weights == 1 / 3).all()
    assert wrapped.query.ids[0] == 0
    tensor = torch.full((1, 2, 2, 2), 0.5, dtype=torch.float64)
    of_tensors = hs.wrap(tensor, ["a", "b"]), hs.wrap([tensor[0]], ["a", "b"])
    tensor.zero_()
    assert all((maps.weights == 0.5).all() for maps in of_tensors)
    for each in (wrapped, listed, direct):
        with pytest.raises(ValueError, match="read-only"):
            each.layers[0][0, 0, 0] = 1.0
