"""Write docs/measures.md, every measure from its definition, and benchmarks/measures.md, each worked out on paper.

python tools/measures_table.py            write it
python tools/measures_table.py --check    exit 1 when it is out of date
"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import headscope as hs
from headscope.analyses.roles.statistics import ROLES
from headscope.core.tokens import Tokens
from headscope.measures.choose import GROUPS, row_statistic, surface
from headscope.measures.measure import Measure
from headscope.models.perceive import WHAT

ROOT = Path(__file__).resolve().parents[1]
PAGE, LOG = ROOT / "docs" / "measures.md", ROOT / "benchmarks" / "measures.md"
MOST_TERMS = 6
"""Longer sums are cut short."""

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
MEDIA_TENTHS = """
5 2 1 0 1 1
2 3 2 2 0 1
1 1 4 2 1 1
0 1 3 4 1 1
1 0 1 1 5 2
0 1 1 0 3 5
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

A measure is a figure of every head. It is taken of single rows of a head's attention map (a row is what one token
gives to all keys), and averaged over the rows that count.

```python
import headscope as hs
hs.measure(model, corpus)                                            # the group surface
hs.measure(model, corpus, measures=["patterns", "entropy", "to_punctuation"])
hs.roles(model, hs.corpora.builtin())                                # what each head does
```

- **Averages** are over tokens: all rows that count weigh the same. `by="document"` averages the means of documents,
  the preset `clark2019` the means of inputs. Tokens are pieces, and on `maps.words()` words.
- **Beside each figure `m`** stand `m_se`, its standard error (a jackknife over documents), `m_n`, the number of
  rows, `m_documents`, the documents that they count as, and `m_chance`, what uniform attention over the visible keys
  gives in the same rows.
- **What a query can see** is what the model's mask says, by layer and head. A row that sees none of the keys that
  are meant does not count, so `m_n` may differ by layer and head.
- **Units.** A figure is a mean share, from 0 to 1, unless the table says otherwise.
- **Sources.** `measure.cite()` prints BibTeX. Each measure is worked out on paper in `benchmarks/measures.md`.

## All measures

A *word* is a run of pieces of one word, in any case, without punctuation. A *sentence* or *text* is text A or B of
the input. A *patch* is a token that stands for an area of a picture, a *frame* one that stands for a stretch of a
sound. The group `synthetic` is meant for repeated random tokens
(`headscope.analyses.roles.run.repeated_tokens(model)`), which `hs.roles` makes. It also marks each input's rarest
tokens, which `rare_word` needs. In `answers` and `conversation` the rows are words that `headscope.generate` wrote
or that a log marks. For gradients `--objective` says what L is.

| measure | what it is | source | group |
|---|---|---|---|
"""

FAMILIES = """
## Any offset, any class of tokens

- `offset-2`, `offset+3`: the weight that a token gives to the one so many places before or after it.
- `offset-8..-5`, `offset+3..+4`: the share that goes to tokens so many places away, the first of the input left out.
- `tokens2..4`, `tokens5..`: the share that goes to these tokens of the input, counted from 1.
- `lag24`, `season24`: of a time series the share that goes to so many steps before, or to any multiple of them away.
- `to_<class>`: the share that tokens give to a class of tokens. `<class>_to_<class>`: the same from the tokens of a
  class, as in `noun_to_sep`. `not_<class>_to_<class>`: the same from all other tokens.

Classes are `first`, `special`, `sep`, `cls`, `bos`, `eos`, `punctuation`, and in lower case the tags of a treebank,
or of `tags` beside `words` in JSON lines. Of pictures and sounds they are `patch`, `register`, `image` and `frame`.
`gradient_` and `norm_` before a name give the same (but no entropy) of [gradients and
norms](importance.md#gradients-norms-and-gates).

`hs.contribution.variability(model, corpus)` says how much attention among the first 10 tokens differs between inputs
(Vig & Belinkov 2019): `Σₓ Σᵢ Σⱼ |αᵢⱼ(x) − ᾱᵢⱼ| / (2 Σₓ Σᵢ Σⱼ αᵢⱼ(x))`, with ᾱ the mean over inputs x. It is 0 where
attention depends on position alone, and up to 1 where it depends on the words alone.

## Your own measure

A function of pairs says what a weight between two tokens is worth:

```python
# again.py
import numpy as np
import headscope as hs

@hs.pair_measure("again", "Mean mass on earlier copies of the same piece.")
def again(tokens, queries):                   # -> [query key]
    pieces = np.array(tokens.pieces)
    return (np.arange(len(tokens)) < queries[:, None]) & (pieces == pieces[queries, None])
```

Call `hs.measure(model, corpus, measures=["entropy", again])`, or `headscope measure --measures
entropy,again.py:again`. A row counts where it sees one of its pairs. A function of whole rows is an
`hs.row_measure`; if it names an argument `visible` after `weights, tokens, queries`, it is given which keys each
query can see, `[head query key]` or `[1 query key]`.

"""

ROLES_HEAD = """## Roles

`hs.roles(model, corpus)` says what each head does. A head has a role when its score is surely above the threshold,
or above a quarter of the way from chance to 1, if that is more (*broad*: above uniform entropy − ln 1.5). Chance is
uniform attention; for roles that name tokens of texts it is what the head's own offsets score, if that is more. p is
one-sided, and q is p after Benjamini and Hochberg over all heads and the roles of a family. A role with q ≤ 0.05 is
named, and a head without one is called `none`. A role that uniform attention itself has to more than 0.9 is not
tested. [How often these tests err](statistics.md).

Half of the attention is the threshold by which Clark et al. 2019, §3.1, count heads. A causal head whose first token
is a sink is tested *off the sink* as well, without the sink's share. Some roles need more than their measure:

- *induction*: the head raises the logit of the token that followed an earlier copy (Olsson et al. 2022).
  *Anti-induction*: it lowers that logit (McDougall et al. 2023). *Prefix matching*: it does neither.
- *copy suppression*: where the head looks, it lowers what was predicted (after McDougall et al. 2023).
- *sink*: inputs have at least 128 tokens (Gu et al. 2024). *Retrieval*: a needle far back is copied (Wu et al.
  2024).
- *artefacts*: patches whose norm is far above the rest (Darcet et al. 2024).

A role is not named beside another one that says more, such as *delimiters* beside *separators*.

| role | measure | threshold, and inputs if no texts |
|---|---|---|
"""

LOG_HEAD = """# The log of measures

Written by `python tools/measures_table.py`, beside [docs/measures.md](../docs/measures.md): each measure worked out
on a map of one head. A pair of texts, seen both ways (in tenths; a row is a query). `##er` is taken for the rarest
token and the comma for the next:

{pair}

Repeated tokens in a causal model; for `lookback` the second `a b` was generated:

{copies}

Two rows of three patches of 10 × 10 pixels behind `[CLS]`:

{grid}

Two patches each of frames 0–1, 2–3 and 4–5 of a video:

{media}

Frames of 0.06 s, of which the sound fills three:

{frames}

A model that was given a picture of two patches, was asked *What ?*, and wrote *a cat*:

{answer}

Gradients take the tenths for their sizes.

| measure | worked out |
|---|---|
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


def on_video() -> hs.AttentionMaps:
    """The map of a video."""
    pictures = {
        f"frames {first}–{first + 1}": hs.Picture(np.zeros((10, 20, 3), np.uint8), frames=(first, first + 2))
        for first in (0, 2, 4)
    }
    axis = hs.Axis({name: hs.Grid(1, 2, picture=picture) for name, picture in pictures.items()})
    named = [f"{name}:{piece}" for name in pictures for piece in ("patch[0,0]", "patch[0,1]")]
    return hs.wrap(tenths(MEDIA_TENTHS), replace(axis, pieces=named))


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
    on_video,
    on_frames,
    of_answer,
    lambda: answered(repeated()),
)
"""The maps of the page: a measure without an `example` is worked out on the first that has a row for it."""
_FIRST = {
    "synthetic": repeated,
    "conversation": EXAMPLES[-1],
    "pictures": on_grid,
    "media": on_video,
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
    """One measure's row of the page."""
    units = f"In {measure.units}." if measure.units not in ("share", "tokens", None) else ""
    seen = r", over the [^.,;]*\b(?:see|have|are there)\b[^.,;]*"  # of every measure, as the page says above
    what = re.sub(seen, "", measure.description)
    what = re.sub(
        r"^Mean share of (.*?) that goes to ", lambda match: f"{match[1][0].upper()}{match[1][1:]} to ", what
    )
    text = " ".join(f"{what} {more(measure)} {units}".split()).replace("|", "\\|")
    return f"| `{measure.name}` | {text} | {measure.source or 'own'} | `{group}` |\n"


def generate() -> dict[Path, str]:
    """The page and the log."""
    page, log = (
        [HEAD],
        [
            LOG_HEAD.format(
                pair=drawn(EXAMPLES[0]()),
                copies=drawn(repeated()),
                grid=drawn(on_grid()),
                media=drawn(on_video()),
                frames=drawn(on_frames()),
                answer=drawn(of_answer()),
            )
        ],
    )
    for group, measures in GROUPS.items():
        page += [row(measure, group) for measure in measures.values()]
        log += [f"| `{name}` | {worked_out(measure, group)} |\n" for name, measure in measures.items()]
    page += [FAMILIES, ROLES_HEAD]
    for role in ROLES:
        if role.name.endswith("off the sink"):
            continue
        limit = f"{role.threshold:.2g}" if role.measure != "entropy" else "2/3 of the visible tokens"
        other = [] if role.kinds == ("text",) else [WHAT[kind] for kind in role.kinds]
        page.append(f"| {role.name} | `{role.measure}` | {', '.join([limit, *other])} |\n")
    return {PAGE: "".join(page), LOG: "".join(log)}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    for path, text in generate().items():
        if not arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(
                f"{path.relative_to(ROOT)} is out of date: run python tools/measures_table.py",
                file=sys.stderr,
            )
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
