"""A walk through the whole report: everything that leads somewhere is followed, and nothing may complain."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.page_controls import press

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EXTERNAL: set[str] = set()
"""Addresses outside that a report links to: none."""

OPENERS = {
    "summary": {"headlink"},
    "measures": {"grid", "headname"},
    "layers": {"point"},
    "classes": {"point"},
    "roles": {"headname", "headlink"},
    "clusters": {"point"},
    "atlas": {"point"},
    "syntax": {"headname", "sentence"},
    "coref": {"headname", "mentions"},
    "probes": set[str](),
    "positions": {"point"},
    "compare": {"grid", "point"},
    "cards": {"headlink", "line", "tenth"},
    "heads": {"headname"},
    "absent": set[str](),
    "methods": set[str](),
}
"""What opens a head, by the kind of section; more may."""

KINDS = {
    "grid": ".grid [data-row]",
    "point": ".plot:not(.grid) [data-row]",
    **{name: f".{name}" for name in ("headlink", "headname", "line", "tenth", "sentence", "mentions")},
}

FAR = "L5H0"
PRESSED = ".page button, .page summary, .topbar button"
SETTLED = "() => !document.querySelector('.hx[data-busy]')"


TOOLS = """
  const frame = () => new Promise(requestAnimationFrame);
  const settled = async () => { do await frame(); while (document.querySelector('.hx[data-busy]')); };
  const seen = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getBoundingClientRect().height > 0;
  const some = (all) => [...new Set([all[0], all.at(-1)])].filter((one) => one !== undefined);
  const open = () => document.querySelector('.openhead h2').textContent;
  const shown = () => String(document.querySelector('select.example').selectedIndex);
  // What a mouse does at the middle of a mark, and says what lies over the mark where it cannot.
  const press = (mark) => {
    mark.scrollIntoView({ block: 'nearest', behavior: 'instant' });
    const at = () => {
      const box = mark.getBoundingClientRect();
      const [clientX, clientY] = [box.x + box.width / 2, box.y + box.height / 2];
      return [{ clientX, clientY, bubbles: true, cancelable: true, detail: 1 }, document.elementFromPoint(clientX, clientY)];
    };
    if (!mark.contains(at()[1])) mark.scrollIntoView({ block: 'center', behavior: 'instant' });
    const [where, hit] = at();
    const over = hit && (mark.contains(hit) || mark.ownerSVGElement?.contains(hit)) ? null : hit?.outerHTML.slice(0, 100) ?? 'nothing';
    const pointer = { ...where, isPrimary: true, pointerType: 'mouse' };
    for (const name of ['pointerover', 'pointermove', 'pointerdown', 'pointerup']) hit?.dispatchEvent(new PointerEvent(name, pointer));
    hit?.dispatchEvent(new MouseEvent('click', where));
    return over;
  };
"""

FOLLOWED = f"""async ([kinds, far]) => {{
  {TOOLS}
  const leave = async () => {{
    while (open() !== far) {{
      location.hash = `#head=${{far}}&example=0`;
      for (let frames = 0; frames < 10 && open() !== far; frames++) await frame();
    }}
    await settled();
  }};
  for (const note of document.querySelectorAll('.page details:not(.more) > summary')) note.click();
  const found = [];
  for (const section of document.querySelectorAll('section[data-section]')) {{
    await leave(); // a card stands for the open head
    for (const [opener, selector] of Object.entries(kinds)) {{
      const marks = () => [...section.querySelectorAll(selector)].filter(seen);
      const places = some([...marks().keys()]);
      for (const place of opener.startsWith('head') ? places.slice(-1) : places) {{
        const told = () => {{
          const mark = marks()[place] ?? marks().at(-1);
          const row = opener === 'headname' && section.dataset.section === 'syntax' && mark.closest('tr');
          const text = row ? row.querySelector('td b').innerText : `${{mark.ariaLabel ?? ''}} ${{mark.innerText ?? ''}}`;
          return [mark, /\\bL\\d+H\\d+\\b/.exec(text)?.[0] ?? null, mark.dataset.example ?? null];
        }};
        let [mark, head, example] = told();
        if (!head || head === open() || example === shown()) await leave();
        [mark, head, example] = told();
        const over = press(mark);
        await settled();
        const rows = [...document.querySelectorAll('tr[aria-selected=true]')].filter((row) => row.innerText.includes(open()));
        found.push({{ section: section.dataset.section, opener, head, example, over, open: open(), shown: shown(), rows: rows.length }});
      }}
    }}
  }}
  return found;
}}"""
"""Press some of each kind of thing that opens a head, in each section, and say what each opened."""


def opened(page: Any) -> tuple[str, str]:
    """The head that is open, and the example."""
    page.wait_for_function(SETTLED)
    return (
        page.locator(".openhead h2").inner_text(),
        page.locator("select.example").evaluate("select => String(select.selectedIndex)"),
    )


def test_every_section_is_there_and_the_page_is_small(open_page: Any, built_in: str) -> None:
    page = open_page(built_in)
    there = page.locator("section[data-section]").evaluate_all("all => all.map(one => one.dataset.section)")
    assert set(there) == set(OPENERS)
    assert len(built_in.encode()) < 10_000_000
    assert page.locator(".failure, [data-section=failed]").count() == 0
    sizes = "all => all.filter(e => e.checkVisibility() && !e.children.length && e.innerText).map(e => getComputedStyle(e).fontSize)"
    assert {*page.locator("body *").evaluate_all(sizes)} <= {"0px", "11px", "12px", "13px", "15px", "24px"}
    for section in page.locator("section[data-section]").all():
        kind = section.get_attribute("data-section")
        buttons = set(section.locator(".saves button").all_inner_texts())
        if kind == "summary":  # its figures are saved where they are from
            continue
        assert {"CSV", "Parquet"} <= buttons, kind
        if section.locator(".plot svg, .grid, .cases svg.arcs").count():
            assert "SVG" in buttons, kind
        assert (section.locator(".again code").count() == 1) == (kind not in ("absent", "methods"))


def test_every_link_leads_somewhere(open_page: Any, built_in: str) -> None:
    page = open_page(built_in)
    links = page.locator("a[href]:not(.headlink, .headname)")
    inside = [link for link in links.all() if link.get_attribute("href").startswith("#")]
    outside = {link.get_attribute("href") for link in links.all()} - {
        link.get_attribute("href") for link in inside
    }
    assert outside == EXTERNAL
    assert all(address.startswith("https://") for address in outside)
    titled = page.locator("section[data-section] h2").count()
    assert len(inside) == len({link.get_attribute("href") for link in inside}) == titled
    before = opened(page)
    for link in inside:
        target = link.get_attribute("href")[1:]
        link.click()
        page.wait_for_function(
            """id => { const box = document.getElementById(id).getBoundingClientRect();
                return box.height > 0 && box.top < innerHeight && box.bottom > 0; }""",
            arg=target,
        )
        assert page.locator(f"[id='{target}'] h2").inner_text() == link.text_content()
        assert opened(page) == before
        page.wait_for_function("() => location.hash.startsWith('#head=')")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_everything_that_stands_for_a_head_opens_it(open_page: Any, built_in: str) -> None:
    """The last name of a head, the first and the last of each other kind in each section, pressed by a script where a mouse would."""
    page = open_page(built_in)
    found = page.evaluate(FOLLOWED, [KINDS, FAR])
    for section, openers in OPENERS.items():
        assert openers <= {one["opener"] for one in found if one["section"] == section}, section
    unnamed: dict[tuple[str, str], set[str]] = {}
    for one in found:
        assert not one["over"], one
        if one["head"]:
            assert one["open"] == one["head"], one
        else:
            unnamed.setdefault((one["section"], one["opener"]), set()).add(one["open"])
        assert one["shown"] == (one["example"] or one["shown"]), one
        assert one["rows"], one
    assert unnamed
    for where, heads in unnamed.items():
        assert heads - {FAR}, where


def test_a_mouse_opens_a_head(open_page: Any, built_in: str) -> None:
    page = open_page(built_in, fragment=f"#head={FAR}&example=0")
    for opener, marks in KINDS.items():
        page.evaluate("far => (location.hash = `#head=${far}&example=0`)", FAR)
        page.wait_for_function("far => document.querySelector('.openhead h2').textContent === far", arg=FAR)
        assert opened(page) == (FAR, "0"), opener
        press(page, page.locator(f"section[data-section] {marks}:visible").first)
        page.wait_for_function(  # a card's lines open its head on other examples
            "far => document.querySelector('.openhead h2').textContent !== far || document.querySelector('select.example').selectedIndex > 0",
            arg=FAR,
        )


PRESSES = f"""async (pressed) => {{
  {TOOLS}
  const groups = new Map();
  for (const one of document.querySelectorAll(pressed)) {{
    if (one.closest('.saves') || !one.checkVisibility()) continue;
    const name = `${{one.closest('section')?.dataset.section}} ${{one.closest('thead') ? 'sort' : one.className}}`;
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }}
  const over = [];
  let count = 0;
  for (const [name, marks] of groups)
    for (const mark of some(marks)) {{
      count++;
      const found = seen(mark) && press(mark);
      if (found) over.push([name, mark.outerHTML.slice(0, 100), found]);
      await settled();
    }}
  return [count, over];
}}"""


def test_everything_that_can_be_pressed_can_be(open_page: Any, built_in: str) -> None:
    """Measures, switches, sorting, folded notes and the explorer's own row: none of them complains."""
    page = open_page(built_in)
    count, over = page.evaluate(PRESSES, PRESSED)
    assert count > 30
    assert over == []
    strips = page.locator(".strips canvas")
    press(page, strips.nth(strips.count() // 2))
    page.wait_for_function(SETTLED)
    page.get_by_role("button", name="Page of this head").click()
    page.get_by_role("button", name="Back to the report").click()
    page.get_by_role("button", name="Row in the table").click()
    assert page.evaluate("document.activeElement.className") == "headname"
