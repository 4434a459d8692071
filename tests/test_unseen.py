"""That layers have no attention map is said wherever figures or pictures of the model are shown, in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope.measures.dataset import description, unseen
from tests.helpers.hybrids import HYBRIDS, save_hybrid
from tests.helpers.pages import payload
from tests.helpers.typed import Typed

KIND = "lfm2"
SAID = HYBRIDS[KIND][2]
TEXT = "The old house was too small for the family, and it was sold in May.\n\nIt rained. She left.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_hybrid(KIND, tmp_path_factory.mktemp("hybrid") / KIND)


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return hs.load(folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return hs.load(save_hybrid("llama", tmp_path_factory.mktemp("plain") / "plain"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "text.txt"
    file.write_text(TEXT)
    return file


@pytest.mark.slow
def test_commands_say_it_before_their_figures(folder: Path, text: Path, tmp_path: Path, typed: Typed) -> None:
    assert typed("check", folder).out.splitlines()[1] == f"  ??  {SAID}"
    of = ["measure", text, "-m", folder, "--measures", "previous"]
    assert typed(*of).out.splitlines()[0] == SAID
    table = tmp_path / "table.tex"
    assert SAID in typed(*of, "-o", table).err
    assert table.read_text(encoding="utf-8").splitlines()[0] == f"% {SAID}"


@pytest.mark.slow
def test_a_result_says_it(model: Any, plain: Any) -> None:
    corpus = hs.corpora.texts([TEXT, "It rained in May."])
    result = hs.measure(model, corpus, measures=["previous"])
    assert unseen(description(result)) == SAID
    assert SAID in result._repr_html_()
    assert SAID in result.figure("previous").caption
    ordinary = hs.measure(plain, corpus, measures=["previous"])
    assert unseen(description(ordinary)) == ""
    assert "attention map" not in ordinary.figure("previous").caption


def test_of_two_models_it_is_said_whose() -> None:
    one, other = {"name": "hybrid", "unseen": SAID}, {"name": "plain", "unseen": ""}
    assert unseen({"a": one, "b": other}) == f"hybrid: {SAID}"
    assert unseen({"a": one, "b": {"name": "tuned", "unseen": SAID}}) == SAID
    assert unseen({"before": {"model": other}, "after": {"model": one}}) == f"hybrid: {SAID}"
    assert unseen({"model": other}) == unseen({"corpus": {"name": "c"}}) == ""


@pytest.mark.slow
def test_a_view_says_it_on_the_page_and_in_a_picture(model: Any, plain: Any, tmp_path: Path) -> None:
    view = hs.view(model, "The old house was sold.")
    assert view.payload["inputs"][0]["unseen"] == SAID
    picture = view.picture("svg").decode()
    assert "convolution" in picture
    hs.capture(model, "The old house was sold.").save(tmp_path / "maps.safetensors")
    kept = hs.open_maps(tmp_path / "maps.safetensors")
    assert hs.view(kept).payload["inputs"][0]["unseen"] == SAID
    assert "unseen" not in hs.view(plain, "The old house was sold.").payload["inputs"][0]


@pytest.mark.slow
def test_a_report_has_it_above_its_figures(model: Any) -> None:
    page = hs.report(model, hs.corpora.texts([TEXT, "It rained in May."]), sections=["table"], examples=1)
    found = payload(page)
    assert found["model"]["unseen"] == SAID
    assert "unseen" not in found["examples"][0]["inputs"][0]  # the page has said it
