"""Build the sdist and the wheel, check what they hold, and try both in empty environments.

python tools/release.py            into dist/
python tools/release.py FOLDER     into another folder

The wheel is built from the unpacked sdist, as pip does it. The empty environments borrow the dependencies of this
one, so nothing is downloaded. HEADSCOPE_REPOSITORY is where the links of the index page lead (hatch_build.py).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hatch_build import WANTED  # noqa: E402

PACKAGE = "headscope"
STATIC = f"{PACKAGE}/views/static"
DATA = [
    f"{PACKAGE}/analyses/bench/circuits.npz",
    f"{PACKAGE}/analyses/bench/published.json",
    *(
        f"{PACKAGE}/analyses/lab/{name}.toml"
        for name in ("clark", "copying", "finetuning", "heads", "patterns")
    ),
    f"{PACKAGE}/analyses/model_card/schema.json",
    f"{PACKAGE}/cli/skill.txt",
    *(
        f"{PACKAGE}/corpora/data/{name}"
        for name in (
            "README.md",
            "builtin.conllu",
            "builtin.txt",
            "indirect_objects.jsonl",
            "minimal_pairs.tsv",
            "needles.json",
        )
    ),
    *(
        path.relative_to(ROOT / "src").as_posix()
        for kind in ("pictures", "sounds")
        for path in (ROOT / "src" / PACKAGE / "corpora" / "data" / kind).iterdir()
    ),
    f"{PACKAGE}/measures/sources.bib",
    f"{PACKAGE}/views/colours.json",
]
BUNDLE = [f"{STATIC}/{name}" for name in (*WANTED, "sources.sha256")]
LICENSES = ["licenses/LICENSE", f"licenses/src/{STATIC}/LICENSES.txt"]
DIST_INFO = ["METADATA", "WHEEL", "RECORD", "entry_points.txt", *LICENSES]
TEST = re.compile(r"tests?|test_.*|.*_test\.py|conftest\.py")


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from it. Returns their paths."""
    hatchling(ROOT, folder, "sdist")
    sdist = newest(folder, "*.tar.gz")
    with tempfile.TemporaryDirectory() as temporary:
        with tarfile.open(sdist) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
            archive.extractall(temporary)
        hatchling(Path(temporary) / sdist.name.removesuffix(".tar.gz"), folder, "wheel")
    return sdist, newest(folder, "*.whl")


def hatchling(project: Path, folder: Path, target: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, stdout=subprocess.DEVNULL)


def newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime)


def wheel_problems(names: Iterable[str], version: str) -> Iterator[str]:
    """What a wheel holds that it should not, and what it lacks: the modules, their data, the bundle, the licence."""
    sources = [path for suffix in (".py", ".pyi") for path in (ROOT / "src" / PACKAGE).rglob(f"*{suffix}")]
    modules = (path.relative_to(ROOT / "src").as_posix() for path in sources)
    info = [f"{PACKAGE}-{version}.dist-info/{name}" for name in DIST_INFO]
    expected = {*modules, f"{PACKAGE}/py.typed", *DATA, *BUNDLE, *info}
    held = set(names)
    yield from (f"missing: {name}" for name in sorted(expected - held))
    yield from (f"does not belong: {name}" for name in sorted(held - expected))
    yield from (
        f"a test: {name}" for name in sorted(held) if any(map(TEST.fullmatch, PurePosixPath(name).parts))
    )


def try_out(archive: Path, version: str, folder: Path) -> None:
    """Install a wheel or an sdist in an empty environment under `folder`, and write the demo model's report there."""
    environment = folder / "environment"
    venv.create(environment, symlinks=os.name != "nt")
    scheme = {"base": str(environment), "platbase": str(environment)}
    scripts = Path(sysconfig.get_path("scripts", "venv", scheme))
    library = Path(sysconfig.get_path("purelib", "venv", scheme))
    outer = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    (library / "outer.pth").write_text("\n".join(sorted(outer)), encoding="utf-8")  # where dependencies are
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*command: str | Path) -> str:
        return subprocess.run(
            command,
            cwd=folder,
            env={**clean, "HF_HUB_OFFLINE": "1"},
            check=True,
            text=True,
            stdout=subprocess.PIPE,
        ).stdout

    alone = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed"]
    run(sys.executable, "-m", "pip", "--python", scripts / "python", "install", *alone, archive)
    place, imported = run(
        scripts / "python", "-c", f"import {PACKAGE} as p; print(p.__file__, p.__version__)"
    ).split()
    if not Path(place).is_relative_to(library) or imported != version:
        raise RuntimeError(f"{archive.name}: imported version {imported} from {place}")
    few = ["--limit", "4", "--sections", "figures", "--examples", "1"]
    run(scripts / "headscope", "report", *few, "-o", "report.html")
    if "headscope-payload" not in (folder / "report.html").read_text(encoding="utf-8"):
        raise RuntimeError(f"{archive.name}: headscope report wrote no page")


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[0] if arguments else ROOT / "dist").resolve()
    sdist, wheel = build(folder)
    version = wheel.name.split("-")[1]
    with zipfile.ZipFile(wheel) as archive:
        problems = list(wheel_problems(archive.namelist(), version))
    if problems:
        print(f"{wheel.name}:", *problems, sep="\n  ", file=sys.stderr)
        return 1
    check = [sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel)]
    subprocess.run(check, check=True, stdout=2)  # what is wrong is on stdout
    for archive in (sdist, wheel):
        with tempfile.TemporaryDirectory() as temporary:
            try_out(archive, version, Path(temporary))
    print(sdist, wheel, sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
