"""`headscope compare models`: the models that it is given, and what it says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.analyses.record import Analysis
from headscope.analyses.shown import Picture, Save, ShownResult, Table, of_result
from headscope.core.counts import plural
from headscope.core.validation import Seed
from headscope.errors import InputError

if TYPE_CHECKING:
    from headscope.views.blocks import Block


def read(items: Sequence[str], *, models: Any, reading: Any) -> tuple[Any, Any, Any]:
    """Two models and a corpus of what was typed."""
    if models.untrained is not None or models.adapter is not None:
        first, rest = items[0], items[2:] if items[1:2] == items[:1] else items[1:]
        second = first
    elif len(items) < 2:
        raise InputError("models: expected two (or --adapter or --untrained SEED), found one")
    else:
        first, second, rest = items[0], items[1], items[2:]
    for one in (first, second):
        if Path(one).is_file() and Path(one).suffix.lower() != ".gguf":
            raise InputError(
                f"models: expected A [B] [CORPUS], models first, found the file {one} in a model's place"
            )
    texts = reading.of([Path(one) for one in rest])
    return models.trained.named(first), models.named(second), texts


@dataclass(frozen=True)
class ComparedModels:
    """Two models that were compared: by head, unless heads have no counterparts, and by role, where that was asked."""

    heads: Any = None
    roles: Any = None
    remarks: tuple[str, ...] = ()


def _by_role(roles: Path | None, output: Path | None, as_json: bool) -> bool:
    return roles is not None or not (as_json or output is not None)


def estimate(
    a: Any,
    b: Any,
    corpus: Any,
    *,
    roles: Path | None = None,
    output: Path | None = None,
    as_json: bool = False,
    **options: Any,
) -> str:
    """What a comparison will take."""
    from headscope.analyses.compare.models.run import counterparts
    from headscope.analyses.compare.models.run import estimate as told

    if counterparts(a, b) is not None:
        raise InputError("--estimate: expected models whose heads have counterparts")
    return told(a, b, corpus, **options) + ("; then roles" if _by_role(roles, output, as_json) else "")


def run(
    a: Any,
    b: Any,
    corpus: Any,
    *,
    roles: Table | None = None,
    seed: Seed = 0,
    output: Path | None = None,
    as_json: bool = False,
    **options: Any,
) -> ComparedModels:
    """Two models, head by head and by role.

    Args:
        a, b: from `headscope.load`.
        corpus: what both read.
        roles: also what each head's roles became: .parquet, .csv, .json or .tex.
        seed: of the random tokens that show induction heads.
        output, as_json: by which it is told whether roles are printed.
        **options: of `headscope.compare.models`.
    """
    from headscope.analyses.compare.models.run import counterparts, models
    from headscope.analyses.compare.roles.run import roles as roles_of

    why = counterparts(a, b)
    shared = {name: value for name, value in options.items() if name not in ("measures", "by")}
    if why is not None:
        return ComparedModels(
            None, roles_of(a, b, corpus, seed=seed, **shared), (f"{why}: compared by role",)
        )
    result = models(a, b, corpus, **options)
    if not _by_role(roles, output, as_json):
        return ComparedModels(result)
    try:
        return ComparedModels(result, roles_of(a, b, corpus, seed=seed, **shared))
    except InputError as error:
        if roles is not None:
            raise
        return ComparedModels(result, None, (f"roles were not compared: {error}",))


def shown(
    result: ComparedModels, *, analysis: Analysis, figure: Picture | None = None, roles: Path | None = None
) -> ShownResult:
    """The heads that moved most, and what roles became.

    Args:
        result: what was compared.
        analysis: the record of models.
        figure: also a figure: .svg, .pdf or .png.
        roles: also what each head's roles became: .parquet, .csv, .json or .tex.
    """
    from headscope.measures.dataset import description, write_table

    def saved(path: Path) -> str:
        write_table(changes, path)
        return plural(len(changes), "row")

    by_role: Any = result.roles
    heads, remarks = result.heads, [*result.remarks]
    changes: Any = None if by_role is None else by_role.by_role if heads is None else by_role.changes
    by_roles = [] if by_role is None or roles is not None else _roles(by_role, shaped=heads is not None)
    files: list[tuple[Path | None, Save]] = [(roles, saved)]
    if heads is None:
        assert by_role is not None
        changes.attrs["meta"] = {"a": by_role.a.attrs["meta"], "b": by_role.b.attrs["meta"]}
        return ShownResult(changes, by_roles, remarks=remarks, files=files)
    if description(heads.figures)["over"] == "words":
        remarks.insert(0, "the tokenizers differ: compared on words, without special tokens")
    shown = of_result(heads, analysis=analysis, figure=figure)
    return replace(shown, blocks=[*shown.blocks, *by_roles], remarks=remarks, files=[*files, *shown.files])


def _roles(result: Any, *, shaped: bool) -> list[Block]:
    """What the roles became."""
    from headscope.analyses.compare.roles.run import CHANGES
    from headscope.views.blocks import paragraph, rows_of

    counts: Any = result.by_role
    none = [paragraph("no head of either has a role")]
    lines = [paragraph("\nroles of A and B"), *(rows_of(counts, most=len(counts)) if len(counts) else none)]
    if shaped:
        count = result.changes["change"].value_counts()
        lines.append(paragraph(", ".join(f"{int(count.get(name, 0))} {name}" for name in CHANGES)))
    return lines
