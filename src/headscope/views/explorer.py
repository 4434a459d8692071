"""The explorer: every head of a model on one or two inputs, from the grid of heads to the neurons of one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

import numpy as np
import numpy.typing as npt

from headscope.core import words
from headscope.core.arrays import AnyFloats
from headscope.core.escapes import beginning
from headscope.core.failures import warn
from headscope.core.heads import Head
from headscope.core.maps import AttentionMaps
from headscope.core.neurons import Neurons
from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping
from headscope.errors import InputError, ShapeError
from headscope.measures.dataset import unseen
from headscope.views import fold, highlights
from headscope.views.blobs import ArrayRef, Blobs, Vectors
from headscope.views.columns import HeadColumn, from_corpus, from_input, from_scores
from headscope.views.images import PatchBlocks, blocks, coarse, in_words, looks, of_blocks, together
from headscope.views.inputs import Included, Input, piece_labels, runs, word_labels
from headscope.views.lab import FiguresPayload, LabInfo, ViewsPayload
from headscope.views.page import page
from headscope.views.payload import (
    Added,
    AxisInfo,
    ExplorerPayload,
    ExplorerState,
    InputInfo,
    MeasureColumn,
    NeuronsInfo,
    Offer,
    PartInfo,
    QuantityInfo,
    RunInfo,
    WithinInfo,
    WordsInfo,
)
from headscope.views.sheet import Sheet
from headscope.views.sources import SimilarPayload, SourcesPayload
from headscope.views.spectrogram import sound_info
from headscope.views.state import STATE, check_state

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["STATE", "Input", "ExplorerOptions", "explorer_page", "explorer_payload", "views_page"]

THUMB = 64
"""The largest side of a thumbnail, in pixels."""

_SMALL = 4_000_000  # weights of a part that the page decodes whole; the grid of a larger one has thumbnails
_LARGE = 50_000_000  # bytes of a page that is said to be large


class ExplorerOptions(TypedDict, total=False):
    """The keywords of `explorer_payload` beside the inputs and their state."""

    title: str | None
    model: str | None
    measures: xr.Dataset | None
    exact: bool
    include_layers: Sequence[int] | None
    include_heads: Sequence[int] | None
    thumbnails: bool
    sound: bool
    offers: Sequence[Offer]
    blobs: Blobs | None


def explorer_payload(
    inputs: Sequence[Input],
    *,
    title: str | None = None,
    model: str | None = None,
    measures: xr.Dataset | None = None,
    state: AnyMapping | None = None,
    exact: bool = False,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    thumbnails: bool = False,
    sound: bool = True,
    offers: Sequence[Offer] = (),
    blobs: Blobs | None = None,
) -> tuple[ExplorerPayload, Blobs]:
    """What the explorer is given: the payload, and the arrays beside it.

    Args:
        inputs: one input, two to compare, or more to choose from; all of one model.
        title: by default it has the input's text and names the model.
        model: the model's name; by default what the maps' `meta` says.
        measures: figures of every head over a corpus, as `headscope.measure` returns them, for the grid.
        state: what to begin with: the keys of `STATE`.
        exact: ship float32 in place of bytes (weights off by less than 0.004).
        include_layers, include_heads: the model's own indices of what to show; they keep their numbers.
        thumbnails: only the grid, in pictures of at most 64 × 64: no head can be opened, and the page stays small.
        sound: let the sound that a model hears travel along, to be played: 32 kB a second at 16,000 Hz.
        offers: the matrices per pair that the model can give, there or not.
        blobs: what takes the arrays; by default a new `Blobs`.

    Raises:
        InputError: there is no input, a layer or head that is not there, or a state that cannot be shown.
    """
    if not inputs:
        raise InputError("inputs: expected at least one input, found none")
    blobs = Blobs() if blobs is None else blobs
    include = (include_layers, include_heads)
    shown: list[InputInfo] = []
    for one, other in zip(inputs, inputs[::-1] if len(inputs) == 2 else [None] * len(inputs), strict=True):
        sheet = Sheet([axis for maps in one.parts.values() for axis in (maps.query, maps.key)])
        parts = [
            _part(
                blobs,
                one,
                name,
                sheet,
                Included(maps, *include),
                None if place else measures,
                exact,
                thumbnails,
                None if other is None or name not in other.parts else Included(other.parts[name], *include),
            )
            for place, (name, maps) in enumerate(one.parts.items())
        ]
        # Of several parts the one that reads a text says what the input is.
        at = next(
            (at for at, maps in enumerate(one.parts.values()) if fold.reading(maps.query) is not None), 0
        )
        read = runs(list(one.parts.values())[at].query, set(parts[at]["query"].get("changed", ())))
        text = [RunInfo(text=text, changed=mine) for text, mine in read]
        info = InputInfo(label=one.label, parts=parts, text=text)
        if note := unseen(one.first.meta):
            info["unseen"] = note
        if (seen := sheet.info()) is not None:
            info["picture"] = seen
        if (heard := sound_info(one, blobs if sound and not thumbnails else None)) is not None:
            info["sound"] = heard
        shown.append(info)
    _say_blocks(inputs, shown, include)
    name = model or _model_name(inputs[0]) or "the model"
    payload = ExplorerPayload(
        kind="explorer",
        version=1,
        title=_title(name, shown) if title is None else title,
        model=name,
        inputs=shown,
        state=_beginning(check_state(state, shown), shown),
        exact=exact,
        offers=[] if thumbnails else list(offers),
    )
    _say_size(sum(len(buffer) for buffer in blobs.buffers.values()), shown)
    return payload, blobs


def explorer_page(
    inputs: Sequence[Input], *, state: AnyMapping | None = None, **options: Unpack[ExplorerOptions]
) -> str:
    """The explorer as HTML that needs nothing else; arguments as for `explorer_payload`."""
    return views_page([explorer_payload(inputs, state=state, **options)])


def views_page(
    views: Sequence[tuple[ExplorerPayload | SourcesPayload | SimilarPayload | FiguresPayload, Blobs]],
    *,
    title: str | None = None,
    lab: LabInfo | None = None,
) -> str:
    """Several views on one page, each drawn when it comes near the screen; or one, beside the tasks of a lab."""
    if not views:
        raise InputError("views: expected at least one view, found none")
    named = views[0][0]["title"] if title is None else title
    payload = ViewsPayload(kind="views", version=1, title=named, views=[one for one, _ in views])
    if lab is not None:
        payload["lab"] = lab
    texts: dict[str, str] = {}
    for place, (one, blobs) in enumerate(views):
        maps = one if one["kind"] == "explorer" else one.get("maps") if one["kind"] == "sources" else None
        later, arrays = set(() if maps is None else _later(maps)), blobs.texts
        texts |= {f"{place}-{name}": arrays[name] for name in sorted(arrays, key=later.__contains__)}
    return page(payload, texts, bundle="explorer", title=named)


def _later(payload: ExplorerPayload) -> list[str]:
    """The arrays that the first picture does without: the weights of layers that are not open, and sounds."""
    sounds = [one["sound"] for one in payload["inputs"] if "sound" in one]
    later = [sound["samples"]["data"] for sound in sounds if sound["samples"] is not None]
    for part in (part for one in payload["inputs"] for part in one["parts"]):
        asked = payload["state"].get("layer")
        later += [array["data"] for array in (*part.get("means", ()), *part.get("rollout", ()))]
        if part["thumbs"] is None and "looks" not in part:
            continue  # the grid is made of all of them
        first = asked if asked in part["index"] else highlights.likely(part)
        # A page of thumbnails has no weights.
        later += [
            layer["data"]
            for number, layer in zip(part["index"], part["layers"], strict=False)
            if number != first
        ]
    return later


def _part(
    blobs: Blobs,
    one: Input,
    name: str,
    sheet: Sheet,
    included: Included,
    measures: xr.Dataset | None,
    exact: bool,
    thumbnails: bool,
    other: Included | None = None,
) -> PartInfo:
    if thumbnails:
        one = Input({})  # neither neurons nor other matrices
    maps, few = included.maps, None if thumbnails else blocks(included, one.side)
    shown = included.on(coarse(maps, few))
    neurons = None if few else one.neurons.get(name)
    layers = shown.cut(shown.maps.layers, name)
    large = sum(layer.size for layer in layers) > _SMALL
    # The order in which arrays are added names them.
    weights = [] if thumbnails else [blobs.weights(layer, exact=exact) for layer in layers]
    thumbs = np.concatenate([_pooled(layer) for layer in layers]) if large or thumbnails else None
    folds = _folds(included, name) if large or thumbnails else None
    columns = from_input(included)
    moved = None if other is None else highlights.difference(included, other)
    if moved is not None:
        columns.append(from_scores(*highlights.DIFFERENCE, moved))
    measured = {column.name: column.values for column in columns}
    if measures is not None:
        columns += from_corpus(measures, included.index, included.heads)
    info = PartInfo(
        name=name,
        kind=maps.kind,
        causal=maps.causal,
        query=_axis(shown.maps.query, sheet),
        key=_axis(maps.key, sheet, highlights.sinks(included).tolist()),
        index=included.index,
        heads=included.heads,
        layers=weights,
        thumbs=None if thumbs is None else blobs.weights(thumbs),
        sink=None
        if shown.maps.sink is None or thumbnails
        else [blobs.weights(row, exact=exact) for row in shown.cut(shown.maps.sink, "sink")],
        hidden=None if thumbnails else _hidden(blobs, shown),
        neurons=None if neurons is None else _neurons(blobs, neurons, included, one.opened, exact),
        quantities=[
            _quantity(blobs, kind, _cut(included, matrix, kind, few), layers, exact, one.notes.get(kind))
            for kind, matrix in one.quantities(name).items()
        ],
        measures=[_column(blobs, column) for column in columns],
    )
    if not (exact or thumbnails):
        info["received"] = blobs.plain(
            np.concatenate([layer.mean(1, dtype=np.float64) for layer in layers]), "float32"
        )
    if len(maps.query) and len(maps.key):
        info["highlights"] = highlights.highlights(included, measured, moved=moved)
    if other is not None:
        for axis, mine, theirs in (
            ("query", shown.maps.query, coarse(other.maps, blocks(other)).query),
            ("key", maps.key, other.maps.key),
        ):
            info[axis]["changed"] = highlights.changed(mine.pieces, theirs.pieces)
    if few is not None:
        info["query"]["counts"], info["query"]["of"] = few.counts.tolist(), few.of.tolist()
    areas = info["key"].get("boxes")
    if areas is not None and layers:
        seen, largest = looks(included, np.array([box is not None for box in areas]))
        info["looks"], info["peaks"] = blobs.weights(seen), blobs.plain(largest, "float32")
        if maps.key.picture is not None and not thumbnails:
            _add_together(info, blobs, included, few, exact)
    if folds is not None:
        info["folds"] = blobs.weights(folds)
    if one.links.get(name):
        info["links"] = [of_blocks(link, few) for link in one.links[name]]
    if one.reads.get(name) and few is None:
        info["reads"] = list(one.reads[name])
    return info


def _add_together(
    info: PartInfo, blobs: Blobs, included: Included, few: PatchBlocks | None, exact: bool
) -> None:
    """All heads of each layer as one map, and rollout or why there is none."""
    combined = together(included)
    for name, matrices in (("means", combined.means), ("rollout", combined.rollout)):
        if matrices is not None:
            shown = [matrix if few is None else few.mean(matrix) for matrix in matrices]
            info[name] = [blobs.weights(matrix[None], exact=exact) for matrix in shown]
    if combined.why is not None:
        info["unrolled"] = combined.why


def _cut(
    included: Included, matrices: Sequence[npt.NDArray[Any]], name: str, few: PatchBlocks | None
) -> list[npt.NDArray[Any]]:
    """What is shown of a matrix per pair: its layers and heads, from blocks of queries where these are shown."""
    cut = included.cut(matrices, name)
    return cut if few is None else [few.mean(matrix) for matrix in cut]


def _folds(included: Included, name: str) -> AnyFloats | None:
    """Thumbnails in which each picture within a text is one token; None where there is none."""
    maps = included.maps
    if not fold.pictures(maps.query) and not fold.pictures(maps.key):
        return None
    numbers = [fold.groups(axis, words=False, unfolded=()) for axis in (maps.query, maps.key)]
    layers = included.cut(maps.layers, name)
    return np.concatenate([_pooled(fold.merged(layer, numbers[0], numbers[1])) for layer in layers])


def _axis(tokens: Tokens, sheet: Sheet, sink_keys: Sequence[int] = ()) -> AxisInfo:
    sequences = tokens.sequence_ids
    grouped = None
    if tokens.word_ids is not None:
        grouped = WordsInfo(group=words.group(tokens).tolist(), texts=word_labels(words.words(tokens)))
    axis = AxisInfo(
        pieces=piece_labels(tokens),
        special=fold.special(tokens).tolist(),
        sequences=None if sequences is None else [int(number) for number in sequences],
        words=grouped,
    )
    if tokens.ids is not None:
        axis["ids"] = tokens.ids.tolist()
    generated = tokens.classes.get("generated")
    if generated is not None and generated.any():
        axis["written"] = int(generated.argmax())
    if sink_keys:
        axis["sinks"] = list(sink_keys)
    if images := fold.pictures(tokens):
        axis["images"] = [
            WithinInfo(start=start, end=end, name=fold.name(tokens, number))
            for number, (start, end) in enumerate(images)
        ]
    boxes = sheet.areas(tokens)
    if boxes is not None:
        axis["boxes"] = [None if box[0] != box[0] else box for box in boxes.round(2).tolist()]
    return axis


def _pooled(layer: AnyFloats) -> AnyFloats:
    """The maximum of each block, at most `THUMB` a side. ``[head query key] -> [head row column]``."""
    for axis in (1, 2):
        size = layer.shape[axis]
        if size > THUMB:
            layer = np.maximum.reduceat(layer, np.arange(THUMB) * size // THUMB, axis)
    return layer


def _quantity(
    blobs: Blobs,
    name: str,
    matrices: Sequence[npt.NDArray[Any]],
    layers: Sequence[AnyFloats],
    exact: bool,
    of: str | None,
) -> QuantityInfo:
    for place, (matrix, layer) in enumerate(zip(matrices, layers, strict=True)):
        if matrix.shape != layer.shape:
            raise ShapeError(f"{name}, layer {place}: expected {layer.shape}, found {matrix.shape}")
        if not np.isfinite(matrix).all():
            raise ShapeError(f"{name}, layer {place}: expected finite values")
    scale = max((float(np.abs(matrix).max(initial=0.0)) for matrix in matrices), default=0.0) or 1.0
    signed = any(bool((matrix < 0).any()) for matrix in matrices)
    info = QuantityInfo(
        name=name,
        of=of,
        signed=signed,
        scale=scale,
        layers=[blobs.shares(matrix, scale, signed=signed, exact=exact) for matrix in matrices],
    )
    if signed:
        sizes: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
            "largest rise": lambda head: head.max((1, 2), initial=0.0),
            "largest fall": lambda head: -head.min((1, 2), initial=0.0),
            "mean size": lambda head: np.abs(head).mean((1, 2)),
        }
        info["measures"] = [
            _column(blobs, from_scores(f"{name} {title}", title, "", [size(matrix) for matrix in matrices]))
            for title, size in sizes.items()
        ]
        info["largest"] = [
            float(f"{size:.4g}") for matrix in matrices for size in np.abs(matrix).max((1, 2), initial=0.0)
        ]
    return info


def _column(blobs: Blobs, column: HeadColumn) -> MeasureColumn:
    return MeasureColumn(
        name=column.name,
        title=column.title,
        units=column.units,
        of=column.of,
        values=blobs.plain(column.values, "float32"),
    )


def add_quantity(
    payload: ExplorerPayload,
    blobs: Blobs,
    place: int,
    one: Input,
    name: str,
    *,
    values: Mapping[str, Sequence[AnyFloats]] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
) -> list[Added]:
    """Add one matrix per pair of an input (and value vectors) to a payload that is there; returns what was added.

    Args:
        payload, blobs: changed in place.
        place: the input's place in the payload.
        one: the input with the new matrix.
        name: of the matrix.
        values: value vectors ``[key_head key value_dim]`` a layer, by part; they join the neurons of the part.
        include_layers, include_heads: as they were given to `explorer_payload`.
    """
    additions: list[Added] = []
    for part in payload["inputs"][place]["parts"]:
        if part["name"] not in one.matrices.get(name, {}):
            continue
        maps = one.parts[part["name"]]
        included = Included(maps, include_layers, include_heads)
        few, exact = blocks(included, one.side), payload["exact"]
        matrices = _cut(included, one.matrices[name][part["name"]], name, few)
        layers = _cut(included, maps.layers, name, few)
        quantity = _quantity(blobs, name, matrices, layers, exact, one.notes.get(name))
        part["quantities"] = [*(other for other in part["quantities"] if other["name"] != name), quantity]
        vectors: list[Vectors | None] | None = None
        if values is not None and part["name"] in values and part["neurons"] is not None:
            vectors = [
                neurons and blobs.vectors(np.asarray(values[part["name"]][at])[neurons["keys"]], exact=exact)
                for at, neurons in zip(included.places, part["neurons"], strict=True)
            ]
            for neurons, v in zip(part["neurons"], vectors, strict=True):
                if neurons is not None:
                    neurons["v"] = v
        additions.append(Added(input=place, part=part["name"], quantity=quantity, values=vectors))
    return additions


def _neurons(
    blobs: Blobs, neurons: Neurons, included: Included, opened: Collection[Head] | None, exact: bool
) -> list[NeuronsInfo | None] | None:
    """The queries and keys of each layer's opened heads; None for a layer, or a part, without any."""

    def vectors(layers: Sequence[AnyFloats], place: int, heads: Sequence[int]) -> Vectors:
        return blobs.vectors(np.asarray(layers[place])[heads], exact=exact)

    layers: list[NeuronsInfo | None] = []
    for index, place, shown in zip(included.index, included.places, included.heads, strict=True):
        heads = [head for head in shown if opened is None or (index, head) in opened]
        if not heads:
            layers.append(None)
            continue
        groups = neurons.groups(place)
        keys = sorted({head // groups for head in heads})
        bias, sinks, cap = neurons.bias[place], neurons.sinks[place], neurons.softcap[place]
        layers.append(
            NeuronsInfo(
                q=vectors(neurons.q, place, heads),
                k=vectors(neurons.k, place, keys),
                v=None if neurons.v is None else vectors(neurons.v, place, keys),
                heads=heads,
                key_head=[keys.index(head // groups) for head in heads],
                keys=keys,
                groups=groups,
                scaling=float(neurons.scaling[place]),
                softcap=None if cap is None else float(cap),
                bias=None if bias is None else _bias(blobs, bias, heads, included.maps),
                sinks=None if sinks is None else [float(sinks[head]) for head in heads],
            )
        )
    return layers if any(layers) else None


def _hidden(blobs: Blobs, included: Included) -> list[ArrayRef] | None:
    """What each layer's queries cannot see, where that is more than a causal part says; equal layers share an array."""
    maps = included.maps
    if maps.visible is None:
        return None
    known: dict[tuple[int, tuple[int, ...]], ArrayRef] = {}
    refs: list[ArrayRef] = []
    for place, heads in zip(included.places, included.heads, strict=True):
        seen = maps.sight(place)
        chosen = tuple(heads) if len(seen) > 1 else (0,)
        key = (id(maps.visible[place]), chosen)
        if key not in known:
            known[key] = blobs.plain(~seen[list(chosen)], "uint8")
        refs.append(known[key])
    return refs


def _bias(blobs: Blobs, bias: AnyFloats, heads: Sequence[int], maps: AttentionMaps) -> ArrayRef:
    shape = (len(maps.layers[0]), len(maps.query), len(maps.key))
    full = np.broadcast_to(bias, shape) if bias.shape[0] == 1 else np.asarray(bias)
    return blobs.plain(np.nan_to_num(full[list(heads)], neginf=-1e9, posinf=1e9), "float32")


_OF_ANY_PART = {"scale", "side", "input", "theme", "draw", "picture", "gold", "special", "sinks"}
"""What a state says of whatever part is shown."""


def _beginning(state: ExplorerState, shown: Sequence[InputInfo]) -> ExplorerState:
    """What is shown unless the state says otherwise: two inputs of the same model side by side, and what the decoder
    takes from the encoder.
    """
    parts = shown[0]["parts"]
    measured = any(column["of"] == "corpus" for column in parts[0]["measures"])
    cross = next((part["name"] for part in parts if part["kind"] == "cross"), None)
    if cross and state.keys() <= _OF_ANY_PART and not measured and state.get("scale") != "neuron":
        state = {"part": cross, **state}
    if not shown[0]["parts"][0]["layers"]:
        state = {"scale": "model", **state}
    if all("picture" in one and one["parts"][0]["key"].get("boxes") for one in shown):
        state = {"picture": "image", **state}
        if any(part["key"].get("images") and part["key"]["words"] for part in shown[0]["parts"]):
            state = {"unit": "words", **state}  # a text is read by words
    return {"side": "both", **state} if len(shown) == 2 else state


def _title(name: str, shown: Sequence[InputInfo]) -> str:
    """The input's text, cut, and the model's name; of two inputs both texts, or one that both read."""
    texts = dict.fromkeys("".join(run["text"] for run in one.get("text", [])) for one in shown[:2])
    cut = [beginning(text, 80 // len(texts)) for text in texts if text]
    return " · ".join([" / ".join(cut), name] if cut else [name])


def _model_name(one: Input) -> str | None:
    name = one.first.meta.get("model")
    if isinstance(name, Mapping):
        name = cast(AnyMapping, name).get("name")
    return str(name) if name else None


def _say_blocks(inputs: Sequence[Input], shown: Sequence[InputInfo], include: Any) -> None:
    for one, info in zip(inputs, shown, strict=True):
        for part in info["parts"]:
            included = Included(one.parts[part["name"]], *include)
            # Who asked for blocks need not be told.
            if "counts" in part["query"] and one.side == 1 and (grouped := blocks(included)) is not None:
                warn(in_words(included, grouped), 4)


def _say_size(size: int, shown: Sequence[InputInfo]) -> None:
    size = size * 4 // 3
    if size <= _LARGE:
        return
    part = shown[0]["parts"][0]
    some = part["index"][:: max(1, len(part["index"]) // 6)]
    warn(
        f"this page is {size / 1e6:.0f} MB: leave layers or heads out with include_layers={some} "
        "or include_heads=[...], shorten the input, leave out neurons, or keep the grid alone with thumbnails=True",
        3,
    )
