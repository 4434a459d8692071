"""What the sections of a report share."""

from __future__ import annotations

from typing import Any

import headscope as hs
from headscope.analyses.study import Gallery
from headscope.models import Model
from headscope.views.explorer import Input


def test_no_more_maps_than_there_is_room_for(demo: Model) -> None:
    inputs: list[Any] = []
    gallery = Gallery(inputs, lambda tokens: Input({"self": hs.capture(demo, tokens)}))
    example = next(hs.corpora.builtin_trees().encoded(demo))
    size = 72 * len(example.tokens or ()) ** 2
    gallery.room(2 * size)
    assert [gallery.add(example) for _ in range(3)] == [0, 1, None]
    gallery.room(size)
    assert gallery.add(example) == 2
    assert Gallery(inputs, None).add(example) is None
