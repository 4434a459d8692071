"""The views, from a model and a text or from maps that are there."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from headscope.attention.load import load
from headscope.attention.neurons import capture_with_neurons
from headscope.attention.one import Captured, Text, capture, prepare
from headscope.attention.parts import Parts
from headscope.attention.record import IMPLICIT
from headscope.attention.recorded import Recorded
from headscope.attention.stream import Reader
from headscope.core.arrays import AnyFloats
from headscope.core.audio import Audio
from headscope.core.failures import warn
from headscope.core.grid import Spoken, with_words
from headscope.core.heads import Head
from headscope.core.link import AnyLinks
from headscope.core.maps import AttentionMaps
from headscope.core.neurons import Neurons
from headscope.core.pictures import with_video
from headscope.core.types import AnyMapping
from headscope.core.validation import expect, validated
from headscope.errors import InputError
from headscope.live.lines import Lines, asked_line
from headscope.live.quantities import NAMES, Origin, with_quantities
from headscope.models import Model
from headscope.models.within import Loadable
from headscope.views.gold import of_parts
from headscope.views.inputs import Input, in_words
from headscope.views.payload import Offer, ReadsInfo
from headscope.views.state import STATE
from headscope.views.view import View

if TYPE_CHECKING:
    import xarray as xr

NEURON_BYTES = 8_000_000
"""Up to how many bytes queries and keys come with a view unasked."""

IMPLICIT_MAP = "implicit map"
"""The matrix per pair that a mixer multiplies its values with."""

Source = AttentionMaps | Parts | Recorded | Model | Loadable | None

By = Mapping[str, Sequence[AnyFloats | Tensor]] | Sequence[AnyFloats | Tensor]


@validated
def view(
    model: Source = None,
    text: Text | None = None,
    *,
    pair: str | None = None,
    against: Any = None,
    target: str | None = None,
    image: Any = None,
    video: Any = None,
    audio: Audio | None = None,
    inputs: AnyMapping | None = None,
    neurons: bool | None = None,
    quantities: str | Sequence[str] | Mapping[str, By] | None = None,
    objective: Callable[[Any], Tensor] | None = None,
    reads: bool = False,
    links: AnyLinks | None = None,
    title: str | None = None,
    measures: xr.Dataset | None = None,
    spoken: Any = None,
    sound: bool = True,
    exact: bool = False,
    implicit: bool = False,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    **state: Any,
) -> View:
    """The explorer: every head of a model on an input, from the grid of heads to the neurons of one.

    Args:
        model: from `headscope.load`, or what it takes (a hub name, a folder, a module; None: the demo model);
            or maps: `AttentionMaps`, the `Parts` of an encoder-decoder, or what `headscope.from_qk` gave.
        text: a string, an ``(A, B)`` tuple, a conversation or `Tokens`, as in `headscope.capture`.
        pair: text B.
        against: a second text, ``(A, B)`` tuple or maps, shown beside the first and linked to it; beside a picture or
            a sound without a text another of these; or a second model (such as the same one re-initialised) that
            reads the same.
        target: the decoder's text, for an encoder-decoder.
        image, video: pictures or a video, as in `headscope.capture`: heads are drawn on them.
        audio: a sound, as in `headscope.capture`.
        inputs: in place of a text, what the module takes; one row.
        neurons: queries and keys, for the neuron view; by default up to 8 MB of them.
        quantities: other matrices per pair to draw in place of the weights: ``"gradient"`` (of `objective`) and
            ``"norm"`` (‖α·v·W_O‖), computed here; or yours by name, ``[head query key]`` a layer (or
            ``[query key]`` for all its heads), by part
            where there are several. By default the gradient comes along where it adds at most 750,000 values
            (about 1 MB of a page) and the model's parameters times the tokens are at most 10¹⁰ (about a second
            to run backward), and the norm where both together fit; ``()`` leaves both out. What is not there
            is a click away in a notebook, and named in a saved page.
        objective: what gradients are of: takes what the module returns, gives a scalar. By default a language model's
            loss on the input, a classifier's largest logit, the cosine of the two texts of a pair (read together)
            under an encoder, else half the squared norm of its mean hidden state; the caption says which.
        reads: say who wrote what the open heads read (`headscope.reads`): of the strongest line of each query, and of
            lines of the heads that wrote it, so that the chain can be followed back; some 0.6 kB a line.
        links: gold links, laid over the pictures as outlines: `headscope.Link`s, pairs ``(source, target)`` of
            tokens or spans, or a boolean matrix ``[query key]`` (of the cross-attention, where there is one). Of an
            encoder-decoder text "a" is what the encoder reads, and "b" what the decoder reads. They are of the first
            text, and of both inputs where `against` is a model.
        title: of the page and the picture.
        measures: figures of every head over a corpus, from `headscope.measure`, to tint and sort the grid by.
        spoken: when words are heard in the sound: (word, begin, end) in seconds of each, or the table that
            `headscope.align` gives. They are marked on it, and frames can be put together into them.
        sound: let the sound travel along, to be played: 32 kB a second at 16,000 Hz.
        exact: ship float32 instead of bytes (weights off by less than 0.004).
        implicit: also the implicit maps of layers that do not attend, as in `headscope.capture`; the view begins with
            them, and comes without neurons.
        include_layers, include_heads: the model's own indices of what to show; they keep their numbers.
        **state: what to begin with; the keys of `headscope.views.state.STATE`: ``layer=2, heads=[9]``.

    Raises:
        InputError: an unknown keyword (the message lists the known ones), a state that cannot be shown, or a link
            that is not in the input (the message names ``links[i]``).

    >>> view = hs.view(model, "The cat sat.", pair="It was tired.")
    >>> view.save("view.html").name
    'view.html'
    """
    check_keywords(state)
    image = with_video(image, video)
    if implicit:
        if neurons:
            raise InputError("neurons: expected none beside implicit maps, found True")
        neurons = False
        state = {"part": IMPLICIT, "quantity": IMPLICIT_MAP, **state}
    asked = _Asked(neurons, (quantities,) if isinstance(quantities, str) else quantities, state)
    origins: list[Origin] = []
    ready: Model | None = None
    if isinstance(model, (AttentionMaps, Parts, Recorded)):
        if any(given is not None for given in (text, pair, target, inputs, image, audio)):
            raise InputError("view: maps are shown as they are; a text needs a model")
        if implicit:
            raise InputError("implicit: expected a model and a text, found maps; headscope.capture takes it")
        shown = [_given(model, asked)]
    else:
        ready = model if isinstance(model, Model) else load(model)
        if all(given is None for given in (text, inputs, image, audio)):
            raise InputError("view: expected a text or inputs={...}, found neither")
        given = {"pair": pair, "target": target, "inputs": inputs, "image": image, "audio": audio}
        origins.append(Origin(ready, text, given, objective))
        shown = [_captured(origins[0], asked, implicit)]
    if isinstance(against, (AttentionMaps, Parts, Recorded)):
        shown.append(_given(against, _Asked(None, (), {})))
    elif against is not None:
        if ready is None:
            raise InputError("against: expected maps beside maps; a text or a model needs a model before it")
        if isinstance(against, Model):
            origins.append(replace(origins[0], model=against))
        else:
            origins.append(_second_origin(origins[0], against))
        shown.append(_captured(origins[1], asked, implicit))
        if isinstance(against, Model):
            names = _names(ready, against)
            shown = [replace(one, label=name) for one, name in zip(shown, names, strict=True)]
    if spoken is not None:
        shown[0] = _with_words(shown[0], spoken)
    if links is not None:
        same = len(shown) if isinstance(against, Model) else 1
        shown = [replace(one, links=of_parts(links, one.parts)) for one in shown[:same]] + shown[same:]
    if reads:
        if len(origins) < len(shown):
            raise InputError("reads: expected a model behind every input, found maps")
        shown = [
            replace(one, reads=_reads(origin, one, state)) for one, origin in zip(shown, origins, strict=True)
        ]
    offers: list[Offer] = []
    if origins:  # maps that stand beside a model hold what they were given
        computed, offers = with_quantities(shown[: len(origins)], origins, asked.names, asked.drawn)
        shown = [*computed, *shown[len(origins) :]]
    return View(
        shown,
        state,
        title=title,
        model=None if ready is None else ready.name,
        measures=measures,
        exact=exact,
        sound=sound,
        include_layers=include_layers,
        include_heads=include_heads,
        offers=offers,
        explain=(lambda asked: _why(origins, shown, asked)) if origins else None,
        compute=(lambda name: [origin.compute(name) for origin in origins]) if offers else None,
    )


@validated
def model_view(model: Source = None, text: Text | None = None, **options: Any) -> View:
    """The grid of all heads: `view` that begins with it.

    >>> hs.model_view(maps).save("heads.html").name
    'heads.html'
    """
    options.setdefault("scale", "model")
    return view(model, text, **options)


@validated
def head_view(model: Source = None, text: Text | None = None, **options: Any) -> View:
    """Lines of one or several heads of a layer: `view` that begins with them (``layer=2, heads=[0, 3]``).

    >>> hs.head_view(maps, layer=0, heads=[2]).state
    {'layer': 0, 'heads': [2], 'scale': 'head'}
    """
    options.setdefault("scale", "head")
    return view(model, text, **options)


@validated
def neuron_view(
    model: Source = None, text: Text | None = None, *, head: int | None = None, **options: Any
) -> View:
    """How one head's attention is made of queries and keys (``layer=0, head=8``).

    >>> hs.neuron_view(model, "The cat sat.", layer=0, head=8).state
    {'layer': 0, 'heads': [8], 'scale': 'neuron'}
    """
    if head is not None:
        options["heads"] = [head]
    options.setdefault("scale", "neuron")
    return view(model, text, **options)


def check_keywords(keywords: AnyMapping) -> None:
    """Raise `InputError` for a keyword that is no key of the state, with those that are."""
    options = [
        name
        for name, parameter in signature(view).parameters.items()
        if parameter.kind != parameter.VAR_KEYWORD
    ]
    allowed = [*options[1:], *STATE]
    for key in keywords:
        if key not in STATE:
            near = difflib.get_close_matches(key, allowed, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"view: no keyword {key!r}{hint} (allowed: {', '.join(allowed)})")


def _why(origins: Sequence[Origin], shown: Sequence[Input], asked: AnyMapping) -> ReadsInfo:
    """Why a line is there that a widget asks about."""
    place, part, line = asked_line(asked, [one.parts for one in shown[: len(origins)]])
    return _lines(origins[place], part, line.head.layer).why(line)


def _lines(origin: Origin, part: str, layer: int) -> Lines:
    axes, ready = prepare(origin.model, origin.text, **origin.given)
    return Lines(Reader(origin.model, ready), axes, ready, part, layer)


def _reads(origin: Origin, one: Input, state: AnyMapping) -> dict[str, list[ReadsInfo]]:
    """Why lines of the open heads are there."""
    layer, heads = state.get("layer"), state.get("heads")
    if layer is None or heads is None:
        raise InputError("reads: expected the heads whose lines are told (layer=, heads=), found none")
    part = one.part(state.get("part", ""))
    lines = _lines(origin, part, layer)
    return {part: lines.chains(lines.strongest([Head(layer, int(head)) for head in np.atleast_1d(heads)]))}


def _second_origin(first: Origin, against: Any) -> Origin:
    """What stands beside an input of the same model: another picture or sound, or a text (with the same picture)."""
    given = {name: first.given[name] for name in ("target", "image", "audio")}
    kinds = [name for name in ("image", "audio") if given[name] is not None]
    if first.text is None and kinds:
        if kinds == ["audio"]:
            expect("against", against, Audio)
        return replace(first, given={**given, kinds[0]: against})
    expect("against", against, Text)
    return replace(first, text=against, given=given)


@dataclass(frozen=True)
class _Asked:
    """What is asked for beside the maps."""

    neurons: bool | None
    quantities: Sequence[str] | Mapping[str, By] | None
    state: AnyMapping

    @property
    def given(self) -> dict[str, By]:
        """Matrices that the caller has."""
        return dict(self.quantities) if isinstance(self.quantities, Mapping) else {}

    @property
    def names(self) -> list[str] | None:
        """Matrices to compute; None where nothing is said."""
        if self.quantities is None or isinstance(self.quantities, Mapping):
            return None if self.quantities is None else []
        if unknown := sorted(set(self.quantities) - set(NAMES)):
            raise InputError(
                f"quantities: expected 'gradient' and 'norm', or {{name: arrays}}, found {unknown[0]!r}"
            )
        return [NAMES[name] for name in self.quantities]

    @property
    def drawn(self) -> list[str]:
        """Matrices that the state shows, and that the caller has not given."""
        drawn = {self.state.get("quantity"), "norms" if self.state.get("values") is True else None}
        return [name for name in ("gradient", "norms") if name in drawn - set(self.given)]


def _given(maps: AttentionMaps | Parts | Recorded, asked: _Asked) -> Input:
    if asked.names:
        raise InputError(
            "quantities: gradients and norms need a model; found maps (give arrays by name instead)"
        )
    if not isinstance(maps, Recorded):
        return _input(maps, asked, {})
    neurons = {} if asked.neurons is False or maps.added else {maps.kind: maps.neurons}
    return _input(maps.take(), asked, neurons if _fits(neurons, asked) else {})


def _captured(origin: Origin, asked: _Asked, implicit: bool = False) -> Input:
    neurons: dict[str, Neurons] = {}
    if asked.neurons is False:
        captured = capture(origin.model, origin.text, **origin.given, implicit=implicit)
        if isinstance(captured, list):
            raise InputError(f"inputs, axis batch: a view is of one input, found {len(captured)} rows")
    else:
        captured, neurons = capture_with_neurons(origin.model, origin.text, **origin.given)
        if not _fits(neurons, asked):
            neurons = {}
    return _input(captured, asked, neurons)


def _with_words(one: Input, spoken: Any) -> Input:
    """An input whose frames know the words that are heard."""
    words = _spoken_words(spoken)
    parts: dict[str, AttentionMaps] = {}
    for name, maps in one.parts.items():
        query, key = (
            axis if axis.times is None else with_words(axis, words) for axis in (maps.query, maps.key)
        )
        parts[name] = replace(maps, query=query, key=query if maps.key is maps.query else key)
    if all(axis.times is None for maps in parts.values() for axis in (maps.query, maps.key)):
        raise InputError("spoken: expected an input of sound beside it, found none")
    return replace(one, parts=parts)


def _spoken_words(spoken: Any) -> list[Spoken]:
    """(word, begin, end) of each, of a table with columns of these names or of triples."""
    if {"word", "start", "end"} <= set(getattr(spoken, "columns", ())):
        return list(
            zip(map(str, spoken["word"]), map(float, spoken["start"]), map(float, spoken["end"]), strict=True)
        )
    try:
        return [(str(word), float(begin), float(end)) for word, begin, end in spoken]
    except (TypeError, ValueError):
        raise InputError(
            f"spoken: expected what headscope.align gives, or (word, begin, end) each, found {type(spoken).__name__}"
        ) from None


def _input(captured: Captured, asked: _Asked, neurons: Mapping[str, Neurons]) -> Input:
    parts = {captured.kind: captured} if isinstance(captured, AttentionMaps) else dict(captured)
    first = next(iter(parts.values())).query
    # A part may be of one of several pictures.
    media = {id(one): one for maps in parts.values() for one in maps.query.media} if first.media else {}
    words = in_words(replace(first, media=[*media.values()]))
    label = words if len(words) <= 90 else words[:89] + "…"
    matrices = _by_part(asked.given, parts)
    if signed := {name: maps.signed for name, maps in parts.items() if maps.signed is not None}:
        matrices = {IMPLICIT_MAP: signed, **matrices}
    return Input(parts, label, neurons=neurons, matrices=matrices)


def _fits(neurons: Mapping[str, Neurons], asked: _Asked) -> bool:
    size = sum(array.size for vectors in neurons.values() for array in (*vectors.q, *vectors.k))
    if asked.neurons or asked.state.get("scale") == "neuron" or size <= NEURON_BYTES:
        return True
    warn(
        f"queries and keys are left out: {size / 1e6:.0f} MB; neurons=True shows them",
        5,
    )
    return False


def _by_part(
    given: Mapping[str, By], parts: Mapping[str, AttentionMaps]
) -> dict[str, dict[str, list[AnyFloats]]]:
    matrices: dict[str, dict[str, list[AnyFloats]]] = {}
    for name, arrays in given.items():
        if name == "weights":
            raise InputError("quantities: 'weights' are the maps themselves; give another name")
        by = dict(arrays) if isinstance(arrays, Mapping) else {next(iter(parts)): arrays}
        if unknown := sorted(set(by) - set(parts)):
            raise InputError(
                f"quantities[{name!r}]: no part {unknown[0]!r}; this input has {', '.join(parts)}"
            )
        matrices[name] = {
            part: [_of_heads(_array(layer), parts[part], place) for place, layer in enumerate(layers)]
            for part, layers in by.items()
        }
    return matrices


def _of_heads(layer: AnyFloats, maps: AttentionMaps, place: int) -> AnyFloats:
    """A layer's matrix for every head, 0 where it is hidden; one ``[query key]``, such as of a rollout, is that of all
    heads, and may reach farther than they do.
    """
    if place >= len(maps) or layer.ndim not in (2, 3):
        return layer
    if layer.ndim == 3:
        return np.where(maps.sight(place), layer, 0.0) if layer.shape == maps.layers[place].shape else layer
    return np.broadcast_to(layer, (len(maps.layers[place]), *layer.shape))


def _array(layer: Any) -> AnyFloats:
    array = (
        layer.detach().float().cpu().numpy() if isinstance(layer, Tensor) else np.asarray(layer, np.float32)
    )
    return array[0] if array.ndim == 4 and len(array) == 1 else array


def _names(first: Model, second: Model) -> tuple[str, str]:
    """What to call two models: by their names, or by what was done to them where those are one."""
    if first.name != second.name:
        return first.name, second.name
    names = [f"{model.name}, {model.notes[0]}" if model.notes else model.name for model in (first, second)]
    return names[0], names[1]
