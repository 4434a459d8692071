"""The section on heads that copy from far back, and what is lost without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import xarray as xr

from headscope.analyses.roles.retrieval.needles import Needle, hidden, words_of
from headscope.analyses.roles.retrieval.statistics import BAR, highest, table
from headscope.analyses.roles.section import retrieved
from headscope.analyses.study import LEVEL, Seen, Study
from headscope.core.counts import plural
from headscope.core.heads import Head
from headscope.corpora import Example, builtin
from headscope.errors import InputError, RefusedError
from headscope.measures.dataset import description
from headscope.statistics.jackknife import LEAST, needs
from headscope.statistics.overlap import TOP
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block, BlocksSection
from headscope.views.digits import percent
from headscope.views.payload import Part, Pin, Reason
from headscope.views.reasons import because
from headscope.views.section import Section
from headscope.views.sentences import comma, head_name, sentence, text

SHORT = (56, 96)
"""An example is of about so many tokens; the second where a needle has more pieces."""

_NAMED = 4
OVER = "of the copied tokens"
_ENDS = ("ci_low", "ci_high")
_HALVES = "needles, and answers as many that did not choose the heads"


@dataclass(frozen=True)
class Retrieval(Section):
    """Heads that retrieve, a row each.

    Attributes:
        result: from `headscope.retrieval`.
        seen: the example of the page that shows it.
        command: what gives the same figures.
    """

    result: xr.Dataset
    seen: Seen | None = None
    command: str | None = None
    pictured: ClassVar[str | None] = "retrieval"

    def info(self, blobs: Blobs) -> BlocksSection:
        """The heads that score above `BAR`, and how many answers are right without the top of them."""
        rows: Any = table(self.result)
        rows = rows[rows["score"] > BAR]
        meta = description(self.result)
        heads = blocks.table(
            "retrieval",
            rows,
            ("layer", "head", "paper", "score", "ci_low", "ci_high", "p", "q"),
            [
                *("head", "paper", blocks.bar("score", *_ENDS), blocks.figure("score", *_ENDS)),
                *("p", "q"),
            ],
            of="retrieval",
            title="Heads that retrieve",
            reasons=[self._reason(score) for score in rows["score"]],
        )
        none = blocks.paragraph(
            f"No head looks at more than {BAR:g} of the tokens that are copied."
            if meta["produced"]
            else "No scores: the model produced no token of an answer.",
            tone="note",
        )
        few = [blocks.paragraph(needs(_HALVES), tone="note")] if meta["needles"] < 2 * LEAST else []
        return blocks.section(
            "retrieval",
            "Copying from far back",
            'A sentence such as "The secret code of Oslo is 41 78 26." is hidden in a text that ends by asking '
            "for it; a head retrieves that looks most at the very token that the model copies: one that looks at a "
            "word and writes another is not counted.",
            [none if rows.empty else heads, *self._answers(), *_templates(self.result), *few],
            [
                "A score counts literal copies: how often a head looks most at the very token that is produced; one "
                "that looks at a word and writes another scores 0 (headscope retrieval also tells what a head writes). "
                f"Of {meta['needles']:,} needles in texts of about {meta['lengths'][0]} tokens; the model produced "
                f"{meta['produced']:,} of the {meta['answers']:,} tokens of their answers, and these count. "
                "Intervals are over needles.",
                "Heads that score above .1 are called retrieval heads (Wu et al. 2024); q is that a score is no "
                "higher. Half of the needles choose the heads that are switched off, the other half are answered.",
            ],
            self.command,
        )

    def headline(self) -> str:
        """How many heads surely retrieve."""
        rows: Any = table(self.result)
        count = int((rows["q"] <= LEVEL).sum())
        return f"{plural(count, 'head')} look{'s' * (count == 1)} at the token that is copied"

    def findings(self) -> Sequence[list[Part]]:
        """Which heads surely retrieve, and how many answers are right without them."""
        rows: Any = table(self.result)
        sure = rows[rows["q"] <= LEVEL]
        has_written = "written" in self.result and int(self.result["produced"]) > 0
        lists: list[list[Part]] = [[text(_two_lists(self.result))]] if has_written else []
        if sure.empty:
            return lists
        names: list[Part] = []
        for position, row in enumerate(sure.head(_NAMED).itertuples()):
            head = Head.at(row)
            names += [
                *comma(position),
                head_name(head, self._reason(row.score)),
                text(f" ({percent(row.score)})"),
            ]
        more = f" and {len(sure) - _NAMED} more" if len(sure) > _NAMED else ""
        verb = "head looks" if len(sure) == 1 else "heads look"
        opening = sentence(
            f"{len(sure)} {verb} at the token that the model copies from far back: ", *names, more
        )
        if "accuracy" not in self.result:
            return [[*opening, text(".")], *lists]
        every, top, others = (float(value) for value in self.result["accuracy"].values[:3])
        k = self.result.sizes["top"]
        few, rest = ("the top head", "another") if k == 1 else (f"the top {k} heads", f"{k} others")
        return [
            [
                *opening,
                text(
                    f". Of the questions for it the model answers {every:.0%}, without {few} "
                    f"{top:.0%}, without {rest} {others:.0%}."
                ),
            ],
            *lists,
        ]

    def _reason(self, score: float) -> Reason:
        example, pin = self.seen or (None, None)
        return because(
            "looks at the token that is copied",
            percent(score),
            OVER,
            example=example,
            pin=pin,
            measure=None if self.seen else "largest",
        )

    def _answers(self) -> list[Block]:
        if "accuracy" not in self.result:
            return []
        k = self.result.sizes["top"]
        labels = {
            "top k": "top head" if k == 1 else f"top {k} heads",
            "k others": "another head" if k == 1 else f"{k} other heads",
        }
        shares = [name for name in ("accuracy", "known") if name in self.result]
        names = [f"{name}{end}" for name in shares for end in ("", "_low", "_high")]
        rows: Any = self.result[names].to_dataframe().reset_index()
        for short, name in labels.items():
            rows["condition"] = rows["condition"].str.replace(short, name, regex=False)
        cells = [
            cell(name, f"{name}_low", f"{name}_high")
            for name in shares
            for cell in (blocks.bar, blocks.figure)
        ]
        return [
            blocks.table(
                "answers",
                rows,
                ("condition", *names),
                ("condition", *cells),
                of="retrieval",
                title="Answers without heads",
            )
        ]


def _two_lists(result: Any) -> str:
    """The heads that write most of the answer, and how far they are those that look at it."""
    names = ", ".join(f"{head} ({float(score):.2f})" for head, score in _most_written(result))
    shared, low, high, by_chance = (float(result[f"shared{end}"]) for end in ("", "_low", "_high", "_chance"))
    lines = [f"From the needle most is written to the answer's logit by {names}."]
    if shared == shared:
        halves, needed = result["halves"].values, result["halves_needed"].values
        lines.append(
            f"Of half of the needles each, the two lists' first {TOP} share {shared:.2f} ({low:.2f} to {high:.2f}; "
            f"chance {by_chance:.2f}), each list with itself {halves[0]:.2f} and {halves[1]:.2f}; .9 takes about "
            f"{needed[0]:.0f} and {needed[1]:.0f} needles."
        )
    return " ".join(lines)


def _most_written(result: Any) -> list[tuple[Head, float]]:
    layers, scores = result["layer"].values.tolist(), result["written"].values
    return [(Head(layers[layer], head), scores[layer, head]) for layer, head in highest(scores)[:_NAMED]]


def _templates(result: Any) -> list[Block]:
    """The highest heads without and with the chat template, and how many are in both lists."""

    if "chat" not in result:
        return []
    layers = result["layer"].values.tolist()
    scores = (result["retrieval"].values, result["chat"].values)
    top = min(TOP, len(highest(scores[0])) // 2)
    without, within = (
        ", ".join(str(Head(layers[layer], head)) for layer, head in highest(score)[:top]) for score in scores
    )
    share = float(result["overlap"])
    both = (
        f"{round(share * top)} of {top} are in both lists ({float(result['overlap_chance']) * top:.1f} by chance)"
        if share == share
        else "a list without scores has no overlap"
    )
    produced = int(result["chat_produced"])
    line = (
        f"Highest without the chat template: {without or 'none'}; with it ({plural(produced, 'token')} produced): "
        f"{within or 'none'}; {both}"
    )
    return [blocks.paragraph(f"{line}.", tone="note")]


def section(study: Study) -> list[Section]:
    """Retrieval of a causal model, and an example; nothing of other models, and why where there is nothing to say."""
    if not study.model.causal or study.model.encoder_decoder:
        return []
    try:
        result = retrieved(study)
    except (InputError, RefusedError) as error:
        study.absent["retrieval"] = str(error)
        return []
    if not int(result["produced"]):
        study.absent["retrieval"] = "the model produced no token of an answer to a needle"
        return []
    seen = _shown(study)
    if seen is not None:
        example, pin = seen
        after = Pin(side=pin["side"], place=pin["place"] + 1)
        study.seen.update({"retrieval": seen, "induction": (example, after), "duplicate": (example, after)})
    meta = description(result)
    words = ("--needles", meta["needles"], "--length", meta["lengths"][0], "-k", meta["k"])
    command = study.typed and study.typed.alone("retrieval", *map(str, words))
    return [Retrieval(result, seen, command)]


def _shown(study: Study) -> Seen | None:
    """A short needle among the page's examples, and the token after which its answer is produced."""
    pages = study.gallery
    needle = _short(study)
    if needle is None:
        return None
    pages.room()
    example = pages.add(Example(tokens=needle.tokens))
    return None if example is None else (example, Pin(side="from", place=needle.answer[0] - 1))


def _short(study: Study) -> Needle | None:
    words = words_of(builtin(pack=None))
    for length in SHORT:
        try:
            return hidden(study.model, words, 1, (length,), seed=0)[0]
        except (InputError, RefusedError):
            continue
    return None
