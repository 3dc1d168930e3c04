"""What is drawn of a scene: by a sheet that keeps its strokes, at lengths that are shares of the robot's size."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

import condyle
from condyle.model.placement import Placement
from condyle.view.drawing import _legend, box_of, draw, draw_robot
from condyle.view.picture import Ellipse, Line, Words, camera
from condyle.view.scene import Scene, Shot
from tests.view.scenes import scene


class Strokes:
    """A sheet in metres: strokes by their kind; words that are not put are tried again elsewhere."""

    def __init__(self, puts: bool = True) -> None:
        self.camera, self.items, self.puts = camera("top"), list[Any](), puts

    def pixel(self, point: Any) -> tuple[float, float]:
        return float(point[0]), float(point[1])

    def words(self, *given: Any) -> bool:
        self.items.append(("words", *given))
        return self.puts

    def __getattr__(self, kind: str) -> Any:
        return lambda *given: self.items.append((kind, *given))


def arm(times: int = 2) -> Scene:
    """A rod of 1 m that turns about z, with a force of 3 N at the second time."""
    build = condyle.Builder("arm").body("base")
    build.body("rod", mass=2.0, com=(1.0, 0, 0), inertia=np.diag([1.0, 1.0, 1.5]))
    robot = build.joint("turn", parent="base", child="rod", type="continuous", axis=(0, 0, 1)).build()
    force = np.zeros((times, 3))
    force[1:] = (0.0, 3.0, 0.0)
    return scene(robot, trajectory=np.zeros((times, 1)), dt=0.25, forces={"rod": force})


def test_axes_frames_forces_and_the_centre_of_mass_are_strokes() -> None:
    shown, drawn = arm(), cast("Any", Strokes())
    assert shown.size == 1.0
    draw_robot(drawn, shown, Shot(1, 0, 0.5), ("axes", "com", "forces"))
    kinds = [(item[0], *item[-2:]) for item in drawn.items]
    assert kinds == [
        ("arrow", 0.5, "turn: continuous"),
        ("dot", 0.5, "centre of mass"),
        ("dot", "com solid", 0.5),
        ("arrow", 0.5, "force on rod: 3 N"),
    ]
    axis, com, inner, force = drawn.items
    np.testing.assert_allclose(axis[1:3], [(0, 0, -0.055), (0, 0, 0.11)])
    np.testing.assert_allclose((com[1], inner[1]), [(1, 0, 0)] * 2)
    assert (com[2:4], inner[2:4]) == ((5.5, "com"), (1.5, "com solid"))
    np.testing.assert_allclose(force[1:3], [(0, 0, 0), (0, 3.0 * 0.5 / (2.0 * 9.81), 0)])
    still: Any = Strokes()
    draw_robot(still, shown, Shot(0, 0, 1.0), ("forces", "names"))
    assert still.items == [], "no force then, and names stand at the last time only"


def test_frames_are_three_lines_and_names_stand_beside_them() -> None:
    shown, drawn = arm(), Strokes(puts=False)
    draw_robot(drawn, shown, Shot(1, 0, 0.5), ("frames", "names"))  # type: ignore[arg-type]
    marks = [mark.name for mark in shown.parts.marks]
    lines = [item for item in drawn.items if item[0] == "line"]
    assert [item[2:] for item in lines] == [(x, 0.5, f"{x} of {name}") for name in marks for x in "xyz"]
    ends = [(np.array(item[1][1]) - item[1][0]).tolist() for item in lines]
    np.testing.assert_allclose(ends, np.concatenate([0.06 * np.eye(3)] * len(marks)), atol=1e-12)
    words = [item[1:] for item in drawn.items if item[0] == "words"]
    beside = [((9.0, -5.0), name, "name") for name in marks], [((-9.0, -5.0), name, "name", "end") for name in marks]
    assert words == [word for pair in zip(*beside, strict=True) for word in pair]


def test_a_trajectory_fades_in_at_five_times_and_leaves_a_path() -> None:
    """Each of them has one body; the path has every state up to 400, and each second one of 800."""
    for times, fades in ((1, [1.0]), (2, [0.25, 1.0]), (9, [0.25, 0.4375, 0.625, 0.8125, 1.0])):
        items = draw(arm(times), "top").items
        bodies = [item.opacity for item in items if isinstance(item, Ellipse) and item.style == "body" and item.title]
        assert bodies == fades
        paths = [len(item.points) for item in items if isinstance(item, Line) and item.style == "path"]
        assert paths == ([times] if times > 1 else [])
    for times, points in ((400, 400), (401, 201), (800, 400)):
        items = draw(arm(times), "top", ("com",)).items
        assert [len(item.points) for item in items if isinstance(item, Line) and item.style == "path"] == [points]


def test_the_title_says_how_many_states_there_are_and_how_long_they_last() -> None:
    for times, said in ((1, "arm"), (5, "arm, 5 states, 1 s")):
        drawn: Any = Strokes()
        _legend(drawn, arm(times), ())
        title = next(item for item in drawn.items if isinstance(item, Words))
        assert (title.pixel, title.text, title.style) == ((28.0, 26.0), said, "title")


def test_signs_stand_side_by_side_in_two_rows() -> None:
    """A sign, its words 13 px behind, and 6 px a letter and 18 px to the next one."""
    drawn: Any = Strokes()
    _legend(drawn, arm(), ("bodies", "links", "axes", "limits", "com", "contacts", "ground", "forces"))
    said = [
        ("body", "body: ellipsoid of its inertia"),
        ("link", "link"),
        ("axis", "joint axis"),
        ("com", "centre of mass"),
        ("force", "force (19.62 N: 0.5 m)"),
    ]
    x, expected = 28.0, list[Words]()
    for style, text in said:
        expected += [Words((x, 628.0), "\u25cf", f"{style} sign"), Words((x + 13.0, 628.0), text, "tick")]
        x += 31.0 + 6.0 * len(text)
    assert drawn.items[1:] == expected
    held = scene(condyle.chain(2, rng=0), contacts=[condyle.Contact("link1")])
    upper: Any = Strokes()
    _legend(upper, held, ("contacts", "ground"))
    assert upper.items[1].pixel == (28.0, 612.0) and upper.items[1].style == "contact sign"
    assert upper.items[2].text == "contact and normal of the ground" and len(upper.items) == 3


def test_the_box_of_a_picture_holds_normals_of_contacts() -> None:
    """9 hundredths of the size on both sides of each."""
    robot = condyle.Builder().body("a", mass=1.0, com=(0, 0, 0), inertia=1e-3 * np.eye(3))
    built = robot.joint("j", parent="world", child="a", type="revolute", axis=(0, 0, 1), lower=-1.0, upper=1.0).build()
    place = Placement.from_rpy((20.0, 0.0, 0.0))
    box = box_of(scene(built, contacts=[condyle.Contact("a", placement=place)]))
    size = scene(built).size
    np.testing.assert_allclose(box[:, 0].max(), 20.0 + 0.09 * size)
    assert np.sum(np.isclose(box[:, 0], 20.0 - 0.09 * size)) == 1
