"""The built-in trees are those that were checked by the rules of Universal Dependencies, and of the built-in text."""

from __future__ import annotations

import hashlib
from importlib import resources

import pytest

from headscope import corpora
from headscope.errors import InputError


def test_trees_are_those_that_were_checked() -> None:
    """Whoever changes them checks them by the validator of Universal Dependencies, and writes the sum anew."""
    content = (resources.files("headscope.corpora") / "data" / "builtin.conllu").read_bytes()
    assert (
        hashlib.sha256(content).hexdigest()
        == "b674b60c776d3301d0b308b5c4e18795b410afb371ec9298ed95f4289c849681"
    )
    trees, texts = list(corpora.builtin_trees()), list(corpora.builtin())
    for tree, line in zip(trees, texts, strict=True):
        spaced = zip(tree.words, tree.spaces, strict=True)
        assert "".join(word + " " * space for word, space in spaced).rstrip() == line.text
        assert tree.document == line.document


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
