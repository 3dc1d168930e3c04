"""Robot: attributes, states, forces, order, pickling."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from condyle.errors import ModelError, ShapeError, UnsupportedError
from condyle.model.builder import Builder, chain, random_tree
from condyle.model.robot import Robot
from condyle.model.state import StateError
from tests.zoo import every_joint

BOX = np.diag([0.1, 0.2, 0.25])


@pytest.mark.parametrize("floating", [False, True])
def test_a_robot_pickles_as_data(floating: bool) -> None:
    robot = every_joint(floating)
    again = pickle.loads(pickle.dumps(robot))
    assert again.fingerprint == robot.fingerprint
    assert again.joint_names == robot.joint_names
    assert list(again.frames) == list(robot.frames)
    assert not again.bodies[0].com.flags.writeable


@pytest.mark.parametrize("name", ["armature", "lower", "friction", "axis"])
def test_a_joint_made_with_a_wrong_array_is_named(name: str) -> None:
    robot = chain(2)
    for wrong in (0.1, [0.1, 0.2], "x", None):
        with pytest.raises(ModelError, match=f"joint 'joint1': {name}: "):
            replace(robot.joints[1], **{name: wrong})
    assert replace(robot.joints[1], armature=[0.1]).armature.tolist() == [0.1]


@pytest.mark.parametrize("name", ["com", "inertia"])
def test_a_body_made_with_a_wrong_array_is_named(name: str) -> None:
    for wrong in (0.1, [0.1, 0.2], "x", None):
        with pytest.raises(ModelError, match=f"body 'link1': {name}: "):
            replace(chain(2).bodies[1], **{name: wrong})


@pytest.mark.parametrize("wrong", [{"mass": -1.0}, {"mass": np.nan}, {"mass": np.inf}, {"inertia": BOX * np.nan}])
def test_a_robot_made_with_an_impossible_body_is_refused(wrong: dict[str, object]) -> None:
    robot = chain(2)
    bodies = (robot.bodies[0], replace(robot.bodies[1], **wrong))
    with pytest.raises(ModelError, match=r"body 'link1': .*expected 0 or more"):
        replace(robot, bodies=bodies)


def test_a_robot_cannot_be_changed() -> None:
    robot = every_joint()
    with pytest.raises(FrozenInstanceError):
        robot.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        robot.frames["x"] = robot.frames["trunk"]  # type: ignore[index]
    for array in (robot.gravity, robot.bodies[0].inertia, robot.joints[0].axis, robot.joints[0].armature):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_parts_print_as_one_line() -> None:
    robot = every_joint(floating_base=True)
    for part in (*robot.joints, *robot.bodies, *robot.frames.values()):
        assert len(repr(part)) < 200
        assert "\n" not in repr(part)
    assert repr(robot.joint("root_joint")) == "<Joint 'root_joint': free, q[0:7], v[0:6]>"
    assert repr(robot.joint("continuous")) == "<Joint 'continuous': continuous, axis [0 -1 0], q[8:9], v[7:8]>"
    assert repr(robot.joint("follower")).endswith(f"follows joint {robot.joint_names.index('revolute')}>")


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 0.7, 3.0, 20.0])
def test_derivatives_of_integrate(size: float) -> None:
    robot, step = every_joint(floating_base=True), 1e-6
    q, dv = robot.random_state(4, 5)
    dv *= size
    found, ends = robot.integrate_derivatives(dv), robot.integrate(q, dv)[:, None]
    x = step * np.eye(robot.nv)

    def column(moved: np.ndarray, back: np.ndarray) -> np.ndarray:
        return (robot.difference(ends, moved) - robot.difference(ends, back)).swapaxes(-1, -2) / (2.0 * step)

    q, dv = q[:, None], dv[:, None]
    by_q = column(robot.integrate(robot.integrate(q, x), dv), robot.integrate(robot.integrate(q, -x), dv))
    by_dv = column(robot.integrate(q, dv + x), robot.integrate(q, dv - x))
    assert found.dq == pytest.approx(by_q, abs=1e-8 * (1.0 + size))  # differences lose half the digits
    assert found.ddv == pytest.approx(by_dv, abs=1e-8 * (1.0 + size))
    dv[1] = 1e300, np.nan, *dv[1, 0, 2:]
    spoilt = robot.integrate_derivatives(dv[:, 0])
    assert np.array_equal(spoilt.ddv[[0, 2, 3]], found.ddv[[0, 2, 3]])
    assert not np.isfinite(spoilt.ddv[1, :6, :6]).any()
    one = robot.integrate_derivatives(dv[0, 0].astype(np.float32))
    assert one.dq.dtype == np.float32
    assert one.ddv.shape == (robot.nv, robot.nv)


@pytest.mark.parametrize("floating", [False, True])
def test_limits_stand_where_their_joints_do(floating: bool) -> None:
    robot = every_joint(floating)
    for joint in robot.joints:
        if joint.mimic is None:
            assert np.array_equal(robot.lower[joint.q_slice], joint.lower)
            assert np.array_equal(robot.upper[joint.q_slice], joint.upper)
            for name in ("effort", "velocity", "damping", "friction"):
                assert np.array_equal(getattr(robot, name)[joint.v_slice], getattr(joint, name))
    assert robot.lower.shape == robot.upper.shape == (robot.nq,)
    assert robot.damping.shape == (robot.nv,)
    assert not robot.damping.flags.writeable
    assert Builder().body("a", mass=1.0, inertia=BOX).build().lower.shape == (0,)


def test_a_joint_by_name_and_the_mass_of_all() -> None:
    robot = every_joint()
    assert robot.joint("planar") is robot.joints[robot.joint_names.index("planar")]
    with pytest.raises(ModelError, match="no joint 'planer'; did you mean 'planar'"):
        robot.joint("planer")
    builder = Builder().body("base", mass=9.0, inertia=BOX).body("a", mass=1.0, inertia=BOX)
    builder.body("b", mass=2.5, inertia=BOX).joint("j", parent="base", child="a", type="revolute", upper=0.5)
    arm = builder.joint("k", parent="a", child="b", type="fixed").build()
    assert arm.mass == 3.5
    assert arm.upper.tolist() == [0.5]


def test_changes_keep_the_class() -> None:
    class Mine(Robot):
        __slots__ = ()

    mine = Mine.from_data(every_joint())
    assert type(mine.lock({"revolute": 0.0})) is Mine
    assert type(mine.reroot("revolute")) is Mine
    assert type(pickle.loads(pickle.dumps(Robot.from_data(mine)))) is Robot


@pytest.mark.parametrize("floating", [False, True])
def test_states_are_valid_and_integrate(floating: bool) -> None:
    robot = every_joint(floating)
    q, v = robot.random_state(50, 3)
    assert q.shape == (50, robot.nq)
    assert v.shape == (50, robot.nv)
    robot.check_state(q, v)
    moved = robot.integrate(q, v)
    robot.check_state(moved)
    assert robot.difference(q, moved) == pytest.approx(v, abs=1e-12)
    assert np.array_equal(robot.random_state(50, 3).q, q)
    assert np.array_equal(robot.random_state(50, np.random.default_rng(3)).q, q)
    robot.check_state(robot.neutral())
    assert robot.neutral().shape == (robot.nq,)


def test_batches_broadcast_and_float32_stays() -> None:
    robot = every_joint()
    q, v = robot.random_state(6, 0)
    assert robot.integrate(q[0], v).shape == (6, robot.nq)
    assert robot.integrate(q.reshape(2, 3, -1), v[:3]).shape == (2, 3, robot.nq)
    assert robot.integrate(q[:0], v[:0]).shape == (0, robot.nq)
    single = robot.integrate(q.astype(np.float32), v.astype(np.float32))
    assert single.dtype == np.float32
    robot.check_state(single)
    assert robot.normalize(2 * q).shape == q.shape
    robot.check_state(robot.normalize(np.where(True, q * 1.5, q)))


def test_wrong_shapes_are_told_politely() -> None:
    robot = chain(3)
    with pytest.raises(ShapeError, match=r"expected \(\.\.\., 3\); states are rows here.*transpose"):
        robot.integrate(np.zeros((3, 5)), np.zeros(3))
    with pytest.raises(ShapeError, match="do not broadcast"):
        robot.integrate(np.zeros((2, 3)), np.zeros((4, 3)))
    with pytest.raises(ShapeError, match="32 dimensions"):
        robot.check_state(np.zeros((*(1,) * 40, 3)), np.zeros(3))
    with pytest.raises(ShapeError, match="v has shape"):
        robot.check_state(np.zeros(3), np.zeros(2))
    with pytest.raises(ShapeError):
        robot.normalize(1.0)


def test_bad_states_are_named() -> None:
    robot = every_joint(floating_base=True)
    q, v = robot.random_state(20, 0)
    q[3, 3:7] *= 1.01
    q[5, 0] = np.nan
    v[7, 2] = np.inf
    with pytest.raises(StateError) as caught:
        robot.check_state(q, v)
    assert caught.value.rows == (3, 5, 7)
    assert "joint 'root_joint': the quaternion is not unit in row 3" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).rows == (3, 5, 7)
    q = np.tile(robot.neutral() * 2.0, (20, 1))
    with pytest.raises(StateError, match="and 12 more"):
        robot.check_state(q)


@pytest.mark.parametrize(
    ("lower", "upper", "low", "high"),
    [
        (-0.5, 0.25, -0.5, 0.25),
        (-1e5, 1e5, -np.pi, np.pi),
        (2.0, np.inf, 2.0, np.pi),
        (5.0, np.inf, 5.0, 5.0 + 2 * np.pi),
        (-9.0, -8.0, -9.0, -8.0),
        (-np.inf, -8.0, -8.0 - 2 * np.pi, -8.0),
    ],
)
def test_random_states_keep_to_the_limits(lower: float, upper: float, low: float, high: float) -> None:
    builder = Builder().body("a", mass=1.0, inertia=BOX)
    robot = builder.joint("j", parent="world", child="a", type="revolute", lower=lower, upper=upper).build()
    q = robot.random_state(500, 0).q
    assert low <= q.min() < low + 0.1 * (high - low)
    assert high >= q.max() > high - 0.1 * (high - low)


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("f4")])
def test_random_states_of_a_number_type_are_the_same_rounded(dtype: object) -> None:
    robot = every_joint(floating_base=True)
    exact, single = robot.random_state(5, 2), robot.random_state(5, 2, dtype=dtype)  # type: ignore[arg-type]
    for one, other in zip(exact, single, strict=True):
        assert one.dtype == np.float64
        assert other.dtype == np.float32
        np.testing.assert_array_equal(one.astype(np.float32), other)
    robot.check_state(*single)
    with pytest.raises(UnsupportedError, match="dtype='int': allowed is 'float64', 'float32'"):
        robot.random_state(5, 2, dtype="int")


def test_any_order_can_be_mapped() -> None:
    robot = every_joint(floating_base=True)
    names = [joint.name for joint in robot.joints if joint.mimic is None][::-1]
    p = robot.permutation(names)
    q = robot.random_state(1, 0).q
    own = {joint.name: q[0, joint.q_slice] for joint in robot.joints}
    there = np.concatenate([own[name] for name in names])
    assert np.array_equal(there[p.q], q[0])
    back = np.empty(robot.nq)
    back[p.q] = q[0]
    assert np.array_equal(back, there)
    assert sorted(p.v.tolist()) == list(range(robot.nv))
    with pytest.raises(ModelError, match="missing"):
        robot.permutation(names[1:])
    with pytest.raises(ModelError, match="unknown"):
        robot.permutation([*names, "x"])
    with pytest.raises(ModelError, match=f"given twice .'{names[0]}'"):
        robot.permutation([*names, names[0]])
    with pytest.raises(ModelError, match=r"names.1:"):
        robot.permutation(["universe", *names])


def test_values_to_lock_are_numbers_by_joint() -> None:
    robot = chain(2)
    with pytest.raises(ModelError, match=r"'stop'.*a finite number"):
        robot.lock({"joint0": "stop"})  # pyright: ignore
    with pytest.raises(ModelError, match="joints and their values"):
        robot.lock(["joint0"])  # pyright: ignore


def test_generated_robots_are_physical_and_repeat() -> None:
    for make in (lambda: chain(12, 3), lambda: random_tree(30, 3), lambda: random_tree(9, 1, floating_base=True)):
        robot = make()
        assert robot.fingerprint == make().fingerprint
        assert robot.check() == ()
    assert chain(12, 3).fingerprint != chain(12, 4).fingerprint
    assert {joint.type for joint in random_tree(10, 0, types=("helical",)).joints} == {"helical"}
    assert random_tree(9, 1, floating_base=True).joint_names[0] == "root_joint"
