"""Where things stand on a picture, in pixels: numbers are derived by hand."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from condyle import view
from condyle.view.ground import Ground, Surface, _fresh, _plane, draw_ground, nice, rotation_vector, said
from condyle.view.picture import (
    DARK,
    LETTER,
    LIGHT,
    Ellipse,
    Line,
    Picture,
    Sheet,
    Words,
    _item,
    _overlap,
    camera,
    svg,
    write_png,
)

C, S = math.cos(math.radians(22.0)), math.sin(math.radians(22.0))
C50, S50 = math.cos(math.radians(50.0)), math.sin(math.radians(50.0))


def sheet(scale: float = 100.0) -> Sheet:
    """y to the right and z up; the origin is at (380, 326)."""
    return Sheet(camera("front"), scale, np.zeros(2))


@pytest.mark.parametrize(
    ("word", "right", "up", "towards"),
    [
        ("front", (0, 1, 0), (0, 0, 1), (1, 0, 0)),
        ("side", (1, 0, 0), (0, 0, 1), (0, -1, 0)),
        ("top", (1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ("iso", (S50, C50, 0), (-S * C50, S * S50, C), (C * C50, -C * S50, S)),
    ],
)
def test_a_camera_looks_as_its_word_says(word: str, right: Any, up: Any, towards: Any) -> None:
    found = camera(word)
    np.testing.assert_allclose((found.right, found.up, found.towards), (right, up, towards), atol=1e-15)
    point = np.array((0.5, -2.0, 3.0))
    np.testing.assert_allclose(found.flat(point), (point @ np.array(right), point @ np.array(up)), atol=1e-15)
    assert float(found.depth(point)) == pytest.approx(float(point @ np.array(towards)))


def test_the_box_of_all_points_fills_the_sheet() -> None:
    """It has 648 x 488 pixels."""
    for low, high, scale in (
        ((-1.0, 2.0), (3.0, 3.0), 648.0 / 4.0),
        ((-1.0, 2.0), (0.0, 4.0), 488.0 / 2.0),
        ((1.0, 1.0), (1.0, 1.0), 488.0 / 1e-6),
    ):
        found = Sheet.around(camera("front"), np.array([low, high]))
        assert found.scale == pytest.approx(scale)
        middle = 0.5 * (np.array(low) + np.array(high))
        assert found.pixel(np.array((9.0, *middle))) == pytest.approx((380.0, 326.0))
    assert sheet().pixel(np.array((7.0, 1.0, 0.5))) == pytest.approx((480.0, 276.0))


def test_an_arrow_has_a_head_and_a_short_one_is_a_dot() -> None:
    drawn = sheet()
    drawn.arrow(np.zeros(3), np.array((0.0, 1.0, 0.0)), "axis", 0.5, "long")
    drawn.arrow(np.zeros(3), np.array((0.0, 0.0, 0.1)), "axis")
    drawn.arrow(np.zeros(3), np.array((5.0, 0.0299, 0.0)), "axis", 0.5, "short")
    long, upright, dot = drawn.items
    head = 0.45 * 8.0
    assert isinstance(long, Line) and (long.style, long.opacity, long.title) == ("axis", 0.5, "long")
    ends = [(380, 326), (480, 326), (472, 326 - head), (480, 326), (472, 326 + head)]
    np.testing.assert_allclose(long.points, ends)
    assert isinstance(upright, Line)  # of 10 pixels, its head has 4
    np.testing.assert_allclose(upright.points, [(380, 326), (380, 316), (378.2, 320), (380, 316), (381.8, 320)])
    assert dot == Ellipse((380.0, 326.0), (3.0, 3.0), 0.0, "axis solid", 0.5, "short")
    drawn.arrow(np.zeros(3), np.array((0.0, 0.03125, 0.0)), "axis")
    assert isinstance(drawn.items[-1], Line)


def test_an_ellipsoid_is_half_a_pixel_at_least() -> None:
    drawn = sheet()
    drawn.ellipse(np.zeros(3), np.diag((1.0, 0.5, 0.25)), "body", 0.75, "x")
    drawn.ellipse(np.zeros(3), np.zeros((3, 3)), "body", 1.0, "")
    large, flat = drawn.items
    assert isinstance(large, Ellipse) and isinstance(flat, Ellipse)
    assert large.radii == pytest.approx((50.0, 25.0)) and abs(large.angle) % 180.0 == pytest.approx(0.0)
    assert flat.radii == (0.5, 0.5) and (large.opacity, large.title) == (0.75, "x")


@pytest.mark.parametrize(
    ("pixel", "anchor", "put"),
    [
        ((2.0, 12.0), "start", True),
        ((1.9, 12.0), "start", False),
        ((2.0, 11.9), "start", False),
        ((2.0, 635.0), "start", True),
        ((2.0, 635.1), "start", False),
        ((758.0, 100.0), "end", True),
        ((758.1, 100.0), "end", False),
        ((2.0 + LETTER, 100.0), "middle", True),
        ((1.9 + LETTER, 100.0), "middle", False),
    ],
)
def test_words_stay_inside_of_the_picture(pixel: tuple[float, float], anchor: str, put: bool) -> None:
    """Two letters, 10 pixels above and 3 below their line, 2 off the edges."""
    drawn = sheet()
    assert drawn.words(pixel, "ab", "name", anchor) is put
    assert drawn.items == ([Words(pixel, "ab", "name", anchor)] if put else [])


def test_words_do_not_cover_others() -> None:
    drawn = sheet()
    assert drawn.words((100.0, 100.0), "ab", "name")
    for pixel, put in (
        ((101.0, 100.0), False),
        ((100.0, 112.9), False),
        ((100.0, 113.0), True),
        ((100.0, 87.0), True),
        ((100.0 + 2 * LETTER, 100.0), True),
    ):
        assert drawn.words(pixel, "ab", "name") is put, pixel
    box = (0.0, 0.0, 2.0, 2.0)
    around = [(x, y, x + 2.0, y + 2.0) for x in (-2.0, -1.0, 1.0, 2.0) for y in (-2.0, -1.0, 1.0, 2.0)]
    assert [other for other in around if _overlap(box, other)] == [
        one for one in around if 2.0 not in map(abs, one[:2])
    ]


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (Words((1.0, 2.25), "<a>", "tick"), '<text class="tick" x="1.0" y="2.2">&lt;a&gt;</text>'),
        (Words((1.0, 2.0), "a", "name", "end"), '<text class="name" x="1.0" y="2.0" text-anchor="end">a</text>'),
        (Line(((1.0, 2.0), (3.0, 4.0)), "link"), '<polyline class="link" points="1.0,2.0 3.0,4.0"/>'),
        (
            Line(((1.0, 2.0),), "x", 0.5, "<t>"),
            '<polyline class="x" points="1.0,2.0" opacity="0.5"><title>&lt;t&gt;</title></polyline>',
        ),
        (Ellipse((1.0, 2.0), (3.0, 3.04), 10.0, "com"), '<ellipse class="com" cx="1.0" cy="2.0" rx="3.0" ry="3.0"/>'),
        (
            Ellipse((1.0, 2.0), (3.0, 4.0), -10.0, "x", 0.25),
            '<ellipse class="x" cx="1.0" cy="2.0" rx="3.0" ry="4.0" transform="rotate(-10.0 1.0 2.0)" opacity="0.25"/>',
        ),
    ],
)
def test_an_item_is_an_element(item: Any, text: str) -> None:
    assert _item(item) == text


def test_a_style_has_the_width_and_the_colours_of_its_theme() -> None:
    picture = Picture("a<b", 100.0, 50.0, ())
    light, dark, auto = (svg(picture, theme) for theme in ("light", "dark", "auto"))
    assert light.startswith('<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50" viewBox="0 0 100 50"')
    for text, colours in ((light, LIGHT), (dark, DARK)):
        for style, width in {"link": "4", "force": "2.6", "grid": "1", "limit": "1.4"}.items():
            assert f".{style}{{stroke:{colours[style]}}}ellipse.{style}{{fill:none}}" in text
            assert f".{style}{{stroke-width:{width}}}" in text
        assert f".path{{stroke:{colours['com']}}}" in text and f".body{{stroke:{colours['edge']}}}" in text
        assert f"ellipse.body{{fill:{colours['body']};" in text
        for style, size in {"tick": 11, "name": 11, "title": 15, "sign": 14}.items():
            assert f"text.{style}{{font-size:{size}px}}" in text
    assert auto.count("prefers-color-scheme:dark") == 1 and DARK["link"] in auto and LIGHT["link"] in auto


def test_png_has_the_items_of_the_picture(tmp_path, monkeypatch) -> None:
    figure = pytest.importorskip("matplotlib.figure", reason="needs matplotlib: pip install 'condyle[plots]'").Figure
    colors = pytest.importorskip("matplotlib.colors")
    heard = []
    monkeypatch.setattr(figure, "savefig", lambda self, path, **options: heard.append((self, path, options)))
    items = (
        Line(((1.0, 2.0), (3.0, 4.0)), "path", 0.5),
        Line(((1.0, 2.0), (3.0, 5.0)), "link"),
        Ellipse((10.0, 20.0), (3.0, 2.0), -30.0, "body", 0.5),
        Ellipse((10.0, 20.0), (5.5, 5.5), 0.0, "com"),
        Ellipse((10.0, 20.0), (1.5, 1.5), 0.0, "com solid"),
        *(Words((5.0, 6.0), "$x$", style) for style in ("tick", "name", "title", "com sign")),
        Words((5.0, 6.0), "a", "name", "end"),
    )
    for theme, colours in (("auto", LIGHT), ("dark", DARK)):
        write_png(Picture("t", 192.0, 96.0, items), tmp_path / "a.png", theme)
        drawn, path, options = heard.pop()
        assert path == tmp_path / "a.png"
        assert options == {"dpi": 144, "facecolor": colours["paper"], "metadata": {"Software": None}}
        assert drawn.get_size_inches().tolist() == [2.0, 1.0]
        assert colors.to_hex(drawn.get_facecolor()) == colours["paper"]
        (axes,) = drawn.axes
        assert axes.get_position().bounds == (0.0, 0.0, 1.0, 1.0) and not axes.axison
        assert (axes.get_xlim(), axes.get_ylim()) == ((0.0, 192.0), (96.0, 0.0))
        dashed, solid = axes.lines
        assert (dashed.get_xdata(), dashed.get_ydata()) == ((1.0, 3.0), (2.0, 4.0))
        assert (dashed.get_linestyle(), dashed.get_alpha(), dashed.get_color()) == ("--", 0.5, colours["com"])
        assert (solid.get_linestyle(), solid.get_alpha(), solid.get_color()) == ("-", 1.0, colours["link"])
        assert (dashed.get_linewidth(), solid.get_linewidth()) == pytest.approx((1.2 * 0.75, 4.0 * 0.75))
        found = [
            (
                *(tuple(patch.center), patch.width, patch.height, patch.angle, patch.get_alpha(), patch.zorder),
                *(colors.to_hex(c) if c[3] else None for c in (patch.get_facecolor(), patch.get_edgecolor())),
            )
            for patch in axes.patches
        ]
        middle, com = (10.0, 20.0), colours["com"]
        assert found == [
            (middle, 6.0, 4.0, -30.0, 0.225, 4, colours["body"], None),
            (middle, 6.0, 4.0, -30.0, 0.5, 4, None, colours["edge"]),
            (middle, 11.0, 11.0, 0.0, 1.0, 5, None, None),
            (middle, 11.0, 11.0, 0.0, 1.0, 5, None, com),
            (middle, 3.0, 3.0, 0.0, 1.0, 6, com, None),
            (middle, 3.0, 3.0, 0.0, 1.0, 6, None, com),
        ]
        assert all(patch.get_linewidth() == 0.75 for patch in axes.patches[1::2])
        ink, quiet = colours["ink"], colours["quiet"]
        assert [(one.get_color(), one.get_fontsize(), one.get_ha(), one.zorder) for one in axes.texts] == [
            (quiet, 8.25, "left", 7),
            (ink, 8.25, "left", 8),
            (ink, 11.25, "left", 9),
            (com, 10.5, "left", 10),
            (ink, 8.25, "right", 11),
        ]
        assert [bool(one.get_path_effects()) for one in axes.texts] == [False, True, False, False, True]
        assert not any(one.get_parse_math() for one in axes.texts) and axes.texts[0].get_position() == (5.0, 6.0)


def test_without_matplotlib_png_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(view.UnsupportedError, match=r"PNG is drawn by matplotlib: .*or name a \.svg"):
        write_png(Picture("t", 1.0, 1.0, ()), tmp_path / "a.png", "light")


def test_a_page_is_opened_where_a_browser_is_asked_for(monkeypatch) -> None:
    heard, opened = [], []
    page = SimpleNamespace(address="http://127.0.0.1:5")
    monkeypatch.setattr(view, "View", lambda *given: heard.append(given) or page)
    monkeypatch.setattr("webbrowser.open", opened.append)
    for theme, browser in (("dark", True), ("light", False), ("auto", False)):
        assert view.serve("scene", "again", None, theme, 5, browser) is page  # type: ignore[arg-type]
    assert heard == [("scene", "again", None, 5, dark, ()) for dark in (True, False, False)]
    assert opened == ["http://127.0.0.1:5"]
    with pytest.raises(view.UnsupportedError, match="theme='grey'"):
        view.serve("scene", "again", None, "grey", 5, False)  # type: ignore[arg-type]


# The ground.


@pytest.mark.parametrize(
    ("length", "step"),
    [
        *((1.0, 1.0), (2.0, 2.0), (2.0001, 5.0), (5.0, 5.0), (5.1, 10.0)),
        *((0.0, 1e-6), (0.03, 0.05), (0.0999, 0.1), (0.2, 0.2), (0.21, 0.5), (0.7, 1.0), (13.0, 20.0), (300.0, 500.0)),
    ],
)
def test_a_step_is_1_2_or_5_times_a_power_of_ten(length: float, step: float) -> None:
    assert nice(length) == pytest.approx(step)


def test_the_ground_under_flat_points_has_one_step() -> None:
    ground = Ground.under(np.array([(0.2, 0.2, -2.0), (1.2, 0.2, -2.0)]), -0.5)
    assert ground.step == pytest.approx(0.2)
    np.testing.assert_allclose((ground.low, ground.high), [(0.2, 0.2, -0.5), (1.2, 0.4, -0.3)])
    assert ground.ticks(0) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.2])
    assert ground.ticks(2) == pytest.approx([-0.4])
    np.testing.assert_allclose(ground.corners, [(0.2, 0.2, -0.5), (0.2, 0.4, -0.5), (1.2, 0.2, -0.5), (1.2, 0.4, -0.5)])
    np.testing.assert_allclose(ground.upright(camera("front")), [(0.2, 0.2, -0.5), (0.2, 0.2, -0.3)])
    np.testing.assert_allclose(ground.upright(camera("side"))[:, 0], [0.2, 0.2])


def test_the_ground_from_above_has_lines_and_numbers_of_x_and_y() -> None:
    """x to the right, y up."""
    ground = Ground(np.array((0.0, 0.0, 0.0)), np.array((2.0, 1.0, 1.0)), 1.0)
    drawn = Sheet(camera("top"), 100.0, np.zeros(2))
    draw_ground(drawn, ground)
    lines = [np.array(item.points) for item in drawn.items if isinstance(item, Line)]
    spans = [[(0, 0), (0, 1)], [(1, 0), (1, 1)], [(2, 0), (2, 1)], [(0, 0), (2, 0)], [(0, 1), (2, 1)]]
    expected = [[(380 + 100 * x, 326 - 100 * y) for x, y in span] for span in spans]
    np.testing.assert_allclose(lines, expected, atol=1e-9)
    words = [item.text for item in drawn.items if isinstance(item, Words)]
    assert words == ["x [m]", "0", "1", "2", "y [m]", "0", "1"], "heights are not seen from above"


@pytest.mark.parametrize(
    ("normal", "offset", "first", "second"),
    [
        ((0.0, 0.0, 2.0), 0.5, (1, 0, 0), (0, 1, 0)),
        ((-3.0, 0.0, 0.0), 0.5, (0, 1, 0), (0, 0, -1)),
        ((0.0, -1.0, 0.0), 0.0, (1, 0, 0), (0, 0, 1)),
    ],
)
def test_a_plane_is_a_net_of_nine_points_a_side(normal: Any, offset: float, first: Any, second: Any) -> None:
    """Half of it is the next of 1, 2, 5 behind half of the way between the points and a fifth of the size."""
    spread = np.array([(-3.0, 0.0, 0.0), (3.0, 8.0, 1.0)])
    found = _plane(normal, offset, spread, 1.0)
    along = np.array(normal) / np.linalg.norm(normal)
    np.testing.assert_allclose(found.normal, along)
    assert found.net.shape == (9, 9, 3)
    half = 10.0  # 5 + 0.2
    np.testing.assert_allclose(found.net[8, 0] - found.net[0, 0], 2.0 * half * np.array(first), atol=1e-12)
    np.testing.assert_allclose(found.net[0, 8] - found.net[0, 0], 2.0 * half * np.array(second), atol=1e-12)
    middle = np.array((0.0, 5.0, 0.0))  # (0, 4, 0.5) in steps of 2.5
    np.testing.assert_allclose(found.net[4, 4], middle - along * (along @ middle - offset), atol=1e-12)
    np.testing.assert_allclose(found.net @ along, offset, atol=1e-12)


def test_a_wall_has_no_floor() -> None:
    net = np.array([[(0.0, 0.0, 3.0), (0.0, 0.0, 2.0)]])
    for upward, floor in ((0.6, 2.0), (0.5, None), (-1.0, None)):
        assert Surface(net, np.array((0.0, 0.0, upward))).floor == floor


def test_names_that_are_taken_are_counted() -> None:
    taken = set[str]()
    assert [_fresh(name, taken) for name in ("a", "b", "a", "a")] == ["a", "b", "a (2)", "a (3)"]


@pytest.mark.parametrize(
    ("metres", "radians", "turns", "words"),
    [
        (1e-6, 1e-6, (0,), ""),
        (1.1e-6, 0.0, (), "1.1e-06 m"),
        (0.25, 0.5, (), "0.25 m"),
        (0.25, 0.5, (1,), "0.25 m, 0.5 rad"),
        (0.0, 2e-6, (1,), "0 m, 2e-06 rad"),
    ],
)
def test_how_far_a_contact_is_open(metres: float, radians: float, turns: tuple[int, ...], words: str) -> None:
    assert said(SimpleNamespace(turns=turns), (metres, radians)) == words  # type: ignore[arg-type]


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 0.6, 0.8), (0.6, 0.0, -0.8)])
def test_half_a_turn_is_about_either_way_of_its_axis(axis: tuple[float, float, float]) -> None:
    n = np.array(axis)
    found = rotation_vector(2.0 * np.outer(n, n) - np.eye(3))
    np.testing.assert_allclose(np.outer(found, found), math.pi**2 * np.outer(n, n), atol=1e-12)
    assert not rotation_vector(np.eye(3)).any()
