"""Why two texts, read apart, are near."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import xarray as xr
from torch import Tensor

from headscope.analyses.result import returns_result
from headscope.analyses.similar.compared import compared
from headscope.analyses.similar.heads import carriers
from headscope.analyses.similar.kept import kept, quantised
from headscope.analyses.similar.pair import TextPair
from headscope.analyses.similar.reader import TextReader
from headscope.analyses.similar.readers import reader_of
from headscope.analyses.similar.statistics import THROUGH
from headscope.analyses.why.spans import Prompt, Spans
from headscope.analyses.why.view import around
from headscope.core.validation import Count, Number, validated
from headscope.corpora import Corpus, builtin
from headscope.errors import InputError, RefusedError
from headscope.measures.dataset import describe
from headscope.models import Model
from headscope.runs.identity import identity
from headscope.runs.long import described
from headscope.runs.options import COMMAND
from headscope.views.sheet import Sheet

CALIBRATED = 100
"""Of so many documents an index can tell in which range vectors lie, as it quantises them."""

SHORT = 64
"""Texts of so many tokens are compared with unrelated ones unless it is said."""


@returns_result
@validated
def similar(
    model: Model,
    a: str | Sequence[str],
    b: Any,
    units: Spans = "word",
    *,
    labels: Sequence[str] | None = None,
    trees: Corpus | None = None,
    against: Model | None = None,
    second: Model | None = None,
    prompt: str | tuple[str, str] | None = None,
    background: Sequence[str] | None = None,
    chance: bool | None = None,
    delete: bool = False,
    through: Number = 0,
    dimensions: Count | None = None,
    show: Count = 5,
    most: Count | None = None,
    keep: Path | None = None,
    batch_size: Count = 32,
) -> xr.Dataset:
    """Why are two texts near that are read apart? What each word does to their similarity, and each pair of words.

    Each text is read alone, once whole and once without each of its units: hidden from all other tokens and not pooled,
    while positions stay. All vectors of A and all of B are compared, so n + m + 2 passes give every figure exactly:

    - **effect** of a unit: the similarity less what it is without the unit.
    - **interaction** of a unit of A and one of B: s(A, B) − s(A−i, B) − s(A, B−j) + s(A−i, B−j): what they give only
      together. The effects are not additive, and neither are interactions.
    - **direction**: the cosine of what the absence of each does to its own text's vector; it aligns words best.
    - **p**: the share of unrelated texts of which a word meets any as strongly; **q**: in which any pair does. Either
      text is held, and the larger is taken. Of an effect: in which this unit, or any, matters as much (of any, twice
      that: there are two texts).
    - **percentile**: the share of pairs of unrelated texts that are less near. A cosine of .7 may be nothing.

    Where each token has a vector (late interaction: ColBERT) interactions are not what two units give only together but
    the score's own terms, what tokens of the one have with the token of the other that they pick. These are exact: with
    those of tokens of no unit (prompt, special tokens, what fills a query up) they sum to the score. There is no
    direction. A cross-encoder reads both texts together: two units are hidden in one pass, and where that takes more
    than 1024 passes interactions are NaN. Of CLIP and SigLIP `b` may be a picture, whose units are its patches, or 4 ×
    4 cells of more than 64 patches: no other patch sees them, and they are not pooled.

    Args:
        model: from `headscope.load`. Its vector is what sentence-transformers makes, of the object that was given or of
            the files beside the weights; of a model without these the mean of the last hidden states.
        a: a text, or a query; or a list of texts, each of which is compared with the one of `b` at its place.
        b: another text; or a picture (a path, or what Pillow opened); or several documents or pictures: these are
            ranked, and the first two explained.
        units: what texts are cut into, as in `headscope.why`; of a picture ``token`` says each patch. Of several, such
            as ``["sentence", "word"]``, the smaller are measured in the three largest alone.
        labels: of a list of pairs what each of them is: figures are given by label, or the rank correlation with labels
            that are numbers.
        trees: beside a list of pairs, how much words of each class are heeded, in sentences whose words have universal
            parts of speech: what a word's absence does to how near its text is to itself, as a multiple of what a word
            of the text does on average.
        against: of a list of pairs, the same of another model, B, and the difference.
        second: another model that reads B, of two towers.
        prompt: what stands before each text, or its name in the model's files; ``(of A, of B)``. By default the one
            that these say.
        background: unrelated texts; by default those of the built-in corpus.
        chance: compare with unrelated texts; by default where all texts have at most 64 tokens and are read apart.
        delete: also the effects where units are not in the text at all; positions move then.
        through: of so many heads, those with the largest estimates for the first unit of either text, what the
            similarity loses where they alone do not see it. The estimate is the derivative by a bias on their attention
            to it; what the pooling adds of the unit's own states is not in it.
        dimensions: of the vector that are kept (Matryoshka).
        show: documents that are ranked, of which the first two are explained.
        most: measure at most so many of the smallest units of a text, and three of the larger ones: those of which one
            pass and its derivatives expect most. By default all.
        keep: a file (.npz) for the vectors of several documents, which are made again only where these, the model or
            its prompt changed.
        batch_size: inputs that run at once.

    Returns:
        A dataset over ``(input)``: ``similarity``, ``percentile``, ``left`` (the similarity where all units above the
        bar are hidden); over ``(unit)`` ``unit_effect``, ``p``, ``q``, ``deleted``; over ``(pair)`` ``interaction``,
        ``direction``, ``p_pair``, ``q_pair``; over ``(through)`` what heads carry; of several documents over
        ``(document)`` ``ranked``; of at least 100 over ``(precision)`` ``alike``: how many of these quantised vectors
        have among as many. Its table has a row a unit, `headscope.analyses.similar.statistics.pairs` one a pair.
        Of a list of pairs only ``(input)`` with ``similarity``, ``against`` and ``label``, and ``heed`` over
        ``(model, word)``; its table has a row a label, and a class of words.

    Raises:
        InputError: an empty text, or no such unit.
        RefusedError: a model whose vector is not known, or a cross-encoder of several labels.

    >>> found = similar(model, "The bill was paid late.", "Payment was delayed.", chance=False)
    >>> found["similarity"].dims, found["interaction"].sizes["pair"]
    (('input',), 24)
    """
    before = prompt if isinstance(prompt, tuple) else (prompt, prompt)
    several = isinstance(b, list | tuple)
    documents: list[Any] = [*b] if several else [b]
    if not documents:
        raise InputError("b: expected a text, found none")
    if chance and not isinstance(units, str):
        raise InputError(f"chance: expected one unit beside it, such as 'word', found {units}")

    def readers_of(*models: Model) -> list[TextReader]:
        return [
            reader_of(one, units, text, dimensions, batch_size, side, most)
            for side, (one, text) in enumerate(zip(models, before, strict=True))
        ]

    readers, others = readers_of(model, second or model), 0
    embedder = readers[0].embedder
    if (most or through) and not all(
        reader.embedder.steps and reader.embedder.vectors == "text" for reader in readers
    ):
        raise RefusedError(f"{model.name}: most, through: expected a model with one vector a text")
    if isinstance(a, str):
        pairs, more = _ranked(readers, a, documents, show, keep, several=several)
        texts = [one.prompt.tokens for pair in pairs for one in pair.sides]
        seen = texts[1].picture is not None
        if seen and (chance or delete):
            raise InputError("chance, delete: expected two texts beside them, found a picture")
        if chance is None:
            longest = max(map(len, texts))
            chance = isinstance(units, str) and longest <= SHORT and not seen and embedder.vectors is not None
        if chance:
            lines = [str(one.text) for one in builtin(pack=None)] if background is None else background
            if not (lines := [line for line in lines if line.strip()]):
                raise InputError("background: expected texts that have nothing to do with these, found none")
            for pair in pairs:
                pair.compare(lines)
            others = len(pairs[0].others[0])
        result: Any = _dataset(pairs, delete=delete)
        result = result.merge(more)
        if through:
            result = result.assign(_heads(pairs, through))
    else:
        every = [readers] if against is None else [readers, readers_of(against, against)]
        result = compared(every, a, documents, labels, trees)
    meta = {
        "model": described(model, ())["model"],
        "vector": embedder.about,
        "similarity": embedder.similarity,
        "prompts": [reader.before for reader in readers],
        "units": units if isinstance(units, str) else [*map(str, units)],
        "background": others,
        "most": embedder.most,
        "cut": sum(len(reader.cut) for reader in readers),
        "passed_over": sum(reader.passed_over for reader in readers),
        "command": COMMAND.get(),
    }
    return result.assign_attrs(describe(meta))


def _ranked(
    readers: Sequence[TextReader],
    a: str,
    documents: Sequence[Any],
    show: int,
    keep: Path | None,
    *,
    several: bool,
) -> tuple[list[TextPair], xr.Dataset]:
    """A text beside another, or beside the nearest two of several, and how near the nearest of these are."""
    reader = readers[1]
    query = readers[0].text(a, "a")
    (vector,) = readers[0].vectors([query])

    def text(place: int) -> Prompt:
        return reader.text(documents[place], f"b[{place}]" if several else "b")

    def every() -> Tensor:
        return reader.vectors([text(place) for place in range(len(documents))])

    if not several:
        return [TextPair(readers, (query, text(0)), vector, None)], xr.Dataset()
    reader.progress = keep is not None
    key = [identity(reader.embedder.model, "similar", ""), reader.about, *documents]
    vectors = every() if keep is None else kept(keep, key, every)
    near = readers[0].near(vector[None], vectors)[0]
    ranked: list[int] = cast("Any", near.argsort(descending=True, stable=True)[:show]).tolist()
    pairs = [TextPair(readers, (query, text(place)), vector, vectors[place]) for place in ranked[:2]]
    texts = ("document", [text(place).text.strip() for place in ranked])
    made: Any = xr.Dataset(
        {"ranked": ("document", near[ranked])}, {"document": ranked, "document_text": texts}
    )
    if len(documents) >= CALIBRATED and readers[0].embedder.vectors == "text":
        fewer = quantised(vector.numpy(), vectors.numpy())
        alike = [np.isin(np.argsort(-one)[: len(ranked)], ranked).sum() for one in fewer.values()]
        made = made.assign_coords(precision=[*fewer]).assign(alike=("precision", alike))
    return pairs, made


def _heads(pairs: Sequence[TextPair], count: int) -> dict[str, Any]:
    """The heads through which the unit of the largest effect, of each text, reaches its vector."""
    rows: list[tuple[Any, ...]] = []
    for number, pair in enumerate(pairs):
        for side, (one, reader) in enumerate(zip(pair.sides, pair.readers, strict=True)):
            near = pair.near if side == 0 else pair.near.T
            unit = int(np.abs(near[0, 0] - near[1:, 0]).argmax())
            other = pair.sides[1 - side].vectors[0]
            heads = carriers(reader.embedder, one.prompt, one.units[unit], other, reader.prompt_length, count)
            rows += [(number, "ab"[side], unit, *head) for head in heads]
    return {
        f"through_{name}": ("through", [*values])
        for name, values in zip(THROUGH, zip(*rows, strict=True), strict=True)
    }


COORDS = ("input_of", "side", "number", "level", "text", "start", "end", "first", "last")
UNIT = ("unit_effect", "p", "q", "deleted")
PAIR = ("interaction", "direction", "p_pair", "q_pair")
INPUT = ("similarity", "percentile", "left", "agreement")


def _dataset(pairs: Sequence[TextPair], *, delete: bool) -> xr.Dataset:
    figures = [pair.figures(delete=delete) for pair in pairs]
    shapes: list[tuple[int, int]] = [one["pairs"][0].shape for one in figures]
    units = [
        (
            number,
            side,
            place,
            one.level,
            one.text,
            one.start,
            one.end,
            *one.tokens.nonzero()[0][[0, -1]].tolist(),
        )
        for number, pair in enumerate(pairs)
        for side, read in zip("ab", pair.sides, strict=True)
        for place, one in enumerate(read.units)
    ]
    places: list[Any] = [np.indices(shape).reshape(2, -1) for shape in shapes]
    made: dict[str, Any] = {
        name: ("unit", np.concatenate([one[side][n] for one in figures for side in "ab"]))
        for n, name in enumerate(UNIT)
    }
    made |= {
        name: ("pair", np.concatenate([one["pairs"][n].ravel() for one in figures]))
        for n, name in enumerate(PAIR)
    }
    made |= {name: ("input", [float(one["input"][n]) for one in figures]) for n, name in enumerate(INPUT)}
    coords: dict[str, Any] = {
        **{
            f"text_{'ab'[side]}": ("input", [pair.sides[side].prompt.text.strip() for pair in pairs])
            for side in (0, 1)
        },
        **{name: ("unit", [*column]) for name, column in zip(COORDS, zip(*units, strict=True), strict=True)},
        "input_of_pair": ("pair", np.repeat(range(len(pairs)), [rows * columns for rows, columns in shapes])),
        **{f"unit_{'ab'[side]}": ("pair", np.concatenate([one[side] for one in places])) for side in (0, 1)},
    }
    if pairs[0].sides[1].prompt.tokens.picture is not None:
        sides = [side for pair in pairs for side in pair.sides]
        shown = [json.dumps(Sheet([side.prompt.tokens]).info()) for side in sides[1::2]]
        boxes = [around(side.prompt.tokens.boxes, side.units) for side in sides]
        made |= {"picture": ("input", shown), "box": (("unit", "edge"), np.concatenate(boxes))}
    return xr.Dataset(made, {"input": range(len(pairs)), **coords})
