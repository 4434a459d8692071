"""A text with pictures in it, and a head that looks from one of its words at one of their patches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import headscope as hs
from headscope.core.maps import AttentionMaps
from tests.helpers.heard_sample import frames

WIDE, HIGH = 120, 80
ROWS, COLUMNS = 2, 3
WORDS = ["Where", "is", "the", "cup", "?"]
PIECES = ["<s>", "ĠWhere", "Ġis", "Ġthe", "Ġc", "up", "?"]
"""The text; "cup" has two pieces."""


def picture() -> hs.Picture:
    pixels = np.full((HIGH, WIDE, 3), 210, np.uint8)
    pixels[:40, :40] = (220, 60, 40)
    return hs.Picture(pixels, "red corner")


def axis(pictures: int = 1, generated: int = 0) -> hs.Tokens:
    """The first token, so many pictures of 2 × 3 patches (one beside the other), and the text."""
    pieces, places, ids = [PIECES[0]], [[np.nan] * 5], [-1]
    for number in range(pictures):
        grid = hs.Grid(ROWS, COLUMNS, picture=picture())
        shift = np.array([number * WIDE, 0, number * WIDE, 0]) / pictures
        scale = np.array([1 / pictures, 1, 1 / pictures, 1])
        pieces += grid.pieces
        places += [[0, *box] for box in (grid.boxes * scale + shift).tolist()]
        ids += [-1] * len(grid)
        if number + 1 < pictures:
            pieces.append("Ġand")
            places.append([np.nan] * 5)
            ids.append(50)
    pieces += PIECES[1:]
    places += [[np.nan] * 5 for _ in PIECES[1:]]
    ids += [0, 1, 2, 3, 3, 4]
    count = len(pieces)
    return hs.Tokens(
        pieces,
        special_mask=np.arange(count) == 0,
        word_ids=np.array(ids),
        media=[picture()],
        places=np.array(places),
        classes={"generated": np.arange(count) >= count - generated} if generated else {},
    )


def planted(tokens: hs.Tokens) -> AttentionMaps:
    """Head 0: both pieces of "cup" look at patch[0,0] (.5, .7), all else at the first token; head 1 looks at itself."""
    count = len(tokens)
    first = np.tril(np.full((count, count), 0.001))
    first[:, 0] += 1
    cup = count - 3
    for row, weight in ((cup, 0.5), (cup + 1, 0.7)):
        first[row] = 0
        first[row, 1], first[row, 2], first[row, 0] = weight, 0.1, 0.9 - weight
    heads = np.stack([first / first.sum(1, keepdims=True), np.eye(count)])
    return AttentionMaps([heads.astype(np.float32)] * 2, tokens, tokens, causal=True)


def heard() -> AttentionMaps:
    """A text with a sound in it."""
    sound = frames()
    before, after = ["<s>", "Listen"], ["What", "?"]
    tokens = hs.Axis({"before": before, "sound": sound, "after": after})
    tokens = replace(tokens, special_mask=np.arange(len(tokens)) == 0, classes={})
    weights = np.tril(np.ones((1, len(tokens), len(tokens))))
    return AttentionMaps([weights / weights.sum(-1, keepdims=True)], tokens, tokens, causal=True)
