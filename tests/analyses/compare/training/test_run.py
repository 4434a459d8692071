"""Checkpoints of a training run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from torch import nn

import headscope as hs
from headscope.analyses.compare.training.run import listed
from headscope.errors import InputError
from headscope.measures.choose import choose
from headscope.models import Model
from headscope.models.revision import name_and_revision
from tests.helpers.compared_models import drawn, lines, perturbed


@pytest.mark.slow
def test_measures_over_checkpoints(demo: Model, tmp_path: Path) -> None:
    blank = hs.load((demo.module, demo.tokenizer), untrained=0)
    found = hs.compare.training([blank, demo], lines(), measures=["previous", "entropy"], limit=3)
    table = found.table
    assert len(table) == 2 * 2 * 72
    assert table["checkpoint"].unique().tolist() == list(found.figures["checkpoint"].values)
    own = hs.measure(demo, lines(), measures=["previous", "entropy"], limit=3)
    np.testing.assert_array_equal(found.figures["value"][1, 0], own["previous"])
    np.testing.assert_array_equal(found.figures["se"][1, 1], own["entropy_se"])
    assert float(found.figures["value"].sel(measure="previous", layer=0, head=2)[0]) < 0.1
    drawn(found.figure(["entropy"]), tmp_path, ["entropy", "checkpoints: "])


def test_checkpoints_are_found_in_a_folder(tmp_path: Path, demo: Model) -> None:
    for number in (1000, 500, 20):
        (tmp_path / f"checkpoint-{number}").mkdir()
    (tmp_path / "runs").mkdir()
    wanted = ["checkpoint-20", "checkpoint-500", "checkpoint-1000"]
    assert [Path(str(one)).name for one in listed(tmp_path)] == wanted
    with pytest.raises(InputError, match="or a folder with checkpoint-N folders"):
        listed(tmp_path / "runs")
    assert name_and_revision("gpt2@step100") == ("gpt2", "step100")
    assert name_and_revision("gpt2") == ("gpt2", None)
    (tmp_path / "a@b").mkdir()
    assert name_and_revision(str(tmp_path / "a@b")) == (str(tmp_path / "a@b"), None)


@pytest.mark.slow
def test_modules_are_left_as_they_were(demo: Model) -> None:
    assert isinstance(demo.module, nn.Module)
    before = hs.capture(demo, "The cat sat.").weights
    hs.compare.models(demo, perturbed(demo, 0, 0), lines(), measures=choose(["previous"]), limit=1)
    np.testing.assert_array_equal(hs.capture(demo, "The cat sat.").weights, before)
