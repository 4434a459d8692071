"""Generators of pictures: each map is what a processor of our own computes, with the text and the picture named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import Tensor, nn
from torch.nn import functional as F

import headscope as hs
from headscope.attention import denoise
from headscope.attention.parts import Parts
from headscope.errors import InputError, RefusedError
from tests.helpers import generators

PROMPT = "a red cat on a mat"
SMALL = {"height": 32, "width": 32, "num_inference_steps": 4, "seed": 0}
T5 = {**SMALL, "max_sequence_length": 8}


class Own:
    """Computes attention as diffusers' processors do, and keeps the weights; `planted` is added to the scores."""

    def __init__(self, planted: Tensor | None = None) -> None:
        self.weights: list[np.ndarray] = []
        self.planted = planted

    def __call__(
        self, attn: Any, hidden_states: Tensor, encoder_hidden_states: Any = None, attention_mask: Any = None,
        image_rotary_emb: Any = None, **_: Any,
    ) -> Any:  # fmt: skip
        assert attention_mask is None
        heads, turns = attn.heads, image_rotary_emb
        joint = getattr(attn, "added_kv_proj_dim", None) is not None
        text = encoder_hidden_states if joint else None
        source = hidden_states if joint or encoder_hidden_states is None else encoder_hidden_states

        def split(x: Tensor, norm: Any) -> Tensor:
            x = x.unflatten(-1, (heads, -1))
            return (x if norm is None else norm(x)).transpose(1, 2)

        def joined(of: str, added: str, x: Tensor, norm: str) -> Tensor:
            mine = split(getattr(attn, of)(x), getattr(attn, f"norm_{norm}", None))
            if text is None:
                return mine
            theirs = split(getattr(attn, added)(text), getattr(attn, f"norm_added_{norm}", None))
            return torch.cat([theirs, mine] if turns is not None else [mine, theirs], 2)

        q = joined("to_q", "add_q_proj", hidden_states, "q")
        k = joined("to_k", "add_k_proj", source, "k")
        v = joined("to_v", "add_v_proj", source, "")
        if turns is not None:
            q, k = (self.turned(x, *turns) for x in (q, k))
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        if self.planted is not None and scores.shape[-2:] == self.planted.shape:
            scores = scores + self.planted
        weights = scores.softmax(-1)
        self.weights.append(weights[-1].detach().numpy())
        mixed = (weights @ v).transpose(1, 2).flatten(2)
        if text is None:
            return mixed if turns is not None and not hasattr(attn, "to_out") else attn.to_out[0](mixed)
        count, first = text.shape[1], turns is not None
        latents, words = (
            (mixed[:, count:], mixed[:, :count]) if first else (mixed[:, :-count], mixed[:, -count:])
        )
        last = getattr(attn, "context_pre_only", False)
        return attn.to_out[0](latents), words if last else attn.to_add_out(words)

    def turned(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        real, imaginary = x.unflatten(-1, (-1, 2)).unbind(-1)
        turned = torch.stack([-imaginary, real], -1).flatten(-2)
        return (x.float() * cos + turned.float() * sin).to(x)  # as diffusers does, whatever the precision


def flux_inputs() -> dict[str, Tensor]:
    """8 tokens of text, 16 latents."""
    draw = torch.Generator().manual_seed(4)
    places = torch.stack([torch.zeros(16), torch.arange(16) // 4, torch.arange(16) % 4], -1).double()

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    return {
        "img_ids": places, "txt_ids": torch.zeros(8, 3).double(), "timestep": torch.tensor([0.5]).double(),
        "hidden_states": random(1, 16, 16), "encoder_hidden_states": random(1, 8, 32),
        "pooled_projections": random(1, 32),
    }  # fmt: skip


def own_weights(module: nn.Module, inputs: dict[str, Tensor]) -> list[np.ndarray]:
    own, any_module = Own(), module
    before = dict(any_module.attn_processors)
    any_module.set_attn_processor(own)
    with torch.no_grad():
        module(**inputs)
    any_module.set_attn_processor(before)
    return own.weights


def test_both_blocks_of_flux_over_text_and_latents() -> None:
    module, inputs = generators.flux(), flux_inputs()
    model = hs.load(module, inputs=inputs)
    maps = hs.capture(model, inputs=inputs)
    assert isinstance(maps, hs.AttentionMaps)
    assert maps.weights.shape == (2, 2, 24, 24)
    assert maps.weights.dtype == np.float64
    own = own_weights(module, inputs)
    assert_allclose(maps.weights, own, atol=1e-12)
    text, latent = maps.key.mask("text"), maps.key.mask("latent")
    assert_array_equal(text, np.arange(24) < 8)
    assert_array_equal(latent, ~text)
    assert_array_equal(maps.weights[:, :, latent][..., text], maps.weights[:, :, 8:, :8])
    assert maps.key.pieces[7:10] == ("text[7]", "patch[0,0]", "patch[0,1]")


@pytest.mark.parametrize("dual", [(), (0,)])
def test_sd3_has_latents_first(dual: tuple[int, ...]) -> None:
    module = generators.sd3(dual_attention_layers=dual)
    draw = torch.Generator().manual_seed(4)
    shapes = {
        "hidden_states": (1, 4, 8, 8),
        "encoder_hidden_states": (1, 7, 32),
        "pooled_projections": (1, 64),
    }
    inputs = {
        name: torch.randn(*shape, generator=draw, dtype=torch.float64) for name, shape in shapes.items()
    }
    inputs["timestep"] = torch.tensor([500.0], dtype=torch.float64)
    maps = hs.capture(hs.load(module, inputs=inputs), inputs=inputs)
    own = own_weights(module, inputs)
    joint = maps
    if dual:
        assert isinstance(maps, Parts)
        assert [*maps] == ["joint", "latent 4 × 4"]
        assert_allclose(maps["latent 4 × 4"].weights, own[1:2], atol=1e-12)
        joint, own = maps.joint, [own[0], own[2]]
    assert isinstance(joint, hs.AttentionMaps)
    assert_allclose(joint.weights, own, atol=1e-12)
    assert_array_equal(joint.query.mask("text"), np.arange(23) >= 16)


def test_a_unet_by_what_looks_and_at_which_size() -> None:
    module = generators.unet()
    draw = torch.Generator().manual_seed(4)
    inputs = {
        "sample": torch.randn(1, 4, 8, 12, generator=draw, dtype=torch.float64),
        "encoder_hidden_states": torch.randn(1, 7, 32, generator=draw, dtype=torch.float64),
        "timestep": torch.tensor([500]),
    }
    model = hs.load(module, inputs=inputs)
    maps = hs.capture(model, inputs=inputs)
    assert isinstance(maps, Parts)
    own = own_weights(module, inputs)  # self and cross in turns
    shapes = {
        "latent 8 × 12": (96, 96),
        "cross 8 × 12": (96, 7),
        "latent 4 × 6": (24, 24),
        "cross 4 × 6": (24, 7),
    }
    assert {name: (len(part.query), len(part.key)) for name, part in maps.items()} == shapes
    for name, part in maps.items():
        theirs = own[1::2] if part.kind == "cross" else own[::2]
        assert name.startswith("cross") == (part.kind == "cross")
        for number, layer in zip(part.index, part.layers, strict=True):
            assert_allclose(layer, theirs[number], atol=1e-12)
    with hs.ablate(model, "L3H1", part="cross"):
        off = hs.capture(model, inputs=inputs)
    assert isinstance(off, Parts)
    assert not off["cross 4 × 6"]["L3H1"].any()
    assert off["cross 4 × 6"]["L3H0"].any()


def stitched(own: list[np.ndarray], layers: int) -> list[list[np.ndarray]]:
    """Weights by step: those of the last steps, as the check ran the denoiser before."""
    return [own[place : place + layers] for place in range(0, len(own), layers)]


def test_words_and_latents_of_each_step_of_stable_diffusion() -> None:
    pipe = generators.stable_diffusion()
    plain = pipe(
        PROMPT, output_type="np", height=32, width=32, num_inference_steps=4, generator=torch.manual_seed(0)
    )
    made = hs.denoise(pipe, PROMPT, steps=[0, 3], **SMALL)
    assert_array_equal(made.picture.pixels, (plain.images[0] * 255).round().astype(np.uint8))
    assert made.steps == [0, 3]
    pipe.unet.set_attn_processor(own := Own())
    pipe(PROMPT, output_type="np", height=32, width=32, num_inference_steps=4, generator=torch.manual_seed(0))
    steps = stitched(own.weights, 14)
    assert len(steps) == 4
    heats = []
    for number, maps in zip(made.steps, made.maps, strict=True):
        assert isinstance(maps, Parts)
        cross = steps[number][1::2]
        for name in ("cross 8 × 8", "cross 4 × 4"):
            for layer, weights in zip(maps[name].index, maps[name].layers, strict=True):
                assert_allclose(weights, cross[layer], atol=1e-12)
        assert maps["cross 8 × 8"].meta["step"] == number
        coarse = np.mean([layer[:, :, 3].mean(0).reshape(4, 4) for layer in maps["cross 4 × 4"].layers], 0)
        fine = np.mean([layer[:, :, 3].mean(0).reshape(8, 8) for layer in maps["cross 8 × 8"].layers], 0)
        larger = (
            F.interpolate(torch.tensor(coarse)[None, None], (8, 8), mode="bicubic").clamp(min=0)[0, 0].numpy()
        )
        heats.append((4 * larger + 3 * fine) / 7)
    assert_allclose(made.heat("cat"), np.mean(heats, 0), atol=1e-9)
    maps = made.maps[0]["cross 8 × 8"]
    assert maps.key.pieces[3] == "cat</w>"
    assert_array_equal(maps.key.mask("padding"), np.arange(9) == 8)
    assert maps.key.mask("text").all()
    assert maps.query.mask("latent").all()
    assert maps.query.boxes is not None
    assert_array_equal(maps.query.boxes[2 * 8 + 5], [20, 8, 24, 12])
    with pytest.raises(InputError, match=r"word: expected one of 'a red cat on a mat', found 'dog'"):
        made.heat("dog")


@pytest.mark.parametrize(
    ("make", "options", "passes"),
    [
        (generators.flux_pipeline, {}, 1),
        (generators.flux_pipeline, {"true_cfg_scale": 2.0, "negative_prompt": "red"}, 2),
        (generators.sd3_pipeline, {}, 1),
    ],
)
def test_text_and_latents_on_one_axis_by_step(make: Any, options: dict[str, Any], passes: int) -> None:
    pipe = make()
    made = hs.denoise(pipe, PROMPT, **T5, **options)
    pipe.transformer.set_attn_processor(own := Own())
    given = {**T5, **options, "generator": torch.manual_seed(0)}
    del given["seed"]
    pipe(PROMPT, output_type="np", **given)
    steps = [weights[:2] for weights in stitched(own.weights, 2 * passes)]
    assert len(made.maps) == len(steps) == 4
    expected = []
    for maps, weights in zip(made.maps, steps, strict=True):
        assert isinstance(maps, hs.AttentionMaps)
        assert_allclose(maps.weights, weights, atol=1e-9)
        text, latent = maps.key.mask("text"), maps.key.mask("latent")
        cat = np.array(["cat" in piece for piece in maps.key.pieces])
        assert cat.sum() == (2 if "T5" in maps.key.classes else 1)
        assert (text | latent).all()
        assert text[0] == (make is generators.flux_pipeline)
        expected.append(maps.weights[:, :, latent][..., cat].sum(-1).mean((0, 1)).reshape(4, 4))
    assert_allclose(made.heat("Cat"), np.mean(expected, 0), atol=1e-9)
    assert len(made.text) == (17 if "T5" in made.text.classes else 8)


def test_two_encoders_of_the_same_words_and_a_picture_that_is_no_square() -> None:
    made = hs.denoise(generators.sdxl(), PROMPT, **{**SMALL, "width": 48})
    assert made.picture.size == (48, 32)
    maps = made.maps[0]
    assert isinstance(maps, Parts)
    assert [*maps] == ["latent 8 × 12", "cross 8 × 12", "latent 4 × 6", "cross 4 × 6"]
    assert maps["cross 4 × 6"].key.pieces[3] == "cat</w>"
    assert maps["cross 4 × 6"].query.boxes is not None
    assert_array_equal(maps["cross 4 × 6"].query.boxes[7], [8, 8, 16, 16])


def test_a_mask_hides_what_fills_a_text_up() -> None:
    options = {**SMALL, "max_sequence_length": 12, "use_resolution_binning": False}
    maps = hs.denoise(generators.pixart(), PROMPT, **options).maps[2]
    assert isinstance(maps, Parts)
    padding = maps["cross 4 × 4"].key.mask("padding")
    assert_array_equal(padding, np.arange(12) >= 7)
    assert not maps["cross 4 × 4"].weights[..., padding].any()


def test_a_word_that_is_planted_lands_where_it_was_put() -> None:
    pipe = generators.stable_diffusion()
    planted = torch.zeros(64, 9)
    planted[5 * 8 + 2, 6] = 30.0
    pipe.unet.set_attn_processor(Own(planted))
    heat = hs.denoise(pipe, PROMPT, **SMALL).heat("mat")
    assert np.unravel_index(heat.argmax(), heat.shape) == (5, 2)
    assert heat[5, 2] > 0.4


def test_less_is_kept_of_what_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = generators.flux_pipeline()
    whole = hs.denoise(pipe, PROMPT, **T5)
    some = hs.denoise(pipe, PROMPT, steps=[1], layers=[1], **T5)
    (maps,) = some.maps
    assert isinstance(maps, hs.AttentionMaps)
    assert maps.index == (1,)
    assert isinstance(whole.maps[1], hs.AttentionMaps)
    assert_allclose(maps.layers[0], whole.maps[1].layers[1], atol=1e-12)
    assert_allclose(some.heats[0], whole.heats[1], atol=1e-12)
    step = 4 * 2 * 2 * 24**2
    monkeypatch.setattr(denoise, "LARGEST", 2 * step)
    assert len(hs.denoise(pipe, PROMPT, steps=[0, 2], **T5).maps) == 2
    with pytest.raises(RefusedError, match=r"give fewer steps or layers, or maps=False"):
        hs.denoise(pipe, PROMPT, steps=[0, 1, 2], **T5)
    with pytest.raises(RefusedError, match=r"at most 0\.0 GB"):
        hs.denoise(pipe, PROMPT, **T5)
    bare = hs.denoise(pipe, PROMPT, maps=False, **T5)
    assert bare.maps == []
    assert_allclose(bare.heats, whole.heats, atol=1e-12)


def test_what_cannot_be_seen_is_refused() -> None:
    pipe = generators.stable_diffusion()
    with pytest.raises(InputError, match=r"steps: expected from 0 to 3, found 9"):
        hs.denoise(pipe, PROMPT, steps=[0, 9], **SMALL)
    with pytest.raises(InputError, match="output_type: expected none"):
        hs.denoise(pipe, PROMPT, output_type="latent")
    with pytest.raises(InputError, match=r"pipe: expected a pipeline of diffusers .*, found Linear"):
        hs.denoise(nn.Linear(2, 2), PROMPT)
    pipe.enable_attention_slicing("max")
    with pytest.raises(RefusedError, match="expected a row with the prompt"):
        hs.denoise(pipe, PROMPT, **SMALL)


def test_the_row_of_the_prompt_is_told_by_its_vectors() -> None:
    """As of Lumina, whose passes have it first."""
    pipe = generators.stable_diffusion()
    usual = hs.denoise(pipe, PROMPT, guidance_scale=4.0, **SMALL)

    def turned(_: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        given = {name: kwargs[name].flip(0) for name in ("sample", "encoder_hidden_states") if name in kwargs}
        return tuple(arg.flip(0) if arg.ndim == 4 else arg for arg in args), {**kwargs, **given}

    pipe.unet.register_forward_pre_hook(turned, with_kwargs=True)
    pipe.unet.register_forward_hook(lambda _, args, output: (output[0].flip(0),))
    found = hs.denoise(pipe, PROMPT, guidance_scale=4.0, **SMALL)
    assert_allclose(found.heats, usual.heats, atol=1e-6)
    assert "encode_prompt" not in vars(pipe)
