"""`headscope export`: maps as the files that another tool reads."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from headscope.console.options import say
from headscope.core.counts import plural


def export(files: list[Path], *, to: Literal["headvis"], output: Path) -> None:
    """Write maps of one model as the files that another tool reads.

    Args:
        files (MAPS): .safetensors of maps.save or of import, one an input.
        to: headvis: the folder that HeadVis and Neuronpedia's loaders read.
        output (FOLDER): a new or an empty folder.
    """
    from headscope.views.headvis import write_headvis

    heads = write_headvis(files, output)
    say(f"{output}: {to}, {plural(heads, 'head')}, {plural(len(files), 'input')}")
