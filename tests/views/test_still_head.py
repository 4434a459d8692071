"""Stills of a head's lines and matrix: tokens, lines, what they say, and gold links."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps, wrap
from headscope.core.tokens import Tokens
from headscope.views.explorer import Input
from tests.helpers.stills import Still, Stills
from tests.helpers.talk_sample import axis as talk
from tests.helpers.view_sample import PIECES, pair, some

ONE = {"scale": "head"}
HEAD = {**ONE, "layer": 1, "heads": [1]}
MANY = {**HEAD, "heads": [0, 1]}
MATRIX = {**HEAD, "picture": "matrix"}
BOTH = {**HEAD, "side": "both"}
DIFFERENCE = {**HEAD, "side": "difference"}
HIDDEN = {"special": False}


@cache
def two() -> Stills:
    return Stills(pair())


def still(state: dict[str, Any], inputs: list[Input] | None = None, **options: Any) -> Still:
    return (Stills(inputs) if inputs else two())(state, **options)


class TestTokens:
    def test_text_stays_text(self) -> None:
        found = still(HEAD).texts
        for piece in PIECES:
            assert found.count(piece) == 2 * PIECES.count(piece)
        odd = ["$x_1$", "\\frac", "</script>", "\u200b", "a\tb", "\x01", "👩\u200d👧", "\u0301", "<0xE2>"]
        one = Input({"self": wrap(np.full((1, 1, 9, 9), 1 / 9), odd)})
        shown = ["$x_1$", "\\frac", "</script>", "�", "a⇥b", "␁", "👩\u200d👧", "◌\u0301", "E2‿"]
        assert [text for text in still(ONE, [one]).texts if text in shown] == shown * 2

    def test_a_pin_names_a_piece_and_marks_its_word(self) -> None:
        text = still({**HEAD, "unit": "words", "pin": ("from", 2)}).svg
        assert PIECES[2] == "##s"
        assert "in full the lines from “its”, the others faint" in " ".join(
            still({**HEAD, "unit": "words", "pin": ("from", 2)}).texts
        )
        assert re.search(r'fill="#0e7774"/><text[^>]* fill="#ffffff">its<', text)
        assert (
            "faint" not in still({**HEAD, **HIDDEN, "pin": ("from", 0)}).said
        )  # of what is hidden nothing is

    def test_a_share_that_is_small_beside_an_even_one_has_no_number(self) -> None:
        few = wrap(np.tile([0.4, 0.004, 0.596], (1, 1, 3, 1)), ["a", "b", "c"])
        texts = still({**ONE, "pin": ("from", 0)}, [Input({"self": few})]).texts
        assert [text for text in texts if re.fullmatch(r"\.\d+", text)] == [".40", ".60"]

    def test_a_pinned_token_shows_lines_below_the_threshold(self) -> None:
        plain = {**HEAD, "threshold": 1.0, "gold": False}
        assert still(plain).svg.count("<path") < still({**plain, "pin": ("from", 2)}).svg.count("<path")

    def test_of_many_tokens_the_lines_of_the_pinned_one_alone_are_drawn(self) -> None:
        """As on the screen: at rest none, with a pin those of its row, and what is asked for by a threshold."""
        weights = np.random.default_rng(0).dirichlet(np.full(70, 0.1), (1, 1, 70))
        long = Stills([Input({"self": wrap(weights, [f"t{place}" for place in range(70)])})])
        lines = {**ONE, "picture": "lines", "gold": False}
        pinned = long({**lines, "pin": ("from", 3)})
        assert long(lines).svg.count("<path") == 0
        assert "Of so many tokens no lines are drawn" in " ".join(long(lines).texts)
        assert 0 < pinned.svg.count("<path") <= 70
        assert "Lines from “t3”." in " ".join(pinned.texts)
        assert long({**lines, "threshold": 0.05}).svg.count("<path") > 70

    @pytest.mark.parametrize("picture", ["lines", "matrix"])
    def test_a_line_stands_where_the_prompt_ends(self, picture: str) -> None:
        def lines(generated: int) -> int:
            axis = Tokens(list("abcd"), classes={"generated": np.arange(4) >= 4 - generated})
            maps = AttentionMaps(
                [np.tril(np.ones((1, 4, 4))) / np.arange(1, 5)[:, None]], axis, axis, causal=True
            )
            return still({"scale": "head", "picture": picture}, [Input({"self": maps})]).svg.count("<rect")

        assert lines(2) == lines(0) + 2

    def test_what_the_other_input_lacks_is_underlined(self) -> None:
        one, two = (
            Input({"self": wrap(np.full((1, 1, 2, 2), 0.5), pieces)}) for pieces in (["a", "b"], ["a", "c"])
        )
        text = still({"scale": "head", "side": "both"}, [one, two]).svg
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
        found = still(ONE, [Input({"self": maps})]).svg
        assert found.count("<use") == 4  # two on each side
        assert found.count("data:image") == found.count("<image ") == 1
        assert still(ONE, [Input({"self": maps})]).said.count("picture 1") == 2
        assert still({"scale": "head", "unfolded": [0]}, [Input({"self": maps})]).svg.count("<use") == 2 * (
            6 + 1
        )


class TestLines:
    def test_even_weights_are_drawn_evenly(self) -> None:
        pieces = [f"patch {place}" for place in range(60)]
        one = [Input({"self": wrap(np.full((1, 1, 60, 60), 1 / 60), pieces)})]
        text = still(ONE, one).svg
        told = still(ONE, one).said
        assert "The 720 strongest of 3,600 lines of at least an even share, 1/60 = 0.017." in told
        starts = re.findall(r'<path d="M[\d.]+ ([\d.]+)C', text)
        assert (len(starts), {starts.count(each) for each in set(starts)}) == (720, {12})
        asked = {"scale": "head", "threshold": 0.001}
        many = [Input({"self": wrap(np.full((1, 1, 100, 100), 0.01), [*pieces, *pieces[:40]])})]
        assert "The 4,000 strongest of 10,000 lines of at least 0.001." in still(asked, many).said

    def test_a_long_input_has_all_its_tokens(self) -> None:
        pieces = [f"t{place}" for place in range(300)]
        one = [Input({"self": wrap(np.eye(300)[None, None] * 0.9 + 0.1 / 300, pieces)})]
        found = still({"scale": "head", "pin": ("from", 100)}, one).texts
        assert all(found.count(piece) == 2 for piece in pieces)
        assert "one of" not in " ".join(found)
        assert "One of 14 tokens is named." in still({**ONE, "picture": "matrix"}, one, width="column").said

    def test_the_numbers_are_those_of_the_maps(self) -> None:
        found = still({**HEAD, "pin": ("from", 3)}).texts
        for weight in pair()[0].parts["self"].layers[1][1][3].tolist():
            assert weight < 0.0055 or f"{weight:.2f}".removeprefix("0") in found
        tiny = [layer * 1e-3 for layer in some().layers]
        small = Input({"self": some()}, matrices={"gradient": {"self": tiny}})
        texts = still({**HEAD, "quantity": "gradient", "pin": ("from", 2)}, [small]).texts
        largest = float(tiny[1][1][2].max())
        assert any(abs(float(text) / largest - 1) < 0.1 for text in texts if re.fullmatch(r"0\.0\d+", text))

    def test_small_numbers_with_a_sign_have_room_beside_their_bars(self) -> None:
        tiny = [(layer - 0.2) * 1e-3 for layer in some().layers]
        small = Input({"self": some()}, matrices={"gradient": {"self": tiny}})
        found = still({**HEAD, "quantity": "gradient"}, [small])
        numbers = [
            (each.x + each.at("x"), text)
            for each in found.of("text")
            if re.fullmatch(r"−?0\.000\d+", text := "".join(each.element.itertext()))
        ]
        assert len({text for _, text in numbers}) > 2
        edge = float(found.root.get("width", "0")) - 16  # of the column of the texts
        assert [text for x, text in numbers if x + 6.5 * len(text) > edge] == []


class TestCaptions:
    @pytest.mark.parametrize(
        ("weight", "expected"),
        [
            (1.0, "L0H0 gives the most to “k5”, 100% on average."),
            (1 / 16, "L0H0 looks at most tokens alike."),
            (0.0, "L0H0 is switched off: its weights are 0."),
        ],
    )
    def test_a_head_without_a_link_is_said_by_what_it_gives_most_to(
        self, weight: float, expected: str
    ) -> None:
        row = np.full(16, (1 - weight) / 15 if weight else 0.0)
        row[5] = weight
        keys = [f"k{place}" for place in range(16)]
        maps = wrap(np.tile(row, (1, 1, 3, 1)), list("abc"), keys, kind="cross", partial=not weight)
        assert expected in still(ONE, [Input({"cross": maps})]).said


class TestTwo:
    @pytest.mark.parametrize(("width", "stacked"), [("column", True), ("page", False)])
    def test_in_a_column_they_stand_above_each_other(self, width: str, stacked: bool) -> None:
        text = still(BOTH, width=width).svg
        (one,), (two,) = (
            re.findall(rf"<g transform=\"translate\(([\d.]+) ([\d.]+)\)\"><g [^>]*><text[^>]*>{name}<", text)
            for name in ("1 · input 0", "2 · input 3")
        )
        assert (one[0] == two[0], one[1] == two[1]) == (stacked, not stacked)

    def test_signs_have_their_colours(self) -> None:
        strokes = set(re.findall(r'stroke="(#\w+)"', still(DIFFERENCE).svg))
        assert strokes == {"#3579bf", "#cf6a12"}


class TestGold:
    def test_links_are_drawn_and_counted(self) -> None:
        for state in (HEAD, MANY, {**MATRIX, "zoom": (0, 4, 0, 4)}):
            text, without = still(state).svg, still({**state, "gold": False}).svg
            assert "2 GOLD LINKS" in text
            assert "GOLD" not in without
            assert re.search("#6a3fc4|#c2500a", text)
            assert not re.search("#6a3fc4|#c2500a", without)

    def test_those_of_other_tokens_give_way_to_a_pinned_one(self) -> None:
        dashes = [
            still({**HEAD, "pin": ("from", place)}).svg.count("#6a3fc4")
            + still({**HEAD, "pin": ("from", place)}).svg.count("#c2500a")
            for place in (1, 2)
        ]
        assert dashes[0] > dashes[1]
