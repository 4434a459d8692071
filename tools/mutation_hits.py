"""Which tests pass which places of the code: what `tools/mutate.py probe` puts into the code calls `__hit__`.

It is imported at the start of every Python (by a `.pth` file in a throw-away environment) and as a plugin of pytest,
where it gives the browser's pages the same function, and asks the engine of stills what it has passed.
`$MUTATION_HITS` is the folder that takes the lines.
"""

from __future__ import annotations

import builtins
import json
import os
from typing import Any

_seen: set[tuple[int, str]] = set()


def hit(place: int) -> None:
    folder = os.environ.get("MUTATION_HITS")
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" (", 1)[0]
    if folder and (place, test) not in _seen:
        _seen.add((place, test))
        with open(os.path.join(folder, f"{os.getpid()}.txt"), "a", encoding="utf-8") as lines:
            lines.write(f"{place}\t{test}\n")


builtins.__hit__ = hit  # type: ignore[attr-defined]


def pytest_configure() -> None:
    from playwright.sync_api import Browser
    from py_mini_racer import MiniRacer

    new_context, call = Browser.new_context, MiniRacer.call

    def with_hits(self: Browser, *arguments: Any, **options: Any) -> Any:
        context = new_context(self, *arguments, **options)
        context.expose_binding("__hit__", lambda source, place: hit(place))
        return context

    Browser.new_context = with_hits  # type: ignore[method-assign]

    def and_tell(self: MiniRacer, *arguments: Any, **options: Any) -> Any:
        answer = call(self, *arguments, **options)
        for place in json.loads(str(self.eval("JSON.stringify(Object.keys(globalThis.__hits__ ?? {}))"))):
            hit(int(place))
        self.eval("globalThis.__hits__ = {}")
        return answer

    MiniRacer.call = and_tell  # type: ignore[method-assign]
