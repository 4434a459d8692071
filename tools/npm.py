"""Run npm in frontend/, with the node on the PATH or else the one that the test tools bring: `npm.py ci`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hatch_build import find_node  # noqa: E402

node, npm = find_node()
environment = {**os.environ, "PATH": os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])}
sys.exit(subprocess.run([*npm, *sys.argv[1:]], cwd=ROOT / "frontend", env=environment).returncode)
