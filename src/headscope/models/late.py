"""Late interaction: texts whose tokens have a vector each, as sentence-transformers, PyLate and ColBERT write them."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import torch

from headscope.core.lazy import module

Task = Literal["query", "document"]
"""What a text is to a model that reads the two otherwise."""


def of_pylate(tokenizer: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What PyLate says, as sentence-transformers says it. Its prompts are one token each: the tokenizer learns that."""
    prompts: dict[str, str] = dict(settings.get("prompts") or {})
    for task in get_args(Task):
        mark: str = settings.get(f"{task}_prefix") or ""
        prompts[task] = mark + (prompts.get(task) or "").removeprefix(mark)
        known = [token for token in (mark, mark.strip()) if token in tokenizer.get_vocab()][:1]
        tokens = [module("tokenizers").AddedToken(one, normalized=False, special=True) for one in known]
        tokenizer.add_special_tokens({"additional_special_tokens": tokens})
    expansion = {
        "strategy": "fixed",
        "length": settings.get("query_length") or 32,
        "attend": bool(settings.get("attend_to_expansion_tokens")),
    }
    return {
        "skiplist_words": [*string.punctuation],
        "query_expansion": None if settings.get("do_query_expansion") is False else expansion,
        **settings,
        "prompts": prompts,
        "similarity_fn_name": "maxsim",
        "module_input_name": "token_embeddings",
    }


def lengths(tokenizer: Any, settings: Mapping[str, Any], task: Task, most: int | None) -> dict[str, Any]:
    """How many tokens of a text are read at `most`, and which token fills a query up."""
    most = settings.get(f"{task}_length") or most
    if task == "document" or not (expansion := settings.get("query_expansion")):
        return {"most": most}
    length: int = expansion["length"]
    token = expansion.get("token") or tokenizer.mask_token or tokenizer.eos_token
    return {
        "most": length if expansion["strategy"] == "fixed" else most and max(most, length),
        "filler": tokenizer.convert_tokens_to_ids(token),
        "filled": length,
        "attended": expansion.get("attend", False),
    }


def counted(
    tokenizer: Any, config: Mapping[str, Any], task: Task
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A step after which no token counts of those that are skipped."""
    words = config.get("skiplist_words") if task in (config.get("skiplist_tasks") or ["document"]) else None
    ids: list[int] = [tokenizer.convert_tokens_to_ids(word) for word in words or ()]
    skipped = torch.tensor([one for one in ids if one != tokenizer.unk_token_id])

    def count(features: dict[str, Any]) -> dict[str, Any]:
        ids = features["input_ids"]
        return {**features, "attention_mask": features["attention_mask"] * ~torch.isin(ids, skipped.to(ids))}

    return count
