"""Good files, broken at random: each reader reads them or says in one line why not, and reads nothing that is not there.

``MUTATED=200`` breaks as many files for each reader; a few by default.
"""

from __future__ import annotations

import bz2
import gzip
import html
import io
import json
import lzma
import os
import random
import signal
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
from PIL import Image
from scipy.io import wavfile

import headscope as hs
from headscope import corpora
from headscope.analyses.links.coref.statistics import annotated as mentions_of
from headscope.analyses.patching.pairs import read as read_patching
from headscope.analyses.probes.gather import read_vectors
from headscope.console import sources
from headscope.core.link import Span
from headscope.corpora import Corpus, Example
from headscope.errors import CorpusError, HeadscopeWarning, InputError
from tests.corpora.test_clusters import FLAT, GUM, LITBANK, PRECO
from tests.helpers.dice import dice
from tests.helpers.patience import PATIENCE
from tests.helpers.small_tokenizers import demo
from tests.helpers.workspace import CHATS, CONLL2012, LINKS, NEWS, PAIRS, SCOPES, WORD_HEADS, few

COUNT = int(os.environ.get("MUTATED", "5"))
DATA = resources.files("headscope.corpora") / "data"
TEXT = few((DATA / "builtin.txt").read_text("utf-8"))
TREES = "\n\n".join((DATA / "builtin.conllu").read_text("utf-8").split("\n\n")[:6]) + "\n"
RANGES = (
    "# newdoc\n# global.Entity = eid-etype-head\n1-2\tim\t" + "_\t" * 7 + "_\n1\tin\t_\tADP\t_\t_\t3\tcase\t_\tEntity=(e1-x-1\n"
    "2\tdem\t_\tDET\t_\tCase=Dat\t3\tdet\t_\t_\n2.1\tx\t" + "_\t" * 7 + "Entity=(e2-x-1)\n3\tHaus\t_\tNOUN\t_\t_\t0\troot\t_\tEntity=e1)|SpaceAfter=No\n\n"
)  # fmt: skip
LOGS = '{"prompt_token_ids": [101, 2003, 102], "token_ids": [2004, 2005]}\n{"prompt_token_ids": [5, 6]}\n'
RECORDS = json.dumps(
    [{"text": f"Text {number}.", "label": number} for number in range(5)] + ["A text."], indent=1
)
ROWS = [{"text": f"Row {number} says so.", "document": number // 2} for number in range(40)]
VECTORS = "the 0.1 0.2 0.3\ncat -1 2e-3 4\ndog 0 0 1\n"
PATCHING = "".join(
    line + "\n" for line in (DATA / "indirect_objects.jsonl").read_text("utf-8").split("\n")[:4]
)
IMAGES = (
    json.dumps({"image": "a.png", "text": "A table.", "links": [{"from": [2, 7], "box": [1, 2, 20, 20]}]})
    + "\n"
)
SPOKEN = json.dumps({"audio": "s.wav", "words": ["so", "it"], "times": [[0.0, 0.4], [0.4, 0.9]]}) + "\n"

Read = Callable[[Path], Any]
LIKE: list[bytes] = [
    *(b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\r", b"\t", b"\n", b"\n\n", b" ", b'"', b"'", b"\\", b"\\ud800"),
    *(b"(", b")", b"[", b"]", b"{", b"}", b",", b"-", b"_", b"#", b"|", b"(1", b"1)", b"(e1[1/2]-x", b"e1)"),
    *(b"-1", b"0", b"1", b"9" * 30, b"9" * 5000, b"1e999", b"NaN", b"null", b"true", b"1.5", b"2-1", b"1-9", b"3.1"),
    *(b"[" * 3000, b"(" * 3000, b"x" * 70_000, b"\xe2\x80\xa8", b"\xe2\x80\x8b", b"\xcc\x81", b"\x1b[0m", b"\xc2\x85"),
    *(b"# newdoc\n", b"# global.Entity = x\n", b"#begin document (a); part 000\n", b"#end document\n", b"[CLS]", b"<s>"),
]  # fmt: skip


def parquet(kind: str) -> bytes:
    arrow = pytest.importorskip("pyarrow")
    place, rows = io.BytesIO(), arrow.Table.from_pylist(ROWS)
    if kind == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(rows, place)
    else:
        formats = pytest.importorskip("pyarrow.ipc")
        with (formats.new_file if kind == ".arrow" else formats.new_stream)(place, rows.schema) as writer:
            writer.write_table(rows)
    return place.getvalue()


@cache
def decoder() -> Any:
    """A model that predicts, with a vocabulary of words, for prompts that differ in a word."""
    tokenizer = demo()
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, n_positions=64
    )
    return hs.load((transformers.GPT2LMHeadModel(config).eval(), tokenizer))


def spoken(path: Path) -> Corpus:
    wavfile.write(path.with_name("s.wav"), 16_000, np.zeros(16_000, np.int16))
    return corpora.spoken(path)


def pictured(path: Path) -> Corpus:
    Image.new("RGB", (32, 24), "brown").save(path.with_name("a.png"))
    return (corpora.images if "image " in path.name else corpora.links)(path)


def console(path: Path) -> Corpus:
    return sources.ReadingOptions().of([path])


def trees(path: Path) -> Corpus:
    return sources.annotated([path], None, clusters=True)


def linked(path: Path) -> Corpus:
    return sources.linked([path], None)


def aligned(path: Path) -> Corpus:
    words = path.with_suffix(".words")
    words.write_text("das Haus ist klein\n" * 3)
    return corpora.alignments(words, words, path)


ROWED = ("parquet", "arrow", "arrow stream")
READERS: dict[str, tuple[str, str | Callable[[], bytes], Read]] = {
    "text": (".txt", TEXT, corpora.text),
    "text lines": (".md", TEXT, console),
    "jsonl": (".jsonl", CHATS * 3, corpora.jsonl),
    "jsonl logs": (".jsonl", LOGS * 3, console),
    "json": (".json", RECORDS, console),
    "json of one line": (".dat", json.dumps(json.loads(RECORDS)), console),
    "csv": (".csv", NEWS, console),
    "tsv": (".tsv", PAIRS, console),
    "pairs tsv": (".tsv", PAIRS, corpora.pairs),
    "pairs csv": (".csv", PAIRS.replace("\t", ","), corpora.pairs),
    "pairs json": (".json", '[{"text_a": "A b.", "text_b": "C.", "label": 1}]', corpora.pairs),
    "parquet": (".parquet", lambda: parquet(".parquet"), console),
    "arrow": (".arrow", lambda: parquet(".arrow"), console),
    "arrow stream": (".arrow", lambda: parquet(""), console),
    "conllu": (".conllu", TREES, trees),
    "conllu ranges": (".conllu", RANGES * 3, lambda path: corpora.conllu(path, words="surface", relations="main")),
    "conllu text": (".conll", TREES, console),
    "word heads": (".txt", (WORD_HEADS + "\n") * 4, trees),
    "conll2012": (".v4_gold_conll", CONLL2012 * 3, trees),
    "litbank": (".conll", LITBANK * 2, trees),
    "gum": (".conll", GUM * 2, trees),
    "clusters": (".jsonl", (json.dumps(PRECO) + "\n" + json.dumps(FLAT) + "\n") * 2, trees),
    "links": (".jsonl", LINKS * 4, linked),
    "negations": (".jsonl", SCOPES * 4, corpora.negations),
    "alignments": (".align", "0-0 1-1 2?3\n1-1 0-0\n3-3 2p2\n", aligned),
    "images": ("image .jsonl", IMAGES * 3, pictured),
    "linked pictures": (".jsonl", IMAGES * 3, pictured),
    "spoken": (".jsonl", SPOKEN * 3, spoken),
    "vectors": (".vec", VECTORS, lambda path: read_vectors(path, {"the": 0, "cat": 1})),
    "patching": (".jsonl", PATCHING, lambda path: read_patching(decoder(), path)),
}  # fmt: skip


def mutated(content: bytes, throw: random.Random) -> bytes:
    """Content with one to three changes, each of which may break it; perhaps compressed, or in another coding."""
    for _ in range(throw.randint(1, 3)):
        content = changed(content, throw) or b" "
    if not throw.randrange(6):
        content = throw.choice([gzip.compress, bz2.compress, lzma.compress, _zip, _utf16])(content)
        content = mutated(content, throw) if not throw.randrange(3) else content
    return content


def changed(content: bytes, throw: random.Random) -> bytes:
    place, other = sorted(throw.randrange(len(content) + 1) for _ in range(2))
    other = min(other, place + throw.choice([1, 3, 30, 3000]))
    lines = content.split(b"\n")
    first, second = sorted(throw.randrange(len(lines)) for _ in range(2))
    like = throw.choice(LIKE)
    swapped = [*lines[:first], lines[second], *lines[first + 1 : second], lines[first], *lines[second + 1 :]]
    return throw.choice(
        [
            content[:place] + like + content[place:],
            content[:place] + like + content[other:],
            content[:place] + content[other:],
            content[:other] + content[place:],
            content[:place] + bytes([throw.randrange(256)]) + content[place + 1 :],
            content[:place],
            b"\n".join(swapped),
            b"\n".join(lines[:first] + lines[first + 1 :]),
            b"\n".join([*lines[:first], like, *lines[first:]]),
            content.replace(throw.choice([b"\t", b'"', b"\n", b" ", b","]), throw.choice(LIKE[:20])),
        ]
    )


def _zip(content: bytes) -> bytes:
    place = io.BytesIO()
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", content)
    return place.getvalue()


def _utf16(content: bytes) -> bytes:
    return content.decode("utf-8", "replace").encode("utf-16")


@contextmanager
def ended() -> Generator[None]:
    """Fail where the block does not end."""

    def late(*_: Any) -> None:
        raise AssertionError(f"no answer in {PATIENCE:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def unpacked(content: bytes) -> str:
    """All that a file may say, as text, its escapes and entities resolved."""
    for opens in (gzip.decompress, bz2.decompress, lzma.decompress):
        try:
            return unpacked(opens(content))
        except (OSError, EOFError, ValueError, lzma.LZMAError):
            continue
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return unpacked(archive.read(archive.namelist()[0]))
    coding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return content.decode(coding, "replace")


def check(example: Example, said: str) -> None:
    """Whether all that is said of an example is within it, and its words are in the file."""
    assert example.tokens or example.audio is not None or example.image is not None
    words = example.words or ()
    for field in ("tags", "heads", "relations", "features", "spaces"):
        value = getattr(example, field)
        assert value is None or len(value) == len(words), field
    assert all(-1 <= head < len(words) for head in example.heads or ())
    assert example.heads is None or -1 in example.heads
    assert all(0 <= start < end <= len(words) for start, end, _ in example.mentions or ())
    for place in (*(example.cue or ()), *(example.scope or ())):
        assert 0 <= place < len(words)
    for link in example.links or ():
        for span in link.spans:
            assert not isinstance(span, Span) or 0 <= span.start < span.end
    if example.mentions is not None:
        mentions_of(example)
    for text in (*words, *(example.pair_words or ())):
        assert any(form in said for form in (text, json.dumps(text)[1:-1], html.escape(text, quote=False)))


def outcome(read: Read, path: Path, model: Any) -> tuple[InputError | None, list[Example]]:
    """Why a file is refused, or its examples with their tokens."""
    with warnings.catch_warnings(action="error"), ended():
        warnings.simplefilter("ignore", HeadscopeWarning)
        try:
            found = read(path)
            corpus = found if isinstance(found, Corpus) else None
            plain = corpus is not None and any(each.audio or each.image is not None for each in corpus)
            examples = [] if corpus is None else list(corpus if plain else corpus.encoded(model))
        except InputError as error:
            return error, []
    assert examples or corpus is None or corpus.counts.empty
    return None, examples


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")
@pytest.mark.parametrize("name", READERS)
def test_a_broken_file_is_read_or_refused(name: str, tmp_path: Path, demo: Any) -> None:
    suffix, made, read = READERS[name]
    whole = made() if callable(made) else made.encode()
    throw = dice(sum(name.encode()))
    counts = Counter[str]()
    for number in range(COUNT + 1):
        path = tmp_path / f"{number}{suffix}"
        content = mutated(whole, throw) if number else whole
        path.write_bytes(content)
        try:
            refused, examples = outcome(read, path, demo)
            assert refused is None or (number and "\n" not in str(refused)), refused
            assert not isinstance(refused, CorpusError) or str(refused).startswith(str(tmp_path)), refused
            if examples and name not in ROWED:
                said = unpacked(content) + "das Haus ist klein"
                for example in examples:
                    check(example, said)
        except BaseException:
            print(f"{path}: {content[:2000]!r}")
            raise
        counts["read" if refused is None else "refused"] += 1
        path.unlink()
    print(f"{name}: {dict(counts)}")
