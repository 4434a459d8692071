"""Files in cuts: all cuts together are the corpus, and each of them can be read without the others."""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headscope import corpora
from headscope.corpora import Corpus, Example
from headscope.corpora.cuts import Cuts, Stretch
from headscope.errors import CorpusError, InputError

Found = tuple[list[Example], list[str]]
"""Examples, and what is said of those that are broken."""

SETTINGS = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def of(read: Callable[[], object]) -> Found:
    examples: list[Example] = []
    broken: list[str] = []
    for item in read():  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
        try:
            examples.append(item() if callable(item) else item)  # pyright: ignore[reportUnknownArgumentType]
        except CorpusError as error:
            broken.append(str(error))
    return examples, broken


def cuts(corpus: Corpus, size: int, reach: int | None) -> Cuts:
    found = corpus.cuts(size, reach)
    assert found is not None
    return found


def read(corpus: Corpus, stretch: Stretch) -> Found:
    part = pickle.loads(pickle.dumps(corpus.stretch(stretch)))
    return list(part.examples()), list(map(str, part.broken))


def bare(example: Example) -> Example:
    return replace(example, document=0)


def check(corpus: Corpus, size: int, reach: int | None) -> list[Found]:
    """Each cut alone, by one who knows nothing of the others, and all in order, are the corpus."""
    in_order = cuts(corpus, size, reach)
    whole, broken = of(corpus._read)  # pyright: ignore[reportPrivateUsage]
    ends = [0]
    found: list[Found] = []
    opened: list[frozenset[int]] = []
    for number in range(len(in_order)):
        stretch = in_order.stretch(number)
        assert stretch == cuts(corpus, size, reach).stretch(number)
        assert stretch.cut.start == ends[-1] <= stretch.cut.end
        ends.append(stretch.cut.end)
        found.append(read(corpus, stretch))
        opened.append(stretch.open)
    assert ends[-1] == corpus.size_hint()
    examples = [example for examples, _ in found for example in examples]
    assert list(map(bare, examples)) == list(map(bare, whole))
    assert [error for _, errors in found for error in errors] == broken
    numbers = [example.document for example in examples]
    assert numbers == sorted(numbers)
    assert [a == b for a, b in pairwise(numbers)] == [a.document == b.document for a, b in pairwise(whole)]
    for document in set(numbers):
        at = [place for place, (own, _) in enumerate(found) if any(one.document == document for one in own)]
        if len(at) > 1:
            assert all(document in opened[place] for place in at)
    return found


LINE = st.sampled_from(
    ["a", "The cat sat.", "", "", " \t", "= Title =", "é😀", "w " * 30, "\ufeff", "\u2028", "= =", "x" * 90]
)
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
SIZES, REACHES = st.integers(9, 90), st.none() | st.integers(1, 4)


@st.composite
def files(draw: st.DrawFn, line: st.SearchStrategy[str] = LINE) -> list[bytes]:
    """One file or several, with ends of any kind, some with a byte order mark, some without an end of the last line."""
    made: list[bytes] = []
    for _ in range(draw(st.integers(1, 3))):
        text = "".join(each + draw(ENDS) for each in draw(st.lists(line, max_size=12)))
        text = draw(st.sampled_from(["", "\ufeff"])) + text
        made.append((text.rstrip("\r\n") if draw(st.booleans()) else text).encode() or b"\n")
    return made


def written(folder: str, contents: Sequence[bytes], suffix: str) -> list[Path]:
    paths = [Path(folder, f"{place}{suffix}") for place in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


@SETTINGS
@given(files(), SIZES, REACHES, st.sampled_from(["blank", "line", "file"]))
def test_text(contents: list[bytes], size: int, reach: int | None, documents: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = written(folder, contents, ".txt")
        check(corpora.text(paths, documents=documents), size, reach)  # pyright: ignore[reportArgumentType]


OBJECT = st.builds(
    lambda name, text: json.dumps({"text": text} | ({} if name is None else {"document": name})),
    st.sampled_from([None, "a", "a", "a", 1, 2, True]),
    st.sampled_from(["one", "two three", "x" * 60, ""]),
)


def once(contents: list[bytes]) -> bool:
    """Whether no document goes on after another has begun."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            of(corpora.jsonl(written(folder, contents, ".jsonl"))._read)  # pyright: ignore[reportPrivateUsage]
        except InputError:
            return False
    return True


@SETTINGS
@given(files(OBJECT | st.sampled_from(["", "{", "1", '{"document": "b"}'])).filter(once), SIZES, REACHES)
def test_json_lines(contents: list[bytes], size: int, reach: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(corpora.jsonl(written(folder, contents, ".jsonl")), size, reach)


WORD = "1\tgo\t_\tVERB\t_\t_\t0\troot\t_\t{}"
TREE = st.sampled_from(
    [
        WORD.format("_"),
        WORD.format("Entity=(e1-person-1)"),
        WORD.format("_").replace("root", "_"),
        "",
        "",
        "",
        "# newdoc id = d",
        "# sent_id = s",
        "# global.Entity = eid-etype-head",
        "# global.Entity = eid",
        "#",
    ]
)


@SETTINGS
@given(files(TREE), st.integers(30, 200), REACHES)
def test_conllu(contents: list[bytes], size: int, reach: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(corpora.conllu(written(folder, contents, ".conllu")), size, reach)


@SETTINGS
@given(files(st.sampled_from(["The 2-det", "go 0-root", "# 1-x", "", "", "go 9-root"])), SIZES, REACHES)
def test_word_heads(contents: list[bytes], size: int, reach: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(corpora.word_heads(written(folder, contents, ".txt")), size, reach)
