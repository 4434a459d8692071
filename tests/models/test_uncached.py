"""What tells a module to keep no keys and values of the tokens that it read."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest
import transformers
from transformers.models.auto import modeling_auto

from headscope.models.model import uncached

CLASSES = sorted(
    {name for name in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values() if isinstance(name, str)}
)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_every_language_model_that_takes_a_cache_is_told_to_keep_none(name: str) -> None:
    module: Any = getattr(transformers, name)
    takes = signature(module.forward).parameters
    assert uncached(module) == ({"use_cache": False} if {"past_key_values", "use_cache"} & {*takes} else {})
