"""Which heads of a model of speech align words with sound."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import xarray as xr

from headscope.analyses.align.run import RecordingMaps, description, listen, median_width
from headscope.analyses.align.statistics import by_word, dataset, entered, frames_of, smoothed
from headscope.analyses.options import Stepping, with_options
from headscope.analyses.result import returns_result
from headscope.core.arrays import Arrays, Floats, Ints
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count
from headscope.corpora import Corpus, Example
from headscope.corpora.corpus import leave_out, plain
from headscope.corpora.example import spelled_out
from headscope.corpora.given import AnnotatedCorpus
from headscope.errors import InputError
from headscope.measures.dataset import describe
from headscope.measures.dataset import description as described_by
from headscope.models import Model
from headscope.models.perceive import expect_speech
from headscope.runs.batches import no_input
from headscope.runs.long import Kind, described
from headscope.runs.options import RunOptions
from headscope.runs.steps import StepRows, Steps
from headscope.statistics.resample import Clusters

MOST = 20
"""Heads that are tried together, at most."""


def _figures(sums: StepRows, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    off, words = (sum(row[name] for row in sums.rows) for name in ("off", "words"))
    error: Any = off / words
    best, ranked = meta["options"]["best"], about["ranked"]
    chosen = ranked[: best or int(error.argmin()) + 1]
    how = f"the best {len(chosen)} of {len(ranked)} heads" + (
        "" if best else ", of which the error is smallest"
    )
    meta = {**meta, **description(chosen, how), "error": float(error[len(chosen) - 1])}
    return dataset(sums.rows, clusters=about["clusters"], kind=about["kind"], meta=meta)


KIND = Kind("align", StepRows.from_arrays, _figures)


@returns_result
@with_options()
def alignment_heads(
    model: Model,
    corpus: AnnotatedCorpus | Iterable[Example],
    *,
    best: Count | None = None,
    limit: Count | None = None,
    write: bool = False,
    **options: Unpack[Stepping],
) -> xr.Dataset:
    """Rank the heads of a model of speech by how well they align words with sound, and choose those to align with.

    A head is right about a word where the frame that the word's tokens attend to most is one in which it is heard, and
    it is in order where that frame is none before the last word's (monotonic). The heads with most right words are then
    tried together, from the first alone to the first 20: as many are chosen as
    leave the smallest error of the times that `headscope.align` gives with them.

    Args:
        model: Whisper, or a model of its kind.
        corpus: `headscope.corpora.spoken`, or examples with `audio`, `words` and `times`.
        best: choose so many heads, the best ones, instead.
        limit: use at most this many recordings.
        write: write the heads that were chosen into ``generation_config.json`` of the model's folder, as
            ``alignment_heads``, where transformers and `headscope.align` find them. What was there before is in the
            description, ``before``.

    Returns:
        See `headscope.analyses.align.statistics.dataset`; its description has ``heads``, those that were chosen, and
        ``error``, in seconds, of the times that they give together (on the recordings that they were chosen on).

    >>> whisper = hs.load("whisper-tiny")
    >>> ranked = hs.alignment_heads(whisper, hs.corpora.spoken("speech.jsonl"))
    >>> len(ranked.table())  # 2 layers × 4 heads
    8
    """
    expect_speech(model)
    through, width, clusters = RunOptions(**options), median_width(model), Clusters()
    if write and through.shard is not None:
        raise InputError("write: expected no shard, which chooses no heads, found both")
    folder = _folder(model) if write else None
    strict = not isinstance(corpus, Corpus) or corpus.strict
    read, asked = [*islice(plain(corpus), limit)], {"best": best, "limit": limit}
    with Steps(KIND, model, read, asked, through, digest=_digest) as steps:
        steps.through("recordings", "listening", partial(_listened, model, width, strict))
        kept: list[tuple[Example, Arrays]] = []
        numbers: list[int] = []
        for example, row in zip(read, steps.rows, strict=True):
            if "left_out" in row:
                leave_out(corpus, example.error(str(row["left_out"][0])))
                continue
            kept.append((example, row))
            numbers.append(clusters.number(example.document, example.document_known))
        if not kept:
            raise no_input(corpus)
        steps.items, steps.rows = zip(*kept, strict=True)
        right, errors = (np.sum([row[name] for row in steps.rows], 0) for name in ("right", "errors"))
        ranked = _ranked(right, errors, steps.rows[-1]["layers"].tolist())
        together = ranked[: best or MOST]
        steps.through(
            "together", "choosing", partial(_off_together, model, together, width), together, last=True
        )
        meta = described(model, corpus)
        meta["corpus"] |= {"examples": len(kept)}
        about = {"ranked": ranked, "clusters": numbers, "kind": clusters.kind}
        result = steps.result({**meta, "options": asked}, about)
    if folder is None:
        return result
    meta = described_by(result)
    return result.assign_attrs(describe(meta | {"before": _write(model, folder, meta["heads"])}))


def _listened(
    model: Model, width: int, strict: bool, example: Example, done: Callable[[int], None]
) -> Arrays:
    """What the heads do on one recording, by layer and head, and by chance; or why it is left out.

    Raises `CorpusError` in place of that where it is `strict`.
    """
    try:
        heard = _heard(model, example)
        spans = _spans(heard, example)
    except InputError as error:
        if strict:
            raise example.error(error) from None
        return {"left_out": np.array([str(error)])}
    most = [by_word(weights, heard.rows).argmax(-1) for weights in heard.layers.values()]
    frames = next(iter(heard.layers.values())).shape[-1]
    alone = [_off(smoothed(weights, width), heard, example) for weights in heard.layers.values()]
    done(1)
    return {
        "right": np.stack([_right(peaks, spans) for peaks in most]),
        "ordered": np.stack([(np.diff(peaks) >= 0).sum(-1) for peaks in most]).astype(np.float64),
        "errors": np.stack(alone),
        "words": np.array(len(spans)),
        "chance": np.array(float(np.diff(spans, axis=1).sum()) / frames),
        "order": np.array((len(spans) - 1) * (frames + 1) / (2 * frames)),
        "layers": np.array(list(heard.layers)),
    }


def _digest(example: Example) -> str:
    """Tell this recording from others."""
    return hashlib.sha256(b"".join(spelled_out(example))).hexdigest()


def _heard(model: Model, example: Example) -> RecordingMaps:
    if example.audio is None or example.words is None or example.times is None:
        raise InputError("expected audio, words and their times, found none")
    if len(example.times) != len(example.words):
        raise InputError(
            f"times: expected one for each of {plural(len(example.words), 'word')}, found {len(example.times)}"
        )
    heard = listen(model, example.audio, example.words)
    if (heard.rows < 0).any():
        word = int((heard.rows[:, 0] < 0).argmax())
        raise InputError(f"words[{word}]: expected at least one token, found none in {example.words[word]!r}")
    return heard


def _spans(heard: RecordingMaps, example: Example) -> Ints:
    """The frames of each word. Raises `InputError` for a word that is not in the sound."""
    frames = next(iter(heard.layers.values())).shape[-1]
    spans = frames_of(example.times or (), heard.seconds)
    late = np.flatnonzero(spans[:, 0] >= frames)
    if len(late):
        begin = (example.times or ())[int(late[0])][0]
        raise InputError(
            f"times[{late[0]}]: expected a word that begins within the {frames * heard.seconds:.2f} s of sound, "
            f"found one at {begin:g} s"
        )
    return np.minimum(spans, frames)


def _right(most: Ints, spans: Ints) -> Floats:
    """How many words each head looks at most where they are heard, ``[head word] -> [head]``."""
    return ((most >= spans[:, 0]) & (most < spans[:, 1])).sum(-1).astype(np.float64)


def _off(scores: Floats, heard: RecordingMaps, example: Example) -> Floats:
    """How far the times by these scores are off, summed over words, in seconds, ``[... token frame] -> [...]``.

    Of a word it is the mean of its beginning's and its end's error.
    """
    times = entered(scores)[..., heard.rows] * heard.seconds  # [... word 2]
    return np.abs(times - np.array(example.times)).mean(-1).sum(-1)


def _ranked(right: Floats, errors: Floats, layers: Sequence[int]) -> list[Head]:
    """All heads, those with most right words first; of equal ones the one with the smallest error."""
    order = np.lexsort((errors.ravel(), -right.ravel()))
    return [Head(layers[int(place) // right.shape[1]], int(place) % right.shape[1]) for place in order]


def _off_together(
    model: Model, heads: Sequence[Head], width: int, example: Example, done: Callable[[int], None]
) -> Arrays:
    """How far the times are off that the first heads give together, by how many they are."""
    assert example.audio is not None
    assert example.words is not None
    heard = listen(model, example.audio, example.words, sorted({head.layer for head in heads}))
    means = np.cumsum(smoothed(heard.heads(heads), width), 0) / np.arange(1, len(heads) + 1)[:, None, None]
    done(1)
    return {"off": _off(means, heard, example)}


def _folder(model: Model) -> Path:
    """The folder that a model was loaded from. Raises `InputError` for one that was not."""
    where = Path(str(getattr(model.config, "_name_or_path", "") or ""))
    if not str(getattr(model.config, "_name_or_path", "")) or not where.is_dir():
        raise InputError(
            f"write: expected a model that was loaded from a folder, found {model.name}; save it with "
            "model.module.save_pretrained(FOLDER) and load that"
        )
    if not hasattr(model.module, "generation_config"):
        raise InputError(f"write: expected a model with a generation configuration, found {model.name}")
    return where


def _write(model: Model, folder: Path, heads: Sequence[Sequence[int]]) -> list[list[int]] | None:
    """Set a model's alignment heads, here and in its folder; returns those that were there before."""
    config: Any = model.module.generation_config
    before: Any = getattr(config, "alignment_heads", None)
    config.alignment_heads = [list(head) for head in heads]
    config._from_model_config = False  # of a file that says it is, transformers reads no alignment heads
    config.save_pretrained(folder)
    return before
