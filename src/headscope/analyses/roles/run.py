"""What each head of a model does, from a corpus and from repeated random tokens.

Inputs made of random tokens that come twice, on which induction and duplicate-token heads show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import torch
import xarray as xr

from headscope.analyses.artefacts.run import artefacts
from headscope.analyses.artefacts.statistics import TO_ARTEFACT, to_artefacts
from headscope.analyses.measure.run import measure
from headscope.analyses.options import Resumed, with_options
from headscope.analyses.roles import definitions, statistics
from headscope.analyses.roles.copying import copying, suppression
from headscope.analyses.roles.offsets import Look, look, offset_scores
from headscope.analyses.roles.retrieval.run import retrieval
from headscope.attention.record import AttentionRecord
from headscope.core.arrays import Floats, Ints
from headscope.core.tokens import Kind, Tokens
from headscope.core.validation import Level, Seed
from headscope.corpora import Corpus, Example
from headscope.errors import InputError, RefusedError
from headscope.measures.choose import choose
from headscope.measures.dataset import dataset, description, staying
from headscope.measures.measure import Measure
from headscope.measures.patterns import SINK_TOKENS
from headscope.models import Model
from headscope.models.perceive import expect_ids
from headscope.models.pieces import classes, shown_pieces, special_tokens
from headscope.runs.engines import engine_of
from headscope.runs.estimate import unwatched
from headscope.runs.options import RunOptions
from headscope.runs.rare import with_rarest

MOST = 50
"""How many random tokens are repeated, where model and vocabulary allow it."""


def repeated_tokens(
    model: Model, *, tokens: int | None = None, sequences: int = 64, seed: int = 0
) -> list[Example]:
    """Random tokens, and the same again, each sequence a document: ``<s> a b c a b c``.

    Source: Elhage et al. 2021; Olsson et al. 2022. Nothing but the first copy tells what comes next in the second, so
    what a head does there it does by matching tokens. Within a copy all tokens differ. Special tokens stand where the
    tokenizer puts them around a text (``<s>`` in Llama, ``[CLS]`` and ``[SEP]`` in BERT, none in GPT-2); they, the
    unknown token and pieces such as ``[unused7]`` are never drawn. A model without a tokenizer gets ids of its
    vocabulary alone.

    Args:
        model: from `headscope.load`.
        tokens: how many are repeated; by default from 25 to 50, another number in each sequence, or as fit: where all
            copies are as far apart, a head that looks so far back would pass for one that matches tokens.
        sequences: how many sequences.
        seed: of the draw.

    Raises `InputError` where that does not fit the model, and for models of pixels or frames.
    """
    if sequences < 1:
        raise InputError(f"sequences: expected at least 1, found {sequences}")
    vocabulary = _vocabulary(model)
    before, after = _around(model)
    room = len(vocabulary)
    if model.max_length is not None:
        room = min(room, (model.max_length - len(before) - len(after)) // 2)
    size = min(MOST, room) if tokens is None else tokens
    if not 2 <= size <= room:
        raise InputError(f"tokens: expected 2 to {room} to repeat in an input of {model.name}, found {size}")
    draw = np.random.default_rng(seed)
    examples: list[Example] = []
    for number in range(sequences):
        count = size if tokens is not None else int(draw.integers(max(2, size // 2), size + 1))
        ids = draw.choice(vocabulary, count, replace=False)
        axis = _tokens(model, np.concatenate([before, ids, ids, after]), len(before), len(after))
        examples.append(Example(tokens=axis, document=number, source=f"repeated tokens, sequence {number}"))
    return examples


def _vocabulary(model: Model) -> Ints:
    """Ids to draw from."""
    expect_ids(model)
    size: Any = getattr(model.text_config, "vocab_size", None)
    if model.tokenizer is None:
        if not isinstance(size, int):
            raise InputError(
                f"{model.name}: expected a model of tokens, found no vocabulary and no tokenizer"
            )
        names = ("bos", "eos", "pad", "unk", "decoder_start", "mask", "sep", "cls")
        hidden = {getattr(model.text_config, f"{name}_token_id", None) for name in names}
        return np.array([number for number in range(size) if number not in hidden], np.int64)
    tokenizer = model.tokenizer
    size = min(len(tokenizer), size) if isinstance(size, int) else len(tokenizer)
    hidden = {*special_tokens(tokenizer).ids, tokenizer.unk_token_id}
    pieces: list[Any] = tokenizer.convert_ids_to_tokens(range(size))
    unused = ("[unused", "<unused", "<extra_id")
    kept = [
        number
        for number, piece in enumerate(pieces)
        if number not in hidden and piece and not str(piece).startswith(unused)
    ]
    return np.array(kept, np.int64)


def _around(model: Model) -> tuple[Ints, Ints]:
    """The special tokens that the tokenizer puts before and after a text."""
    if model.tokenizer is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    tokens = model.encode(model.sample())
    assert tokens.ids is not None
    text = np.flatnonzero(~tokens.mask("special"))
    return tokens.ids[: text[0]], tokens.ids[text[-1] + 1 :]


def _tokens(model: Model, ids: Ints, before: int, after: int) -> Tokens:
    special = np.ones(len(ids), np.bool_)
    special[before : len(ids) - after] = False
    sequence = np.where(special, -1, 0)
    if model.tokenizer is None:
        return Tokens([str(number) for number in ids], ids, special_mask=special, sequence_ids=sequence)
    pieces = shown_pieces(model.tokenizer, ids.tolist())
    types = np.zeros(len(ids), np.int64) if model.encode(model.sample()).type_ids is not None else None
    return Tokens(
        pieces,
        ids,
        type_ids=types,
        special_mask=special,
        sequence_ids=sequence,
        classes=classes(model.tokenizer, ids.tolist(), [False] * len(ids)),
    )


OFF = "_off"
"""What stands behind the name of a measure that was taken off the sink."""


def off_sink(record: AttentionRecord) -> AttentionRecord:
    """The same call with the first key hidden from all queries but the first."""
    _, _, queries, keys = record.shape
    seen = torch.ones(queries, keys, dtype=torch.bool, device=record.q.device)
    seen[1:, 0] = False
    return replace(record.seeing(seen), sinks=None)


def look_off(model: Model, measures: Sequence[str], of_tokens: Sequence[str]) -> Look:
    """What looks at a causal model off the sink: `measures`, and of those `of_tokens` what own offsets score there."""
    return Look(
        model, [name for name in measures if name in of_tokens], change=off_sink, measures=choose(measures)
    )


def measured_off(model: Model, measures: Sequence[str], seen: Look) -> xr.Dataset:
    """What was seen off the sink, as `headscope.measure` gives it, each measure named with `OFF`."""
    measured = dataset(seen.sums(), choose(measures), causal=model.causal)
    scores = {name: score for name, score in seen.scores().items() if name in measured}
    measured = measured.assign(
        {f"{name}_offsets": (("layer", "head"), score) for name, score in scores.items()}
    )
    of = {
        str(name): next(measure for measure in measures if _part_of(str(name), measure))
        for name in measured.data_vars
    }
    return measured.rename({name: f"{of[name]}{OFF}{name.removeprefix(of[name])}" for name in of})


def _part_of(variable: str, measure: str) -> bool:
    rest = variable.removeprefix(measure)
    return rest == "" or (
        rest != variable and rest in ("_se", "_n", "_chance", "_documents", "_skewness", "_offsets")
    )


_MEASURES = tuple(role.measure for role in definitions.roles_on("text") if not role.causal)
SEQUENCES = 64
"""How many sequences of repeated random tokens are made."""

NEEDLES, NEEDLE_TEXT = 16, 256
"""How many needles are hidden, and in texts of about how many tokens."""

READINGS = ("corpus", "long", "repeated")
"""What is measured, in the order of `readings`, as folders of checkpoints call it."""

_WINDOW = (
    2 * SINK_TOKENS
)  # lines are packed into so many tokens to look for sinks: most inputs then have SINK_TOKENS


@with_options()
def roles(
    model: Model, corpus: Corpus, *, level: Level = 0.05, seed: Seed = 0, **options: Unpack[Resumed]
) -> pd.DataFrame:
    """The roles of every head, with scores, confidence intervals, thresholds and q.

    The corpus is read three times: for the frequencies of tokens, to be measured, and for what the heads' own offsets
    score. For a causal model it is read again,
    in inputs of up to 256 tokens where lines are packed, to look for sinks (inputs of at least 128 tokens), and
    induction and duplicate-token heads are told from 64 sequences of repeated random tokens. An induction head looks at
    what followed the token before (prefix matching) and raises its logit (copying, from 16 of the sequences); one that
    lowers it is named anti-induction, and one that does neither, or in a model whose layers do not add to one residual
    stream, prefix matching. Retrieval heads are told from needles (`headscope.retrieval`), copy suppression from 12
    texts of the corpus, in such models (`headscope.analyses.roles.copying`). Where heads have a sink, the same
    passes tell what these heads do off it: roles whose name ends so are of the attention with the first token taken
    out, put to sum to 1 again.

    On pictures and sounds heads have other roles (docs/measures.md); pictures are read three times, as artefacts are
    told first.

    Args:
        model: from `headscope.load`.
        corpus: of at least five documents.
        level: the expected share of wrong roles among those named.
        seed: of the random tokens that show induction heads.
        engine: as in `headscope.measure`: where the corpus is measured; what is told from 500 inputs or fewer, from
            needles or repeated tokens is done here.
        resume: as in `headscope.measure`: a folder, with one in it for each reading that is measured, and for needles.

    Returns:
        One row a role, with `headscope.analyses.roles.statistics.COLUMNS`, and one row with the nearest role of each
        head that has none; ``attrs["meta"]`` says what made it (under
        ``sinks`` the share of heads, of all and by layer, whose first token is a sink), ``attrs["roles"]`` where
        thresholds come from, and ``attrs["untested"]`` which roles were not tested, and why.

    >>> table = hs.roles(model, hs.corpora.builtin(), limit=12)
    >>> table[(table["layer"] == 0) & (table["head"] == 2)]["role"].tolist()
    ['previous token']
    """
    every = every_role(model, corpus, seed=seed, **options)
    table = statistics.named(every, level)
    details = {"level": level, "tests": len(every), "not_found": table.attrs["not_found"]}
    table.attrs["meta"] = every.attrs["meta"] | details
    return table


def every_role(
    model: Model,
    corpus: Corpus,
    *,
    seed: int = 0,
    measured: Callable[..., xr.Dataset] = measure,
    retrieved: Callable[[], xr.Dataset] | None = None,
    **options: Unpack[Resumed],
) -> pd.DataFrame:
    """Every head against every role, a row each, whether it has it or not; the rest as in `roles`.

    `measured` is called as `headscope.measure` is. `retrieved` gives what is known of retrieval; by default that is
    measured.
    """
    through = RunOptions(**options)
    with engine_of(through.engine) as workers:  # for all readings
        return _every_role(model, corpus, seed, replace(through, engine=workers), measured, retrieved)


def _every_role(
    model: Model,
    corpus: Corpus,
    seed: int,
    through: RunOptions,
    measured: Callable[..., xr.Dataset],
    retrieved: Callable[[], xr.Dataset] | None,
) -> pd.DataFrame:
    def kept(name: str) -> Path | None:
        return None if through.resume is None else Path(through.resume) / name

    if corpus.kind != "text":
        one = replace(through, resume=kept("inputs"))
        figures = measured(model, corpus, measures=_staying(seen_measures(corpus.kind)), **vars(one))
        find_artefacts = partial(artefacts, model, corpus, batch_size=through.batch_size, limit=through.limit)
        return seen_roles(figures, find_artefacts)
    datasets: list[xr.Dataset] = []
    read: list[tuple[Corpus | list[Example], Sequence[str]]] = []
    copies: xr.Dataset | str | None = None
    for place, (inputs, measures) in enumerate(readings(model, corpus, limit=through.limit, seed=seed)):
        inputs = inputs if isinstance(inputs, Corpus) else list(inputs)
        one = replace(through, resume=kept(READINGS[place]), progress=through.progress and not place)
        with unwatched():  # unknown pieces of the corpus are told where tokens are counted
            datasets.append(measured(model, inputs, measures=_staying(measures), **vars(one)))
        read.append((inputs, measures))
        if "induction" in measures and isinstance(inputs, list):
            copies = copying(model, inputs)
    sinks = model.causal and "sink" in datasets[1] and statistics.sinks(datasets[1]).attrs["all"] > 0
    for place, (inputs, measures) in enumerate(read):
        of_tokens = [name for name in definitions.offset_measures() if name in datasets[place]]
        looks = [Look(model, of_tokens)]
        if names := definitions.off_measures(measures) if sinks else []:
            looks.append(look_off(model, names, definitions.offset_measures()))
        with unwatched():
            look(model, inputs, looks, through)
        datasets[place] = _assigned(datasets[place], looks[0].scores())
        datasets += [measured_off(model, names, off) for off in looks[1:]]
    lowered = suppression(model, corpus.encoded(model)) if model.causal else ""
    datasets += [scores for scores in (copies, lowered) if isinstance(scores, xr.Dataset)]
    find = retrieved or partial(needles, model, seed, resume=kept("needles"))
    needled = _retrieved(find) if model.causal else ""
    if isinstance(needled, xr.Dataset):
        hits = needled["hits"].values
        stay = staying(hits, needled["answered"].values[:, None, None] + 0 * hits)
        datasets.append(needled.assign(retrieval_stays=stay))
    table = statistics.every(*datasets)
    for role in definitions.ROLES:
        if role.name in table.attrs["untested"]:
            if role.also is not None and isinstance(copies, str):
                table.attrs["untested"][role.name] = copies
            for name, why in (("retrieval", needled), ("copy suppression", lowered)):
                if role.name == name and model.causal and isinstance(why, str):
                    table.attrs["untested"][name] = why
    meta = description(datasets[0])
    meta["corpus"]["name"] = corpus.name
    if model.causal:
        if "sink" in datasets[1]:
            share = statistics.sinks(datasets[1])
            meta["sinks"] = {"all": share.attrs["all"], "by_layer": share.values.tolist()}
        meta["repeated_tokens"] = {"sequences": SEQUENCES, "seed": seed}
    table.attrs["meta"] = meta | {"untested": table.attrs["untested"]}
    return table


def _staying(names: Sequence[str]) -> list[Measure]:
    """Measures of which is told how far their lists hold."""
    return [replace(one, stays=True) for one in choose(names)]


def seen_measures(kind: Kind) -> list[str]:
    """What roles on pictures or sounds are told by, but for artefacts."""
    return [role.measure for role in definitions.roles_on(kind) if role.measure != TO_ARTEFACT]


def seen_roles(figures: xr.Dataset, find: Callable[[], xr.Dataset]) -> pd.DataFrame:
    """Every head against every role on pictures or sounds.

    Args:
        figures: of these measures.
        find: gives what heads give to artefacts (`headscope.artefacts`), where the figures are of pictures.
    """
    datasets, why = [figures], ""
    if statistics.kind_of(figures) == "images":
        try:
            result = find()
        except (InputError, RefusedError) as error:
            why = str(error)
        else:
            datasets.append(to_artefacts(result))
            why = "" if result["artefacts"] > 0 else "no patch has a norm far above the rest"
    table = statistics.every(*datasets)
    if why:
        table.attrs["untested"]["artefacts"] = why
    table.attrs["meta"] = description(figures) | {"untested": table.attrs["untested"]}
    return table


def needles(model: Model, seed: int = 0, k: int = 0, resume: Path | None = None) -> xr.Dataset:
    """What is known of a causal model's retrieval from `NEEDLES` needles, and without its top `k` heads."""
    length = min(NEEDLE_TEXT, model.max_length or NEEDLE_TEXT)
    return retrieval(model, needles=NEEDLES, lengths=(length,), k=k, written=False, seed=seed, resume=resume)


def _retrieved(find: Callable[[], xr.Dataset]) -> xr.Dataset | str:
    """Scores, or why there are none."""
    try:
        result = find()
    except (InputError, RefusedError) as error:
        return str(error)
    if not int(result["produced"]):
        return "the model produced no token of an answer to a needle"
    return result


def with_offsets(
    datasets: Sequence[xr.Dataset], model: Model, inputs: Corpus | Iterable[Example]
) -> list[xr.Dataset]:
    """Datasets of the same inputs with what the heads' own offsets score, ``m_offsets``, where a role names tokens."""
    names = [name for name in definitions.offset_measures() if any(name in dataset for dataset in datasets)]
    scores = offset_scores(model, inputs, names) if names else {}
    return [_assigned(dataset, scores) for dataset in datasets]


def _assigned(dataset: xr.Dataset, scores: Mapping[str, Floats]) -> xr.Dataset:
    """A dataset with the scores of own offsets beside the measures that it has."""
    return dataset.assign(
        {f"{name}_offsets": (("layer", "head"), score) for name, score in scores.items() if name in dataset}
    )


def readings(
    model: Model, corpus: Corpus, *, limit: int | None = None, seed: int = 0
) -> Iterator[tuple[Corpus | Iterable[Example], Sequence[str]]]:
    """The inputs on which roles are told, and what is measured on each: the corpus, and more for a causal model."""
    if corpus.kind != "text":
        yield corpus, seen_measures(corpus.kind)
        return
    yield with_rarest(model, corpus, limit=limit), _MEASURES
    if model.causal:
        yield _long(model, corpus), ("sink", "first")
        yield repeated_tokens(model, sequences=SEQUENCES, seed=seed), ("induction", "duplicate")


def _long(model: Model, corpus: Corpus) -> Corpus:
    """The corpus in inputs that are long enough for sinks, where lines are packed."""
    long = copy(corpus)
    if corpus.pack is not None:
        long.pack = max(corpus.pack, min(_WINDOW, model.max_length or _WINDOW))
    return long
