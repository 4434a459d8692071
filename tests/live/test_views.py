from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest
import torch

from headscope import corpora
from headscope.analyses.links import run
from headscope.attention.load import load as hs_load
from headscope.attention.objective import natural
from headscope.attention.one import capture, gradients, prepare
from headscope.core.link import Link, Span
from headscope.core.maps import wrap
from headscope.errors import HeadscopeWarning
from headscope.live import quantities
from headscope.live import view as module
from headscope.live.view import head_view, model_view, neuron_view, view
from headscope.models.model import Model
from headscope.views.gold import of_parts
from headscope.views.inputs import Input
from headscope.views.view import View
from tests.helpers.families import build, family

pytestmark = pytest.mark.slow

TEXT = "leaves fall in autumn"
OTHER = "autumn is marked by colorful foliage"


@pytest.fixture(scope="module")
def maps(demo):
    return capture(demo, TEXT, pair=OTHER)


class TestLinks:
    def test_links_are_of_the_first_text_and_of_both_models(self, demo, maps) -> None:
        links = [(3, 1), ((1, 3), (4, 5))]

        def labelled(shown) -> list[int]:
            parts = [one["parts"][0] for one in shown.payload["inputs"]]
            return [len(part.get("links", [])) for part in parts]

        assert labelled(view(maps, links=links)) == [2]
        assert labelled(view(demo, (TEXT, OTHER), against=(OTHER, TEXT), links=links, quantities=())) == [
            2,
            0,
        ]
        assert labelled(view(demo, TEXT, against=demo, links=links, quantities=())) == [2, 2]
        assert labelled(view(maps, links=[])) == [0]
        words = [Link(Span(2, 3), (Span(0, 1, "b"),), "same")]
        shown = head_view(maps, links=words, layer=2, heads=[9])
        (link,) = shown.payload["inputs"][0]["parts"][0]["links"]
        expected = ["in", "autumn"]
        assert [maps.query.pieces[place] for place in (*link["source"], *link["targets"][0])] == expected
        assert "1 GOLD LINK" in shown.picture("svg").decode()

    def test_stills_judge_links_as_the_run_over_a_corpus_does(self, demo, tmp_path) -> None:
        words = ["The", "unhappiest", "dog", "that", "chased", "the", "tabby", "cat", "was", "tired"]
        pairs = [(1, 2), (4, 2), (7, 4), (6, 7), (9, 2), (0, 1)]
        links = [{"from": a, "to": [b, b + 2]} for a, b in pairs]
        path = tmp_path / "links.jsonl"
        path.write_text(json.dumps({"words": words, "links": links}) + "\n")
        corpus = corpora.links(path)
        with warnings.catch_warnings(action="ignore", category=HeadscopeWarning):
            found = run.links(demo, corpus, candidates="any", direction="row")["accuracy"].values[0, 0]
            (example,) = corpus.encoded(demo)
            maps = capture(demo, example.tokens)
            one = Input({"self": maps}, links=of_parts(list(example.links), {"self": maps}))
        layers, heads = [0, 2, 5], [1, 7]
        shown = View(
            [one],
            {"scale": "head", "picture": "matrix"},
            include_layers=layers,
            include_heads=heads,
            exact=True,
        )
        for layer in layers:
            for head in heads:
                shown.state = {**shown.state, "layer": layer, "heads": [head]}
                right = re.search(r">(\d+) right<", shown.picture("svg").decode())
                share = int(right[1]) / len(pairs) if right else 0.0
                assert share == pytest.approx(found[layer, head])


class TestViews:
    def test_the_scale_each_begins_with(self, demo, maps) -> None:
        assert model_view(maps).state["scale"] == "model"
        assert head_view(maps, layer=2, heads=[0, 3]).state == {"scale": "head", "layer": 2, "heads": [0, 3]}
        shown = neuron_view(demo, TEXT, layer=0, head=8)
        assert shown.state == {"scale": "neuron", "layer": 0, "heads": [8]}
        assert head_view(maps, **model_view(maps).state).state["scale"] == "model"

    def test_a_model_and_a_pair(self, demo, maps) -> None:
        shown = view(demo, TEXT, pair=OTHER, filter="ab")
        found = shown.inputs[0]
        np.testing.assert_array_equal(found.parts["self"].weights, maps.weights)
        assert found.neurons["self"].q[0].shape == (12, len(maps.query), 32)
        assert found.label == f"{TEXT} {OTHER}"
        assert shown.payload["model"] == demo.name
        np.testing.assert_array_equal(view(demo, (TEXT, OTHER)).inputs[0].parts["self"].weights, maps.weights)

    def test_two_inputs(self, demo, maps) -> None:
        shown = view(demo, (TEXT, OTHER), against=(OTHER, TEXT))
        assert [one.label for one in shown.inputs] == [f"{TEXT} {OTHER}", f"{OTHER} {TEXT}"]
        assert shown.state["side"] == "both"
        assert len(view(maps, against=maps).inputs) == 2

    def test_two_models(self, demo) -> None:
        other = hs_load(untrained=0)
        shown = view(demo, TEXT, against=other)
        first, second = (one.parts["self"] for one in shown.inputs)
        assert first.query.pieces == second.query.pieces
        np.testing.assert_array_equal(second.weights, capture(other, TEXT).weights)
        assert not np.allclose(first.weights, second.weights, atol=0.01)
        assert [one.label for one in shown.inputs] == [demo.name, f"{demo.name}, untrained, seed 0"]

    def test_without_neurons(self, demo) -> None:
        assert view(demo, TEXT, neurons=False).inputs[0].neurons == {}

    def test_many_neurons_come_only_when_asked_for(self, demo, monkeypatch) -> None:
        monkeypatch.setattr(module, "NEURON_BYTES", 1000)
        with pytest.warns(HeadscopeWarning, match="queries and keys are left out: .* neurons=True"):
            assert view(demo, TEXT).inputs[0].neurons == {}
        assert view(demo, TEXT, neurons=True).inputs[0].neurons
        assert neuron_view(demo, TEXT).inputs[0].neurons

    def test_the_demo_model_by_default(self) -> None:
        assert "MiniLM" in view(text=TEXT).payload["model"]

    def test_a_module_of_your_own(self) -> None:
        gpt = Model(build(family("GPT-2")))
        shown = view(gpt, inputs={"input_ids": torch.arange(3, 9)[None]})
        assert shown.inputs[0].parts["self"].causal

    def test_an_encoder_decoder(self) -> None:
        t5 = Model(build(family("T5")))
        inputs = {"input_ids": torch.arange(3, 9)[None], "decoder_input_ids": torch.arange(3, 7)[None]}
        shown = view(t5, inputs=inputs, part="cross", scale="head", heads=[2])
        assert list(shown.inputs[0].parts) == ["encoder", "decoder", "cross"]
        assert shown.picture("svg", width="column")


class TestQuantities:
    def test_norms(self, demo) -> None:
        shown = view(demo, TEXT, quantities=("norm",), quantity="norms", neurons=False)
        assert shown.inputs[0].neurons == {}
        assert [norm.shape for norm in shown.inputs[0].matrices["norms"]["self"]] == [(12, 6, 6)] * 6
        assert shown.picture("svg", width="column")

    def test_gradients(self, demo) -> None:
        shown = view(demo, TEXT, quantities="gradient", quantity="gradient")
        axes, ready = prepare(demo, TEXT, None, None, None)
        expected = gradients(demo, TEXT, natural(demo, axes, ready))["self"]
        np.testing.assert_array_equal(shown.matrix(3, 4, quantity="gradient"), expected[3][4])
        assert np.abs(expected[3]).max() > 1e-4
        assert shown.inputs[0].notes == {"gradient": "half the squared norm of the mean hidden state"}

        def first(output):
            return output[0][0, 0, 0]

        mine = view(demo, TEXT, quantities="gradient", objective=first)
        assert mine.inputs[0].notes == {"gradient": "first"}
        assert not np.allclose(mine.matrix(3, 4, quantity="gradient"), expected[3][4])

    def test_they_come_along_where_they_cost_little(self, demo, monkeypatch) -> None:
        shown = view(demo, TEXT, pair=OTHER)
        assert sorted(shown.inputs[0].matrices) == ["gradient", "norms"]
        assert (
            shown.payload["inputs"][0]["parts"][0]["quantities"][0]["of"]
            == "the cosine of the two texts read together"
        )
        assert shown.inputs[0].neurons["self"].v is not None
        sizes = sum(layer.size for layer in shown.inputs[0].parts["self"].layers)
        for limit, expected in (
            (2 * sizes, ["gradient", "norms"]),
            (2 * sizes - 1, ["gradient"]),
            (sizes - 1, []),
        ):
            monkeypatch.setattr(quantities, "PAGE_WEIGHTS", limit)
            found = view(demo, TEXT, pair=OTHER)
            assert sorted(found.inputs[0].matrices) == expected
            assert [offer["name"] for offer in found.payload["offers"]] == ["gradient", "norms"]
        monkeypatch.undo()
        monkeypatch.setattr(quantities, "PAGE_WORK", 1_000_000)
        assert view(demo, TEXT).inputs[0].matrices == {}
        assert view(demo, TEXT, quantities=()).inputs[0].matrices == {}

    def test_two_inputs_have_the_same(self, demo) -> None:
        shown = view(demo, (TEXT, OTHER), against=TEXT, quantities=("norm",))
        assert [sorted(one.matrices) for one in shown.inputs] == [["norms"], ["norms"]]

    def test_a_state_that_draws_them_brings_them(self, demo) -> None:
        shown = view(demo, TEXT, quantities=(), quantity="gradient")
        assert sorted(shown.inputs[0].matrices) == ["gradient"]
        assert view(demo, TEXT, quantities=(), scale="neuron", values=True).inputs[0].neurons["self"].v

    def test_asked_for_later(self, demo) -> None:
        shown = view(demo, (TEXT, OTHER), against=(OTHER, TEXT), quantities=())
        shown.add("gradient")
        shown.state = {"quantity": "norms"}  # has them computed
        again = view(demo, (TEXT, OTHER), against=(OTHER, TEXT), quantities=("gradient", "norm"))
        for place in (0, 1):
            for name in ("gradient", "norms"):
                asked, there = (one.matrix(2, 9, quantity=name, place=place) for one in (shown, again))
                np.testing.assert_array_equal(asked, there)
        part, other = (one.payload["inputs"][1]["parts"][0] for one in (shown, again))
        assert [each["of"] for each in part["quantities"]] == [
            "the cosine of the two texts read together",
            None,
        ]
        assert [each["scale"] for each in part["quantities"]] == [
            each["scale"] for each in other["quantities"]
        ]
        assert part["neurons"][0]["v"]["codes"]["shape"] == other["neurons"][0]["v"]["codes"]["shape"]
        assert b"svg" in shown.picture("svg")

    def test_maps_offer_nothing(self, demo, maps) -> None:
        assert view(maps).payload["offers"] == []

    def test_maps_beside_a_model_hold_what_they_were_given(self, demo, maps) -> None:
        pair = (TEXT, OTHER)
        expected = [["gradient", "norms"], []]
        assert [sorted(one.matrices) for one in view(demo, pair, against=maps).inputs] == expected
        asked = view(demo, pair, against=maps, quantities=("gradient",))
        assert [sorted(one.matrices) for one in asked.inputs] == [["gradient"], []]
        later = view(demo, pair, against=maps, quantities=())
        assert [offer["name"] for offer in later.payload["offers"]] == ["gradient", "norms"]
        later.add("gradient")
        assert [sorted(one.matrices) for one in later.inputs] == [["gradient"], []]

    def test_values_that_are_asked_for_later_are_in_the_picture(self, demo) -> None:
        state = {"scale": "neuron", "layer": 1, "heads": [2], "values": True, "pin": ("from", 2)}
        later = view(demo, TEXT, quantities=())
        later.add("norms")
        later.state = state
        there = view(demo, TEXT, quantities=("norm",))
        there.state = state
        for asked, given in zip(
            later.inputs[0].neurons["self"].v, there.inputs[0].neurons["self"].v, strict=True
        ):
            np.testing.assert_array_equal(asked, given)
        assert later.picture("svg") == there.picture("svg")

    def test_what_the_model_cannot_give_is_not_offered(self, demo, monkeypatch) -> None:
        def refuse(*_, **__):
            raise RuntimeError("no backward")

        monkeypatch.setattr(quantities, "gradients", refuse)
        shown = view(demo, TEXT)
        assert [offer["name"] for offer in shown.payload["offers"]] == ["norms"]
        with pytest.raises(RuntimeError, match="no backward"):
            view(demo, TEXT, quantities=("gradient",))

    def test_your_own(self, maps) -> None:
        arrays = [torch.from_numpy(-layer.copy())[None] for layer in maps.layers]
        shown = view(maps, quantities={"effect": arrays}, quantity="effect")
        np.testing.assert_array_equal(shown.matrix(1, 1, quantity="effect"), -maps[1, 1])


def test_maps_without_a_model() -> None:
    shown = head_view(wrap(np.full((2, 2, 3, 3), 1 / 3), ["a", "b", "c"]), layer=1, heads=[0, 1])
    assert shown.inputs[0].label == "a b c"
