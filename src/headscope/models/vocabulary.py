"""Whether a tokenizer and a model's embedding are of one vocabulary, as far as their sizes say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headscope.errors import RefusedError
from headscope.models.model import Model
from headscope.models.pieces import shown_piece

SPARE, SPARE_SHARE = 255, 0.04
"""Rows of an embedding that a tokenizer may leave unused, at least, and as a share: rows fill up to a multiple of 256,
or are kept for tokens to come (Whisper leaves 2.9 % of them, DeepSeek-V2 2.4 %, Phi-2 1.8 %, GPT-NeoX 0.3 %)."""


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer beside an embedding.

    Attributes:
        tokenizer: how many ids the tokenizer has.
        embedding: how many rows the model's embedding has.
        beyond: added pieces of the tokenizer that have no row, such as Gemma 3's for images in a model of text.
    """

    tokenizer: int
    embedding: int
    beyond: Sequence[str] = ()

    @property
    def problem(self) -> str | None:
        """What a user should know; None where the two go together."""
        if self.embedding - self.tokenizer > max(SPARE, SPARE_SHARE * self.embedding):
            return (
                f"the tokenizer has {self.tokenizer:,} pieces, the model's embedding {self.embedding:,} rows: "
                "its vocabulary may be another's"
            )
        if self.beyond:
            return (
                f"the model's embedding has {self.embedding:,} rows, none for {', '.join(self.beyond[:3])}"
                f"{' …' if len(self.beyond) > 3 else ''} of the tokenizer"
            )
        return None


def vocabulary(model: Model) -> Vocabulary | None:
    """The tokenizer's vocabulary beside the model's embedding; None where either is missing.

    Raises `RefusedError` where the tokenizer has pieces, added ones aside, whose ids are beyond the embedding.
    """
    rows = model.embedding_rows
    if model.tokenizer is None or rows is None:
        return None
    ids: dict[str, int] = model.tokenizer.get_vocab()
    added: Any = model.tokenizer.added_tokens_decoder
    beyond = sorted((number, piece) for piece, number in ids.items() if number >= rows)
    foreign = [(number, piece) for number, piece in beyond if number not in added]
    if foreign:
        last, _ = foreign[-1]
        raise RefusedError(
            f"{model.name}: expected a tokenizer with ids below {rows:,}, the rows of the model's embedding, found "
            f"{len(ids):,} pieces up to id {last:,} ({shown_piece(model.tokenizer, last)!r}): "
            "its vocabulary is another's"
        )
    return Vocabulary(len(ids), rows, [piece for _, piece in beyond])
