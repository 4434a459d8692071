"""Formats that are no prose and no records of headscope: annotation, markup, sequences, benchmarks, logs.

A file is known by what it holds (how it begins, or the keys of its objects), never by its name alone, and only where
nothing else looks like it: what is not surely one of these is a text, or JSON lines. Some are read: as the rows that
JSON lines of `headscope.corpora` have. The others are refused by their names.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from headscope.core.escapes import beginning
from headscope.core.kinds import is_list, is_object
from headscope.core.types import AnyDict
from headscope.corpora.arrays import is_json
from headscope.corpora.files import Files
from headscope.corpora.jsonlines import TEXTS, json_object
from headscope.corpora.shapes import logs, records, texts
from headscope.corpora.shapes.rows import Kind, Rows, Skip
from headscope.corpora.sources import BrokenLine, Form, Line, begins_as_table, suffix_of
from headscope.errors import CorpusError

_Lines = Sequence[str]
"""The first lines of a file that are not blank."""

_FEW = 3  # lines that are alike, where each alone might be prose
_SHOWN = 40  # characters of a first line


class Format(NamedTuple):
    """A format.

    Attributes:
        name: what a file of it is called.
        begins: whether a file that begins with some lines is one.
        instead: what can be given in its place.
        reads: what it is read as, and by what.
    """

    name: str
    begins: Callable[[_Lines], bool]
    instead: str = ""
    reads: Mapping[Kind, Rows] = {}


class RecordFormat(NamedTuple):
    """A format of JSON.

    Attributes:
        name: what a file of it is called.
        has: whether an object is of it; one of the first of a file has to be.
        reads: what it is read as, and by what.
        instead: what can be given in its place.
    """

    name: str
    has: Callable[[AnyDict], bool]
    reads: Mapping[Kind, Rows]
    instead: str = ""


def _keys(*paths: str) -> Callable[[AnyDict], bool]:
    """Whether an object has all these keys, those of an object in it (or of the first of a list) behind a dot."""

    def has(value: Any, path: str) -> bool:
        key, _, rest = path.partition(".")
        value = value[0] if is_list(value) and value else value
        return is_object(value) and key in value and (not rest or has(value[key], rest))

    return lambda row: all(has(row, path) for path in paths)


def _span(name: str) -> Callable[[AnyDict], bool]:
    """Whether a span of an object has this attribute."""
    return lambda row: any(name in span["attributes"] for span in logs.spans_in(row))


def _first(*patterns: str, some: str = "") -> Callable[[_Lines], bool]:
    """Whether the first lines begin as these patterns say, in order, and one of all has another."""
    compiled, any_ = [re.compile(pattern, re.IGNORECASE) for pattern in patterns], re.compile(some)
    return lambda lines: (
        len(lines) >= len(compiled)
        and all(pattern.match(line) for pattern, line in zip(compiled, lines, strict=False))
        and any(map(any_.search, lines))
    )


def _every(pattern: str, some: str = "", least: int = 1) -> Callable[[_Lines], bool]:
    """Whether each of at least so many lines (but for one in twenty) is as one pattern says, and one as the other."""
    all_, any_ = re.compile(pattern), re.compile(some)
    return lambda lines: (
        len(lines) >= least
        and sum(all_.fullmatch(line) is None for line in lines) <= len(lines) // 20
        and any(map(any_.match, lines))
    )


def _either(*ways: Callable[[_Lines], bool]) -> Callable[[_Lines], bool]:
    return lambda lines: any(way(lines) for way in ways)


def _uncommented(way: Callable[[_Lines], bool]) -> Callable[[_Lines], bool]:
    """The same of the lines that are no comments of TeX."""
    return lambda lines: way([line for line in lines if line[0] != "%"])


_RESIDUES = re.compile(r"[A-Z*.-]+|[acgtunACGTUN.-]+")
_SURE = re.compile(r"(?=.*[A-Za-z])(?:[A-Z*.-]{8,}|[acgtunACGTUN.-]{8,}|[ACGT]{4,})")


def _fasta(lines: _Lines) -> bool:
    """A name behind ``>``, then letters of residues alone, and so on."""
    sequences = [line.strip() for line in lines if line[0] not in ">;"]
    return (
        lines[0][0] == ">"
        and all(map(_RESIDUES.fullmatch, sequences))
        and any(map(_SURE.fullmatch, sequences))
    )


def _a3m(lines: _Lines) -> bool:
    """Names behind ``>`` and sequences, each with as many columns: capitals and gaps; small letters are insertions."""
    sequences = [line.strip() for line in lines if line[0] not in ">#"]
    columns = {sum(one.isupper() or one == "-" for one in line) for line in sequences}
    return (
        lines[0][0] in ">#"
        and len(sequences) > 1
        and all(re.fullmatch("[A-Za-z-]*[A-Z][A-Za-z-]*", line) for line in sequences)
        and len(columns) == 1
        and any("-" in line for line in sequences)
    )


def _fastq(lines: _Lines) -> bool:
    """A name behind ``@``, bases, ``+``, and a sign of quality for each base; or a name and very many bases."""
    if len(lines) < 2 or lines[0][0] != "@" or not re.fullmatch(r"[acgtunACGTUN.]+", lines[1]):
        return False
    return len(lines[1]) > 1_000 or (len(lines) > 3 and lines[2][0] == "+" and len(lines[3]) == len(lines[1]))


def _samples(lines: _Lines) -> bool:
    """A first and a last sample and a word, each after the one before, as TIMIT has them."""
    rows = [re.fullmatch(r"([0-9]+) ([0-9]+) \S+", line) for line in lines]
    times = [(int(row[1]), int(row[2])) for row in rows if row]
    if len(times) < max(_FEW, len(lines)) or not all(begin < end for begin, end in times):
        return False
    gaps = [
        after[0] - before[1] for before, after in pairwise(times)
    ]  # a word may begin within the one before
    return times == sorted(times) and 2 * gaps.count(0) >= len(gaps)


_ATOM = r"[^\s()]+"
_TREES = re.compile(rf"(?:\s*\(\s*(?:{_ATOM}(?:\s+{_ATOM}\s*\))?)?|\s*\))*+\s*(?:{_ATOM}(?:\s+{_ATOM})?)?\s*")
_LEAF = re.compile(rf"\(\s*{_ATOM}\s+{_ATOM}\s*\)")


def _trees(lines: _Lines) -> bool:
    """Brackets alone, each with a label and brackets, or a label and a word."""
    text = "\n".join(lines)
    begins = re.match(rf"\(\s*(?:{_ATOM})?\s*\(", text)
    return begins is not None and len(_LEAF.findall(text)) >= 2 and _TREES.fullmatch(text) is not None


_ELEMENT = re.compile(r"""<([A-Za-z][\w:.-]*)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(/?)>""")
_OF_PAGES = re.compile(
    "a|abbr|article|b|blockquote|body|br|center|code|dd|details|div|dl|em|figure|font|footer|form|h[1-6]|head|header|hr"
    "|i|img|kbd|li|main|nav|ol|p|picture|pre|script|section|small|span|strong|style|sub|summary|sup|table|tbody|td"
    "|template|th|thead|tr|u|ul|video",
    re.IGNORECASE,
)
"""Elements of HTML that stand in Markdown and code."""


def _xml(lines: _Lines) -> bool:
    """An element that holds others, or has attributes, and after whose end no text stands."""
    text = re.sub(r"\A(?:<!--.*?-->\s*)+", "", "\n".join(lines), flags=re.DOTALL)
    root = _ELEMENT.match(text)
    if root is None or _OF_PAGES.fullmatch(root[1]) or root[3]:
        return False
    end = text.rfind(f"</{root[1]}>")
    after = text[end + len(root[1]) + 3 :].lstrip() if end >= 0 else ""
    names = set(re.findall(r"</([A-Za-z][\w:.-]*)>", text))
    holds = end >= 0 or text[root.end() :].lstrip()[:1] == "<"
    return bool(names) and bool(root[2] or (holds and names - {root[1]})) and after[:1] in ("", "<")


_PRONOUN = r"\[ ?(?:[Ss]he|[Hh]e|[Hh]ers?|[Hh]im|[Hh]is|[Tt]hey|[Tt]hem|[Tt]heirs?) ?\]"
_MENTIONS = rf"(?=.*{_PRONOUN})(?:[^\[\]]*\[[^\[\]]+\]){{2,}}[^\[\]]*"
_ENTRIES = (
    "article|book|booklet|collection|comment|conference|dataset|inbook|incollection|inproceedings|manual|mastersthesis"
    "|misc|online|phdthesis|preamble|proceedings|report|software|string|techreport|thesis|unpublished|www"
)
_LINKS = "texts with links as JSON lines are read by headscope links (hs.corpora.links)"
_SEQUENCES = "the sequences alone, one a line, are a text"

FORMATS: tuple[Format, ...] = (
    Format(
        "pronouns with two candidates (GAP)",
        _first("ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref"),
        reads={"links": texts.gap},
    ),
    Format(
        "judged queries and documents (BEIR)",
        _first("query-id\tcorpus-id\tscore$"),
        reads={"groups": texts.judged},
    ),
    Format("a page of HTML", _first(r"<!doctype html|<html"), ""),
    Format("a page of XML", _either(_first(r"<\?xml|<svg|<!doctype \w"), _xml), ""),
    Format(
        "an object of JSON",
        _either(_first(r'\{\s*"(?:[^"\\]|\\.)*"\s*:'), _first(r"\{\s*$", r'\s*"(?:[^"\\]|\\.)*"\s*:')),
        "records are read where the name ends in .json or .jsonl",
    ),
    Format("sequences of FASTA", _fasta, reads={"texts": texts.sequences}),
    Format("an alignment of sequences (A3M)", _a3m, reads={"texts": texts.sequences}),
    Format("sequences of FASTQ", _fastq, _SEQUENCES),
    Format(
        "words in columns with tags of entities or phrases (CoNLL-2000, CoNLL-2003)",
        _every(r"-DOCSTART-.*|#.*|(?:\S+[ \t]+)+(?:O|[BIESLU]-[\w-]+)", r"-DOCSTART-|.*[ \t][BIESLU]-", _FEW),
        'JSON lines with "words" and "tags" are read (hs.corpora.jsonl)',
    ),
    Format(
        "words with a tag each (word/TAG)",
        _every(
            r"\s*(?:\S+/[A-Za-z$.,:'`*()-]{1,9}(?:[ \t]+|$)){3,}",
            r".*(?<!\S)(?:[^\w\s]+/\S|\S+/(?:NNP?S?|VB[DGNPZ]?|DT|NOUN|VERB|DET)(?!\S))",
            _FEW,
        ),
        'JSON lines with "words" and "tags" are read (hs.corpora.jsonl)',
    ),
    Format(
        "annotations of brat",
        _every(r"T\d+\t\S+ \d+ \d+(?:;\d+ \d+)*\t.*|[REAMN*#][\w-]*\t.*", r"T\d+\t"),
        reads={"coreference": texts.chains, "links": texts.related},
    ),
    Format("annotations of PubTator", _first(r"\d+\|[ta]\|"), _LINKS),
    Format(
        "sentences with two marked entities (SemEval-2010 task 8)",
        _first(r'\d+\t"?.*<e([12])>.*</e\1>.*<e[12]>'),
        reads={"links": texts.semeval},
    ),
    Format(
        "sentences with mentions in brackets (WinoBias)",
        _every(_MENTIONS, least=_FEW),
        reads={"links": texts.winobias},
    ),
    Format(
        "phrase-structure trees (Penn treebank)",
        _trees,
        "headscope syntax reads dependency trees, such as CoNLL-U",
    ),
    Format("graphs of AMR", _first(r"# ::(?:id|snt)\b"), _LINKS),
    Format(
        "sentences with corrections (M2)",
        _every(r"S .*|A -?\d+ -?\d+\|\|\|.*", "A "),
        "the lines behind S are a text",
    ),
    Format(
        "word alignments of GIZA",
        _first(r"# Sentence pair \(\d+\)", "", r"NULL \(\{"),
        "alignments such as 0-0 1-2 beside two files of sentences are read by headscope links (hs.corpora.alignments)",
    ),
    Format(
        "a TextGrid of Praat",
        _first(r'File type = "ooTextFile'),
        reads={"speech": texts.textgrid},
    ),
    Format(
        "words with their times (CTM)",
        _every(r";;.*|\S+ [0-9A-Z]{1,2} \d*\.\d+ \d*\.\d+ \S+(?: \S+){0,3}", r"[^;]"),
        reads={"speech": texts.ctm},
    ),
    Format("words or phones with their samples (TIMIT)", _samples, reads={"speech": texts.timit}),
    Format(
        "a transcript of CHAT",
        _first(r"@(?:UTF8|Begin|Font:.*|PID:.*)$"),
        "what is said, a line each, is a text",
    ),
    Format(
        "subtitles",
        _either(
            _first(r"WEBVTT\b", some=r"^\S+ --> \S+"),
            _first(r"\d+$", r"\d+:\d\d:\d\d[,.]\d+ --> \d"),
            _first(r"\[Script Info\]"),
        ),
        "what is said, a line each, is a text",
    ),
    Format(
        "references of BibTeX",
        _uncommented(_first(rf"@(?:{_ENTRIES})\s*[{{(]", some=r"\w\s*=\s*[\w{\"]")),
        "",
    ),
)
"""The formats of text that are known."""

RECORDS: tuple[RecordFormat, ...] = (
    RecordFormat("a pronoun and a phrase (WSC)", _keys("text", "target.span1_index", "target.span2_text", "label"),
                 {"links": records.wsc}),
    RecordFormat("questions with paragraphs and facts (HotpotQA)",
                 _keys("question", "context", "supporting_facts", "answer"),
                 {"prompts": records.hotpot_prompts, "links": records.hotpot_links}),
    RecordFormat("answers with marked stretches (RAGTruth)", _keys("source_id", "response", "labels"),
                 {"prompts": records.ragtruth}),
    RecordFormat("minimal pairs (BLiMP)", _keys("sentence_good", "sentence_bad"), {"groups": records.blimp}),
    RecordFormat("questions with what was retrieved (RAGAS)", _keys("user_input", "retrieved_contexts"),
                 {"prompts": records.ragas}),
    RecordFormat("questions with what was retrieved (RAGAS)", _keys("question", "contexts", "answer"),
                 {"prompts": records.ragas}),
    RecordFormat("questions of several turns (MT-Bench)", _keys("question_id", "turns"), {"prompts": records.mtbench}),
    RecordFormat("conversations (ShareGPT)", _keys("conversations.from", "conversations.value"),
                 {"prompts": records.sharegpt}),
    RecordFormat("spans of OpenTelemetry", _span(logs.INPUT), {"prompts": logs.otel}),
    RecordFormat("spans of OpenInference", _span("llm.input_messages.0.message.role"), {"prompts": logs.openinference}),
    RecordFormat("runs of LangSmith", _keys("run_type", "inputs.messages"), {"prompts": logs.langsmith}),
    RecordFormat("a log of Inspect", _keys("eval", "samples.messages"), {"prompts": logs.inspect}),
    RecordFormat("a log of Inspect", _keys("id", "epoch", "target", "messages"), {"prompts": logs.inspect}),
    RecordFormat("a transcript of a coding agent", _keys("uuid", "parentUuid", "message"),
                 {"prompts": logs.transcript}),
    RecordFormat("predicted aligned errors (AlphaFold)", _keys("predicted_aligned_error"), {},
                 "an error in Å between two residues, not symmetric, is no contact"),
)  # fmt: skip
"""The formats of JSON that are known."""

COMMANDS: Mapping[Kind, tuple[str, str]] = {
    "links": ("links", "links"),
    "coreference": ("coref", "clusters"),
    "prompts": ("why", "prompts"),
    "groups": ("compare groups", "pairs"),
    "speech": ("align --choose", "spoken"),
    "texts": ("measure", "jsonl"),
}
"""The command that takes each, and what of `headscope.corpora` reads it."""


KNOWN: Sequence[Format | RecordFormat] = (*FORMATS, *RECORDS)
"""All of them."""

_FIRST = 20  # objects of a file that are looked at


def known_format(path: str | Path, files: Files | None = None) -> Format | RecordFormat | None:
    """The format of a file; None for one of no known format, and for none that is there.

    `files` has it among its files, where there is one. Raises `CorpusError` for a file that is no text.
    """
    path = str(path)
    if not os.path.isfile(path) or suffix_of(path) == ".arrow" or begins_as_table(path):
        return None
    files = files or Files(path, records=True)
    form = files.forms[path]
    if form.begins and form.begins in "[{":
        before = files.read
        rows = _objects(islice(files.of(path), _FIRST))
        files.read = before
        if rows:
            return record_format(rows)
    return _of_text(form)


def record_format(rows: Iterable[AnyDict]) -> RecordFormat | None:
    """The format of some objects; None for none that is known."""
    return next((one for one in RECORDS if any(map(one.has, rows))), None)


def _objects(lines: Iterable[Line]) -> list[AnyDict]:
    """The objects of JSON among some lines, up to what cannot be read."""
    rows: list[AnyDict] = []
    with suppress(CorpusError):
        for line in lines:
            if line.text.strip():
                with suppress(CorpusError):
                    rows.append(json_object(line))
    return rows


def _of_text(form: Form) -> Format | None:
    lines = form.lines
    return next((format for format in FORMATS if lines and format.begins(lines)), None)


def described(known: Format | RecordFormat, form: Form) -> str:
    """What a file of a format is, in words, and what can be given instead, or reads it."""
    lines = form.lines
    begins = known.name
    if isinstance(known, Format):
        begins += f", which begins {beginning(lines[0], _SHOWN)!r}"
    takes = [f"headscope {COMMANDS[kind][0]} (hs.corpora.{COMMANDS[kind][1]})" for kind in known.reads]
    reads = f"{' and '.join(takes)} read{'s' * (len(takes) == 1)} it" if takes else known.instead
    return "; ".join(filter(None, [begins, reads]))


def read_as(known: Format | RecordFormat, kind: Kind) -> Rows | None:
    """What reads a format as this; as texts what reads it as anything that has some."""
    if (rows := known.reads.get(kind)) is not None or kind != "texts":
        return rows
    return next((_texts_of(rows) for one, rows in known.reads.items() if one != "speech"), None)


def _texts_of(rows: Rows) -> Rows:
    """Rows of texts, of those of something else."""

    def of(row: AnyDict) -> Iterator[AnyDict]:
        if "sentences" in row:
            yield from ({"words": words, "document": row["doc_key"]} for words in row["sentences"])
        elif "prompt" in row:
            yield {"text": "\n\n".join([*row.get("documents", ()), row["prompt"]])}
        else:
            yield {key: value for key, value in row.items() if key not in ("links", "kind", "tools")}

    def read(lines: Iterable[Line], skip: Skip) -> Iterator[tuple[Line, AnyDict | CorpusError]]:
        for line, row in rows(lines, skip):
            if isinstance(row, CorpusError):
                yield line, row
            else:
                yield from ((line, made) for made in of(row))

    return read


def lines_as(files: Files, kind: Kind) -> Iterator[Line]:
    """The lines of files as JSON lines of this kind: those of a known format, or as they are.

    What format was read, and what was left out of it, stands in the files' `remarks` then. Raises `CorpusError` for a
    format that is read as something else.
    """
    files.begin()
    for path in files.paths:
        known = known_format(path, files)
        if known is None or (isinstance(known, Format) and not known.reads):
            yield from files.of(path)
            continue
        what = described(known, files.forms[path])
        place = f"{path} " if len(files.paths) > 1 else ""
        yield from converted(path, known, kind, files.of(path), files.remarks, what, place)


def converted(
    path: str,
    known: Format | RecordFormat,
    kind: Kind,
    lines: Iterable[Line],
    remarks: list[str],
    what: str = "",
    place: str = "",
) -> Iterator[Line]:
    """The lines of a known format as JSON lines of a kind; what was read and left out is added to `remarks`.

    Args:
        path: the file, or what gives the lines.
        known: the format.
        kind: what it is read as.
        lines: of the file.
        remarks: gets one.
        what: the file is, in words.
        place: what the remark begins with.
    """
    if (rows := read_as(known, kind)) is None:
        raise CorpusError(path, None, f"expected {_EXPECTED[kind]}, found {what or known.name}")
    left = Counter[str]()
    for line, row in rows(lines, lambda why: left.update([why])):
        broken = isinstance(row, CorpusError)
        yield BrokenLine.of(line, row) if broken else line._replace(text=json.dumps(row))
    without = "; ".join(f"{number:,} × {why}" for why, number in left.items())
    remark = f"{place}read as {known.name}" + (f"; left out {without}" if without else "")
    if remark not in remarks:
        remarks.append(remark)


_EXPECTED: Mapping[Kind, str] = {
    "links": "links",
    "coreference": "coreference",
    "prompts": "prompts",
    "groups": "texts with labels",
    "patching": "pairs of prompts",
    "speech": "words with their times",
    "texts": "texts",
}


Held = Literal["text", "jsonl", "csv", "tsv", "conllu", "conll2012", "parquet", "arrow"]

BEGIN = re.compile(r"#\s*begin document\b(.*)")
"""A line with which a document of CoNLL-2012 begins."""

AS_TEXT = "; --format text (format='text') reads its marks as well"
"""How what has marks is read as a text all the same."""

_ROW = re.compile(r"[0-9]+([-.][0-9]+)?(\t[^\t]*){9}")
_ARRAY = re.compile(r'\[\s*([\[{"\]]|$)')
_TABLES: Mapping[str, Held] = {"\t": "tsv", ",": "csv"}
_SAID = {
    "jsonl": ("records of JSON", "jsonl"),
    "csv": ("a table", "table"),
    "tsv": ("a table", "table"),
    "conllu": ("a treebank", "conllu"),
    "conll2012": ("coreference in columns", "conll2012"),
    "parquet": ("a table of Parquet", "dataset"),
    "arrow": ("a table of Arrow", "dataset"),
}
"""What files are called that are no text, and what of `headscope.corpora` reads them."""


def holds(path: str | Path, files: Files | None = None, advice: str = AS_TEXT) -> Held:
    """What a file holds, told from how it begins: JSON (``jsonl``), a treebank, a table of texts, or else a text.

    `files` has it among its files, where there is one. Raises `CorpusError` for a file that is missing or no text, and,
    with `advice`, for one of `headscope.corpora.formats`.
    """
    path = str(path)
    if (kind := begins_as_table(path)) is not None:
        return kind
    files = files or Files(path)
    form = files.forms[path]
    if suffix_of(path) == ".json" or (_ARRAY.match(form.head.lstrip()) and files.is_array(path)):
        return "jsonl"
    if form.begins == "{" and is_json(next(line.text for line in files.lines(path) if line.text.strip())):
        return "jsonl"
    if (known := _of_text(form)) is not None:
        raise CorpusError(path, None, f"expected text, found {described(known, form)}{advice}")
    lines = form.lines
    if any(map(BEGIN.match, lines)):
        return "conll2012"
    for parted, kind in _TABLES.items():
        if lines and _names_texts(lines[0], parted):
            return kind
    row = next((line for line in lines if not line.startswith("#")), "")
    return "conllu" if _ROW.fullmatch(row) else "text"


def expect_text(path: str, files: Files) -> None:
    """Raise `CorpusError` where one of some files is no text, or one with marks."""
    if (kind := holds(path, files)) != "text":
        what, reader = _SAID[kind]
        raise CorpusError(path, None, f"expected a text, found {what}; hs.corpora.{reader} reads it{AS_TEXT}")


def _names_texts(line: str, parted: str) -> bool:
    """Whether a line names columns of texts that are known, and others."""
    names = {name.strip(' "') for name in line.split(parted)}
    return len(names) > 1 and any(names.issuperset(known) for known in TEXTS)


def text_of(path: str | Path) -> Files:
    """A file that has to be a text. Raises `CorpusError` for one that holds something else."""
    if (kind := holds(path, advice="")) != "text":
        raise CorpusError(path, None, f"expected a text, found {_SAID[kind][0]}")
    return Files(path)
