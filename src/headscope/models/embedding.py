"""The vector that an index has of a text: what stands behind the transformer in a model of sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from headscope.core.lazy import module
from headscope.core.tokens import Tokens
from headscope.errors import ModelError, RefusedError
from headscope.models import encode
from headscope.models.model import Model, expect_text_alone

Similarity = Literal["cosine", "dot", "euclidean", "manhattan"]
"""How near two vectors are; of distances, less 0 is nearer."""

Features = dict[str, Any]
"""What each step reads and writes: ``token_embeddings``, ``attention_mask``, ``sentence_embedding``."""

Step = Callable[[Features], Features]

_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Ways to make one vector of all tokens, by their older names, in the order in which they are joined."""

_TRANSFORMER = ("Transformer", "MLMTransformer")


@dataclass(frozen=True, eq=False)
class Embedder:
    """How a text becomes a vector.

    Attributes:
        model: that reads it.
        steps: what is made of the last hidden states, one after the other.
        about: the steps in words.
        prompts: texts that stand before a text, by name.
        prompt: the name of the one that stands there by default.
        similarity: how near two vectors are.
        most: tokens that are read; what stands behind them is not.
        pools_prompt: whether the prompt's tokens are pooled.
    """

    model: Model
    steps: Sequence[Step]
    about: str
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    prompt: str | None = None
    similarity: Similarity = "cosine"
    most: int | None = None
    pools_prompt: bool = True

    def before(self, prompt: str | None) -> str:
        """The text of a prompt that is given, or named; of None the one that stands there by default."""
        return self.prompts.get(self.prompt or "", "") if prompt is None else self.prompts.get(prompt, prompt)

    def read(self, text: str, before: str = "") -> Tokens:
        """The tokens of a text behind its prompt, up to as many as are read."""
        tokens = encode.encode(self.model.tokenizer, before + text)
        if self.most is None or len(tokens) <= self.most:
            return tokens
        special = tokens.special
        tail = len(tokens) - 1 - max(place for place, one in enumerate(special) if not one)
        return tokens.take([*range(self.most - tail), *range(len(tokens) - tail, len(tokens))])  # pyright: ignore[reportArgumentType]

    def pooled(self, output: Any, mask: Tensor, prompt: int = 0) -> Tensor:
        """The vectors of a batch, of what its transformer returned."""
        features: Features = {
            "token_embeddings": output.last_hidden_state,
            "all_layer_embeddings": output.hidden_states,
            "attention_mask": mask,
            **({} if self.pools_prompt or not prompt else {"prompt_length": prompt}),
        }
        for step in self.steps:
            features = step(features)
        return features["sentence_embedding"]

    def near(self, a: Tensor, b: Tensor) -> Tensor:
        """How near vectors are, ``[a b]``."""
        match self.similarity:
            case "cosine":
                return functional.normalize(a, dim=-1) @ functional.normalize(b, dim=-1).mT
            case "dot":
                return a @ b.mT
            case _:
                return -torch.cdist(a, b, p=2.0 if self.similarity == "euclidean" else 1.0)


def embedder(model: Model) -> Embedder:
    """How a model makes a vector of a text, as sentence-transformers' object or files say; else by the mean.

    Raises:
        RefusedError: a model that reads no texts, or has a step that only sentence-transformers itself can take.
        ModelError: its files cannot be read.
    """
    if model.tokenizer is None:
        raise RefusedError(f"{model.name}: expected a model that reads texts, found one without a tokenizer")
    expect_text_alone(model)
    if model.sentences is not None:
        return _of_object(model, model.sentences)
    listed = _json(model, "modules.json")
    if listed is None:
        return Embedder(
            model,
            [_pooling({"pooling_mode": "mean"})],
            "the mean of the last hidden states, as no file says how",
        )
    steps: list[Step] = []
    about: list[str] = []
    pools_prompt = True
    for one in listed:
        kind, path = str(one["type"]).rpartition(".")[2], str(one["path"])
        if kind in _TRANSFORMER:
            continue
        config: dict[str, Any] = _json(model, "config.json", path) or {}
        if kind == "Pooling":
            steps.append(_pooling(config))
            about.append(" and ".join(_modes(config)))
            pools_prompt = config.get("include_prompt", True)
        elif kind == "Dense":
            steps.append(_dense(model, path, config))
            about.append(f"{config['out_features']} dense")
        elif kind == "Normalize":
            steps.append(_normalize)
            about.append("normalised")
        else:
            raise RefusedError(
                f"{model.name}: a step {kind} stands behind its transformer, which sentence-transformers takes: "
                "give hs.load(SentenceTransformer(…))"
            )
    first = next((str(one["path"]) for one in listed if str(one["type"]).endswith(_TRANSFORMER)), "")
    names = ("sentence_bert_config.json", "sentence_roberta_config.json", "sentence_xlnet_config.json")
    none: dict[str, Any] = {}
    read: dict[str, Any] = next((config for name in names if (config := _json(model, name, first))), none)
    settings: dict[str, Any] = _json(model, "config_sentence_transformers.json") or none
    return _made(model, steps, about, settings, read.get("max_seq_length"), pools_prompt)


def _of_object(model: Model, sentences: Any) -> Embedder:
    steps = [part for part in sentences if not type(part).__name__.endswith(_TRANSFORMER)]
    pools_prompt = all(getattr(part, "include_prompt", True) for part in steps)
    settings = {
        "prompts": sentences.prompts,
        "default_prompt_name": sentences.default_prompt_name,
        "similarity_fn_name": sentences.similarity_fn_name,
    }
    about = [type(part).__name__ for part in steps]
    return _made(model, steps, about, settings, sentences.max_seq_length, pools_prompt)


def _made(
    model: Model,
    steps: Sequence[Step],
    about: Sequence[str],
    settings: Mapping[str, Any],
    most: Any,
    pools_prompt: bool,
) -> Embedder:
    similarity = settings.get("similarity_fn_name") or "cosine"
    if similarity not in get_args(Similarity):
        raise ModelError(
            f"{model.name}: expected a similarity of {', '.join(get_args(Similarity))}, found {similarity!r}"
        )
    prompts: dict[str, str | None] = settings.get("prompts") or {}
    limits = [limit for limit in (most, model.max_length) if isinstance(limit, int)]
    return Embedder(
        model,
        steps,
        ", then ".join(about),
        {name: text or "" for name, text in prompts.items()},
        settings.get("default_prompt_name"),
        similarity,
        min(limits, default=None),
        pools_prompt,
    )


def _json(model: Model, name: str, folder: str = "") -> Any:
    """A file of a model's folder or repository, None where it is not there."""
    where = str(getattr(model.config, "_name_or_path", "") or "")
    if not where:
        return None
    path = _file(where, name, folder, getattr(model.config, "_commit_hash", None))
    if path is None:
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{path}: expected JSON, found none ({error})") from None


def _file(where: str, name: str, folder: str, revision: str | None) -> Path | None:
    if Path(where).is_dir():
        path = Path(where, folder, name)
        return path if path.is_file() else None
    file = module("transformers.utils").cached_file(
        where,
        name,
        subfolder=folder,
        revision=revision,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
        _raise_exceptions_for_gated_repo=False,
    )
    return None if file is None else Path(file)


def _modes(config: Mapping[str, Any]) -> list[str]:
    given = (
        config.get("pooling_mode") or [mode for name, mode in _MODES.items() if config.get(name)] or ["mean"]
    )
    return [given] if isinstance(given, str) else list(given)


def _pooling(config: Mapping[str, Any]) -> Step:
    """One vector of all tokens that are seen."""
    modes = _modes(config)
    for mode in modes:
        if mode not in _MODES.values():
            raise ModelError(f"pooling: expected {', '.join(_MODES.values())}, found {mode!r}")

    def pool(features: Features) -> Features:
        states, seen = features["token_embeddings"], features["attention_mask"]
        places = torch.arange(1, seen.shape[1] + 1, device=seen.device) * torch.ones_like(seen)
        if prompt := features.get("prompt_length"):
            seen = seen * (places > prompt)
        weights = seen[..., None].to(states)
        total, by_place = weights.sum(1).clamp(min=1e-9), weights * places[..., None]
        row = torch.arange(len(seen), device=seen.device)
        ways: dict[str, Callable[[], Tensor]] = {
            "cls": lambda: states[row, (seen > 0).int().argmax(1)],
            "max": lambda: states.masked_fill(weights == 0, -torch.inf).amax(1),
            "mean": lambda: (states * weights).sum(1) / total,
            "mean_sqrt_len_tokens": lambda: (states * weights).sum(1) / total.sqrt(),
            "weightedmean": lambda: (states * by_place).sum(1) / by_place.sum(1).clamp(min=1e-9),
            "lasttoken": lambda: states[row, (places * seen).argmax(1)],
        }
        return {**features, "sentence_embedding": torch.cat([ways[mode]() for mode in modes], -1)}

    return pool


def _dense(model: Model, path: str, config: Mapping[str, Any]) -> Step:
    """A linear map of the vector, and an activation of torch's."""
    where, revision = str(model.config._name_or_path), getattr(model.config, "_commit_hash", None)
    file = _file(where, "model.safetensors", path, revision)
    if file is None:
        raise ModelError(f"{model.name}: expected {path}/model.safetensors, found none")
    weights = module("safetensors.torch").load_file(str(file))
    name = str(config.get("activation_function", "torch.nn.modules.activation.Tanh"))
    activation = getattr(nn, name.rpartition(".")[2], None) if name.startswith("torch.nn.") else None
    if (
        activation is None
        or config.get("use_residual")
        or config.get("module_input_name", _VECTOR) != _VECTOR
    ):
        raise RefusedError(
            f"{model.name}: expected a dense layer of the whole vector with an activation of torch.nn, found {config}"
        )
    weight, bias = (
        None if part is None else part.to(model.device)
        for part in (weights["linear.weight"], weights.get("linear.bias"))
    )

    def project(features: Features) -> Features:
        vector = features[_VECTOR]
        made = functional.linear(
            vector, cast("Tensor", weight).to(vector), None if bias is None else bias.to(vector)
        )
        return {**features, _VECTOR: activation()(made)}

    return project


_VECTOR = "sentence_embedding"


def _normalize(features: Features) -> Features:
    return {**features, _VECTOR: functional.normalize(features[_VECTOR], dim=-1)}
