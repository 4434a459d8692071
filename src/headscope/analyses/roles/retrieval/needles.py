"""Needles in a haystack: a sentence with a code amid a text, and the question for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headscope.core.tokens import Tokens
from headscope.corpora import Corpus, Example
from headscope.errors import InputError, RefusedError
from headscope.models import Model
from headscope.models.chat import Rendered

NAMES = (
    *("Berlin", "Cairo", "Delhi", "Dublin", "Lima", "London", "Madrid", "Moscow"),
    *("Oslo", "Paris", "Prague", "Rome", "Sydney", "Tokyo", "Vienna", "Warsaw"),
)
"""Each needle is of one of these."""

WORDS = 200_000
"""How many words of a corpus are read."""

CHUNK = 16
"""How many words are counted in tokens at once: of any length they fit the model."""


@dataclass(frozen=True, eq=False)
class Needle:
    """A text with a needle, the question for it, and its answer.

    Attributes:
        tokens: all of it.
        inside: the places of the answer's tokens in the needle.
        answer: the places of the same tokens at the end.
    """

    tokens: Tokens
    inside: Sequence[int]
    answer: Sequence[int]


def words_of(corpus: Corpus | Iterable[Example]) -> list[str]:
    """The words of a corpus, in order, as many as are read."""
    words: list[str] = []
    for example in corpus:
        words += example.words if example.words is not None else (example.text or "").split()
        if len(words) >= WORDS:
            break
    return words


def hidden(
    model: Model,
    words: Sequence[str],
    count: int,
    lengths: Sequence[int],
    seed: int,
    *,
    beyond: int = 0,
    chat: bool = False,
) -> list[Needle]:
    """Make so many needles, of all lengths in turn, at depths from the start to the end, as often as each other.

    With `beyond` an answer stands at least so many tokens behind its needle. With `chat` the same texts are a user's
    message, and the answers the model's, as its chat template writes them.

    Raises:
        InputError: the model has no tokenizer, a length is too small or too large, or there are too few words.
        RefusedError: the tokenizer does not say where its pieces stand, or reads a code otherwise at the end.
    """
    draw = np.random.default_rng(seed)
    depths = draw.permutation((np.arange(count) + 0.5) / count)
    return [
        _needle(model, words, lengths[number // 2 % len(lengths)], float(depth), draw, beyond, chat)
        for number, depth in enumerate(depths)
    ]


def _needle(
    model: Model,
    words: Sequence[str],
    length: int,
    depth: float,
    draw: np.random.Generator,
    beyond: int,
    chat: bool,
) -> Needle:
    name = NAMES[draw.integers(len(NAMES))]
    digits = draw.permutation(10)  # of six no two are the same, and none is copied from the wrong place
    if not digits[:6:2].all():
        digits = np.where(digits == 0, digits[6], digits)
    code = " ".join(f"{digits[place]}{digits[place + 1]}" for place in (0, 2, 4))
    needle, question = f"The secret code of {name} is {code}.", f"\nThe secret code of {name} is {code}"
    room = length - len(model.encode(needle + question))
    if room < 1:
        raise InputError(f"lengths: expected more tokens than needle and question have, found {length}")
    if beyond >= room:
        raise InputError(f"recent: expected fewer than {room} tokens in a text of {length}, found {beyond}")
    start = int(draw.integers(max(len(words) - room, 0) + 1))
    many = _many(model, words[start : start + room], room)
    if many is None:
        raise InputError(
            f"corpus: expected at least {room:,} words for texts of {length:,} tokens, found {len(words):,}"
        )
    words = words[start : start + many]
    latest = many
    if beyond:  # so many words, from the end, have that many tokens
        behind = _many(model, words[::-1], beyond)
        latest = 0 if behind is None else max(many - behind - 1, 0)
    at = round(depth * latest)
    before, after = " ".join(words[:at]), " ".join(words[at:])
    head = f"{before} {needle}" if before else needle
    if chat:
        asked = f"{head} {after}".rstrip() + f"\nWhat is the secret code of {name}?"
        messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": question.strip()}]
        tokens = model.chat(messages)
        user, assistant = Rendered(model.tokenizer, messages).spans
        begin, end = user.start, assistant.end
    else:
        text = f"{head} {after}{question}"
        tokens, begin, end = model.encode(text), 0, len(text)
    inside = _places(tokens, begin + len(head) - 1 - len(code), begin + len(head) - 1)
    answer = _places(tokens, end - len(code), end)
    if tokens.ids is None or not inside or tokens.ids[inside].tolist() != tokens.ids[answer].tolist():
        raise RefusedError(
            f"{model.name}: expected a tokenizer that says where its pieces stand and reads {code!r} alike in the text "
            f"and at its end, found {[tokens.pieces[place] for place in inside]} and "
            f"{[tokens.pieces[place] for place in answer]}"
        )
    return Needle(tokens, inside, answer)


def _many(model: Model, words: Sequence[str], room: int) -> int | None:
    """How many of these words make about so many tokens; None where all of them make fewer."""
    for start in range(0, len(words), CHUNK):
        some = words[start : start + CHUNK]
        size = int((~model.encode(" ".join(some)).mask("special")).sum())
        if size >= room:
            return start + max(1, len(some) * room // size)
        room -= size
    return None


def _places(tokens: Tokens, start: int, end: int) -> list[int]:
    """The tokens that stand within these characters, or reach into them, with those of nothing between them."""
    if tokens.offsets is None:
        return []
    places = [
        place
        for place, (first, last) in enumerate(tokens.offsets.tolist())
        if first < end and last > start and last > first
    ]
    return list(range(places[0], places[-1] + 1)) if places else []
