"""Vectors and scores of sentence-transformers' own, for the tests: kinds of models, saved, and what it makes of texts.

python sentences.py FOLDER     with sentence-transformers on the path: writes models and FOLDER/vectors.npz
"""

from __future__ import annotations

import json
import shutil
import string
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from sentence_transformers.sparse_encoder.modules import SpladePooling
from sentence_transformers.util.quantization import quantize_embeddings

import headscope as hs
from headscope.analyses.similar.reader import TextReader
from headscope.errors import RefusedError
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


def late(folder: Path) -> None:
    """Models whose tokens have a vector each: saved, and as PyLate and ColBERT itself write them."""
    for name, expansion, more in (
        ("late", {"strategy": "fixed", "attend": False, "length": 24}, {}),
        (
            "late mean",
            {"strategy": "min", "attend": True, "length": 12},
            {"similarity_fn_name": "meanmaxsim"},
        ),
    ):
        torch.manual_seed(0)
        read = Transformer(
            str(folder / "bert"), max_seq_length=64, query_expansion=expansion, document_length=10
        )
        one = "token_embeddings"
        modules = [
            read,
            Dense(32, 16, bias=False, activation_function=torch.nn.Identity(), module_input_name=one),
            MultiVectorMask(skiplist_words=[*string.punctuation]),
            Normalize(module_input_name=one),
        ]
        prompts = {"query": "search: ", "document": "read: "}
        MultiVectorEncoder(modules=modules, prompts=prompts, device="cpu", **more).save(str(folder / name))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "bert")
    tokenizer.add_tokens(["[Q] ", "[D] ", "[unused0]", "[unused1]"])
    bert = transformers.AutoModel.from_pretrained(folder / "bert")
    bert.resize_token_embeddings(len(tokenizer))
    pylate, colbert = folder / "PyLate", folder / "ColBERT"
    for path in (pylate, colbert):
        bert.save_pretrained(path)
        tokenizer.save_pretrained(path)
    shutil.copytree(folder / "late" / "1_Dense", pylate / "1_Dense")
    written = {
        pylate / "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
        ],
        pylate / "1_Dense" / "config.json": {
            "in_features": 32,
            "out_features": 16,
            "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
        },
        pylate / "sentence_bert_config.json": {"max_seq_length": 39, "do_lower_case": False},
        pylate / "config_sentence_transformers.json": {
            "model_type": "ColBERT",
            "prompts": {},
            "similarity_fn_name": "cosine",
            "query_prefix": "[Q] ",
            "document_prefix": "[D] ",
            "query_length": 20,
            "document_length": 10,
            "attend_to_expansion_tokens": False,
        },
        colbert / "config.json": {
            **json.loads((colbert / "config.json").read_text()),
            "architectures": ["HF_ColBERT"],
        },
        colbert / "artifact.metadata": {"query_maxlen": 16, "doc_maxlen": 9, "attend_to_mask_tokens": True},
    }
    for path, value in written.items():
        path.write_text(json.dumps(value))
    weights = {f"bert.{name}": part for name, part in load_file(pylate / "model.safetensors").items()}
    weights["linear.weight"] = load_file(pylate / "1_Dense" / "model.safetensors")["linear.weight"]
    save_file(weights, colbert / "model.safetensors", {"format": "pt"})


def crossed(folder: Path) -> dict[str, CrossEncoder]:
    """Models that read both texts together: by an object of which nothing else says how, and by what it writes."""
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    config = transformers.RobertaConfig(
        vocab_size=len(roberta()), max_position_embeddings=26, pad_token_id=1, num_labels=1, **size
    )
    module = transformers.RobertaForSequenceClassification(config)
    module.classifier.out_proj.weight.data *= 50
    tokenizer = roberta()
    tokenizer.model_max_length = 24
    for part in (module, tokenizer):
        part.save_pretrained(folder / "plain cross")
    place, identity = str(folder / "plain cross"), torch.nn.Identity()
    made = {
        "cross": CrossEncoder(place, device="cpu"),
        "cross logit": CrossEncoder(place, device="cpu", activation_fn=identity),
    }
    for name, model in made.items():
        model.save(str(folder / name))
    return {"plain cross": made["cross"], **made}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    vectors: dict[str, np.ndarray] = {}
    pairs = [(a, b) for a in TEXTS for b in TEXTS]

    def scores(given: object) -> np.ndarray:
        return hs.similar(hs.load(given), *map(list, zip(*pairs, strict=True)))["similarity"].values

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
    late(folder)
    for name in ("late", "late mean", "PyLate", "ColBERT"):
        model = MultiVectorEncoder(str(folder / name), device="cpu")
        vectors[name] = model.similarity(model.encode_query(TEXTS), model.encode_document(TEXTS)).numpy()
        vectors[f"{name}-object"] = scores(model)
    for name, model in crossed(folder).items():
        vectors[name] = model.predict(pairs)
        vectors[f"{name}-object"] = scores(model)
    splade = SparseEncoder(modules=[Transformer(str(folder / "bert")), SpladePooling()], device="cpu")
    try:
        hs.load(splade)
        scores(splade)
        vectors["SPLADE"] = np.array("")
    except RefusedError as error:
        vectors["SPLADE"] = np.array(str(error))
    drawn = np.random.default_rng(0).normal(size=(30, 16)).astype(np.float32)
    for precision in ("int8", "ubinary"):
        vectors[precision] = quantize_embeddings(drawn[1:], precision)
        calibrated = {} if precision == "ubinary" else {"calibration_embeddings": drawn[1:]}
        vectors[f"{precision}-query"] = quantize_embeddings(drawn[:1], precision, **calibrated)
    vectors["drawn"] = drawn
    np.savez(folder / "vectors.npz", **vectors)
