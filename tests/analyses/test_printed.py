"""What commands print and which files they write: golden/printed.txt, whatever the figures are."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from headscope.core.demo import demo_folder
from headscope.models import Model
from tests.helpers import golden
from tests.helpers.planted_needles import HAY, reader, writer
from tests.helpers.small_models import save_gpt2
from tests.helpers.typed import Typed
from tests.test_cli_annotated import BROKEN, TREES

FIGURE = re.compile(r"<?[−-]?(\d[\d,]*)?\.?\d+(e[−-]?\d+)?")
PAIRS = ["a cat dog", "cat sat dog", "sat and dog", "and the dog", "the dog a"]
"""What is asked about, what followed it, and what followed it in the corrupted prompt."""

SAID = "The cat sat here. A dog ran. It was late."


@pytest.mark.slow
@pytest.mark.filterwarnings("always:.*left out:headscope.errors.HeadscopeWarning")
def test_what_commands_print(workspace: Path, typed: Typed, planted: Model) -> None:
    for name, model in (("planted", planted), ("writer", writer())):
        model.module.save_pretrained(workspace / name)
        reader().save_pretrained(workspace / name)
    save_gpt2(workspace / "one", n_layer=1)
    (workspace / "runs").mkdir()
    for number in (2, 10):
        (workspace / f"runs/checkpoint-{number}").symlink_to(demo_folder())
    prompt = "over hills by night {} {} ran to {}"
    rows = [
        {"clean": prompt.format(a, b, a), "corrupted": prompt.format(a, c, a), "answer": b, "wrong": c}
        for a, b, c in map(str.split, PAIRS)
    ]
    texts = {
        "two.txt": "The cat sat on the mat.\n\nThe dog ran to the cat.\n",
        "hay.txt": f"{HAY}\n" * 4,
        "sentences.txt": "\n".join(f"{' '.join(HAY.split()[place % 9 :][:3])} ." for place in range(14)),
        "lines.txt": SAID.replace(". ", ".\n"),
        "one.json": json.dumps({"text": SAID, "answer": " It slept.", "spans": ["A dog ran."]}),
        "circuit.jsonl": "\n".join(map(json.dumps, rows)),
        "trees.conllu": TREES,
        "broken.conllu": TREES * 5 + BROKEN,
        "no.jsonl": '{"words": ["No", "cat", "sat"], "cue": [0], "scope": [1, 2]}\n' * 3,
        "ten.txt": "\n\n".join(f"{name} said so.\nThe cat sat on the mat." for name in "ABCDEFGHIJ"),
        "glove.txt": "cat 1 0\nsleeps 0 1\nthe 1 1\n",
    }
    for name, text in texts.items():
        (workspace / name).write_text(text)

    def say(line: str) -> str:
        before = {*workspace.rglob("*")}
        said = typed(*shlex.split(line))
        made = [path.relative_to(workspace) for path in sorted({*workspace.rglob("*")} - before)]
        heads = [
            f"{path}: {path.read_text().partition(chr(10))[0]}" for path in made if path.suffix == ".csv"
        ]
        printed = "\n".join([said.out, said.err, " ".join(map(str, made)), *heads])
        return re.sub("[ \n]*\n", "\n", re.sub(" +", " ", FIGURE.sub("#", printed))).strip()

    golden.check("printed.txt", "$ headscope ", say)
