"""The built-in trees keep the rules of Universal Dependencies that can be checked without its validator."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources

import pytest

from headscope import corpora
from headscope.corpora import Mention
from headscope.errors import InputError

_TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
_RELATIONS = """
acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed flat
goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp
acl:relcl advcl:relcl aux:pass cc:preconj compound:prt csubj:outer csubj:pass det:predet nmod:desc nmod:poss
nmod:unmarked nsubj:outer nsubj:pass obl:agent obl:unmarked
"""
_AUXILIARIES = "be have do get can could may might must shall should will would"
TAGS, RELATIONS, AUXILIARIES = (set(names.split()) for names in (_TAGS, _RELATIONS, _AUXILIARIES))
OPEN = {"NOUN", "PROPN", "ADJ", "PRON", "DET", "NUM", "AUX"}
# A dependent's tag, where its relation says which ones it may or may not have.
ALLOWED = {
    "det": {"DET", "PRON"},
    "nummod": {"NUM"},
    "advmod": {"ADV", "ADJ", "CCONJ", "DET", "PART", "SYM"},
    "expl": {"PRON", "DET", "PART"},
    "aux": {"AUX"},
    "cop": {"AUX"},
    "amod": {"ADJ", "VERB", "NUM"},
    "case": TAGS - OPEN,
    "mark": TAGS - OPEN - {"VERB", "INTJ"},
    "cc": TAGS - OPEN - {"VERB", "INTJ"},
    "punct": {"PUNCT", "SYM"},
}
# What function words may govern.
_SHARED = {"fixed", "conj", "cc", "punct", "goeswith", "reparandum"}
LEAVES = {
    "case": _SHARED | {"advmod", "obl"},
    "mark": _SHARED | {"advmod", "obl"},
    "det": _SHARED | {"advmod"},
    "aux": _SHARED,
    "cop": _SHARED,
    "cc": _SHARED - {"cc"},
    "fixed": {"goeswith", "reparandum", "conj", "punct"},
    "punct": {"punct"},
}


@dataclass
class Word:
    form: str
    lemma: str
    tag: str
    features: dict[str, str]
    head: int
    relation: str

    @property
    def main(self) -> str:
        return self.relation.split(":")[0]


@dataclass
class Tree:
    name: str
    text: str
    words: list[Word] = field(default_factory=list[Word])
    rebuilt: str = ""
    begins: bool = False

    def children(self, number: int) -> list[tuple[int, Word]]:
        return [(child, word) for child, word in enumerate(self.words, 1) if word.head == number]

    def above(self, number: int) -> Iterator[int]:
        """The heads of a word up to the root, or until they come round."""
        seen = {number}
        while number and (number := self.words[number - 1].head) not in seen:
            seen.add(number)
            yield number


def content() -> str:
    return (resources.files("headscope.corpora") / "data" / "builtin.conllu").read_text("utf-8")


def parse(block: str) -> Tree:
    lines = block.split("\n")
    comments = {m[1]: m[2] for line in lines if (m := re.match(r"# (\S+) = (.*)", line))}
    tree = Tree(comments["sent_id"], comments["text"], begins="newdoc" in lines[0])
    covered = 0
    for line in (line for line in lines if not line.startswith("#")):
        columns = line.split("\t")
        assert len(columns) == 10, line
        assert all(columns), line
        space = "SpaceAfter=No" not in columns[9].split("|")
        if match := re.fullmatch(r"(\d+)-(\d+)", columns[0]):
            assert (int(match[1]), columns[2:9]) == (len(tree.words) + 1, ["_"] * 7), line
            covered = int(match[2])
            tree.rebuilt += columns[1] + " " * space
            continue
        assert columns[0] == str(len(tree.words) + 1), line
        if int(columns[0]) > covered:
            tree.rebuilt += columns[1] + " " * space
        features = [] if columns[5] == "_" else columns[5].split("|")
        assert features == sorted(features, key=str.lower), line
        named = dict(one.split("=") for one in features)
        tree.words.append(Word(columns[1], columns[2], columns[3], named, int(columns[6]), columns[7]))
    tree.rebuilt = tree.rebuilt.rstrip()
    return tree


def trees() -> list[Tree]:
    return [parse(block) for block in content().strip("\n").split("\n\n")]


def faults(tree: Tree) -> set[str]:
    """The rules that a tree breaks."""
    found: set[str] = set()
    count = len(tree.words)
    if sum(word.head == 0 for word in tree.words) != 1:
        found.add("one root")
    if any((word.head == 0) != (word.relation == "root") for word in tree.words):
        found.add("root at head 0")
    if any(not 0 <= word.head <= count for word in tree.words):
        return found | {"head in range"}
    if any(0 not in tree.above(number) for number in range(1, count + 1)):
        return found | {"no cycle"}
    for number, word in enumerate(tree.words, 1):
        found |= _word_faults(tree, number, word)
    if tree.rebuilt != tree.text:
        found.add("text")
    return found


def _word_faults(tree: Tree, number: int, word: Word) -> set[str]:
    found: set[str] = set()
    tag = word.features.get("ExtPos", word.tag)
    children = tree.children(number)
    if word.tag not in TAGS:
        found.add("known tag")
    if word.relation not in RELATIONS:
        found.add("known relation")
    if tag not in ALLOWED.get(word.main, TAGS):
        found.add(f"tag of {word.main}")
    if word.tag == "PUNCT" and word.main not in ("punct", "root"):
        found.add("punctuation is punct")
    if word.main in ("conj", "fixed", "flat", "goeswith", "appos") and word.head > number:
        found.add("left to right")
    if {child.main for _, child in children} - LEAVES.get(word.main, {c.main for _, c in children}):
        found.add(f"children of {word.main}")
    if word.main == "cop" and word.lemma != "be":
        found.add("copula")
    if word.tag == "AUX" and word.lemma not in AUXILIARIES:
        found.add("auxiliary")
    relations = [child.relation for _, child in children]
    if sum(one in ("nsubj", "nsubj:pass", "csubj", "csubj:pass") for one in relations) > 1:
        found.add("one subject")
    if relations.count("obj") > 1 or relations.count("iobj") > 1:
        found.add("one object")
    passive = {"nsubj:pass", "csubj:pass"} & set(relations)
    if passive and "aux:pass" not in relations and word.relation != "conj":
        found.add("passive subject")
    if "aux:pass" in relations and {"nsubj", "csubj"} & set(relations):
        found.add("passive subject")
    if word.main == "punct":
        between = range(min(number, word.head) + 1, max(number, word.head))
        if any(word.head not in tree.above(one) for one in between):
            found.add("projective punctuation")
        if any(
            min(other, head) < number < max(other, head) and head not in tree.above(number)
            for other, head in (
                (other, tree.words[other - 1].head) for other in range(1, len(tree.words) + 1)
            )
            if head
        ):
            found.add("projective punctuation")
    return found | _feature_faults(word)


def _feature_faults(word: Word) -> set[str]:
    features = word.features
    if word.tag in ("NOUN", "PROPN") and features.get("Number") not in ("Sing", "Plur", "Ptan"):
        return {"number of nouns"}
    if features.get("PronType") == "Prs":
        needed = {"Person"} if features.get("Person") == "2" else {"Person", "Number"}
        if features.get("Person") == "3" and features.get("Number") == "Sing":
            needed.add("Gender")
        if needed - set(features) or ("Case" not in features):
            return {"features of pronouns"}
    if word.tag == "PRON" and "PronType" not in features and "Poss" not in features:
        return {"features of pronouns"}
    return set()


def test_every_sentence_keeps_the_rules() -> None:
    assert {tree.name: faults(tree) for tree in trees() if faults(tree)} == {}


def test_sentences_are_those_of_the_text() -> None:
    texts = list(corpora.builtin())
    assert [tree.rebuilt for tree in trees()] == [line.text for line in texts]
    starts = [
        line.document > before
        for line, before in zip(texts, [-1, *(t.document for t in texts)], strict=False)
    ]
    assert [tree.begins for tree in trees()] == starts
    assert len({tree.name for tree in trees()}) == len(texts)


def mention_faults(name: str, heads: list[int], mentions: list[Mention]) -> set[str]:
    """The rules that the mentions of a sentence break; heads count from 0."""
    found: set[str] = set()
    spans = [(start, end) for start, end, _ in mentions]
    if len(set(spans)) < len(spans):
        found.add("one mention a span")
    if any(a < c < b < d for a, b in spans for c, d in spans):
        found.add("nested spans")
    for start, end in spans:
        if sum(not start <= heads[word] < end for word in range(start, end)) != 1:
            found.add("one head a mention")
    return found


def test_mentions_are_phrases_of_clusters() -> None:
    clusters: Counter[tuple[int, str]] = Counter()
    for example in corpora.builtin_trees():
        assert not mention_faults(example.name, list(example.heads), list(example.mentions)), example.name
        clusters.update((example.document, mention.cluster) for mention in example.mentions)
    assert min(clusters.values()) >= 2
    assert {document for document, _ in clusters} == set(range(13))


def test_read() -> None:
    examples = list(corpora.builtin_trees())
    second = examples[1]
    assert (second.name, second.source.split(":")[0], second.document) == ("news-2", "builtin.conllu", 0)
    edges = {
        (word, relation, second.words[head])
        for word, relation, head in zip(second.words, second.relations, second.heads, strict=True)
    }
    assert edges >= {
        ("Quillan", "flat", "Marta"),
        ("inspects", "acl:relcl", "Marta"),
        ("checking", "advcl", "noticed"),
    }
    expected = ["Marta Quillan , who inspects bridges for the county", "the damage", "she"]
    assert [" ".join(second.words[m.start : m.end]) for m in second.mentions] == expected
    assert second.mentions[0].cluster == second.mentions[2].cluster != second.mentions[1].cluster
    assert [example.document for example in examples] == [line.document for line in corpora.builtin()]


def test_options() -> None:
    surface = list(corpora.builtin_trees(words="surface", relations="main"))[4]
    assert surface.words[1:4] == ["I", "didn't", "want"]
    assert not any(":" in relation for relation in surface.relations)
    with pytest.raises(InputError, match=r"words: expected syntactic or surface, found 'both'"):
        corpora.builtin_trees(words="both")  # type: ignore[arg-type]
