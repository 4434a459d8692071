"""The command lines that give single figures of a report again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from headscope.analyses import analyses
from headscope.analyses.record import Analysis, entries
from headscope.core.types import AnyMapping

READING = {"--format", "--pack", "--documents", "--text-field"}
"""Options that say how texts are read."""

BROKEN = {"--strict", "--skip-broken", "--distinct"}
"""Options that say what is read of files of any kind."""

SENTENCES = ("--treebank", "--coref", "--links")
"""Options of the report whose files are read by sentences, not by inputs of a text."""


def see_head(prompt: str, first: Any, described: AnyMapping) -> str:
    """How the head of a table's row is seen on a prompt, with the model of the command that made the table."""
    typed = shlex.split(described["command"] or "")
    models = [name for option, name in pairwise(typed) if option in ("-m", "--model")]
    words = ["headscope", "view", prompt, *(["-m", models[0]] if models else [])]
    words += ["--layer", str(first["layer"]), "--head", str(first["head"])]
    return f"to see the first head: {shlex.join(words)}"


@dataclass(frozen=True)
class Typed:
    """What was typed for a report.

    Attributes:
        texts: the corpus's files.
        read_by: the option that they were given to, where they are no texts: ``--images`` or ``--audio``.
        options: those of the model and of reading, by name, with what was given; a flag has an empty text.
        sections: what was given to the options ``--treebank``, ``--coref``, ``--against``, ``--pairs``, ``--label``,
            ``--links``, ``--prompts``.
        limit: the most inputs.
        limit_sentences: the most sentences of the treebank, of coreference and of links.
    """

    texts: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    sections: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    limit: int | None = None
    limit_sentences: int | None = None
    read_by: str = ""

    def command(self, name: str, *words: str) -> str:
        """A command on the same corpus and model."""
        read_by = self.read_by if "inputs" in _analysis(name).groups else ""
        files = _words((read_by, text) for text in self.texts)
        return self._line(name, *files, *self._options(name), words=words, limit=self.limit)

    def alone(self, name: str, *words: str) -> str:
        """A command on the same model and the built-in texts."""
        return self._line(name, *self._options(name, built_in=True), words=words, limit=None)

    def section(self, name: str) -> str:
        """The report of one section."""
        owner = {option: entry.name for _, entry in entries(analyses()) for option in entry.options}
        named = {self.read_by or "--text": self.texts, **self.sections}
        files = _words(
            (option, path)
            for option, given in named.items()
            if owner.get(option, name) == name
            for path in given
        )
        words = ["--sections", name]
        if self.limit_sentences is not None:
            words += ["--limit-sentences", str(self.limit_sentences)]
        return self._line("report", *files, *_words(self.options.items()), words=words, limit=self.limit)

    def on(self, name: str, option: str, *more: str) -> str:
        """A command on the files of an option, or where there are none on the built-in ones.

        A treebank is not read as the texts are. `more` are options of which what was given is added.
        """
        words = _words((section, path) for section in more for path in self.sections.get(section, ()))
        files, limit = self.sections.get(option, ()), self.limit
        if option in SENTENCES and (files or self.limit_sentences is not None):
            limit = self.limit_sentences
        return self._line(*name.split(), *files, *self._options(name), words=words, limit=limit)

    def versus(self, *, apart: bool, roles: bool) -> str:
        """The command that compares the model with the other.

        `apart` where heads have no counterparts, `roles` where roles could be told.
        """
        options = dict(self.options)
        if {"--untrained", "--adapter"} & {*options}:  # that command has these for the other model alone
            return self.section("compare")
        revision = options.pop("--revision", "")
        model = options.pop("-m", "demo") + (f"@{revision}" if revision else "")
        other = self.sections.get("--against", ())
        words = [model, *other, *self.texts, *([] if other else ["--untrained", "0"])]
        table = ["--roles", "roles.csv"] if roles else []
        out = ["-o", "models.csv", *table, "--figure", "drift.svg"]
        return self._line(
            "compare",
            "models",
            *words,
            *_words(options.items()),
            words=["-o", "roles.csv"] if apart else out,
            limit=self.limit,
        )

    def _options(self, name: str, *, built_in: bool = False) -> list[str]:
        """Of the options those that a command takes, and that mean something there."""
        analysis = _analysis(name)
        texts = not built_in and {"texts", "inputs", "reading"} & {*analysis.groups}
        no = set[str]() if texts else READING if analysis.reads and not built_in else READING | BROKEN
        return _words((option, value) for option, value in self.options.items() if option not in no)

    def _line(self, *first: str, words: Sequence[str], limit: int | None) -> str:
        most = [] if limit is None else ["--limit", str(limit)]
        return shlex.join(["headscope", *first, *most, *words])


def _analysis(name: str) -> Analysis:
    return next(one for one in analyses().values() if one.command == name)


def _words(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [word for pair in pairs for word in pair if word]
