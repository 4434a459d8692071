"""What a value is of which nothing is known, such as one of JSON; a type checker knows it then."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from headscope.core.types import AnyDict, AnyMapping, AnyPath


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a list."""
    return isinstance(value, list)


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """Whether a value is a tuple."""
    return isinstance(value, tuple)


def is_list_or_tuple(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple."""
    return isinstance(value, list | tuple)


def is_object(value: object) -> TypeGuard[AnyDict]:
    """Whether a value is an object of JSON."""
    return isinstance(value, dict)


def is_mapping(value: object) -> TypeGuard[AnyMapping]:
    """Whether a value has others under keys, as a dict has."""
    return isinstance(value, Mapping)


def is_path(value: object) -> TypeGuard[AnyPath]:
    """Whether a value is the path of a file."""
    return isinstance(value, str | os.PathLike)


def json_value(value: object) -> Any:
    """A value as JSON has it: null for what is no finite number, a text for what is of no type of JSON.

    >>> json_value({"a": (1, float("inf")), "b": Exception("c")})
    {'a': [1, None], 'b': 'c'}
    """
    if is_mapping(value):
        return {str(key): json_value(one) for key, one in value.items()}
    if is_list_or_tuple(value):
        return [json_value(one) for one in value]
    if type(value).__module__ == "numpy":
        return json_value(getattr(value, "tolist", value.__str__)())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
