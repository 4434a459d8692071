"""What the columns of tables say: their labels, how their values are written, and what they mean.

A table is saved with the names of its columns; the page, the terminal, LaTeX and the documentation ask here what a name
means. A name that is not listed is its own label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Format = Literal[
    "share", "figure", "fixed", "probability", "whole", "flag", "text", "token", "tokens", "head"
]
"""How a value is written.

A ``share`` without the zero before its point, a ``figure`` with fewer decimals where it is large, ``fixed`` with as
many as are said; ``whole`` numbers by thousands; a ``token`` with its mark, of ``tokens`` the first few.
"""


class Column(NamedTuple):
    """What a column says.

    Attributes:
        label: above it; a flag's stands where it is true.
        format: how its values are written.
        digits: after the point.
        help: what it means, for who does not know the word.
    """

    label: str
    format: Format
    digits: int = 3
    help: str = ""


_SPLIT = "the best head is chosen on some documents and scored on others: this is what choosing gives"
_CHANCE = "what attention spread evenly would score"
_Q = "the expected share of wrong claims among this one and all with a smaller q"

_OFFSET = (
    "a guess that looks at no attention: always the word so many places before or after, whichever is right "
    "most often"
)
_BEST = {
    "accuracy": Column(
        "accuracy,\ngiven the\nchoice",
        "share",
        help="on the very words that the head was chosen on: a little too good",
    ),
    "baseline_accuracy": Column("baseline", "share"),
    "baseline_offset": Column("baseline offset", "whole"),
    "head": Column("best head", "head"),
    "mass": Column("mass", "share"),
    "rank": Column("rank", "figure", 1),
    "split_accuracy": Column("split,\nchoice\nincluded", "share", help=_SPLIT),
}

COLUMNS = {
    **{f"{of}.{name}": best for of in ("links", "syntax") for name, best in _BEST.items()},
    "p": Column("p", "probability"),
    "q": Column("q", "probability", help=_Q),
    "n": Column("n", "whole"),
    "few": Column("few", "flag", help="Too few instances for a best head"),
    "head": Column("head", "head"),
    "layer": Column("layer", "whole"),
    "token": Column("token", "token"),
    "accuracy": Column("accuracy", "share"),
    "artefacts.attention": Column("on artefacts", "share"),
    "artefacts.chance": Column("chance", "share", help=_CHANCE),
    "artefacts.from_cls": Column("[CLS] on them", "share"),
    "align.accuracy": Column("words found", "share"),
    "align.error": Column("seconds off", "fixed", 2),
    "align.chosen": Column("aligns best", "flag"),
    "align.monotonic": Column("in order", "share"),
    "attribute.contribution": Column("to the logit", "figure", 2),
    "attribute.token": Column("mostly from", "token"),
    "compare.a": Column("A", "figure"),
    "compare.b": Column("B", "figure"),
    "compare.best_a": Column("best of A", "figure"),
    "compare.best_b": Column("best of B", "figure"),
    "compare.difference": Column("A − B", "figure"),
    "compare.heads": Column("heads of A", "text"),
    "compare.title": Column("measure", "text"),
    "composition.kind": Column(
        "in its", "text", help="K: keys, Q: queries, V: values of the head that reads"
    ),
    "composition.itself": Column(
        "raises what\nit looks at",
        "share",
        help="by the head's weights, of sampled tokens; – for a head that does not",
    ),
    "composition.keys": Column("its keys read", "text"),
    "composition.q": Column("q", "probability", help=_Q),
    "composition.queries": Column("its queries read", "text"),
    "composition.role": Column("role", "text"),
    "composition.share": Column("share", "share", 2, help="of what the head reads, what the other wrote"),
    "composition.values": Column("its values read", "text"),
    "card.chance": Column("chance", "share", 2),
    "card.documents": Column("documents", "whole"),
    "card.list": Column("list", "text"),
    **{f"card.{by}": Column(by, "share", 2) for by in ("template", "special", "dtype", "attention", "cache")},
    "card.needed": Column("for .9", "whole", help="about how many documents two corpora take to share .9"),
    "card.share": Column("halves", "share", 2, help="what the lists of two halves of the documents share"),
    "composition.writer": Column("reads", "text"),
    "composition.z": Column(
        "z", "figure", 1, help="the share by what it is with the writing turned at random"
    ),
    "coref.all": Column("all", "share"),
    "coref.candidates": Column("chooses among", "text"),
    "coref.difference": Column("beside\nthe best\nrule", "share"),
    "coref.nominal": Column("nominal", "share"),
    "coref.pronoun": Column("pronoun", "share"),
    "coref.proper": Column("proper", "share"),
    "coref.split": Column("split,\nchoice\nincluded", "share", help=_SPLIT),
    "groups.difference": Column("A − B", "figure"),
    "groups.effect": Column("Hedges' g", "figure", 2),
    "groups.group_a": Column("A", "figure"),
    "groups.group_b": Column("B", "figure"),
    "groups.n_a": Column("n", "whole"),
    "groups.n_b": Column("n of B", "whole"),
    "groups.title": Column("measure", "text"),
    "probes.control": Column(
        "control", "share", help="accuracy on a task made of random answers: what is learnt by heart"
    ),
    "probes.printed": Column("in the paper", "share", 2),
    "probes.selectivity": Column(
        "selectivity", "share", help="UAS less control: what is not learnt by heart"
    ),
    "probes.uas": Column(
        "UAS", "share", help="the share of words whose head in the tree is found, punctuation left out"
    ),
    "probes.uuas": Column("UUAS", "share", help="the same without the direction of the link"),
    "roles.ci_low": Column("95 % interval", "figure"),
    "roles.offsets": Column(
        "offsets",
        "figure",
        help="what a head would score that looks at places alone, each as often as this one does",
    ),
    "roles.stays": Column(
        "stays", "share", 2, help="in which share of draws of documents the head is among the highest"
    ),
    "roles.threshold": Column("bar", "figure", help="the score that a head must be above to have the role"),
    "roles.chance": Column("chance", "figure", help=_CHANCE),
    "retrieval.accuracy": Column("right", "share"),
    "retrieval.condition": Column("answers with", "text"),
    "retrieval.score": Column("share of copied tokens", "share"),
    "syntax.baseline_accuracy": Column("offset", "share", help=_OFFSET),
    "syntax.printed": Column("in the paper", "share"),
    "why.effect": Column(
        "nats lost", "figure", 2, help="what the answer loses where no later token sees the span"
    ),
    "why.estimate": Column("estimate", "figure", 2, help="the effect to the first order: it orders spans"),
    "why.lexical": Column("words shared", "share", 2),
    "why.share": Column("of the context", "share", 2),
    "writes.copying": Column("copying", "figure", 2),
    "writes.copying_q": Column("q", "probability", help=_Q),
    "writes.itself": Column("itself", "share"),
    "writes.positive": Column("positive", "share", 2),
    "writes.prefers": Column("would look at", "tokens"),
    "writes.promotes": Column("and raises", "tokens"),
    "writes.token": Column("looks at", "token"),
}
"""By name, or by ``analysis.name`` where an analysis says more."""

_OTHERS: Mapping[str, str] = {
    "string": "baseline bench.source candidates checkpoint clusters context_attribution.input data direction family "
    "from heads kind label level list looks_at measure model name nearest negation.score paper part prefers probe "
    "promotes relation role rule side system text to type vectors word writer",
    "boolean": "chosen",
    "integer": "baseline_offset choices edges end epochs head_a head_b heads_a heads_b input inputs key_head layer_a "
    "layer_b n_a n_b offset parameters parent seed sentence sentences source span start times unit "
    "writer_head writer_layer",
    "number": "a accuracy_high accuracy_low aer aer_high aer_low after align.end align.start area attention "
    "attention_left attention_se average_precision average_precision_high average_precision_low b "
    "baseline_accuracy before below below_high below_low best_a best_b chance change ci_high ci_low "
    "circuits cite contacts content contrast_left contribution control copying copying_chance copying_p "
    "copying_q correlation correlation_high correlation_low cosine cosine_se deleted depth_spearman "
    "difference difference_high difference_low documents effect effective error estimate estimate_high "
    "estimate_low faithfulness from_cls from_source group_a group_b heed heed_high heed_low held_out "
    "induction inside itself itself_chance itself_high itself_low js js_se kurtosis left_se lexical loss "
    "mass mean_map monotonic nearest_score offset_gain offsets outside position positive positive_chance "
    "precision_at_l precision_at_l5 precision_at_l5_high precision_at_l5_low precision_at_l_high "
    "precision_at_l_low rank received retrieval root_accuracy score score_chat se selectivity "
    "selectivity_high selectivity_low share share_a share_b share_untrained similarity similarity_high "
    "similarity_low spearman spearman_high spearman_low split split_accuracy split_high split_low stays "
    "term threshold timing uas uas_high uas_low uas_punct uuas uuas_high uuas_low value written "
    "written_high written_low written_p written_q written_stays z",
}
"""What JSON calls what is in the other columns, which the values themselves say how to write."""

_TYPES: Mapping[Format, str] = {
    **dict.fromkeys(("share", "figure", "fixed", "probability"), "number"),
    **dict.fromkeys(("whole", "head"), "integer"),
    **dict.fromkeys(("text", "token", "tokens"), "string"),
    "flag": "boolean",
}

_JSON_TYPES = {
    **{name: kind for kind, names in _OTHERS.items() for name in names.split()},
    **{name: _TYPES[column.format] for name, column in COLUMNS.items()},
}

_OF_KIND: dict[str, Format] = {"i": "whole", "u": "whole", "b": "flag", "f": "figure"}


def column(name: str, of: str = "", kind: str = "O") -> Column:
    """What a column of an analysis says; `kind` is that of its values (`numpy.dtype.kind`), where nothing is listed.

    >>> column("q").label, column("score", "retrieval").label, column("ci_low", kind="f")
    ('q', 'share of copied tokens', Column(label='ci low', format='figure', digits=3, help=''))
    """
    known = COLUMNS.get(f"{of}.{name}") or COLUMNS.get(name)
    return known or Column(name.replace("_", " "), _OF_KIND.get(kind, "text"))


def json_type(name: str, of: str = "") -> str:
    """What JSON calls what is in a column of an analysis; empty of one that is not registered.

    >>> json_type("layer"), json_type("source", "attribute"), json_type("source", "bench")
    ('integer', 'integer', 'string')
    """
    return _JSON_TYPES.get(f"{of}.{name}") or _JSON_TYPES.get(name, "")


def plain(value: Any, format: Format) -> str | int | float | bool | None:
    """A value of a column as JSON has it, with every digit; None for none, and for what is no finite number."""
    if (
        value is None or type(value).__name__ == "NAType" or value != value
    ):  # of pandas, which is not loaded for it
        return None
    if format in ("text", "token", "tokens"):
        return str(value)
    if format == "flag":
        return bool(value)
    if format in ("whole", "head"):
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else None
