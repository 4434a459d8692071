"""Analyses that go over a corpus in two processes: what they find in one, to the last digit."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headscope as hs
from headscope import corpora
from headscope.models import Model
from headscope.runs.safefile import decode
from tests.helpers import links_sample
from tests.helpers.compared_models import examples, lines, perturbed
from tests.helpers.forked import forked
from tests.helpers.run_sample import as_a_worker
from tests.helpers.small_models import small_bert, small_roberta

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def small_blocks() -> Generator[None]:
    with as_a_worker(5, 400):
        yield


@pytest.fixture(scope="module")
def pair() -> Iterator[hs.engines.Processes]:
    with forked(), hs.engines.Processes("cpu:2") as engine:
        yield engine


def same(one: xr.Dataset, other: xr.Dataset) -> None:
    xr.testing.assert_identical(one.drop_attrs(), other.drop_attrs())
    mine, theirs = (json.loads(each.attrs["meta"]) for each in (one, other))
    for meta in (mine, theirs):
        for name in ("created", "seconds"):
            meta.pop(name, None)
    assert mine == theirs


def texts(_: Path) -> corpora.Corpus:
    return corpora.builtin(pack=None)


RUNS = {**links_sample.RUNS, "distance": (hs.distance, texts, {"limit": 12})}


@pytest.mark.parametrize("name", RUNS)
def test_long_runs(demo: Model, pair: Any, tmp_path: Path, name: str) -> None:
    function, read, options = RUNS[name]
    plain = function(demo, read(tmp_path), **options)
    same(function(demo, read(tmp_path), **options, engine=pair), plain)


@pytest.mark.usefixtures("few_repeats")
def test_roles(stories: Model, pair: Any) -> None:
    """Of a causal model also what heads do off the sink, whose measures are taken by workers."""
    corpus = corpora.builtin()
    plain, found = (hs.roles(stories, corpus, limit=12, engine=engine) for engine in (None, pair))
    pd.testing.assert_frame_equal(plain, found, check_exact=True)
    assert plain.attrs["meta"] == {**found.attrs["meta"], "created": plain.attrs["meta"]["created"]} | {
        "seconds": plain.attrs["meta"]["seconds"]
    }


def test_groups(demo: Model, pair: Any) -> None:
    plain, found = (
        hs.compare.groups(demo, examples(demo), measures=["previous", "sep", "entropy"], engine=engine)
        for engine in (None, pair)
    )
    same(plain.figures, found.figures)
    np.testing.assert_array_equal(plain.inputs.values, found.inputs.values)


def test_two_models(demo: Model, pair: Any) -> None:
    """Each worker loads both: one by name, one as it is in memory."""
    other = perturbed(demo, 1, 3)
    plain, found = (
        hs.compare.models(demo, other, lines(), measures=["previous", "entropy"], limit=12, engine=engine)
        for engine in (None, pair)
    )
    same(plain.figures, found.figures)


def test_two_models_on_words(pair: Any) -> None:
    one, two = small_roberta(seed=0), small_roberta(seed=1)
    one.allow_unknown = two.allow_unknown = True
    plain, found = (
        hs.compare.models(one, two, lines(), measures=["previous"], limit=6, engine=engine)
        for engine in (None, pair)
    )
    same(plain.figures, found.figures)


def test_maps_of_probes(demo: Model, pair: Any, tmp_path: Path) -> None:
    """All numbers, of the model and of the one re-initialised for the run."""
    model = small_bert(demo.tokenizer)
    read = list(islice(corpora.builtin_trees().encoded(model), 16))
    for name, engine in (("here", None), ("there", pair)):
        hs.probe(
            model,
            read[:4],
            read[4:],
            kinds=["attention", "reinitialised", "structural"],
            epochs=1,
            resume=tmp_path / name,
            engine=engine,
        )
    files = sorted(path.name for path in (tmp_path / "here").glob("*-00000000.safetensors"))
    assert len(files) == 6
    for file in files:
        here, there = (decode((tmp_path / name / file).read_bytes(), file) for name in ("here", "there"))
        assert here[1] == there[1]
        assert all(np.array_equal(array, there[0][name]) for name, array in here[0].items()), file
