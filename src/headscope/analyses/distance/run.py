"""Jensen–Shannon distances between all heads of a model over a corpus of any size (Clark et al. 2019, section 6).

The section on how heads lie to one another: figure 6 of Clark et al. 2019.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Unpack

import numpy as np
import torch
import xarray as xr

from headscope.analyses.distance import arrangement
from headscope.analyses.distance.statistics import SMOOTHING, PairDocuments, PairSums, dataset, heads
from headscope.analyses.long_runs import long_run
from headscope.analyses.options import BlockOptions
from headscope.analyses.roles.section import known_roles
from headscope.analyses.roles.statistics import leading
from headscope.analyses.study import Study
from headscope.attention.divergence import distributions, jensen_shannon
from headscope.attention.record import AttentionRecord
from headscope.core.arrays import Floats, Ints
from headscope.core.heads import Head
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Count, Seed
from headscope.corpora import Corpus, Example
from headscope.measures.surface import Preset
from headscope.models import Model
from headscope.models.weights import not_finite
from headscope.runs.batches import reader_of, tokens_of, worked
from headscope.runs.blocks import Encoded
from headscope.runs.forward import self_attention
from headscope.runs.long import Kind, Run
from headscope.runs.options import RunOptions
from headscope.views import blocks
from headscope.views.blobs import Blobs
from headscope.views.blocks import Block, BlocksSection
from headscope.views.charts import map_of_heads
from headscope.views.digits import probability
from headscope.views.reasons import because
from headscope.views.section import Section

BLOCK = 64
"""Inputs of a numbered block: few, because a document's sums have a number for every pair of heads."""

SPAN = 64
"""Blocks whose sums are added up before they are kept: of single ones they would take too much room."""

Precision = Literal["float32", "float64"]
DTYPES: Mapping[Precision, torch.dtype] = {"float32": torch.float32, "float64": torch.float64}

_WEIGHTS = 1 << 22  # weights of all heads that are held at a time


@dataclass(frozen=True)
class InputDistances:
    """What one input gave.

    Attributes:
        heads: of all layers, in order.
        sums: divergences summed over the rows that were compared, ``[head head]``, in nats.
        rows: how many rows of the input count.
        compared: how many of them were compared.
    """

    heads: tuple[Head, ...]
    sums: Floats
    rows: int
    compared: int


@dataclass
class Distances:
    """What is compared of which model.

    Attributes:
        model: the model.
        rows: how many rows of each input are compared, drawn at random; None for all.
        seed: of that draw, which depends on the input and its document and on nothing else.
        preset: whose code is followed.
        precision: in which the divergences are computed, at least.
    """

    model: Model
    rows: int | None = None
    seed: int = 0
    preset: Preset | None = None
    precision: Precision = "float32"

    def block(
        self,
        block: Iterable[Sequence[Example]],
        done: Callable[[int], None] | None = None,
        open: Collection[int] = (),
    ) -> PairSums:
        """The sums of one block, given as batches.

        `done` is told how many inputs were read. `open` are the documents that have inputs in other blocks as well;
        looked at when all batches have been read.
        """
        documents = PairDocuments()
        for batch, pairs in worked(block, self.run, done):
            for example, measured in zip(batch, pairs, strict=True):
                if not np.isfinite(measured.sums).all():
                    raise not_finite(self.model.name, self.model.module, f"{example.place}: attention")
                count = len(tokens_of(example))
                documents.add(
                    example.document, measured.heads, measured.sums, measured.rows, measured.compared, count
                )
        return documents.close(open)

    def run(self, batch: Sequence[Example]) -> list[InputDistances]:
        """The sums of each input of one batch."""
        inputs = [tokens_of(example) for example in batch]
        fused = self.precision == "float32"
        records = self_attention(self.model, inputs, token_types=self.preset is None, fused=fused)
        return [self._compare(records, place, example) for place, example in enumerate(batch)]

    def _compare(self, records: Sequence[AttentionRecord], place: int, example: Example) -> InputDistances:
        heads = tuple(Head(record.layer, head) for record in records for head in range(record.shape[1]))
        length, causal = len(tokens_of(example)), self.model.causal
        sinks = any(record.sinks is not None for record in records)
        counting = np.arange(1 if causal and not sinks and self.preset is None else 0, length)
        chosen = self._drawn(counting, example)
        sums = np.zeros((len(heads), len(heads)))
        step = max(1, _WEIGHTS // (len(heads) * length))
        for start in range(0, len(chosen), step):
            rows = torch.as_tensor(chosen[start : start + step], device=records[0].q.device)
            keys = int(rows[-1]) + 1 if causal and self.preset is None else length
            weights = distributions(
                records, place, rows, keys, smoothing=SMOOTHING[self.preset], dtype=DTYPES[self.precision]
            )
            sums += jensen_shannon(weights)
        return InputDistances(heads, sums, len(counting), len(chosen))

    def _drawn(self, rows: Ints, example: Example) -> Ints:
        if self.rows is None or self.rows >= len(rows):
            return rows
        draw = np.random.default_rng([self.seed, example.document, _print_of(tokens_of(example))])
        return np.sort(draw.choice(rows, self.rows, replace=False))


def _print_of(tokens: Tokens) -> int:
    """A checksum of what an input is: its ids, and a picture or a sound."""
    arrays = [] if tokens.ids is None else [np.asarray(tokens.ids, np.int64)]
    arrays += [medium.array for medium in tokens.media]
    return zlib.crc32(b"".join(array.tobytes() for array in arrays))


def _figures(sums: PairSums, meta: AnyDict, about: AnyMapping) -> xr.Dataset:
    return dataset(sums, preset=about["preset"], meta={**meta, "route": "blocks of rows"})


KIND = Kind("distance", PairSums.from_arrays, _figures, SPAN, "comparing")


@long_run(KIND, batch_size=8)
def distance(
    model: Model,
    corpus: Corpus | Iterable[Example],
    *,
    rows: Count | None = None,
    seed: Seed = 0,
    preset: Preset | None = None,
    precision: Precision = "float32",
    **options: Unpack[BlockOptions],
) -> Run[PairSums]:
    """Distances between all pairs of heads over a corpus: Jensen–Shannon, nats a token (Clark et al. 2019, section 6).

    Every token of the corpus counts once, special ones included; padding never does. In a causal model the first
    token, which sees nothing but itself, is left out (not by the preset). Where a model has attention sinks, what a
    row gives to its sink is one more outcome besides the keys. Of an encoder-decoder the encoder is compared.

    Weights are computed by blocks of rows from queries and keys, in memory linear in an input's length (a model that
    is traced makes its maps itself). Divergences add up to within 1e-7 nats a token of the exact sum.

    Args:
        model: from `headscope.load`.
        corpus: from `headscope.corpora`, or examples that have their tokens.
        rows: compare only this many rows of each input, drawn at random. They stand for all rows of the input, so
            that means stay unbiased, and the standard error tells what the draw adds.
        seed: of the draw.
        preset: ``clark2019`` computes what the released code of that paper does: token types all 0, rows mixed with
            0.001 of uniform attention, and the sum over tokens in place of the mean.
        precision: ``float64`` computes in float64, of the model's own eager weights, at twice the time. All maps of a
            batch are in memory then.

    Returns:
        A dataset over ``(head_a, head_b)``: ``distance`` and ``distance_se`` (a jackknife by document); see
        `headscope.analyses.distance.statistics.dataset`, and `headscope.analyses.distance.arrangement` for maps,
        clusters and tests.

    Raises:
        InputError: an option that makes no sense, or a corpus without a token that counts.
        CorpusError: a broken corpus, with file and line.
        RunError: the model failed on an input, which the message names.

    >>> distances = hs.distance(model, corpus)["distance"]
    >>> distances.sizes
    Frozen({'head_a': 72, 'head_b': 72})
    >>> round(float(distances.sel(head_a="L0H2", head_b="L0H3")), 2)      # nats a token
    0.54
    """
    model = reader_of(model, corpus)
    return Run(
        KIND,
        model,
        corpus,
        Distances(model, rows, seed, preset, precision).block,
        RunOptions(**options),
        decides={
            "rows": rows,
            "preset": preset,
            "precision": precision,
            "seed": None if rows is None else seed,
        },
        about={"preset": preset},
        inputs=Encoded(model),
        size=BLOCK,
    )


ROWS = 64
"""How many patches of each picture, or frames of each sound, are compared: there are many, and heads in pairs."""

_NEAR = 3  # nearest heads that a point names


@dataclass(frozen=True)
class HeadPlane(Section):
    """Heads on a plane by their distances, coloured by layer and by role.

    Attributes:
        result: from `headscope.distance`.
        roles: the leading role of heads that have one.
        seed: of the map and of the test.
        command: what gives the same map.
        atlas: the page has the same map in its atlas, to be looked into.
    """

    result: xr.Dataset
    roles: Mapping[Head, str] = field(default_factory=dict[Head, str])
    seed: int = 0
    command: str | None = None
    atlas: bool = False

    def info(self, blobs: Blobs) -> BlocksSection:
        """The map, the distances of layers, and what the test says."""
        result, names = self.result, heads(self.result)
        places: Any = arrangement.head_map(result, seed=self.seed)
        places = places.round(5)
        distances = np.asarray(result["distance"].transpose("head_a", "head_b").values, np.float64)
        groups: Any = arrangement.clusters(result, min(8, len(names)))
        layers = arrangement.by_layer(result).rename("distance")
        units = str(result["distance"].attrs["units"])
        others = distances + np.diag(np.full(len(names), np.inf))
        order: Any = np.argsort(others, axis=1, kind="stable")[:, :_NEAR]
        note = (
            f"Distances are Jensen–Shannon divergences in {units}, from {int(result.attrs['n']):,} tokens, laid out by "
            f"metric multidimensional scaling (stress {float(places.attrs['stress']):.2f}; 0 would be a perfect map; "
            "Clark et al. 2019, §6, figure 6)."
        )
        roles = {head: self.roles[head] for head in names if head in self.roles}
        coloured = roles if 0 < len(set(roles.values())) <= arrangement.FUNCTIONS else None
        near: list[list[Head]] = [
            [names[place] for place in row if place != index] for index, row in enumerate(order)
        ]
        maps = blocks.charts(
            arrangement.figure(result, coloured, places=places).charts,
            reasons=[
                because(
                    f"attends most like {names[row[0]]}",
                    f"{distances[index, row[0]]:.3f} {units}",
                    measure="entropy",
                )
                for index, row in enumerate(order)
            ],
            tips=[
                "\n".join(filter(None, [roles.get(head), f"nearest: {', '.join(map(str, row))}"]))
                for head, row in zip(names, near, strict=True)
            ],
        )
        lines = [blocks.paragraph(line) for line in self.lines()]
        title = f"Mean distance of their heads, {units}"
        between = map_of_heads(
            layers, layers.values, float(np.nanmax(layers)), "", title, across="layer_b", down="layer_a"
        )
        rows = places.assign(role=[roles.get(head) for head in names], cluster=groups["cluster"].to_numpy())
        pairs = layers.to_dataframe().reset_index()
        return blocks.section(
            "clusters",
            "Heads that attend alike",
            f"Each point is one of {len(names)} heads; heads that attend alike lie together. "
            "Choose a point to see where the head looks.",
            [
                *([*lines, blocks.folded("On a map", maps)] if self.atlas else [maps, *lines]),
                blocks.folded("Layer by layer", blocks.charts([between])),
                blocks.table("heads", rows, [*rows.columns], (), title=""),
                blocks.table("layers", pairs, [*pairs.columns], (), title=""),
            ],
            [note],
            self.command,
        )

    def lines(self) -> list[str]:
        """What the permutation test and the order of the layers say, in sentences."""
        lines: list[str] = []
        counts: dict[int, int] = {}
        for head in heads(self.result):
            counts[head.layer] = counts.get(head.layer, 0) + 1
        if len(counts) > 1 and max(counts.values()) > 1:
            test = arrangement.same_layer(self.result, seed=self.seed)
            nearer = "are" if test.within < test.between else "are not"
            lines.append(
                f"Heads of one layer {nearer} nearer to each other ({test.within:.3f}) than to heads of other layers "
                f"({test.between:.3f}): p {probability(test.p)}, one-sided, by {test.permutations:,} permutations of "
                "the heads over the layers."
            )
        if len(counts) > 2:
            ends = arrangement.first_and_last(self.result)
            lines.append(
                f"The first and the last layer are {ends.distance:.3f} apart, other pairs of layers {ends.others:.3f} "
                f"on average: rank {ends.rank} of {ends.pairs} from the nearest."
            )
        return lines


def findings(result: xr.Dataset) -> list[str | Block]:
    """How far the heads of two layers are apart, and what the tests say."""
    return [
        f"mean distance of the heads of two layers, {result['distance'].attrs['units']}",
        blocks.matrix(arrangement.by_layer(result)),
        *HeadPlane(result).lines(),
    ]


def distances(study: Study) -> xr.Dataset:
    """The distances of all heads over the corpus."""
    rows = None if study.corpus.kind == "text" else ROWS
    return study.once("distances", lambda: distance(study.model, study.corpus, rows=rows, **study.run))


def section(study: Study) -> list[Section]:
    """The map of heads by their distances."""
    drawn = () if study.corpus.kind == "text" else ("--rows", str(ROWS))
    command = study.command("distance", "--map", "map.csv", *drawn)
    return [HeadPlane(distances(study), leading(known_roles(study)), 0, command, "atlas" in study.sections)]
