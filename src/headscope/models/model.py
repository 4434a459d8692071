"""A loaded model and its tokenizer."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from headscope.core.arrays import Bools
from headscope.core.audio import Audio
from headscope.core.failures import warn
from headscope.core.tokens import Tokens
from headscope.core.types import AnyMapping
from headscope.core.validation import Count, validated
from headscope.errors import InputError, RefusedError
from headscope.models import encode as _encode
from headscope.models import perceive
from headscope.models.pieces import expect_added, sample, unknown_ids
from headscope.models.rotary import grows, unscaled
from headscope.models.weights import main_device, packed
from headscope.models.within import advice, tuned, virtual_tokens


@dataclass(eq=False)
class Model:
    """A model in evaluation mode, with the tokenizer that feeds it, where there is one.

    Attributes:
        module: the `torch.nn.Module`; headscope leaves it as it found it.
        tokenizer: a Hugging Face tokenizer; None for models of pixels, frames or given ids.
        name: hub name, folder or class.
        revision: what is known of the exact weights: a hub revision, or a checksum.
        notes: what a reader of results should know, such as ``untrained, seed 0``.
        allow_unknown: run on text of which the tokenizer does not know more than a fifth of the pieces.
        checked: what the check on loading found (see `headscope.attention.check`); None before it ran.
        feature_extractor: of a model of sound: makes of samples what the module reads; None where there is none.
        image_processor: of a model of vision: makes of a picture what the module reads; None where there is none.
        processor: of a model of texts and pictures: makes of both what the module reads; None where there is none.
        sentences: the model of sentence-transformers that the module stands in; None where it stands in none.
        recipe: how it was loaded by name (`headscope.models.recipe.Recipe`); None for a module that was given.
    """

    module: nn.Module
    tokenizer: Any = None
    name: str = ""
    revision: str | None = None
    notes: Sequence[str] = ()
    allow_unknown: bool = False
    checked: Any = None
    feature_extractor: Any = None
    image_processor: Any = None
    processor: Any = None
    sentences: Any = None
    recipe: Any = None

    def __post_init__(self) -> None:
        if not self.name:
            self.name = str(getattr(self.config, "_name_or_path", "") or type(self.module).__name__)
            if Path(self.name).is_dir():
                self.name = Path(self.name).resolve().name
        if self.tokenizer is not None:
            expect_added(self.tokenizer)

    def __repr__(self) -> str:
        dtype = str(self.dtype).removeprefix("torch.")
        return f"Model({self.name!r}, {type(self.module).__name__}, {dtype}, {self.device})"

    @property
    def config(self) -> Any:
        """The model's configuration, or None for a module without one."""
        return getattr(self.module, "config", None)

    @property
    def text_config(self) -> Any:
        """The part of the configuration that is about text."""
        config = self.config
        return config.get_text_config() if hasattr(config, "get_text_config") else config

    @property
    def device(self) -> torch.device:
        """Where the weights are; of a model in several devices, where its inputs go."""
        return main_device(self.module)

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights."""
        return next(
            (p.dtype for p in self.module.parameters() if p.is_floating_point()), torch.get_default_dtype()
        )

    @property
    def parameters(self) -> int:
        """How many weights the model has."""
        return sum(parameter.numel() for parameter in self.module.parameters())

    @property
    def encoder_decoder(self) -> bool:
        """Whether the model has an encoder and a decoder that looks at it."""
        return bool(getattr(self.config, "is_encoder_decoder", False))

    @property
    def causal(self) -> bool:
        """Whether a token sees only itself and what stands before it (told on loading from the maps themselves)."""
        if self.checked is not None:
            return bool(self.checked.causal)
        name = type(self.module).__name__
        return name.endswith(("ForCausalLM", "LMHeadModel")) and not self.encoder_decoder

    @property
    def same_length(self) -> int:
        """The tokens of an input above which a batch has inputs of one length alone, as padding moves their attention.

        1 where it moves that of all (told on loading); 0 where it moves none.
        """
        return 1 if self.checked is not None and self.checked.same_length else unscaled(self.text_config)

    @property
    def unseen(self) -> str:
        """What of its layers has no attention map, in sentences (told on loading); empty where all has one."""
        return "" if self.checked is None else str(self.checked.unseen)

    @property
    def mixing(self) -> Mapping[str, str]:
        """By name the modules that mix tokens without attention, and what they are (told on loading)."""
        return {} if self.checked is None else self.checked.mixing

    @property
    def backbone(self) -> nn.Module:
        """What reads a text: the module without its head, or an encoder-decoder's encoder; the same maps for less."""
        if virtual_tokens(self.module):
            return self.module
        if self.encoder_decoder and hasattr(self.module, "get_encoder"):
            module: Any = self.module
            return module.get_encoder()
        base = getattr(self.module, "base_model", None)
        return base if isinstance(base, nn.Module) else self.module

    @property
    def reads(self) -> str:
        """What the module takes first: ``input_ids``, or ``pixel_values``, ``input_features`` and the like."""
        name = str(getattr(self.module, "main_input_name", "input_ids"))
        if name == "inputs":  # a pair whose encoder hears
            return str(getattr(self.backbone, "main_input_name", name))
        return name

    @property
    def embedding_rows(self) -> int | None:
        """How many ids the model has a row for; None for one that reads no ids."""
        for module in (self.backbone, self.module):
            find: Any = getattr(module, "get_input_embeddings", None)
            try:
                table: Any = find() if find is not None else None
            except (NotImplementedError, AttributeError):  # a module of several parts
                continue
            if isinstance(table, nn.Embedding):
                return table.num_embeddings
        return None

    @property
    def max_length(self) -> int | None:
        """The longest input in tokens; None where nothing states one."""
        config = self.text_config
        limits: list[int] = []
        for name in ("max_position_embeddings", "n_positions", "max_seq_len"):
            value = getattr(config, name, None)
            if isinstance(value, int) and value > 0:
                limits.append(value)
                break
        if limits and getattr(config, "model_type", "") in _OFFSET_POSITIONS:
            limits[0] -= (config.pad_token_id or 0) + 1
        stated = getattr(self.tokenizer, "model_max_length", None)
        if isinstance(stated, int) and 0 < stated < 10**9:
            limits.append(stated)
        if grows(config):  # what both state is where frequencies begin to grow
            limits = [limit for limit in limits if limit != config.max_position_embeddings]
        return min(limits) if limits else None

    @validated
    def encode(self, text: str, pair: str | None = None) -> Tokens:
        """Tokens of a text or a pair, as the model's tokenizer makes them.

        Raises `InputError` when the text is empty or longer than the model takes: nothing is cut silently.
        """
        return self._fits(_encode.encode(self._tokenizer(), text, pair))

    @validated
    def from_words(self, words: Sequence[str], pair_words: Sequence[str] | None = None) -> Tokens:
        """Tokens of a text that is split into words; `word_ids` index the words given."""
        return self._fits(_encode.from_words(self._tokenizer(), words, pair_words))

    @validated
    def encode_all(self, inputs: Sequence[Sequence[_encode.Text]]) -> list[Tokens | None]:
        """Tokens of inputs of one text or two, each a string or a list of words, read in one call; of any length.

        None for an input that `encode` or `from_words` refuses: asked alone, they say why.
        """
        return _encode.encode_all(self._tokenizer(), inputs)

    @validated
    def from_pieces(self, pieces: Sequence[str]) -> Tokens:
        """Tokens taken as they are. Raises `InputError` for a piece that the vocabulary does not have."""
        return self._fits(self._unpadded(_encode.from_pieces(self._tokenizer(), pieces)))

    @validated
    def from_ids(self, ids: Sequence[int], written: Sequence[int] = ()) -> Tokens:
        """Tokens of vocabulary ids taken as they are, such as a server logged; `written` after them is `generated`.

        Raises `InputError` for an id that the vocabulary does not have.
        """
        return self._fits(self._unpadded(_encode.from_ids(self._tokenizer(), ids, written)))

    @validated
    def chat(
        self, messages: Sequence[AnyMapping], *, add_generation_prompt: bool = False, **given: Any
    ) -> Tokens:
        """Tokens of a conversation by the tokenizer's chat template, with classes `system`, `user`, `assistant`.

        What else the template takes, such as ``tools``, is `given` to it.
        """
        prompt = {"add_generation_prompt": add_generation_prompt}
        return self._fits(_encode.chat(self._tokenizer(), list(messages), **prompt, **given))

    def padding(self, ids: np.ndarray) -> Bools:
        """Which ids at either end of an input are padding; none where that is another special token as well."""
        pad = getattr(self.tokenizer, "pad_token_id", None)
        pad = getattr(self.config, "pad_token_id", None) if self.tokenizer is None else pad
        others: set[Any] = set()
        for name in ("bos", "eos", "unk", "cls", "sep", "mask"):
            held = getattr(self.tokenizer or self.config, f"{name}_token_id", None)
            others.update(cast("list[Any]", held) if isinstance(held, list) else [held])
        if pad is None or pad in others:
            return np.zeros(len(ids), np.bool_)
        real = ids != pad
        return ~(np.logical_or.accumulate(real) & np.logical_or.accumulate(real[::-1])[::-1])

    def _unpadded(self, tokens: Tokens) -> Tokens:
        """Tokens as they are given. Warns of padding among them."""
        assert tokens.ids is not None
        if (there := self.padding(tokens.ids)).any():
            piece = tokens.pieces[int(there.argmax())]
            warn(
                f"{self.name}: tokens begin or end in padding ({piece!r}), which is attended to; leave it out",
                3,
            )
        return tokens

    @property
    def hears(self) -> tuple[int, float] | None:
        """How many samples in a second a model of sound hears, and how many seconds at once; None for others."""
        return perceive.hears(self)

    def see(self, image: Any, text: str | None = None) -> Tokens:
        """Tokens of a picture, or of a text with a picture in it, as the model's processor makes them."""
        tokens = perceive.see(self, image, text)
        return tokens if tokens.ids is None else self._fits(tokens)

    def hear(self, audio: Audio) -> Tokens:
        """Tokens of a sound: the frames that the model's encoder makes of it."""
        return perceive.hear(self, audio)

    def sample(self) -> str:
        """A short text of which the tokenizer makes a piece or more, whatever it reads."""
        return sample(self._tokenizer())

    @validated
    def count(self, texts: Sequence[str]) -> list[int]:
        """How many pieces each text has, without special tokens."""
        return _encode.count(self._tokenizer(), texts)

    @validated
    def split(self, text: str, size: Count) -> list[str]:
        """Parts of a text of at most `size` pieces each."""
        return _encode.split(self._tokenizer(), text, size)

    def unknown(self, tokens: Tokens) -> tuple[int, int]:
        """How many pieces of an input the tokenizer does not know, and how many there are, special tokens left out."""
        kept = ~tokens.special
        if tokens.ids is None or self.tokenizer is None:
            return 0, len(tokens.ids[kept]) if tokens.ids is not None else len(tokens)
        ids = tokens.ids[kept]
        return sum(int((ids == number).sum()) for number in unknown_ids(self.tokenizer)), len(ids)

    def inputs(self, batch: Sequence[Tokens], *, token_types: bool = True) -> dict[str, Tensor]:
        """What the module takes for some inputs: ids ``[batch token]``, padded on the right, and their mask; of
        pictures and sounds what its processor makes of them.

        `token_types=False` sets all token types to 0, as the released code of Clark et al. 2019 does. Raises
        `InputError` for inputs of several lengths where padding would move the attention (`same_length`), and for a
        piece that the model's embedding has no row for.
        """
        if batch and perceive.perceived(batch[0]):
            return perceive.inputs(self, batch)
        self._expect_rows(batch)
        longest = max(map(len, batch), default=0)
        if 0 < self.same_length < longest and len({len(tokens) for tokens in batch}) > 1:
            raise InputError(
                f"{self.name}: expected inputs of one length in a batch, as padding moves its attention; found lengths "
                f"from {min(map(len, batch))} to {longest}"
            )
        arrays = _encode.collate(batch, getattr(self.tokenizer, "pad_token_id", None) or 0)
        if "token_type_ids" in arrays and not token_types:
            arrays["token_type_ids"] = arrays["token_type_ids"] * 0
        device = self.device
        ready = {name: torch.as_tensor(array).to(device) for name, array in arrays.items()}
        expect_ids(self, ready)
        return self._named(ready)

    def _named(self, ready: dict[str, Tensor]) -> dict[str, Tensor]:
        """What the module's `forward` names of these. Raises `RefusedError` where it needs something else."""
        takes = inspect.signature(self.module.forward).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes):
            return ready
        wanted = [parameter.name for parameter in takes if parameter.kind is not parameter.VAR_POSITIONAL]
        needed = [
            parameter.name
            for parameter in takes
            if parameter.name in wanted and parameter.default is parameter.empty
        ]
        if "input_ids" not in wanted or set(needed) - set(ready):
            named = ", ".join(f"{name!r}: …" for name in needed or wanted)
            instead = f"found one that takes {', '.join(wanted)}" if wanted else "found none"
            ways = [f"hs.load(model, inputs={{{named}}}), which is checked on these"] if wanted else []
            ways += [way] if (way := advice(self.module)) else []
            raise RefusedError(
                f"{self.name}: expected a forward that takes {', '.join(ready)}, {instead}: give {', or '.join(ways)}"
            )
        return {name: tensor for name, tensor in ready.items() if name in wanted}

    def _expect_rows(self, batch: Sequence[Tokens]) -> None:
        rows = self.embedding_rows
        for tokens in batch:
            if rows is not None and tokens.ids is not None and (tokens.ids >= rows).any():
                place = int(tokens.ids.argmax())
                raise IdsError(
                    f"{self.name}: expected ids below {rows:,}, the rows of the model's embedding, found "
                    f"{tokens.ids[place]:,} ({tokens.pieces[place]!r})"
                )

    def _tokenizer(self) -> Any:
        if self.tokenizer is None:
            raise InputError(
                f"{self.name}: no tokenizer, so no text: "
                "give hs.load((module, tokenizer)), or inputs={...} to capture"
            )
        return self.tokenizer

    def _fits(self, tokens: Tokens) -> Tokens:
        most = self.max_length
        if most is not None and len(tokens) > most:
            raise InputError(
                f"text: {len(tokens)} tokens, but {self.name} takes at most {most}; give a shorter text, "
                "or measure it as a corpus, which splits it"
            )
        return tokens


def uncached(module: nn.Module) -> dict[str, bool]:
    """What tells a module not to keep keys and values for later, where it would: by name, or among what it passes on
    (GraniteMoe)."""
    takes = inspect.signature(module.forward).parameters
    passes_on = any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values())
    return {"use_cache": False} if "use_cache" in takes or (passes_on and "past_key_values" in takes) else {}


class IdsError(InputError):
    """Ids, or their mask, that a model cannot take."""


def expect_ids(model: Model, ready: Mapping[str, Tensor]) -> None:
    """Raise `IdsError` for ids that a module cannot look up, and for a mask of another shape than they have."""
    types = getattr(model.text_config, "type_vocab_size", None)
    for name, size in {
        "input_ids": model.embedding_rows,
        "token_type_ids": types,
        "decoder_input_ids": None,
    }.items():
        ids = ready.get(name)
        if ids is None:
            continue
        if ids.is_floating_point() or ids.dtype == torch.bool or not ids.numel():
            kind = str(ids.dtype).removeprefix("torch.")
            raise IdsError(
                f"{name}: expected whole numbers [batch token], at least one, found {kind} {tuple(ids.shape)}"
            )
        most = size - 1 if isinstance(size, int) else sys.maxsize
        wrong = ids[(ids < 0) | (ids > most)]
        if len(wrong):
            raise IdsError(f"{name}: expected from 0 to {most}, as {model.name} has, found {int(wrong[0])}")
        mask = ready.get(name.replace("input_ids", "attention_mask"))
        if mask is not None and mask is not ids and mask.ndim == ids.ndim == 2 and mask.shape != ids.shape:
            raise IdsError(
                f"attention_mask: expected the shape {tuple(ids.shape)} of {name}, found {tuple(mask.shape)}"
            )


def expect_attention(model: Model) -> None:
    """Raise `RefusedError` for a model that does not attend, of which implicit maps alone can be had."""
    if model.checked is not None and not model.checked.parts:
        raise RefusedError(
            f"{model.name}: expected a model that attends, found mixers that do not: headscope.capture, view and "
            "measure take their implicit maps (implicit=True, --implicit)"
        )


def expect_text_alone(model: Model) -> None:
    """Raise `RefusedError` for a model that reads virtual tokens before its texts."""
    if count := virtual_tokens(model.module):
        raise RefusedError(
            f"{model.name}: expected a model that reads a text alone, found {count} virtual tokens before it, of "
            f"{tuned(model.module)}; headscope.capture, view and generate have them on their axes"
        )


def expect_exact(model: Model) -> None:
    """Raise `RefusedError` for weights that round what they map: of half precision, or those of bitsandbytes.

    And for a model that reads more than its text (`expect_text_alone`).
    """
    expect_text_alone(model)
    if model.dtype.itemsize < 4:
        raise RefusedError(
            f"{model.name}: expected weights in float32 or float64, found {model.dtype}; load it so"
        )
    if packed(model.module) == "bitsandbytes":
        raise RefusedError(
            f"{model.name}: expected weights that map exactly, found those of bitsandbytes, which round what they map; "
            "load it with plain weights"
        )


_OFFSET_POSITIONS = (
    "roberta",
    "xlm-roberta",
    "xlm-roberta-xl",
    "camembert",
    "longformer",
    "mpnet",
    "data2vec-text",
    "esm",
)
"""Families whose positions begin after the padding id, so that two of their position embeddings are never used."""
