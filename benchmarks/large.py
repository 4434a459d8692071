"""How much memory a large model takes beyond its weights: check, measure and report, each in a process of its own.

    python benchmarks/large.py                        TinyLlama's sizes (1.1 B weights) in bfloat16, with random weights
    python benchmarks/large.py --layers 2             a smaller one
    python benchmarks/large.py --keep FOLDER          write the model there, and find it there the next time
    python benchmarks/large.py --only measure

Printed is the peak of each process (ru_maxrss), beside the size of the weights; the target is at most 1.3 times that.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

TARGET = 1.3
TEXTS = 20
SENTENCES = [
    "The old bridge was closed in winter, so they walked along the river until they found another one.",
    "She opened the letter, read it twice, and put it back on the table without a word.",
    "In 1912 the harbour was rebuilt; most of the money came from merchants of the town.",
    "Nobody knew who had left the door open, but the cat was gone in the morning.",
]
COMMANDS = {
    "check": ["check", "{model}"],
    "measure": ["measure", "{texts}", "-m", "{model}", "--limit", str(TEXTS), "-o", "{out}/figures.csv"],
    "report": [
        "report",
        "-m",
        "{model}",
        "--text",
        "{texts}",
        "--limit",
        str(TEXTS),
        "-o",
        "{out}/report.html",
    ],
}


def write_model(folder: Path, layers: int) -> None:
    """A Llama with random weights in bfloat16, one shard a layer or so, and a tokenizer of bytes and frequent pairs."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<unk>", "<s>", "</s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=32000, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(SENTENCES * 10, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    config = transformers.LlamaConfig(
        vocab_size=32000,
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=layers,
        num_attention_heads=32,
        num_key_value_heads=4,
        max_position_embeddings=2048,
    )
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def run(words: list[str], log: Path) -> tuple[int, int, float]:
    """The exit status of a command of headscope, its peak in bytes, and its seconds."""
    started = time.monotonic()
    with log.open("w") as file:
        pid = os.fork()
        if pid == 0:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            os.execv(sys.executable, [sys.executable, "-c", "from headscope.cli import main; main()", *words])
        _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, time.monotonic() - started


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--layers", type=int, default=22)
    options.add_argument("--keep", type=Path)
    options.add_argument("--only", choices=COMMANDS)
    options.add_argument("--device", help="as for headscope")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as made:
        out = Path(made)
        model = given.keep or out / "model"
        if not (model / "config.json").is_file():
            pid = os.fork()  # so that what writing it takes is not counted here
            if pid == 0:
                write_model(model, given.layers)
                os._exit(0)
            if os.waitpid(pid, 0)[1]:
                sys.exit("the model was not written")
        weights = sum(file.stat().st_size for file in model.glob("*.safetensors"))
        texts = out / "texts.txt"
        texts.write_text("\n\n".join(" ".join(SENTENCES[i % 4 :] + SENTENCES[: i % 4]) for i in range(TEXTS)))
        print(f"weights {weights / 1e9:.2f} GB; target {TARGET} times that")
        print("command   seconds   peak GB   times the weights")
        for name, words in COMMANDS.items():
            if given.only not in (None, name):
                continue
            filled = [word.format(model=model, texts=texts, out=out) for word in words]
            filled += ["--dtype", "bfloat16", *(["--device", given.device] if given.device else [])]
            status, peak, seconds = run(filled, out / "log.txt")
            print(f"{name:8} {seconds:8.0f} {peak / 1e9:9.2f} {peak / weights:9.2f}", flush=True)
            if status or os.environ.get("SHOW"):
                print((out / "log.txt").read_text()[-3000:])
        if (kept := os.environ.get("REPORT")) and (out / "report.html").is_file():
            shutil.copy(out / "report.html", kept)


if __name__ == "__main__":
    main()
