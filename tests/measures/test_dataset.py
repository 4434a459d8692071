"""Datasets, tables and files of figures."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5netcdf
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headscope as hs
from headscope.core.link import Link, Span
from headscope.core.tokens import Tokens
from headscope.errors import InputError, RunError
from headscope.measures.choose import choose
from headscope.measures.dataset import (
    COLUMNS,
    dataset,
    names,
    raw_csv,
    read,
    table,
    write,
    write_table,
)
from headscope.measures.sums import Documents
from tests.helpers.typed import Typed


def figures(wanted: list[str] | None = None, causal: bool = False, documents: int = 3) -> xr.Dataset:
    """Two layers, the second (index 3) with two heads instead of three."""
    measures = choose(wanted)
    draw = np.random.default_rng(0)
    gathered = Documents([measure.name for measure in measures])
    tokens = Tokens.of(["[CLS]", "a", ".", "[SEP]"])
    for document in range(documents):
        sums = draw.random((len(measures), 2, 3))
        sums[:, 1, 2] = np.nan
        divisors = np.full(len(measures), 4.0)
        gathered.add(document, tokens, [1, 3], sums, np.full((len(measures), 2), 1.0), divisors)
    return dataset(
        gathered.close(), measures, causal=causal, meta={"model": {"name": "m"}, "corpus": {"name": "c"}}
    )


def test_the_contract() -> None:
    found = figures()
    assert names(found) == [measure.name for measure in choose()]
    for name in names(found):
        assert found[name].dims == found[f"{name}_se"].dims == found[f"{name}_n"].dims == ("layer", "head")
        assert found[f"{name}_chance"].dims == ("layer",)
        assert set(found[name].attrs) == {
            *("title", "description", "units", "by", "over", "source", "cites", "documents")
        }
        assert np.isfinite(found[name]).any()  # an attribute called "keys" would make this fail in xarray
    assert found["layer"].values.tolist() == [1, 3]
    assert found["head"].values.tolist() == [0, 1, 2]
    meta = json.loads(found.attrs["meta"])
    assert meta["corpus"] == {
        "name": "c",
        "documents": 3,
        "examples": 3,
        "tokens": 12,
        "words": 0,
        "split_words": None,
        "shares": {"sep": 0.25, "cls": 0.25, "punctuation": 0.25, "special": 0.5},
    }
    assert meta["absent"] == {}


def test_measures_that_say_nothing_have_no_figures_but_a_reason() -> None:
    found = figures(["previous", "next", "to_user"], causal=True)
    assert names(found) == ["previous"]
    assert json.loads(found.attrs["meta"])["absent"] == {
        "next": "a causal model does not see later tokens",
        "to_user": "the inputs have no tokens of the class user",
    }
    with pytest.raises(InputError, match="none of these measures applies here: next: a causal model"):
        figures(["next"], causal=True)


def test_the_table() -> None:
    found = table(figures(["previous", "entropy"]))
    assert tuple(found.columns) == COLUMNS
    assert found["measure"].tolist() == ["previous"] * 5 + ["entropy"] * 5
    expected = [[1, 0, "2-1"], [1, 1, "2-2"], [1, 2, "2-3"], [3, 0, "4-1"], [3, 1, "4-2"]]
    assert found[["layer", "head", "paper"]].iloc[:5].values.tolist() == expected
    data = figures(["previous", "entropy"])
    assert found["value"].iloc[4] == data["previous"].sel(layer=3, head=1).item()
    assert found["se"].iloc[4] == data["previous_se"].sel(layer=3, head=1).item()
    assert (found["n"] == 12).all()
    np.testing.assert_allclose(found["chance"], 0.25)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_tables_on_disk(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"heads{suffix}"
    found = figures(["previous", "entropy"], documents=6)
    write(found, path)
    assert np.isfinite(table(found)["ci_low"]).all()
    if suffix == ".json":
        rows = json.loads(path.read_text())
        assert isinstance(rows, list)
        again = pd.DataFrame(rows)
    else:
        again = pd.read_csv(path, dtype={"paper": str}) if suffix == ".csv" else pd.read_parquet(path)
    pd.testing.assert_frame_equal(again, table(found), check_dtype=False)


def test_no_error_is_null_in_json(tmp_path: Path) -> None:
    write(figures(["previous"], documents=1), tmp_path / "heads.json")
    text = (tmp_path / "heads.json").read_text()
    assert "NaN" not in text
    assert json.loads(text)[0]["se"] is None


def test_a_table_in_latex(tmp_path: Path) -> None:
    """Each sign that LaTeX reads stands as itself; columns have their labels; four digits, of probabilities none is 0;
    nothing where there is no figure."""
    rows = pd.DataFrame(
        {
            "100 % of a&b": ["dep->head", "R&D #1 ~ $5", r"{x^2}\y"],
            "value": [0.123456, np.nan, 1e-7],
            "layer": pd.array([3, None, 11], "Int64"),
            "ci_low": [0.5, -1, np.nan],
            "p": [1e-9, 0.0321, np.nan],
        }
    )
    write_table(rows, tmp_path / "rows.tex")
    first, *lines = (tmp_path / "rows.tex").read_text(encoding="utf-8").splitlines()
    assert first == r"% \usepackage{booktabs}"
    assert lines == [
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"100 \% of a\&b & value & layer & ci low & p \\",
        r"\midrule",
        r"dep-\textgreater{}head & 0.1235 & 3 & 0.5 & \textless{}.0001 \\",
        r"R\&D \#1 \textasciitilde \space \$5 &  &  & -1 & 0.0321 \\",
        r"\{x\textasciicircum 2\}\textbackslash y & 1e-07 & 11 &  &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


@pytest.mark.slow
def test_netcdf_and_back(tmp_path: Path) -> None:
    found = figures()
    write(found, tmp_path / "heads.nc")
    again = read(tmp_path / "heads.nc")
    xr.testing.assert_identical(again, found)


def test_reading_what_is_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "bad.nc").write_bytes(b"not a dataset")
    for name, message in (
        ("none.nc", "no such file"),
        ("bad.nc", "not a netCDF file"),
        ("heads.csv", "ends in .nc, found .csv"),
    ):
        with pytest.raises(InputError, match=message):
            read(tmp_path / name)


def test_a_small_file_that_says_it_is_large_is_not_read(tmp_path: Path) -> None:
    with h5netcdf.File(tmp_path / "large.nc", "w") as file:
        file.dimensions = {"layer": 10**6, "head": 10**6}
        file.create_variable("previous", ("layer", "head"), "f8", chunks=(100, 100))
    with pytest.raises(
        InputError, match=r"large.nc: expected figures of at most 1,000,000,000 bytes, found 8,000"
    ):
        read(tmp_path / "large.nc")


# --- whole or not at all


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full")
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json", ".tex", ".nc"])
def test_a_disk_that_is_really_full(tmp_path: Path, suffix: str) -> None:
    """HDF5 would crash the process when a write fails under it; here it does not see that."""
    path = tmp_path / f"heads{suffix}"
    path.symlink_to("/dev/full")
    with pytest.raises(RunError, match="cannot be written \\(No space left on device\\)"):
        write(figures(["previous"]), path)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="limits")
@pytest.mark.parametrize("size", [300, 20000])
def test_a_disk_that_fills_up_on_the_way(tmp_path: Path, size: int) -> None:
    code = f"""
import resource, numpy as np, xarray as xr
from pathlib import Path
from headscope.errors import RunError
from headscope.measures.dataset import write
found = xr.Dataset({{"a": ("x", np.arange(4000.0))}}, attrs={{"meta": "m" * 9000}})
write(found, "heads.nc")
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
try:
    write(found * 2, "heads.nc")
except RunError as error:
    print(error)
assert xr.load_dataset("heads.nc", engine="h5netcdf").identical(found)
print([path.name for path in Path().iterdir()])
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == ["heads.nc: cannot be written (File too large)", "['heads.nc']"]


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write(figures(["previous"]), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").stat().st_size > 0


RISKY = ["=1+1", "+cmd", "-x", "@SUM(1)", "\t=1", "\r=1", "-", "+", "＝1", '=HYPERLINK("http://x")']
SAFE = ["a=b", "", "-0.5", "+3", "-1e-05", "-inf", "x-1", "'=1", " =1", "x\r=1"]


def test_a_spreadsheet_runs_nothing_of_a_csv_file(tmp_path: Path) -> None:
    rows = pd.DataFrame(
        {
            "label": [*RISKY, *SAFE],
            "figure": np.linspace(-1, 1, len(RISKY) + len(SAFE)),
            "n": -np.arange(len(RISKY) + len(SAFE)),
            "=head": pd.Categorical([*RISKY, *SAFE]),
        }
    )
    rows.loc[0, "figure"] = np.nan
    path, raw = tmp_path / "a.csv", tmp_path / "raw.csv"
    write_table(rows, path)
    with path.open(newline="") as file:
        head, *found = csv.reader(file)
    assert head == ["label", "figure", "n", "'=head"]
    expected = [each.replace("\r", "\n") for each in (*(f"'{each}" for each in RISKY), *SAFE)]
    assert [row[0] for row in found] == [row[3] for row in found] == expected
    assert [float(row[1] or "nan") for row in found] == pytest.approx(rows["figure"].tolist(), nan_ok=True)
    assert [int(row[2]) for row in found] == rows["n"].tolist()
    with raw_csv():
        write_table(rows, raw)
    with raw.open(newline="") as file:
        wanted = ["label", *(each.replace("\r", "\n") for each in (*RISKY, *SAFE))]
        assert [row[0] for row in csv.reader(file)] == wanted
    for suffix in (".json", ".parquet"):
        write_table(rows, tmp_path / f"a{suffix}")
    assert [row["label"] for row in json.loads((tmp_path / "a.json").read_text())] == [*RISKY, *SAFE]
    assert pd.read_parquet(tmp_path / "a.parquet")["label"].tolist() == [*RISKY, *SAFE]


def test_a_result_keeps_raw_cells_where_asked(demo: Any, tmp_path: Path) -> None:
    links = [[Link(Span(1, 2), (Span(0, 1),), "=1+1")]] * 5
    corpus = hs.corpora.linked(["The cat sat."] * 5, links)
    found = hs.links(demo, corpus, least=1)
    found.save(tmp_path / "a.csv")
    found.save(tmp_path / "raw.csv", raw=True)
    assert "\n'=1+1," in (tmp_path / "a.csv").read_text()
    assert "\n=1+1," in (tmp_path / "raw.csv").read_text()


@pytest.mark.slow
def test_an_option_of_all_commands_keeps_raw_cells(typed: Typed, tmp_path: Path, demo: Any) -> None:
    row = {"text": "The cat sat.", "links": [{"from": [4, 7], "to": [0, 3], "label": "=1+1"}]}
    links, out = tmp_path / "links.jsonl", tmp_path / "a.csv"
    links.write_text("\n".join([json.dumps(row)] * 5))
    for options, cell in (([], "\n'=1+1,"), (["--raw-csv"], "\n=1+1,"), ([], "\n'=1+1,")):
        typed(*options, "links", links, "--least", 1, "-o", out)
        assert cell in out.read_text()
