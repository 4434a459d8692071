"""Make the card of a model's heads from the analyses that there are."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
import torch
import xarray as xr

from headscope.analyses.align.heads import alignment_heads
from headscope.analyses.contribution.importance import NAME, by_gates
from headscope.analyses.model_card.card import DIGITS, FIGURES, FORMAT, Card
from headscope.analyses.model_card.vary import MOST, Varied
from headscope.analyses.model_card.vary import vary as varied_lists
from headscope.analyses.options import Through, with_options
from headscope.analyses.roles.definitions import ROLES
from headscope.analyses.roles.run import READINGS, every_role
from headscope.analyses.writes.run import writes
from headscope.attention.objective import objective
from headscope.core.arrays import Floats
from headscope.core.heads import Head
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Seed
from headscope.corpora import Corpus, Example, readers
from headscope.corpora.perceived import shipped
from headscope.errors import CorpusError, HeadscopeError
from headscope.measures.choose import choose
from headscope.measures.dataset import dataset, description, staying
from headscope.measures.sums import FOLDS, Documents
from headscope.models import Model
from headscope.models.model import expect_attention, expect_text_alone
from headscope.models.perceive import reads
from headscope.models.weights import stored
from headscope.runs.batches import examples, over_blocks, reader_of, tokens_of
from headscope.runs.identity import about_model, read_with, versions, weights
from headscope.runs.long import described
from headscope.runs.options import RunOptions
from headscope.runs.task import Task
from headscope.statistics.jackknife import false_discovery
from headscope.statistics.overlap import FEW


@dataclass
class ReadCorpus:
    """What was read of a corpus.

    Attributes:
        name: of the corpus.
        sha256: of the pieces of all inputs, in their order.
        documents, inputs, tokens: how many.
    """

    name: str
    sha256: str = ""
    documents: int = 0
    inputs: int = 0
    tokens: int = 0


@dataclass
class Readings:
    """Measures what lists are made of, and keeps what was read for it: nothing is read twice.

    Attributes:
        corpus: its name.
        read: what was read, by what for.
    """

    corpus: str
    read: dict[str, ReadCorpus] = field(default_factory=dict[str, ReadCorpus])

    def measure(
        self, model: Model, corpus: Corpus | Iterable[Example], *, measures: Any, **options: Any
    ) -> xr.Dataset:
        """The figures of the next of `READINGS`, as `headscope.measure` has them."""
        model, chosen, through = reader_of(model, corpus), choose(measures), RunOptions(**options)
        documents = Documents([measure.name for measure in chosen], folds=FOLDS)
        name = READINGS[len(self.read)]
        seen = _SeenInputs("repeated random tokens" if name == "repeated" else self.corpus)
        inputs = examples(model, corpus, through.limit)
        for block in over_blocks(model, corpus, Task(model, chosen).measured, through, inputs=inputs):
            for batch, rows in block:
                for example, *arrays in zip(batch, rows.sums, rows.chance, rows.divisors, strict=True):
                    documents.add(example.document, tokens_of(example), rows.layers, *arrays)
                    seen.add(example)
        self.read[name] = seen.close()
        meta = described(model, corpus, inputs)
        return dataset(documents.close(), chosen, causal=model.causal, meta=meta)

    def importance(self, model: Model, corpus: Corpus, options: RunOptions) -> xr.Dataset:
        """Head importance."""
        seen = _SeenInputs(self.corpus)
        result = by_gates(objective(model), corpus, options, seen=seen.add)
        self.read[NAME] = seen.close()
        s, n = map(np.concatenate, zip(*seen.sums.values(), strict=True))
        return result.assign({f"{NAME}_stays": staying(s, n)})


class _SeenInputs:
    """What inputs were seen, and what their documents gave."""

    def __init__(self, name: str) -> None:
        self.sums: dict[int, list[Floats]] = {}
        self._digest, self._read = hashlib.sha256(), ReadCorpus(name)

    def add(self, example: Example, *arrays: Floats) -> None:
        pieces = tokens_of(example).pieces
        self._digest.update("\n".join([*pieces, ""]).encode())
        self._read.inputs += 1
        self._read.tokens += len(pieces)
        before = self.sums.get(example.document, [0.0 * array for array in arrays])
        self.sums[example.document] = [a + b for a, b in zip(before, arrays, strict=True)]

    def close(self) -> ReadCorpus:
        self._read.sha256, self._read.documents = self._digest.hexdigest(), len(self.sums)
        return self._read


WIDE = 0.9
"""An interval of a share that is wider is of too few documents that have what it is the share of."""

_COLUMNS = {"low": "ci_low", "high": "ci_high"}  # what a table of roles calls figures


@with_options()
def card(
    model: Model,
    corpus: Corpus | None = None,
    *,
    seed: Seed = 0,
    vary: Sequence[Varied] = (),
    **options: Unpack[Through],
) -> Card:
    """The card of a model's heads: what each does, with intervals and q, how stable the lists are, and what made them.

    It holds the score of every head for every role that can be tested (`headscope.roles`), retrieval and sinks among
    them, head importance (64 inputs at most), and the copying score of the heads' weights (`headscope.writes`); and of
    each list how far the ten highest heads would be others on other documents. The same card is made again to the last
    digit: nothing in it tells of the time, the place or the machine.

    Args:
        model: from `headscope.load`.
        corpus: of texts, pictures or sounds, and at least ten documents for stability; by default the built-in one of
            what the model reads.
        seed: of needles, random tokens and rotations.
        vary: ``template``, ``special``, ``dtype``, ``attention``, ``cache``: also what the highest heads of lists on
            texts share when the chat template stands around each text, special tokens around none, weights are
            bfloat16 (or float32), attention is eager (or not), and answers are decoded with a cache.

    Returns:
        A `headscope.analyses.model_card.card.Card`: ``card.heads("retrieval", q=.05)``, ``card.save(FOLDER)``.

    >>> made = hs.card(model, hs.corpora.builtin(), limit=12)
    >>> made.heads("previous token")[0]
    L0H2
    """
    expect_text_alone(model)
    expect_attention(model)
    kind = reads(model)
    if corpus is None:
        corpus = readers.builtin() if kind == "text" else shipped(kind)
    through = RunOptions(**options)
    lists: dict[str, AnyDict] = {}
    not_told: dict[str, str] = {}
    readings = Readings(corpus.name)
    table = _tried(
        not_told,
        "roles",
        lambda: every_role(model, corpus, seed=seed, measured=readings.measure, **options),
    )
    if table is not None:
        not_told |= table.attrs["untested"]
        lists |= _of_roles(table)
    if corpus.kind == "text":
        few = RunOptions(through.batch_size, min(through.limit or MOST, MOST))
        result = _tried(not_told, NAME, lambda: readings.importance(model, corpus, few))
        if result is not None:
            lists[NAME] = _listed(result, NAME, result[NAME].attrs["description"])
    else:
        not_told[NAME] = "it is taken of texts"
    if corpus.kind == "sounds":
        aligned = _tried(not_told, "alignment", lambda: alignment_heads(model, corpus, limit=through.limit))
        if aligned is not None:
            why = "Share of words that the decoder's head, of its cross-attention, looks at most where they are heard."
            figures = {
                "chance": aligned["chance"],
                "n": aligned["words"].sum(),
                "documents": description(aligned)["effective"],
            }
            right = aligned["right"].values
            words = aligned["words"].values[:, None, None] + 0 * right
            aligned = aligned.assign(aligned_stays=staying(right, words)).assign(
                {f"aligned_{figure}": value + 0 * aligned["aligned"] for figure, value in figures.items()},
            )
            lists["alignment"] = _listed(aligned, "aligned", why)
    wrote = _tried(not_told, "copying", lambda: writes(model, seed=seed))
    if wrote is not None:
        lists["copying"] = _listed(
            promoting(wrote),
            "copying",
            "Copying score of the weights: 1 for a head that promotes what it looks at (Elhage et al. 2021).",
            tested=True,
        )
    varied = (
        {}
        if not vary or corpus.kind != "text"
        else varied_lists(model, corpus, vary, [*lists], seed, through.limit)
    )
    return Card(
        {
            "format": FORMAT,
            "digits": DIGITS,
            "model": _model(model),
            "made": versions(),
            "options": {"seed": seed, "limit": through.limit},
            "corpora": {name: vars(read) for name, read in readings.read.items()},
            "lists": lists,
            **({"varied": {by: _placeless(one) for by, one in varied.items()}} if varied else {}),
            "not_told": {name: placeless(why) for name, why in not_told.items()},
        }
    )


def _tried(not_told: dict[str, str], name: str, make: Callable[[], Any]) -> Any:
    """What an analysis gives; where it refuses, why is noted."""
    try:
        return make()
    except HeadscopeError as error:
        if name == "roles" and isinstance(error, CorpusError):  # no corpus, no card
            raise
        not_told[name] = str(error).removeprefix(f"{name}: ")
        return None


def promoting(wrote: xr.Dataset) -> xr.Dataset:
    """Copying scores with p and q of those above 0, what they are by chance: a head that suppresses has none.

    >>> both = xr.Dataset({name: (("layer", "head"), np.array([value])) for name, value in
    ...     {"copying": [1.0, -1.0], "copying_p": [0.01, 0.01]}.items()})
    >>> promoting(both)["copying_q"].values.round(3).tolist()
    [[0.01, 0.995]]
    """
    score, half = wrote["copying"].values, wrote["copying_p"].values / 2
    p = np.where(score > 0, half, 1 - half)
    figures = {"p": p, "q": false_discovery(p.ravel()).reshape(p.shape), "chance": 0 * score}
    return wrote.assign({f"copying_{name}": (("layer", "head"), values) for name, values in figures.items()})


def _placeless(record: AnyMapping) -> AnyDict:
    return {name: placeless(one) if isinstance(one, str) else one for name, one in record.items()}


def placeless(text: str) -> str:
    """A message in which files are called by their names, wherever they are.

    >>> placeless("/home/me/a.wav: expected at most 2 s")
    'a.wav: expected at most 2 s'
    """
    return re.sub(r"(?<![\w.])(?:[A-Za-z]:\\|/)(?:[^\s:/\\]+[/\\])*", "", text)


def _of_roles(table: Any) -> dict[str, AnyDict]:
    """The lists of roles that were tested."""
    lists: dict[str, AnyDict] = {}
    for role in ROLES:
        heads = [
            _head(
                row["layer"],
                row["head"],
                {name: row[of] for name in FIGURES if (of := _COLUMNS.get(name, name)) in row},
            )
            for row in table[table["role"] == role.name].to_dict("records")
        ]
        if heads:
            why = "its figures are not added up over documents"
            lists[role.name] = _list(heads, role.why, table.attrs["lists"].get(role.name, why), tested=True)
    return lists


def _listed(result: xr.Dataset, name: str, why: str, *, tested: bool = False) -> AnyDict:
    """The list of a result over heads."""
    parts = {figure: f"{name}_{figure}" for figure in FIGURES} | {"score": name}
    heads: list[AnyDict] = []
    for place, layer in enumerate(result["layer"].values.tolist()):
        for head in result["head"].values.tolist():
            figures = {
                to: float(result[of].transpose("layer", "head", ...).values[place, head])
                for to, of in parts.items()
                if of in result and {"layer", "head"} <= set(result[of].dims)
            }
            if math.isfinite(figures["score"]):
                heads.append(_head(layer, head, figures))
    stay = f"{name}_stays"
    held = dict(result[stay].attrs) if stay in result else "it is told from the weights alone"
    return _list(heads, why, held, tested=tested)


def _list(heads: list[AnyDict], why: str, stability: AnyMapping | str, *, tested: bool) -> AnyDict:
    heads.sort(key=lambda one: -math.inf if one["score"] is None else -one["score"])
    for one in heads:
        low, high = one.get("low"), one.get("high")
        if low is not None and high is not None and WIDE < high - low <= 1:
            one["low"] = one["high"] = None  # it says nothing of a share
    rounded: Any = stability if isinstance(stability, str) else _rounded(stability) or FEW
    return {"why": why, "tested": tested, "heads": heads, "stability": rounded}


def _head(layer: int, head: int, figures: AnyMapping) -> AnyDict:
    one = Head(int(layer), int(head))
    return {"head": str(one), "paper": one.paper, **_rounded(figures)}


def _rounded(figures: AnyMapping) -> AnyDict:
    """Figures as JSON has them: no NaN, and no digit beyond what is the same in each run."""
    rounded: AnyDict = {}
    for name, value in figures.items():
        finite = math.isfinite(value)
        small = round(float(value), 9) or float(f"{value:.0e}")  # no p is 0
        rounded[name] = None if not finite else int(value) if float(value).is_integer() else small
    return rounded


def _model(model: Model) -> AnyDict:
    about = about_model(model)
    parts = [part for part in model.checked.parts if part.name != "cross"] or list(model.checked.parts)
    return {
        "name": about["name"],
        "revision": about["revision"],
        "class": type(model.module).__name__,
        "dtype": about["dtype"],
        "parameters": about["parameters"],
        "causal": about["causal"],
        "heads": list(map(int, parts[0].heads)),
        "key_heads": list(map(int, parts[0].key_heads)),
        "weights": weights(model),
        "layers": _layers(model),
        "notes": about["notes"],
        "unseen": about["unseen"] or None,
        **read_with(model),
    }


def _layers(model: Model) -> dict[str, str]:
    """A checksum of the weights of each numbered layer, and of the rest, by the name up to the number."""
    digests: AnyDict = {}
    for name, value in stored(model.module):
        numbered = re.match(r".*?\.\d+(?=\.)", f".{name}")
        part = numbered[0][1:] if numbered else "the rest"
        digest = digests.setdefault(part, hashlib.sha256())
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return {name: digest.hexdigest()[:16] for name, digest in digests.items()}
