"""`headscope negation`: what it says of the scope of negations, in one model or beside another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from headscope.analyses.clusters import CHOSEN_ON, note
from headscope.analyses.shown import Shown, tabulated
from headscope.core.heads import Head
from headscope.core.saving import TABLES
from headscope.errors import InputError
from headscope.views.digits import signed

if TYPE_CHECKING:
    from headscope.models import Model


def checks(
    *, against: str | None = None, shard: str | None = None, resume: Any = None, output: Path | None = None
) -> None:
    """Raise `InputError` for what a comparison of two models does not have."""
    from headscope.measures.dataset import check_suffix

    if against is not None and (shard is not None or resume is not None):
        raise InputError("--against: expected no --shard and no --resume, since two models are run")
    if against is not None and output is not None:
        check_suffix(output, TABLES)


def run(model: Model, corpus: Any, *, against: Model | None = None, **options: Any) -> Any:
    """The scopes that heads tell, in the other model and in this one where there are two.

    Args:
        model: from `headscope.load`.
        corpus: of negations.
        against: also what changed since this model, before fine-tuning (hub name, folder or demo; @REVISION).
        **options: of `headscope.negation`.
    """
    from headscope.analyses.links.negation.run import negation

    after = negation(model, corpus, **options)
    return after if against is None else (negation(against, corpus, **options), after)


def shown(result: Any) -> Shown:
    """The heads that tell the scope, or what changed since another model."""
    from headscope.analyses.links.negation import statistics
    from headscope.measures.dataset import description

    before, after = cast("tuple[Any, Any]", result) if isinstance(result, tuple) else (None, result)
    if before is None:
        rows: Any = statistics.table(after)
        return Shown(rows, _best(rows), after, remarks=[note(description(after))])
    rows = statistics.difference(before, after)
    described = {"before": description(before), "after": description(after)}
    return Shown(rows, _changed(rows), described=described, remarks=[note(description(after))])


def _best(rows: Any) -> str:
    """The heads of the largest F1, a column a score; the best baseline; the best head, chosen on other sentences."""
    from headscope.analyses.links.negation.statistics import SCORES

    heads = rows[rows["system"] == "head"]
    values = {score: heads.loc[heads["score"] == score, "value"].to_numpy() for score in SCORES}
    wide = heads[heads["score"] == "f1"].assign(**values)
    wide = wide.sort_values("f1", ascending=False, kind="stable")
    columns = ["layer", "head", "paper", *SCORES, "ci_low", "ci_high", "difference", "q", "n"]
    table = _few(
        "the heads of the largest F1, with its 95 % interval (given the choice), and what it is more than that "
        "of the best baseline",
        wide[columns],
    )
    rules = rows[rows["score"].eq("f1") & rows["layer"].isna()]
    chosen = rules.iloc[-1]
    best = rules.iloc[:-1].sort_values("value", ascending=False, kind="stable").head(3)
    known = ", ".join(f"{row.system} {row.value:.3f}" for row in best.itertuples())
    lines = [table, f"baselines of the largest F1, which know the cue alone: {known}"]
    if chosen["choices"]:
        head = Head(int(wide["layer"].iloc[0]), int(wide["head"].iloc[0]))
        between = (
            f" ({chosen['ci_low']:.3f} to {chosen['ci_high']:.3f})"
            if chosen["ci_low"] == chosen["ci_low"]
            else ""
        )
        gain = f" (p = {chosen['p']:.2g})" if chosen["p"] == chosen["p"] else ""
        lines.append(
            f"the head that is best on {CHOSEN_ON} of the {chosen['clusters']}, {head} in {chosen['times']} of "
            f"{chosen['choices']} choices, has an F1 of {chosen['value']:.3f}{between} on the rest; beside the best "
            f"baseline: {signed(chosen['difference'], 3)}{gain}"
        )
    return "\n".join(lines)


def _changed(rows: Any) -> str:
    """The heads whose F1 changed most."""
    f1 = rows[rows["score"] == "f1"].drop(columns="score")
    f1 = f1.loc[f1["difference"].abs().sort_values(ascending=False, kind="stable").index]
    return _few("the heads whose F1 changed most, with the 95 % interval of the change", f1)


def _few(title: str, rows: Any) -> str:
    return f"{title}\n{tabulated(rows)}"
