"""Pages on paper: a page of headscope as PDF, printed by a browser that is on this machine.

The page itself draws for paper (its style sheet, and its script when printing begins), and does not count as loaded
before it is drawn, so a browser that prints what it has loaded prints all of it.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from headscope.core.saving import replacing
from headscope.errors import InputError, RunError

COMMANDS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
    "microsoft-edge-stable",
    "brave-browser",
)
"""Browsers by their names on the PATH."""

APPLICATIONS = ("Google Chrome", "Chromium", "Microsoft Edge", "Brave Browser")
"""Browsers among the applications of macOS."""

PROGRAMS = (
    "Google/Chrome/Application/chrome.exe",
    "Chromium/Application/chrome.exe",
    "Microsoft/Edge/Application/msedge.exe",
    "BraveSoftware/Brave-Browser/Application/brave.exe",
)
"""Browsers among the programs of Windows."""

SECONDS = 600
"""How long a browser may take to print."""

_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pdf-header-footer",
    "--print-to-pdf-no-header",  # the same of versions before 112
    "--generate-pdf-document-outline",
)


def find_browser(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """The Chromium-family browser of this machine that prints pages: ``$CHROMIUM``, or the first that is found.

    Args:
        environ: variables, among them CHROMIUM, PATH and on Windows those of the folders of programs.
        platform: as ``sys.platform`` has it.

    Raises:
        InputError: CHROMIUM is set to what is no program.
        RunError: there is none. The message says where it was looked for, and what else can be done.
    """
    path = environ.get("PATH", "")
    if named := environ.get("CHROMIUM"):
        if program := shutil.which(named, path=path):
            return Path(program)
        raise InputError(f"$CHROMIUM: expected a browser, found {named!r}, which cannot be run")
    for name in COMMANDS:
        if program := shutil.which(name, path=path):
            return Path(program)
    for place in _places(environ, platform):
        if place.is_file():
            return place
    raise RunError(
        "a PDF is printed by a browser, and none was found: expected $CHROMIUM, or on the PATH or in its usual place "
        "Chromium, Chrome, Edge or Brave. Write an .html instead and print it from any browser"
    )


def _complete(printed: Path) -> bool:
    """Whether a PDF is there from its first to its last line."""
    content = printed.read_bytes() if printed.is_file() else b""
    return content.startswith(b"%PDF-") and b"%%EOF" in content[-1024:]


def _places(environ: Mapping[str, str], platform: str) -> list[Path]:
    """Where browsers stand that are not on the PATH."""
    if platform == "darwin":
        homes = [Path("/Applications"), Path(environ.get("HOME", "/")) / "Applications"]
        return [home / f"{name}.app/Contents/MacOS/{name}" for name in APPLICATIONS for home in homes]
    if platform == "win32":
        names = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
        homes = [Path(environ[name]) for name in names if environ.get(name)]
        return [home / program for program in PROGRAMS for home in homes]
    return []


def print_page(html: str, output: Path, browser: Path | None = None) -> None:
    """Print a page to a PDF: A4, text as text, drawings as vectors, headings as its outline.

    Args:
        html: a page, such as `headscope.report` returns.
        output: the file to write; its folder must be there.
        browser: what prints it; by default `find_browser` looks for one.

    Raises:
        RunError: there is no browser, or it did not print (the message ends in its last words), or the disk is full.
    """
    browser = find_browser() if browser is None else browser
    # Beside the output: a browser that is confined may not see the system's folder of temporary files.
    with (
        replacing(output) as target,
        tempfile.TemporaryDirectory(
            dir=output.resolve().parent, prefix="headscope-print-", ignore_cleanup_errors=True
        ) as name,
    ):
        folder = Path(name)
        page, printed = folder / "page.html", folder / "page.pdf"
        page.write_text(html, encoding="utf-8")
        # A profile of its own: a browser that is open would be handed the page, and print nothing.
        command = [
            str(browser),
            *_FLAGS,
            f"--user-data-dir={folder / 'profile'}",
            f"--print-to-pdf={printed}",
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append(
                "--no-sandbox"
            )  # there is none for root; the page holds data, and runs no code of others
        try:
            done = subprocess.run(
                [*command, page.as_uri()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=SECONDS,
            )
        except OSError as error:
            raise RunError(f"{browser}: cannot be run: {error}") from None
        except subprocess.TimeoutExpired:
            raise RunError(f"{browser}: has not printed the page in {SECONDS} s") from None
        if done.returncode or not _complete(printed):
            if shutil.disk_usage(folder).free < len(html):  # browsers do not say so
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            lines = [
                line.strip() for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()
            ]
            last = lines[-1] if lines else "it says nothing"
            raise RunError(f"{browser}: did not print the page (exit code {done.returncode}): {last}")
        os.replace(printed, target)
