"""Words in time, by a small Whisper that learns a language of tones: which heads align, and how far off times are.

    python benchmarks/words_in_time.py [--steps 600] [--recordings 60]

A word is a tone of its own. Recordings of three to five words, with pauses between them, are drawn at random, so that
the time of each word is known. The model (2 × 4 heads of cross attention, 0.2 million weights) is trained to write the
words, never told when they are said. Heads are chosen on recordings that it has not heard, and scored on others. Takes
half a minute on one core.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import headscope as hs
from headscope.corpora import Example
from headscope.models.perceive import spoken

RATE, SECONDS = 16_000, 2
WORDS = ("ba", "de", "fi", "go", "hu", "ka", "le", "mi")
TONES = 300 * 1.35 ** np.arange(len(WORDS))
CONTROLS = ("<|startoftranscript|>", "<|endoftext|>")


def say(rng: np.random.Generator, number: int = 0) -> Example:
    """A recording of three to five words of 0.14 to 0.26 s, after pauses of 0.02 to 0.1 s."""
    words = rng.integers(len(WORDS), size=rng.integers(3, 6)).tolist()
    sound = np.zeros(SECONDS * RATE)
    times: list[tuple[float, float]] = []
    end = 0.0
    for word in words:
        begin = end + 0.02 * int(rng.integers(1, 6))
        end = begin + 0.02 * int(rng.integers(7, 14))
        first, after = round(begin * RATE), round(end * RATE)
        wave = np.sin(2 * np.pi * TONES[word] * np.arange(after - first) / RATE)
        sound[first:after] = 0.3 * wave * np.hanning(after - first) ** 0.3
        times.append((round(begin, 2), round(end, 2)))
    whole = round((end + 0.1) * RATE)
    samples = (sound[:whole] + rng.normal(0, 0.01, whole)).astype(np.float32)
    source = f"tones:{number}"
    return Example(
        words=[WORDS[word] for word in words],
        times=times,
        audio=(samples, RATE),
        document=number,
        source=source,
    )


def readers() -> tuple[Any, Any]:
    """A tokenizer of the words, ``<|startoftranscript|> a <|endoftext|>``, and Whisper's feature extractor."""
    every = {piece: id for id, piece in enumerate((*CONTROLS, "[UNK]", *WORDS))}
    made = Tokenizer(models.WordLevel(every, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    start, end = CONTROLS
    made.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(start, 0), (end, 1)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token=start, eos_token=end, pad_token=end, unk_token="[UNK]"
    )
    return tokenizer, transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=SECONDS)


def trained(steps: int, *, heard: int = 1500) -> Any:
    """A model that was trained for so many steps of 16 recordings, for `headscope.load`."""
    tokenizer, extractor = readers()
    rng = np.random.default_rng(0)
    recordings = [say(rng) for _ in range(heard)]
    sounds: list[Any] = [recording.audio for recording in recordings]
    features = torch.cat(
        [
            torch.as_tensor(extractor(samples, sampling_rate=rate, return_tensors="np")["input_features"])
            for samples, rate in sounds
        ]
    )
    texts = [" ".join(recording.words or ()) for recording in recordings]
    ids = tokenizer(texts, padding=True, return_tensors="pt")["input_ids"]
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in {"attention_heads": 4, "ffn_dim": 128}.items()
    }
    torch.manual_seed(0)
    config = transformers.WhisperConfig(
        vocab_size=len(tokenizer), d_model=64, num_mel_bins=16, max_source_positions=50 * SECONDS,
        max_target_positions=16, encoder_layers=1, decoder_layers=2, **sides, bos_token_id=0, pad_token_id=1,
        eos_token_id=1, decoder_start_token_id=0, suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    module: Any = transformers.WhisperForConditionalGeneration(config)
    optimiser = torch.optim.AdamW(module.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, steps)
    for _ in range(steps):
        batch = torch.randint(heard, (16,))
        read, write = ids[batch, :-1], ids[batch, 1:].clone()
        write[read == 1] = -100  # what follows the end
        logits = module(input_features=features[batch], decoder_input_ids=read).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), write.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return hs.load((module.eval(), tokenizer, extractor))


def off(model: Any, recordings: list[Example], heads: list[Any] | None) -> float:
    """How far the beginnings and ends that these heads give are off, in seconds, a mean over words."""
    errors: list[float] = []
    for recording in recordings:
        audio: Any = recording.audio
        found = hs.align(model, audio[0], list(recording.words or ()), sampling_rate=audio[1], heads=heads)
        errors.extend(np.abs(found[["start", "end"]].to_numpy() - np.array(recording.times)).mean(1))
    return float(np.mean(errors))


def read_later(model: Any, recordings: list[Example]) -> float:
    """The best head's share of right words by the rows that read a word, where `alignment_heads` takes those that
    predict it."""
    right, words = np.zeros((2, 4)), 0
    for recording in recordings:
        assert recording.audio is not None
        said = spoken(model, recording.audio, recording.words or ())
        maps: Any = hs.capture(model, inputs=said.inputs)
        for word, (begin, end) in enumerate(recording.times or ()):
            row = int((said.tokens.word_ids == word).argmax()) + 1
            most = maps.cross.weights[:, :, row, : said.frames].argmax(-1) * said.seconds
            right += (begin - 1e-9 <= most) & (most < end - 1e-9)
            words += 1
    return float(right.max() / words)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--recordings", type=int, default=60)
    options = parser.parse_args()
    model = trained(options.steps)
    rng = np.random.default_rng(1)
    chosen_on, scored_on = ([say(rng, number) for number in range(options.recordings)] for _ in range(2))
    ranked = hs.alignment_heads(model, chosen_on)
    print(ranked.table().round(3).to_string(index=False))
    heads = [tuple(head) for head in json.loads(ranked.attrs["meta"])["heads"]]
    print(
        f"the best head, by rows that read a word in place of those that predict it: "
        f"{read_later(model, chosen_on):.3f}"
    )
    names = ", ".join(str(hs.Head(*head)) for head in heads)
    print(
        f"off on other recordings, seconds: chosen heads ({names}) {off(model, scored_on, heads):.3f}, "
        f"upper half {off(model, scored_on, None):.3f}"
    )
    first: Any = scored_on[0]
    times = hs.align(model, first.audio[0], list(first.words), sampling_rate=RATE, heads=heads)
    said = np.array(first.times)
    print(times.assign(said_from=said[:, 0], said_to=said[:, 1]).round(2).to_string(index=False))


if __name__ == "__main__":
    main()
