"""`headscope lab`: a lab of 18 minutes, as one page or a notebook."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from headscope.console.options import ModelOptions, check_places, say


def lab(
    model: ModelOptions,
    name: str | None = None,
    *,
    output: Path = Path("lab.html"),
    against: str | None = None,
    instructor: bool = False,
    weights: Literal["int8", "float16", "float32"] = "int8",
) -> None:
    """A lab of 18 minutes as one page that carries its model, or as a notebook; without NAME, the list of them.

    Args:
        model: which one.
        name: heads, patterns, clark, copying or finetuning.
        output: the page (.html) or the notebook (.ipynb).
        against (MODEL): of finetuning, what the model was before (hub name, folder or demo; @REVISION); by default it
            is fine-tuned here, in seconds.
        instructor: with the answers from the beginning.
        weights: how the page holds the model's weights.
    """
    from headscope.analyses.lab.run import LABS, lesson
    from headscope.analyses.lab.run import lab as run

    if name is None:
        for title in LABS:
            print(f"{title:<12}{lesson(title)['title']}")
        return
    content = lesson(name)
    check_places(output, suffixes=(".html", ".ipynb"))
    loaded = (replace(model, model=content.get("model")) if model.model is None else model).load()
    made = run(name, loaded, None if against is None else model.trained.named(against))
    made.given = [one for one in (model.model, against) if one is not None]
    made.save(output, instructor=instructor, weights=weights)
    if output.suffix == ".html":
        say(f"{'the page holds the model: ' * (len(made.models) == 1)}{output.stat().st_size / 1e6:.0f} MB")
    print(output.resolve())
