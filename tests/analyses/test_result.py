"""What a run returns: a dataset with a table, a figure and files."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

import headscope as hs
from headscope.analyses import result as results
from headscope.analyses.compare.training.run import Training
from headscope.analyses.result import Result
from headscope.errors import InputError
from headscope.models import Model
from headscope.views.blocks import FEW, rows_of
from headscope.views.terminal import written
from tests.analyses.test_sections import training
from tests.helpers import report_sample

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("more", "last"), [(0, []), (1, ["… and 1 more; -o FILE writes them all"])])
def test_rows_that_are_not_shown_are_counted(more: int, last: list[str]) -> None:
    lines = written(rows_of(pd.DataFrame({"score": [0.5] * (FEW + more)}))).splitlines()
    assert lines == ["score", *["0.500"] * FEW, *last]


@pytest.fixture
def result() -> Result:
    return Result.of(report_sample.dataset())


def test_it_is_the_dataset_in_every_way(result: Result, tmp_path: Path) -> None:
    data = report_sample.dataset()
    assert result.identical(data)
    assert list(result.data_vars) == list(data.data_vars)
    for part in (result.sel(layer=0), result.assign(more=1), result[["sep"]], result.copy(), result + 1):
        assert type(part) is Result
    assert pickle.loads(pickle.dumps(result)).identical(result)
    result.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    assert xr.load_dataset(tmp_path / "a.nc", engine="h5netcdf").identical(data)


def test_table_and_figure_are_those_of_headscope(result: Result) -> None:
    pd.testing.assert_frame_equal(result.table(), hs.table(result))
    chart = result.figure("sep", together=True)
    assert chart.charts[0]["colour"]["names"] == ["separators"]


def test_files_by_suffix(result: Result, tmp_path: Path) -> None:
    assert pd.read_csv(result.save(tmp_path / "a.csv")).equals(result.table())
    assert pd.read_parquet(result.save(tmp_path / "a.parquet")).equals(result.table())
    assert len(pd.read_json(result.save(tmp_path / "a.json"))) == len(result.table())
    assert r" & 1-1 & previous & " in result.save(tmp_path / "a.tex").read_text(encoding="utf-8")
    assert xr.load_dataset(result.save(tmp_path / "a.nc"), engine="h5netcdf").identical(result)
    assert "separators" in result[["sep", "sep_n"]].save(tmp_path / "a.svg").read_text(encoding="utf-8")
    with pytest.raises(
        InputError, match=r"ends in .parquet, .csv, .json, .tex, .nc, .svg, .pdf, .png, found .gif"
    ):
        result.save(tmp_path / "a.gif")


def test_a_notebook_shows_the_run_the_first_rows_and_the_dataset_folded() -> None:
    nasty = Result.of(report_sample.dataset(name="</p><script>alert(1)</script>"))
    nasty["sep"].attrs["title"] = "<b>separators</b>"
    page = nasty._repr_html_()
    assert page.startswith("<p><b>previous token, next token, first token, &lt;b&gt;separators&lt;/b&gt;")
    assert "text.txt · 52,341 tokens" in page
    assert (
        page.index("<table") < page.index("<td>L0H0<td>1-1<td>") < page.index("<details><summary>all figures")
    )
    assert "<script>alert" not in page
    one = nasty.sel(layer=0, head=0)
    assert "<details><summary>" not in one._repr_html_()[:200]  # a part without a table shows itself


def test_a_result_is_called_what_its_package_says() -> None:
    for name, called in (("relation", "Dependency relations"), ("retrieval", "Which heads retrieve")):
        assert results.title(xr.Dataset({name: ("n", [1.0])})).startswith(called)


def test_the_result_of_a_run(demo: Model) -> None:
    result = hs.measure(demo, hs.corpora.builtin(), measures=["previous"], limit=2)
    assert type(result) is Result
    assert result.table()["measure"].unique().tolist() == ["previous"]


def test_a_comparison_has_files_and_shows_itself(tmp_path: Path) -> None:
    meta = {
        "models": [{"name": "org/small"}, {"name": "org/<large>"}],
        "corpus": {"name": "a.txt", "examples": 3},
    }
    figures = training(("step-1", "step-2")).assign_attrs(meta=json.dumps(meta))
    value = figures["value"]
    run = Training(figures.assign(se=value, n=value, chance=value.mean("head")))
    assert len(pd.read_csv(run.save(tmp_path / "a.csv"))) == len(run.table)
    assert xr.load_dataset(run.save(tmp_path / "a.nc"), engine="h5netcdf").identical(run.figures)
    assert "title of previous" in run.save(tmp_path / "a.svg").read_text(encoding="utf-8")
    page = run._repr_html_()
    assert page.startswith("<p><b>Measures over checkpoints</b><br>small and &lt;large&gt; · a.txt</p>")
    assert "step-1" in page
    lines = repr(run).splitlines()
    assert lines[:3] == ["Measures over checkpoints", "small and <large> · a.txt", ""]
    assert lines[3] == "the largest value of a head at each checkpoint"
    assert lines[-3].split() == ["previous", "0.25", "0.25"]
    with pytest.raises(InputError, match=r"found .html"):
        run.save(tmp_path / "a.html")
