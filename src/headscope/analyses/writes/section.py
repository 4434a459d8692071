"""The section on what heads write: by their weights, and what they add to one token that the model says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import xarray as xr

from headscope.analyses.attribute.run import attribute
from headscope.analyses.attribute.statistics import table as terms_of
from headscope.analyses.study import LEVEL, Seen, Study
from headscope.analyses.writes import statistics
from headscope.analyses.writes.run import writes
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.errors import InputError, RefusedError
from headscope.measures.dataset import description
from headscope.views import blocks, digits
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block, BlocksSection, CellInfo, TableBlock
from headscope.views.digits import percent
from headscope.views.explorer import Input
from headscope.views.page import plain_text
from headscope.views.payload import Part, Reason
from headscope.views.reasons import because
from headscope.views.section import Section
from headscope.views.sentences import comma, head_name, sentence, text, token

MOST = 8
"""How many heads that copy are shown, heads that suppress, and terms of a logit."""

COPIES = 0.1
"""A head copies that surely raises more tokens when it looks at them than by chance, by this share."""

_NAMED = 3


@dataclass(frozen=True)
class Writes(Section):
    """What heads write.

    Attributes:
        result: from `headscope.writes`.
        terms: from `headscope.attribute`, of a token of an example; None for none.
        seen: the example, and the token after which that one is said.
        command: what gives the same scores.
    """

    result: xr.Dataset
    terms: xr.Dataset | None = None
    seen: Seen | None = None
    command: str | None = None

    def info(self, blobs: Blobs) -> BlocksSection:
        """Heads that copy and that suppress, and the largest terms of one token."""
        rows = self._rows()
        chance = float(self.result["itself_chance"])
        meta = description(self.result)
        none = "No head is known to raise or lower the tokens that it looks at, by its weights."
        return blocks.section(
            "writes",
            "What heads write",
            "By their weights: which heads raise the token that they look at (copy it), and which lower it. "
            "And on an example: what heads add to the logit of the token that comes next.",
            [
                blocks.paragraph(none, tone="note") if rows.empty else _scores(rows, asked=self._asked),
                *self._next_token(),
            ],
            [
                f"Itself is the share of {meta['sample']:,} sampled tokens that are among the {meta['k']} which the "
                f"head raises most, by chance {chance:.2g}; heads with an interval more than {COPIES:g} above that are "
                "shown, and below them those that lower what they look at. Tokens are read as embeddings through the "
                "norm of the head's layer.",
                "Copying is the sum of the eigenvalues of W_U W_O W_V W_E over the sum of their sizes (Elhage et al. "
                "2021), often that of one large eigenvalue; positive is the share of them that are above 0, by chance "
                ".5. q is two-sided, of random rotations between what a head reads and what it writes.",
                "What heads add to a logit is their direct effect, with the final norm frozen.",
            ],
            self.command,
        )

    def headline(self) -> str:
        """How many heads copy."""
        copy, _ = self._apart()
        return f"{plural(len(copy), 'head')} raise{'s' * (len(copy) == 1)} the token looked at"

    @property
    def _asked(self) -> bool:
        """Whether one head was asked about."""
        return description(self.result)["head"] is not None

    def findings(self) -> list[list[Part]]:
        """Which heads copy, by their weights."""
        copy, _ = self._apart()
        if self._asked or copy.empty:
            return []
        names: list[Part] = []
        for position, row in enumerate(copy.head(_NAMED).itertuples()):
            head = Head.at(row)
            names += [
                *comma(position),
                head_name(head, _reason(row.itself)),
                text(f" ({percent(row.itself)})"),
            ]
        more = f" and {len(copy) - _NAMED} more" if len(copy) > _NAMED else ""
        verb = "head raises" if len(copy) == 1 else "heads raise"
        opening = f"By their weights {len(copy)} {verb} the very token that they look at: "
        return [sentence(opening, *names, f"{more}, of sampled tokens.")]

    def _apart(self) -> tuple[Any, Any]:
        """The heads that copy and those that suppress, each with the surest first."""
        rows: Any = statistics.table(self.result).drop_duplicates(["layer", "head"])
        copy = rows[rows["itself_low"] > rows["itself_chance"] + COPIES].sort_values(
            "itself", ascending=False, kind="stable"
        )
        rest = rows[(rows["copying_q"] <= LEVEL) & (rows["copying"] < 0)]
        below = rest[rest["positive"] < 0.5 - rest["positive_chance"]]
        return copy, below.sort_values("positive", kind="stable")

    def _rows(self) -> Any:
        if self._asked:
            return statistics.table(self.result)
        copy, suppress = self._apart()
        return pd.concat([copy.head(MOST), suppress.head(MOST).iloc[::-1]])

    def _next_token(self) -> list[Block]:
        """A token that the model says after another, and the largest terms of its logit; below them all else."""
        if self.terms is None or self.seen is None:
            return []
        meta = description(self.terms)
        example, pin = self.seen
        rows: Any = terms_of(self.terms)
        rows = rows[rows["part"] == "head"].head(MOST)
        logit = float(self.terms["logit"])
        reasons = [
            because(
                f"adds to the logit of {meta['token'].lstrip('Ġ▁')}",
                digits.signed(value, 2),
                "on this example",
                example=example,
                pin=pin,
            )
            for value in rows["contribution"]
        ]
        return [
            blocks.paragraph(
                *("After ", token(plain_text(str(meta["after"])))),
                *(" the model says ", token(plain_text(str(meta["token"])))),
                f", whose logit is {digits.figure(logit, 2)}. Heads that add most to it, for and against:",
            ),
            blocks.table(
                "logit",
                rows,
                ("layer", "head", "paper", "contribution", "token"),
                [
                    *(CellInfo(of="head", name="term"), "paper"),
                    CellInfo(of="contribution", draw="change", label="adds"),
                    *(CellInfo(of="contribution", tone="strong"), "token"),
                ],
                of="attribute",
                title="What heads add to the logit",
                reasons=reasons,
                others={"term": ["all else"], "contribution": [logit - rows["contribution"].sum()]},
            ),
        ]


def _reason(itself: float) -> Reason:
    return because(
        "raises the token that it looks at", percent(itself), "of sampled tokens", measure="largest"
    )


def _scores(rows: Any, *, asked: bool) -> TableBlock:
    ends = ("itself_low", "itself_high")
    return blocks.table(
        "writes",
        rows,
        (
            *(
                "layer",
                "head",
                "paper",
                "copying",
                "copying_chance",
                "copying_q",
                "positive",
                "itself",
                *ends,
            ),
            *("token", "promotes"),
        ),
        [
            *("head", "paper", blocks.bar("itself", *ends), blocks.figure("itself", *ends)),
            *("copying", "copying_q", "positive", "token", CellInfo(of="promotes", tone="dim")),
            *([CellInfo(of="prefers", tone="dim")] if asked else []),
        ],
        of="writes",
        title="Heads that copy or suppress",
        reasons=[_reason(itself) for itself in rows["itself"]],
    )


def written(study: Study) -> xr.Dataset:
    """What heads of the report's model write, by their weights."""
    return study.once("writes", lambda: writes(study.model, k=5))


def section(study: Study) -> list[Section]:
    """What heads of a causal language model write; why where that cannot be told."""
    if not study.model.causal or study.model.encoder_decoder:
        return []
    try:
        result = written(study)
    except (InputError, RefusedError) as error:
        study.absent["writes"] = str(error)
        return []
    terms, seen = None, study.seen.get("retrieval")
    if seen is not None:
        example, pin = seen
        tokens = cast("Input", study.inputs[example]).first.query
        terms = attribute(study.model, tokens, position=pin["place"])
    command = study.typed and study.typed.alone("writes", "-k", "5")
    return [Writes(result, terms, seen, command)]
