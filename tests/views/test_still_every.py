"""What holds of stills of every picture: which keys of the state they heed, and how they fit on paper."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest

import headscope as hs
from headscope.views.explorer import Input
from headscope.views.still import DOTS, converted, inches
from tests.helpers import golden, heard_sample, seen_sample, talk_sample
from tests.helpers.media_sample import cameras, looking, series, video
from tests.helpers.stills import SMALLEST, Still, Stills, against_reversed
from tests.helpers.view_sample import pair, some

HEAD: dict[str, Any] = {"scale": "head", "layer": 1, "heads": [1]}
PICTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "grid": ("pair", {"scale": "model"}),
    "heat": ("pair", {"scale": "model", "draw": "heat"}),
    "head": ("pair", HEAD),
    "matrix": ("pair", {**HEAD, "picture": "matrix"}),
    "text": ("pair", {**HEAD, "picture": "text"}),
    "neuron": ("pair", {**HEAD, "scale": "neuron"}),
    "picture": ("seen", {**HEAD, "picture": "image"}),
    "sound": ("heard", {**HEAD, "picture": "image", "layer": 0, "heads": [0]}),
    "talk": ("talk", {**HEAD, "picture": "image", "heads": [0]}),
    "causal": ("causal", {**HEAD, "picture": "matrix"}),
    "frames": ("frames", {**HEAD, "picture": "image", "layer": 0, "heads": [0]}),
    "cameras": ("cameras", {**HEAD, "picture": "image"}),
    "video": ("video", {**HEAD, "picture": "image"}),
    "series": ("series", {**HEAD, "picture": "image"}),
}
"""Of which inputs each is, and what is open."""
MEDIA = {"cameras": cameras, "video": lambda: video(2), "series": series}
LINKS = [hs.Link(hs.Region((0, 0, 40, 40)), [hs.Region((0, 40, 40, 80), picture=2)])]
MORE: dict[str, dict[str, Any]] = {
    "both": {"side": "both"},
    "difference": {"side": "difference"},
    "first": {"layer": 0},
    "gradient": {"quantity": "gradient"},
    "hidden": {"special": False},
    "many": {"heads": [0, 1]},
    "measured": {"measure": "previous"},
    "pinned": {"pin": ("from", 2)},
    "pinned to": {"pin": ("to", 3)},
    "rollout": {"rollout": True},
    "sorted": {"measure": "previous", "sort": True},
    "time": {"time": 0.6},
    "values": {"values": True},
}

GRIDS = "grid, heat, grid+difference"
HEADS = "head, matrix, head+difference"
IMAGES = "picture+both, picture+many+both, picture+difference"
TABLE: tuple[tuple[str, Any, str, str], ...] = (
    ("aggregate", "layers", "head, head+many", "neuron"),
    ("aggregate", "max", "head+many", ""),
    ("aggregate", "mean", "head+many", "head"),
    ("ascending", True, "heat+sorted", "grid+measured"),
    ("between", (2, 5), f"{HEADS}, head+many, head+pinned, matrix+pinned, neuron, neuron+pinned, {GRIDS}", ""),
    ("draw", "heat", "grid", "head, neuron, picture"),
    ("draw", "lines", "heat", "grid+difference"),
    ("filter", "ab", f"{GRIDS}, {HEADS}, neuron", ""),
    ("gold", False, "grid, heat, head, head+many, matrix, head+both, neuron", "head+difference"),
    ("heads", [0, 2], "head, head+difference, neuron, sound", ""),
    ("heads", [2], "head, matrix, neuron, text, sound, grid", ""),
    ("input", 1, "heat, head, matrix, text, neuron", "head+difference, head+both"),
    ("layer", 0, f"{HEADS}, {IMAGES}, neuron, text, grid", ""),
    ("least", 0.15, "heat+measured", "grid"),
    ("measure", "entropy", GRIDS, "head, neuron, picture"),
    ("opacity", 0.3, IMAGES, ""),
    ("part", "cross", "grid, head", ""),
    ("picture", "matrix", f"head, head+difference, {IMAGES}, sound, talk", "grid, neuron"),
    ("pin", ("from", 5), f"{HEADS}, {IMAGES}, {GRIDS}, head+many, neuron, text, talk", ""),
    ("pin", ("to", 2), f"{HEADS}, {IMAGES}, {GRIDS}, head+many, neuron, text, talk", ""),
    ("quantity", "gradient", f"{GRIDS}, {HEADS}, head+many", "neuron"),
    ("queries", "patches", IMAGES, "picture+pinned"),
    ("renormalise", True, ", ".join(f"{name}+hidden" for name in f"{GRIDS}, {HEADS}, neuron".split(", ")), "head+gradient+hidden"),
    ("rollout", True, IMAGES, "head"),
    ("side", "both", "heat, head, matrix, neuron, picture", ""),
    ("side", "difference", "heat, head, matrix, picture", ""),
    ("sinks", False, f"{GRIDS}, {HEADS}", "neuron"),
    ("smooth", True, IMAGES, ""),
    ("sort", True, "heat+measured", "grid"),
    ("span", (1.0, 2.0), "sound", "head"),
    ("special", False, f"{GRIDS}, {HEADS}, {IMAGES}, neuron", ""),
    ("strip", "mean", IMAGES, ""),
    ("theme", "auto", "", "head"),
    ("theme", "dark", "grid, heat, head, matrix, text, neuron, picture, sound, talk", ""),
    ("theme", "light", "", "head"),
    ("threshold", 0.3, "head, head+many, head+difference+first", "grid, matrix, neuron, picture"),
    ("time", 0.6, "sound", "head"),
    ("top_k", 1, "head, head+many, head+difference", "matrix, picture"),
    ("unit", "words", f"{GRIDS}, {HEADS}, text, talk", ""),
    ("values", True, "neuron", "head"),
    ("zoom", (1, 3, 2, 4), "matrix, matrix+difference", "head"),
)  # fmt: skip
"""A key and a value, which pictures it changes, and which it does not, nor on the page."""


@functools.cache
def stills(inputs: str) -> Stills:
    if inputs in ("pair", "causal"):
        return Stills(pair() if inputs == "pair" else [Input({"self": some(causal=True)})])
    if inputs in MEDIA:
        return Stills(hs.view(looking(MEDIA[inputs](), 2), links=LINKS if inputs == "cameras" else None))
    made = {
        "seen": seen_sample.random_maps,
        "heard": heard_sample.cross,
        "frames": heard_sample.alike,
        "talk": lambda: talk_sample.planted(talk_sample.axis()),
    }
    return Stills(against_reversed(made[inputs]()))


def still(name: str, **more: Any) -> Still:
    """The still of a picture with some of `MORE`."""
    picture, *changes = name.split("+")
    inputs, state = PICTURES[picture]
    for change in changes:
        state = state | MORE[change]
    return stills(inputs)(state, **more)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "key", "value", "heeded"),
    [
        (name, key, value, heeded)
        for key, value, heeding, unheeding in TABLE
        for names, heeded in ((heeding, True), (unheeding, False))
        for name in names.split(", ")
        if name
    ],
)
def test_a_picture_heeds_what_the_page_does(name: str, key: str, value: Any, heeded: bool) -> None:
    assert (still(name).picture != still(name, **{key: value}).picture) == heeded


@pytest.mark.slow
@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("name", [
    "grid", "heat+sorted", "heat+both", "head", "head+many", "head+both", "head+difference", "head+pinned to",
    "matrix", "text", "neuron", "neuron+values", "neuron+values+both", "picture", "picture+many",
    "picture+many+rollout", "picture+difference", "sound+pinned+time", "sound+many", "sound+both", "sound+difference",
    "talk+pinned to", "talk+both",
])  # fmt: skip
def test_it_fits_its_paper_and_can_be_read(name: str, width: str) -> None:
    found = still(name, theme="dark", width=width, title="What it shows")
    assert float(found.root.attrib["width"]) == round(inches(width) * DOTS)
    assert found.smallest() >= SMALLEST
    assert "What it shows" in found.said
    assert 'fill="#0f1214"' in found.svg
    assert found.outside() == []
    assert found.over_one_another() == []


@pytest.mark.slow
def test_what_stills_say() -> None:
    """Of golden/stills.txt: titles, captions, tokens and numbers in the order in which they are drawn."""
    golden.check("stills.txt", ">>> ", lambda call: eval(call, {"still": still}).said)


def test_how_media_are_drawn() -> None:
    """Of golden/media.txt: two pictures with a gold link, two steps of a video, a series."""
    golden.check("media.txt", ">>> ", lambda call: still(call, width="column").lines)


def test_stills_in_one_page_share_no_names() -> None:
    """Of what is defined once and used by name, such as a photo or an edge."""
    known: set[str] = set()
    for name in (
        "head", "head+many", "matrix", "picture", "picture+many", "picture+difference", "sound", "talk",
    ):  # fmt: skip
        svg = still(name).svg
        own = re.findall(r' id="([^"]+)"', svg)
        assert set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg)) == set(own)
        assert len(own) == len(set(own))
        assert known.isdisjoint(own)
        known.update(own)
    assert len(known) > 8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["heat", "head", "picture", "sound"])
def test_it_is_written_as_each_kind_of_file(name: str) -> None:
    assert converted(still(name).svg, "pdf").startswith(b"%PDF")
    assert converted(still(name).svg, "png", 96).startswith(b"\x89PNG")


@pytest.mark.parametrize("place", [0, 1])
def test_an_input_that_lacks_the_matrix_says_so_in_its_panel(place: int) -> None:
    maps = some()
    given = Input({"self": maps}, label="given", matrices={"gradient": {"self": maps.layers}})
    two = Stills(
        [given, Input({"self": maps}, label="maps")][:: 1 if place else -1], MORE["gradient"] | MORE["both"]
    )
    lacks = f"Input {place + 1} has no gradient: it came as maps, and a gradient needs a model or to be given with them."
    heat, head = (two({**PICTURES[name][1], "input": 1 - place}) for name in ("heat", "head"))
    assert lacks in heat.said
    assert len(heat.pixels) == 7  # the other's six heads and their legend
    assert lacks in head.said
    assert head.texts.count("FROM") == 1
    assert {"1 · ", "2 · "} <= set(re.findall(r"[12] · (?=given|maps)", head.said))
