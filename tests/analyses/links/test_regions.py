"""Links to regions of a picture: heads that are planted, loops over maps, and what is said of bad input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.attention.one import decoder_tokens, prepare
from headscope.core.link import Link, Named, Span, located
from headscope.core.region import Region
from headscope.corpora import Corpus, Example
from headscope.errors import HeadscopeWarning
from headscope.models import Model
from tests.helpers.links_by_loops import averages, figures
from tests.helpers.planted_regions import PLANTED, SIDE, corpus_of, planted, squares
from tests.helpers.small_models import seeing
from tests.helpers.vision_models import READS, vision


@pytest.fixture(scope="module")
def vit() -> Model:
    return seeing("vit", SIDE)


def row(found: Any) -> Any:
    return found.table().iloc[0]


@pytest.mark.slow
def test_a_planted_head_is_found(llava: Model) -> None:
    corpus = corpus_of(40)
    with planted(llava, list(corpus)):
        found = hs.links(llava, corpus)
    best = row(found)
    assert (best["layer"], best["head"], best["direction"]) == (*PLANTED, "row")
    assert (best["accuracy"], best["n"], best["times"]) == (1.0, 80, 200)
    assert best["inside"] > 0.99
    assert best["area"] == pytest.approx(1 / 16)
    assert best["q"] < 1e-6
    # The average over words looks at both squares: it is right for one of the two nouns, which is the best rule.
    assert best["baseline"] == "mean map"
    assert best["mean_map"] == best["baseline_accuracy"] == pytest.approx(0.5)


@pytest.mark.slow
def test_random_weights_name_none(llava: Model) -> None:
    assert row(hs.links(llava, corpus_of(40)))["q"] > 0.05


def red_model() -> Model:
    """A model of which L0H1 looks at red patches from everywhere: its patches say how red they are, and nothing else."""
    model = seeing("vit", SIDE)
    module: Any = model.module
    with torch.no_grad():
        embeddings = module.embeddings
        for parameter in embeddings.parameters():
            parameter.zero_()
        embeddings.patch_embeddings.projection.weight[0, 0] = 1.0
        embeddings.patch_embeddings.projection.weight[0, 1:] = -0.5
        embeddings.patch_embeddings.projection.bias[1] = 50.0  # so that its norm leaves the redness as it is
        attention = next(part for part in module.modules() if hasattr(part, "q_proj"))
        for name in ("q_proj", "k_proj"):
            part = getattr(attention, name)
            part.weight[8:16] = 0.0
            part.bias[8:16] = 0.0
        attention.q_proj.bias[8] = 5.0
        attention.k_proj.weight[8, 0] = 5.0
    return model


def test_a_head_that_looks_at_the_same_place_whatever_the_source_does_not_win() -> None:
    """It finds each square, and so does its average map: nothing is known of what it does for [CLS]."""
    model = red_model()
    _, links, _ = squares(30)
    pictures: list[np.ndarray] = []
    regions: list[list[Any]] = []
    for (_, region), _ in links:
        picture = np.full((SIDE, SIDE, 3), 120, np.uint8)
        left, top, right, bottom = (int(side) for side in region.box)
        picture[top - 1 : bottom + 1, left - 1 : right + 1] = (250, 0, 0)
        pictures.append(picture)
        regions.append([("cls", region)])
    found = hs.links(model, hs.corpora.linked([None] * 30, regions, images=pictures))
    own = found.sel(label="link", direction="row", layer=0, head=1)
    assert float(own["accuracy"]) == 1.0
    assert float(own["inside"]) > 0.9
    assert float(own["mean_map"]) == 1.0
    best = row(found)
    assert best["accuracy"] == best["baseline_accuracy"] == 1.0
    assert best["q"] == 1.0


def shown(model: Model, example: Example) -> tuple[Any, np.ndarray]:
    """The axis of an example, and its maps ``[layer head query key]``, by eager attention where there is text."""
    if example.text is None:
        maps: Any = hs.capture(model, image=example.image)
        return maps.query, np.array(maps.layers, np.float64)
    tokens = model.see(example.image, example.text)
    _, ready = prepare(model, example.text, image=example.image)
    module: Any = model.module
    module.set_attn_implementation("eager")
    with torch.no_grad():
        output = module(**ready, output_attentions=True)
    module.set_attn_implementation("sdpa")
    return tokens, torch.stack(output.attentions)[:, 0].double().numpy()


def by_loop(
    model: Model, examples: Sequence[Example], *, column: bool = False
) -> tuple[list[Any], list[np.ndarray], list[np.ndarray]]:
    """`links_by_loops.figures` of each link to regions; the shares inside, and what average maps choose."""
    each: list[Any] = []
    inside: list[np.ndarray] = []
    blind: list[np.ndarray] = []
    for example in examples:
        tokens, maps = shown(model, example)
        patches = np.flatnonzero(np.isfinite(tokens.boxes[:, 0])).tolist()
        words = tokens.word_ids
        heard: list[list[int]] = [[token] for token in range(len(tokens))]
        if words is not None:
            heard = [np.flatnonzero(words == word).tolist() for word in range(words.max() + 1)]
        mean = np.mean([maps[:, :, unit].mean(2) for unit in heard], 0)
        for link in example.links or ():
            source = located(link.source, link.unit, tokens)[0].tolist()
            right = {token for end in link.targets for token in located(end, link.unit, tokens)[0].tolist()}
            among = [patch for patch in patches if patch not in source]
            if column and words is not None:  # a causal model: no patch sees the word
                among = []
            flags = [patch in right for patch in among]
            each.append(figures(maps, source, flags, [[patch] for patch in among], column=column))
            own = maps[:, :, :, source].sum(3) if column else maps[:, :, source].mean(2)
            inside.append(own[..., sorted(right & set(among))].sum(-1) / own[..., among].sum(-1))
            most = mean[..., among].argmax(-1)
            blind.append(np.array(flags)[most])
    return each, inside, blind


def checked(found: Any, direction: str, loop: Any) -> None:
    each, inside, blind = loop
    own = found.sel(label="link", direction=direction)
    for theirs, mine in {
        "accuracy": "right",
        "mass": "mass",
        "rank": "rank",
        "average_precision": "precision",
    }.items():
        np.testing.assert_allclose(own[theirs], averages(each, mine), atol=2e-5, err_msg=theirs)
    np.testing.assert_allclose(own["inside"], np.mean(inside, 0), atol=2e-5)
    if direction == "column":  # all that a query gives is 1: its average says nothing
        assert own["mean_map"].isnull().all()
    else:
        np.testing.assert_allclose(own["mean_map"], np.mean(blind, 0), atol=1e-9)


def regions(count: int, size: tuple[int, int]) -> list[Region]:
    """Boxes of several sizes and a mask, of pictures of (width, height)."""
    draw = np.random.default_rng(3)
    width, height = size
    found: list[Region] = []
    for _ in range(count):
        left, top = draw.uniform(0, width * 0.6), draw.uniform(0, height * 0.6)
        found.append(
            Region((left, top, left + width * draw.uniform(0.1, 0.4), top + height * draw.uniform(0.1, 0.4)))
        )
    mask = np.zeros((height, width), bool)
    mask[height // 3 :, width // 2 :] = True
    return [*found, Region(mask=mask)]


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 4])
def test_words_and_regions_are_what_a_loop_finds(llava: Model, batch_size: int) -> None:
    """Eager maps of sentences of several lengths; pictures are wider than high, so that their edges are cut off."""
    draw = np.random.default_rng(1)
    size = (70, 56)
    spots = regions(5, size)
    examples = [
        Example(
            text=text,
            image=draw.integers(0, 255, (56, 70, 3)).astype(np.uint8),
            links=[
                Link(Span(4, 8), (spots[number],), unit="characters"),
                Link(Span(17, 22), (spots[number + 1], spots[5]), unit="characters"),
            ],
            document=number,
        )
        for number, text in enumerate(["The ball is on a table.", "The lamp is on a shelf beside a cup."] * 2)
    ]
    corpus = Corpus("some", lambda: iter(examples))
    found = hs.links(llava, corpus, least=1, batch_size=batch_size)
    checked(found, "row", by_loop(llava, examples))
    assert found["asked"].sel(direction="column").item() == 0  # no patch sees a word
    for name in ("accuracy", "rank", "inside"):
        assert found[name].sel(direction="column").isnull().all()


@pytest.mark.parametrize("direction", ["row", "column"])
def test_classes_and_parts_are_what_a_loop_finds(vit: Model, direction: Any) -> None:
    """From [CLS], from a patch, and from a region of several, which is no candidate of its own."""
    draw = np.random.default_rng(2)
    spots = regions(6, (80, 60))
    sources: list[Any] = [
        Named("cls"),
        Region((1, 1, 2, 2)),
        Region((20, 0, 60, 30)),
        Named("cls"),
        Region((0, 0, 79, 20)),
    ]
    examples = [
        Example(
            image=draw.integers(0, 255, (60, 80, 3)).astype(np.uint8),
            links=[Link(source, (spots[number],)), Link(Region((60, 40, 80, 60)), (spots[6],))],
            document=number,
        )
        for number, source in enumerate(sources)
    ]
    found = hs.links(vit, Corpus("some", lambda: iter(examples)), least=1, direction=direction)
    checked(found, direction, by_loop(vit, examples, column=direction == "column"))


def test_many_targets_rank_as_a_loop_ranks_them() -> None:
    from headscope.analyses.links.choices import _ranks  # pyright: ignore[reportPrivateUsage]

    draw = torch.Generator().manual_seed(0)
    weights = torch.randint(0, 9, (2, 3, 4, 40), generator=draw).float()
    weights[..., ::7] = -torch.inf
    for targets in (3, 30):
        own = weights[..., :targets]
        expected = (
            1
            + (weights[..., None, :] > own[..., None]).sum(-1)
            + ((weights[..., None, :] == own[..., None]).sum(-1) - 1) / 2
        )
        there = own.isfinite()
        np.testing.assert_array_equal(_ranks(weights, own)[there], expected[there])


def test_the_middle_of_the_picture_is_a_rule(vit: Model) -> None:
    middle, corner = Region((20, 20, 40, 40)), Region((0, 0, 10, 10))
    grey = [np.full((SIDE, SIDE, 3), 90, np.uint8)] * 4
    corpus = hs.corpora.linked(
        [None] * 4, [[("cls", end)] for end in (middle, middle, middle, corner)], images=grey
    )
    found = hs.links(vit, corpus, least=1)
    assert float(found["baseline"].sel(label="link", rule="centre")) == 0.75
    # all pictures are the same: what a head chooses is one place, and no more is known than its average map
    assert row(found)["accuracy"] <= 0.75


def test_regions_that_are_listed(vit: Model) -> None:
    """Each is chosen as a whole, one may be within another, and the largest is a rule."""
    whole, part, other = Region((0, 0, 28, 28)), Region((0, 0, 14, 14)), Region((28, 28, 42, 42))
    draw = np.random.default_rng(0)
    picture = draw.integers(0, 255, (SIDE, SIDE, 3)).astype(np.uint8)
    links = [
        Link(Named("cls"), (right,), name, candidates=(whole, part, other))
        for name, right in (("whole", whole), ("part", part))
    ]
    example = Example(image=picture, links=links)
    found = hs.links(vit, Corpus("one", lambda: iter([example])), candidates="listed", least=1)
    tokens, maps = shown(vit, example)
    shares = np.stack(
        [maps[:, :, 0, located(end, "words", tokens)[0]].sum(-1) for end in (whole, part, other)], -1
    )
    for name, place in (("whole", 0), ("part", 1)):
        own = found.sel(label=name, direction="row")
        np.testing.assert_array_equal(own["accuracy"], shares.argmax(-1) == place)
        np.testing.assert_allclose(own["mass"], shares[..., place], rtol=1e-4)
        np.testing.assert_allclose(own["inside"], shares[..., place] / maps[:, :, 0, 1:].sum(-1), rtol=1e-4)
        assert float(own["baseline"].sel(rule="largest")) == (name == "whole")
        assert float(own["baseline"].sel(rule="chance")) == pytest.approx(1 / 3)


def test_links_of_a_text_choose_among_its_words(llava: Model) -> None:
    """Beside a picture as without one."""
    picture = np.zeros((SIDE, SIDE, 3), np.uint8)
    text = "The ball is in a garden."
    example = Example(text=text, image=picture, links=[Link(Span(17, 23), (Span(4, 8),), unit="characters")])
    found = hs.links(llava, Corpus("one", lambda: iter([example])), least=1)
    tokens, maps = shown(llava, example)
    units = [np.flatnonzero(tokens.word_ids == word).tolist() for word in range(tokens.word_ids.max() + 1)]
    assert [tokens.pieces[token] for token in units[5]] == ["Ġ", "g", "ard", "en"] or len(units) == 7
    source = located(Span(17, 23), "characters", tokens)[0].tolist()
    before = [unit for unit in units if unit[-1] < source[0]]
    target = located(Span(4, 8), "characters", tokens)[0].tolist()
    parted = [
        [token for token in unit if (token in target) == inside]
        for unit in before
        for inside in (False, True)
    ]
    among = [unit for unit in parted if unit]
    each = figures(maps, source, [set(unit) <= set(target) for unit in among], among)
    own = found.sel(label="link", direction="row")
    np.testing.assert_array_equal(own["accuracy"], averages([each], "right"))
    np.testing.assert_allclose(own["mass"], averages([each], "mass"), atol=2e-5)
    assert "inside" not in found
    assert "mean_map" not in found


def written(folder: Path, rows: Sequence[dict[str, Any]]) -> Path:
    pillow = pytest.importorskip("PIL.Image")
    draw = np.random.default_rng(0)
    pillow.fromarray(draw.integers(0, 255, (60, 80, 3)).astype(np.uint8)).save(folder / "a.png")
    mask = np.zeros((60, 80), np.uint8)
    mask[10:30, 20:50] = 255
    pillow.fromarray(mask).save(folder / "mask.png")
    path = folder / "a.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    return path


RUNS = {"size": [60, 80], "counts": [1210, 20, 3570]}


def test_a_file_says_regions_in_every_form(tmp_path: Path) -> None:
    text = "A dog beside a red ball."
    path = written(
        tmp_path,
        [
            {"image": "a.png", "text": text, "document": "x", "label": "indoors", "links": [
                {"from": [2, 5], "box": [20, 10, 50, 30], "label": "object"},
                {"from": [2, 5], "mask": "mask.png", "label": "object"},
                {"from": [19, 23], "mask": RUNS, "label": "object"},
                {"from": [19, 23], "to": [15, 18], "label": "colour"},
            ]},
            {"image": "a.png", "words": ["A", "dog", "barks"], "document": "x", "links": [
                {"from": [0, 2], "mask": [[0, 0, 40, 0, 40, 50]], "candidates": [{"mask": [[0, 0, 40, 0, 40, 50]]}, {"box": [1, 1, 9, 9]}]},
            ]},
            {"image": "a.png", "links": [
                {"from": "cls", "box": [20, 10, 50, 30]},
                {"from": {"box": [0, 0, 20, 20]}, "to": {"box": [0, 0, 60, 60]}, "label": "part of"},
                {"from": 3, "to": [4, 6], "label": "patches"},
            ]},
        ],
    )  # fmt: skip
    first, second, third = hs.corpora.links(path, strict=True)
    assert first.links is not None
    assert second.links is not None
    assert (first.image, first.text, first.label, first.document, second.document, third.document) == (
        tmp_path / "a.png", text, "indoors", 0, 0, 1,
    )  # fmt: skip
    dog, ball, colour = first.links
    mask = np.zeros((60, 80), bool)
    mask[10:30, 20:50] = True
    assert dog.targets == (Region((20, 10, 50, 30)), Region(mask=mask))
    assert (ball.targets, colour.targets) == ((Region(mask=RUNS),), (Span(15, 18),))
    (barks,) = second.links
    triangle = Region(polygons=[[0, 0, 40, 0, 40, 50]])
    assert (second.text, second.words, barks.source) == ("A dog barks", None, Span(0, 5))
    assert (barks.targets, barks.candidates) == ((triangle,), (triangle, Region((1, 1, 9, 9))))
    assert [link.source for link in third.links] == [Named("cls"), Region((0, 0, 20, 20)), Span(3, 4)]
    assert [link.unit for link in third.links] == ["cells"] * 3


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (
            {"from": 0, "box": [0, 0, 90, 50]},
            "links[0]: expected a region within the picture's 80 × 60 pixels",
        ),
        (
            {"from": 0, "mask": {"size": [40, 40], "counts": [0, 1600]}},
            "links[0]: expected a mask of 80 × 60 pixels, as the picture, found one of 40 × 40",
        ),
        ({"from": "cls", "box": [0, 0, 9, 9]}, "links[0]: no class of tokens 'cls'; this input has "),
    ],
)
def test_what_the_picture_tells_is_said_with_its_line(
    llava: Model, link: Any, said: str, tmp_path: Path
) -> None:
    good = {"image": "a.png", "text": "a dog", "links": [{"from": [2, 5], "box": [20, 10, 50, 30]}]}
    path = written(tmp_path, [good, {**good, "links": [link]}])
    with pytest.warns(HeadscopeWarning) as told:
        found = hs.links(llava, hs.corpora.links(path), least=1)
    assert f"a.jsonl:2: {said}" in str(told[0].message)
    assert int(found["n"][0]) == 1


def test_what_the_model_does_not_see_is_left_out_and_told(llava: Model) -> None:
    """Of 80 × 60 pixels it sees the middle 60."""
    links = [
        Link(Span(0, 1), (Region((0, 0, 8, 60)),), "out", unit="characters", place="links[0]"),
        Link(
            Span(0, 1),
            (Region((0, 0, 8, 60)), Region((30, 0, 60, 60))),
            "half",
            unit="characters",
            place="links[1]",
        ),
        Link(Region((72, 0, 80, 9)), (Region((30, 0, 60, 60)),), "source", place="links[2]"),
    ]
    example = Example(text="a b", image=np.zeros((60, 80, 3), np.uint8), links=links, source="x:1")
    with pytest.warns(HeadscopeWarning, match="3 regions left out: the model sees nothing of it") as told:
        found = hs.links(llava, Corpus("one", lambda: iter([example])), least=1)
    assert found["label"].values.tolist() == ["half"]
    assert "x:1: links[2]: Region(box=(72.0, 0.0, 80.0, 9.0))" in str(told[0].message)


def test_links_in_python(llava: Model, demo: Model) -> None:
    picture = np.zeros((60, 80, 3), np.uint8)
    region = Region((0, 0, 9, 9))
    (one,) = hs.corpora.linked([["A", "red", "ball"]], [[((1, 3), region)]], images=[picture])
    assert one.links == [Link(Span(2, 10), (region,), unit="characters", place="links[0]")]


def test_a_class_of_tokens_is_a_source_of_texts_too(demo: Model) -> None:
    """From [CLS] to a word of a text, among its words."""
    text = "The cat sat on the mat."
    example = Example(
        text=text, links=[Link(Named("cls"), (Span(4, 7),), unit="characters")], tokens=demo.encode(text)
    )
    found = hs.links(demo, [example], least=1, direction="row")
    maps = np.array(hs.capture(demo, text).layers, np.float64)
    units = [[place] for place in range(1, 8)]
    each = figures(maps, [0], [place == 1 for place in range(7)], units)
    np.testing.assert_allclose(
        found["accuracy"].sel(label="link", direction="row"), averages([each], "right")
    )
    np.testing.assert_allclose(found["rank"].sel(label="link", direction="row"), averages([each], "rank"))


def test_lines_of_one_picture_are_a_document(tmp_path: Path) -> None:
    link = [{"from": 0, "box": [0, 0, 9, 9]}]
    rows = [{"image": "a.png", "text": text, "links": link} for text in "ab"]
    pillow = pytest.importorskip("PIL.Image")
    path = written(tmp_path, [*rows, {"image": "b.png", "text": "c", "links": link}, rows[0]])
    pillow.new("RGB", (80, 60)).save(tmp_path / "b.png")
    examples = list(hs.corpora.links(path, strict=True))
    assert [(example.document, example.document_known) for example in examples] == [
        (0, True), (0, True), (1, True), (2, True),
    ]  # fmt: skip
    folder = list(hs.corpora.images(path))
    assert [example.links for example in folder] == [example.links for example in examples]


@pytest.mark.slow
def test_the_built_in_pictures_say_where_things_are(llava: Model, vit: Model) -> None:
    corpus = hs.corpora.builtin_images()
    examples = list(corpus)
    ends = [
        example.text[link.source.start : link.source.end] for example in examples for link in example.links
    ]
    assert {"dog", "red apple", "orange fish"} <= {*ends}
    with pytest.warns(
        HeadscopeWarning, match="2 regions left out"
    ):  # of the leftmost and the rightmost tulip
        found = hs.links(llava, corpus)
    assert (int(found["n"][0]), json.loads(found.attrs["meta"])["clusters"]) == (len(ends), "documents")
    alone = hs.corpora.from_class(corpus)
    assert [len(example.links or ()) for example in alone] == [1] * len(examples)
    looked = hs.links(vit, alone, least=1)
    assert int(looked["n"][0]) == len(examples)


def test_a_model_that_writes_what_it_sees_is_asked_in_its_cross_attention() -> None:
    """Words of a text are of its decoder, regions of its encoder; of a picture alone the encoder's heads are measured."""
    model = vision("TrOCR")
    draw = np.random.default_rng(5)
    spots = regions(4, (80, 60))
    texts = ["the ball is here", "a lamp and a cup", "the ball"]
    pictures = [draw.integers(0, 255, (60, 80, 3)).astype(np.uint8) for _ in texts]
    words = ["ball", "lamp", "the"]
    links = [
        [((text.index(word), text.index(word) + len(word)), spots[place])]
        for place, (text, word) in enumerate(zip(texts, words, strict=True))
    ]
    found = hs.links(model, hs.corpora.linked(texts, links, images=pictures), least=1, direction="row")
    each: list[Any] = []
    for picture, text, ((span, region),) in zip(pictures, texts, links, strict=True):
        cross: Any = hs.capture(model, image=picture, target=text)["cross"]
        source, _ = located(Span(*span), "characters", decoder_tokens(model, model.encode(text)))
        right, _ = located(region, "words", cross.key)
        patches = np.flatnonzero(np.isfinite(cross.key.boxes[:, 0])).tolist()
        flags = [patch in right for patch in patches]
        each.append(
            figures(
                np.array(cross.layers, np.float64), source.tolist(), flags, [[patch] for patch in patches]
            )
        )
    own = found.sel(label="link", direction="row")
    for theirs, mine in {"accuracy": "right", "mass": "mass", "rank": "rank"}.items():
        np.testing.assert_allclose(own[theirs], averages(each, mine), atol=2e-5, err_msg=theirs)
    alone = hs.corpora.linked([None] * 3, [[("cls", spots[0])]] * 3, images=pictures)
    encoder = hs.links(model, alone, least=1, direction="row")
    maps: Any = hs.capture(model, image=pictures[0], target="a")["encoder"]
    assert encoder["accuracy"].shape[2:] == np.array(maps.layers).shape[:2]


@pytest.mark.slow
@pytest.mark.parametrize("family", [family for family in READS if family != "CLIP"])
def test_every_family_that_reads_both_is_asked_of_words_and_regions(family: str) -> None:
    """A word is found wherever its processor puts the picture, and its figures are those of the maps of a capture."""
    model = vision(family)
    text, word = "Here the lamp is on a shelf.", "lamp"
    picture = np.random.default_rng(4).integers(0, 255, (56, 84, 3)).astype(np.uint8)
    spot = Region((30, 10, 60, 40))
    start = text.index(word)
    tokens = model.see(picture, text)
    source, said = located(Span(start, start + len(word)), "characters", tokens)
    assert said == ""
    assert "".join(tokens.texts[place] for place in source.tolist()).strip() == word
    assert "".join(tokens.texts) == text
    corpus = hs.corpora.linked([text], [[((start, start + len(word)), spot)]], images=[picture])
    found = hs.links(model, corpus, least=1, direction="row")
    parts: Any = hs.capture(model, text, image=picture)
    maps = next(part for part in parts.values() if part.query.ids is not None)
    right = {*located(spot, "words", maps.key)[0].tolist()}
    patches = np.flatnonzero(np.isfinite(maps.key.boxes[:, 0])).tolist()
    each = figures(
        np.array(maps.layers, np.float64),
        source.tolist(),
        [patch in right for patch in patches],
        [[patch] for patch in patches],
    )
    own = found.sel(label="link", direction="row")
    for theirs, mine in {"accuracy": "right", "mass": "mass", "rank": "rank"}.items():
        np.testing.assert_allclose(own[theirs], averages([each], mine), atol=2e-5, err_msg=theirs)
