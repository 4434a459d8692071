"""Small random generators of pictures, put together from configurations: denoisers, and pipelines around them."""

from __future__ import annotations

import string
from typing import Any

import pytest
import torch
import transformers

hub: Any = transformers
diffusers: Any = pytest.importorskip(
    "diffusers", reason="needs diffusers: pip install 'headscope[diffusers]'", exc_type=ImportError
)
diffusers.utils.logging.set_verbosity_error()

WORDS, LONGEST = ("cat", "on", "mat", "red", "a"), 9


def flux(**config: Any) -> Any:
    """A double block and a single one: text before latents."""
    torch.manual_seed(0)
    size = {"in_channels": 16, "num_layers": 1, "num_single_layers": 1, "num_attention_heads": 2}
    widths = {"joint_attention_dim": 32, "pooled_projection_dim": 32, "attention_head_dim": 16}
    return _sharp(diffusers.FluxTransformer2DModel(**size, **widths, axes_dims_rope=[4, 4, 8], **config))


def sd3(**config: Any) -> Any:
    """Latents before text."""
    torch.manual_seed(0)
    size = {"sample_size": 8, "num_layers": 2, "num_attention_heads": 4, "attention_head_dim": 8}
    widths = {"joint_attention_dim": 32, "caption_projection_dim": 32, "pooled_projection_dim": 64}
    return _sharp(diffusers.SD3Transformer2DModel(in_channels=4, out_channels=4, **size, **widths, **config))


def unet(**config: Any) -> Any:
    """Two resolutions, latents and text apart."""
    torch.manual_seed(0)
    down, up = ("CrossAttnDownBlock2D",) * 2, ("CrossAttnUpBlock2D",) * 2
    size = {"block_out_channels": (4, 8), "layers_per_block": 1, "sample_size": 8, "attention_head_dim": 2}
    blocks = {"down_block_types": down, "up_block_types": up, "norm_num_groups": 2, "cross_attention_dim": 32}
    return _sharp(
        diffusers.UNet2DConditionModel(in_channels=4, out_channels=4, **{**size, **blocks, **config})
    )


def _sharp(module: Any) -> Any:
    """In float64, with queries so large that heads tell tokens apart."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith(("to_q.weight", "add_q_proj.weight")):
                parameter.mul_(8.0)
    return module.double().eval()


def _clip() -> Any:
    letters = [*string.ascii_lowercase, *(f"{letter}</w>" for letter in string.ascii_lowercase)]
    merges = ["o n</w>", "a t</w>", "c at</w>", "m at</w>", "e d</w>", "r ed</w>"]
    pieces = [*letters, *("".join(merge.split()) for merge in merges), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    pairs = [tuple(merge.split()) for merge in merges]
    return hub.CLIPTokenizer(vocab=vocabulary, merges=pairs, model_max_length=LONGEST)


def _clip_encoder(tokenizer: Any, *, projects: bool = False) -> Any:
    torch.manual_seed(1)
    config = hub.CLIPTextConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=37, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=LONGEST, projection_dim=32, bos_token_id=len(tokenizer) - 2,
        eos_token_id=len(tokenizer) - 1, pad_token_id=len(tokenizer) - 1,
    )  # fmt: skip
    return (hub.CLIPTextModelWithProjection if projects else hub.CLIPTextModel)(config).double().eval()


def _t5() -> Any:
    words = [(f"▁{word}", -2.0) for word in WORDS] + [("▁", -4.0)]
    letters = [(letter, -6.0) for letter in string.ascii_lowercase]
    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    return hub.T5Tokenizer(vocab=special + words + letters, extra_ids=0, model_max_length=16)


def _t5_encoder(tokenizer: Any) -> Any:
    torch.manual_seed(2)
    size = {"d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4}
    return hub.T5EncoderModel(hub.T5Config(vocab_size=len(tokenizer), **size)).double().eval()


def _vae(**config: Any) -> Any:
    """Makes 4 pixels of a latent, each way."""
    torch.manual_seed(3)
    blocks = {"down_block_types": ["DownEncoderBlock2D"] * 3, "up_block_types": ["UpDecoderBlock2D"] * 3}
    size = {"block_out_channels": [4, 4, 8], "norm_num_groups": 2, "latent_channels": 4}
    return diffusers.AutoencoderKL(in_channels=3, out_channels=3, **blocks, **size, **config).double().eval()


def _quiet(pipe: Any) -> Any:
    pipe.set_progress_bar_config(disable=True)
    return pipe


def stable_diffusion() -> Any:
    """Words and latents apart, with guidance: two rows a pass."""
    tokenizer = _clip()
    parts = {"vae": _vae(), "text_encoder": _clip_encoder(tokenizer), "tokenizer": tokenizer, "unet": unet()}
    absent = dict.fromkeys(("safety_checker", "feature_extractor", "image_encoder"))
    scheduler = diffusers.DDIMScheduler(clip_sample=False, steps_offset=1)
    pipe = diffusers.StableDiffusionPipeline(
        **parts, **absent, scheduler=scheduler, requires_safety_checker=False
    )
    return _quiet(pipe)


def sdxl() -> Any:
    """Two encoders of the same words side by side; sizes are given in a dict."""
    clip = _clip()
    first = {"text_encoder": _clip_encoder(clip), "tokenizer": clip}
    second = {"text_encoder_2": _clip_encoder(clip, projects=True), "tokenizer_2": clip}
    added = {"addition_embed_type": "text_time", "addition_time_embed_dim": 8}
    wide = {"projection_class_embeddings_input_dim": 6 * 8 + 32, "cross_attention_dim": 64}
    scheduler = diffusers.EulerDiscreteScheduler()
    parts = {"vae": _vae(), "unet": unet(**added, **wide), "scheduler": scheduler}
    return _quiet(diffusers.StableDiffusionXLPipeline(**first, **second, **parts, add_watermarker=False))


def pixart() -> Any:
    """Latents look at T5's pieces, without those that fill them up."""
    t5 = _t5()
    torch.manual_seed(0)
    size = {"sample_size": 8, "num_layers": 2, "attention_head_dim": 8, "num_attention_heads": 3}
    widths = {"caption_channels": 32, "cross_attention_dim": 24, "in_channels": 4, "out_channels": 8}
    transformer = _sharp(
        diffusers.PixArtTransformer2DModel(**size, **widths, use_additional_conditions=False)
    )
    scheduler = diffusers.DDIMScheduler(clip_sample=False, steps_offset=1)
    parts = {"transformer": transformer, "vae": _vae(), "scheduler": scheduler}
    return _quiet(diffusers.PixArtAlphaPipeline(tokenizer=t5, text_encoder=_t5_encoder(t5), **parts))


def flux_pipeline() -> Any:
    """A sequence of T5's pieces, and one vector of CLIP's."""
    clip, t5 = _clip(), _t5()
    vae = _vae(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.0, scaling_factor=1.0)
    first = {"text_encoder": _clip_encoder(clip), "tokenizer": clip}
    second = {"text_encoder_2": _t5_encoder(t5), "tokenizer_2": t5}
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler()
    return _quiet(diffusers.FluxPipeline(**first, **second, transformer=flux(), vae=vae, scheduler=scheduler))


def sd3_pipeline() -> Any:
    """CLIP's pieces, then T5's, behind the latents."""
    clip, t5 = _clip(), _t5()
    vae = _vae(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.0, scaling_factor=1.0)
    first = {"text_encoder": _clip_encoder(clip, projects=True), "tokenizer": clip}
    second = {"text_encoder_2": _clip_encoder(clip, projects=True), "tokenizer_2": clip}
    third = {"text_encoder_3": _t5_encoder(t5), "tokenizer_3": t5}
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler()
    return _quiet(
        diffusers.StableDiffusion3Pipeline(
            **first, **second, **third, transformer=sd3(), vae=vae, scheduler=scheduler
        )
    )
