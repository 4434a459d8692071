"""What if: changes of attention as values, which can be kept, ordered, written down and read again."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import torch
from torch import Tensor

from headscope.attention.record import AttentionRecord, Hook, shaped, silenced
from headscope.attention.recording import edits, read, recording
from headscope.core.failures import CALLERS, expect_call
from headscope.core.heads import AnyHead, Head
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.models.model import Model

Deed = Literal["off", "mean", "uniform", "previous", "hide", "temperature", "scale"]

_DEEDS = "off, mean, uniform, previous, hide, temperature, scale"
_TEXT = re.compile(
    r"(?:(?P<all>all)|L(?P<layer>\d+)(?:H(?P<head>\d+))?)\s+(?P<deed>[a-z]+)(?:\s+(?P<rest>.+))?",
    re.IGNORECASE,
)
_PAIR = re.compile(r"(?P<query>\d+)?\s*>\s*(?:(?P<key>\d+)(?:-(?P<last>\d+))?)?")


@dataclass(frozen=True)
class WhatIf:
    """A change of some heads' attention; its text says all of it.

    ======================= ============================================================================================
    ``L4H2 off``            the head gives nothing: its weights are 0 (`headscope.ablate`); ``L4 off`` all of a layer
    ``L4H2 mean``           each query gives a key the mean of what all queries that see it give it
    ``L4H2 uniform``        each query gives all keys that it sees the same
    ``L4H2 previous``       each query gives all to the token before it, the first to itself
    ``L4H2 hide 3>5``       query 3 does not see key 5; ``all hide >0``: no query of any head sees key 0;
                            ``all hide >3-9`` nor keys 3 to 9; ``L4 hide 3>``: query 3 sees nothing in that layer
    ``L4H2 temperature .5`` what softmax is taken of, divided by .5: sharper; above 1: flatter
    ``L4H2 scale >3-9 2``   what each query gives keys 3 to 9, times 2 before the row is made to sum to 1 again: twice
                            their odds; ``L4H2 scale 5>3 .5``: half of what query 5 gives key 3
    ======================= ============================================================================================

    After `mean`, `uniform` and `previous` a row has the sum that it had: what a learned sink takes, it still takes.
    After `hide` softmax is taken of what is left, as in an attention knockout (Geva et al. 2023, section 4); a query
    that sees no key gives no weight. `scale` adds the logarithm of its factor to what softmax is taken of, as attention
    steering does (PASTA, Zhang et al. 2024, "Tell your model where to attend").

    Attributes:
        deed: what is done.
        layer: by the model's own index; None: every layer.
        head: None: every head of the layer.
        query, key: of `hide` and `scale`: places of tokens from 0; None: every.
        last: of both: the last of several keys, of which `key` is the first; None: there is one.
        value: of `temperature` and `scale`.

    Raises `InputError` for what is no such change.

    >>> change = hs.WhatIf.parse("L0H2 uniform")
    >>> change.head, str(change)
    (2, 'L0H2 uniform')
    """

    deed: Deed
    layer: int | None = None
    head: int | None = None
    query: int | None = None
    key: int | None = None
    value: float | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        if self.deed not in _DEEDS.split(", "):
            raise InputError(f"what if: expected one of {_DEEDS}, found {self.deed!r}")
        places, placed = self.deed in ("hide", "scale"), (self.query, self.key) != (None, None)
        valued = self.deed in ("temperature", "scale")
        for wrong, expected in (
            (self.head is not None and self.layer is None, f"a layer for head {self.head}, found none"),
            (placed and not places, f"query and key of hide and scale alone, found them of {self.deed}"),
            (
                places and not placed,
                f"what to {self.deed}, such as 'all {self.deed} >0{' 2.0' * valued}', found nothing",
            ),
            (
                self.last is not None and (self.key is None or self.last < self.key),
                f"keys from the first to the last, found {self.key} to {self.last}",
            ),
            (
                valued != (self.value is not None),
                f"a value of temperature and scale alone, found {self.value} of {self.deed}",
            ),
            (
                self.value is not None and not 0 < self.value < float("inf"),
                f"a {self.deed} above 0, found {self.value or 0:g}",
            ),
        ):
            if wrong:
                raise InputError(f"what if: expected {expected}")

    @classmethod
    @validated
    def parse(cls, text: str) -> WhatIf:
        """Read what `str` gives. Raises `InputError` for a text that is no change."""
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            _unreadable(text)
        deed, rest = match["deed"].lower(), (match["rest"] or "").strip()
        layer, head = (None if match[name] is None else int(match[name]) for name in ("layer", "head"))
        places, value = rest, None
        if deed in ("temperature", "scale"):
            places, _, number = rest.rpartition(" ")
            try:
                value = float(number)
            except ValueError:
                _unreadable(text)
        if deed in ("hide", "scale"):
            pair = _PAIR.fullmatch(places.strip())
            if pair is None:
                _unreadable(text)
            query, key, last = (
                None if pair[name] is None else int(pair[name]) for name in ("query", "key", "last")
            )
            return cls(deed, layer, head, query, key, value, last)
        if places or deed not in ("off", "mean", "uniform", "previous", "temperature"):
            _unreadable(text)
        return cls(deed, layer, head, value=value)

    def __str__(self) -> str:
        where = (
            "all" if self.layer is None else f"L{self.layer}" + ("" if self.head is None else f"H{self.head}")
        )
        places = [("" if place is None else str(place)) for place in (self.query, self.key)]
        several = "" if self.last is None else f"-{self.last}"
        rest = f" {'>'.join(places)}{several}" if self.deed in ("hide", "scale") else ""
        return f"{where} {self.deed}{rest}" + ("" if self.value is None else f" {self.value!r}")

    def __call__(self, record: AttentionRecord) -> Tensor | None:
        """The weights of a call as they would be; None where it is not concerned: a `Hook`."""
        if self.layer is not None and record.layer != self.layer:
            return None
        heads = record.shape[1]
        if self.head is not None and self.head >= heads:
            raise InputError(f"{self}: no head {self.head} in layer {record.layer}; it has {heads}")
        seen = self._seen(record)
        if seen is None:
            return None
        weights = record.weights()
        changed = (
            record.seeing(seen).weights() if self.deed == "hide" else self._changed(record, weights, seen)
        )
        chosen = torch.zeros(heads, dtype=torch.bool, device=weights.device)
        chosen[slice(None) if self.head is None else self.head] = True
        return torch.where(chosen[:, None, None], changed.to(weights.dtype), weights)

    def _seen(self, record: AttentionRecord) -> Tensor | None:
        """Which pairs are not meant, ``[batch|1 1 query key]``; None where `hide` or `scale` means none."""
        rows, columns = _places(record)
        seen = torch.zeros_like(rows + columns, dtype=torch.bool)
        if self.query is not None:
            seen = seen | (rows != self.query)
        if self.key is not None:
            last = self.key if self.last is None else self.last
            seen = seen | (columns < self.key) | (columns > last)
        return None if self.deed in ("hide", "scale") and bool(seen.all()) else seen

    def _changed(self, record: AttentionRecord, weights: Tensor, rest: Tensor) -> Tensor:
        there = record.sight().expand_as(weights)
        total = weights.sum(-1, keepdim=True)
        if self.deed == "off":
            return torch.zeros_like(weights)
        if self.value is not None:
            sink = (torch.zeros_like(total) if record.sinks is None else (1.0 - total).clamp(min=0)).double()
            if self.deed == "scale":
                made = torch.where(rest, 1.0, self.value) * weights
            else:
                made, sink = weights.double() ** (1 / self.value), sink ** (1 / self.value)
            sums = made.sum(-1, keepdim=True) + sink
            return made / torch.where(sums > 0, sums, 1.0)
        if self.deed == "mean":
            pattern = (weights * there).sum(-2, keepdim=True) / there.sum(-2, keepdim=True).clamp(min=1)
            pattern = torch.where(there, pattern.expand_as(weights), 0.0)
        elif self.deed == "uniform":
            pattern = there.to(weights.dtype)
        else:
            if record.kind == "cross":
                raise InputError(f"{self}: expected queries and keys of one text, found cross attention")
            rows, columns = _places(record)
            pattern = (columns == (rows - 1).clamp(min=0)).to(weights.dtype).expand_as(weights)
            lost = (pattern * there).sum(-1, keepdim=True) == 0  # the token before is not seen
            pattern = torch.where(lost, (columns == rows).to(weights.dtype), pattern) * there
        sums = pattern.sum(-1, keepdim=True)
        return pattern / torch.where(sums > 0, sums, 1.0) * total


def _places(record: AttentionRecord) -> tuple[Tensor, Tensor]:
    """Where the queries ``[batch|1 1 query 1]`` and the keys ``[batch|1 1 1 key]`` of a call stand in the text.

    Padding, which views leave out, does not count and is at -1.
    """
    _, _, queries, keys = record.shape
    columns = torch.arange(keys, device=record.q.device) + record.key_offset
    first = int(columns[-1]) + 1 - queries if record.kind == "self" and keys else 0
    rows = torch.arange(queries, device=record.q.device) + first
    inputs: Mapping[str, Tensor] = read.now()[-1] if read.now() else {}
    decoder = "decoder_" if "decoder_input_ids" in inputs and record.kind != "encoder" else ""
    before = "" if record.kind == "cross" else decoder
    sides = ((rows, f"{decoder}attention_mask"), (columns, f"{before}attention_mask"))
    query, key = (_without(places, inputs.get(name), record.shape[0]) for places, name in sides)
    return query[:, None, :, None], key[:, None, None, :]


def _without(places: Tensor, mask: Tensor | None, rows: int) -> Tensor:
    """Places ``[batch|1 token]``, counted without what a mask hides of them."""
    if mask is None or mask.shape != (rows, len(places)):
        return places[None]
    there = mask.to(places.device).bool()
    return torch.where(there, there.cumsum(-1) - 1, -1)


def _unreadable(text: str) -> NoReturn:
    raise InputError(
        f"what if: expected 'L4H2 off', 'L4 uniform', 'L4H2 mean', 'L4H2 previous', 'L4H2 hide 3>5', 'all hide >0', "
        f"'L4H2 temperature 0.5' or 'all scale >3-9 2.0', found {text[:60]!r}"
    )


@validated
@contextmanager
def edit(model: Model, *changes: Hook | WhatIf | str) -> Generator[None]:
    """Within it the model runs with changed attention weights.

    Captures, gradients and `generate` within it see the changed weights. Other threads and tasks do not, save tasks
    that are started within it (`asyncio.to_thread` too); for them the model runs as it was found, and so it does for
    the caller of a generator that stands at a yield within it (but not of one that ``contextlib.contextmanager`` or
    ``pytest.fixture`` makes a context of, nor of an asynchronous one).

    Args:
        model: from `headscope.load`.
        changes: one or more; each sees what those before it left. A `WhatIf` or its text, such as ``"L4H2 off"`` or
            ``"all hide >0"``; or a function that gets each `AttentionRecord` and returns new weights
            ``[batch head query key]``, or None to leave them.

    Raises `InputError` for a change that is none, for weights that do not fit or are not finite, and at the end where a
    `WhatIf` met no such head or token.

    >>> with hs.edit(model, "L0H2 uniform", "all hide >0"):
    ...     weights = hs.capture(model, "The cat sat.")["L0H2"]
    >>> float(weights[1, 0]), float(weights[1, 1]) == float(weights[1, 2])
    (0.0, True)

    >>> def first_layer_looks_at_nothing(record):
    ...     return record.weights() * 0 if record.layer == 0 else None
    >>> with hs.edit(model, first_layer_looks_at_nothing):
    ...     float(hs.capture(model, "The cat sat.")["L0H2"].max())
    0.0
    """
    if not changes:
        raise InputError("changes: expected at least one, such as 'L4H2 off', found none")
    made = [WhatIf.parse(change) if isinstance(change, str) else change for change in changes]
    for change in made:
        expect_call("change", change, "an AttentionRecord")
    met: set[int] = set()

    def asked(change: Hook, record: AttentionRecord) -> Tensor | None:
        try:
            new: Any = change(record)
        except Exception as error:
            if not isinstance(change, WhatIf):
                vars(error)[CALLERS] = True
            raise
        if new is None:
            return None
        if not isinstance(new, Tensor) or not new.is_floating_point():
            given = new.dtype if isinstance(new, Tensor) else type(new).__name__
            raise InputError(
                f"change: expected a tensor of floats [batch head query key] or None, found {given}"
            )
        if not new.isfinite().all():
            raise InputError("change: expected finite weights, found NaN or infinity")
        return shaped(new, record)

    def changed(record: AttentionRecord) -> Tensor | None:
        left = None
        for place, change in enumerate(made):
            if (new := asked(change, record)) is not None:
                met.add(place)
                left, record = new, dataclasses.replace(record, given=new, followed=False)
        return left

    with edits.entered(changed), recording(model.module, changed):
        yield
    missed = [
        str(change) for place, change in enumerate(made) if isinstance(change, WhatIf) and place not in met
    ]
    if missed:
        raise InputError(
            f"{', '.join(missed)}: this model has no such head, its input no such token, or it did not run"
        )


@validated
@contextmanager
def ablate(model: Model, *heads: AnyHead, part: str | None = None) -> Generator[None]:
    """Within it some heads give nothing: their weights are 0. Who sees it: as in `edit`.

    Args:
        model: from `headscope.load`.
        heads: one or more heads, such as ``Head(4, 2)`` or ``"L4H2"``.
        part: ``self``, ``encoder`` or ``cross`` in a model that has several.

    Raises `InputError` for what is no head's name, and at the end when a head was not met.

    >>> with hs.ablate(model, "L0H2"):
    ...     float(hs.capture(model, "The cat sat.")["L0H2"].max())
    0.0
    """
    if not heads:
        raise InputError("heads: expected at least one, such as 'L4H2', found none")
    left = dict.fromkeys(map(Head.of, heads))

    def change(record: AttentionRecord) -> Tensor | None:
        here = [head for head in left if head.layer == record.layer and part in (None, record.kind)]
        if most := [head for head in here if head.head >= record.shape[1]]:
            raise InputError(
                f"axis head: no head {most[0].head} in layer {record.layer}; it has {record.shape[1]}"
            )
        left.update(dict.fromkeys(here, True))
        return silenced(record, [head.head for head in here]) if here else None

    with edit(model, change):
        yield
    if missed := [str(head) for head, met in left.items() if not met]:
        raise InputError(f"{', '.join(missed)}: this model has no such head, or it did not run")
