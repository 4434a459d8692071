"""What a page and a live model say to each other beside the explorer's payload (docs/protocol.md)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from headscope.views.payload import Added, ExplorerPayload


class Message(TypedDict):
    """A turn of a conversation."""

    role: str
    content: str


class LiveInput(TypedDict):
    """What the model is to read: a text (and `pair`, or a decoder's `target`), or `messages`; then ids `written`."""

    text: NotRequired[str]
    pair: NotRequired[str]
    target: NotRequired[str]
    messages: NotRequired[list[Message]]
    written: NotRequired[list[int]]


class LiveInfo(TypedDict):
    """A live model: what it can be given. `against` is another one that reads the same; `longest` is in tokens.

    `shared`: both have one vocabulary; `pair`: a second text beside the first; `target`: what a decoder reads;
    `chat`: turns of a conversation.
    """

    model: str
    against: str | None
    shared: bool
    pair: bool
    target: bool
    chat: bool
    longest: int
    examples: list[LiveInput]


class Candidate(TypedDict):
    """A token or a class with its probability."""

    id: int
    text: str
    p: float


class Prediction(TypedDict):
    """What a model says of an input.

    ``next``: the token after `place`; ``mask``: the token at `place`; ``class``: the class of the input, or of the
    token at `place`; ``cosine``: `number` is that of the two texts. `top` are the likeliest, of several inputs those of
    each; `entropy` is in nats, `chosen` the one whose probability is followed. `note` says why there is nothing.
    """

    kind: Literal["next", "mask", "class", "cosine", "none"]
    place: int | None
    after: str
    entropy: float | None
    top: list[Candidate]
    chosen: Candidate | None
    number: float | None
    note: str


class Effect(TypedDict):
    """What a head adds to the followed number: estimated from its gradient, gradient × attention summed over pairs."""

    layer: int
    head: int
    estimate: float


class Shown(TypedDict):
    """The answer to an input: the explorer's payload, what each of its inputs says, and notes. `turn` names it."""

    kind: Literal["shown"]
    id: int
    turn: int
    payload: ExplorerPayload
    says: list[Prediction]
    tokens: int
    notes: list[str]
    changes: list[str]
    python: str
    arrays: list[str]


class SaysAnswer(TypedDict):
    """What each input says at another place, or of another candidate."""

    kind: Literal["says"]
    id: int
    says: list[Prediction]


class WhoAnswer(TypedDict):
    """The heads by what they add to the followed number, the largest first, and what that number is."""

    kind: Literal["who"]
    id: int
    of: str
    number: float
    heads: list[Effect]


class WithoutAnswer(TypedDict):
    """The followed number without a head."""

    kind: Literal["without"]
    id: int
    number: float


class ArraysAnswer(TypedDict):
    """Arrays by name, in the buffers."""

    kind: Literal["arrays"]
    id: int
    arrays: list[str]


class QuantityAnswer(TypedDict):
    """A matrix per pair that was computed, with its arrays in the buffers."""

    kind: Literal["quantity"]
    id: int
    added: list[Added]
    arrays: list[str]


class LiveError(TypedDict):
    """Why a question has no answer; `stale`: its input is no longer the one that is shown."""

    kind: Literal["error"]
    id: int
    error: str
    stale: bool
