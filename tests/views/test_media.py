"""Views of several media: what each is called, what is said of it, and how each is drawn."""

from __future__ import annotations

import re

import numpy as np
import pytest

import headscope as hs
from headscope.errors import InputError
from headscope.views import fold
from headscope.views.highlights import part_of
from headscope.views.inputs import in_words
from tests.helpers.media_sample import cameras, kmers, looking, picture, robot, series, video
from tests.helpers.stills import Stills
from tests.helpers.video_models import watching

pytest.importorskip("PIL.Image")

HEAD = {"scale": "head", "layer": 1, "heads": [1], "picture": "image"}


class TestNames:
    def test_each_medium_within_a_text_is_a_run(self) -> None:
        axis = robot()
        assert fold.pictures(axis) == [(0, 4), (4, 8)]
        assert [fold.name(axis, place) for place in range(2)] == ["camera base", "camera wrist"]

    def test_what_ends_a_row_of_patches_is_within_their_picture(self) -> None:
        places = [
            [0, 0, 0, 40, 40],
            [0, 40, 0, 80, 40],
            [np.nan] * 5,
            [0, 0, 40, 80, 80],
            [np.nan] * 5,
            [np.nan] * 5,
        ]
        pieces = ["patch[0,0]", "patch[0,1]", "newline", "patch[1,0]", "newline", "what"]
        axis = hs.Tokens(pieces, media=[picture()], places=np.array(places))
        assert len(fold.pictures(axis)) == 2
        image = np.arange(6) < 5
        assert fold.pictures(axis.with_classes(image=image)) == [(0, 5)]
        assert fold.within(axis.with_classes(image=image)).tolist() == image.tolist()
        assert axis.medium.tolist() == [0, 0, -1, 0, -1, -1]

    def test_media_without_names_have_numbers_and_frames(self) -> None:
        seen = [picture(), picture(), picture("", (2, 4)), picture("", (4, 5))]
        axis = hs.Axis(
            {**{f"see {at}": hs.Grid(1, 2, picture=one) for at, one in enumerate(seen)}, "text": ["a"]}
        )
        names = [fold.name(axis, place) for place in range(4)]
        assert names == ["picture 1", "picture 2", "frames 2–3", "frame 4"]
        info = hs.view(looking(axis, 0)).payload["inputs"][0]["picture"]["media"]
        assert [one["name"] for one in info] == names

    def test_one_series_or_sequence_has_the_name_of_its_kind(self) -> None:
        for block, name in (
            (series(), "series"),
            (kmers(), "letters"),
            (hs.Grid(1, 1, picture=picture("x")), "picture"),
        ):
            assert fold.name(hs.Axis({"it": block, "text": ["a"]}), 0) == name

    @pytest.mark.parametrize(
        ("axis", "label"),
        [
            (cameras(), "camera base, camera wrist"),
            (video(), "a video of 4 steps"),
            (kmers(), "chr1"),
            (series(), "a series"),
            (robot(), "pick it up actions[0] actions[1]"),
            (
                hs.Axis({f"tile {at}": hs.Grid(1, 1, picture=picture(str(at))) for at in range(9)}),
                "9 pictures",
            ),
        ],
    )
    def test_an_input_is_called_by_its_media(self, axis: hs.Tokens, label: str) -> None:
        assert in_words(axis) == label


class TestParts:
    def test_of_media_that_a_part_has_none_of_it_says_nothing(self) -> None:
        """As of a model that looks at pictures one by one."""
        model, frames = watching("LLaVA"), np.random.default_rng(1).integers(0, 255, (2, 60, 90, 3), np.uint8)
        shown = hs.view(model, "What?", image=list(frames))
        (one,) = shown.payload["inputs"]
        assert one["label"] == "picture 1, picture 2"
        assert one["parts"][0]["key"]["pieces"][-1] == "picture\N{NO-BREAK SPACE}1:patch[3,3]"
        found = Stills(shown, {**HEAD, "part": "picture 1"})()
        assert "of picture 1 " in found.said
        assert "undefined" not in found.said
        assert "Grey: what the model does not see here" in found.said

    def test_of_several_media_a_part_is_one_of_them(self) -> None:
        assert part_of(robot()).tolist() == [0] * 4 + [1] * 4 + [-1] * 5

    def test_of_a_series_or_a_sequence_it_is_a_tenth(self) -> None:
        assert part_of(series()).tolist() == [1, 3, 6, 8] * 2
        assert part_of(kmers()).tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


class TestState:
    def test_one_of_the_media_can_be_asked_for(self) -> None:
        assert hs.view(looking(cameras(), 5), medium=1).payload["state"]["medium"] == 1

    @pytest.mark.parametrize(
        ("axis", "message"),
        [
            (cameras(), "medium takes 0 to 1; found 2"),
            (
                hs.Grid(2, 2, picture=picture()),
                "medium takes None, as this input has one medium at most; found 2",
            ),
        ],
    )
    def test_one_that_is_not_there_is_refused(self, axis: hs.Tokens, message: str) -> None:
        with pytest.raises(InputError, match=message):
            hs.view(looking(axis, 1), medium=2)


class TestStills:
    pytest.importorskip("py_mini_racer")

    def test_a_spot_on_one_camera_is_dark_on_the_other(self) -> None:
        found = Stills(hs.view(looking(cameras(), 4 + 2)), HEAD)()
        base, wrist = found.pixels[:2]  # the boards of keys
        dark = [[int(veil[y, x, 3]) for y in (1, -2) for x in (1, -2)] for veil in (base, wrist)]
        assert min(dark[0]) > 150
        assert dark[1] == [dark[0][0], dark[0][0], 0, dark[0][0]]
        assert {"camera base", "camera wrist"} <= set(found.texts)
        assert re.search(
            r"9\d% of what all queries look at is camera wrist, [\d.]+% camera base, most of it patch\[1,0\] of camera wrist",
            found.said,
        )
        assert "L1H1 gives camera wrist 9" in found.said
        assert "does not see" not in found.said
        assert not found.outside()

    def test_nothing_is_drawn_between_pictures(self) -> None:
        found = Stills(hs.view(looking(cameras(), 0)), HEAD)()
        views = [each.element.get("viewBox") for each in found.of("svg")]
        lefts = {float(view.split()[0]) for view in views if view}
        assert len(lefts) == 2, "each camera by itself"

    def test_one_of_them_is_drawn_large(self) -> None:
        stills = Stills(hs.view(looking(video(), 5)), HEAD)
        found = stills(medium=1)
        assert "frames 2–3" in found.texts
        assert "frames 0–1" not in found.texts
        assert len(found.pixels) < len(stills().pixels)

    def test_what_several_areas_cover_has_their_mean(self) -> None:
        axis = kmers()
        found = Stills(hs.view(looking(axis, 4, share=1.0)), HEAD)(opacity=1.0)
        veil = found.pixels[0][0, :, 3].astype(float)
        letters = veil.reshape(10, -1).mean(1)
        # The fifth k-mer covers letters 4 to 6, and so do two others each.
        np.testing.assert_allclose(letters[4:7], letters[4], atol=2)
        assert letters[4] > 0
        assert letters[[0, 1, 2, 3, 7, 8, 9]].max() == 0
        written = [each for each in found.texts if len(each) == 1 and each in "ACGT"]
        assert "".join(written) == "ATGCGTACGT" * 2

    def test_a_long_sequence_has_lines_that_say_where_they_begin(self) -> None:
        text = "ACDEFGHIKLMNPQRSTVWY" * 6
        axis = hs.Stretches(hs.Letters(text, "1UBQ"), [(at, at + 1) for at in range(120)])
        found = Stills(hs.view(looking(axis, 17)), HEAD)(width="column")
        starts = [
            int(each) for each in found.texts if each.isdigit() and int(each) % 10 == 1 and int(each) > 1
        ]
        assert starts
        assert starts[: len(starts) // 2] == starts[len(starts) // 2 :]
        assert "".join(each for each in found.texts if len(each) == 1 and each.isalpha()) == text * 2
        assert "65% of" not in found.said
        assert not found.over_one_another()

    def test_a_series_has_its_channels_beside_it(self) -> None:
        found = Stills(hs.view(looking(series(), 5)), HEAD)()
        assert found.texts.count("load") == found.texts.count("heat") == 2
        assert "gives what lies from 30 to 40% of the series" in found.said
        assert found.text("load").y < found.text("heat").y or found.text("load").at("y") < found.text(
            "heat"
        ).at("y")

    def test_the_text_beside_cameras_says_what_each_gets(self) -> None:
        found = Stills(hs.view(looking(robot(), 6)), HEAD)()
        assert "how much of each word's attention is on the pictures" in found.said
        assert re.search(r"9\d% of what the text looks at is camera wrist", found.said)
