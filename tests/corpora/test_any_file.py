"""Whatever a file holds, a reader reads it, or says with file and line why not."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headscope import corpora
from headscope.corpora.treebank import MOST_WORDS
from headscope.errors import CorpusError

ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n \t\n", "\u2028", "\x0b", "\x85"])
LETTERS = st.text(st.characters(), max_size=12) | st.sampled_from(
    ["", " ", "\0", "\ufeff", "\u200b", "\x1b[0m", "a b", "_"]
)
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)


@st.composite
def encoded(draw: st.DrawFn, lines: st.SearchStrategy[str]) -> bytes:
    """Lines, with ends of any kind, in an encoding that may be another than UTF-8; perhaps cut."""
    text = "".join(line + draw(ENDS) for line in draw(st.lists(lines, max_size=8)))
    coding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    content = text.encode(coding, "replace" if coding == "latin-1" else "surrogatepass")
    return content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | LETTERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["text", "pair", "words", "pair_words", "tokens", "tags", "label", "document", "cue", "scope"]
)
OBJECTS = st.dictionaries(KEYS, VALUES | st.lists(WORDS, max_size=3) | WORDS, max_size=3).map(json.dumps)
END = st.integers(-1, 4) | st.lists(st.integers(-1, 4), max_size=3)
LINK = st.fixed_dictionaries(
    {"from": END, "to": END},
    optional={
        "label": WORDS | VALUES,
        "from_text": st.sampled_from(["a", "b"]) | VALUES,
        "to_text": st.sampled_from(["a", "b"]),
        "candidates": st.lists(END, max_size=3) | VALUES,
        "possible": st.booleans() | VALUES,
    },
)
LINKED = st.fixed_dictionaries(
    {"links": st.lists(LINK | VALUES, max_size=3) | VALUES},
    optional={key: st.lists(WORDS, max_size=3) | WORDS for key in ("text", "pair", "words", "tokens")},
).map(json.dumps)
ALIGNED = st.lists(
    st.sampled_from(["0-0", "0?1", "1p0", "1-1", "9-9", "0-", "²-0", "9" * 30 + "-0"]) | LETTERS, max_size=4
).map(" ".join)
NESTED = st.integers(1, 3000).map(lambda depth: '{"text": ' + "[" * depth + "]" * depth + "}")
CELL = st.sampled_from(
    [
        "1",
        "2",
        "0",
        "-1",
        "9" * 30,
        "1-2",
        "1.1",
        "x",
        "",
        "_",
        "a=b",
        "Entity=(e1",
        "Entity=e1)",
        "Entity=)(",
        "#",
        "²",
    ]
)
COLUMNS = st.one_of(
    st.lists(CELL | LETTERS, min_size=1, max_size=12).map("\t".join),
    st.tuples(CELL, WORDS, CELL, CELL, CELL, CELL, CELL, CELL, CELL, CELL).map("\t".join),
    st.integers(1, 4).map(lambda number: f"{number}\tword\t_\tNOUN\t_\t_\t{number - 1}\tdep\t_\t_"),
    st.sampled_from(["# newdoc", "# sent_id = x", "# global.Entity = eid-head", "", "# text = a"]),
)
CONLL = st.one_of(
    st.lists(CELL | WORDS, min_size=1, max_size=14).map(" ".join),
    st.sampled_from(
        [
            "#begin document (a); part 000",
            "#end document",
            "",
            "a 0 0 it PRP * - - - - * (1)",
            "a 0 0 it PRP * - - - - * 1)",
        ]
    ),
)
SPANS = st.lists(st.lists(st.lists(st.integers(-1, 4), max_size=3) | VALUES, max_size=2), max_size=2) | VALUES
DOCUMENT = st.dictionaries(
    st.sampled_from(["sentences", "mention_clusters", "clusters", "id"]),
    SPANS | st.lists(st.lists(WORDS | VALUES, max_size=4), max_size=3),
    max_size=3,
).map(json.dumps)
BARE = st.tuples(CELL, WORDS, CELL | st.sampled_from(["(1", "1)", "(1)", "(1(2)", "1)2)", "(1|2)"])).map(
    "\t".join
)
READERS: dict[str, tuple[str, Callable[[str], Any], st.SearchStrategy[str]]] = {
    "text": (".txt", corpora.text, LETTERS),
    "lines": (".txt", lambda path: corpora.text(path, pack=None, documents="line"), LETTERS),
    "jsonl": (".jsonl", corpora.jsonl, OBJECTS | VALUES.map(json.dumps) | NESTED | LETTERS),
    "negations": (".jsonl", corpora.negations, OBJECTS),
    "links": (".jsonl", corpora.links, LINKED | OBJECTS),
    "alignments": (".align", lambda path: corpora.alignments(path, path, path), ALIGNED),  # its own words
    "pairs-tsv": (".tsv", corpora.pairs, st.just("label\ttext") | st.lists(LETTERS, max_size=4).map("\t".join)),
    "pairs-csv": (".csv", corpora.pairs, st.just("label,text") | st.lists(LETTERS | st.just('"'), max_size=4).map(",".join)),
    "pairs-jsonl": (".jsonl", corpora.pairs, OBJECTS),
    "conllu": (".conllu", corpora.conllu, COLUMNS),
    "conllu-surface": (".conllu", lambda path: corpora.conllu(path, words="surface", relations="main"), COLUMNS),
    "conll2012": (".v4_gold_conll", corpora.conll2012, CONLL),
    "columns": (".conll", corpora.conll2012, BARE | st.sampled_from(["# begin document x", "", "# end document"])),
    "clusters": (".jsonl", corpora.clusters, DOCUMENT),
    "json": (".json", corpora.jsonl, OBJECTS | st.sampled_from(["[", ",", "]", '"a"', "{"])),
    "word-heads": (".txt", corpora.word_heads, st.lists(CELL | st.just("3-nsubj") | st.just("0-root"), max_size=3).map(" ".join)),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@settings(
    max_examples=int(os.environ.get("EXAMPLES", "60")),
    deadline=None,
    derandomize="EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_it_is_read_or_refused_with_file_and_line(folder: Path, name: str, data: st.DataObject) -> None:
    suffix, make, lines = READERS[name]
    path = folder / f"file{suffix}"
    path.write_bytes(data.draw(encoded(lines)))
    refused: CorpusError | None = None
    examples: list[Any] = []
    with warnings.catch_warnings(action="ignore"):
        try:
            examples = list(make(str(path)))
        except CorpusError as error:
            refused = error
    if refused is None:
        assert examples
        for example in examples:
            assert (example.text or "").strip() or example.words or example.pieces
        return
    said = str(refused)
    assert said.startswith(f"{path}:")
    assert "expected" in said
    assert "\n" not in said
    assert refused.line is None or 1 <= refused.line <= path.read_bytes().count(b"\n") + 1


def chain(count: int) -> str:
    return "".join(f"{word}\ta\t_\tX\t_\t_\t{word - 1}\tdep\t_\t_\n" for word in range(1, count + 1)) + "\n"


@pytest.mark.slow
def test_a_deep_tree_is_read_in_time_that_grows_with_its_words(tmp_path: Path) -> None:
    """Once 8,000 words took hours; what is asserted is that it ends, beside a cycle at its far end."""
    path = tmp_path / "deep.conllu"
    path.write_text(chain(8000))
    (example,) = corpora.conllu(path)
    assert example.heads == [*range(-1, 7999)]


@pytest.mark.parametrize("make", [corpora.conllu, corpora.word_heads])
def test_a_sentence_without_end_is_refused_before_work(tmp_path: Path, make: Callable[..., Any]) -> None:
    path = tmp_path / "megabyte.conllu"
    path.write_text(
        chain(1) + chain(60_000) if make is corpora.conllu else "a 0-root\n\n" + "a 1-dep\n" * 60_000
    )
    with pytest.raises(
        CorpusError, match=rf":3: expected at most {MOST_WORDS:,} lines in a sentence, found 60,000"
    ):
        list(make(path, strict=True))
