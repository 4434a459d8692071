"""Pages of one browser that go from test to test: a new one costs several times what a second document costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.helpers.patience import PATIENCE


@dataclass
class Tab:
    """A page in a context of its own, what it complained of, and what it asked for, since it was taken."""

    page: Any
    kind: tuple[Any, ...]
    errors: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self.errors.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def ready(self, address: str) -> Any:
        self.page.goto(address)
        self.page.wait_for_selector("#headscope[data-ready]")
        return self.page


class Tabs:
    """Tabs of a browser by how their contexts were made; one that is given back remembers nothing."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.free: list[Tab] = []

    def take(self, *scripts: str, width: int, height: int, scheme: str, **options: Any) -> Tab:
        """A tab whose pages run ``scripts`` before their own, in a context made with ``options``."""
        kind = (scripts, *sorted(options.items()))
        tab = next((one for one in self.free if one.kind == kind), None)
        if tab:
            self.free.remove(tab)
        else:
            context = self.browser.new_context(**{"offline": True, **dict(options)})
            context.set_default_timeout(1000 * PATIENCE)
            for script in scripts:
                context.add_init_script(script)
            tab = Tab(context.new_page(), kind)
        tab.page.set_viewport_size({"width": width, "height": height})
        tab.page.emulate_media(media="null", color_scheme=scheme, reduced_motion="null", forced_colors="null")
        return tab

    def give(self, tab: Tab) -> None:
        page = tab.page
        if page.is_closed():
            return
        for other in page.context.pages:
            if other is not page:
                other.close()
        page.evaluate("try { localStorage.clear(); sessionStorage.clear() } catch {}")
        page.mouse.move(0, 0)
        page.goto("about:blank")
        tab.errors.clear()
        tab.requests.clear()
        self.free.append(tab)
