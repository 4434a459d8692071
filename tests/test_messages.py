"""What is said on a terminal changes nothing of it: control characters, of names and labels, are escaped."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import headscope as hs
from headscope.errors import CorpusError, HeadscopeWarning
from tests.helpers.typed import Typed

CONTROLS = ["\x1b[2J", "\x07", "\r", "\x08", "\x9b31m", "\u202e", "\u2066", "\x7f", "\x0c"]


def escaped(text: str) -> str:
    return text.encode("unicode_escape").decode()


@pytest.mark.parametrize("words", [["measure"], ["view", "--replay"], ["report", "--pairs"]], ids=" ".join)
def test_control_characters_of_a_file_name_are_escaped(
    typed: Typed, words: list[str], tmp_path: Path
) -> None:
    controls = [*CONTROLS, "\n", "\t"]
    name = f"a{' '.join(controls)}headscope: all is well.jsonl"
    err = typed(*words, tmp_path / name, code=2).err
    assert [control for control in controls if control in err.removesuffix("\n")] == []
    assert " ".join(map(escaped, controls)) in err
    assert len(err.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("default::headscope.errors.HeadscopeWarning")
def test_so_are_those_of_files_in_a_folder_and_of_what_was_left_out(typed: Typed, tmp_path: Path) -> None:
    for control in CONTROLS:
        (tmp_path / f"a{control}.jsonl").write_text('{"text": "The cat sat."}\n{"x": 1}\n')
    err = typed("measure", tmp_path, "--measures", "previous", "--json").err
    assert [control for control in CONTROLS if control in err] == []
    for control in CONTROLS:
        assert f"a{escaped(control)}.jsonl:2: expected one of the keys" in err


def test_in_python_too(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2J\nb.jsonl"
    path.write_text('{"text": "The cat sat."}\n{"x": 1}\n')
    with pytest.raises(CorpusError) as error:
        list(hs.corpora.jsonl(path, strict=True))
    assert "a\\x1b[2J\\nb.jsonl:2: " in str(error.value)
    assert error.value.path == str(path)
    with pytest.warns(HeadscopeWarning, match=r"a\\x1b\[2J\\nb\.jsonl:2: "):
        list(hs.corpora.jsonl(path))


@pytest.mark.slow
def test_labels_in_tables_on_a_screen(typed: Typed, tmp_path: Path) -> None:
    row = '{"text": "The cat sat.", "links": [{"from": [4, 7], "to": [0, 3], "label": "\\u001b[2Jx"}]}'
    path = tmp_path / "links.jsonl"
    path.write_text("\n".join([row] * 5))
    out = typed("links", path, "--least", "1").out
    assert "\x1b" not in out
    assert "\n\\x1b[2Jx " in out


def test_python_runs_the_package(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["headscope", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("headscope", run_name="__main__")
    assert not ended.value.code
    assert capsys.readouterr().out == f"headscope {hs.__version__}\n"
