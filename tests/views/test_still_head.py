"""Stills of a head's lines and matrix: every key of the state, what they say, and how they fit on paper."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps, wrap
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.views import highlights as telling
from headscope.views.explorer import Input, explorer_payload
from headscope.views.gold import of_parts
from headscope.views.paper import inches
from headscope.views.still import DOTS, drawn
from tests.helpers.talk_sample import axis as talk
from tests.helpers.view_sample import PIECES, some, tokens

HEAD = {"scale": "head", "layer": 1, "heads": [1]}
MANY = {**HEAD, "heads": [0, 1]}
MATRIX = {**HEAD, "picture": "matrix"}
BOTH = {**HEAD, "side": "both"}
DIFFERENCE = {**HEAD, "side": "difference"}
HIDDEN = {"special": False}
SMALLEST = 7 * DOTS / 72
"""Pixels of the smallest letters that paper has: 7 pt."""


def both() -> list[Input]:
    found: list[Input] = []
    for seed in (0, 3):
        maps = some(heads=4, seed=seed)
        crossed = some(heads=4, seed=seed + 1)
        cross = AttentionMaps(crossed.layers, tokens(), tokens(), kind="cross", meta=maps.meta)
        found.append(
            Input(
                {"self": maps, "cross": cross},
                label=f"input {seed}",
                matrices={"gradient": {"self": [layer - 0.2 for layer in maps.layers]}},
                notes={"gradient": "the loss"},
                links=of_parts([(1, 3), (3, 0)], {"self": maps}),
            )
        )
    return found


@cache
def of_both() -> tuple[Any, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(telling, "SINK", 0.2)  # all special tokens of these inputs
        return explorer_payload(both())


def svg(state: Mapping[str, Any], inputs: list[Input] | None = None, **options: Any) -> str:
    payload, blobs = explorer_payload(inputs) if inputs else of_both()
    return drawn({**payload, "state": dict(state)}, blobs, **options)


@cache
def picture(state: str) -> str:
    """A picture without the lines below that say how it was made."""
    return re.sub(r'<text[^>]*font-size="10px"[^>]*>[^<]*</text>', "", svg(ast.literal_eval(state)))


def said(state: Mapping[str, Any], inputs: list[Input] | None = None, **options: Any) -> list[str]:
    root = ElementTree.fromstring(svg(state, inputs, **options))
    return ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]


def sentence(state: Mapping[str, Any], inputs: list[Input] | None = None, **options: Any) -> str:
    return " ".join(said(state, inputs, **options))


HEEDED: tuple[tuple[dict[str, Any], str, Any], ...] = (
    (HEAD, "part", "cross"),
    (HEAD, "picture", "matrix"),
    (DIFFERENCE, "picture", "matrix"),
    *((state, "layer", 0) for state in (HEAD, MATRIX, DIFFERENCE)),
    *((state, "heads", [2]) for state in (HEAD, MATRIX)),
    *((state, "heads", [0, 2]) for state in (HEAD, DIFFERENCE)),
    *((state, "filter", "ab") for state in (HEAD, MATRIX, DIFFERENCE)),
    *((state, "special", False) for state in (HEAD, MATRIX, DIFFERENCE)),
    *((state, "sinks", False) for state in (HEAD, MATRIX, DIFFERENCE)),
    *(({**state, **HIDDEN}, "renormalise", True) for state in (HEAD, MATRIX, DIFFERENCE)),
    *((state, "unit", "words") for state in (HEAD, MATRIX, DIFFERENCE)),
    *((state, "threshold", 0.3) for state in (HEAD, MANY, {**DIFFERENCE, "layer": 0})),
    *((state, "top_k", 1) for state in (HEAD, MANY, DIFFERENCE)),
    *((MANY, "aggregate", how) for how in ("mean", "max", "layers")),
    (HEAD, "aggregate", "layers"),
    *((state, "quantity", "gradient") for state in (HEAD, MANY, MATRIX, DIFFERENCE)),
    *((state, "pin", ("from", 2)) for state in (HEAD, MANY, MATRIX, DIFFERENCE)),
    *((state, "pin", ("to", 2)) for state in (HEAD, MANY, MATRIX, DIFFERENCE)),
    *((state, "between", (2, 5)) for state in (HEAD, MANY, MATRIX, DIFFERENCE)),
    *(({**state, "pin": ("from", 2)}, "between", (2, 5)) for state in (HEAD, MATRIX)),
    *((state, "zoom", (1, 3, 2, 4)) for state in (MATRIX, {**MATRIX, "side": "difference"})),
    *((state, "input", 1) for state in (HEAD, MATRIX)),
    *((state, "side", side) for state in (HEAD, MATRIX) for side in ("both", "difference")),
    *((state, "gold", False) for state in (HEAD, MANY, MATRIX, BOTH)),
    *((state, "theme", "dark") for state in (HEAD, MATRIX)),
)
"""A state, a key and a value that changes the picture."""

UNHEEDED: tuple[tuple[dict[str, Any], str, Any], ...] = (
    ({**HEAD, "quantity": "gradient", **HIDDEN}, "renormalise", True),
    (HEAD, "draw", "heat"),
    (HEAD, "measure", "entropy"),
    (MATRIX, "threshold", 0.3),
    (MATRIX, "top_k", 1),
    (HEAD, "aggregate", "mean"),
    (HEAD, "zoom", (1, 3, 2, 4)),
    (DIFFERENCE, "input", 1),
    (BOTH, "input", 1),
    (DIFFERENCE, "gold", False),
    (HEAD, "values", True),
    (HEAD, "theme", "light"),
    (HEAD, "theme", "auto"),
)
"""A state, a key and a value that the page does not show either."""


@pytest.mark.parametrize(("state", "key", "value"), HEEDED)
def test_a_picture_heeds(state: dict[str, Any], key: str, value: Any) -> None:
    assert picture(repr(state)) != picture(repr({**state, key: value}))


@pytest.mark.parametrize(("state", "key", "value"), UNHEEDED)
def test_a_picture_does_not_heed_what_the_page_does_not(state: dict[str, Any], key: str, value: Any) -> None:
    assert picture(repr(state)) == picture(repr({**state, key: value}))


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("state", [HEAD, MANY, MATRIX, BOTH, DIFFERENCE, {**HEAD, "pin": ("to", 3)}])
def test_it_fits_its_paper_and_can_be_read(state: dict[str, Any], width: str) -> None:
    text = svg({**state, "theme": "dark"}, width=width, title="What it shows")
    root = ElementTree.fromstring(text)
    assert float(root.attrib["width"]) == round(inches(width) * DOTS)
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)px"', text)]
    assert min(sizes) >= SMALLEST
    assert "What it shows" in "".join(root.itertext())
    assert 'fill="#0f1214"' in text
    assert text == svg({**state, "theme": "dark"}, width=width, title="What it shows")


class TestTokens:
    def test_text_stays_text(self) -> None:
        found = said(HEAD)
        for piece in PIECES:
            assert found.count(piece) == 2 * PIECES.count(piece)
        odd = ["$x_1$", "\\frac", "</script>", "\u200b", "a\tb", "\x01", "👩\u200d👧", "\u0301", "<0xE2>"]
        one = Input({"self": wrap(np.full((1, 1, 9, 9), 1 / 9), odd)})
        shown = ["$x_1$", "\\frac", "</script>", "�", "a⇥b", "␁", "👩\u200d👧", "◌\u0301", "E2‿"]
        assert [text for text in said({"scale": "head"}, [one]) if text in shown] == shown * 2

    def test_a_pin_names_a_piece_and_marks_its_word(self) -> None:
        text = svg({**HEAD, "unit": "words", "pin": ("from", 2)})
        assert PIECES[2] == "##s"
        assert "in full the lines from “its”, the others faint" in " ".join(
            said({**HEAD, "unit": "words", "pin": ("from", 2)})
        )
        assert re.search(r'fill="#0e7774"/><text[^>]* fill="#ffffff">its<', text)
        assert "faint" not in sentence({**HEAD, **HIDDEN, "pin": ("from", 0)})  # of what is hidden nothing is

    def test_a_pinned_token_shows_lines_below_the_threshold(self) -> None:
        plain = {**HEAD, "threshold": 1.0, "gold": False}
        assert svg(plain).count("<path") < svg({**plain, "pin": ("from", 2)}).count("<path")

    def test_both_texts_have_rails(self) -> None:
        assert [text for text in said(HEAD) if text in "AB"] == ["A", "B"] * 2
        one = Input({"self": wrap(np.full((1, 1, 2, 2), 0.5), ["a", "b"])})
        assert not {"A", "B"} & set(said({"scale": "head"}, [one]))

    @pytest.mark.parametrize("picture", ["lines", "matrix"])
    def test_a_line_stands_where_the_prompt_ends(self, picture: str) -> None:
        def lines(generated: int) -> int:
            axis = Tokens(list("abcd"), classes={"generated": np.arange(4) >= 4 - generated})
            maps = AttentionMaps(
                [np.tril(np.ones((1, 4, 4))) / np.arange(1, 5)[:, None]], axis, axis, causal=True
            )
            return svg({"scale": "head", "picture": picture}, [Input({"self": maps})]).count("<rect")

        assert lines(2) == lines(0) + 2

    def test_what_the_other_input_lacks_is_underlined(self) -> None:
        one, two = (
            Input({"self": wrap(np.full((1, 1, 2, 2), 0.5), pieces)}) for pieces in (["a", "b"], ["a", "c"])
        )
        text = svg({"scale": "head", "side": "both"}, [one, two])
        bold = re.findall(
            r'13px" font-weight="600"[^>]*>([^<]*)</text><rect[^>]* height="1.5" fill="#0e7774"', text
        )
        assert bold == ["b", "b", "c", "c"]

    def test_pictures_within_a_text_are_seen(self) -> None:
        axis = talk(2)
        count = len(axis)
        maps = AttentionMaps(
            [np.tril(np.ones((1, count, count))) / np.arange(1, count + 1)[:, None]], axis, axis, causal=True
        )
        found = svg({"scale": "head"}, [Input({"self": maps})])
        assert found.count("<use") == 4  # two on each side
        assert found.count("data:image") == found.count("<image ") == 1
        assert sentence({"scale": "head"}, [Input({"self": maps})]).count("picture 1") == 2
        assert svg({"scale": "head", "unfolded": [0]}, [Input({"self": maps})]).count("<use") == 2 * (6 + 1)


class TestLines:
    def test_even_weights_are_drawn_evenly(self) -> None:
        pieces = [f"patch {place}" for place in range(100)]
        one = [Input({"self": wrap(np.full((1, 1, 100, 100), 0.01), pieces)})]
        text = svg({"scale": "head"}, one)
        assert "The 1,200 strongest of 10,000 lines of at least an even share, 1/100 = 0.01." in sentence(
            {"scale": "head"}, one
        )
        starts = re.findall(r'<path d="M[\d.]+ ([\d.]+)C', text)
        assert (len(starts), {starts.count(each) for each in set(starts)}) == (1200, {12})
        asked = {"scale": "head", "threshold": 0.001}
        assert "The 4,000 strongest of 10,000 lines of at least 0.001." in sentence(asked, one)

    def test_a_long_input_has_all_its_tokens(self) -> None:
        pieces = [f"t{place}" for place in range(300)]
        one = [Input({"self": wrap(np.eye(300)[None, None] * 0.9 + 0.1 / 300, pieces)})]
        found = said({"scale": "head", "pin": ("from", 100)}, one)
        assert all(found.count(piece) == 2 for piece in pieces)
        assert "one of" not in " ".join(found)
        assert "One of 14 tokens is named." in sentence(
            {"scale": "head", "picture": "matrix"}, one, width="column"
        )

    def test_the_numbers_are_those_of_the_maps(self) -> None:
        found = said({**HEAD, "pin": ("from", 3)})
        for weight in both()[0].parts["self"].layers[1][1][3].tolist():
            assert weight < 0.0055 or f"{weight:.2f}".removeprefix("0") in found
        tiny = [layer * 1e-3 for layer in some().layers]
        small = Input({"self": some()}, matrices={"gradient": {"self": tiny}})
        texts = said({**HEAD, "quantity": "gradient", "pin": ("from", 2)}, [small])
        largest = float(tiny[1][1][2].max())
        assert any(abs(float(text) / largest - 1) < 0.1 for text in texts if re.fullmatch(r"0\.0\d+", text))

    def test_strips_of_several_heads_are_named(self) -> None:
        assert {"0", "1"} <= set(said(MANY))
        assert "heads 0–1" in sentence(MANY)
        assert "heads 0, 2–3" in sentence({**HEAD, "heads": [3, 0, 2], "aggregate": "mean"})
        assert "Layer 1, 3 heads, mean" in sentence({**HEAD, "heads": [3, 0, 2], "aggregate": "mean"})


class TestCaptions:
    @pytest.mark.parametrize(
        ("weight", "expected"),
        [
            (1.0, "sharp, entropy 0.0 nats on this input"),
            (1 / 16, "spread out, entropy 2.8 nats on this input"),
            (0.0, "switched off: its weights are 0"),
        ],
    )
    def test_a_head_is_sharp_or_spread_out_by_its_entropy_beside_that_of_even_attention(
        self, weight: float, expected: str
    ) -> None:
        row = np.full(16, (1 - weight) / 15 if weight else 0.0)
        row[5] = weight
        keys = [f"k{place}" for place in range(16)]
        maps = wrap(np.tile(row, (1, 1, 3, 1)), list("abc"), keys, kind="cross", partial=not weight)
        assert expected in sentence({"scale": "head"}, [Input({"cross": maps})])

    @pytest.mark.parametrize(
        ("state", "parts"),
        [
            (HEAD, ["Layer 1, head 1", "a/small-model: input 0 · 8 tokens · raw weights · values to ±0.004"]),
            (
                {**HEAD, "unit": "words", "filter": "ab", "renormalise": True},
                [
                    "2 words · to a word the sum over its pieces, from it their mean · A looks at B · rows renormalised over what is shown",
                    "the mean of its row as it is shown",
                ],
            ),
            (
                {**MANY, "aggregate": "max", "filter": "ab", **HIDDEN, "top_k": 2},
                [
                    "Layer 1, 2 heads, max",
                    "A looks at B · special tokens hidden · raw weights: what is hidden keeps its share",
                    "the 2 strongest of each token",
                ],
            ),
            (
                {**HEAD, "quantity": "gradient"},
                [
                    "gradient of the loss in place of the weights",
                    "the mean size of all pairs · blue positive, orange negative",
                ],
            ),
            ({**HEAD, "quantity": "gradient", "threshold": 0.5}, ["lines of at least 0.5 of the largest"]),
            ({**MATRIX, "quantity": "gradient"}, ["gradient of the loss"]),
            (
                {**MATRIX, "zoom": (1, 3, 2, 4), "between": (2, 3)},
                ["Rows 2–4 of 8, columns 3–6 of 8 · framed: from “##s” to “cat”."],
            ),
            ({**HEAD, "between": (2, 3)}, ["in full the line from “##s” to “cat”, the others faint"]),
            ({**HEAD, "pin": ("to", 3)}, ["in full the lines to “cat”, the others faint", "WEIGHT"]),
            (DIFFERENCE, ["input 0 − input 3", "RECEIVED"]),
            ({**DIFFERENCE, "pin": ("from", 2)}, ["DIFFERENCE"]),
            (BOTH, ["1 · input 0", "2 · input 3", "a/small-model: input 0; input 3"]),
        ],
    )
    def test_they_say_what_is_shown(self, state: dict[str, Any], parts: list[str]) -> None:
        found = re.sub(r"\s+", " ", sentence(state, width=12))
        assert [part for part in parts if part not in found] == []

    def test_a_matrix_of_several_heads_is_of_the_last(self) -> None:
        state = {**MATRIX, "heads": [0, 2]}
        assert "Layer 1, head 2" in sentence(state)
        assert "heads" not in sentence(state)
        alone = {**state, "heads": [2]}
        assert [text for text in said(state) if "right" in text] == [
            text for text in said(alone) if "right" in text
        ]

    def test_a_matrix_says_what_is_grey(self) -> None:
        grey = "Grey: a query cannot see the key."
        assert grey in sentence(MATRIX, [Input({"self": some(causal=True)})])
        assert grey not in sentence(MATRIX)


class TestTwo:
    @pytest.mark.parametrize(("width", "stacked"), [("column", True), ("page", False)])
    def test_in_a_column_they_stand_above_each_other(self, width: str, stacked: bool) -> None:
        text = svg(BOTH, width=width)
        (one,), (two,) = (
            re.findall(rf"<g transform=\"translate\(([\d.]+) ([\d.]+)\)\"><g [^>]*><text[^>]*>{name}<", text)
            for name in ("1 · input 0", "2 · input 3")
        )
        assert (one[0] == two[0], one[1] == two[1]) == (stacked, not stacked)

    @pytest.mark.parametrize("place", [0, 1])
    def test_one_that_lacks_the_matrix_says_so_in_its_panel(self, place: int) -> None:
        maps = some()
        given = Input({"self": maps}, label="given", matrices={"gradient": {"self": maps.layers}})
        two = [given, Input({"self": maps}, label="maps")][:: 1 if place else -1]
        found = sentence({**BOTH, "quantity": "gradient"}, two)
        assert (
            f"Input {place + 1} has no gradient: it came as maps, and a gradient needs a model or to be given with them."
            in found
        )
        assert found.count("FROM") == 1
        assert {"1 · ", "2 · "} <= set(re.findall(r"[12] · (?=given|maps)", found))

    def test_signs_have_their_colours(self) -> None:
        strokes = set(re.findall(r'stroke="(#\w+)"', svg(DIFFERENCE)))
        assert strokes == {"#3579bf", "#cf6a12"}


class TestGold:
    @pytest.mark.parametrize("state", [HEAD, MANY, MATRIX, {**MATRIX, "zoom": (0, 4, 0, 4)}])
    def test_links_are_drawn_and_counted(self, state: dict[str, Any]) -> None:
        text, without = svg(state), svg({**state, "gold": False})
        assert "2 GOLD LINKS" in text
        assert "GOLD" not in without
        inks = ("#6a3fc4", "#c2500a")
        assert any(ink in text for ink in inks)
        assert not any(ink in without for ink in inks)

    def test_those_of_other_tokens_give_way_to_a_pinned_one(self) -> None:
        dashes = [
            svg({**HEAD, "pin": ("from", place)}).count("#6a3fc4")
            + svg({**HEAD, "pin": ("from", place)}).count("#c2500a")
            for place in (1, 2)
        ]
        assert dashes[0] > dashes[1]


@pytest.mark.parametrize("width", ["x", 0.5, 41])
def test_a_width_that_no_paper_has(width: Any) -> None:
    with pytest.raises(InputError, match=r"width: expected 'column', 'page' or inches from 1 to 40, found"):
        svg(HEAD, width=width)
