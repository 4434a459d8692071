"""What commands print and which files they write: golden/printed.txt, whatever the figures are."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import headscope as hs
from headscope.console.formats import formats
from headscope.core.demo import demo_folder
from headscope.models import Model
from tests.attention.test_recorded import recorded_and_own
from tests.helpers import golden
from tests.helpers.planted_needles import HAY, reader, writer
from tests.helpers.small_models import save_gpt2, seeing
from tests.helpers.typed import Typed
from tests.test_cli_annotated import BROKEN, TREES

FIGURE = re.compile(r"<?[−-]?(\d[\d,]*)?\.?\d+(e[−-]?\d+)?")
PAIRS = ["a cat dog", "cat sat dog", "sat and dog", "and the dog", "the dog a"]
"""What is asked about, what followed it, and what followed it in the corrupted prompt."""

SAID = "The cat sat here. A dog ran. It was late."


@pytest.fixture
def inputs(workspace: Path, planted: Model) -> Path:
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
    return workspace


@pytest.mark.slow
@pytest.mark.filterwarnings("always:.*left out:headscope.errors.HeadscopeWarning")
def test_what_commands_print(inputs: Path, typed: Typed) -> None:
    def say(line: str) -> str:
        before = {*inputs.rglob("*")}
        said = typed(*shlex.split(line))
        made = [path.relative_to(inputs) for path in sorted({*inputs.rglob("*")} - before)]
        heads = [
            f"{path}: {path.read_text().partition(chr(10))[0]}" for path in made if path.suffix == ".csv"
        ]
        printed = "\n".join([said.out, said.err, " ".join(map(str, made)), *heads])
        return re.sub("[ \n]*\n", "\n", re.sub(" +", " ", FIGURE.sub("#", printed))).strip()

    golden.check("printed.txt", "$ headscope ", say)


ALSO = """
align --choose speech.jsonl -m whisper-tiny
artefacts photos -m vit
bench induction gpt2 --limit 2
card -m gpt2 --limit 4 -o card
cards diff card card
cards site . -o site.html
compare models demo gpt2 ten.txt
import qk.safetensors
lab
links links.jsonl
links de.txt en.txt de-en.align --least 1 --all-heads
links trees.conllu --together --least 2
look wiki.txt
measure a.txt --shard 1/1 -o part.nc
merge part.nc
report -m gpt2 --limit 4 --sections figures --examples 0
similar "The cat sat." "A dog ran." --through 1
similar "The cat sat." --in ten.txt
similar pairs.tsv
skill
skill compare models
view "The cat sat." -m gpt2
view "The cat sat." -m gpt2 --estimate
view --help
why prompts.jsonl -m gpt2
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")
def test_what_commands_answer_is_what_their_schemas_promise(inputs: Path, typed: Typed) -> None:
    Path(inputs, "links.jsonl").write_text(Path(inputs, "links.jsonl").read_text() * 30)
    sees = seeing()
    for part in (sees.module, sees.image_processor):
        part.save_pretrained(inputs / "vit")
    hs.save_qk(recorded_and_own("Llama")[0], inputs / "qk.safetensors")
    printed = re.findall(
        r"^\$ headscope (.*)", (golden.FOLDER / "printed.txt").read_text("utf-8"), re.MULTILINE
    )
    lines = {re.sub(" --?(o|figure|meta|view|roles|map|cite) [^ ]+", "", line) for line in printed}
    schemas = {of["properties"]["format"]["const"]: Draft202012Validator(of) for of in formats().values()}
    answered = {"headscope.serve/1", "headscope.error/1"}  # of test_json.py
    for line in (*sorted(lines), *ALSO.strip().splitlines()):
        said = typed(*shlex.split(line), "--json").out
        answer = json.loads(said, parse_constant=lambda name: pytest.fail(name))
        answered.add(answer["format"])
        faults = [fault.message for fault in schemas[answer["format"]].iter_errors(answer)]
        assert not faults, (line, faults[:3])
    assert answered == {*schemas}
