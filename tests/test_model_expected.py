"""A model's name in place of a model gets one line that says what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headscope as hs

CORPUS, TREES = hs.corpora.texts(["a b"]), hs.corpora.builtin_trees()
CALLS: dict[str, Callable[[Any], Any]] = {
    "ablate": lambda model: hs.ablate(model, "L0H1").__enter__(),
    "ablation": lambda model: hs.contribution.ablation(model, CORPUS),
    "capture": lambda model: hs.capture(model, "a b"),
    "compare.inputs": lambda model: hs.compare.inputs(model, "a", "b"),
    "compare.models": lambda model: hs.compare.models(model, model, CORPUS),
    "coreference": lambda model: hs.coreference(model, TREES),
    "distance": lambda model: hs.distance(model, CORPUS),
    "generate": lambda model: hs.generate(model, "a"),
    "gradients": lambda model: hs.gradients(model, "a"),
    "importance": lambda model: hs.contribution.importance(model, CORPUS),
    "measure": lambda model: hs.measure(model, CORPUS),
    "negation": lambda model: hs.negation(model, CORPUS),
    "neuron_patterns": lambda model: hs.contribution.neuron_patterns(model, "a b"),
    "probe": lambda model: hs.probe(model, TREES, TREES),
    "relevance": lambda model: hs.contribution.relevance(model, "a"),
    "report": lambda model: hs.report(model, CORPUS),
    "roles": lambda model: hs.roles(model, CORPUS),
    "syntax": lambda model: hs.syntax(model, TREES),
    "unused_token": lambda model: hs.contribution.unused_token(model, CORPUS),
    "variability": lambda model: hs.contribution.variability(model, CORPUS),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_name_is_no_model(call: Callable[[Any], Any]) -> None:
    with pytest.raises(
        hs.errors.InputError,
        match=r"^(model|a): expected one from hs.load, found 'gpt2'; hs.load\('gpt2'\) gives one$",
    ):
        call("gpt2")
    with pytest.raises(hs.errors.InputError, match=r"^(model|a): expected one from hs.load, found 3$"):
        call(3)
