"""One or several heads on a sound: its spectrogram, the words in it, and attention as lanes over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headscope import words as _words
from headscope.senses import Sound
from headscope.views.canvas import Canvas, label
from headscope.views.digits import weight as short
from headscope.views.figure_grid import pooled, tint
from headscope.views.figure_head import hue, title
from headscope.views.figure_veils import Pixels, Shares, sized
from headscope.views.palette import Palette
from headscope.views.payload import SpokenInfo
from headscope.views.selection import Matrix, Selection
from headscope.views.sounding import INK, PAPER, linked, seconds, spectrogram, words

_TITLE, _PEAK, _SPOKEN, _CLOCK, _NAME, _GAP = 14.0, 9.5, 10.0, 11.0, 10.0, 4.0
_SOUND, _MAP, _HEADS = 62.0, 110.0, 22.0
_LANES = (5.0, 12.0)
_LEFT, _RIGHT = 52.0, 18.0
_LINES = 3
_FADE = 0.82
_DOTS = 3.5  # pixels a point
_SHORTEST, _MOSTLY = 0.1, 0.9


class Peak(NamedTuple):
    """A word that is written, the places of its queries, and when its attention is largest."""

    text: str
    rows: Sequence[int]
    time: float


class HeadSound:
    """The spectrogram of what is heard, and below it a lane for each query, or for each of several heads."""

    def __init__(self, selection: Selection, width: float, canvas: Canvas) -> None:
        self.selection, self.width = selection, width
        self.heads = selection.drawn_heads()
        axis = selection.maps.key
        assert axis.sound is not None
        self.sound: Sound = axis.sound
        self.seconds = seconds(axis)
        self.span = shown_span(selection.state["span"], self.seconds, self.sound.seconds)
        times, queries = selection.key.times, selection.query.times
        assert times is not None
        self.times: Matrix = times
        self.alike = queries is not None
        self.along = width - _LEFT - _RIGHT
        self.row, self.column = self._chosen()
        self.per_query = not self.alike and len(self.heads) == 1
        self.lanes = len(selection.query) if self.per_query else len(self.heads)
        self.lane = float(np.clip(230.0 / self.lanes, *_LANES)) if self.per_query else _HEADS
        self.words = words(axis) or linked(axis, selection.links, selection.maps.query)
        self.peaks = (
            []
            if self.alike or selection.against
            else self._placed(canvas, peaks(selection, self.heads[-1].matrix))
        )
        self.lines = max((line for _, line, _ in self.peaks), default=-1) + 1
        self.mapped = self.alike and len(self.heads) == 1
        above = self.lines * _PEAK + (3.0 if self.lines else 0.0) + (_SPOKEN if self.words else 0.0)
        below = _NAME + self.lanes * self.lane + (_GAP + _MAP if self.mapped else 0.0)
        self.height = _TITLE + above + _SOUND + _CLOCK + below

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it with its top left corner there."""
        colours = canvas.colours
        title(canvas, x, y, self.selection, self.heads)
        left, top = x + _LEFT, y + _TITLE
        first = top
        foot = top + self.lines * _PEAK + 3.0
        for peak, line, middle in self.peaks:
            high = top + (self.lines - 1 - line) * _PEAK + _PEAK / 2
            on = self.row is not None and self.row in peak.rows
            at = left + self._across(peak.time)
            colour = hue(self.heads[-1], len(self.heads), colours)
            canvas.lines([(at, high + 4, at, foot)], colour, 0.4)
            canvas.text(
                left + middle,
                high,
                peak.text,
                6.0,
                colours.accent if on else colours.ink,
                align="center",
                bold=on,
            )
        top = foot if self.peaks else top
        if self.words:
            self._spoken(canvas, left, top)
            top += _SPOKEN
        canvas.image(left, top, self.along, _SOUND, self._spectrogram(colours), 1)
        self._scales(canvas, left, top)
        top += _SOUND + _CLOCK
        canvas.text(left, top + 4, self._says(), 6.0, colours.ink2)
        top += _NAME
        bottom = self._draw_lanes(canvas, x, top)
        if self.mapped:
            bottom = self._map(canvas, left, bottom + _GAP)
        time = self.selection.state["time"]
        if time is not None and self.span[0] <= time <= self.span[1]:
            at = left + self._across(time)
            canvas.lines([(at, first, at, bottom)], colours.ink, 0.7, order=4)

    def notes(self) -> list[str]:
        """What the caption adds."""
        begin, end = self.span
        said = [
            f"{begin:.2f}–{end:.2f} s of {self.seconds:.2f} s",
            "heights and shades by the root of the weight",
        ]
        if self.selection.signed:
            said.append("blue positive, orange negative")
        if self.peaks:
            said.append(f"above the sound each word where the weight of {self.heads[-1].name} is largest")
        if self.words:
            said.append("brackets: when words are heard")
        matrix = self.heads[-1].matrix
        shares: Shares = matrix.mean(0) if self.row is None else matrix[self.row]
        behind = float(shares[self.times[:, 0] >= self.sound.seconds - 1e-6].sum() / max(shares.sum(), 1e-12))
        if not self.selection.signed and behind > 0.0005:
            said.append(f"{100 * behind:.1f} % on the silence after the sound")
        return said

    def _chosen(self) -> tuple[int | None, int | None]:
        """The chosen query and key; while what sounds is followed it is what sounds at the line."""
        row, column = self.selection.pinned()
        state = self.selection.state
        if row is None and column is None and state["follow"] and state["time"] is not None:
            times = self.selection.query.times if self.alike else self.times
            assert times is not None
            off = np.maximum(times[:, 0] - state["time"], state["time"] - times[:, 1] + 1e-9)
            place = int(np.argmin(np.maximum(off, 0)))
            return (place, None) if self.alike else (None, place)
        return row, column

    def _across(self, time: float) -> float:
        begin, end = self.span
        return (time - begin) / (end - begin) * self.along

    def _placed(self, canvas: Canvas, found: Sequence[Peak]) -> list[tuple[Peak, int, float]]:
        """Words above their peaks: on which line, and where; those without room are left out."""
        taken: list[list[tuple[float, float]]] = [[] for _ in range(_LINES)]
        placed: list[tuple[Peak, int, float]] = []
        inside = [peak for peak in found if self.span[0] <= peak.time <= self.span[1]]
        for peak in sorted(inside, key=lambda each: (self.row not in each.rows, each.time)):
            wide = canvas.text_width(peak.text, 6.0) + 3
            start = min(max(self._across(peak.time) - wide / 2, 0.0), self.along - wide)
            for line, others in enumerate(taken):
                if all(start + wide <= a or start >= b for a, b in others):
                    others.append((start, start + wide))
                    placed.append((peak, line, start + wide / 2))
                    break
        return placed

    def _spoken(self, canvas: Canvas, left: float, top: float) -> None:
        """Brackets where words are heard, with the words that have room."""
        colours, (begin, end) = canvas.colours, self.span
        inside: list[SpokenInfo] = [
            word for word in self.words if word["end"] > begin and word["begin"] < end
        ]
        lines: list[tuple[float, ...]] = []
        for word in inside:
            a, b = (left + self._across(min(max(word[edge], begin), end)) for edge in ("begin", "end"))
            low = top + _SPOKEN - 1.5
            lines += [(a, low - 3, a, low), (a, low, b - 0.6, low), (b - 0.6, low - 3, b - 0.6, low)]
            text = label(word["text"])
            if canvas.text_width(text, 5.0) <= b - a:
                canvas.text((a + b) / 2, top + 3.6, text, 5.0, colours.ink2, align="center")
        if lines:
            canvas.lines(lines, colours.ink3, 0.5)

    def _spectrogram(self, colours: Palette) -> Pixels:
        """The shown stretch in the palette's ink, faded where the chosen query does not listen."""
        pixels = spectrogram(self.selection.maps.key).pixels
        scale = pixels.shape[1] / self.seconds
        area = np.array([self.span[0] * scale, 0, self.span[1] * scale, pixels.shape[0]])
        wide, tall = round(_DOTS * self.along), round(_DOTS * _SOUND)
        level = sized(pixels, wide, tall, area)[..., :1].astype(float)
        strength = np.clip((PAPER[0] - level) / (PAPER[0] - INK[0]), 0, 1)
        shares = self._shares()
        if shares is not None:
            at = self.span[0] + (np.arange(wide) + 0.5) / wide * (self.span[1] - self.span[0])
            times, values = shares
            place = np.clip(np.searchsorted(times[:, 0], at, "right") - 1, 0, len(times) - 1)
            roots = np.sqrt(np.abs(values[place]) / max(float(np.abs(values).max()), 1e-12))
            strength = strength * (1 - _FADE * (1 - roots))[None, :, None]
        paper, ink = (
            np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)], float)
            for colour in (colours.track, colours.ink)
        )
        return np.rint(paper + (ink - paper) * strength).astype(np.uint8)

    def _shares(self) -> tuple[Matrix, Shares] | None:
        """What the open head gives over time where something is chosen: the times, and a share at each."""
        matrix = self.heads[-1].matrix
        if self.row is not None:
            return self.times, matrix[self.row]
        if self.column is not None and self.alike:
            assert self.selection.query.times is not None
            return self.selection.query.times, matrix[:, self.column]
        return None

    def _scales(self, canvas: Canvas, left: float, top: float) -> None:
        """Kilohertz beside the spectrogram, seconds below it."""
        colours, most = canvas.colours, self.sound.rate / 2000
        kilohertz, digits = ticks(0, most, 4)
        for at in kilohertz:
            y = top + _SOUND * (1 - at / most)
            canvas.lines([(left - 2, y, left, y)], colours.ink3, 0.4)
            text = f"{at:.{digits}f}" + (" kHz" if at == kilohertz[-1] else "")
            canvas.text(
                left - 4, min(max(y, top + 2.5), top + _SOUND - 2.5), text, 5.5, colours.ink3, align="right"
            )
        times, digits = ticks(*self.span, max(2, int(self.along / 45)))
        for at in times:
            x = left + self._across(at)
            canvas.lines([(x, top + _SOUND, x, top + _SOUND + 2)], colours.ink3, 0.4)
            text = f"{at:.{digits}f}" + (" s" if at == times[-1] else "")
            canvas.text(
                x, top + _SOUND + 6, text, 5.5, colours.ink3, align="center" if at > self.span[0] else "left"
            )

    def _says(self) -> str:
        """What the lanes show."""
        selection = self.selection
        if self.per_query:
            return (
                f"each {'word' if selection.state['unit'] == 'words' else 'token'}: how much each frame gets"
            )
        what = "mean over all queries"
        if self.row is not None:
            what = f"where {label(selection.query.pieces[self.row])} looks"
        elif self.column is not None and self.alike:
            what = f"which frames look at {label(selection.key.pieces[self.column])}"
        return f"each head: {what}" if len(self.heads) > 1 else what

    def _draw_lanes(self, canvas: Canvas, x: float, top: float) -> float:
        """The lanes from the top; returns where they end."""
        colours, matrix = canvas.colours, self.heads[-1].matrix
        special = self.selection.query.special_mask
        times = self.times
        if self.per_query:
            lanes = [
                (label(piece, 16), matrix[place], colours.accent)
                for place, piece in enumerate(self.selection.query.pieces)
            ]
        else:
            found = [self._of_head(head.matrix) for head in self.heads]
            times = found[0][0]
            lanes = [
                (head.name, values, hue(head, len(self.heads), colours))
                for head, (_, values) in zip(self.heads, found, strict=True)
            ]
        inside = (times[:, 1] > self.span[0]) & (times[:, 0] < self.span[1])
        most = max(max(float(np.abs(values[inside]).max(initial=0.0)) for _, values, _ in lanes), 1e-12)
        step = max(1, math.ceil(6.0 / self.lane))
        for place, (name, values, colour) in enumerate(lanes):
            y = top + place * self.lane
            on = self.per_query and place == self.row
            if on:
                canvas.rectangle(x + _LEFT, y, self.along, self.lane - 0.5, colours.wash, order=0.5)
            canvas.lines(
                [(x + _LEFT, y + self.lane - 1, x + _LEFT + self.along, y + self.lane - 1)], colours.line, 0.4
            )
            self._hill(canvas, x + _LEFT, y, times[inside], values[inside] / most, colour)
            if place % step == 0 or on:
                ink = (
                    colours.accent
                    if on
                    else colours.ink3
                    if self.per_query and special is not None and special[place]
                    else colours.ink
                )
                canvas.text(x + _LEFT - 4, y + self.lane / 2, name, 6.0, ink, align="right", bold=on)
                value = (
                    float(values[self.column])
                    if self.column is not None and not self.alike
                    else float(values[inside].max(initial=0.0))
                )
                canvas.text(x + self.width, y + self.lane / 2, short(value), 5.5, colours.ink3, align="right")
        return top + len(lanes) * self.lane

    def _of_head(self, matrix: Matrix) -> tuple[Matrix, Shares]:
        """What a head gives over time: from the chosen query, to the chosen frame, or on average."""
        if self.row is not None:
            return self.times, matrix[self.row]
        if self.column is not None and self.alike:
            assert self.selection.query.times is not None
            return self.selection.query.times, matrix[:, self.column]
        return self.times, matrix.mean(0)

    def _hill(
        self, canvas: Canvas, left: float, top: float, times: Matrix, shares: Shares, colour: str
    ) -> None:
        """What rises above the floor of a lane, a bar a frame; orange what is below 0."""
        starts = np.maximum(times[:, 0], self.span[0])
        ends = np.minimum(times[:, 1], self.span[1])
        scale = self.along / (self.span[1] - self.span[0])
        tall = (self.lane - 2.5) * np.sqrt(np.abs(shares))
        boxes = np.stack(
            [
                left + (starts - self.span[0]) * scale,
                top + self.lane - 1 - tall,
                (ends - starts) * scale,
                tall,
            ],
            -1,
        )
        minus = canvas.colours.diverging[1]
        for below, fill in (
            (False, canvas.colours.diverging[5] if self.selection.signed else colour),
            (True, minus),
        ):
            some = boxes[(shares < 0) == below]
            some = some[some[:, 3] > 0.05]
            if len(some):
                canvas.rectangles(some, fill)

    def _map(self, canvas: Canvas, left: float, top: float) -> float:
        """Frames by frames under the time axis, queries down; returns where it ends."""
        queries, matrix = self.selection.query.times, self.heads[-1].matrix
        assert queries is not None
        rows, columns = (
            (axis[:, 1] > self.span[0]) & (axis[:, 0] < self.span[1]) for axis in (queries, self.times)
        )
        part = matrix[rows][:, columns]
        part = pooled(part / max(float(np.abs(part).max(initial=0.0)), 1e-12), 400)
        canvas.image(left, top, self.along, _MAP, tint(part, self.selection, canvas.colours), least=400)
        canvas.text(left - 4, top + 5, "queries ↓", 5.5, canvas.colours.ink3, align="right")
        if self.row is not None and rows[self.row]:
            high = _MAP / int(rows.sum())
            y = top + int(rows[: self.row].sum()) * high
            canvas.rectangle(
                left, y, self.along, max(high, 0.8), None, edge=canvas.colours.ink, line=0.6, order=3
            )
        return top + _MAP


def peaks(selection: Selection, matrix: Matrix) -> list[Peak]:
    """Where each word of the queries has its largest weight; of several pieces the mean of their rows is looked at.

    The page does the same (``peaks`` of ``spokenwords.ts``).
    """
    query, times = selection.query, selection.key.times
    assert times is not None
    number = np.arange(len(query)) if query.word_ids is None else _words.group(query)
    special = np.zeros(len(query), bool) if query.special_mask is None else query.special_mask
    texts = query.texts
    found: list[Peak] = []
    for word in dict.fromkeys(number.tolist()):
        rows: list[int] = np.flatnonzero(number == word).tolist()
        if special[rows[0]]:
            continue
        mean = matrix[rows].mean(0)
        own = "" if texts is None else "".join(texts[row] for row in rows).strip()
        text = own or _words.joined([query.pieces[row] for row in rows])
        if mean.max(initial=0.0) > 0:
            found.append(Peak(label(text), rows, float(times[int(mean.argmax())].mean())))
    return found


def shown_span(asked: Sequence[float] | None, whole: float, heard: float) -> tuple[float, float]:
    """The stretch that is shown: what is asked for, within what the model hears; by default the sound itself.

    The page does the same (``shownSpan`` of ``soundlayout.ts``).
    """
    if asked is None:
        return 0.0, heard if 0 < heard < _MOSTLY * whole else whole
    length = min(max(asked[1] - asked[0], min(_SHORTEST, whole)), whole)
    begin = min(max(asked[0], 0.0), whole - length)
    return begin, begin + length


def ticks(begin: float, end: float, most: int) -> tuple[list[float], int]:
    """Round numbers from `begin` to `end`, about `most` of them, and how many decimals they have."""
    rough = (end - begin) / max(1, most)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((each for each in (1, 2, 5, 10) if each * power >= rough * 0.999), 10) * power
    first, last = math.ceil(begin / step - 1e-6), math.floor(end / step + 1e-6)
    return [at * step for at in range(first, last + 1)], max(0, -math.floor(math.log10(step) + 1e-9))


def sounds(selection: Selection) -> bool:
    """Whether all keys are stretches of a sound, and all queries too or none of them."""
    key, query = selection.maps.key, selection.maps.query
    if key.sound is None or key.times is None or np.isnan(key.times).any():
        return False
    return query.times is None or not np.isnan(query.times).any()
