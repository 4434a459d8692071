"""Tokenizers of each kind, made small in memory, and the least model that reads with one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast, RobertaTokenizer, WhisperTokenizer
from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

from headscope.core.demo import demo_folder
from headscope.core.tokens import Tokens
from headscope.models import encode
from headscope.models.pieces import sample

SENTENCES = [
    "The cat didn't sit on the mat, although “Lily” asked it to.",
    "She opened the door; nobody was there (it was late).",
    "They walked to the old bridge and looked at the water for a while.",
    "Is a well-known story always true? Not always!",
] * 20


@cache
def demo() -> Any:
    """BERT's tokenizer: WordPiece, ``[CLS] a [SEP] b [SEP]``."""
    return AutoTokenizer.from_pretrained(demo_folder())


@cache
def stories(shared: Path) -> Any:
    """Llama's kind: SentencePiece BPE with byte fallback and no pre-tokenizer, ``<s> a``."""
    return AutoTokenizer.from_pretrained(shared / "models" / "stories260K")


@cache
def byte_level(*, trim: bool = True) -> Any:
    """GPT-2's kind: byte-level BPE, no special tokens around a text."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.ByteLevel(trim_offsets=trim)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(SENTENCES, trainer)
    end = "<|endoftext|>"
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token=end, eos_token=end, unk_token=end)


@cache
def roberta() -> Any:
    """RoBERTa's kind: byte-level BPE, ``<s> a </s> </s> b </s>``."""
    trained = byte_level()
    vocabulary = {piece: number + 5 for piece, number in trained.get_vocab().items()}
    vocabulary |= {piece: number for number, piece in enumerate(("<s>", "<pad>", "</s>", "<unk>", "<mask>"))}
    rules = [tuple(rule) for rule in json.loads(trained.backend_tokenizer.to_str())["model"]["merges"]]
    return RobertaTokenizer(vocab=vocabulary, merges=rules)


@cache
def whisper() -> Any:
    """Whisper's kind: byte-level BPE, ``<|startoftranscript|> <|notimestamps|> a <|endoftext|>``."""
    trained = byte_level()
    rules = [tuple(rule) for rule in json.loads(trained.backend_tokenizer.to_str())["model"]["merges"]]
    made = WhisperTokenizer(vocab=trained.get_vocab(), merges=rules)
    controls = ["<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"]
    made.add_special_tokens({"additional_special_tokens": controls})
    made.set_prefix_tokens()
    return made


@cache
def unigram() -> Any:
    """T5's kind: SentencePiece unigram over words at white space, ``a </s> b </s>``."""
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(SENTENCES, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", unk_token="<unk>", pad_token="<pad>"
    )


@cache
def listed(pieces: tuple[str, ...], *, letters: bool = False) -> Any:
    """A tokenizer of these words, or letters, alone: ``[CLS] a [SEP] b [SEP]``; what it does not know is ``[UNK]``."""
    every = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]
    made = Tokenizer(models.WordLevel({piece: id for id, piece in enumerate(every)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated") if letters else pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    return PreTrainedTokenizerFast(
        tokenizer_object=made, **{f"{name}_token": piece for name, piece in names.items()}
    )


def slow(folder: Path) -> Any:
    """BERT's tokenizer in Python: the same pieces as `demo`, no offsets."""
    vocabulary = demo().get_vocab()
    path = folder / "vocab.txt"
    path.write_text(
        "\n".join(sorted(vocabulary, key=lambda piece: vocabulary[piece])) + "\n", encoding="utf-8"
    )
    return BertTokenizerLegacy(str(path))


@dataclass
class Reader:
    """What a corpus needs of a model, for a tokenizer alone."""

    tokenizer: Any
    max_length: int | None = None
    causal: bool = False

    def encode(self, text: str, pair: str | None = None) -> Tokens:
        return encode.encode(self.tokenizer, text, pair)

    def from_words(self, words: Sequence[str], pair_words: Sequence[str] | None = None) -> Tokens:
        return encode.from_words(self.tokenizer, words, pair_words)

    def encode_all(self, inputs: Sequence[Sequence[str | Sequence[str]]]) -> list[Tokens | None]:
        return encode.encode_all(self.tokenizer, inputs)

    def sample(self) -> str:
        return sample(self.tokenizer)

    def from_pieces(self, pieces: Sequence[str]) -> Tokens:
        return encode.from_pieces(self.tokenizer, pieces)

    def from_ids(self, ids: Sequence[int], written: Sequence[int] = ()) -> Tokens:
        return encode.from_ids(self.tokenizer, ids, written)

    def chat(self, messages: Sequence[Mapping[str, str]]) -> Tokens:
        return encode.chat(self.tokenizer, messages)

    def count(self, texts: Sequence[str]) -> list[int]:
        return encode.count(self.tokenizer, texts)

    def split(self, text: str, size: int) -> list[str]:
        return encode.split(self.tokenizer, text, size)
