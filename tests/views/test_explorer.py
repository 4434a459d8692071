from __future__ import annotations

import base64
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from headscope.core.grid import Grid
from headscope.core.heads import Head
from headscope.core.maps import AttentionMaps
from headscope.core.media import Picture
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens
from headscope.errors import HeadscopeWarning
from headscope.views import explorer, highlights
from headscope.views.blobs import Blobs, decode
from headscope.views.explorer import Input, explorer_page, explorer_payload, views_page
from headscope.views.payload import ExplorerPayload
from headscope.views.sheet import LARGEST
from headscope.views.state import STATE, check_state

PIECES = ["[CLS]", "one", "##s", "[SEP]", "two", "[SEP]"]


def tokens(pieces: list[str] = PIECES) -> Tokens:
    return Tokens(
        pieces,
        special_mask=np.array([piece.startswith("[") for piece in pieces]),
        sequence_ids=np.array([-1, 0, 0, -1, 1, -1]),
        word_ids=np.array([-1, 0, 0, -1, 0, -1]),
        classes={"sep": np.array([piece == "[SEP]" for piece in pieces])},
    )


def maps(layers: int = 3, heads: int = 4, seed: int = 0, index: tuple[int, ...] = ()) -> AttentionMaps:
    random = np.random.default_rng(seed)
    axis = tokens()
    return AttentionMaps(
        [random.dirichlet(np.full(6, 0.3), (heads, 6)).astype(np.float32) for _ in range(layers)],
        axis,
        axis,
        index=index,
        meta={"model": "a-model"},
    )


def neurons(layers: int = 3, heads: int = 4, key_heads: int = 2, size: int = 5) -> Neurons:
    random = np.random.default_rng(1)
    return Neurons(
        q=[random.normal(size=(heads, 6, size)) for _ in range(layers)],
        k=[random.normal(size=(key_heads, 6, size)) for _ in range(layers)],
        scaling=[0.25] * layers,
        bias=[None] * layers,
        softcap=[None] * layers,
        sinks=[None] * layers,
    )


def read(view: tuple[ExplorerPayload, Blobs], ref) -> np.ndarray:
    return decode(ref, view[1].texts)


def test_maps_travel_whole_and_keep_their_indices():
    found = maps(index=(2, 5, 7))
    view = explorer_payload([Input({"self": found})], include_layers=[7, 2], include_heads=[1, 3])
    part = view[0]["inputs"][0]["parts"][0]
    assert part["index"] == [2, 7]
    assert part["heads"] == [[1, 3], [1, 3]]
    assert np.abs(read(view, part["layers"][1]) - found.layers[2][[1, 3]]).max() < 0.004
    assert view[0]["model"] == "a-model"
    expected = {"group": [0, 1, 1, 2, 3, 4], "texts": ["[CLS]", "ones", "[SEP]", "two", "[SEP]"]}
    assert part["query"]["words"] == expected


def test_figures_of_the_input_are_means_over_the_rows_that_count():
    found = maps()
    view = explorer_payload([Input({"self": found})])
    columns = {
        column["name"]: read(view, column["values"])
        for column in view[0]["inputs"][0]["parts"][0]["measures"]
    }
    layer = found.layers[1].astype(np.float64)
    assert columns["previous"][1, 2] == pytest.approx(np.trace(layer[2], offset=-1) / 5, abs=1e-6)
    assert columns["sep"][1, 2] == pytest.approx(layer[2][:, [3, 5]].sum() / 6, abs=1e-6)
    assert columns["first"][1, 2] == pytest.approx(layer[2][:, 0].mean(), abs=1e-6)
    safe = np.where(layer[2] > 0, layer[2], 1)
    assert columns["entropy"][1, 2] == pytest.approx(-(layer[2] * np.log(safe)).sum(-1).mean(), abs=1e-5)


def test_figures_of_a_corpus_stand_at_their_heads():
    data = xr.Dataset(
        {"sep": (("layer", "head"), np.arange(12.0).reshape(3, 4))},
        {"layer": [2, 5, 7], "head": [0, 1, 2, 3]},
    )
    view = explorer_payload(
        [Input({"self": maps(index=(2, 5, 7))})], measures=data, include_layers=[5], include_heads=[1, 2]
    )
    column = view[0]["inputs"][0]["parts"][0]["measures"][-1]
    assert (column["name"], column["of"]) == ("corpus:sep", "corpus")
    assert read(view, column["values"]).tolist() == [[5.0, 6.0]]


def test_vectors_are_off_by_at_most_half_a_step_of_their_neuron():
    data = neurons()
    view = explorer_payload([Input({"self": maps()}, neurons={"self": data})], include_heads=[2, 3])
    layer = view[0]["inputs"][0]["parts"][0]["neurons"][1]
    assert (layer["groups"], layer["keys"], layer["key_head"]) == (2, [1], [0, 0])
    low, step = read(view, layer["q"]["low"]), read(view, layer["q"]["step"])
    vectors = low[:, None] + step[:, None] * read(view, layer["q"]["codes"])
    wanted = data.q[1][[2, 3]]
    assert np.abs(vectors - wanted).max() <= (wanted.max(1) - wanted.min(1)).max() / 510 + 1e-6
    assert read(view, layer["k"]["codes"]).shape == (1, 6, 5)


def test_queries_and_keys_of_opened_heads_alone():
    data = neurons()
    one = Input({"self": maps(index=(2, 5, 7))}, neurons={"self": data}, opened=[Head(5, 3), Head(5, 0)])
    view = explorer_payload([one], exact=True)
    first, layer, last = view[0]["inputs"][0]["parts"][0]["neurons"]
    assert (first, last) == (None, None)
    assert (layer["heads"], layer["keys"], layer["key_head"]) == ([0, 3], [0, 1], [0, 1])
    assert np.allclose(read(view, layer["q"]["codes"]), data.q[1][[0, 3]])
    assert np.allclose(read(view, layer["k"]["codes"]), data.k[1])
    none = explorer_payload([replace(one, opened=())])[0]
    assert none["inputs"][0]["parts"][0]["neurons"] is None


def test_other_matrices_keep_their_sign_and_scale():
    found = maps()
    gradient = [np.random.default_rng(3).normal(size=layer.shape) * 1e-3 for layer in found.layers]
    view = explorer_payload([Input({"self": found}, matrices={"gradient": {"self": gradient}})])
    quantity = view[0]["inputs"][0]["parts"][0]["quantities"][0]
    assert quantity["signed"]
    assert quantity["scale"] == pytest.approx(max(np.abs(layer).max() for layer in gradient))
    values = read(view, quantity["layers"][2]) * quantity["scale"]
    assert np.abs(values - gradient[2]).max() < 0.009 * quantity["scale"]
    figures = {one["title"]: read(view, one["values"])[2, 1] for one in quantity["measures"]}
    head = gradient[2][1]
    assert figures == {
        "largest rise": pytest.approx(head.max()),
        "largest fall": pytest.approx(-head.min()),
        "mean size": pytest.approx(np.abs(head).mean()),
    }
    largest = [size for layer in gradient for size in np.abs(layer).max((1, 2))]
    assert quantity["largest"] == pytest.approx(largest, rel=1e-3)
    large = np.abs(gradient[2]) > 0.01 * quantity["scale"]
    assert (np.sign(values) == np.sign(gradient[2]))[large].all()


def test_a_large_input_has_thumbnails_that_miss_no_peak(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(explorer, "_SMALL", 10)
    weights = np.full((1, 100, 70), 1 / 70, np.float32)
    weights[0, 99] = np.eye(70)[69]
    found = AttentionMaps([weights], Tokens(["a"] * 100), Tokens(["b"] * 70), kind="cross")
    view = explorer_payload([Input({"cross": found})])
    thumbs = read(view, view[0]["inputs"][0]["parts"][0]["thumbs"])
    assert thumbs.shape == (1, 64, 64)
    assert thumbs[0, 63, 63] == 1
    assert thumbs[0, :62].max() < 0.02


def test_a_page_that_would_be_large_says_what_to_leave_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(explorer, "_LARGE", 100)
    with pytest.warns(HeadscopeWarning, match=r"leave layers or heads out with include_layers=\[0, 1, 2\]"):
        explorer_payload([Input({"self": maps()})])


def test_thumbnails_alone_are_a_grid_without_maps():
    one = Input({"self": maps()}, neurons={"self": neurons()})
    whole = explorer_payload([one])[1]
    payload, blobs = explorer_payload([one], thumbnails=True)
    part = payload["inputs"][0]["parts"][0]
    assert (part["layers"], part["neurons"], payload["state"]) == ([], None, {"scale": "model"})
    assert decode(part["thumbs"], blobs.texts).shape == (12, 6, 6)
    assert len(blobs.buffers) < len(whole.buffers)


def test_a_state_comes_back_as_plain_values():
    inputs = explorer_payload([Input({"self": maps()}, neurons={"self": neurons()})])[0]["inputs"]
    state = {
        "scale": "neuron", "layer": 1, "heads": 2, "filter": "ab", "pin": ("to", 3), "between": (4, 5),
        "zoom": (0, 2, 1, 3), "threshold": 0,
    }  # fmt: skip
    found = check_state(state, inputs)
    assert found == {**state, "heads": [2], "pin": ["to", 3], "between": [4, 5], "zoom": [0, 2, 1, 3]}
    assert check_state(json.loads(json.dumps(found)), inputs) == found


def test_every_key_of_the_state_is_described():
    from typing import get_type_hints

    from headscope.views.payload import ExplorerState

    assert list(STATE) == list(get_type_hints(ExplorerState))


def test_two_inputs_stand_side_by_side_unless_asked_otherwise():
    pair = [Input({"self": maps()}), Input({"self": maps(seed=2)})]
    assert explorer_payload(pair)[0]["state"] == {"side": "both"}
    assert explorer_payload(pair, state={"side": "one"})[0]["state"] == {"side": "one"}


def test_a_page_of_several_views_keeps_their_arrays_apart():
    views = [explorer_payload([Input({"self": maps(seed=seed)})]) for seed in (0, 1)]
    html = views_page(views)
    names = re.findall(r'id="headscope-data-([^"]+)"', html)
    assert len(names) == len(set(names)) == sum(len(blobs.texts) for _, blobs in views)
    assert {name.split("-")[0] for name in names} == {"0", "1"}
    assert "default-src 'none'" in html


@pytest.mark.parametrize("asked", [None, 2])
def test_the_arrays_of_layers_that_are_not_open_come_last(
    asked: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.views.explorer._SMALL", 0)
    inputs, state = [Input({"self": maps()})], {} if asked is None else {"layer": asked}
    part = explorer_payload(inputs, state=state)[0]["inputs"][0]["parts"][0]
    opened = part["index"].index(highlights.likely(part) if asked is None else asked)
    names = re.findall(r'id="headscope-data-0-([^"]+)"', explorer_page(inputs, state=state))
    others = [layer["data"] for place, layer in enumerate(part["layers"]) if place != opened]
    assert names[-len(others) :] == others
    assert part["layers"][opened]["data"] in names[: -len(others)]


def test_hidden_pairs_travel_once_for_layers_that_share_them() -> None:
    near, causal = np.tri(6, dtype=bool) & ~np.tri(6, k=-2, dtype=bool), np.tri(6, dtype=bool)
    axis = tokens()
    layers = [np.stack([seen / seen.sum(-1, keepdims=True)] * 2) for seen in (near, causal, near)]
    one = AttentionMaps(layers, axis, axis, causal=True, visible=[near, causal, near])
    payload, blobs = explorer_payload([Input({"self": one})])
    hidden = payload["inputs"][0]["parts"][0]["hidden"]
    assert hidden[0] == hidden[2] != hidden[1]
    np.testing.assert_array_equal(decode(hidden[0], blobs.texts)[0], ~near)
    plain = AttentionMaps([layers[1]], axis, axis, causal=True)
    assert explorer_payload([Input({"self": plain})])[0]["inputs"][0]["parts"][0]["hidden"] is None


def test_a_large_picture_is_made_small_and_keeps_its_places():
    image = Image.fromarray(np.full((40, 2 * LARGEST, 3), 200, np.uint8))
    axis = Grid(1, 2, [], Picture(np.asarray(image)))
    one = Input({"self": AttentionMaps([np.full((1, 2, 2), 0.5, np.float32)], axis, axis)})
    payload, _ = explorer_payload([one])
    info = payload["inputs"][0]["picture"]
    src = base64.b64decode(info["src"].partition(",")[2])
    assert Image.open(io.BytesIO(src)).size == (LARGEST, 20)
    assert (info["width"], info["height"]) == (2 * LARGEST, 40)


@pytest.mark.slow
def test_a_page_of_twelve_layers_keeps_its_budget(demo):
    """Maps of prose, as `benchmarks/pages.py` makes them: 12 layers of 12 heads, 128 tokens."""
    from benchmarks.pages import maps_of

    maps, _ = maps_of(demo, 12, 12, 128)
    assert len(explorer_page([Input({"self": maps}, "prose")]).encode()) <= 2_320_000
