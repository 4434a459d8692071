"""Modules as people have them: compiled, parallel, in a pipeline, in a model of sentences, or without weights."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from numpy.testing import assert_allclose
from torch import Tensor, nn

import headscope as hs
from headscope.errors import InputError, RefusedError
from tests.helpers.presence import needs
from tests.helpers.small_models import sharpen, sizes
from tests.helpers.small_tokenizers import demo

TEXT = "The cat sat on it."


def llama() -> Any:
    torch.manual_seed(0)
    size = sizes(inner=48, keys=2)
    return sharpen(transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=len(demo()), **size)))


class Layer(nn.TransformerEncoderLayer):
    """Of one's own, so that torch.compile does not skip it."""

    def forward(self, src: Tensor, *_: Any, **__: Any) -> Tensor:
        return super().forward(src)


class Own(nn.Module):
    """A transformer of no library, which is traced."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(len(demo()), 32)
        self.model = nn.TransformerEncoder(Layer(32, 4, batch_first=True), 2)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.model(self.words(input_ids))


def called(module: Any, backend: Any) -> Any:
    return torch.compile(module, backend=backend)


def by_method(module: Any, backend: Any) -> Any:
    module.compile(backend=backend)
    return module


def by_forward(module: Any, backend: Any) -> Any:
    module.forward = torch.compile(module.forward, backend=backend)
    return module


def one_layer(module: Any, backend: Any) -> Any:
    module.model.layers[0] = torch.compile(module.model.layers[0], backend=backend)
    return module


def inner(module: Any, backend: Any) -> Any:
    module.model = torch.compile(module.model, backend=backend)
    return module


def layers_by_method(module: Any, backend: Any) -> Any:
    for layer in module.model.layers:
        layer.compile(backend=backend)
    return module


@pytest.mark.parametrize("make", [llama, lambda: sharpen(Own())], ids=["interface", "trace"])
@pytest.mark.parametrize("compiled", [called, by_method, by_forward, one_layer, inner, layers_by_method])
@pytest.mark.slow
def test_a_compiled_module_is_read_as_it_was_written_and_stays_compiled(
    compiled: Callable[[Any, Any], Any], make: Callable[[], Any]
) -> None:
    runs: list[object] = []

    def backend(graph: Any, _: object) -> Any:
        def run(*args: Any) -> Any:
            runs.append(graph)
            return graph.forward(*args)

        return run

    torch.compiler.reset()
    expected = hs.capture(hs.load((make(), demo())), TEXT)
    module = compiled(make(), backend)
    before = [(name, sorted(vars(part))) for name, part in module.named_modules()]
    ids = torch.tensor([demo()(TEXT)["input_ids"]])
    with torch.no_grad():
        module(ids)
        assert runs
        once = len(runs)
        model = hs.load((module, demo()))
        maps = hs.capture(model, TEXT)
        assert len(runs) == once
        for mine, theirs in zip(maps.layers, expected.layers, strict=True):
            assert_allclose(mine, theirs, atol=1e-6)
        assert [(name, sorted(vars(part))) for name, part in module.named_modules()] == before
        module(ids)
    assert len(runs) > once


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [called, one_layer])
def test_a_compiled_module_is_drawn_again(compiled: Callable[[Any, Any], Any]) -> None:
    torch.compiler.reset()
    expected = hs.capture(hs.load((llama(), demo()), untrained=0), TEXT)
    maps = hs.capture(hs.load((compiled(llama(), "eager"), demo()), untrained=0), TEXT)
    for mine, theirs in zip(maps.layers, expected.layers, strict=True):
        assert_allclose(mine, theirs, atol=1e-6)


def test_a_function_that_would_run_the_trained_weights_is_refused() -> None:
    module = llama()
    forward = module.model.forward
    module.model.forward = lambda *args, **kwargs: forward(*args, **kwargs)
    hs.load((module, demo()))
    with pytest.raises(
        InputError, match="found model with a function in its place, which would run the trained weights"
    ):
        hs.load((module, demo()), untrained=0)


def test_a_module_that_accelerate_casts_is_read_in_its_own_precision() -> None:
    needs("accelerate")
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    expected = hs.capture(hs.load((llama(), demo())), TEXT)
    try:
        module = Accelerator(cpu=True, mixed_precision="bf16").prepare(llama())
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)
    forward = module.forward
    maps = hs.capture(hs.load((module, demo())), TEXT)
    for mine, theirs in zip(maps.layers, expected.layers, strict=True):
        assert_allclose(mine, theirs, atol=1e-6)
    assert module.forward == forward


def test_recordings_that_end_in_any_order_leave_the_compiler_as_it_was() -> None:
    from torch._dynamo import eval_frame

    from headscope.attention.recording import evaluating

    frame: Any = eval_frame
    module = llama()
    first, second = evaluating(module), evaluating(module)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert frame._stance.stance == "force_eager"
    second.__exit__(None, None, None)
    assert frame._stance.stance == "default"


class Engine(nn.Module):
    """As DeepSpeed wraps."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


class Masked(Engine):
    """What changes its input is no wrapper."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        return self.module(input_ids=input_ids.flip(1), attention_mask=attention_mask)


@pytest.mark.parametrize("wrap", [nn.DataParallel, Engine, lambda module: Engine(nn.DataParallel(module))])
def test_a_parallel_module_is_read_without_its_wrapper(wrap: Callable[[nn.Module], nn.Module]) -> None:
    module = llama()
    model = hs.load((wrap(module), demo()))
    assert model.module is module
    ids = demo()(TEXT, return_tensors="pt")
    written = module.generate(
        input_ids=ids["input_ids"], attention_mask=ids["attention_mask"], max_new_tokens=3, do_sample=False
    )
    assert hs.generate(model, TEXT, max_new_tokens=3).query.ids.tolist() == written[0, :-1].tolist()
    assert hs.load(wrap(module)).module is module


def test_a_module_that_changes_its_input_is_no_wrapper() -> None:
    module = llama()
    assert isinstance(hs.load((Masked(module), demo())).module, Masked)


class Transformer(nn.Module):
    """The first module of sentence-transformers: it reads by itself, and is run on a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.auto_model, self.tokenizer = hs.load().module, demo()

    def forward(self, features: dict[str, Tensor], **_: Any) -> dict[str, Tensor]:
        return {**features, "token_embeddings": self.auto_model(**features).last_hidden_state}


class Sentences(nn.Sequential):
    def forward(self, input: dict[str, Tensor], **kwargs: Any) -> dict[str, Tensor]:
        for part in self:
            input = part(input)
        return input

    @property
    def tokenizer(self) -> Any:
        first: Any = self[0]
        return first.tokenizer


class Loop(nn.Module):
    """A loop of training, as Lightning has them; it does not say what it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.ModuleList([hs.load().module])
        self.tokenizer: Any = None

    def training_step(self, batch: dict[str, Tensor]) -> Tensor:
        return self.net[0](**batch).last_hidden_state.sum()


def loop() -> Loop:
    module = Loop()
    module.tokenizer = demo()
    return module


@pytest.mark.parametrize(
    "given", [lambda: Sentences(Transformer()), lambda: (Sentences(Transformer()), demo()), loop]
)
@pytest.mark.slow
def test_a_module_that_reads_by_itself_is_read_by_the_transformer_within(given: Callable[[], Any]) -> None:
    model = hs.load(given())
    kind = type(given()[0] if isinstance(given(), tuple) else given()).__name__
    assert model.notes == (f"the transformer within {kind}",)
    for mine, theirs in zip(hs.capture(model, TEXT).layers, hs.capture(hs.load(), TEXT).layers, strict=True):
        assert_allclose(mine, theirs, atol=1e-6)


@pytest.mark.slow
def test_a_loop_without_a_tokenizer_is_refused_by_the_line_that_loads_it() -> None:
    module = Loop()
    with pytest.raises(RefusedError, match=r"a forward that takes .*, found none: give") as refused:
        hs.load((module, demo()))
    assert str(refused.value).endswith("give hs.load((model.net[0], tokenizer)) for the transformer within")
    hs.load((module.net[0], demo()))


def test_pipelines_and_trainers_are_what_they_hold() -> None:
    module, tokenizer = llama(), copy.deepcopy(demo())  # a pipeline turns the side of its padding
    for holder in (
        transformers.pipeline("text-generation", model=module, tokenizer=tokenizer),
        SimpleNamespace(model=nn.DataParallel(module), processing_class=tokenizer),
    ):
        model = hs.load(holder)
        assert model.module is module
        assert model.tokenizer is tokenizer
    assert hs.view(
        transformers.pipeline("feature-extraction", model=module, tokenizer=tokenizer), TEXT
    ).html()
    with pytest.raises(
        InputError, match="expected a torch module, or what holds one as its model, found SimpleNamespace"
    ):
        hs.load(SimpleNamespace(model="gpt2"))


@pytest.mark.parametrize("part", ["", "lm_head"])
def test_weights_that_were_never_filled_are_refused_as_such(part: str) -> None:
    module = llama()
    module.get_submodule(part).to("meta")
    with pytest.raises(
        RefusedError, match=r"expected weights, found the meta device.* load them with from_pretrained"
    ):
        hs.load((module, demo()))


def test_inputs_on_which_a_module_does_not_run_are_not_asked_for_again() -> None:
    with pytest.raises(RefusedError, match=r"does not run on input_ids \(1, 2\).*\)$"):
        hs.load((llama(), demo()), inputs={"input_ids": [[5, 6]], "past_key_values": [[3]]})


@pytest.mark.parametrize(
    "made",
    [
        torch.jit.script,
        lambda module: torch.jit.trace(module, torch.tensor([[5, 6]])),
        lambda module: nn.Sequential(torch.jit.script(module)),
    ],
)
def test_torchscript_is_refused_as_such(made: Callable[[nn.Module], nn.Module]) -> None:
    class Product(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(100, 8)

        def forward(self, input_ids: Tensor) -> Tensor:
            states = self.words(input_ids)
            return (states @ states.transpose(1, 2)).softmax(-1) @ states

    with pytest.raises(RefusedError, match="expected a module that runs in Python, found TorchScript"):
        hs.load(made(Product().eval()), inputs={"input_ids": torch.tensor([[5, 6]])})


def test_weights_of_eight_bits_are_refused_by_what_makes_them_run() -> None:
    module = llama()
    expected = hs.capture(hs.load((llama(), demo())), TEXT)
    with pytest.raises(InputError, match=r"found float8_e4m3fn; give dtype='float32'"):
        hs.load((module.to(torch.float8_e4m3fn), demo()))
    maps = hs.capture(hs.load((module, demo()), dtype="float32"), TEXT)
    assert [layer.shape for layer in maps.layers] == [layer.shape for layer in expected.layers]
