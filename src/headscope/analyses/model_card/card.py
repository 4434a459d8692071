"""A card of a model's heads: read, checked, asked, and given to others in their formats."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.analyses.model_card.page import page
from headscope.analyses.streaming.duo import save_gates
from headscope.core.arrays import Floats
from headscope.core.counts import layers_by_heads, plural
from headscope.core.failures import reason
from headscope.core.heads import Head
from headscope.core.lazy import module
from headscope.core.saving import check_place, made_folder, replacing
from headscope.core.types import AnyMapping, AnyPath
from headscope.core.validation import Level, validated
from headscope.errors import InputError
from headscope.statistics.jackknife import differs, false_discovery

FORMAT = "headscope.card/1"
NAME = "card.json"
DIGITS = 4
"""Decimals to which the figures of a card are the same on another machine."""

FIGURES = ("score", "low", "high", "se", "n", "documents", "threshold", "chance", "p", "q", "stays")
"""What a card may hold of a head in a list."""


@cache
def schema() -> AnyMapping:
    """The JSON schema of a card."""
    return json.loads((files("headscope.analyses.model_card") / "schema.json").read_text("utf-8"))


@dataclass(frozen=True, eq=False)
class Card:
    """The card of a model's heads. `headscope.card` makes it, `open_card` reads it.

    Attributes:
        data: what the file holds; docs/cards.md describes it.
        where: the file that it was read from, for messages.
    """

    data: AnyMapping
    where: str = "card"

    def __post_init__(self) -> None:
        if (name := self.data.get("format")) != FORMAT:
            raise InputError(f"{self.where}: expected the format {FORMAT}, found {name!r}")
        jsonschema = module("jsonschema")
        fault = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(schema()).iter_errors(self.data)
        )
        if fault is not None:
            place = "".join(f"[{step!r}]" for step in fault.absolute_path) or "at its top"
            raise InputError(f"{self.where}: {place}: {fault.message[:200]}")

    def __repr__(self) -> str:
        heads = plural(sum(self.data["model"]["heads"]), "head")
        return f"Card({self.name}, {plural(len(self.lists), 'list')} of {heads})"

    @property
    def name(self) -> str:
        """The model's name."""
        return self.data["model"]["name"]

    @property
    def lists(self) -> AnyMapping:
        """All lists, by what heads do."""
        return self.data["lists"]

    def rows(self, name: str) -> Sequence[AnyMapping]:
        """The heads of a list with their figures, the highest scores first.

        Raises `InputError` for a list that is not there; the message says why.
        """
        if name not in self.lists:
            why = self.data["not_told"].get(name)
            raise InputError(
                f"{self.where}: no list {name!r}"
                + (f": {why}" if why else f"; it has {', '.join(self.lists)}")
            )
        return self.lists[name]["heads"]

    @validated
    def heads(self, name: str, *, q: Level | None = None, top: int | None = None) -> list[Head]:
        """The heads of a list, the highest scores first: those whose q is at most this, of a list that was tested.

        Args:
            name: of the list, such as ``retrieval``.
            q: the expected share of wrong heads among them; by default .05, or of an untested list none.
            top: so many, at most.
        """
        rows = self.rows(name)
        if self.lists[name]["tested"]:
            level = 0.05 if q is None else q
            rows = [row for row in rows if row.get("q") is not None and row["q"] <= level]
        elif q is not None:
            raise InputError(f"{self.where}: {name}: expected no q, which this list does not have; say top=")
        return [Head.parse(row["head"]) for row in rows][:top]

    @property
    def text(self) -> str:
        """The file: the same card is the same text."""
        return json.dumps(self.data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @validated
    def save(self, folder: AnyPath) -> Path:
        """Write ``card.json`` and the page ``index.html`` into a folder, which is made where it is missing."""
        place = made_folder(folder)
        for name, text in ((NAME, self.text), ("index.html", page(self.data))):
            with replacing(place / name) as file:
                file.write_text(text, encoding="utf-8")
        return place

    @validated
    def save_tsv(self, path: AnyPath) -> None:
        """Write all lists as a table by tabs, a row a head and list."""
        check_place(path)
        with replacing(path) as place, open(place, "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, delimiter="\t", lineterminator="\n")
            table.writerow(["list", "layer", "head", "paper", *FIGURES])
            for of, one in self.lists.items():
                for row in one["heads"]:
                    head = Head.parse(row["head"])
                    figures = ["" if row.get(name) is None else row[name] for name in FIGURES]
                    table.writerow([of, head.layer, head.head, row["paper"], *figures])

    @validated
    def save_duo_attention(
        self, folder: AnyPath, *, sink: int = 128, recent: int = 256, name: str = "retrieval"
    ) -> Path:
        """Write ``full_attention_heads.tsv`` and ``config.json``, as DuoAttention and kvpress read them.

        A row a layer, a column a key head: the highest score of the heads that it serves over the highest of all.
        """
        return save_gates(self._key_heads(name), folder, sink, recent)

    @validated
    def budgets(self, ratio: Level, *, name: str = "retrieval", least: float = 0.05) -> list[list[float]]:
        """The share of its keys and values that each key head keeps, ``[layer][key head]``, for kvpress and its kind.

        The mean over all is 1 - `ratio` (their ``compression_ratio``), each is at least `least`, and beyond that they
        are as the highest scores of the heads that a key head serves, at most 1.
        """
        if not 0 <= least <= 1 - ratio:
            raise InputError(f"least: expected from 0 to {1 - ratio:g}, what is kept of all, found {least:g}")
        gates = self._key_heads(name)
        low, high = 0.0, 2.0**40
        for _ in range(200):  # the factor at which the mean is what is to be kept
            middle = (low + high) / 2
            kept = np.minimum(1.0, least + middle * gates).mean()
            low, high = (middle, high) if kept < 1 - ratio else (low, middle)
        spread = np.minimum(1.0, least + low * gates)
        room = 1 - spread  # where all heads that have a score keep all, the others share the rest
        return (spread + room * (1 - ratio - spread.mean()) / max(room.mean(), 1e-12)).tolist()

    @property
    def alignment_heads(self) -> list[list[int]]:
        """Heads that align words with sound, as Whisper's ``generation_config.json`` has them."""
        return [[head.layer, head.head] for head in self.heads("alignment", top=10)]

    def _key_heads(self, name: str) -> Floats:
        """The highest score of the heads of each key head, as a share of the highest of all."""
        model = self.data["model"]
        if len(set(model["key_heads"])) > 1:
            raise InputError(
                f"{self.where}: expected as many key heads in each layer, found {model['key_heads']}"
            )
        gates = np.zeros((len(model["key_heads"]), model["key_heads"][0]))
        layers = sorted({Head.parse(row["head"]).layer for row in self.rows(name)})
        if len(layers) != len(gates):
            raise InputError(
                f"{self.where}: {name}: expected {plural(len(gates), 'layer')}, found {len(layers)}"
            )
        for row in self.rows(name):
            head, score = Head.parse(row["head"]), row["score"] or 0.0
            place = layers.index(head.layer)
            group = head.head // (model["heads"][place] // model["key_heads"][place])
            gates[place, group] = max(gates[place, group], score)
        if not gates.max() > 0:
            raise InputError(f"{self.where}: {name}: expected a head with a score above 0, found none")
        return gates / gates.max()


@validated
def open_card(path: AnyPath) -> Card:
    """Read a card, or the one in a folder. Raises `InputError`, which names the file and the place in it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     hs.open_card(hs.card(model, corpus, limit=8).save(folder)).name
    'all-MiniLM-L6-v2'
    """
    place = Path(path)
    place = place / NAME if place.is_dir() else place
    try:
        data = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{place}: expected a card ({reason(error)})") from None
    if not isinstance(data, dict):
        raise InputError(f"{place}: expected a card, found {type(data).__name__}")
    return Card(data, str(place))  # pyright: ignore[reportUnknownArgumentType]


_FIGURES = ("score", "se", "documents")
COLUMNS = ("list", "layer", "head", "paper", "a", "b", "difference", "se", "p", "q")


@validated
def card_differences(a: Card, b: Card, *, level: Level = 0.05) -> pd.DataFrame:
    """The heads whose scores differ in two cards by more than their errors, with `COLUMNS`, the largest first.

    p is Student's t of a difference by its standard error, as if the two were independent (of one corpus they are not,
    and p is too large rather than too small); q is p after Benjamini and Hochberg over all heads and lists. A
    difference that the digits of a card do not hold is none. ``attrs["layers"]`` names the parts whose weights differ,
    ``attrs["corpora"]`` the corpora that do, ``attrs["only"]`` the lists that one of them has.

    Raises `InputError` for models with other layers or heads.

    >>> made = hs.card(model, hs.corpora.builtin(), limit=12)
    >>> len(hs.card_differences(made, made))
    0
    """
    shapes = [card.data["model"]["heads"] for card in (a, b)]
    if shapes[0] != shapes[1]:
        raise InputError(
            f"cards: expected models of as many layers and heads, found {a.name} with "
            f"{layers_by_heads(shapes[0])} and {b.name} with {layers_by_heads(shapes[1])}"
        )
    digits = min(card.data["digits"] for card in (a, b))
    rows: list[tuple[Any, ...]] = []
    for name in a.lists:
        others = {row["head"]: row for row in b.rows(name)} if name in b.lists else {}
        for row in a.rows(name):
            figures = [[one.get(of) for of in _FIGURES] for one in (row, others.get(row["head"], {}))]
            if None not in figures[0] + figures[1]:  # what is told from the weights alone has no error
                head = Head.parse(row["head"])
                rows.append((name, head.layer, head.head, head.paper, *figures[0], *figures[1]))
    table: Any = pd.DataFrame(rows, columns=[*COLUMNS[:4], "a", "se_a", "of_a", "b", "se_b", "of_b"])
    moved = table["a"] - table["b"]
    table["difference"] = moved.where(moved.abs() > 10.0**-digits, 0.0)
    table["se"] = np.hypot(table["se_a"], table["se_b"])
    documents = np.minimum(table["of_a"], table["of_b"])
    figures = (table["difference"], table["se"], documents)
    value, error, count = (np.asarray(figure, float) for figure in figures)
    table["p"] = differs(value, error, count)
    table["q"] = false_discovery(table["p"].to_numpy())
    tests = len(table)
    table = table[table["q"] <= level].sort_values("p", kind="stable", ignore_index=True)[list(COLUMNS)]
    layers = [card.data["model"]["layers"] for card in (a, b)]
    corpora = [{name: one["sha256"] for name, one in card.data["corpora"].items()} for card in (a, b)]
    table.attrs = {
        "layers": _other(*layers),
        "corpora": _other(*corpora),
        "only": sorted(set(a.lists) ^ set(b.lists)),
        "tests": tests,
    }
    return table


def _other(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """The names whose checksums are not the same."""
    names = list(dict.fromkeys([*one, *other]))
    return [name for name in names if one.get(name) != other.get(name)]
