"""Calls and command lines with silly values: all that ends otherwise than in a result or a sentence is printed.

    python tools/fuzz.py calls [--number 300] [--seed 0] [--only 17]
    python tools/fuzz.py calls commands [--number 300] [--seed 0]

Each case runs in a process of its own (a fork), with a limit of its time and memory. What is a fault: an exception that
is none of headscope's, a message of several lines, one that nobody foresaw, a hang, more than 2 GB beyond what the
process had before, and an exit code of 0 for a corpus that cannot be read. With the seed and its number a case comes
again.
"""

from __future__ import annotations

import argparse
import inspect
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

os.environ.update({"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "BROWSER": "true"})
sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import numpy as np  # noqa: E402
import torch  # noqa: E402

import headscope as hs  # noqa: E402
from headscope.core.validation import hints_of  # noqa: E402
from headscope.errors import HeadscopeError  # noqa: E402
from tests.helpers.small_models import save_gpt2, small_roberta  # noqa: E402
from tests.helpers.workspace import write_corpora  # noqa: E402

SECONDS, BYTES = 60, 2_000_000_000
LIMIT = 40_000_000_000  # bytes of addresses, beyond which nothing is given
UNFORESEEN = "stopped by an error that it does not know"
WORDS = (
    *(
        "",
        " ",
        "-1",
        "0",
        "1",
        "1.5",
        "1e99",
        "nan",
        "inf",
        "9" * 30,
        "x",
        "ü",
        "\udce9",
        "../..",
        "/",
        "/dev/null",
    ),
    *(
        "none.txt",
        "none/none.csv",
        "[]",
        "{}",
        "--",
        "-",
        "L0H1",
        "L99H99",
        "0.1",
        "99.99",
        "1,2,3",
        "x" * 5000,
        "$(ls)",
    ),
    *(
        "cpu:0",
        "cuda:9",
        "auto",
        "wiki.txt",
        "train.conllu",
        "pairs.tsv",
        "gpt2",
        "empty",
        "out.csv",
        "out.html",
        "out.x",
    ),
    *(
        "docs",
        "token",
        "previous",
        "entropy",
        "offset+1",
        "1/2",
        "3/2",
        "\x1b[31m",
        "a\nb",
        "=1+1",
        "{[",
        "A | B",
        "Head",
    ),
)
"""What stands in a command line where something else should."""

UNREADABLE: Mapping[str, bytes] = {
    "junk.txt": bytes(random.Random(0).randbytes(2_000)),
    "junk.conllu": bytes(random.Random(1).randbytes(2_000)),
    "junk.jsonl": b'{"text": "a"\n{"text": 3}\nnull\n' * 20,
    "deep.jsonl": b"[" * 100_000,
    "empty.txt": b"",
    "blank.txt": b"\n \n\t\n",
    "latin.txt": "caf\xe9 au lait\n".encode("latin-1"),
    "torn.txt.gz": bytes.fromhex("1f8b0800000000000003") + b"xx",
    "archive.zip": b"PK\x03\x04" + bytes(100),
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "weights.safetensors": (2**60).to_bytes(8, "little") + b"{}",
    "cycle.conllu": b"1\ta\t_\t_\t_\t_\t2\tdep\t_\t_\n2\tb\t_\t_\t_\t_\t1\tdep\t_\t_\n\n" * 3,
    "long.txt": b"a" * 10_000_001,
}
"""Corpora of which nothing can be said; nor of what is not there."""

COMMANDS = (
    *(
        "check -m gpt2",
        "view The-cat-sat. -m gpt2 -o out.html",
        "view The-cat-sat. -m gpt2 --layer 1 --head 2 -o out.svg",
    ),
    *(
        "measure @wiki.txt -m gpt2 --limit 6 -o out.csv",
        "measure @chats.jsonl -m bert --measures previous,entropy",
    ),
    *(
        "measure @news.csv -m bert --text-field text",
        "measure @wiki.txt -m gpt2 --shard 1/2 -o one.nc --limit 6",
    ),
    *(
        "distance @wiki.txt -m gpt2 --limit 6",
        "roles @wiki.txt -m gpt2 --limit 6",
        "links @links.jsonl -m gpt2",
    ),
    *(
        "syntax @train.conllu -m bert --limit 6",
        "coref @train.conllu -m bert --limit 6",
        "negation @scopes.jsonl -m bert",
    ),
    *(
        "probe @train.conllu @dev.conllu -m bert --epochs 1 --limit 4",
        "attribute The-cat-sat. -m gpt2 --token x",
        "reads The-cat-sat. L1H2 -m gpt2 --foil 1 --pairs 2",
        "composition @wiki.txt -m gpt2 --limit 4",
    ),
    *(
        "patch -m gpt2",
        "retrieval -m gpt2 --needles 2 --length 400 -k 1",
        "streaming -m gpt2 --needles 2 --recent 8",
    ),
    *("writes -m gpt2 --head 1.2 -k 3", "sentences @wiki.txt -m bert", "compare groups @pairs.tsv -m bert"),
    *("compare models bert bert @wiki.txt --limit 4", "compare inputs abc. abd. -m gpt2", "merge one.nc"),
    *(
        "compare training gpt2 gpt2b @wiki.txt --limit 4",
        "serve -m gpt2 --no-browser",
        "align @speech.jsonl -m gpt2",
    ),
    *("report -m gpt2 --text @wiki.txt --limit 2 -o out.html", "artefacts photos -m gpt2"),
)
"""Lines that are right, or nearly; what is behind @ is a corpus."""


class Case(NamedTuple):
    """What is tried: its words, what runs it, and whether it has to be refused."""

    told: str
    run: Callable[[], object]
    refused: bool = False


class Odd:
    """Nothing that anything takes."""


def silly(of: Mapping[str, Any]) -> list[Any]:
    """Values that most arguments are not meant to have."""
    return [
        *(None, True, False, -1, 0, 1, 2, 1.5, float("nan"), float("inf"), 10**30, -(10**30), "", "x", "L0H1"),
        *("\ud800", b"x", [], {}, set[int](), (), [None], ["x"], [1], [[1]], {"x": 1}, {1: 2}, ("a", "b"), "x" * 5000),
        *(Odd(), Odd, lambda: 1, lambda *_: None, print, iter([1]), range(3), np.zeros(3), np.zeros((2, 0)), slice(1)),
        *(np.full((2, 2), np.nan), np.float32(1), np.array("x"), torch.zeros(2, 3), torch.tensor([1 + 1j]), ...),
        *(Path("none"), Path("wiki.txt"), "wiki.txt", hs.Head(0, 1), hs.Head(99, 99), hs.Span(0, 1), hs.Tokens(["a"])),
        *(["previous"], ["entropy", "x"]),
        *of.values(),
    ]  # fmt: skip


def scene() -> dict[str, Any]:
    """A small model, corpora, maps and results."""
    model = small_roberta()
    corpus = hs.corpora.texts(["The cat sat.", "A dog barked at the cat.", "She opened the door."] * 3)
    return {
        "model": model,
        "writer": hs.load("gpt2"),
        "corpus": corpus,
        "trees": hs.corpora.conllu("train.conllu"),
        "maps": hs.capture(model, "The cat sat."),
        "stats": hs.measure(model, corpus, measures=["previous", "entropy"]),
    }


def calls(of: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Functions by their names, and what is right for each."""
    model, writer, corpus, trees = (of[name] for name in ("model", "writer", "corpus", "trees"))
    text = {"model": model, "text": "The cat sat."}
    over = {"model": model, "corpus": corpus, "limit": 4}
    found: dict[str, dict[str, Any]] = {
        **{
            name: dict(text)
            for name in ("capture", "view", "head_view", "model_view", "neuron_view", "gradients")
        },
        **{name: dict(over) for name in ("measure", "distance", "roles", "contribution.importance")},
        "contribution.ablation": {**over, "heads": ["L0H1"]},
        "contribution.variability": {"model": model, "corpus": corpus},
        "contribution.norms": dict(text),
        "contribution.relevance": dict(text),
        "contribution.flow": {"maps": of["maps"]},
        "contribution.rollout": {"maps": of["maps"]},
        "contribution.unused_token": {"model": model, "corpus": corpus, "token": "<mask>"},
        "syntax": {"model": model, "treebank": trees, "limit": 4},
        "coreference": {"model": model, "corpus": trees, "limit": 4},
        "links": {"model": model, "corpus": hs.corpora.links("links.jsonl")},
        "negation": {"model": model, "corpus": hs.corpora.negations("scopes.jsonl")},
        "probe": {"model": model, "train": trees, "dev": trees, "epochs": 1, "limit": 4},
        "sentences": {"model": writer, "text": "The cat sat. It slept. A dog ran. " * 4},
        "attribute": {"model": writer, "text": "The cat", "token": "x"},
        "reads": {"model": writer, "text": "The cat sat", "head": "L1H0"},
        "composition": {"model": writer, "corpus": corpus, "limit": 4},
        "patching": {"model": writer},
        "retrieval": {"model": writer, "needles": 2, "lengths": [240]},
        "streaming": {"model": writer, "needles": 2, "lengths": [240], "recent": 8},
        "writes": {"model": writer},
        "artefacts": {"model": model, "corpus": hs.corpora.builtin_images()},
        "generate": {"model": writer, "text": "The cat", "max_new_tokens": 2},
        "combine_heads": {"model": model, "corpus": trees, "limit": 4},
        "compare.groups": {"model": model, "corpus": hs.corpora.pairs("pairs.tsv")},
        "compare.models": {"a": model, "b": model, "corpus": corpus},
        "compare.inputs": {"model": model, "a": "The cat sat.", "b": "The cat sat!"},
        "compare.training": {"checkpoints": [model, writer], "corpus": corpus},
        "load": {"model": None},
        "explore": dict(text),
        "wrap": {"weights": np.eye(3)[None, None], "tokens": ["a", "b", "c"]},
        "open_maps": {"path": "none.safetensors"},
        "table": {"result": of["stats"]},
        "figure": {"result": of["stats"]},
        "merge": {"parts": ["none.nc"]},
        "Tokens": {"pieces": ["a", "b"]},
        "Grid": {"height": 2, "width": 2},
        "Frames": {"count": 3, "seconds": 0.02},
        "corpora.texts": {"items": ["a", "b"]},
        "corpora.dataset": {"rows": [{"text": "a"}]},
        "corpora.images": {"source": "photos"},
        "corpora.sounds": {"source": "speech.wav"},
        "corpora.pairs": {"path": "pairs.tsv"},
        "corpora.alignments": {"a": "de.txt", "b": "en.txt", "links": "de-en.align"},
        "engines.Processes": {"devices": "cpu:1"},
        "report": {"model": model, "corpus": corpus, "limit": 2, "sections": ["figures"]},
    }
    files = {
        "text": "wiki.txt",
        "jsonl": "chats.jsonl",
        "table": "news.csv",
        "conllu": "train.conllu",
        "word_heads": "heads.txt",
        "conll2012": "tale.v4_gold_conll",
        "links": "links.jsonl",
        "negations": "scopes.jsonl",
        "spoken": "speech.jsonl",
    }
    return found | {f"corpora.{name}": {"paths": path} for name, path in files.items()}


def call_cases(random_: random.Random) -> Iterator[Case]:
    """Calls with one to three arguments changed."""
    of = scene()
    right, values = calls(of), silly(of)
    while True:
        name = random_.choice(list(right))
        function: Any = hs
        for part in name.split("."):
            function = getattr(function, part)
        kinds = inspect.signature(function).parameters.values()
        known = [each.name for each in kinds if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
        hints = hints_of(function.__init__ if isinstance(function, type) else function)
        changed: dict[str, Any] = {}
        for each in random_.sample(known, min(len(known), random_.randint(1, 3))):
            likely = _likely(hints.get(each, Any)) if random_.random() < 0.7 else []
            changed[each] = random_.choice(likely or values)
        given = {**right[name], **changed}
        told = f"{name}({', '.join(f'{each}={_short(value)}' for each, value in changed.items())})"
        yield Case(told, lambda function=function, given=given: _drained(function(**given)))


LIKELY: Mapping[Any, list[Any]] = {
    bool: [True, False],
    int: [0, 1, 2, 3, 7, 64, 200],
    float: [0.0, 1e-9, 0.05, 0.5, 1.0, 2, 100],
    str: ["x", "A cat.", "previous", "wiki.txt", " ", "entropy"],
    type(None): [None],
    Sequence: [
        ["previous"],
        [0],
        [1, 0],
        [0, 0],
        ["L0H1"],
        [(0, 1)],
        [(0, 3), (2, 5)],
        ["a", "b"],
        [0.5],
        [5, 200],
        [],
    ],
    Mapping: [{}, {"a": 1}, {"input_ids": [[1, 2]]}, {"L0H1": "x"}],
}


def _likely(hint: Any) -> list[Any]:
    """Values that an annotation allows, or nearly."""
    kind, inside = get_origin(hint) or hint, get_args(hint)
    if kind is Literal:
        return list(inside)
    if kind in (Union, UnionType):
        return [value for each in inside for value in _likely(each)]
    return _likely(inside[0]) if kind is Annotated else LIKELY.get(kind, []) if isinstance(kind, type) else []


def _drained(found: Any) -> None:
    """Read what is read when it is asked for."""
    if isinstance(found, hs.corpora.Corpus):
        list(islice(found, 50))


def _short(value: object) -> str:
    text = repr(value).encode("ascii", "backslashreplace").decode().replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:60]}…"


def command_cases(random_: random.Random) -> Iterator[Case]:
    """Command lines with one to three words changed."""
    from headscope.cli.app import commands

    top = commands()
    while True:
        words = random_.choice(COMMANDS).split()
        parent: Any = top
        for word in words:
            parent = parent.commands.get(word, parent) if hasattr(parent, "commands") else parent
        params = [
            each for each in parent.params if each.opts[0].startswith("-") and "--help" not in each.opts
        ]
        refused = False
        for _ in range(random_.choice((1, 1, 1, 2, 3))):
            place = random_.randrange(1, len(words))
            corpora = [number for number, word in enumerate(words) if word.startswith("@")]
            match random_.randrange(6):
                case 0 | 1:
                    words += _option(random_, random_.choice(params))
                case 2:
                    words[place] = random_.choice(WORDS)
                case 3:
                    del words[place]
                case 4:
                    words.insert(place, random_.choice([*words, *WORDS]))
                case _ if corpora:
                    words[corpora[0]] = random_.choice([*UNREADABLE, "none.txt", "empty"])
                    refused = True
                case _:
                    words += _option(random_, random_.choice(params))[:1]
            if len(words) == 1:
                break
        if "-h" in words or "--help" in words or "--version" in words:
            continue
        line = [word.removeprefix("@") for word in words]
        told = "headscope " + " ".join(map(_short, line))
        yield Case(
            told, lambda line=line: _command(line), refused and any(word in UNREADABLE for word in line)
        )


def _option(random_: random.Random, param: Any) -> list[str]:
    """An option, and a value that may be meant, or not."""
    name = random_.choice([*param.opts, *param.secondary_opts])
    if getattr(param, "is_flag", False):
        return [name]
    kind = param.type_descriptor.annotation
    likely = [] if kind is str else _likely(kind)
    return [name, str(random_.choice(likely if likely and random_.random() < 0.7 else WORDS))]


def _command(line: list[str]) -> None:
    import headscope.cli
    import headscope.live.server

    headscope.live.server.serve = lambda *_, **__: None  # pyright: ignore[reportAttributeAccessIssue]
    sys.argv = ["headscope", *line]
    headscope.cli.main()


class Ended(NamedTuple):
    """How a case ended: in a result (``done``), in a sentence (``told``), or in a fault; and what it said and took."""

    how: str
    said: str
    seconds: float
    size: int


def tried(case: Case, folder: Path) -> Ended:
    """Run a case in a fork, in a copy of a folder."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(folder, place, dirs_exist_ok=True, symlinks=True)
        told, base = Path(place, ".told"), Path(place, ".base")
        child = os.fork()
        if child == 0:
            base.write_text(str(_resident()))
            _run(case, place, told)
        _, status, used = os.wait4(child, 0)
        said = told.read_text(encoding="utf-8", errors="replace") if told.exists() else ""
        size = max(0, used.ru_maxrss * 1024 - int(base.read_text()))
    seconds = time.monotonic() - begun
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return Ended("hang" if number == signal.SIGALRM else f"signal {number}", said[-800:], seconds, size)
    how = {0: "done", 2: "told", 1: "told"}.get(os.WEXITSTATUS(status), "raised")
    if how == "told" and (UNFORESEEN in said or "Traceback (most" in said):
        how = "raised"
    if how == "done" and case.refused:
        how = "read"
    return Ended("memory" if size > BYTES else how, said, seconds, size)


def _run(case: Case, place: str, told: Path) -> None:
    """What a fork does; it does not come back."""
    code = 3
    try:
        os.chdir(place)
        output = os.open(told, os.O_CREAT | os.O_WRONLY)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number in (1, 2):
            os.dup2(output, number)
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        warnings.simplefilter("ignore")
        try:
            case.run()
            code = 0
        except HeadscopeError as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            code = 2 if len(str(error).splitlines()) == 1 else 3
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 3
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main(arguments: list[str] | None = None) -> int:
    """Try cases, print the faults and a line of counts, and return how many faults there are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="+", choices=("calls", "commands"))
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of cases, with all that they say")
    asked = parser.parse_args(arguments)
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _furnish(folder)
        os.chdir(folder)
        warnings.simplefilter("ignore")
        faults = sum(_try_all(what, asked, folder) for what in asked.what)
        os.chdir(before)
    return faults


def _try_all(what: str, asked: argparse.Namespace, folder: Path) -> int:
    """How many faults there are among cases of one kind."""
    counts: Counter[str] = Counter()
    make = {"calls": call_cases, "commands": command_cases}[what]
    largest = longest = 0.0
    for number, case in enumerate(islice(make(random.Random(asked.seed)), asked.number)):
        if asked.only is not None and number not in asked.only:
            continue
        ended = tried(case, folder)
        counts[ended.how] += 1
        largest, longest = max(largest, ended.size), max(longest, ended.seconds)
        if ended.how not in ("done", "told") or asked.only is not None:
            last = "\n    ".join(ended.said.strip().splitlines()[-8 if asked.only is None else 0 :])
            print(f"{number} {ended.how} ({ended.seconds:.1f} s): {case.told}\n    {last}", flush=True)
    listed = ", ".join(f"{count} {how}" for how, count in counts.most_common())
    print(
        f"seed {asked.seed}: {listed}; at most {longest:.1f} s and {largest / 1e6:.0f} MB beyond the models"
    )
    return sum(counts.values()) - counts["done"] - counts["told"]


def _furnish(folder: Path) -> None:
    """Files, models, and what cannot be read."""
    import transformers

    transformers.logging.set_verbosity_error()
    write_corpora(folder)
    (folder / "empty").mkdir()
    for name, content in UNREADABLE.items():
        (folder / name).write_bytes(content)
    save_gpt2(folder / "gpt2", n_positions=512)
    save_gpt2(folder / "gpt2b", n_positions=512, n_layer=2)
    model = small_roberta()
    model.module.save_pretrained(folder / "bert")
    model.tokenizer.save_pretrained(folder / "bert")


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
