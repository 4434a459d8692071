"""Formats of text that is no prose: annotation, markup, subtitles, sequences. Each is told from how a file begins.

A file is known by what it holds, never by its name alone, and only where nothing else looks like it: what is not surely
one of these is a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from headscope.core.escapes import beginning
from headscope.corpora.sources import Form

Lines = Sequence[str]
"""The first lines of a file that are not blank."""

_FEW = 3  # lines that are alike, where each alone might be prose
_SHOWN = 40  # characters of a first line


class Format(NamedTuple):
    """A format of text.

    Attributes:
        name: what a file of it is called.
        begins: whether a file that begins with some lines is one.
        instead: what can be given in its place.
    """

    name: str
    begins: Callable[[Lines], bool]
    instead: str


def _first(*patterns: str, some: str = "") -> Callable[[Lines], bool]:
    """Whether the first lines begin as these patterns say, in order, and one of all has another."""
    compiled, any_ = [re.compile(pattern, re.IGNORECASE) for pattern in patterns], re.compile(some)
    return lambda lines: (
        len(lines) >= len(compiled)
        and all(pattern.match(line) for pattern, line in zip(compiled, lines, strict=False))
        and any(map(any_.search, lines))
    )


def _every(pattern: str, some: str = "", least: int = 1) -> Callable[[Lines], bool]:
    """Whether each of at least so many lines (but for one in twenty) is as one pattern says, and one as the other."""
    all_, any_ = re.compile(pattern), re.compile(some)
    return lambda lines: (
        len(lines) >= least
        and sum(all_.fullmatch(line) is None for line in lines) <= len(lines) // 20
        and any(map(any_.match, lines))
    )


def _either(*ways: Callable[[Lines], bool]) -> Callable[[Lines], bool]:
    return lambda lines: any(way(lines) for way in ways)


def _uncommented(way: Callable[[Lines], bool]) -> Callable[[Lines], bool]:
    """The same of the lines that are no comments of TeX."""
    return lambda lines: way([line for line in lines if line[0] != "%"])


_RESIDUES = re.compile(r"[A-Z*.-]+|[acgtunACGTUN.-]+")
_SURE = re.compile(r"(?=.*[A-Za-z])(?:[A-Z*.-]{8,}|[acgtunACGTUN.-]{8,}|[ACGT]{4,})")


def _fasta(lines: Lines) -> bool:
    """A name behind ``>``, then letters of residues alone, and so on."""
    sequences = [line.strip() for line in lines if line[0] not in ">;"]
    return (
        lines[0][0] == ">"
        and all(map(_RESIDUES.fullmatch, sequences))
        and any(map(_SURE.fullmatch, sequences))
    )


def _fastq(lines: Lines) -> bool:
    """A name behind ``@``, bases, ``+``, and a sign of quality for each base; or a name and very many bases."""
    if len(lines) < 2 or lines[0][0] != "@" or not re.fullmatch(r"[acgtunACGTUN.]+", lines[1]):
        return False
    return len(lines[1]) > 1_000 or (len(lines) > 3 and lines[2][0] == "+" and len(lines[3]) == len(lines[1]))


def _samples(lines: Lines) -> bool:
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


def _trees(lines: Lines) -> bool:
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


def _xml(lines: Lines) -> bool:
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
_SPEECH = "the words and their times as JSON lines are read by headscope align (hs.corpora.spoken)"
_LINKS = "texts with links as JSON lines are read by headscope links (hs.corpora.links)"
_SEQUENCES = "the sequences alone, one a line, are a text"

FORMATS: tuple[Format, ...] = (
    Format("a page of HTML", _first(r"<!doctype html|<html"), ""),
    Format("a page of XML", _either(_first(r"<\?xml|<svg|<!doctype \w"), _xml), ""),
    Format(
        "an object of JSON",
        _either(_first(r'\{\s*"(?:[^"\\]|\\.)*"\s*:'), _first(r"\{\s*$", r'\s*"(?:[^"\\]|\\.)*"\s*:')),
        "records are read where the name ends in .json or .jsonl",
    ),
    Format("sequences of FASTA", _fasta, _SEQUENCES),
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
        f"its text stands in a .txt of the same name; {_LINKS}",
    ),
    Format("annotations of PubTator", _first(r"\d+\|[ta]\|"), _LINKS),
    Format(
        "sentences with two marked entities (SemEval-2010 task 8)",
        _first(r'\d+\t"?.*<e1>.*</e1>.*<e2>'),
        _LINKS,
    ),
    Format(
        "sentences with mentions in brackets (WinoBias)",
        _every(_MENTIONS, least=_FEW),
        _LINKS,
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
    Format("a TextGrid or another object of Praat", _first(r'File type = "ooTextFile'), _SPEECH),
    Format(
        "words with their times (CTM)",
        _every(r";;.*|\S+ [0-9A-Z]{1,2} \d*\.\d+ \d*\.\d+ \S+(?: \S+){0,3}", r"[^;]"),
        _SPEECH,
    ),
    Format("words or phones with their samples (TIMIT)", _samples, _SPEECH),
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
"""The formats that are known. None of them is read: each is refused by its name."""


def format_of(form: Form) -> str | None:
    """What a text of this form is, in words, and what can be given instead; None for one of no known format."""
    lines = form.lines
    known = next((format for format in FORMATS if lines and format.begins(lines)), None)
    if known is None:
        return None
    begins = f"{known.name}, which begins {beginning(lines[0], _SHOWN)!r}"
    return "; ".join(filter(None, [begins, known.instead]))
