"""An atlas of twelve heads, and examples with queries and keys, that need no model."""

from __future__ import annotations

import numpy as np

from headscope.analyses.atlas.section import Atlas, planes
from headscope.analyses.cards.section import Cards
from headscope.core.maps import wrap
from headscope.core.neurons import Neurons
from headscope.views import blocks
from headscope.views.inputs import Input
from headscope.views.section import Ready
from tests.helpers import report_sample
from tests.helpers.report_whole import HEADS, ROLES, card, distances

LAYERS, HEADS_A_LAYER, DIM = 3, 4, 6


def with_neurons(weights: np.ndarray, seed: int = 0) -> Input:
    """Weights ``[layer head token token]`` of tokens a, b, … with random queries and keys."""
    random, size = np.random.default_rng(seed), weights.shape[-1]
    q, k = (list(random.normal(size=(LAYERS, HEADS_A_LAYER, size, DIM))) for _ in range(2))
    none = [None] * LAYERS
    inner = Neurons(q, k, scaling=[1.0] * LAYERS, bias=none, softcap=none, sinks=none)
    pieces = [chr(ord("a") + place) for place in range(size)]
    return Input({"self": wrap(weights, pieces)}, neurons={"self": inner})


def examples() -> list[Input]:
    """Three inputs, of nine tokens, of six and of five."""
    random = np.random.default_rng(3)
    return [
        with_neurons(random.dirichlet(np.ones(size), (LAYERS, HEADS_A_LAYER, size)), size)
        for size in (9, 6, 5)
    ]


def atlas() -> Atlas:
    """Twelve heads on a line by their distances, two with a role."""
    found = {head: [role] for head, role in ROLES.items()}
    command = "headscope report --sections atlas"
    return Atlas(HEADS, found, distances(), planes(enumerate(examples())), command)


def page() -> str:
    """A report that has the atlas alone, and the card of the open head."""
    cards = Cards([card(head) for head in HEADS], 40, 3).block(alone=True)
    alone = Ready(blocks.section("card", "", "", [cards]))
    return report_sample.report_page(report_sample.dataset(), examples(), sections=[atlas(), alone])
