"""How much of broken code the tests catch: code is broken in places drawn at random, one at a time.

    python tools/mutate.py draw places.json [--count 120] [--seed 31]      choose the places
    python tools/mutate.py probe places.json                               in a throw-away clone: which tests pass them?
    MUTATION_HITS=hits PYTEST_ADDOPTS="-p mutation_hits" make test         (the tests run as usual and leave hits/*.txt)
    python tools/mutate.py run places.json hits -o caught.json             break each, run the tests that pass it
    python tools/mutate.py table caught.json [LATER.json]                  the share caught, by room

`probe` and `run` change the tree they stand in: work in a clone with an environment of its own. A place is caught
when one of the tests that pass it fails; those that ran fastest are tried first. A run that was ended goes on where
`caught.json` ends.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import subprocess
import sys
import sysconfig
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hatch_build import find_node  # noqa: E402

SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
SKIPPED = ("fused_kernel.py", "__init__.py")  # Triton reads its kernels' source; records are data

Place = dict[str, Any]  # file, line, start, end (characters), from, to


def broken(node: ast.AST) -> ast.expr | None:
    """The expression with one thing changed, or None where nothing of it is changed."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            return ast.Compare(node.left, [SWAPS[type(op)]()], node.comparators)
        case ast.BinOp() if type(node.op) in SWAPS and not any(
            isinstance(side, ast.JoinedStr)
            or (isinstance(side, ast.Constant) and isinstance(side.value, str))
            for side in (node.left, node.right)
        ):
            return ast.BinOp(node.left, SWAPS[type(node.op)](), node.right)
        case ast.BoolOp():
            return ast.BoolOp(SWAPS[type(node.op)](), node.values)
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.Constant(value=bool()):
            return ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            return ast.Constant(node.value + 1)
        case ast.IfExp(test=ast.Name() | ast.Attribute() | ast.Call()):
            return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    return None


def expressions(node: ast.AST) -> Iterator[ast.AST]:
    """What is run: no annotations, no f-strings (Python 3.11 does not say where their parts stand), no patterns."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr | ast.pattern):
                if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                    continue
                yield child
                yield from expressions(child)


def python_places(path: Path) -> Iterator[Place]:
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    encoded = text.encode()

    def characters(line: int, column: int) -> int:
        return len(encoded[: starts[line - 1] + column].decode())

    for node in expressions(ast.parse(text)):
        if (other := broken(node)) is not None and isinstance(node, ast.expr):
            start = characters(node.lineno, node.col_offset)
            end = characters(node.end_lineno or 0, node.end_col_offset or 0)
            ast.fix_missing_locations(other)
            changed = ast.unparse(other)
            yield {
                "file": str(path.relative_to(ROOT)),
                "line": node.lineno,
                "start": start,
                "end": end,
                "from": text[start:end],
                "to": changed if isinstance(other, ast.Constant) else f"({changed})",
            }


def draw(options: argparse.Namespace) -> None:
    places = [
        place
        for path in sorted((ROOT / "src/headscope").rglob("*.py"))
        if path.name not in SKIPPED
        for place in python_places(path)
    ]
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "frontend/src").rglob("*.ts"))
    node = [str(find_node()[0]), "tools/mutate_typescript.mjs", *files]
    places += json.loads(subprocess.run(node, cwd=ROOT, capture_output=True, check=True, text=True).stdout)
    drawn = random.Random(options.seed).sample(places, options.count)
    options.places.write_text(json.dumps(drawn, indent=1), encoding="utf-8")
    print(f"{len(drawn)} of {len(places)} places")


def replaced(place: Place, new: str) -> None:
    path = ROOT / place["file"]
    text = path.read_text(encoding="utf-8")
    if text[place["start"] : place["end"]] != place["from"]:
        raise SystemExit(f"{place['file']}:{place['line']}: expected {place['from']!r}; the file has changed")
    path.write_text(text[: place["start"]] + new + text[place["end"] :], encoding="utf-8")


def built(place: Place) -> bool:
    """Build the pages anew where the place is in them; whether they could be built."""
    return not place["file"].endswith(".ts") or not npm("run", "build").returncode


def npm(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "tools/npm.py", *words], cwd=ROOT, capture_output=True)


def probe(options: argparse.Namespace) -> None:
    places: list[Place] = json.loads(options.places.read_text(encoding="utf-8"))
    numbered = sorted(
        enumerate(places), key=lambda pair: (-pair[1]["start"], pair[1]["end"])
    )  # inner ones first
    last: dict[str, int] = {}
    for number, place in numbered:
        if place["end"] > last.get(place["file"], place["end"]):
            print(f"{place['file']}:{place['line']}: within another place; not probed")
            continue
        last[place["file"]] = place["start"]
        if place["file"].endswith(".ts"):
            page = "(globalThis as any)"
            once = f"(({page}.__hits__ ??= {{}})[{number}] ||= ({page}.__hit__?.({number}), 1))"
            replaced(place, f"({once}, ({place['from']}))")
        else:
            replaced(place, f"(__hit__({number}), ({place['from']}))[1]")
    purelib = Path(sysconfig.get_path("purelib"))
    (purelib / "mutation_hits.pth").write_text(f"{ROOT / 'tools'}\nimport mutation_hits\n", encoding="utf-8")
    npm("run", "build").check_returncode()


def naming(place: Place) -> list[str]:
    """The files of tests that import a place's module: for what runs once, when the module is imported."""
    module = place["file"].removeprefix("src/").removesuffix(".py").replace("/", ".")
    package, _, name = module.rpartition(".")
    wanted = (module, f"from {package} import {name}")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [
        str(path.relative_to(ROOT))
        for path in files
        if any(word in path.read_text(encoding="utf-8") for word in wanted)
    ]


def tests_of(hits: Path) -> dict[int, list[tuple[float, str]]]:
    """For each place the tests that pass it with the seconds that each ran, the fastest first."""
    seconds = {
        f"{case.get('classname')}::{case.get('name')}": float(case.get("time", 0))
        for report in hits.glob("*.xml")
        for case in ElementTree.parse(report).iter("testcase")
    }
    found: dict[int, set[str]] = defaultdict(set)
    for path in hits.glob("*.txt"):
        for line in path.read_text(encoding="utf-8").splitlines():
            place, test = line.split("\t", 1)
            if test:
                found[int(place)].add(test)

    def cost(test: str) -> float:
        file, _, name = test.partition("::")
        return seconds.get(f"{file.removesuffix('.py').replace('/', '.')}::{name}", 1.0)

    return {place: sorted((cost(test), test) for test in tests) for place, tests in found.items()}


def fails(tests: list[str], timeout: float) -> str | None:
    """What catches the fault: the first test that fails, or that they do not end."""
    if not tests:
        return None
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        return "time-out"
    if run.returncode == 0:
        return None
    said = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return said[0] if said else run.stdout.strip()[-200:]


def run(options: argparse.Namespace) -> None:
    places: list[Place] = json.loads(options.places.read_text(encoding="utf-8"))
    tests = tests_of(options.hits)
    part, parts = (int(number) for number in options.part.split("/"))
    before = json.loads(options.after.read_text(encoding="utf-8")) if options.after else []
    results: list[Place] = json.loads(options.output.read_text("utf-8")) if options.output.exists() else []
    done = {one["number"] for one in results}
    for number, place in enumerate(places):
        if number % parts != part - 1 or number in done:
            continue
        begun = time.monotonic()
        chosen = tests.get(number) or [(1.0, file) for file in naming(place)]
        caught = [one["by"] or "" for one in before if one["number"] == number]
        earlier = [by.split(" ")[1] for by in caught if by.startswith("FAILED")]
        chosen.sort(key=lambda pair: pair[1] not in earlier)
        tried, seconds = [], 0.0
        for cost, test in chosen:
            if tried and seconds + cost > options.seconds:
                break
            seconds += cost
            tried.append(test)
        original = (ROOT / place["file"]).read_text(encoding="utf-8")
        replaced(place, place["to"])
        try:
            by: str | None = None
            if place["file"].endswith(".ts"):
                if npm("run", "check").returncode:
                    by = "tsc"
                elif not built(place):
                    by = "build"
                elif npm("test").returncode:
                    by = "vitest"
            by = by or fails(tried, 120 + 10 * seconds)
        finally:
            (ROOT / place["file"]).write_text(original, encoding="utf-8")
        results.append({**place, "number": number, "tests": len(tried), "of": len(chosen), "by": by})
        took = time.monotonic() - begun
        print(
            f"{number:3} {place['file']}:{place['line']} {len(chosen)} tests, {took:.0f} s: {by}", flush=True
        )
        options.output.write_text(json.dumps(results, indent=1), encoding="utf-8")
    built({"file": ".ts"})


def room(place: Place) -> str:
    parts = Path(place["file"]).parts
    return "frontend" if parts[0] == "frontend" else parts[2].removesuffix(".py")


def table(options: argparse.Namespace) -> None:
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in options.results]
    rooms = sorted({room(place) for places in runs for place in places})
    counts = [(Counter(map(room, places)), Counter(room(p) for p in places if p["by"])) for places in runs]
    for name in rooms:
        print(f"{name:12}", *(f"{caught[name]:3} of {drawn[name]:3}" for drawn, caught in counts))
    print(f"{'all':12}", *(f"{caught.total():3} of {drawn.total():3}" for drawn, caught in counts))
    for place in runs[-1]:
        if not place["by"]:
            change = f"{place['from']!r} -> {place['to']!r}"
            print(
                f"survives: {place['file']}:{place['line']} {change} ({place['tests']} of {place['of']} tests)"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("places", type=Path)
    drawing.add_argument("--count", type=int, default=120)
    drawing.add_argument("--seed", type=int, default=31)
    drawing.set_defaults(do=draw)
    probing = commands.add_parser("probe")
    probing.add_argument("places", type=Path)
    probing.set_defaults(do=probe)
    running = commands.add_parser("run")
    running.add_argument("places", type=Path)
    running.add_argument("hits", type=Path)
    running.add_argument("-o", "--output", type=Path, required=True)
    running.add_argument("--part", default="1/1", help="of several at once, each in its own clone")
    running.add_argument(
        "--after", type=Path, help="earlier results: what caught a place then is tried first"
    )
    running.add_argument(
        "--seconds", type=float, default=60, help="of tests tried for a place, by what they took"
    )
    running.set_defaults(do=run)
    showing = commands.add_parser("table")
    showing.add_argument("results", type=Path, nargs="+")
    showing.set_defaults(do=table)
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
