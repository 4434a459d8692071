"""The section on probes for dependency trees: table 3 of Clark et al. 2019."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.clusters import note
from headscope.analyses.probes.run import KINDS, probe
from headscope.analyses.probes.statistics import differences
from headscope.analyses.published import AS_PROBES, TABLE_3, orientation
from headscope.analyses.study import LEVEL, Study
from headscope.corpora import Example, builtin_trees
from headscope.errors import InputError
from headscope.measures.dataset import describe, description
from headscope.models.weights import left_out
from headscope.runs.batches import examples
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import BlocksSection, CellInfo, FoldedBlock, TableBlock
from headscope.views.digits import percent, signed
from headscope.views.payload import Part
from headscope.views.section import Section
from headscope.views.sentences import text


@dataclass(frozen=True)
class Probes(Section):
    """Probes, a row each.

    Attributes:
        result: from `headscope.probe`.
        command: what gives more.
        left_out: why no probe is trained on the network re-initialised; None where one is.
    """

    result: xr.Dataset
    command: str | None = None
    left_out: str | None = None
    aside: ClassVar[bool] = True
    pictured: ClassVar[str | None] = "probes"

    @property
    def small(self) -> str | None:
        """Why nothing is to be concluded from the figures, where that is so."""
        corpus = description(self.result)["corpus"]
        if corpus["train"] >= SMALL:
            return None
        return f"Too small to conclude from: trained on {corpus['train']:,} sentences and scored on {corpus['dev']:,}."

    def headline(self) -> str:
        """What a probe of all heads gets."""
        result: Any = self.result
        uas = percent(float(result["uas"].sel(probe="attention")))
        return f"All heads together find the head of {uas} of words"

    def findings(self) -> list[list[Part]]:
        """What a probe of all heads gets, beside taking the next word; nothing where one of the two is not there."""
        uas = dict(zip(self.result["probe"].values, self.result["uas"].values, strict=True))
        if not {"attention", "right-branching"} <= uas.keys():
            return []
        attention, chain = (percent(float(uas[name])) for name in ("attention", "right-branching"))
        small = ", on too few sentences to conclude from" if self.small else ""
        finding = (
            f"From the attention of all heads together a probe finds the head of {attention} of the words, "
            f"taking the next word finds {chain}{self._known()}{small}."
        )
        return [[text(finding)]]

    def _known(self) -> str:
        """Whether the two are known to differ."""
        pair = self.result.sel(probe="attention", other="right-branching")
        p, low, high = (float(pair[f"uas_difference{end}"]) for end in ("_p", "_low", "_high"))
        if p < LEVEL:
            return f" ({signed(100 * low, 0)} to {signed(100 * high, 0)} points, paired)"
        return " (not known to differ)" if p == p else ""

    def info(self, blobs: Blobs) -> BlocksSection:
        """Give table 3."""
        meta = description(self.result)
        words, corpus = int(self.result["n"].values[0]), meta["corpus"]
        vectors, root = meta.get("vectors"), meta.get("root")
        return blocks.section(
            "probes",
            "Trees from all heads together: probes",
            "How much of the tree all heads know together: each probe picks every word's head in the tree.",
            [
                *([blocks.paragraph(self.small, tone="why")] if self.small else []),
                self._table(),
                *self._compared(),
            ],
            [
                f"Trained on {corpus['train']:,} sentences of {corpus['name']}, scored on {words:,} words "
                f"of {corpus['dev']:,} others (Clark et al. 2019, §5, table 3). UAS leaves out punctuation; "
                "intervals are 95 %.",
                "Right-branching takes the next word, attention has two numbers a head for the attention "
                "between the two words, attention+words makes these numbers from the words' vectors, "
                "distance+words has no attention at all, and re-initialised has that of the same network "
                "with every weight but its embeddings drawn again.",
                "Selectivity is UAS less the accuracy in a control task, in which every form of a word has "
                "a random behaviour (Hewitt & Liang 2019): what a probe learns by heart counts in both.",
                note(meta),
                *(
                    [
                        f"The words' vectors are {vectors['name']}; "
                        f"{vectors['share of words without']:.1%} of the words have none."
                    ]
                    if vectors
                    else []
                ),
                *([f"The root is read off attention to {', '.join(root)}."] if root else []),
                *([f"The re-initialised network is left out: {self.left_out}."] if self.left_out else []),
                orientation(", trained and scored on the Wall Street Journal", "model, corpus and size")
                + " `headscope probe` trains these and structural probes on treebanks of any size.",
            ],
            self.command,
        )

    def _table(self) -> TableBlock:
        """The probes, beside what is printed of the same, and below them what is printed of others."""
        rows: Any = pd.DataFrame(
            {
                name: self.result[name].values
                for name in ("probe", *_SAVED, *_STRUCTURAL)
                if name in self.result
            }
        )
        printed = {label: value / 100 for label, value in TABLE_3.items()}
        labels = rows["probe"].map(AS_PROBES)
        others = [label for label in printed if label not in {*labels}]
        ends = ("uas_low", "uas_high")
        return blocks.table(
            "probes",
            rows.assign(printed=labels.map(printed)),
            ("probe", *_SAVED),
            [
                *("probe", blocks.bar("uas", *ends), blocks.figure("uas", *ends), "uuas", "control"),
                *(
                    "selectivity",
                    *(
                        _STRUCTURAL
                        if "depth_spearman" in rows and rows["depth_spearman"].notna().any()
                        else ()
                    ),
                ),
                *("parameters", CellInfo(of="printed", tone="dim")),
            ],
            of="probes",
            title="Probes",
            others={"probe": others, "printed": [printed[label] for label in others]},
            off="",
        )

    def _compared(self) -> list[FoldedBlock]:
        """What a probe has more than another, of the same sentences."""
        rows: Any = differences(self.result)
        if rows.empty:
            return []
        cells = ["probe", "other", "score", blocks.figure("difference", "low", "high"), "p"]
        title = "What probes have more than others"
        return [blocks.folded(title, blocks.table("differences", rows, [*rows.columns], cells, title=title))]


_STRUCTURAL = ("spearman", "depth_spearman", "root_accuracy")
_SAVED = ("uas", "uas_low", "uas_high", "uuas", "spearman", "control", "selectivity", "parameters")
"""Columns of a probe."""

TRAINED = 400
"""The most sentences of a treebank that probes are trained and scored on."""

PROBES = tuple(kind for kind in KINDS if kind != "structural")
"""The probes of a report. Structural ones, which keep the hidden states of every layer, would take longest."""

SMALL = 1000
"""Sentences that probes need to be trained on for anything to be concluded."""


def section(study: Study, *, seed: int = 0) -> list[Section]:
    """Table 3, on the first sentences of a treebank: every fourth document (or sentence) is scored on.

    Raises `InputError` for fewer than eight sentences.
    """
    model, corpus = study.model, study.treebank or builtin_trees()
    limit = study.sentences(study.treebank)
    read = list(examples(model, corpus, min(limit or TRAINED, TRAINED)))
    several = len({example.document for example in read}) >= 4
    train: list[Example] = []
    dev: list[Example] = []
    for index, example in enumerate(read):
        (dev if (example.document if several else index) % 4 == 3 else train).append(example)
    if min(len(train) // 3, len(dev)) < 2:
        raise InputError(f"{corpus.name}: expected at least 8 sentences for probes, found {len(read)}")
    why = left_out(model.module)
    kinds = [kind for kind in PROBES if why is None or kind != "reinitialised"]
    result = probe(model, train, dev, kinds=kinds, seed=seed, progress=study.progress)
    meta = description(result)
    meta["corpus"]["name"] = corpus.name  # of which these were examples
    command = study.typed and study.typed.section("probes")
    return [Probes(result.assign_attrs(describe(meta)), command, why)]
