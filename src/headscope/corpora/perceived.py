"""The corpora that ship in the package, by what they are of.

Pictures and sounds as corpora.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from headscope.core.audio import Samples, decoded, need
from headscope.core.kinds import is_tuple
from headscope.core.lazy import module
from headscope.core.media import Picture, Sound
from headscope.core.pictures import expect_picture, picture_of
from headscope.core.tokens import Kind
from headscope.core.validation import Count, validated
from headscope.corpora.corpus import Corpus
from headscope.corpora.files import data_folder
from headscope.corpora.media import By, Columns, Modality, corpus_of, packaged
from headscope.corpora.readers import builtin
from headscope.errors import HeadscopeWarning, InputError

SUFFIXES = (
    ".avif",
    ".bmp",
    ".gif",
    ".jfif",
    ".jpe",
    ".jpeg",
    ".jpg",
    ".pbm",
    ".pgm",
    ".png",
    ".pnm",
    ".ppm",
    ".tif",
    ".tiff",
    ".webp",
)
"""Suffixes of files in a folder that are taken for pictures."""


@validated
def images(
    source: Any,
    *,
    text: str | None = None,
    documents: By = "file",
    limit: Count | None = None,
    column: str = "image",
    text_column: str = "text",
    strict: bool = False,
) -> Corpus:
    """Pictures, each an input and a document of its own. Files are opened one at a time.

    Args:
        source: a folder, whose pictures are told by their suffix and read in the order of their names, then those of
            its folders; a picture's label is then the folder below `source` that it lies in. Or a path, or a list of
            paths; pictures as `headscope.capture` takes them (Pillow images, arrays); a file of JSON lines, or rows
            such as those of a data set of Hugging Face's ``datasets``. A row has an ``image`` (a path, from the folder
            of the JSON lines on; in Python also a picture, the bytes of a file, or ``{"bytes": …, "path": …}``), or
            ``images``, a list of them, or a ``video`` (as in `headscope.capture`), and may have a ``text`` or
            ``words``, a ``label``, ``links`` (as in `headscope.corpora.links`), and a ``document``: rows that follow
            one another with the same are one.
        text: what goes with each picture that has no text, for models that read both.
        documents: what is one where a row does not say: each ``file``, or the files of one ``folder``.
        limit: at most so many pictures, the first ones.
        column, text_column: other names of the columns of pictures and texts.
        strict: refuse pictures that are broken; else they are left out and listed (`Corpus`).

    Raises `InputError` for what is nothing of that, and for a folder without pictures; and where Pillow, the extra
    ``pictures``, is not installed.

    >>> corpus = hs.corpora.images("photos")
    >>> [(example.image.name, example.label) for example in corpus]
    [('table.png', None), ('red.png', 'apples')]
    """
    return corpus_of(source, _IMAGES, Columns(column, text_column, text, documents), limit, strict)


@validated
def builtin_images() -> Corpus:
    """The pictures that ship in the package: twelve, drawn for it, each with a sentence that says what it shows.

    Their links are from the words of a sentence to the regions of the picture that they name.

    >>> first = next(iter(hs.corpora.builtin_images()))
    >>> first.image.name, first.text
    ('park.png', 'A man in a red sweater walks his dog past a tree.')
    """
    return packaged(images(data_folder("pictures") / "pictures.jsonl"), "built-in pictures")


def _is_one(value: object) -> bool:
    """Whether something is a picture itself."""
    if isinstance(value, Mapping):
        return "bytes" in value
    if isinstance(value, np.ndarray):
        return cast("np.ndarray[Any, Any]", value).ndim != 4
    return isinstance(value, Picture | bytes) or hasattr(value, "getexif")


def _read(value: Any, name: str) -> Path | Picture:
    """A file as it is, when it has been looked at; anything else as a picture."""
    if isinstance(value, Path):
        expect_picture(value)
        return value
    picture = picture_of(value)
    return replace(picture, name=name) if name else picture


_IMAGES = Modality("images", "picture", "image", SUFFIXES, _is_one, lambda _: module("PIL.Image"), _read)


SOUND_SUFFIXES = (".aif", ".aiff", ".au", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".wav", ".wave")
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


def _is_sound(value: object) -> bool:
    """Whether something is a sound itself."""
    if isinstance(value, Mapping):
        return "array" in value or "bytes" in value
    if is_tuple(value):
        return len(value) == 2 and isinstance(value[1], int)
    return isinstance(value, Sound | bytes) or hasattr(value, "get_all_samples")


def _heard(value: Any, name: str) -> Samples:
    """A file as it is, when it has been listened to; anything else as samples and their rate."""
    if isinstance(value, Sound):
        return decoded((value.samples, value.rate))
    if is_tuple(value) and len(value) == 2:
        samples, rate = value
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


_SOUNDS = Modality("sounds", "sound", "audio", SOUND_SUFFIXES, _is_sound, need, _heard)


def shipped(kind: Kind) -> Corpus:
    """The built-in corpus of texts, pictures or sounds."""
    return {"text": builtin, "images": builtin_images, "sounds": builtin_sounds}[kind]()
