"""Known files that are no JSON: tables, marked sentences, annotation beside a text, times of speech, sequences."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, groupby
from pathlib import Path
from typing import Any

from headscope.core.types import AnyDict
from headscope.corpora.jsonlines import string
from headscope.corpora.shapes.rows import KeyedValues, Made, Skip, neighbour, objects_in, rows_from
from headscope.corpora.sources import Line
from headscope.errors import CorpusError

_PRONOUN = re.compile(r"(?:s?he|hers?|him|his|they|them|theirs?)", re.IGNORECASE)
_BRACKET = re.compile(r"\[\s*([^\[\]]*?)\s*\]")
_MARK = re.compile(r"</?e([12])>")
_RATE = 16_000  # samples a second of TIMIT


def _gap(row: KeyedValues) -> Iterator[AnyDict]:
    text = row.text("Text")
    spans: AnyDict = {}
    for name in ("Pronoun", "A", "B"):
        offset = row.text(f"{name}-offset")
        if not offset.isdecimal() or not offset.isascii():
            raise row.fail(f"'{name}-offset': expected a number of characters, found {offset!r}")
        spans[name] = row.stretch(text, row.text(name), int(offset[:12]))
    right = [name for name in ("A", "B") if row.text(f"{name}-coref").upper() == "TRUE"]
    if not right:
        row.skip("a pronoun of which neither candidate is right")
    pronoun = {"from": spans["Pronoun"], "label": "pronoun", "candidates": [spans["A"], spans["B"]]}
    yield {"text": text, "links": [{**pronoun, "to": spans[name]} for name in right]}


gap = rows_from(_gap, ".tsv")


def winobias(lines: Iterable[Line], skip: Skip) -> Made:
    """A sentence a line, with mentions in brackets: each pronoun is linked with the first that is none."""
    for line in lines:
        content = re.sub(r"^\d+ ", "", line.text.strip())
        text, spans, before = "", list[list[int]](), 0
        for mention in _BRACKET.finditer(content):
            text += content[before : mention.start()]
            spans.append([len(text), len(text) + len(mention[1])])
            text, before = text + mention[1], mention.end()
        text += content[before:]
        if not text.strip():
            continue
        pronouns = [span for span in spans if _PRONOUN.fullmatch(text[slice(*span)])]
        named = [span for span in spans if span not in pronouns and span[0] < span[1]]
        if not pronouns or not named:
            skip("a sentence without a pronoun and another mention in brackets")
        links = [{"from": span, "to": named[0], "label": "pronoun"} for span in pronouns if named]
        yield line, {"text": text, "links": links}


def semeval(lines: Iterable[Line], skip: Skip) -> Made:
    """A numbered sentence with two marked entities, its relation on the next line, and a comment."""
    sentence: Line | None = None
    for line in lines:
        numbered = re.match(r"\d+\t", line.text)
        if numbered:
            if sentence is not None:
                yield sentence, sentence.error("expected a relation on the next line, found another sentence")
            sentence = line
        elif sentence is not None and line.text.strip():
            yield sentence, _related(sentence, line.text.strip(), skip)
            sentence = None
    if sentence is not None:
        yield sentence, sentence.error("expected a relation on the next line, found the end")


def _related(line: Line, relation: str, skip: Skip) -> AnyDict | CorpusError:
    content = line.text.partition("\t")[2].strip().removeprefix('"').removesuffix('"')
    text, at, marks = "", 0, list[tuple[str, int]]()
    for mark in _MARK.finditer(content):
        text, at = text + content[at : mark.start()], mark.end()
        marks.append((mark[0], len(text)))
    text += content[at:]
    places = dict(marks)
    if sorted(places) != ["</e1>", "</e2>", "<e1>", "<e2>"] or len(marks) != 4:
        return line.error("expected <e1>…</e1> and <e2>…</e2>, each once, found others")
    named = re.fullmatch(r"(.+?)(?:\(e([12]),e([12])\))?", relation)
    links: list[AnyDict] = []
    if named is None or named[2] is None or named[2] == named[3]:
        skip(f"a relation without a direction ({relation[:40]})")
    else:
        ends = [[places[f"<e{end}>"], places[f"</e{end}>"]] for end in named.group(2, 3)]
        links.append({"from": ends[0], "to": ends[1], "label": named[1]})
    return {"text": text, "links": links}


def _annotated_text(path: str) -> str:
    """The text of the file of the same name that ends in .txt."""
    name = f"{Path(path.removesuffix('.gz')).stem}.txt"
    files = neighbour(path, name, f"its text in {name}")
    return "".join(part.text for part in files.lines(files.paths[0], 1 << 16))


_ENTITY = re.compile(r"(T\d+)\t(\S+) (\d+ \d+(?:;\d+ \d+)*)\t(.*)")
_RELATION = re.compile(r"R\d+\t(\S+) \w+:(T\d+) \w+:(T\d+)\s*")
_CHAIN = re.compile(r".+-\d+")


def _brat(given: Sequence[Line], skip: Skip) -> tuple[str, dict[str, tuple[str, int, int]], list[Any]]:
    """The text, its entities by their names, and its relations."""
    text = _annotated_text(given[0].path)
    entities: dict[str, tuple[str, int, int]] = {}
    relations: list[Any] = []
    for line in given:
        if (entity := _ENTITY.fullmatch(line.text)) is not None:
            if ";" in entity[3]:
                skip("a mention in several pieces")
                continue
            start, end = (int(number[:12]) for number in entity[3].split())
            if text[start:end] != entity[4] or start >= end:
                here = text[start : start + len(entity[4])]
                raise line.error(f"expected {entity[4]!r} at character {start} of the text, found {here!r}")
            entities[entity[1]] = entity[2], start, end
        elif (relation := _RELATION.fullmatch(line.text)) is not None:
            relations.append(relation.groups())
        elif line.text.strip():
            skip(f"an annotation of another kind ({line.text[:1]})")
    return text, entities, relations


def chains(lines: Iterable[Line], skip: Skip) -> Made:
    """Chains of mentions (LitBank): labels that end in a number, on a text of a sentence a line."""
    first, *_ = given = [*lines]
    text, entities, _ = _brat(given, skip)
    words = [(word[0], *word.span()) for word in re.finditer(r"\S+", text)]
    sentences = [
        [word[0] for word in group] for _, group in groupby(words, lambda word: text.count("\n", 0, word[1]))
    ]
    clusters: dict[str, list[list[int]]] = {}
    for label, start, end in entities.values():
        if _CHAIN.fullmatch(label):
            inside = [at for at, (_, begins, ends) in enumerate(words) if begins < end and start < ends]
            if inside:
                clusters.setdefault(label, []).append([inside[0], inside[-1]])
    none = first.error("expected labels of chains such as Name-1, found none")
    named = {"doc_key": Path(first.path).stem, "sentences": sentences, "clusters": [*clusters.values()]}
    yield first, named if clusters else none


def related(lines: Iterable[Line], skip: Skip) -> Made:
    """Relations between entities, as links of a text."""
    text, entities, relations = _brat(given := [*lines], skip)
    links: list[AnyDict] = []
    for label, source, target in relations:
        if source not in entities or target not in entities:
            skip("a relation of a mention that is not read")
            continue
        links.append({"from": [*entities[source][1:]], "to": [*entities[target][1:]], "label": label})
    yield given[0], {"text": text.rstrip("\n"), "links": links}


def _spoken(line: Line, name: str, words: Sequence[tuple[Any, Any, str]]) -> tuple[Line, AnyDict]:
    """A row of a recording of this name, from the beginning, the end and the word of each."""
    times = [[begin, end] for begin, end, _ in words]
    return line, {"audio": f"{name}.wav", "words": [word for _, _, word in words], "times": times}


def ctm(lines: Iterable[Line], skip: Skip) -> Made:
    """Recording, channel, beginning, duration and word; lines of one recording make a row."""
    timed = (line for line in lines if line.text.strip() and not line.text.startswith(";;"))
    for name, group in groupby(timed, lambda line: line.text.split()[0]):
        first, *_ = given = [*group]
        words: list[tuple[float, float, str]] = []
        for line in given:
            match = re.fullmatch(r"\S+ \S+ (\d*\.?\d+) (\d*\.?\d+) (\S+)(?: .*)?", line.text.strip())
            if match is None:
                yield line, line.error("expected a recording, a channel, a beginning, a duration and a word")
                break
            begin, duration = float(match[1]), float(match[2])
            words.append((begin, round(begin + duration, 6), match[3]))
        else:
            yield _spoken(first, os.path.basename(name), words)


def timit(lines: Iterable[Line], skip: Skip) -> Made:
    """The first sample, the last and the word, at 16,000 a second."""
    first, *_ = given = [line for line in lines if line.text.strip()]
    words: list[tuple[float, float, str]] = []
    for line in given:
        match = re.fullmatch(r"(\d{1,12}) (\d{1,12}) (\S+)\s*", line.text)
        if match is None:
            yield line, line.error(f"expected two samples and a word, found {line.text[:40]!r}")
            return
        if match[3] in ("h#", "sil", "pau", "epi"):
            skip("a pause")
        else:
            words.append((int(match[1]) / _RATE, int(match[2]) / _RATE, match[3]))
    yield _spoken(first, Path(first.path).stem, words)


_VALUE = re.compile(r'"((?:[^"]|"")*)"|<exists>|(?<![\w.\[])(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.\]])')


def textgrid(lines: Iterable[Line], skip: Skip) -> Made:
    """The words of a TextGrid of Praat, long or short: the tier that is called so, or its first of intervals."""
    first, *_ = given = [*lines]
    values = [match[1].replace('""', '"') if match[1] is not None else float(match[2] or 0)
              for line in given for match in _VALUE.finditer(line.text)]  # fmt: skip
    try:
        tiers = _tiers(values[2:])
        chosen = next((tier for tier in tiers if "word" in tier[0].lower()), tiers[0])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        broken = "expected a TextGrid with a tier of intervals, found one that is broken or has none"
        yield first, first.error(broken)
        return
    for name, _ in tiers:
        if name != chosen[0]:
            skip(f"the tier {name!r}")
    yield _spoken(first, Path(first.path).stem, [one for one in chosen[1] if one[2]])


def _tiers(values: Sequence[Any]) -> list[tuple[str, list[tuple[Any, Any, str]]]]:
    """The tiers of intervals, of the values behind the header: times, how many tiers, and each of them.

    Raises what says that something is not where it belongs.
    """
    at, tiers = 4, list[tuple[str, list[tuple[Any, Any, str]]]]()
    for _ in range(int(values[3])):
        kind, name, count = values[at], str(values[at + 1]), int(values[at + 4])
        size = {"IntervalTier": 3, "TextTier": 2}[kind]
        start, at = at + 5, at + 5 + size * count
        if count < 0 or at > len(values):
            raise ValueError(count)
        if size == 3:
            rows = zip(*(values[start + one : at : 3] for one in range(3)), strict=True)
            tiers.append((name, [(begin, end, word.strip()) for begin, end, word in rows]))
    return tiers


def sequences(lines: Iterable[Line], skip: Skip) -> Made:
    """A name behind ``>`` and its residues; of an alignment (A3M) without gaps, insertions as other residues."""
    names = count()
    number = 0

    def entry(line: Line) -> int:
        nonlocal number
        number = next(names) if line.text[:1] == ">" else number
        return number

    for _, group in groupby((line for line in lines if line.text[:1] not in ";#"), entry):
        first, *others = group
        text = re.sub(r"[-.*\s]", "", "".join(line.text for line in others))
        bases = set(text) <= set("acgtunACGTUN")
        none = first.error("expected residues behind the name, found none")
        yield first, {"text": text if bases else text.upper()} if text else none


def judged(lines: Iterable[Line], skip: Skip) -> Made:
    """Queries and documents that were judged (BEIR): the texts stand in queries.jsonl and corpus.jsonl above."""
    rows = [(line, line.text.split("\t")) for line in lines if line.text.strip()][1:]
    if not rows:
        return
    queries, documents = (
        _named(rows[0][0].path, name, {cells[at] for _, cells in rows if len(cells) == 3})
        for at, name in enumerate(("queries.jsonl", "corpus.jsonl"))
    )
    for line, cells in rows:
        if len(cells) != 3:
            yield line, line.error(f"expected query, document and score, found {len(cells)} columns")
        elif cells[0] not in queries or cells[1] not in documents:
            expected = f"expected the query {cells[0]!r} and the document {cells[1]!r}"
            yield line, line.error(f"{expected}, found not both")
        else:
            yield line, {"text_a": queries[cells[0]], "text_b": documents[cells[1]], "score": cells[2]}


def _named(path: str, name: str, wanted: set[str]) -> dict[str, str]:
    """The texts of these names in a file of JSON lines."""
    return {
        row["_id"]: "\n".join(
            string(row[key], f"{key!r}", line.error) for key in ("title", "text") if row.get(key)
        )
        for line, row in objects_in(path, name, "the texts of what was judged")
        if row.get("_id") in wanted
    }
