"""The section on probes for dependency trees: table 3 of Clark et al. 2019."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import xarray as xr

from headscope.analyses.printed import AS_PROBES, TABLE_3
from headscope.views.blobs import Blobs
from headscope.views.page import plain_text
from headscope.views.payload_linguistics import PrintedRow, ProbeRow, ProbesSection


@dataclass(frozen=True)
class Probes:
    """Probes, a row each.

    Attributes:
        found: from `headscope.probe`.
        corpus: the treebank's name.
        train, dev: how many sentences the probes were trained and scored on.
        small: why nothing is to be concluded from the figures, where that is so.
        command: what gives more.
    """

    found: xr.Dataset
    corpus: str
    train: int
    dev: int
    small: str | None = None
    command: str | None = None

    def info(self, blobs: Blobs) -> ProbesSection:
        """The rows; nothing travels beside them."""
        names = [str(name) for name in self.found["probe"].values]
        words = int(self.found["n"].values[0])
        printed = {called: TABLE_3[called] / 100 for called in TABLE_3}
        vectors = sorted({str(name) for name in self.found["vectors"].values} - {""})
        matched = {AS_PROBES[name] for name in names if name in AS_PROBES}
        return ProbesSection(
            kind="probes",
            title="Trees from all heads together: probes",
            about=(
                "How much of the tree all heads know together. Probes pick each word's head: "
                "right-branching takes the next word, attention has two numbers a head for the attention "
                "between the two words, attention+words makes these numbers from the words' vectors, "
                "distance+words has no attention at all, and re-initialised has that of the same network "
                f"with every weight but its embeddings drawn again. Trained on {self.train:,} sentences of "
                f"{plain_text(self.corpus)}, scored on {words:,} words of {self.dev:,} others (Clark et al. "
                "2019, §5, table 3). UAS leaves out punctuation; intervals are 95 %, of a bootstrap over "
                "sentences."
            ),
            small=self.small,
            rows=[self._row(name, printed) for name in names],
            printed=[
                PrintedRow(label=called, values=[value])
                for called, value in printed.items()
                if called not in matched
            ],
            notes=[
                "Selectivity is UAS less the accuracy in a control task, in which every form of a word has "
                "a random behaviour (Hewitt & Liang 2019): what a probe learns by heart counts in both.",
                *([f"The words' vectors are {plain_text(', '.join(vectors))}."] if vectors else []),
                "“In the paper” is what Clark et al. 2019 give for bert-base-uncased, trained and scored on the "
                "Wall Street Journal: model, corpus and size differ, so it is for orientation only. "
                "`headscope probe` trains these and structural probes on treebanks of any size.",
            ],
            command=self.command,
        )

    def _row(self, name: str, printed: dict[str, float]) -> ProbeRow:
        one: Any = self.found.sel(probe=name)

        def number(key: str) -> float | None:
            value = float(one[key])
            return value if math.isfinite(value) else None

        return ProbeRow(
            probe=name,
            uas=number("uas"),
            low=number("uas_low"),
            high=number("uas_high"),
            uuas=number("uuas"),
            spearman=number("spearman"),
            control=number("control"),
            selectivity=number("selectivity"),
            parameters=int(one["parameters"]),
            printed=printed.get(AS_PROBES.get(name, "")),
        )
