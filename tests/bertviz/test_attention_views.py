from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from headscope.bertviz import head_view, model_view
from headscope.views import page as pages
from tests.helpers.pages import payload as read

TOKENS = ["[CLS]", "Ġthe", "##s", "[SEP]", "▁cat", "[SEP]"]


@pytest.fixture(autouse=True)
def bundle(monkeypatch):
    monkeypatch.setattr(pages, "bundle_file", lambda name: "")


def attentions(layers: int = 3, heads: int = 4, queries: int = 6, keys: int = 6, batch: int = 1):
    draw = torch.Generator().manual_seed(0)
    return tuple(torch.rand(batch, heads, queries, keys, generator=draw).softmax(-1) for _ in range(layers))


def payload(html: Any) -> dict[str, Any]:
    return read(html.data)["views"][0]


def of(call, *given, **options) -> dict[str, Any]:
    return payload(call(*given, **options, html_action="return"))


class TestDefaults:
    def test_head_view(self) -> None:
        found = of(head_view, attentions(), TOKENS)
        assert found["state"] == {"scale": "head", "layer": 0, "heads": [0, 1, 2, 3]}

    def test_model_view_is_dark(self) -> None:
        assert of(model_view, attentions(), TOKENS)["state"] == {
            "scale": "model",
            "theme": "dark",
            "draw": "lines",
        }
        for tokens, draw in ((48, {"draw": "lines"}), (49, {})):
            maps = attentions(queries=tokens, keys=tokens)
            state = of(model_view, maps, ["a"] * tokens)["state"]
            assert state == {"scale": "model", "theme": "dark", **draw}
        assert of(model_view, attentions(), TOKENS, display_mode="light")["state"]["theme"] == "light"

    def test_tokens_are_prettified(self) -> None:
        pieces = of(head_view, attentions(), TOKENS)["inputs"][0]["parts"][0]["query"]["pieces"]
        assert pieces == ["[CLS]", "the", "##s", "[SEP]", "cat", "[SEP]"]
        raw = of(head_view, attentions(), TOKENS, prettify_tokens=False)
        assert raw["inputs"][0]["parts"][0]["query"]["pieces"] == TOKENS

    def test_by_place(self) -> None:
        """BertViz's order of arguments."""
        head = of(head_view, attentions(), TOKENS, 4, True, 1, [2])
        assert head["state"] == {"scale": "head", "layer": 1, "heads": [2]}
        assert head["inputs"][0]["parts"][0]["query"]["sequences"] == [0, 0, 0, 0, 1, 1]
        assert of(model_view, attentions(), TOKENS, 4, True, "light")["state"]["theme"] == "light"


class TestInputs:
    @pytest.mark.parametrize("wrapped", [SimpleNamespace, dict])
    def test_outputs_or_attentions(self, wrapped) -> None:
        outputs = wrapped(last_hidden_state=torch.zeros(1, 6, 8), attentions=attentions())
        assert of(head_view, outputs, TOKENS) == of(head_view, attentions(), TOKENS)

    def test_an_encoder_decoder(self) -> None:
        options = {
            "encoder_attention": attentions(heads=2),
            "decoder_attention": attentions(heads=4, queries=3, keys=3),
            "cross_attention": attentions(heads=4, queries=3, keys=6),
            "encoder_tokens": TOKENS,
            "decoder_tokens": ["a", "b", "c"],
        }
        parts = of(model_view, **options)["inputs"][0]["parts"]
        expected = [("encoder", 2), ("decoder", 4), ("cross", 4)]
        assert [(part["name"], len(part["heads"][0])) for part in parts] == expected
        assert len(parts[2]["query"]["pieces"]) == 3
        assert len(parts[2]["key"]["pieces"]) == 6
        outputs = SimpleNamespace(
            **{f"{name}s": value for name, value in options.items() if "attention" in name}
        )
        whole = {name: value for name, value in options.items() if "tokens" in name}
        assert of(model_view, outputs, **whole) == of(model_view, **options)
        each = {name: outputs for name in options if "attention" in name}
        assert of(head_view, **each, **whole) == of(head_view, **options)

    def test_true_indices(self) -> None:
        found = of(model_view, attentions(), TOKENS, include_layers=[2], include_heads=[1, 3])
        part = found["inputs"][0]["parts"][0]
        assert part["index"] == [2]
        assert part["heads"] == [[1, 3]]
        assert of(head_view, attentions(), TOKENS, include_layers=[1, 2])["state"]["layer"] == 1

    def test_maps_that_were_cut(self) -> None:
        cut = tuple(layer[:, :, 1:5, 1:5] for layer in attentions())
        assert of(head_view, cut, TOKENS[1:5])["kind"] == "explorer"


class TestActions:
    def test_return_is_html(self) -> None:
        html = pytest.importorskip("IPython.display").HTML
        found = head_view(attentions(), TOKENS, html_action="return")
        assert isinstance(found, html)
        assert found.data.startswith("<!doctype html>")
        assert found._repr_html_().startswith("<iframe srcdoc=")

    def test_view_displays(self, monkeypatch) -> None:
        display = pytest.importorskip("IPython.display")
        seen: list[Any] = []
        monkeypatch.setattr(display, "display", seen.append)
        assert head_view(attentions(), TOKENS) is None
        assert seen[0].state["heads"] == [0, 1, 2, 3]

    def test_without_ipython(self, monkeypatch, capsys) -> None:
        monkeypatch.setitem(sys.modules, "IPython.display", None)
        assert head_view(attentions(), TOKENS) is None
        assert capsys.readouterr().out.startswith("View(")
        assert head_view(attentions(), TOKENS, html_action="return").data.startswith("<!doctype html>")


def test_weights_are_those_given() -> None:
    given = attentions()
    found = of(head_view, np.stack([layer.numpy() for layer in given]), TOKENS)
    assert found == of(head_view, given, TOKENS)
