"""Pages that carry their model, in a real Chromium: they answer as `headscope.live.session.Live` does in Python."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import headscope as hs
from headscope.live.session import Live
from headscope.live.standalone import carry, standalone_page
from headscope.models import Model
from headscope.reports.run import LIVE_TEXT
from tests.helpers.axe import violations
from tests.helpers.dice import dice
from tests.helpers.page_controls import LIVE_DRAWN
from tests.helpers.patience import PATIENCE
from tests.helpers.standalone_models import FAMILIES, MARKUP, PAIR, READ_FIRST, TEXT, model_of

CHANGES = [
    "L1H2 off", "L0 mean", "L0H1 uniform", "all previous", "L1 hide 3>1", "all hide >0", "L0H0 hide 2>",
    "L1H1 temperature 0.5", "all temperature 2.0", "L0 scale 3> 0.5", "all scale >1-2 2.0",
]  # fmt: skip
EACH_CHANGE = ("BERT", "Gemma 3")
"""Families whose pages make every change alone: one that sees all, one that sees a window of what was."""
OWN_TOKENIZER = ("BERT", "RoBERTa that fills masks", "GPT-2")
"""Families whose tokenizer no family before has."""
KEPT = """(() => {
  const Own = window.Worker;
  window.Worker = class extends Own { constructor(...given) { super(...given); window.kept = this; } };
})()"""
ASK = """(question) => new Promise((done) => {
  const hear = ({ data }) => {
    if (data.content?.id !== question.id) return;
    window.kept.removeEventListener("message", hear);
    const text = (bytes) => { let out = ""; for (const byte of bytes) out += String.fromCharCode(byte); return btoa(out); };
    done({ content: data.content, arrays: data.buffers.map(text) });
  };
  window.kept.addEventListener("message", hear);
  window.kept.postMessage(question);
})"""


class Inside:
    """A page whose worker can be asked."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.number = 1_000_000

    def ask(self, kind: str, **question: Any) -> tuple[dict[str, Any], list[bytes]]:
        """What the worker answers."""
        self.number += 1
        told = self.page.evaluate(ASK, {"id": self.number, "kind": kind, **question})
        return told["content"], [base64.b64decode(text) for text in told["arrays"]]

    def show(self, text: str = TEXT, *changes: str, **more: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The answer to an input, with its arrays by name, those that come later too."""
        given = {name: more.pop(name) for name in ("pair", "together", "written") if name in more}
        told, arrays = self.ask("show", input={"text": text, **given}, changes=list(changes), **more)
        assert "error" not in told, told
        known = dict(zip(told["arrays"], arrays, strict=True))
        refs = [ref["data"] for one in told["payload"]["inputs"] for ref in one["parts"][0]["layers"]]
        missing = sorted(set(refs) - set(known))
        if missing:
            told_more, arrays = self.ask("arrays", turn=told["turn"], names=missing)
            known |= zip(told_more["arrays"], arrays, strict=True)
        return told, known


Open = Callable[..., Inside]


@contextmanager
def offline(chromium: Any, folder: Path, wrong: list[str]) -> Iterator[Open]:
    """Open pages from files, without a network; `wrong` gets what they complain of and what they ask for."""
    contexts: list[Any] = []

    def open_page(html: str, *, width: int = 1440, fragment: str = "", init: str = "") -> Inside:
        path = folder / f"standalone{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = chromium.new_context(viewport={"width": width, "height": 960}, offline=True)
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        context.add_init_script(KEPT)
        if init:
            context.add_init_script(init)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda told: told.type == "error" and wrong.append(told.text))
        page.on(
            "request",
            lambda asked: wrong.extend([asked.url] * (not asked.url.startswith(("file:", "data:", "blob:")))),
        )
        page.goto(f"{path.as_uri()}{fragment}")
        return Inside(page)

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def standalone(chromium: Any, tmp_path: Path) -> Iterator[Open]:
    """Open a page; at the end nothing may have been complained of or asked for."""
    wrong: list[str] = []
    with offline(chromium, tmp_path, wrong) as open_page:
        yield open_page
    assert wrong == []


@pytest.fixture(scope="module")
def opened(
    chromium: Any, tmp_path_factory: pytest.TempPathFactory, page_of: Any
) -> Iterator[tuple[Any, list[str]]]:
    """The pages of `inside`, and what is wrong with them."""
    wrong: list[str] = []
    with offline(chromium, tmp_path_factory.mktemp("standalone"), wrong) as open_page:

        @cache
        def drawn(family: str) -> Inside:
            inside = open_page(page_of(family))
            inside.page.wait_for_function(LIVE_DRAWN)
            return inside

        yield drawn, wrong


@pytest.fixture
def inside(opened: tuple[Any, list[str]]) -> Iterator[Callable[[str], Inside]]:
    """The page of a family, for tests that ask its worker and press nothing: it is opened once for all of them."""
    drawn, wrong = opened
    wrong.clear()
    yield drawn
    assert wrong == []


@pytest.fixture(scope="session")
def page_of(build_once: Any) -> Callable[[str], str]:
    """The page of a family: exporting a model is dear, so one page serves all tests, in whatever worker."""
    return lambda family: build_once(
        f"standalone {family}", lambda: written(model_of(family), **READ_FIRST.get(family, {"text": TEXT}))
    )


def written(model: Model, text: str, weights: Any = "float32", **given: Any) -> str:
    """The page of a model."""
    shown = hs.view(model, text, pair=given.get("pair"))
    return standalone_page(shown, carry(model, {"text": text, **given}, weights=weights))


def same(inside: Inside, live: Live, text: str, *changes: str, **more: Any) -> None:
    """The page's answer is that of the live model: pieces, words, maps, figures, what opens and what is said."""
    mine, arrays = inside.show(text, *changes, **dict(more))
    given = {name: more.pop(name) for name in ("pair", "together", "written") if name in more}
    theirs, _ = live.answer(
        {"kind": "show", "id": 1, "input": {"text": text, **given}, "changes": list(changes), **more}
    )
    assert "error" not in theirs, theirs
    assert live.view is not None
    expected = (theirs["changes"], theirs["left"], theirs["tokens"])
    assert (mine["changes"], mine["left"], mine["tokens"]) == expected
    assert len(mine["payload"]["inputs"]) == len(theirs["payload"]["inputs"])
    for place, (one, other) in enumerate(
        zip(mine["payload"]["inputs"], theirs["payload"]["inputs"], strict=True)
    ):
        part, exact = one["parts"][0], other["parts"][0]
        for axis in ("query", "key"):
            for name in ("pieces", "ids", "special", "sequences", "words", "sinks", "written"):
                assert part[axis].get(name) == exact[axis].get(name), (text, axis, name)
        wanted = (exact["causal"], exact["index"], exact["heads"])
        assert (part["causal"], part["index"], part["heads"]) == wanted
        assert (part["hidden"] is None) == (exact["hidden"] is None)
        if "written" not in given:
            assert one["text"][0]["text"] == "".join(run["text"] for run in other["text"])
        maps = live.view.inputs[place].first
        for ref, layer in zip(part["layers"], maps.layers, strict=True):
            found = np.frombuffer(arrays[ref["data"]], "<f4").reshape(ref["shape"])
            assert_allclose(found, layer, atol=1e-6)
        if part["hidden"] is not None:
            for number, ref in enumerate(part["hidden"]):
                found = np.frombuffer(arrays[ref["data"]], np.uint8).reshape(ref["shape"])
                assert (found == ~maps.sight(number)).all()
        figures = {each["name"]: each for each in exact["measures"]}
        assert [each["name"] for each in part["measures"]] == list(figures)
        for each in part["measures"]:
            found = np.frombuffer(arrays[each["values"]["data"]], "<f4").reshape(each["values"]["shape"])
            assert_allclose(
                found, plain(live, figures[each["name"]]["values"]), atol=2e-6, err_msg=each["name"]
            )
            assert (each["title"], each["units"]) == tuple(
                figures[each["name"]][key] for key in ("title", "units")
            )
        shows(part["highlights"], exact["highlights"])
    for one, other in zip(mine["says"], theirs["says"], strict=True):
        for name in ("kind", "place", "after"):
            assert one[name] == other[name], (text, name)
        for name in ("entropy", "number"):
            assert (one[name] is None) == (other[name] is None)
            assert one[name] is None or one[name] == pytest.approx(other[name], abs=1e-5)
        assert {each["id"]: each["text"] for each in one["top"]} == {
            each["id"]: each["text"] for each in other["top"]
        }
        assert_allclose([each["p"] for each in one["top"]], [each["p"] for each in other["top"]], atol=1e-5)
        assert (one["chosen"] and one["chosen"]["id"]) == (other["chosen"] and other["chosen"]["id"])


def shows(mine: dict[str, list[Any]], theirs: dict[str, list[Any]]) -> None:
    """What each head does: the same link, but where two stand out as much."""
    assert list(mine) == list(theirs)
    for name in ("score", "share", "alike", "near", "evenness", "moved"):
        assert_allclose(mine.get(name, []), theirs.get(name, []), atol=2e-4, err_msg=name)
    pairs = zip(
        *(mine[name] for name in ("query", "key")), *(theirs[name] for name in ("query", "key")), strict=True
    )
    same = np.array([(a, b) == (c, d) for a, b, c, d in pairs])
    assert_allclose(np.array(mine["weight"])[same], np.array(theirs["weight"])[same], atol=0.004)
    assert not (~same[np.array(theirs["score"]) > 0.05]).any()


def plain(live: Live, ref: Any) -> np.ndarray:
    """An array of the live model's answer."""
    assert live.view is not None
    return np.frombuffer(live.view.blobs.buffers[ref["data"]], "<f4").reshape(ref["shape"])


@pytest.mark.parametrize("family", FAMILIES)
def test_page_answers_as_python_does(inside: Any, family: str) -> None:
    model = model_of(family)
    page, live = inside(family), Live(model)
    same(page, live, TEXT)
    if family in OWN_TOKENIZER:
        same(page, live, "She didn’t say “no”: 3.14 naïve cafés!", at=2)
        if family != "BERT":  # which knows none of this
            same(page, live, "स्ते e\u0301t 今天 “р”")
    for change in CHANGES if family in EACH_CHANGE else ():
        same(page, live, TEXT, change)
    same(page, live, TEXT, *CHANGES[:4], "L1 hide 99>1", at=3, chosen=5)
    if not model.causal:
        same(page, live, TEXT, "all hide >3", pair=PAIR, together=True)
    if "masks" in family:
        same(page, live, "The <mask> sat on the mat.", "L1H2 off")
    if model.causal:
        same(page, live, TEXT, "L0H0 off", written=[40, 41])
    masked_as_why_does(page, live, masks="masks" in family)


def masked_as_why_does(page: Inside, live: Live, masks: bool) -> None:
    text = "The <mask> sat. It’s 2.5! 今天好。 She ran?" if masks else "The cat sat. It’s 2.5! She ran?"
    for spans in ("sentence", "word"):
        mine, _ = page.show(text)
        theirs, _ = live.answer({"kind": "show", "id": 1, "input": {"text": text}, "changes": []})
        asked = {"at": None, "chosen": None, "spans": spans}
        told, _ = page.ask("why", turn=mine["turn"], **asked)
        expected, _ = live.answer({"kind": "why", "id": 2, "turn": theirs["turn"], **asked})
        assert ("sources" in told) == page.page.locator(".why").is_visible() == ("sources" in expected)
        if "sources" not in told:
            assert told["error"] == expected["error"]
            continue
        assert told["sources"]["prompt"].strip() == expected["sources"]["prompt"].strip()
        own, other = told["sources"]["spans"], expected["sources"]["spans"]
        for name in ("level", "text", "start", "end", "first", "last"):
            assert [one[name] for one in own] == [one[name] for one in other]
        known = [place for place, one in enumerate(other) if one["effect"] is not None]
        assert len(known) > 2
        for name in ("effect", "share"):  # of log-probabilities in float32, and rounded on the way
            values = [[side[at][name] for at in known] for side in (own, other)]
            assert_allclose(*[np.array(side, float) for side in values], atol=2e-5, rtol=1e-4)


def test_who_did_it_switches_heads_off_as_python_does(inside: Any) -> None:
    page, live = inside("Llama"), Live(model_of("Llama"))
    for changes in ((), ("L0H1 uniform",)):
        mine, _ = page.show(TEXT, *changes)
        asked = {"kind": "show", "id": 1, "input": {"text": TEXT}, "changes": list(changes)}
        turn = live.answer(asked)[0]["turn"]
        for at in (None, 4):
            who = page.ask("who", turn=mine["turn"], at=at, chosen=None)[0]
            theirs = live.answer({"kind": "who", "id": 1, "turn": turn, "at": at, "chosen": None})[0]
            assert who["number"] == pytest.approx(theirs["number"], abs=1e-5)
            assert {(each["layer"], each["head"]) for each in who["heads"]} == {
                (layer, head) for layer in range(2) for head in range(4)
            }
            assert {each["estimate"] for each in who["heads"]} == {None}
            for layer, head in ((0, 0), (0, 3), (1, 2)):
                asked = {"at": at, "chosen": None, "layer": layer, "head": head}
                without = page.ask("without", turn=mine["turn"], **asked)[0]
                other = live.answer({"kind": "without", "id": 1, "turn": turn, **asked})[0]
                assert without["number"] == pytest.approx(other["number"], abs=1e-5)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"input": {"text": " "}}, "Text: type something; there is nothing to read"),
    ({"input": {"text": "word " * 600}}, "602 tokens: at most 64 are read here as you type"),
    ({"changes": ["L9 off"]}, "L9 off: this model has no such head, its input no such token, or it did not run"),
    ({"changes": ["L0H9 off"]}, "L0H9 off: no head 9 in layer 0; it has 4"),
    ({"changes": ["nonsense"]}, "what if: expected 'L4H2 off'"),
    ({"changes": ["L0 temperature 0"]}, "what if: expected a temperature above 0, found 0"),
    ({"changes": ["all scale >1 0"]}, "what if: expected a scale above 0, found 0"),
]  # fmt: skip


def test_bad_input_is_one_line_in_page_and_python(inside: Any) -> None:
    live = Live(model_of("BERT"))
    for asked, expected in REFUSED:
        question = {"input": {"text": TEXT}, "changes": [], **asked}
        mine = inside("BERT").ask("show", **question)[0]
        theirs = live.answer({"kind": "show", "id": 1, **question})[0]
        told, said = (one.get("error") or one["left"][asked["changes"][0]] for one in (mine, theirs))
        assert told.startswith(expected)
        assert "at most 64" in said if "602" in expected else told == said


def test_typing_changes_and_address_in_a_page(standalone: Any, page_of: Any) -> None:
    page = standalone(page_of("Llama")).page
    page.wait_for_function(LIVE_DRAWN)
    page.get_by_label("Text", exact=True).fill("A dog barked")
    page.wait_for_function("() => document.querySelector('.hx .toks')?.innerText.includes('d')")
    page.wait_for_function(LIVE_DRAWN)
    page.locator(".whatif summary").click()
    page.locator(".offers").get_by_role("button", name="off", exact=True).click()
    page.wait_for_selector(".changes li")
    page.wait_for_function(LIVE_DRAWN)
    assert page.locator(".changes code").all_inner_texts()[0].endswith(" off")
    live = Live(model_of("Llama"))
    change = page.locator(".changes code").inner_text()
    told = live.answer({"kind": "show", "id": 1, "input": {"text": "A dog barked"}, "changes": [change]})[0]
    page.locator(".who summary").click()
    page.get_by_role("button", name="Rank the heads").click()
    page.wait_for_selector(".who tbody tr:nth-child(8)")
    page.wait_for_function("() => !document.querySelector('.who .about').textContent.includes(' of 8 heads')")
    # The head that is off adds nothing; the ranking is that of the numbers.
    rows = dict(
        zip(
            page.locator(".who tbody th").all_inner_texts(),
            page.locator(".who tbody td.p span").all_inner_texts(),
            strict=True,
        )
    )
    assert len(rows) == 8
    assert rows[change.removesuffix(" off")] in ("0", "0.0", "0.00", "0.000")
    likeliest = max(told["says"][0]["top"], key=lambda each: each["p"])
    word = page.locator(".says .word").first.inner_text()
    page.locator(".says .word").first.click()
    page.wait_for_selector(".written .word")
    page.wait_for_function(LIVE_DRAWN)
    page.wait_for_function(f"() => location.hash.includes('written={likeliest['id']}')")
    assert page.locator(".written .word").inner_text() == word
    before = page.locator(".says td.p").all_inner_texts()
    page.reload()
    page.wait_for_selector(".changes li")
    page.wait_for_selector(".written .word")
    page.wait_for_function(LIVE_DRAWN)
    assert page.get_by_label("Text", exact=True).input_value() == "A dog barked"
    assert page.locator(".says td.p").all_inner_texts() == before
    page.locator(".whatif").get_by_role("button", name="None").click()
    page.wait_for_selector(".changes li", state="detached")


def test_what_a_page_opens_with_is_text_and_pair(inside: Any) -> None:
    page = inside("BERT that tags").page
    assert page.get_by_label("Text", exact=True).input_value() == MARKUP
    assert page.locator("img").count() == 0
    page = inside("BERT that classifies").page
    assert page.get_by_label("Pair", exact=True).input_value() == PAIR
    assert page.locator(".hv .toks.r .tok").all_inner_texts()[-4:] == ["it", "slept", ".", "[SEP]"]
    page.evaluate("document.querySelector('.live .why').hidden = true")  # as where no word or class is said
    lefts = [page.locator(f".live .{part}").bounding_box()["x"] for part in ("texts", "middle", "tells")]
    assert lefts == sorted(lefts)


NO_SIMD = "WebAssembly.validate = () => false"
NO_WORKERS = "delete window.Worker"
BROKEN = "const parse = JSON.parse; JSON.parse = (text) => { const found = parse(text); if (found?.kind === 'standalone') found.model.tokenizer.probes[0].ids[1] = 7; return found; }"


@pytest.mark.parametrize(
    ("init", "why"),
    [
        (NO_SIMD, "this browser's WebAssembly has no SIMD instructions"),
        (NO_WORKERS, "this browser has no workers"),
        (BROKEN, "the tokenizer in this page reads"),
    ],
)
def test_a_model_that_cannot_run_leaves_the_picture(
    standalone: Any, page_of: Any, init: str, why: str
) -> None:
    page = standalone(page_of("BERT"), init=f"(() => {{ {init}; }})()").page
    page.wait_for_selector("#headscope[data-failed]")
    said = page.locator(".lost").inner_text()
    assert said.startswith("The model in this page cannot run here: ")
    assert why in said
    assert page.locator(".hx .toks.r").count() > 0  # the picture that the page was written with
    assert not page.get_by_label("Text", exact=True).is_visible()


def test_a_text_is_shaded_as_soon_as_the_model_is_awake(standalone: Any, page_of: Any) -> None:
    page = standalone(page_of("Llama"), init="Worker.prototype.postMessage = () => undefined").page
    page.wait_for_selector(".hx .toks.r")
    page.locator(".hv .toks.r .tok .t").first.click()  # it is asked about once the model is awake
    for name in ("Shade the text", "Rank the heads"):
        assert page.get_by_role("button", name=name, include_hidden=True).is_disabled()
    page = standalone(page_of("Llama")).page
    page.wait_for_function(LIVE_DRAWN)
    page.locator(".why summary").click()
    page.get_by_role("button", name="Shade the text").click()
    page.wait_for_selector(".why .sources")
    page.locator(".why .detail td button").first.click()
    page.get_by_role("button", name="Look at it twice as much").click()
    page.wait_for_selector(".changes li")
    assert page.locator(".changes code").inner_text().startswith("all scale >")
    page.wait_for_function(
        "() => document.querySelector('.story p').textContent.startsWith('With the odds of “')"
    )
    page.get_by_role("button", name="Look at it as before").click()
    page.wait_for_selector(".changes li", state="detached")


PRESS = """([selector, name, place]) => {
    const seen = [...document.querySelectorAll(selector)].filter(
        (each) => each.checkVisibility() && !each.disabled && (each.ariaLabel ?? each.textContent).includes(name))
    seen[Math.floor(place * seen.length)]?.click()
    return seen.length > 0
}"""
"""Presses one of the elements seen, in one step: the page may draw them anew at any moment."""


@pytest.mark.slow
def test_random_actions_leave_no_error(standalone: Any, page_of: Any) -> None:
    """HEADSCOPE_TEST_SEED draws others."""
    page = standalone(page_of("Llama")).page
    page.wait_for_function(LIVE_DRAWN)
    page.locator(".whatif summary").click()
    draw = dice()
    box = page.get_by_label("Text", exact=True)
    pressed = 0
    for _ in range(60):
        deed = draw.randrange(6)
        if deed == 0:
            box.fill(draw.choice(["The cat", "A dog barked. It ran", "", "x", "[[ </b> ☃ 日本"]))
        elif deed == 1:
            pressed += page.evaluate(PRESS, [".offers button", "", draw.random()])
        elif deed == 2:
            page.keyboard.press(draw.choice(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]))
        elif deed == 3:
            pressed += page.evaluate(PRESS, [".says .word", "", 0])
        elif deed == 4:
            pressed += page.evaluate(PRESS, [".whatif button", draw.choice(["Undo", "Redo"]), 0])
        else:
            pressed += page.evaluate(PRESS, ["[role=radio]", draw.choice(["Model", "Head", "Neurons"]), 0])
    assert pressed > 15
    box.fill("The cat sat.")
    page.wait_for_function("() => document.querySelector('.hx')?.innerText.includes('The cat sat.')")
    page.wait_for_function(LIVE_DRAWN)


@pytest.mark.slow
def test_page_with_its_model_is_accessible(standalone: Any, page_of: Any) -> None:
    page = standalone(page_of("Llama")).page
    page.wait_for_function(LIVE_DRAWN)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_selector(f".live[data-theme={theme}]")
        page.wait_for_function(LIVE_DRAWN)
        assert violations(page) == [], theme


@pytest.mark.deep
def test_a_real_language_model_writes_in_a_page(standalone: Any, smollm: Model) -> None:
    """A small random model does so in every other test."""
    page = standalone(written(smollm, "The capital of France is", weights="int8")).page
    page.wait_for_function(LIVE_DRAWN)
    assert page.locator(".says .word").first.inner_text().strip("␣ ") == "Paris"
    page.locator(".says .word").first.click()
    page.wait_for_selector(".written .word")
    page.wait_for_function(LIVE_DRAWN)
    assert page.locator(".written .word").inner_text().strip("␣ ") == "Paris"


def test_report_with_its_model(standalone: Any) -> None:
    """It starts when asked; its maps are those of the rounded weights, as far from float32 as the page says."""
    model = model_of("BERT")
    corpus = hs.corpora.texts([TEXT, "It slept.", "A dog barked at the cat."])
    html = hs.report(model, corpus, sections=["table"], examples=2, live=True)
    inside = standalone(html)
    page = inside.page
    page.wait_for_selector("#headscope[data-ready]")
    assert page.evaluate("() => window.kept === undefined")  # nothing runs before it is asked for
    page.get_by_role("button", name="Start the model").click()
    page.wait_for_function(LIVE_DRAWN.replace("'.hx'", "'.live .hx'"))
    told, arrays = inside.show(LIVE_TEXT)
    maps = hs.capture(model, LIVE_TEXT)
    largest = 0.0
    for ref, layer in zip(told["payload"]["inputs"][0]["parts"][0]["layers"], maps.layers, strict=True):
        found = np.frombuffer(arrays[ref["data"]], "<f4").reshape(ref["shape"])
        largest = max(largest, float(np.abs(found - layer).max()))
    words = page.locator(".rounding").inner_text()
    number = re.search(r"differ by at most (\S+),", words)
    assert number is not None
    assert 1e-4 < largest <= float(number[1]) + 5e-4
    assert "million weights, rounded to int8" in words
    page.get_by_label("Text", exact=True).fill("Another sentence")
    page.wait_for_function("() => document.querySelector('.live .hx .toks')?.innerText.includes('another')")
