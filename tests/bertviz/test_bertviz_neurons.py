from __future__ import annotations

from typing import Any

import pytest
import transformers

from headscope.bertviz import neuron_view, transformers_neuron_view
from headscope.bertviz.neuron_view import show
from headscope.core.demo import demo_folder
from headscope.errors import InputError
from headscope.views import page as pages
from headscope.views.view import View
from tests.helpers.small_tokenizers import byte_level


@pytest.fixture(autouse=True)
def bundle(monkeypatch):
    monkeypatch.setattr(pages, "bundle_file", lambda name: "")


@pytest.fixture
def views(monkeypatch) -> list[View]:
    """The views that were shown."""
    seen: list[Any] = []
    real = neuron_view.shown

    def keep(view, action):
        seen.append(view)
        return real(view, "return")

    monkeypatch.setattr(neuron_view, "shown", keep)
    return seen


@pytest.fixture(scope="module")
def bert():
    folder = demo_folder()
    model = transformers_neuron_view.BertModel.from_pretrained(folder, output_attentions=True)
    tokenizer = transformers_neuron_view.BertTokenizer.from_pretrained(folder, do_lower_case=True)
    return model, tokenizer


class TestShow:
    def test_defaults(self, bert, views) -> None:
        show(bert[0], "bert", bert[1], "The cat sat on the mat")
        assert views[0].state == {"scale": "head", "layer": 0, "heads": [0], "theme": "dark"}
        assert views[0].payload["bertviz"]
        assert views[0].payload["inputs"][0]["parts"][0]["neurons"]

    def test_by_place(self, bert, views) -> None:
        show(bert[0], "bert", bert[1], "the cat sat", "on the mat", "light", 4, 3)
        assert views[0].state == {"scale": "head", "layer": 4, "heads": [3], "theme": "light"}
        tokens = views[0].inputs[0].parts["self"].query
        assert tokens.pieces == ("[CLS]", "the", "cat", "sat", "[SEP]", "on", "the", "mat", "[SEP]")
        assert tokens.type_ids.tolist() == [0] * 5 + [1] * 4

    def test_a_causal_model_of_any_class(self, views) -> None:
        tokenizer = byte_level()
        config = transformers.GPT2Config(
            vocab_size=len(tokenizer), n_embd=16, n_layer=2, n_head=2, n_positions=64
        )
        for model in (transformers_neuron_view.GPT2Model(config), transformers.GPT2LMHeadModel(config)):
            show(model, "gpt2", tokenizer, "The dog ran", layer=1, head=1)
        for view in views:
            assert view.inputs[0].parts["self"].causal
            assert view.inputs[0].neurons["self"].q[0].shape[-1] == 8

    def test_refusals(self, bert) -> None:
        with pytest.raises(InputError, match="html_action"):
            show(bert[0], "bert", bert[1], "a", html_action="x")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="layer takes 0 to 5; found 9"):
            show(bert[0], "bert", bert[1], "the cat", layer=9, html_action="return")
        with pytest.raises(ValueError, match="empty"):
            show(bert[0], "bert", bert[1], "", html_action="return")

    def test_return(self, bert) -> None:
        assert show(bert[0], "bert", bert[1], "a cat", html_action="return").data.startswith(
            "<!doctype html>"
        )


class TestClasses:
    def test_maps_stand_last(self, bert) -> None:
        model, tokenizer = bert
        inputs = tokenizer.encode_plus(
            "the cat sat", "on the mat", return_tensors="pt", add_special_tokens=True
        )
        outputs = model(inputs["input_ids"], token_type_ids=inputs["token_type_ids"])
        assert len(outputs[-1]) == 6
        assert outputs[-1][0].shape == (1, 12, 9, 9)

    @pytest.mark.parametrize("name", ["Bert", "GPT2", "Roberta"])
    def test_they_are_the_stock_classes(self, name) -> None:
        for kind in ("Model", "Tokenizer"):
            assert getattr(transformers_neuron_view, name + kind) is getattr(transformers, name + kind)
