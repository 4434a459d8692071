"""`headscope attribute`: the heads that give a token its logit."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headscope.console import options as console


def attribute(
    model: console.ModelOptions,
    table: console.TableOptions,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the model reads.")],
    token: Annotated[
        str | None,
        typer.Option(help='The next token, such as " Paris" (mind the space); by default the likeliest.'),
    ] = None,
    position: Annotated[int, typer.Option(help="After which token, from 0; negative from the end.")] = -1,
) -> None:
    """Which heads give a token its logit, and from where? Direct logit attribution, the final norm frozen."""
    from headscope.analyses.attribute.run import attribute as run
    from headscope.measures.dataset import description

    table.check((*console.TABLES, ".nc"))
    result = run(model.load(), text, token=token, position=position)
    rows: Any = result.table()
    told = description(result)
    parts = ", ".join(
        f"{name} {float(result[key].sum()):.3f}"
        for key, name in {
            "heads": "heads",
            "attention_bias": "biases of attention",
            "mlp": "MLPs",
            "embedding": "embedding",
            "bias": "final biases",
        }.items()
    )
    capped = f", before the softcap of {told['softcap']:g}" if told["softcap"] else ""
    heads = rows[rows["part"] == "head"]
    shown = [
        f"the logit of {told['token']!r} after {told['after']!r}: {float(result['logit']):.3f}{capped} = {parts}",
        "the heads that add or take most (token: from which most of it comes)",
        console.on_screen(heads.head(console.SHOWN).reset_index(drop=True), dropped=("part", "source")),
    ]
    table.out(rows, "\n".join(shown), dataset=result)
