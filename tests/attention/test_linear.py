"""Scores are sums over who wrote the stream, in every family whose stream is linear when its norms are frozen."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import headscope as hs
from headscope.attention.linear import KINDS, PLACED, TOKEN, LinearCall, block_of
from headscope.attention.one import record
from headscope.attention.stream import Read, Reader
from headscope.errors import RefusedError
from headscope.models.model import uncached
from tests.helpers.families import CAPTURED, Family, build, each, family
from tests.helpers.hybrids import KNOWN, hybrid

NO_STREAM = ("Swin", "Swin v2", "Funnel", "Funnel factorized", "XLNet")
"""Families whose stages or poolings change the stream on its way, or whose attention adds to it within."""

LINEAR = [family for family in CAPTURED if family.name not in NO_STREAM]
NO_HEADS = {"Qwen3-Next", "ConvBERT", "DiffLlama"}
"""Families in which something stands between the heads and W_O, so that attention writes as a whole."""


def reader(family: Family) -> tuple[hs.Model, dict[str, Tensor], Reader]:
    """A reader of a family's model, and one input."""
    model = hs.load(build(family))
    ready = {name: value[:1] for name, value in family.inputs.items()}
    return model, ready, Reader(model, ready)


def summed(read: Read, numbers: Tensor) -> Tensor:
    """The terms of numbers, summed over writers."""
    return torch.stack([term.sum(0) for term in read.terms(numbers) if term is not None]).sum(0)


def weights(call: LinearCall, scores: Tensor, head: int, query: int) -> Tensor:
    """The weights of one query, of its products ``[key]``."""
    record, place = call.record, (0, min(head, call.record.shape[1] - 1), query)
    scores = scores * record.scaling
    if record.bias is not None:
        scores = scores + record.bias.detach().expand(record.shape)[place]
    if record.softcap is not None:
        scores = record.softcap * torch.tanh(scores / record.softcap)
    if record.mask is not None and record.mask.dtype != torch.bool:
        scores = scores + record.mask.expand(record.shape)[place]
    elif (seen := record.visible()) is not None:
        scores = scores.masked_fill(~seen.expand(record.shape)[place], -torch.inf)
    if record.sinks is not None:
        scores = torch.cat([scores, record.sinks.detach().reshape(-1)[head : head + 1]])
    return scores.softmax(-1)[: record.shape[3]]


@pytest.mark.slow
@pytest.mark.parametrize("family", each(LINEAR))
def test_the_terms_of_a_score_sum_to_it_and_their_softmax_is_the_models_attention(family: Family) -> None:
    model, ready, who = reader(family)
    read = who.read(ready)
    own = {(call.module, call.layer): call for call in record(model, {**ready, **uncached(model.module)})}
    assert len(read.calls) == family.layers
    for call in read.calls:
        head, query = 1, call.record.shape[2] - 1
        q, k = call.record.q[0, head, query], call.record.k[0, head // call.record.groups]
        products = k.detach() @ q.detach()
        largest = products.abs().max()
        of_keys, of_query = summed(read, k @ q.detach()), summed(read, k.detach() @ q)
        assert (of_keys - products).abs().max() <= 1e-5 * largest
        assert (of_query - products).abs().max() <= 1e-5 * largest
        given: Any = own[call.record.module, call.record.layer].given
        assert (weights(call, of_keys, head, query) - given[0, head, query]).abs().max() <= 1e-5
    kinds = {writer.kind for writer in read.writers}
    assert {"mlp", "attention" if family.name in NO_HEADS else "head"} <= kinds
    assert len({TOKEN, PLACED} & kinds) == 1


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in NO_STREAM])
def test_a_stream_that_is_changed_on_its_way_is_refused(name: str) -> None:
    _, ready, who = reader(family(name))
    read = who.read(ready)
    records = [call.record for call in read.calls]
    with pytest.raises(RefusedError, match="sums over who wrote the residual stream"):
        _ = [summed(read, record.k[0, 0] @ record.q[0, 0, 0].detach()) for record in records]


def test_without_rotation_products_are_those_at_one_position() -> None:
    _, ready, who = reader(family("Qwen2"))  # with biases of queries and keys
    read = who.read(ready, ("self", 1))
    call = read.calls[-1]
    still = read.unturned(call)
    assert len(read.calls) == 2
    one_place = torch.einsum("htd,htd->ht", call.record.q[0], call.record.keys[0])
    torch.testing.assert_close(torch.einsum("htd,htd->ht", still.q[0], still.keys[0]), one_place)
    products = still.k[0, 0] @ still.q[0, 0, 5].detach()
    torch.testing.assert_close(summed(read, products).float(), products.detach())


def test_a_head_writes_its_weights_times_values_through_w_o() -> None:
    model, ready, who = reader(family("Llama"))
    read = who.read(ready)
    (first, second, _) = read.calls
    written = torch.einsum("hqk,hkd->qhd", first.record.weights()[0], first.record.values[0])
    attention: Any = model.module
    matrix = attention.model.layers[0].self_attn.o_proj.weight.T.reshape(4, 8, 32)
    (head,) = [writer for writer in read.writers if (writer.kind, writer.layer) == ("head", 0)]
    assert head.outputs is not None
    torch.testing.assert_close(head.outputs, written.detach())
    # the term of head 2: what it wrote at the key, through the norm as it is there, and W_K
    state = sum(
        writer.leaf.detach()[0] for writer in read.writers if writer.layer <= 0 and writer.kind != "bias"
    )
    layer = attention.model.layers[1]
    scale = torch.rsqrt(state[4].square().mean() + layer.input_layernorm.variance_epsilon)
    part = (written[4, 2] @ matrix[2]) * scale * layer.input_layernorm.weight
    still = read.unturned(second)
    query = still.q[0, 0, 7].detach()
    terms = read.terms((still.k[0, 0, 4] @ query)[None])
    place = [writer is head for writer in read.writers].index(True)
    found = terms[place]
    expected = query @ (layer.self_attn.k_proj.weight[:8] @ part)
    torch.testing.assert_close(found[2, 0].float(), expected.detach())


ATTENDING = [kind for kind in KNOWN if kind not in ("mamba", "mamba2", "rwkv", "xlstm")]
MIXER = re.compile(r"(state space|linear attention|recurrence|convolution) \((\w+)\)")
"""What `unseen` says of a mixer: what it is, and its class."""


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind in ("lfm2", "falcon_h1", "zamba2", "jamba") else pytest.mark.slow)
        for kind in ATTENDING
    ],
)
def test_what_mixes_tokens_beside_attention_writes_under_a_name_of_its_own(kind: str) -> None:
    module: Any = hybrid(kind)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.15 if parameter.ndim > 1 else 0.3)
    module.set_experts_implementation("eager")  # the other kernels know no float64
    model = hs.load(module.double())
    ids = torch.arange(5, 13)[None]
    ready = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    written: dict[tuple[str, int], Tensor] = {}

    def keep(name: tuple[str, int]) -> Any:
        return lambda _, __, output: written.update(
            {name: output[0] if isinstance(output, tuple) else output}
        )

    words = {cls: word for word, cls in MIXER.findall(model.unseen)}
    with ExitStack() as hooks, torch.no_grad():
        for name, part in module.named_modules():
            if type(part).__name__ in words:
                place = block_of(name)
                assert place is not None
                hook = part.register_forward_hook(keep((words[type(part).__name__], place[1])))
                hooks.callback(hook.remove)
        module(**ready, use_cache=False)
    read = Reader(model, ready).read(ready)
    leaves = {(writer.kind, writer.layer): writer.leaf for writer in read.writers if writer.kind not in KINDS}
    assert leaves.keys() == written.keys()
    assert bool(leaves) == bool(model.unseen)
    for name, output in written.items():
        assert leaves[name].equal(output)
    for call in read.calls:
        q, k = call.record.q[0, 1, -1], call.record.k[0, 1 // call.record.groups]
        products = k.detach() @ q.detach()
        for numbers in (k @ q.detach(), k.detach() @ q):
            # Norms compute in float32, whatever they are given.
            assert (summed(read, numbers) - products).abs().max() <= 1e-6 * products.abs().max()


def test_weights_of_half_precision_are_refused() -> None:
    model = hs.load(build(family("Llama")).bfloat16())
    ids = torch.tensor([[3, 4, 5]])
    with pytest.raises(RefusedError, match=r"expected weights in float32 or float64, found torch.bfloat16"):
        Reader(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})


def test_terms_that_do_not_sum_to_a_score_are_refused() -> None:
    _, ready, who = reader(family("Llama"))
    read = who.read(ready)
    read.writers[0].leaf.data *= 2  # as if it had been changed on its way
    record = read.calls[1].record
    with pytest.raises(RefusedError, match="found scores that are not"):
        read.terms(record.k[0, 0] @ record.q[0, 0, 0].detach())
