"""The command line as a user types it: what it prints, what it writes, how it fails."""

from __future__ import annotations

import json
import re
import webbrowser
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

from headscope import cli
from headscope.console.options import LoadOptions
from tests.helpers.small_models import save_bert
from tests.helpers.small_tokenizers import demo, listed

pytestmark = pytest.mark.usefixtures("demo_at_hand")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["headscope", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(
        "The cat sat on the mat.\nIt was tired, so it slept.\n\nA dog barked at the moon all night.\n",
        encoding="utf-8",
    )
    return path


def test_check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "check") == 0
    out = capsys.readouterr().out
    assert out.startswith("all-MiniLM-L6-v2: BertModel, 22,713,216 weights, torch.float32, by interface\n")
    assert "self: 6 layers × 12 heads, bidirectional" in out
    assert run(monkeypatch, "check", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["parts"][0]["heads"] == [12] * 6
    assert found["vocabulary"] == {"tokenizer": 30522, "embedding": 30522, "beyond": []}
    assert found["english"]["unknown"] == 0


@pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")
def test_check_says_that_a_tokenizer_is_another_models(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    save_bert(tmp_path, listed(tuple("CNO"), letters=True), vocab_size=591)
    assert run(monkeypatch, "check", tmp_path) == 0
    out = capsys.readouterr().out
    said = "the tokenizer has 8 pieces, the model's embedding 591 rows: its vocabulary may be another's"
    assert f"  ??  {said}\n" in out
    assert re.search(r"\n  \?\?  [\d,]+ of [\d,]+ pieces \(99\.\d %\) of an English sample are unknown", out)
    assert run(monkeypatch, "measure", "-m", tmp_path, "--measures", "previous") == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "built-in corpus: " in last
    assert "expected at most 20 %: give text that it knows, or say --allow-unknown" in last


def test_measure_prints_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: Path
) -> None:
    assert run(monkeypatch, "measure", text) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["name", "paper", "previous", "current"]
    assert lines[1].split()[:2] == ["L0H0", "1-1"]
    assert len(lines) == 73


@pytest.mark.slow
def test_measure_writes_every_format(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path
) -> None:
    tables = []
    for suffix, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet), (".json", pd.read_json)):
        out = tmp_path / f"heads{suffix}"
        assert run(monkeypatch, "measure", text, "-o", out, "--meta", tmp_path / "meta.json") == 0
        assert capsys.readouterr().out == ""
        tables.append(read(out, **({"dtype": {"paper": str}} if suffix == ".csv" else {})))
    for table in tables:
        assert list(table.columns)[:7] == ["layer", "head", "paper", "measure", "value", "se", "n"]
        pd.testing.assert_frame_equal(table, tables[0], check_dtype=False, rtol=1e-9)
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta["model"]["name"] == "all-MiniLM-L6-v2"
    assert meta["corpus"]["documents"] == 2
    assert meta["command"].startswith("headscope measure ")
    assert run(monkeypatch, "measure", text, "-o", tmp_path / "heads.nc") == 0
    with xr.open_dataset(tmp_path / "heads.nc") as found:
        assert found["previous"].dims == ("layer", "head")


def test_measure_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: Path
) -> None:
    assert (
        run(monkeypatch, "measure", text, "--measures", "previous,offset-2", "--by", "document", "--json")
        == 0
    )
    rows = json.loads(capsys.readouterr().out)
    assert {row["measure"] for row in rows} == {"previous", "offset-2"}
    assert len(rows) == 144


def test_absent_measures_are_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shared: Path, text: Path
) -> None:
    assert run(monkeypatch, "measure", text, "-m", shared / "models" / "stories260K") == 0
    found = capsys.readouterr()
    assert "next: no row; " in found.err
    assert "next" not in found.out.splitlines()[0].split()


def test_roles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path
) -> None:
    line = text.read_text(encoding="utf-8")
    first = line.splitlines()[0]
    text.write_text("\n\n".join(f"{name} said so.\n{first}" for name in "ABCDEFGHIJ"))
    assert run(monkeypatch, "roles", text, "--meta", tmp_path / "meta.json") == 0
    printed = capsys.readouterr()
    header = "layer head paper role score ci_low ci_high threshold chance p q n offsets"
    assert printed.out.splitlines()[0].split() == header.split()
    assert "1-3 previous token" in printed.out
    assert "induction: not tested (a role in causal models only)" in printed.err
    assert "heads have no role" in printed.err
    assert json.loads((tmp_path / "meta.json").read_text())["command"].startswith("headscope roles")
    assert run(monkeypatch, "roles", text, "-o", tmp_path / "roles.csv") == 0
    assert capsys.readouterr().out == ""
    found = pd.read_csv(tmp_path / "roles.csv", dtype={"paper": str})
    assert len(found.groupby(["layer", "head"])) == 72
    assert set(found[(found["layer"] == 0) & (found["head"] == 2)]["role"]) == {"previous token"}
    assert run(monkeypatch, "roles", text, "--level", "2") == 2
    assert "level: expected a number between 0 and 1, found 2.0" in capsys.readouterr().err
    assert run(monkeypatch, "roles", text, "-o", "roles.nc") == 2


def test_gradients_of_an_objective(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: Path
) -> None:
    text.write_text("The cat sat on the mat.\nIt was tired, so it slept.\n", encoding="utf-8")
    names = "gradient_sep,norm_sep,sep"
    options = ("--measures", names, "--objective", "cosine", "--json")
    assert run(monkeypatch, "measure", text, *options) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["measure"] for row in rows} == set(names.split(","))
    assert {row["measure"] for row in rows if row["chance"] is None} == {"gradient_sep", "norm_sep"}
    assert run(monkeypatch, "measure", text, *options[:3], "loss") == 2
    assert "objective: expected natural, masked-lm" in capsys.readouterr().err
    assert run(monkeypatch, "measure", text, "--measures", "gradient_entropy") == 2
    assert "rows of gradients do not sum to 1" in capsys.readouterr().err


def test_estimate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: Path) -> None:
    assert run(monkeypatch, "measure", text, "--estimate") == 0
    assert "2 inputs" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".html", ".svg", ".png", ".pdf"])
def test_view(
    suffix: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / f"view{suffix}"
    assert (
        run(
            monkeypatch,
            "view",
            "The cat sat.",
            "It was tired.",
            "--view",
            "head",
            "--layer",
            1,
            "--head",
            8,
            "-o",
            out,
        )
        == 0
    )
    assert str(out) in capsys.readouterr().out
    assert out.stat().st_size > 4000
    assert run(monkeypatch, "view", "The cat sat.", "--layer", 9, "-o", out) == 2
    assert "layer" in capsys.readouterr().err


@pytest.mark.slow
def test_view_beside_another_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    page, column, inches = tmp_path / "both.html", tmp_path / "column.svg", tmp_path / "inches.svg"
    options = ("--untrained", 0, "--against", "demo", "--view", "head", "--layer", 1, "--heads", "0,3")
    assert run(monkeypatch, "view", "The cat sat.", *options, "--open", "-o", page) == 0
    assert opened == [page.as_uri()]
    found = re.search(r'id="headscope-payload">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found is not None
    payload = json.loads(found[1])
    payload = payload.get("views", [payload])[0]
    assert [one["label"] for one in payload["inputs"]] == [
        "all-MiniLM-L6-v2, untrained, seed 0",
        "all-MiniLM-L6-v2",
    ]
    assert (payload["state"]["layer"], payload["state"]["heads"]) == (1, [0, 3])
    for path, width in ((column, "column"), (inches, 5)):
        options = ("--against-text", "A dog sat.", "--view", "head", "--width", width)
        assert run(monkeypatch, "view", "The cat sat.", *options, "-o", path) == 0
    widths = [re.search(r'<svg [^>]*width="([\d.]+)"', path.read_text("utf-8")) for path in (column, inches)]
    assert [float(found[1]) / 96 for found in widths if found] == pytest.approx([3.3, 5], abs=0.01)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--heads", "1,x"), "--heads: expected numbers from 0 such as 0,3, found '1,x'"),
        (("--head", "1", "--heads", "2"), "--head: expected one of --head and --heads, found both"),
        (
            ("--against", "a", "--against-text", "b"),
            "--against: expected one of --against and --against-text, found both",
        ),
        (("--width", "column"), "--width: expected a picture (.svg, .pdf, .png), found -o view.html"),
        (("--width", "3in", "-o", "a.svg"), "--width: expected column, page or inches, found '3in'"),
    ],
)
def test_view_refuses_options_before_it_loads_a_model(
    words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(LoadOptions, "load", lambda *_, **__: pytest.fail("the model was loaded"))
    assert run(monkeypatch, "view", "A cat.", *words) == 2
    assert capsys.readouterr().err == f"headscope: {said}\n"


def test_summaries_of_commands_are_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for group, some in (((), "one of its views as a picture."), (("compare",), "on the same inputs.")):
        assert run(monkeypatch, *group, "--help") == 0
        out = capsys.readouterr().out
        assert "..." not in re.split("Look:|Commands:", out)[1]
        assert some in " ".join(out.split())


@pytest.mark.slow
def test_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    assert (
        run(
            monkeypatch,
            "report",
            "--text",
            text,
            "-o",
            out,
            "--sections",
            "figures,roles,cards,table",
            "--title",
            "</script><b>title",
        )
        == 0
    )
    said = capsys.readouterr()
    assert str(out) in said.out
    assert "section roles is left out: 1.9 effective documents, where a test needs 5" in said.err
    page = out.read_text(encoding="utf-8")
    assert "</script><b>title" not in page
    assert len(page) < 3_000_000


BAD = {
    "a missing file": (["measure", "none.txt"], "none.txt: expected a file, found nothing there"),
    "a folder with nothing to read": (["measure", "none"], "none: expected files that end in "),
    "bad utf-8": (["measure", "latin.txt"], "latin.txt:2: "),
    "an empty file": (["measure", "empty.txt"], "empty.txt: "),
    "a broken line": (
        ["measure", "broken.jsonl", "--strict"],
        "broken.jsonl:2: expected a JSON object, found broken JSON at column",
    ),
    "an unknown measure": (["measure", "text.txt", "--measures", "previous,attention"], "attention"),
    "an unknown suffix": (["measure", "text.txt", "-o", "heads.xlsx"], "heads.xlsx"),
    "a folder that is no model": (["check", "."], ".: no config.json in this folder"),
    "a hub name without network": (
        ["check", "bert-base-uncased"],
        "bert-base-uncased: no such folder, not in the local cache",
    ),
    "a page that is no page": (
        ["report", "-o", "report.docx"],
        "report.docx: expected a name that ends in .html, .pdf",
    ),
    "both kinds": (["measure", "text.txt", "broken.jsonl"], "these files are text and jsonl"),
    "a type": (["measure", "text.txt", "--dtype", "int8"], "dtype: expected one of float32"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_code_2(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: Path
) -> None:
    monkeypatch.chdir(text.parent)
    Path("latin.txt").write_bytes(b"fine\ncaf\xe9\n")
    Path("empty.txt").touch()
    Path("none").mkdir()
    Path("broken.jsonl").write_text('{"text": "a"}\n{"text": \n')
    arguments, message = BAD[name]
    assert run(monkeypatch, *arguments) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert len(found.err.strip().splitlines()) == 1, found.err
    assert found.err.startswith("headscope: ")
    assert message in found.err


@pytest.mark.parametrize(
    "arguments",
    [["measure", "--by", "sentence"], ["measure", "--pack", "x"], ["nothing"], ["check", "--no-such-option"]],
)
def test_bad_usage_is_code_2(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("measure", "[CORPUS]..."),
        ("coref", "[FILE]..."),
        ("syntax", "[TREEBANK]..."),
        ("check", "[MODEL]"),
        ("view", "[TEXT_B]"),
    ],
)
def test_usage_names_arguments_once(
    command: str, usage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, command, "--help") == 0
    first = capsys.readouterr().out.strip().splitlines()[0]
    assert first.endswith(f" {usage}")
    assert "[[" not in first


def test_a_line_of_a_log_is_replayed(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        '{"prompt_token_ids": [1, 403], "token_ids": [407, 261]}\n\n{"prompt_token_ids": [99999]}\n'
    )
    page = tmp_path / "page.html"
    model = ["-m", str(shared / "models" / "stories260K")]
    assert run(monkeypatch, "view", str(log), "--replay", *model, "-o", str(page)) == 0
    assert page.stat().st_size > 10_000
    assert "a server's kernels and number formats may differ" in capsys.readouterr().err
    for line, found in (("3", ":3: ids[0]: expected an id below"), ("2", "--line: expected a line of")):
        assert run(monkeypatch, "view", str(log), "--replay", "--line", line, *model, "-o", str(page)) == 2
        assert found in capsys.readouterr().err
    assert run(monkeypatch, "view", "A text", "--line", "2", *model, "-o", str(page)) == 2
    assert "expected --replay beside it" in capsys.readouterr().err


@pytest.mark.parametrize("more", [{}, {"pair": "It slept."}])
def test_view_puts_a_model_into_a_page_with_its_texts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, more: dict[str, str]
) -> None:
    asked: list[object] = []
    monkeypatch.setattr("headscope.live.standalone.carry", lambda _, given, **__: asked.append(given))
    texts = ["A cat sat.", *more.values()]
    assert run(monkeypatch, "view", *texts, "--live", "-o", tmp_path / "page.html") == 0
    assert asked == [{"text": "A cat sat.", **more}]
    assert (tmp_path / "page.html").exists()


def test_check_takes_a_model_by_either_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    save_bert(tmp_path / "bert", demo(), vocab_size=len(demo()))
    for arguments in ((tmp_path / "bert",), ("-m", tmp_path / "bert")):
        assert run(monkeypatch, "check", *arguments) == 0
        assert capsys.readouterr().out.startswith("bert: BertModel, ")
    assert run(monkeypatch, "check", tmp_path / "bert", "-m", "other") == 2
    assert "-m: expected one model, found other beside " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("view", "A cat.", "--layer", "-1"), "layer takes 0 to 5; found -1"),
        (
            ("measure", "--measures", "entrpy"),
            "measures: found 'entrpy'; did you mean 'entropy'? expected surface",
        ),
        (
            ("compare", "models", "text.txt", "demo"),
            "expected A [B] [CORPUS], models first, found the file text.txt",
        ),
    ],
)
def test_what_is_meant_is_said_first(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(text.parent)
    assert run(monkeypatch, *arguments) == 2
    assert said in capsys.readouterr().err
