"""Which browser prints a page, and what is said where there is none or it fails."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from headscope.cli import main
from headscope.console.options import ModelOptions
from headscope.errors import InputError, RunError
from headscope.views import pdf
from headscope.views.pdf import find_browser, print_page

posix = pytest.mark.skipif(os.name == "nt", reason="programs of a shell")


def program(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_no_browser_is_one_line_that_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(RunError) as caught:
        find_browser({"PATH": str(tmp_path), "HOME": str(tmp_path)}, "linux")
    said = str(caught.value)
    assert "\n" not in said
    for part in ("$CHROMIUM", "PATH", "Chrome", "Edge", ".html", "any browser"):
        assert part in said


@posix
def test_the_variable_comes_first_and_has_to_be_a_program(tmp_path: Path) -> None:
    own = program(tmp_path / "own" / "browser")
    chrome = program(tmp_path / "bin" / "google-chrome")
    path = str(chrome.parent)
    assert find_browser({"PATH": path, "CHROMIUM": str(own)}, "linux") == own
    assert find_browser({"PATH": path, "CHROMIUM": ""}, "linux") == chrome
    assert find_browser({"PATH": f"{own.parent}:{path}", "CHROMIUM": "browser"}, "linux") == own
    chromium = program(tmp_path / "bin" / "chromium")
    assert find_browser({"PATH": path}, "linux") == chromium
    with pytest.raises(InputError, match=r"^\$CHROMIUM: expected a browser, found '.*nowhere'"):
        find_browser({"PATH": path, "CHROMIUM": str(tmp_path / "nowhere")}, "linux")


def test_usual_places_of_other_systems(tmp_path: Path) -> None:
    mac = tmp_path / "Applications" / "Microsoft Edge.app" / "Contents" / "MacOS" / "Microsoft Edge"
    windows = tmp_path / "programs" / "Google" / "Chrome" / "Application" / "chrome.exe"
    for place in (mac, windows):
        program(place)
    assert find_browser({"PATH": "", "HOME": str(tmp_path)}, "darwin") == mac
    assert find_browser({"PATH": "", "PROGRAMFILES": str(tmp_path / "programs")}, "win32") == windows
    with pytest.raises(RunError):
        find_browser({"PATH": "", "HOME": str(tmp_path)}, "win32")


def test_it_is_told_before_the_model_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(pdf, "_places", lambda environ, platform: [])
    monkeypatch.setattr(ModelOptions, "load", lambda *_: pytest.fail("the model was loaded"))
    monkeypatch.setattr(sys, "argv", ["headscope", "report", "-o", str(tmp_path / "report.pdf")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert "a PDF is printed by a browser, and none was found" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@posix
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo first >&2; echo 'No usable sandbox!' >&2; exit 7", "exit code 7): No usable sandbox!"),
        ("exit 0", "exit code 0): it says nothing"),
        (
            'for a; do case "$a" in --print-to-pdf=*) echo no > "${a#*=}";; esac; done',
            "did not print the page",
        ),
    ],
)
def test_a_browser_that_does_not_print(tmp_path: Path, text: str, said: str) -> None:
    browser = program(tmp_path / "bin" / "browser", text)
    output = tmp_path / "out" / "report.pdf"
    output.parent.mkdir()
    with pytest.raises(RunError) as caught:
        print_page("<p>page</p>", output, browser)
    assert str(caught.value).startswith(f"{browser}: ")
    assert said in str(caught.value)
    assert not list(output.parent.iterdir())


@posix
@pytest.mark.parametrize("free", [10**9, 3])
def test_a_pdf_that_breaks_off_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    """As browsers leave it on a full disk, without an error of their own."""
    text = 'for a; do case "$a" in --print-to-pdf=*) printf "%%PDF-1.4 and no mo" > "${a#*=}";; esac; done'
    browser = program(tmp_path / "bin" / "browser", text)
    output = tmp_path / "report.pdf"
    output.write_bytes(b"the old page")
    monkeypatch.setattr(pdf.shutil, "disk_usage", lambda _: SimpleNamespace(total=10**10, free=free))
    said = (
        "cannot be written (No space left on device)" if free < 10 else "did not print the page (exit code 0)"
    )
    with pytest.raises(RunError, match=re.escape(said)):
        print_page("<p>page</p>", output, browser)
    assert output.read_bytes() == b"the old page"
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "report.pdf"}


@posix
def test_it_is_given_the_page_and_a_profile_of_its_own(tmp_path: Path) -> None:
    text = """for a; do case "$a" in
        --print-to-pdf=*) out="${a#*=}";;
        --user-data-dir=*) echo "${a#*=}" > "$(dirname "$0")/profile";;
        file:*) page="${a#file://}";;
    esac; done
    printf '%%PDF-' > "$out"; cat "$page" >> "$out"; printf '%%%%EOF' >> "$out" """
    browser = program(tmp_path / "browser", text)
    print_page("<p>käse</p>", tmp_path / "report.pdf", browser)
    assert (tmp_path / "report.pdf").read_bytes() == "%PDF-<p>käse</p>%%EOF".encode()
    assert str(tmp_path) in (tmp_path / "profile").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"browser", "profile", "report.pdf"}
