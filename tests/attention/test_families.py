"""Capture is exact: every family of models against its own eager attention. docs/models.md is made from this."""

from __future__ import annotations

from pathlib import Path

import models_table
import pytest

import headscope as hs
from headscope.attention.check import PADDING
from headscope.errors import RefusedError
from tests.helpers.examine import examine
from tests.helpers.families import CAPTURED, FAMILIES, REFUSED, Family, build, each

ROOT = Path(__file__).resolve().parents[2]
OWN_KERNELS_DIFFER = {"Falcon ALiBi"}
"""Families whose eager and fused kernels disagree by themselves: transformers scales the ALiBi term in only one of them."""
PADDING_MOVES = {"ConvBERT", "Funnel", "Funnel factorized"}
"""A convolution over tokens, and tokens that are pooled with their neighbours."""


@pytest.mark.parametrize("family", each(CAPTURED))
def test_capture_is_exact(family: Family) -> None:
    found = examine(family)
    assert found.way == ("interface" if family.interface else "trace")
    assert found.weights <= 1e-6
    assert found.recomputed <= 1e-5
    assert found.output <= 1e-5
    if found.own is not None and found.own > 1e-4:
        assert family.name in OWN_KERNELS_DIFFER
    else:
        assert found.fused is None or found.fused <= 1e-4


@pytest.mark.parametrize("family", each(REFUSED))
def test_chunked_attention_is_refused(family: Family) -> None:
    with pytest.raises(RefusedError, match=r"chunk|block|window") as error:
        hs.load(build(family))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("family", each(CAPTURED))
def test_the_check_passes(family: Family) -> None:
    """Loading checks each family on inputs that it makes itself, also with padding where it reads tokens."""
    checked = hs.load(build(family)).checked
    assert sum(part.layers for part in checked.parts) == family.layers
    assert checked.same_length == (family.name in PADDING_MOVES)
    assert (checked.padding_error is not None) == (family.reads in ("text", "target"))
    if checked.padding_error is not None and not checked.same_length:
        assert checked.padding_error < PADDING / 10


def test_the_table_of_models_is_up_to_date() -> None:
    names = models_table.families_in(ROOT / "docs" / "models.md")
    assert sorted(names) == sorted(family.name for family in FAMILIES)
