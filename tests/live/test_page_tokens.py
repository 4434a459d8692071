"""The tokenizer of a page that carries its model reads texts as Python's does: ids, pieces, texts and words."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hatch_build import find_node
from headscope import corpora
from headscope.core.words import group
from headscope.live.standalone import tokenizer_info
from headscope.models.encode import encode
from headscope.views.blobs import Blobs, decode
from headscope.views.inputs import piece_labels
from tests.helpers import small_tokenizers

FRONTEND = Path(__file__).resolve().parents[2] / "frontend"
HARD = [
    "Don't stop: it isn't 3.14!",
    "naïve Café – «ÇA» 日本語 🙂👩‍👩‍👧 e\u0301té",
    "  two  spaces\tand\na line ",
    "</script> <b>&amp;</b> [SEP] <s> x",
    "“Lily’s” — well-known… $5,000.00 (50%) #tag @me http://a.b/c?d=e",
    "العربية Ελληνικά русский हिन्दी ไทย",
]
READ = """
import { readFileSync } from "node:fs";
import { Reader } from "%s";
const { info, json, texts } = JSON.parse(readFileSync(0, "utf8"));
const reader = new Reader(info, json);
process.stdout.write(JSON.stringify({ why: reader.check(), read: texts.map(([text, pair]) => reader.read(text, pair, [])) }));
"""


@pytest.fixture(scope="session")
def script(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Node, with what reads texts as the page does."""
    if not (FRONTEND / "node_modules" / "esbuild").is_dir():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "needs frontend/node_modules: `make .venv/npm`"
        )
    node = str(find_node()[0])
    folder = tmp_path_factory.mktemp("reader")
    source = folder / "read.mjs"
    source.write_text(READ % (FRONTEND / "src/live/standalone/tokens.ts"), encoding="utf-8")
    made = folder / "made.mjs"
    options = {
        "entryPoints": [str(source)],
        "outfile": str(made),
        "bundle": True,
        "platform": "node",
        "format": "esm",
    }
    build = f"import * as esbuild from 'esbuild'; await esbuild.build({json.dumps(options)});"
    subprocess.run([node, "--input-type=module", "-e", build], cwd=FRONTEND, check=True)
    return [node, str(made)]


def tokenizers(shared: Path, smollm: Any) -> dict[str, Callable[[], Any]]:
    return {
        "WordPiece": small_tokenizers.demo,
        "byte-level BPE": lambda: smollm.tokenizer,
        "RoBERTa's": small_tokenizers.roberta,
        "SentencePiece BPE": lambda: small_tokenizers.stories(shared),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["WordPiece", "byte-level BPE", "RoBERTa's", "SentencePiece BPE"])
def test_page_reads_as_python_does(kind: str, script: list[str], shared: Path, smollm: Any) -> None:
    tokenizer = tokenizers(shared, smollm)[kind]()
    corpus = corpora.conllu(shared / "data" / "ud_ewt" / "en_ewt-ud-test.conllu")
    sentences = [" ".join(example.words) for example in corpus.examples() if example.words]
    texts: list[tuple[str, str | None]] = [(text, None) for text in [*HARD, *sentences[:2000:4]]]
    texts += [(text, other) for text, other in zip(sentences[:200:2], sentences[1:200:2], strict=True)]
    blobs = Blobs()
    info = tokenizer_info(tokenizer, blobs, [(HARD[0], None)])
    content = json.loads(decode(info["json"], blobs.texts).tobytes())
    given = json.dumps({"info": info, "json": content, "texts": texts})
    answer = json.loads(
        subprocess.run(script, input=given, capture_output=True, text=True, check=True).stdout
    )
    assert answer["why"] is None
    wrong: dict[str, list[Any]] = {}
    for (text, pair), mine in zip(texts, answer["read"], strict=True):
        tokens = encode(tokenizer, text, pair)
        assert tokens.ids is not None
        assert tokens.special_mask is not None
        assert tokens.sequence_ids is not None
        expected = {
            "ids": tokens.ids.tolist(),
            "pieces": piece_labels(tokens),
            "special": tokens.special_mask.tolist(),
            "sequences": tokens.sequence_ids.tolist(),
            "texts": list(tokens.texts or []),
            "words": group(tokens).tolist(),
        }
        if (
            kind == "SentencePiece BPE" and "<s>" in text
        ):  # a space is put before what follows it: letters shift
            del expected["texts"], expected["words"]
        for name, value in expected.items():
            if mine[name] != value:
                wrong.setdefault(name, []).append((text, mine[name], value))
    told = {name: (len(found), found[0]) for name, found in wrong.items()}
    assert not wrong, str(told)[:1500]
