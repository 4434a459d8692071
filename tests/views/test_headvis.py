"""What HeadVis and Neuronpedia's loaders read of an export, beside sums by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from tests.helpers.small_models import small
from tests.helpers.typed import Typed

INPUTS = [[5, 7, 9, 5, 7, 11, 5, 5], [8, 9, 10, 11, 12]]
"""One repeats tokens, the other does not."""


def read(folder: Path, name: str) -> Any:
    """A file of the folder."""
    return json.loads((folder / f"{name}.json").read_text("utf-8"), parse_constant=pytest.fail)


def metrics(maps: list[Any]) -> Any:
    """The figures of one head, as HeadVis defines them."""
    sums, rows = np.zeros((2, 6))
    for ids, w in zip(INPUTS, maps, strict=True):
        size = len(ids)
        far = np.abs(np.subtract.outer(range(size), range(size)))
        after = np.array([[0 < j <= i and ids[j - 1] == ids[i] for j in range(size)] for i in range(size)])
        entropy = -(w * np.log(np.maximum(w, 1e-30))).sum()
        sums += [w.trace(), w.trace(-1), entropy, (w * far).sum(), (w * far**2).sum(), w[after].sum()]
        rows += [size, size - 1, size, size, size, after.any(1).sum()]
    figures = sums / rows
    figures[4] -= figures[3] ** 2
    return figures


@pytest.mark.parametrize("kind", ["llama", "bert"])
def test_an_export_holds_the_maps_and_their_metrics(typed: Typed, tmp_path: Path, kind: str) -> None:
    every = [hs.capture(small(kind), inputs={"input_ids": torch.tensor([ids])}) for ids in INPUTS]
    files = [tmp_path / f"{len(maps.query)}.safetensors" for maps in every]
    for maps, file in zip(every, files, strict=True):
        maps.save(file)
    export = typed.of("export", "--to", "headvis")
    assert "headvis, 12 heads, 2 inputs" in export(*files, "-o", tmp_path / "of/texts").err
    config, scatter = (read(tmp_path / "of/texts", name) for name in ("config", "scatter_data"))
    assert [config[f"n_{name}"] for name in ("layers", "heads", "intervals")] == [3, 4, 1]
    assert config["heads"] == [[row["layer"], row["head"]] for row in scatter]
    for head, row in zip(every[0].heads, scatter, strict=True):
        sequences = read(tmp_path / "of/texts", f"heads/{head}")["sequences"]
        for one, maps in zip(sequences, every, strict=True):
            dense = np.zeros((one["seq_len"],) * 2)
            dense.flat[one["attention_indices"]] = one["attention_values"]
            np.testing.assert_allclose(dense, np.where(maps[head] >= 0.005, maps[head], 0), atol=5.1e-5)
            assert one["tokens"] == list(maps.query.pieces)
            assert one["max_activation"] == pytest.approx(maps[head][1:, 1:].max(), abs=5.1e-5)
        wanted = metrics([maps[head].astype(float) for maps in every])
        assert [row[name] for name in config["metrics"]] == pytest.approx(wanted, abs=5.1e-5)
    export(files[1], "-o", tmp_path / "once")
    assert {row["induction_score"] for row in read(tmp_path / "once", "scatter_data")} == {None}


def test_what_cannot_be_exported_is_refused(typed: Typed, tmp_path: Path) -> None:
    even = np.full((2, 3, 3), 1 / 3)
    for name, layers in {"good": [even], "other": [even[:1]], "ragged": [even, even[:1]]}.items():
        hs.wrap(layers, ["a", "b", "c"]).save(tmp_path / name)
    hs.open_maps(tmp_path / "good").take(slice(2)).save(tmp_path / "cut")
    (tmp_path / "text").write_text("no maps")
    export = typed.of("export", "--to", "headvis", tmp_path / "good")
    for name, why in {
        "text": "expected a safetensors file",
        "cut": "expected self-attention that is not cut",
        "other": "expected the model and the heads of",
        "ragged": "expected self-attention that is not cut, with as many heads in each layer",
    }.items():
        export.refuses(f"{tmp_path / name}: {why}", tmp_path / name, "-o", tmp_path / "out")
    export.refuses("one that is neither", "-o", tmp_path)
    assert not (tmp_path / "out").exists()
