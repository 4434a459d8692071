"""`headscope align`: when each word of a recording was said, or which heads tell it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headscope.core.saving import TABLES
from headscope.errors import InputError


def checks(
    *, audio: Path | None = None, text: str | None = None, output: Path | None = None, choose: Any = None
) -> None:
    """Raise `InputError` where there is no sound, and for a file that times are not written to."""
    from headscope.measures.dataset import check_suffix

    if choose is None and audio is None:
        raise InputError("AUDIO: expected a WAV file, or --choose FILE, found none")
    if choose is None and text is None:
        raise InputError("AUDIO: expected --text with it, found none")
    if choose is None and output is not None:
        check_suffix(output, TABLES)


def run(
    model: Any,
    audio: Path | None = None,
    *,
    text: str | None = None,
    heads: Sequence[str] | None = None,
    language: str | None = None,
    choose: Sequence[Path] | None = None,
    strict: bool = False,
    **options: Any,
) -> Any:
    """When each word was said, or the heads that tell it.

    Args:
        model: from `headscope.load`.
        audio: a WAV file; with --choose the folder of the sounds.
        text: what was said in it.
        heads: heads to align with; by default the generation config's.
        language: the language that a multilingual model is told.
        choose: rank the heads instead, on JSON lines: {"audio": "a.wav", "words": [...], "times": [[0, 0.4], ...]}; or
            on a TextGrid, CTM or TIMIT's words, whose sound is called the same.
        strict: refuse what is broken.
        best: with --choose: so many heads; else as many as err least together.
        write: with --choose: write them into the model's generation_config.json.
        limit: with --choose: stop after this many recordings.
        **options: of the heads that are ranked.
    """
    from headscope import corpora
    from headscope.analyses.align.heads import alignment_heads
    from headscope.analyses.align.run import align

    model = _in_language(model, language)
    if choose is None:
        assert audio is not None
        assert text is not None
        return align(model, audio, text, heads=heads)
    return alignment_heads(model, corpora.spoken(choose, audio=audio, strict=strict), **options)


def _in_language(model: Any, language: str | None) -> Any:
    """A model whose tokenizer begins a text with this language."""
    if language is not None:
        tell: Any = getattr(model.tokenizer, "set_prefix_tokens", None)
        if tell is None:
            raise InputError(
                f"--language: expected a tokenizer of Whisper, found {type(model.tokenizer).__name__}"
            )
        try:
            tell(language=language, task="transcribe")
        except ValueError as error:
            raise InputError(f"--language: {error}") from None
    return model
