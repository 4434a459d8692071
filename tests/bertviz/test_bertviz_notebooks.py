"""What `headscope.bertviz` gives back to transformers; whole notebooks run in tests/browser/test_notebooks.py."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from headscope.bertviz import given_back
from headscope.bertviz.attention_views import head_view
from headscope.core.demo import demo_folder
from headscope.errors import InputError


class TestGivenBack:
    @pytest.mark.parametrize(("notebook", "where"), [(True, "out"), (False, "err")])
    def test_in_a_notebook_it_is_said_in_no_red_box(
        self, notebook: bool, where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(given_back._models, "__call__", given_back._plain_call)
        stream: Any = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
        if notebook:
            monkeypatch.setattr("sys.stderr", stream)
        given_back.give_back()
        assert stream.getvalue() == ""
        assert getattr(capsys.readouterr(), where).startswith("headscope.bertviz: gave back to transformers")

    def test_maps_come_last_and_under_sdpa(self) -> None:
        """The maps of a model on its fused kernel are those of eager attention, and it stays on its kernel."""
        tokenizer = transformers.BertTokenizer.from_pretrained(demo_folder())
        inputs: Any = tokenizer.encode_plus("the cat sat", "on the mat", return_tensors="pt")
        model: Any = transformers.BertModel.from_pretrained(demo_folder(), attn_implementation="sdpa")
        eager: Any = transformers.AutoModel.from_pretrained(demo_folder(), output_attentions=True)
        with torch.no_grad():
            plain, outputs, expected = (
                model(**inputs),
                model(**inputs, output_attentions=True),
                eager(**inputs),
            )
            again = model(**inputs)
        assert model.config._attn_implementation == "sdpa"
        assert torch.equal(plain[0], again[0])
        assert [len(each.to_tuple()) for each in (plain, outputs, expected)] == [2, 3, 3]
        for found, reference in zip(outputs[-1], expected[-1], strict=True):
            np.testing.assert_allclose(found, reference, atol=1e-6)
        np.testing.assert_allclose(outputs[0], expected[0], atol=1e-5)

    def test_training_goes_on_while_maps_are_asked_for(self) -> None:
        """Dropout is the model's own matter: a call for maps leaves the mode alone."""
        config = transformers.BertConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=50
        )
        model: Any = transformers.BertModel(config).train()
        ids = torch.arange(3, 30)[None]
        first, second = (model(ids, output_attentions=True).attentions[0] for _ in range(2))
        assert not torch.equal(first, second)
        assert model.training

    def test_what_is_there_is_left(self, capsys: Any) -> None:
        """Where nothing is missing nothing is touched, and nothing said."""
        tokenizers, outputs, models = given_back._tokenizers, given_back._outputs, given_back._models
        before = tokenizers.encode_plus, outputs.to_tuple, models.__call__
        given_back.give_back()
        assert (tokenizers.encode_plus, outputs.to_tuple, models.__call__) == before
        assert capsys.readouterr().err == ""

    def test_outputs_without_maps_say_so(self) -> None:
        model: Any = transformers.BertModel.from_pretrained(demo_folder())
        with torch.no_grad():
            outputs = model(torch.tensor([[101, 1996, 102]]))
        with pytest.raises(InputError, match=r"these outputs hold no attentions; pass outputs\.attentions"):
            head_view(outputs, ["[CLS]", "the", "[SEP]"])
