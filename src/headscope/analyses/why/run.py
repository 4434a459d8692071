"""Which part of a prompt made an answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.result import returns_result
from headscope.analyses.sentences.run import split
from headscope.analyses.why import statistics
from headscope.analyses.why.asked import AskedPrompt, ask
from headscope.analyses.why.given import Answer, Given
from headscope.analyses.why.passes import Hide, Masked, Passes, Slopes, by_head
from headscope.analyses.why.spans import Source, Spans, cut
from headscope.analyses.why.view import kept
from headscope.attention.one import running
from headscope.attention.parts import doubles
from headscope.attention.recording import recording
from headscope.core.arrays import Bools, Floats
from headscope.core.audio import Audio
from headscope.core.heads import Head
from headscope.core.pictures import with_video
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Number, Seed, validated
from headscope.errors import InputError, RefusedError
from headscope.measures.dataset import describe
from headscope.models import Model
from headscope.models.model import expect_text_alone
from headscope.runs.long import described
from headscope.runs.options import COMMAND

FEW = 20
"""Up to so many spans are all masked."""

TOP = 3
"""So many spans are masked together, and each two of them."""

Exact = Count | Literal["all"]


@returns_result
@validated
def why(
    model: Model,
    prompt: Given | None = None,
    answer: Answer = None,
    spans: Spans = "sentence",
    exact: Exact = 5,
    *,
    image: Any = None,
    video: Any = None,
    audio: Audio | None = None,
    tools: Sequence[AnyMapping] | None = None,
    documents: Sequence[AnyMapping] | None = None,
    part: tuple[int, int] | None = None,
    against: Answer = None,
    position: Number | None = None,
    delete: bool = False,
    through: Number = 0,
    subsets: Number = 0,
    anew: bool = False,
    max_new_tokens: Count = 60,
    batch_size: Count = 8,
    seed: Seed = 0,
) -> xr.Dataset:
    """Which part of the prompt made this answer? Spans by what its log-probability loses without them, in nats.

    - **estimate**: the derivative of the answer's log-probability by a bias that is added to what softmax is taken of,
      at the keys of a span and in the rows of all later tokens (in a model that sees both sides, of all others), in
      all layers and heads at once. One backward pass gives it for every span and head.
    - **effect**: what the answer loses where those rows do not see the span. Up to 20 spans are all masked, of more the
      `exact` with the largest estimates (overall, and the first two of each statement). Their **joint** effect, the
      first three together, is measured always: where a fact is said twice, either alone does little.
    - **agreement**: the rank correlation of both over the spans that were masked. Where it is low the order is not to
      be believed; where not all were masked it says nothing of the others.
    - **p**: that any token of the vocabulary would lose as much as the answer's do
      (`headscope.analyses.why.statistics.specific`); **q** for all spans. Only for answers of words.
    - **interval**: over the answer's tokens, by the jackknife; none with fewer than 48, or where fewer than 5
      lose or gain ln 2.
    - **lexical**: the share of the answer's words that stand in a span; **attention**: how much the rows that give the
      answer look at it. Neither is an effect.

    A long answer is cut into statements, its sentences, each with its own effects. In a causal model the first token is
    in no span: heads park their attention there, and without it a model is another one. Tokens of a span still see each
    other, and each token itself. What layers without attention maps carry (state spaces) is not masked.

    Source: Cohen-Wang et al. 2024, "ContextCite"; Park et al. 2023, "TRAK" (the linear datamodelling score); Geva et
    al. 2023, "Dissecting Recall of Factual Associations" (attention knockout).

    Args:
        model: from `headscope.load`: one that writes, or one that gives classes, labels, words for masks, or a stretch
            of its input.
        prompt: a text; a pair ``(A, B)``; a conversation, whose last message may be the answer; ids, such as a server
            logged; or `Tokens`, of which those of the class ``generated`` are the answer.
        answer: a text that follows the prompt (mind the space), ids, or a class by its name or number; by default what
            the model says. Of a model that takes its answer from the text, a text in it.
        spans: what the prompt is cut into: ``sentence``, ``line``, ``paragraph``, ``document``, ``message``, ``call``
            (of a tool) and its ``result``, ``tool``, ``part`` (all of these, beside each other), ``word``,
            ``token``, ``image`` (4 × 4 cells of a picture) or ``sound`` (seconds of it); several
            from the largest to the smallest, such as ``["document", "sentence"]``, which share one pass; or a list of
            your own: characters ``(start, end)``, texts of the prompt, boxes ``(left, top, right, bottom)`` or seconds.
        exact: how many spans are masked where there are more than 20; ``"all"`` for every one.
        image: a picture, or several, alone or beside the prompt, as in `headscope.capture`.
        video: a video in place of it, as in `headscope.capture`.
        audio: a sound, as in `headscope.capture`.
        tools: tools that a conversation's template writes.
        documents: documents that a conversation's template writes.
        part: characters of the answer, from and to: only these tokens are explained.
        against: another answer: why this rather than that? Estimates and effects are of the difference of both
            log-probabilities; it has no p, q and interval. What words and statements lose stays the answer's own.
        position: of a masked language model the token that is hidden, and whose word is the answer, if the text has no
            mask; of a model of labels the token whose label it is.
        delete: also what the answer loses where each of those spans is deleted; positions move then.
        through: of so many heads, those with the largest estimates for the first span, what the answer loses where they
            alone do not see it: each, all together, and as many heads at random.
        subsets: so many random halves of the spans are masked, and what the scores say of them is set beside it: the
            linear datamodelling score.
        anew: also what the model writes where each of those spans is masked.
        max_new_tokens: how many tokens the model writes at most.
        batch_size: prompts that run at once, at most.
        seed: of the random subsets and heads.

    Returns:
        A dataset over ``(span)``: ``estimate``; ``masked`` (NaN where not measured) with ``_low`` and ``_high``, ``p``
        and ``q``; ``deleted``, ``lexical``, ``attention``. Over ``(place, head, span)`` ``estimate_by_head``; over
        ``(span, token)`` the ``drop`` of each token; over ``(statement, span)`` ``statement_masked`` and others.
        ``context`` is what all spans together give, ``joint`` what the first three do, ``agreement``,
        ``lexical_agreement``, ``datamodelling``; over ``(pair)`` ``together`` and ``interaction``, what of it is no
        sum; over ``(through)`` ``through_masked``. Its table has one row a span; its ``view()`` is the prompt, shaded.

    Raises:
        InputError: no such span or answer, or nothing that it could be set against.
        RefusedError: a model that gives no such answer, or attends to the prompt along no one axis.

    >>> import transformers
    >>> config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=2, n_head=2, n_positions=16)
    >>> small = headscope.load(transformers.GPT2LMHeadModel(config))
    >>> found = why(small, headscope.Tokens(list("abcdef"), ids=[3, 4, 5, 6, 7, 8]), [9, 10], spans="token")
    >>> found["masked"].dims, found["estimate_by_head"].shape
    (('span',), (2, 2, 5))
    """
    expect_text_alone(model)
    image = with_video(image, video)
    asked = ask(
        model,
        prompt,
        answer,
        image=image,
        audio=audio,
        tools=tools,
        documents=documents,
        part=part,
        position=position,
        max_new_tokens=max_new_tokens,
    )
    other = None
    if against is not None:
        try:
            other = ask(
                model,
                prompt,
                against,
                image=image,
                audio=audio,
                tools=tools,
                documents=documents,
                position=position,
            )
        except InputError as error:
            raise InputError(str(error).replace("answer:", "against:", 1)) from error
        expect_another(asked, other)
    sources = cut(asked.prompt, spans, sinks=model.causal)
    explained = Explained(asked, sources, batch_size, other)
    result = explained.measure(exact, delete=delete, through=through, subsets=subsets, anew=anew, seed=seed)
    meta = {
        "model": described(model, ())["model"],
        "prompt": asked.prompt.text,
        "answer": asked.text,
        "generated": asked.generated,
        "kind": asked.kind,
        "joint": explained.top,
        "subsets": subsets,
        "through": explained.through,
        "passes": round(sum(passes.runs for passes in explained.both), 2),
        **({} if other is None else {"against": other.text}),
        "command": COMMAND.get(),
    }
    return result.assign(kept(asked, sources)).assign_attrs(describe(meta))


def expect_another(asked: AskedPrompt, other: AskedPrompt) -> None:
    """Refuse what is no other answer to the same prompt."""
    if asked.targets.tolist() == other.targets.tolist():
        raise InputError(f"against: expected another answer than {asked.text!r:.60}, found the same")
    if asked.characters is not None:
        raise InputError("against: expected the whole answer, found a part of it")
    ids, others = (one.prompt.tokens.ids for one in (asked, other))
    if ids is not None and others is not None and ids.tolist() != others.tolist():
        raise InputError(
            "against: expected the answer beside the prompt (answer), found it at the prompt's end"
        )


class Explained:
    """What is measured of one prompt and its answer, or of the difference to another one.

    Attributes:
        each: the passes of the answer, and of the other one.
        top: the spans that are masked together.
        through: the span whose heads are masked, and what the answer loses without all of them, and without others.
    """

    def __init__(
        self,
        asked: AskedPrompt,
        sources: Sequence[Source],
        batch_size: int,
        other: AskedPrompt | None = None,
    ) -> None:
        self.asked, self.sources, self.other = asked, sources, other
        self.both = [Passes(one, sources, batch_size) for one in (asked, other) if one is not None]
        self.passes = self.both[0]
        self.top: list[int] = []
        self.through: AnyDict = {}
        self.slopes: Slopes = Slopes()
        self.other_slopes: Slopes | None = None
        self._words = asked.kind in ("text", "masked")

    def measure(
        self,
        exact: Exact,
        *,
        delete: bool = False,
        through: int = 0,
        subsets: int = 0,
        anew: bool = False,
        seed: int = 0,
    ) -> xr.Dataset:
        """All that was asked for, labelled. Raises `RefusedError` for what this model or prompt does not allow."""
        asked, count = self.asked, len(self.sources)
        if delete:
            asked.without([])
        if anew and (not asked.written or asked.model.tokenizer is None):
            raise RefusedError(
                f"{asked.model.name}: writes anew only what follows a prompt, with a tokenizer"
            )
        statements = self._statements()
        groups = self._groups(statements)
        every = exact == "all" or count <= FEW
        apart = len(groups) > 1 and not every and self.other is None
        counted = groups if apart else asked.part[None]
        self.slopes = self.passes.slopes(torch.as_tensor(counted.astype(np.float64)))
        if self.other is not None:
            self.other_slopes = self.both[1].slopes(torch.as_tensor(self.other.part[None].astype(np.float64)))
        estimates = np.stack([np.nansum(self._by_head(number), (0, 1)) for number in range(len(counted))])
        estimate = estimates.sum(0)
        chosen = list(range(count)) if every else self._chosen(int(exact), estimate, estimates)
        drops = np.full((count, len(asked.targets)), np.nan)
        p = np.full((1 + len(groups), count), np.nan)

        def receive(rows: Sequence[int], scores: Tensor) -> None:
            lost = self._lost(scores)
            for row, one, logits in zip(rows, lost, scores, strict=True):
                drops[chosen[row]] = one
                if self._words:
                    p[:, chosen[row]] = statistics.specific(
                        doubles(self.slopes.scores),
                        doubles(logits),
                        asked.targets,
                        np.vstack([asked.part[None], groups]),
                    )

        self.passes.masked([Masked((span,)) for span in chosen], receive)
        figures = self._figures(drops, estimate, p[0])
        if self.other is not None:
            figures["masked"][chosen] -= self._totals(1, [Masked((span,)) for span in chosen])
            for name in ("masked_low", "masked_high", "p", "q"):
                figures[name][:] = np.nan
        effects = figures["masked"]
        self.top = self._apart(effects, estimate)
        if delete:
            for span in chosen:
                lost = [
                    self._total(number, passes.deleted([span])) for number, passes in enumerate(self.both)
                ]
                figures["deleted"][span] = lost[0] - sum(lost[1:])
        heads = self._by_head()
        variables: AnyDict = {
            **{name: ("span", values) for name, values in figures.items()},
            **self._together(effects),
            "log_probability": float(self.slopes.log_p[torch.as_tensor(asked.part)].sum()),
            "agreement": statistics.agreement(estimate, effects),
            "lexical_agreement": statistics.agreement(figures["lexical"], effects),
            **(self._datamodelling(subsets, estimate, effects, seed) if subsets else {}),
            "estimate_by_head": (("place", "head", "span"), heads),
            "drop": (("span", "token"), drops),
            "log_likelihood": ("token", doubles(self.slopes.log_p)),
            "statement_masked": (
                ("statement", "span"),
                np.stack([drops[:, group].sum(1) for group in groups]),
            ),
            "statement_p": (("statement", "span"), p[1:]),
            "statement_q": (("statement", "span"), statistics.adjusted(p[1:])),
            **self._heads(through, seed),
        }
        if self.other_slopes is not None:
            variables["against_log_probability"] = float(self.other_slopes.log_p.sum())
        elif len(counted) == len(groups):
            variables["statement_estimate"] = (("statement", "span"), estimates)
        places = [np.flatnonzero(source.tokens) for source in self.sources]
        coords: AnyDict = {
            "span": np.arange(count),
            **{
                name: ("span", [getattr(source, name) for source in self.sources])
                for name in ("level", "text", "start", "end", "parent")
            },
            "first_token": ("span", [int(tokens[0]) for tokens in places]),
            "last_token": ("span", [int(tokens[-1]) for tokens in places]),
            "tokens": ("span", [len(tokens) for tokens in places]),
            "piece": ("token", list(asked.pieces)),
            "written": ("token", list(asked.texts)),
            "part": ("place", [part for part, _ in self.slopes.places]),
            "layer": ("place", [layer for _, layer in self.slopes.places]),
            "head": np.arange(heads.shape[1]),
            "statement": np.arange(len(statements)),
            "statement_text": ("statement", ["".join(asked.texts[start:end]) for start, end in statements]),
            "statement_first": ("statement", [start for start, _ in statements]),
            "statement_end": ("statement", [end for _, end in statements]),
            **({"without": ("span", self._anew(chosen))} if anew else {}),
        }
        result = xr.Dataset(variables, coords).set_coords(
            {"first", "second", "through_place", "through_head"} & {*variables}
        )
        for name, (_, units, about) in statistics.FIGURES.items():
            result[name].attrs |= {"units": units, "description": about}
        return result

    def _statements(self) -> list[tuple[int, int]]:
        """The sentences of a text that was written, by the first of their tokens and the one after the last."""
        asked = self.asked
        tokens = np.flatnonzero(asked.part)
        ends = np.cumsum([len(text) for text in asked.texts])
        starts = ends - [len(text.lstrip()) for text in asked.texts]
        statements: list[tuple[int, int]] = []
        for begin, end in split(asked.text) if asked.kind == "text" else ():
            here = tokens[(starts[tokens] >= begin) & (starts[tokens] < end)]
            if len(here):
                statements.append((int(here[0]), int(here[-1]) + 1))
        return statements or [(int(tokens[0]), int(tokens[-1]) + 1)]

    def _groups(self, statements: Sequence[tuple[int, int]]) -> Bools:
        places = np.arange(len(self.asked.targets))
        return np.stack([(places >= start) & (places < end) & self.asked.part for start, end in statements])

    @staticmethod
    def _chosen(exact: int, estimate: Floats, estimates: Floats) -> list[int]:
        """The spans with the largest estimates, overall and the first two of each statement."""
        chosen = {*np.argsort(-estimate, kind="stable")[:exact].tolist()}
        for one in estimates if len(estimates) > 1 else ():
            chosen |= {*np.argsort(-one, kind="stable")[:2].tolist()}
        return sorted(chosen)

    def _by_head(self, statement: int | None = None) -> Floats:
        """Estimates of the answer, less those of the other one."""
        made = by_head(self.slopes, statement)
        return made if self.other_slopes is None else made - by_head(self.other_slopes)

    def _lost(self, scores: Tensor) -> Floats:
        """What each of the answer's tokens loses, ``[row token]``."""
        return doubles(self.slopes.log_p - self.asked.log_p(scores))

    def _figures(self, drops: Floats, estimate: Floats, p: Floats) -> dict[str, Floats]:
        none = np.full(len(drops), np.nan)
        figures = {name: none.copy() for name in statistics.FIGURES}
        for span in np.flatnonzero(np.isfinite(drops[:, 0])):
            ends = statistics.effect(drops[span][self.asked.part])
            for name, value in zip(("masked", "masked_low", "masked_high"), ends, strict=True):
                figures[name][span] = value
        attention = [values.double().mean(0) for values in self.slopes.attention.values()]
        figures |= {
            "estimate": estimate,
            "p": p,
            "q": statistics.adjusted(p),
            "lexical": statistics.lexical(self.asked.text, [source.text for source in self.sources]),
            "attention": doubles(torch.stack(attention).mean(0)),
        }
        return figures

    def _apart(self, effects: Floats, estimate: Floats) -> list[int]:
        """The spans of the largest effects, apart from each other: what does little alone may do much together."""
        top: list[int] = []
        order: list[int] = np.argsort(-np.nan_to_num(effects, nan=-np.inf), kind="stable").tolist()
        for span in order:
            tokens = self.sources[span].tokens
            free = not any(bool((self.sources[other].tokens & tokens).any()) for other in top)
            promising = effects[span] > 0 or (np.isfinite(effects[span]) and estimate[span] > 0)
            if promising and free and len(top) < TOP:
                top.append(span)
        return top or order[:1]

    def _drops(self, every: Sequence[Masked]) -> list[float]:
        """What the answer loses by each."""
        lost = [self._totals(number, every) for number in range(len(self.both))]
        return (lost[0] - sum(lost[1:])).tolist()

    def _totals(self, number: int, every: Sequence[Masked]) -> Floats:
        """What one of both answers loses by each."""
        passes, lost = self.both[number], np.zeros(len(every))

        def receive(rows: Sequence[int], scores: Tensor) -> None:
            for row, one in zip(rows, passes.asked.log_p(scores), strict=True):
                lost[row] = self._total(number, one)

        passes.masked(every, receive)
        return lost

    def _total(self, number: int, log_p: Tensor) -> float:
        """How much less likely one of both answers is, by the log-probability of its tokens."""
        before = (self.slopes, self.other_slopes)[number]
        assert before is not None
        return float(doubles(before.log_p - log_p)[self.both[number].asked.part].sum())

    def _together(self, effects: Floats) -> AnyDict:
        """What all spans there are lose together, the first of them, and each two of these."""
        two = list(combinations(self.top, 2))
        every = [Masked(tuple(range(len(self.sources)))), Masked(tuple(self.top)), *map(Masked, two)]
        context, joint, *lost = self._drops(every)
        made = {"context": context, "joint": joint}
        if not two:
            return made
        first, second = zip(*two, strict=True)
        sums = effects[list(first)] + effects[list(second)]
        pairs = {"first": first, "second": second, "together": lost, "interaction": lost - sums}
        return {**made, **{name: ("pair", list(values)) for name, values in pairs.items()}}

    def _datamodelling(self, subsets: int, estimate: Floats, effects: Floats, seed: int) -> dict[str, float]:
        """How what scores say of random subsets goes with what is lost without them (Park et al. 2023)."""
        parents = {source.parent for source in self.sources}
        leaves = [span for span in range(len(self.sources)) if span not in parents]
        gone = np.random.default_rng(seed).random((subsets, len(leaves))) < 0.5
        gone[~gone.any(1), 0] = True
        lost = self._drops([Masked(tuple(np.array(leaves)[row].tolist())) for row in gone])
        made = {"datamodelling": statistics.agreement(gone @ estimate[leaves], np.array(lost))}
        known = np.isfinite(effects[leaves]).all()
        made["datamodelling_masked"] = (
            statistics.agreement(gone @ effects[leaves], np.array(lost)) if known else float("nan")
        )
        return made

    def _heads(self, count: int, seed: int) -> AnyDict:
        """What the answer loses where some heads alone do not see the first span."""
        if not count or not self.top:
            return {}
        span, places = self.top[0], self.slopes.places
        values = self._by_head()[:, :, span]
        there: list[tuple[int, int]] = [(at, head) for at, head in np.argwhere(np.isfinite(values)).tolist()]
        order = sorted(there, key=lambda spot: -abs(values[spot]))[:count]
        others = [spot for spot in there if spot not in order]
        drawn = np.random.default_rng(seed).permutation(len(others))[:count]

        def named(spots: Sequence[tuple[int, int]]) -> frozenset[tuple[str, Head]]:
            return frozenset((places[at][0], Head(places[at][1], head)) for at, head in spots)

        groups: list[list[tuple[int, int]]] = [
            *([spot] for spot in order),
            order,
            [others[at] for at in drawn],
        ]
        lost = self._drops([Masked((span,), named(spots)) for spots in groups])
        self.through = {"span": span, "together": lost[-2], "others": lost[-1]}
        columns = {
            "place": [at for at, _ in order],
            "head": [head for _, head in order],
            "estimate": [float(values[spot]) for spot in order],
            "masked": lost[: len(order)],
        }
        return {f"through_{name}": ("through", column) for name, column in columns.items()}

    def _anew(self, chosen: Sequence[int]) -> list[str]:
        """What the model writes where each span is masked."""
        asked, model = self.asked, self.asked.model
        texts = [""] * len(self.sources)
        prompt = len(asked.prompt.tokens)
        ready = {
            name: value[:, :prompt]
            if isinstance(value, Tensor) and value.shape[:2] == (1, asked.length)
            else value
            for name, value in asked.ready.items()
            if name != "use_cache"
        }
        for span in chosen:
            hide = Hide(self.passes, [Masked((span,))], grows=True)
            with (
                torch.no_grad(),
                recording(model.module, hide),
                running(model, ready),
            ):
                write: Any = model.module.generate  # pyright: ignore[reportAttributeAccessIssue]
                ids = write(**ready, max_new_tokens=len(asked.targets), do_sample=False)[0][prompt:]
            tokenizer: Any = model.tokenizer
            texts[span] = str(tokenizer.decode(ids, skip_special_tokens=True))
        return texts
