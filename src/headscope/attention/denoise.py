"""Attention while a picture is made of noise and a text, step by step: where each word's picture is."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from headscope.attention.check import check
from headscope.attention.generate import kept, written_texts
from headscope.attention.one import describe
from headscope.attention.parts import Parts, assemble, from_ids, group
from headscope.attention.record import AttentionRecord
from headscope.attention.recording import Hooks, recording
from headscope.attention.windows import LARGEST, placed
from headscope.core.arrays import Bools, Floats, Ints
from headscope.core.grid import Axis
from headscope.core.maps import AttentionMaps
from headscope.core.media import Picture
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict, AnyMapping
from headscope.core.validation import Number, Seed, validated
from headscope.errors import InputError, RefusedError
from headscope.models.denoisers import TEXT, Canvas, denoises
from headscope.models.model import Model
from headscope.models.weights import seeded

_CHECKED = 16
"""Rows and columns of the latents on which a denoiser is checked, where it runs on so few."""


@dataclass(frozen=True, eq=False)
class Denoised:
    """A picture that was made, and what its generator looked at as it made it.

    Attributes:
        picture: what was made.
        steps: which steps of denoising were seen, from 0.
        maps: of each of them: `AttentionMaps`, or `Parts` where a model attends on several axes (``cross 16 × 16``, …).
        text: the tokens of the prompt as the denoiser reads them.
        heats: ``[step token row column]``: what latents give each token of the text, the mean over layers and heads, on
            the finest grid that looks at the text.
    """

    picture: Picture
    steps: Sequence[int]
    maps: Sequence[AttentionMaps | Parts]
    text: Tokens
    heats: Floats

    @validated
    def heat(self, word: str) -> Floats:
        """Where on the picture a word is ``[row column]``: how much of their attention latents give it, the mean over
        steps, layers and heads.

        Source: DAAM (Tang et al. 2023), which takes the mean over a word's tokens in place of their sum.

        Raises `InputError` for a word that the prompt does not have.
        """
        return self.heats[:, _tokens_of(word, self.text)].sum(1).mean(0)


@validated
def denoise(
    pipe: Any,
    prompt: str,
    *,
    steps: Sequence[Number] | None = None,
    layers: Sequence[Number] | None = None,
    maps: bool = True,
    seed: Seed | None = None,
    **options: Any,
) -> Denoised:
    """Let a generator make a picture of a prompt, and see where it looked at each step.

    Its denoiser is checked first, on a part of its first input, as `headscope.load` checks a model. Of two passes in a
    step, or two rows in a pass (guidance), those of the prompt are shown. The axes have the classes ``text`` and
    ``latent``; a latent knows its place on the picture made.

    Args:
        pipe: a pipeline of diffusers for pictures, such as of Stable Diffusion, PixArt or FLUX.
        prompt: what the picture is of.
        steps: which steps to see; by default all. A step is a new value of the denoiser's ``timestep``.
        layers: whose maps are kept, by number, as `AttentionMaps.index` has them; by default all. The heat is of all.
        maps: keep maps; without them the heat of words alone, with memory linear in the size of the picture.
        seed: of the random numbers.
        options: for the pipeline, such as ``num_inference_steps`` and ``guidance_scale``.

    Raises:
        InputError: what is given is no such pipeline, or there is no such step.
        RefusedError: the denoiser does not pass the check, or its maps take more than 4 GB.

    >>> made = hs.denoise(pipe, "a red cat on a mat", num_inference_steps=2, seed=0)
    >>> made.steps, made.heat("cat").shape
    ([0, 1], (8, 8))
    """
    if refused := {"output_type", "return_dict", "num_images_per_prompt"} & options.keys():
        raise InputError(f"{refused.pop()}: expected none, as one picture is made")
    denoiser: Any = getattr(pipe, "transformer", None) or getattr(pipe, "unet", None)
    if not callable(pipe) or not isinstance(denoiser, nn.Module) or not denoises(denoiser):
        raise InputError(
            "pipe: expected a pipeline of diffusers whose transformer or unet takes encoder_hidden_states and "
            f"timestep, found {type(pipe).__name__}"
        )
    model = Model(denoiser)
    run = _Run(pipe, model, steps, layers, maps)
    read = _Prompt(pipe)
    with (
        torch.no_grad(),
        seeded(seed),
        run.watching(),
        run.encoding(),
        read.watching(),
        recording(denoiser, run.shown, fused=True),
    ):
        output: Any = pipe(prompt=prompt, output_type="np", **options)
    run.close()
    if steps is not None and (beyond := set(steps) - run.records.keys()):
        raise InputError(f"steps: expected from 0 to {run.step}, found {max(beyond)}")
    images = getattr(output, "images", None)
    if images is None or np.ndim(images[0]) != 3:
        raise RefusedError(
            f"{type(pipe).__name__}: expected one that makes a picture, found {type(output).__name__}"
        )
    picture = Picture((np.asarray(images[0])[..., :3] * 255).round().astype(np.uint8))
    assert run.canvas is not None
    text = read.text(run.canvas.text)
    meta = {**describe(model), "prompt": prompt}
    return Denoised(
        picture,
        sorted(run.records),
        [run.maps(step, text, picture, meta) for step in sorted(run.records) if maps],
        text,
        np.stack([run.heats[step] for step in sorted(run.records)]),
    )


class _Run:
    """The passes of a denoiser.

    Attributes:
        step: the one that runs.
        canvas: what its axes are of.
        records: the calls of each step that is seen, with their weights.
        heats: of each step that is seen ``[token row column]``.
    """

    def __init__(
        self, pipe: Any, model: Model, steps: Sequence[int] | None, layers: Sequence[int] | None, maps: bool
    ) -> None:
        self.step = -1
        self.canvas: Canvas | None = None
        self.records: dict[int, list[AttentionRecord]] = {}
        self.heats: dict[int, Floats] = {}
        self._pipe, self._model, self._steps, self._layers, self._maps = pipe, model, steps, layers, maps
        self._inputs: AnyDict = {}
        self._time: float | None = None
        self._checks = self._sees = False
        self._encoded: Any = None
        self._bytes = 0
        self._sums: dict[tuple[int, int], tuple[Tensor, int]] = {}

    def watching(self) -> Hooks:
        """Within it the denoiser's passes are counted."""
        hooks = Hooks()
        hooks.before(self._model.module, self._enters)
        return hooks

    @contextmanager
    def encoding(self) -> Generator[None]:
        """Within it the vectors of the prompt are kept, by which its row is told from that without it."""
        encode: Any = getattr(self._pipe, "encode_prompt", None)
        if encode is None:
            yield
            return

        def keeping(*args: Any, **kwargs: Any) -> Any:
            made = encode(*args, **kwargs)
            self._encoded = next(iter(made))
            return made

        self._pipe.encode_prompt = keeping
        try:
            yield
        finally:
            del self._pipe.encode_prompt

    def prompt_row(self) -> int:
        """Which row of a pass has the prompt: the first where that alone has its vectors (Lumina), else the last."""
        texts, mine = self._inputs[TEXT], self._encoded
        if not isinstance(mine, Tensor) or mine.shape[1:] != texts.shape[1:]:
            return len(texts) - 1
        same = [torch.equal(text.to(mine), mine[0]) for text in texts]
        return 0 if same == [True, False] else len(texts) - 1

    def _enters(self, module: nn.Module, args: tuple[Any, ...], kwargs: AnyDict) -> None:
        if self._checks:
            return
        given = signature(module.forward).bind(*args, **kwargs).arguments
        self._inputs = {name: value for name, value in given.items() if value is not None}
        if self.canvas is None:
            self._check()
        self.close()
        time = float(torch.as_tensor(self._inputs["timestep"]).flatten()[-1])
        if time == self._time:  # the other pass of this step
            return
        self.step, self._time = self.step + 1, time
        self._sees = self._steps is None or self.step in self._steps
        if self._sees:
            self.records[self.step] = []

    def _check(self) -> None:
        model, inputs = self._model, self._inputs
        self._checks = True
        try:
            model.checked = check(model, _fewer(inputs))
        except RefusedError:
            model.checked = check(model, inputs)
        self._checks = False
        self.canvas = Canvas.of(model.module, inputs, model.checked.text_first)
        if self.canvas is None:
            raise RefusedError(
                f"{model.name}: expected latents and a text [batch token state], found neither"
            )

    def shown(self, record: AttentionRecord) -> None:
        """Keep what is wanted of a call."""
        canvas = self.canvas
        if not self._sees or canvas is None:
            return
        rows = record.shape[0]
        if rows != len(self._inputs[TEXT]) or rows > 2:
            raise RefusedError(
                f"{record.module}: expected a row with the prompt, and one without it, found {rows} for "
                f"{len(self._inputs[TEXT])}"
            )
        record = _one_row(record, self.prompt_row())
        _, heads, queries, keys = record.shape
        if self._maps and (self._layers is None or record.layer in self._layers):
            self._bytes += 4 * heads * queries * keys
            self._expect_room(1)
            self.records[self.step].append(record := kept(record, slice(None)))
        if (sides := canvas.columns(queries, keys)) is not None:
            latents, text = sides
            columns = torch.cat([block[0, :, :, text].float().mean(0) for _, block in record.blocks()])[
                latents
            ]
            grid = canvas.grid(len(columns))
            assert grid is not None
            total, count = self._sums.get(grid, (0, 0))
            self._sums[grid] = total + columns.T.reshape(1, -1, *grid).double().cpu(), count + 1
        if record.given is not None:
            record.given = record.given.cpu()

    def close(self) -> None:
        """Put together what was seen of a step."""
        if not self._sees:
            return
        self._sees = False
        if not self._sums:
            raise RefusedError(f"{self._model.name}: expected latents that look at a text, found none")
        finest, calls = max(self._sums), sum(count for _, count in self._sums.values())
        heats = [
            functional.interpolate(total, finest, mode="bicubic").clamp(min=0)
            for total, _ in self._sums.values()
        ]
        self.heats[self.step] = (torch.stack(heats).sum((0, 1)) / calls).numpy()
        self._sums = {}
        if len(self.records) == 1:
            self._expect_room(
                getattr(self._pipe, "num_timesteps", 1) if self._steps is None else len(self._steps)
            )

    def maps(self, step: int, text: Tokens, picture: Picture, meta: AnyMapping) -> AttentionMaps | Parts:
        """The maps of a step."""
        canvas, module = self.canvas, self._model.module
        assert canvas is not None
        parts: dict[str, AttentionMaps] = {}
        for name, calls in group(placed(module, self.records[step], self._inputs, 1)).items():
            queries, keys = calls[0].shape[2:]
            query = canvas.axis(queries, text, picture)
            crosses = queries != keys or calls[0].kind == "cross"
            key = canvas.axis(keys, text, picture, key=True) if crosses else query
            parts[name] = assemble(calls, 0, query, key, meta={**meta, "step": step})
        return parts["self"] if list(parts) == ["self"] else Parts(parts)

    def _expect_room(self, steps: int) -> None:
        """Raise `RefusedError` where the maps of as many steps as were seen, times `steps`, are too large."""
        if (size := self._bytes * steps) > LARGEST:
            raise RefusedError(
                f"{self._model.name}: expected maps of at most {LARGEST / 1e9:.1f} GB, found {size / 1e9:,.1f} GB "
                "or more; give fewer steps or layers, or maps=False for the heat of words alone"
            )


class _Prompt:
    """What the encoders of a pipeline read of a prompt."""

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe
        self._ids: dict[str, Ints] = {}

    def watching(self) -> Hooks:
        """Within it what each encoder is given first is kept."""
        hooks = Hooks()
        for name in ("text_encoder", "text_encoder_2", "text_encoder_3"):
            if isinstance(encoder := getattr(self._pipe, name, None), nn.Module):
                hooks.before(encoder, partial(self._reads, name))
        return hooks

    def _reads(self, name: str, _: nn.Module, args: tuple[Any, ...], kwargs: AnyDict) -> None:
        ids: Any = kwargs.get("input_ids", args[0] if args else None)
        if isinstance(ids, Tensor) and ids.ndim == 2:
            self._ids.setdefault(name, ids[0].cpu().numpy().astype(np.int64))

    def text(self, count: int) -> Tokens:
        """The tokens of the prompt, of which the denoiser reads so many.

        An encoder may give one vector alone (FLUX's first), two may read the same (SDXL), one may stand behind another
        (SD3), and what is not there is empty.
        """
        read: dict[str, Tokens] = {}
        for name, ids in self._ids.items():
            kind = str(getattr(getattr(self._pipe, name).config, "model_type", name)).split("_")[0].upper()
            read[kind] = _tokens(getattr(self._pipe, name.replace("text_encoder", "tokenizer")), ids)
        for tokens in reversed(read.values()):
            if len(tokens) == count:
                return tokens
        last = [*read][-1:]
        if len(read) > 1 and sum(map(len, read.values())) == count:
            return Axis(read)
        if read and (rest := count - len(read[last[0]])) > 0:
            return Axis({**{name: read[name] for name in last}, "empty": rest})
        return Tokens([f"text[{number}]" for number in range(count)])


def _tokens(tokenizer: Any, ids: Ints) -> Tokens:
    """The tokens of a text, those that fill it up in the class ``padding``."""
    tokens = from_ids(ids, tokenizer)
    pad = tokenizer.pad_token_id
    real = next((place for place in range(len(ids), 0, -1) if ids[place - 1] != pad), 0)
    real = min(len(ids), real + (pad == tokenizer.eos_token_id))
    texts = written_texts(tokenizer, ids[:real].tolist(), 0) + [""] * (len(ids) - real)
    return replace(tokens, texts=texts).with_classes(padding=np.arange(len(ids)) >= real)


def _tokens_of(word: str, text: Tokens) -> Bools:
    """The tokens of a word, wherever it stands. Raises `InputError` where it does not."""
    parts = [
        "\n" if special else part
        for part, special in zip(text.texts or [""] * len(text), text.special, strict=True)
    ]
    ends, line = np.cumsum([0, *map(len, parts)]), "".join(parts)
    there = np.zeros(len(text), np.bool_)
    for match in re.finditer(rf"(?<!\w){re.escape(word.strip())}(?!\w)", line, re.IGNORECASE):
        there |= (ends[:-1] < match.end()) & (ends[1:] > match.start())
    if not there.any():
        raise InputError(f"word: expected one of {line.strip().partition(chr(10))[0]!r}, found {word!r}")
    return there


def _fewer(inputs: AnyMapping) -> AnyDict:
    """What a denoiser takes, with a corner of the latents, or the first of them."""
    fewer: AnyDict = dict(inputs)
    for name in ("sample", "hidden_states"):
        latents = inputs.get(name)
        if isinstance(latents, Tensor) and latents.ndim == 4:
            fewer[name] = latents[..., :_CHECKED, :_CHECKED]
        elif isinstance(latents, Tensor) and isinstance(ids := inputs.get("img_ids"), Tensor):
            fewer |= {name: latents[:, : _CHECKED**2], "img_ids": ids[..., : _CHECKED**2, :]}
    return fewer


def _one_row(record: AttentionRecord, place: int) -> AttentionRecord:
    """The call for one of a batch's rows."""
    row = slice(place, place + 1)
    mask, bias = (None if x is None else x[row] if x.ndim == 4 else x for x in (record.mask, record.bias))
    given = None if record.given is None else record.given[row]
    return replace(record, q=record.q[row], k=record.k[row], v=None, mask=mask, bias=bias, given=given)
