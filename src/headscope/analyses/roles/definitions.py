"""What is looked for: each role with its measure, its threshold, and where that comes from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from headscope.core.tokens import Kind
from headscope.measures.perceived import NEAR

Family = Literal["position", "marks", "words", "sentence", "breadth", "copies", "off the sink"]

NONE = "none"
BROAD = "broad"
EVIDENT = 0.9
"""A role that uniform attention has to this degree is not tested."""


_HALF = (
    "more than half of the attention, as Clark et al. 2019, §3.1, count heads of the next and previous token"
)


@dataclass(frozen=True)
class Role:
    """One role.

    Attributes:
        name: what a head with it is called.
        measure: whose score.
        family: the roles that are tested together.
        unless: roles that say the same more precisely: where a head has one, this one is not named.
        why: where the threshold comes from.
        threshold: what the score must exceed; of ``entropy`` a share of the visible tokens.
        causal: a role in causal models only.
        doubt: as in `headscope.statistics.jackknife.above`: where a few documents of another kind score far less.
        of: the role that this one is off the sink: of heads whose first token is one, with its mass taken out.
        also: a second measure that must pass its bar as well, where there are figures of it.
        way: the bar is at least so much of the way from chance to 1.
        kinds: of inputs that it is a role on.
    """

    name: str
    measure: str
    family: Family
    unless: tuple[str, ...] = ()
    why: str = _HALF
    threshold: float = 0.5
    causal: bool = False
    doubt: float = 0.0
    of: str | None = None
    also: str | None = None
    way: float = 0.25
    kinds: tuple[Kind, ...] = ("text",)

    @property
    def variable(self) -> str:
        """Where a dataset has the score."""
        return f"{self.measure}_off" if self.of else self.measure


_MORE = "more than half of the attention"
_PREFIX = (
    "more than half of the attention goes to the token that followed an earlier copy, on repeated random tokens "
    "(Olsson et al. 2022)"
)
SINK = "sink"
_ON: tuple[Role, ...] = (
    Role("previous token", "previous", "position"),
    Role("next token", "next", "position"),
    Role("itself", "current", "position", kinds=("text", "images", "sounds")),
    Role(
        "around it",
        "locality",
        "position",
        unless=("itself",),
        why=f"{_MORE} to the patch itself and the up to eight around it",
        kinds=("images",),
    ),
    Role("same row", "same_row", "position", why=f"{_MORE} to other patches of the row", kinds=("images",)),
    Role(
        "same column",
        "same_column",
        "position",
        why=f"{_MORE} to other patches of the column",
        kinds=("images",),
    ),
    Role(
        "near in time",
        "locality_seconds",
        "position",
        unless=("itself",),
        why=f"{_MORE} to frames up to {NEAR:g} s away",
        kinds=("sounds",),
    ),
    Role("[CLS]", "cls", "marks", kinds=("text", "images")),
    Role("registers", "to_register", "marks", why=f"{_MORE} to registers", kinds=("images",)),
    Role(
        "artefacts",
        "to_artefact",
        "marks",
        why=f"{_MORE} to patches whose norm is far above the rest (Darcet et al. 2024, §2.1)",
        kinds=("images",),
    ),
    Role(
        "silence after it",
        "after_sound",
        "marks",
        why=f"{_MORE} to the silence that fills the window after the sound",
        kinds=("sounds",),
    ),
    Role("separators", "sep", "marks"),
    Role(
        SINK,
        "sink",
        "marks",
        why="Gu et al. 2024; on inputs of at least 128 tokens, where uniform attention gives 0.035",
        threshold=0.3,
        causal=True,
    ),
    Role("delimiters", "delimiter", "marks", unless=("[CLS]", "separators", "sink")),
    Role("punctuation", "punctuation", "marks"),
    Role("same word", "same_word", "words", unless=("duplicate token",)),
    Role("same word, other sentence", "same_word_other", "words"),
    Role("related word", "related_word", "words", unless=("same word", "duplicate token")),
    Role(
        "related word, other sentence", "related_word_other", "words", unless=("same word, other sentence",)
    ),
    Role("pieces of one word", "word_pieces", "words", unless=("previous token", "next token")),
    Role(
        "rare word",
        "rare_word",
        "words",
        why="more than half of the tokens; Voita et al. 2019, §5.3, report 66 %",
    ),
    Role(
        "bag of words",
        "bag_of_words",
        "sentence",
        why="more than half: all attention on half of the sentence, or half of it on all of the sentence",
        doubt=1.5,
    ),
    Role(
        BROAD,
        "entropy",
        "breadth",
        unless=("bag of words",),
        why="as even as attention to two thirds of the visible tokens: entropy above that of uniform attention "
        "− ln 1.5",
        threshold=2 / 3,
        kinds=("text", "images", "sounds"),
    ),
    Role(
        "induction",
        "induction",
        "copies",
        why=f"{_PREFIX}, and it raises the logit of that token",
        causal=True,
        also="copying",
    ),
    Role(
        "anti-induction",
        "induction",
        "copies",
        why=f"{_PREFIX}, and it lowers the logit of that token (McDougall et al. 2023)",
        causal=True,
        also="suppressing",
    ),
    Role(
        "prefix matching",
        "induction",
        "copies",
        unless=("induction", "anti-induction"),
        why=f"{_PREFIX}; it neither raises nor lowers that token's logit enough",
        causal=True,
    ),
    Role(
        "copy suppression",
        "copy_suppression",
        "copies",
        why="of the tokens of the context it lowers, by looking there, what was predicted: more than the others, a "
        "quarter of the way from chance to all (after McDougall et al. 2023)",
        causal=True,
    ),
    Role(
        "duplicate token", "duplicate", "copies", why="more than half, on repeated random tokens", causal=True
    ),
    Role(
        "retrieval",
        "retrieval",
        "copies",
        why="looks most at the token that is copied from a needle far back, for more than a tenth of those that the "
        "model copies (Wu et al. 2024)",
        threshold=0.1,
        causal=True,
        way=0.0,
    ),
)
_SEEN_OFF = (
    *(
        "previous token",
        "itself",
        "punctuation",
        "same word",
        "related word",
        "pieces of one word",
        "rare word",
    ),
    *("bag of words", "induction", "anti-induction", "prefix matching", "duplicate token"),
)


def off_name(role: str) -> str:
    """What a role is called off the sink."""
    return f"{role}, off the sink"


_OFF = tuple(
    replace(
        role,
        name=off_name(role.name),
        family="off the sink",
        unless=(role.name, *(off_name(other) for other in role.unless if other in _SEEN_OFF)),
        why=f"of heads whose first token is a sink, with its mass taken out: {role.why}",
        causal=True,
        of=role.name,
        kinds=("text",),
    )
    for role in _ON
    if role.name in _SEEN_OFF
)
ROLES: tuple[Role, ...] = (*_ON, *_OFF)
"""The roles, in the order in which they are named."""

OF_TWO = [role.name for role in ROLES if role.also]
"""Roles that two measures must pass."""


def roles_on(kind: Kind) -> list[Role]:
    """The roles that heads may have on inputs of a kind."""
    return [role for role in ROLES if kind in role.kinds]


def units_of(role: str) -> str:
    """The units of a role's score."""
    return (
        "nats"
        if any(definition.name == role and definition.measure == "entropy" for definition in ROLES)
        else "share"
    )


_OF_TOKENS = ("marks", "words", "copies")
"""Families of roles that name tokens: on texts a head must score more than its own offsets do."""


def offset_measures() -> list[str]:
    """The measures of these roles."""
    return list(dict.fromkeys(role.measure for role in _ON if role.family in _OF_TOKENS))


def off_measures(measures: Collection[str]) -> list[str]:
    """Those of some measures that are taken off the sink as well."""
    return list(dict.fromkeys(role.measure for role in _OFF if role.measure in measures))
