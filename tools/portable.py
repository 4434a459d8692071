"""Run the numeric tests as other machines would, and name each test that fails with the machine on which it does.

    python tools/portable.py                      unit and slow tests on the first three, those of `MIXED` on all nine
    python tools/portable.py --machine old slow   one machine, one part

Numeric are all tests but those of pages in a browser, of tools/ and of what the command line says (`NOT_NUMERIC`, by
the names of files). A machine is a set of environment variables that choose kernels and threads (`SETTINGS`). First
each setting is tried alone, and what rounds otherwise under it is named: one that changes nothing proves nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

from run_tests import OUT, PARTS, PYTHON, ROOT, Part, count

NOT_NUMERIC = (
    "tests/browser/*",
    "tests/tools/*",
    "tests/test_cli*",
    "tests/*refus*",
    "tests/test_wrong_calls.py",
)

MIXED = ("tests/measures", "tests/attention", "tests/analyses", "tests/run")
"""What a machine whose libraries are of several ages runs, of the unit tests: where torch's figures meet numpy's."""

OLD, MIDDLE, OWN = range(3)
SETTINGS: dict[str, dict[str, tuple[str, str, str]]] = {
    "torch": {
        "ATEN_CPU_CAPABILITY": ("default", "avx2", ""),
        "ONEDNN_MAX_CPU_ISA": ("SSE41", "AVX2", ""),
        "MKL_CBWR": ("COMPATIBILITY", "AVX2", ""),
    },
    "numpy": {
        "NPY_DISABLE_CPU_FEATURES": ("*", "AVX512*", ""),  # `features` has the names that numpy knows
        "OPENBLAS_CORETYPE": ("Nehalem", "Haswell", ""),
    },
    "threads": {
        "OMP_NUM_THREADS": ("1", "2", "4"),
        "MKL_DYNAMIC": ("", "", "FALSE"),
    },  # more threads than cores
}
"""Of each library its variables, as of a processor of 2008, of 2013, and as this one has it (not set)."""

MACHINES: dict[str, tuple[int, int, int]] = {
    "old": (OLD, OLD, OLD),
    "middle": (MIDDLE, MIDDLE, MIDDLE),
    "own": (OWN, OWN, OWN),
    "old torch, middle numpy": (OLD, MIDDLE, OWN),
    "old torch, own numpy": (OLD, OWN, MIDDLE),
    "middle torch, old numpy": (MIDDLE, OLD, OWN),
    "middle torch, own numpy": (MIDDLE, OWN, OLD),
    "own torch, old numpy": (OWN, OLD, MIDDLE),
    "own torch, middle numpy": (OWN, MIDDLE, OLD),
}
"""Torch, numpy, threads: each setting of one meets each of every other."""
COHERENT = [name for name, ages in MACHINES.items() if len(set(ages)) == 1]

PROBE = """
import hashlib, json
import numpy as np
import torch

def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()

a = np.random.default_rng(0).random((384, 384)) - 0.5  # the same numbers everywhere
b = torch.from_numpy(a).float()
long, heads, picture = b.repeat(9, 1).flatten(), b.view(1, 12, -1, 64), b.view(1, 3, 192, 256)
print(json.dumps({
    "sum": digest(long.sum()),
    "exp": digest(b.exp()),
    "softmax": digest(b.softmax(-1)),
    "norm": digest(torch.nn.functional.layer_norm(b, (384,))),
    "gelu": digest(torch.nn.functional.gelu(b)),
    "product": digest(b @ b),
    "attention": digest(torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)),
    "convolution": digest(torch.nn.functional.conv2d(picture, picture[:, :, :16, :16], stride=8)),
    "half product": digest((b.bfloat16() @ b.bfloat16()).float()),
    "singular values": digest(torch.linalg.svdvals(b)),
    "numpy's exp": digest(np.exp(a)),
    "numpy's float32 exp": digest(np.exp(a.astype(np.float32))),
    "numpy's power": digest(np.abs(a) ** 1.3),
    "numpy's order of equals": digest(np.argsort(a.ravel())),
    "numpy's product": digest(a @ a),
    "numpy's singular values": digest(np.linalg.svd(a)[1]),
}))
"""


def features(pattern: str) -> str:
    """The names that `NPY_DISABLE_CPU_FEATURES` takes: what this numpy has loops of and this processor knows."""
    import numpy._core._multiarray_umath as built

    known: Any = built
    names = [name for name in known.__cpu_dispatch__ if known.__cpu_features__.get(name)]
    newer = ("AVX512", "X86_V4")
    return " ".join(name for name in names if pattern == "*" or name.startswith(newer))


def environment(*ages: int) -> dict[str, str]:
    """That of a machine: ages of torch, numpy and threads. What it does not set is not set."""
    found = {
        key: value for key, value in os.environ.items() if not any(key in own for own in SETTINGS.values())
    }
    found |= {
        "OMP_WAIT_POLICY": "PASSIVE",
        "KMP_BLOCKTIME": "0",
    }  # threads that wait leave the core to those that work
    for own, age in zip(SETTINGS.values(), ages, strict=True):
        found |= settings(own, age)
    return found


def settings(own: dict[str, tuple[str, str, str]], age: int) -> dict[str, str]:
    given = {name: values[age] for name, values in own.items()}
    if pattern := given.get("NPY_DISABLE_CPU_FEATURES"):
        given["NPY_DISABLE_CPU_FEATURES"] = features(pattern)
    return {name: value for name, value in given.items() if value}


def probed(given: dict[str, str]) -> dict[str, str]:
    done = subprocess.run([PYTHON, "-c", PROBE], env=given, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def prove() -> None:
    """Say of each setting what rounds otherwise under it than on this machine as it is, with two threads."""
    plain = environment(OWN, OWN, MIDDLE)
    own = probed(plain)
    for library in SETTINGS.values():
        for name, values in library.items():
            for age in (age for age, value in enumerate(values) if value and name != "MKL_DYNAMIC"):
                given = settings(library if library is SETTINGS["threads"] else {name: values}, age)
                if given.items() <= plain.items():
                    continue
                found = probed(plain | given)
                other = [what for what, digest in found.items() if digest != own[what]]
                words = " ".join(f"{key}={value!r}" for key, value in given.items())
                print(f"{words}: {', '.join(other) or 'nothing'}", flush=True)


def run(name: str, part: str) -> Part:
    """One part on one machine."""
    stem = f"portable {name} {part}".replace(",", "").replace(" ", "-")
    ended, begun, report = Part(f"{part} on {name}"), time.monotonic(), OUT / f"{stem}.xml"
    report.unlink(missing_ok=True)
    ignored = [f"--ignore-glob={ROOT / pattern}" for pattern in NOT_NUMERIC]
    rooms = () if name in COHERENT else MIXED
    command = [*PARTS[part][0], *ignored, "-p", "no:cacheprovider", f"--junitxml={report}", *rooms]
    with (OUT / f"{stem}.log").open("w", encoding="utf-8") as log:
        done = subprocess.run(
            command, cwd=ROOT, env=environment(*MACHINES[name]), stdout=log, stderr=subprocess.STDOUT
        )
    if done.returncode:
        ended.failed.append(f"pytest ended with status {done.returncode}: build/tests/{stem}.log")
    if report.exists():
        count(ended, report)
    ended.seconds = time.monotonic() - begun
    print(
        f"{ended.name}: {ended.passed} passed, {len(ended.failed)} failed, {ended.skipped.total()} skipped, ",
        end="",
    )
    print(f"{ended.seconds:.0f} s", flush=True)
    return ended


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="*", choices=["unit", "slow", []])
    parser.add_argument("--machine", choices=list(MACHINES), action="append")
    given = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    prove()
    ended: list[Part] = []
    for part in given.part or ["unit", "slow"]:
        for name in given.machine or (MACHINES if part == "unit" else COHERENT):
            ended.append(run(name, part))
    for each in ended:
        for failure in each.failed:
            print(f"FAILED in {each.name}: {failure}")
    return int(any(each.failed for each in ended))


if __name__ == "__main__":
    sys.exit(main())
