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
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from headscope.core.escapes import beginning
from headscope.core.kinds import is_list, is_object
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora.files import Files
from headscope.corpora.shapes import logs, records, texts
from headscope.corpora.shapes.rows import Kind, Made, Rows, Skip
from headscope.corpora.sources import BrokenLine, Form, Line, begins_as_table, suffix_of
from headscope.corpora.tables import READERS
from headscope.errors import CorpusError

_Lines = Sequence[str]
"""The first lines of a file that are not blank."""

_FEW = 3  # lines that are alike, where each alone might be prose
_SHOWN = 40  # characters of a first line


class Format(NamedTuple):
    """A format.

    Attributes:
        name: what a file of it is called.
        matches: whether a file that begins with some lines is one; of JSON whether an object is of it: one of the first
            of a file has to be.
        reads: what it is read as, and by what.
        instead: what can be given in its place.
    """

    name: str
    matches: Callable[[Any], bool]
    reads: Mapping[Kind, Rows] = {}
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


def _either(*ways: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda given: any(way(given) for way in ways)


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
    rows = map(re.compile(r"([0-9]+) ([0-9]+) \S+").fullmatch, lines)
    times = [(int(row[1]), int(row[2])) for row in rows if row]
    # A word may begin within the one before.
    touching = sum(before[1] == after[0] for before, after in pairwise(times))
    return (
        len(times) >= max(_FEW, len(lines))
        and times == sorted(times)
        and all(begin < end for begin, end in times)
        and 2 * touching >= len(times) - 1
    )


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
        {"links": texts.gap},
    ),
    Format(
        "judged queries and documents (BEIR)",
        _first("query-id\tcorpus-id\tscore$"),
        {"groups": texts.judged},
    ),
    Format("a page of HTML", _first(r"<!doctype html|<html")),
    Format("a page of XML", _either(_first(r"<\?xml|<svg|<!doctype \w"), _xml)),
    Format(
        "an object of JSON",
        _either(_first(r'\{\s*"(?:[^"\\]|\\.)*"\s*:'), _first(r"\{\s*$", r'\s*"(?:[^"\\]|\\.)*"\s*:')),
        instead="records are read where the name ends in .json or .jsonl",
    ),
    Format("sequences of FASTA", _fasta, {"texts": texts.sequences}),
    Format("an alignment of sequences (A3M)", _a3m, {"texts": texts.sequences}),
    Format("sequences of FASTQ", _fastq, instead=_SEQUENCES),
    Format(
        "words in columns with tags of entities or phrases (CoNLL-2000, CoNLL-2003)",
        _every(r"-DOCSTART-.*|#.*|(?:\S+[ \t]+)+(?:O|[BIESLU]-[\w-]+)", r"-DOCSTART-|.*[ \t][BIESLU]-", _FEW),
        instead='JSON lines with "words" and "tags" are read (hs.corpora.jsonl)',
    ),
    Format(
        "words with a tag each (word/TAG)",
        _every(
            r"\s*(?:\S+/[A-Za-z$.,:'`*()-]{1,9}(?:[ \t]+|$)){3,}",
            r".*(?<!\S)(?:[^\w\s]+/\S|\S+/(?:NNP?S?|VB[DGNPZ]?|DT|NOUN|VERB|DET)(?!\S))",
            _FEW,
        ),
        instead='JSON lines with "words" and "tags" are read (hs.corpora.jsonl)',
    ),
    Format(
        "annotations of brat",
        _every(r"T\d+\t\S+ \d+ \d+(?:;\d+ \d+)*\t.*|[REAMN*#][\w-]*\t.*", r"T\d+\t"),
        {"coreference": texts.chains, "links": texts.related},
    ),
    Format("annotations of PubTator", _first(r"\d+\|[ta]\|"), instead=_LINKS),
    Format(
        "sentences with two marked entities (SemEval-2010 task 8)",
        _first(r'\d+\t"?.*<e([12])>.*</e\1>.*<e[12]>'),
        {"links": texts.semeval},
    ),
    Format(
        "sentences with mentions in brackets (WinoBias)",
        _every(_MENTIONS, least=_FEW),
        {"links": texts.winobias},
    ),
    Format(
        "phrase-structure trees (Penn treebank)",
        _trees,
        instead="headscope syntax reads dependency trees, such as CoNLL-U",
    ),
    Format("graphs of AMR", _first(r"# ::(?:id|snt)\b"), instead=_LINKS),
    Format(
        "sentences with corrections (M2)",
        _every(r"S .*|A -?\d+ -?\d+\|\|\|.*", "A "),
        instead="the lines behind S are a text",
    ),
    Format(
        "word alignments of GIZA",
        _first(r"# Sentence pair \(\d+\)", "", r"NULL \(\{"),
        instead="alignments such as 0-0 1-2 beside two files of sentences are read by headscope links "
        "(hs.corpora.alignments)",
    ),
    Format(
        "a TextGrid of Praat",
        _first(r'File type = "ooTextFile'),
        {"speech": texts.textgrid},
    ),
    Format(
        "words with their times (CTM)",
        _every(r";;.*|\S+ [0-9A-Z]{1,2} \d*\.\d+ \d*\.\d+ \S+(?: \S+){0,3}", r"[^;]"),
        {"speech": texts.ctm},
    ),
    Format("words or phones with their samples (TIMIT)", _samples, {"speech": texts.timit}),
    Format(
        "a transcript of CHAT",
        _first(r"@(?:UTF8|Begin|Font:.*|PID:.*)$"),
        instead="what is said, a line each, is a text",
    ),
    Format(
        "subtitles",
        _either(
            _first(r"WEBVTT\b", some=r"^\S+ --> \S+"),
            _first(r"\d+$", r"\d+:\d\d:\d\d[,.]\d+ --> \d"),
            _first(r"\[Script Info\]"),
        ),
        instead="what is said, a line each, is a text",
    ),
    Format(
        "references of BibTeX",
        _uncommented(_first(rf"@(?:{_ENTRIES})\s*[{{(]", some=r"\w\s*=\s*[\w{\"]")),
    ),
)
"""The formats of text that are known."""

RECORDS: tuple[Format, ...] = (
    Format("a pronoun and a phrase (WSC)", _keys("text", "target.span1_index", "target.span2_text", "label"),
           {"links": records.wsc}),
    Format("questions with paragraphs and facts (HotpotQA)", _keys("question", "context", "supporting_facts", "answer"),
           {"prompts": records.hotpot_prompts, "links": records.hotpot_links}),
    Format("answers with marked stretches (RAGTruth)", _keys("source_id", "response", "labels"),
           {"prompts": records.ragtruth}),
    Format("answers that cite sentences (LongBench-Cite)", _keys("idx", "query", "statements.citation"),
           {"prompts": records.longbench}),
    Format("minimal pairs (BLiMP)", _keys("sentence_good", "sentence_bad"),
           {"groups": records.blimp, "patching": records.blimp_pairs}),
    Format("questions with what was retrieved (RAGAS)",
           _either(_keys("user_input", "retrieved_contexts"), _keys("question", "contexts", "answer")),
           {"prompts": records.ragas}),
    Format("questions of several turns (MT-Bench)", _keys("question_id", "turns"), {"prompts": records.mtbench}),
    Format("conversations (ShareGPT)", _keys("conversations.from", "conversations.value"),
           {"prompts": records.sharegpt}),
    Format("spans of OpenTelemetry", _span(logs.INPUT), {"prompts": logs.otel}),
    Format("spans of OpenInference", _span("llm.input_messages.0.message.role"), {"prompts": logs.openinference}),
    Format("runs of LangSmith", _keys("run_type", "inputs.messages"), {"prompts": logs.langsmith}),
    Format("a log of Inspect",
           _either(_keys("eval", "samples.messages"), _keys("id", "epoch", "target", "messages")),
           {"prompts": logs.inspect}),
    Format("a transcript of a coding agent", _keys("uuid", "parentUuid", "message"), {"prompts": logs.transcript}),
    Format("a transcript of a coding agent", _keys("timestamp", "type", "payload.type"),
           {"prompts": logs.codex}),
    Format("predicted aligned errors (AlphaFold)", _keys("predicted_aligned_error"),
           instead="an error in Å between two residues, not symmetric, is no contact"),
)  # fmt: skip
"""The formats of JSON that are known."""

COMMANDS: Mapping[Kind, tuple[str, str, str]] = {
    "links": ("links", "corpora.links", "links"),
    "coreference": ("coref", "corpora.clusters", "coreference"),
    "prompts": ("why", "corpora.prompts", "prompts"),
    "groups": ("compare groups", "corpora.pairs", "texts with labels"),
    "patching": ("patch", "patching", "pairs of prompts"),
    "speech": ("align --choose", "corpora.spoken", "words with their times"),
    "texts": ("measure", "corpora.jsonl", "texts"),
}
"""The command that takes each, what of `headscope` reads it, and what it is called."""


KNOWN: Sequence[Format] = (*FORMATS, *RECORDS)
"""All of them."""

_FIRST = 20  # objects of a file that are looked at


def known_format(path: str | Path, files: Files | None = None) -> Format | None:
    """The format of a file; None for one of no known format, and for none that is there.

    `files` has it among its files, where there is one. Raises `CorpusError` for a file that is no text.
    """
    path = str(path)
    if not os.path.isfile(path) or suffix_of(path) == ".arrow" or begins_as_table(path):
        return None
    files = files or Files(path, records=True)
    form = files.forms[path]
    if form.begins and form.begins in "[{":
        before, rows = files.read, list[AnyMapping]()
        with suppress(CorpusError):  # what stands before what cannot be read tells it
            read = READERS[".jsonl"](islice(files.of(path), _FIRST))
            rows.extend(row for _, row in read if not isinstance(row, CorpusError))
        files.read = before
        if rows:
            return record_format(rows)
    return format_of(form)


def record_format(rows: Iterable[AnyMapping]) -> Format | None:
    """The format of some objects; None for none that is known."""
    return next((one for one in RECORDS if any(map(one.matches, rows))), None)


def format_of(form: Form) -> Format | None:
    """The format of a text that begins so; None for none that is known."""
    lines = form.lines
    return next((format for format in FORMATS if lines and format.matches(lines)), None)


def described(known: Format, form: Form) -> str:
    """What a file of a format is, in words, and what can be given instead, or reads it."""
    begins = f", which begins {beginning(form.lines[0], _SHOWN)!r}" if known in FORMATS else ""
    takes = [f"headscope {COMMANDS[kind][0]} (hs.{COMMANDS[kind][1]})" for kind in known.reads]
    reads = f"{' and '.join(takes)} read{'s' * (len(takes) == 1)} it" if takes else known.instead
    return "; ".join(filter(None, [known.name + begins, reads]))


def read_as(known: Format, kind: Kind) -> Rows | None:
    """What reads a format as this; as texts what reads it as anything that has some."""
    if (rows := known.reads.get(kind)) is not None or kind != "texts":
        return rows
    return next((partial(_texts_of, rows) for one, rows in known.reads.items() if one != "speech"), None)


def _texts_of(rows: Rows, lines: Iterable[Line], skip: Skip) -> Made:
    """Rows of texts, of those of something else."""
    for line, row in rows(lines, skip):
        if isinstance(row, CorpusError):
            yield line, row
        elif "sentences" in row:
            for words in row["sentences"]:
                yield line, {"words": words, "document": row["doc_key"]}
        elif "prompt" in row:
            yield line, {"text": "\n\n".join([*row.get("documents", ()), row["prompt"]])}
        else:
            yield line, {key: value for key, value in row.items() if key not in ("links", "kind", "tools")}


def lines_as(files: Files, kind: Kind) -> Iterator[Line]:
    """The lines of files as JSON lines of this kind: those of a known format, or as they are.

    What format was read, and what was left out of it, stands in the files' `remarks` then. Raises `CorpusError` for a
    format that is read as something else.
    """
    files.begin()
    for path in files.paths:
        known = known_format(path, files)
        if known is None or (known in FORMATS and not known.reads):
            yield from files.of(path)
            continue
        what = described(known, files.forms[path])
        place = f"{path} " if len(files.paths) > 1 else ""
        yield from converted(path, known, kind, files.of(path), files.remarks, what, place)


def converted(
    path: str,
    known: Format,
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
        raise CorpusError(path, None, f"expected {COMMANDS[kind][2]}, found {what or known.name}")
    left = Counter[str]()
    for line, row in rows(lines, lambda why: left.update([why])):
        broken = isinstance(row, CorpusError)
        yield BrokenLine.of(line, row) if broken else line._replace(text=json.dumps(row))
    without = "; ".join(f"{number:,} × {why}" for why, number in left.items())
    remark = f"{place}read as {known.name}" + (f"; left out {without}" if without else "")
    if remark not in remarks:
        remarks.append(remark)
