"""The classes that BertViz's neuron view needs: the stock ones of transformers."""

from __future__ import annotations

from transformers import BertModel, BertTokenizer, GPT2Model, GPT2Tokenizer, RobertaModel, RobertaTokenizer

__all__ = ["BertModel", "BertTokenizer", "GPT2Model", "GPT2Tokenizer", "RobertaModel", "RobertaTokenizer"]
