"""Vectors and scores of texts are those that sentence-transformers makes of the same files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.similar.kept import quantised
from headscope.analyses.similar.reader import TextReader
from headscope.errors import RefusedError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(sys.prefix) / "sentences"
"""Where `make` puts sentence-transformers: what it needs would slow transformers down elsewhere."""

TEXTS = ["The invoice was paid three weeks late.", "Payment of the bill was delayed.", "Who?"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not LIBRARY.exists() and not os.environ.get("CI"):
        pytest.skip(f"{LIBRARY}: no sentence-transformers there; make puts it there")
    folder = tmp_path_factory.mktemp("models")
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), str(LIBRARY)])
    script = [sys.executable, str(Path(__file__).with_name("sentences.py")), str(folder)]
    subprocess.run(script, check=True, env={**os.environ, "PYTHONPATH": path}, capture_output=True)
    return folder


KINDS = (
    "mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "left", "dense", "prompts", "instructed",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_vector_is_that_of_sentence_transformers(kind: str, made: Path) -> None:
    """Of texts in a batch, and of one of which a token is hidden and not pooled; to some units in the last place."""
    wanted = np.load(made / "vectors.npz")
    reader = TextReader(hs.load(str(made / kind)), "token", None, None, 2)
    prompts = [reader.text(text, "a") for text in TEXTS]
    close = {"rtol": 1e-6, "atol": 16 * torch.finfo(torch.float32).eps * np.abs(wanted[kind]).max()}
    plain = [(one.tokens, np.zeros(len(one.tokens), np.bool_)) for one in prompts]
    np.testing.assert_allclose(reader.without(plain), wanted[kind], **close)
    np.testing.assert_allclose(wanted[f"{kind}-object"], wanted[kind], **close)
    for place in (3, 5):
        hidden = np.arange(len(prompts[0].tokens)) == place
        found = reader.without([(prompts[0].tokens, hidden)])
        np.testing.assert_allclose(found, wanted[f"{kind}-{place}"], **close)
        assert not np.allclose(found, wanted[kind][:1], **close)


SCORED = ("late", "late mean", "plain cross", "cross", "cross logit")


@pytest.mark.parametrize("kind", SCORED)
def test_the_score_is_that_of_sentence_transformers(kind: str, made: Path) -> None:
    """Of its object and of its files; the terms of late interaction sum to it."""
    wanted = np.load(made / "vectors.npz")
    model = hs.load(str(made / kind))
    pairs = [(a, b) for a in TEXTS for b in TEXTS]
    found = hs.similar(model, *map(list, zip(*pairs, strict=True)))["similarity"].values
    assert np.ptp(found) > 1e-4
    np.testing.assert_allclose(found, wanted[kind].ravel(), rtol=1e-6)
    np.testing.assert_allclose(found, wanted[f"{kind}-object"], rtol=1e-6)
    if "cross" not in kind:
        readers = TextReader(model, "word", None, None, 32, 0), TextReader(model, "word", None, None, 32, 1)
        both = [one.vectors([one.text(text, "")])[0] for one, text in zip(readers, TEXTS[:2], strict=True)]
        terms = readers[0].embedder.terms(*both)
        assert terms is not None
        assert float(terms.sum()) == pytest.approx(float(wanted[kind][0, 1]), rel=1e-6)


def test_quantised_vectors_are_as_near_as_those_of_sentence_transformers(made: Path) -> None:
    wanted = np.load(made / "vectors.npz")
    found = quantised(wanted["drawn"][0], wanted["drawn"][1:])
    products = wanted["int8"].astype(int) @ wanted["int8-query"][0].astype(int)
    np.testing.assert_array_equal(found["int8"], products)
    equal = np.unpackbits(wanted["ubinary"] ^ wanted["ubinary-query"], axis=1) == 0
    np.testing.assert_array_equal(found["binary"], equal.sum(1))


def test_what_no_file_here_says_is_taken_of_an_object_or_refused(made: Path) -> None:
    """PyLate's and ColBERT's own files, which sentence-transformers reads; SPLADE, whose vector is of words."""
    wanted = np.load(made / "vectors.npz")
    for name in ("PyLate", "ColBERT"):
        np.testing.assert_allclose(wanted[f"{name}-object"], wanted[name].ravel(), rtol=1e-6)
        with pytest.raises(RefusedError, match=r"written by PyLate or ColBERT.*hs.load\(MultiVectorEncoder"):
            hs.similar(hs.load(str(made / name)), *TEXTS[:2])
    assert "found SPLADE's of words" in str(wanted["SPLADE"])
