"""What reading a corpus costs beside its tokenizer's bare `encode_batch` of the same lines, as ratios in one run.

    python benchmarks/reader.py                the text of the built-in corpus, again and again
    python benchmarks/reader.py wiki.txt       one line a paragraph or sentence; -m for another model's tokenizer

The reader is that of `headscope measure`: lines read from the file, tokenized, packed into inputs of 128 or of 512
tokens, or one input a line, with the classes, texts and offsets of their pieces. `encode_batch` is given the lines in
memory, 512 at a time, and its encodings are dropped. Both have one thread. Time is that of the process; runs alternate,
after one of each to warm up; what is told is the median of the ratios, and how far they lie apart.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")

import headscope as hs
from headscope.models import Model

PACKS = 128, 512, None
BATCH = 512
LEAST = 1_000_000
"""Bytes of the text that is made of the built-in corpus."""


def built_in(folder: Path, least: int = LEAST) -> Path:
    """The built-in corpus, as often as makes so many bytes, a blank line between documents."""
    documents: dict[int, list[str]] = {}
    for example in hs.corpora.builtin(pack=None):
        documents.setdefault(example.document, []).append(example.text or "")
    once = "".join("\n".join(lines) + "\n\n" for lines in documents.values())
    path = folder / "built-in.txt"
    path.write_text(once * -(-least // len(once.encode())), encoding="utf-8")
    return path


def bare(model: Model, lines: list[str]) -> Callable[[], object]:
    """The tokenizer's own call, over all lines."""
    tokenizer: Any = model.tokenizer
    backend = tokenizer.backend_tokenizer

    def run() -> None:
        for start in range(0, len(lines), BATCH):
            backend.encode_batch(lines[start : start + BATCH])

    return run


def reader(model: Model, path: Path, pack: int | None) -> Callable[[], object]:
    """The corpus as `headscope measure` reads it."""

    def run() -> None:
        for _ in hs.corpora.text(path, pack=pack).encoded(model):
            pass

    return run


def compare(model: Model, path: Path, repeats: int) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    tokenizer: Any = model.tokenizer
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    pieces = sum(map(len, tokenizer.backend_tokenizer.encode_batch(lines, add_special_tokens=False)))
    print(
        f"{path.name}: {path.stat().st_size:,} bytes, {len(lines):,} lines, {pieces:,} pieces; {model.name}"
    )
    packs = [pack for pack in PACKS if pack is None or model.max_length is None or pack <= model.max_length]
    runs = [bare(model, lines), *(reader(model, path, pack) for pack in packs)]
    seconds: list[list[float]] = [[] for _ in runs]
    for repeat in range(repeats + 1):
        for own, run in zip(seconds, runs, strict=True):
            started = time.process_time()
            run()
            if repeat:
                own.append(time.process_time() - started)
    base = seconds[0]
    print(f"encode_batch: {pieces / statistics.median(base):,.0f} pieces a second")
    for pack, own in zip(packs, seconds[1:], strict=True):
        ratios = [a / b for a, b in zip(base, own, strict=True)]
        name = "one input a line" if pack is None else f"packed to {pack}"
        rate = pieces / statistics.median(own)
        print(
            f"{name}: {rate:,.0f} pieces a second, {statistics.median(ratios):.2f} of it "
            f"({min(ratios):.2f} to {max(ratios):.2f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, nargs="?")
    parser.add_argument("-m", "--model", help="whose tokenizer; by default the demo model's")
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    model = hs.load(asked.model) if asked.model else hs.load()
    with tempfile.TemporaryDirectory() as folder:
        compare(model, asked.path or built_in(Path(folder)), asked.repeats)


if __name__ == "__main__":
    main()
