"""Write docs/models.md, every family of models in the tests, and benchmarks/families.md, how exactly it is captured."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE, LOG = ROOT / "docs" / "models.md", ROOT / "benchmarks" / "families.md"

HEAD = """# Models

headscope captures the attention of {captured} families of transformers exactly: the tests build each one small, with
random weights, and compare every weight of every head with the model's own eager attention. A model that is not on
this page is captured as well if it passes the same checks when it is loaded; `headscope check MODEL` prints them.

*Way in* says how attention is read. `interface`: the model takes its attention function from transformers, and gets
headscope's. `trace`: headscope follows the operations from q·k to the softmax, which also works for modules that are
not of transformers.

Some analyses follow the *residual stream*, the sum that all layers write to. Its column says which of them a family
allows. `scores`: who wrote what a head reads (`reads`, `composition`). `logits`: what a head adds to the next token
(`attribute`, copying roles). `weights`: heads from their weights alone (`writes`). `edges`: what one head hands to
another (`patch --curve`).

| families | way in | stream | beside q and k |
|---|---|---|---|
"""

UNSEEN = """
Grouped keys are key heads that several query heads share. In the families *moved by padding*, an input has other
attention beside a longer one.

## Layers without a map

Some models have layers that do not attend, or that mix tokens beside attention. `hs.load` finds them: layers without
an attention call, and modules whose answer at one token changes with another token. One sentence names them, in
`headscope check`, in reports, in captions and in `model.unseen`.

Such models are: with linear attention Qwen3-Next, Qwen3.5, MiniMax, OLMo-Hybrid and Kimi-Linear; with state spaces
Mamba 1 and 2, Bamba, Jamba, Granite 4, Nemotron-H, Falcon-H1 and Zamba 2; with recurrence RWKV, xLSTM and
RecurrentGemma; with a convolution LFM2.

### Implicit maps

Where what mixes tokens is linear in its values, each head has a matrix M of tokens with y = M v: an *implicit map*.
It has signs, and its rows need not sum to 1. `implicit=True` of `hs.capture`, `hs.view` and `hs.measure`
(`--implicit`) gives it as a part of its own:

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

- M comes from running the layer's own function on values that are 1 at one token and 0 elsewhere. M v is then
  compared with what the layer made of its input. A layer is refused by name if they differ by more than 1e-5 of Σ |M|
  |v|.
- v is what the function gets, so M leaves out a short convolution before it. M includes the skip D of state spaces,
  the gates of Mamba 1 and LFM2, and the normaliser of xLSTM.
- Where each channel mixes alone (Mamba 1, RWKV, LFM2, RecurrentGemma), each channel is a head and takes a run a token:
  on 1,536 channels 220 times a forward pass. Otherwise it is a few passes, of at most 1,024 tokens.

## Padding

`hs.load` tries whether padding moves attention, on half of a short text alone and beside the whole. If a weight or
the output moves by more than 1e-4 (0.02 in half precision), every analysis reads inputs of one length in a batch, and
results say so under `notes`. A padded batch that you give runs as it is.

## Modules of your own

`hs.load((module, tokenizer))` gives a module what its `forward` names of ids, mask and token types. If yours takes
other names, say what: `hs.load((module, tokenizer), inputs={"tokens": ids, "masks": ones})`, and `hs.capture` takes
the same `inputs`.

Beside `inputs` an axis of your own says what the positions are. The name of each block is a class:

```python
layer = torch.nn.TransformerEncoderLayer(16, 2, batch_first=True)
camera = hs.Grid(2, 2, picture=hs.Picture(torch.zeros(64, 64, 3, dtype=torch.uint8).numpy(), "wrist"))
axis = hs.Axis({"camera": camera, "text": ["pick", "up"], "actions": 3})
inputs = {"src": torch.randn(1, 9, 16)}
maps = hs.capture(hs.load(layer, inputs=inputs), axis, inputs=inputs)
maps.weights[:, :, axis.mask("actions")][..., axis.mask("camera")].sum(-1)    # what actions give the camera
```

Keys that a mask hides from every query, at an end or within, get the class `padding`.

## Packed inputs

`position_ids` that begin anew seldom keep the documents of a row apart, and `hs.capture` warns. Most causal models
keep documents apart with `inputs={"input_ids": ids, "position_ids": positions, "use_cache": False}`, and models that
take a mask of pairs with `"attention_mask": apart`, booleans `[batch 1 query key]`.

## Refused

| family | why |
|---|---|
"""

LOG_HEAD = """# The log of families of models

Written by `python tools/models_table.py`, beside [docs/models.md](../docs/models.md). Each family is built small from
its configuration, with random weights in float32, and reads a batch with padding of different lengths. Figures are
largest absolute differences over queries that are no padding, of outputs relative to the output's size: of the
weights from the model's own eager attention, of the softmax recomputed from the captured queries and keys, and of the
output from that of the model's eager and fused kernels. A dash means that the family has no fused kernel. The two
kernels of Falcon with ALiBi disagree with each other by as much as is printed.

| family | class | way in | parts: layers × heads | weights | recomputed | output, eager | output, fused |
|---|---|---|---|---|---|---|---|
"""

LOG_UNSEEN = """
## Layers without a map

Of small models: what is said of them, and how far M v of their implicit maps is from what the layer made.

| class | what is said | implicit maps: layers × heads | y − M v |
|---|---|---|---|
"""


def families_in(page: Path) -> list[str]:
    """The families in the first column of a table of docs/models.md: captured, then refused."""
    rows = re.findall(
        r"^\| (.+?) \| (?:interface|trace|attends) ", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [name for row in rows for name in str(row).split(", ")]


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

    log, groups = [LOG_HEAD], dict[tuple[str, ...], list[str]]()
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
        groups.setdefault((found.way, stream(model, family.inputs), traits), []).append(family.name)
        log.append(f"| {family.name} | `{family.cls}` | {found.way} | {parts} | {figures} |\n")
    log += [LOG_UNSEEN, *(hybrid_row(kind) for kind in KNOWN if HYBRIDS[kind][2])]
    lines = [HEAD.format(captured=len(CAPTURED))]
    lines += [f"| {', '.join(names)} | {' | '.join(group)} |\n" for group, names in groups.items()]
    lines.append(UNSEEN)
    for family in REFUSED:
        try:
            hs.load(build(family))
        except hs.errors.RefusedError as error:
            reason = str(error).split(": ", 1)[1].partition(") ")[2]
            lines.append(f"| {family.name} | {reason} |\n")
    PAGE.write_text("".join(lines), encoding="utf-8")
    LOG.write_text("".join(log), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(CAPTURED)} captured, {len(REFUSED)} refused")


if __name__ == "__main__":
    main()
