"""A folder with the files and models that the documentation and examples in docstrings name."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.io import wavfile

PAIRS = """Quality\t#1 ID\t#2 ID\t#1 String\t#2 String
1\t1\t2\tThe bank cut its rates on Tuesday .\tOn Tuesday the bank cut its rates .
0\t3\t4\tThe bank cut its rates on Tuesday .\tThe bank kept its rates as they were .
1\t5\t6\tShe sold the old house .\tThe old house was sold by her .
0\t7\t8\tShe sold the old house .\tThe new house was sold to her .
1\t9\t10\tHe missed the last train .\tThe last train left without him .
0\t11\t12\tHe missed the last train .\tThe last train was late .
1\t13\t14\tThe firm hired ten people .\tTen people were hired by the firm .
0\t15\t16\tThe firm hired ten people .\tTen people left the firm .
"""
CHATS = '{"text": "Hello there, who are you?", "pair": "It is me."}\n{"words": ["He", "did", "not", "see"]}\n'
NEWS = """text,article
Rates rose on Tuesday.,1
Banks were not surprised.,1
It rained in the north.,2
"""
SCOPES = '{"words": ["He", "did", "not", "see"], "cue": [2], "scope": [0, 1, 3]}\n'
LINKS = '{"text": "x = 1; print(x)", "links": [{"from": 13, "to": 0, "label": "definition"}]}\n'
CLUSTERS = {
    "id": "tale",
    "sentences": [["Ann", "met", "a", "dog", "."], ["It", "liked", "her", "."]],
    "mention_clusters": [[[0, 0, 1], [1, 2, 3]], [[0, 2, 4], [1, 0, 1]]],
}
WORD_HEADS = "The 2-det\ncat 3-nsubj\nslept 0-root\n"
SPEECH = {"audio": "speech.wav", "words": ["so", "it", "was"], "times": [[0.0, 0.4], [0.4, 0.9], [1.1, 1.5]]}
CONLL2012 = """#begin document (tale); part 000
tale 0 0 He PRP (TOP(S(NP*) - - - - * (1)
tale 0 1 slept VBD (VP*) - - - - * -
tale 0 2 . . *)) - - - - * -

#end document
"""


def few(text: str) -> str:
    """The first two sentences of every document."""
    return "\n\n".join("\n".join(document.split("\n")[:2]) for document in text.strip().split("\n\n"))


PROMPT = {
    "text": "Maria lives in Oslo. Peter bakes. Maria lives in",
    "answer": " Oslo",
    "spans": ["Maria lives in Oslo.", "Peter bakes."],
    "source": 0,
}


def write_corpora(folder: Path) -> None:
    """Write a corpus of every format."""
    data = resources.files("headscope.corpora") / "data"
    text, trees = ((data / f"builtin.{end}").read_text("utf-8") for end in ("txt", "conllu"))
    (folder / "docs").mkdir()
    files = {
        **dict.fromkeys(("wiki.txt", "a.txt", "b.txt"), few(text)),
        **dict.fromkeys(("train.conllu", "dev.conllu", "docs/a.conllu"), trees),
        "pairs.tsv": PAIRS,
        "chats.jsonl": CHATS,
        "news.csv": NEWS,
        "scopes.jsonl": SCOPES * 4,
        "links.jsonl": LINKS,
        "prompts.jsonl": f"{json.dumps(PROMPT)}\n",
        "clusters.jsonl": json.dumps(CLUSTERS) + "\n",
        "de.txt": "das Haus ist klein\n",
        "en.txt": "the house is small\n",
        "de-en.align": "0-0 1-1 2-2 3-3\n",
        "heads.txt": WORD_HEADS,
        "tale.v4_gold_conll": CONLL2012,
        "speech.jsonl": f"{json.dumps(SPEECH)}\n" * 2,
    }
    noise = np.random.default_rng(0).normal(0, 0.1, 27_200)
    for name, color in (("photos/table.png", "brown"), ("photos/apples/red.png", "red")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (32, 24), color).save(folder / name)
    wavfile.write(folder / "speech.wav", 16_000, noise.astype(np.float32))
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")


def write_models(folder: Path) -> None:
    """Write small models under the names of large ones."""
    from headscope.core.demo import demo_folder
    from tests.helpers.small_models import save_gpt2, save_whisper

    save_gpt2(folder / "gpt2", n_positions=256)
    save_whisper(folder / "whisper-tiny")
    (folder / "bert-base-uncased").symlink_to(demo_folder())
