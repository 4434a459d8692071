"""Treebanks: CoNLL-U, and the ``word head-relation`` lines that Clark et al.'s code reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

from conllu.exceptions import ParseException
from conllu.parser import DEFAULT_FIELDS, parse_dict_value, parse_id_value, parse_int_value

from headscope.core.counts import plural
from headscope.core.kinds import is_tuple
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import validated
from headscope.corpora.corpus import Corpus
from headscope.corpora.example import Example, Unmatched, mentions, withheld
from headscope.corpora.files import Line, Paths, WordError, packaged
from headscope.errors import CorpusError

Words = Literal["syntactic", "surface"]
Relations = Literal["full", "main"]
_COLUMNS = 10
_HEAD = re.compile(r"[0-9]{1,9}|_")
_NEW = re.compile(r"#\s*newdoc\b")
_NEWDOC = "what follows a '# newdoc', each file where there is none"


@validated
def conllu(
    paths: Paths, *, words: Words = "syntactic", relations: Relations = "full", strict: bool = False
) -> Corpus:
    """CoNLL-U: one sentence an example, with heads, relations, tags and, from ``Entity=`` brackets, mentions.

    Args:
        paths: a file or several. ``# newdoc`` begins a document; a file without any is one document, which is
            not known to be one (`Example.document_known`).
        words: ``syntactic`` words (of *don't* ``do`` and ``n't``), or ``surface`` ones: what a multiword token
            spans is one word then, with the head and relation of the part whose head is outside of it. Empty
            nodes are left out.
        relations: as they are (``full``), or without their subtypes (``main``: ``nsubj`` for ``nsubj:pass``).
        strict: refuse broken sentences with a `CorpusError` that names file, line and sentence; else they are left out
            and listed (`Corpus`).

    Broken is: a line that has not 10 columns parted by tabs, ids that do not count from 1, ranges (``1-2``) of words
    that are not there or overlap, a head that is no number, is out of range or is the word itself, no root or two (a
    tree is read from its root), a cycle, a relation that is missing, words that are all ``_`` (a treebank without its
    texts), and entity brackets that are none, or of which nothing says what the cluster is. A mention that does not
    begin and end in one sentence is left out, which is said; a strict corpus refuses its sentence. One that begins or
    ends on an empty node has the words between.

    >>> sentence = next(iter(hs.corpora.conllu("train.conllu")))
    >>> [(sentence.words[place], sentence.relations[place], sentence.heads[place]) for place in (3, 7)]
    [('bridge', 'nsubj:pass', 7), ('closed', 'root', -1)]
    """
    return _corpus(paths, _reader(words, relations, strict=strict), strict, _NEWDOC, (".conllu",))


@validated
def word_heads(paths: Paths, *, strict: bool = False) -> Corpus:
    """One ``word head-relation`` a line, sentences parted by blank lines, head 0 the root (Clark et al.'s code).

    Each sentence is a document of its own. Broken sentences and `strict` are as in `conllu`.

    >>> [(sentence.words, sentence.heads) for sentence in hs.corpora.word_heads("heads.txt")]
    [(['The', 'cat', 'slept'], [1, 2, -1])]
    """
    return _corpus(paths, _pairs, strict, "each sentence")


@validated
def builtin_trees(*, words: Words = "syntactic", relations: Relations = "full") -> Corpus:
    """The sentences of `headscope.corpora.builtin` with hand-made trees and coreference, one an example.

    The trees follow Universal Dependencies v2 as English-EWT has it; a cluster of coreference has at least two
    mentions, of whole noun phrases or pronouns. Arguments as in `conllu`.

    >>> sentence = next(iter(hs.corpora.builtin_trees(relations="main")))
    >>> list(zip(sentence.words, sentence.relations))[:4]
    [('The', 'det'), ('old', 'amod'), ('stone', 'compound'), ('bridge', 'nsubj')]
    """
    read = _reader(words, relations)
    trees = partial(_Sentences(read), packaged("builtin.conllu"))
    return Corpus("built-in treebank", trees, documents=_NEWDOC)


class _WordRows(NamedTuple):
    """The words of a sentence: heads count from 1, 0 is the root."""

    words: list[str]
    heads: list[int]
    relations: list[str]
    lines: list[int]


Read = Callable[[list[Line], "_TreebankState"], Example]


MOST_WORDS = 10_000
"""Lines of a sentence, at most: more are a file whose blank lines are gone."""

MOST_LINES = 1_000_000
"""Lines without a blank one that are held at most."""


@dataclass
class _TreebankState:
    """Where a file is being read: its document, whether the file says so, and the layout of its entities.

    Also what is wrong with brackets that have no partner in their sentence.
    """

    document: int = -1
    known: bool = False
    path: str = ""
    layout: str | None = None
    started: bool = False
    unmatched: list[CorpusError] = field(default_factory=list[CorpusError])


def _reader(words: Words, relations: Relations, *, strict: bool = False) -> Read:
    """What reads a sentence of CoNLL-U with these options."""
    return partial(_sentence, surface=words == "surface", main=relations == "main", strict=strict)


def _corpus(paths: Paths, read: Read, strict: bool, documents: str, suffixes: Sequence[str] = ()) -> Corpus:
    return Corpus.of_files(
        paths,
        _Sentences(read),
        strict=strict,
        expected="expected sentences, found none that can be read",
        documents=documents,
        suffixes=suffixes,
    )


class _Sentences:
    """Reads sentences; says once which mentions it leaves out."""

    def __init__(self, read: Read) -> None:
        self._read, self._unmatched = read, Unmatched()

    def __call__(self, lines: Iterable[Line]) -> Iterator[Callable[[], Example]]:
        state = _TreebankState()
        with self._unmatched.collected() as unmatched:
            for block in _blocks(lines):
                if block[0].path != state.path:
                    path = block[0].path
                    state = _TreebankState(state.document + 1, path=path, unmatched=unmatched)
                yield partial(self._read, block, state)


def _blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Runs of lines between blank ones, of one file each, that hold a word."""
    block: list[Line] = []
    for line in lines:
        if block and line.path != block[0].path:
            yield block
            block = []
        if line.text.strip():
            expect_end(block)
            block.append(line)
        elif any(not held.text.startswith("#") for held in block):
            yield block
            block = []
    if block:
        yield block


def expect_end(block: Sequence[Line]) -> None:
    """Raise `CorpusError` for lines that no blank one ends, of more than are held."""
    if len(block) >= MOST_LINES:
        raise block[0].error(f"expected a blank line after at most {MOST_LINES:,} lines, found none")


def _sentence(
    block: list[Line], state: _TreebankState, *, surface: bool, main: bool, strict: bool
) -> Example:
    lines = [line for line in block if not line.text.startswith("#")]
    metadata = _metadata(block, state)
    name = metadata.get("sent_id", "")

    def fail(line: Line, message: str) -> CorpusError:
        return CorpusError(line.path, line.number, f"sentence {name}: {message}" if name else message)

    if not lines:
        raise fail(block[0], "expected words, found comments only")
    if len(lines) > MOST_WORDS:
        raise fail(lines[0], f"expected at most {MOST_WORDS:,} lines in a sentence, found {len(lines):,}")
    for line in lines:
        if (columns := line.text.count("\t") + 1) != _COLUMNS:
            raise fail(line, f"expected {_COLUMNS} columns parted by tabs, found {columns}")
        if line.text.lstrip().startswith("#"):
            raise fail(line, "expected a comment at the start of its line, found one after white space")
    both: list[tuple[AnyDict, Line]] = []
    for line in lines:
        try:
            both.append((_parse(line.text), line))
        except (ParseException, ValueError) as error:  # Python's own for a number of thousands of digits
            head = line.text.split("\t")[6]
            if not _HEAD.fullmatch(head.strip() or "_"):
                raise fail(line, f"expected a number as head, found {head[:40]!r}") from None
            raise fail(
                line, f"expected CoNLL-U, found a line that cannot be read ({str(error)[:80]})"
            ) from None
    tokens = [token for token, _ in both]
    for token, line in both:
        if token["id"] is None:
            raise fail(line, "expected a word id, found none")
    kept = [(token, line) for token, line in both if isinstance(token["id"], int)]
    if not kept:
        raise fail(lines[0], "expected words, found none")
    treeless = state.layout is not None and all(token["head"] is None for token, _ in kept)
    for expected, (token, line) in enumerate(kept, 1):
        if token["id"] != expected:
            raise fail(line, f"expected the word id {expected}, found {token['id']}")
        if token["head"] is None and not treeless:
            raise fail(line, "expected a head, found _")
    rows = _WordRows(
        [str(token["form"]) for token, _ in kept],
        [] if treeless else [int(token["head"]) for token, _ in kept],
        [str(token["deprel"] or "") for token, _ in kept],
        [line.number for _, line in kept],
    )
    _check_ranges(both, len(kept), fail)
    if (why := withheld(rows.words)) is not None:
        raise fail(lines[0], why)
    if not treeless:
        _check_tree(rows, lambda number, message: fail(kept[number][1], message))
    tags = [str(token["upos"] or "") for token, _ in kept]
    features: list[Mapping[str, str]] = [token["feats"] or {} for token, _ in kept]
    try:
        spans, unmatched = mentions(_entities(tokens), state.layout)
    except WordError as error:
        raise fail(kept[min(error.word, len(kept) - 1)][1], str(error)) from None
    wrong = [fail(kept[min(error.word, len(kept) - 1)][1], str(error)) for error in unmatched]
    if wrong and strict:
        raise wrong[0]
    state.unmatched.extend(wrong)
    example = Example(
        words=rows.words,
        heads=None if treeless else [head - 1 for head in rows.heads],
        relations=None
        if treeless
        else [relation.split(":")[0] if main else relation for relation in rows.relations],
        tags=tags if any(tag != "_" for tag in tags) else None,
        features=features,
        mentions=spans if spans or state.layout is not None else None,
        document=state.document,
        document_known=state.known,
        source=lines[0].source,
        name=name,
        spaces=_spaces(tokens, stated="text" in metadata),
    )
    return _on_surface(example, tokens) if surface else example


def _check_ranges(
    both: Sequence[tuple[AnyMapping, Line]], count: int, fail: Callable[[Line, str], CorpusError]
) -> None:
    """Raise where what a multiword token spans is no range of words, or begins in another one."""
    before = (0, "-", 0)
    for token, line in both:
        number = token["id"]
        if not is_tuple(number) or number[1] != "-":
            continue
        first, _, last = span = number
        if not 1 <= first <= last <= count:
            raise fail(line, f"expected a range of the {plural(count, 'word')} here, found {first}-{last}")
        if first <= before[2]:
            overlap = f"found {first}-{last}, which overlaps it"
            raise fail(line, f"expected a range that begins after {before[0]}-{before[2]}, {overlap}")
        before = span


def _entities(tokens: Sequence[AnyMapping]) -> list[tuple[int, int, str]]:
    """What ``Entity=`` says, and of which words: from which up to which."""
    entities: list[tuple[int, int, str]] = []
    for token in tokens:
        number: Any = token["id"]
        misc: Mapping[str, str] = token["misc"] or {}
        if isinstance(number, int):
            start, end = number - 1, number
        else:  # a range of words, or an empty node behind a word
            start, end = (number[0] - 1, number[2]) if number[1] == "-" else (number[0], number[0])
        entities.append((start, end, misc.get("Entity") or ""))
    return entities


def _spaces(tokens: Sequence[AnyMapping], *, stated: bool) -> list[bool] | None:
    """Whether white space follows each word; None where nothing says so, neither a text nor SpaceAfter=No."""
    spaces: list[bool] = []
    last, after = 0, True
    for token in tokens:
        misc: Mapping[str, str] = token["misc"] or {}
        apart = misc.get("SpaceAfter") != "No"
        number = token["id"]
        if not isinstance(number, int):
            if number[1] == "-":  # what a multiword token says is of the last word in it
                last, after = number[2], apart
            continue
        spaces.append(apart if number > last else after and number == last)
    return spaces if stated or not all(spaces) else None


_VALUES: Mapping[str, Callable[[str], Any]] = {  # the same few stand in most lines; nothing reads the others
    "id": lru_cache(4096)(parse_id_value),
    "feats": lru_cache(4096)(parse_dict_value),
    "head": lru_cache(4096)(parse_int_value),
    "misc": lru_cache(4096)(parse_dict_value),
}


def _parse(line: str) -> AnyDict:
    """The columns of a line, by name; those without anything but white space say ``_``."""
    token: AnyDict = dict(zip(DEFAULT_FIELDS, line.split("\t"), strict=True))
    for name, column in token.items():
        column = column.strip() or "_"
        token[name] = _VALUES[name](column) if name in _VALUES else column
    return token


def _metadata(block: list[Line], state: _TreebankState) -> dict[str, str]:
    """The comments of a sentence; documents and the layout of entities are noted in `place`."""
    metadata: dict[str, str] = {}
    comments = [line.text for line in block if line.text.startswith("#")]
    for comment in comments:
        if match := re.match(r"#\s*([^=\s]+)\s*(?:=\s*(.*))?$", comment):
            metadata[match[1]] = (match[2] or "").strip()
    if any(_NEW.match(comment) for comment in comments):
        state.document += state.started
        state.known = True
    state.started = True
    if "global.Entity" in metadata:
        state.layout = metadata["global.Entity"]
    return metadata


def _pairs(block: list[Line], state: _TreebankState) -> Example:
    rows = _WordRows([], [], [], [])
    if len(block) > MOST_WORDS:
        raise block[0].error(f"expected at most {MOST_WORDS:,} lines in a sentence, found {len(block):,}")
    for line in block:
        match = re.fullmatch(r"(\S+)\s+(-?\w+)-(\S+)", line.text.strip())
        if match is None:
            raise CorpusError(line.path, line.number, f"expected 'word head-relation', found {line.text!r}")
        if match[2] == "_" or not _HEAD.fullmatch(match[2]):
            raise line.error(f"expected a number as head, found {match[2][:40]!r}")
        rows.words.append(match[1])
        rows.heads.append(int(match[2]))
        rows.relations.append(match[3])
        rows.lines.append(line.number)
    if (why := withheld(rows.words)) is not None:
        raise block[0].error(why)
    _check_tree(rows, lambda number, message: CorpusError(block[0].path, rows.lines[number], message))
    state.document += state.started
    state.started = True
    return Example(
        words=rows.words,
        heads=[head - 1 for head in rows.heads],
        relations=rows.relations,
        document=state.document,
        document_known=False,
        source=block[0].source,
    )


def tree_of(
    words: list[str], heads: list[int], relations: list[str], fail: Callable[[str], CorpusError]
) -> AnyMapping:
    """The fields of an example with a tree; `heads` count from 1, and the root's is 0."""
    rows = _WordRows(words, heads, relations, [])
    _check_tree(rows, lambda number, message: fail(f"word {number + 1}: {message}"))
    return {"words": words, "heads": [head - 1 for head in heads], "relations": relations}


def _check_tree(rows: _WordRows, fail: Callable[[int, str], CorpusError]) -> None:
    """Raise where heads and relations are no tree."""
    count = len(rows.words)
    for number, (head, relation) in enumerate(zip(rows.heads, rows.relations, strict=True)):
        if not 0 <= head <= count:
            raise fail(number, f"expected a head from 0 to {count}, found {head}")
        if head == number + 1:
            raise fail(number, f"expected another word as head, found the word itself ({head})")
        if relation in ("", "_"):
            raise fail(number, "expected a relation, found _")
    roots = [number + 1 for number, head in enumerate(rows.heads) if head == 0]
    if len(roots) != 1:
        count_of_roots = f"{len(roots)}: words {', '.join(map(str, roots))}" if roots else "none"
        more = "; a tree has one, from which it is read" if roots else ""
        raise fail(roots[1] - 1 if roots else 0, f"expected one root, found {count_of_roots}{more}")
    below = {0}  # the words that are known to hang on the root, and the root
    for number in range(count):
        path: dict[int, None] = {}
        head = number + 1
        while head not in below:
            if head in path:
                words = list(path)
                cycle = [*words[words.index(head) :], head]
                raise fail(head - 1, f"expected a tree, found a cycle: {' → '.join(map(str, cycle))}")
            path[head] = None
            head = rows.heads[head - 1]
        below.update(path)


def _on_surface(example: Example, tokens: Sequence[AnyMapping]) -> Example:
    """The same sentence with each multiword token as one word."""
    assert example.words is not None
    above = example.heads or [-1] * len(example.words)
    group = list(range(len(example.words)))
    forms: dict[int, str] = {}
    for token in tokens:
        number = token["id"]
        if is_tuple(number) and number[1] == "-":
            first, last = number[0] - 1, number[2] - 1
            group[first : last + 1] = [first] * (last + 1 - first)
            forms[first] = str(token["form"])
    starts = sorted(set(group))
    index = {start: place for place, start in enumerate(starts)}
    where = [index[start] for start in group]
    main = [
        next(
            word
            for word in range(len(group))
            if group[word] == start and (above[word] < 0 or group[above[word]] != start)
        )
        for start in starts
    ]

    def pick(values: Sequence[Any] | None) -> list[Any] | None:
        return None if values is None else [values[word] for word in main]

    heads: list[int] | None = pick(example.heads)
    spans = example.mentions
    return replace(
        example,
        words=[forms.get(start, example.words[start]) for start in starts],
        heads=None if heads is None else [head if head < 0 else where[head] for head in heads],
        relations=pick(example.relations),
        tags=pick(example.tags),
        features=pick(example.features),
        mentions=None
        if spans is None
        else [type(span)(where[span.start], where[span.end - 1] + 1, span.cluster) for span in spans],
        spaces=None
        if example.spaces is None
        else [example.spaces[end - 1] for end in (*starts[1:], len(group))],
    )
