from __future__ import annotations

import base64
import copy
import io
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

from headscope.core.maps import AttentionMaps
from headscope.core.tokens import Tokens
from headscope.errors import InputError
from headscope.views import page as pages
from headscope.views import view as views_view
from headscope.views.explorer import Input, views_page
from headscope.views.view import WIDGET, Computed, View, framed
from headscope.views.widget import asked_again
from tests.helpers.view_sample import neurons, some

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def bundle(monkeypatch):
    """A stand-in for the built bundle, so that these tests need no node."""
    monkeypatch.setattr(
        pages, "bundle_file", lambda name: "" if name.endswith(".css") else "export default {}"
    )
    from headscope.views import widget

    monkeypatch.setattr(widget, "bundle_file", pages.bundle_file)
    widget.widget_class.cache_clear()
    widget._holder.cache_clear()


def view(**state) -> View:
    return View([Input({"self": some(heads=4)}, neurons={"self": neurons()})], state)


class TestState:
    def test_it_can_be_given_back(self) -> None:
        first = view(scale="head", layer=1, heads=2, pin=("from", 3), theme="dark", zoom=(0, 2, 0, 2))
        assert first.state == {
            "scale": "head",
            "layer": 1,
            "heads": [2],
            "pin": ("from", 3),
            "theme": "dark",
            "zoom": [0, 2, 0, 2],
        }
        assert view(**first.state).state == first.state

    def test_what_cannot_be_shown_is_refused(self) -> None:
        shown = view()
        with pytest.raises(InputError, match="no key 'colour'"):
            shown.state = {"colour": 1}
        assert shown.state == {}

    def test_inputs_are_subtracted_where_they_show_as_many_tokens(self) -> None:
        def one(pieces: list[str], special: int, sequences: list[int], words: list[int]) -> Input:
            size = len(pieces)
            tokens = Tokens(
                pieces,
                special_mask=np.arange(size) < special,
                sequence_ids=np.array(sequences),
                word_ids=np.array(words),
            )
            return Input({"self": AttentionMaps([np.full((2, size, size), 1 / size)], tokens, tokens)})

        first = one(["[CLS]", "a", "##b", "c"], 1, [-1, 0, 0, 1], [-1, 0, 0, 0])
        second = one(["[CLS]", "x", "y", "z"], 1, [-1, 0, 1, 1], [-1, 0, 0, 1])
        both = [first, second]
        for state, sizes in (
            ({}, None),
            ({"special": False}, None),
            ({"unit": "words"}, "3 × 3 and 4 × 4"),
            ({"filter": "aa"}, "2 × 2 and 1 × 1"),
            ({"filter": "ab"}, "2 × 1 and 1 × 2"),
            ({"filter": "aa", "unit": "words"}, None),
            ({"filter": "bb", "special": False}, "1 × 1 and 2 × 2"),
        ):
            state = {**state, "side": "difference"}
            if sizes is None:
                assert View(both, state).picture("svg")
                continue
            with pytest.raises(InputError, match=f"show as many tokens; found {sizes}"):
                View(both, state)

    def test_a_picture_says_why_nothing_is_drawn(self) -> None:
        pytest.importorskip("anywidget")
        maps = some(heads=4)
        shown = View([Input({"self": maps}, matrices={"x": {"self": maps.layers}}), Input({"self": maps})])
        shown.state = {"side": "difference", "quantity": "x"}  # the second input has none
        assert b"Input 2 has no x" in shown.picture("svg")
        assert WIDGET in shown._repr_mimebundle_()


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "start"),
        [("x.svg", b"<svg"), ("x.PDF", b"%PDF"), ("x.png", b"\x89PNG"), ("x.html", b"<!doctype")],
    )
    def test_the_suffix_says_what_is_written(self, tmp_path, name, start) -> None:
        path = view(scale="head").save(tmp_path / name, width="column")
        assert path == tmp_path / name
        assert path.read_bytes().startswith(start)

    def test_the_picture_is_of_the_state_now(self) -> None:
        shown = view(scale="head", layer=0, heads=[2])
        assert b"Layer 0, head 2" in shown.picture("svg")
        shown.state = {"scale": "neuron", "layer": 1, "heads": [3]}
        assert b"Layer 1, head 3, neuron by neuron" in shown.picture("svg")

    def test_the_page_holds_the_state_now(self) -> None:
        shown = view(layer=0)
        shown.state = {"layer": 1}
        assert '"state":{"layer":1}' in shown.html()

    def test_several_views_on_a_page(self) -> None:
        found = views_page([(one.payload, one.blobs) for one in (view(), view(layer=1))], title="Two")
        assert "<title>Two</title>" in found
        assert found.count('"kind":"explorer"') == 2


class TestNotebook:
    def test_a_widget_with_a_picture_beside_it(self) -> None:
        pytest.importorskip("anywidget")
        data = view(scale="head")._repr_mimebundle_()
        assert data["text/plain"].startswith("View(self: AttentionMaps(2 layers × 4 heads")
        assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
        assert "application/vnd.jupyter.widget-view+json" in data
        assert "text/html" not in data

    def test_a_frame_where_there_is_no_widget(self, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "anywidget", None)
        data = view(scale="head")._repr_mimebundle_()
        assert set(data) == {"text/plain", "image/png", "text/html"}
        assert data["text/html"].startswith("<iframe srcdoc=")

    def test_what_a_notebook_shows_when_its_kernel_is_gone(self, monkeypatch) -> None:
        pytest.importorskip("anywidget")
        display = pytest.importorskip("IPython.display")
        seen: list[dict[str, str]] = []
        monkeypatch.setattr(display, "display", lambda data, raw: seen.append(data))
        shown = view(scale="head")
        shown._ipython_display_()
        shown.keep_page()._ipython_display_()
        first, picture, again, page = seen
        assert WIDGET in first
        assert WIDGET in again
        assert set(page) == set(picture) == {"text/html"}
        hidden = '<div class="headscope-reopened" style="display:none">'
        assert page["text/html"].startswith(f"{hidden}<iframe srcdoc=")
        assert picture["text/html"].startswith(f"{hidden}<img alt=")
        assert f'base64,{first["image/png"]}"' in picture["text/html"]

    def test_its_picture_has_few_colours_and_says_what_made_it(self) -> None:
        pillow = pytest.importorskip("PIL.Image")
        shown = view(scale="head")
        small = base64.b64decode(shown._repr_mimebundle_()["image/png"])
        whole = shown.picture("png", dots=views_view.NOTEBOOK_DOTS)
        with pillow.open(io.BytesIO(small)) as found, pillow.open(io.BytesIO(whole)) as exact:
            assert (found.mode, found.size, found.text) == ("P", exact.size, exact.text)
            off = np.abs(np.asarray(found.convert("RGB"), int) - np.asarray(exact.convert("RGB"), int))
        assert off.mean() < 2  # of 255
        assert 3 * len(small) < len(whole)

    def test_a_page_in_a_frame_is_one_attribute(self) -> None:
        found = framed('<script>"a" & b</script>')
        assert re.findall(r'srcdoc="([^"]*)"', found) == [
            "&lt;script&gt;&quot;a&quot; &amp; b&lt;/script&gt;"
        ]

    def test_state_follows_the_widget_both_ways(self) -> None:
        pytest.importorskip("anywidget")
        shown = view(layer=0)
        widget = shown.widget()
        assert widget.state == {"layer": 0}
        widget.state = {"layer": 1, "heads": [2], "sent": ["page", 1]}  # what a click does
        assert shown.state == {"layer": 1, "heads": [2]}
        assert b"Layer 1, head 2" in shown.picture("svg")
        shown.state = {"layer": 0, "heads": [3]}
        assert widget.state == {"layer": 0, "heads": [3]}

    def test_arrays_travel_as_bytes(self) -> None:
        pytest.importorskip("anywidget")
        shown = view()
        widget = shown.widget()
        later = asked_again(shown.payload)
        kept = {name: raw for name, raw in shown.blobs.buffers.items() if name not in later}
        assert len(later) == 12  # of neurons
        assert widget.blobs == kept
        assert all(isinstance(blob, bytes) for blob in widget.blobs.values())
        assert widget.payload["inputs"] == shown.payload["inputs"]
        buffers = widget.get_state().get("blobs")
        assert buffers == kept

    def test_exact_values_of_what_is_pointed_at(self) -> None:
        shown = view()
        maps = shown.inputs[0].parts["self"]
        asked = {"kind": "exact", "id": 7, "input": 0, "part": "self", "layer": 1, "head": 2, "place": 3}
        reply, (row,) = shown.answer({**asked, "side": "from"})
        assert reply == {"kind": "exact", "id": 7}
        np.testing.assert_array_equal(np.frombuffer(row, "<f4"), maps["L1H2"][3].astype(np.float32))
        _, (column,) = shown.answer({**asked, "side": "to"})
        np.testing.assert_array_equal(np.frombuffer(column, "<f4"), maps["L1H2"][:, 3].astype(np.float32))
        reply, values = shown.answer({**asked, "layer": 9})
        assert values == []
        assert "no layer 9" in reply["error"]

    def test_a_matrix_that_is_asked_for(self, monkeypatch) -> None:
        pytest.importorskip("anywidget")
        maps = some(heads=4)
        slopes = [layer - 0.5 for layer in maps.layers]
        shown = View(
            [Input({"self": maps}, neurons={"self": neurons()})],
            offers=[{"name": "gradient", "how": "x"}],
            compute=lambda name: [Computed({"self": slopes}, f"the {name}'s number")],
        )
        widget = shown.widget()
        sent: list[tuple[dict, list[bytes]]] = []
        monkeypatch.setattr(widget, "send", lambda content, buffers=None: sent.append((content, buffers)))
        expected = {"kind": "quantity", "id": 3}
        assert shown.answer({**expected, "name": "gradient"}) == (expected, [])
        ((message, buffers),) = sent
        assert message["kind"] == "added"
        (added,) = message["added"]
        wanted = (0, "self", "the gradient's number")
        assert (added["input"], added["part"], added["quantity"]["of"]) == wanted
        assert buffers == [shown.blobs.buffers[name] for name in message["arrays"]]
        refs = [*added["quantity"]["layers"], *(one["values"] for one in added["quantity"]["measures"])]
        assert [ref["data"] for ref in refs] == message["arrays"]
        for name in (ref["data"] for ref in refs):  # a page that is loaded again asks for it
            assert shown.answer({"kind": "arrays", "id": 4, "name": name})[1] == [shown.blobs.buffers[name]]
        assert "missing" in shown.answer({"kind": "arrays", "id": 5, "name": "none"})[0]["error"]
        assert widget.payload["inputs"][0]["parts"][0]["quantities"] == [added["quantity"]]
        shown.state = {"quantity": "gradient"}
        assert len(sent) == 1, "it is there"
        np.testing.assert_array_equal(shown.matrix(1, 2, quantity="gradient"), slopes[1][2])

    def test_what_cannot_be_computed_is_said(self) -> None:
        reply, _ = view().answer({"kind": "quantity", "id": 4, "name": "gradient"})
        assert reply["error"] == "quantity: this view cannot compute 'gradient' (it can: none)"

        def fails(name: str) -> None:
            raise RuntimeError("out of memory")

        shown = View([Input({"self": some()})], offers=[{"name": "norms", "how": "x"}], compute=fails)
        reply, _ = shown.answer({"kind": "quantity", "id": 5, "name": "norms"})
        assert reply["error"].startswith("not enough memory (out of memory)")

    def test_what_draws_is_loaded_when_it_draws(self) -> None:
        code = (
            "import sys, headscope.views.view, headscope.views.still;"
            "print(*[m for m in ('py_mini_racer', 'vl_convert', 'anywidget', 'torch') if m in sys.modules])"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert found.stdout.strip() == ""


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda view: pickle.loads(pickle.dumps(view))])
def test_a_copy_is_as_a_saved_page_is_without_the_model(copied) -> None:
    origin = object()  # as a model does, it cannot be copied with the view
    one = View(
        [Input({"self": some(heads=4)}, neurons={"self": neurons()})],
        {"layer": 1},
        offers=[{"name": "norms", "title": "norms", "signed": False}],
        compute=lambda name: [origin],
        explain=lambda asked: {"origin": origin},
    )
    one.state = {**one.state, "heads": [2]}
    other = copied(one)
    assert other.state == one.state
    assert np.array_equal(other.matrix(1, 2), one.matrix(1, 2))
    with pytest.raises(InputError, match=r"this view cannot compute 'norms' \(it can: none\)"):
        other.add("norms")
    assert "explains" not in other.payload
    other.state = {**one.state, "heads": [0]}
    assert one.state["heads"] == [2]
