"""Late interaction: texts whose tokens have a vector each, as sentence-transformers writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch

Task = Literal["query", "document"]
"""What a text is to a model that reads the two otherwise."""


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
