"""What a ground may not be: each a clear error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle import ModelError, ShapeError, UnsupportedError
from condyle.ground import Foot, Grid, Ground, Plane, Terrain
from condyle.ground.feet import Touch
from condyle.ground.hard import Hard
from tests.ground.robots import ball

WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no feet": ({"feet": []}, UnsupportedError, r"feet=\[\]; give a list of names of frames"),
    "one name": ({"feet": "ball"}, UnsupportedError, "feet='ball'; give a list"),
    "number": ({"feet": [3]}, UnsupportedError, r"Foot\(frame, point\)"),
    "twice": ({"feet": ["ball", Foot("ball")]}, UnsupportedError, "'ball'.*is given twice"),
    "negative": ({"stiffness": -1.0}, UnsupportedError, r"stiffness=-1\.0; give a positive number"),
    "zero": ({"stiffness": 0}, UnsupportedError, "stiffness=0; give a positive number"),
    "no width": ({"blend": 0.0}, UnsupportedError, r"blend=0\.0; give a positive number"),
    "no slip": ({"slip": 0.0}, UnsupportedError, r"slip=0\.0; give a positive number"),
    "pulls": ({"damping": -0.1}, UnsupportedError, r"damping=-0\.1; give zero or a positive number"),
    "drives": ({"friction": -1}, UnsupportedError, "friction=-1; give zero or a positive number"),
    "infinite": ({"stiffness": float("inf")}, UnsupportedError, "stiffness=inf"),
    "none": ({"friction": float("nan")}, UnsupportedError, "friction=nan"),
    "a foot each": ({"friction": np.ones(4)}, UnsupportedError, "friction=array"),
    "height": ({"height": np.zeros((3, 3))}, UnsupportedError, r"give a Grid, or None for the plane z = 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_grounds_that_cannot_be(name: str) -> None:
    given, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        Ground(**{"feet": ["ball"], **given})


GRIDS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "number": ({"shape": 4}, ShapeError, r"shape=4; give the nodes along x and y, 2 to 64 each"),
    "three": ({"shape": (4, 4, 4)}, ShapeError, "shape="),
    "one": ({"shape": (4, 1)}, ShapeError, "2 to 64"),
    "many": ({"shape": (4, 65)}, ShapeError, "2 to 64"),
    "part": ({"shape": (4, 2.5)}, ShapeError, "2 to 64"),
    "spacing": ({"shape": (4, 4), "spacing": 0.0}, UnsupportedError, r"spacing=0\.0; give a positive number of metres"),
    "spacings": ({"shape": (4, 4), "spacing": (1.0, -1.0)}, UnsupportedError, "spacing="),
    "origin": ({"shape": (4, 4), "origin": 0.0}, UnsupportedError, r"origin=0\.0; give x and y"),
}


@pytest.mark.parametrize("name", GRIDS)
def test_grids_that_cannot_be(name: str) -> None:
    given, kind, message = GRIDS[name]
    with pytest.raises(kind, match=message):
        Grid(**given)


@pytest.mark.parametrize(("frame", "point"), [(3, (0, 0, 0)), ("ball", (0, 0)), ("ball", 1.0), ("ball", "xyz")])
def test_feet_that_cannot_be(frame: Any, point: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"give a frame's name and three numbers \[m\]"):
        Foot(frame, point)


def test_feet_that_the_robot_has_not() -> None:
    with pytest.raises(ModelError, match="there is no frame 'bal'; did you mean 'ball'"):
        Ground(["bal"]).step(ball())
    with pytest.raises(ModelError, match="there is no frame 'bal'"):
        Ground(["bal"]).longest_step(ball(), np.zeros(3))
    with pytest.raises(ModelError, match="'iiwa_link_0' is fixed to the world: no ground can push it"):
        Ground(["iiwa_link_0"]).step(condyle.load("iiwa14"))


def test_heights_that_are_not_the_grids() -> None:
    ground = Ground(["ball"], height=Grid((4, 3)))
    size: dict[str, Any] = {"q": "nq", "v": "nv", "h": (3, 4)}
    with pytest.raises(ShapeError, match=r"heights have shape \(3, 4\), expected \(4, 3\), that of the grid"):
        ball().function(lambda at, h: ground.forces(at, h), size)
    with pytest.raises(ShapeError, match=r"heights are missing; give an array \(4, 3\) \[m\]"):
        ball().function(lambda at, h: ground.forces(at), size)
    with pytest.raises(UnsupportedError, match="this ground is the plane z = 0"):
        ball().function(lambda at, h: Ground(["ball"]).forces(at, h), size)
    with pytest.raises(ShapeError, match=r"heights has shape \(3, 4\), expected \(\.\.\., 4, 3\)"):
        ground.step(ball()).compile(target="numpy")(np.zeros(3), np.zeros(3), np.zeros(3), 1e-3, np.zeros((3, 4)))


def test_inputs_that_are_no_numbers_of_a_ground() -> None:
    with pytest.raises(UnsupportedError, match="inputs: 'feet'; allowed is 'stiffness', 'damping', 'friction'"):
        Ground(["ball"]).step(ball(), inputs=("feet",))
    for step in (Ground(["ball"]).step, lambda robot, **more: Plane().step(robot, [condyle.Contact("ball")], **more)):
        with pytest.raises(UnsupportedError, match=r"inputs='friction': give a list of names, such as \('friction',\)"):
            step(ball(), inputs="friction")
    with pytest.raises(ShapeError, match=r"friction has shape \(2,\); give one number for all feet"):
        ball().function(lambda at, mu: Ground(["ball"], friction=mu).forces(at), {"q": "nq", "v": "nv", "mu": 2})


def test_what_the_longest_step_cannot_be_asked() -> None:
    ground = Ground(["ball"])
    with pytest.raises(ShapeError, match=r"q has shape \(2, 3\), expected \(3,\): one state"):
        ground.longest_step(ball(), np.zeros((2, 3)))
    with pytest.raises(UnsupportedError, match=r"load=-1\.0; give zero or a positive number"):
        ground.longest_step(ball(), np.zeros(3), load=-1.0)

    def asked(at: Any, mu: Any) -> Any:
        return Ground(["ball"], friction=mu).longest_step(ball(), np.zeros(3)) * mu

    with pytest.raises(UnsupportedError, match="longest_step: friction is a symbol; ask a ground with numbers"):
        ball().function(asked, {"q": "nq", "mu": ()})


def test_a_foot_that_the_ground_cannot_move_bounds_no_step() -> None:
    builder = condyle.Builder().body("sled", mass=1.0, inertia=1e-3 * np.eye(3))
    sled = builder.joint("rail", parent="world", child="sled", type="prismatic", axis=(1.0, 0.0, 0.0)).build()
    assert Ground(["sled"], friction=0.0).longest_step(sled, np.zeros(1)) == np.inf
    assert np.isclose(Ground(["sled"], friction=0.5, slip=0.1).longest_step(sled, np.zeros(1)), 2 * 0.1 / (0.5 * 9.81))


def test_a_foot_is_a_value_however_its_point_is_given() -> None:
    feet = {Foot("ball", point) for point in ((0, 0.5, 1), [0.0, 0.5, 1.0], np.array([0.0, 0.5, 1.0]))}  # type: ignore[arg-type]
    assert feet == {Foot("ball", (0.0, 0.5, 1.0))} and Foot("ball") == Foot("ball", (0.0, 0.0, 0.0))


def test_steps_are_of_robots() -> None:
    contact = [condyle.Contact("ball")]
    for name, step in (
        ("Ground", Ground(["ball"]).step),
        ("Plane", Plane().step),
        ("Terrain", Terrain(Grid((2, 64))).step),
    ):
        with pytest.raises(UnsupportedError, match=f"^{name}.step"):
            step("ball", *([] if name == "Ground" else [contact]))  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [2, 0.5, np.int64(2), np.int32(2), np.float32(0.5), np.float64(0.5)])
def test_a_number_is_any_real_one(number: Any) -> None:
    assert Ground(["ball"], stiffness=number).stiffness == number
    assert Plane(offset=number, recovery=number).recovery == number
    assert Grid((2, 64), number).spacing == (number, number)
    assert Foot("ball", (number, 0.0, 0.0)).point == (float(number), 0.0, 0.0)


@pytest.mark.parametrize("number", [True, np.True_, "2", None, 2j, [2.0], np.ones(1)])
def test_what_is_no_real_number_is_refused(number: Any) -> None:
    for wrong in (
        lambda: Ground(["ball"], stiffness=number),
        lambda: Plane(offset=number),
        lambda: Plane(recovery=number),
        lambda: Terrain(Grid((2, 2)), recovery=number),
        lambda: Foot("ball", (number, 0.0, 0.0)),
        lambda: Plane(normal=(number, 0.0, 1.0)),
        lambda: Grid((2, 2), origin=(number, 0.0)),
    ):
        with pytest.raises(UnsupportedError, match="give"):
            wrong()


def test_a_hard_ground_says_its_form() -> None:
    assert not Hard().is_level
    for name in ("numbers", "distance"):
        with pytest.raises(NotImplementedError):
            getattr(Hard(), name)


def test_the_longest_step_is_of_feet_that_move() -> None:
    with pytest.raises(ModelError, match="'iiwa_link_0' is fixed to the world: no ground can push it"):
        Ground(["iiwa_link_0"]).longest_step(condyle.load("iiwa14"), np.zeros(7))


def test_a_point_has_no_arm_and_does_not_bend() -> None:
    assert Touch(0.1, np.ones(3))[2:] == (None, 0.0)
