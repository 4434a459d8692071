"""Blocks of whole documents, and batches that depend on the corpus alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.core.tokens import Tokens
from headscope.corpora import Example, blocks
from headscope.corpora.batches import checked
from headscope.corpora.example import content
from headscope.errors import InputError

DOCUMENTS = st.lists(st.lists(st.integers(1, 20), min_size=1, max_size=9), min_size=1, max_size=12)


def examples(documents: list[list[int]]) -> list[Example]:
    """An example for each number, of so many tokens."""
    return [
        Example(document=number, source=f"{number}.{place}", tokens=Tokens(["x"] * size))
        for number, sizes in enumerate(documents)
        for place, size in enumerate(sizes)
    ]


def size(example: Example) -> int:
    return len(example.tokens)


@given(DOCUMENTS, st.integers(1, 12), st.integers(1, 5), st.none() | st.integers(1, 60))
def test_blocks_are_whole_documents_and_all_is_there(
    documents: list[list[int]], block_size: int, batch_size: int, most: int | None
) -> None:
    given_ = examples(documents)
    found = [
        (block.number, list(block))
        for block in blocks(given_, size=block_size, batch_size=batch_size, tokens_per_batch=most)
    ]
    assert [number for number, _ in found] == list(range(len(found)))
    flat = [[one for batch in batches for one in batch] for _, batches in found]
    assert sorted((one for block in flat for one in block), key=given_.index) == given_
    of = {one.document: number for number, block in enumerate(flat) for one in block}
    assert all(of[one.document] == number for number, block in enumerate(flat) for one in block)
    # a block ends with the first document that ends at or after its size-th example
    ends: list[int] = []
    taken = 0
    for _, document in groupby(given_, key=lambda one: one.document):
        taken += len(list(document))
        if taken >= block_size:
            ends.append(taken)
            taken = 0
    assert [len(block) for block in flat] == ends + [taken] * bool(taken)
    for _, batches in found:
        for batch in batches:
            assert 1 <= len(batch) <= batch_size
            assert most is None or len(batch) == 1 or len(batch) * max(map(size, batch)) <= most
            assert [size(one) for one in batch] == sorted(map(size, batch), reverse=True)


@pytest.mark.slow
@given(DOCUMENTS, st.integers(1, 6), st.integers(1, 3))
def test_blocks_may_end_in_the_midst_of_a_document(
    documents: list[list[int]], block_size: int, windows: int
) -> None:
    """All is there in order; a block is as long as it may be, and knows which documents are elsewhere as well."""
    given_ = examples(documents)
    found: list[tuple[list[Example], set[int]]] = []
    for block in blocks(given_, size=block_size, windows=windows):
        read = [one for batch in block for one in batch]
        found.append((sorted(read, key=given_.index), block.open))
    assert [one for own, _ in found for one in own] == given_
    of = [{one.document for one in own} for own, _ in found]
    for number, (own, open_) in enumerate(found):
        others = set().union(*of[:number], *of[number + 1 :])
        assert open_ == of[number] & others
        ends = [
            place
            for place in range(1, len(own) + 1)
            if place == len(own) or own[place].document != own[place - 1].document
        ]
        if number < len(found) - 1:
            whole = [place for place in ends if place >= block_size and place <= windows * block_size]
            goes_on = found[number + 1][0][0].document == own[-1].document
            assert len(own) == (windows * block_size if goes_on else whole[0])
            assert goes_on or len(whole) == 1
        assert len(own) <= windows * block_size


def test_batches_are_sorted_within_a_window() -> None:
    """Seven examples of one document, windows of four: sorted by length in each, ties in their order."""
    (block,) = (list(block) for block in blocks(examples([[3, 9, 3, 5, 1, 2, 8]]), size=4, batch_size=2))
    expected = [["0.1", "0.3"], ["0.0", "0.2"], ["0.6", "0.5"], ["0.4"]]
    assert [[one.source for one in batch] for batch in block] == expected


@given(DOCUMENTS)
def test_batches_do_not_depend_on_how_they_are_read(documents: list[list[int]]) -> None:
    """What is left unread of a block, or a block passed over, changes nothing in the next."""
    given_ = examples(documents)
    whole = [list(block) for block in blocks(given_, size=4, batch_size=2)]
    for number, block in enumerate(blocks(given_, size=4, batch_size=2)):
        if number % 3 == 0:
            assert next(iter(block)) == whole[number][0]
        elif number % 3 == 1:
            assert list(block) == whole[number]
    assert len(whole) == len(list(blocks(given_, size=4, batch_size=2)))


def test_a_block_is_read_once_and_in_time() -> None:
    """A late reader is told so, not given an empty block."""
    found = list(blocks(examples([[1], [1]]), size=1))
    with pytest.raises(
        InputError, match=r"^block 0: expected to be read once and before the next block is asked for$"
    ):
        list(found[0])
    block = next(blocks(examples([[1]])))
    list(block)
    with pytest.raises(InputError, match=r"^block 0: "):
        list(block)


def test_a_long_document_is_read_window_by_window() -> None:
    read = 0

    def stream() -> Iterator[Example]:
        nonlocal read
        for one in examples([[1] * 100]):
            read += 1
            yield one

    block = next(blocks(stream(), size=10, batch_size=5))
    next(iter(block))
    assert read <= 12


def test_nothing_in_nothing_out() -> None:
    assert list(blocks([])) == []


def test_examples_need_tokens() -> None:
    message = r"^x.txt:3: expected an example with tokens: give blocks\(corpus.encoded\(model\)\)$"
    with pytest.raises(InputError, match=message):
        [list(block) for block in blocks([Example(text="a", source="x.txt:3")])]


def test_the_content_of_examples_tells_them_apart(tmp_path: Path) -> None:
    def made(*given: Example) -> bytes:
        return b"|".join(part for example in given for part in content(example))

    tokens = Tokens(["a", "b"], ids=np.array([1, 2]), classes={"user": np.array([True, False])})
    picture = tmp_path / "a.png"
    picture.write_bytes(b"one")
    base = made(Example(tokens=tokens, source="x:1"))
    assert base == made(Example(tokens=tokens, source="moved:7"))
    classes = tokens.classes
    unlike: list[dict[str, Any]] = [
        {"tokens": tokens, "document": 1},
        {"tokens": tokens.with_classes(user=np.array([True, True]))},
        {"tokens": Tokens(["a", "c"], ids=np.array([1, 2]), classes=classes)},
        {"tokens": Tokens(["a", "b"], ids=np.array([1, 3]), classes=classes)},
        {"tokens": Tokens(["a", "b"], type_ids=np.array([1, 2]), classes=classes)},
        {"text": "a"},
        {"text": "a", "pair": "b"},
        {"words": ["a"], "heads": [-1], "relations": ["root"]},
        {"words": ["a"], "heads": [-1], "relations": ["dep"]},
        {"image": picture},
        {"image": np.zeros((2, 2, 3), np.uint8)},
        {"image": np.ones((2, 2, 3), np.uint8)},
        {"audio": (np.zeros(3), 8000)},
        {"audio": (np.zeros(3), 9000)},
    ]
    other = [made(), made(*[Example(tokens=tokens)] * 2), *(made(Example(**fields)) for fields in unlike)]
    picture.write_bytes(b"two")
    other.append(made(Example(image=picture)))
    assert len({base, *other}) == len(other) + 1


@pytest.mark.parametrize(
    ("given", "found"), [("wiki.txt", "a string"), (["a b", "c"], "str"), ([1], "int"), (range(3), "int")]
)
def test_what_is_no_corpus_is_told_so(given: list[Any], found: str) -> None:
    with pytest.raises(
        InputError, match=r"^(examples|examples\[0\]|corpus): expected .*example.*; headscope"
    ):
        list(blocks(given))
    with pytest.raises(InputError, match=rf"corpus: expected a corpus or examples, found {found}; headscope"):
        list(checked(given))
