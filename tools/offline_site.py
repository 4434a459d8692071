"""A hook of mkdocs: the site that was built has pages, and they fetch nothing from the network and nothing that is
not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

REMOTE = r"(https?:)?//"


class Fetched(HTMLParser):
    """What a browser fetches to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        link = named.get("href") if tag == "link" and named.get("rel") != "canonical" else named.get("src")
        if link:
            self.found.append(link)


def faults(site: Path) -> Iterator[str]:
    """What is wrong with a site, a line each."""
    for page in sorted(site.rglob("*.html")):
        parser = Fetched()
        parser.feed(page.read_text(encoding="utf-8"))
        name = page.relative_to(site)
        if not parser.found:
            yield f"{name} has no style and no script"
        for link in parser.found:
            if page.name == "404.html":  # is served for any address, so its links begin at the root
                link = link.removeprefix("/")
            if re.match(REMOTE, link):
                yield f"{name} fetches {link}"
            elif not (page.parent / link.split("?")[0].split("#")[0]).resolve().exists():
                yield f"{name}: no {link}"
    for sheet in sorted(site.rglob("*.css")):
        if re.search(rf"url\(['\"]?{REMOTE}", sheet.read_text(encoding="utf-8")):
            yield f"{sheet.relative_to(site)} fetches from the network"


def on_post_build(config: Any) -> None:
    """mkdocs calls this at the end of a build."""
    from mkdocs.exceptions import PluginError

    site = Path(config.site_dir)
    if len(list(site.rglob("*.html"))) <= 30:
        raise PluginError(f"{site}: expected more than 30 pages")
    if found := list(faults(site)):
        raise PluginError("\n".join(found))
