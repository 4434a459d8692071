"""Distances over a corpus: against the published figures, against whole maps, and what must not matter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.distance import run as running
from headscope.analyses.distance.run import Distances, distance
from headscope.analyses.distance.statistics import heads
from headscope.attention.one import capture
from headscope.core.tokens import Tokens
from headscope.corpora import Example
from headscope.errors import InputError, RunError
from headscope.models import Model
from headscope.runs.options import COMMAND
from tests.helpers.run_sample import stopped
from tests.helpers.small_models import FAMILIES, small

pytestmark = pytest.mark.slow


def corpus(*lengths: int, documents: Sequence[int] | None = None) -> list[Example]:
    draw = np.random.default_rng(1)
    return [
        Example(
            tokens=Tokens(["x"] * length, ids=draw.integers(3, 60, length)),
            document=place if documents is None else documents[place],
            source=f"corpus.txt:{place + 1}",
        )
        for place, length in enumerate(lengths)
    ]


def from_maps(model: Model, examples: Sequence[Example]) -> np.ndarray:
    """Mean divergences from whole maps in float64, one input at a time."""
    total, rows = np.zeros(()), 0
    for example in examples:
        ids = torch.tensor(example.tokens.ids)[None]
        module = model.module.get_encoder() if model.encoder_decoder else model.module
        maps: Any = capture(
            Model(module, name="own"), inputs={"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        )
        weights = np.asarray(maps.weights, np.float64)
        rest = 1.0 - weights.sum(-1, keepdims=True)
        sink = bool((rest > 1e-3).any())
        if sink:
            weights = np.concatenate([weights, np.where(rest > 1e-6, rest, 0.0)], -1)
        weights = weights.reshape(-1, *weights.shape[2:])[:, 1 if model.causal and not sink else 0 :]

        def information(p: np.ndarray) -> np.ndarray:
            return (p * np.log(np.where(p > 0, p, 1.0))).sum(-1)

        own = information(weights)
        mixed = information((weights[:, None] + weights) / 2)
        total = total + ((own[:, None] + own) / 2 - mixed).sum(-1)
        rows += weights.shape[1]
    return total / rows


@pytest.fixture(scope="module")
def segments(demo: Model, shared: Path) -> list[Example]:
    found = json.loads((shared / "reference" / "segments.json").read_text())
    return [
        Example(tokens=demo.from_pieces(one["tokens"]), document=place, source=f"segments:{place}")
        for place, one in enumerate(found)
    ]


# --- the published code


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_preset_gives_the_published_figures(
    demo: Model, shared: Path, segments: list[Example], precision: Any
) -> None:
    """The model runs in float32: a score near 10 is known to 1e-6, so are shares of a weight, and of a distance."""
    with np.load(shared / "reference" / "head_distances.npz") as reference:
        truth, tokens = reference["js"], int(reference["n_tokens"])
    found = distance(demo, segments, preset="clark2019", precision=precision)
    assert found.attrs["n"] == tokens
    assert heads(found)[13] == (1, 1)
    np.testing.assert_allclose(found["distance"] / tokens, truth / tokens, atol=2e-6, rtol=0)


# --- against whole maps


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES)
def test_figures_are_those_of_whole_maps(kind: str) -> None:
    """Padded and batched, with grouped queries, windows, sinks, biases, traced: as from maps one by one."""
    model = small(kind, **FAMILIES[kind])
    examples = corpus(25, 5, 11, 8, 1, 9, 11, documents=[0, 0, 1, 1, 2, 3, 3])
    truth = from_maps(model, examples)
    assert truth.max() > 0.05
    for batch_size in (1, 4):  # alone there is no padding and no mask
        for precision in ("float32", "float64"):
            found = distance(model, examples, batch_size=batch_size, precision=precision)
            np.testing.assert_allclose(found["distance"], truth, atol=2e-6)


def test_by_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    model, examples = small("llama", **FAMILIES["llama"]), corpus(25, 11)
    whole = distance(model, examples)
    monkeypatch.setattr(running, "_WEIGHTS", 12 * 25 * 3)
    np.testing.assert_allclose(distance(model, examples)["distance"], whole["distance"], atol=1e-6)


# --- what must not matter


def test_the_model_is_left_as_it_was() -> None:
    model = small("bert")
    before = model.module.config._attn_implementation
    model.module.train()
    distance(model, corpus(5))
    assert model.module.config._attn_implementation == before
    assert model.module.training


# --- errors and rows


def test_the_error_is_clustered_by_document() -> None:
    model = small("bert")
    examples = corpus(20, 20, 4, documents=[0, 0, 1])
    one, other = (distance(model, part)["distance"] for part in (examples[:2], examples[2:]))
    found = distance(model, examples)
    mean = (40 * one + 4 * other) / 44
    np.testing.assert_allclose(found["distance"], mean, atol=1e-7)
    np.testing.assert_allclose(
        found["distance_se"], np.abs(one - other) / 2, atol=1e-6
    )  # each without the other
    assert np.isnan(distance(model, examples[:2])["distance_se"]).all()


def test_rows_that_are_drawn_stand_for_all() -> None:
    """Means over draws come to the exact figure, though inputs differ in length; the error tells how far off one is."""
    model = small("bert")
    examples = corpus(30, 6, 3, 25, 12, 17, 8, 40)
    exact = distance(model, examples)["distance"].values
    draws = [distance(model, examples, rows=4, seed=seed) for seed in range(40)]
    values = np.stack([one["distance"].values for one in draws])
    assert draws[0].attrs["n"] == 7 * 4 + 3
    off = np.triu_indices(12, 1)
    spread = values.std(0, ddof=1)[off]
    np.testing.assert_array_less(abs(values.mean(0) - exact)[off], 5 * spread / np.sqrt(40))
    stated = np.mean([one["distance_se"].values[off] for one in draws])
    assert stated > 0.7 * spread.mean()


def test_the_draw_depends_on_the_input_alone() -> None:
    model = small("bert")
    examples = corpus(20, 30, 25)
    together = [one.sums for one in Distances(model, rows=5, seed=1).run(examples)]
    alone = [Distances(model, rows=5, seed=1).run([example])[0].sums for example in examples]
    np.testing.assert_allclose(together, alone, atol=1e-4)
    other = Distances(model, rows=5, seed=2).run(examples)[0].sums
    assert abs(other - together[0]).max() > 1e-2
    every = Distances(model, rows=100).run(examples)[0]
    np.testing.assert_array_equal(every.sums, Distances(model).run(examples)[0].sums)
    assert (every.rows, every.compared) == (20, 20)


def test_the_first_token_of_a_causal_model_is_left_out(stories: Model) -> None:
    texts = hs.corpora.texts(["Once upon a time, there was a little girl.", "She had a dog."])
    found = distance(stories, texts)
    described = json.loads(found.attrs["meta"])["corpus"]
    assert found.attrs["n"] == described["rows"] == described["tokens"] - 2


# --- what is said


def test_the_description() -> None:
    COMMAND.set("headscope distance")
    found = distance(small("t5", **FAMILIES["t5"]), corpus(7, 8), rows=3, seed=5, limit=2)
    meta = json.loads(found.attrs["meta"])
    assert meta["options"] == {"rows": 3, "seed": 5, "limit": 2, "batch_size": 8, "precision": "float32"}
    assert meta["command"] == "headscope distance"
    read = {
        "documents": 2, "examples": 2, "tokens": 15, "rows": 6, "pieces": 15, "unknown": 0,
        "identical": 0,
    }  # fmt: skip
    assert meta["corpus"] == {"name": "examples", **read}
    assert meta["model"]["name"]


def test_an_input_on_which_the_model_fails_is_named() -> None:
    broken = corpus(5, 6, 7)
    beyond = Tokens(["x"] * 6, ids=np.full(6, 99))  # of the vocabulary
    broken[1] = Example(tokens=beyond, document=1, source="corpus.txt:2")
    with pytest.raises(
        RunError, match=r"corpus\.txt:2: BertModel: expected ids below 60, .*found 99 \('x'\)"
    ):
        distance(small("bert"), broken)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"rows": 3}, {"preset": "clark2019"}], ids=str)
def test_resumed_and_merged_runs_are_the_plain_run(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last digit, with blocks that end in the midst of a document."""
    monkeypatch.setattr(running, "BLOCK", 2)
    monkeypatch.setattr("headscope.runs.long.WINDOWS", 2)
    model = small("bert")
    given = corpus(*range(4, 18), documents=[0, *[1] * 9, 2, 2, 3, 3])
    run = partial(distance, model, given, batch_size=2, **options)
    plain = run()
    with stopped(Distances):
        run(resume=tmp_path / "run")
    assert (tmp_path / "run" / "span-00000000.safetensors").exists()
    parts = [tmp_path / "1.nc", tmp_path / "2.nc"]
    for number, part in enumerate(parts, 1):
        run(shard=f"{number}/2", part=part)
    for found in (run(resume=tmp_path / "run"), hs.merge(parts[::-1])):
        np.testing.assert_array_equal(found["distance"], plain["distance"])
        np.testing.assert_array_equal(found["distance_se"], plain["distance_se"])
        assert found.attrs["n"] == plain.attrs["n"]
        assert json.loads(found.attrs["meta"])["corpus"]["documents"] == 4
    monkeypatch.setattr("headscope.runs.long.WINDOWS", None)
    np.testing.assert_allclose(run()["distance"], plain["distance"], atol=1e-6)
    with pytest.raises(
        InputError, match=r"a checkpoint of another run: options.batch_size: expected 1, found 2"
    ):
        distance(model, given, batch_size=1, resume=tmp_path / "run", **options)


def test_merge_takes_parts_of_one_kind(tmp_path: Path) -> None:
    model, given = small("bert"), corpus(4, 5, 6)
    distance(model, given, shard="1/1", part=tmp_path / "a.nc")
    hs.measure(model, given, measures=["entropy"], shard="1/1", part=tmp_path / "b.nc")
    assert "entropy" in hs.merge([tmp_path / "b.nc"])
    with pytest.raises(InputError, match=r"b.nc: not of the same run as \S*a.nc: kind: expected distance"):
        hs.merge([tmp_path / "a.nc", tmp_path / "b.nc"])
