"""Check the first sentence of a page against the maps themselves, over 200 texts: is it true, of words, and news?

python benchmarks/first_sentence.py [MODEL ...] [--show]      (the demo model and demo-lm by default)

- true: each figure of it is that of the maps in float64, to the digit that is printed;
- of words: what it quotes are words of the text, each with its place where several are written alike;
- news: it is neither empty, nor what every head does, nor a head that looks beside each token.
"""

from __future__ import annotations

import html
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import headscope as hs
from headscope.core import words
from headscope.errors import InputError
from headscope.views.inputs import word_labels

QUOTED = r"“([^”]*)”(?: \(word (\d+)\))?"
LINK = re.compile(rf"(L\d+H\d+) looks from {QUOTED} to (?:the other |another )?{QUOTED}.*?, ([<\d.]+)%")
ROLE = re.compile(r"(L\d+H\d+) looks mostly at (.+?), ([<\d.]+)% on average")
MOST = re.compile(rf"(L\d+H\d+) gives the most to {QUOTED}(?: \(a sink\))?, ([<\d.]+)% on average")
MOVED = re.compile(r"(L\d+H\d+) changes ([<\d.]+)% of its attention between")
ALIKE = re.compile(r"(L\d+H\d+) looks at most tokens alike")
OTHERS = re.compile(
    r"[;,] (?:as )?(\d+) of (\d+) heads (?:do|look at most tokens alike|look mostly at (.+?))\."
)

CHINESE = (
    "猫坐在垫子上因为它累了。",
    "王小明给李华写了一封信，因为他很想念他。",
    "今天天气很好，我们去公园散步吧。",
)
CODE = (
    "def area(width, height):\n    return width * height",
    "for name in names:\n    print(name.upper())",
    "if (count > limit) { count = limit; } else { count += step; }",
)
NAMES = (
    "Anna met Ben. Anna gave Ben a book. Ben thanked Anna.",
    "Renn and Tull went home. Renn slept and Tull read to Renn.",
)
TALK = "User: Where is the bridge? Assistant: The bridge is behind the mill, and the mill is closed."


class Asked(NamedTuple):
    """An input: of what kind, its text, a second one of a pair, and one to compare it with."""

    kind: str
    text: str
    pair: str | None = None
    against: str | None = None


def inputs() -> Iterator[Asked]:
    """Two hundred inputs of eight kinds."""
    lines = [example.text for example in hs.corpora.builtin().examples() if example.text]
    said = " ".join(lines).split()
    for place in range(60):
        yield Asked("sentence", lines[place % len(lines)])
    for place in range(20):
        yield Asked("three words", " ".join(said[7 * place : 7 * place + 3]))
        yield Asked("a hundred words", " ".join(said[20 * place : 20 * place + 100]))
        yield Asked("pair", lines[place], lines[place + 1])
        yield Asked(
            "one word changed", lines[place], against=" ".join([*lines[place].split()[:-1], "again."])
        )
        yield Asked("two texts", lines[place], against=lines[-1 - place])
    for kind, texts in (("Chinese", CHINESE), ("code", CODE), ("names", NAMES), ("talk", (TALK,))):
        for place in range(10):
            yield Asked(kind, texts[place % len(texts)] * (1 + place // len(texts)))


def sentence(view: hs.View) -> str:
    """What stands above the picture of the head that opens."""
    svg = view.picture("svg").decode()
    texts = [html.unescape(text) for text in re.findall(r">([^<]+)</t(?:ext|span)>", svg)]
    lines = " ".join(texts)
    found = re.search(
        r"(?:L\d+H\d+ (?:looks|gives|changes|is switched)|(?:all|\d+ of) \d+ heads look).*?\.(?= |$)", lines
    )
    return found[0] if found else ""


class Maps:
    """The maps of one input, in words."""

    def __init__(self, model: Any, asked: Asked) -> None:
        self.maps = hs.capture(model, asked.text, pair=asked.pair)
        axis = self.maps.query
        group = words.group(axis)
        self.first = np.unique(group, return_index=True)[1]
        self.size = np.diff(self.first, append=len(axis))
        self.labels = word_labels(words.words(axis))
        special = axis.special[self.first]
        self.places = np.where(special, 0, np.cumsum(~special))

    def of(self, name: str) -> Any:
        """A head's weights, in float64."""
        head = hs.Head.parse(name)
        layer = list(self.maps.index).index(head.layer)
        return np.asarray(self.maps.layers[layer][head.head], np.float64)

    def in_words(self, name: str) -> Any:
        summed = np.add.reduceat(self.of(name), self.first, 1)
        return np.add.reduceat(summed, self.first, 0) / self.size[:, None]

    def sight(self) -> Any:
        """How many keys each query sees."""
        count = len(self.maps.query)
        return np.arange(1, count + 1) if self.maps.causal else np.full(count, count)

    def beside(self, model: Any, text: str) -> Maps:
        """The maps of another text."""
        return Maps(model, Asked("", text))

    def named(self, text: str, place: str | None) -> list[int]:
        """The words that a quotation may mean: one, where it has its place or there is one."""
        alike = [at for at, label in enumerate(self.labels) if label == text]
        return [at for at in alike if place is None or self.places[at] == int(place)]


def percent(figure: float) -> str:
    """A share as a page prints it."""
    if 0 < figure < 0.001:
        return "<0.1"
    if 0.995 < figure < 1:
        return f"{min(99.9, 100 * figure):.1f}"
    return f"{100 * figure:.{int(0 < figure < 0.1)}f}"


def evenness(weights: Any, sight: Any) -> float:
    """The part of the keys on which even attention is as spread out, over rows that see five."""
    rows, seen = np.asarray(weights, np.float64)[sight >= 5], sight[sight >= 5]
    nats = -(rows * np.log(np.where(rows > 0, rows, 1))).sum(-1)
    return float(np.exp(nats.mean() - np.log(seen).mean()))


def judged(model: Any, asked: Asked, said: str, maps: Maps, heads: int) -> dict[str, bool]:
    """Whether a sentence is true, of words, and news."""
    true, of_words, news = True, True, said != ""
    if link := LINK.search(said):
        name, query, place, key, where, figure = link.groups()
        ends = [(a, b) for a in maps.named(query, place) for b in maps.named(key, where)]
        weights = maps.in_words(name)
        of_words = bool(ends)
        apart = query.casefold() != key.casefold() or "the other" in said
        of_words &= len(ends) == 1 or apart
        true &= any(percent(weights[a, b]) == figure for a, b in ends)
    elif role := ROLE.search(said):
        name, what, figure = role.groups()
        weights, count = maps.of(name), len(maps.maps.query)
        news = what not in ("the previous token", "the next token", "the token itself")
        shares = {
            "the previous": np.diagonal(weights, -1),
            "the next": np.diagonal(weights, 1),
            "the token": np.diagonal(weights),
        }
        if "sep" in maps.maps.query.named:
            shares["separators"] = weights[:, maps.maps.query.mask("sep")].sum(-1)
        rows = next((rows for words_, rows in shares.items() if what.startswith(words_)), None)
        if rows is None:
            rows = weights[1 if maps.maps.causal else 0 :, 0]
        true &= count > 0 and percent(rows.mean()) == figure
    elif most := MOST.search(said):
        name, text, place, figure = most.groups()
        received = maps.of(name).mean(0)
        true &= percent(received.max()) == figure
        bare = re.sub("^(##|[▁Ġ]+)", "", maps.maps.query.pieces[int(received.argmax())])
        of_words = bool(maps.named(text, place)) or bare.startswith("[") or text == bare
    elif alike := ALIKE.search(said):
        true &= evenness(maps.of(alike[1]), maps.sight()) > 2 / 3
    elif moved := MOVED.search(said):
        news = asked.kind == "one word changed"
        other = maps.beside(model, asked.against or "").of(moved[1])
        mine = maps.of(moved[1])
        if mine.shape == other.shape:  # else tokens have no counterpart place by place
            true &= percent(np.abs(mine - other).sum(-1).mean() / 2) == moved[2]
    elif said:
        true &= re.match(r"(?:all|\d+ of) \d+ heads look", said) is not None
    if others := OTHERS.search(said):
        count, every, what = int(others[1]), int(others[2]), others[3]
        news &= count < every == heads
        if what is not None and what.startswith(
            ("[CLS]", "the first token")
        ):  # a head has one role, so at most
            first = [
                one[1 if maps.maps.causal else 0 :, 0].mean() for layer in maps.maps.layers for one in layer
            ]
            true &= 1 < count <= sum(share > 0.5 for share in first)
        elif what is None and "at most tokens alike" in others[0]:
            even = [evenness(one, maps.sight()) for layer in maps.maps.layers for one in layer]
            true &= 1 < count <= sum(share > 2 / 3 for share in even)
    return {"true": true, "of words": of_words, "news": news}


def main(names: list[str], *, show: bool) -> None:
    for name in names:
        model = hs.load() if name == "demo" else hs.load(name)
        counts: dict[str, Counter[str]] = {}
        for asked in inputs():
            pair = None if model.causal else asked.pair
            asked = asked._replace(pair=pair)
            try:
                maps = Maps(model, asked)
            except InputError as error:  # longer than the model takes
                print(asked.kind, "|", error, file=sys.stderr)
                continue
            text = asked.text if pair is None else (asked.text, pair)
            said = sentence(hs.view(model, text, against=asked.against))
            marks = judged(model, asked, said, maps, sum(map(len, maps.maps.layers)))
            count = counts.setdefault(asked.kind, Counter())
            count["n"] += 1
            count.update(mark for mark, holds in marks.items() if holds)
            if show or not all(marks.values()):
                print(
                    asked.kind,
                    "|",
                    asked.text[:50].replace("\n", " "),
                    "|",
                    said,
                    "|",
                    marks,
                    file=sys.stderr,
                )
        print(f"{name}: sentences that are true, of words, news, of n")
        for kind, count in counts.items():
            print(f"  {kind:18} {count['true']:4} {count['of words']:4} {count['news']:4} {count['n']:4}")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main([one for one in arguments if one != "--show"] or ["demo", "demo-lm"], show="--show" in arguments)
