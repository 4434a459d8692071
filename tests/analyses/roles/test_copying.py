"""Whether heads copy, against `headscope.attribute`, and in circuits built by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose

import headscope as hs
from headscope.analyses.roles.copying import copying
from headscope.analyses.roles.run import repeated_tokens
from headscope.analyses.roles.statistics import every, named
from headscope.attention.residual import effects
from tests.helpers.planted_induction import circuit
from tests.helpers.small_models import sizes


def small() -> hs.Model:
    torch.manual_seed(0)
    config = transformers.Gemma2Config(
        vocab_size=30, **sizes(hidden=16, inner=16, keys=2, length=32), head_dim=4
    )
    return hs.load(transformers.Gemma2ForCausalLM(config))


def test_effects_are_the_sums_of_attributions_over_sources() -> None:
    model = small()
    tokens = hs.Tokens([str(one) for one in range(3, 9)], ids=np.arange(3, 9))
    found = effects(model, model.inputs([tokens]), slice(2, 5), [4, 20])
    for row, position in enumerate(range(2, 5)):
        for column, token in enumerate((4, 20)):
            one = hs.attribute(model, tokens, token=token, position=position)["heads"].sum("source")
            for layer in range(2):
                assert_allclose(found[layer][:, row, column], one[layer], atol=1e-6)


@pytest.mark.parametrize(
    ("sign", "shift", "score", "role"),
    [(1.0, 0, 1.0, "induction"), (-1.0, 0, 0.0, "anti-induction"), (1.0, 7, 0.5, "prefix matching")],
)
def test_a_head_that_matches_prefixes_is_named_by_what_it_writes(
    sign: float, shift: int, score: float, role: str
) -> None:
    model = circuit(sign, shift)
    repeated = repeated_tokens(model, tokens=25, sequences=8)
    copies = copying(model, repeated)
    assert not isinstance(copies, str)
    found = float(copies["copying"].sel(layer=1, head=0))
    # Shifted, what follows ties with all other tokens, and rounding ranks it: 25 tokens, three standard errors.
    assert abs(found - score) < (3 * np.sqrt(1 / 12 / 25) if shift else 0.05)
    assert float(copies["copying"].sel(layer=1, head=1)) == 0.5  # the blank head's, all ties
    table = named(every(hs.measure(model, repeated, measures=["surface", "synthetic"]), copies))
    one = table[(table["layer"] == 1) & (table["head"] == 0)]
    assert one["role"].tolist() == [role]
    if role == "prefix matching":
        assert f"copying {found:.3f}, chance 0.500" in table.attrs["not_found"]["induction"]
    else:
        assert one["copying"].item() == pytest.approx(found)


def test_without_one_residual_stream_prefix_matching_alone_is_told() -> None:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=60, **sizes(hidden=16, layers=1, heads=2, length=64), is_decoder=True
    )
    model = hs.load(transformers.BertLMHeadModel(config))
    why = copying(model, repeated_tokens(model, tokens=10, sequences=8))
    assert isinstance(why, str)
    assert "one residual stream" in why
