"""Needles in a haystack: a sentence with a code amid a text, and the question for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping
from headscope.corpora import Corpus, Example
from headscope.corpora.files import packaged
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

PEOPLE = (
    *("Anna", "Peter", "Maria", "David", "Laura", "Robert", "Sarah", "Thomas"),
    *("Julia", "Daniel", "Emma", "Martin", "Alice", "Henry", "Susan", "George"),
)
"""Each needle of a fact names one of these."""

FACTS = "needles.json"
"""Needles that share no word with their questions: templates that ship in the package."""

Asks = Literal["code", "fact"]
"""What a needle says: a code that its question repeats the words for, or a fact that takes one step to the question."""

CHUNK = 16
"""How many words are counted in tokens at once: of any length they fit the model."""


@dataclass(frozen=True, eq=False)
class Needle:
    """A text with a needle, the question for it, and its answer.

    Attributes:
        tokens: all of it.
        inside: the places of the answer's tokens in the needle; -1 where it does not say them.
        answer: the places of the same tokens at the end.
        sentence: the places of the needle's tokens.
        among: the ids that the answer's first token is one of; none for any id.
    """

    tokens: Tokens
    inside: Sequence[int]
    answer: Sequence[int]
    sentence: Sequence[int] = ()
    among: Sequence[int] = ()


class _Said(NamedTuple):
    """What is hidden, what ends the text and asks for it, how a user asks, the answer, and the answers it is among."""

    needle: str
    question: str
    asked: str
    answer: str
    among: Sequence[str] = ()


_Says = Callable[[np.random.Generator, int], _Said]
"""Draws what the needle of a number says."""


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
    asks: Asks = "code",
) -> list[Needle]:
    """Make so many needles, of all lengths in turn, at depths from the start to the end, as often as each other.

    With `beyond` an answer stands at least so many tokens behind its needle. With `chat` the same texts are a user's
    message, and the answers the model's, as its chat template writes them.

    Raises:
        InputError: the model has no tokenizer, a length is too small or too large, or there are too few words.
        RefusedError: the tokenizer does not say where its pieces stand, or reads a code otherwise at the end.
    """
    says = _code if asks == "code" else _fact
    return _made(model, words, count, lengths, seed, says, beyond, chat)


def known(model: Model, words: Sequence[str], count: int, lengths: Sequence[int], seed: int) -> list[Needle]:
    """Questions for what the model may know, each behind a text that does not say it: no retrieval answers them."""
    return _made(model, words, count, lengths, seed, _known, 0, False)


def _made(
    model: Model,
    words: Sequence[str],
    count: int,
    lengths: Sequence[int],
    seed: int,
    says: _Says,
    beyond: int,
    chat: bool,
) -> list[Needle]:
    draw = np.random.default_rng(seed)
    depths = draw.permutation((np.arange(count) + 0.5) / count)
    return [
        _needle(
            model,
            words,
            lengths[number // 2 % len(lengths)],
            float(depth),
            draw,
            says(draw, number),
            beyond,
            chat,
        )
        for number, depth in enumerate(depths)
    ]


def _code(draw: np.random.Generator, _: int) -> _Said:
    name = NAMES[draw.integers(len(NAMES))]
    digits = draw.permutation(10)  # of six no two are the same, and none is copied from the wrong place
    if not digits[:6:2].all():
        digits = np.where(digits == 0, digits[6], digits)
    code = " ".join(f"{digits[place]}{digits[place + 1]}" for place in (0, 2, 4))
    asked = f"What is the secret code of {name}?"
    return _Said(f"The secret code of {name} is {code}.", f"The secret code of {name} is", asked, code)


def _fact(draw: np.random.Generator, number: int) -> _Said:
    template, (fact, asked) = _drawn(draw, number)
    name = PEOPLE[draw.integers(len(PEOPLE))]
    question = template["question"].format(asked=asked)
    needle = f"{template['needle'].format(name=name, fact=fact)}."
    return _Said(needle, question, f"Go on with one name: {question}", name, PEOPLE)


def _known(draw: np.random.Generator, number: int) -> _Said:
    template, (fact, asked) = _drawn(draw, number)
    question = template["known"].format(fact=fact)
    question = question[:1].upper() + question[1:]
    return _Said("", question, question, asked, [other for _, other in template["facts"]])


def _drawn(draw: np.random.Generator, number: int) -> tuple[AnyMapping, tuple[str, str]]:
    """A template of `FACTS`, each as often as the others, and one of its facts."""
    templates = json.loads("\n".join(line.text for line in packaged(FACTS)))
    template = templates[number % len(templates)]
    return template, template["facts"][draw.integers(len(template["facts"]))]


def _needle(
    model: Model,
    words: Sequence[str],
    length: int,
    depth: float,
    draw: np.random.Generator,
    stated: _Said,
    beyond: int,
    chat: bool,
) -> Needle:
    needle, question = stated.needle, f"\n{stated.question} {stated.answer}"
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
    at = max(round(depth * latest), int(needle.startswith(stated.answer)))  # a text's first word has no space
    before, after = " ".join(words[:at]), " ".join(words[at:])
    head = f"{before} {needle}".strip()
    if chat:
        asked = f"{head} {after}".rstrip() + f"\n{stated.asked}"
        messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": question.strip()}]
        tokens = model.chat(messages)
        user, assistant = Rendered(model.tokenizer, messages).spans
        begin, end = user.start, assistant.end
    else:
        text = f"{head} {after}{question}".lstrip()
        tokens, begin, end = model.encode(text), 0, len(text)
    stop = begin + len(head)
    first = stop - len(needle) + needle.rfind(stated.answer)
    answer = _places(tokens, end - len(stated.answer), end)
    copied = stated.answer in needle
    inside = _places(tokens, first, first + len(stated.answer)) if copied else [-1] * len(answer)
    if (
        tokens.ids is None
        or not answer
        or (copied and tokens.ids[inside].tolist() != tokens.ids[answer].tolist())
    ):
        raise RefusedError(
            f"{model.name}: expected a tokenizer that says where its pieces stand and reads {stated.answer!r} alike in "
            f"the text and at its end, found {[tokens.pieces[place] for place in inside]} and "
            f"{[tokens.pieces[place] for place in answer]}"
        )
    sentence = _places(tokens, stop - len(needle), stop) if needle else []
    first_ids = [int(tokens.ids[answer[0]]), *(_first(model, stated, one) for one in stated.among)]
    return Needle(tokens, inside, answer, sentence, [*dict.fromkeys(first_ids)] if stated.among else [])


def _first(model: Model, stated: _Said, answer: str) -> int:
    """The first token of an answer behind the question."""
    tokens, start = model.encode(f"{stated.question} {answer}"), len(stated.question) + 1
    assert tokens.ids is not None
    return int(tokens.ids[_places(tokens, start, start + len(answer))[0]])


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
