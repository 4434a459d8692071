"""The part of a model of texts and pictures that looks at pictures, as a model of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor

from headscope.attention.check import check
from headscope.attention.recording import edits
from headscope.models.model import Model
from headscope.models.perceive import tower

_EYES: WeakKeyDictionary[Model, Model] = WeakKeyDictionary()
_KINDS: WeakKeyDictionary[Model, set[frozenset[str]]] = WeakKeyDictionary()
"""On what kinds of input a model of texts and pictures was checked."""


def verified(model: Model, inputs: Mapping[str, Tensor]) -> None:
    """Check a model of texts and pictures on the first input of its kind: with a picture, or without.

    Raises `RefusedError` where it cannot be verified.
    """
    if model.processor is None or model.checked is None or edits.now():
        return
    kinds, kind = _KINDS.setdefault(model, {model.checked.inputs}), frozenset(inputs)
    if kind not in kinds:
        check(model, inputs)
        kinds.add(kind)


def eyes(model: Model) -> Model:
    """What looks at a picture that comes without a text: of CLIP or LLaVA the vision model; else the model itself.

    Raises `RefusedError` where that part cannot be verified.
    """
    part: Any = tower(model.module)
    if part is None or model.image_processor is None or getattr(model.config, "vision_config", None) is None:
        return model
    if model not in _EYES:
        alone = replace(model, module=part, name=f"{model.name} (vision)", tokenizer=None, processor=None)
        alone.checked = check(alone)
        _EYES[model] = alone
    return _EYES[model]
