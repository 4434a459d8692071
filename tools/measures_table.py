"""Write docs/measures.md: every measure, from its definition, with an example worked out on paper.

python tools/measures_table.py            write it
python tools/measures_table.py --check    exit 1 when it is out of date
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import numpy as np

import headscope as hs
from headscope.analyses.roles.statistics import ROLES
from headscope.core.tokens import Tokens
from headscope.measures.choose import GROUPS, row_statistic, surface
from headscope.measures.measure import Measure
from headscope.models.perceive import WHAT

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "measures.md"
MOST_TERMS = 6
"""Longer sums are cut short."""
COLUMNS = "| measure | what it is | unit | source | worked out |"

PIECES = ["[CLS]", "walk", "walk", "##er", ",", "[SEP]", "Walk", "walk", "[SEP]"]
TENTHS = """
2 1 1 1 1 1 1 1 1
1 1 2 1 0 1 2 1 1
0 4 1 2 0 2 0 1 0
0 2 5 1 0 1 0 1 0
1 0 0 4 1 2 0 0 2
5 0 0 0 0 3 0 0 2
0 3 0 1 0 1 1 3 1
1 2 1 0 0 1 4 0 1
2 0 0 0 0 5 0 0 3
"""
COPIES = ["<s>", "a", "b", "a", "b"]
COPIES_TENTHS = """
10 0 0 0 0
6 4 0 0 0
2 5 3 0 0
1 2 6 1 0
3 1 1 4 1
"""

GRID_TENTHS = """
4 1 1 1 1 1 1
2 3 2 1 1 1 0
1 2 3 2 0 2 0
0 0 3 5 0 0 2
2 2 0 0 4 2 0
5 0 1 0 1 2 1
1 0 0 3 0 2 4
"""
FRAMES_TENTHS = """
5 3 1 1
2 5 2 1
1 2 5 2
1 1 3 5
"""
ANSWER = ["patch[0,0]", "patch[0,1]", "What", "?", "a", "cat"]
ANSWER_TENTHS = """
10 0 0 0 0 0
5 5 0 0 0 0
3 3 4 0 0 0
2 2 3 3 0 0
1 2 2 1 4 0
3 2 1 1 1 2
"""

HEAD = """# Measures

Each measure is a figure of every head: a statistic of single rows of its attention maps, averaged over the rows that
count. This page is written by `python tools/measures_table.py` from the definitions that the program runs.

```python
import headscope as hs
hs.measure(model, corpus)                                            # the group surface
hs.measure(model, corpus, measures=["patterns", "entropy", "to_punctuation"])
hs.roles(model, hs.corpora.builtin())                                # what each head does
```

On the command line, `headscope measure CORPUS --measures patterns,entropy,to_punctuation -o FILE` and
`headscope roles CORPUS -o FILE`.

**Averaging unit.** A figure is a mean over tokens: all rows that count, of all inputs, weigh the same. With
`by="document"` it is a mean of documents' means; the preset `clark2019` takes the mean of inputs' means. Tokens are
pieces; on `maps.words()` they are words. Each figure `m` comes with `m_se`, its standard error of the
jackknife over documents, `m_n`, the number of rows, `m_documents`, how many documents of one size would tell as much,
and `m_chance`, what uniform attention over the visible keys gives in the same rows.

**Visible keys.** What a query can see is what the model's own mask says: tokens so far, a window, a chunk, for each
layer and, where they differ, each head. Zeros of the weights say nothing of it. Rows that see none of the keys that are
meant do not count, so `m_n` may differ by layer and head; `m_chance` is by layer, and by head where heads do not see
the same.

**Units.** A *share* is a part of a row's attention, 0 to 1, or of the rows, where it says so; entropies are in nats.

**Sources.** `measure.cite()` prints BibTeX. The variables of a dataset carry the keys in `attrs["cites"]`.

## The examples

Examples are worked out on two maps of one head. A pair of texts, seen both ways (in tenths; a row is a query):

{pair}

and repeated tokens in a causal model:

{copies}

In the first, `##er` is taken for the rarest token and the comma for the next.

Those of pictures and sounds are worked out on one of two rows of three patches of 10 × 10 pixels behind `[CLS]`:

{grid}

on frames of 0.06 s, of which the sound fills three:

{frames}

and on a model that was given a picture of two patches, was asked *What ?*, and wrote *a cat*:

{answer}
"""

INTRODUCTIONS = {
    "surface": "Where a head looks by position and by kind of token, and how broadly: Clark et al. 2019, section 3.",
    "patterns": 'The patterns of Vig\'s "Deconstructing BERT" (next and previous token are in the group above), how '
    "far heads look, and attention sinks. A *word* is a run of pieces of one word, in any case, and no punctuation; a "
    "*sentence* is a text (A or B) of the input.",
    "confidence": "What the largest weight of a row says: Voita et al. 2019. The rarest tokens of each input are "
    "marked by a first pass over the corpus (`headscope.runs.rare.with_rarest`); `hs.roles` makes it. The paper's "
    "syntactic heads need trees, and are not among these.",
    "synthetic": "What a head does by matching tokens, for "
    "`headscope.analyses.roles.run.repeated_tokens(model)`; the "
    "definitions hold for any text.",
    "conversation": "Whether a head looks at what it was given or at its own words, in answers: tokens that "
    "`headscope.generate` wrote, or that a log's `token_ids` name, else what the `assistant` says in a conversation. "
    "In the example the second `a b` was generated.",
    "pictures": "How far a head looks on a picture, and in which direction. A *patch* is a token that stands for an "
    "area of it. What goes to `[CLS]` is `cls`, what goes to registers `to_register`; of a corpus of pictures these "
    "are measured, too, with `current`, `entropy` and `largest`.",
    "sounds": "How far a head looks in a sound. A *frame* is a token that stands for a stretch of it; those that begin "
    "after its end, with which a window of one length is filled, are none. The heads that align words with sound, "
    "`headscope align`, are told in [pictures and sound](pictures.md#sound).",
    "answers": "Where a model of texts and pictures looks as it writes. The rows are those of words that "
    "`headscope.generate` wrote; where nothing was generated, of the words after the picture. Chance is the share of "
    "the keys so far.",
    "gradients": "How much the model's output depends on attention to each kind of token, figure 3 of Clark et al.: "
    "the size of ∂L/∂α by one weight, so that kinds of many and of few tokens compare. `--objective` says what L is. "
    "The examples take the tenths above for sizes of gradients.",
}

FAMILIES = """## Any offset, any class of tokens

| name | what it is |
|---|---|
| `offset-2`, `offset+3` | the weight that a token gives to the one so many places before or after it |
| `offset-8..-5`, `offset+3..+4` | the share that goes to tokens so many places away, the first of the input left out |
| `tokens2..4`, `tokens5..` | the share that goes to these tokens of the input, counted from 1 |
| `to_<class>` | the mass that tokens give to a class of tokens |
| `<class>_to_<class>` | the same of the tokens of a class, as in `noun_to_sep` |
| `not_<class>_to_<class>` | the same of all tokens but those of a class, as in `not_noun_to_sep` |

Classes are `first`, `special`, `sep`, `cls`, `bos`, `eos`, `punctuation`, and in lower case the tags of a treebank, or
of `tags` beside `words` in JSON lines; of pictures and sounds `patch`, `register`, `image` and `frame`.

## Attention variability

`hs.contribution.variability(model, corpus)`: how much attention among the first 10 tokens differs between inputs, which
two passes over the corpus tell: `Σₓ Σᵢ Σⱼ |αᵢⱼ(x) − ᾱᵢⱼ| / (2 Σₓ Σᵢ Σⱼ αᵢⱼ(x))`, ᾱ the mean over inputs x
(Vig & Belinkov 2019).
0 where attention depends on position alone, up to 1 where on the words alone. Example: one row gives (1, 0) in one
input and (0, 1) in another: ᾱ = (½, ½), and (½ + ½ + ½ + ½) / (2 · 2) = 0.5.

## Your own measure

A function of pairs says what a weight between two tokens is worth; a function of rows gets whole rows.

```python
# again.py
import numpy as np
import headscope as hs

@hs.pair_measure("again", "Mean mass on earlier copies of the same piece.")
def again(tokens, queries):                   # -> [query key]
    pieces = np.array(tokens.pieces)
    return (np.arange(len(tokens)) < queries[:, None]) & (pieces == pieces[queries, None])
```

`hs.measure(model, corpus, measures=["entropy", again])`, or `headscope measure --measures entropy,again.py:again`.

Pairs that a query cannot see need no thought: they have weight 0, and a row counts where it sees one of its pairs. A
function of whole rows (`hs.row_measure`) that names an argument `visible`, after `weights, tokens, queries`, is given
there which keys each query can see, `[head query key]`, or `[1 query key]` where heads agree.
"""

ROLES_HEAD = """## Roles

`hs.roles(model, corpus)` says what each head does. A head has a role when its score is above the bar. The bar is the
threshold, or a quarter of the way from chance to 1, whichever is more (*broad*: uniform entropy − ln 1.5). Chance is
uniform attention; for roles that name tokens of texts it is what the head's own offsets score, if that is more. p is
one-sided and q is p after Benjamini and Hochberg over all heads and the roles of a family (position, marks, words,
the sentence, breadth, copies). Roles with q ≤ 0.05 are named; a head without any has one row, `none`. A role that
uniform attention itself has to more than 0.9 is not tested. How often these tests err: [statistics](statistics.md).

Where the first token of a causal head is a sink, each role of texts is also tested *off the sink*, with the sink's
mass taken out. "§3.1" is Clark et al. 2019, who count a head of the next or the previous token where more than half
of the attention goes there.

| role | measure | threshold | why | not named beside | models | inputs |
|---|---|---|---|---|---|---|
"""


def example(pieces: list[str], tenths: str, causal: bool) -> hs.AttentionMaps:
    """The map of an example."""
    weights = np.array([row.split() for row in tenths.strip().split("\n")], np.float64) / 10
    tokens = Tokens.of(pieces)
    word = np.cumsum([not piece.startswith("##") for piece in pieces]) - 1
    special = tokens.mask("special")
    rarest = np.array([piece == "##er" for piece in pieces])
    more = (
        {}
        if causal
        else {"rarest": rarest, "rarest_two": rarest | np.array([piece == "," for piece in pieces])}
    )
    made = Tokens(
        pieces,
        special_mask=special,
        word_ids=np.where(special, -1, word),
        classes={**tokens.classes, **more},
    )
    return hs.wrap(weights[None, None], made, causal=causal)


def answered(maps: hs.AttentionMaps) -> hs.AttentionMaps:
    """The same map, where the second copy was generated."""
    tokens = maps.query.with_classes(generated=np.arange(len(maps.query)) >= COPIES.index("a", 2))
    return hs.wrap(np.stack(maps.layers), tokens, causal=True)


def tenths(text: str) -> np.ndarray:
    """The weights of a picture's, a sound's or an answer's example, of one head."""
    return np.array([row.split() for row in text.strip().split("\n")], np.float64)[None, None] / 10


def on_grid() -> hs.AttentionMaps:
    """The map of a picture."""
    picture = hs.Picture(np.zeros((20, 30, 3), np.uint8))
    return hs.wrap(tenths(GRID_TENTHS), hs.Grid(2, 3, ["[CLS]"], picture))


def on_frames() -> hs.AttentionMaps:
    """The map of a sound."""
    return hs.wrap(tenths(FRAMES_TENTHS), hs.Frames(4, 0.06, hs.Sound(np.zeros(18, np.float32), 100)))


def of_answer() -> hs.AttentionMaps:
    """The map of an answer about a picture."""
    place = np.arange(len(ANSWER))
    axis = Tokens(
        ANSWER, classes={"image": place < 2, "question": (place > 1) & (place < 4), "generated": place > 3}
    )
    return hs.wrap(tenths(ANSWER_TENTHS), axis, causal=True)


def drawn(maps: hs.AttentionMaps) -> str:
    pieces = [f"`{piece}`" for piece in maps.query.pieces]
    lines = [["", *pieces], ["---"] * (len(pieces) + 1)]
    for piece, row in zip(pieces, maps[0, 0], strict=True):
        lines.append([piece, *(f"{10 * weight:.0f}" if weight else "" for weight in row)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if value else "0"


def worked(measure: Measure, maps: hs.AttentionMaps) -> str | None:
    """The rows of a measure, added up and divided; None where no row counts."""
    tokens = maps.query
    if measure.absent(maps.causal):
        return None
    chosen = np.flatnonzero(measure.select(tokens, maps.causal))
    sight = maps.sight(0)[0]
    if not len(chosen) or any(name not in tokens.named for name in measure.needs):
        return None
    rows = row_statistic(measure, maps.layers[0], tokens, 0.0, sight)[0, chosen]
    value = surface(maps, [measure])[measure.name].item()
    assert np.isclose(value, rows.mean())
    terms = [number(row) for row in rows]
    if len(rows) > MOST_TERMS:
        terms = [*terms[:2], "…", terms[-1]]
    if len(rows) == 1:
        return terms[0]
    exact = np.isclose(value, round(value, 3), rtol=0, atol=1e-9)
    return f"({' + '.join(terms)}) / {len(rows)} {'=' if exact else '≈'} {number(value)}"


def more(measure: Measure) -> str:
    """What the docstring of a measure's function says beside its first line and its own example."""
    function = measure.pairs if measure.statistic == "pairs" else measure.function
    text = (inspect.getdoc(function) or "") if function is not None else ""
    _, *parts = text.split("\n\n")
    return " ".join(part for part in parts if not part.startswith("Example:")).replace("``", "`")


def repeated() -> hs.AttentionMaps:
    """The map of repeated tokens."""
    return example(COPIES, COPIES_TENTHS, True)


EXAMPLES = (
    lambda: example(PIECES, TENTHS, False),
    repeated,
    on_grid,
    on_frames,
    of_answer,
    lambda: answered(repeated()),
)
"""The maps of the page: a measure without an `example` is worked out on the first that has a row for it."""
_FIRST = {
    "synthetic": repeated,
    "conversation": EXAMPLES[-1],
    "pictures": on_grid,
    "sounds": on_frames,
    "answers": of_answer,
}
"""Groups that begin with another."""


def worked_out(measure: Measure, group: str) -> str:
    """The example of a measure. Raises `ValueError` where no map has a row for it."""
    if measure.example is not None:
        maps = measure.example()
        if found := worked(measure, maps):
            return f"{found} (in a map of its own)"
        raise ValueError(f"measure {measure.name}: its example has no row for it")
    for make in (_FIRST.get(group, EXAMPLES[0]), *EXAMPLES):
        if found := worked(measure, make()):
            return found
    raise ValueError(f"measure {measure.name}: no map of the page has a row for it: give it one, example=")


def row(measure: Measure, group: str) -> str:
    """One measure's row of the table of its group."""
    text = " ".join(f"{measure.description} {more(measure)}".split()).replace("|", "\\|")
    source = "headscope’s own" if measure.source is None else measure.source
    cells = (f"`{measure.name}`", text, measure.units or "its own", source)
    return f"| {' | '.join((*cells, worked_out(measure, group)))} |"


def generate() -> str:
    parts = [
        HEAD.format(
            pair=drawn(EXAMPLES[0]()),
            copies=drawn(repeated()),
            grid=drawn(on_grid()),
            frames=drawn(on_frames()),
            answer=drawn(of_answer()),
        )
    ]
    for group, measures in GROUPS.items():
        parts.append(f"## Group `{group}`\n\n{INTRODUCTIONS.get(group, '')}".rstrip() + "\n")
        rows = [row(measure, group) for measure in measures.values()]
        parts.append("\n".join([COLUMNS, "|---|---|---|---|---|", *rows]) + "\n")
    parts.append(FAMILIES)
    table = ROLES_HEAD
    for role in ROLES:
        if role.name.endswith("off the sink"):
            continue
        why = role.why.replace(
            "more than half of the attention, as Clark et al. 2019, §3.1, count heads of the next and previous token",
            "more than half (§3.1)",
        )
        models = "causal" if role.causal else "all"
        limit = f"{role.threshold:.2g}" if role.measure != "entropy" else "2/3 of the visible tokens"
        beside = ", ".join(role.unless) or "–"
        inputs = ", ".join(WHAT[kind] for kind in role.kinds)
        table += f"| {role.name} | `{role.measure}` | {limit} | {why} | {beside} | {models} | {inputs} |\n"
    parts.append(table)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))


def main(arguments: list[str]) -> int:
    text = generate()
    if arguments == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print(
                f"{PAGE.relative_to(ROOT)} is out of date: run python tools/measures_table.py",
                file=sys.stderr,
            )
            return 1
        return 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
