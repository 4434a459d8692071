"""The vector that an index has of a text: what stands behind the transformer in a model of sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from headscope.core.lazy import module
from headscope.core.tokens import Tokens
from headscope.errors import ModelError, RefusedError
from headscope.models import encode, late
from headscope.models.model import Model, expect_text_alone
from headscope.models.pieces import shown_pieces

Similarity = Literal["cosine", "dot", "euclidean", "manhattan", "maxsim", "meanmaxsim", "score"]
"""How near two vectors are; of distances, less 0 is nearer. Of texts whose tokens have a vector each: the sum, or the
mean, of what each token of A has with the token of B that is nearest to it."""

SIMILARITIES: Mapping[Similarity, str] = {
    "cosine": "cosine",
    "dot": "dot product",
    "euclidean": "distance",
    "manhattan": "distance",
    "maxsim": "MaxSim",
    "meanmaxsim": "mean MaxSim",
    "score": "score",
}
"""What they are called."""

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

_VECTOR, _TOKENS = "sentence_embedding", "token_embeddings"

_LATE = ("maxsim", "meanmaxsim")

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
        filler, filled: the token that fills a text up, and to how many.
        attended: whether others see these.
    """

    model: Model
    steps: Sequence[Step]
    about: str
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    prompt: str | None = None
    similarity: Similarity = "cosine"
    most: int | None = None
    pools_prompt: bool = True
    filler: int = -1
    filled: int = 0
    attended: bool = True

    def __post_init__(self) -> None:
        if self.model.tokenizer is None:
            raise RefusedError(
                f"{self.model.name}: expected a model that reads texts, found one without a tokenizer"
            )
        expect_text_alone(self.model)

    @property
    def vectors(self) -> Literal["text", "token"] | None:
        """What has a vector; None: nothing, as two texts are read together."""
        return "token" if self.similarity in _LATE else None if self.similarity == "score" else "text"

    def before(self, prompt: str | None) -> str:
        """The text of a prompt that is given, or named; of None the one that stands there by default."""
        return self.prompts.get(self.prompt or "", "") if prompt is None else self.prompts.get(prompt, prompt)

    def read(self, text: str, before: str = "") -> Tokens:
        """The tokens of a text behind its prompt, up to as many as are read, filled up."""
        tokens = encode.encode(self.model.tokenizer, before + text)
        if self.most is not None and len(tokens) > self.most:
            special = tokens.special
            tail = len(tokens) - 1 - max(place for place, one in enumerate(special) if not one)
            tokens = tokens.take([*range(self.most - tail), *range(len(tokens) - tail, len(tokens))])  # pyright: ignore[reportArgumentType]
        missing = self.filled - len(tokens)
        pieces = shown_pieces(self.model.tokenizer, [self.filler]) * missing if missing > 0 else []
        return tokens.longer(pieces, self.filler, last=True)

    def pooled(self, output: Any, mask: Tensor, prompt: int = 0, ids: Tensor | None = None) -> Tensor:
        """The vectors of a batch, of what its transformer returned; those of tokens that do not count are NaN."""
        features: Features = {
            _TOKENS: output.last_hidden_state,
            "all_layer_embeddings": output.hidden_states,
            "attention_mask": mask,
            "input_ids": ids,
            **({} if self.pools_prompt or not prompt else {"prompt_length": prompt}),
        }
        for step in self.steps:
            features = step(features)
        if _VECTOR in features:
            return features[_VECTOR]
        return features[_TOKENS].masked_fill(features["attention_mask"][..., None] == 0, torch.nan)

    def near(self, a: Tensor, b: Tensor) -> Tensor:
        """How near vectors are, ``[a b]``."""
        match self.similarity:
            case "cosine":
                return functional.normalize(a, dim=-1) @ functional.normalize(b, dim=-1).mT
            case "dot":
                return a @ b.mT
            case "maxsim" | "meanmaxsim":
                return torch.stack([self._picked(one, b)[0].sum(-1) for one in a])
            case _:
                return -torch.cdist(a, b, p=2.0 if self.similarity == "euclidean" else 1.0)

    def _picked(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """What each token of A adds to how near some B are, and the token of these that it picks, ``[b token]``."""
        best, at = torch.einsum("qd,btd->bqt", a, b).nan_to_num(-torch.inf).max(-1)
        counts = ~a[:, 0].isnan()
        return best.where(counts, 0) / (counts.sum() if self.similarity == "meanmaxsim" else 1), at

    def terms(self, a: Tensor, b: Tensor) -> Tensor | None:
        """What each token of A and each of B add to how near these are, where that is a sum of such terms."""
        if a.ndim == 1:
            return None
        best, at = self._picked(a, b[None])
        return best.new_zeros(len(a), len(b)).scatter_(1, at[0, :, None], best[0, :, None])


def embedder(model: Model, task: late.Task = "query") -> Embedder:
    """How a model makes a vector of a text, as sentence-transformers' object or files say; else by the mean.

    Raises:
        RefusedError: a model that reads no texts, or has a step that only sentence-transformers itself can take.
        ModelError: its files cannot be read.
    """
    if model.sentences is not None:
        return _of_object(model, model.sentences, task)
    none: dict[str, Any] = {}
    settings: dict[str, Any] = _json(model, "config_sentence_transformers.json") or none
    if settings.get("model_type") == "ColBERT" or "HF_ColBERT" in (model.config.architectures or ()):
        raise RefusedError(
            f"{model.name}: written by PyLate or ColBERT, which sentence-transformers reads: give "
            "hs.load(MultiVectorEncoder(…))"
        )
    listed: list[dict[str, Any]] | None = _json(model, "modules.json")
    if listed is None:
        return Embedder(
            model,
            [_pooling({"pooling_mode": "mean"})],
            "the mean of the last hidden states, as no file says how",
            most=model.max_length,
        )
    first = next((str(one["path"]) for one in listed if str(one["type"]).endswith(_TRANSFORMER)), "")
    names = ("sentence_bert_config.json", "sentence_roberta_config.json", "sentence_xlnet_config.json")
    read: dict[str, Any] = next((config for name in names if (config := _json(model, name, first))), none)
    steps: list[Step] = []
    about: list[str] = []
    pools_prompt = True
    for one in listed:
        kind, path = str(one["type"]).rpartition(".")[2], str(one["path"])
        if kind in _TRANSFORMER:
            continue
        config: dict[str, Any] = {**settings, **(_json(model, "config.json", path) or none)}
        name: str = config.get("module_input_name", _VECTOR)
        if kind == "Pooling":
            steps.append(_pooling(config))
            about.append(" and ".join(_modes(config)))
            pools_prompt = config.get("include_prompt", True)
        elif kind == "Dense":
            steps.append(_dense(model, path, config, name))
            about.append("dense")
        elif kind == "Normalize":
            steps.append(partial(_normalize, name))
            about.append("normalised")
        elif kind == "MultiVectorMask" and not config.get("keep_only_token_ids"):
            steps.append(late.counted(model.tokenizer, config, task))
        else:
            raise RefusedError(
                f"{model.name}: a step {kind} stands behind its transformer, which sentence-transformers takes: "
                "give hs.load(SentenceTransformer(…))"
            )
    return _made(model, steps, about, settings, read, pools_prompt, task)


def _of_object(model: Model, sentences: Any, task: late.Task) -> Embedder:
    steps = [
        partial(part, task=task) if "task" in getattr(part, "forward_kwargs", ()) else part
        for part in sentences
        if not type(part).__name__.endswith(_TRANSFORMER)
    ]
    about = [type(part).__name__ for part in sentences][1:]
    if "SpladePooling" in about:
        raise RefusedError(f"{model.name}: expected a vector of hidden states, found SPLADE's of words")
    pools_prompt = all(getattr(part, "include_prompt", True) for part in sentences)
    names = ("query_length", "document_length", "query_expansion")
    read = {name: getattr(sentences[0], name, None) for name in names}
    read["max_seq_length"] = sentences.max_seq_length
    settings = {
        name: getattr(sentences, name) for name in ("prompts", "default_prompt_name", "similarity_fn_name")
    }
    return _made(model, steps, about, settings, read, pools_prompt, task)


def _made(
    model: Model,
    steps: Sequence[Step],
    about: Sequence[str],
    settings: Mapping[str, Any],
    read: Mapping[str, Any],
    pools_prompt: bool,
    task: late.Task,
) -> Embedder:
    similarity = settings.get("similarity_fn_name") or (
        "maxsim" if settings.get("model_type") == "MultiVectorEncoder" else "cosine"
    )
    if similarity not in SIMILARITIES:
        raise ModelError(
            f"{model.name}: expected a similarity of {', '.join(SIMILARITIES)}, found {similarity!r}"
        )
    prompts: dict[str, str | None] = settings.get("prompts") or {}
    prompt: str | None = settings.get("default_prompt_name")
    more: dict[str, Any] = {"most": read.get("max_seq_length")}
    if similarity in _LATE:
        prompt, more = task, late.lengths(model.tokenizer, read, task, more["most"])
        about = ["a vector a token (interactions are terms: they sum to the score)", *about]
    limits = [limit for limit in (more["most"], model.max_length) if isinstance(limit, int)]
    more["most"] = min(limits, default=None)
    return Embedder(
        model,
        steps,
        ", then ".join(about),
        {name: text or "" for name, text in prompts.items()},
        prompt,
        similarity,
        pools_prompt=pools_prompt,
        **more,
    )


def activation(model: Model) -> Callable[[Tensor], Tensor]:
    """What makes a score of the one number that a cross-encoder gives, as its object or files say."""
    if model.sentences is not None:
        return model.sentences.activation_fn
    written: dict[str, Any] = _json(model, "config_sentence_transformers.json") or {}
    written = {**written, **(getattr(model.config, "sentence_transformers", None) or {})}
    older = getattr(model.config, "sbert_ce_default_activation_function", None)
    name = str(written.get("activation_fn") or older or "torch.nn.Sigmoid")
    if (kind := _activation(name)) is None:
        raise RefusedError(f"{model.name}: expected an activation of torch.nn, found {name}")
    return kind()


def _activation(name: str) -> type[nn.Module] | None:
    return getattr(nn, name.rpartition(".")[2], None) if name.startswith("torch.nn.") else None


def _json(model: Model, name: str, folder: str = "") -> Any:
    """What a file of a model's folder or repository says, None where it is not there."""
    path = _file(model, name, folder)
    try:
        return None if path is None else json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{path}: expected JSON, found none ({error})") from None


def _file(model: Model, name: str, folder: str) -> Path | None:
    if not (where := str(getattr(model.config, "_name_or_path", "") or "")):
        return None
    file = module("transformers.utils").cached_file(
        where,
        name,
        subfolder=folder,
        revision=getattr(model.config, "_commit_hash", None),
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
        states, seen = features[_TOKENS], features["attention_mask"]
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
        return {**features, _VECTOR: torch.cat([ways[mode]() for mode in modes], -1)}

    return pool


def _dense(model: Model, path: str, config: Mapping[str, Any], of: str) -> Step:
    """A linear map of the vector, or of each token's, and an activation of torch's."""
    file = _file(model, "model.safetensors", path)
    if file is None:
        raise ModelError(f"{model.name}: expected {path}/model.safetensors, found none")
    weights = module("safetensors.torch").load_file(str(file))
    made_by = _activation(str(config.get("activation_function", "torch.nn.Tanh")))
    if made_by is None or config.get("use_residual") or config.get("module_output_name", of) != of:
        raise RefusedError(
            f"{model.name}: expected a dense layer with an activation of torch.nn, found {config}"
        )

    def project(features: Features) -> Features:
        weight, bias = (
            weights[name].to(features[of]) if name in weights else None
            for name in ("linear.weight", "linear.bias")
        )
        return {**features, of: made_by()(functional.linear(features[of], cast("Tensor", weight), bias))}

    return project


def _normalize(of: str, features: Features) -> Features:
    return {**features, of: functional.normalize(features[of], dim=-1)}
