"""`headscope align`: when each word of a recording was said, or which heads tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headscope.analyses.record import Analysis
from headscope.analyses.shown import ShownResult, of_result
from headscope.core.heads import Head
from headscope.core.saving import TABLES
from headscope.errors import InputError


def checks(*, output: Path | None = None, choose: Any = None, **given: Any) -> None:
    """Raise `InputError` for options that do not go together."""
    from headscope.measures.dataset import check_suffix

    other = ("best", "write", "limit", "resume") if choose is None else ("audio", "text", "heads")
    for name in other:
        if given.get(name):
            with_it = "no --choose" if choose is not None else "--choose FILE"
            option = "AUDIO" if name == "audio" else f"--{name}"
            raise InputError(f"{option}: expected {with_it} beside it, found {'one' if choose else 'none'}")
    if choose is not None:
        return
    if output is not None:
        check_suffix(output, TABLES)
    if given.get("audio") is None:
        raise InputError("AUDIO: expected a WAV file, or --choose FILE, found none")
    if given.get("text") is None:
        raise InputError("--text: expected what was said, found none")


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
        audio: a WAV file.
        text: what was said in it.
        heads: heads to align with; by default the generation config's.
        language: the language that a multilingual model is told.
        choose: rank the heads instead, on JSON lines: {"audio": "a.wav", "words": [...], "times": [[0, 0.4], ...]}.
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
    return alignment_heads(model, corpora.spoken(choose, strict=strict), **options)


def shown(result: Any, *, analysis: Analysis, choose: Any = None, write: bool = False) -> ShownResult:
    """When each word was said, or the heads that were chosen."""
    from headscope.measures.dataset import description
    from headscope.views.blocks import rows_of

    if choose is None:
        used = f"heads: {_named(result.attrs['heads'])} ({result.attrs['chosen_by']})"
        return ShownResult(result, rows_of(result, of="align", most=len(result)), remarks=[used])
    shown = of_result(result, analysis=analysis)
    about = description(result)
    used = _named(about["heads"])
    remarks = [f"chosen: {used} ({about['chosen_by']}), off by {about['error']:.3f} s together"]
    if write:
        before = _named(about["before"]) if about["before"] else "none"
        where = about["model"]["name"]
        remarks.append(f"{where}: alignment_heads of the generation config: {used}; before: {before}")
    return replace(shown, remarks=[*shown.remarks, *remarks])


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


def _named(heads: list[list[int]]) -> str:
    return ", ".join(str(Head(layer, head)) for layer, head in heads)
