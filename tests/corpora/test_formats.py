"""What is annotated, marked up or a list of sequences is refused by its name, and prose that looks a little like it is not."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from headscope import corpora
from headscope.console.sources import ReadingOptions, annotated, linked
from headscope.corpora import sources
from headscope.corpora.formats import FORMATS, known_format, read_as
from headscope.corpora.held import holds
from headscope.errors import CorpusError
from tests.helpers.typed import Typed

LONG_GRID = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 0.7
tiers? <exists>
"""
SHORT_GRID = 'File type = "ooTextFile"\n"TextGrid"\n\n0\n0.7\n<exists>\n1\n"IntervalTier"\n"words"\n'
COLUMNS = "-DOCSTART- -X- -X- O\n\nAda NNP B-NP B-PER\nHolt NNP I-NP I-PER\nleft VBD B-VP O\n"
BRAT = "T1\tPER 0 8\tAda Holt\nT2\tPLACE 14 20;25 31\tBergen harbor\nR1\tIn Arg1:T1 Arg2:T2\n"

ANNOTATED: dict[str, tuple[str, str]] = {
    "protein.fasta": ("sequences of FASTA", ">made|1| a protein\nMKTAYIAKQRQISF\nVKSHF\n\n>made|2\nGAVLIMKKL*\n"),
    "masked.fa": ("sequences of FASTA", ">chr1\nacgtACGTNNNNacgt\n"),
    "one_line.fa": ("sequences of FASTA", ">chr1\n" + "ACGT" * 3_000),
    "family.a3m": ("an alignment of sequences (A3M)", ">query\nMKTAYIAK\n>hit\nMK-aAYIAK\n"),
    "dev.tsv": ("judged queries and documents", "query-id\tcorpus-id\tscore\nq\td\t1\n"),
    "gap.tsv": ("pronouns with two candidates", "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\n"),
    "short.fa": ("sequences of FASTA", ">a\nACGT\n>b\nGG\n"),
    "reads.fastq": ("sequences of FASTQ", "@r1 x\nACGTN\n+\nII5I!\n@r2\nGG\n+\n@I\n"),
    "long.fastq": ("sequences of FASTQ", "@r1\n" + "ACGT" * 3_000),
    "conll2003.txt": ("tags of entities or phrases", COLUMNS),
    "chunks.txt": ("tags of entities or phrases", "Ada NNP B-NP\nleft VBD B-VP\n. . O\n"),
    "wnut.tsv.txt": ("tags of entities or phrases", "met\tO\nAda\tB-person\nHolt\tI-person\n"),
    "brown.txt": ("a tag each", "The/at cat/nn sat/vbd ./.\n" * 3),
    "novel.ann": ("annotations of brat", BRAT),
    "abstracts.txt": ("annotations of PubTator", "12|t|A title\n12|a|A text.\n12\t0\t7\tA title\tThing\tD1\n"),
    "TEST_FILE.TXT": ("SemEval-2010 task 8", '1\t"The <e1>keys</e1> lay in the <e2>box</e2>."\nContent-Container(e1,e2)\n'),
    "anti.txt.dev": (
        "WinoBias",
        "1 [The clerk] paid the baker, for [he] was late.\n2 The clerk paid [the baker], for [ she] sang.\nShe: [the smith] lent [her] a lamp.\n",
    ),
    "wsj.mrg": ("phrase-structure trees", "( (S (NP-SBJ (DT The)\n (NN cat))\n (VP (VBD sat)) (. .)) )\n"),
    "sst.txt": ("phrase-structure trees", "(3 (2 It) (4 (4 sings) (2 well)))\n"),
    "long.mrg": ("phrase-structure trees", "(ROOT (S (NP (DT The) (NN cat)) (VP (VBD sat))))\n" * 200),
    "amr.txt": ("graphs of AMR", "# ::id made.1\n# ::snt The cat sat.\n(s / sit-01\n :ARG1 (c / cat))\n"),
    "corrected.m2": ("corrections (M2)", "S Fine .\n\nS This are it .\nA 1 2|||R:VERB:SVA|||is|||REQUIRED|||-NONE-|||0\n"),
    "de-en.A3.final": (
        "word alignments of GIZA",
        "# Sentence pair (1) source length 2 target length 2 alignment score : 0.1\ndas haus\nNULL ({ }) the ({ 1 }) house ({ 2 })\n",
    ),
    "long.TextGrid": ("a TextGrid", LONG_GRID),
    "short.TextGrid": ("a TextGrid", SHORT_GRID),
    "talk.ctm": ("words with their times (CTM)", ";; made\nutt1 1 0.12 0.33 hello 0.98\nutt1 A 0.5 .2 there\n"),
    "one.ctm": ("words with their times (CTM)", "utt1 1 0.12 0.33 hello 0.98\n"),
    "SA1.WRD": ("samples (TIMIT)", "2360 5200 she\n5200 9680 had\n9680 11077 your\n10900 16000 dark\n"),
    "SA1.PHN": ("samples (TIMIT)", "0 2360 h#\n2360 3720 sh\n3720 5200 iy\n"),
    "child.cha": ("a transcript of CHAT", "@UTF8\n@Begin\n*CHI:\tmore juice .\n"),
    "film.vtt": ("subtitles", "WEBVTT - made\n\n1\n00:01.000 --> 00:04.000\nThe cat sat.\n"),
    "film.srt": ("subtitles", "1\n00:00:01,000 --> 00:00:04,000\nThe cat sat.\n"),
    "film.ass": ("subtitles", "[Script Info]\nTitle: made\n"),
    "papers.bib": ("references of BibTeX", "% made\n@article{holt2020,\n  title = {Salt},\n}\n"),
    "macros.bib": ("references of BibTeX", '@string{acl = "ACL"}\n@Book (moen, year = 2001)\n'),
    "trec": ("a page of XML", "<DOC>\n<DOCNO> 1 </DOCNO>\n<TEXT>The cat sat.</TEXT>\n</DOC>\n<DOC>\n<DOCNO>2</DOCNO></DOC>\n"),
    "wiki_00": ("a page of XML", '<doc id="12" url="u" title="Salt">\nSalt\n\nSalt is a mineral.\n</doc>\n'),
    "note.xml": ("a page of XML", "<!-- made -->\n<corpus><s n='1'>The cat sat.</s></corpus>"),
    "declared.xml": ("a page of XML", "<?xml version='1.0'?>\n<a/>"),
    "page.html": ("a page of HTML", "<!doctype html>\n<p>Hi"),
    "notes.ipynb": ("an object of JSON", '{\n "cells": [\n  {"cell_type": "markdown", "source": ["Hi"]}\n ]\n}\n'),
}  # fmt: skip

PROSE: dict[str, str] = {
    "quoted mail": "> Did you get the letter?\n>> I did.\n\nYes, on Monday.\n",
    "quoted, then one word": ">Are you sure\nYES\n",
    "green text": ">be me\n>go to the shop\n>it is closed\n",
    "prompt": ">>> print(1)\n1\n",
    "handle": "@ada the keys are in the drawer\n@mira thanks!\n",
    "decorator": "@dataclass\nclass Point:\n    x: int = 1\n",
    "style": "@media screen {\n  body { color: red }\n}\n",
    "play": "HAMLET [aside]: A little more than kin.\n[Exit]\nGHOST [within]: Swear!\n[They] leave [the stage].\n",
    "citations": "As [1] and [2] say, it holds.\nSee [3] and [4].\nBut [5] and [6] differ.\n",
    "links of Markdown": "- [a](u) and [b](v)\n- [c](u) and [d](v)\n- [e](u) and [f](v)\n",
    "edited quotations": "[He] said that [the mill] closed.\nNobody objected.\nAnd [she] left [the room].\n",
    "log": "2024-01-01 12:00:01 INFO started\n2024-01-01 12:00:02 INFO 0.12 0.33 done\n",
    "chat": "[12:03] <ada> hello </3\n[12:04] <mira> hi\n",
    "nicknames": "<ada> hello\n<mira> <b>hi</b>\n<ada> bye\n",
    "numbers": "1 2 3\n4 5 6\n7 8 9\n",
    "recipe": "2 3 eggs\n3 4 spoons\n1 2 cups\n",
    "ages": "10 20 young\n30 40 old\n50 60 older\n",
    "decimals": "0.12 0.33 0.98\n0.1 0.2 0.3\n",
    "bracketed": "(See the note.) The cat sat.\n",
    "bracketed twice": "((The cat) sat on (the mat))\n",
    "tree in prose": "The tree is\n(S (NP (DT The) (NN cat)) (VP (VBD sat)))\nas usual.\n",
    "lisp": "(defun sum (x y)\n  (+ x y))\n(print (sum 1 2))\n",
    "scheme": "(define (double x) (* 2 x))\n",
    "and/or": "He and/or she came.\nBy car/bus.\nOn foot.\n",
    "quotes between rules": "> To be or not to be.\n\n----------\n\n> All is well.\n\n----------\n",
    "words of two": "he/she and/or him/her\neither/or this/that yes/no\nin/out up/down on/off\n",
    "paths": "src/main tests/unit docs/index\nlib/a lib/b lib/c\nbin/x bin/y bin/z\n",
    "list": "1. Keys\n2. Lamp\n",
    "numbered": "1\nThe first chapter.\n\n2\nThe second chapter.\n",
    "arrows": "a --> b\nb --> c\n",
    "WEBVTT in prose": "WEBVTT is a format of subtitles.\nIt is simple.\n",
    "heading": "# Sentence pairs\n\nA text.\n",
    "S as a word": "S is a letter .\nA is one, too.\n",
    "ends in O": "Vitamin O\nRoute O\nPlan O\n",
    "README": '<p align="center">\n  <img src="a.png">\n</p>\n\n# Title\n',
    "details": "<details>\n<summary>More</summary>\nText\n</details>\n",
    "component": "<template>\n  <div>Hi</div>\n</template>\n<script>\n</script>\n",
    "prompt with tags": "<context>\nThe mill opened in 1911.\n</context>\n\nWhen did it open?\n",
    "nested prompt": '<documents><document index="1">Salt.</document></documents>\nWhat is it?\n',
    "sentence marks": "<s> the cat sat </s>\n<s> it slept </s>\n",
    "poem": "So much depends\nupon\n\na red wheel\nbarrow\n",
    "braces": "{a set} of things\n",
    "tags": "T1\tis a name\nT2\tis another\n",
    "tab": "1\tThe cat sat.\n2\tIt slept.\n",
    "code": '{\n  x: 1,\n}\n["a"].map(f)\n',
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ANNOTATED)
def test_annotation_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    kind, content = ANNOTATED[name]
    path = tmp_path / name
    for written in (content.encode(), gzip.compress(content.replace("\n", "\r\n").encode("utf-16"))):
        path.write_bytes(written)
        known = known_format(path)
        is_read = known and read_as(known, "texts")  # tests/corpora/test_known_formats.py
        for read in (corpora.text, holds, *(() if is_read else (lambda path: ReadingOptions().of([path]),))):
            with pytest.raises(CorpusError) as error:
                read(path)
            message = str(error.value)
            assert message.startswith(f"{path}: expected text, found ")
            assert kind in message
            assert message.endswith("--format text (format='text') reads its marks as well")
            assert "\n" not in message
        assert list(corpora.text(path, format="text", documents="line").examples())
        assert list(ReadingOptions(format="text", documents="line").of([path]).examples())


def test_every_format_is_tried() -> None:
    names = [format.name for format in FORMATS]
    assert all(any(kind in name for kind, _ in ANNOTATED.values()) for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROSE)
def test_prose_that_looks_a_little_like_it_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(PROSE[name], encoding="utf-8")
    assert holds(path) == "text"
    assert "".join(each.text or "" for each in corpora.text(path).examples())


def test_a_name_alone_tells_nothing(tmp_path: Path) -> None:
    for name in ANNOTATED:
        path = tmp_path / name
        path.write_text("The cat sat on the mat.\n")
        assert list(corpora.text(path).examples())


def test_what_is_cut_in_the_midst_of_a_line_is_known(tmp_path: Path) -> None:
    for kind, content in ANNOTATED.values():
        (tmp_path / "a").write_text((content * 9)[: len(content) + 2])
        known = known_format(tmp_path / "a")
        assert known is None or kind in known.name


@pytest.mark.parametrize("name", ["wsj.mrg", "child.cha", "protein.fasta"])
def test_commands_of_annotated_sentences_name_it_too(name: str, tmp_path: Path) -> None:
    kind, content = ANNOTATED[name]
    path = tmp_path / name
    path.write_text(content)
    for read in (
        lambda: annotated([path]),
        lambda: annotated([path], clusters=True),
        lambda: linked([path], None),
    ):
        with pytest.raises(CorpusError, match=r"expected a file of one of [\w, -]+, found ") as error:
            read()
        assert kind in str(error.value)


def test_a_folder_and_standard_input_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("The cat sat.\n")
    (tmp_path / "b.txt").write_text(COLUMNS)
    for read in (corpora.text, lambda path: ReadingOptions().of([path])):
        with pytest.raises(CorpusError, match=r"b.txt: expected text, found words in columns"):
            read(tmp_path)
    sources.standard_input.cache_clear()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(COLUMNS.encode())))
    with pytest.raises(CorpusError, match=r"stdin: expected text, found words in columns"):
        ReadingOptions().of([Path("-")])
    sources.standard_input.cache_clear()


def test_commands_refuse_it_in_one_line(typed: Typed, tmp_path: Path) -> None:
    path = tmp_path / "a.fastq"
    path.write_text(ANNOTATED["reads.fastq"][1])
    for command in ("measure", "sentences"):
        said = typed(command, path, code=2).err
        assert "a.fastq: expected text, found sequences of FASTQ, which begins '@r1 x'" in said
        # Only where there is such an option.
        assert ("--format text" in said) == (command != "sentences")
