"""Corpora: readers that stream examples, packing, and blocks of batches. Needs no torch.

>>> corpus = headscope.corpora.text("wiki.txt", pack=128)
>>> for block in headscope.corpora.blocks(corpus.encoded(model)):
...     for batch in block:  # a list of examples with tokens
...         ...
"""

from headscope.corpora.alignments import alignments
from headscope.corpora.batches import Block, blocks
from headscope.corpora.clusters import clusters
from headscope.corpora.conll2012 import conll2012
from headscope.corpora.corpus import Corpus, distinct
from headscope.corpora.datasets import dataset
from headscope.corpora.encoder import Counts, Encoder
from headscope.corpora.example import Example, Mention
from headscope.corpora.given import corpus_of as _corpus_of  # noqa: F401  # pyright: ignore[reportUnusedImport]
from headscope.corpora.links import from_class, linked, links, negations
from headscope.corpora.pairs import pairs
from headscope.corpora.perceived import builtin_images, builtin_sounds, images, sounds
from headscope.corpora.prompts import prompts
from headscope.corpora.readers import builtin, jsonl, spoken, text, texts
from headscope.corpora.tables import table
from headscope.corpora.treebank import builtin_trees, conllu, word_heads

__all__ = [
    "Block",
    "Corpus",
    "Counts",
    "Encoder",
    "Example",
    "Mention",
    "alignments",
    "blocks",
    "builtin",
    "builtin_images",
    "builtin_sounds",
    "builtin_trees",
    "clusters",
    "conll2012",
    "conllu",
    "dataset",
    "distinct",
    "from_class",
    "images",
    "jsonl",
    "linked",
    "links",
    "negations",
    "pairs",
    "prompts",
    "sounds",
    "spoken",
    "table",
    "text",
    "texts",
    "word_heads",
]
