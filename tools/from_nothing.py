"""Try commands from nothing: a fresh clone of HEAD in a bare Debian. Say what was there and how each ended.

    python tools/from_nothing.py                                `make report`, then `make test`
    python tools/from_nothing.py 'make report' 'make check'     these
    python tools/from_nothing.py --user                         as a plain user, who cannot install by apt

The Debian has Python, make, git and a network, and no Chromium, no Node.js, no compiler. The clone lies alone in a
folder whose name has an accent and a space, HOME is empty, the umask is 077. The environment is PATH, HOME, LANG and
those settings of the caller's that say how pip, npm and apt reach their registries (proxies, indices, certificates).
Files that these need are named with --also: they are copied to the same path, folders are bound there, read-only.

It needs root, debootstrap, git and some 8 GB of disk, in /var/tmp if --root names no other folder. Without --root the
system is deleted at the end; with it, it stays, and another call goes on in it with the clone as it lies there.
--cache keeps the tar of the bare system, which is most of the start.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
PACKAGES = "ca-certificates,git,make,python3,python3-venv"
CLONE = "/srv/dépôt neuf/headscope"
HOME = "/home/new"
USER = 1000
PASSED = re.compile(
    r"(pip|npm_config)_\w+|\w+_proxy|\w*_(cert|certs|cafile|cainfo|ca_bundle|cert_file|cert_dir)", re.I
)
LOOKED_FOR = "python3 make git node npm chromium gcc curl"
ENTER = """
mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/dev/shm" || exit
root=$1; user=$2; shift 2
while [ "$1" != -- ]; do mkdir -p "$root$1" && mount --bind -o ro "$1" "$root$1" || exit; shift; done
shift
chroot --userspec="$user:$user" "$root" env -i "$@"
exit $?
"""
"""Runs in name spaces of its own, for mounts and processes: what it mounts and starts goes when it ends."""


class Bare:
    """A bare Debian in a folder, with a clone in it."""

    def __init__(self, root: Path, user: int, also: list[Path]) -> None:
        self.root, self.user, self.also = root, user, also
        settings = {name: value for name, value in os.environ.items() if PASSED.fullmatch(name)}
        self.environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": HOME,
        }
        self.environment |= {"LANG": "C.UTF-8", **settings}

    def set_up(self, options: argparse.Namespace) -> None:
        tar = options.cache and options.cache / f"{options.suite}.tar"
        if tar and tar.exists():
            call("tar", "--numeric-owner", "-xpf", tar, "-C", self.root)
        else:
            include = f"--include={PACKAGES}"
            call("debootstrap", "--variant=minbase", include, options.suite, self.root, options.mirror)
            if tar:
                tar.parent.mkdir(parents=True, exist_ok=True)
                call("tar", "--numeric-owner", "-cf", tar, "-C", self.root, ".")
        self.root.chmod(0o755)
        for path in [Path("/etc/resolv.conf"), *(path for path in self.also if path.is_file())]:
            copy = self.inside(path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        self.inside(HOME).mkdir()
        call("chroot", self.root, "useradd", f"--uid={USER}", f"--home-dir={HOME}", "--no-create-home", "new")
        call("git", "clone", "--quiet", "--no-hardlinks", SOURCE, self.inside(CLONE), umask=0o077)
        call("chown", "-R", f"{self.user}:{self.user}", self.inside(HOME), self.inside(CLONE).parent)

    def inside(self, path: str | Path) -> Path:
        return self.root / str(path).lstrip("/")

    def run(self, command: str, log: Path) -> int:
        """Run a line of the shell in the clone. What it prints goes to `log`; its exit status."""
        folders = [str(path) for path in self.also if path.is_dir()]
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        line = f"umask 077; cd {shlex.quote(CLONE)} && {command}"
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "enter"]
        words = [*apart, str(self.root), str(self.user), *folders, "--", *variables, "sh", "-c", line]
        with log.open("w", encoding="utf-8") as lines:
            return subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=lines, stderr=subprocess.STDOUT
            ).returncode

    def ask(self, command: str) -> str:
        log = self.inside("tmp") / "answer"
        self.run(command, log)
        return log.read_text(encoding="utf-8", errors="replace").strip()


def call(*words: str | Path, umask: int = -1) -> None:
    done = subprocess.run(words, umask=umask, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} ended with status {done.returncode}:\n{done.stdout[-2_000:]}")


def try_commands(bare: Bare, options: argparse.Namespace) -> list[str]:
    """Run the commands, each to its end. What failed."""
    failed: list[str] = []
    for number, command in enumerate(options.commands, 1):
        log, begun = (
            options.logs / f"{number}-{re.sub(r'[^a-z0-9]+', '-', command.lower())[:40]}.log",
            time.monotonic(),
        )
        print(f"\n$ {command}", flush=True)
        status = bare.run(command, log)
        print(*log.read_text(encoding="utf-8", errors="replace").splitlines()[-options.lines :], sep="\n")
        print(f"-- status {status} after {time.monotonic() - begun:.0f} s; all it printed: {log}", flush=True)
        if status:
            failed.append(f"{command} ended with status {status}")
    if changed := bare.ask("git status --porcelain"):
        failed.append(f"git sees changes in the clone:\n{changed}")
    return failed


def described(environment: Mapping[str, str]) -> str:
    return " ".join(environment) + f"; umask 077; {HOME} is empty"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commands", nargs="*", metavar="COMMAND", default=["make report", "make test"])
    parser.add_argument("--user", action="store_true", help="run as a plain user, not as root")
    parser.add_argument("--root", type=Path, help="folder of the system, which stays")
    parser.add_argument("--cache", type=Path, help="folder that keeps the tar of the bare system")
    parser.add_argument(
        "--also", type=Path, action="append", default=[], help="what pip, npm or apt need here"
    )
    parser.add_argument("--suite", default="bookworm", help="Debian's release, %(default)s")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian", help="%(default)s")
    parser.add_argument("--logs", type=Path, default=SOURCE / "build" / "nothing", help="%(default)s")
    parser.add_argument("--lines", type=int, default=30, help="last lines to show of each, %(default)s")
    options = parser.parse_args()
    if os.geteuid() or not shutil.which("debootstrap"):
        parser.error("it needs root and debootstrap")
    options.logs.mkdir(parents=True, exist_ok=True)
    root = options.root or Path(tempfile.mkdtemp(prefix="nothing-", dir="/var/tmp"))
    bare = Bare(root.resolve(), USER if options.user else 0, [path.absolute() for path in options.also])
    try:
        if bare.inside(CLONE).exists():
            print(f"goes on in {root}")
        else:
            root.mkdir(parents=True, exist_ok=True)
            bare.set_up(options)
        print(
            f"Debian {options.suite}, {'user 1000' if options.user else 'root'}, in {CLONE}:",
            bare.ask("git log -1 --oneline"),
        )
        print("environment:", described(bare.environment))
        print(
            bare.ask(
                f"for name in {LOOKED_FOR}; do command -v $name || echo no $name; done; python3 --version"
            )
        )
        failed = try_commands(bare, options)
        print("\nin HOME:", bare.ask(f"du -sh {HOME}/.[!.]* {HOME}/* 2>/dev/null") or "nothing")
        print("in the clone:", bare.ask("du -sh .venv frontend/node_modules . 2>/dev/null"))
    finally:
        if not options.root:
            shutil.rmtree(root)
    print(*(f"FAILED: {what}" for what in failed), sep="\n")
    print(f"{len(options.commands)} commands, {len(failed)} failures")
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main())
