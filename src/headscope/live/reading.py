"""What a live model reads: an input as a page sends it, the model's run over it, and what it said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from headscope.attention.neurons import watch
from headscope.attention.one import decoder_start, decoder_tokens, tokens_of
from headscope.attention.whatif import WhatIf, edit
from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.core.validation import expect
from headscope.errors import InputError
from headscope.live.predictions import Says, says
from headscope.live.quantities import Origin
from headscope.models import Model
from headscope.views.inputs import Input
from headscope.views.view import Computed
from headscope.views.wire import LiveInput

Asked = Mapping[str, Any]
"""What a page asks."""

NEURON_BYTES = 32_000_000
"""Up to how many bytes of queries and keys are kept for the neuron view."""


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

    def run(self, label: str, longest: int, look: Callable[[], None]) -> Ran:
        """The model's run; `look` raises where nobody waits for it. `InputError` for more than the `longest`."""
        model, axes, ready = self.model, self.axes, self.ready
        if (most := max(len(tokens) for tokens in axes.values())) > longest:
            raise InputError(f"{most} tokens: at most {longest} are read here as you type")
        with self.within():
            seen = watch(model, axes, ready, on_call=look)
            if isinstance(seen.captured, list):
                raise InputError("expected one input, found several")
        parts = (
            {seen.captured.kind: seen.captured}
            if isinstance(seen.captured, AttentionMaps)
            else dict(seen.captured)
        )
        size = sum(array.nbytes for vectors in seen.neurons.values() for array in (*vectors.q, *vectors.k))
        shown = Input(parts, label, neurons=seen.neurons if size <= NEURON_BYTES else {})
        return Ran(self, shown, self.says(seen.output))


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


def units_of(asked: Asked) -> str:
    """What a page wants texts to be cut into."""
    return "word" if asked.get("spans") == "word" else "sentence"
