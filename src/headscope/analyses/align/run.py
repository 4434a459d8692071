"""Words of speech in time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.align.listen import chosen_heads, description, listen, median_width
from headscope.analyses.align.statistics import entered, smoothed
from headscope.attention.one import describe
from headscope.core.audio import Audio
from headscope.core.heads import AnyHead
from headscope.core.validation import Count, Expected, validated
from headscope.errors import InputError
from headscope.models import Model
from headscope.models.perceive import expect_speech
from headscope.runs.options import COMMAND

Sound = Annotated[str | Path | np.ndarray[Any, Any], Expected("a WAV file or an array of samples")]
"""What was recorded."""

Transcript = Annotated[str | Sequence[str], Expected("a string or a list of words")]
"""What was said."""


@validated
def align(
    model: Model,
    audio: Sound,
    text: Transcript,
    *,
    sampling_rate: Count | None = None,
    heads: Sequence[AnyHead] | None = None,
) -> pd.DataFrame:
    """When each word was said: words and seconds by dynamic time warping on the cross attention of chosen heads.

    Args:
        model: Whisper, or a model of its kind.
        audio: a WAV file, or samples ``[sample]``; at most as long as the model hears at once (Whisper: 30 s).
        text: what was said. Words are told by white space, or given as a list; the text is read as it stands, so begin
            it with a space where the model writes one.
        sampling_rate: of samples. Another rate than the model's is resampled.
        heads: of the decoder's cross attention; None: the generation configuration's ``alignment_heads``, or, where it
            has none, all heads of the decoder's upper half.

    Returns:
        A row a word: ``word``, ``start`` and ``end`` in seconds, and ``mass``, the mean attention that the heads give
        to the frames between them; NaN for a word of no token. ``attrs`` say which heads were used, and why these.

    A language is chosen with ``model.tokenizer.set_prefix_tokens(language="en", task="transcribe")``.

    Raises:
        InputError: the model hears no speech, has no such head, or cannot take so much sound or text.

    >>> whisper = hs.load("whisper-tiny")
    >>> hs.align(whisper, "speech.wav", "so it was", heads=["L1H2"]).columns.tolist()
    ['word', 'start', 'end', 'mass']
    """
    sound: Audio
    if isinstance(audio, np.ndarray):
        if sampling_rate is None:
            raise InputError("sampling_rate: expected the rate of the samples, such as 16000, found none")
        sound = (audio, sampling_rate)
    elif sampling_rate is not None:
        raise InputError("sampling_rate: expected samples beside it, found a file, which has its own")
    else:
        sound = audio
    expect_speech(model)
    words = _words(text)
    used, source = chosen_heads(model, heads)
    heard = listen(model, sound, words, sorted({head.layer for head in used}))
    weights = heard.heads(used)
    entries = entered(smoothed(weights, median_width(model)).mean(0))
    rows: list[dict[str, Any]] = []
    for word, (first, after) in zip(words, heard.rows, strict=True):
        row: dict[str, Any] = {"word": word.strip(), "start": np.nan, "end": np.nan, "mass": np.nan}
        if first >= 0:
            start, end = int(entries[first]), int(entries[after])
            mass = weights[:, first:after, start:end].sum(-1, dtype=np.float64).mean()
            row |= {
                "start": round(start * heard.seconds, 6),
                "end": round(end * heard.seconds, 6),
                "mass": mass,
            }
        rows.append(row)
    times = pd.DataFrame(rows)
    times.attrs = {**describe(model), **description(used, source), "command": COMMAND.get()}
    return times


def _words(text: str | Sequence[str]) -> list[str]:
    """The words of a text; a space before the first stays with it, as pieces are made of it."""
    if not isinstance(text, str):
        return list(text)
    words = text.split()
    if not words:
        raise InputError("text: expected at least one word, found an empty text")
    return [" " + words[0] if text[0].isspace() else words[0], *words[1:]]
