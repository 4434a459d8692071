"""What attention between the sentences of a long text takes: time and memory, beside the model's plain pass.

    python benchmarks/sentences.py [--tokens 8192] [--layers 8] [--heads 8]

A random Llama reads one text of sentences of 24 words. Prints the seconds of a plain forward pass and of
`headscope.sentences`, their ratio, the most memory above that of the plain pass, and what the map of all tokens of one
layer would take.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

import headscope as hs

WORDS = 200


def peak() -> float:
    """The most memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--heads", type=int, default=8)
    asked = parser.parse_args()
    torch.manual_seed(0)
    names = [f"w{number}" for number in range(WORDS)] + ["."]
    made = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="."))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    config = transformers.LlamaConfig(
        vocab_size=len(names),
        hidden_size=16 * asked.heads,
        intermediate_size=64,
        num_hidden_layers=asked.layers,
        num_attention_heads=asked.heads,
        num_key_value_heads=max(1, asked.heads // 2),
        max_position_embeddings=asked.tokens,
    )
    reader = transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token=".")
    model = hs.load((transformers.LlamaForCausalLM(config), reader))
    words = np.random.default_rng(0).choice(names[:-1], (asked.tokens // 25, 24))
    text = " ".join(f"{' '.join(each)} ." for each in words)
    ready = model.inputs([model.encode(text)])
    start = time.perf_counter()
    with torch.no_grad():
        model.module(**ready)
    plain, before = time.perf_counter() - start, peak()
    start = time.perf_counter()
    found = hs.sentences(model, text)
    took = time.perf_counter() - start
    tokens = len(model.encode(text))
    whole = asked.heads * tokens**2 * 4 / 2**20
    print(
        f"{tokens:,} tokens, {found.sizes['sentence']} sentences, {asked.layers} x {asked.heads} heads: plain pass "
        f"{plain:.1f} s, sentences {took:.1f} s ({took / plain:.1f} x), {peak() - before:,.0f} MB more; one layer's "
        f"map of tokens would be {whole:,.0f} MB"
    )


if __name__ == "__main__":
    main()
