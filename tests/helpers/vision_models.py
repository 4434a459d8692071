"""Small random models of vision, and of texts and pictures, each with its family's own processor."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any
from unittest.mock import patch

import torch
import transformers as hub

import headscope as hs
from headscope.attention.parts import Parts
from headscope.models import Model
from tests.helpers.small_models import llava_parts, sharpen
from tests.helpers.small_tokenizers import byte_level

Made = tuple[Any, Any]
"""A module and its processor."""

SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
SEEN = {**SIZE, "image_size": 56, "patch_size": 14}


def tokenizer_of(**named: str) -> Any:
    """A tokenizer with special tokens, which it knows as `image_token`, `boi_token`, …"""
    tokenizer = copy.deepcopy(byte_level())
    tokenizer.add_special_tokens({"additional_special_tokens": list(named.values())})
    for name, token in named.items():
        setattr(tokenizer, name, token)
        setattr(tokenizer, f"{name}_id", tokenizer.convert_tokens_to_ids(token))
    return tokenizer


def processor_of(kind: Any, **parts: Any) -> Any:
    """A processor that is given no reader of videos: transformers reads these with torchvision."""
    with patch.object(hub.ProcessorMixin, "check_argument_for_proper_class", lambda *_: None):
        return kind(**parts)


def _square(side: int = 56) -> Any:
    return hub.ViTImageProcessor(size={"height": side, "width": side})


def _cropped() -> Any:
    return hub.CLIPImageProcessor(size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56})


def _dino(kind: str, **more: Any) -> Made:
    settings = getattr(hub, f"{kind}Config")(**SEEN, **more)
    return getattr(hub, f"{kind}Model")(settings), hub.BitImageProcessor(
        size={"shortest_edge": 64}, crop_size={"height": 56, "width": 56}
    )


def swin(kind: str = "Swin", side: int = 32) -> Made:
    """Stages of 16 × 16, 8 × 8 and 4 × 4 cells for 32 pixels, in windows of 4 × 4 (the last one is whole)."""
    settings = getattr(hub, f"{kind}Config")(
        image_size=side, patch_size=2, embed_dim=8, depths=[2, 2, 1], num_heads=[2, 4, 4], window_size=4
    )
    return getattr(hub, f"{kind}Model")(settings), _square(side)


def padded_swin() -> Made:
    """A Swin that pads: 9 × 9 cells, then 5 × 5, in windows of 4 × 4."""
    settings = hub.SwinConfig(
        image_size=18, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=4
    )
    return hub.SwinModel(settings), _square(18)


STAGES: dict[str, Any] = {
    "hidden_sizes": [8, 16, 16, 16],
    "depths": [1, 1, 1, 1],
    "num_attention_heads": [1, 2, 2, 2],
}


def _staged(kind: str, **more: Any) -> Made:
    """Four stages of 16 × 16 to 2 × 2 cells for 64 pixels, all with keys of 2 × 2 cells."""
    settings = getattr(hub, f"{kind}Config")(**STAGES, **more)
    return getattr(hub, f"{kind}Model")(settings), _square(64)


def _mobilevit() -> Made:
    """Stages of 8 × 8, 4 × 4 and 2 × 2 cells for 64 pixels, four sets in each."""
    settings = hub.MobileViTConfig(
        image_size=64,
        hidden_sizes=[16, 20, 24],
        neck_hidden_sizes=[4, 4, 8, 8, 12, 12, 16],
        num_attention_heads=2,
    )
    return hub.MobileViTModel(settings), _square(64)


def _hiera() -> Made:
    """Stages of 16 × 16, 8 × 8, 4 × 4 and 2 × 2 cells for 64 pixels; in the first two, windows of a quarter."""
    settings = hub.HieraConfig(image_size=[64, 64], embed_dim=8, depths=[1, 2, 2, 1], num_heads=[1, 2, 4, 8])
    return hub.HieraModel(settings), _square(64)


def _cvt() -> Made:
    """Stages of 16 × 16, 8 × 8 and 4 × 4 cells for 64 pixels, each with half as many keys down and across."""
    settings = hub.CvtConfig(embed_dim=[8, 16, 16], num_heads=[1, 2, 2], depth=[1, 2, 3])
    return hub.CvtModel(settings), _square(64)


def _donut() -> Made:
    tokenizer = tokenizer_of()
    encoder = hub.DonutSwinConfig(
        image_size=[48, 32], patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=4
    )
    decoder = hub.MBartConfig(
        d_model=16,
        decoder_layers=2,
        decoder_attention_heads=4,
        decoder_ffn_dim=32,
        vocab_size=len(tokenizer),
        is_decoder=True,
        add_cross_attention=True,
    )
    settings = hub.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    settings.decoder_start_token_id = settings.pad_token_id = 0
    looks = hub.DonutImageProcessor(size={"height": 48, "width": 32})
    return hub.VisionEncoderDecoderModel(settings), hub.DonutProcessor(
        image_processor=looks, tokenizer=tokenizer
    )


def _qwen(kind: str, **vision: Any) -> Made:
    tokenizer = tokenizer_of(
        vision_start_token="<|vision_start|>",
        image_token="<|image_pad|>",
        vision_end_token="<|vision_end|>",
        video_token="<|video_pad|>",
    )
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}
    settings = getattr(hub, f"{kind}Config")(
        text_config=dict(
            SIZE, num_key_value_heads=2, head_dim=8, vocab_size=len(tokenizer), rope_parameters=rope
        ),
        vision_config=dict(depth=2, hidden_size=32, num_heads=4, **vision),
        image_token_id=tokenizer.image_token_id,
        video_token_id=tokenizer.video_token_id,
        vision_start_token_id=tokenizer.vision_start_token_id,
        vision_end_token_id=tokenizer.vision_end_token_id,
    )
    side = 2 * vision["patch_size"]
    looks = hub.Qwen2VLImageProcessorPil(
        patch_size=vision["patch_size"], size={"shortest_edge": 12 * side**2, "longest_edge": 30 * side**2}
    )
    processor = processor_of(getattr(hub, f"{kind}Processor"), image_processor=looks, tokenizer=tokenizer)
    return getattr(hub, f"{kind}ForConditionalGeneration")(settings), processor


def _paligemma() -> Made:
    tokenizer = tokenizer_of(bos_token="<bos>")
    looks = hub.SiglipImageProcessor(size={"height": 56, "width": 56})
    looks.image_seq_length = 16
    processor = hub.PaliGemmaProcessor(image_processor=looks, tokenizer=tokenizer)
    settings = hub.PaliGemmaConfig(
        vision_config=dict(model_type="siglip_vision_model", **SEEN, projection_dim=32),
        text_config=dict(
            model_type="gemma", **SIZE, num_key_value_heads=2, head_dim=8, vocab_size=len(tokenizer)
        ),
        projection_dim=32,
        hidden_size=32,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    return hub.PaliGemmaForConditionalGeneration(settings), processor


def _gemma3() -> Made:
    tokenizer = tokenizer_of(
        boi_token="<start_of_image>", eoi_token="<end_of_image>", image_token="<image_soft_token>"
    )
    looks = hub.Gemma3ImageProcessorPil(size={"height": 56, "width": 56})
    settings = hub.Gemma3Config(
        vision_config=dict(model_type="siglip_vision_model", **SEEN),
        text_config=dict(
            SIZE, num_key_value_heads=2, head_dim=8, vocab_size=len(tokenizer), sliding_window=64
        ),
        mm_tokens_per_image=4,
        image_token_index=tokenizer.image_token_id,
        boi_token_index=tokenizer.boi_token_id,
        eoi_token_index=tokenizer.eoi_token_id,
    )
    processor = hub.Gemma3Processor(image_processor=looks, tokenizer=tokenizer, image_seq_length=4)
    return hub.Gemma3ForConditionalGeneration(settings), processor


def idefics3_tokens(**named: str) -> Any:
    """The tokenizer of an Idefics3, which knows the places of tiles."""
    named |= {"fake": "<fake_token_around_image>", "all": "<global-img>", "end": "<end_of_utterance>"}
    places = {
        f"place_{row}_{column}": f"<row_{row + 1}_col_{column + 1}>"
        for row in range(6)
        for column in range(6)
    }
    return tokenizer_of(image_token="<image>", **named, **places)


def _idefics3() -> Made:
    tokenizer = idefics3_tokens()
    looks = hub.Idefics3ImageProcessorPil(size={"longest_edge": 112}, max_image_size={"longest_edge": 56})
    processor = hub.Idefics3Processor(image_processor=looks, tokenizer=tokenizer, image_seq_len=4)
    settings = hub.Idefics3Config(
        vision_config=SEEN,
        text_config=dict(model_type="llama", **SIZE, vocab_size=len(tokenizer), pad_token_id=0),
        scale_factor=2,
        image_token_id=tokenizer.image_token_id,
    )
    return hub.Idefics3ForConditionalGeneration(settings), processor


def _internvl() -> Made:
    tokenizer = tokenizer_of(
        start_image_token="<img>", end_image_token="</img>", context_image_token="<IMG_CONTEXT>"
    )
    tokenizer.video_token = "<video>"
    looks = hub.GotOcr2ImageProcessorPil(
        size={"height": 56, "width": 56}, crop_to_patches=True, min_patches=1, max_patches=4
    )
    processor = processor_of(
        hub.InternVLProcessor, image_processor=looks, tokenizer=tokenizer, image_seq_length=4
    )
    settings = hub.InternVLConfig(
        vision_config=dict(SIZE, image_size=[56, 56], patch_size=[14, 14]),
        text_config=dict(model_type="qwen2", **SIZE, num_key_value_heads=2, vocab_size=len(tokenizer)),
        image_token_id=tokenizer.context_image_token_id,
        downsample_ratio=0.5,
    )
    return hub.InternVLForConditionalGeneration(settings), processor


def llava_next() -> Made:
    """A LLaVA that cuts pictures into tiles and writes the ends of their rows."""
    tokenizer = tokenizer_of(image_token="<image>")
    shapes = [[56, 112], [112, 56], [112, 112]]
    looks = hub.LlavaNextImageProcessorPil(
        size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}, image_grid_pinpoints=shapes
    )
    processor = hub.LlavaNextProcessor(
        image_processor=looks,
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )
    settings = hub.LlavaNextConfig(
        vision_config=hub.CLIPVisionConfig(**SEEN),
        text_config=hub.LlamaConfig(**SIZE, vocab_size=len(tokenizer)),
        image_token_index=tokenizer.image_token_id,
        image_seq_length=16,
        image_grid_pinpoints=shapes,
    )
    return hub.LlavaNextForConditionalGeneration(settings), processor


def _clip() -> Made:
    tokenizer = byte_level()
    settings = hub.CLIPConfig(
        text_config=dict(SIZE, vocab_size=len(tokenizer)), vision_config=SEEN, projection_dim=8
    )
    return hub.CLIPModel(settings), hub.CLIPProcessor(image_processor=_cropped(), tokenizer=tokenizer)


def _trocr() -> Made:
    tokenizer = tokenizer_of()
    decoder = hub.TrOCRConfig(
        d_model=32, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=48, vocab_size=len(tokenizer)
    )
    settings = hub.VisionEncoderDecoderConfig.from_encoder_decoder_configs(hub.ViTConfig(**SEEN), decoder)
    settings.decoder_start_token_id = settings.pad_token_id = 0
    return hub.VisionEncoderDecoderModel(settings), hub.TrOCRProcessor(
        image_processor=_square(), tokenizer=tokenizer
    )


TEN: dict[str, Callable[[], Made]] = {
    "ViT": lambda: (hub.ViTModel(hub.ViTConfig(**SEEN)), _square()),
    "DeiT": lambda: (
        hub.DeiTModel(hub.DeiTConfig(**SEEN)),
        hub.DeiTImageProcessor(size={"height": 64, "width": 64}, crop_size={"height": 56, "width": 56}),
    ),
    "DINOv2 with registers": lambda: _dino("Dinov2WithRegisters", num_register_tokens=4),
    "CLIP vision": lambda: (hub.CLIPVisionModel(hub.CLIPVisionConfig(**SEEN)), _cropped()),
    "SigLIP": lambda: (
        hub.SiglipVisionModel(hub.SiglipVisionConfig(**SEEN)),
        hub.SiglipImageProcessor(size={"height": 56, "width": 56}),
    ),
    "Swin": swin,
    "BEiT": lambda: (
        hub.BeitModel(hub.BeitConfig(**SEEN)),
        hub.BeitImageProcessor(size={"height": 56, "width": 56}, do_center_crop=False),
    ),
    "Qwen2-VL": lambda: _qwen("Qwen2VL", embed_dim=32, patch_size=14, mlp_ratio=2),
    "LLaVA": llava_parts,
    "PaliGemma": _paligemma,
}
"""The families whose geometry is promised."""

MORE: dict[str, Callable[[], Made]] = {
    "DINOv2": lambda: _dino("Dinov2"),
    "DINOv3": lambda: (hub.DINOv3ViTModel(hub.DINOv3ViTConfig(**SEEN, num_register_tokens=4)), _square()),
    "wide ViT": lambda: (
        hub.ViTModel(hub.ViTConfig(**SIZE, image_size=(28, 56), patch_size=14)),
        hub.ViTImageProcessor(size={"height": 28, "width": 56}),
    ),
    "larger ViT": lambda: (hub.ViTModel(hub.ViTConfig(**{**SEEN, "image_size": 28})), _square()),
    "SigLIP 2": lambda: (
        hub.Siglip2VisionModel(hub.Siglip2VisionConfig(**SIZE, patch_size=14, num_patches=64)),
        hub.Siglip2ImageProcessorPil(patch_size=14, max_num_patches=20),
    ),
    "YOLOS": lambda: (
        hub.YolosModel(hub.YolosConfig(**{**SEEN, "image_size": [56, 84]}, num_detection_tokens=5)),
        hub.YolosImageProcessor(size={"shortest_edge": 56, "longest_edge": 84}),
    ),
    "Swin v2": lambda: swin("Swinv2"),
    "padded Swin": padded_swin,
    "Donut": _donut,
    "TrOCR": _trocr,
    "CLIP": _clip,
    "Qwen2.5-VL": lambda: _qwen(
        "Qwen2_5_VL",
        patch_size=14,
        out_hidden_size=32,
        intermediate_size=48,
        window_size=56,
        fullatt_block_indexes=[1],
    ),
    "Qwen3-VL": lambda: _qwen(
        "Qwen3VL",
        patch_size=16,
        out_hidden_size=32,
        intermediate_size=48,
        num_position_embeddings=64,
        deepstack_visual_indexes=[0],
    ),
    "Gemma 3": _gemma3,
    "Idefics3": _idefics3,
    "InternVL": _internvl,
}
"""Families that work, too."""

STAGED: dict[str, Callable[[], Made]] = {
    "MobileViT": _mobilevit,
    "Hiera": _hiera,
    "PVT": lambda: _staged("Pvt", image_size=64),
    "PVT v2": lambda: _staged("PvtV2", image_size=64),
    "SegFormer": lambda: _staged("Segformer"),
    "GLPN": lambda: _staged("GLPN"),
    "CvT": _cvt,
}
"""Families whose stages are grids of several sizes, of which some have fewer keys than queries."""

READS = (
    "Qwen2-VL", "LLaVA", "PaliGemma", "CLIP", "Qwen2.5-VL", "Qwen3-VL", "Gemma 3", "Idefics3",
    "InternVL",
)  # fmt: skip
"""Families that read a text beside a picture."""

WRITES = ("Donut", "TrOCR")
"""Families that write a text."""


def made(make: Callable[[], Made]) -> Made:
    """A random module of a family, whose heads tell tokens apart, and its processor; without what transformers says of
    backends.
    """
    before = hub.logging.get_verbosity()
    hub.logging.set_verbosity_error()
    try:
        torch.manual_seed(0)
        module, processor = make()
    finally:
        hub.logging.set_verbosity(before)
    for name, parameter in module.named_parameters():
        if "relative_position_bias" in name or "input_projection" in name:  # they begin as zeros
            torch.nn.init.normal_(parameter)
    return sharpen(module), processor


@cache
def vision(family: str) -> Model:
    """A small model of a family of `TEN`, `MORE` or `STAGED`."""
    return hs.load(made({**TEN, **MORE, **STAGED}[family]))


def beside(family: str) -> dict[str, str]:
    """What a model of a family is given beside a picture."""
    return {"text": "What?"} if family in READS else {"target": "Ham."} if family in WRITES else {}


def captured(family: str, image: Any) -> Parts:
    """The maps of a model of a family on a picture, by part."""
    maps = hs.capture(vision(family), image=image, **beside(family))
    assert not isinstance(maps, Sequence)
    return maps if isinstance(maps, Parts) else Parts({"self": maps})
