"""Known files that are no JSON: tables, marked sentences, annotation beside a text, times of speech, sequences."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, groupby
from pathlib import Path
from typing import Any

from headscope.core.types import AnyDict
from headscope.corpora.jsonlines import json_object, string
from headscope.corpora.shapes.rows import KeyedValues, Skip, rows_from
from headscope.corpora.sources import Line, form_of, opened
from headscope.corpora.tables import READERS
from headscope.errors import CorpusError

Made = Iterator[tuple[Line, AnyDict | CorpusError]]

_PRONOUN = re.compile(r"(?:s?he|hers?|him|his|they|them|theirs?)", re.IGNORECASE)
_BRACKET = re.compile(r"\[\s*([^\[\]]*?)\s*\]")
_MARK = re.compile(r"</?e([12])>")
_RATE = 16_000  # samples a second of TIMIT


def _gap(row: KeyedValues, skip: Skip) -> Iterator[AnyDict]:
    text = row.text("Text")
    spans: AnyDict = {}
    for name in ("Pronoun", "A", "B"):
        offset = row.text(f"{name}-offset")
        if not offset.isdecimal() or not offset.isascii():
            raise row.fail(f"'{name}-offset': expected a number of characters, found {offset!r}")
        spans[name] = row.stretch(text, row.text(name), int(offset[:12]))
    right = [name for name in ("A", "B") if row.text(f"{name}-coref").upper() == "TRUE"]
    if not right:
        skip("a pronoun of which neither candidate is right")
    yield {
        "text": text,
        "links": [
            {
                "from": spans["Pronoun"],
                "to": spans[name],
                "label": "pronoun",
                "candidates": [spans["A"], spans["B"]],
            }
            for name in right
        ],
    }


gap = rows_from(READERS[".tsv"], _gap)


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
    place = str(Path(path.removesuffix(".gz")).with_suffix(".txt"))
    if not os.path.isfile(place):
        raise CorpusError(path, None, f"expected its text in {place}, found nothing there")
    with opened(place, form_of(place)) as (content, _):
        try:
            return b"".join(iter(lambda: content.readline(1 << 20), b"")).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise CorpusError(place, None, f"expected UTF-8, found another byte at {error.start}") from None


_ENTITY = re.compile(r"(T\d+)\t(\S+) (\d+ \d+(?:;\d+ \d+)*)\t(.*)")
_RELATION = re.compile(r"R\d+\t(\S+) \w+:(T\d+) \w+:(T\d+)\s*")
_CHAIN = re.compile(r".+-\d+")


def _brat(
    lines: Iterable[Line], skip: Skip
) -> tuple[Line | None, str, dict[str, tuple[str, int, int]], list[Any]]:
    """The first line, the text, its entities by their names, and its relations."""
    first: Line | None = None
    text = ""
    entities: dict[str, tuple[str, int, int]] = {}
    relations: list[Any] = []
    for line in lines:
        if first is None:
            first, text = line, _annotated_text(line.path)
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
            relations.append((line, *relation.groups()))
        elif line.text.strip():
            skip(f"an annotation of another kind ({line.text[:1]})")
    return first, text, entities, relations


def chains(lines: Iterable[Line], skip: Skip) -> Made:
    """Chains of mentions (LitBank): labels that end in a number, on a text of a sentence a line."""
    first, text, entities, _ = _brat(lines, skip)
    if first is None:
        return
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
    if not clusters:
        yield first, first.error("expected labels of chains such as Name-1, found none")
        return
    name = Path(first.path).stem
    yield first, {"doc_key": name, "sentences": sentences, "clusters": [*clusters.values()]}


def related(lines: Iterable[Line], skip: Skip) -> Made:
    """Relations between entities, as links of a text."""
    first, text, entities, relations = _brat(lines, skip)
    links: list[AnyDict] = []
    for _, label, source, target in relations:
        if source not in entities or target not in entities:
            skip("a relation of a mention that is not read")
            continue
        links.append({"from": [*entities[source][1:]], "to": [*entities[target][1:]], "label": label})
    if first is not None:
        yield first, {"text": text.rstrip("\n"), "links": links}


def _spoken(line: Line, name: str, words: Sequence[tuple[str, float, float]]) -> tuple[Line, AnyDict]:
    return line, {
        "audio": f"{name}.wav",
        "words": [word for word, _, _ in words],
        "times": [[begin, end] for _, begin, end in words],
    }


def ctm(lines: Iterable[Line], skip: Skip) -> Made:
    """Recording, channel, beginning, duration and word; lines of one recording make a row."""
    timed = (line for line in lines if line.text.strip() and not line.text.startswith(";;"))
    for name, group in groupby(timed, lambda line: line.text.split()[0]):
        first: Line | None = None
        words: list[tuple[str, float, float]] = []
        for line in group:
            first = first or line
            match = re.fullmatch(r"\S+ \S+ (\d*\.?\d+) (\d*\.?\d+) (\S+)(?: .*)?", line.text.strip())
            if match is None:
                yield line, line.error("expected a recording, a channel, a beginning, a duration and a word")
                break
            begin, duration = float(match[1]), float(match[2])
            words.append((match[3], begin, round(begin + duration, 6)))
        else:
            assert first is not None
            yield _spoken(first, os.path.basename(name), words)


def timit(lines: Iterable[Line], skip: Skip) -> Made:
    """The first sample, the last and the word, at 16,000 a second."""
    first: Line | None = None
    words: list[tuple[str, float, float]] = []
    for line in lines:
        match = re.fullmatch(r"(\d{1,12}) (\d{1,12}) (\S+)\s*", line.text)
        first = first or line
        if match is None:
            if line.text.strip():
                yield line, line.error(f"expected two samples and a word, found {line.text[:40]!r}")
                return
        elif match[3] in ("h#", "sil", "pau", "epi"):
            skip("a pause")
        else:
            words.append((match[3], int(match[1]) / _RATE, int(match[2]) / _RATE))
    if first is not None:
        yield _spoken(first, Path(first.path).stem, words)


_VALUE = re.compile(r'"((?:[^"]|"")*)"|<exists>|(?<![\w.\[])(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.\]])')


def textgrid(lines: Iterable[Line], skip: Skip) -> Made:
    """The words of a TextGrid of Praat, long or short: the tier that is called so, or its first of intervals."""
    first: Line | None = None
    values: list[Any] = []
    for line in lines:
        first = first or line
        values += [match[1].replace('""', '"') if match[1] is not None else float(match[2] or 0)
                   for match in _VALUE.finditer(line.text)]  # fmt: skip
    if first is None:
        return
    try:
        tiers = _tiers(values[2:])
        chosen = next((tier for tier in tiers if "word" in tier[0].lower()), tiers[0])
    except (IndexError, KeyError, TypeError, ValueError):
        yield (
            first,
            first.error("expected a TextGrid with a tier of intervals, found one that is broken or has none"),
        )
        return
    for name, _ in tiers:
        if name != chosen[0]:
            skip(f"the tier {name!r}")
    words = [(word.strip(), begin, end) for begin, end, word in chosen[1] if word.strip()]
    yield _spoken(first, Path(first.path).stem, words)


def _tiers(values: Sequence[Any]) -> list[tuple[str, list[tuple[float, float, str]]]]:
    """The tiers of intervals, of the values behind the header: times, how many tiers, and each of them.

    Raises what says that something is not where it belongs.
    """
    at, tiers = 4, list[tuple[str, list[tuple[float, float, str]]]]()
    for _ in range(int(values[3])):
        kind, name, count = values[at], str(values[at + 1]), int(values[at + 4])
        size = {"IntervalTier": 3, "TextTier": 2}[kind]
        if not 0 <= count < len(values):
            raise ValueError(count)
        rows = [values[place : place + size] for place in range(at + 5, at + 5 + size * count, size)]
        timed: list[Any] = [(*(float(time) for time in row[:-1]), row[-1]) for row in rows]
        if not all(len(row) == size and isinstance(row[-1], str) for row in rows):
            raise ValueError(kind)
        at += 5 + size * count
        if size == 3:
            tiers.append((name, [(row[0], row[1], row[2]) for row in timed]))
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
    folder = Path(rows[0][0].path).resolve().parent.parent
    wanted = [{cells[at] for _, cells in rows if len(cells) == 3} for at in (0, 1)]
    texts = [
        _named(folder / name, some)
        for name, some in zip(("queries.jsonl", "corpus.jsonl"), wanted, strict=True)
    ]
    for line, cells in rows:
        if len(cells) != 3:
            yield line, line.error(f"expected query, document and score, found {len(cells)} columns")
        elif cells[0] not in texts[0] or cells[1] not in texts[1]:
            yield (
                line,
                line.error(f"expected the query {cells[0]!r} and the document {cells[1]!r}, found not both"),
            )
        else:
            yield line, {"text_a": texts[0][cells[0]], "text_b": texts[1][cells[1]], "score": cells[2]}


def _named(path: Path, wanted: set[str]) -> dict[str, str]:
    """The texts of these names in a file of JSON lines."""
    if not path.is_file():
        raise CorpusError(path, None, "expected the texts of what was judged, found nothing there")
    texts: dict[str, str] = {}
    with opened(str(path), form_of(str(path))) as (content, _):
        for number, raw in enumerate(iter(lambda: content.readline(1 << 24), b""), 1):
            line = Line(str(path), number, raw.decode(errors="replace"))
            if not line.text.strip():
                continue
            row = json_object(line)
            if row.get("_id") in wanted:
                parts = [row[key] for key in ("title", "text") if row.get(key)]
                texts[row["_id"]] = "\n".join(string(part, "'text'", line.error) for part in parts)
    return texts
