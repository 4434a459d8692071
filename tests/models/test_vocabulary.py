"""A tokenizer beside a model's embedding: whether they are of one vocabulary."""

from __future__ import annotations

import pytest
import torch
import transformers

import headscope as hs
from headscope.errors import HeadscopeWarning, InputError, RefusedError
from headscope.models.vocabulary import Vocabulary
from tests.helpers.small_models import SMALL, small
from tests.helpers.small_tokenizers import demo, listed

FITTING = {
    "BERT": (30522, 30522),
    "T5": (32100, 32128),
    "DeepSeek-V2": (100002, 102400),
    "Whisper without times": (50364, 51865),
    "ByT5 without extra ids": (259, 384),
    "ProtT5 without extra ids": (28, 128),
    "letters in 256 rows": (5, 256),
}


@pytest.mark.parametrize("sizes", FITTING.values(), ids=FITTING)
def test_spare_rows_are_normal(sizes: tuple[int, int]) -> None:
    assert Vocabulary(*sizes).problem is None


@pytest.mark.parametrize("sizes", [(5, 591), (28996, 30522), (30522, 50265)])
def test_a_much_smaller_tokenizer_is_told_with_both_sizes(sizes: tuple[int, int]) -> None:
    told = f"the tokenizer has {sizes[0]:,} pieces, the model's embedding {sizes[1]:,} rows: its vocabulary may be another's"
    assert Vocabulary(*sizes).problem == told


def bert(rows: int) -> transformers.BertModel:
    torch.manual_seed(0)
    return transformers.BertModel(transformers.BertConfig(**{**SMALL, "vocab_size": rows}))


def test_loading_warns() -> None:
    with pytest.warns(
        HeadscopeWarning, match="BertModel: the tokenizer has 8 pieces, the model's embedding 591 rows"
    ):
        hs.load((bert(591), listed(tuple("CNO"))))


def test_pieces_beyond_the_embedding_are_refused() -> None:
    told = (
        r"^BertModel: expected a tokenizer with ids below 60, the rows of the model's embedding, found 30,522 pieces up "
        r"to id 30,521 \('.*'\): its vocabulary is another's$"
    )
    with pytest.raises(RefusedError, match=told):
        hs.load((bert(60), demo()))


def test_an_added_piece_without_a_row_is_said_and_refused_where_it_is_used() -> None:
    made = listed(("C", "N", "O"))
    tokenizer = type(made)(
        tokenizer_object=type(made.backend_tokenizer).from_str(made.backend_tokenizer.to_str())
    )
    tokenizer.add_tokens(["<image>"])
    with pytest.warns(HeadscopeWarning, match="embedding has 8 rows, none for <image> of the tokenizer"):
        model = hs.load((bert(8), tokenizer))
    assert len(hs.capture(model, "C N").query) == 4
    with pytest.raises(
        InputError, match=r"expected ids below 8, the rows of the model's embedding, found 8 \('<image>'\)"
    ):
        hs.capture(model, "C <image>")


def test_models_without_a_tokenizer_or_without_rows_have_none() -> None:
    assert small("bert").checked.vocabulary is None
    sight = transformers.ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, image_size=32)
    assert hs.load(transformers.ViTModel(sight)).embedding_rows is None
    assert hs.load((bert(8), listed(tuple("CNO")))).embedding_rows == 8
