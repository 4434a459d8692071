"""Built-in pictures: houses, animals and things."""

from __future__ import annotations

import numpy as np
from drawing.canvas import Array, Canvas, blend, both, either, noise, without


def table() -> Canvas:
    """An apple, a cup and a book."""
    scene = Canvas(320, 240)
    scene.paint(
        scene.everywhere(), blend(np.hypot(scene.x - 90, scene.y - 60) / 300, "#f8ecd6", "#e9d3b0", "#cfae84")
    )
    scene.paint(
        scene.box(-10, 148, 330, 260), scene.down("#b57a48", "#8f5a33", top=148, bottom=240), of="table"
    )
    draw = np.random.default_rng(2)
    grain = noise(draw, 240, 320, 60, 3)
    scene.shade(both(scene.box(-10, 150, 330, 260), 40 * (0.62 - grain)), "#7a4a28", 0.35, soft=6)
    scene.paint(scene.box(-10, 146, 330, 150.5), "#d19a63", of="table")
    # The book
    scene.shade(scene.ellipse(92, 211, 80, 8), "#3d2411", 0.55, soft=10)
    scene.paint(scene.polygon((26, 188), (126, 188), (158, 206), (40, 206), round=1.5), "#25605a", of="book")
    scene.paint(scene.polygon((36, 206), (158, 206), (158, 216), (38, 216), round=1), "#f4ead7", of="book")
    for y in (208.5, 211, 213.5):
        scene.shade(scene.line((42, y), (156, y), width=0.9), "#b7a88c", 0.8)
    scene.paint(scene.line((26, 188), (38, 211), width=5), "#1d4d48", of="book")
    scene.paint(scene.polygon((38, 215), (159, 215), (159, 219), (39, 219), round=1), "#25605a", of="book")
    scene.paint(scene.line((60, 194), (118, 194), width=2.6), "#e5c46b", of="book")
    scene.paint(scene.line((68, 199.5), (112, 199.5), width=1.8), "#e5c46b", of="book")
    # The apple
    scene.shade(scene.ellipse(164, 191, 40, 7), "#3d2411", 0.5, soft=9)
    apple = either(scene.circle(150, 160, 27), scene.circle(168, 160, 27), scene.ellipse(159, 168, 29, 24))
    light = np.hypot(scene.x - 148, scene.y - 148) / 50
    scene.paint(apple, blend(light, "#f2705a", "#d8342d", "#a81f23"), of="apple")
    scene.shade(scene.ellipse(159, 137, 12, 4.5), "#7d1519", 0.8, soft=5, within=apple)
    scene.paint(scene.curve((159, 140), (159, 128), (166, 122), width=4, end=3), "#5a3a1f", of="apple")
    leaf = both(scene.circle(175, 134, 14), scene.circle(180, 118, 14))
    scene.paint(leaf, "#5d9a3f", of="apple")
    scene.shade(scene.ellipse(145, 150, 5, 9, 25), "#ffffff", 0.75, soft=4)
    # The cup
    scene.shade(scene.ellipse(252, 200, 50, 8), "#3d2411", 0.5, soft=10)
    handle = without(scene.ellipse(284, 160, 20, 20), scene.ellipse(283, 160, 11.5, 11.5))
    scene.paint(handle, "#2a62a3", of="cup")
    body = both(
        scene.polygon((214, 126), (278, 126), (270, 196), (222, 196), round=4), scene.box(200, 126, 300, 206)
    )
    scene.paint(body, blend((scene.x - 212) / 68, "#2d67aa", "#5f9bd6", "#3a78bd", "#24558f"), of="cup")
    scene.paint(scene.ellipse(246, 126, 36, 8), "#7fb2e2", of="cup")
    scene.paint(scene.ellipse(246, 127, 30, 5.6), "#4a2d1a", of="cup")
    scene.paint(both(scene.line((214, 152), (278, 152), width=7), body), "#f3ead8", of="cup")
    for x, lift in ((236, 0), (252, 6)):
        scene.shade(
            scene.curve((x, 112 - lift), (x - 10, 98), (x + 2, 82 - lift), width=7, end=3),
            "#ffffff",
            0.4,
            soft=5,
        )
    return scene


def moon() -> Canvas:
    """A house at night, and the moon in the corner."""
    scene = Canvas(320, 240)
    scene.paint(scene.everywhere(), scene.down("#0d1530", "#1c2a52", "#34466f", bottom=200))
    draw = np.random.default_rng(11)
    for x, y, size in zip(
        draw.uniform(6, 314, 60), draw.uniform(6, 130, 60), draw.choice([0.5, 0.7, 0.9, 1.2], 60), strict=True
    ):
        if np.hypot(x - 280, y - 38) > 50:
            scene.shade(scene.circle(x, y, size), "#fdf6dc", 0.9)
    away = scene.circle(280, 38, 22)
    scene.glow(np.exp(-np.maximum(away, 0) / 26) * 0.55, "#c9d3ee")
    scene.paint(
        scene.circle(280, 38, 22),
        blend(np.hypot(scene.x - 273, scene.y - 31) / 32, "#fffbe8", "#f6eccb", "#dccf9f"),
        of="moon",
    )
    for x, y, radius in ((272, 32, 4.5), (287, 44, 6), (286, 27, 2.8), (271, 47, 3.2)):
        scene.shade(scene.circle(x, y, radius), "#cdbf8f", 0.75, soft=2.5)
    scene.paint(
        scene.below([(0, 178), (90, 168), (180, 184), (320, 166)]),
        scene.down("#1b2b3f", "#0c1623", top=166, bottom=240),
    )
    # A tree beside the house
    scene.paint(scene.line((236, 196), (238, 150), width=8, end=5), "#0d1722", of="tree")
    for top, wide in ((96, 17), (114, 24), (134, 31)):
        scene.paint(
            scene.polygon((238, top), (238 + wide, top + 40), (238 - wide, top + 40), round=2),
            "#12273a",
            of="tree",
        )
    # The house
    scene.paint(
        scene.box(70, 128, 190, 208), scene.down("#46405c", "#322d47", top=128, bottom=208), of="house"
    )
    scene.paint(scene.box(150, 70, 164, 100), "#4d3440", of="house")
    scene.paint(
        scene.polygon((56, 134), (204, 134), (172, 86), (88, 86), round=2),
        scene.down("#5c3c44", "#43303c", top=86, bottom=134),
        of="house",
    )
    for left in (88, 150):
        glow = scene.box(left, 148, left + 24, 174, round=1)
        scene.shade(glow, "#ffcf70", 0.35, soft=26)
        scene.paint(glow, scene.down("#ffe6a3", "#f9bd58", top=148, bottom=174), of="house")
        scene.paint(
            either(
                scene.line((left + 12, 148), (left + 12, 174), width=2),
                scene.line((left, 161), (left + 24, 161), width=2),
            ),
            "#4a3a3c",
            of="house",
        )
    scene.paint(scene.box(121, 160, 141, 208, round=2), "#6b4436", of="house")
    scene.paint(scene.circle(137, 186, 1.6), "#f0c36a", of="house")
    scene.shade(scene.polygon((121, 208), (141, 208), (158, 238), (104, 238)), "#6d6552", 0.6, soft=3)
    return scene


LETTERS = {
    "S": ["90,18 70,2 30,2 10,20 20,42 80,58 90,80 70,98 30,98 10,82"],
    "T": ["5,2 95,2", "50,2 50,98"],
    "O": ["50,0 82,10 95,50 82,90 50,100 18,90 5,50 18,10 50,0"],
    "P": ["15,98 15,2 65,2 90,15 90,42 65,55 15,55"],
    "C": ["92,22 72,3 35,3 8,28 8,72 35,97 72,97 92,78"],
    "A": ["5,98 50,2 95,98", "23,64 77,64"],
    "F": ["15,98 15,2 88,2", "15,48 72,48"],
    "E": ["88,98 15,98 15,2 88,2", "15,48 74,48"],
}
"""Letters of signs: lines through points of a box, in hundredths of its sides."""


def written(
    scene: Canvas, text: str, left: float, top: float, wide: float, high: float, space: float, width: float
) -> Array:
    """The shape of some letters, each so wide and high."""
    lines: list[Array] = []
    for place, letter in enumerate(text):
        for line in LETTERS[letter]:
            corners = [tuple(map(int, point.split(","))) for point in line.split()]
            at = [(left + place * (wide + space) + x * wide / 100, top + y * high / 100) for x, y in corners]
            lines.append(scene.line(*at, width=width))
    return either(*lines)


def street() -> Canvas:
    """A stop sign before a cafe, and a red car."""
    scene = Canvas(320, 240)
    scene.paint(scene.everywhere(), scene.down("#a9d3ea", "#dcecf0", bottom=140))
    # The house with the cafe
    scene.paint(scene.box(104, 18, 330, 196), scene.down("#e8c9a6", "#dcb68f", top=18, bottom=196), of="cafe")
    for left in (128, 188, 248):
        scene.paint(scene.box(left, 30, left + 36, 66, round=2), "#fbf3e4", of="cafe")
        scene.paint(
            scene.box(left + 3, 33, left + 33, 66),
            blend((scene.x - left + scene.y - 33) / 66, "#7ba6bd", "#b7d5df", "#6f99b1"),
            of="cafe",
        )
        scene.paint(scene.line((left + 18, 33), (left + 18, 66), width=2), "#fbf3e4", of="cafe")
    scene.paint(scene.box(122, 80, 300, 106, round=3), "#274a43", of="cafe")
    scene.paint(written(scene, "CAFE", 164, 85.5, 15, 15, 10, 3.4), "#fbe9b7", of="cafe")
    scene.paint(
        scene.box(128, 128, 228, 182),
        blend((scene.x - 128 + scene.y - 128) / 150, "#5f8496", "#a9c9d2", "#587a8c"),
        of="cafe",
    )
    scene.paint(
        without(scene.box(124, 124, 232, 186, round=2), scene.box(129, 129, 227, 181)), "#6b4a34", of="cafe"
    )
    scene.paint(scene.box(248, 128, 286, 196), "#6b4a34", of="cafe")
    scene.paint(scene.box(254, 134, 280, 170), "#9dbdc7", of="cafe")
    scene.paint(scene.circle(281, 178, 2.2), "#e8c46a", of="cafe")
    for place in range(14):
        left = 122 + place * 12.7
        shade = "#c8483f" if place % 2 else "#f8f0e0"
        scene.paint(
            scene.polygon((left, 106), (left + 12.7, 106), (left + 13.2, 122), (left - 0.5, 122)),
            shade,
            of="cafe",
        )
        scene.paint(both(scene.circle(left + 6.35, 122, 6.6), 121.5 - scene.y), shade, of="cafe")
    scene.paint(scene.box(-10, 192, 330, 208), scene.down("#c9c3b8", "#b4ada1", top=192, bottom=208))
    scene.paint(scene.box(-10, 206, 330, 260), scene.down("#63656c", "#4b4d54", top=206, bottom=240))
    for left in range(-20, 330, 56):
        scene.paint(scene.box(left, 229, left + 30, 232), "#e6dfc8")
    # The car
    scene.shade(scene.ellipse(226, 221, 66, 5), "#22242a", 0.7, soft=7)
    cabin = scene.polygon((190, 186), (206, 168), (246, 168), (264, 186), round=4)
    scene.paint(cabin, "#c22f2c", of="car")
    scene.paint(
        both(scene.polygon((194, 186), (208, 171), (224, 171), (224, 186), round=1), scene.y - 187),
        "#bcd9e6",
        of="car",
    )
    scene.paint(
        both(scene.polygon((230, 171), (245, 171), (258, 186), (230, 186), round=1), scene.y - 187),
        "#bcd9e6",
        of="car",
    )
    scene.paint(
        scene.box(162, 183, 290, 212, round=10),
        scene.down("#e2463f", "#a92526", top=183, bottom=212),
        of="car",
    )
    scene.paint(scene.ellipse(285, 193, 4, 4.5), "#ffeec0", of="car")
    scene.paint(scene.box(162, 190, 168, 197, round=2), "#7d1517", of="car")
    scene.paint(scene.line((222, 195), (230, 195), width=2), "#7d1517", of="car")
    for x in (191, 262):
        scene.paint(scene.circle(x, 212, 12), "#232428", of="car")
        scene.paint(scene.circle(x, 212, 5.5), "#c9ccd2", of="car")
    # The sign
    scene.paint(
        scene.box(56, 90, 62, 204), blend((scene.x - 56) / 6, "#9aa0a6", "#d6dade", "#7f858b"), of="sign"
    )
    eight = [
        (59 + 39 * np.cos(angle), 66 + 39 * np.sin(angle)) for angle in np.deg2rad(22.5 + 45 * np.arange(8))
    ]
    corners = [(float(x), float(y)) for x, y in eight]
    scene.paint(scene.polygon(*corners, round=1.5), "#f6f2ea", of="sign")
    inner = [(59 + 0.9 * (x - 59), 66 + 0.9 * (y - 66)) for x, y in corners]
    scene.paint(
        scene.polygon(*inner, round=1), scene.down("#d13a33", "#b72a28", top=30, bottom=102), of="sign"
    )
    scene.paint(written(scene, "STOP", 33.5, 57, 9.6, 18, 4.2, 3.6), "#fdf9f0", of="sign")
    return scene


def cat() -> Canvas:
    """A black cat on a checkered floor."""
    scene = Canvas(320, 240)
    scene.paint(
        scene.everywhere(),
        blend(np.hypot(scene.x - 110, scene.y - 40) / 320, "#f4d9c4", "#e3b79c", "#c99279"),
    )
    scene.paint(scene.box(-10, 126, 330, 134), "#f7efe2")
    # Squares that become smaller towards the wall, each pixel the mean of 36 points in it.
    steps = (np.arange(6) + 0.5) / 6 - 0.5
    light = np.zeros_like(scene.x)
    for down in steps:
        far = 1 / np.maximum(scene.y + down - 96, 1)
        for across in steps:
            squares = np.floor(far * 361) + np.floor((scene.x + across - 160) * far * 4.2)
            light += (squares % 2) / 36
    dark = scene.down("#7f5a4e", "#8f675a", top=134)
    floor = dark + light[..., None] * (scene.down("#e9dfcf", "#f6efe3", top=134) - dark)
    scene.paint(scene.box(-10, 134, 330, 260), floor, of="floor")
    scene.shade(scene.ellipse(166, 214, 64, 10), "#3a241c", 0.65, soft=14)
    # A picture on the wall
    scene.paint(scene.box(34, 30, 98, 84, round=1), "#8a5a37", of="picture")
    scene.paint(scene.box(40, 36, 92, 78), scene.down("#bfe0e6", "#f4e6c0", top=36, bottom=78), of="picture")
    scene.paint(
        both(scene.below([(40, 70), (58, 54), (76, 68), (92, 58)]), scene.box(40, 36, 92, 78)),
        "#6f9a76",
        of="picture",
    )
    # The cat
    scene.paint(scene.curve((196, 204), (246, 212), (240, 158), width=15, end=9), "#1d1a20", of="cat")
    scene.paint(scene.ellipse(162, 172, 42, 46), "#242027", of="cat")
    scene.paint(scene.ellipse(164, 196, 50, 22), "#242027", of="cat")
    for x in (148, 170):
        scene.paint(scene.line((x, 170), (x - 1, 208), width=17, end=15), "#2b2730", of="cat")
        scene.paint(scene.ellipse(x - 2, 211, 11, 6), "#312c36", of="cat")
    scene.paint(scene.polygon((131, 108), (127, 66), (158, 90), round=3), "#242027", of="cat")
    scene.paint(scene.polygon((189, 108), (193, 66), (162, 90), round=3), "#242027", of="cat")
    scene.paint(scene.polygon((135, 98), (132, 76), (148, 88), round=1), "#b06f74", of="cat")
    scene.paint(scene.polygon((185, 98), (188, 76), (172, 88), round=1), "#b06f74", of="cat")
    scene.paint(scene.ellipse(160, 112, 35, 30), "#2a2630", of="cat")
    scene.shade(scene.ellipse(143, 96, 15, 8, -25), "#5a5262", 0.5, soft=8)
    for x in (146, 174):
        scene.paint(scene.ellipse(x, 109, 8, 9), "#f0c53c", of="cat")
        scene.paint(scene.ellipse(x, 109, 2.6, 8), "#141217", of="cat")
        scene.paint(scene.circle(x + 2.4, 105.5, 1.6), "#fffdf2", of="cat")
    scene.paint(scene.polygon((156, 121), (164, 121), (160, 126), round=1), "#d98a8f", of="cat")
    for side in (-1, 1):
        scene.paint(
            scene.curve((160, 127), (160 + side * 4, 133), (160 + side * 9, 130), width=1.6),
            "#8a7f8f",
            of="cat",
        )
        for y in (122, 127, 132):
            scene.shade(
                scene.line((160 + side * 14, y), (160 + side * 46, y + (y - 127) * 1.1 - 2), width=1.1),
                "#f2ece6",
                0.8,
            )
    return scene


def shapes() -> Canvas:
    """A square, a triangle and a circle."""
    scene = Canvas(256, 256, "#f6f3ec")
    scene.shade(scene.box(26, 30, 110, 114, round=3), "#b9b2a4", 0.6, soft=8)
    scene.paint(scene.box(22, 24, 106, 108), "#d43d36", of="square")
    scene.shade(scene.circle(192, 76, 44), "#b9b2a4", 0.6, soft=8)
    scene.paint(scene.circle(188, 70, 44), "#2f6fb8", of="circle")
    scene.shade(scene.polygon((132, 142), (208, 238), (54, 238)), "#b9b2a4", 0.6, soft=8)
    scene.paint(scene.polygon((128, 136), (204, 232), (50, 232)), "#3f9c57", of="triangle")
    return scene
