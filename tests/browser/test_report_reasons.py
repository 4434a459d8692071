"""The promise kept: whatever names a head opens it on what was said of it, and the way back leads to the same place."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import headscope as hs
from headscope.models import Model
from tests.helpers import linguistics_sample as sample
from tests.helpers.small_models import small_bert, small_roberta

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SECTIONS = ["figures", "roles", "cards", "syntax", "coref", "links", "clusters", "compare", "table"]
SETTLED = """async () => {
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  return !document.querySelector('.hx[data-busy], .hx[data-drawing]');
}"""

WALK = """async (every) => {
  const busy = () => document.querySelector('.hx[data-busy]') !== null;
  const found = [];
  for (const details of document.querySelectorAll('details')) details.open = true;
  const kind = (link) => {
    const { example, pin, label, measure } = JSON.parse(link.dataset.reason);
    return JSON.stringify([link.closest('section').dataset.section, link.className, link.dataset.kind, (example ?? null) !== null, pin?.side, label, measure]);
  };
  // A card comes and goes with the open head, so links are looked for anew.
  const links = (wanted) => [...document.querySelectorAll('.page [data-opens]')].filter((link) => kind(link) === wanted);
  const asked = [];
  for (const wanted of new Set([...document.querySelectorAll('.page [data-opens]')].map(kind))) {
    const places = [...links(wanted).keys()];
    for (const place of every ? places : [places[places.length >> 1]]) asked.push([wanted, place]);
  }
  for (const [wanted, place] of asked) {
    const link = links(wanted)[place] ?? links(wanted).at(-1);
    if (!link) continue;
    const said = {
      section: link.closest('section').dataset.section, text: link.innerText, named: link.dataset.opens,
      reason: JSON.parse(link.dataset.reason), kind: link.dataset.kind ?? null,
    };
    link.click();
    do await new Promise(requestAnimationFrame); while (busy());
    const pin = document.querySelectorAll('.explorer .toks.l .tok.pin, .explorer .toks.r .tok.pin');
    found.push({
      ...said,
      head: document.querySelector('.openhead h2').textContent,
      header: [...document.querySelectorAll('.openhead .figure > *')].map(one => one.textContent),
      example: document.querySelector('select.example').selectedIndex,
      pinned: [...pin].map(one => [one.closest('.toks').classList.contains('l') ? 'from' : 'to', one.textContent]),
      state: new URLSearchParams(location.hash.slice(1)).get('view.pin'),
      neurons: !document.querySelector('.explorer [data-v=neuron]').disabled,
      links: document.querySelector('.explorer .goldkey:not([hidden])')?.textContent ?? '',
    });
  }
  return found;
}"""
"""Follow a link of each kind, or every link, and say what each opened."""


@pytest.fixture(scope="module")
def html(demo: Model, build_once: Any) -> str:
    """All sections that name heads, on few texts."""
    texts = [
        "The cat sat on the mat, and it purred.",
        "A dog barked at the moon [all night].",
        "Anna saw her cat.",
    ]
    return build_once(
        "reasons",
        lambda: hs.report(
            demo,
            hs.corpora.texts(texts * 4),
            sections=SECTIONS,
            links=sample.pronouns(),
            examples=4,
            limit_sentences=24,
        ),
    )


@pytest.fixture(scope="module")
def compared(demo: Model, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two small models of different tokenizers, and two groups of texts of different lengths."""
    texts = ["The cat sat on the mat, and it purred.", "A dog barked at the moon.", "Anna saw her cat."]
    path = tmp_path_factory.mktemp("groups") / "pairs.tsv"
    lines = [f"{n % 2}\t{text}{' And so on.' * (n % 2)}" for n, text in enumerate(texts * 6)]
    path.write_text("label\ttext\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return hs.report(
        small_roberta(layers=3),
        hs.corpora.texts(texts * 2),
        sections=["compare", "groups"],
        against=small_bert(demo.tokenizer),
        pairs=hs.corpora.pairs(path),
        examples=1,
    )


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_a_link_that_names_a_head_opens_it_on_what_it_said(open_page: Any, html: str, every: bool) -> None:
    page = open_page(html)
    found = page.evaluate(WALK, every)
    check(found)
    assert {one["section"] for one in found} >= {
        "summary", "syntax", "coref", "links", "cards", "compare", "measures",
    }  # fmt: skip
    for one in found:
        if one["section"] in {"syntax", "coref", "links", "cards"}:
            assert one["neurons"], one


def test_groups_and_models_of_other_tokenizers_open_a_head_on_a_token(open_page: Any, compared: str) -> None:
    page = open_page(compared)
    found = page.evaluate(WALK, False)
    check(found)
    for name in ("compare", "groups"):
        own = [one["reason"] for one in found if one["section"] == name]
        assert own
        assert all(
            reason.get("example") is not None and reason.get("pin") for reason in own if reason["figure"]
        ), own
    assert page.locator(".explorer .gap:visible").count() == 0


def check(found: list[Any]) -> None:
    """What a link said stands in the header, the example and the pin."""
    for one in found:
        reason = one["reason"]
        assert one["head"] == one["named"], one
        assert one["header"][:2] == [reason["says"], reason["figure"]], one
        assert one["header"][2].startswith(reason.get("over", "over the corpus")), one
        told = one["header"][3:]
        assert told in ([], [told[0] if told else "", "on this input"]), one
        if reason.get("here"):
            assert told[0] == reason["here"], one
        if reason.get("measure") in ("previous", "current", "sep", "entropy") or one["kind"]:
            assert re.search(r"\d|right|wrong", told[0]), one  # beside the figure over the corpus
        if reason.get("example") is not None:
            assert one["example"] == reason["example"], one
        if pin := reason.get("pin"):
            assert one["state"] == f"{pin['side']},{pin['place']}", one
        if pin or reason.get("measure") not in (None, "rare_word"):  # that needs the whole corpus
            assert one["pinned"], one
        if reason.get("label"):
            assert "gold link" in one["links"], one
        if re.search(r"\bL\d+H\d", one["text"]):
            assert one["named"] in one["text"], one


SHOWN = """() => {
  const texts = (what) => [...document.querySelectorAll(what)].map(one => one.textContent);
  return {
    header: texts('.openhead h2, .openhead .figure > *'),
    example: document.querySelector('select.example').selectedIndex,
    pinned: texts('.explorer .toks .tok.pin'),
    gold: texts('.explorer .goldkey:not([hidden])'),
    drawn: [...document.querySelectorAll('.explorer .hv canvas')].map(one => one.toDataURL()),
    bar: texts('.explorer [aria-checked=true]'),
  };
}"""


def test_a_copied_link_carries_the_reason(open_page: Any, html: str) -> None:
    """One link of a kind: the address that it leaves shows the same in a fresh page."""
    page = open_page(html)
    fresh = page.context.new_page()
    fresh.set_viewport_size(page.viewport_size)
    kinds = page.evaluate(
        """() => {
          const kinds = {};
          document.querySelectorAll('[data-opens]').forEach((one, place) => {
            const { example, pin, label } = JSON.parse(one.dataset.reason);
            kinds[[(example ?? null) !== null, pin?.side, !label]] ??= place;
          });
          return Object.entries(kinds);
        }"""
    )
    assert len(kinds) >= 4, kinds
    shown = []
    for _, place in kinds:
        page.evaluate("place => document.querySelectorAll('[data-opens]')[place].click()", place)
        page.wait_for_function(SETTLED)
        shown.append((page.evaluate(SHOWN), page.evaluate("location.href")))
    assert any(one["pinned"] for one, _ in shown)
    assert any(one["gold"] for one, _ in shown)
    for wanted, address in shown:
        fresh.goto("about:blank")
        fresh.goto(address)
        fresh.wait_for_selector("[data-ready]")
        fresh.wait_for_function(SETTLED)
        assert fresh.evaluate(SHOWN) == wanted, address


def test_nothing_names_a_head_without_opening_it(open_page: Any, html: str) -> None:
    page = open_page(html)
    bare = page.evaluate(
        """() => [...document.querySelectorAll('.page button')]
          .filter(one => /^L\\d+H\\d+$/.test(one.innerText) && !one.closest('[data-opens], [data-section=heads]'))
          .map(one => one.outerHTML)"""
    )
    assert bare == []


def test_back_leads_to_the_place_in_the_report(open_page: Any, html: str) -> None:
    page = open_page(html)
    line = page.locator("[data-section=summary] .headlink:visible").first
    line.click()
    page.wait_for_function(SETTLED)
    before = [page.locator(".openhead").inner_text(), page.evaluate("location.hash")]
    mention = page.locator("[data-section=coref] .mentions:visible").first
    mention.scroll_into_view_if_needed()
    mention.click()
    page.wait_for_function(SETTLED)
    there, said = page.evaluate("scrollY"), json.loads(mention.get_attribute("data-reason"))["figure"]
    assert page.locator(".openhead .figure b").first.inner_text() == said
    page.evaluate("history.back()")
    page.wait_for_function("hash => location.hash === hash", arg=before[1])
    page.wait_for_function(SETTLED)
    assert [page.locator(".openhead").inner_text(), page.evaluate("location.hash")] == before
    page.evaluate("history.forward()")
    page.wait_for_function(
        "said => document.querySelector('.openhead .figure b').textContent === said", arg=said
    )
    assert page.evaluate("scrollY") == pytest.approx(there, abs=2)
