"""Artefacts and visual sinks: planted ones are found, and what heads give them is what a loop over own maps says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import headscope as hs
from headscope.analyses.artefacts import statistics
from headscope.analyses.artefacts.run import artefacts, marked
from headscope.analyses.artefacts.section import Artefacts
from headscope.analyses.artefacts.statistics import to_artefacts
from headscope.attention.one import prepare
from headscope.corpora import Corpus, Example
from headscope.errors import RefusedError
from headscope.measures.dataset import description
from headscope.models import Model
from headscope.views.blobs import Blobs
from tests.helpers import section_blocks
from tests.helpers.planted_vision import planted_vit
from tests.helpers.small_models import llava_parts, seeing
from tests.helpers.typed import Typed

SIDE = 64


def corpus(pictures: Sequence[np.ndarray], text: str | None = None) -> Corpus:
    examples = [Example(image=each, text=text, document=place) for place, each in enumerate(pictures)]
    return Corpus("a few", lambda: iter(examples))


def photo(*white: int, seed: int = 0) -> np.ndarray:
    """A dark picture of 4 × 4 parts, some of which are white."""
    pixels = np.random.default_rng(seed).integers(60, 90, (SIDE, SIDE, 3)).astype(np.uint8)
    for place in white:
        row, column = divmod(place, 4)
        pixels[16 * row : 16 * row + 16, 16 * column : 16 * column + 16] = 255
    return pixels


def planted() -> Model:
    """A model whose white patches get a large norm, and whose head L1H2 looks at these alone; in float64."""
    model = seeing()
    model.module.double()
    parts = dict(model.module.named_modules())
    with torch.no_grad():
        project: Any = parts["embeddings.patch_embeddings.projection"]
        project.weight[0] = 0.1
        project.bias[0] = 31.5  # dark patches have about 31.5 - 0.41 · 0.1 · 768 = 0, white ones 31.5 + 77
        names = [
            name for name in parts if name.endswith(("query", "key", "q_proj", "k_proj")) and ".1." in name
        ]
        query, key = (next(parts[name] for name in names if part in name) for part in ("q", "k"))
        for linear in (query, key):
            linear.weight[16:24] = 0.0
            linear.bias[16:24] = 0.0
        query.bias[16] = 60.0
        key.weight[16, 0] = 1.0
    return model


@pytest.fixture(scope="module")
def found() -> Any:
    pictures = [
        photo(5),
        photo(5, 6, seed=1),
        photo(seed=2),
        photo(6, seed=3),
        photo(9, seed=4),
        photo(seed=5),
    ]
    return artefacts(planted(), corpus(pictures), batch_size=4)


def test_planted_artefacts_are_counted_and_placed(found: Any) -> None:
    assert found["artefacts_n"].item() == 6 * 16
    assert found["artefacts"].item() == pytest.approx(5 / 96)
    assert found["artefacts_low"].item() < 5 / 96 < found["artefacts_high"].item()
    where = np.zeros((4, 4))
    where[1, 1], where[1, 2], where[2, 1] = 2 / 6, 2 / 6, 1 / 6
    np.testing.assert_allclose(found["where"], where)
    assert found["contrast"].sel(kind="artefacts").item() == 0  # a white patch is even
    mean_of_three = 30 / 12**0.5 / 3**0.5  # colours, each even from 60 to 90
    assert found["contrast"].sel(kind="others").item() == pytest.approx(mean_of_three, rel=0.02)
    assert found["strength"].sel(state=1, kind="artefacts") > 1.5 * found["strength"].sel(
        state=1, kind="others"
    )
    assert found["median"].item() < found["cutoff"].item()
    assert int(found["count"].sum()) == 96
    assert description(found)["rule"] == "norm"


def test_the_head_that_looks_at_artefacts_is_first_and_its_figures_are_those_of_a_loop(found: Any) -> None:
    model = planted()
    rows = hs.table(found)
    assert rows["paper"].iloc[0] == "2-3"
    assert rows["attention"].iloc[0] > 0.9
    assert list(rows.columns) == list(statistics.COLUMNS)
    model.module.set_attn_implementation("eager")
    whole, cls, norms = [], [], []
    white = [(5,), (5, 6), (), (6,), (9,), ()]
    for seed, places in enumerate(white):
        _, ready = prepare(model, None, image=photo(*places, seed=seed))
        with torch.no_grad():
            out = model.module(**ready, output_attentions=True, output_hidden_states=True)
        norms.append(out.hidden_states[-1][0, 1:].norm(dim=-1).numpy())
        if places:
            maps = torch.stack(out.attentions)[:, 0].double().numpy()
            mass = maps[..., [1 + place for place in places]].sum(-1)  # [layer head query]
            whole.append(mass)
            cls.append(mass[..., 0])
    np.testing.assert_allclose(found["attention"], np.concatenate(whole, -1).mean(-1), rtol=1e-6)
    np.testing.assert_allclose(found["from_cls"], np.mean(cls, 0), rtol=1e-6)
    np.testing.assert_allclose(found["attention_chance"], np.mean([1, 2, 1, 1]) / 17)
    assert (found["attention_n"] == 4 * 17).all()
    assert (found["from_cls_n"] == 4).all()
    assert found["median"].item() == pytest.approx(np.median(norms), rel=1e-4)
    own = np.concatenate([norm[list(places)] for norm, places in zip(norms, white, strict=True)])
    assert found["strength"].sel(state=1, kind="artefacts").item() == pytest.approx(own.mean(), rel=1e-4)
    means = [np.mean(maps, -1) for maps in whole]  # each picture has as many rows
    without = [np.mean([*means[:place], *means[place + 1 :]], 0) for place in range(4)]
    spread = np.sqrt(3 / 4 * ((without - np.mean(without, 0)) ** 2).sum(0))
    np.testing.assert_allclose(found["attention_se"], spread, rtol=1e-6, atol=1e-12)


def test_a_cutoff_of_ones_own_and_no_artefact_at_all() -> None:
    model, pictures = planted(), corpus([photo(5), photo(seed=1)])
    none = artefacts(model, pictures, cutoff=1e6)
    assert none["artefacts"].item() == 0
    assert np.isnan(none["attention"]).all()
    assert np.isnan(hs.table(none)["attention"]).all()
    assert len(hs.table(none)) == 8
    every = artefacts(model, pictures, cutoff=1e-6)
    assert every["artefacts"].item() == 1
    np.testing.assert_allclose(every["attention_chance"], 16 / 17)
    plain = artefacts(seeing(), corpus([photo(seed=seed) for seed in range(3)]))
    assert plain["artefacts"].item() == 0


def test_the_cutoff_is_far_above_the_rest() -> None:
    draw = np.random.default_rng(0)
    rest = draw.normal(40, 6, 5000)
    assert rest.max() < statistics.cutoff_of(rest)
    two = np.concatenate([rest, draw.normal(300, 60, 100)])
    bar = statistics.cutoff_of(two)
    assert ((two > bar) == (np.arange(5100) >= 5000)).mean() > 0.999
    assert statistics.cutoff_of(3 * two) == pytest.approx(3 * bar)
    assert statistics.cutoff_of(np.full(9, 2.0)) == pytest.approx(3.0)


class _Sink(nn.Module):
    """A projector that gives one token of the picture a massive activation."""

    def __init__(self, inner: nn.Module, place: int, dimension: int) -> None:
        super().__init__()
        self.inner, self.place, self.dimension = inner, place, dimension

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        made = self.inner(features).clone()
        made[:, self.place, self.dimension] = 500.0
        return made


@pytest.mark.slow
def test_a_planted_visual_sink_is_found_by_the_dimension_of_the_first_token() -> None:
    module, processor = llava_parts()
    text = "Look: <image> What is on it?"
    begin = processor.tokenizer(text)["input_ids"][0]
    with torch.no_grad():
        module.get_input_embeddings().weight[begin, 3] = 500.0
    module.model.multi_modal_projector = _Sink(module.model.multi_modal_projector, 6, 3)
    model = hs.load((module, processor))
    pictures = [photo(seed=seed) for seed in range(3)]
    found = artefacts(model, corpus(pictures, text), cutoff=5.0)
    about = description(found)
    assert (about["rule"], about["dimensions"]) == ("sink", [3])
    assert found["artefacts"].item() == pytest.approx(1 / 16)
    where = np.zeros((4, 4))
    where[1, 2] = 1
    np.testing.assert_allclose(found["where"], where)
    assert (
        5 < found["strength"].sel(state=0, kind="artefacts").item() <= 32**0.5
    )  # all of a state's size in one of 32
    maps: Any = hs.capture(model, text, image=pictures[0])
    axis = maps["language"].query
    sink = int(np.flatnonzero(axis.mask("image"))[6])
    rows = axis.mask("question") & (np.arange(len(axis)) > sink)
    own = [
        np.stack(hs.capture(model, text, image=each)["language"].layers)[..., rows, sink] for each in pictures
    ]  # pyright: ignore[reportIndexIssue, reportCallIssue, reportArgumentType]
    np.testing.assert_allclose(found["attention"], np.mean([each.mean(-1) for each in own], 0), atol=1e-5)
    chance = (1 / (1 + np.flatnonzero(rows))).mean()
    np.testing.assert_allclose(found["attention_chance"], chance, rtol=1e-6)
    assert np.isnan(found["from_cls"]).all()
    same = artefacts(model, corpus(pictures, text), cutoff=5.0, dimensions=[3])
    np.testing.assert_array_equal(same["attention"], found["attention"])
    none = artefacts(model, corpus(pictures, text))  # of 32 dimensions none reaches 20
    assert description(none)["dimensions"] == []
    assert none["artefacts"].item() == 0


def test_a_model_without_layers_of_their_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from headscope.analyses.artefacts import run as states

    model = seeing()
    tokens = model.see(photo())
    first = states.self_attention(model, [tokens])[0]
    monkeypatch.setattr(states, "self_attention", lambda *_: [first, first])
    with pytest.raises(
        RefusedError, match="expected a layer of its own around each attention, found 1 around 2"
    ):
        states.States(model, tokens)


@pytest.mark.slow
def test_the_command_prints_and_writes(typed: Typed, tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    photos, own = tmp_path / "photos", tmp_path / "own"
    photos.mkdir()
    for place, white in enumerate([(5,), (5, 6), (), (6,), (9,), (2,)]):
        pillow.fromarray(photo(*white, seed=place)).save(photos / f"{place}.png")
    model = planted()
    model.module.save_pretrained(own)
    model.image_processor.save_pretrained(own)

    command = typed.of("artefacts")
    told = command(photos, "-m", own).out.splitlines()
    assert told[0].startswith("6.3% of 96 patches are artefacts, with a norm above ")
    assert told[1].split()[:4] == ["head", "paper", "on", "artefacts"]
    assert told[2].split()[:2] == ["L1H2", "2-3"]
    command(photos, "-m", own, "-o", tmp_path / "a.csv")
    rows = pd.read_csv(tmp_path / "a.csv")
    assert rows["head"].iloc[0] == 2
    assert rows["ci_low"].iloc[0] > rows["chance"].iloc[0]


PLANTED = [20, 47, 130]


@pytest.fixture(scope="module")
def model() -> Model:
    return hs.load(planted_vit([["around", "cls", "even", "row"], ["bright", "cls", "even", "far"]], PLANTED))


def pictures() -> Any:
    draw = np.random.default_rng(0)
    return hs.corpora.images([draw.integers(0, 255, (90, 120, 3)).astype(np.uint8) for _ in range(6)])


def test_what_was_planted_is_told(model: Model) -> None:
    made = Artefacts(artefacts(model, pictures()), "headscope artefacts")
    info = made.info(Blobs())
    assert " 1.5% (" in info["about"]
    assert " of 1,176 patches: norm above " in info["about"]
    drawn: Any = info["blocks"][0]
    spread, by_layer, where = drawn["charts"]
    assert sum(spread["rows"]["y"]) == 6 * 196
    above = [y for y, colour in zip(spread["rows"]["y"], spread["rows"]["colour"], strict=True) if colour]
    assert sum(above) == 6 * 3
    other, own = (line["y"][-1] for line in by_layer["lines"])
    assert own > made.result["cutoff"] > other
    assert sum(value is not None and value > 0 for value in where["rows"]["colour"]) == 3
    best, *others = section_blocks.rows(info, "heads")
    assert (best["layer"], best["head"]) == (1, 0)
    assert best["attention"] > 0.9
    assert len(others) == 7
    (finding,) = made.findings()
    said = "".join(part["text"] for part in finding)
    assert said.startswith("1.5% of 1,176 patches are artefacts, with a norm above ")
    assert next(part["text"] for part in finding if part["layer"] is not None) == "L1H0"


def test_none_are_told_too() -> None:
    plain = hs.load(planted_vit([["around", "cls", "even", "row"]]))
    made = Artefacts(artefacts(plain, pictures()))
    info: Any = made.info(Blobs())
    assert "None of 1,176 patches: no norm is above " in info["about"]
    (drawn,) = info["blocks"]
    assert [chart["kind"] for chart in drawn["charts"]] == ["bars", "layers"]
    ((said,),) = made.findings()
    assert said["text"].startswith("No patch is an artefact: none has a norm above ")


@pytest.mark.slow
def test_as_a_measure_they_are_what_measuring_marked_pictures_gives() -> None:
    """In float64, as batches of other sizes round otherwise; of pictures of other brightness, so that they differ."""
    model = hs.load(
        planted_vit([["around", "cls", "even", "row"], ["bright", "cls", "even", "far"]], PLANTED)
    )
    model.module.double()
    draw = np.random.default_rng(1)
    shades = [draw.integers(0, top, (90, 120, 3)).astype(np.uint8) for top in (20, 60, 90, 150, 220, 255)]
    corpus = hs.corpora.images(shades)
    result = artefacts(model, corpus)
    found = to_artefacts(result)
    examples = list(marked(model, corpus.encoded(model), result))
    assert [np.flatnonzero(each.tokens.classes["artefact"]).tolist() for each in examples[:2]] == [  # pyright: ignore[reportOptionalMemberAccess]
        [1 + place for place in PLANTED]
    ] * 2
    measured = hs.measure(model, examples, measures=["to_artefact"])
    assert (abs(found["to_artefact_skewness"]) > 0.1).sum() >= 3
    for part in ("", "_se", "_n", "_chance", "_documents", "_skewness"):
        own, other = found[f"to_artefact{part}"], measured[f"to_artefact{part}"]
        expected = other.broadcast_like(own) if other.ndim < own.ndim else other
        # A skewness is of third powers: residuals of 5e-4 of the sums leave 1e-10 of them, and these have 1e-15.
        near = 1e-5 if part == "_skewness" else 1e-12
        np.testing.assert_allclose(own, expected.transpose(*own.dims), atol=near, err_msg=part)
