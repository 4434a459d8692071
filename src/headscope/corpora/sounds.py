"""Sounds as a corpus, and long ones as several inputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from headscope.core.audio import Samples, decoded, need
from headscope.core.tokens import Sound
from headscope.core.validation import Count, validated
from headscope.corpora.corpus import Corpus
from headscope.corpora.files import data_folder
from headscope.corpora.media import By, Columns, Modality, corpus_of, packaged
from headscope.errors import HeadscopeWarning, InputError

SUFFIXES = (".aif", ".aiff", ".au", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".wav", ".wave")
"""Suffixes of files in a folder that are taken for sounds."""


@validated
def sounds(
    source: Any,
    *,
    text: str | None = None,
    documents: By = "file",
    limit: Count | None = None,
    column: str = "audio",
    text_column: str = "text",
    strict: bool = False,
) -> Corpus:
    """Sounds, each an input and a document of its own. Files are opened one at a time.

    Args:
        source: a folder, whose sounds are told by their suffix and read in the order of their names, then those of its
            folders; a sound's label is then the folder below `source` that it lies in. Or a path, or a list of paths;
            ``(samples, rate)``, or a list of these; a file of JSON lines, or rows such as those of a data set of
            Hugging Face's ``datasets``. A row has an ``audio`` (a path, from the folder of the JSON lines on; in Python
            also samples, the bytes of a file, ``{"bytes": …, "path": …}`` or ``{"array": …, "sampling_rate": …}``), and
            may have a ``text``, or ``words`` and their ``times`` (``[begin, end]`` each, in seconds), a ``label``, and
            a ``document``: rows that follow one another with the same are one.
        text: what goes with each sound that has no text.
        documents: what is one where a row does not say: each ``file``, or the files of one ``folder``.
        limit: at most so many sounds, the first ones.
        column, text_column: other names of the columns of sounds and texts.
        strict: refuse sounds that are broken; else they are left out and listed (`Corpus`).

    Raises `InputError` for what is nothing of that, and for a folder without sounds; and where what reads them is not
    installed: scipy for WAV files, soundfile (the extra ``sounds``) for others.

    >>> corpus = hs.corpora.sounds([(np.zeros(8_000), 16_000), "speech.wav"])
    >>> [example.source for example in corpus]
    ['sounds[0]', 'sounds[1]']
    """
    return corpus_of(source, _SOUNDS, Columns(column, text_column, text, documents), limit, strict)


@validated
def builtin_sounds() -> Corpus:
    """The sounds that ship in the package: four of three seconds, made for it, with their parts and the times of these.

    They are syllables, tones in a rhythm, bursts of noise, and a melody.

    >>> [(example.source, *example.words[1:3]) for example in hs.corpora.builtin_sounds()][:2]
    [('syllables.wav', 'si', 'lo'), ('tones.wav', 'tone', 'pause')]
    """
    return packaged(sounds(data_folder("sounds") / "sounds.jsonl"), "built-in sounds")


def _is_one(value: object) -> bool:
    """Whether something is a sound itself."""
    if isinstance(value, Mapping):
        return "array" in value or "bytes" in value
    if isinstance(value, tuple):
        pair = cast("tuple[Any, ...]", value)
        return len(pair) == 2 and isinstance(pair[1], int)
    return isinstance(value, Sound | bytes) or hasattr(value, "get_all_samples")


def _need(value: Any) -> None:
    if isinstance(value, Path | bytes):
        need(value)


def _read(value: Any, name: str) -> Samples:
    """A file as it is, when it has been listened to; anything else as samples and their rate."""
    if isinstance(value, Sound):
        return decoded((value.samples, value.rate))
    pair = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()
    if len(pair) == 2:
        samples, rate = pair
        if not isinstance(rate, int):
            raise InputError(f"expected a sampling rate, a whole number, found {rate!r}")
        return decoded((np.asarray(samples), rate))
    if isinstance(value, bytes):
        return decoded(value)
    if not isinstance(value, Path):
        raise InputError(
            f"expected a path, or samples and their rate, found {type(cast(object, value)).__name__}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadscopeWarning)  # it is said when a model hears the file
        decoded(value)
    return value


_SOUNDS = Modality("sounds", "sound", "audio", SUFFIXES, _is_one, _need, _read)
