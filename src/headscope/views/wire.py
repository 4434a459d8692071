"""What a page and a live model say to each other beside the explorer's payload (docs/protocol.md)."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from headscope.views.blobs import ArrayRef
from headscope.views.lab import LabInfo
from headscope.views.payload import Added, ExplorerPayload, ReadsInfo
from headscope.views.sources import SimilarPayload, SourcesPayload


class Message(TypedDict):
    """A turn of a conversation."""

    role: str
    content: str


class LiveInput(TypedDict):
    """What the model is to read: a text (and `pair`, or a decoder's `target`), or `messages`; then ids `written`.

    A model of sentences reads a text and its pair apart, or `together` as one input.
    """

    text: NotRequired[str]
    pair: NotRequired[str]
    together: NotRequired[bool]
    target: NotRequired[str]
    messages: NotRequired[list[Message]]
    written: NotRequired[list[int]]


class LiveExample(TypedDict):
    """An input to begin with: its `name`, what to `look` at, the head and the `place` that open, a `change` to try."""

    name: str
    input: LiveInput
    look: NotRequired[str]
    layer: NotRequired[int]
    head: NotRequired[int]
    place: NotRequired[int]
    change: NotRequired[str]


class LiveInfo(TypedDict):
    """A live model: what it can be given. `against` is another one that reads the same; `longest` is in tokens.

    `shared`: both have one vocabulary; `pair`: a second text beside the first; `apart`: how near two texts
    are that it reads apart, by name; `target`: what a decoder reads;
    `chat`: turns of a conversation; `mask`: the token that stands for one to be told; `reads`: it can be asked why a
    line is there; `sources`: which part of the input made the answer can be asked; `rounded`: how its weights were,
    where they are not those of the model itself; `loaded`: what makes it in Python, where somebody is to be told.
    """

    model: str
    against: str | None
    shared: bool
    pair: bool
    apart: str | None
    target: bool
    chat: bool
    mask: str | None
    longest: int
    examples: list[LiveExample]
    reads: bool
    sources: bool
    rounded: str | None
    loaded: str | None


class Candidate(TypedDict):
    """A token or a class with its probability."""

    id: int
    text: str
    p: float


class Prediction(TypedDict):
    """What a model says of an input.

    ``next``: the token after `place`; ``mask``: the token at `place`; ``class``: the class of the input, or of the
    token at `place`; ``cosine``: `number` is that of the two texts. `top` are the likeliest, of several inputs those of
    each; `entropy` is in nats, `chosen` the one whose probability is followed.
    """

    kind: Literal["next", "mask", "class", "cosine", "none"]
    place: int | None
    after: str
    entropy: float | None
    top: list[Candidate]
    chosen: Candidate | None
    number: float | None


class Effect(TypedDict):
    """What a head adds to the followed number: estimated from its gradient, gradient × attention summed over pairs.

    None where there is no gradient: each head is to be taken out.
    """

    layer: int
    head: int
    estimate: float | None


class Shown(TypedDict):
    """The answer to an input: the explorer's payload, what each of its inputs says, and notes. `turn` names it.

    `changes` are made; `left` are the others, each with why it cannot be.
    """

    kind: Literal["shown"]
    id: int
    turn: int
    payload: ExplorerPayload
    says: list[Prediction]
    tokens: int
    notes: list[str]
    changes: list[str]
    left: dict[str, str]
    arrays: list[str]


class SaysAnswer(TypedDict):
    """What each input says at another place, or of another candidate."""

    kind: Literal["says"]
    id: int
    says: list[Prediction]


class WhoAnswer(TypedDict):
    """The heads by what they add to the followed number, the largest first, and that number."""

    kind: Literal["who"]
    id: int
    number: float
    heads: list[Effect]


class WhyAnswer(TypedDict):
    """The sources of the followed word or class."""

    kind: Literal["why"]
    id: int
    sources: SourcesPayload


class NearAnswer(TypedDict):
    """Why two texts are near that are read apart, with the `changes` that are made, and how near they were `before`."""

    kind: Literal["near"]
    id: int
    before: float | None
    changes: list[str]
    sources: SimilarPayload


class WithoutAnswer(TypedDict):
    """The followed number without a head, or how near two texts are without some of their words."""

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


class ReadsAnswer(TypedDict):
    """Why a line is there."""

    kind: Literal["reads"]
    id: int
    why: ReadsInfo


class LiveError(TypedDict):
    """Why a question has no answer; `stale`: its input is no longer the one that is shown."""

    kind: Literal["error"]
    id: int
    error: str
    stale: bool


class LivePayload(TypedDict):
    """A page whose model answers behind a server."""

    kind: Literal["live"]
    version: Literal[1]
    info: LiveInfo


class StoredWeights(TypedDict):
    """Weights of a model in a page, ``[…]``: float32, or float16 or int8 as bytes.

    A row along `axis` of an int8 matrix is ``scale · code``; `scale` is float32, a number a row.
    """

    name: str
    kind: Literal["float32", "float16", "int8"]
    shape: list[int]
    codes: ArrayRef
    scale: ArrayRef | None
    axis: int


class SegmentInfo(TypedDict):
    """A part of a model: an ONNX graph (bytes), its tensors, and the weights that stand one behind the other."""

    graph: ArrayRef
    inputs: list[str]
    outputs: list[str]
    weights: list[str]


class LayerTensors(TypedDict):
    """What a layer's tensors are called: its weights, queries, keys, and what each query sees (None: all)."""

    layer: int
    scaling: float
    weights: str
    q: str
    k: str
    seen: str | None


class TokenizerInfo(TypedDict):
    """A tokenizer: `json` is its tokenizer.json (bytes); ids of special, unknown and named tokens.

    `probes` are texts and the ids that Python gives: what the page's own must give as well.
    """

    json: ArrayRef
    config: dict[str, Any]
    special: list[int]
    unknown: list[int]
    named: dict[str, int]
    mask: int | None
    types: bool
    probes: list[ProbeText]


class ProbeText(TypedDict):
    """A text, and its ids."""

    text: str
    pair: str | None
    ids: list[int]


class Rounded(TypedDict):
    """What stored weights do to the attention maps, beside float32: over so many texts and weights of attention.

    `largest` and `mean` are of the absolute differences, `same` is the share of rows whose largest weight stays.
    """

    kind: Literal["float32", "float16", "int8"]
    largest: float
    mean: float
    same: float
    texts: int
    weights: int


class FigureName(TypedDict):
    """A figure of every head of an input: its name, and how to read it."""

    name: str
    title: str
    units: str


class StandaloneModel(TypedDict):
    """A model in a page (`headscope.live.standalone`).

    `figures` stand beside the grid. `engine` is WebAssembly, `worker` the script that runs it. `inputs` are the model's
    own; `output` is the tensor of what it `predicts`: logits of the next token, of the masked one or of classes, or
    hidden states whose means give a cosine.
    """

    info: LiveInfo
    causal: bool
    tokenizer: TokenizerInfo
    inputs: list[str]
    layers: list[LayerTensors]
    segments: list[SegmentInfo]
    weights: list[StoredWeights]
    output: str
    predicts: Literal["next", "mask", "class", "cosine", "none"]
    classes: list[str]
    rounded: Rounded
    parameters: int
    figures: list[FigureName]
    engine: ArrayRef
    worker: ArrayRef


class Asking(TypedDict):
    """What a page reads first, and the changes that are made."""

    input: LiveInput
    changes: list[str]


class StandalonePayload(TypedDict):
    """A page that carries its model: what it reads, and the picture that it opens with (None: none)."""

    kind: Literal["standalone"]
    version: Literal[1]
    title: str
    view: ExplorerPayload | None
    model: StandaloneModel
    asked: Asking
    lab: NotRequired[LabInfo]
