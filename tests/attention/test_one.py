"""One input: texts, pairs, conversations, batches, encoder-decoders, gradients, edits, generate."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope.attention.recording import recording
from headscope.errors import HeadscopeWarning, InputError, RefusedError, UnknownError
from headscope.models import Model
from headscope.views.explorer import Input, explorer_payload
from tests.helpers.families import build, family
from tests.helpers.small_models import sizes, small
from tests.helpers.small_tokenizers import listed

SMALL: dict[str, Any] = {"vocab_size": 60, **sizes(inner=24)}
DECODER: dict[str, Any] = {
    **SMALL,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
}


def drawn(module: torch.nn.Module) -> torch.nn.Module:
    torch.manual_seed(1)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.15 if parameter.ndim > 1 else 0.3)
    return module.eval()


@pytest.fixture(scope="module")
def bert() -> Model:
    return hs.load(drawn(transformers.BertModel(transformers.BertConfig(**SMALL))))


@pytest.fixture(scope="module")
def t5() -> Model:
    config = transformers.T5Config(
        vocab_size=60,
        d_model=32,
        d_kv=8,
        d_ff=24,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        eos_token_id=None,
    )
    return hs.load(drawn(transformers.T5ForConditionalGeneration(config)))


def eager(model: Model, **inputs: Any) -> Any:
    """What the model itself returns as its attention."""
    module = copy.deepcopy(model.module)
    module.set_attn_implementation("eager")
    with torch.no_grad():
        return module(**inputs, output_attentions=True)


class TestText:
    def test_a_pair(self, demo: Model) -> None:
        maps = hs.capture(demo, "The cat sat.", pair="It was tired.")
        assert maps.query.pieces == (
            "[CLS]", "the", "cat", "sat", ".", "[SEP]", "it", "was", "tired", ".", "[SEP]",
        )  # fmt: skip
        assert maps.a_to_b().query.pieces == ("the", "cat", "sat", ".")
        assert maps.a_to_b().key.pieces == ("it", "was", "tired", ".")
        assert (maps.causal, maps.kind, len(maps)) == (False, "self", 6)
        same = hs.capture(demo, ("The cat sat.", "It was tired."))
        np.testing.assert_array_equal(maps.weights, same.weights)
        assert maps.meta["model"] == "all-MiniLM-L6-v2"
        assert maps.meta["revision"] == "sha256:53aa51172d14"

    def test_known_heads_of_the_demo_model(self, demo: Model) -> None:
        maps = hs.capture(
            demo, "The committee that reviewed the plans rejected them because they were too expensive."
        )
        previous = maps["L0H2"][np.arange(1, len(maps.query)), np.arange(len(maps.query) - 1)]
        following = maps["L1H8"][np.arange(1, len(maps.query) - 2), np.arange(2, len(maps.query) - 1)]
        assert previous.mean() > 0.8
        assert following.mean() > 0.5

    def test_causal_with_shared_keys(self, stories: Model) -> None:
        maps = hs.capture(stories, "Once upon a time, there was a little girl.")
        assert maps.causal
        assert maps.weights.shape[:2] == (5, 8)
        assert stories.checked.parts[0].key_heads == [4] * 5
        assert not np.triu(maps.weights, 1).any()

    def test_unknown_pieces_are_said(self, demo: Model) -> None:
        told = r"^text: 1 of 4 pieces \(25.0 %\) are unknown to the tokenizer of all-MiniLM-L6-v2$"
        with pytest.warns(HeadscopeWarning, match=told):
            assert "[UNK]" in hs.capture(demo, "A cat 🙂.").query.pieces

    def test_a_text_without_any_known_piece_is_refused_unless_allowed(self, demo: Model) -> None:
        with pytest.raises(
            UnknownError, match=r"^text: 1 of 1 piece \(100.0 %\) are unknown .* --allow-unknown"
        ):
            hs.capture(demo, "🙂👩‍👩‍👧")
        allowed = hs.load(demo, allow_unknown=True)
        with pytest.warns(HeadscopeWarning, match="1 of 1 piece"):
            assert hs.capture(allowed, "🙂👩‍👩‍👧").query.pieces == ("[CLS]", "[UNK]", "[SEP]")


class TestInputs:
    @pytest.mark.parametrize("side", ["right", "left"])
    def test_a_batch_is_a_list_without_padding(self, bert: Model, side: str) -> None:
        ids = torch.arange(3, 15).reshape(2, 6)
        mask = torch.ones_like(ids)
        mask[1, 4:] = 0
        if side == "left":
            mask = mask.flip(1)
        found = hs.capture(bert, inputs={"input_ids": ids, "attention_mask": mask})
        assert [len(maps.query) for maps in found] == [6, 4]
        assert found[0].query.pieces == tuple("345678")
        reference = eager(bert, input_ids=ids, attention_mask=mask).attentions
        keep = mask[1].bool()
        for layer, expected in zip(found[1].layers, reference, strict=True):
            np.testing.assert_allclose(layer, expected[1][:, keep][:, :, keep], atol=1e-6)

    def test_several_ends_of_a_text(self) -> None:
        """GLM, Llama 3 and others list the ids that end a text."""
        model = small("llama", num_key_value_heads=2, eos_token_id=[5, 7])
        assert hs.capture(model, inputs={"input_ids": [[3, 5, 7]]}).query.pieces == ("3", "5", "7")

    def test_patches(self) -> None:
        config = transformers.ViTConfig(**sizes(hidden=16, heads=2, inner=20), image_size=16, patch_size=8)
        maps = hs.capture(
            hs.load(drawn(transformers.ViTModel(config))), inputs={"pixel_values": torch.rand(1, 3, 16, 16)}
        )
        assert maps.query.pieces == ("patch 0", "patch 1", "patch 2", "patch 3", "patch 4")

    def test_maps_of_other_axes_are_refused(self) -> None:
        chosen = family("Funnel")
        message = (
            r"layers of this model look at different axes \(.* tokens\), so they make no one grid of maps"
        )
        with pytest.raises(RefusedError, match=message):
            hs.capture(hs.load(build(chosen)), inputs=chosen.inputs)

    def test_the_stages_of_a_pyramid_are_parts(self) -> None:
        config = transformers.SegformerConfig(
            hidden_sizes=[8, 16, 24, 32], num_attention_heads=[1, 2, 3, 4], depths=[2, 1, 1, 2]
        )
        module = drawn(transformers.SegformerModel(config)).eval()
        pixels = torch.rand(1, 3, 64, 96)
        maps: Any = hs.capture(hs.load(module), inputs={"pixel_values": pixels})
        assert {name: part.layers[0].shape for name, part in maps.items()} == {
            f"stage {stage + 1}": (stage + 1, 384 // 4**stage, 6) for stage in range(4)
        }
        module.set_attn_implementation("eager")
        expected = module(pixels, output_attentions=True).attentions
        found = [layer for part in maps.values() for layer in part.layers]
        assert len(found) == 6
        for layer, own in zip(found, expected, strict=True):
            np.testing.assert_allclose(layer, own[0].detach().numpy(), atol=1e-6)

    def test_windows_that_are_not_known_are_refused(self) -> None:
        config = transformers.VitDetConfig(
            **{**SMALL, "hidden_size": 32},
            image_size=32,
            patch_size=8,
            window_size=2,
            window_block_indices=[0, 1],
        )
        with pytest.raises(
            RefusedError, match=r"attends within 4 windows of 4 positions for 1 input, so there is"
        ):
            hs.capture(
                hs.load(drawn(transformers.VitDetModel(config))),
                inputs={"pixel_values": torch.rand(1, 3, 32, 32)},
            )


class TestGradients:
    def test_equal_finite_differences(self, bert: Model) -> None:
        model = hs.load(bert, dtype="float64")
        inputs = {"input_ids": [[1, 2, 3, 4]]}
        found = hs.gradients(model, inputs=inputs, objective=lambda output: output[0][0, 2].sum())["self"]
        maps = hs.capture(model, inputs=inputs)
        step = 1e-6
        for layer, head, query, key in [(0, 1, 2, 3), (1, 3, 2, 0), (0, 0, 0, 0)]:
            numbers = []
            for sign in (1, -1):
                moved = torch.tensor(maps.layers[layer])[None]
                moved[0, head, query, key] += sign * step

                def move(record: Any, layer: int = layer, moved: torch.Tensor = moved) -> torch.Tensor | None:
                    return moved if record.layer == layer else None

                with hs.edit(model, move), torch.no_grad():
                    numbers.append(model.module(torch.tensor([[1, 2, 3, 4]]))[0][0, 2].sum().item())
            assert found[layer][head, query, key] == pytest.approx(
                (numbers[0] - numbers[1]) / (2 * step), rel=1e-4, abs=1e-8
            )


class TestEdits:
    def test_an_ablated_head_gives_nothing(self, bert: Model) -> None:
        ids = torch.tensor([[1, 2, 3, 4]])
        last = bert.module.encoder.layer[1].attention.self
        seen: list[torch.Tensor] = []
        handle = last.register_forward_hook(lambda _, __, out: seen.append(out[0]))
        try:
            with hs.ablate(bert, hs.Head(1, 2)), torch.no_grad():
                bert.module(ids)
        finally:
            handle.remove()
        assert not seen[0][..., 16:24].any()
        assert seen[0][..., :16].any()

    def test_what_is_captured_is_what_was_used(self, bert: Model) -> None:
        with hs.ablate(bert, hs.Head(0, 1)):
            maps = hs.capture(bert, inputs={"input_ids": [[1, 2, 3]]})
        assert not maps["L0H1"].any()
        np.testing.assert_allclose(maps["L0H0"].sum(-1), 1, rtol=1e-5)
        assert maps.partial
        with hs.ablate(bert, "L0H1"):
            assert (hs.capture(bert, inputs={"input_ids": [[1, 2, 3]]})["L0H1"] == 0).all()


class TestLeftAsFound:
    def state(self, model: Model) -> Any:
        hooks = [(len(part._forward_hooks), len(part._forward_pre_hooks)) for part in model.module.modules()]
        registered = sorted(transformers.AttentionInterface._global_mapping)
        masks = sorted(transformers.AttentionMaskInterface._global_mapping)
        return (
            hooks,
            registered,
            masks,
            model.config._attn_implementation,
            [part.training for part in model.module.modules()],
        )

    def test_two_models_at_once(self, bert: Model, t5: Model) -> None:
        before = self.state(bert), self.state(t5)
        names: list[str] = []
        with recording(bert.module, lambda record: names.append(record.module)):
            inner = hs.capture(t5, inputs={"input_ids": [[1, 2]], "decoder_input_ids": [[0]]})
            assert names == []
            bert.module(torch.tensor([[1, 2]]))
        assert len(names) == 2
        assert list(inner) == ["encoder", "decoder", "cross"]
        assert (self.state(bert), self.state(t5)) == before


def _axis(maps: Any) -> Any:
    """What a page is told of the queries."""
    payload, _ = explorer_payload([Input({"self": maps})])
    return payload["inputs"][0]["parts"][0]["query"]


class TestGenerate:
    def test_stitched_steps_equal_one_pass(self, shared: Path) -> None:
        """In float64, as steps multiply other shapes than one pass does; norms compute in float32 even so."""
        stories = hs.load(shared / "models" / "stories260K", dtype="float64")
        found = hs.generate(stories, "Once upon a time", max_new_tokens=30)
        whole = hs.capture(stories, inputs={"input_ids": np.array(found.query.ids)[None]})
        np.testing.assert_allclose(found.weights, whole.weights, atol=3e-6)
        assert found.query.mask("generated").sum() == 29
        assert found.meta["written"] == found.text
        assert found.text.startswith(", there was a little girl")
        written, read = (_axis(maps).get("written") for maps in (found, whole))
        assert (found.query.pieces[written], read) == (",", None)
        assert whole.text is None

    @pytest.mark.parametrize(
        ("kind", "options"),
        [
            (transformers.Gemma3ForCausalLM, {"sliding_window": 4, "query_pre_attn_scalar": 8, "layer_types": ["sliding_attention", "full_attention"]}),
            (transformers.MistralForCausalLM, {"sliding_window": 4}),
            (transformers.GptOssForCausalLM, {"num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]}),
        ],
    )  # fmt: skip
    def test_sliding_caches_keep_their_positions(self, kind: Any, options: dict[str, Any]) -> None:
        model = hs.load(drawn(kind(kind.config_class(**DECODER, **options))))
        prompt = hs.Tokens([str(i) for i in range(3, 9)], ids=np.arange(3, 9))
        found = hs.generate(model, prompt, max_new_tokens=8, min_new_tokens=8)
        whole = hs.capture(model, inputs={"input_ids": np.array(found.query.ids)[None]})
        assert found.weights.shape[-1] == 13
        np.testing.assert_allclose(found.weights, whole.weights, atol=1e-5)
        assert all(np.array_equal(found.sight(place), whole.sight(place)) for place in range(2))
        if whole.sink is not None:
            np.testing.assert_allclose(np.stack(found.sink), np.stack(whole.sink), atol=1e-5)


def test_a_model_of_sound_has_a_tokenizer_for_its_decoder() -> None:
    whisper = hs.load((build(family("Whisper")), listed(tuple("CNO"))))
    sound = {"input_features": torch.zeros(1, 8, 40)}
    maps = hs.capture(whisper, inputs=sound, target="C N")
    assert maps.decoder.query.pieces[1:] == ("[CLS]", "C", "N", "[SEP]")
    with pytest.raises(
        InputError, match=r"takes input_features, no text: give audio=… or inputs=\{'input_features': …\}"
    ):
        hs.capture(whisper, "C N", target="C N")
