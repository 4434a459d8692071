"""One live object behind every host: a model, an input and changes; it answers what a page asks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor

import headscope
from headscope.attention.one import gradients, running
from headscope.attention.stream import Reader
from headscope.attention.whatif import WhatIf
from headscope.core.failures import out_of_memory, reason
from headscope.core.validation import expect
from headscope.errors import HeadscopeError, HeadscopeWarning, InputError
from headscope.live.apart import TextsApart
from headscope.live.first import first_inputs
from headscope.live.lines import Lines, asked_line
from headscope.live.predictions import Says, predictions
from headscope.live.quantities import NAMES, offered
from headscope.live.reading import Asked, LiveReading, Ran, read_axes, read_input, units_of
from headscope.models import Model
from headscope.models.model import expect_text_alone
from headscope.views.blobs import LiveBlobs
from headscope.views.highlights import likely
from headscope.views.sources import SourcesPayload
from headscope.views.view import View
from headscope.views.widget import exact, number_of, whole_number
from headscope.views.wire import (
    ArraysAnswer,
    Effect,
    LiveError,
    LiveExample,
    LiveInfo,
    LiveInput,
    Prediction,
    QuantityAnswer,
    ReadsAnswer,
    SaysAnswer,
    Shown,
    WhoAnswer,
    WhyAnswer,
    WithoutAnswer,
)

LONGEST = 1024
"""How many tokens are read as somebody types, where the model takes as many."""

AT_ONCE = 8_000_000
"""Up to how many bytes of maps come with the answer; of more, thumbnails and the layer that is open."""

Answer = tuple[Mapping[str, Any], list[bytes]]


class StoppedError(HeadscopeError):
    """The answer is no longer wanted."""


class StaleError(InputError):
    """A question about an input that is no longer the one shown."""


class Live:
    """A model that can be asked, over and over: maps, neurons, predictions, and what changes of attention do to them.

    A question is a mapping with a ``kind`` and an ``id``; `answer` gives a message and its buffers. The kinds are
    ``show``, ``arrays``, ``says``, ``who``, ``without``, ``exact``, ``quantity``, ``reads``, ``why`` and ``near``
    (docs/protocol.md).

    Args:
        model: from `headscope.load`.
        against: another model that reads the same.
        longest: the most tokens of an input.
        examples: inputs to offer; by default those that show what models of its kind do.
        loaded: the call that gives this model in Python, such as ``hs.load()``, where somebody is to be told.

    Attributes:
        models: the model, and the other one.
        view: what is shown now; None before anything is.
    """

    def __init__(
        self,
        model: Model,
        against: Model | None = None,
        *,
        longest: int = LONGEST,
        examples: Sequence[LiveExample] = (),
        loaded: str | None = None,
    ) -> None:
        expect("model", model, Model)
        self.models = [model] if against is None else [model, against]
        for one in self.models:
            expect_text_alone(one)
        limits = [one.max_length for one in self.models]
        self.longest = min([longest, *(limit for limit in limits if limit is not None)])
        self._examples, self._loaded = list(examples) or first_inputs(model), loaded
        self._shared = against is None or _vocabulary(against) == _vocabulary(model)
        self._turn = 0
        self._ran: list[Ran] = []
        self.view: View | None = None
        self._plain: tuple[str, Ran] | None = None
        self._apart = TextsApart(self.models, self._look)
        self._stopped: Callable[[], bool] = lambda: False

    @property
    def info(self) -> LiveInfo:
        """What a page should know before it asks."""
        first = self.models[0]
        return LiveInfo(
            model=first.name,
            against=self.models[1].name if len(self.models) == 2 else None,
            shared=self._shared,
            pair=self._apart.kind is not None or (not first.causal and not first.encoder_decoder),
            apart=self._apart.kind,
            target=first.encoder_decoder,
            chat=bool(getattr(first.tokenizer, "chat_template", None)),
            mask=getattr(first.tokenizer, "mask_token", None),
            longest=self.longest,
            examples=self._examples,
            reads=True,
            sources=True,
            rounded=next((note for note in first.notes if note.startswith("dequantized")), None),
            loaded=None if self._loaded is None else f"model = {self._loaded}",
        )

    def answer(self, asked: Asked, stopped: Callable[[], bool] = lambda: False) -> Answer:
        """The answer to a question; one of the kind ``error`` where there is none."""
        kind = asked.get("kind")
        self._stopped = stopped
        ways: dict[Any, Callable[[Asked], Answer]] = {
            "show": self._show,
            "arrays": self._arrays,
            "says": self._says,
            "who": self._who,
            "without": self._without,
            "exact": self._exact,
            "quantity": self._quantity,
            "reads": self._reads,
            "why": self._why,
            "near": self._near,
        }
        stale = False
        try:
            if not isinstance(kind, str) or kind not in ways:
                raise InputError(f"kind: expected one of {', '.join(ways)}, found {str(kind)[:40]!r}")
            return ways[kind](asked)
        except (StaleError, StoppedError) as error:
            message, stale = str(error), True
        except HeadscopeError as error:
            message = str(error)
        except Exception as error:
            message = out_of_memory(error) or reason(error)
        return fault(asked, message, stale=stale), []

    def _look(self) -> None:
        if self._stopped():
            raise StoppedError("stopped")

    def _show(self, asked: Asked) -> Answer:
        given = read_input(asked.get("input"))
        if given.get("written") and not self._shared:
            raise InputError(
                "these two models have vocabularies of their own: a token cannot be written for both"
            )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", HeadscopeWarning)
            ran, changes, left = self._changed(
                asked.get("changes"), lambda changes: self._run(given, changes)
            )
        view = View(
            [one.input for one in ran],
            model=" and ".join(dict.fromkeys(model.name for model in self.models)),
            offers=offered(NAMES.values()),
            blobs=LiveBlobs(),
            compute=lambda name: [one.compute(name) for one in ran],
        )
        predicted = self._predictions(ran, asked)
        names = _first(view, asked.get("layer"))
        number = whole_number(asked, "id")
        self._ran, self.view, self._turn = ran, view, self._turn + 1
        answer = Shown(
            kind="shown",
            id=number,
            turn=self._turn,
            payload=view.payload,
            says=predicted,
            tokens=max(len(tokens) for one in ran for tokens in one.reading.axes.values()),
            notes=list(dict.fromkeys(str(warning.message) for warning in caught)),
            changes=[str(change) for change in changes],
            left=left,
            arrays=names,
        )
        return answer, self._packed(names)

    def _run(self, given: LiveInput, changes: Sequence[WhatIf]) -> list[Ran]:
        run = partial(LiveReading.run, longest=self.longest, look=self._look)

        def together(model: Model, changes: Sequence[WhatIf], label: str) -> Ran:
            return run(LiveReading(model, *read_axes(model, given), changes), label)

        if len(self.models) == 2:
            return [together(model, changes, model.name) for model in self.models]
        if self._apart.reads(given):
            return [*map(run, self._apart.alone(given, changes), "AB")]
        first, key = self.models[0], repr(given)
        if self._plain is None or self._plain[0] != key:
            self._plain = (key, together(first, (), "as it is" if changes else ""))
        plain = self._plain[1]
        if not changes:
            return [plain]
        before = replace(plain, input=replace(plain.input, label="as it is"))
        return [before, together(first, changes, "changed")]

    def _changed(
        self, texts: Any, run: Callable[[Sequence[WhatIf]], Any]
    ) -> tuple[Any, list[WhatIf], dict[str, str]]:
        """What a run gives with the changes that fit the input, these, and why each of the others is left out."""
        texts = [] if texts is None else texts
        if not isinstance(texts, list) or len(cast("list[Any]", texts)) > 256:
            raise InputError("changes: expected at most 256 texts such as 'L4H2 off'")
        texts = [str(text) for text in cast("list[Any]", texts)]
        left: dict[str, str] = {}

        def fitting(texts: Sequence[str], *, alone: bool) -> list[WhatIf]:
            kept: list[WhatIf] = []
            for text in texts:
                try:
                    change = WhatIf.parse(text)
                    if not self._shared and (change.query, change.key) != (None, None):
                        raise InputError("the two models cut a text into tokens of their own")
                    if alone:
                        run([change])
                    kept.append(change)
                except InputError as error:
                    left[text] = str(error)
            return kept

        changes = fitting(texts, alone=False)
        try:
            return run(changes), changes, left
        except InputError:
            changes = fitting(texts, alone=True)
            return run(changes), changes, left

    def _says(self, asked: Asked) -> Answer:
        self._current(asked)
        return SaysAnswer(
            kind="says", id=whole_number(asked, "id"), says=self._predictions(self._ran, asked)
        ), []

    def _predictions(self, ran: Sequence[Ran], asked: Asked) -> list[Prediction]:
        at, chosen = _place(asked, "at"), _place(asked, "chosen")
        return predictions([one.predicted for one in ran], at, chosen, shared=self._shared)

    def _who(self, asked: Asked) -> Answer:
        self._current(asked)
        last, follow = self._followed(asked)
        reading = last.reading
        number = follow(last.predicted)
        with reading.within():
            slopes = gradients(
                reading.model,
                None,
                lambda output: follow(reading.says(output)),
                inputs=reading.ready,
            )
        total: dict[tuple[int, int], float] = {}
        for part, maps in last.input.parts.items():
            for place, layer in enumerate(maps.index):
                added = (maps.layers[place] * slopes[part][place]).sum((1, 2))
                for head, value in enumerate(added.tolist()):
                    total[layer, head] = total.get((layer, head), 0.0) + value
        ranked = sorted(total.items(), key=lambda item: -abs(item[1]))
        rows = [Effect(layer=layer, head=head, estimate=value) for (layer, head), value in ranked]
        answer = WhoAnswer(kind="who", id=whole_number(asked, "id"), number=float(number), heads=rows)
        return answer, []

    def _why(self, asked: Asked) -> Answer:
        """Which part of the input made the followed word or class, as the model is without changes."""
        self._current(asked)
        reading, predicted = self._ran[0].reading, self._ran[0].predicted
        number = whole_number(asked, "id")
        at, chosen = predicted.place(_place(asked, "at")), _place(asked, "chosen")
        best = predicted.best(at)
        if "decoder" in reading.axes or at is None or not best:
            raise InputError(
                "why: expected a next word, a masked one or a class that the model says, found none"
            )
        assert predicted.logits is not None
        if chosen is not None and not 0 <= chosen < predicted.logits.shape[-1]:
            most = predicted.logits.shape[-1] - 1
            raise InputError(f"chosen: expected a candidate from 0 to {most}, found {str(chosen)[:40]}")
        tokens, answer = reading.axes["self"], best[0] if chosen is None else chosen
        result = headscope.why(
            reading.model,
            tokens.take(slice(0, at + 1)) if predicted.kind == "next" else tokens,
            answer if predicted.kind == "class" else [answer],
            units_of(asked),
            position=None if predicted.kind == "next" else at,
        )
        sources = cast("SourcesPayload", result.view().payload)
        if answer == best[0]:
            sources["origin"] = "said"
        return WhyAnswer(kind="why", id=number, sources=sources), []

    def _near(self, asked: Asked) -> Answer:
        given = read_input(asked.get("input"))
        if not self._apart.reads(given):
            raise InputError("near: expected two texts, of a model that reads each alone")
        answer = self._apart.near if asked.get("struck") is None else self._apart.without
        near, *_ = self._changed(asked.get("changes"), lambda changes: answer(given, asked, changes))
        return near, []

    def _without(self, asked: Asked) -> Answer:
        self._current(asked)
        last, follow = self._followed(asked)
        reading = last.reading
        off = WhatIf("off", whole_number(asked, "layer"), whole_number(asked, "head"))
        with torch.no_grad(), reading.within(off), running(reading.model, reading.ready):
            output = reading.model.module(**reading.ready)
        number = follow(reading.says(output))
        return WithoutAnswer(kind="without", id=whole_number(asked, "id"), number=float(number)), []

    def _followed(self, asked: Asked) -> tuple[Ran, Callable[[Says], Tensor]]:
        """The input whose number is followed, and what gives that number of what a model says."""
        self._look()
        at, chosen = _place(asked, "at"), _place(asked, "chosen")
        if chosen is None:
            chosen = next(iter(self._ran[0].predicted.best(at)), None)
        last = self._ran[-1 if len(self.models) == 1 else 0]
        return last, lambda predicted: predicted.followed(at, chosen)

    def _arrays(self, asked: Asked) -> Answer:
        self._current(asked)
        names: Any = asked.get("names")
        expect("names", names, list[str])
        return ArraysAnswer(kind="arrays", id=whole_number(asked, "id"), arrays=names), self._packed(names)

    def _exact(self, asked: Asked) -> Answer:
        _, values = exact(asked, self._current(asked).matrix)
        return {"kind": "exact", "id": whole_number(asked, "id")}, values

    def _quantity(self, asked: Asked) -> Answer:
        added, names = self._current(asked).extend(str(asked.get("name"))[:40])
        answer = QuantityAnswer(kind="quantity", id=whole_number(asked, "id"), added=added, arrays=names)
        return answer, self._packed(names)

    def _reads(self, asked: Asked) -> Answer:
        self._current(asked)
        place, part, line = asked_line(asked, [ran.input.parts for ran in self._ran])
        reading = self._ran[place].reading
        with reading.within():
            reader = Reader(reading.model, reading.ready)
            lines = Lines(reader, reading.axes, reading.ready, part, line.head.layer)
            why = lines.why(line)
        return ReadsAnswer(kind="reads", id=whole_number(asked, "id"), why=why), []

    def _current(self, asked: Asked) -> View:
        if self.view is None or asked.get("turn") != self._turn:
            raise StaleError("this input is no longer the one that is shown")
        return self.view

    def _packed(self, names: Sequence[str]) -> list[bytes]:
        assert self.view is not None
        blobs = cast(LiveBlobs, self.view.blobs)
        if unknown := [name for name in names if name not in blobs.buffers]:
            raise InputError(f"names: no array {unknown[0][:40]!r}")
        return [blobs.packed(name) for name in names]


def fault(asked: Asked, problem: str, *, stale: bool = False) -> LiveError:
    """The answer to a question that has none."""
    return LiveError(kind="error", id=number_of(asked), error=problem, stale=stale)


def _vocabulary(model: Model) -> Mapping[str, int]:
    return {} if model.tokenizer is None else cast("Mapping[str, int]", model.tokenizer.get_vocab())


def _first(view: View, layer: Any) -> list[str]:
    """The arrays of the first picture: figures and what is hidden, and maps (of large ones the open layer's)."""
    names: list[str] = []
    parts = [part for one in view.payload["inputs"] for part in one["parts"]]
    size = sum(len(view.blobs.buffers[ref["data"]]) for part in parts for ref in part["layers"])
    for part in parts:
        refs = [measure["values"] for measure in part["measures"]]
        refs += part["hidden"] or []
        refs += [*(part["sink"] or []), *([part["received"]] if "received" in part else [])]
        if part["thumbs"] is None and size <= AT_ONCE:
            refs += part["layers"]
        else:
            opens = layer if layer in part["index"] else likely(part)
            refs.append(part["layers"][part["index"].index(opens)])
            refs += [part["thumbs"]] if part["thumbs"] is not None else []
        names += [ref["data"] for ref in refs]
    return list(dict.fromkeys(names))


def _place(asked: Asked, name: str) -> int | None:
    return None if asked.get(name) is None else whole_number(asked, name)
