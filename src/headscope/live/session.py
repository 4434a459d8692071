"""One live object behind every host: a model, an input and changes; it answers what a page asks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import torch
from torch import Tensor

import headscope
from headscope.attention.neurons import watch
from headscope.attention.one import decoder_start, decoder_tokens, gradients, running, tokens_of
from headscope.attention.stream import Reader
from headscope.attention.whatif import WhatIf, edit
from headscope.core.failures import out_of_memory, reason
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.core.validation import expect
from headscope.errors import HeadscopeError, HeadscopeWarning, InputError
from headscope.live.first import first_inputs
from headscope.live.lines import Lines, asked_line
from headscope.live.predictions import Says, predictions, says
from headscope.live.quantities import NAMES, Origin, offered
from headscope.models import Model
from headscope.models.embedding import SIMILARITIES, Embedder, embedder
from headscope.models.model import expect_text_alone
from headscope.views.blobs import LiveBlobs
from headscope.views.highlights import likely
from headscope.views.inputs import Input
from headscope.views.sources import SourcesPayload
from headscope.views.view import Computed, View
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

CARRIERS = 4
"""So many heads are given through which a word reaches the vector of its text."""

LONGEST = 1024
"""How many tokens are read as somebody types, where the model takes as many."""

NEURON_BYTES = 32_000_000
"""Up to how many bytes of queries and keys are kept for the neuron view."""

AT_ONCE = 8_000_000
"""Up to how many bytes of maps come with the answer; of more, thumbnails and the layer that is open."""

Asked = Mapping[str, Any]
"""What a page asks."""

Answer = tuple[Mapping[str, Any], list[bytes]]


class StoppedError(HeadscopeError):
    """The answer is no longer wanted."""


class StaleError(InputError):
    """A question about an input that is no longer the one shown."""


@dataclass(frozen=True)
class LiveReading:
    """A model, what it reads, and how its attention is changed."""

    model: Model
    axes: Mapping[str, Tokens]
    ready: Mapping[str, Tensor]
    changes: Sequence[WhatIf]

    def within(self, *more: WhatIf) -> ExitStack:
        """The context in which the model runs with the changes."""
        stack = ExitStack()
        if changes := [*self.changes, *more]:
            stack.enter_context(edit(self.model, *changes))
        return stack

    def says(self, output: Any) -> Says:
        """What the model says, from what it returned."""
        return says(self.model, self.axes, self.ready, output)


@dataclass(frozen=True)
class Ran:
    """A reading, what its attention was, and what the model said."""

    reading: LiveReading
    input: Input
    predicted: Says

    def compute(self, name: str) -> Computed:
        """A matrix per pair, under the same changes."""
        model, axes, ready = self.reading.model, self.reading.axes, self.reading.ready
        two = "decoder" in axes
        origin = Origin(model, None, {"inputs": ready}) if two else Origin(model, axes["self"], {})
        with self.reading.within():
            return origin.compute(name)


class Live:
    """A model that can be asked, over and over: maps, neurons, predictions, and what changes of attention do to them.

    A question is a mapping with a ``kind`` and an ``id``; `answer` gives a message and its buffers. The kinds are
    ``show``, ``arrays``, ``says``, ``who``, ``without``, ``exact``, ``quantity``, ``reads`` and ``why``
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
        self._answers: list[Says] = []
        self._given = LiveInput()
        self.view: View | None = None
        self._plain: tuple[str, Ran] | None = None
        self._embedders = [] if len(self.models) == 2 else _embedders(model)
        self._stopped: Callable[[], bool] = lambda: False

    @property
    def info(self) -> LiveInfo:
        """What a page should know before it asks."""
        first = self.models[0]
        return LiveInfo(
            model=first.name,
            against=self.models[1].name if len(self.models) == 2 else None,
            shared=self._shared,
            pair=bool(self._embedders) or (not first.causal and not first.encoder_decoder),
            apart=SIMILARITIES[self._embedders[0].similarity] if self._embedders else None,
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
        self._given = given = read_input(asked.get("input"))
        if given.get("written") and not self._shared:
            raise InputError(
                "these two models have vocabularies of their own: a token cannot be written for both"
            )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", HeadscopeWarning)
            ran, changes, left = self._changed(given, asked.get("changes"))
        view = View(
            [one.input for one in ran],
            model=" and ".join(dict.fromkeys(model.name for model in self.models)),
            offers=offered(NAMES.values()),
            blobs=LiveBlobs(),
            compute=lambda name: [one.compute(name) for one in ran],
        )
        answers = self._answered(ran)
        predicted = self._predictions(answers, asked)
        names = _first(view, asked.get("layer"))
        number = whole_number(asked, "id")
        self._ran, self._answers, self.view, self._turn = ran, answers, view, self._turn + 1
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
        def together(model: Model, changes: Sequence[WhatIf], label: str) -> Ran:
            return self._one(LiveReading(model, *read_axes(model, given), changes), label)

        if len(self.models) == 2:
            return [together(model, changes, model.name) for model in self.models]
        if self._apart(given):
            return [self._alone(given, name, changes) for name in ("text", "pair")]
        first, key = self.models[0], repr(given)
        if self._plain is None or self._plain[0] != key:
            self._plain = (key, together(first, (), "as it is" if changes else ""))
        plain = self._plain[1]
        if not changes:
            return [plain]
        before = replace(plain, input=replace(plain.input, label="as it is"))
        return [before, together(first, changes, "changed")]

    def _apart(self, given: LiveInput) -> bool:
        """Whether two texts are given that are each read alone."""
        return bool(self._embedders and given.get("pair")) and not given.get("together")

    def _alone(self, given: LiveInput, name: Literal["text", "pair"], changes: Sequence[WhatIf]) -> Ran:
        """One of two texts, as an index reads it."""
        embedder, label = self._embedders[name == "pair"], "AB"[name == "pair"]
        if not (text := given.get(name, "")).strip():
            raise InputError(f"{label}: type something; there is nothing to read")
        model, tokens = self.models[0], embedder.read(text, embedder.before(None))
        return self._one(LiveReading(model, {"self": tokens}, model.inputs([tokens]), changes), label)

    def _similar(self, changes: Sequence[WhatIf], *pair: Any, **options: Any) -> Any:
        """Why two texts are near that are read apart."""
        model = self.models[0]
        with LiveReading(model, {}, {}, changes).within():
            return headscope.similar(model, *pair, **options)

    def _one(self, reading: LiveReading, label: str) -> Ran:
        model, axes, ready = reading.model, reading.axes, reading.ready
        longest = max(len(tokens) for tokens in axes.values())
        if longest > self.longest:
            raise InputError(f"{longest} tokens: at most {self.longest} are read here as you type")
        with reading.within():
            seen = watch(model, axes, ready, on_call=self._look)
            if isinstance(seen.captured, list):
                raise InputError("expected one input, found several")
        parts = (
            {seen.captured.kind: seen.captured}
            if isinstance(seen.captured, AttentionMaps)
            else dict(seen.captured)
        )
        size = sum(array.nbytes for vectors in seen.neurons.values() for array in (*vectors.q, *vectors.k))
        shown = Input(parts, label, neurons=seen.neurons if size <= NEURON_BYTES else {})
        return Ran(reading, shown, reading.says(seen.output))

    def _changed(self, given: LiveInput, texts: Any) -> tuple[list[Ran], list[WhatIf], dict[str, str]]:
        """What is shown with the changes that fit the input, these, and why each of the others is left out."""
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
                        self._run(given, [change])
                    kept.append(change)
                except InputError as error:
                    left[text] = str(error)
            return kept

        changes = fitting(texts, alone=False)
        try:
            return self._run(given, changes), changes, left
        except InputError:
            changes = fitting(texts, alone=True)
            return self._run(given, changes), changes, left

    def _says(self, asked: Asked) -> Answer:
        self._current(asked)
        return SaysAnswer(
            kind="says", id=whole_number(asked, "id"), says=self._predictions(self._answers, asked)
        ), []

    def _answered(self, ran: Sequence[Ran]) -> list[Says]:
        """What the model says: of two texts read apart how near they are, before and after the changes."""
        given, changes = self._given, ran[0].reading.changes
        if not self._apart(given):
            return [one.predicted for one in ran]
        pair = [given.get("text", "")], [given.get("pair", "")]
        near = [self._similar(some, *pair)["similarity"] for some in ((), changes)[: 1 + bool(changes)]]
        return [Says(self.models[0], None, "cosine", None, torch.as_tensor(one.values[0])) for one in near]

    def _predictions(self, answers: Sequence[Says], asked: Asked) -> list[Prediction]:
        at, chosen = _place(asked, "at"), _place(asked, "chosen")
        return predictions(answers, at, chosen, shared=self._shared)

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
        """Which part of the input made the followed word or class, as the model is without changes; of two texts read
        apart why they are near, with the changes.
        """
        self._current(asked)
        reading, predicted = self._ran[0].reading, self._ran[0].predicted
        units = "word" if asked.get("spans") == "word" else "sentence"
        number = whole_number(asked, "id")
        if self._apart(given := self._given):
            through = CARRIERS if asked.get("heads") else 0
            pair = given.get("text", ""), given.get("pair", "")
            near = self._similar(reading.changes, *pair, units, chance=False, through=through)
            return WhyAnswer(kind="why", id=number, sources=near.view().payload), []
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
            units,
            position=None if predicted.kind == "next" else at,
        )
        sources = cast("SourcesPayload", result.view().payload)
        if answer == best[0]:
            sources["origin"] = "said"
        return WhyAnswer(kind="why", id=number, sources=sources), []

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


def _embedders(model: Model) -> list[Embedder]:
    """What makes a vector of A and of B, of an encoder that says nothing else."""
    if model.tokenizer is None or model.encoder_decoder or "For" in type(model.module).__name__:
        return []
    try:
        return [embedder(model, side) for side in ("query", "document")]
    except HeadscopeError:
        return []


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


def read_axes(model: Model, given: LiveInput) -> tuple[dict[str, Tokens], dict[str, Tensor]]:
    """The axes of an input, and what the module takes."""
    messages, written = given.get("messages"), given.get("written", [])
    if messages:
        tokens = model.chat(cast(Any, messages), add_generation_prompt=True)
    else:
        if not given.get("text", "").strip():
            raise InputError("Text: type something; there is nothing to read")
        tokens = tokens_of(model, given.get("text", ""), given.get("pair") or None)
    if model.encoder_decoder:
        target = given.get("target", "")
        decoder = decoder_tokens(model, model.encode(target)) if target.strip() else None
        ids = [decoder_start(model)] if decoder is None or decoder.ids is None else decoder.ids.tolist()
        decoder = decoder if decoder is not None and not written else model.from_ids(ids, written)
        ready = model.inputs([tokens])
        ready["decoder_input_ids"] = torch.as_tensor([[*ids, *written]], device=model.device)
        return {"self": tokens, "encoder": tokens, "decoder": decoder}, ready
    if written and tokens.ids is not None:
        tokens = model.from_ids(tokens.ids.tolist(), written)
    return {"self": tokens}, model.inputs([tokens])


def read_input(given: Any) -> LiveInput:
    """An input as a page sends it. Raises `InputError` for what is none."""
    expect("input", given, Mapping)
    mine = {name: given[name] for name in _INPUT if given.get(name)}
    for name, value in mine.items():
        expect(f"input, {name}", value, _INPUT[name])
    for number, message in enumerate(mine.get("messages", [])):
        for name in ("role", "content"):
            expect(f"input, messages[{number}], {name}", message.get(name), str)
    return cast("LiveInput", mine)


_INPUT: Mapping[str, Any] = {
    **dict.fromkeys(("text", "pair", "target"), str),
    "together": bool,
    "messages": list[Mapping[str, Any]],
    "written": list[int],
}


def _place(asked: Asked, name: str) -> int | None:
    return None if asked.get(name) is None else whole_number(asked, name)
