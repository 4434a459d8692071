"""What travels from Python to the page.

The classes here, in `blobs`, `sources`, `lab` and `wire`, and those of a report are the wire: ``tools/protocol.py``
generates ``frontend/src/protocol.ts`` from them, so both sides agree. A payload is plain JSON; arrays stand beside it
as blobs, and `ArrayRef` says how to read one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

from headscope.core.media import MediumKind
from headscope.views.blobs import ArrayRef, Vectors


class Pin(TypedDict):
    """A token that is pinned: its side, and its place on that axis."""

    side: Literal["from", "to"]
    place: int


class Reason(TypedDict):
    """Why a head is named, and where that is seen.

    `says` is what `figure` is of, `over` what it is over, by default the corpus. The head opens on `example` (by its
    place) with the token of `pin`, and of the example's links those of `label`; where there is no example, on the one
    that shows `measure`. `here` is the figure on that example alone. What is not there is left out: a page has a
    thousand of these.
    """

    says: str
    figure: str
    over: NotRequired[str]
    measure: NotRequired[str | None]
    example: NotRequired[int | None]
    pin: NotRequired[Pin | None]
    label: NotRequired[str | None]
    here: NotRequired[str | None]


class Part(TypedDict):
    """A stretch of a sentence; with a layer and a head it is the name of that head, which `reason` opens.

    `token`: it is a piece of the vocabulary, which is set off. `title` is said when it is pointed at. In a list with a
    bar it is there while its `low` lies above that.
    """

    text: str
    layer: int | None
    head: int | None
    reason: Reason | None
    token: NotRequired[bool]
    title: NotRequired[str]
    low: NotRequired[float]


class WordsInfo(TypedDict):
    """The words of an axis: the word that each piece belongs to, counted from 0, and what each word reads."""

    group: list[int]
    texts: list[str]


class MediumInfo(TypedDict):
    """One of several media on a sheet, and its `box` there: left, top, right and bottom.

    Of a step of a video `frames` are the first and the one after the last, of a series `channels` are the names of its
    lanes from top to bottom, and `letters` are those of a sequence, which are written at even distances.
    """

    kind: MediumKind
    name: str
    box: list[float]
    frames: NotRequired[list[int]]
    channels: NotRequired[list[str]]
    letters: NotRequired[str]


class PictureInfo(TypedDict):
    """A picture as an address that holds it (`src`), and how large it was when the areas on it were told.

    Of a sound it is the spectrogram. Of several `media`, of a series and of letters it is the sheet on which these lie.
    """

    kind: MediumKind
    src: str
    width: int
    height: int
    name: str
    media: NotRequired[list[MediumInfo]]


class SpokenInfo(TypedDict):
    """A word that is heard: from when to when, in seconds."""

    text: str
    begin: float
    end: float


class SoundInfo(TypedDict):
    """A sound: the model hears `seconds`, of which the sound itself fills the first `heard`.

    `samples` are its bytes, 16 bits a sample, little-endian, of one channel; None where the page leaves them out.
    `words` are those whose times are known.
    """

    rate: int
    seconds: float
    heard: float
    samples: ArrayRef | None
    words: list[SpokenInfo]


class WithinInfo(TypedDict):
    """A picture, or a sound, within a text: where it begins, what follows it, and what it is called."""

    start: int
    end: int
    name: str


class AxisInfo(TypedDict):
    """One axis of a map.

    `sequences` is 0 for text A, 1 for text B, -1 for none. `written` is the place of the first token that the model
    wrote itself, where it did. `sinks` are the places of keys that take much of all heads' attention
    (`headscope.views.highlights.sinks`), where there are such, `changed` those of pieces that the other of two inputs
    has not. `boxes` are the areas of the input's picture that tokens stand for: left, top, right, bottom in its pixels
    (None: none). `counts` is how many tokens each stands for, where some are blocks of patches
    (`headscope.views.images`), and `of` the block of each token. `images` are the pictures within a text. `ids` are
    those of the vocabulary.
    """

    pieces: list[str]
    ids: NotRequired[list[int]]
    special: list[bool]
    sequences: list[int] | None
    words: WordsInfo | None
    written: NotRequired[int]
    sinks: NotRequired[list[int]]
    changed: NotRequired[list[int]]
    boxes: NotRequired[list[list[float] | None]]
    counts: NotRequired[list[int]]
    of: NotRequired[list[int]]
    images: NotRequired[list[WithinInfo]]


class NeuronsInfo(TypedDict):
    """What softmax is taken of in one layer: ``softcap(scaling · q kᵀ + bias)``.

    `heads` are those whose queries are there, by the model's own indices. `groups` query heads share one key head;
    `key_head` is the place of the key head that serves each query head, `keys` the model's own index of each key
    head. `bias` is [head query key]; `sinks` is a logit a head.
    """

    q: Vectors
    k: Vectors
    v: Vectors | None
    heads: list[int]
    key_head: list[int]
    keys: list[int]
    groups: int
    scaling: float
    softcap: float | None
    bias: ArrayRef | None
    sinks: list[float] | None


class MeasureColumn(TypedDict):
    """A figure of every head, ``[layer head]`` (NaN: none), from this input or from a corpus."""

    name: str
    title: str
    units: str
    of: Literal["input", "corpus"]
    values: ArrayRef


class QuantityInfo(TypedDict):
    """Another matrix per pair, drawn in place of the weights: shares of `scale`, signed or not.

    `of` says what it is of, where that is known (a gradient: "the loss on the input"). `measures` are figures of every
    head in it, of a signed one, and `largest` the size of each head's largest number, layer by layer.
    """

    name: str
    of: str | None
    signed: bool
    scale: float
    layers: list[ArrayRef]
    measures: NotRequired[list[MeasureColumn]]
    largest: NotRequired[list[float]]


class OutlineInfo(TypedDict):
    """A line around a region of the input's picture: x, y, x, y, … as of boxes. `side` is that of its tokens."""

    side: Literal["from", "to"]
    points: list[float]


class LinkInfo(TypedDict):
    """A gold link of a part, by places of tokens.

    `side` is where its source stands: a query that should look at one of `targets` ("from"), or a key that one of them
    should look at ("to"). `candidates` is what there is to choose from; None: every other token, or word (`units`).
    `outlines` are those of its regions of a picture, where it has such.
    """

    label: str
    side: Literal["from", "to"]
    source: list[int]
    targets: list[list[int]]
    candidates: list[list[int]] | None
    units: Literal["tokens", "words"]
    outlines: NotRequired[list[OutlineInfo]]


class HighlightsInfo(TypedDict):
    """What each shown head of a part does on this input, a figure a head (`headscope.views.highlights`).

    `query` and `key` are the first pieces of the two words whose link stands out most, `weight` is its own, `score` how
    far it stands out, `share` the part of the words that look at another so, `alike` the part of these that look at the
    same word elsewhere. Of media `query` is −1, and `key` the number of a part: a ninth of a picture, row by row, a
    tenth of another medium, or one of several media; `weight` is the share that the part gets. `near` is that on the
    previous token, on the next or on the token itself, whichever is most; `evenness` the part of the visible tokens on
    which even attention would be as spread out, over rows that see five (−1: none does); `moved`, of two inputs, the
    share that moves from one to the other (−1: none).
    """

    query: list[int]
    key: list[int]
    weight: list[float]
    score: list[float]
    share: list[float]
    alike: list[float]
    near: list[float]
    evenness: list[float]
    moved: NotRequired[list[float]]


class WriterInfo(TypedDict):
    """Who wrote a part of what a head reads, and its term of the contrast.

    Of a head, its layer and number; `line` is where it is seen: the query at which it wrote, and the key at which it
    looks most from there, in the picture of `part` where it is of another part of the model.
    """

    name: str
    term: float
    head: NotRequired[list[int]]
    part: NotRequired[str]
    line: NotRequired[list[int]]


class ReadsInfo(TypedDict):
    """Why a head looks from a query at a key: who wrote the key (`by_key`) and who wrote the query (`by_query`).

    The terms of either sum to the `contrast`: the score of the key less the mean of the other keys that the query
    sees, of which `position` comes from their distance where positions turn queries and keys (None: they do not);
    `capped`: before the softcap that the model takes of it.
    """

    layer: int
    head: int
    query: int
    key: int
    contrast: float
    position: float | None
    capped: bool
    by_key: list[WriterInfo]
    by_query: list[WriterInfo]


class PartInfo(TypedDict):
    """One part of a model on one input: ``self``, or ``encoder``, ``decoder``, ``cross``.

    `index` is the model's own index of each layer, `heads` that of each layer's heads, `layers` their maps ``[head
    query key]``, of which `received`, where they are bytes, is the mean over queries, ``[head key]`` of all layers.
    `thumbs` holds ``[head row column]`` of all layers, pooled by the maximum: the grid of a large input is drawn from
    it. `sink` is ``[head query]`` a layer. `hidden` is 1 where a query cannot see a key, ``[head query key]`` a layer,
    or ``[1 query key]`` where its heads agree; None where `causal` says all. `neurons` is None for a layer without
    them. `looks`, where keys are areas of a picture, is ``[head key]`` of all layers: the mean weight over the queries
    that see the key, as a share of the head's largest on an area, which `peaks` has (``[head]``). Of a picture `means`
    and `rollout` are ``[1 query key]`` a shown layer: the mean over all heads of the layer, and attention rollout up to
    it; `unrolled` says why there is no rollout. `folds` are `thumbs` in which each picture within a text is one token.
    `reads` says of some lines why they are there.
    """

    name: str
    kind: str
    causal: bool
    query: AxisInfo
    key: AxisInfo
    index: list[int]
    heads: list[list[int]]
    layers: list[ArrayRef]
    received: NotRequired[ArrayRef]
    thumbs: ArrayRef | None
    sink: list[ArrayRef] | None
    hidden: list[ArrayRef] | None
    neurons: list[NeuronsInfo | None] | None
    quantities: list[QuantityInfo]
    measures: list[MeasureColumn]
    looks: NotRequired[ArrayRef]
    peaks: NotRequired[ArrayRef]
    means: NotRequired[list[ArrayRef]]
    rollout: NotRequired[list[ArrayRef]]
    unrolled: NotRequired[str]
    folds: NotRequired[ArrayRef]
    links: NotRequired[list[LinkInfo]]
    highlights: NotRequired[HighlightsInfo]
    reads: NotRequired[list[ReadsInfo]]


class RunInfo(TypedDict):
    """A stretch of a text; `changed`: the other of two inputs has not got it."""

    text: str
    changed: bool


class InputInfo(TypedDict):
    """One input that is shown; `text` is what it reads, where it is more than its label says.

    `unseen` says what of the model's layers has no attention map, where there is such.
    """

    label: str
    parts: list[PartInfo]
    text: NotRequired[list[RunInfo]]
    unseen: NotRequired[str]
    picture: NotRequired[PictureInfo]
    sound: NotRequired[SoundInfo]


class StateKey(NamedTuple):
    """What a key of the state is where nothing is said, and what it takes, in words."""

    default: Any
    takes: str


class ExplorerState(TypedDict, total=False):
    """What an explorer shows; every key may be left out (`headscope.views.state.STATE` lists them).

    `pin` is ``["from", 10]`` or ``["to", 3]``: the side and the token's place on its axis. `between` has a place on
    each axis; beside it `pin` says which was chosen first. `zoom` is first row, rows, first column, columns of the
    matrix. `time` and `span` are seconds of the sound. `layer` and `heads` are the model's own indices.
    """

    scale: Annotated[Literal["model", "head", "neuron"], StateKey("head", "'model', 'head' or 'neuron'")]
    part: Annotated[str, StateKey("", "a part of the model: 'self', or 'encoder', 'decoder', 'cross'")]
    layer: Annotated[int, StateKey(-1, "the model's own index of a layer")]
    heads: Annotated[
        list[int],
        StateKey([], "a head or a list of heads, the model's own indices; the last one is the open one"),
    ]
    filter: Annotated[
        Literal["all", "aa", "ab", "ba", "bb"],
        StateKey("all", "'all', 'aa', 'ab', 'ba' or 'bb' (what A looks at in B is 'ab')"),
    ]
    special: Annotated[bool, StateKey(True, "True or False: show special tokens")]
    renormalise: Annotated[bool, StateKey(False, "True or False: let the shown weights of each row sum to 1")]
    unit: Annotated[Literal["pieces", "words"], StateKey("pieces", "'pieces' or 'words'")]
    draw: Annotated[
        Literal["auto", "heat", "lines"], StateKey("auto", "'auto', 'heat' or 'lines': the thumbnails")
    ]
    picture: Annotated[
        Literal["lines", "matrix", "text", "image"],
        StateKey(
            "lines",
            "'lines', 'matrix' or 'text', or 'image' where tokens are areas of a picture: the head view",
        ),
    ]
    smooth: Annotated[bool, StateKey(False, "True or False: draw between the patches of a picture")]
    opacity: Annotated[float, StateKey(0.8, "a number from 0 to 1: how much of a picture is covered")]
    medium: Annotated[
        int | None,
        StateKey(
            None, "the number of one of several pictures or other media, which is drawn large; None: all"
        ),
    ]
    queries: Annotated[
        Literal["all", "patches"],
        StateKey(
            "all", "'all' or 'patches': the queries of a picture whose mean is drawn where none is chosen"
        ),
    ]
    strip: Annotated[
        Literal["head", "mean"],
        StateKey(
            "head", "'head' or 'mean': what the strip of layers shows, the open head or the mean of all heads"
        ),
    ]
    rollout: Annotated[
        bool,
        StateKey(
            False, "True or False: attention rollout up to the open layer, beside the head on a picture"
        ),
    ]
    unfolded: Annotated[
        list[int],
        StateKey([], "a list of pictures within a text, from 0: their tokens stand on their own, not as one"),
    ]
    measure: Annotated[str, StateKey("none", "'none' or a measure that the payload has")]
    sort: Annotated[bool, StateKey(False, "True or False: sort the heads by the measure")]
    ascending: Annotated[bool, StateKey(False, "True or False: sort (and rank) from the smallest")]
    least: Annotated[float, StateKey(0.0, "a number: heads whose measure is below it are dimmed")]
    threshold: Annotated[
        float | None,
        StateKey(
            None,
            "a number from 0 to 1: weaker lines are not drawn; None: those below an even share of their row, 1/n",
        ),
    ]
    sinks: Annotated[
        bool, StateKey(True, "True or False: show the keys that take much of all heads' attention")
    ]
    top_k: Annotated[int, StateKey(0, "how many lines each token keeps, strongest first; 0 for all")]
    aggregate: Annotated[
        Literal["none", "mean", "max", "layers"],
        StateKey(
            "none",
            "'none', 'mean' or 'max' (over the chosen heads) or 'layers' (their mean over all layers)",
        ),
    ]
    quantity: Annotated[str, StateKey("weights", "'weights' or another matrix that the payload has")]
    pin: Annotated[
        list[str | int] | None,
        StateKey(None, "None, or a side and a token's place: ('from', 10) or ('to', 3)"),
    ]
    between: Annotated[
        list[int] | None,
        StateKey(
            None,
            "None, or a query's and a key's place: (10, 3), for all heads ranked by the weight between them",
        ),
    ]
    zoom: Annotated[
        list[int] | None,
        StateKey(None, "None, or a window of the matrix: (first row, rows, first column, columns)"),
    ]
    input: Annotated[int, StateKey(0, "the place of an input, from 0")]
    side: Annotated[
        Literal["one", "both", "difference"],
        StateKey(
            "one",
            "'one', 'both' or 'difference': one input, two side by side, the first minus the second",
        ),
    ]
    gold: Annotated[bool, StateKey(True, "True or False: lay the links that were given over the pictures")]
    time: Annotated[
        float | None, StateKey(None, "None, or a number of seconds: where the line stands in the sound")
    ]
    follow: Annotated[
        bool, StateKey(False, "True or False: what sounds where the line stands is the chosen token")
    ]
    span: Annotated[
        list[float] | None,
        StateKey(None, "None, or a stretch of the sound: (from, to) in seconds; None: all of the sound"),
    ]
    values: Annotated[bool, StateKey(False, "True or False: what each key contributes, in the neuron view")]
    theme: Annotated[Literal["auto", "light", "dark"], StateKey("auto", "'auto', 'light' or 'dark'")]


class Offer(TypedDict):
    """A matrix per pair that the model can give, here or not; `how` says in words how a page gets it."""

    name: str
    how: str


class ExplorerPayload(TypedDict):
    """The explorer: the maps of one or two inputs (or more, to choose from), and the state it begins with.

    `offers` are the matrices per pair that the model behind it can give: a widget asks for those that are
    not there. `explains`: that model says why lines are there; a widget asks for it.
    `bertviz`: a call of BertViz made it, and its controls stand above, in its words.
    """

    kind: Literal["explorer"]
    version: Literal[1]
    title: str
    model: str
    inputs: list[InputInfo]
    state: ExplorerState
    exact: bool
    offers: list[Offer]
    explains: NotRequired[bool]
    bertviz: NotRequired[bool]


class Added(TypedDict):
    """What a kernel adds to a part when it is asked for a matrix per pair.

    `values` are the value vectors, a layer each, where they come along (with ‖α·v·W_O‖). The arrays are in
    the message's buffers.
    """

    input: int
    part: str
    quantity: QuantityInfo
    values: list[Vectors | None] | None


class SectionInfo(TypedDict):
    """What every section of a report has, beside its ``kind``."""

    title: str
    about: str
