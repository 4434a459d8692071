"""Sentences that show what the best head of each relation does."""

from __future__ import annotations

from headscope.analyses.links.examples import shown_on
from headscope.analyses.links.syntax.run import Dependencies, syntax
from headscope.analyses.links.syntax.section import Syntax
from headscope.analyses.study import Study
from headscope.corpora import builtin_trees
from headscope.views.section import Section

WORDS = 3, 16
"""The fewest and the most words of a sentence that is drawn."""


def section(study: Study, *, seed: int = 0) -> list[Section]:
    """Table 1 on a treebank (the built-in one by default), and sentences for the best head of each relation."""
    model, treebank = study.model, study.treebank or builtin_trees()
    limit = study.sentences(study.treebank)
    result = syntax(model, treebank, seed=seed, limit=limit, progress=study.progress)
    made = Syntax(result, command=study.typed and study.typed.on("syntax", "--treebank"))
    engine = Dependencies(model)
    return [shown_on(made, study, engine, engine.asked(treebank, limit), WORDS, seed)]
