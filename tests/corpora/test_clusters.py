"""Coreference without parses: PreCo's JSON lines, LitBank's and GUM's columns, CoNLL-U without heads."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope import corpora
from headscope.console.sources import annotated
from headscope.corpora import Mention
from headscope.errors import CorpusError, HeadscopeWarning

SENTENCES = [["Ann", "met", "a", "dog", "."], [" "], ["It", "liked", "her", "."]]
PRECO: dict[str, Any] = {
    "id": "d1",
    "sentences": SENTENCES,
    "mention_clusters": [[[0, 0, 1], [2, 2, 3]], [[0, 2, 4], [2, 0, 1]]],
}
FLAT = {"doc_key": "d1", "sentences": SENTENCES, "clusters": [[[0, 0], [8, 8]], [[2, 3], [6, 6]]]}
MENTIONS = [[Mention(0, 1, "0"), Mention(2, 4, "1")], [Mention(0, 1, "1"), Mention(2, 3, "0")]]
LITBANK = """#begin document (tale); part 0
tale\t0\t0\tAnn\t_\t_\t_\t_\t_\t_\t_\t_\t(0)
tale\t0\t1\tmet\t_\t_\t_\t_\t_\t_\t_\t_\t
tale\t0\t2\ta\t_\t_\t_\t_\t_\t_\t_\t_\t(1
tale\t0\t3\tdog\t_\t_\t_\t_\t_\t_\t_\t_\t1)
tale\t0\t4\t.\t_\t_\t_\t_\t_\t_\t_\t_\t

tale\t0\t0\tIt\t_\t_\t_\t_\t_\t_\t_\t_\t(1)
tale\t0\t1\tliked\t_\t_\t_\t_\t_\t_\t_\t_\t
tale\t0\t2\ther\t_\t_\t_\t_\t_\t_\t_\t_\t(0)
tale\t0\t3\t.\t_\t_\t_\t_\t_\t_\t_\t_\t
#end document
"""
GUM = """# begin document GUM_tale
0\tAnn\t(0)
1\tmet\t_
2\ta\t(1
3\tdog\t1)
4\t.\t_
5\tIt\t(1)
6\tliked\t_
7\ther\t(0)
8\t.\t_
# end document
"""


def write(folder: Path, name: str, content: str) -> Path:
    (folder / name).write_text(content, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", json.dumps(PRECO)),
        ("a.json", json.dumps([FLAT], indent=1)),
        ("a.conll", LITBANK),
        ("a.conll", GUM),
    ],
)
def test_the_same_story_in_each_format(tmp_path: Path, name: str, content: str) -> None:
    corpus = annotated([write(tmp_path, name, content)], None, clusters=True)
    examples = list(corpus)
    assert [example.words for example in examples] == [SENTENCES[0], SENTENCES[2]]
    assert [example.mentions for example in examples] == MENTIONS
    assert all(each.heads is None and each.tags is None and each.relations is None for each in examples)
    assert [(each.document, each.document_known) for each in examples] == [(0, True)] * 2


def test_sentences_of_three_columns_end_outside_of_mentions_and_behind_quotes(tmp_path: Path) -> None:
    words = ["He", "said", "&quot;", "No", ".", "&quot;", "J", ".", "K", "?", "!", "Go"]
    marks = {6: "(1", 8: "1)(2)", 9: "_"}
    rows = "".join(f"{place + 7}\t{word}\t{marks.get(place, '_')}\n" for place, word in enumerate(words))
    examples = list(corpora.conll2012(write(tmp_path, "a.conll", f"# begin document x\n{rows}")))
    assert [" ".join(each.words or ()) for each in examples] == ['He said " No . "', "J . K ? !", "Go"]
    assert [each.name for each in examples] == ["x/0", "x/1", "x/2"]
    assert examples[1].mentions == [Mention(0, 3, "1"), Mention(2, 3, "2")]


def test_a_treebank_of_coreference_needs_no_heads(tmp_path: Path) -> None:
    rows = (
        "1-2\tam\t"
        + "_\t" * 7
        + "_\n1\tan\t_\tADP\t_\t_\t_\t_\t_\tEntity=(e1-x\n2\tdem\t_\tDET\t_\t_\t_\t_\t_\tEntity=e1)\n"
    )
    for words, spans in (("syntactic", [Mention(0, 2, "e1")]), ("surface", [Mention(0, 1, "e1")])):
        path = write(tmp_path, "a.conllu", "# global.Entity = eid-etype\n" + rows)
        (example,) = corpora.conllu(path, words=words)  # pyright: ignore[reportArgumentType]
        assert (example.heads, example.relations, example.mentions) == (None, None, spans)
    with pytest.raises(CorpusError, match=r":2: expected a head, found _"):
        list(
            corpora.conllu(
                write(tmp_path, "b.conllu", rows.replace("Entity=(e1-x", "_").replace("Entity=e1)", "_"))
            )
        )


def test_a_mention_over_sentences_is_left_out_and_said(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", json.dumps({**FLAT, "clusters": [[[4, 6], [0, 0]]]}))
    with pytest.warns(
        HeadscopeWarning, match=r"left out the mentions of 1 .*\[0\]\[0\]: expected a mention in one sent"
    ):
        examples = list(corpora.clusters(path))
    assert [each.mentions for each in examples] == [[Mention(0, 1, "0")], []]
    with pytest.raises(CorpusError, match="expected a mention in one sentence, found 4 to 6"):
        list(corpora.clusters(path, strict=True))


@pytest.mark.slow
def test_antecedents_are_found_without_parses_and_it_is_said(tmp_path: Path, demo: Any) -> None:
    corpus = annotated([write(tmp_path, "a.conll", LITBANK)], None, clusters=True)
    with pytest.warns(
        HeadscopeWarning, match="head words of mentions: no parse and no tags: the last word before"
    ):
        result = hs.coreference(demo, corpus)
    assert json.loads(result.attrs["meta"])["mention_heads"] == "words"
    kinds = result["n"].to_series()
    assert [int(kinds[kind]) for kind in ("all", "pronoun", "proper", "other")] == [2, 2, 0, 0]
    with warnings.catch_warnings(action="error", category=HeadscopeWarning):
        parsed = hs.coreference(demo, corpora.builtin_trees(), limit=20)
    assert json.loads(parsed.attrs["meta"])["mention_heads"] == "parse"


def test_documents_of_ontogum_have_the_same_mentions_in_columns(shared: Path, tmp_path: Path) -> None:
    """Written as GUM's .conll has them: no sentences, brackets one after another, words counted through the document."""
    for path in sorted((shared / "data" / "ontogum").glob("*.conllu"))[::6]:
        words: list[str] = []
        spans: list[tuple[int, int, str]] = []
        for sentence in corpora.conllu(path):
            spans += [
                (start + len(words), end + len(words), cluster)
                for start, end, cluster in sentence.mentions or ()
            ]
            words += sentence.words or ()
        rows: list[str] = []
        for place, word in enumerate(words):
            begins = [f"({cluster}" for start, end, cluster in spans if start == place < end - 1]
            single = [f"({cluster})" for start, end, cluster in spans if start == place == end - 1]
            ends = [f"{cluster})" for start, end, cluster in spans if start < place == end - 1]
            rows.append(f"{place}\t{word}\t{''.join([*ends, *begins, *single]) or '_'}\n")
        written = write(tmp_path, "a.conll", f"# begin document {path.stem}\n{''.join(rows)}# end document\n")
        found, before = list[tuple[int, int, str]](), 0
        sentences = list(corpora.conll2012(written, strict=True))
        for sentence in sentences:
            found += [
                (start + before, end + before, cluster) for start, end, cluster in sentence.mentions or ()
            ]
            before += len(sentence.words or ())
        assert [word for sentence in sentences for word in sentence.words or ()] == words
        assert sorted(found) == sorted(spans)
        assert max(len(sentence.words or ()) for sentence in sentences) < 128
