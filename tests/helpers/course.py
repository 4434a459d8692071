"""Notebooks in the form of BertViz's, and a folder of models by the names that they load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers

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

VIEWS = {"pair": 2, "column": 3, "exercise": 6}
"""So many views each of them shows."""


def course_cells(nbformat: Any) -> list[Any]:
    """The cells of all three, one notebook after another, with nothing changed but where `bertviz` is imported from."""
    each = {"pair": PAIR, "column": COLUMN, "exercise": EXERCISE}
    return [
        nbformat.v4.new_code_cell(
            cell.replace("from bertviz", "from headscope.bertviz"), metadata={"of": name}
        )
        for name, sources in each.items()
        for cell in ("%reset -f", *sources)
    ]


def save_hub(folder: Path) -> None:
    """Save small random models by the hub's names."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48
    )
    transformers.BertModel(config).save_pretrained(folder / "bert-base-uncased")
    demo().save_pretrained(folder / "bert-base-uncased")
    save_gpt2(folder / "gpt2", n_positions=64)
