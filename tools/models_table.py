"""Write docs/models.md: every family of models in the tests, and how exactly it is captured."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "models.md"

HEAD = """# Models

{captured} families of transformers are captured in the tests (`tests/attention/test_families.py`), each built small
from its configuration with random weights, in float32, with padding of different lengths in the batch. For each, every
weight of every head is compared with the model's own eager `output_attentions`, with the softmax recomputed from the
captured queries and keys, and the output with that of the model's eager and fused kernels. This page is written by
`python tools/models_table.py` from the same comparison.

Two mechanisms feed the same record. *interface*: the model takes its attention function from transformers'
`AttentionInterface`, and gets headscope's. *trace*: a `TorchFunctionMode` follows the scores from q·k to softmax; this
also works for modules that are not of transformers at all. What a model has beside q and k (a bias such as ALiBi or
relative positions, a softcap, a sink, fewer key heads than query heads) is recorded and named in the last column.

One pass follows the residual stream (`headscope/attention/stream.py`), with the norms' divisors as they are on the
input. The column *stream* says what are sums over who wrote it: the *scores* of heads (`reads`, `composition`), and the
*logits* of a causal language model (`attribute`, roles of copying and of copy suppression). *weights* says that a norm
stands between the stream and attention, so that heads are told from weights alone (`writes`); *edges* that no norm
stands behind W_O, so that what a head writes can be handed on by itself (`patch --curve`).

| family | class | way in | parts: layers × heads | weights | recomputed | output, eager | output, fused | stream | |
|---|---|---|---|---|---|---|---|---|---|
"""

UNSEEN = """
Figures are largest absolute differences over queries that are no padding (of outputs: relative to the output's size);
a dash means that the family has no fused kernel in transformers. The eager and fused kernels of Falcon with ALiBi
disagree with each other by as much as is printed.

## Layers without a map

Some models have layers that do not attend, or mix tokens by something else beside attention. `hs.load` finds these in
the model itself, whatever its name: layers in which no attention call was seen, and modules whose answer at a token
changes with another token. What is found is one sentence, as figures and pictures are of attention maps alone. It is
printed by `headscope check` and above tables, and stands at the top of a report, above an explorer's pictures, in the
captions of figures, and in each result's description (`model.unseen`). Of small models, made from their configurations:

| class | what is said | implicit maps: layers × heads | y − M v |
|---|---|---|---|
"""

FOOT = """
Softmax attention whose keys and values are made from latent vectors (MLA of DeepSeek, or of Kimi-Linear's layers that
attend) has a map in every head, so nothing is said of it.

### Implicit maps

Where what mixes tokens is linear in its values, given the input's keys, gates and decays, there is a matrix M of tokens
with y = M v for each head: an *implicit map*. It has signs, and its rows need not sum to 1. `implicit=True` of
`hs.capture`, `hs.view` and `hs.measure` (`--implicit` of `headscope view` and `measure`) gives it as a part of its own:

```python
import headscope as hs
import torch
from transformers import Mamba2Config, Mamba2ForCausalLM

config = Mamba2Config(hidden_size=32, num_heads=8, head_dim=8, n_groups=1, num_hidden_layers=2, vocab_size=60)
ids = {"input_ids": torch.arange(3, 15)[None]}
model = hs.load(Mamba2ForCausalLM(config))

maps = hs.capture(model, inputs=ids, implicit=True).implicit
maps.signed[0]                               # M of the first such layer, [head query key]
maps.layers[0]                               # its shares |M| / Σ |M| of each row: what measures are of
hs.view(model, inputs=ids, implicit=True)    # begins with M, blue above 0 and orange below
```

M is made by running the mixer's own function on values that are 1 at one token and 0 elsewhere, and M v is compared
with what it made of the input's own values: a layer is refused by its name where they differ by more than 1e-5 of Σ
|M| |v| (and 4 times the rounding of the number format). The column y − M v is that difference. A layer takes tokens /
dimensions more runs of the function (128 tokens by heads of 64: two); where each channel mixes alone (Mamba 1, RWKV,
LFM2, RecurrentGemma) every channel is a head, and it takes a run a token. That was 4 times a forward pass of Mamba 2
(24 heads of 64, 128 tokens), and 220 times one of Mamba 1 (1,536 channels). An input has at most 1,024 tokens, and a
layer's maps at most 1.1 GB.

What v is: of delta rules, Mamba 2 and lightning attention the values as their function gets them, after the short
convolution before it, if any, which M leaves out. State spaces have the skip D on the diagonal of M, Mamba 1 its gate
in the rows, LFM2's convolution both its gates, and xLSTM its normaliser; of RecurrentGemma v is what its input gate
lets through, and M the decay alone. Known are the functions of transformers' files for gated delta rules, Kimi's delta
attention, Mamba 1 and 2, RWKV, lightning attention and LFM2's convolution, whatever the model is called,
RecurrentGemma's RG-LRU, and xLSTM as transformers writes it out (with the package xlstm it is another). All else keeps
its sentence, with `implicit=True`, too. Gradients and norms are of attention only, as are all other analyses.

## Padding

In most families an input has the same attention alone and padded beside a longer one in a batch: of all above but those
*moved by padding*, no weight changes by 1e-5. ConvBERT's convolution reads the tokens beside each, padding among them,
and Funnel pools tokens with their neighbours. `hs.load` tries it with every model that reads tokens, whatever its name
(`headscope check` prints what was found): the first half of a short text, alone and padded beside the whole. Where a
weight or the output moves by more than 1e-4 (0.02 in half precision), every analysis reads its corpus in batches of
inputs of one length, and results say so under `notes`. A padded batch that you give to `hs.capture(model, inputs=…)`
runs as it is.

## Modules of your own

`hs.load((module, tokenizer))` gives a module what its `forward` names of ids, their mask and token types, as
transformers' Trainer does, so a classifier of one's own around a BERT is read like any model. For one that takes
other names, or more (labels, several sentences), say what: `hs.load((module, tokenizer), inputs={"tokens": ids,
"masks": ones})` is checked on these, and `hs.capture` takes the same `inputs`. The transformer within can be loaded
alone: `hs.load((module.bert, tokenizer))`.

## Packed inputs

In training several documents often stand in one row, with `position_ids` that begin anew at each. That alone keeps
them apart in few calls: by default a causal model makes a cache, and then tokens see the documents before. `hs.capture`
shows the call as it is, and warns where positions begin anew and a token sees one before that. Most causal models of
transformers keep documents apart in `hs.capture(model, inputs={"input_ids": ids, "position_ids": positions,
"use_cache": False})`, without an `attention_mask`, and all that take a mask of pairs do with `"attention_mask": apart`,
booleans `[batch 1 query key]` that are true where a query sees a key. Layers without a map (above) are not held back by
a mask of pairs.

## Refused

| family | class | why |
|---|---|---|
"""


def families_in(page: Path) -> list[str]:
    """The first column of the tables."""
    rows = re.findall(r"^\| ([^|]+?) \| `", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [str(row) for row in rows]


def stream(model: Any, inputs: dict[str, Any]) -> str:
    """What of a model is told from its residual stream."""
    import torch

    from headscope.attention.circuits import circuits
    from headscope.attention.edges import Graph
    from headscope.attention.residual import Outputs, written
    from headscope.attention.stream import Reader
    from headscope.errors import HeadscopeError

    ready = {name: value[:1] for name, value in inputs.items()}

    def scores() -> None:
        read = Reader(model, ready).read(ready)
        record = read.calls[-1].record
        read.terms((record.q[0, 0] @ record.keys[0, 0].detach().T).sum()[None])

    def edges() -> None:
        written(model, ready, 0, 0)
        Graph(model, Outputs(model, ready), ready)

    told = {
        "scores": scores,
        "logits": lambda: written(model, ready, 0, 0),
        "weights": lambda: circuits(model, [3, 4, 5], 2),
        "edges": edges,
    }
    found: list[str] = []
    for name, told_of in told.items():
        with suppress(HeadscopeError), torch.enable_grad():
            told_of()
            found.append(name)
    return ", ".join(found) or "–"


def hybrid_row(kind: str) -> str:
    """A model of which not all layers attend: what is said of it, and its implicit maps."""
    import torch

    import headscope as hs
    from headscope.attention.implicit import error
    from headscope.attention.one import record
    from tests.helpers.hybrids import HYBRIDS, hybrid

    model, found = hs.load(hybrid(kind)), []
    record(model, {"input_ids": torch.arange(3, 27)[None]}, found.append)
    worst = max((error(one.signed, one.values, one.output) for one in found), default=None)
    maps = "– | –" if worst is None else f"{len(found)} × {found[0].shape[1]} | {worst:.0e}"
    return f"| `{HYBRIDS[kind][0]}` | {model.unseen} | {maps} |\n"


def main() -> None:
    sys.path.insert(0, str(ROOT))
    import headscope as hs
    from tests.helpers.examine import examine
    from tests.helpers.families import CAPTURED, REFUSED, build
    from tests.helpers.hybrids import HYBRIDS, KNOWN

    lines = [HEAD.format(captured=len(CAPTURED))]
    for family in CAPTURED:
        found = examine(family)
        parts = "; ".join(
            f"{'' if name == 'self' else name + ' '}{layers} × {heads}"
            + (f" ({keys} key heads)" if keys != heads else "")
            for name, (layers, heads, keys) in found.parts.items()
        )
        errors = [found.weights, found.recomputed, found.output, found.fused]
        figures = " | ".join(
            "–" if error is None else "0" if error == 0 else f"{error:.0e}" for error in errors
        )
        model = hs.load(build(family))
        moved = ["moved by padding"] if model.same_length else []
        lacking = ["not all layers"] if model.unseen else []
        traits = ", ".join([*found.traits, *moved, *lacking])
        told = stream(model, family.inputs)
        lines.append(
            f"| {family.name} | `{family.cls}` | {found.way} | {parts} | {figures} | {told} | {traits} |\n"
        )
    lines.append(UNSEEN)
    lines += [hybrid_row(kind) for kind in KNOWN if HYBRIDS[kind][2]]
    lines.append(FOOT)
    for family in REFUSED:
        try:
            hs.load(build(family))
        except hs.errors.RefusedError as error:
            reason = str(error).split(": ", 1)[1]
            lines.append(f"| {family.name} | `{family.cls}` | {reason} |\n")
    PAGE.write_text("".join(lines), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(CAPTURED)} captured, {len(REFUSED)} refused")


if __name__ == "__main__":
    main()
