"""What a page has of heads on a picture: means, all heads together, rollout, and blocks of patches where there are many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.core.maps import AttentionMaps
from headscope.errors import HeadscopeWarning, InputError
from headscope.views import images as seeing
from headscope.views.blobs import decode
from headscope.views.explorer import explorer_payload
from headscope.views.images import PatchBlocks, blocked, blocks, coarse, looks, of_blocks, together
from headscope.views.inputs import Included, Input
from headscope.views.view import View
from tests.helpers.seen_sample import picture, random_maps, staged


def included(maps: AttentionMaps, **kept: Any) -> Included:
    return Included(maps, kept.get("layers"), kept.get("heads"))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for so few weights that `random_maps` are shown in blocks of 2 × 2 patches."""
    monkeypatch.setattr(seeing, "WHOLE", 3 * 2 * 26 * 8)


def part_of(maps: Any, **options: Any) -> tuple[Any, Any]:
    payload, blobs = explorer_payload([Input({"self": maps})], **options)
    return payload["inputs"][0]["parts"][0], lambda ref: decode(ref, blobs.texts)


class TestBlocks:
    def test_each_patch_is_in_one_block_of_its_neighbours(self) -> None:
        axis = random_maps().query
        found = blocked(axis, 2)
        assert found.tokens.pieces[:3] == ("[CLS]", "register 0", "patches[0-1,0-1]")
        assert found.counts.tolist() == [1, 1] + 6 * [4]
        for place, block in enumerate(found.of.tolist()):
            if place < 2:
                assert block == place
                continue
            left, top, right, bottom = axis.boxes[place]
            outer = found.tokens.boxes[block]
            assert (outer[:2] <= (left, top)).all()
            assert (outer[2:] >= (right, bottom)).all()
        # together the blocks cover the picture once
        sides = found.tokens.boxes[2:, 2:] - found.tokens.boxes[2:, :2]
        assert sides.prod(1).sum() == pytest.approx(120 * 80)

    def test_edges_have_smaller_blocks(self) -> None:
        found = blocked(random_maps(rows=3, columns=5, prefix=()).query, 2)
        assert found.tokens.pieces == (
            "patches[0-1,0-1]", "patches[0-1,2-3]", "patches[0-1,4]",
            "patches[2,0-1]", "patches[2,2-3]", "patches[2,4]",
        )  # fmt: skip
        assert found.counts.tolist() == [4, 4, 2, 2, 2, 1]

    def test_patches_may_stand_in_any_order(self) -> None:
        axis = random_maps().query
        order = np.random.default_rng(2).permutation(len(axis))
        mixed, plain = blocked(axis.take(order), 2), blocked(axis, 2)
        names = [mixed.tokens.pieces[block] for block in mixed.of]
        assert names == [plain.tokens.pieces[plain.of[place]] for place in order]

    def test_rows_are_means_and_columns_stay(self) -> None:
        maps = random_maps()
        found = blocked(maps.query, 3)
        made = coarse(maps, found)
        assert made.key is maps.key
        for block in range(len(found.tokens)):
            mine = found.of == block
            np.testing.assert_allclose(made.layers[1][1][block], maps.layers[1][1][mine].mean(0), rtol=1e-5)
        # weighed with their counts, rows of blocks have the mean of all rows
        weighed = found.counts / found.counts.sum() @ made.layers[2][0]
        np.testing.assert_allclose(weighed, maps.layers[2][0].mean(0), rtol=1e-5)
        assert coarse(maps, None) is maps
        assert coarse(maps, found) is made

    def test_a_block_sees_what_one_of_its_patches_sees(self) -> None:
        maps = staged()["stage 1"]
        found = blocked(maps.query, 2)
        seen = coarse(maps, found).sight(1)[0]
        for block in range(len(found.tokens)):
            assert (seen[block] == maps.sight(1)[0][found.of == block].any(0)).all()

    def test_there_are_none_where_there_is_room(self, few: None) -> None:
        maps = random_maps()
        found = blocks(included(maps))
        assert isinstance(found, PatchBlocks)
        assert found.side == 2
        assert blocks(included(maps, layers=[1], heads=[0])) is None
        assert blocks(included(replace(maps, query=hs.Tokens(["a"] * 26), key=hs.Tokens(["a"] * 26)))) is None
        lower = [np.tril(layer) / np.tril(layer).sum(-1, keepdims=True) for layer in maps.layers]
        assert blocks(included(AttentionMaps(lower, maps.query, maps.key, causal=True))) is None

    def test_links_lead_to_blocks(self) -> None:
        found = blocked(random_maps().query, 2)
        link: Any = {"label": "a", "side": "from", "source": [2, 3, 8], "targets": [[4]], "candidates": None}
        assert of_blocks(link, found)["source"] == [2]
        assert of_blocks(link, found)["targets"] == [[4]]
        back = of_blocks({**link, "side": "to", "targets": [[4, 5], [25]]}, found)
        assert back["source"] == [2, 3, 8]
        assert back["targets"] == [[3], [7]]
        assert of_blocks(link, None) is link


class TestTogether:
    def test_rollout_is_that_of_the_analysis(self) -> None:
        maps = random_maps(layers=4)
        found = together(included(maps, layers=[1, 3]))
        expected = hs.contribution.rollout(maps)
        for mine, layer in zip(found.rollout, (1, 3), strict=True):
            np.testing.assert_allclose(mine, expected[layer], atol=1e-6)
        np.testing.assert_allclose(found.means[1], maps.layers[3].mean(0), atol=1e-6)
        assert found.why is None

    def test_heads_that_are_left_out_count(self) -> None:
        maps = random_maps()
        some, every = together(included(maps, heads=[0])), together(included(maps))
        for one, other in zip((some.means, some.rollout), (every.means, every.rollout), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_layers_may_have_other_numbers_of_heads(self) -> None:
        maps = random_maps()
        ragged = replace(maps, layers=[maps.layers[0][:1], *maps.layers[1:]])
        found = together(included(ragged)).rollout
        np.testing.assert_allclose(found[2], hs.contribution.rollout(ragged)[2], atol=1e-6)

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"kind": "cross"}, "queries and keys are not the same tokens"),
            ({"partial": True}, "these maps have some of the keys alone"),
            ({"index": [1, 2, 3]}, "it needs every layer from 0 on, and these maps have 1, 2, 3"),
        ],
    )
    def test_there_is_none_where_layers_do_not_follow(self, change: dict[str, Any], why: str) -> None:
        found = together(included(replace(random_maps(), **change)))
        assert found.rollout is None
        assert found.why == why

    def test_none_of_rows_alone(self) -> None:
        maps = random_maps()
        rows = maps.take(np.arange(26) < 9)
        assert together(included(rows)).why == "queries and keys are not the same tokens"


def test_looks_are_means_over_the_queries_that_see_a_key() -> None:
    maps = staged()["stage 1"]
    shares, largest = looks(included(maps), np.ones(64, bool))
    for row, (layer, head) in enumerate((layer, head) for layer in range(2) for head in range(2)):
        mean = np.zeros(64)
        for key in range(64):
            queries = maps.visible[layer][:, key]
            mean[key] = maps.layers[layer][head][queries, key].mean()
        np.testing.assert_allclose(shares[row] * largest[row], mean, rtol=1e-6)
        assert shares[row].max() == 1


class TestPayload:
    def test_a_small_part_has_every_patch(self) -> None:
        maps = random_maps()
        part, read = part_of(maps)
        assert "counts" not in part["query"]
        assert read(part["layers"][2]).shape == (2, 26, 26)
        for layer in range(3):
            np.testing.assert_allclose(read(part["means"][layer])[0], maps.layers[layer].mean(0), atol=0.004)
            rolled = hs.contribution.rollout(maps)[layer]
            np.testing.assert_allclose(read(part["rollout"][layer])[0], rolled, atol=0.004)
        assert read(part["peaks"]).shape == (6,)

    def test_a_large_part_has_blocks_of_patches(self, few: None) -> None:
        maps = random_maps()
        with pytest.warns(HeadscopeWarning, match=r"6 heads on 26 tokens .* blocks of 2 × 2 patches"):
            part, read = part_of(maps)
        found = blocks(included(maps))
        assert part["query"]["counts"] == found.counts.tolist()
        assert part["query"]["boxes"][2] == [0, 0, 40, 40]
        assert len(part["key"]["pieces"]) == 26
        for name, whole in (("means", maps.layers[1].mean(0)), ("rollout", hs.contribution.rollout(maps)[1])):
            np.testing.assert_allclose(read(part[name][1])[0], found.mean(whole), atol=0.004)
        np.testing.assert_allclose(read(part["layers"][1])[1], found.mean(maps.layers[1][1]), atol=0.004)
        # what is said of heads is said of all patches
        everywhere, every = part_of(maps, include_layers=[0], include_heads=[0])
        assert "counts" not in everywhere["query"]
        for mine, whole in zip(part["measures"], everywhere["measures"], strict=True):
            assert read(mine["values"])[0, 0] == pytest.approx(float(every(whole["values"])[0, 0]))
        assert (read(part["looks"])[:1] == every(everywhere["looks"])).all()

    def test_other_matrices_have_the_same_blocks(self, few: None) -> None:
        maps = random_maps()
        slopes = [layer - 0.2 for layer in maps.layers]
        one = Input({"self": maps}, matrices={"gradient": {"self": slopes}})
        with pytest.warns(HeadscopeWarning, match="blocks"):
            payload, blobs = explorer_payload([one])
        ref = payload["inputs"][0]["parts"][0]["quantities"][0]["layers"][1]
        found = blocks(included(maps))
        scale = max(abs(layer).max() for layer in (found.mean(each) for each in slopes))
        np.testing.assert_allclose(decode(ref, blobs.texts) * scale, found.mean(slopes[1]), atol=0.02)
        with (
            pytest.raises(InputError, match=r"pin takes a place from 0 to 7"),
            pytest.warns(HeadscopeWarning),
        ):
            explorer_payload([one], state={"pin": ("from", 20)})

    def test_thumbnails_have_neither(self) -> None:
        part, _ = part_of(random_maps(), thumbnails=True)
        assert "looks" in part
        assert not {"means", "rollout"} & set(part)

    def test_parts_that_begin_later_say_why_they_have_no_rollout(self) -> None:
        parts = staged()
        payload, _ = explorer_payload([Input(parts)])
        first, second, _ = payload["inputs"][0]["parts"]
        assert "rollout" in first
        assert "unrolled" not in first
        assert second["unrolled"] == "it needs every layer from 0 on, and these maps have 2, 3"

    def test_two_pictures_open_on_the_picture(self) -> None:
        view = View([Input({"self": random_maps()}), Input({"self": random_maps()})])
        assert view.state == {"side": "both", "picture": "image"}


@pytest.mark.slow
def test_another_picture_stands_beside_the_first() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=32, patch_size=16
    )  # fmt: skip
    processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32})
    model = hs.load((transformers.ViTModel(config), processor))
    bright = np.full((20, 30, 3), 250, np.uint8)
    view = hs.view(model, image=picture().pixels, against=bright)
    assert len(view.inputs) == 2
    expected = hs.capture(model, image=bright)
    np.testing.assert_allclose(view.matrix(0, 1, place=1), expected["L0H1"], atol=1e-6)
    with pytest.raises(InputError, match=r"expected a path, a Pillow image or numbers .*, found int"):
        hs.view(model, image=picture().pixels, against=3)
