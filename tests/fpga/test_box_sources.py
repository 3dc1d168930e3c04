"""Boxes from recorded states and from effort limits: they hold the states that they are for, and refuse bad input."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import CondyleError, Robot, fpga
from condyle.errors import ShapeError, StateError, UnsupportedError
from condyle.fpga import box_sources
from condyle.fpga.box_sources import box_of_file, merged
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.vectors import errors_of, task_errors, task_of, worst
from tests.processor import slow
from tests.view.archives import bad_archives, packed
from tests.zoo import every_joint

ARM = condyle.chain(3, 4)
NAMES = [joint.name for joint in ARM.joints]


def around_the_bias(robot: Robot, box: Mapping[str, object], n: int) -> dict[str, np.ndarray]:
    """States with torques within 10 % of the effort limits around those of zero acceleration."""
    states = fpga.sampled(robot, n, 99, fpga.box_of(robot, box, None))
    states = fpga.consistent(robot, {**states, "a": 0.0 * states["a"]})
    states["tau"] += 0.1 * robot.effort * np.random.default_rng(7).uniform(-1.0, 1.0, states["tau"].shape)
    return states


@pytest.mark.parametrize("name", ["ur5e", slow("iiwa14")])
def test_torques_around_the_bias_raise_no_flag_in_the_box_of_effort(name: str) -> None:
    robot = condyle.load(name)
    box = condyle.box_of_effort(robot)
    plain, plan = (fpga.planned(robot, fpga.Options(("fd", "dfd"), box=of)) for of in ({}, box))
    states = around_the_bias(robot, box, 500)
    given = task_of(plain, "dfd", states)
    assert evaluate(plain, "dfd", given).over.mean() > 0.99  # what the default box is too small for
    for function, task in plan.tasks.items():
        answer = evaluate(plan, function, task_of(plan, function, states))
        truth = fpga.answer_of(robot, task, states, 0.0)
        row = errors_of(task_errors(plan, function, answer, truth))
        assert row["clamped"] < 0.01 and worst(row, "_p99") < 5e-3, function


def test_a_joint_without_a_motor_has_no_torque() -> None:
    """The base of a floating robot falls: its acceleration is in the box, whatever the motors do."""
    robot = condyle.load("hyq", floating_base=True)
    box = condyle.box_of_effort(robot, 1e-3)
    a = np.broadcast_to(fpga.box_of(robot, box, None)["a"], robot.nv)
    states = fpga.consistent(robot, {**fpga.sampled(robot, 200, 5), "a": np.zeros((200, robot.nv))})
    states["tau"][:, :6] = 0.0
    (found,) = fpga.answer_of(robot, fpga.functions()["fd"], states, 0.0)
    assert (np.abs(found) <= a).all() and a[2] > 9.81


def test_effort_limits_that_are_not_there_are_named() -> None:
    with pytest.raises(
        UnsupportedError, match=f"no effort limit of {', '.join(NAMES)}: set it in the model file, give a"
    ):
        condyle.box_of_effort(ARM)
    for percent in (0.0, -1.0, 101.0, np.nan):
        with pytest.raises(UnsupportedError, match="above 0 and at most 100"):
            condyle.box_of_effort(condyle.load("ur5e"), percent)
    with pytest.raises(UnsupportedError, match="percent='10': give a number"):
        condyle.box_of_effort(condyle.load("ur5e"), "10")
    with pytest.raises(UnsupportedError, match=r"^percent=None: give a number, in per cent, or leave it out$"):
        condyle.box_of_effort(condyle.load("ur5e"), None)  # type: ignore[arg-type]


def test_accelerations_are_those_of_the_torques_beside_the_bias() -> None:
    """1.25 times the largest sum of |M^-1| |tau - c| in 4000 states: 10 % of an effort of 30; all of c without one."""
    builder = condyle.Builder("two").body("base").body("one", mass=2.0, com=(0.3, 0.0, 0.1), inertia=0.1 * np.eye(3))
    builder.body("two", mass=1.0, com=(0.2, 0.1, 0.0), inertia=0.05 * np.eye(3))
    builder.joint("i", parent="base", child="one", type="revolute", axis=(0, 1, 0), effort=30.0)
    builder.joint("j", parent="one", child="two", type="revolute", axis=(1, 0, 0), xyz=(0.4, 0.0, 0.0), effort=0.0)
    robot = builder.build()
    states, dyn = fpga.sampled(robot, 4000, 0), robot.compile(target="numpy")
    bias = dyn.inverse_dynamics(states["q"], states["v"], np.zeros((4000, 2)))
    rows = np.abs(dyn.mass_matrix_inverse(states["q"]))
    for options, share in (({}, 0.1), ({"percent": 100}, 1.0)):
        torque = np.stack([np.full(4000, 30.0 * share), np.abs(bias[:, 1])], axis=1)
        want = 1.25 * np.einsum("nij,nj->ni", rows, torque).max(axis=0)
        found = condyle.box_of_effort(robot, **options)["a"]
        np.testing.assert_allclose([*found["i"], *found["j"]], want, rtol=1e-9)


def recorded(robot: Robot, n: int = 50) -> dict[str, np.ndarray]:
    states = fpga.consistent(robot, fpga.sampled(robot, n, 3, fpga.box_of(robot, {"v": 2, "a": 5}, None)))
    return {name: states[name] for name in ("q", "v", "a", "tau")}


@pytest.mark.parametrize("robot", [ARM, every_joint()], ids=lambda robot: robot.name)
def test_recorded_states_are_inside_their_box(robot: Robot) -> None:
    states = recorded(robot)
    direct = condyle.box_of_states(robot, states["q"], states["v"], a=states["a"])
    solved = condyle.box_of_states(robot, states["q"], states["v"], tau=states["tau"])
    for said in (direct, solved):
        box = fpga.box_of(robot, said, None)
        for name in "va":
            assert np.allclose(box[name], 1.25 * np.abs(states[name]).max(axis=0), rtol=1e-6)
    plan = fpga.planned(robot, fpga.Options(("id",), box=direct))
    assert not evaluate(plan, "id", task_of(plan, "id", fpga.consistent(robot, states))).over.any()


def test_angles_beyond_the_default_are_in_the_box_and_joints_that_stand_have_some_room() -> None:
    states = recorded(ARM)
    states["q"][0, 1], states["v"][:, 2], states["a"][:, 2] = -6.0, 0.0, 1e-9
    box = fpga.box_of(ARM, condyle.box_of_states(ARM, states["q"], states["v"], states["a"]), None)
    assert np.asarray(box["q"]).tolist() == [np.pi, 7.5, np.pi]
    assert (np.asarray(box["v"])[2], np.asarray(box["a"])[2]) == (0.1, 1.0)  # 1 % of the default
    states["q"][0, 1] = 40.0
    with pytest.raises(UnsupportedError, match=f"q of {NAMES[1]} reaches 40: an angle is at most 31 rad"):
        condyle.box_of_states(ARM, states["q"], states["v"], states["a"])


def test_the_largest_numbers_of_a_recording_are_those_of_a_box() -> None:
    """A box of 1.25 times that ends where boxes end."""
    states = recorded(ARM)
    states["q"][0], states["v"][0], states["a"][0] = (31.0, 30.0, 20.0), 1e6, -1e6
    said = condyle.box_of_states(ARM, states["q"], states["v"], states["a"])
    assert said["q"] == {NAMES[0]: [31.0], NAMES[1]: [31.0], NAMES[2]: [25.0]}
    assert said["v"] == said["a"] == {name: [1e6] for name in NAMES}
    states["q"][0, 2] = np.nextafter(31.0, 32.0)
    with pytest.raises(UnsupportedError, match=f"q of {NAMES[2]} reaches 31"):
        condyle.box_of_states(ARM, states["q"], states["v"], states["a"])
    with pytest.raises(UnsupportedError, match="one of them"):
        condyle.box_of_states(ARM, states["q"], states["v"], states["a"], states["tau"])


def test_accelerations_of_a_file_go_before_its_torques(tmp_path: Path) -> None:
    states, path = recorded(ARM), tmp_path / "states.npz"
    saved(path, **{name: states[name] for name in ("q", "v", "a")}, tau=1e3 * states["tau"])
    assert box_of_file(ARM, path) == condyle.box_of_states(ARM, states["q"], states["v"], states["a"])


def test_what_a_user_says_has_priority() -> None:
    box = {"v": {"i": 1.0, "j": 2.0}, "a": {"i": 3.0, "j": 4.0}}
    assert merged(box, {"v": 5.0, "a.j": 6.0}) == {"a.i": 3.0, "v": 5.0, "a.j": 6.0}


@pytest.mark.parametrize(
    ("change", "kind", "match"),
    [
        ({"q": np.zeros((50, 2))}, ShapeError, r"q has shape \(50, 2\), expected \(n, 3\)"),
        ({"v": np.zeros((3, 50))}, ShapeError, "states are rows: give the transpose"),
        ({"v": np.zeros((49, 3))}, ShapeError, "different numbers of states: q 50, v 49, a 50"),
        ({name: np.zeros((0, 3)) for name in "qva"}, ShapeError, "1 or more"),
        ({"v": np.full((50, 3), np.nan)}, StateError, "not finite, or beyond 1e.06, in rows 0, 1"),
        ({"a": np.full((50, 3), 1e7)}, StateError, "a: numbers that are not finite, or beyond"),
        ({"a": None}, UnsupportedError, "give the accelerations a or the torques tau"),
        ({"tau": np.zeros((50, 3))}, UnsupportedError, "one of them"),
    ],
)
def test_what_is_no_recording_is_refused(change: Mapping[str, object], kind: type[CondyleError], match: str) -> None:
    states = {name: x for name, x in recorded(ARM).items() if name != "tau"}
    with pytest.raises(kind, match=match):
        condyle.box_of_states(ARM, **{**states, **change})


def saved(path: Path, **arrays: object) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


def test_a_file_of_states_is_a_box(tmp_path: Path) -> None:
    states, path = recorded(ARM), tmp_path / "states.npz"
    saved(path, **{name: states[name] for name in ("q", "v", "tau")}, other=np.zeros(3))
    assert box_of_file(ARM, path) == condyle.box_of_states(ARM, states["q"], states["v"], tau=states["tau"])


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"q": np.zeros((1, 3)), "v": np.zeros((1, 3))}, "expected arrays q, v, and a or tau .* it has q, v"),
        ({"w": np.zeros(3)}, "is no .npz file with arrays of numbers"),
        ({"q": np.array([object()])}, "Python objects are not read"),
    ],
)
def test_files_without_states_are_refused(arrays: Mapping[str, object], match: str, tmp_path: Path) -> None:
    saved(tmp_path / "x.npz", **arrays)
    with pytest.raises(UnsupportedError, match=match):
        box_of_file(ARM, tmp_path / "x.npz")


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.save(tmp_path / "x.npy", np.zeros((4, 3)))
    for name, content in (("x.npz", b"PK\x03\x04rest"), ("y.npz", b""), ("x.npy", None)):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(UnsupportedError, match=r"is no \.npz file with arrays of numbers"):
            box_of_file(ARM, path)
    for wrong in (tmp_path, tmp_path / "none.npz"):
        with pytest.raises(UnsupportedError, match="cannot be read"):
            box_of_file(ARM, wrong)


def test_archives_that_are_damaged_or_lie_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.npz"
    for content in bad_archives(path):
        path.write_bytes(content)
        with pytest.raises(UnsupportedError, match=r"is no \.npz file with arrays of numbers"):
            box_of_file(ARM, path)
    path.write_bytes(packed(path, 4))
    assert box_of_file(ARM, path)
    monkeypatch.setattr(box_sources, "MOST_BYTES", 100)
    with pytest.raises(UnsupportedError, match=r"'q.npy' is larger than 100 bytes"):
        box_of_file(ARM, path)
