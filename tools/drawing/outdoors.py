"""Built-in pictures: outside."""

from __future__ import annotations

import numpy as np
from drawing.canvas import Canvas, blend, both, either, without


def park() -> Canvas:
    """A man walks his dog."""
    scene = Canvas(320, 240)
    scene.paint(scene.everywhere(), scene.down("#8fc7ea", "#d8ecf3", "#fbf3dc", bottom=150))
    for x, y, size in (
        (66, 44, 17),
        (88, 38, 21),
        (112, 46, 15),
        (232, 30, 12),
        (250, 26, 16),
        (268, 32, 11),
    ):
        scene.shade(scene.ellipse(x, y, size * 1.3, size * 0.62), "#ffffff", 0.85, soft=5)
    scene.paint(
        scene.below([(0, 132), (70, 118), (150, 134), (230, 116), (320, 128)]),
        scene.down("#9ccb93", "#86bb80", top=110, bottom=160),
    )
    scene.paint(
        scene.below([(0, 152), (110, 142), (220, 150), (320, 140)]),
        scene.down("#79b565", "#4f9348", top=140, bottom=240),
    )
    path = both(
        scene.below([(0, 196), (140, 204), (320, 190)]), -scene.below([(0, 222), (140, 230), (320, 214)])
    )
    scene.paint(path, scene.down("#eddcb4", "#dcc596", top=190, bottom=232))
    # The tree
    scene.shade(scene.ellipse(66, 186, 58, 8), "#2f5f35", 0.45, soft=10)
    scene.paint(scene.line((64, 184), (66, 120), width=17, end=11), "#7a5236", of="tree")
    scene.paint(scene.line((66, 138), (86, 112), width=8, end=5), "#7a5236", of="tree")
    leaves = [(66, 66, 34), (38, 84, 27), (96, 84, 28), (52, 100, 24), (82, 102, 23)]
    for x, y, radius in leaves:
        scene.paint(scene.circle(x, y, radius), "#3f8a45", of="tree")
    for x, y, radius in leaves:
        lit = scene.circle(x - 5, y - 7, radius * 0.72)
        scene.shade(lit, "#68b05a", 0.9, soft=12, within=scene.circle(x, y, radius - 1))
    # The man
    scene.shade(scene.ellipse(196, 211, 24, 4), "#5a4a2c", 0.45, soft=6)
    scene.paint(scene.line((191, 168), (184, 190), (183, 208), width=10, end=8), "#2f3e5c", of="man")
    scene.paint(scene.line((197, 168), (206, 188), (209, 208), width=10, end=8), "#3a4b6d", of="man")
    scene.paint(scene.line((181, 209), (190, 209), width=6), "#2b2420", of="man")
    scene.paint(scene.line((207, 209), (216, 209), width=6), "#2b2420", of="man")
    scene.paint(scene.line((186, 136), (176, 158), width=9, end=7), "#b63e3a", of="man")
    scene.paint(
        scene.box(182, 128, 206, 173, round=9),
        scene.down("#d8514b", "#c3433f", top=128, bottom=173),
        of="man",
    )
    scene.paint(scene.line((201, 136), (216, 154), width=9, end=7), "#d8514b", of="man")
    scene.paint(scene.circle(217, 156, 4.2), "#e9b48c", of="man")
    scene.paint(scene.box(191, 118, 198, 132, round=3), "#dda27a", of="man")
    scene.paint(scene.circle(195, 113, 11), "#efbd97", of="man")
    scene.paint(scene.circle(206, 114.5, 2), "#efbd97", of="man")
    hairline = np.interp(scene.x[0], [183, 189, 193, 201, 207], [121, 118, 112, 106, 105])
    scene.paint(both(scene.circle(194.5, 111.5, 12), -scene.below(hairline)), "#4b3226", of="man")
    scene.paint(scene.circle(201, 112, 1.5), "#2b2019", of="man")
    # The dog and its leash
    scene.shade(scene.ellipse(268, 210, 30, 4), "#5a4a2c", 0.45, soft=6)
    scene.paint(scene.curve((217, 156), (238, 182), (276, 180), width=1.8), "#33291f")
    for x, shade in ((250, "#9a6737"), (282, "#9a6737"), (256, "#b57d46"), (276, "#b57d46")):
        scene.paint(scene.line((x, 192), (x - 1, 208), width=7, end=6), shade, of="dog")
    scene.paint(scene.curve((246, 184), (234, 180), (234, 166), width=6, end=4), "#b57d46", of="dog")
    scene.paint(scene.line((254, 187), (278, 186), width=20, end=19), "#b57d46", of="dog")
    scene.paint(scene.line((278, 184), (286, 172), width=14), "#b57d46", of="dog")
    scene.paint(scene.circle(289, 169, 9.5), "#c08a52", of="dog")
    scene.paint(scene.line((292, 172), (301, 174), width=9, end=7), "#c08a52", of="dog")
    scene.paint(scene.circle(304, 172.5, 2.6), "#2b2019", of="dog")
    scene.paint(scene.circle(292.5, 166.5, 1.6), "#2b2019", of="dog")
    scene.paint(scene.line((283, 163), (279, 174), width=7, end=8), "#7d5029", of="dog")
    scene.paint(scene.line((281, 178), (288, 182), width=3.4), "#3d6fb6", of="dog")
    return scene


def balloons() -> Canvas:
    """Three hot-air balloons over hills."""
    scene = Canvas(240, 320)
    scene.paint(scene.everywhere(), scene.down("#4f93c9", "#9ccbe0", "#f6dfc0", "#f9c79b", bottom=270))
    for x, y, size in ((40, 70, 15), (60, 64, 20), (84, 72, 14), (186, 190, 13), (206, 184, 17)):
        scene.shade(scene.ellipse(x, y, size * 1.4, size * 0.6), "#ffffff", 0.7, soft=6)
    for heights, colors in (
        ([(0, 246), (60, 228), (130, 252), (190, 232), (240, 244)], ("#9db6c9", "#a9c0c4")),
        ([(0, 268), (80, 256), (150, 274), (240, 252)], ("#6f9f8b", "#7fab86")),
        ([(0, 290), (90, 292), (160, 276), (240, 288)], ("#47805b", "#356a48")),
    ):
        scene.paint(scene.below(heights), scene.down(*colors, top=heights[0][1] - 20, bottom=320), of="hills")
    _balloon(scene, 164, 92, 44, ("#f2c230", "#fbe08a", "#d79a16"), "yellow balloon")
    _balloon(scene, 70, 158, 34, ("#d8433b", "#f5ead9", "#a82a2a"), "red balloon")
    _balloon(scene, 180, 226, 22, ("#2f6fb3", "#8fc0ea", "#1f4f86"), "blue balloon")
    return scene


def _balloon(scene: Canvas, x: float, y: float, size: float, colors: tuple[str, str, str], name: str) -> None:
    """A balloon in stripes, with its basket."""
    main, stripe, dark = colors
    low = y + size * 1.42
    for side in (-1, 1):
        scene.paint(
            scene.line((x + side * size * 0.22, y + size * 0.98), (x + side * size * 0.11, low), width=1.1),
            "#5b4632",
            of=name,
        )
    skin = either(
        scene.circle(x, y, size),
        scene.polygon(
            (x - size * 0.86, y + size * 0.5),
            (x + size * 0.86, y + size * 0.5),
            (x + size * 0.24, y + size * 1.1),
            (x - size * 0.24, y + size * 1.1),
            round=1,
        ),
    )
    scene.paint(skin, main, of=name)
    # The stripes narrow to the sides, as on a ball.
    around = np.arcsin(
        np.clip(
            (scene.x - x)
            / np.maximum(np.sqrt(np.maximum(size**2 - np.minimum(scene.y - y, size * 0.5) ** 2, 1)), 1),
            -1,
            1,
        )
    )
    bands = (np.cos(around * 6.5) * 9) if name != "blue balloon" else (np.cos(around * 4.5 + 1.2) * 9)
    scene.paint(both(skin + 0.5, -bands), stripe, of=name)
    scene.shade(-scene.circle(x - size * 0.3, y - size * 0.3, size * 1.05), dark, 0.45, soft=14, within=skin)
    scene.shade(
        scene.ellipse(x - size * 0.42, y - size * 0.42, size * 0.16, size * 0.3, 38), "#ffffff", 0.55, soft=8
    )
    scene.paint(
        scene.box(x - size * 0.17, low - size * 0.04, x + size * 0.17, low + size * 0.24, round=2),
        "#8b5e34",
        of=name,
    )
    scene.paint(
        scene.box(x - size * 0.19, low - size * 0.06, x + size * 0.19, low + size * 0.02, round=1),
        "#6d4726",
        of=name,
    )


def tulips() -> Canvas:
    """A row of tulips and a bee."""
    scene = Canvas(320, 240)
    scene.paint(scene.everywhere(), scene.down("#bfe3f2", "#f5f3da", bottom=170))
    scene.paint(
        scene.below([(0, 150), (120, 142), (320, 154)]), scene.down("#a9cf86", "#86b765", top=142, bottom=200)
    )
    scene.paint(
        scene.below([(0, 208), (160, 203), (320, 208)]), scene.down("#7a5337", "#5d3d27", top=204, bottom=240)
    )
    for place, x in enumerate((30, 74, 118, 162, 206, 250, 294), 1):
        lift = (0, 9, -4, 6, -2, 10, 3)[place - 1]
        white = place == 5
        name = "white tulip" if white else f"red tulip {place if place < 5 else place - 1}"
        main, light, dark = ("#f7f2ea", "#ffffff", "#d9d0c4") if white else ("#d93a48", "#ee6d6f", "#a92437")
        top = 122 - lift
        scene.paint(scene.curve((x, 214), (x + 3, 180), (x, top + 24), width=5, end=4), "#4c8a3d", of=name)
        for side in (-1, 1):
            leaf = both(scene.circle(x + side * 34, 176, 38), scene.circle(x - side * 16, 168, 34))
            scene.paint(both(leaf, scene.y - 214), "#5d9f49" if side > 0 else "#4c8a3d", of=name)
        cup = both(either(scene.ellipse(x, top + 12, 16, 19)), top + 2 - scene.y)
        for side in (-1, 1):
            scene.paint(
                both(scene.circle(x + side * 3, top + 8, 19), scene.circle(x + side * 20, top + 2, 19)),
                dark,
                of=name,
            )
        scene.paint(
            either(cup, both(scene.circle(x - 12, top + 8, 17), scene.circle(x + 12, top + 8, 17))),
            main,
            of=name,
        )
        scene.shade(both(scene.ellipse(x - 5, top + 14, 4, 12), cup), light, 0.8, soft=5)
    # The bee
    for angle, x in ((-28, 220), (24, 232)):
        scene.paint(scene.ellipse(x, 55, 8, 14, angle), "#f4fbff", of="bee", alpha=0.85)
    body = scene.ellipse(226, 70, 20, 13, 8)
    scene.paint(body, "#f3b91f", of="bee")
    for at in (218, 228, 238):
        scene.paint(both(body + 0.4, scene.line((at + 2, 52), (at - 2, 88), width=4.6)), "#2c2318", of="bee")
    scene.paint(scene.circle(206, 67, 8.5), "#2c2318", of="bee")
    scene.paint(scene.circle(203, 65, 2), "#ffffff", of="bee")
    for tip in (196, 202):
        scene.paint(scene.curve((204, 60), (tip + 2, 54), (tip, 49), width=1.6), "#2c2318", of="bee")
    for x, y in ((262, 66), (274, 60), (286, 62), (297, 70)):
        scene.shade(scene.circle(x, y, 1.4), "#6b6458", 0.8)
    return scene


def harbor() -> Canvas:
    """A sailing boat passes a lighthouse."""
    scene = Canvas(320, 240)
    scene.paint(scene.everywhere(), scene.down("#5fb0dc", "#b9def0", "#eaf5f2", bottom=150))
    for x, y, size in ((40, 40, 17), (66, 33, 23), (94, 42, 16), (176, 62, 12), (196, 57, 16), (214, 63, 11)):
        scene.shade(scene.ellipse(x, y, size * 1.4, size * 0.62), "#ffffff", 0.9, soft=4)
    scene.paint(
        scene.box(-10, 148, 330, 260),
        scene.down("#3f93b8", "#1f6a96", "#154f78", top=148, bottom=240),
        of="sea",
    )
    draw = np.random.default_rng(3)
    for y in np.linspace(156, 236, 13):
        for x in draw.uniform(-20, 320, 4):
            long = 6 + (y - 148) * 0.22
            scene.shade(
                scene.curve((x, y), (x + long, y - 2.4), (x + 2 * long, y), width=1.4), "#cfeaf2", 0.55
            )
    # The rock and the lighthouse
    scene.paint(
        scene.polygon(
            (212, 178),
            (226, 154),
            (246, 150),
            (262, 142),
            (290, 148),
            (318, 160),
            (335, 182),
            (300, 190),
            (240, 188),
            round=3,
        ),
        scene.down("#8d8577", "#5e584f", top=142, bottom=190),
        of="rock",
    )
    scene.shade(
        scene.polygon((226, 156), (246, 152), (262, 144), (256, 160), (236, 168)), "#b5ad9c", 0.7, soft=4
    )
    tower = scene.polygon((254, 62), (286, 62), (296, 150), (244, 150), round=1)
    scene.paint(tower, "#f7f3ea", of="lighthouse")
    for top in (74, 108):
        scene.paint(both(tower, top - scene.y, scene.y - top - 17), "#cf3f3a", of="lighthouse")
    scene.paint(both(tower, 142 - scene.y), "#cf3f3a", of="lighthouse")
    scene.shade(280 - scene.x, "#5b4a55", 0.35, soft=20, within=tower)
    scene.paint(scene.box(250, 56, 290, 63, round=2), "#3a4148", of="lighthouse")
    scene.paint(scene.box(257, 38, 283, 56, round=1), "#ffe9a0", of="lighthouse")
    for x in (257, 266, 274, 283):
        scene.paint(scene.line((x, 38), (x, 56), width=1.8), "#3a4148", of="lighthouse")
    scene.paint(scene.polygon((253, 38), (287, 38), (270, 22), round=1.5), "#b8332f", of="lighthouse")
    scene.paint(scene.circle(270, 20, 2.4), "#3a4148", of="lighthouse")
    scene.paint(scene.box(265, 128, 275, 149, round=4), "#4a3a32", of="lighthouse")
    # The boat
    scene.shade(scene.ellipse(104, 208, 60, 5), "#0d3a5c", 0.55, soft=6)
    scene.paint(scene.line((108, 188), (108, 74), width=3), "#6b4a30", of="boat")
    scene.paint(
        scene.polygon((112, 78), (112, 178), (158, 178), round=1),
        blend((scene.x - 112) / 46, "#ffffff", "#e6dfd2"),
        of="boat",
    )
    scene.paint(
        scene.polygon((104, 88), (104, 178), (66, 178), round=1),
        blend((scene.x - 66) / 40, "#f6cf6c", "#f0b53c"),
        of="boat",
    )
    scene.paint(scene.polygon((108, 66), (108, 76), (124, 71), round=0.5), "#cf3f3a", of="boat")
    hull = both(scene.polygon((48, 188), (168, 188), (146, 208), (70, 208), round=2), 187 - scene.y)
    scene.paint(hull, scene.down("#8c4a2f", "#6a3422", top=187, bottom=208), of="boat")
    scene.paint(both(hull, scene.y - 192), "#f3e6cf", of="boat")
    for x in (60, 84, 112, 140):
        scene.shade(scene.curve((x - 14, 210), (x, 205), (x + 14, 210), width=2.4), "#e8f6fa", 0.8)
    for x, y, size in ((176, 100, 9), (196, 92, 7), (186, 116, 6)):
        for side in (-1, 1):
            scene.paint(
                scene.curve(
                    (x, y),
                    (x + side * size * 0.5, y - size * 0.7),
                    (x + side * size * 1.2, y - size * 0.35),
                    width=1.8,
                    end=1,
                ),
                "#43515e",
            )
    return scene


def fish() -> Canvas:
    """Five orange fish, and a blue one that swims the other way."""
    scene = Canvas(320, 240)
    scene.paint(scene.everywhere(), scene.down("#7fd3dc", "#2f9bb8", "#145f86", "#0d466c", bottom=240))
    for x, wide in ((40, 26), (120, 40), (210, 30), (290, 22)):
        ray = scene.polygon((x, -10), (x + wide * 0.5, -10), (x + wide * 1.9 - 60, 250), (x - wide - 60, 250))
        scene.shade(both(ray, scene.y - 232), "#d9f6f2", 0.16, soft=16)
    scene.paint(
        scene.below([(0, 214), (80, 222), (180, 210), (320, 220)]),
        scene.down("#d8c08a", "#a98d5c", top=208, bottom=240),
    )
    for root, shade, blades in (
        (30, "#2f8a5f", ((-9, -16, 176), (0, 6, 150), (9, 18, 168))),
        (284, "#277a57", ((-9, -14, 168), (0, -4, 138), (9, 16, 160), (15, 24, 184))),
    ):
        for foot, tip, top in blades:
            bend = (root + foot - tip, (top + 222) / 2)
            scene.paint(
                scene.curve((root + foot, 224), bend, (root + tip, top), width=9, end=2.5),
                shade,
                of="seaweed",
            )
    for x, y, radius in ((150, 221, 9), (166, 224, 6), (226, 219, 7)):
        scene.paint(scene.ellipse(x, y, radius * 1.4, radius), "#8f8674")
    school = ((70, 60, 1.0), (150, 44, 0.9), (112, 104, 1.1), (206, 86, 0.95), (60, 140, 0.9))
    for place, (x, y, size) in enumerate(school, 1):
        _fish(scene, x, y, size * 25, -1, ("#f5953a", "#fbd08a", "#cf6a1b"), f"orange fish {place}")
    _fish(scene, 196, 156, 31, 1, ("#3a5fc4", "#9fc0f2", "#243f93"), "blue fish")
    for x, y, radius in ((252, 132, 4), (260, 116, 2.6), (255, 102, 3.2), (20, 44, 3), (26, 30, 2)):
        scene.shade(without(scene.circle(x, y, radius), scene.circle(x, y, radius - 1.2)), "#eafcff", 0.8)
    return scene


def _fish(
    scene: Canvas, x: float, y: float, size: float, ahead: int, colors: tuple[str, str, str], name: str
) -> None:
    """A fish that swims to the right (`ahead` 1) or to the left (-1)."""
    main, belly, dark = colors
    back = x - ahead * size * 0.9
    scene.paint(
        scene.polygon(
            (back + ahead * size * 0.16, y),
            (back - ahead * size * 0.5, y - size * 0.42),
            (back - ahead * size * 0.34, y),
            (back - ahead * size * 0.5, y + size * 0.42),
            round=2,
        ),
        dark,
        of=name,
    )
    scene.paint(
        scene.polygon(
            (x - ahead * size * 0.4, y - size * 0.36),
            (x + ahead * size * 0.2, y - size * 0.48),
            (x - ahead * size * 0.3, y - size * 0.78),
            round=2,
        ),
        dark,
        of=name,
    )
    body = both(scene.circle(x, y + size * 0.62, size * 1.15), scene.circle(x, y - size * 0.62, size * 1.15))
    scene.paint(body, scene.down(main, main, belly, top=y - size * 0.5, bottom=y + size * 0.55), of=name)
    for at in (-0.28, 0.1):
        stripe = both(
            scene.line(
                (x + ahead * size * at, y - size),
                (x + ahead * size * (at + 0.06), y + size),
                width=size * 0.13,
            ),
            body + 0.5,
        )
        scene.paint(stripe, belly, of=name)
    scene.paint(
        scene.polygon(
            (x - ahead * size * 0.02, y + size * 0.08),
            (x - ahead * size * 0.36, y + size * 0.34),
            (x - ahead * size * 0.3, y + size * 0.04),
            round=1.5,
        ),
        dark,
        of=name,
    )
    scene.paint(scene.circle(x + ahead * size * 0.58, y - size * 0.1, size * 0.125), "#ffffff", of=name)
    scene.paint(scene.circle(x + ahead * size * 0.61, y - size * 0.1, size * 0.068), "#1a1a22", of=name)
