"""The five labs as pages: each task refuses what is wrong, as Python does, and takes what is right."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import headscope as hs
from headscope.analyses.lab.run import LABS, Lab, fine_tuned, lacking
from tests.helpers.standalone_models import model_of

pytestmark = pytest.mark.slow

READY = (
    "() => { const live = document.querySelector('.live'), hx = document.querySelector('.hx');"
    " return hx && !hx.dataset.busy && !hx.dataset.drawing"
    " && (!live || (live.classList.contains('told') && !live.dataset.reading)); }"
)
MOVE = """hash => new Promise((done) => {
  const before = location.hash;
  addEventListener("hashchange", done, { once: true });
  location.hash = hash;
  if (location.hash === before) done();
})"""
OWN = "Blorg zint frabe wug."


def made(name: str) -> Lab:
    """A lab of a small model."""
    bert = model_of("BERT")
    if name == "finetuning":
        return hs.lab(name, fine_tuned(bert, steps=2), bert)
    return hs.lab(name, model_of("Llama") if name == "copying" else bert)


class Student:
    """Who does a lab in its page, and is checked in Python, too."""

    def __init__(self, page: Any, lab: Lab) -> None:
        self.page, self.lab = page, lab
        self.live = page.locator(".live").count() == 1
        self.box = page.get_by_label("Lab", exact=True)

    def press(self, name: str) -> None:
        self.box.get_by_role("button", name=name, exact=True).click()

    def does(self, number: int, typed: float | None = None, **wanted: Any) -> str | None:
        """Come to an address, type a figure and press Check; what the page says, None where the task is solved."""
        task = self.lab.tasks[number]
        asked = {"input": {"text": wanted.pop("text", task["text"])}, "changes": wanted.pop("changes", [])}
        state = {**task["state"], **wanted}
        parts = [] if not self.live else [("text", asked["input"]["text"]), ("pair", task["pair"] or "")]
        parts += [("change", change) for change in asked["changes"] if self.live]
        parts += [
            (key, ",".join(map(str, each)) if isinstance(each, list) else each) for key, each in state.items()
        ]
        self.page.evaluate(MOVE, urlencode(parts, safe=","))
        self.page.wait_for_function(READY)
        if "low" in task["check"]:
            self.box.get_by_label("Your figure").fill("" if typed is None else f"{100 * typed:.2f} %")
        expected = lacking(task, state, asked if self.live else None, typed)
        self.press("Check")
        assert self.box.get_by_role("status").inner_text() == (expected or "Yes.")
        return expected


@pytest.mark.parametrize("name", LABS)
def test_a_lab_is_done_right_and_wrong(name: str, tab: Callable[..., Any], tmp_path: Path) -> None:
    lab = made(name)
    path = lab.save(tmp_path / "lab.html")
    page = tab(path.as_uri())
    page.wait_for_function(READY)
    student = Student(page, lab)
    count = len(lab.tasks)
    assert ("carries neither" in student.box.inner_text()) is (name == "finetuning")
    tried = set[str]()
    for number, task in enumerate(lab.tasks):
        assert student.box.get_by_role("heading", name=task["title"], exact=True).is_visible()
        check = task["check"]
        if task["guess"] is not None:
            assert not student.box.get_by_text("Check", exact=True).is_visible()  # it asks before it shows
            student.box.get_by_label(task["guess"]["choices"][0], exact=True).check()
            page.wait_for_function(READY)
        asked: dict[str, Any] = {}
        untried = check.keys() - tried  # what is wrong in one way is refused once a lab
        tried |= untried
        if "heads" in check:
            layer, head = check["heads"][0]
            asked |= {"layer": layer, "heads": [head]}
        if "heads" in untried:
            every = {(one.layer, one.head) for one in hs.capture(lab.models[0], task["text"]).heads}
            wrong = sorted(every - {(a, b) for a, b in check["heads"]})
            assert student.does(number, layer=wrong[0][0], heads=[wrong[0][1]], typed=0.0) is not None
        if "pin" in untried:
            assert student.does(number, **asked, pin=["from", 1 - bool(check["pin"][0] == 1)], typed=0.0)
            assert student.does(number, **asked, pin=["to", check["pin"][0]], typed=0.0)
        if "pin" in check:
            asked["pin"] = ["from", check["pin"][0]]
        if "changes" in untried:
            assert student.does(number, **asked, changes=["L0H0 off", "L0H1 off"], typed=0.0)
        if "changes" in check:
            asked["changes"] = check["changes"]
        if "state" in check:
            if "state" in untried:
                assert student.does(number, **asked, typed=0.0)
            asked |= check["state"]
        if check.get("own_text"):
            assert student.does(number, **asked)
            asked["text"] = OWN
        elif student.live and untried & {"low", "pin"}:
            assert student.does(number, **{**asked, "text": OWN}, typed=check.get("low"))
        if "low" in untried:
            assert student.does(number, **asked)
            assert student.does(number, **asked, typed=check["high"] + 0.01)
            assert task["hint"] in student.box.inner_text()
        if "low" in check:
            asked["typed"] = (check["low"] + check["high"]) / 2
        assert task["answer"].split("\n")[0] not in student.box.inner_text()
        assert student.does(number, **asked) is None
        assert task["answer"].split("\n")[0] in student.box.inner_text()
        assert f"{number + 1} solved" in student.box.inner_text()
        if number < count - 1:
            student.press("Next")
    assert f"{count} tasks solved" in student.box.inner_text()


def test_a_student_clicks_and_an_instructor_reads(tab: Callable[..., Any], tmp_path: Path) -> None:
    lab = hs.lab("heads", model_of("BERT"))
    page = tab(lab.save(tmp_path / "lab.html").as_uri())
    page.wait_for_function(READY)
    box = page.get_by_label("Lab", exact=True)
    roles = page.locator(".roles li")
    assert (page.locator(".answer").inner_text(), roles.count()) == ("", 0)  # either would solve the task
    for _ in range(2):
        box.get_by_role("button", name="Check", exact=True).click()
    assert page.evaluate("() => document.activeElement.innerText") == "Check"  # keys go on from here
    box.get_by_role("button", name="Show the answer", exact=True).click()
    assert lab.tasks[0]["answer"].split("\n")[0] in box.inner_text()
    roles.first.wait_for()
    assert page.locator(".answer").inner_text() != ""
    for _ in range(2):
        box.locator(".steps").get_by_role("button", name="Skip").or_(
            box.get_by_text("Next", exact=True)
        ).click()
    page.wait_for_function(READY)
    assert lab.tasks[2]["title"] in box.inner_text()
    assert roles.count() == 0
    page.locator(".hv .toks.l .tok", has_text="it").first.click()
    box.get_by_role("button", name="Check", exact=True).click()
    box.get_by_text("Yes.", exact=True).wait_for()
    page.reload()
    page.wait_for_function(READY)
    assert "Task 3 of 7, 1 solved" in box.inner_text()
    assert box.get_by_role("button", name="Next", exact=True).is_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(
        "() => document.documentElement.scrollWidth <= innerWidth"
    )  # when it is drawn anew
    (tmp_path / "frame.html").write_text('<iframe sandbox="allow-scripts" src="lab.html"></iframe>')
    framed = tab((tmp_path / "frame.html").as_uri()).frame_locator("iframe").get_by_label("Lab", exact=True)
    framed.get_by_role("button", name="Skip", exact=True).click()  # where nothing can be kept nothing breaks
    framed.get_by_text("Task 2 of 7", exact=False).wait_for()
    teacher = tab(lab.save(tmp_path / "answers.html", instructor=True).as_uri())
    teacher.wait_for_function(READY)
    for number, task in enumerate(lab.tasks):
        told = teacher.get_by_label("Lab", exact=True).inner_text()
        assert task["answer"].split("\n")[0] in told
        if number < len(lab.tasks) - 1:
            teacher.get_by_role("button", name="Next", exact=True).click()


MARKUP = "</script><script>window.ran=1</script><img src=x onerror='window.ran=1'><svg/onload=window.ran=1>"
HOSTILE = f"{MARKUP} {{{{7*7}}}} ${{1}} <!-- \"'`&lt;&amp;\\ \u202eabc\u202c \u200fשלום\u2066 a\x00b\x07c {'w' * 4000}"


def test_hostile_text_in_any_field_of_a_lab_stays_text(tab: Callable[..., Any], tmp_path: Path) -> None:
    """The model's name, the text and its pair by the boxes and by the address, a change, and the figure that is asked."""
    model = model_of("BERT")
    named = dataclasses.replace(model, name=f"{HOSTILE}\ud800", notes=(f"{HOSTILE}\ud800",))
    page = tab(hs.lab("heads", named).save(tmp_path / "lab.html").as_uri())
    page.wait_for_function(READY)
    task = hs.lab("heads", model).tasks[0]
    fields = page.locator(".live textarea, .live input[type=text]")
    places = fields.count()
    assert places >= 2
    for place in range(places):
        if fields.nth(place).is_visible() and fields.nth(place).is_enabled():
            fields.nth(place).fill(HOSTILE)
            fields.nth(place).press("Enter")
            page.wait_for_function(READY)
    box = page.get_by_label("Lab", exact=True)
    figures = box.get_by_label("Your figure")
    for place in range(figures.count()):
        figures.nth(place).fill(HOSTILE)
    box.get_by_role("button", name="Check", exact=True).first.click()
    assert box.get_by_role("status").inner_text() not in ("", "Yes.")
    for part in ({"text": HOSTILE}, {"pair": HOSTILE}, {"change": "L0H0 " + HOSTILE[:50]}):
        page.evaluate(MOVE, urlencode({"text": task["text"], **part}, safe=","))
        page.wait_for_function(READY)
    assert page.evaluate("() => window.ran") is None
    assert page.locator("img[src=x], svg[onload]").count() == 0
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth + 1")
    page.evaluate(MOVE, urlencode({"text": task["text"]}, safe=","))  # it goes on
    page.wait_for_function(READY)
    assert page.locator(".hv .tok").count() > 0
