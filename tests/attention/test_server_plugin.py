"""The plug-in of vLLM and SGLang writes what their layers attended with: each request's maps are the model's own."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface

import headscope as hs
from tests.helpers.families import build, family
from tests.helpers.typed import Typed

PLUGIN = Path(__file__).parents[2] / "examples" / "server_plugin"
STEPS = [{"a": 5}, {"b": 6, "a": 4}, {"b": 1, "a": 3}, {"a": 1, "b": 1}]
"""What each step of a server runs: two prompts by chunks, then tokens one by one, in the order of its batch."""


class Server:
    """A tiny Llama that runs the tokens of several requests side by side, and the keys that it keeps of before."""

    def __init__(self) -> None:
        self.model = build(family("Llama"))
        ids = 1 + torch.arange(24) * 7 % (self.model.config.vocab_size - 1)
        self.ids = {"a": ids[:13], "b": ids[13:21]}
        self.seen = dict.fromkeys(self.ids, 0)
        self.kept: dict[tuple[int, str], tuple[Tensor, Tensor]] = {}
        self.parts: Mapping[str, int] = {}
        self.layers: list[Any] = []
        AttentionInterface.register("served", self._call)
        AttentionMaskInterface.register("served", lambda *_, **__: None)
        self.model.set_attn_implementation("served")

    def _call(self, module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **_: Any) -> Any:
        q, k, v = (one[0].transpose(0, 1).flatten(1) for one in (query, key, value))
        return self.layers[module.layer_idx](q, k, v).view(1, len(q), query.shape[1], -1), None

    @property
    def batch(self) -> Tensor:
        return torch.cat([self.ids[r][self.seen[r] : self.seen[r] + n] for r, n in self.parts.items()])

    def forward(self) -> None:
        """One step: what `parts` has of each request."""
        places = [torch.arange(self.seen[r], self.seen[r] + n) for r, n in self.parts.items()]
        with torch.no_grad():
            self.model(self.batch[None], position_ids=torch.cat(places)[None], use_cache=False)
        self.seen = {r: n + self.parts.get(r, 0) for r, n in self.seen.items()}

    def capture(self, request: str, tokens: int | None = None) -> hs.AttentionMaps:
        """The model's own maps of a request."""
        self.model.set_attn_implementation("eager")
        return hs.capture(hs.load(self.model), inputs={"input_ids": self.ids[request][None, :tokens]})

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attention of each request to its own tokens, ``[token head dim]``; rows of padding stand behind them."""
        out = torch.zeros_like(q)
        for (request, count), end in zip(self.parts.items(), accumulate(self.parts.values()), strict=True):
            rows = slice(end - count, end)
            before = self.kept.get((layer, request), (k[:0], v[:0]))
            keys, values = (torch.cat([old, new[rows]]) for old, new in zip(before, (k, v), strict=True))
            self.kept[layer, request] = keys, values
            seen = torch.arange(len(keys)) <= self.seen[request] + torch.arange(count)[:, None]
            heads = [one.transpose(0, 1)[None] for one in (q[rows], keys, values)]
            out[rows] = torch.nn.functional.scaled_dot_product_attention(
                *heads, attn_mask=seen, enable_gqa=True
            )[0].transpose(0, 1)
        return out


def modules(monkeypatch: pytest.MonkeyPatch, **contents: Mapping[str, Any]) -> None:
    """Modules of a library that is not installed, by their names with __ for dots."""
    for name, content in contents.items():
        made = ModuleType(name.replace("__", "."))
        vars(made).update(content)
        monkeypatch.setitem(sys.modules, made.__name__, made)


class Vllm:
    """The interfaces of vLLM 0.33.0 that the plug-in touches, with their signatures."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, second: bool) -> None:
        self.server = server = Server()

        class Impl:
            def __init__(self, number: int, scale: float) -> None:
                self.number, self.scale, self.logits_soft_cap, self.sinks = number, scale, 0, None

            def forward(self, layer, query, key, value, kv_cache, attn_metadata, output, output_scale=None,
                        output_block_scale=None) -> None:  # fmt: skip
                output.copy_(server.attend(self.number, query, key, value))

        class Attention:
            def __init__(self, num_heads, head_size, scale, num_kv_heads=None, prefix="", **_: Any) -> None:
                self.num_heads, self.num_kv_heads, self.head_size = num_heads, num_kv_heads, head_size
                self.layer_name, self.attn_type, self.sliding_window = prefix, "decoder", None
                self.impl = Impl(int(prefix.split(".")[2]), scale)

            def forward(self, query, key, value, output_shape=None, output_dtype=None) -> Tensor:
                q, k, v = (one.view(len(one), -1, self.head_size) for one in (query, key, value))
                output = torch.empty_like(q)
                self.impl.forward(self, q, k, v, torch.tensor([]), None, output=output)
                return output

        class WorkerWrapperBase:
            def __init__(self) -> None:
                self.worker = SimpleNamespace(model_runner=runner)
                self.vllm_config = SimpleNamespace(model_config=SimpleNamespace(tokenizer="none/of-these"))

            def execute_model(self, scheduler_output: Any) -> str:
                if scheduler_output.num_scheduled_tokens:
                    buffer[: len(server.batch)] = server.batch
                    server.forward()
                return "output"

        buffer = torch.zeros(64, dtype=torch.int32)
        runner: Any
        if second:
            runner = SimpleNamespace(
                input_buffers=SimpleNamespace(input_ids=buffer),
                gather_batch_req_state=lambda scheduler_output, dummy_run: (
                    SimpleNamespace(req_ids=[*server.parts]),
                    None,
                ),
            )
        else:
            runner = SimpleNamespace(input_ids=SimpleNamespace(gpu=buffer), input_batch=server)
        monkeypatch.setattr(Server, "req_ids", property(lambda self: [*self.parts]), raising=False)
        group = SimpleNamespace(world_size=1)
        modules(
            monkeypatch,
            vllm={"__version__": "0.33.0"},
            vllm__distributed={
                "get_tensor_model_parallel_world_size": lambda: 1,
                "get_tensor_model_parallel_rank": lambda: 0,
                "get_pp_group": lambda: group,
            },
            vllm__model_executor__layers__attention={"Attention": Attention},
            vllm__v1__worker__worker_base={"WorkerWrapperBase": WorkerWrapperBase},
        )
        sys.modules["vllm"].distributed = sys.modules["vllm.distributed"]  # type: ignore[attr-defined]
        import_module("headscope_qk_vllm").plugin()
        config = server.model.config
        head = config.hidden_size // config.num_attention_heads
        server.layers = [
            Attention(config.num_attention_heads, head, head**-0.5, config.num_key_value_heads, prefix=f"model.layers.{n}.self_attn.attn").forward
            for n in range(config.num_hidden_layers)
        ]  # fmt: skip
        self.worker = WorkerWrapperBase()

    def step(self, parts: Mapping[str, int], done: Sequence[str] = (), **drafts: Any) -> None:
        self.server.parts, seen = parts, self.server.seen
        new = [r for r in parts if (0, r) not in self.server.kept]
        old = [r for r in parts if r not in new]
        scheduled = SimpleNamespace(
            scheduled_new_reqs=[SimpleNamespace(req_id=r, num_computed_tokens=seen[r]) for r in new],
            scheduled_cached_reqs=SimpleNamespace(req_ids=old, num_computed_tokens=[seen[r] for r in old]),
            num_scheduled_tokens=dict(sorted(parts.items())),
            scheduled_spec_decode_tokens=drafts,
            finished_req_ids={*done},
        )
        assert self.worker.execute_model(scheduled) == "output"

    def finish(self) -> None:
        self.step({}, ["a", "b"])


class Sglang:
    """The interfaces of SGLang 0.5.23 that the plug-in touches, with their signatures."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server = server = Server()
        self.hooks: dict[str, Any] = {}
        registry = SimpleNamespace(
            register=lambda target, hook, hook_type: self.hooks.update({target: (hook, hook_type)})
        )
        modules(
            monkeypatch,
            sglang={"__version__": "0.5.23"},
            sglang__srt__plugins__hook_registry={
                "HookRegistry": registry,
                "HookType": SimpleNamespace(BEFORE="before", AFTER="after"),
            },
            sglang__srt__runtime_context={
                "get_server_args": lambda: SimpleNamespace(
                    tokenizer_path=None, model_path="none/of-these", tp_size=1
                )
            },
        )
        import_module("headscope_qk_sglang").plugin()
        config = server.model.config
        size = config.hidden_size // config.num_attention_heads

        def layer(number: int) -> Any:
            radix = SimpleNamespace(
                layer_id=number, scaling=size**-0.5, logit_cap=0.0, sliding_window_size=-1, xai_temperature_len=-1,
                tp_q_head_num=config.num_attention_heads, tp_k_head_num=config.num_key_value_heads, qk_head_dim=size,
                is_cross_attention=False, attn_type=SimpleNamespace(value="decoder"),
            )  # fmt: skip

            def forward(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
                hook, kind = self.hooks["sglang.srt.layers.radix_attention.RadixAttention.forward"]
                assert kind == "before"
                hook(radix, q, k, v, self.batch)
                return server.attend(number, *(one.view(len(one), -1, size) for one in (q, k, v)))

            return forward

        server.layers = [layer(number) for number in range(config.num_hidden_layers)]

    def step(self, parts: Mapping[str, int]) -> None:
        self.server.parts, seen = parts, self.server.seen
        decode = set(parts.values()) == {1}
        self.batch = SimpleNamespace(
            rids=[*parts],
            input_ids=self.server.batch,
            forward_mode=SimpleNamespace(
                is_decode=lambda: decode, is_extend_without_speculative=lambda: not decode
            ),
            seq_lens_cpu=torch.tensor([seen[r] + n for r, n in parts.items()]),
            extend_prefix_lens_cpu=None if decode else [seen[r] for r in parts],
            extend_seq_lens_cpu=None if decode else [*parts.values()],
        )
        self.server.forward()

    def finish(self) -> None:
        hook, kind = self.hooks["sglang.srt.managers.schedule_batch.Req.update_finish_state"]
        for request in self.server.ids:
            assert kind == "after"
            hook(None, SimpleNamespace(rid=request, finished=lambda: True), 1)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The folder that a server with the plug-in writes to."""
    monkeypatch.syspath_prepend(PLUGIN)
    monkeypatch.setenv("HEADSCOPE_QK", str(tmp_path))
    yield tmp_path
    for name in ("headscope_qk", "headscope_qk_vllm", "headscope_qk_sglang"):
        sys.modules.pop(name, None)


def served(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    return Sglang(monkeypatch) if name == "SGLang" else Vllm(monkeypatch, second=name == "vLLM, V2")


@pytest.mark.parametrize("name", ["vLLM", "vLLM, V2", "SGLang"])
def test_requests_that_run_side_by_side_by_chunks_have_the_models_own_maps(
    name: str,
    recorded: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: Typed,
) -> None:
    running = served(name, monkeypatch)
    for parts in STEPS:
        running.step(parts)
    running.finish()
    for request, ids in running.server.ids.items():
        file = recorded / f"{request}.safetensors"
        typed("import", file, "-o", recorded / "maps.safetensors")
        maps = hs.open_maps(recorded / "maps.safetensors")
        own = running.server.capture(request)
        assert np.array_equal(maps.query.ids, ids)
        for layer, expected in zip(maps.layers, own.layers, strict=True):
            np.testing.assert_allclose(layer, expected, atol=1e-6)
        with safe_open(file, "pt") as held:
            q, k = (held.get_tensor(f"{side}.1").double() for side in ("query", "key"))
        assert len(k) < len(q)
        scores = q @ k.repeat_interleave(len(q) // len(k), 0).mT / q.shape[-1] ** 0.5
        exact = scores.masked_fill(torch.ones_like(scores[0]).triu(1).bool(), -np.inf).softmax(-1)
        np.testing.assert_allclose(maps.layers[1], exact, atol=1e-6)
    assert "0.33.0" in str(maps.meta) or "0.5.23" in str(maps.meta)
    assert "is not written" not in capsys.readouterr().err


def test_requests_layers_and_tokens_are_chosen(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LAYERS", "0,2-3"), ("REQUESTS", "a*"), ("TOKENS", "4:9")):
        monkeypatch.setenv(f"HEADSCOPE_{name}", value)
    running = served("vLLM", monkeypatch)
    for parts in STEPS:
        running.step(parts)
    running.finish()
    assert [path.name for path in recorded.iterdir()] == ["a.safetensors"]
    some = hs.open_qk(recorded / "a.safetensors")
    assert ([*some.index], len(some.query), len(some.key)) == ([0, 2], 5, 9)
    own = running.server.capture("a", 9)
    np.testing.assert_allclose(some.take().layers[1], own.layers[2][:, 4:], atol=1e-6)


@pytest.mark.parametrize("why", ["cache of prefixes", "CUDA graph", "speculative"])
def test_a_request_whose_keys_were_not_all_seen_is_not_written(
    why: str, recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running = served("vLLM", monkeypatch)
    if why == "cache of prefixes":
        running.server.seen["a"] = 3
    running.step({"a": 5})
    if why == "CUDA graph":
        monkeypatch.setattr(running.server, "forward", lambda: None)
    running.step({"a": 1}, **({"a": [1]} if why == "speculative" else {}))
    running.finish()
    assert not [*recorded.iterdir()]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("headscope: a is not written: ")
    assert why in line


def test_a_file_that_vllm_wrote_has_the_maps_of_transformers() -> None:
    """Recorded by vLLM 0.32.0 on a CPU; the reference is what eager attention of transformers gave for its tokens."""
    path = Path(__file__).with_name("recorded_by_vllm.safetensors")
    recorded = hs.open_qk(path)
    assert recorded.meta["server"] == "vllm 0.32.0"
    assert recorded.key.pieces[:2] == ("w5", "w9")
    with safe_open(path, "np") as held:
        for layer, weights in enumerate(recorded.take().layers):
            np.testing.assert_allclose(weights, held.get_tensor(f"reference.{layer}"), atol=1e-5)


def test_entry_points_are_functions_of_the_modules(recorded: Path) -> None:
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["project"]["entry-points"]
    assert [*groups] == ["vllm.general_plugins", "sglang.srt.plugins"]
    for group in groups.values():
        module, function = group["headscope_qk"].split(":")
        assert module in project["tool"]["setuptools"]["py-modules"]
        assert callable(getattr(import_module(module), function))
