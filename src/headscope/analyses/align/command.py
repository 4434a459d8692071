"""`headscope align`: when each word of a recording was said, and which heads tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.console import options as console
from headscope.core.heads import Head
from headscope.errors import InputError


def align(
    model: console.ModelOptions,
    table: console.TableOptions,
    audio: Annotated[
        Path | None,
        typer.Argument(metavar="AUDIO", help="A WAV file, of at most what the model hears at once."),
    ] = None,
    text: Annotated[str | None, typer.Option(help="What was said in it.")] = None,
    heads: Annotated[
        str | None,
        typer.Option(metavar="L1H2,…", help="Heads to align with; by default the generation config's."),
    ] = None,
    language: Annotated[
        str | None, typer.Option(metavar="en", help="The language that a multilingual model is told.")
    ] = None,
    choose: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help='Rank the heads instead, on JSON lines: {"audio": "a.wav", "words": [...], "times": [[0, 0.4], ...]}.',
        ),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option(min=1, help="With --choose: so many heads; else as many as err least together."),
    ] = None,
    write: Annotated[
        bool,
        typer.Option("--write", help="With --choose: write them into the model's generation_config.json."),
    ] = False,
    limit: Annotated[int | None, typer.Option(help="With --choose: stop after this many recordings.")] = None,
    strict: console.Strict = False,
    resume: console.Resume = None,
) -> None:
    """When each word of a recording was said, by the cross attention of Whisper; --choose finds the heads for it."""
    table.check(console.TABLES if choose is None else ())
    beside = {"--best": best, "--write": write or None, "--limit": limit, "--resume": resume}
    if choose is not None:
        beside = {"AUDIO": audio, "--text": text, "--heads": heads}
    if given := [option for option, value in beside.items() if value is not None]:
        with_it = "no --choose" if choose is not None else "--choose FILE"
        raise InputError(f"{given[0]}: expected {with_it} beside it, found {'one' if choose else 'none'}")
    if choose is None:
        _times(model, table, audio, text, heads, language)
        return
    from headscope import corpora
    from headscope.analyses.align import statistics
    from headscope.analyses.align.heads import alignment_heads

    speech = corpora.spoken(choose, strict=strict)
    loaded = _told(model.load(), language)
    options: dict[str, Any] = {"best": best, "limit": limit, "write": write, "resume": resume}
    dataset = alignment_heads(loaded, speech, **options, progress=True)
    rows = statistics.table(dataset)
    about: dict[str, Any] = json.loads(dataset.attrs["meta"])
    named = _named(about["heads"])
    console.say(f"chosen: {named} ({about['chosen_by']}), off by {about['error']:.3f} s together")
    if write:
        before = _named(about["before"]) if about["before"] else "none"
        console.say(f"{model.model}: alignment_heads of the generation config: {named}; before: {before}")
    shown = [console.on_screen(rows.head(console.SHOWN))]
    if len(rows) > console.SHOWN:
        shown.append(f"… and {len(rows) - console.SHOWN:,} more; -o FILE writes them all")
    table.out(rows, "\n".join(shown), dataset=dataset)


def _times(
    model: console.ModelOptions,
    table: console.TableOptions,
    audio: Path | None,
    text: str | None,
    heads: str | None,
    language: str | None,
) -> None:
    """Print or write when each word was said."""
    if audio is None:
        raise InputError("AUDIO: expected a WAV file, or --choose FILE, found none")
    if text is None:
        raise InputError("--text: expected what was said, found none")
    from headscope.analyses.align.run import align as aligned

    found: Any = aligned(_told(model.load(), language), audio, text, heads=console.names(heads))
    console.say(f"heads: {_named(found.attrs['heads'])} ({found.attrs['chosen_by']})")
    shown = found.assign(**{name: found[name].map("{:.2f}".format) for name in ("start", "end", "mass")})
    table.out(found, shown.to_string(index=False), described=found.attrs)


def _told(model: Any, language: str | None) -> Any:
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
