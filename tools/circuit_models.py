"""Make the twenty small models of ``headscope bench circuits``, whose circuits are known.

python tools/circuit_models.py compile         write the ten that are written by hand into weights
python tools/circuit_models.py train [TASK …]  train ten others, minutes each (one core)
python tools/circuit_models.py pack            put all into src/headscope/analyses/bench/circuits.npz
python tools/circuit_models.py check           what each circuit does, and what the edges outside it do

Each task is a small program over tokens: what each of its parts computes from which others is its circuit. Ten models
have it written into their weights (Lindner et al. 2023, "Tracr"), beside heads that look about and write where nobody
reads. Ten are trained to have it: the answer is right where all edges outside the circuit hand on what they do on
another input, and where a part of the circuit gives what it does on another input the answer is the program's with
that part of the other input (Geiger et al. 2022, "Inducing Causal Structure"; Gupta et al. 2024, "InterpBench").
Weights are rounded to float16 and used as they are rounded.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor
from torch.nn import functional

FILE = Path(__file__).resolve().parents[1] / "src" / "headscope" / "analyses" / "bench" / "circuits.npz"
MADE = Path(tempfile.gettempdir()) / "headscope_circuit_models"

WORDS, PLACES, WIDTH, HEADS, INNER = 10, 10, 64, 4, 32
SIZE = WIDTH // HEADS
PAIRS = 24
STEPS = 600
BLUR = {"wte": 0.05, "wpe": 0.05, "c_attn": 0.1, "c_proj": 0.03, "c_fc": 0.05, "lm_head": 0.3}
"""The noise that is added to a program's weights before it is trained again, beside a tenth of each, more or less."""
GENTLY = {"histogram": 2000, "brackets": STEPS, "sort": STEPS, "indirect object": STEPS}
"""Programs that do not come back from so much, and their steps: a quarter of that noise, a tenth of the rate."""

Values = dict[str, Tensor]


@dataclass(frozen=True)
class Part:
    """A part of a program: a head or an MLP of a layer, what it reads, and what it computes of that."""

    name: str
    reads: tuple[str, ...]
    of: Callable[..., Tensor]

    @property
    def layer(self) -> int:
        return int(self.name[1:].split("H")[0]) if "H" in self.name else int(self.name.split()[1])


@dataclass(frozen=True)
class Task:
    """A program: its parts in order, the last of which gives the answer ``[batch]``; −1: there is none."""

    name: str
    layers: int
    draw: Callable[[np.random.Generator, int], np.ndarray]
    parts: tuple[Part, ...]

    def run(self, ids: Tensor, given: Values | None = None) -> Values:
        values: Values = {"token": ids}
        for part in self.parts:
            made = part.of(*(values[name] for name in part.reads))
            values[part.name] = made if given is None or part.name not in given else given[part.name]
        return values

    def answer(self, ids: Tensor, given: Values | None = None) -> Tensor:
        return self.run(ids, given)[self.parts[-1].name]

    @property
    def edges(self) -> list[tuple[str, str]]:
        """Of the writers `token`, heads and MLPs and the readers heads, MLPs and `logits`."""
        return [(read, part.name) for part in self.parts for read in part.reads] + [
            (self.parts[-1].name, "logits")
        ]


# What programs draw: 0 begins each input.


def begun(rows: Sequence[Any]) -> np.ndarray:
    return np.array([[0, *row] for row in rows], np.int64)


def several(
    draw: Callable[[np.random.Generator], Sequence[int]],
) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda dice, count: begun([draw(dice) for _ in range(count)])


def any_words(dice: np.random.Generator) -> Sequence[int]:
    return dice.integers(1, WORDS, 6).tolist()


def links(dice: np.random.Generator) -> Sequence[int]:
    words = dice.permutation(np.arange(1, WORDS))[:6]
    return [*words, words[2 * dice.integers(3)]]


def named(dice: np.random.Generator) -> Sequence[int]:
    words = dice.integers(1, 4, 6)
    words[dice.integers(6)] = dice.integers(4, 9)
    return [*words, 9]


def asked(dice: np.random.Generator) -> Sequence[int]:
    return dice.integers(1, 6, 6).tolist()


def twice(dice: np.random.Generator) -> Sequence[int]:
    words = dice.permutation(np.arange(1, WORDS))[:6]
    if dice.random() < 0.5:
        words[-1] = words[dice.integers(5)]
    return words.tolist()


def counted(dice: np.random.Generator) -> Sequence[int]:
    count, last = dice.integers(1, 4), dice.integers(4, WORDS)
    others = [word for word in dice.permutation(np.arange(4, WORDS)) if word != last][: 6 - count]
    rest = dice.permutation([*others, *[last] * (count - 1)])
    return [*rest, last]


def marked(dice: np.random.Generator) -> Sequence[int]:
    words = dice.permutation(np.arange(1, 9))[:8]
    words[dice.choice([0, 1, 2, 5, 6, 7])] = 9
    return words.tolist()


def brackets(dice: np.random.Generator) -> Sequence[int]:
    opened = dice.choice([2, 3, 4, 5, 6])
    return dice.permutation([4] * opened + [5] * (8 - opened)).tolist()


def unsorted(dice: np.random.Generator) -> Sequence[int]:
    words = dice.permutation(np.arange(1, WORDS))[:6]
    return [*words, np.sort(words)[dice.integers(5)]]


def indirect(dice: np.random.Generator) -> Sequence[int]:
    """Two names, then two fillers and one of the names in any order, and 9."""
    names = dice.permutation(np.arange(4, 9))[:2]
    fillers = dice.permutation(np.arange(1, 4))[:2]
    return [*names, *dice.permutation([dice.choice(names), *fillers]), 9]


# What parts compute.


def before(values: Tensor) -> Tensor:
    """Of each place what stands before it."""
    return functional.pad(values, (1, 0), value=0)[:, :-1]


def end(values: Tensor) -> Tensor:
    return values[:, -1]


def first_of(there: Tensor, values: Tensor) -> Tensor:
    """Of each row the value at the first place that is there; −1 for none."""
    found = values.gather(1, there.int().argmax(1, keepdim=True))[:, 0]
    return torch.where(there.any(1), found, -1)


def matched(earlier: Tensor, ids: Tensor) -> Tensor:
    return first_of(earlier == ids[:, -1:], ids)


def repeats(ids: Tensor) -> Tensor:
    """How often each token stands there up to its place."""
    same = (ids[:, :, None] == ids[:, None]) & torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
    return same.sum(-1)


def following(ids: Tensor) -> Tensor:
    greater = torch.where((ids > ids[:, -1:]) & (ids > 0), ids, WORDS)
    found = greater.min(1).values
    return torch.where(found < WORDS, found, -1)


def place_of(ids: Tensor) -> Tensor:
    return (ids == 9).int().argmax(1)


def mirrored(place: Tensor, ids: Tensor) -> Tensor:
    found = ids.gather(1, (PLACES - 1 - place).clamp(0, ids.shape[1] - 1)[:, None])[:, 0]
    return torch.where((found > 0) & (found < 9), found, -1)


def subject(repeated: Tensor, ids: Tensor) -> Tensor:
    return first_of((repeated > 1) & (ids > 3), ids)


def other_name(subject: Tensor, ids: Tensor) -> Tensor:
    there = (ids == subject[:, None]).any(1, keepdim=True)
    return first_of(there & (ids > 3) & (ids < 9) & (ids != subject[:, None]), ids)


def tasks(heads: Sequence[int]) -> list[Task]:
    """The ten tasks, their parts at some heads: of each layer the number of its first head that is free."""
    a, b, c = heads
    one, two, three = f"L0H{a}", f"L1H{b}", f"L2H{c}"
    return [
        Task("previous token", 2, several(any_words), (Part(one, ("token",), lambda ids: end(before(ids))),)),
        Task(
            "chain", 3, several(any_words),
            (Part(one, ("token",), before), Part(two, (one,), before), Part(three, (two,), lambda x: end(before(x)))),
        ),
        Task("induction", 2, several(links), (Part(one, ("token",), before), Part(two, (one, "token"), matched))),
        Task(
            "name mover", 2, several(named),
            (Part(two, ("token",), lambda ids: first_of((ids > 3) & (ids < 9), ids)),),
        ),
        Task(
            "duplicate", 2, several(twice),
            (
                Part(one, ("token",), lambda ids: end(repeats(ids))),
                Part("mlp 1", (one,), lambda count: torch.where(count > 1, 2, 1)),
            ),
        ),
        Task(
            "reverse", 2, several(marked),
            (Part(one, ("token",), place_of), Part(two, (one, "token"), mirrored)),
        ),
        Task(
            "histogram", 2, several(counted),
            (
                Part(one, ("token",), lambda ids: end(repeats(ids))),
                Part("mlp 0", (one,), lambda count: count.clamp(1, 3)),
            ),
        ),
        Task(
            "brackets", 2, several(brackets),
            (
                Part(two, ("token",), lambda ids: (ids == 4).sum(1) - (ids == 5).sum(1)),
                Part("mlp 1", (two,), lambda depth: 2 + depth.sign()),
            ),
        ),
        Task("sort", 2, several(unsorted), (Part(two, ("token",), following),)),
        Task(
            "indirect object", 3, several(indirect),
            (
                Part(one, ("token",), repeats),
                Part(two, (one, "token"), subject),
                Part(three, (two, "token"), other_name),
            ),
        ),
    ]  # fmt: skip


def blank(layers: int) -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=WORDS, n_positions=PLACES, n_embd=WIDTH, n_layer=layers, n_head=HEADS, n_inner=INNER,
        activation_function="relu", tie_word_embeddings=False, bos_token_id=0, eos_token_id=0,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config).eval()


# Written by hand. The stream has a part for the token, its place, what heads write (three times), what MLPs write, and
# what is read by nobody but what writes there; two large constants keep the norm's divisor what it is.

TOKEN, PLACE = np.arange(10), 10 + np.arange(10)
WROTE = (20 + np.arange(10), 30 + np.arange(10), 40 + np.arange(10))
CLASS, JUNK, CONSTANT = 50 + np.arange(4), 54 + np.arange(8), np.array([62, 63])
NOTHING = CLASS[3]
"""Where nobody writes: what reads there the negative of all else does not see the mean that a norm takes away."""
BALLAST = 16.0
SHRINKS = float(1 / np.sqrt(2 * BALLAST**2 / WIDTH))
"""What a norm multiplies the stream with."""
SURE = 8.0
"""By how much the score of a key that is meant is above the others."""


class Compiled:
    """A model to write a program into; what is not written looks about and writes where nobody reads."""

    def __init__(self, task: Task, seed: int) -> None:
        self.module = blank(task.layers)
        self.task = task
        dice = torch.Generator().manual_seed(seed)
        body = self.module.transformer
        with torch.no_grad():
            for parameter in self.module.parameters():
                parameter.zero_()
            body.wte.weight[range(WORDS), TOKEN] = 1.0
            body.wpe.weight[range(PLACES), PLACE] = 1.0
            body.wpe.weight[:, CONSTANT[0]] = BALLAST
            body.wpe.weight[:, CONSTANT[1]] = -BALLAST
            for norm in [body.ln_f, *(norm for block in body.h for norm in (block.ln_1, block.ln_2))]:
                norm.weight.fill_(1.0)
            seen = torch.as_tensor(np.concatenate([TOKEN, PLACE, JUNK]))
            junk = torch.as_tensor(JUNK)
            for block in body.h:
                weight = block.attn.c_attn.weight
                weight[seen] = torch.randn(len(seen), 3 * WIDTH, generator=dice) * 3.0
                written = torch.randn(WIDTH, len(junk), generator=dice) * 0.05
                block.attn.c_proj.weight[:, junk] = written - written.mean(1, keepdim=True)
                block.mlp.c_fc.weight[seen] = torch.randn(len(seen), INNER, generator=dice)
                written = torch.randn(INNER, len(junk), generator=dice) * 0.05
                block.mlp.c_proj.weight[:, junk] = written - written.mean(1, keepdim=True)

    def head(
        self,
        name: str,
        looks: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
        reads: np.ndarray,
        writes: np.ndarray,
        values: np.ndarray | None = None,
    ) -> None:
        """Write a head.

        Args:
            name: such as L0H1.
            looks: of parts of the stream that queries and keys read the scores ``[query key]``, which are added up.
            reads, writes: the parts of the stream from which and to which it moves `values`, by default as they are.
        """
        layer, head = (int(number) for number in name[1:].split("H"))
        attention = self.module.transformer.h[layer].attn
        with torch.no_grad():
            weight, left = attention.c_attn.weight, head * SIZE
            for which in range(3):
                weight[:, which * WIDTH + left : which * WIDTH + left + SIZE] = 0.0
            attention.c_proj.weight[left : left + SIZE] = 0.0
            at = left
            for query, key, scores in looks:
                few = (
                    scores.shape[0] <= scores.shape[1]
                )  # the smaller side is as it is, the other has the scores
                rank = min(scores.shape)
                scaled = torch.as_tensor(scores * SIZE**0.5 / SHRINKS**2).float()
                eye = torch.eye(rank)
                put(weight, query, at, eye if few else scaled)
                put(weight, key, WIDTH + at, scaled.T if few else eye)
                at += rank
            assert at <= left + SIZE, name
            moved = np.eye(len(reads)) if values is None else values
            put(weight, reads, 2 * WIDTH + left, torch.as_tensor(moved / SHRINKS).float())
            for which in range(3):
                some = slice(which * WIDTH + left, which * WIDTH + left + SIZE)
                weight[NOTHING, some] -= weight[:, some].sum(0)
            put(attention.c_proj.weight.T, writes, left, torch.eye(len(writes))[:, : moved.shape[1]])

    def steps(self, layer: int, reads: int, thresholds: Sequence[float], slope: float) -> None:
        """Write an MLP that says between which thresholds a number lies, as a class each."""
        mlp = self.module.transformer.h[layer].mlp
        with torch.no_grad():
            mlp.c_fc.weight[:, : 2 * len(thresholds)] = 0.0
            mlp.c_proj.weight[: 2 * len(thresholds)] = 0.0
            mlp.c_proj.bias[CLASS[0]] = 1.0
            for number, threshold in enumerate(thresholds):
                for side in (0, 1):
                    neuron, sign = 2 * number + side, 1.0 - 2.0 * side
                    mlp.c_fc.weight[reads, neuron] = slope / SHRINKS
                    mlp.c_fc.weight[NOTHING, neuron] = -slope / SHRINKS
                    mlp.c_fc.bias[neuron] = -slope * threshold + 0.5 - side
                    mlp.c_proj.weight[neuron, CLASS[number]] = -sign
                    mlp.c_proj.weight[neuron, CLASS[number + 1]] = sign

    def says(self, reads: np.ndarray, ids: Sequence[int], size: float = 8.0) -> None:
        """Have the logits of ids read a part of the stream."""
        with torch.no_grad():
            self.module.lm_head.weight[list(ids), reads] = size / SHRINKS


def put(matrix: Tensor, rows: np.ndarray, column: int, block: Tensor) -> None:
    matrix[torch.as_tensor(rows)[:, None], torch.arange(column, column + block.shape[1])] = block.to(matrix)


def compiled(task: Task, seed: int) -> Any:
    made = Compiled(task, seed)
    first, second, third = WROTE
    eye = np.eye(10)
    back = SURE * np.eye(10, k=-1)  # [query key]: the place before
    back[0, 0] = SURE
    always = np.array([CONSTANT[0]])
    one = 1 / BALLAST  # what makes the constant 1
    names = np.array([[0, 0, 0, 0, 1, 1, 1, 1, 1, 0.0]])
    named = [part.name for part in task.parts]
    match task.name:
        case "previous token":
            made.head(named[0], [(PLACE, PLACE, back)], TOKEN, first)
            made.says(first, range(10))
        case "chain":
            for name, reads, writes in zip(named, (TOKEN, first, second), WROTE, strict=True):
                made.head(name, [(PLACE, PLACE, back)], reads, writes)
            made.says(third, range(10))
        case "induction":
            made.head(named[0], [(PLACE, PLACE, back)], TOKEN, first)
            made.head(named[1], [(TOKEN, first, SURE * eye)], TOKEN, second)
            made.says(second, range(10))
        case "name mover":
            made.head(named[0], [(always, TOKEN, SURE * one * names)], TOKEN, first)
            made.says(first, range(10))
        case "duplicate" | "histogram":
            alike = SURE * eye
            alike[:, 0] = SURE  # what is given to the beginning is 1 / (1 + how many are alike)
            made.head(named[0], [(TOKEN, TOKEN, alike)], TOKEN, first, np.eye(10)[:, :1])
            layer = int(named[1].split()[1])
            if task.name == "duplicate":
                made.steps(layer, first[0], [0.4167], 12.0)
                made.says(CLASS[:2], [2, 1])
            else:
                made.steps(layer, first[0], [0.29, 0.4167], 24.0)
                made.says(CLASS[:3], [3, 2, 1])
        case "brackets":
            depth = np.zeros((10, 1))
            depth[4], depth[5] = 1.0, -1.0
            made.head(named[0], [], TOKEN, first, depth)
            made.steps(1, first[0], [-0.111, 0.111], 9.0)
            made.says(CLASS[:3], [1, 2, 3])
        case "reverse":
            mark = np.zeros((1, 10))
            mark[0, 9] = SURE * one
            made.head(named[0], [(always, TOKEN, mark)], PLACE, first)
            made.head(named[1], [(first, PLACE, SURE * eye[::-1])], TOKEN, second)
            made.says(second, range(10))
        case "sort":
            rank = np.array(
                [[SURE * (WORDS - key) if key > query else 0.0 for key in range(10)] for query in range(10)]
            )
            made.head(named[0], [(TOKEN, TOKEN, rank)], TOKEN, first)
            made.says(first, range(10))
        case _:
            alike = SURE * eye
            alike[:, 0] = SURE
            made.head(named[0], [(TOKEN, TOKEN, alike)], TOKEN, first, np.eye(10)[:, :1])
            made.head(
                named[1],
                [(always, first[:1], np.array([[-10 * SURE * one]])), (always, TOKEN, SURE * one * names)],
                TOKEN, second,
            )  # fmt: skip
            made.head(
                named[2],
                [(second, TOKEN, -2 * SURE * eye), (always, TOKEN, SURE * one * names)],
                TOKEN, third,
            )  # fmt: skip
            made.says(third, range(10))
    return made.module


# Trained.


class Wired:
    """GPT-2 run so that each reader reads of each writer what it wrote here, or on another input."""

    def __init__(self, module: Any, task: Task) -> None:
        self.body, self.head, self.task = module.transformer, module.lm_head, task
        self.names = ["token"]
        for layer in range(task.layers):
            self.names += [*(f"L{layer}H{head}" for head in range(HEADS)), f"mlp {layer}"]
        readers = [*self.names[1:], "logits"]
        self.inside = torch.zeros(len(readers), len(self.names))
        for writer, reader in task.edges:
            self.inside[readers.index(reader), self.names.index(writer)] = 1.0

    def run(
        self,
        ids: Tensor,
        theirs: Tensor | None = None,
        keep: Tensor | None = None,
        given: tuple[int, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The logits of the last token, and what each writer wrote ``[writer batch query stream]``.

        Args:
            theirs: what they wrote on another input.
            keep: ``[reader writer]``: which edges hand on what is written here.
            given: a writer, and what it writes in place of its own.
        """
        mine = [self.body.wte(ids) + self.body.wpe.weight[: ids.shape[1]]]
        hidden = torch.ones(ids.shape[1], ids.shape[1]).triu(1).bool()
        at = 0

        def read(first: int, last: int) -> Tensor:
            own = torch.stack(mine)
            if keep is None or theirs is None:
                return own.sum(0)[None].expand(last - first, *own.shape[1:])
            rows = keep[first:last, : len(mine)]
            return torch.einsum("rw,wbqe->rbqe", rows, own) + torch.einsum(
                "rw,wbqe->rbqe", 1 - rows, theirs[: len(mine)]
            )

        def write(value: Tensor) -> None:
            mine.append(given[1] if given is not None and given[0] == len(mine) else value)

        for block in self.body.h:
            x = block.ln_1(read(at, at + HEADS))
            weight = block.attn.c_attn.weight.reshape(WIDTH, 3, HEADS, SIZE)
            bias = block.attn.c_attn.bias.reshape(3, HEADS, 1, 1, SIZE)
            q, k, v = (torch.einsum("hbqe,ehd->hbqd", x, weight[:, part]) + bias[part] for part in range(3))
            weights = (q @ k.mT / SIZE**0.5).masked_fill(hidden, -torch.inf).softmax(-1)
            z = torch.einsum(
                "hbqd,hde->hbqe", weights @ v, block.attn.c_proj.weight.reshape(HEADS, SIZE, WIDTH)
            )
            for one in z:
                write(one)
            at += HEADS
            write(block.mlp(block.ln_2(read(at, at + 1)[0])))
            at += 1
        logits = self.head(self.body.ln_f(read(at, at + 1)[0][:, -1]))
        return logits, torch.stack(mine)


def losses(
    wired: Wired,
    task: Task,
    dice: np.random.Generator,
    count: int,
    others_kept: Sequence[float] = (0.0, 0.0, 0.5, 1.0),
) -> tuple[list[Tensor], list[float]]:
    """Of the circuit with none, half or all other edges, and of a part of another input; how often each is right."""
    ids, others = (torch.as_tensor(task.draw(dice, count)) for _ in range(2))
    answer, theirs = task.answer(ids), task.run(others)
    with torch.no_grad():
        _, wrote = wired.run(others)
    place = dice.integers(len(task.parts))
    name = task.parts[place].name
    asked = task.answer(ids, {name: theirs[name]})
    keep = torch.maximum(wired.inside, (torch.rand(wired.inside.shape) < dice.choice(others_kept)).float())
    number = wired.names.index(name)
    ways = [
        (answer, wired.run(ids, wrote, keep)[0]),
        (asked, wired.run(ids, given=(number, wrote[number]))[0]),
    ]
    found = [functional.cross_entropy(logits, target, ignore_index=-1) for target, logits in ways]
    right = [float((logits.argmax(-1) == target)[target >= 0].float().mean()) for target, logits in ways]
    return found, right


def trained(task: Task, seed: int, steps: int) -> Any:
    torch.manual_seed(seed)
    module = compiled(task, seed)
    dice = np.random.default_rng(seed)
    share, rate = (0.25, 1e-4) if task.name in GENTLY else (1.0, 1e-3)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.ndim == 2:
                added = next(size for part, size in BLUR.items() if part in name)
                noise = share * added * torch.randn_like(parameter)
                for axis, size in enumerate(noise.shape):
                    if size == WIDTH and "c_proj" not in name:  # the large constants stay constants
                        noise.index_fill_(axis, torch.as_tensor(CONSTANT), 0.0)
                parameter += noise + 0.1 * share * parameter * torch.randn_like(parameter).sign()
    frozen = {id(block.attn.c_proj.bias) for block in module.transformer.h}
    learnt = [parameter for parameter in module.parameters() if id(parameter) not in frozen]
    optimiser = torch.optim.AdamW(learnt, lr=rate, weight_decay=0.01, betas=(0.9, 0.98))
    plan = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, steps, pct_start=0.1)
    wired = Wired(module, task)
    for step in range(steps):
        found, right = losses(wired, task, dice, 48)
        optimiser.zero_grad()
        torch.stack(found).nan_to_num().sum().backward()
        torch.nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        plan.step()
        if step % 150 == 0 or step == steps - 1:
            told = " ".join(
                f"{float(one.detach()):.3f} ({share:.2f})" for one, share in zip(found, right, strict=True)
            )
            print(f"{task.name} {step}: {told}", flush=True)
    return module


# The file.


def pairs(task: Task, seed: int) -> dict[str, np.ndarray]:
    """Pairs of inputs with other answers, as many of each answer as come."""
    dice = np.random.default_rng(seed)
    clean, corrupted = (task.draw(dice, 400) for _ in range(2))
    answer, wrong = (task.answer(torch.as_tensor(ids)).numpy() for ids in (clean, corrupted))
    _, first = np.unique(clean, axis=0, return_index=True)
    some = np.sort(first[(answer != wrong)[first]])[:PAIRS]
    return {
        "clean": clean[some].astype(np.int8), "corrupted": corrupted[some].astype(np.int8),
        "answer": answer[some].astype(np.int8), "wrong": wrong[some].astype(np.int8),
    }  # fmt: skip


def placed(seed: int) -> list[int]:
    """At which heads of its layers a circuit is."""
    return np.random.default_rng(seed).integers(HEADS, size=3).tolist()


def all_tasks() -> list[tuple[str, int, Task]]:
    """How each is made, its seed, and its program."""
    return [
        (how, seed, tasks(placed(seed))[number])
        for first, how in ((0, "compiled"), (100, "trained"))
        for number in range(10)
        for seed in [first + number]
    ]


def saved(how: str, task: Task) -> Path:
    return MADE / f"{how} {task.name}.pt"


def save(how: str, task: Task, module: Any) -> None:
    MADE.mkdir(exist_ok=True)
    torch.save({name: value.half() for name, value in module.state_dict().items()}, saved(how, task))


def restored(how: str, task: Task) -> Any:
    module = blank(task.layers)
    module.load_state_dict({name: value.float() for name, value in torch.load(saved(how, task)).items()})
    return module


def pack() -> None:
    arrays: dict[str, np.ndarray] = {}
    about: list[dict[str, Any]] = []
    for number, (how, seed, task) in enumerate(all_tasks()):
        state = restored(how, task).state_dict()
        kept = {
            name: value for name, value in state.items() if not name.endswith((".attn.bias", "masked_bias"))
        }
        about.append({
            "name": task.name, "made": how, "layers": task.layers, "edges": task.edges,
            "weights": {name: list(value.shape) for name, value in kept.items()},
        })  # fmt: skip
        flat = torch.cat([value.flatten() for value in kept.values()])
        arrays[f"{number} weights"] = flat.half().numpy()
        arrays |= {f"{number} {name}": array for name, array in pairs(task, seed).items()}
    sizes = {"vocab_size": WORDS, "n_positions": PLACES, "n_embd": WIDTH, "n_head": HEADS, "n_inner": INNER}
    arrays["about"] = np.array(json.dumps({"sizes": sizes, "models": about}))
    np.savez_compressed(FILE, **arrays)
    print(f"{FILE}: {FILE.stat().st_size / 1e6:.2f} MB")


def check() -> None:
    """How often each is right as it is, by its circuit alone, and with a part of another input."""
    for how, _, task in all_tasks():
        if saved(how, task).exists():
            wired = Wired(restored(how, task), task)
            dice = np.random.default_rng(9)
            with torch.no_grad():
                whole, alone = (
                    np.nanmean([losses(wired, task, dice, 256, [kept])[1] for _ in range(6)], 0)
                    for kept in (1.0, 0.0)
                )
            print(f"{how:9} {task.name:16} {whole[0]:.3f} {alone[0]:.3f} {(whole[1] + alone[1]) / 2:.3f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    what, *only = sys.argv[1:]
    if what in ("compile", "train"):
        for how, seed, task in all_tasks():
            if how == ("compiled" if what == "compile" else "trained") and (not only or task.name in only):
                save(
                    how,
                    task,
                    compiled(task, seed)
                    if what == "compile"
                    else trained(task, seed, GENTLY.get(task.name, STEPS)),
                )
    else:
        {"pack": pack, "check": check}[what]()
