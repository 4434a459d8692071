"""A view: a payload and a state that becomes a widget, a page or a picture."""

from __future__ import annotations

import base64
import html
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, Self, Unpack, cast

import numpy as np

from headscope.core.arrays import AnyFloats
from headscope.core.lazy import module
from headscope.core.saving import PAGES, check_place, replacing
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.core.validation import validated
from headscope.errors import InputError, MissingError
from headscope.views.blobs import Blobs
from headscope.views.explorer import ExplorerOptions, add_quantity, explorer_payload, views_page
from headscope.views.inputs import Input
from headscope.views.page import cleaned
from headscope.views.payload import Added, ExplorerPayload, ExplorerState, ReadsInfo
from headscope.views.sources import SimilarPayload, SourcesPayload
from headscope.views.state import check_state
from headscope.views.still import Kind, Width, picture
from headscope.views.widget import SENT, Answer, answered, exact, make_widget, send_added

WIDGET = "application/vnd.jupyter.widget-view+json"

NOTEBOOK_DOTS = 100.0
"""Dots an inch of the picture that stands beside a widget."""

NOTEBOOK_COLOURS = 64
"""So many colours it has at most: a fifth of the bytes."""


class Computed(NamedTuple):
    """A matrix per pair that was asked for.

    Attributes:
        matrices: by part, ``[head query key]`` a layer.
        of: what it is of, in a few words.
        values: value vectors that came along, by part, ``[key_head key value_dim]`` a layer.
    """

    matrices: Mapping[str, Sequence[AnyFloats]]
    of: str | None = None
    values: Mapping[str, Sequence[AnyFloats]] | None = None


def with_quantity(one: Input, name: str, computed: Computed) -> Input:
    """An input with one more matrix, and with the value vectors that came along."""
    kept = {part: layers for part, layers in computed.matrices.items() if part in one.parts}
    notes = {**one.notes, name: computed.of} if computed.of else one.notes
    neurons = dict(one.neurons)
    for part, values in (computed.values or {}).items():
        if part in neurons:
            neurons[part] = replace(neurons[part], v=values)
    return replace(one, matrices={**one.matrices, name: kept}, notes=notes, neurons=neurons)


class Showable(ABC):
    """What is a page, a widget in a notebook (with the extra ``notebook``), and a picture wherever no JavaScript runs.

    Attributes:
        blobs: the arrays beside the payload.
    """

    blobs: Blobs
    _keeps_page = False

    @property
    @abstractmethod
    def payload(self) -> ExplorerPayload | SourcesPayload | SimilarPayload:
        """What the page is given."""

    @abstractmethod
    def picture(self, kind: Kind, *, width: Width = "page", dots: float = 300.0, title: bool = True) -> bytes:
        """What is shown now as a picture, drawn by the page's own code; arguments as for `save`."""

    @abstractmethod
    def widget(self) -> Any:
        """The widget (`anywidget.AnyWidget`). `MissingError` where the extra ``notebook`` is not installed."""

    def keep_page(self) -> Self:
        """Keep the whole page in the notebook, to be clicked when its kernel is gone, and return the view.

        That is some 0.5 MB a view, as each page has the program; by default a picture is kept.
        """
        self._keeps_page = True
        return self

    def html(self) -> str:
        """One page that needs nothing else."""
        return views_page([(self.payload, self.blobs)])

    @validated
    def save(self, path: AnyPath, *, width: Width = "page", dots: float = 300.0, title: bool = True) -> Path:
        """Write a page (.html) or a picture (.svg, .pdf, .png) of what is shown now, and return its path.

        Args:
            path: its suffix says what is written.
            width: of a picture, in inches, or that of a paper's ``column`` (3.3) or ``page`` (6.9).
            dots: an inch, of a .png.
            title: of a picture, print its title and what is open above it; a paper says these in its caption.

        Raises `InputError` for another suffix and a place where nothing can be written, `RunError` where the disk is
        full; a file that was there then stays whole.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in PAGES:
            raise InputError(
                f"{path}: expected a file that ends in {', '.join(PAGES)}, found {suffix or 'none'}"
            )
        check_place(path)
        page = suffix == ".html"
        kind = cast(Any, suffix[1:])
        data = self.html().encode() if page else self.picture(kind, width=width, dots=dots, title=title)
        with replacing(path) as file:
            file.write_bytes(data)
        return path

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        data: AnyDict = {"text/plain": repr(self)}
        # Without what draws it, still the rest.
        with suppress(InputError):
            data["image/png"] = notebook_picture(self)
        try:
            bundle: Any = self.widget()._repr_mimebundle_()  # data, or data and metadata
            kinds = cast(AnyMapping, bundle[0] if isinstance(bundle, tuple) else bundle)
            data |= {kind: value for kind, value in kinds.items() if kind != "text/plain"}
        except MissingError:  # no anywidget
            # GitHub takes HTML before pictures, and leaves frames and styles out.
            data["text/html"] = f'{framed(self.html())}<div style="display:none">{_image(data)}</div>'
        return data

    def _ipython_display_(self) -> None:
        display_to_keep(self._repr_mimebundle_(), framed(self.html()) if self._keeps_page else None)

    def _display_(self) -> Any:
        """What marimo shows."""
        return self.widget()


class View(Showable):
    """An explorer of one or more inputs.

    Attributes:
        inputs: what is shown.
        payload: what the page is given, with the state as it is now.
        blobs: the arrays beside the payload.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        state: AnyMapping | None = None,
        *,
        compute: Callable[[str], Sequence[Computed]] | None = None,
        explain: Callable[[AnyMapping], ReadsInfo] | None = None,
        **options: Unpack[ExplorerOptions],
    ) -> None:
        """Arguments as for `headscope.views.explorer.explorer_payload`; raises what it raises.

        Args:
            compute: gives an offered matrix by its name, for each input that has a model behind it: the first ones.
            explain: says why a line is there, of a question as a widget asks it.
        """
        self.inputs = list(inputs)
        payload, self.blobs = explorer_payload(self.inputs, state=state, **options)
        self._payload: ExplorerPayload = cleaned(payload)
        self._compute, self.explain = compute, explain
        if explain is not None:
            self._payload["explains"] = True
        self._title, self._options = options.get("title"), options
        self._include = {name: options.get(name) for name in ("include_layers", "include_heads")}
        self._widget: Any = None

    def __getstate__(self) -> AnyDict:
        """A view as it is copied and pickled: as it stands now, and without the model behind it, as a saved page is."""
        payload = {name: value for name, value in self.payload.items() if name != "explains"}
        payload["offers"] = [offer for offer in self._payload["offers"] if self._has(offer["name"])]
        return {**vars(self), "_payload": payload, "_compute": None, "explain": None, "_widget": None}

    @property
    def state(self) -> AnyDict:
        """What is shown now: it follows the clicks in a widget, and can be given back as arguments.

        >>> view = headscope.head_view(maps, layer=2)            # doctest: +SKIP
        >>> headscope.view(maps, **view.state)                   # doctest: +SKIP
        """
        state = self._payload["state"] if self._widget is None else self._widget.state
        return {key: _plain(value) for key, value in state.items() if key != SENT}

    @state.setter
    def state(self, state: AnyMapping) -> None:
        name = state.get("quantity", "weights")
        if self._compute is not None and not self._has(name) and self._offers(name):
            self.add(name)
        checked = check_state(state, self._payload["inputs"])
        self._payload["state"] = checked
        if self._widget is not None:
            self._widget.state = dict(checked)

    @property
    def payload(self) -> ExplorerPayload:
        """The payload, with the state as it is now."""
        return {**self._payload, "state": cast(ExplorerState, self.state)}

    def like_bertviz(self) -> View:
        """Put BertViz's controls above, in its words, and return the view."""
        self._payload["bertviz"] = True
        return self

    def picture(self, kind: Kind, *, width: Width = "page", dots: float = 300.0, title: bool = True) -> bytes:
        """What is shown now as a picture, drawn by the page's own code; arguments as for `save`."""
        payload, blobs, state = self.payload, self.blobs, self.state
        if state.get("scale", "model") != "model" and not self._has_maps():
            # A page of thumbnails has no maps: those of the open layer are read now.
            layers = {
                "include_layers": [state["layer"]],
                "include_heads": state["heads"],
                "thumbnails": False,
            }
            options = cast(Any, {**self._options, **layers})
            payload, blobs = explorer_payload(self.inputs, state=state, **options)
        meta = self.inputs[0].first.meta
        origin = {**{key: value for key, value in meta.items() if key != "notes"}, "state": state}
        about = {
            "title": f"Attention of {meta.get('model', 'attention')}",
            "description": json.dumps(origin, ensure_ascii=True, default=str),
        }
        heading = (self._title or "") if title else None
        return picture(kind, payload, blobs, width=width, dots=dots, title=heading, about=about)

    def _has_maps(self) -> bool:
        return all(part["layers"] for one in self._payload["inputs"] for part in one["parts"])

    @validated
    def matrix(
        self, layer: int, head: int, *, quantity: str = "weights", part: str | None = None, place: int = 0
    ) -> AnyFloats:
        """The exact ``[query key]`` matrix of one head of the input at `place`; a page rounds it to bytes."""
        if not 0 <= place < len(self.inputs):
            raise InputError(f"place: expected an input from 0 to {len(self.inputs) - 1}, found {place}")
        one = self.inputs[place]
        part = one.part() if part is None else part
        if part not in one.parts:
            raise InputError(f"part: expected {' or '.join(one.parts)}, found {part!r:.60}")
        maps = one.parts[part]
        weights = maps[layer, head]
        if quantity == "weights":
            return weights
        quantities = one.quantities(part)
        if quantity not in quantities:
            raise InputError(f"quantity: no {quantity!r} of part {part!r} in this view")
        return np.asarray(quantities[quantity][maps.index.index(layer)][head])

    @validated
    def add(self, name: str) -> None:
        """Compute one of the matrices per pair that are offered, and add it to the view.

        Args:
            name: ``gradient`` or ``norms``; it is then a `quantity` of the state.

        Raises:
            InputError: the view has no model behind it, or the model does not offer this.
        """
        self.extend(name)

    def extend(self, name: str) -> tuple[list[Added], list[str]]:
        """`add`, and what was added: to the payload, and the names of its arrays."""
        if self._compute is None or not self._offers(name):
            offered = [offer["name"] for offer in self._payload["offers"] if self._compute is not None]
            raise InputError(
                f"quantity: this view cannot compute {name!r} (it can: {', '.join(offered) or 'none'})"
            )
        added: list[Added] = []
        before = set(self.blobs.buffers)
        for place, computed in enumerate(self._compute(name)):
            self.inputs[place] = one = with_quantity(self.inputs[place], name, computed)
            options: AnyDict = {"values": computed.values, **self._include}
            added += add_quantity(self._payload, self.blobs, place, one, name, **options)
        names = [key for key in self.blobs.buffers if key not in before]
        if self._widget is not None:
            send_added(self._widget, added, self.blobs, names)
        return added, names

    def answer(self, asked: AnyMapping) -> Answer:
        """The answer to a question of a widget: exact values, an array, a matrix per pair, or why a line is there."""
        name, explain = str(asked.get("name"))[:40], self.explain

        def array() -> Answer:
            if name not in self.blobs.buffers:
                raise InputError(f"array {name} is missing from this view")
            return {}, [self.blobs.buffers[name]]

        ways: dict[Any, Callable[[], Answer]] = {
            "exact": lambda: exact(asked, self.matrix),
            "arrays": array,
            "quantity": lambda: (self.add(name) or {}, []),
        }
        if explain is not None:
            ways["reads"] = lambda: ({"why": explain(asked)}, [])
        return answered(asked, ways.get(asked.get("kind"), lambda: ({}, [])))

    def _offers(self, name: str) -> bool:
        return any(offer["name"] == name for offer in self._payload["offers"])

    def _has(self, name: str) -> bool:
        part = self._payload["inputs"][0]["parts"][0]
        return any(quantity["name"] == name for quantity in part["quantities"])

    def widget(self) -> Any:
        """The widget (`anywidget.AnyWidget`). `MissingError` where the extra ``notebook`` is not installed."""
        if self._widget is None:
            self._widget = make_widget(self._payload, self.blobs, self.answer)
        return self._widget

    def __repr__(self) -> str:
        one = self.inputs[0]
        sizes = ", ".join(f"{name}: {maps!r}" for name, maps in one.parts.items())
        more = f" and {len(self.inputs) - 1} more" if len(self.inputs) > 1 else ""
        state = ", ".join(f"{key}={value!r}" for key, value in self.state.items())
        return f"View({sizes}{more}; {state or 'as it begins'})"


def notebook_picture(view: Showable) -> str:
    """A view's PNG as it stands in a notebook: of few colours, in base64."""
    drawn = BytesIO(view.picture("png", dots=NOTEBOOK_DOTS))
    pillow, about, file = module("PIL.Image"), module("PIL.PngImagePlugin").PngInfo(), BytesIO()
    with pillow.open(drawn) as image:
        for name, text in image.text.items():
            about.add_itxt(name, text)
        few = image.convert("RGB").quantize(NOTEBOOK_COLOURS, dither=pillow.Dither.NONE)
        few.save(file, "png", optimize=True, pnginfo=about)
    return base64.b64encode(file.getvalue()).decode("ascii")


def display_to_keep(data: AnyMapping, kept: str | None = None) -> None:
    """Show a widget in a notebook, and beside it what is `kept` for when its kernel is gone: by default its picture."""
    from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

    display(data, raw=True)
    if WIDGET in data:
        display({"text/html": reopened(kept or _image(data, 'width="1" height="1"'))}, raw=True)


def reopened(shown: str) -> str:
    """What takes a widget's place in a notebook that is opened without its kernel: hidden until then.

    JupyterLab and Notebook 7 print an error where a widget's kernel is gone, and do not fall back to the picture.
    A page that nbconvert makes with its classic template has nothing but a script in the widget's place.
    """
    lost = ".jp-OutputArea:has(.headscope-reopened):has(.jupyter-widgets):not(:has(.inbook))"
    classic = f'.output:has(script[type="{WIDGET}"]):not(:has(.inbook))'
    return (
        f'<div class="headscope-reopened" style="display:none">{shown}</div><style>'
        f"{lost} .headscope-reopened,{classic} .headscope-reopened{{display:block!important}}"
        f"{lost} .jp-OutputArea-output.jupyter-widgets{{display:none}}</style>"
    )


def _image(data: AnyMapping, size: str = "") -> str:
    """The picture of an output. A place that leaves styles out shows it in `size`."""
    style = "width:auto;height:auto;max-width:100%"
    png = data.get("image/png")
    return f'<img alt="headscope" {size} style="{style}" src="data:image/png;base64,{png}">' if png else ""


def framed(page: str, height: int = 860) -> str:
    """A page in a frame of its own, for notebooks without the widget."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads allow-popups" '
        f'style="width:100%;height:{height}px;border:0" loading="lazy" title="headscope"></iframe>'
    )


def _plain(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    values = cast(list[Any], value)
    return tuple(values) if values and isinstance(values[0], str) else list(values)
