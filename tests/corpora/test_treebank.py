"""Treebanks and their coreference, by hand and on real files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headscope import corpora
from headscope.corpora import Mention
from headscope.corpora.example import mentions
from headscope.errors import CorpusError, HeadscopeWarning

SENTENCE = """\
# newdoc id = one
# global.Entity = eid-etype-head
# sent_id = s-1
1	She	she	PRON	_	Gender=Fem|Number=Sing	4	nsubj:x	_	Entity=(e1-person-1)
2-3	don't	_	_	_	_	_	_	_	_
2	do	do	AUX	_	_	4	aux	_	_
3	n't	not	PART	_	_	4	advmod	_	_
4	like	like	VERB	_	_	0	root	_	_
5	du	de	ADP	_	_	6	case	_	Entity=(e2[1/2]-thing-1(e1-person-1
6	pain	pain	NOUN	_	_	4	obl	_	Entity=e1)e2[1/2])
6.1	eaten	eat	VERB	_	_	_	_	4:x	_
7	and	and	CCONJ	_	_	8	cc	_	_
8	tea	tea	NOUN	_	_	6	conj	_	Entity=(e2[2/2])
"""
PLAIN = "1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_\n"


def write(folder: Path, content: str, name: str = "bank.conllu") -> Path:
    (folder / name).write_text(content, encoding="utf-8")
    return folder / name


def test_syntactic_words(tmp_path: Path) -> None:
    (example,) = corpora.conllu(write(tmp_path, SENTENCE))
    assert example.words == ["She", "do", "n't", "like", "du", "pain", "and", "tea"]
    assert example.heads == [3, 3, 3, -1, 5, 3, 7, 5]
    assert example.relations == ["nsubj:x", "aux", "advmod", "root", "case", "obl", "cc", "conj"]
    assert example.tags[0] == "PRON"
    assert example.features[0] == {"Gender": "Fem", "Number": "Sing"}
    assert example.mentions == [Mention(0, 1, "e1"), Mention(4, 8, "e2"), Mention(4, 6, "e1")]
    assert example.name == "s-1"
    assert example.source.endswith("bank.conllu:4")


def test_surface_words_and_main_relations(tmp_path: Path) -> None:
    (example,) = corpora.conllu(write(tmp_path, SENTENCE), words="surface", relations="main")
    assert example.words == ["She", "don't", "like", "du", "pain", "and", "tea"]
    assert example.heads == [2, 2, -1, 4, 2, 6, 4]
    assert example.relations == ["nsubj", "aux", "root", "case", "obl", "cc", "conj"]
    assert example.mentions == [Mention(0, 1, "e1"), Mention(3, 7, "e2"), Mention(3, 5, "e1")]


def test_several_entities_on_one_word() -> None:
    """Ends before beginnings, nested and of one word; two mentions of one cluster open at once; in order of beginning."""
    column = ["(a(b)", "_", "a)(c(a)", "(d-person-1)c)", "(e", "(e", "e)e)"]
    found, _ = mentions([(place, place + 1, value) for place, value in enumerate(column)], "GRP-etype-head")
    assert found == [
        *(Mention(0, 3, "a"), Mention(0, 1, "b"), Mention(2, 4, "c"), Mention(2, 3, "a"), Mention(3, 4, "d")),
        *(Mention(4, 7, "e"), Mention(5, 7, "e")),
    ]
    by_eid, _ = mentions([(0, 1, "(person-x-1)")], "etype-eid-head")
    assert by_eid == [Mention(0, 1, "x")]


SPACED = """\
# text = Don't, OK?
1-2	Don't	_	_	_	_	_	_	_	SpaceAfter=No
1	Do	do	AUX	_	_	0	root	_	_
2	n't	not	PART	_	_	1	advmod	_	_
3	,	,	PUNCT	_	_	1	punct	_	_
3.1	so	so	ADV	_	_	_	_	1:x	SpaceAfter=No
4	OK	OK	INTJ	_	_	1	discourse	_	SpaceAfter=No
5	?	?	PUNCT	_	_	1	punct	_	_
"""


def test_two_spaces_in_a_word_part_no_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "1\tNew  York\t_\tPROPN\t_\t_\t0\troot\t_\t_\n\n")
    (sentence,) = corpora.conllu(path)
    assert (sentence.words, sentence.heads, sentence.relations) == (["New  York"], [-1], ["root"])


def test_spaces_between_words(tmp_path: Path) -> None:
    """A multiword token's words have none between them; what it says is of the last. Nothing said: not known."""
    path = write(tmp_path, SPACED)
    (example,) = corpora.conllu(path)
    assert example.spaces == [False, False, True, False, True]
    (example,) = corpora.conllu(path, words="surface")
    assert example.words == ["Don't", ",", "OK", "?"]
    assert example.spaces == [False, True, False, True]
    (example,) = corpora.conllu(write(tmp_path, SPACED.replace("SpaceAfter=No", "_")))
    assert example.spaces == [False, True, True, True, True]
    (plain,) = corpora.conllu(write(tmp_path, PLAIN))
    assert plain.spaces is None
    (plain,) = corpora.conllu(write(tmp_path, f"# text = Yes\n{PLAIN}"))
    assert plain.spaces == [True]


def texts(path: Path) -> list[str]:
    return [
        " ".join(line[8:].split()) for line in path.read_text().splitlines() if line.startswith("# text = ")
    ]


@pytest.mark.slow
def test_words_and_spaces_are_the_text_of_real_treebanks(shared: Path) -> None:
    paths = [
        shared / "data" / "ud_ewt" / "en_ewt-ud-test.conllu",
        *(shared / "data" / "ontogum").glob("*.conllu"),
    ]
    for path in paths:
        for words in ("syntactic", "surface"):
            found = [
                "".join(
                    word + " " * space for word, space in zip(one.words or (), one.spaces or (), strict=True)
                )
                for one in corpora.conllu(path, words=words)  # type: ignore[arg-type]
            ]
            assert [" ".join(text.split()) for text in found] == texts(path), path.name


def test_documents(tmp_path: Path) -> None:
    """Each # newdoc and each file begins one; a file without any is one."""
    two = f"# newdoc\n{PLAIN}\n{PLAIN}\n# newdoc id = b\n{PLAIN}\n"
    paths = [write(tmp_path, two, "two.conllu"), write(tmp_path, f"{PLAIN}\n\n{PLAIN}", "one.conllu")]
    found = list(corpora.conllu(paths))
    assert [example.document for example in found] == [0, 0, 1, 2, 2]
    assert [example.document_known for example in found] == [True] * 3 + [False] * 2
    surface = corpora.conllu(paths, words="surface")
    assert [example.document_known for example in surface] == [True] * 3 + [False] * 2
    pairs = write(tmp_path, "The 2-det\ncat 0-root\n", "pairs.txt")
    assert not any(example.document_known for example in corpora.word_heads(pairs))


def test_word_heads(tmp_path: Path) -> None:
    path = write(tmp_path, "cats 2-nsubj\nsleep 0-root\n\nwell-known 0-root\n", "bank.txt")
    first, second = corpora.word_heads(path)
    assert (first.words, first.heads, first.relations) == (["cats", "sleep"], [1, -1], ["nsubj", "root"])
    assert (second.words, second.document) == (["well-known"], 1)


@pytest.mark.slow
def test_real_treebanks(shared: Path) -> None:
    bank = list(corpora.conllu(shared / "data" / "ud_ewt" / "en_ewt-ud-test.conllu"))
    assert (len(bank), sum(len(example.words or ()) for example in bank)) == (2077, 25094)
    assert len({example.document for example in bank}) == 316
    files = sorted((shared / "data" / "ontogum").glob("*.conllu"))
    texts = list(corpora.conllu(files))
    assert len({example.document for example in texts}) == len(files) == 24
    opened = sum(
        field.count("(") for path in files for field in re.findall(r"Entity=([^|\s]+)", path.read_text())
    )
    assert sum(len(example.mentions or ()) for example in texts) == opened > 3000


def row(number: int | str, form: str, head: int | str = 0, misc: str = "_") -> str:
    return f"{number}\t{form}\t_\tNOUN\t_\t_\t{head}\t{'root' if head == 0 else 'dep'}\t_\t{misc}\n"


LAYOUT = "# global.Entity = eid-etype-head-other\n"
EMPTY = "{}\t_\t_\t_\t_\t_\t_\t_\t_\t{}\n"


def test_a_mention_on_an_empty_node_is_of_the_words_in_it(tmp_path: Path) -> None:
    content = LAYOUT + (
        EMPTY.format("0.1", "Entity=(e1-person-1)")  # of no word
        + row(1, "a", 0, "Entity=(e2-x-1-")
        + EMPTY.format("1.1", "Entity=e2)(e3-x-1-")
        + row(2, "b", 1)
        + row(3, "c", 1, "Entity=e3)")
    )
    (example,) = corpora.conllu(write(tmp_path, content), strict=True)
    assert example.mentions == [Mention(0, 1, "e2"), Mention(1, 3, "e3")]


def test_entities_stand_on_ranges_and_ends_may_say_all_that_beginnings_do(tmp_path: Path) -> None:
    content = (
        LAYOUT
        + row("1-2", "ab", 0, "Entity=(e1-x-1-)")
        + row(1, "a")
        + row(2, "b", 1, "Entity=(e2-y-1-")
        + row(3, "c", 1, "Entity=e2-y-1-)")
    )
    (example,) = corpora.conllu(write(tmp_path, content), strict=True)
    assert example.mentions == [Mention(0, 2, "e1"), Mention(1, 3, "e2")]


def test_a_mention_over_sentences_costs_itself_only(tmp_path: Path) -> None:
    first = row(1, "a", 0, "Entity=(e1-x-1-)(e2-x-1-") + row(2, "b", 1)
    second = row(1, "c", 0, "Entity=e2)(e3-x-1-)") + row(2, "d", 1, "Entity=(e4[1/2]-x-1-)")
    third = row(1, "e", 0, "Entity=(e4[2/2]-x-1-)")
    path = write(tmp_path, LAYOUT + "\n".join((first, second, third)))
    corpus = corpora.conllu(path)
    with pytest.warns(
        HeadscopeWarning, match="left out the mentions of 3 brackets .*, the first: .*bank.conllu:2.* of 'e2'"
    ):
        examples = list(corpus)
    assert [each.mentions for each in examples] == [
        [Mention(0, 1, "e1")], [Mention(0, 1, "e3"), Mention(1, 2, "e4")], [],
    ]  # fmt: skip
    with pytest.raises(CorpusError, match=r"word 1: Entity: expected the end of 'e2' in the same sentence"):
        list(corpora.conllu(path, strict=True))
