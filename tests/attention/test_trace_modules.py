from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from headscope.attention.record import AttentionRecord
from headscope.attention.trace import traced
from headscope.errors import RefusedError


def hooks_of(model: nn.Module) -> list[tuple[int, ...]]:
    return [
        (len(m._forward_hooks), len(m._forward_pre_hooks), len(m._forward_hooks_always_called))
        for m in model.modules()
    ]


# ---- what is not attention


class Gates(nn.Module):
    """Softmaxes that are no attention."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.table = nn.Parameter(torch.randn(20, 8))

    def forward(self, x: Tensor) -> Tensor:
        gates = self.gate(x).softmax(-1)
        words = (x @ self.table.T).softmax(-1) @ self.table
        pooled = torch.einsum("btd,vd->btv", x, self.table).softmax(-1).sum()
        across = (x @ x.mT).softmax(1) @ x
        similar = (x @ x.mT).softmax(-1)
        return gates.sum() + words.sum() + pooled + across.sum(), similar


def test_gates_vocabularies_and_unused_softmaxes_are_not_taken() -> None:
    found: list[AttentionRecord] = []
    model = Gates()
    with traced(model, found.append):
        model(torch.randn(2, 5, 8))
    assert found == []


# ---- any module


class Attention(nn.Module):
    """Attention in plain PyTorch, written by `how`, after which `mask` hides by `hiding`."""

    num_heads = 4

    def __init__(self, how: str, hiding: str = "none") -> None:
        super().__init__()
        self.how, self.hiding = how, hiding
        self.qkv = nn.Linear(16, 48)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, 4, 4) for t in self.qkv(x).chunk(3, -1))
        if self.how == "bqhk":
            weights = self.hide(torch.einsum("bqhd,bkhd->bqhk", q, k) / 2).softmax(-1)
            return torch.einsum("bqhk,bkhd->bqhd", weights, v).flatten(2)
        if self.how == "ellipsis":
            weights = torch.softmax(self.hide(torch.einsum("...qhd,...khd->...hqk", q, k) * 0.5), dim=-1)
            return torch.einsum("...hqk,...khd->...qhd", weights, v).flatten(2)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        if self.how == "matmul":
            weights = self.hide(q @ k.mT * 0.5).softmax(-1)
            return (weights @ v).transpose(1, 2).flatten(2)
        if self.how == "turned":  # keys first, values first
            weights = self.hide((k @ q.mT * 0.5).transpose(-1, -2)).softmax(-1)
            return (v.mT @ weights.mT).permute(0, 3, 1, 2).flatten(2)
        if self.how == "merged":  # batch and heads in one
            q, k, v = (t.reshape(batch * 4, length, 4) for t in (q, k, v))
            scores = torch.baddbmm(torch.ones(1, 1, 1), q, k.mT, beta=0.0, alpha=0.5)
            scores = self.hide(scores.view(batch, 4, length, length)).view(batch * 4, length, length)
            return torch.bmm(scores.softmax(-1), v).view(batch, 4, length, 4).transpose(1, 2).flatten(2)
        if self.how == "one matrix":  # no head dimension at all but what the module says
            q, k, v = (t.reshape(batch * 4, length, 4) for t in (q, k, v))
            weights = (torch.bmm(q, k.mT) * 0.5).softmax(-1)
            return torch.bmm(weights, v).view(batch, 4, length, 4).transpose(1, 2).flatten(2)
        if self.how == "heads first":
            q, k, v = (t.transpose(0, 1) for t in (q, k, v))
            scores = (q @ k.mT).permute(1, 0, 2, 3) * 0.5
            weights = self.hide(scores).softmax(-1).transpose(0, 1)
            return (weights @ v).permute(1, 2, 0, 3).flatten(2)
        raise AssertionError(self.how)

    def hide(self, scores: Tensor) -> Tensor:
        length = scores.shape[-1]
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        if self.how == "bqhk":
            hidden = hidden[:, None]
        lowest = torch.finfo(scores.dtype).min
        if self.hiding == "fill":
            return scores.masked_fill(hidden, -torch.inf)
        if self.hiding == "fill in place":
            scores.masked_fill_(mask=hidden, value=lowest)
        if self.hiding == "where":
            return torch.where(hidden, torch.tensor(lowest), scores)
        if self.hiding == "where not":
            return scores.where(~hidden, lowest)
        if self.hiding == "add":
            return scores + torch.zeros(hidden.shape).masked_fill(hidden, -1e4)
        if self.hiding == "added to":
            return hidden.float() * -1e9 + scores
        if self.hiding == "subtract":
            scores -= 1e30 * hidden
        if self.hiding == "assign":
            scores[
                hidden[:, None].expand(scores.shape) if self.how == "bqhk" else hidden.expand(scores.shape)
            ] = -1e30
        if self.hiding == "multiply":
            return scores * (~hidden) + -1e4 * hidden
        if self.hiding == "clamp":
            return torch.max(scores + hidden * lowest, torch.tensor(lowest))
        if self.hiding == "shift":
            scores = scores.masked_fill(hidden, -torch.inf)
            return scores - scores.amax(-1, keepdim=True)
        return scores


WAYS = ["bqhk", "ellipsis", "matmul", "turned", "merged", "one matrix", "heads first"]
HIDINGS = [
    "fill", "fill in place", "where", "where not", "add", "added to", "subtract", "assign", "multiply",
    "clamp", "shift",
]  # fmt: skip


def one_record(model: nn.Module, *args: Any) -> tuple[AttentionRecord, Any]:
    found: list[AttentionRecord] = []
    with traced(model, found.append), torch.no_grad():
        out = model(*args)
    assert len(found) == 1
    return found[0], out


@pytest.mark.parametrize(
    ("how", "hiding"),
    [(how, "none") for how in WAYS] + [(how, "fill") for how in WAYS[:5]] + [("matmul", h) for h in HIDINGS],
)
def test_plain_attention_however_written(how: str, hiding: str) -> None:
    torch.manual_seed(0)
    model, x = Attention(how, hiding), torch.randn(2, 6, 16)
    record, out = one_record(model, x)
    q, k, v = (t.view(2, 6, 4, 4).transpose(1, 2) for t in model.qkv(x).chunk(3, -1))
    scores = q @ k.mT * 0.5
    if hiding != "none":
        scores = scores.masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf)
    weights = scores.softmax(-1)
    torch.testing.assert_close(record.q, q)
    torch.testing.assert_close(record.k, k)
    torch.testing.assert_close(record.v, v)
    torch.testing.assert_close(record.given, weights, rtol=0, atol=1e-6)
    assert record.followed
    assert record.bias is None
    assert record.scaling == pytest.approx(0.5)
    torch.testing.assert_close(record.recompute(), weights, rtol=0, atol=1e-6)
    with torch.no_grad():
        torch.testing.assert_close(out, model(x))
    edited = torch.rand(weights.shape)
    with traced(model, lambda record: edited), torch.no_grad():
        torch.testing.assert_close(model(x), (edited @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("how", WAYS)
def test_gradients_reach_the_weights_however_written(how: str) -> None:
    torch.manual_seed(0)
    model, x, found = Attention(how), torch.randn(2, 6, 16), []
    with traced(model, found.append):
        out = model(x)
    (gradient,) = torch.autograd.grad(out.square().sum(), found[0].given)
    context = out.detach().view(2, 6, 4, 4).transpose(1, 2)
    torch.testing.assert_close(gradient, 2 * context @ found[0].v.mT)


class Chain(nn.Module):
    """Scores that go through any number of operations before softmax."""

    def __init__(self, steps: list[str]) -> None:
        super().__init__()
        self.steps = steps

    def forward(self, q: Tensor, k: Tensor, v: Tensor, tables: dict[str, Tensor]) -> Tensor:
        scores = q @ k.mT
        for step in self.steps:
            scores = STEPS[step](scores, tables)
        weights = scores.softmax(-1)
        return weights.view(2, 4, 5, 7) @ v


def four(scores: Tensor) -> Tensor:
    return scores.view(2, 4, 5, 7)


STEPS: dict[str, Any] = {
    "scale": lambda s, t: s * 0.7,
    "divide": lambda s, t: s / torch.tensor(1.3),
    "scale in place": lambda s, t: s.mul_(1.1),
    "temperature": lambda s, t: four(s) * t["temperature"],
    "position": lambda s, t: four(s) + t["position"],
    "position times two": lambda s, t: torch.add(four(s), t["position"], alpha=2),
    "taken away": lambda s, t: four(s).sub_(t["keys"]),
    "merge": lambda s, t: s.reshape(8, 5, 7),
    "split": lambda s, t: s.unflatten(0, (2, 4)) if s.ndim == 3 else s,
    "there and back": lambda s, t: four(s).permute(2, 0, 3, 1).permute(1, 3, 0, 2),
    "wider": lambda s, t: s[None].squeeze(0),
    "double": lambda s, t: s.double().float(),
    "largest": lambda s, t: s - s.amax(-1, keepdim=True),
    "hide": lambda s, t: four(s).masked_fill(t["hidden"], -torch.inf),
    "hide softly": lambda s, t: four(s) + t["hidden"] * -1e4,
}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=7), st.integers(0, 2**20))
@pytest.mark.slow
def test_any_chain_of_operations_is_followed(steps: list[str], seed: int) -> None:
    torch.manual_seed(seed)
    q, k, v = torch.randn(2, 4, 5, 3), torch.randn(2, 4, 7, 3), torch.randn(2, 4, 7, 3)
    hidden = torch.rand(2, 1, 5, 7) > 0.6
    hidden[..., 0] = False
    tables = {
        "temperature": torch.rand(4, 1, 1) + 0.5,
        "position": torch.randn(4, 5, 7),
        "keys": torch.randn(2, 1, 1, 7),
        "hidden": hidden,
    }
    record, out = one_record(Chain(steps), q, k, v, tables)
    hides = any(step.startswith("hide") for step in steps)
    assert record.followed
    torch.testing.assert_close(record.recompute(), record.given, rtol=0, atol=1e-5)
    torch.testing.assert_close(record.given @ v, out)
    assert (record.mask is not None) == hides
    if hides:
        assert torch.equal(
            record.visible().expand(hidden.expand(2, 4, 5, 7).shape), ~hidden.expand(2, 4, 5, 7)
        )


class Softened(nn.Module):
    """A cap, a per-head temperature, a relative bias and a sink."""

    def __init__(self) -> None:
        super().__init__()
        self.sink = nn.Parameter(torch.randn(4))
        self.temperature = nn.Parameter(torch.rand(4, 1, 1) + 0.5)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        scores = (q * 0.3) @ k.mT * self.temperature
        scores = 3.0 * torch.tanh((scores + bias) / 3.0)
        scores = scores + torch.full((6, 6), torch.finfo(q.dtype).min).triu(1)
        joined = torch.cat([scores, self.sink.view(1, 4, 1, 1).expand(2, 4, 6, 1)], dim=-1)
        joined = joined - joined.max(-1, keepdim=True).values
        return F.softmax(joined, dim=-1, dtype=torch.float32)[..., :-1] @ v


def test_cap_temperature_bias_mask_and_sink_together() -> None:
    torch.manual_seed(0)
    model, (q, k, v) = Softened(), torch.randn(3, 2, 4, 6, 8)
    bias = torch.randn(4, 6, 6)
    record, _ = one_record(model, q, k, v, bias)
    assert record.followed
    assert record.softcap == pytest.approx(3.0)
    torch.testing.assert_close(record.bias.expand(2, 4, 6, 6)[0], bias)
    torch.testing.assert_close(record.sinks, model.sink.detach())
    torch.testing.assert_close(record.recompute(), record.given, rtol=0, atol=1e-6)
    assert (record.given.sum(-1) < 1).all()


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_multihead_attention_of_pytorch(need_weights: bool, masked: bool) -> None:
    torch.manual_seed(0)
    model, x = nn.MultiheadAttention(16, 4, batch_first=True).eval(), torch.randn(2, 6, 16)
    mask = torch.ones(6, 6, dtype=torch.bool).triu(1) if masked else None
    padding = torch.zeros(2, 6, dtype=torch.bool)
    padding[1, 4:] = masked

    def forward(need: bool) -> tuple[Tensor, Tensor]:
        return model(x, x, x, padding, need, mask, average_attn_weights=False)

    found: list[AttentionRecord] = []
    with torch.no_grad():
        expected, weights = forward(True)
        with traced(model, found.append):
            out, _ = forward(need_weights)
    (record,) = found
    torch.testing.assert_close(out, expected)
    assert record.shape == (2, 4, 6, 6)
    assert (record.given is None) != need_weights
    torch.testing.assert_close(record.weights(), weights)
    torch.testing.assert_close(record.recompute(), weights)

    edited = torch.rand(2, 4, 6, 6)
    context = (edited @ record.values).transpose(1, 2).flatten(2)
    with traced(model, lambda record: edited), torch.no_grad():
        torch.testing.assert_close(forward(need_weights)[0], model.out_proj(context))


def test_transformer_of_pytorch_names_its_layers() -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
    x, found = torch.randn(2, 6, 16), []
    with torch.no_grad():
        plain = model(x)
        with traced(model, found.append):
            out = model(x)
    assert [(r.module, r.layer) for r in found] == [(f"layers.{i}.self_attn", i) for i in range(3)]
    torch.testing.assert_close(out, plain, rtol=0, atol=1e-5)


class Fused(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, **options)


def test_fused_kernel_with_every_option() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 7, 8), torch.randn(2, 2, 7, 8)
    for options in (
        {},
        {"is_causal": True},
        {"scale": 0.7},
        {"attn_mask": torch.ones(5, 7).tril(2).bool()},
        {"attn_mask": torch.randn(1, 4, 5, 7)},
    ):
        model, found = Fused(), []
        with traced(model, found.append):
            out = model(q, k, v, enable_gqa=True, **options)
        (record,) = found
        assert record.given is None
        torch.testing.assert_close(record.weights() @ record.values, out, msg=str(options))
        with traced(model, lambda record: torch.ones(2, 4, 5, 7)):
            summed = model(q, k, v, enable_gqa=True, **options)
        torch.testing.assert_close(
            summed, v.sum(-2, keepdim=True).repeat_interleave(2, 1).expand(summed.shape)
        )


# ---- order, safety, memory


def test_nested_traces_see_what_outer_ones_put() -> None:
    model, x = Attention("matmul"), torch.randn(2, 6, 16)
    seen: list[AttentionRecord] = []
    with traced(model, lambda record: torch.full(record.shape, 0.25)), traced(model, seen.append):
        out = model(x)
    assert torch.equal(seen[0].given, torch.full((2, 4, 6, 6), 0.25))
    assert not torch.allclose(out, model(x))
    with traced(model, seen.append):
        with pytest.raises(ZeroDivisionError), traced(model, lambda record: 1 / 0):
            model(x)
        model(x)
    assert len(seen) == 2 + 1
    assert not any(map(sum, hooks_of(model)))


def test_an_exception_inside_the_model_leaves_the_trace_whole() -> None:
    model = nn.Sequential(Attention("matmul"), Attention("matmul"))
    found: list[AttentionRecord] = []
    with traced(model, found.append):
        with pytest.raises(RuntimeError):
            model(torch.randn(2, 6, 15))
        model(torch.randn(2, 6, 16))
    assert [(r.module, r.layer, r.step) for r in found] == [("0", 0, 1), ("1", 1, 1)]


def test_an_edit_of_another_shape_is_refused() -> None:
    model, x = Attention("matmul"), torch.randn(2, 6, 16)
    expected = r"returned weights \(2, 4, 6\), expected .* \(2, 4, 6, 6\)"
    with pytest.raises(RefusedError, match=expected), traced(model, lambda record: torch.ones(2, 4, 6)):
        model(x)


def test_nothing_is_kept_alive() -> None:
    model, x = nn.Sequential(Attention("matmul", "shift"), Attention("merged", "fill")), torch.randn(2, 6, 16)
    alive: list[weakref.ref[Tensor]] = []

    def look(record: AttentionRecord) -> None:
        assert sum(ref() is not None for ref in alive) == 0, "an earlier layer's weights are still held"
        alive.extend(weakref.ref(t) for t in (record.given, record.q, record.k))

    gc.disable()
    try:
        with traced(model, look), torch.no_grad():
            model(x)
            model(x)
            assert not any(ref() is not None for ref in alive)
    finally:
        gc.enable()
    assert len(alive) == 12
