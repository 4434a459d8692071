"""Words in time: a planted head tells them, and transformers finds the same of the same weights."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.io import wavfile

import headscope as hs
from headscope.analyses.align.section import section
from headscope.analyses.study import Study
from headscope.corpora import Corpus, Example
from headscope.errors import CorpusError, HeadscopeWarning
from headscope.models import Model
from headscope.models.perceive import spoken
from headscope.views.blobs import Blobs
from tests.helpers.planted_alignment import PLANTED, RATE, planting, recordings
from tests.helpers.section_blocks import rows, table
from tests.helpers.small_models import save_whisper
from tests.helpers.typed import Typed

WORDS = ["The", "cat", "sat", "on", "the", "mat."]
NOISE = np.random.default_rng(0).normal(0, 0.1, 24_000).astype(np.float32)


@pytest.fixture(scope="module")
def speech(whisper: Model) -> list[Example]:
    return recordings(whisper, 20)


@pytest.mark.parametrize("heads", [["L0H1"], ["L0H0", "L1H3"], ["L1H0", "L1H1", "L1H2", "L1H3"]])
def test_times_are_those_of_transformers(whisper: Model, heads: list[str]) -> None:
    """The same weights through `_extract_token_timestamps`, with the rows that predict the words and the end."""
    said = spoken(whisper, (NOISE, RATE), WORDS)
    module: Any = whisper.module
    with torch.no_grad():
        module.set_attn_implementation("eager")
        output = module(**said.inputs, output_attentions=True)
        module.set_attn_implementation("sdpa")
    made = SimpleNamespace(cross_attentions=[output.cross_attentions], sequences=torch.zeros(1, 1))
    generated: Any = type("Output", (dict,), made.__dict__)(made.__dict__)
    named = [hs.Head.parse(head) for head in heads]
    samples = len(NOISE) // whisper.feature_extractor.hop_length
    read = 1  # <|startoftranscript|> predicts no word; <|notimestamps|> predicts the first
    theirs = module._extract_token_timestamps(generated, named, num_frames=samples, num_input_ids=read)[
        0
    ].numpy()
    ours: Any = hs.align(whisper, NOISE, WORDS, sampling_rate=RATE, heads=heads)
    assert said.tokens.word_ids is not None
    for word, row in ours.iterrows():
        places = np.flatnonzero(said.tokens.word_ids == word)
        assert row["start"] == pytest.approx(theirs[places[0]], abs=1e-6)
        assert row["end"] == pytest.approx(theirs[places[-1] + 1], abs=1e-6)
    assert ours["end"].iloc[-1] > 0.2


def test_a_planted_head_tells_the_times(whisper: Model, speech: list[Example]) -> None:
    for example in speech[:5]:
        assert isinstance(example.audio, tuple)
        samples, rate = example.audio
        with hs.edit(whisper, planting(whisper, [example])):
            found: Any = hs.align(
                whisper, samples, list(example.words or ()), sampling_rate=rate, heads=[PLANTED]
            )
        np.testing.assert_allclose(found[["start", "end"]], np.array(example.times), atol=0.0201)
        assert found["mass"].min() > 0.9


@pytest.mark.slow
def test_alignment_heads_finds_the_planted_one(whisper: Model, speech: list[Example]) -> None:
    with hs.edit(whisper, planting(whisper, speech)):
        found = hs.alignment_heads(whisper, speech)
    rows: Any = found.table()
    first, others = rows.iloc[0], rows.iloc[1:]
    assert (first["layer"], first["head"], first["accuracy"]) == (*PLANTED, 1.0)
    assert first["error"] < 0.02
    assert others["accuracy"].max() < 0.5
    assert others["accuracy"].mean() == pytest.approx(first["chance"], abs=0.1)
    assert others["error"].min() > 0.1
    assert first["monotonic"] == 1.0
    assert others["monotonic"].mean() == pytest.approx(float(found["monotonic_chance"]), abs=0.2)
    assert rows["chosen"].tolist() == [True] + [False] * 7
    about = json.loads(found.attrs["meta"])
    assert about["heads"] == [[1, 2]]
    assert about["error"] == pytest.approx(first["error"])
    words = [len(example.words or ()) for example in speech]
    assert (about["words"], about["clusters_count"]) == (sum(words), 10)
    assert first["ci_low"] < 1.0 <= first["ci_high"]


def test_figures_of_a_head_by_hand(whisper: Model, speech: list[Example]) -> None:
    """Accuracy, order and chance again from the maps of a capture."""
    found = hs.alignment_heads(whisper, speech[:3])
    right = words = ordered = pairs = 0
    chance = by_chance = 0.0
    for example in speech[:3]:
        assert example.audio is not None
        said = spoken(whisper, example.audio, example.words or ())
        maps: Any = hs.capture(whisper, inputs=said.inputs)
        weights = maps.cross["L0H1"][:, : said.frames]
        places: list[int] = []
        for word, (begin, end) in enumerate(example.times or ()):
            most = weights[said.tokens.word_ids == word].mean(0).argmax()
            right += begin - 1e-9 <= most * 0.02 < end - 1e-9
            chance += round((end - begin) / 0.02) / said.frames
            words += 1
            places.append(int(most))
        ordered += sum(a <= b for a, b in pairwise(places))
        pairs += len(places) - 1
        alike = sum(a <= b for a in range(said.frames) for b in range(said.frames)) / said.frames**2
        by_chance += alike * (len(places) - 1)
    assert float(found["monotonic"].sel(layer=0, head=1)) == pytest.approx(ordered / pairs)
    assert float(found["monotonic_chance"]) == pytest.approx(by_chance / pairs)
    assert float(found["aligned"].sel(layer=0, head=1)) == pytest.approx(right / words)
    assert float(found["chance"]) == pytest.approx(chance / words)


def test_several_heads_together_err_as_align_does(whisper: Model, speech: list[Example]) -> None:
    found = hs.alignment_heads(whisper, speech[:4], best=3)
    rows: Any = found.table()
    assert rows["chosen"].tolist() == [True] * 3 + [False] * 5
    about = json.loads(found.attrs["meta"])
    off: list[float] = []
    for example in speech[:4]:
        assert isinstance(example.audio, tuple)
        times = hs.align(
            whisper,
            example.audio[0],
            list(example.words or ()),
            sampling_rate=RATE,
            heads=[tuple(head) for head in about["heads"]],
        )
        off.extend(np.abs(times[["start", "end"]].to_numpy() - np.array(example.times)).mean(1))
    assert about["error"] == pytest.approx(np.mean(off))


class TestHeads:
    def test_those_of_the_generation_config(self, whisper: Model) -> None:
        module: Any = whisper.module
        module.generation_config.alignment_heads = [[0, 3], [1, 0]]
        try:
            found = hs.align(whisper, NOISE, WORDS, sampling_rate=RATE)
        finally:
            del module.generation_config.alignment_heads
        assert found.attrs["heads"] == [[0, 3], [1, 0]]
        assert found.attrs["chosen_by"] == "generation config: alignment_heads"
        given = hs.align(whisper, NOISE, WORDS, sampling_rate=RATE, heads=["L0H3", (1, 0)])
        np.testing.assert_array_equal(found["start"], given["start"])

    def test_or_the_upper_half(self, whisper: Model) -> None:
        found = hs.align(whisper, NOISE, " ".join(WORDS), sampling_rate=RATE)
        assert found.attrs["heads"] == [[1, 0], [1, 1], [1, 2], [1, 3]]
        assert found.attrs["chosen_by"].endswith("all heads of the decoder's upper half")
        assert found["word"].tolist() == WORDS


def test_a_space_before_the_text_is_read(whisper: Model) -> None:
    with_space = hs.align(whisper, NOISE, " The cat", sampling_rate=RATE)
    assert with_space["word"].tolist() == ["The", "cat"]
    without = hs.align(whisper, NOISE, "The cat", sampling_rate=RATE)
    assert not np.array_equal(with_space["mass"], without["mass"])


def test_a_file_is_heard_as_its_samples(whisper: Model, tmp_path: Path) -> None:
    wavfile.write(tmp_path / "a.wav", RATE, NOISE)
    of_file = hs.align(whisper, tmp_path / "a.wav", WORDS)
    np.testing.assert_array_equal(
        of_file["start"], hs.align(whisper, NOISE, WORDS, sampling_rate=RATE)["start"]
    )


def test_words_that_are_not_in_the_sound_leave_their_recording_out(whisper: Model, tmp_path: Path) -> None:
    wavfile.write(tmp_path / "a.wav", RATE, NOISE)
    line = {"audio": "a.wav", "words": ["the", "cat"], "times": [[0.0, 0.3], [0.3, 0.6]]}
    late = {**line, "times": [[0.0, 0.3], [1.6, 1.8]]}
    path = tmp_path / "speech.jsonl"
    path.write_text("\n".join(map(json.dumps, (line, late, {**line, "audio": "b.wav"}, line))))
    with pytest.warns(HeadscopeWarning) as told:
        found = hs.alignment_heads(whisper, hs.corpora.spoken(path))
    said = str(told[0].message)
    assert "speech.jsonl:2: times[1]: expected a word that begins within the 1.50 s of sound" in said
    assert "speech.jsonl:3: 'audio': expected a WAV file, found nothing at" in said
    assert json.loads(found.attrs["meta"])["words"] == 4
    with pytest.raises(CorpusError, match=r"speech.jsonl:2: times\[1\]"):
        hs.alignment_heads(whisper, hs.corpora.spoken(path, strict=True), limit=2)


@pytest.mark.slow
def test_links_of_speech_are_right_where_alignment_is(whisper: Model) -> None:
    speech = recordings(whisper, 12)
    linked: Any = hs.links(whisper, speech)
    aligned = hs.alignment_heads(whisper, speech)
    accuracy = linked["accuracy"].sel(label="word", direction="row")
    np.testing.assert_allclose(accuracy, aligned["aligned"], atol=1e-12)
    assert 0 < float(accuracy.min()) < float(accuracy.max()) < 0.6


@pytest.mark.slow
def test_a_file_of_speech_has_links(workspace: Any) -> None:
    found: Any = hs.links(hs.load("whisper-tiny"), hs.corpora.spoken("speech.jsonl"), least=1)
    assert found.table()["n"].tolist() == [6]
    assert json.loads(found.attrs["meta"])["corpus"]["name"] == "speech.jsonl"


TOGETHER = ("align", "speech.wav", "--text", "so it was", "-m", "whisper-tiny")


@pytest.fixture
def folder(workspace: Path) -> Path:
    """The current folder, with a model of its own."""

    (workspace / "own").mkdir()
    save_whisper(workspace / "own")
    return workspace


@pytest.mark.slow
def test_heads_are_ranked_and_written(typed: Typed, folder: Path) -> None:
    choosing = ("align", "--choose", "speech.jsonl", "-m", "own")
    stored = folder / "own" / "generation_config.json"
    before = stored.read_text()
    typed(*choosing, "-o", "heads.csv")
    rows = pd.read_csv("heads.csv")
    assert len(rows) == 8
    assert rows["accuracy"].is_monotonic_decreasing
    assert stored.read_text() == before

    printed = typed(*choosing, "--best", "2", "--write")
    names = ", ".join(f"L{layer}H{head}" for layer, head in rows[["layer", "head"]].to_numpy()[:2])
    assert f"own: alignment_heads of the generation config: {names}; before: none" in printed.err
    heads = json.loads(stored.read_text())["alignment_heads"]
    assert heads == rows[["layer", "head"]].to_numpy()[:2].tolist()
    assert f"heads: {names} (generation config: alignment_heads)" in typed(*TOGETHER[:-1], "own").err
    assert f"; before: {names}" in typed(*choosing, "--best", "1", "--write").err
    plain, english = (typed(*TOGETHER, *said, "--json").rows for said in ((), ("--language", "en")))
    assert plain != english


def corpus(examples: list[Example]) -> Corpus:
    return Corpus("speech", lambda: iter(examples), kind="sounds")


@pytest.mark.slow
def test_the_planted_head_is_first(whisper: Model) -> None:
    speech = recordings(whisper, 12)
    with hs.edit(whisper, planting(whisper, speech)):
        (made,) = section(Study(whisper, corpus(speech), ["align"], 0))
    info = made.info(Blobs())
    first, second, *_ = heads = rows(info, "heads")
    assert (first["layer"], first["head"]) == PLANTED
    assert first["accuracy"] > 0.9 > second["accuracy"]
    assert (first["chosen"], len(heads), "look" in table(info, "heads")) == (True, 8, False)
    ((said,),) = made.findings()
    assert said["text"].startswith(f"Of the decoder {PLANTED} looks at ")


@pytest.mark.parametrize(
    ("examples", "why"),
    [
        (hs.corpora.builtin_sounds(), "the built-in sounds are no speech"),
        (None, "no sound comes with its words and their times"),
    ],
)
def test_without_words_it_says_so(whisper: Model, examples: Any, why: str) -> None:
    silent = [Example(audio=each.audio) for each in recordings(whisper, 2)]
    study = Study(whisper, examples or corpus(silent), ["align"], 0)
    assert section(study) == []
    assert study.absent == {"align": why}
