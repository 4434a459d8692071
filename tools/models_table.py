"""Write docs/models.md: every family of models in the tests, and how exactly it is captured."""

from __future__ import annotations

import re
import sys
from pathlib import Path

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

| family | class | way in | parts: layers × heads | weights | recomputed | output, eager | output, fused | |
|---|---|---|---|---|---|---|---|---|
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

| class | what is said |
|---|---|
"""

FOOT = """
Softmax attention whose keys and values are made from latent vectors (DeepSeek's MLA) has a map in every head, so
nothing is said of it.

## Padding

In most families an input has the same attention alone and padded beside a longer one in a batch: of all above but those
*moved by padding*, no weight changes by 1e-5. ConvBERT's convolution reads the tokens beside each, padding among them,
and Funnel pools tokens with their neighbours. `hs.load` tries it with every model that reads tokens, whatever its name
(`headscope check` prints what was found): the first half of a short text, alone and padded beside the whole. Where a
weight or the output moves by more than 1e-4 (0.02 in half precision), every analysis reads its corpus in batches of
inputs of one length, and results say so under `notes`. A padded batch that you give to `hs.capture(model, inputs=…)`
runs as it is.

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


def main() -> None:
    sys.path.insert(0, str(ROOT))
    import headscope as hs
    from tests.helpers.examine import examine
    from tests.helpers.families import CAPTURED, REFUSED, build
    from tests.helpers.hybrids import HYBRIDS, KNOWN, hybrid

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
        lines.append(f"| {family.name} | `{family.cls}` | {found.way} | {parts} | {figures} | {traits} |\n")
    lines.append(UNSEEN)
    lines += [
        f"| `{HYBRIDS[kind][0]}` | {told} |\n" for kind in KNOWN if (told := hs.load(hybrid(kind)).unseen)
    ]
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
