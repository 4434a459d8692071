"""`head_view` and `model_view` with BertViz's arguments and defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np

from headscope.bertviz.show import HtmlAction, check_action, shown
from headscope.errors import InputError, ShapeError
from headscope.maps import AttentionMaps, Kind, wrap
from headscope.tokens import Tokens, strip_markers
from headscope.views.explorer import Input
from headscope.views.view import View

_EAGER = 'a model loaded with attn_implementation="eager" and called with output_attentions=True'


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
    check_action(html_action)
    parts = _parts(
        attention,
        tokens,
        sentence_b_start,
        prettify_tokens,
        {"encoder": encoder_attention, "decoder": decoder_attention, "cross": cross_attention},
        encoder_tokens,
        decoder_tokens,
    )
    maps = next(iter(parts.values()))
    first = (list(include_layers) if include_layers else list(maps.index))[0] if layer is None else layer
    if heads is None and first in maps.index:
        heads = range(len(maps.layers[maps.index.index(first)]))
    state: dict[str, Any] = {"scale": "head", "layer": first, "heads": list(heads or [0])}
    return shown(View([Input(parts)], state, include_layers=include_layers), html_action)


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
    check_action(html_action)
    parts = _parts(
        attention,
        tokens,
        sentence_b_start,
        prettify_tokens,
        {"encoder": encoder_attention, "decoder": decoder_attention, "cross": cross_attention},
        encoder_tokens,
        decoder_tokens,
    )
    state = {"scale": "model", "theme": check_mode(display_mode)}
    view = View([Input(parts)], state, include_layers=include_layers, include_heads=include_heads)
    return shown(view, html_action)


def check_mode(mode: str) -> str:
    """`mode`, where it is BertViz's ``dark`` or ``light``."""
    if mode not in ("dark", "light"):
        raise InputError(f"display_mode: expected 'dark' or 'light', found {mode!r}")
    return mode


def _parts(
    attention: Any,
    tokens: Sequence[str] | None,
    sentence_b_start: int | None,
    pretty: bool,
    given: Mapping[str, Any],
    encoder_tokens: Sequence[str] | None,
    decoder_tokens: Sequence[str] | None,
) -> dict[str, AttentionMaps]:
    of_two = {name: value for name, value in given.items() if value is not None}
    if attention is not None and _field(attention, "encoder_attentions") is not None and tokens is None:
        names = ("encoder", "decoder", "cross")
        of_two = {name: attention for name in names if _field(attention, f"{name}_attentions")} | of_two
        attention = None
    if attention is not None:
        if of_two or encoder_tokens is not None or decoder_tokens is not None:
            raise InputError(
                "attention: is for models of one part; give encoder_attention, decoder_attention and "
                "cross_attention alone for an encoder-decoder"
            )
        if tokens is None:
            raise InputError("tokens: expected one string a position, found none")
        axis = _tokens(tokens, pretty, sentence_b_start)
        return {"self": _maps("attention", attention, "attentions", axis, axis, "self")}
    if not of_two:
        raise InputError("attention: expected outputs.attentions (or encoder_attention, …), found none")
    encoder = None if encoder_tokens is None else _tokens(encoder_tokens, pretty, None)
    decoder = None if decoder_tokens is None else _tokens(decoder_tokens, pretty, None)
    made: dict[str, AttentionMaps] = {}
    for name, value in of_two.items():
        query = encoder if name == "encoder" else decoder
        key = decoder if name == "decoder" else encoder
        for which, axis in (("encoder", encoder), ("decoder", decoder)):
            if axis is None and (which == name or name == "cross"):
                raise InputError(f"{which}_tokens: required with {name}_attention")
        assert query is not None
        assert key is not None
        kind: Kind = {"encoder": "encoder", "cross": "cross"}.get(name, "self")  # type: ignore[assignment]
        made[name] = _maps(f"{name}_attention", value, f"{name}_attentions", query, key, kind)
    return made


def _field(outputs: Any, name: str) -> Any:
    """A field of what a model returns; None where it is something else."""
    if isinstance(outputs, Mapping):
        return cast(Mapping[str, Any], outputs).get(name)
    return getattr(outputs, name, None)


def _maps(argument: str, value: Any, field: str, query: Tokens, key: Tokens, kind: Kind) -> AttentionMaps:
    fix = f"pass outputs.{field} of {_EAGER}"
    if isinstance(value, Mapping) or hasattr(value, field):
        found = _field(value, field)
        if not found:
            raise InputError(f"{argument}: these outputs hold no {field}; {fix}")
        value = found
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
        what = f"an array of shape {shape}" if shape else type(value).__name__
        raise InputError(f"{argument}: expected a tensor a layer, found {what}; {fix}")
    try:
        return wrap(value, query, key, kind=kind, partial=True)
    except ShapeError as error:
        raise ShapeError(f"{argument}: {error}") from None


def _tokens(tokens: Sequence[str], pretty: bool, sentence_b_start: int | None) -> Tokens:
    axis = Tokens.of(list(tokens) if not isinstance(tokens, str) else tokens)
    if pretty:
        axis = replace(axis, pieces=[_plain(piece) for piece in axis.pieces])
    if sentence_b_start is not None:
        if not 0 < sentence_b_start < len(axis):
            raise InputError(
                f"sentence_b_start: expected a position from 1 to {len(axis) - 1}, found {sentence_b_start}"
            )
        axis = replace(axis, sequence_ids=np.arange(len(axis)) >= sentence_b_start)
    return axis


def _plain(piece: str) -> str:
    return piece if piece.startswith("##") else strip_markers(piece)
