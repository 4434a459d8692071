"""Direct logit attribution: it sums to the logit, and each term is what a plain implementation says."""

from __future__ import annotations

import math
import re
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

import headscope as hs
from headscope.analyses.attribute import run as statistics
from headscope.measures.dataset import description
from headscope.models import Model
from tests.helpers.families import Family, build, family
from tests.helpers.hybrids import hybrid
from tests.helpers.small_models import save_gpt2, sizes

NAMES = ("GPT-2", "Llama", "Gemma 2", "Qwen3", "OPT", "GPT-NeoX", "Mistral", "gpt-oss")
IDS = np.array([5, 17, 17, 40, 3, 88, 60, 5, 9, 100])
TOKENS = hs.Tokens([str(number) for number in IDS], ids=IDS)
PLACE, TOKEN = 7, 42

LAYERS = {  # where a family keeps its layers, the projection in a layer, and its final norm
    "GPT-2": ("transformer.h", "attn.c_proj", "transformer.ln_f"),
    "GPT-NeoX": ("gpt_neox.layers", "attention.dense", "gpt_neox.final_layer_norm"),
    "OPT": ("model.decoder.layers", "self_attn.out_proj", "model.decoder.final_layer_norm"),
}
LIKE_LLAMA = ("model.layers", "self_attn.o_proj", "model.norm")


def loaded(each: Family, dtype: torch.dtype = torch.float32) -> Model:
    module: Any = build(each).to(dtype)
    if dtype == torch.float64 and each.name == "gpt-oss":  # its fast experts have no float64
        module.set_experts_implementation("eager")
    return hs.load(module)


def total(found: Any) -> float:
    return sum(float(found[name].sum()) for name in statistics.TERMS if name in found)


def logits(model: Model) -> Tensor:
    """The unembedding's own output at `PLACE`, before any softcap."""
    kept: list[Tensor] = []
    head: Any = model.module.get_output_embeddings()  # type: ignore[operator]
    hook = head.register_forward_hook(lambda _module, _given, out: kept.append(out))
    with torch.no_grad():
        model.module(input_ids=torch.tensor(IDS)[None])
    hook.remove()
    return kept[0][0, PLACE]


OTHERS = [
    Family("OPT 350m", "OPTForCausalLM", "opt", {**family("OPT").config, "do_layer_norm_before": False}),
    family("Doge"),
]
"""Whose layers end in a norm, or multiply the stream."""


@pytest.mark.slow
@pytest.mark.parametrize("family", [*map(family, NAMES), *OTHERS], ids=lambda family: family.name)
def test_the_terms_sum_to_the_logit_of_the_model(family: Family) -> None:
    model = loaded(family)
    found = hs.attribute(model, TOKENS, token=TOKEN, position=PLACE)
    assert float(found["logit"]) == pytest.approx(float(logits(model)[TOKEN]), abs=1e-5)
    assert total(found) == pytest.approx(float(logits(model)[TOKEN]), abs=1e-4)
    assert found["heads"].shape == (3, 4, len(IDS))
    assert (found["heads"][:, :, PLACE + 1 :] == 0).all()
    assert (found["heads"].sum("source") != 0).all()


# Their RMS norms compute in float32 whatever they are given, hence the tolerances of 1e-7 below.
def frozen(norm: Any, x: Tensor, at: Tensor) -> Tensor:
    """A norm of x with its divisor as it is at another vector, as its family's file says."""
    name = type(norm).__name__
    if isinstance(norm, nn.LayerNorm):
        spread = at.var(unbiased=False).add(norm.eps).sqrt()
        return (x - x.mean()) / spread * norm.weight + norm.bias
    eps = norm.eps if name.startswith("Gemma") else norm.variance_epsilon
    gain = 1 + norm.weight if name.startswith("Gemma") else norm.weight
    return x / at.square().mean().add(eps).sqrt() * gain


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_heads_part_is_what_the_logit_loses_with_its_output_taken_out_of_the_stream(name: str) -> None:
    model = loaded(family(name), torch.float64)
    module: Any = model.module
    layers, projection, final = LAYERS.get(name, LIKE_LLAMA)
    norm = module.get_submodule(final)
    entering: dict[Any, Tensor] = {}

    def keep(module: nn.Module, given: tuple[Tensor, ...]) -> None:
        entering[module] = given[0].detach().reshape(1, len(IDS), -1)[0, PLACE]

    blocks = list(module.get_submodule(layers))
    watched = [norm, *(block.get_submodule(projection) for block in blocks)]
    watched += [block.post_attention_layernorm for block in blocks if name == "Gemma 2"]
    hooks = [each.register_forward_pre_hook(keep) for each in watched]
    with torch.no_grad():
        module(input_ids=torch.tensor(IDS)[None])
    for hook in hooks:
        hook.remove()
    unembed, at = module.get_output_embeddings(), entering[norm]
    found = hs.attribute(model, TOKENS, token=TOKEN, position=PLACE)["heads"].sum("source")
    with torch.no_grad():
        whole = unembed(frozen(norm, at, at))[TOKEN]
        for layer, block in enumerate(blocks):
            given = entering[block.get_submodule(projection)]
            for head in range(4):
                alone = torch.zeros_like(given)
                alone[head * 8 : head * 8 + 8] = given[head * 8 : head * 8 + 8]
                out = block.get_submodule(projection)
                wrote = out(alone[None])[0] - out(torch.zeros_like(alone)[None])[0]
                if name == "Gemma 2":
                    after = block.post_attention_layernorm
                    wrote = frozen(after, wrote, entering[after])
                lost = whole - unembed(frozen(norm, at - wrote, at))[TOKEN]
                # Norms compute in float32.
                assert float(found[layer, head]) == pytest.approx(float(lost), abs=1e-6), (layer, head)


@pytest.mark.parametrize("name", ["Llama", "gpt-oss"])
def test_a_sources_part_is_what_its_weight_brings(name: str) -> None:
    model = loaded(family(name), torch.float64)
    found = hs.attribute(model, TOKENS, token=TOKEN, position=PLACE)["heads"]
    norm: Any = model.module.get_submodule("model.norm")
    unembed: Any = model.module.get_output_embeddings()  # type: ignore[operator]
    projection = model.module.get_submodule("model.layers.1.self_attn.o_proj")
    kept: list[Tensor] = []
    hooks = [projection.register_forward_hook(lambda _m, _given, out: kept.append(out[0, PLACE]))]
    hooks += [norm.register_forward_pre_hook(lambda _m, given: kept.append(given[0][0, PLACE]))]

    def run() -> tuple[Tensor, Tensor]:
        kept.clear()
        with torch.no_grad():
            model.module(input_ids=torch.tensor(IDS)[None])
        return kept[0], kept[1]

    wrote, at = run()
    for source in (0, 5, PLACE):

        def without(record: Any, source: int = source) -> Tensor | None:
            weights = record.weights().clone()
            weights[0, 2, PLACE, source] = 0.0
            return weights if record.layer == 1 else None

        with hs.edit(model, without):
            gone = wrote - run()[0]
        with torch.no_grad():
            lost = unembed(frozen(norm, at, at))[TOKEN] - unembed(frozen(norm, at - gone, at))[TOKEN]
        assert float(found[1, 2, source]) == pytest.approx(float(lost), abs=1e-7)
    for hook in hooks:
        hook.remove()


def test_a_model_small_enough_for_paper() -> None:
    """One layer, two heads that look evenly at the tokens a = (1, 0, 0, 1) and b = (0, 1, 0, 1)."""
    config = transformers.LlamaConfig(
        vocab_size=4,
        **sizes(hidden=4, layers=1, heads=2, inner=4, keys=2),
        head_dim=2,
        rms_norm_eps=1e-12,
        pad_token_id=None,
        tie_word_embeddings=False,
    )
    module: Any = transformers.LlamaForCausalLM(config)
    block = module.model.layers[0]
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
        for norm in (block.input_layernorm, block.post_attention_layernorm, module.model.norm):
            norm.weight.fill_(1.0)
        module.model.embed_tokens.weight[:2] = torch.tensor([[1.0, 0, 0, 1], [0, 1.0, 0, 1]])
        block.self_attn.v_proj.weight[0, 0] = 1.0  # head 0 reads a, head 1 reads b
        block.self_attn.v_proj.weight[2, 1] = 1.0
        block.self_attn.o_proj.weight[2, 0] = 4.0  # both write to the third dimension
        block.self_attn.o_proj.weight[2, 2] = -2.0
        module.lm_head.weight[3, 2] = 1.0  # which token 3 is read from
        module.lm_head.weight[3, 1] = 5.0
    found = hs.attribute(Model(module), hs.Tokens(["a", "b"], ids=[0, 1]), token=3)
    # A row's norm divides by √(2/4), so v is √2; each source has weight 1/2: 4 · √2/2 from a, −2 · √2/2 from b.
    # The stream at b ends as (0, 1, 2√2 − √2, 1) = (0, 1, √2, 1), of which the norm divides by √(4/4) = 1.
    root = math.sqrt(2)
    np.testing.assert_allclose(found["heads"][0], [[2 * root, 0], [0, -root]], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        [found[name].sum() for name in ("embedding", "mlp", "attention_bias", "bias", "logit")],
        [5, 0, 0, 0, 5 + root],
        atol=1e-6,
    )


def test_biases_are_of_no_head() -> None:
    model = loaded(family("GPT-2"), torch.float64)
    module: Any = model.module
    with torch.no_grad():
        for parameter in module.transformer.h[0].attn.parameters():
            parameter.zero_()
        module.transformer.h[0].attn.c_proj.bias.fill_(0.0)
        module.transformer.h[0].attn.c_proj.bias[3] = 2.0
    found = hs.attribute(model, TOKENS, token=TOKEN)
    assert (found["heads"][0] == 0).all()
    assert float(found["attention_bias"][0]) != 0
    assert total(found) == pytest.approx(float(found["logit"]), abs=1e-9)


def test_a_factor_and_a_softcap_after_the_unembedding() -> None:
    granite = loaded(Family("Granite", "GraniteForCausalLM", "granite",
                            {**family("Granite").config, "logits_scaling": 8.0, "residual_multiplier": 0.3}))  # fmt: skip
    with torch.no_grad():
        output = granite.module(input_ids=torch.tensor(IDS)[None]).logits[0, -1]
    found = hs.attribute(granite, TOKENS, token=TOKEN)
    assert total(found) == pytest.approx(float(output[TOKEN]), abs=1e-4)
    gemma = loaded(family("Gemma 2"))
    with torch.no_grad():
        output = gemma.module(input_ids=torch.tensor(IDS)[None]).logits[0, -1]
    found = hs.attribute(gemma, TOKENS)
    told = description(found)
    assert told["id"] == int(output.argmax())
    assert told["softcap"] == 30.0
    assert 30 * math.tanh(total(found) / 30) == pytest.approx(float(output.max()), abs=1e-4)


def test_within_an_edit_the_edited_weights_count() -> None:
    model = loaded(family("Llama"))
    with hs.ablate(model, "L1H2"):
        found = hs.attribute(model, TOKENS, token=TOKEN)
    assert (found["heads"][1, 2] == 0).all()
    assert (found["heads"][1, 1] != 0).any()
    assert total(found) == pytest.approx(float(found["logit"]), abs=1e-4)


def test_the_model_is_left_as_it_was() -> None:
    model = loaded(family("GPT-2"))
    before = logits(model)
    hs.attribute(model, TOKENS)
    assert torch.equal(logits(model), before)
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in model.module.modules())  # type: ignore[union-attr]
    loss = model.module(input_ids=torch.tensor(IDS)[None]).logits.sum()
    loss.backward()
    assert all(each.grad is not None for each in model.module.parameters())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "cls", "scale"),
    [
        ("lfm2", "ShortConv", 1.0),
        ("jamba", "MambaMixer", 1.0),
        ("falcon_h1", "FalconH1Mixer", 1.4),
        ("nemotron_h", "Mamba2Mixer", 1.0),
        ("recurrent_gemma", "RecurrentBlock", 1.0),
    ],
)
def test_what_mixes_tokens_beside_attention_has_a_term_of_its_own(kind: str, cls: str, scale: float) -> None:
    module: Any = hybrid(kind, **({"ssm_out_multiplier": scale} if kind == "falcon_h1" else {}))
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.2)
    if hasattr(module, "set_experts_implementation"):
        module.set_experts_implementation("eager")  # the other kernels know no float64
    model = hs.load(module.double())
    found = hs.attribute(model, TOKENS, token=TOKEN, position=PLACE)
    assert total(found) == pytest.approx(float(found["logit"]), rel=1e-5, abs=1e-6)
    wrote: dict[int, Tensor] = {}
    entered: list[Tensor] = []
    with ExitStack() as hooks, torch.no_grad():
        for name, part in module.named_modules():
            if type(part).__name__.endswith(cls):
                layer = int(next(word for word in name.split(".") if word.isdigit()))
                keep = partial(lambda at, _, __, output: wrote.update({at: output}), layer)
                hooks.callback(part.register_forward_hook(keep).remove)
        head = module.get_output_embeddings()
        final = next(
            part
            for name, part in module.named_modules()
            if re.search("(final_.*norm|norm_f|embedding_norm|model.norm)$", name)
        )
        hooks.callback(final.register_forward_pre_hook(lambda _, args: entered.append(args[0])).remove)
        module(input_ids=torch.tensor(IDS)[None], use_cache=False)
        x = entered[0][0, PLACE]
        gain = (final(entered[0])[0, PLACE] / x).detach()  # of a norm with its divisor frozen
        factor = 1.0 if not hasattr(module.config, "lm_head_multiplier") else module.config.lm_head_multiplier
        direction = head.weight[TOKEN] * gain * factor
        expected = {
            layer: scale * float(direction @ (out[0] if isinstance(out, tuple) else out)[0, PLACE])
            for layer, out in wrote.items()
        }
    terms = found["mixer"].dropna("layer")
    assert terms["layer"].values.tolist() == sorted(expected)
    np.testing.assert_allclose(terms, [expected[layer] for layer in sorted(expected)], rtol=1e-5, atol=1e-7)
    rows = found.table()
    words = {"lfm2": "convolution", "recurrent_gemma": "recurrence"}
    assert (rows["part"] == words.get(kind, "state space")).sum() == len(expected)
    assert rows["contribution"].sum() == pytest.approx(float(found["logit"]), rel=1e-5, abs=1e-6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("gpt2")
    save_gpt2(place)
    return place


def test_tokens_by_text_and_by_piece(folder: Path) -> None:
    model = hs.load(folder)
    by_text = hs.attribute(model, "The cat sat.", token=" the")
    piece = description(by_text)["token"]
    assert piece == "Ġthe"
    by_piece = hs.attribute(model, "The cat sat.", token=piece)
    assert by_piece.equals(by_text)


def test_the_table_sums_to_the_logit(folder: Path) -> None:
    found = hs.attribute(hs.load(folder), "The cat sat.")
    rows = found.table()
    assert tuple(rows.columns) == statistics.COLUMNS
    assert rows["contribution"].sum() == pytest.approx(float(found["logit"]), abs=1e-5)
    assert (rows["part"] == "head").sum() == 8
    assert (rows["part"] == "mlp").sum() == 2
    assert rows["contribution"].abs().is_monotonic_decreasing
    first = rows[rows["part"] == "head"].iloc[0]
    sources = found["heads"].sel(layer=first["layer"])[first["head"]]
    assert float(sources[first["source"]]) == first["from_source"]
    assert (sources.values * np.sign(first["contribution"])).argmax() == first["source"]
    assert first["token"] == str(found["piece"].values[first["source"]])


CAPITALS = {
    "France": " Paris",
    "Italy": " Rome",
    "Germany": " Berlin",
    "Spain": " Madrid",
    "Japan": " Tokyo",
    "Russia": " Moscow",
    "China": " Beijing",
    "England": " London",
}


@pytest.mark.slow
def test_a_head_of_a_language_model_brings_the_capital_from_its_country(smollm: Any) -> None:
    """The figures of docs/importance.md."""
    found = hs.attribute(smollm, "The capital of France is")
    assert description(found)["token"] == "ĠParis"
    parts = [float(found[name].sum()) for name in ("logit", *statistics.TERMS) if name in found]
    np.testing.assert_allclose(parts, [17.371, 4.981, 0, 12.452, -0.062, 0], atol=2e-3)
    rows = found.table().query("part == 'head'").head(3)
    expected = [(23, 4, "ĠFrance"), (29, 1, "Ġis"), (29, 0, "Ġis")]
    assert [*zip(rows["layer"], rows["head"], rows["token"], strict=True)] == expected
    np.testing.assert_allclose(rows["contribution"], [2.824, 1.819, -1.606], atol=2e-3)
    with hs.ablate(smollm, "L23H4"):
        left = hs.attribute(smollm, "The capital of France is", token=" Paris")["logit"].item()
    assert parts[0] - left == pytest.approx(4.06, abs=0.01)


@pytest.mark.deep
def test_without_that_head_every_capital_is_less_likely(smollm: Any) -> None:
    """The figures of docs/importance.md."""
    lost: list[float] = []
    for country, capital in CAPITALS.items():
        text = f"The capital of {country} is"
        whole = hs.attribute(smollm, text, token=capital)["logit"].item()
        with hs.ablate(smollm, "L23H4"):
            lost.append(whole - hs.attribute(smollm, text, token=capital)["logit"].item())
    assert (min(lost), max(lost)) == (pytest.approx(2.55, abs=0.01), pytest.approx(4.60, abs=0.01))
