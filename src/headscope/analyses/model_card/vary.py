"""What moves a list: its highest heads under another template, dtype, attention or cache, on the same inputs."""

from __future__ import annotations

import copy
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from tokenizers.processors import TemplateProcessing

from headscope.analyses.contribution.importance import NAME as IMPORTANCE
from headscope.analyses.contribution.importance import by_gates
from headscope.analyses.measure.run import measure
from headscope.analyses.roles.definitions import roles_on
from headscope.analyses.roles.retrieval.needles import Needle, hidden, words_of
from headscope.analyses.roles.retrieval.run import looked_at, produced
from headscope.analyses.roles.run import NEEDLE_TEXT, NEEDLES, SEQUENCES, repeated_tokens
from headscope.attention.load import load
from headscope.attention.objective import objective
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import evaluating, recording
from headscope.core.arrays import Arrays, Floats, of_layers
from headscope.core.heads import Head
from headscope.core.types import AnyDict, AnyMapping
from headscope.corpora import Corpus, readers
from headscope.errors import HeadscopeError, InputError
from headscope.models import Model
from headscope.models.chat import Rendered
from headscope.runs.options import RunOptions
from headscope.statistics.overlap import TOP

MOST = 64
"""Inputs of whose objective the gradient is taken, at most."""

Varied = Literal["template", "special", "dtype", "attention", "cache"]
"""The chat template around each text, special tokens around none, weights in bfloat16, attention in eager mode or by
scaled products, and answers decoded token by token with a cache."""

Scores = dict[str, dict[Head, float]]
"""Of each list the scores of its heads."""


def vary(
    model: Model, corpus: Corpus, names: Sequence[Varied], lists: Sequence[str], seed: int, limit: int | None
) -> dict[str, AnyDict]:
    """By what is varied and by list: what the highest heads share with the model's as it is, by chance, and which they
    are; or why that is not told. Lists are those of roles on the corpus, of induction, importance
    and retrieval; that of copying is told from the weights alone."""
    plain = _scores(model, corpus, lists, seed, limit)
    varied: dict[str, AnyDict] = {}
    for name in names:
        varied[name] = (
            {"copying": "it is told from the weights as they are stored"} if "copying" in lists else {}
        )
        try:
            with _other(model, name) as other:
                other_scores = _scores(other, corpus, lists, seed, limit, name)
        except HeadscopeError as error:
            varied[name] |= dict.fromkeys(plain, str(error))
            continue
        for of, scores in plain.items():
            varied[name][of] = (
                _shared(scores, other_scores[of]) if of in other_scores else _NOT[name == "cache"]
            )
    return varied


_NOT = ("there is no such list", "no cache: it is read in one pass")


def _shared(one: Mapping[Head, float], other: Mapping[Head, float]) -> AnyDict:
    top = min(TOP, len(one) // 2)
    tops = [sorted(scores, key=lambda head: -scores[head])[:top] for scores in (one, other)]
    share = len({*tops[0]} & {*tops[1]}) / top
    return {"share": share, "chance": round(top / len(one), 6), "heads": list(map(str, tops[1]))}


def _scores(
    model: Model, corpus: Corpus, lists: Sequence[str], seed: int, limit: int | None, name: str = ""
) -> Scores:
    scores: Scores = {}
    of = {role.name: role.measure for role in roles_on("text") if not role.causal and role.name in lists}
    of = {one: measured for one, measured in of.items() if measured != "rare_word"}
    if name != "cache" and of:
        figures = measure(model, corpus, measures=[*of.values()], limit=limit)
        for one, measured in of.items():
            if measured in figures:
                values = figures[measured].transpose("layer", "head").values
                scores[one] = _by_head(figures["layer"].values.tolist(), values)
    if name != "cache":
        others = {
            "induction": lambda: measure(
                model, repeated_tokens(model, sequences=SEQUENCES, seed=seed), measures=["induction"]
            ),
            IMPORTANCE: lambda: by_gates(
                objective(model), corpus, RunOptions(limit=min(limit or MOST, MOST))
            ),
        }
        for one in [one for one in others if one in lists]:
            figures = others[one]()
            values = figures[one].transpose("layer", "head").values
            if np.isfinite(values).sum() > 1:
                scores[one] = _by_head(figures["layer"].values.tolist(), values)
    if "retrieval" in lists:
        words = words_of(readers.builtin(pack=None))
        length = min(NEEDLE_TEXT, model.max_length or NEEDLE_TEXT)
        made = hidden(model, words, NEEDLES, (length,), seed, chat=name == "template")
        look = decoded if name == "cache" else partial(looked_at, done=lambda _: None)
        rows = [look(model, needle) for needle in made]
        if any(row["produced"] for row in rows):
            hits = np.sum([row["hits"] for row in rows], 0)
            scores["retrieval"] = _by_head(rows[0]["layers"].tolist(), hits)
    return scores


def _by_head(layers: Sequence[int], values: Floats) -> dict[Head, float]:
    places: Any = np.argwhere(np.isfinite(values)).tolist()
    return {Head(layers[layer], head): float(values[layer, head]) for layer, head in places}


def decoded(model: Model, needle: Needle) -> Arrays:
    """What `looked_at` gives, token by token with a cache."""
    ids = model.inputs([needle.tokens])["input_ids"]
    most: dict[int, list[Any]] = {}

    def keep(record: AttentionRecord) -> None:
        last = record.weights(slice(record.shape[2] - 1, record.shape[2]))[0, :, 0]
        most.setdefault(record.layer, []).append(last.argmax(-1).cpu().numpy() + record.key_offset)

    start, logits = needle.answer[0] - 1, list[torch.Tensor]()
    with torch.no_grad():
        with evaluating(model.module):
            cache = model.module(input_ids=ids[:, :start], use_cache=True).past_key_values
        with recording(model.module, keep, fused=True):
            for place in range(start, needle.answer[-1]):
                step = model.module(
                    input_ids=ids[:, place : place + 1], past_key_values=cache, use_cache=True
                )
                logits.append(step.logits)
                cache = step.past_key_values
    right = produced(needle, torch.cat([logits[0].new_zeros(1, start, logits[0].shape[-1]), *logits], 1))
    inside, layers = np.array(needle.inside), sorted(most)
    hits = of_layers([((np.stack(most[layer], 1) == inside) & right).sum(-1) for layer in layers])
    return {"hits": hits, "produced": np.array(int(right.sum())), "layers": np.array(layers)}


@contextmanager
def _other(model: Model, name: Varied) -> Generator[Model]:
    """The model, varied."""
    module: Any = model.module
    tokenizer = model.tokenizer
    if name == "cache":
        yield model
    elif name == "dtype":
        half = torch.float32 if model.dtype == torch.bfloat16 else torch.bfloat16
        yield load((copy.deepcopy(module).to(half), tokenizer))
    elif name == "attention":
        if not hasattr(module, "set_attn_implementation"):
            raise InputError("expected a model of transformers, whose attention has several implementations")
        before = module.config._attn_implementation
        module.set_attn_implementation("eager" if before != "eager" else "sdpa")
        try:
            yield model
        finally:
            module.set_attn_implementation(before)
    else:
        yield load((module, _around(tokenizer, *(([], []) if name == "special" else _templated(tokenizer)))))


def _templated(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The ids that the chat template writes before and after what a user says."""
    rendered = Rendered(tokenizer, [{"role": "user", "content": "text"}], add_generation_prompt=True)
    (span,) = rendered.spans
    before, after = (
        tokenizer(text, add_special_tokens=False)["input_ids"]
        for text in (rendered.text[: span.start], rendered.text[span.end :])
    )
    return before, after


def _around(tokenizer: Any, before: Sequence[int], after: Sequence[int]) -> Any:
    """A tokenizer that puts these ids around a text in the place of its own."""
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise InputError("expected a fast tokenizer, whose special tokens can be changed")
    other = copy.deepcopy(tokenizer)
    pieces = {f"around{place}": number for place, number in enumerate([*before, *after])}
    names = list(pieces)
    template = [*names[: len(before)], "$A", *names[len(before) :]]
    special: list[Any] = [
        {"id": name, "ids": [number], "tokens": [tokenizer.convert_ids_to_tokens(number)]}
        for name, number in pieces.items()
    ]
    other.backend_tokenizer.post_processor = TemplateProcessing(
        single=template, pair=[*template, "$B"], special_tokens=special
    )
    return other


def varied_lines(card: AnyMapping) -> list[str]:
    """A table: a row a list, what its highest heads share under each variation, in halves of other documents, and by
    chance; then, once each, why figures are missing."""
    varied, lists = card.get("varied", {}), card["lists"]
    names = dict.fromkeys(name for one in varied.values() for name in one)
    rows = [["list", *varied, "other documents", "chance"]] if names else []
    whys: dict[str, None] = {}
    for name in names:
        cells = [name]
        for by, one in varied.items():
            moved = one.get(name, "")
            if isinstance(moved, str):
                whys[f"{by}: {moved}"] = None
            cells.append("–" if isinstance(moved, str) else f"{moved['share']:.2f}")
        stability = lists[name]["stability"]
        cells.append("–" if isinstance(stability, str) else f"{stability['share']:.2f}")
        known = [one[name]["chance"] for one in varied.values() if not isinstance(one.get(name, ""), str)]
        rows.append([*cells, f"{known[0]:.2f}" if known else "–"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return [*(line.rstrip() for line in lines), *whys]
