"""The atlas of heads in a page: axes, marks, the filter, the zoom, and queries and keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.helpers import atlas_sample
from tests.helpers.pages import table
from tests.helpers.report_sample import dataset
from tests.helpers.report_whole import HEADS

pytestmark = pytest.mark.browser

PREVIOUS = dataset()["previous"].values.ravel()
ENTROPY = dataset()["entropy"].values.ravel()


@pytest.fixture(scope="module")
def html() -> str:
    return atlas_sample.page()


@pytest.fixture
def page(open_page: Any, html: str) -> Any:
    page = open_page(html, fragment="#head=L0H0")
    page.locator("[data-section=atlas] .qk [data-row]").first.wait_for()
    return page


def choose(page: Any, **menus: str) -> None:
    for label, title in menus.items():
        page.locator("[data-section=atlas]").get_by_label(label, exact=True).select_option(label=title)


def points(page: Any) -> list[tuple[float, float]]:
    """The middles of the points of heads, in no order, in pixels of the window."""
    page.locator("[data-section=atlas] .scatter").scroll_into_view_if_needed()
    return [
        tuple(place)
        for place in page.locator("[data-section=atlas] .scatter [data-row]").evaluate_all(
            "dots => dots.map(dot => { const box = dot.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })"
        )
    ]


def listed(page: Any) -> list[str]:
    return page.locator("[data-section=atlas] .marked .headname").all_inner_texts()


def drag(page: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    page.mouse.move(*end)
    page.mouse.up()


def order(values: np.ndarray) -> list[str]:
    return [str(HEADS[place]) for place in np.argsort(-values)]


def of(place: str) -> str:
    return f"[data-section=atlas] {place}"


def opened(page: Any) -> str:
    page.wait_for_function("() => !document.querySelector('.hx[data-busy]')")
    return page.locator(".openhead h2").inner_text()


def test_an_axis_is_any_figure(page: Any) -> None:
    choose(page, x="previous token", y="entropy, nats")
    found = points(page)
    assert len(found) == 12
    # Across by the one figure, upwards by the other.
    across = sorted(range(12), key=lambda place: PREVIOUS[place])
    left_to_right = sorted(found)
    height = [HEADS.index(HEADS[place]) for place in across]
    ys = np.array([y for _, y in left_to_right])
    assert np.corrcoef(ys, ENTROPY[height])[0, 1] == pytest.approx(-1, abs=0.01)
    xs = np.array([x for x, _ in left_to_right])
    assert np.corrcoef(xs, PREVIOUS[across])[0, 1] == pytest.approx(1, abs=0.01)
    assert listed(page)[:3] == order(ENTROPY)[:3]
    field = page.get_by_label("Filter the heads of the atlas")
    field.fill("L1 previous>0.2")
    expected = {
        str(head) for head, value in zip(HEADS, PREVIOUS, strict=True) if head.layer == 1 and value > 0.2
    }
    assert set(listed(page)) == expected
    field.fill("nonsense>1")
    assert page.locator(of(".ctl [role=status]")).inner_text() == "no such measure"
    assert field.get_attribute("aria-invalid") == "true"


def test_a_drag_marks_heads_and_spans_what_is_shown_closer(page: Any) -> None:
    choose(page, x="previous token", y="entropy, nats")
    found = points(page)
    most = max(found)  # the head with most on the previous token
    drag(page, (most[0] - 12, most[1] - 12), (most[0] + 9, most[1] + 9))
    assert listed(page) == [str(HEADS[int(PREVIOUS.argmax())])]
    assert page.locator(of(".ctl [role=status]")).inner_text() == "1 of 12 heads"
    assert opened(page) == "L0H0"  # a drag opens nothing
    choose(page, x="separators", y="first token")
    assert listed(page) == [str(HEADS[int(PREVIOUS.argmax())])]
    assert page.locator(of('.scatter [fill-opacity="0.2"]')).count() == 11
    page.get_by_role("button", name="Show all").click()
    assert page.locator(of('.scatter [fill-opacity="0.2"]')).count() == 0
    assert not page.get_by_role("button", name="Show all").is_visible()
    choose(page, x="previous token", y="entropy, nats")
    near = max(points(page))
    drag(page, (near[0] - 20, near[1] - 20), (near[0] + 9, near[1] + 20))
    marked = len(listed(page))
    page.get_by_role("button", name="Zoom in").click()
    assert page.locator(of(".scatter [data-row]")).count() == marked < 12
    page.get_by_role("button", name="Show all").click()
    assert page.locator(of(".scatter [data-row]")).count() == 12


def test_a_point_opens_its_head_with_the_figure(page: Any) -> None:
    choose(page, x="layer", y="previous token")
    top = min(points(page), key=lambda place: place[1])
    page.mouse.click(*top)
    head = HEADS[int(PREVIOUS.argmax())]
    assert opened(page) == str(head)
    assert f"Queries and keys of {head}" in page.locator(of(".qk h3")).inner_text()
    assert page.locator(".known .line").count() == 3
    assert page.locator(of(".marked [aria-selected=true] .headname")).inner_text() == str(head)
    assert "previous token" in page.locator(".openhead").inner_text()
    page.locator(of(".marked .headname")).nth(1).focus()
    page.keyboard.press("Enter")
    assert opened(page) == order(PREVIOUS)[1]


def places(page: Any) -> list[dict[str, float]]:
    """What the CSV table of the plane says of each token."""
    return table(page.locator(of(".saves")).get_by_title("Save queries and keys as CSV"))


def dots(page: Any) -> list[list[float]]:
    """The middles of the queries and behind them of the keys, in the order of the tokens."""
    page.locator(of(".qk .plot")).scroll_into_view_if_needed()
    return page.locator(of(".qk [data-row]")).evaluate_all(
        "dots => dots.sort((a, b) => a.dataset.row - b.dataset.row).map(dot => {"
        " const box = dot.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })"
    )


def test_the_plane_of_the_open_head_keeps_its_shape(page: Any) -> None:
    planes = atlas_sample.atlas().planes
    assert planes is not None
    own = planes.planes[HEADS[0]]
    drawn = np.array(dots(page))
    true = np.concatenate([own.query, own.key])
    # Distances on the screen are distances on the plane, by one scale: a byte's step and a pixel off.
    across, apart = (np.linalg.norm(each[:, None] - each, axis=-1) for each in (drawn, true))
    scale = across.max() / apart.max()
    assert np.abs(across - scale * apart).max() < 4
    assert "of their variance" in page.locator(of(".qk h3")).inner_text()
    rows = places(page)
    assert [row["token"] for row in rows] == [point.piece for point in planes.points]
    weights = [float(row["weight"]) for row in rows]
    assert weights == pytest.approx(planes.weight[HEADS[0]].tolist(), abs=0.005)
    rows = table(page.locator(of(".saves")).get_by_title("Save heads as CSV"))
    assert len(rows) == 12
    assert {row["roles"] for row in rows} == {"", "previous token", "separators"}


def test_a_query_is_joined_to_the_key_it_looks_at_most(page: Any) -> None:
    planes = atlas_sample.atlas().planes
    assert planes is not None
    every = np.array(dots(page))
    queries, keys = np.split(every, 2)
    # One that stands apart from all others.
    gaps = np.linalg.norm(every[: len(queries), None] - every, axis=-1) + np.where(
        np.eye(len(queries), len(every)) > 0, np.inf, 0
    )
    token = int(gaps.min(1).argmax())
    page.mouse.move(*queries[token])
    line = page.locator(of(".qk .join"))
    assert line.count() == 1
    box = page.locator(of(".qk .plot")).bounding_box()
    end = [float(line.get_attribute("x2")) + box["x"], float(line.get_attribute("y2")) + box["y"]]
    assert end == pytest.approx(keys[planes.key[HEADS[0]][token]].tolist(), abs=1.5)
    tip = page.locator(".report > .tip.on").inner_text()
    assert f"query {planes.points[token].piece} looks most at" in tip
    assert f"{planes.weight[HEADS[0]][token]:.2f}".lstrip("0") in tip
    page.mouse.click(*queries[token])
    page.wait_for_function("() => !document.querySelector('.hx[data-busy]')")
    point = planes.points[token]
    assert f"“{point.piece}” looks most at" in page.locator(".openhead").inner_text()
    page.wait_for_function("pin => location.hash.endsWith(pin)", arg=f"view.pin=from,{point.place}")
    assert f"example={point.example}" in page.evaluate("location.hash")
