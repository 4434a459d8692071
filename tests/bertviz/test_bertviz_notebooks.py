"""Notebooks in the form of BertViz's, run with nothing changed but where `bertviz` is imported from."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope
from headscope.bertviz import given_back
from headscope.bertviz.attention_views import head_view
from headscope.core.demo import demo_folder
from headscope.errors import InputError
from tests.helpers.patience import PATIENCE
from tests.helpers.small_models import save_gpt2
from tests.helpers.small_tokenizers import demo

PAIR = [
    "from bertviz import model_view\nfrom transformers import BertTokenizer, BertModel, utils",
    """\
def show_model_view(model, tokenizer, sentence_a, sentence_b=None, hide_delimiter_attn=False, display_mode="dark"):
    inputs = tokenizer.encode_plus(sentence_a, sentence_b, return_tensors='pt', add_special_tokens=True)
    input_ids = inputs['input_ids']
    if sentence_b:
        token_type_ids = inputs['token_type_ids']
        attention = model(input_ids, token_type_ids=token_type_ids)[-1]
        sentence_b_start = token_type_ids[0].tolist().index(1)
    else:
        attention = model(input_ids)[-1]
        sentence_b_start = None
    tokens = tokenizer.convert_ids_to_tokens(input_ids[0].tolist())
    if hide_delimiter_attn:
        for i, t in enumerate(tokens):
            if t in ("[SEP]", "[CLS]"):
                for layer_attn in attention:
                    layer_attn[0, :, i, :] = 0
                    layer_attn[0, :, :, i] = 0
    model_view(attention, tokens, sentence_b_start, display_mode=display_mode)""",
    """\
utils.logging.set_verbosity_error()
model_version = 'bert-base-uncased'
do_lower_case = True
model = BertModel.from_pretrained(model_version, output_attentions=True)
tokenizer = BertTokenizer.from_pretrained(model_version, do_lower_case=do_lower_case)
show_model_view(model, tokenizer, "The boat left the port", "The boat came back late", display_mode="dark")""",
    "show_model_view(model, tokenizer, 'The boat left', 'It came back', hide_delimiter_attn=True)",
]

COLUMN = [
    """\
%%javascript
require.config({
  paths: {
      d3: '//cdnjs.cloudflare.com/ajax/libs/d3/3.4.8/d3.min',
  }
});""",
    """\
import pandas as pd
from bertviz import head_view
from transformers import BertTokenizer, BertModel""",
    """\
reviews = pd.DataFrame({'sentence': ['a slow and quiet film', 'it never bores'], 'label': [0, 1]})
model = BertModel.from_pretrained('bert-base-uncased')
tokenizer = BertTokenizer.from_pretrained('bert-base-uncased', do_lower_case=True)""",
    """\
def show_head_view(model, tokenizer, sentence_a, sentence_b=None, layer=None, heads=None):
    inputs = tokenizer.encode_plus(sentence_a, sentence_b, return_tensors='pt', add_special_tokens=True)
    input_ids = inputs['input_ids']
    attention = model(input_ids, token_type_ids=inputs['token_type_ids'], output_attentions=True)[-1]
    tokens = tokenizer.convert_ids_to_tokens(input_ids[0].tolist())
    sentence_b_start = inputs['token_type_ids'][0].tolist().index(1) if sentence_b else None
    head_view(attention, tokens, sentence_b_start, layer=layer, heads=heads)""",
    "for sentence in reviews['sentence']:\n    show_head_view(model, tokenizer, sentence)",
    "show_head_view(model, tokenizer, reviews['sentence'][0], reviews['sentence'][1], layer=1, heads=[0, 2])",
]

EXERCISE = [
    """\
from bertviz import head_view, model_view
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, GPT2Model, GPT2Tokenizer""",
    """\
# Part 1: GPT-2
model_version = 'gpt2'
model = GPT2Model.from_pretrained(model_version, output_attentions=True)
tokenizer = GPT2Tokenizer.from_pretrained(model_version)
inputs = tokenizer.encode('The bridge was old', return_tensors='pt')
outputs = model(inputs)
attention = outputs[-1]
tokens = tokenizer.convert_ids_to_tokens(inputs[0])
model_view(attention, tokens)
head_view(attention, tokens)""",
    """\
# Part 2: BERT
model_name = 'bert-base-uncased'
model = AutoModel.from_pretrained(model_name, output_attentions=True)
tokenizer = AutoTokenizer.from_pretrained(model_name)
inputs = tokenizer.encode_plus('the cat slept', 'nobody woke it', return_tensors='pt')
attention = model(**inputs)[-1]
tokens = tokenizer.convert_ids_to_tokens(inputs['input_ids'][0])
head_view(attention, tokens, inputs['token_type_ids'][0].tolist().index(1))""",
    """\
# Part 3: BERT with its weights drawn again
config = BertConfig.from_pretrained(model_name, output_attentions=True)
untrained = BertModel(config)
untrained.eval()
model_view(untrained(**inputs)[-1], tokens, display_mode='light', include_layers=[0, 1])
untrained = AutoModel.from_config(BertConfig.from_pretrained(model_name))
untrained.eval()
model_view(untrained(**inputs, output_attentions=True).attentions, tokens)""",
    """\
# Part 4: what a neuron does
from bertviz.neuron_view import show
from bertviz.transformers_neuron_view import BertModel, BertTokenizer
model = BertModel.from_pretrained(model_name, output_attentions=True)
tokenizer = BertTokenizer.from_pretrained(model_name, do_lower_case=True)
show(model, 'bert', tokenizer, 'the cat slept', 'nobody woke it', display_mode='light', layer=1, head=2)""",
]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the hub's names are small random models."""
    folder = tmp_path_factory.mktemp("hub")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48
    )
    transformers.BertModel(config).save_pretrained(folder / "bert-base-uncased")
    demo().save_pretrained(folder / "bert-base-uncased")
    save_gpt2(folder / "gpt2", n_positions=64)
    return folder


@pytest.mark.slow
def test_only_the_imports_of_bertviz_change(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after another in one kernel; what was given back is said once."""
    monkeypatch.setenv("PYTHONPATH", str(Path(headscope.__file__).resolve().parents[1]))
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    each = {"pair": (PAIR, 2), "column": (COLUMN, 3), "exercise": (EXERCISE, 6)}
    cells: list[Any] = []
    for name, (sources, _) in each.items():
        changed = ["%reset -f", *(cell.replace("from bertviz", "from headscope.bertviz") for cell in sources)]
        cells += [nbformat.v4.new_code_cell(cell, metadata={"of": name}) for cell in changed]
    notebook = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": hub}}
    nbclient.NotebookClient(
        notebook, timeout=2 * PATIENCE, kernel_name="python3", resources=resources
    ).execute()
    shown = Counter(
        cell.metadata["of"]
        for cell in notebook.cells
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    )
    assert shown == {name: views for name, (_, views) in each.items()}
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    said = {
        name: "".join(each.text for each in outputs if each.get("name") == name)
        for name in ("stdout", "stderr")
    }
    assert said["stdout"].count("headscope.bertviz: gave back to transformers") == 1
    assert "headscope" not in said["stderr"]  # a red box


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
