"""The command line: parse, call the public names, print.

Tables go to stdout, progress and remarks to stderr. Exit codes: 0 done, 1 a run failed, 2 bad usage or bad input.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import headscope
from headscope.errors import HeadscopeError, InputError, ModelError

if TYPE_CHECKING:
    from headscope.corpora import Corpus
    from headscope.models import Model

LONG = 500_000
"""From how many bytes of corpus on a run first says what it will take."""

app = typer.Typer(
    help="See and measure where a transformer looks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Format(StrEnum):
    """How a corpus is written down."""

    text = "text"
    jsonl = "jsonl"


class By(StrEnum):
    """What a figure is averaged over."""

    token = "token"
    document = "document"


class Quantity(StrEnum):
    """A matrix per pair beside the weights."""

    gradient = "gradient"
    norm = "norm"


class Precision(StrEnum):
    """In which distances are computed."""

    float32 = "float32"
    float64 = "float64"


class Scale(StrEnum):
    """A view."""

    model = "model"
    head = "head"
    neuron = "neuron"


class Theme(StrEnum):
    """Colours of a page or picture."""

    auto = "auto"
    light = "light"
    dark = "dark"


class Preset(StrEnum):
    """Whose code to follow instead of the exact defaults."""

    clark2019 = "clark2019"


ModelName = Annotated[
    str | None,
    typer.Option("-m", "--model", metavar="MODEL", help="Hub name or folder; the demo model by default."),
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, mps, …")]
Dtype = Annotated[str | None, typer.Option(help="float32 (default), bfloat16, float16 or float64.")]
Revision = Annotated[str | None, typer.Option(help="Revision of a hub model.")]
Untrained = Annotated[
    int | None, typer.Option(metavar="SEED", help="Re-initialise the weights with this seed.")
]
Keep = Annotated[
    str | None, typer.Option(metavar="embeddings", help="With --untrained: keep the trained embeddings.")
]
Remote = Annotated[bool, typer.Option("--trust-remote-code", help="Run code from a hub model's repository.")]
Pack = Annotated[
    int, typer.Option(help="Fill inputs of text with whole lines up to this many pieces; 0: a line an input.")
]
Limit = Annotated[int | None, typer.Option(help="Stop after this many inputs.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Corpora = Annotated[
    list[Path] | None, typer.Argument(metavar="[CORPUS]...", help="Files; the built-in corpus by default.")
]


@app.command()
def check(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="Hub name or folder; the demo model by default.")
    ] = None,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    trust_remote_code: Remote = False,
    as_json: AsJson = False,
) -> None:
    """What can be captured of a model, and the checks it passed."""
    loaded = _load(model, device, dtype, revision, untrained, None, trust_remote_code)
    found = loaded.checked
    if as_json:
        _print_json(
            {
                "model": loaded.name,
                "route": found.route,
                "output_error": found.output_error,
                "parts": [vars(part) for part in found.parts],
            }
        )
        return
    print(
        f"{loaded.name}: {type(loaded.module).__name__}, {loaded.parameters:,} weights, {loaded.dtype}, "
        f"by {found.route}"
    )
    for part in found.parts:
        heads, keys = _counts(part.heads), _counts(part.key_heads)
        shared = "" if heads == keys else f" over {keys} key heads"
        sight = "causal" if part.causal else "bidirectional" if part.name != "cross" else "decoder to encoder"
        print(
            f"  {part.name}: {part.layers} layers × {heads} heads{shared}, "
            f"{sight}{', learned sink' if part.sink else ''}"
        )
        print(
            f"    ok  rows sum to 1{' minus the sink' if part.sink else ''} (off by at most {part.row_error:.0e})"
        )
        print(
            f"    ok  softmax recomputed from q and k equals the weights (off by at most {part.recompute_error:.0e})"
        )
        print(
            f"    ok  an edit of the weights reaches the output (silencing one head moves it by {part.edit_effect:.0e})"
        )
    print(f"  ok  recording leaves the output as it is (moved by {found.output_error:.0e})")


@app.command()
def view(
    text: Annotated[str, typer.Argument(help="The text to show.")],
    text_b: Annotated[str | None, typer.Argument(metavar="[TEXT_B]", help="Text B of a pair.")] = None,
    model: ModelName = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The page or picture: .html, .svg, .png or .pdf.")
    ] = Path("view.html"),
    scale: Annotated[Scale, typer.Option("--view", help="Which view to begin with.")] = Scale.model,
    layer: Annotated[int | None, typer.Option(help="The layer to begin with, from 0.")] = None,
    head: Annotated[int | None, typer.Option(help="The head to begin with, from 0.")] = None,
    target: Annotated[str | None, typer.Option(help="What the decoder of an encoder-decoder reads.")] = None,
    theme: Annotated[Theme, typer.Option(help="Colours.")] = Theme.auto,
    quantity: Annotated[
        list[Quantity] | None,
        typer.Option(
            help="Also gradients, or norms ‖α·v·W_O‖; by default where they cost little. Repeatable."
        ),
    ] = None,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
) -> None:
    """Draw every head on a text: the explorer as a page, or one of its views as a picture."""
    from headscope.run.view import view as run

    state: dict[str, Any] = {"scale": scale.value, "theme": theme.value}
    if layer is not None:
        state["layer"] = layer
    if head is not None:
        state["heads"] = [head]
    loaded = _load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    names = [name.value for name in quantity] if quantity else None
    run(loaded, text, pair=text_b, target=target, quantities=names, **state).save(output)
    print(output.resolve())


@app.command()
def measure(
    corpus: Corpora = None,
    model: ModelName = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help=".parquet, .csv, .json or .nc; else a table is printed."),
    ] = None,
    format: Annotated[
        Format | None, typer.Option(help="By default told from the suffix: .jsonl, else text.")
    ] = None,
    measures: Annotated[
        str | None, typer.Option(metavar="A,B", help="Which measures, such as previous,offset-2,entropy.")
    ] = None,
    by: Annotated[By, typer.Option(help="Average over tokens or over documents.")] = By.token,
    pack: Pack = 128,
    limit: Limit = None,
    preset: Annotated[Preset | None, typer.Option(help="Follow the released code of a paper.")] = None,
    objective: Annotated[
        str | None,
        typer.Option(help="What gradient_… is of: masked-lm, causal-lm, logit:N or cosine."),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Inputs in a batch, at most.")] = 32,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep checkpoints here, and go on from them: the same figures to the last digit.",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Measure the I-th of N parts only, into -o PART.nc; then: merge."),
    ] = None,
    skip_failures: Annotated[
        bool,
        typer.Option("--skip-failures", help="Leave out inputs at which the model fails, and list them."),
    ] = False,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what the run would take, and stop.")
    ] = False,
    as_json: AsJson = False,
    meta: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the run's description here, as JSON.")
    ] = None,
) -> None:
    """Measure every head over a corpus: offsets, separators, punctuation, entropy, each with its error."""
    from headscope.measures.dataset import check_place, check_suffix
    from headscope.run.measure import estimate as foresee
    from headscope.run.measure import measure as run

    if output is not None:
        check_suffix(output)
    elif shard is not None:
        raise InputError("--shard: expected -o PART.nc for what the shard found, found no -o")
    for place in (output, meta):
        if place is not None:
            check_place(place)
    texts = _corpus(corpus, format, pack)
    loaded = _load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    names = measures.split(",") if measures else None
    if estimate:
        print(foresee(loaded, texts, measures=names, batch_size=batch_size, limit=limit))
        return
    if (texts.size_hint() or 0) > LONG:
        _say(foresee(loaded, texts, measures=names, batch_size=batch_size, limit=limit))
    found = run(
        loaded,
        texts,
        measures=names,
        by=by.value,
        preset=preset.value if preset else None,
        objective=objective,
        batch_size=batch_size,
        limit=limit,
        resume=resume,
        shard=shard,
        part=output if shard is not None else None,
        skip_failures=skip_failures,
        progress=True,
        command=_command(),
    )
    if shard is not None:
        of = json.loads(found.attrs["meta"])["shard"]["of_blocks"]
        _say(f"{output}: shard {shard} of {of:,} blocks")
        output = None
    _figures(found, output, as_json, meta, quiet=shard is not None)


@app.command()
def merge(
    parts: Annotated[
        list[Path], typer.Argument(metavar="PART...", help="What measure --shard wrote: all parts.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help=".parquet, .csv, .json or .nc; else a table is printed."),
    ] = None,
    as_json: AsJson = False,
    meta: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the run's description here, as JSON.")
    ] = None,
) -> None:
    """Put the parts of all shards together: the figures of one run over the whole corpus, to the last digit."""
    from headscope.measures.dataset import check_place, check_suffix
    from headscope.run.measure import merge as run

    if output is not None:
        check_suffix(output)
    for place in (output, meta):
        if place is not None:
            check_place(place)
    _figures(run(parts, command=_command()), output, as_json, meta)


@app.command()
def distance(
    corpus: Corpora = None,
    model: ModelName = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help=".parquet, .csv, .json or .nc: all pairs of heads."),
    ] = None,
    map: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also the heads' map: .parquet, .csv or .json; .svg, .pdf or .png for a figure.",
        ),
    ] = None,
    format: Annotated[
        Format | None, typer.Option(help="By default told from the suffix: .jsonl, else text.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Compare only this many rows of each input, drawn at random.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the rows drawn, of the map and of the test.")] = 0,
    preset: Annotated[Preset | None, typer.Option(help="Follow the released code of a paper.")] = None,
    precision: Annotated[
        Precision, typer.Option(help="float64: of the model's own eager weights, at twice the time.")
    ] = Precision.float32,
    theme: Annotated[Theme, typer.Option(help="Colours of the figure.")] = Theme.auto,
    pack: Pack = 128,
    limit: Limit = None,
    batch_size: Annotated[int, typer.Option(help="Inputs in a batch, at most.")] = 8,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
    as_json: AsJson = False,
    meta: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the run's description here, as JSON.")
    ] = None,
) -> None:
    """Jensen–Shannon distances between all heads over a corpus, and how heads and layers lie to one another."""
    from headscope.measures.arrangement import by_layer, head_map, summary
    from headscope.measures.dataset import check_place, check_suffix, write, write_table
    from headscope.measures.distance import table
    from headscope.run.distance import distance as run

    pictures = (".svg", ".pdf", ".png")
    if output is not None:
        check_suffix(output)
    if map is not None:
        check_suffix(map, [".parquet", ".csv", ".json", *pictures])
    for place in (output, map, meta):
        if place is not None:
            check_place(place)
    texts = _corpus(corpus, format, pack)
    loaded = _load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    found = run(
        loaded,
        texts,
        rows=rows,
        seed=seed,
        preset=preset.value if preset else None,
        precision=precision.value,
        batch_size=batch_size,
        limit=limit,
        progress=True,
        command=_command(),
    )
    if output is not None:
        write(found, output, table)
        _say(f"{output}: {len(table(found)):,} rows")
    if map is not None:
        places = head_map(found, seed=seed)
        if map.suffix.lower() in pictures:
            from headscope.views import figure_clusters

            drawn = figure_clusters.figure(
                found, places=places, theme="dark" if theme == Theme.dark else "light"
            )
            map.write_bytes(drawn.save(map.suffix.lower()[1:], figure_clusters.about(found)))
        else:
            write_table(places, map)
        _say(f"{map}: {len(places):,} heads, stress {places.attrs['stress']:.3f}")
    if as_json:
        rows_found: Any = table(found)
        _print_json(json.loads(rows_found.to_json(orient="records")))
    else:
        print("mean distance of the heads of two layers, " + found["distance"].attrs["units"])
        layers: Any = by_layer(found).to_pandas()
        print(layers.round(3).to_string(na_rep=""))
        for line in summary(found, seed=seed):
            print(line)
    if meta is not None:
        described: dict[str, Any] = json.loads(found.attrs["meta"])
        meta.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


@app.command()
def roles(
    corpus: Corpora = None,
    model: ModelName = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help=".parquet, .csv or .json.")] = None,
    format: Annotated[
        Format | None, typer.Option(help="By default told from the suffix: .jsonl, else text.")
    ] = None,
    level: Annotated[float, typer.Option(help="Expected share of wrong roles among those named.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Of the random tokens that show induction heads.")] = 0,
    pack: Pack = 128,
    limit: Limit = None,
    batch_size: Annotated[int, typer.Option(help="Inputs in a batch, at most.")] = 32,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
    as_json: AsJson = False,
    meta: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the run's description here, as JSON.")
    ] = None,
) -> None:
    """What each head does: its roles, with scores, intervals, thresholds and q."""
    from headscope.measures.dataset import check_place, check_suffix, write_table
    from headscope.measures.roles import NONE
    from headscope.run.roles import roles as run

    if output is not None:
        check_suffix(output, [".parquet", ".csv", ".json"])
    for place in (output, meta):
        if place is not None:
            check_place(place)
    texts = _corpus(corpus, format, pack)
    loaded = _load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    options: dict[str, Any] = {"level": level, "batch_size": batch_size, "limit": limit, "seed": seed}
    found: Any = run(loaded, texts, **options, progress=True, command=_command())
    for role, reason in found.attrs["untested"].items():
        _say(f"{role}: not tested ({reason})")
    named = found[found["role"] != NONE]
    if output is not None:
        write_table(found, output)
        _say(f"{output}: {len(found):,} rows")
    elif as_json:
        _print_json(json.loads(found.to_json(orient="records")))
    else:
        print(named.round(4).to_string(index=False) if len(named) else "no head has a role")
    _say(f"{len(found) - len(named)} heads have no role")
    if meta is not None:
        meta.write_text(json.dumps(found.attrs["meta"], indent=2) + "\n", encoding="utf-8")


@app.command()
def report(
    text: Annotated[
        list[Path] | None,
        typer.Option("--text", help="Text or jsonl to measure; the built-in corpus by default."),
    ] = None,
    model: ModelName = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write, .html.")] = Path(
        "report.html"
    ),
    format: Annotated[
        Format | None, typer.Option(help="By default told from the suffix: .jsonl, else text.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    examples: Annotated[int, typer.Option(help="How many examples to show heads on.")] = 3,
    pack: Pack = 128,
    limit: Limit = None,
    device: Device = None,
    dtype: Dtype = None,
    revision: Revision = None,
    untrained: Untrained = None,
    keep: Keep = None,
    trust_remote_code: Remote = False,
) -> None:
    """Write one page about a model: what every head does over a corpus, and the maps behind the figures."""
    from headscope.run.report import report as run

    if output.suffix.lower() != ".html":
        raise InputError(f"{output}: expected a name that ends in .html")
    started = time.monotonic()
    texts = _corpus(text, format, pack)
    loaded = _load(model, device, dtype, revision, untrained, keep, trust_remote_code)
    page = run(loaded, texts, title=title, examples=examples, limit=limit, progress=True, command=_command())
    output.write_text(page, encoding="utf-8")
    size, seconds = output.stat().st_size / 1e6, time.monotonic() - started
    print(f"{output.resolve()}  ({size:.1f} MB, {seconds:.0f} s; open it in a browser, it needs no network)")


def main() -> NoReturn:
    """Run the command line and exit."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    warnings.showwarning = _warn
    streams: list[Any] = [sys.stdout, sys.stderr]
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except (InputError, ModelError) as error:
        _say(f"headscope: {error}")
        raise SystemExit(2) from None
    except HeadscopeError as error:
        _say(f"headscope: {error}")
        raise SystemExit(1) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None
    raise SystemExit(0)


def _load(
    model: str | None,
    device: str | None,
    dtype: str | None,
    revision: str | None,
    untrained: int | None,
    keep: str | None,
    trust_remote_code: bool,
) -> Model:
    from headscope.run.load import load

    return load(
        model,
        device=device,
        dtype=dtype,
        revision=revision,
        untrained=untrained,
        keep=keep,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        trust_remote_code=trust_remote_code,
    )


def _corpus(paths: list[Path] | None, format: Format | None, pack: int) -> Corpus:
    from headscope import corpora

    if not paths:
        return corpora.builtin(pack=pack or None)
    formats = {format or (Format.jsonl if path.suffix == ".jsonl" else Format.text) for path in paths}
    if len(formats) > 1:
        raise InputError("these files are text and jsonl; measure them apart, or say --format")
    return corpora.jsonl(paths) if formats == {Format.jsonl} else corpora.text(paths, pack=pack or None)


def _figures(
    found: Any, output: Path | None, as_json: bool, meta: Path | None, *, quiet: bool = False
) -> None:
    """Write or print the figures of heads, and say what has no row and what was left out."""
    from headscope.measures.dataset import table, write

    described: dict[str, Any] = json.loads(found.attrs["meta"])
    for name, reason in described.get("absent", {}).items():
        _say(f"{name}: no row; {reason}")
    if left := described.get("failures", {}).get("count"):
        _say(
            f"left out {left:,} {'input' if left == 1 else 'inputs'} that failed; the description lists them"
        )
    if output is not None:
        write(found, output)
        _say(f"{output}: {len(table(found)):,} rows")
    elif as_json and not quiet:
        rows: Any = table(found)
        _print_json(json.loads(rows.to_json(orient="records")))
    elif not quiet:
        print(_wide(table(found)))
    if meta is not None:
        meta.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def _wide(tidy: Any) -> str:
    """A row a head, a column a measure: for reading on a screen."""
    names = list(dict.fromkeys(tidy["measure"]))
    wide = tidy.pivot(index=["layer", "head", "paper"], columns="measure", values="value")[
        names
    ].reset_index()
    wide.insert(
        0, "name", [str(headscope.Head(*head)) for head in zip(wide["layer"], wide["head"], strict=True)]
    )
    return str(wide.drop(columns=["layer", "head"]).round(3).to_string(index=False, na_rep=""))


def _command() -> str:
    return " ".join(["headscope", *sys.argv[1:]])


def _counts(numbers: Any) -> str:
    return "/".join(map(str, dict.fromkeys(numbers)))


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"headscope: {message}")


def _say(message: str) -> None:
    print(message, file=sys.stderr)
