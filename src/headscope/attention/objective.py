"""What a gradient is of and what an ablation changes: one number of the output for each input of a batch.

Inputs of a batch are independent, so the gradient of the sum of their numbers holds each one's own gradient:
the number of an input is computed from its own row of the output, with the padding taken off, and depends
neither on the batch nor on its place in it.
"""

from __future__ import annotations

import inspect
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from headscope.core.arrays import Bools
from headscope.core.failures import asked_of
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError
from headscope.models.model import Model, expect_text_alone, uncached

Scalar = Callable[[Any], Tensor]


def asked(function: Scalar, output: Any) -> Tensor:
    """The number that a caller's function makes of what a module returned. Raises `InputError` for anything else."""
    with asked_of("objective", "a function of what the module returns"):
        number = function(output)
    if not isinstance(number, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"objective: expected a tensor with one number, found {type(number).__name__}")
    if number.numel() != 1:
        raise InputError(f"objective: expected a scalar, found shape {tuple(number.shape)}")
    if torch.is_grad_enabled() and not number.requires_grad:
        raise InputError(
            "objective: expected a number that depends on the weights, found one without a gradient"
        )
    return number


def natural(
    model: Model, axes: Mapping[str, Tokens], ready: Mapping[str, Tensor], names: list[str] | None = None
) -> Scalar:
    """What gradients are of unless the caller says otherwise; `names` is given a few words that name it.

    - a language model: its loss on the input, in nats a token (of the next token where the model is causal or
      an encoder-decoder, else of each token at its own place);
    - a model with another kind of logits (a classifier): the largest one;
    - an encoder that reads a pair: the cosine of the mean hidden states of A and B, read together, special tokens
      left out;
    - any other: half the squared norm of the mean hidden state.

    Args:
        model: the model that gives the output.
        axes, ready: its input, as `headscope.attention.one.prepare` gives it.
        names: the name is appended when the output is there.
    """

    def of(output: Any) -> Tensor:
        number, name = natural_number(output, model, axes, ready)
        if names is not None:
            names.append(name)
        return number

    return of


def natural_number(
    output: Any, model: Model, axes: Mapping[str, Tokens], ready: Mapping[str, Tensor]
) -> tuple[Tensor, str]:
    """The number that `natural` says, and what it is."""
    given = (getattr(output, name, None) for name in ("logits", "logits_per_image", "start_logits"))
    logits = next((value for value in given if isinstance(value, Tensor)), None)
    if logits is not None:
        loss = _loss(logits, model, ready)
        return (logits.max(), "the largest logit") if loss is None else (loss, "the loss on the input")
    hidden: Any = getattr(output, "last_hidden_state", None)
    hidden = cast(Tensor, hidden if isinstance(hidden, Tensor) else output[0])
    if hidden.ndim != 3:
        return hidden.float().square().sum() / 2, "half the squared norm of the output"
    sides = _sides(axes.get("self"), hidden)
    if sides is not None:
        first, second = (hidden[0, side].float().mean(0) for side in sides)
        return functional.cosine_similarity(first, second, dim=0), "the cosine of the two texts read together"
    return hidden.float().mean(1).square().sum() / 2, "half the squared norm of the mean hidden state"


def _loss(logits: Tensor, model: Model, ready: Mapping[str, Tensor]) -> Tensor | None:
    """Cross-entropy in nats a token; None where the logits are not over the vocabulary at each token."""
    prefix = "decoder_" if "decoder_input_ids" in ready else ""
    ids, mask = ready.get(f"{prefix}input_ids"), ready.get(f"{prefix}attention_mask")
    words = getattr(model.text_config, "vocab_size", None)
    if ids is None or logits.ndim != 3 or logits.shape[:2] != ids.shape or words is None:
        return None
    if logits.shape[2] < int(words):
        return None
    seen = torch.ones_like(ids) if mask is None or mask.shape != ids.shape else mask
    if prefix or model.causal:
        if ids.shape[1] < 2:
            return None
        logits, ids, seen = logits[:, :-1], ids[:, 1:], seen[:, 1:]
    losses = functional.cross_entropy(logits[0].float(), ids[0], reduction="none")
    return (losses * seen[0]).sum() / seen[0].sum().clamp(min=1)


def _sides(tokens: Tokens | None, hidden: Tensor) -> tuple[Tensor, Tensor] | None:
    """Which positions belong to A and to B; None where there is no pair."""
    if tokens is None or tokens.sequence_ids is None or len(tokens) != hidden.shape[1]:
        return None
    known = torch.tensor(tokens.sequence_ids.tolist(), device=hidden.device)
    first, second = known == 0, known == 1
    return (first, second) if bool(first.any()) and bool(second.any()) else None


SHARE = 0.15
"""Share of the tokens that a masked language model's loss hides (Devlin et al. 2019, section 3.1)."""

NAMES = "natural, masked-lm, causal-lm, logit:N, cosine"

_LOSS, _COSINE = "the loss on the input", "the cosine of the two texts read together"


Number = Callable[[Any, Mapping[str, Tensor], Tokens], tuple[Tensor, str]]


@dataclass(frozen=True, eq=False)
class Objective:
    """One number an input; made by `objective`.

    Attributes:
        model: whose output.
        name: what was asked for.
        of: the number of one input and what it is: takes its row of the output (batch axis kept, padding taken
            off), what the module was given of it, and its tokens.
        masked: hide a share of the tokens from the model.
        seed: which tokens are hidden.
        function: the caller's function, if it is one.
        names: what the number of the inputs so far is; of all the same.
    """

    model: Model
    name: str
    of: Number
    masked: bool = False
    seed: int = 0
    function: Scalar | None = None
    names: set[str] = field(default_factory=set[str])

    @property
    def description(self) -> str:
        """What the numbers are, for a result's record."""
        return next(iter(self.names), self.name)

    def say(self, name: str, tokens: Tokens) -> None:
        """Note what the number of an input is. Raises `InputError` where another input had a number of another kind."""
        if self.names and name not in self.names:
            raise InputError(
                f"objective: expected {next(iter(self.names))}, as of the inputs before, but {_begins(tokens)} has "
                f"{name}: name an objective that all inputs have"
            )
        self.names.add(name)

    @property
    def identity(self) -> str:
        """What tells this objective from another one: its name, the seed, and the source of a function."""
        if self.function is None:
            return f"{self.name}, seed {self.seed}" if self.masked else self.name
        try:
            source = inspect.getsource(self.function)
        except (OSError, TypeError):
            source = repr(getattr(getattr(self.function, "__code__", None), "co_code", b""))
        return f"{self.name} {zlib.crc32(source.encode()):08x}"

    @property
    def module(self) -> nn.Module:
        """What runs: the module with its head; of an encoder-decoder the encoder."""
        return self.model.backbone if self.model.encoder_decoder else self.model.module

    def prepare(self, tokens: Sequence[Tokens], *, token_types: bool = True) -> Prepared:
        """A batch that is ready to run. Raises `InputError` where an input has no token to hide."""
        expect_text_alone(self.model)
        ready: AnyDict = dict(self.model.inputs(tokens, token_types=token_types))
        rows = [
            {name: array[row : row + 1, : len(example)] for name, array in ready.items()}
            for row, example in enumerate(tokens)
        ]
        if self.masked:
            where = torch.zeros_like(ready["input_ids"], dtype=torch.bool)
            for row, example in enumerate(tokens):
                where[row, : len(example)] = torch.as_tensor(hidden(example, self.seed))
                rows[row]["hidden"] = where[row : row + 1, : len(example)]
            ready["input_ids"] = ready["input_ids"].masked_fill(where, self.model.tokenizer.mask_token_id)
        ready |= uncached(self.module)
        return Prepared(self, tokens, ready, rows)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A batch for one objective.

    Attributes:
        objective: what its numbers are.
        tokens: the inputs.
        ready: what the module takes.
        rows: of each input what the numbers need, batch axis kept and padding taken off; the ids are the true
            ones, and ``hidden`` says which of them the model does not see.
    """

    objective: Objective
    tokens: Sequence[Tokens]
    ready: AnyMapping
    rows: Sequence[Mapping[str, Tensor]]

    def run(self) -> Tensor:
        """The numbers ``[input]`` of one forward pass, in float32 at least."""
        output: Any = self.objective.module(**self.ready)
        width = max(map(len, self.tokens))
        numbers: list[Tensor] = []
        for index, (row, tokens) in enumerate(zip(self.rows, self.tokens, strict=True)):
            part = _row(output, index, len(self.tokens), len(tokens), width)
            number, name = self.objective.of(part, row, tokens)
            self.objective.say(name, tokens)
            numbers.append(number.reshape(()) if number.dtype.itemsize >= 4 else number.reshape(()).float())
        return torch.stack(numbers)


def objective(model: Model, of: str | Scalar | Objective | None = None, *, seed: int = 0) -> Objective:
    """What gradients are of: a name, or a function of what the module returns.

    - ``masked-lm``: cross-entropy in nats a hidden token, where 15 % of an input's tokens (at least one; special
      tokens never) are replaced by the mask token. Which ones follows from the seed and the input's ids alone.
      All are replaced by the mask token; BERT's training replaces 80 % of them so.
    - ``causal-lm``: cross-entropy of the next token, in nats a token.
    - ``logit:N``: the logit of class N.
    - ``cosine``: of the mean hidden states of the two texts of a pair, special tokens left out. The texts are read
      together: an index that reads each text alone has another similarity.
    - ``natural`` (by default): ``masked-lm`` where a model can do it, else what `natural_number`
      says of an input that is no pair: all inputs have that number, so that a mean is of one kind.
    - a function: takes what the module returns for one input (batch axis kept, padding taken off), gives a scalar.

    Raises `InputError` for another name, and where the model has no such number.
    """
    if isinstance(of, Objective):
        return of
    if of is not None and not isinstance(of, str):
        return Objective(model, called(of, "a function of the output"), _given(of), function=of)
    name = of or "natural"
    if name == "natural":
        name = "masked-lm" if _masks(model) else name
    if name == "masked-lm":
        if not _masks(model):
            raise InputError(
                f"objective: masked-lm needs a model with a language-model head that sees both sides and a "
                f"tokenizer with a mask token; {model.name} is not one"
            )
        return Objective(model, name, _masked_loss, masked=True, seed=seed)
    if name == "causal-lm" and not (model.causal and _head(model)):
        raise InputError(
            f"objective: causal-lm needs a causal model with a language-model head; {model.name} is not one"
        )
    if match := re.fullmatch(r"logit:(\d{1,9})", name):
        return Objective(model, name, _logit(int(match[1])))
    expected = {"natural": _LOSS if _head(model) else None, "causal-lm": _LOSS, "cosine": _COSINE}
    if name not in expected:
        raise InputError(f"objective: expected {NAMES} or a function of the output, found {name!r}")
    return Objective(model, name, _natural(model, name, expected[name]))


def hidden(tokens: Tokens, seed: int) -> Bools:
    """Which tokens a masked language model does not see: `SHARE` of those that are not special, at least one."""
    if tokens.ids is None:
        raise InputError("objective: masked-lm needs inputs with ids, found tokens without")
    places = np.flatnonzero(~tokens.special)
    if not len(places):
        raise InputError("objective: masked-lm needs a token that is not special, found none in an input")
    draw = np.random.default_rng([seed, zlib.crc32(np.ascontiguousarray(tokens.ids, "<i8").tobytes())])
    mask = np.zeros(len(tokens), np.bool_)
    mask[draw.choice(places, max(1, round(SHARE * len(places))), replace=False)] = True
    return mask


def _head(model: Model) -> bool:
    """Whether the module gives logits over the vocabulary."""
    embeddings: Any = getattr(model.module, "get_output_embeddings", None)
    return not model.encoder_decoder and embeddings is not None and embeddings() is not None


def _masks(model: Model) -> bool:
    mask = getattr(model.tokenizer, "mask_token_id", None)
    return not model.causal and mask is not None and _head(model)


def _masked_loss(output: Any, row: Mapping[str, Tensor], _: Tokens) -> tuple[Tensor, str]:
    where = row["hidden"][0]
    logits = cast(Tensor, output.logits)[0, where]
    logits = logits.float() if logits.dtype.itemsize < 4 else logits
    loss = functional.cross_entropy(logits, row["input_ids"][0, where])
    return loss, f"the loss on {SHARE:.0%} of the tokens, masked"


def _logit(number: int) -> Number:
    def of(output: Any, _row: Mapping[str, Tensor], _tokens: Tokens) -> tuple[Tensor, str]:
        logits = getattr(output, "logits", None)
        if not isinstance(logits, Tensor) or logits.ndim != 2:
            given = "none" if logits is None else f"shape {tuple(logits.shape)}"
            raise InputError(
                f"objective: logit:{number} needs one row of logits an input, as a classifier gives; found {given}"
            )
        if number >= logits.shape[1]:
            raise InputError(f"objective: expected a class below {logits.shape[1]}, found logit:{number}")
        return logits[0, number], f"the logit of class {number}"

    return of


def _natural(model: Model, name: str, expected: str | None) -> Number:
    def of(output: Any, row: Mapping[str, Tensor], tokens: Tokens) -> tuple[Tensor, str]:
        axes = {"self": tokens} if name == "cosine" else {}
        number, kind = natural_number(output, model, axes, row)
        if expected is not None and kind != expected:
            raise InputError(f"objective: {name}: expected {expected}, but {_begins(tokens)} has {kind} only")
        return number, kind

    return of


def _begins(tokens: Tokens) -> str:
    return f"{' '.join(tokens.pieces[:8])!r} …"


def _given(function: Scalar) -> Number:
    def of(output: Any, _row: Mapping[str, Tensor], _tokens: Tokens) -> tuple[Tensor, str]:
        return asked(function, output), called(function, "a function of the output")

    return of


def called(function: Scalar, otherwise: str) -> str:
    """The name of a function; `otherwise` where it has none, as a lambda."""
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else otherwise


def _row(output: Any, index: int, batch: int, length: int, width: int) -> Any:
    """One input's part of what the module returns, batch axis kept, padding taken off.

    The second axis of an array of three axes and more is the tokens', where it is as long as the batch is wide;
    so is that of the logits of a span's ends.
    """

    def cut(name: str, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return tuple(cut(name, part) for part in cast("Sequence[Any]", value))
        if not isinstance(value, Tensor) or not value.ndim or value.shape[0] != batch:
            return value
        part = value[index : index + 1]
        tokens = part.ndim > 2 or name in ("start_logits", "end_logits")
        return part[:, :length] if tokens and part.shape[1] == width else part

    if isinstance(output, Mapping):
        named = cast("AnyMapping", output)
        return cast(Any, type(named))(**{name: cut(name, value) for name, value in named.items()})
    return cut("", output)
