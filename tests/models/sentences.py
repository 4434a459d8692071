"""Vectors of sentence-transformers' own, for the tests: ten kinds of models, saved, and what `encode` makes of texts.

python sentences.py FOLDER     with sentence-transformers on the path: writes models and FOLDER/vectors.npz
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

import headscope as hs
from headscope.analyses.similar.reader import TextReader
from tests.helpers.small_models import save_bert, save_llama
from tests.helpers.small_tokenizers import demo, roberta

TEXTS = ["The invoice was paid three weeks late.", "Payment of the bill was delayed.", "Who?"]
MODES = ("mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


def kinds(folder: Path) -> dict[str, SentenceTransformer]:
    """Models by name, each with what stands behind its transformer."""
    save_bert(folder / "bert", demo(), vocab_size=len(demo()))
    save_llama(folder / "llama", hidden_size=32, intermediate_size=48, num_hidden_layers=2)
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    config = transformers.RobertaConfig(
        vocab_size=len(roberta()), max_position_embeddings=200, pad_token_id=1, **size
    )
    transformers.RobertaModel(config).save_pretrained(folder / "roberta")
    roberta().save_pretrained(folder / "roberta")

    def made(name: str, *behind: object, **more: object) -> SentenceTransformer:
        read = Transformer(str(folder / name), max_seq_length=64)
        if name == "llama":
            read.tokenizer.pad_token, read.tokenizer.padding_side = read.tokenizer.eos_token, "left"
        return SentenceTransformer(modules=[read, *behind], device="cpu", **more)

    some = {mode: made("bert", Pooling(32, mode)) for mode in MODES[:-1]}
    some["mean"] = made("bert", Pooling(32, "mean"), Normalize())
    some["dense"] = made("roberta", Pooling(32, ("cls", "mean")), Dense(64, 8), similarity_fn_name="dot")
    some["lasttoken"] = made("llama", Pooling(32, "lasttoken"), Normalize())
    some["left"] = made("llama", Pooling(32, "weightedmean"), similarity_fn_name="euclidean")
    prompts = {"query": "search for this: ", "passage": "read this: "}
    some["prompts"] = made("bert", Pooling(32, "mean"), prompts=prompts, default_prompt_name="query")
    some["instructed"] = made(
        "bert", Pooling(32, "mean", include_prompt=False), prompts=prompts, default_prompt_name="passage"
    )
    return some


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    vectors: dict[str, np.ndarray] = {}
    for name, model in kinds(folder).items():
        model.save(str(folder / name))
        vectors[name] = model.encode(TEXTS)
        reader = TextReader(hs.load(model), "token", None, None, 2)
        plain = [
            (one, np.zeros(len(one), np.bool_)) for one in (reader.text(text, "a").tokens for text in TEXTS)
        ]
        vectors[f"{name}-object"] = reader.without(plain).numpy()
        prompt = model.prompts.get(model.default_prompt_name or "", "")
        ready = model.preprocess([prompt + TEXTS[0]])
        length = len(model.tokenizer(prompt)["input_ids"]) - 1 if prompt else 0  # [CLS] with it, [SEP] not
        for place in (3, 5):  # a token that no other sees, and that is not pooled
            hidden = {key: value.clone() for key, value in ready.items() if isinstance(value, torch.Tensor)}
            hidden["attention_mask"][0, place] = 0
            with torch.no_grad():
                features = model.eval()({**hidden, "prompt_length": length})
            vectors[f"{name}-{place}"] = features["sentence_embedding"].numpy()
    np.savez(folder / "vectors.npz", **vectors)
