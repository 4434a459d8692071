"""A prompt and its answer, and how sure a model is of the answer: what is asked where it came from."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headscope.analyses.why.given import Answer, Given, read
from headscope.analyses.why.spans import Prompt
from headscope.attention.generate import written_texts
from headscope.attention.one import decoder_start, running
from headscope.attention.recording import evaluating
from headscope.core.arrays import Bools, Ints
from headscope.core.audio import Audio
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError, RefusedError
from headscope.models import Model
from headscope.models.encode import encode
from headscope.models.model import uncached
from headscope.models.pieces import shown_pieces

Kind = Literal["text", "masked", "class", "label", "span"]
"""What an answer is: what a model writes, words in place of masks, the class of the input, the label of one token, or
a stretch of the input."""


@dataclass(frozen=True, eq=False)
class AskedPrompt:
    """A prompt and its answer, as a model takes them.

    Attributes:
        model: that answers.
        prompt: of which spans are cut.
        ready: what the module takes, a batch of one; of what writes a text, all of the answer but its last token is in
            it.
        kind: what the answer is.
        rows: queries of the axis from whose outcome the answer is read.
        targets: ids of the answer's tokens, or of its class, or its first and last place.
        pieces, texts: of the answer's tokens, as they are named and as they read.
        generated: the model itself said it.
        characters: of the answer, whose log-probability is asked for; None: all.
    """

    model: Model
    prompt: Prompt
    ready: AnyMapping
    kind: Kind
    rows: Bools
    targets: Ints
    pieces: Sequence[str]
    texts: Sequence[str]
    generated: bool
    characters: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        """The answer."""
        return "".join(self.texts)

    @cached_property
    def part(self) -> Bools:
        """The tokens whose log-probability is asked for."""
        ends = np.cumsum([len(text) for text in self.texts])
        starts = ends - [len(text) for text in self.texts]
        if self.characters is None:
            return ends >= 0
        first, end = self.characters
        chosen = (starts < end) & (ends > first) & (ends > starts)
        if not 0 <= first < end <= len(self.text) or not chosen.any():
            raise InputError(
                f"part: expected characters of the answer, {self.text!r:.60}, found {self.characters}"
            )
        return chosen

    @property
    def axis(self) -> Literal["self", "encoder"]:
        """The attention that spans are masked in: ``self``, or that of an ``encoder`` with the one to it."""
        return "encoder" if self.kind == "text" and self.model.encoder_decoder else "self"

    @property
    def length(self) -> int:
        """How many keys that axis has."""
        return len(self.prompt.tokens) + (len(self.targets) - 1 if self.written else 0)

    @property
    def written(self) -> bool:
        """Whether it stands behind the prompt, on the same axis."""
        return self.kind == "text" and self.axis == "self"

    @property
    def plain(self) -> bool:
        """Whether the prompt is a text alone."""
        values = [value for value in self.ready.values() if isinstance(value, Tensor)]
        return "input_ids" in self.ready and not any(value.is_floating_point() for value in values)

    @property
    def kept(self) -> AnyDict:
        """What tells a module to give no other logits than those of the answer, where it can."""
        takes = signature(self.model.module.forward).parameters
        return {"logits_to_keep": len(self.targets)} if self.written and "logits_to_keep" in takes else {}

    def scores(self, output: Any) -> Tensor:
        """The logits of each of the answer's tokens, ``[row token choice]``, of what the module returns."""
        if self.kind == "span":
            return torch.stack([output.start_logits, output.end_logits], 1).float()
        logits: Tensor = output.logits
        logits = logits if logits.dtype.itemsize >= 4 else logits.float()
        if self.kind == "class":
            return logits[:, None]
        return (
            logits[:, -len(self.targets) :] if self.kind == "text" else logits[:, np.flatnonzero(self.rows)]
        )

    def log_p(self, scores: Tensor) -> Tensor:
        """The log-probability of each of the answer's tokens, ``[row token]``."""
        targets = torch.as_tensor(self.targets, device=scores.device)
        chosen = scores.gather(-1, targets[None, :, None].expand(len(scores), -1, 1)).squeeze(-1)
        if self.kind == "class" and _several(self.model):
            return functional.logsigmoid(chosen)
        return chosen - scores.logsumexp(-1)

    def without(self, spans: Sequence[Bools]) -> AskedPrompt:
        """The same where the tokens of some spans are not there; those that the answer is read at stay.

        Raises `RefusedError` for a prompt that is no text.
        """
        if not self.plain:
            raise RefusedError(
                f"{self.model.name}: deletes spans of texts alone; masking shows pictures and sounds"
            )
        keep = np.ones(self.length, np.bool_)
        for span in spans:
            keep[: len(span)] &= ~span
        if self.kind in ("masked", "label", "span"):
            keep |= self.rows
        kept = torch.as_tensor(keep, device=self.model.device)
        ready = {
            name: value[:, kept]
            if isinstance(value, Tensor) and value.shape == (1, self.length) and "decoder" not in name
            else value
            for name, value in self.ready.items()
        }
        here: list[int] = np.flatnonzero(keep[: len(self.prompt.tokens)]).tolist()
        prompt = Prompt(
            self.prompt.tokens.take(np.array(here, np.int64)), [self.prompt.texts[place] for place in here]
        )
        targets = np.cumsum(keep)[self.targets] - 1 if self.kind == "span" else self.targets
        rows = self.rows[keep]
        return replace(self, prompt=prompt, ready=ready, rows=rows, targets=targets)


def ask(
    model: Model,
    prompt: Given | None,
    answer: Answer = None,
    *,
    image: Any = None,
    audio: Audio | None = None,
    tools: Sequence[AnyMapping] | None = None,
    documents: Sequence[AnyMapping] | None = None,
    part: tuple[int, int] | None = None,
    position: int | None = None,
    max_new_tokens: int = 60,
) -> AskedPrompt:
    """Put a prompt and its answer together; arguments as in `headscope.why`.

    Raises `InputError` for an answer that does not go with the model, and `RefusedError` for a model that gives none.
    """
    taken, ready, answer = read(model, prompt, answer, image, audio, tools, documents)
    writes = bool(getattr(model.module, "can_generate", lambda: False)())
    if (model.encoder_decoder and writes) or (model.causal and writes and "input_ids" in ready):
        made = _written(model, taken, ready, answer, max_new_tokens)
    else:
        made = _predicted(model, taken, ready, answer, position)
    asked = replace(made, characters=part)
    _ = asked.part  # refuses what is no part of the answer, before anything else runs
    return asked


def _written(model: Model, prompt: Prompt, ready: AnyDict, answer: Answer, most: int) -> AskedPrompt:
    """The answer of a model that writes."""
    ids: list[int] = [] if prompt.tokens.ids is None else prompt.tokens.ids.tolist()
    if not model.encoder_decoder:
        ready = {
            name: value
            for name, value in ready.items()
            if name != "token_type_ids" or "pixel_values" in ready
        }
    wrote = (
        _generated(model, ready, len(ids), most) if answer is None else _ids_of(model, prompt, ids, answer)
    )
    if not wrote:
        raise InputError(
            "answer: expected at least one token, found none"
            + (
                " written by the model: give one, or the prompt as a conversation, [{role: user, content: …}]"
                if answer is None
                else ""
            )
        )
    if model.encoder_decoder:
        before = [decoder_start(model), *(_forced(model) if "input_features" in ready else [])]
        fed = torch.tensor([[*before, *wrote[:-1]]], device=model.device)
        ready = {**ready, "decoder_input_ids": fed}
        rows = np.zeros(len(prompt.tokens), np.bool_)
    else:
        length = len(ids) + len(wrote) - 1
        rows = np.arange(length) >= len(ids) - 1
        before = ids
        ready = {name: _longer(name, value, wrote[:-1]) for name, value in ready.items()}
        if (limit := model.max_length) is not None and length > limit:
            raise InputError(
                f"prompt: {length} tokens with its answer, but {model.name} takes at most {limit}"
            )
    if model.tokenizer is None:
        pieces = [str(number) for number in wrote]
        texts = [f"{piece} " for piece in pieces]
    else:
        pieces = shown_pieces(model.tokenizer, wrote)
        texts = written_texts(model.tokenizer, [*before, *wrote], len(before))
    ready |= uncached(model.module)
    targets = np.array(wrote, np.int64)
    return AskedPrompt(model, prompt, ready, "text", rows, targets, pieces, texts, answer is None)


def _longer(name: str, value: Any, ids: Sequence[int]) -> Any:
    """What a module takes of a text, with tokens behind it."""
    if not isinstance(value, Tensor) or value.ndim != 2 or value.is_floating_point() or not ids:
        return value
    more = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids))}
    added = more.get(name, torch.zeros(1, len(ids)) if name.endswith("token_type_ids") else None)
    return value if added is None else torch.cat([value, added.to(value)], 1)


def _forced(model: Model) -> list[int]:
    """What a model of speech reads after its start, before it writes."""
    prefix: Any = getattr(model.tokenizer, "prefix_tokens", ())
    return [int(number) for number in prefix][1:]


def _generated(model: Model, ready: AnyMapping, before: int, most: int) -> list[int]:
    """What the model writes, without the special tokens at its end."""
    with torch.no_grad(), evaluating(model.module), running(model, ready):
        write: Any = model.module.generate  # pyright: ignore[reportAttributeAccessIssue]
        ids: list[int] = write(**ready, max_new_tokens=most, do_sample=False)[0].tolist()
    special = {*getattr(model.tokenizer, "all_special_ids", ()), *_ends(model)}
    if model.encoder_decoder:
        ids = ids[1:] if ids[:1] == [decoder_start(model)] else ids
        while ids and ids[0] in special:
            ids = ids[1:]
    else:
        ids = ids[before:]
    while ids and ids[-1] in special:
        ids = ids[:-1]
    return ids


def _ends(model: Model) -> list[int]:
    end: Any = getattr(getattr(model.module, "generation_config", None), "eos_token_id", None)
    return [] if end is None else [end] if isinstance(end, int) else list(end)


def _ids_of(model: Model, prompt: Prompt, ids: list[int], answer: str | int | Sequence[int]) -> list[int]:
    """The ids of an answer that is given."""
    if model.encoder_decoder or not answer or not isinstance(answer, str):
        return _words(model, answer)
    # Read together with the prompt, so that its first piece is what follows it, unless the two are one piece then.
    for added in (True, False):
        together = encode(_tokenizer(model), prompt.text + answer, special=added)
        if (
            together.ids is not None
            and together.ids[: len(ids)].tolist() == ids
            and len(together.ids) > len(ids)
        ):
            rest = slice(len(ids), None)
            keep = ~together.special_mask[rest] if together.special_mask is not None else slice(None)
            return together.ids[rest][keep].tolist()
    return _words(model, answer)


def _predicted(
    model: Model, prompt: Prompt, ready: AnyDict, answer: Answer, position: int | None
) -> AskedPrompt:
    """The answer of a model that writes nothing."""
    ready = {**ready, **uncached(model.module)}
    with torch.no_grad(), evaluating(model.module), running(model, ready):
        output: Any = model.module(**ready)
    rows = np.zeros(len(prompt.tokens), np.bool_)
    if isinstance(getattr(output, "start_logits", None), Tensor):
        return _extracted(model, prompt, ready, answer, output)
    logits = getattr(output, "logits", None)
    if not isinstance(logits, Tensor) or logits.ndim not in (2, 3):
        raise RefusedError(
            f"{model.name}: gives no answer whose probability could change: expected a model with a head for words, "
            "classes, labels or spans"
        )
    if logits.ndim == 2:
        if logits.shape[1] < 2 and not _several(model):
            raise RefusedError(f"{model.name}: gives one number, no class")
        number = int(logits[0].argmax()) if answer is None else _class(model, answer, logits.shape[1])
        name = _label(model, number)
        rows[-1] = model.causal  # where such a model has read all
        target = np.array([number], np.int64)
        return AskedPrompt(model, prompt, ready, "class", rows, target, [name], [name], answer is None)
    words = logits.shape[2] >= int(getattr(model.text_config, "vocab_size", None) or sys.maxsize)
    kind: Kind = "masked" if words else "label"
    places = _places(model, prompt.tokens, position, kind)
    rows[places] = True
    if kind == "masked" and position is not None and model.tokenizer is not None:
        ids = ready["input_ids"].clone()
        was = int(ids[0, places[0]])
        ids[0, places] = model.tokenizer.mask_token_id
        ready = {**ready, "input_ids": ids}
        answer = was if answer is None else answer
    if answer is None:
        targets = logits[0, places].argmax(-1).cpu().numpy().astype(np.int64)
    elif kind == "label":
        targets = np.array([_class(model, answer, logits.shape[2])], np.int64)
    else:
        targets = np.array(_words(model, answer), np.int64)
    if len(targets) != len(places):
        raise InputError(
            f"answer: expected as many tokens as there are masks, {len(places)}, found {len(targets)}"
        )
    if kind == "label":
        pieces = [_label(model, int(number)) for number in targets]
        texts = pieces
    else:
        tokenizer = _tokenizer(model)
        pieces = shown_pieces(tokenizer, targets.tolist())
        texts = [str(tokenizer.decode([number])) for number in targets.tolist()]
    return AskedPrompt(model, prompt, ready, kind, rows, targets, pieces, texts, answer is None)


def _several(model: Model) -> bool:
    """Whether its classes do not exclude each other."""
    return getattr(model.config, "problem_type", None) == "multi_label_classification"


def _tokenizer(model: Model) -> Any:
    if model.tokenizer is None:
        raise InputError(f"answer: expected ids, as {model.name} has no tokenizer, found a text")
    return model.tokenizer


def _places(model: Model, tokens: Tokens, position: int | None, kind: Kind) -> list[int]:
    """The tokens that are asked about."""
    if position is not None:
        if not 0 <= position < len(tokens):
            raise InputError(f"position: expected a token from 0 to {len(tokens) - 1}, found {position}")
        return [position]
    mask = getattr(model.tokenizer, "mask_token_id", None)
    if kind == "label" or tokens.ids is None or mask is None:
        raise InputError("position: expected the token that is asked about, found none")
    places = np.flatnonzero(tokens.ids == mask).tolist()
    if not places:
        raise InputError(
            f"position: expected the token that is asked about, or {model.tokenizer.mask_token!r} in the text, found "
            "neither"
        )
    return places


def _words(model: Model, answer: str | int | Sequence[int]) -> list[int]:
    if answer and isinstance(answer, str):
        ids = encode(_tokenizer(model), answer, special=False).ids
        assert ids is not None
        return ids.tolist()
    return [answer] if isinstance(answer, int) else [int(number) for number in answer]


def _class(model: Model, answer: str | int | Sequence[int], count: int) -> int:
    names: AnyMapping = getattr(model.config, "label2id", None) or {}
    if isinstance(answer, str) and answer in names:
        return int(names[answer])
    if isinstance(answer, int) and 0 <= answer < count:
        return answer
    raise InputError(
        f"answer: expected a number below {count} or one of {', '.join(names)}, found {answer!r}"
    )


def _label(model: Model, number: int) -> str:
    names: Mapping[int, str] = getattr(model.config, "id2label", None) or {}
    return str(names.get(number, number))


def _extracted(model: Model, prompt: Prompt, ready: AnyDict, answer: Answer, output: Any) -> AskedPrompt:
    """The answer of a model that takes it from the text."""
    tokens = prompt.tokens
    special = tokens.special
    asks = tokens.sequence_ids is not None and (tokens.sequence_ids == 1).any()
    inside = ~special & ((tokens.sequence_ids == 1) if asks and tokens.sequence_ids is not None else True)
    if answer is None:
        start, end = (logits[0].double().cpu().numpy() for logits in (output.start_logits, output.end_logits))
        sums = np.where(inside[:, None] & inside, start[:, None] + end, -np.inf)
        sums = np.where(np.tri(len(start), k=-1, dtype=np.bool_), -np.inf, sums)
        first, last = (int(number) for number in np.unravel_index(sums.argmax(), sums.shape))
    else:
        at = prompt.text.find(answer, prompt.pair) if isinstance(answer, str) else -1
        places = [place for place, where in enumerate(prompt.places) if at <= where < at + len(str(answer))]
        if at < 0 or not places:
            raise InputError(f"answer: expected a text of the prompt, found {answer!r}")
        first, last = places[0], places[-1]
    rows = np.zeros(len(tokens), np.bool_)
    rows[[first, last]] = True
    text = "".join(prompt.texts[first : last + 1]).strip()
    targets = np.array([first, last], np.int64)
    pieces = [tokens.pieces[first], tokens.pieces[last]]
    return AskedPrompt(model, prompt, ready, "span", rows, targets, pieces, [text, ""], answer is None)
