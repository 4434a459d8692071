"""Sequences of letters: k-mers that overlap, residues of chains, codons; what each letter gets."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hub
from numpy.testing import assert_allclose
from tokenizers import Tokenizer, models, pre_tokenizers

import headscope as hs
from headscope.core.letters import by_letter, lettered
from headscope.errors import InputError, ShapeError, UnknownError
from headscope.models import Model
from tests.helpers.small_models import sharpen

DNA = "AATCTAATCTAG"
KMERS = [DNA[place : place + 3] for place in range(10)]


def words(known: list[str], **special: str) -> Any:
    """A tokenizer of words that a space splits."""
    vocabulary = {word: number for number, word in enumerate(["[UNK]", *special.values(), *known])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return hub.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", **special)


def model() -> Model:
    torch.manual_seed(0)
    tokenizer = words(["".join(letters) for letters in itertools.product("ACGT", repeat=3)])
    config = hub.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
    return hs.load((sharpen(hub.BertModel(config)), tokenizer))


def test_k_mers_that_overlap() -> None:
    """Case B15: unspaced the only word is unknown; spaced each nucleotide has the mean over the k-mers that cover it."""
    dna = model()
    with pytest.raises(UnknownError, match=r"text: 1 of 1 piece \(100.0 %\) are unknown"):
        hs.capture(dna, DNA)
    text = " ".join(KMERS)
    axis = lettered(dna.encode(text), text)
    assert axis.media[0].text == DNA
    assert axis.places.tolist() == [[0, place, 0, place + 3, 1] for place in range(10)]
    maps = hs.capture(dna, axis)
    assert maps.weights.shape == (2, 2, 10, 10)
    assert maps.key.media == axis.media
    weights = maps["L1H0"].astype(np.float64)
    w = weights[4]
    expected = [
        w[0],
        (w[0] + w[1]) / 2,
        (w[0] + w[1] + w[2]) / 3,
        (w[1] + w[2] + w[3]) / 3,
        (w[2] + w[3] + w[4]) / 3,
        (w[3] + w[4] + w[5]) / 3,
        (w[4] + w[5] + w[6]) / 3,
        (w[5] + w[6] + w[7]) / 3,
        (w[6] + w[7] + w[8]) / 3,
        (w[7] + w[8] + w[9]) / 3,
        (w[8] + w[9]) / 2,
        w[9],
    ]
    assert_allclose(by_letter(axis, weights)[4], expected)
    assert by_letter(axis, weights).shape == (10, 12)


def protein(folder: Path) -> Model:
    """An ESM, whose tokenizer is one in Python and tells no offsets."""
    letters = ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]
    (folder / "vocab.txt").write_text("\n".join(letters))
    config = hub.EsmConfig(
        vocab_size=len(letters),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        pad_token_id=1,
        mask_token_id=len(letters) - 1,
        position_embedding_type="rotary",
    )
    torch.manual_seed(0)
    return hs.load((sharpen(hub.EsmModel(config)), hub.EsmTokenizer(str(folder / "vocab.txt"))))


def test_a_chain_break_is_in_no_chain(tmp_path: Path) -> None:
    """The seventeenth residue is the fifth of the second chain; what stands between chains is of none."""
    first, second = "MKTAYIAKQRQI", "SFVKSHF"
    esm = protein(tmp_path)
    axis = lettered(esm.encode(first, second), first, second)
    assert [medium.text for medium in axis.media] == [first, second]
    assert [at for at, medium in enumerate(axis.medium) if medium < 0] == [0, 13, 21]
    assert axis.pieces[18] == second[4]
    assert axis.places[18].tolist() == [1, 4, 0, 5, 1]
    assert hs.capture(esm, axis).key.media == axis.media
    weights = np.zeros(22)
    weights[[13, 18]] = 0.4, 0.6  # planted
    assert not by_letter(axis, weights, chain=1).any()
    assert by_letter(axis, weights, chain=2).tolist() == [0, 0, 0, 0, 0.6, 0, 0]
    with pytest.raises(InputError, match="expected places in one sequence of letters, found 2; give chain"):
        by_letter(axis, weights)
    with pytest.raises(InputError, match="expected places in sequence 3 of letters, found 2"):
        by_letter(axis, weights, chain=3)
    with pytest.raises(ShapeError, match=r"weights, axis token: expected 22, found shape \(3,\)"):
        by_letter(axis, weights[:3], chain=1)


def test_codons_stand_for_three_letters_and_gaps_for_none() -> None:
    tokens = words(["ATG", "GCC", "TAA"])("ATG GCC TAA", return_offsets_mapping=True)
    axis = lettered(
        hs.Tokens(["ATG", "GCC", "TAA"], offsets=tokens["offset_mapping"], sequence_ids=[0, 0, 0]),
        "ATG GCC TAA",
    )
    assert axis.media[0].text == "ATGGCCTAA"
    assert axis.places[:, [1, 3]].tolist() == [[0, 3], [3, 6], [6, 9]]
    assert by_letter(axis, np.array([0.2, 0.5, 0.3])).tolist() == [0.2] * 3 + [0.5] * 3 + [0.3] * 3
    some = hs.Stretches(hs.Letters("ATGG"), [(0, 2)])
    assert_allclose(by_letter(some, np.array([[1.0]])), [[1, 1, np.nan, np.nan]])
    with pytest.raises(InputError, match="found none that says of which text it is"):
        lettered(hs.Tokens(["a"]), "a")
    with pytest.raises(InputError, match=r"tokens\[1\]: expected a piece of the text, found '<unk>'"):
        lettered(hs.Tokens(["a", "<unk>"], sequence_ids=[0, 0]), "ab")
    with pytest.raises(InputError, match="found 0"):
        by_letter(hs.Tokens(["a"]), np.array([1.0]))


def test_sequences_of_a_file_know_their_letters(tmp_path: Path) -> None:
    path = tmp_path / "two.fasta"
    path.write_text(">one a protein\nMKTAYIAKQRQISFVKSHFSRQ\n>two\nGAVLIMKKLGAVLIMKKLGAVLI*\n")
    one, two = (example.tokens for example in hs.corpora.jsonl(path).encoded(protein(tmp_path)))
    assert one is not None
    assert one.media[0].text == "MKTAYIAKQRQISFVKSHFSRQ"
    assert one.places[5].tolist() == [0, 4, 0, 5, 1]
    assert one.pieces[5] == "Y"
    assert two is not None
    assert len(two.media[0].text) == 23
