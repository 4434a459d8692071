"""``headscope links --together``."""

from __future__ import annotations

from typing import Any

from headscope.console import options as console
from headscope.errors import InputError


def check(long: console.LongOptions, **flags: bool) -> None:
    """Raise `InputError` for an option that heads together do not have."""
    found = {"shard": long.shard, "skip_failures": long.skip_failures, **flags}
    for name, value in found.items():
        if value:
            raise InputError(f"--{name.replace('_', '-')}: expected none with --together, found it")


def printed(model: Any, corpus: Any, table: console.TableOptions, **options: Any) -> None:
    """Write or print the scores of heads together; `options` are those of `headscope.combine_heads`."""
    from headscope.analyses.links.combine.run import combine_heads
    from headscope.measures.dataset import description

    dataset = combine_heads(model, corpus, progress=True, **options)
    described = description(dataset)
    console.say_left_out(described)
    rows: Any = dataset.table()
    few = rows["accuracy"].isna()
    if few.any():
        labels = rows["label"][few].nunique()
        console.say(
            f"{labels} of {rows['label'].nunique()} labels have fewer than {described['options']['least']} sources, or "
            f"fewer than two {described['clusters']} in a half, and no score"
        )
    console.say(
        f"chosen and fitted on one half of the {described['clusters']}, scored on the other, both ways; intervals over "
        f"{described['clusters']}"
    )
    shown = rows.drop(columns=[name for name in rows if name.endswith(("_low", "_high"))])
    shown["system"] = shown["system"].mask(few, "")
    shown = shown[~few | ~rows.duplicated("label")]
    for column in shown.select_dtypes("float"):
        shown[column] = ["" if value != value else f"{value:.3f}" for value in shown[column]]
    table.out(rows, shown.to_string(index=False), dataset=dataset)
