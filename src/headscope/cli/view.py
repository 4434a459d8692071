"""`headscope view`: the explorer as a page or picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headscope.analyses.shown import Theme
from headscope.console.options import PAGES, PICTURES, ModelOptions, check_places, open_page, say
from headscope.core.heads import Head
from headscope.core.types import AnyDict
from headscope.core.validation import Count
from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.core.tokens import Tokens
    from headscope.corpora import Encoder


def view(
    model: ModelOptions,
    text: str | None = None,
    text_b: str | None = None,
    *,
    output: Path = Path("view.html"),
    scale: Annotated[Literal["model", "head", "neuron"] | None, typer.Option("--view")] = None,
    layer: int | None = None,
    head: str | None = None,
    heads: str | None = None,
    against: str | None = None,
    replay: bool = False,
    line: Count | None = None,
    target: str | None = None,
    image: list[Path] | None = None,
    video: Path | None = None,
    audio: Path | None = None,
    theme: Theme = "auto",
    width: str | None = None,
    open_: Annotated[bool, typer.Option("--open")] = False,
    quantity: list[str] | None = None,
    reads: bool = False,
    implicit: bool = False,
    live: bool = False,
    weights: Literal["int8", "float16", "float32"] | None = None,
) -> None:
    """Draw every head on a text: the explorer as a page, or one of its views as a picture.

    Args:
        model: which one.
        text: the text to show, or with --replay a file.
        text_b: text B of a pair.
        output: the page or picture: .html, .svg, .png or .pdf.
        scale: which view to begin with: head; of a picture without --head or --heads model.
        layer: the layer to begin with, from 0.
        head (HEAD): the head to begin with: L7H9, or with --layer its number, from 0.
        heads (A,B): several heads of the layer to begin with, from 0.
        against (MODEL): beside this model on the same text (hub name, folder or demo; @REVISION).
        replay: TEXT is a file of JSON lines as a server logs them (prompt_token_ids and token_ids, responses of vLLM
            and OpenAI, or messages): show what these weights do with the ids.
        line: with --replay, which line of the file, from 1, the default.
        target: what the decoder reads.
        image: a picture, for a model of vision, or beside TEXT for one of both; given again, one more.
        video: in its place a folder of frames, or a GIF.
        audio: a sound, for a model of sound; one that writes what it hears needs --target.
        theme: colours.
        width (column|page|INCHES): of a picture: a column (3.3 inches) or the page (6.9, the default) of a paper, or
            inches.
        open_: open what was written in a browser.
        quantity (gradient|norm): also gradients, or norms ‖α·v·W_O‖; by default where they cost little.
        reads: say who wrote what the heads of --layer and --head read, to be followed back line by line.
        implicit: also the implicit maps of layers that do not attend, such as linear attention; the view begins with
            them.
        live: put the model into the page: type, look and change there, with no server and no network.
        weights: with --live, how the page holds the model's weights; by default int8.
    """
    check_places(output, suffixes=(".html",) if live else PAGES)
    if text is None and image is None and video is None and audio is None:
        raise InputError("TEXT: expected a text, --image, --video or --audio, found none of them")
    if text and not replay and _is_file(text):
        raise InputError(f'TEXT: {text} is a file; give what it says, as in headscope view "$(cat {text})"')
    drawn = output.suffix.lower() in PICTURES
    if width is not None and not drawn:
        raise InputError(f"--width: expected a picture ({', '.join(PICTURES)}), found -o {output}")
    state: AnyDict = {
        "scale": scale or ("model" if drawn and head is None and heads is None else "head"),
        "theme": theme,
    }
    if head is not None and not head.isdecimal():
        if layer is not None:
            raise InputError(f"--layer: expected none beside --head {head}, which says it")
        layer, number = Head.parse(head)
        heads = str(number)
    if layer is not None:
        state["layer"] = layer
    if head is not None or heads is not None:
        state["heads"] = _numbers(heads or head or "")
    size = {"width": _width(width)} if width is not None else {}

    from headscope.core.saving import replacing
    from headscope.live.standalone import carry, standalone_page
    from headscope.live.view import view as run
    from headscope.views.wire import LiveInput

    loaded = model.load()
    standalone = None
    if live:
        assert text is not None
        given = LiveInput(text=text) if text_b is None else LiveInput(text=text, pair=text_b)
        named = "hs.load()" if model.model is None else f"hs.load({model.model!r})"
        standalone = carry(loaded, given, weights=weights or "int8", loaded=named)
    shown = run(
        loaded,
        _logged(loaded, text, line or 1) if replay and text is not None else text,
        pair=text_b,
        image=image,
        video=video,
        audio=audio,
        against=None if against is None else model.trained.named(against),
        target=target,
        quantities=quantity or None,
        reads=reads,
        implicit=implicit,
        **state,
    )
    if standalone is None:
        shown.save(output, **size)
    else:
        with replacing(output) as file:
            file.write_text(standalone_page(shown, standalone), encoding="utf-8")
        say(f"the page holds the model: {output.stat().st_size / 1e6:.0f} MB")
    print(output.resolve(), flush=True)
    if open_:
        open_page(output)
    elif not drawn:
        say(f"open {output} in a browser and point at a token: the heads that look most from it are listed")


def _logged(model: Encoder, path: str, line: int) -> Tokens:
    """The input on one line of a log."""
    from headscope.corpora.readers import jsonl

    log = jsonl(path)
    for example in log.encoded(model):
        number = int(example.source.rpartition(":")[2])
        if number == line:
            say(
                "replayed by these weights here: a server's kernels and number formats may differ, and so may a weight"
            )
            assert example.tokens is not None
            return example.tokens
        if number > line:
            break
    for broken in log.broken:
        if broken.line == line:
            raise broken
    raise InputError(f"--line: expected a line of {path} that holds an input, found {line}")


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # longer than a name may be
        return False


def _numbers(heads: str) -> list[int]:
    try:
        return [int(number) for number in heads.split(",")]
    except ValueError:
        raise InputError(f"--heads: expected numbers from 0 such as 0,3, found {heads!r}") from None


def _width(width: str) -> Any:
    if width in ("column", "page"):
        return width
    try:
        return float(width)
    except ValueError:
        raise InputError(f"--width: expected column, page or inches, found {width!r}") from None
