"""Built-in pictures that are like photographs."""

from __future__ import annotations

import numpy as np
from drawing.canvas import Array, Canvas, blend, both, noise, rgb, smooth, without


def lake() -> Canvas:
    """The sun sets over a lake, as in a photograph."""
    scene = Canvas(320, 214)
    draw = np.random.default_rng(7)
    shore, sun = 132.0, (214.0, 95.0)
    scene.paint(
        scene.everywhere(), scene.down("#2c3e6b", "#6a5b8c", "#d98a78", "#f8c27a", "#ffe3a6", bottom=shore)
    )
    haze = noise(draw, 214, 320, 14, 4) * 0.6 + noise(draw, 214, 320, 30, 9) * 0.4
    clouds = np.clip((haze - 0.52) * 3, 0, 1) * np.clip((96 - scene.y) / 70, 0, 1)
    scene.glow(clouds * 0.6, "#f0a487")
    away = np.hypot(scene.x - sun[0], scene.y - sun[1])
    scene.glow(np.exp(-away / 46) * 0.85, "#ffe2a0")
    ridges: list[Array] = []
    for top, rough, color, seed in (
        (104, 34, "#8c6f8f", 1),
        (117, 24, "#5d4d74", 2),
        (126, 12, "#33304f", 3),
    ):
        ridges.append(both(scene.below(_ridge(seed, scene.width, top, rough)), scene.y - shore))
        scene.paint(
            ridges[-1],
            blend(
                (scene.y - top + rough) / (shore - top + rough),
                color,
                blend(np.array(0.35), color, "#e7a487"),
            ),
            of="mountains",
        )
    water = scene.y >= shore
    mirror = np.clip((2 * shore - scene.y - 1).astype(int), 0, 213)
    ripple = (noise(draw, 214, 320, 70, 8) - 0.5) * np.clip((scene.y - shore) / 12, 0, 5)
    column = np.clip(scene.x + ripple * 3, 0, 319).astype(int)
    deep = np.clip((scene.y - shore) / 82, 0, 1)
    mirrored = scene.pixels[mirror, column] * rgb("#f2dfd2") / 255
    seen = blend(deep * 0.45 + 0.1, "#000000", "#3a3c60") + mirrored * (0.9 - 0.3 * deep)[..., None]
    scene.pixels = np.where(water[..., None], seen, scene.pixels)
    for name in scene.seen:
        scene.seen[name] = np.where(water, 0, scene.seen[name])
    scene.seen["lake"] = np.where(water, 1.0, 0.0)
    glitter = noise(draw, 214, 320, 60, 22)
    spread = 7 + (scene.y - shore) * 0.34
    shine = np.exp(-(((scene.x - sun[0]) / spread) ** 2)) * np.clip((glitter - 0.42) * 4, 0, 1)
    scene.glow(np.where(water, shine, 0) * 0.9, "#ffe9b8")
    scene.paint(without(scene.circle(*sun, 13), *ridges), "#fff8df", of="sun")
    scene.pixels += draw.normal(0, 1.6, scene.x.shape)[..., None]
    return scene


def _ridge(seed: int, width: int, top: float, rough: float) -> Array:
    """The line of a mountain ridge: bumps of every size."""
    draw = np.random.default_rng(seed)
    heights = np.zeros(width)
    for octave in range(6):
        heights += noise(draw, 1, width, 1, 2.3 * 2**octave)[0] / 1.9**octave
    heights = (heights - heights.min()) / np.ptp(heights)
    return smooth(top + rough * (0.5 - heights), 3)


def ball() -> Canvas:
    """A white ball on boards, as in a photograph."""
    scene = Canvas(320, 240)
    draw = np.random.default_rng(5)
    boards = np.zeros((240, 320, 3))
    tones = draw.uniform(-1, 1, 6)
    for board in range(6):
        top, bottom = board * 40, board * 40 + 40
        bend = noise(draw, 40, 320, 2, 3) * 22
        rings = np.sin((scene.y[top:bottom] - top + bend) * 0.62 + board) * 0.5 + 0.5
        fine = noise(draw, 40, 320, 38, 6)
        value = 0.55 * rings + 0.45 * fine + 0.22 * tones[board]
        boards[top:bottom] = blend(np.clip(value, 0, 1), "#7d5230", "#a87543", "#c9975f", "#d9ad78")
    scene.paint(scene.everywhere(), boards, of="boards")
    for y in range(0, 241, 40):
        scene.shade(scene.line((-5, y), (325, y), width=2.2), "#3a2414", 0.9, soft=2)
        scene.shade(scene.line((-5, y + 2), (325, y + 2), width=1), "#e7c592", 0.5, soft=1.5)
    for x, y in ((90, 0), (228, 40), (60, 80), (262, 120), (120, 160), (240, 200)):
        scene.shade(scene.line((x, y), (x, y + 40), width=2), "#3a2414", 0.85, soft=2)
        for side in (-7, 7):
            scene.shade(scene.circle(x + side, y + 20, 1.7), "#2f1d10", 0.9, soft=1.5)
    light = np.exp(-np.hypot(scene.x - 70, scene.y - 20) / 240)
    scene.pixels *= (0.66 + 0.5 * light)[..., None]
    scene.shade(scene.ellipse(196, 158, 62, 26, 14), "#1d1108", 0.75, soft=26)
    x, y, radius = 170.0, 118.0, 50.0
    up = np.sqrt(np.maximum(radius**2 - (scene.x - x) ** 2 - (scene.y - y) ** 2, 0)) / radius
    lit = np.clip(-0.55 * (scene.x - x) / radius - 0.55 * (scene.y - y) / radius + 0.63 * up, 0, 1)
    bounce = np.clip((scene.y - y) / radius, 0, 1) ** 3 * 0.28
    scene.paint(
        scene.circle(x, y, radius),
        blend(np.clip(lit + 0.12, 0, 1), "#6d6a70", "#b9b6b4", "#f1eee8", "#ffffff")
        + bounce[..., None] * (rgb("#c08a55") - 128),
        of="ball",
    )
    scene.shade(scene.ellipse(150, 94, 9, 6, -40), "#ffffff", 0.9, soft=7)
    scene.pixels += draw.normal(0, 1.8, scene.x.shape)[..., None]
    return scene
