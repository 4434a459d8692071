"""Time series: which steps tokens are, channels in the batch, queries that are a slice, shares by lag and season."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers as hub
from numpy.testing import assert_allclose
from torch import Tensor, nn

import headscope as hs
from headscope.core.media import Series
from headscope.errors import InputError, RefusedError
from headscope.measures.choose import surface
from headscope.measures.series import period_of
from tests.helpers.small_models import sharpen

PATCHED = {
    "num_input_channels": 3,
    "context_length": 32,
    "patch_length": 4,
    "patch_stride": 4,
    "d_model": 16,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "ffn_dim": 32,
    "prediction_length": 4,
}


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def patched(**more: Any) -> Any:
    torch.manual_seed(0)
    config = hub.PatchTSTConfig(**{**PATCHED, **more})
    config._attn_implementation = "eager"
    return sharpen(hub.PatchTSTForPrediction(config).double())


def captured(module: Any, inputs: dict[str, Tensor]) -> Any:
    return hs.capture(hs.load(module, inputs=inputs), inputs=inputs)


@pytest.mark.parametrize("rows", [1, 2])
def test_channels_in_the_batch_are_told_apart(rows: int) -> None:
    """Case B22: each has its own maps, and a patch says its steps."""
    module, inputs = patched(), {"past_values": drawn(rows, 32, 3)}
    own = module(**inputs, output_attentions=True).attentions
    found = captured(module, inputs)
    for row, parts in enumerate(found if rows > 1 else [found]):
        assert list(parts) == ["channel 1", "channel 2", "channel 3"]
        for channel, maps in enumerate(parts.values()):
            for mine, theirs in zip(maps.layers, own, strict=True):
                assert theirs.shape[0] == rows * 3
                assert_allclose(mine, theirs[3 * row + channel].detach().numpy(), atol=1e-12)
                assert_allclose(mine.sum(-1), 1, atol=1e-12)
            (series,) = maps.key.media
            assert_allclose(series.array, inputs["past_values"][row].numpy())
            expected = [[0, 4 * patch, channel, 4 * patch + 4, channel + 1] for patch in range(8)]
            assert_allclose(maps.key.places, expected)


def test_a_model_of_patches_is_loaded_without_inputs() -> None:
    assert [part.name for part in hs.load(patched()).checked.parts] == ["channel 1", "channel 2", "channel 3"]


def test_a_bright_step_lights_up_the_patch_that_holds_it() -> None:
    """Of overlapping patches with a class token before them, of a series that does not begin with one."""
    module = patched(patch_stride=2, context_length=33, use_cls_token=True, scaling=None)
    model = hs.load(module, inputs={"past_values": torch.zeros(1, 33, 3, dtype=torch.float64)})
    keys: list[Tensor] = []

    def kept(_: nn.Module, __: Any, out: Tensor) -> None:
        keys.append(out.detach())

    module.model.encoder.layers[0].self_attn.k_proj.register_forward_hook(kept)
    base = drawn(1, 33, 3)
    maps = hs.capture(model, inputs={"past_values": base})["channel 2"]
    assert maps.key.pieces[0] == "[CLS]"
    assert maps.key.special[0]
    changed = base.clone()
    changed[0, 17, 1] += 1e-3
    hs.capture(model, inputs={"past_values": changed})
    moved = (keys[1] - keys[0]).abs().sum(-1)  # channel token
    lit = moved[1].numpy() > 1e-9
    places = maps.key.places
    assert lit.tolist() == ((places[:, 1] <= 17) & (places[:, 3] > 17)).tolist()
    assert lit.sum() == 2
    assert not moved[[0, 2]].any()


def test_channels_that_attend_to_each_other_are_parts_of_each_patch() -> None:
    inputs = {"past_values": drawn(1, 32, 3)}
    parts = captured(patched(channel_attention=True), inputs)
    assert list(parts) == [*(f"channel {n}" for n in (1, 2, 3)), *(f"patch {n}" for n in range(1, 9))]
    third = parts["patch 3"].key
    assert third.pieces == ("channel 1", "channel 2", "channel 3")
    assert third.places[:, 1:].tolist() == [[8, channel, 12, channel + 1] for channel in range(3)]


SEQUENCED = {
    "prediction_length": 4,
    "context_length": 12,
    "lags_sequence": [1, 2, 3],
    "num_time_features": 1,
    "d_model": 16,
    **dict.fromkeys(
        ("encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads"), 2
    ),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 16),
}
GIVEN = {
    "past_values": (1, 15),
    "past_time_features": (1, 15, 1),
    "past_observed_mask": (1, 15),
    "future_values": (1, 4),
    "future_time_features": (1, 4, 1),
}


@pytest.mark.parametrize("kind", ["TimeSeriesTransformer", "Informer"])
def test_an_encoder_and_a_decoder_of_a_series_know_their_steps(kind: str) -> None:
    torch.manual_seed(0)
    more = {"attention_type": "full", "distil": False} if kind == "Informer" else {}
    module = getattr(hub, f"{kind}ForPrediction")(getattr(hub, f"{kind}Config")(**SEQUENCED, **more))
    parts = captured(module.double().eval(), {name: drawn(*shape).abs() for name, shape in GIVEN.items()})
    assert parts["encoder"].key.places[[0, -1], 1:].tolist() == [[3, 0, 4, 1], [14, 0, 15, 1]]
    assert parts["cross"].query.places[[0, -1], 1:].tolist() == [[15, 0, 16, 1], [18, 0, 19, 1]]
    assert parts["cross"].key.places[0, 1] == 3


@pytest.mark.parametrize(
    ("kind", "why"), [("Informer", 'ProbSparse.*attention_type="full"'), ("Autoformer", "autocorrelation")]
)
def test_what_has_no_maps_is_refused_by_name(kind: str, why: str) -> None:
    module = getattr(hub, f"{kind}ForPrediction")(getattr(hub, f"{kind}Config")(**SEQUENCED))
    with pytest.raises(RefusedError, match=why):
        hs.load(module.eval(), inputs={name: torch.rand(shape) for name, shape in GIVEN.items()})


class Slice(nn.Module):
    """The last 4 of 12 steps look at all up to them, or at all."""

    def __init__(self, masked: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.masked = masked
        self.embed = nn.Linear(2, 16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, values: Tensor) -> Tensor:
        states = self.embed(values)
        hidden = ~torch.ones(4, 12, dtype=torch.bool).tril(8) if self.masked else None
        return self.attention(states[:, -4:], states, states, attn_mask=hidden)[0]


def test_the_step_before_a_query_that_is_one_of_the_last() -> None:
    """Case B21: query 0 is step 8, so that what is before it is key 7."""
    inputs = {"values": drawn(1, 12, 2)}
    maps = captured(Slice(True).double(), inputs)
    assert maps.query.pieces == maps.key.pieces[8:]
    assert maps.offset == 8
    weights, rows = maps.layers[0], np.arange(4)
    found = surface(maps, ["previous", "current", "entropy", "offset-2", "first"])
    assert_allclose(found["previous"][0], weights[:, rows, 7 + rows].mean(1))
    assert_allclose(found["current"][0], weights[:, rows, 8 + rows].mean(1))
    assert_allclose(found["offset-2"][0], weights[:, rows, 6 + rows].mean(1))
    assert_allclose(found["first"][0], weights[:, :, 0].mean(1))
    logs = np.log(np.where(weights > 0, weights, 1))
    assert_allclose(found["entropy"][0], -(weights * logs).sum(-1).mean(1))
    assert_allclose(found["previous_n"][0], 4)
    assert_allclose(found["previous_chance"][0], np.mean([1 / 9, 1 / 10, 1 / 11, 1 / 12]))


def test_queries_that_are_not_known_among_the_keys_have_no_step_before() -> None:
    maps = captured(Slice(False).double(), {"values": drawn(1, 12, 2)})
    assert maps.offset is None
    with pytest.raises(
        InputError, match="found 4 queries that are not known to be some of 12 keys side by side"
    ):
        surface(maps, ["previous"])
    steps = hs.Stretches(hs.Series(np.zeros((12, 1))), [(step, step + 1) for step in range(12)])
    told = hs.wrap(maps.layers, steps.take(slice(8, 12)), steps)
    assert told.offset == 8
    assert_allclose(surface(told, ["lag1"])["lag1"], surface(told, ["previous"])["previous"])


class Encoder(nn.Module):
    """PyTorch's own encoder over steps."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Linear(2, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=True)

    def forward(self, values: Tensor, src_key_padding_mask: Tensor) -> Tensor:
        return self.layers(self.embed(values), src_key_padding_mask=src_key_padding_mask)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_an_encoder_that_packs_its_rows_is_seen_and_left_as_it_was() -> None:
    """Padding is cut off, and nested tensors are on again."""
    module = Encoder().eval()
    inputs = {
        "values": drawn(2, 10, 2).float(),
        "src_key_padding_mask": torch.arange(10) >= torch.tensor([[7], [10]]),
    }
    with torch.no_grad():
        before = module(**inputs)
        found = captured(module, inputs)
        alone = captured(
            module,
            {"values": inputs["values"][:1, :7], "src_key_padding_mask": torch.zeros(1, 7, dtype=torch.bool)},
        )
        assert_allclose(module(**inputs), before)
    assert not before[0, 7:].any()  # as only the packed way has it
    assert [len(maps.query) for maps in found] == [7, 10]
    assert_allclose(found[0].weights, alone.weights, atol=1e-6)


def test_shares_by_lag_and_season_against_loops() -> None:
    """In steps, on patches of two channels: the key that holds the query's first step, so many steps before."""
    rng = np.random.default_rng(0)
    spans = [(4 * patch, channel, 4 * patch + 4, channel + 1) for channel in range(2) for patch in range(6)]
    axis = hs.Stretches(hs.Series(rng.normal(size=(24, 2))), spans)
    weights = rng.dirichlet(np.ones(12), 12)
    found = surface(hs.wrap(weights[None, None], axis), ["lag4", "lag6", "lag9", "season8", "distance_steps"])

    def share(meant: Any) -> float:
        rows = [
            sum(weights[query, key] for key in keys)
            for query in range(12)
            if (keys := [key for key in range(12) if query // 6 == key // 6 and meant(query % 6 - key % 6)])
        ]
        return float(np.mean(rows))

    assert_allclose(found["lag4"][0, 0], share(lambda apart: apart == 1))
    assert_allclose(found["lag6"][0, 0], share(lambda apart: apart == 1))  # 8 steps are as near as 4
    assert_allclose(found["lag9"][0, 0], share(lambda apart: apart == 2))  # 8 steps are nearer than 12
    assert_allclose(found["season8"][0, 0], share(lambda apart: apart and apart % 2 == 0))
    far = [
        sum(
            weights[query, key] * 4 * abs(query - key)
            for key in range(6 * (query // 6), 6 * (query // 6) + 6)
        )
        / weights[query, 6 * (query // 6) : 6 * (query // 6) + 6].sum()
        for query in range(12)
    ]
    assert_allclose(found["distance_steps"][0, 0], np.mean(far))


def test_the_period_of_a_series_is_the_highest_peak_of_its_autocorrelation() -> None:
    step = np.arange(96)
    noise = np.random.default_rng(0).normal(0, 0.3, (96, 1))
    assert period_of(Series(np.sin(2 * np.pi * step / 24)[:, None] + noise)) == 24
    assert period_of(Series(np.tile([1.0, 0.0, 0.0], 20)[:, None])) == 3
    assert period_of(Series(np.ones((10, 1)))) is None
    assert period_of(Series(step[:, None].astype(float))) is None
    axis = hs.Stretches(Series(np.ones((4, 1))), [(step, step + 1) for step in range(4)])
    found = surface(hs.wrap(np.full((1, 1, 4, 4), 0.25), axis), ["seasonality", "lag1"])
    assert "seasonality" not in found
    assert "lag1" in found
