"""What each head writes, and why it looks there, from its weights alone.

The section on what heads write: by their weights, and what they add to one token that the model says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.attribute.run import attribute
from headscope.analyses.attribute.run import table as terms_of
from headscope.analyses.result import returns_result
from headscope.analyses.study import LEVEL, Seen, Study
from headscope.analyses.writes import statistics
from headscope.attention.circuits import Circuits, circuits
from headscope.attention.residual import token_id, unembedding
from headscope.core.counts import layers_by_heads, plural
from headscope.core.heads import AnyHead, Head
from headscope.core.types import AnyDict
from headscope.core.validation import Count, Seed, validated
from headscope.errors import InputError, RefusedError
from headscope.measures.dataset import description
from headscope.models import Model
from headscope.models.pieces import shown_piece
from headscope.runs.long import described
from headscope.runs.options import COMMAND
from headscope.statistics.jackknife import share_interval
from headscope.views import blocks, digits
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block, BlocksSection, CellInfo, TableBlock
from headscope.views.digits import percent
from headscope.views.explorer import Input
from headscope.views.payload import Part, Reason
from headscope.views.reasons import because
from headscope.views.section import Section
from headscope.views.sentences import comma, head_name, sentence, text, token

OFFSETS = 64
"""Offsets that are scored, from 0."""

DRAWS = 20
"""Random rotations behind the chance line of a copying score."""


@returns_result
@validated
def writes(
    model: Model,
    head: AnyHead | None = None,
    *,
    tokens: Sequence[str | int] | None = None,
    k: Count = 10,
    sample: Count = 256,
    seed: Seed = 0,
) -> xr.Dataset:
    """What heads write when they look at a token, and which tokens they would look at: no input, only weights.

    A head that looks at a token adds ``W_U W_O W_V`` of it to the logits. Here the token is its **embedding of unit
    size through the norm's weights of the head's own layer**: what the head would read if no layer before it had
    written. A norm after attention and the final norm are frozen at unit size too; biases are left out, and logits
    are less their mean over all tokens. So their sizes can be compared between tokens, not between heads.

    - **copying score**: the eigenvalues of that map from tokens to tokens, their sum over the sum of their sizes; 1
      for a head that promotes what it looks at, -1 for one that suppresses it. Those of the small matrix
      ``W_V W_E W_U W_O`` are the same. Its chance line, p and q come from random rotations between reading and
      writing.
    - **positive**: the share of those eigenvalues that are positive, by chance a half. The score is often that of one
      large eigenvalue, of frequent against rare tokens; the share is not.
    - **itself**: of tokens sampled evenly from the vocabulary, the share that promote themselves among the top k.
    - **prefers**: the sampled tokens with the largest score as keys for the token as a query, both **at one position**:
      rotations (RoPE) cancel there.
    - **offset**: how far back the mean key of the sampled tokens has the largest score for their mean query, and by how
      much more than at the mean offset. Missing where scores do not depend on it: positions that are learned, no RoPE.

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Olsson et al. 2022.

    Args:
        model: a causal language model from `headscope.load`, in float32 or float64.
        head: such as ``"L5H1"`` or ``"5.1"``; by default all.
        tokens: what they look at: texts of one token each (mind the space: ``" Paris"``), pieces or ids. By default,
            for each head, the sampled token at which it promotes one most.
        k: how many tokens are named.
        sample: how many tokens are sampled; special ones are none of them.
        seed: of the sample and the rotations.

    Returns:
        A dataset over ``(layer, head)``: ``copying`` with its chance, p and q, ``positive`` with its
        chance, ``itself`` with its interval
        and ``itself_chance``; over ``(layer, head, at)`` the ``token``; over ``(layer, head, at, rank)`` what is
        ``promoted`` with its ``logit`` and what is ``preferred`` with its ``score``; ``offset_score`` over
        ``(layer, head, offset)``, less its mean. Its table has one row a head and token.

    Raises:
        InputError: no such head or token, or k of more tokens than there are.
        RefusedError: an encoder, or a model whose layers do not read one residual stream through a norm and add to it,
            which the message names; weights of half precision.

    >>> import transformers
    >>> config = transformers.GPT2Config(vocab_size=90, n_embd=8, n_layer=2, n_head=2, n_positions=8)
    >>> small = headscope.load(transformers.GPT2LMHeadModel(config))
    >>> found = writes(small, tokens=[7], k=3, sample=20)
    >>> found["copying"].shape, found["promoted"].dims
    ((2, 2), ('layer', 'head', 'at', 'rank'))
    >>> float(found["itself_chance"]) == 3 / 90
    True
    """
    rows, embedded = unembedding(model).out_features, model.embedding_rows or 0
    if k > rows:
        raise InputError(f"k: expected at most the {rows:,} tokens of {model.name}, found {k:,}")
    if tokens is not None and not len(tokens):
        raise InputError("tokens: expected at least one, found none")
    asked = [token_id(model, token) for token in tokens or ()]
    drawn = _sampled(model, min(rows, embedded), sample, seed)
    one = None if head is None else Head.of(head)
    ids = list(dict.fromkeys([*asked, *drawn]))
    weights = circuits(model, ids, min(OFFSETS, model.max_length or OFFSETS))
    layers = [
        circuit
        for circuit in weights.layers
        if one is None or (circuit.layer == one.layer and 0 <= one.head < len(circuit.read))
    ]
    if not layers:
        raise InputError(
            f"head: expected a head of {layers_by_heads(len(layer.read) for layer in weights.layers)}, found {one}"
        )
    piece = partial(shown_piece, model.tokenizer)
    heads = range(max(len(circuit.read) for circuit in layers)) if one is None else [one.head]
    shape = (len(layers), len(heads))
    figures = {name: np.full(shape, np.nan) for name in statistics.FIGURES}
    spots = len(asked) or 1
    names = {name: np.full((*shape, spots, k), "", object) for name in ("promoted", "preferred")}
    sizes = {name: np.full((*shape, spots, k), np.nan) for name in ("logit", "score")}
    token = np.full((*shape, spots), "", object)
    offsets = np.full((*shape, layers[0].offsets.shape[-1]), np.nan)
    product = weights.product()
    for place, circuit in enumerate(layers):
        there = [column for column, number in enumerate(heads) if number < len(circuit.read)]
        numbers = [heads[column] for column in there]
        read, write = (matrix[numbers].double() for matrix in (circuit.read, circuit.write))
        inner = torch.einsum("hds,st,het->hde", read, product, write).cpu().numpy()
        for name, scores in statistics.eigenvalue_scores(inner, DRAWS, seed).items():
            figures[name][place, there] = scores
        for column, number in zip(there, numbers, strict=True):
            spot = (place, column)
            logits = _logits(weights, circuit.read[number], circuit.write[number], ids)
            promoted = logits[[ids.index(entry) for entry in drawn]]
            figures["itself"][spot] = float(_themselves(promoted, drawn, k).double().mean())
            most = [ids.index(entry) for entry in asked] or [
                ids.index(drawn[int(promoted.amax(-1).argmax())])
            ]
            keys = min(k, len(ids))
            best, preferred = logits[most].topk(k), circuit.scores[number][most].topk(keys)
            sizes["logit"][spot], sizes["score"][spot][:, :keys] = best.values.cpu(), preferred.values.cpu()
            token[spot] = [piece(ids[which]) for which in most]
            ranks: list[list[list[int]]] = [cast("Any", top.indices).tolist() for top in (best, preferred)]
            names["promoted"][spot] = [[*map(piece, row)] for row in ranks[0]]
            names["preferred"][spot][:, :keys] = [[piece(ids[which]) for which in row] for row in ranks[1]]
            by_offset = circuit.offsets[number].cpu().numpy()
            if np.isfinite(by_offset).any():
                offsets[spot] = by_offset - np.nanmean(by_offset)
    count = np.full(shape, float(len(drawn)))
    figures["itself_low"], figures["itself_high"] = share_interval(figures["itself"], np.zeros(shape), count)
    del figures["copying_q"]  # is taken of all heads at once
    values: AnyDict = {name: (("layer", "head"), array) for name, array in figures.items()}
    values |= {name: (("layer", "head", "at", "rank"), array) for name, array in (names | sizes).items()}
    values["token"] = ("layer", "head", "at"), token
    values["offset_score"] = ("layer", "head", "offset"), offsets
    meta = {
        "model": described(model, ())["model"],
        "head": None if one is None else str(one),
        "k": k,
        "sample": len(drawn),
        "seed": seed,
        "command": COMMAND.get(),
    }
    return statistics.dataset(values, [circuit.layer for circuit in layers], heads, k / rows, meta)


def _sampled(model: Model, rows: int, count: int, seed: int) -> list[int]:
    """Ids drawn evenly, without special tokens and rows that no token has."""
    special: set[int] = set()
    if model.tokenizer is not None:
        rows = min(rows, len(model.tokenizer))
        special = {*model.tokenizer.all_special_ids, *model.tokenizer.added_tokens_decoder}
    plain = np.array([number for number in range(rows) if number not in special])
    drawn = np.random.default_rng(seed).choice(plain, min(count, len(plain)), replace=False)
    return sorted(int(number) for number in drawn)


def _logits(weights: Circuits, read: Tensor, write: Tensor, ids: Sequence[int]) -> Tensor:
    """What a head adds to the logits when it looks at tokens, ``[token, logit]``."""
    return (weights.embedding[list(ids)] @ read.T) @ (weights.unembedding @ write.T).T


def _themselves(logits: Tensor, ids: Sequence[int], k: int) -> Tensor:
    """Whether each token is among the k that it promotes most; ties count against it."""
    itself = logits.gather(1, torch.as_tensor(ids, device=logits.device)[:, None])
    return (logits >= itself).sum(-1) <= k


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
                *("After ", token(str(meta["after"]))),
                *(" the model says ", token(str(meta["token"]))),
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
