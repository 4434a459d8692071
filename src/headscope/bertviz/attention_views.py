"""`head_view` and `model_view` with BertViz's arguments and defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from headscope.bertviz.show import HtmlAction, shown
from headscope.core.maps import AttentionMaps, Kind, wrap
from headscope.core.tokens import Tokens, strip_markers
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import validated
from headscope.errors import InputError, ShapeError
from headscope.views.inputs import Input
from headscope.views.view import View

LINES_UP_TO = 48
"""Up to so many tokens every head of the grid is drawn as lines, as BertViz draws them."""

_EAGER = 'a model loaded with attn_implementation="eager" and called with output_attentions=True'


@validated
def head_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    html_action: HtmlAction = "view",
) -> Any:
    """Lines of the heads of a layer; all of its heads at first.

    Args:
        attention: of a model of one part, ``outputs`` or ``outputs.attentions``: a tensor ``[1 head query key]``
            a layer.
        tokens: one string a position.
        sentence_b_start: the position where text B begins.
        prettify_tokens: leave out the marks that a tokenizer puts on its pieces.
        layer: the layer at first; 0 by default.
        heads: the heads at first; all by default.
        encoder_attention, decoder_attention, cross_attention: of an encoder-decoder, ``outputs`` or its fields.
        encoder_tokens, decoder_tokens: its tokens.
        include_layers: the layers to show; they keep their numbers.
        html_action: ``view`` displays; ``return`` returns an object whose ``data`` is a page of HTML.
    """
    given = {"encoder": encoder_attention, "decoder": decoder_attention, "cross": cross_attention}
    axes = _Axes(tokens, sentence_b_start, prettify_tokens, encoder_tokens, decoder_tokens)
    parts = _parts(attention, given, axes)
    maps = next(iter(parts.values()))
    first = (list(include_layers) if include_layers else list(maps.index))[0] if layer is None else layer
    if heads is None and first in maps.index:
        heads = range(len(maps.layers[maps.index.index(first)]))
    state: AnyDict = {"scale": "head", "layer": first, "heads": list(heads or [0])}
    return shown(View([Input(parts)], state, include_layers=include_layers), html_action)


@validated
def model_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: Literal["dark", "light"] = "dark",
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    html_action: HtmlAction = "view",
) -> Any:
    """The grid of all heads, dark by default; arguments as for `head_view`, and `include_heads`."""
    given = {"encoder": encoder_attention, "decoder": decoder_attention, "cross": cross_attention}
    axes = _Axes(tokens, sentence_b_start, prettify_tokens, encoder_tokens, decoder_tokens)
    parts = _parts(attention, given, axes)
    state = {"scale": "model", "theme": display_mode}
    if all(max(len(maps.query), len(maps.key)) <= LINES_UP_TO for maps in parts.values()):
        state["draw"] = "lines"
    view = View([Input(parts)], state, include_layers=include_layers, include_heads=include_heads)
    return shown(view, html_action)


class _Axes(NamedTuple):
    """The tokens of each part, as BertViz's calls give them."""

    tokens: Sequence[str] | None
    sentence_b_start: int | None
    pretty: bool
    encoder: Sequence[str] | None
    decoder: Sequence[str] | None

    def of(self, tokens: Sequence[str] | None, missing: str, start: int | None = None) -> Tokens:
        """Tokens as an axis. `InputError` (`missing`) where there are none."""
        if tokens is None:
            raise InputError(missing)
        axis = Tokens.of(list(tokens) if not isinstance(tokens, str) else tokens)
        if self.pretty:
            pieces = [piece if piece.startswith("##") else strip_markers(piece) for piece in axis.pieces]
            axis = replace(axis, pieces=pieces)
        if start is None:
            return axis
        if not 0 < start < len(axis):
            raise InputError(
                f"sentence_b_start: expected a position from 1 to {len(axis) - 1}, found {start}"
            )
        return replace(axis, sequence_ids=np.arange(len(axis)) >= start)


def _parts(attention: Any, given: AnyMapping, axes: _Axes) -> dict[str, AttentionMaps]:
    by_part = {name: value for name, value in given.items() if value is not None}
    if attention is not None and _field(attention, "encoder_attentions") is not None and axes.tokens is None:
        by_part = {name: attention for name in given if _field(attention, f"{name}_attentions")} | by_part
        attention = None
    if attention is not None:
        if by_part or axes.encoder is not None or axes.decoder is not None:
            raise InputError(
                "attention: is for models of one part; give encoder_attention, decoder_attention and "
                "cross_attention alone for an encoder-decoder"
            )
        missing = "tokens: expected one string a position, found none"
        axis = axes.of(axes.tokens, missing, axes.sentence_b_start)
        return {"self": _maps("attention", attention, "attentions", axis, axis, "self")}
    if not by_part:
        raise InputError("attention: expected outputs.attentions (or encoder_attention, …), found none")
    ends: Mapping[str, tuple[str, str, Kind]] = {
        "encoder": ("encoder", "encoder", "encoder"),
        "decoder": ("decoder", "decoder", "self"),
        "cross": ("decoder", "encoder", "cross"),
    }
    parts: dict[str, AttentionMaps] = {}
    for name, value in by_part.items():
        *sides, kind = ends[name]
        both = {
            side: axes.of(getattr(axes, side), f"{side}_tokens: required with {name}_attention")
            for side in sorted(sides, reverse=True)
        }
        query, key = (both[side] for side in sides)
        parts[name] = _maps(f"{name}_attention", value, f"{name}_attentions", query, key, kind)
    return parts


def _field(outputs: Any, name: str) -> Any:
    """A field of what a model returns; None where it is something else."""
    if isinstance(outputs, Mapping):
        return cast(AnyMapping, outputs).get(name)
    return getattr(outputs, name, None)


def _maps(argument: str, value: Any, field: str, query: Tokens, key: Tokens, kind: Kind) -> AttentionMaps:
    fix = f"pass outputs.{field} of {_EAGER}"
    if isinstance(value, Mapping) or hasattr(value, field):
        layers = _field(value, field)
        if not layers:
            raise InputError(f"{argument}: these outputs hold no {field}; {fix}")
        value = layers
    if isinstance(value, (list, tuple)):
        layers = cast(Sequence[Any], value)
        if not layers:
            raise InputError(
                f"{argument}: expected a tensor a layer, found (); pass outputs.{field}, "
                f"not outputs[-1], of {_EAGER}"
            )
        if any(layer is None for layer in layers):
            raise InputError(f"{argument}: layers are None; {fix}")
        for place, layer in enumerate(layers):
            shape = tuple(getattr(layer, "shape", ()))
            if len(shape) == 4 and shape[0] != 1:
                raise InputError(
                    f"{argument}, layer {place}, axis batch: expected one input, found {shape[0]}; "
                    f"pass [layer[:1] for layer in outputs.{field}], and the tokens of that input"
                )
    elif len(getattr(value, "shape", ())) not in (4, 5):
        shape = tuple(getattr(value, "shape", ()))
        given = f"an array of shape {shape}" if shape else type(value).__name__
        raise InputError(f"{argument}: expected a tensor a layer, found {given}; {fix}")
    try:
        return wrap(value, query, key, kind=kind, partial=True)
    except ShapeError as error:
        raise ShapeError(f"{argument}: {error}") from None
