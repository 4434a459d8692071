"""Small random models that see several pictures, tiles or videos, with a reader of videos that needs no torchvision."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import torch
import transformers as hub
from transformers.models.smolvlm import processing_smolvlm

import headscope as hs
from headscope.models import Model
from tests.helpers.vision_models import (
    MORE,
    SEEN,
    SIZE,
    TEN,
    Made,
    idefics3_tokens,
    llava_next,
    made,
    processor_of,
    tokenizer_of,
)

SHAPES = [[56, 112], [112, 56], [112, 112]]
"""Grids of tiles that pictures are fitted on."""


class FrameReader:
    """Reads videos frame by frame as a model's image processor reads pictures.

    Of Qwen's, whose patches span two frames, a patch's first half is of one frame and its second half of the next.
    """

    sample_frames = image_mean = None  # what tells a reader of videos
    model_input_names: ClassVar = ["pixel_values_videos"]

    def __init__(self, pictures: Any, name: str = "pixel_values_videos") -> None:
        self.pictures, self.name = pictures, name
        self.merge_size = getattr(pictures, "merge_size", None)
        self.temporal_patch_size = getattr(pictures, "temporal_patch_size", 1)
        self.num_frames = self.fps = None

    def __call__(self, videos: Any, do_sample_frames: bool = True, **options: Any) -> Any:
        assert not do_sample_frames
        (frames,) = videos
        kept = {
            name: options[name]
            for name in ("do_rescale", "do_normalize", "input_data_format")
            if name in options
        }
        read = self.pictures(list(frames), return_tensors="pt", **kept)
        number = np.arange(len(frames))
        told = {
            "video_metadata": [
                SimpleNamespace(
                    fps=1, sampled_fps=1, timestamps=number, duration=len(frames), frames_indices=number
                )
            ]
        }
        if "image_grid_thw" not in read:
            pixels = read["pixel_values"]
            return {self.name: pixels.reshape(1, len(frames), *pixels.shape[-3:]), **told}
        deep = self.temporal_patch_size
        _, rows, columns = read["image_grid_thw"][0].tolist()
        halves = read["pixel_values"].reshape(
            -1, deep, rows * columns, 3, deep, read["pixel_values"].shape[1] // 3 // deep
        )
        patches = torch.stack([halves[:, half, :, :, half] for half in range(deep)], 3)
        grid = torch.tensor([[len(frames) // deep, rows, columns]])
        return {
            "pixel_values_videos": patches.reshape(-1, read["pixel_values"].shape[1]),
            "video_grid_thw": grid,
            **told,
        }


def _reading(make: Callable[[], Made], pictures: Any = None) -> Made:
    """A model whose processor reads videos, too."""
    module, processor = make()
    processor.video_processor = FrameReader(pictures or processor.image_processor)
    return module, processor


def _square() -> Any:
    """A reader of pictures that makes them 56 × 56 pixels."""
    return hub.SiglipImageProcessor(size={"height": 56, "width": 56})


def onevision() -> Made:
    """A LLaVA-OneVision, which resamples the features of a picture's tiles where they are many."""
    tokenizer = tokenizer_of(image_token="<image>", video_token="<video>")
    looks = hub.LlavaOnevisionImageProcessorPil(size={"height": 56, "width": 56}, image_grid_pinpoints=SHAPES)
    processor = processor_of(
        hub.LlavaOnevisionProcessor,
        image_processor=looks,
        tokenizer=tokenizer,
        video_processor=FrameReader(_square()),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        vision_aspect_ratio="anyres_max_1",
    )
    settings = hub.LlavaOnevisionConfig(
        vision_config=hub.SiglipVisionConfig(**SEEN, vision_use_head=False),
        text_config=hub.Qwen2Config(**SIZE, num_key_value_heads=2, vocab_size=len(tokenizer)),
        image_token_index=tokenizer.image_token_id,
        video_token_index=tokenizer.video_token_id,
        image_grid_pinpoints=SHAPES,
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
        vision_aspect_ratio="anyres_max_1",
    )
    return hub.LlavaOnevisionForConditionalGeneration(settings), processor


def next_video() -> Made:
    """A LLaVA-NeXT-Video, which pools each frame."""
    tokenizer = tokenizer_of(image_token="<image>", video_token="<video>")
    sizes = {"size": {"shortest_edge": 56}, "crop_size": {"height": 56, "width": 56}}
    processor = processor_of(
        hub.LlavaNextVideoProcessor,
        image_processor=hub.LlavaNextImageProcessorPil(**sizes, image_grid_pinpoints=SHAPES),
        video_processor=FrameReader(hub.CLIPImageProcessor(**sizes)),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )
    settings = hub.LlavaNextVideoConfig(
        vision_config=hub.CLIPVisionConfig(**SEEN),
        text_config=hub.LlamaConfig(**SIZE, vocab_size=len(tokenizer)),
        image_token_index=tokenizer.image_token_id,
        video_token_index=tokenizer.video_token_id,
        image_grid_pinpoints=SHAPES,
    )
    return hub.LlavaNextVideoForConditionalGeneration(settings), processor


def idefics2() -> Made:
    """An Idefics2, of whose tiles latents make as many tokens each."""
    tokenizer = tokenizer_of(
        image_boundary_token="<fake_token_around_image>", image_token="<image>", end="<end_of_utterance>"
    )
    looks = hub.Idefics2ImageProcessorPil(
        size={"shortest_edge": 40, "longest_edge": 56}, do_image_splitting=True
    )
    processor = hub.Idefics2Processor(image_processor=looks, tokenizer=tokenizer, image_seq_len=3)
    settings = hub.Idefics2Config(
        vision_config=SEEN,
        perceiver_config={
            "resampler_n_latents": 3,
            "resampler_depth": 1,
            "resampler_n_heads": 4,
            "resampler_head_dim": 8,
            "num_key_value_heads": 2,
        },
        text_config=dict(
            model_type="mistral", **SIZE, num_key_value_heads=2, vocab_size=len(tokenizer), pad_token_id=0
        ),
        image_token_id=tokenizer.image_token_id,
    )
    return hub.Idefics2ForConditionalGeneration(settings), processor


def smolvlm() -> Made:
    """A SmolVLM: a video's frames are read as pictures that are not cut."""
    tokenizer = idefics3_tokens(video_token="<video>")
    looks = hub.SmolVLMImageProcessorPil(size={"longest_edge": 112}, max_image_size={"longest_edge": 56})
    with patch.object(processing_smolvlm, "num2words", str):
        processor = processor_of(
            hub.SmolVLMProcessor,
            image_processor=looks,
            tokenizer=tokenizer,
            video_processor=FrameReader(_square(), "pixel_values"),
            image_seq_len=4,
        )
    processing_smolvlm.num2words = str  # it says how many frames there are
    settings = hub.SmolVLMConfig(
        vision_config=SEEN,
        text_config=dict(model_type="llama", **SIZE, vocab_size=len(tokenizer), pad_token_id=0),
        scale_factor=2,
        image_token_id=tokenizer.image_token_id,
    )
    return hub.SmolVLMForConditionalGeneration(settings), processor


def videomae() -> Made:
    settings = hub.VideoMAEConfig(**SEEN, num_frames=8)
    return hub.VideoMAEModel(settings), hub.VideoMAEImageProcessorPil(
        size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}
    )


def timesformer(**more: Any) -> Made:
    settings = hub.TimesformerConfig(**SEEN, num_frames=8, **more)
    return hub.TimesformerModel(settings), hub.VideoMAEImageProcessorPil(
        size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}
    )


def vivit() -> Made:
    settings = hub.VivitConfig(**SIZE, image_size=56, num_frames=8, tubelet_size=[2, 14, 14])
    return hub.VivitModel(settings), hub.VivitImageProcessor(
        size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}
    )


def vjepa2() -> Made:
    settings = hub.VJEPA2Config(
        patch_size=14, crop_size=56, frames_per_clip=8, hidden_size=32, num_attention_heads=4,
        num_hidden_layers=2, mlp_ratio=2.0, pred_hidden_size=32, pred_num_attention_heads=4,
        pred_num_hidden_layers=2, pred_num_mask_tokens=2,
    )  # fmt: skip
    reader = FrameReader(
        hub.CLIPImageProcessor(size={"shortest_edge": 64}, crop_size={"height": 56, "width": 56})
    )
    return hub.VJEPA2Model(settings), reader


TILES: dict[str, Callable[[], Made]] = {
    "LLaVA-NeXT": llava_next,
    "LLaVA-OneVision": onevision,
    "Idefics2": idefics2,
    "SmolVLM": smolvlm,
}
"""Families that cut a picture into tiles, beside those of `vision_models`."""

VIDEOS: dict[str, Callable[[], Made]] = {
    "Qwen2-VL": lambda: _reading(TEN["Qwen2-VL"]),
    "Qwen2.5-VL": lambda: _reading(MORE["Qwen2.5-VL"]),
    "Qwen3-VL": lambda: _reading(MORE["Qwen3-VL"]),
    "InternVL": lambda: _reading(MORE["InternVL"], _square()),
    "SmolVLM": smolvlm,
    "LLaVA-OneVision": onevision,
    "LLaVA-NeXT-Video": next_video,
    "VideoMAE": videomae,
    "TimeSformer": timesformer,
    "joint TimeSformer": lambda: timesformer(attention_type="joint_space_time"),
    "ViViT": vivit,
    "V-JEPA 2": vjepa2,
}
"""Families that read videos."""

ALONE = ("VideoMAE", "TimeSformer", "joint TimeSformer", "ViViT", "V-JEPA 2")
"""Families that read no text beside a video."""


@cache
def watching(family: str) -> Model:
    """A small model of a family of `VIDEOS`, `TILES` or `vision_models`."""
    return hs.load(made({**TEN, **MORE, **TILES, **VIDEOS}[family]))
