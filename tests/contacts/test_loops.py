"""Loops: declared in code, kept by what changes a robot, closed by `close`, and their motion."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import Contact, ModelError, ModelWarning, Robot, ShapeError, StateError, UnsupportedError
from condyle.model.placement import Placement
from tests.accuracies import FEW_ROUNDINGS, ROUNDING, SOLVED
from tests.contacts.linkages import COUPLER, ROCKER, angles, at, four_bar, slopes
from tests.model.kinematics import frames_at

CRANKS = np.linspace(-2.5, 2.5, 7)


def errors(robot: Robot, q: np.ndarray) -> float:
    return float(np.abs(robot.compile("numpy").constraint_errors(q)).max())


def branched(floating: bool = False, shoulder: str = "spherical") -> Robot:
    """A tree whose two branches hold each other, one foot held in the world."""
    builder = condyle.Builder("branched")
    for k, name in enumerate(("base", "l1", "l2", "l3", "r1", "r2", "r3")):
        builder.body(name, mass=1.0 + 0.1 * k, com=(0.1, 0.02 * k, 0.05), inertia=np.diag((0.01, 0.02, 0.025)))
    for side, y in (("l", 0.1), ("r", -0.1)):
        for k, kind, axis in (
            (1, shoulder, (0.0, 1.0, 0.0)),
            (2, "revolute", (1.0, 0.0, 0.0)),
            (3, "revolute", (0.0, 0.6, 0.8)),
        ):
            parent, name = "base" if k == 1 else f"{side}{k - 1}", f"{side}{k}"
            builder.joint(f"j{name}", parent=parent, child=name, type=kind, axis=axis, xyz=(0.3, y / k, 0.0))
    turned = Placement.from_rpy((0.2, 0.0, 0.1), (0.3, 0.2, 0.1))
    builder.contact("l3", "point", "r3", placement=at(0.2), anchor=turned, gains=(100.0, 20.0))
    builder.contact("l2", "point", placement=at(0.1, 0.1), anchor=at(0.71, 0.15, 0.04))
    return builder.build(floating_base=floating)


# declared in code


def test_closures_of_a_builder_are_those_of_the_robot() -> None:
    robot = four_bar((100.0, 20.0))
    (one,) = robot.contacts
    assert (one.frame, one.kind, one.other, one.gains) == ("coupler", "point", "rocker", (100.0, 20.0))
    given = robot.compile("numpy", contacts=[one])
    own, q = robot.compile("numpy"), np.array([0.3, 0.2, 0.1])
    assert own.constraint_errors(q) == pytest.approx(given.constraint_errors(q), abs=0.0)
    with pytest.raises(UnsupportedError, match="contacts"):
        robot.compile("numpy", contacts=()).constraint_errors(q)


def test_everything_that_is_wrong_with_closures_is_said_at_once() -> None:
    builder = (
        condyle.Builder().body("a", mass=1.0, inertia=np.eye(3)).joint("j", parent="world", child="a", type="free")
    )
    builder.contact("b").contact("a", "ball").contact("a", gains=(-1.0, 0.0)).contact("a", other="c")
    builder.contact("a", placement=(0.0, 0.0, 0.0))  # type: ignore[arg-type]
    builder.contact("a", gains=None)  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        builder.build()
    text = str(caught.value)
    for said in (
        "contact 'b': there is no frame 'b'",
        "kind='ball'; allowed is 'point', 'line', 'plane'",
        "gains=(-1.0, 0.0); give (kp, kd)",
        "contact 'a' on 'c': there is no frame 'c'",
        "expected a Placement each",
        "gains=None",
    ):
        assert said in text


def test_a_link_that_is_fixed_to_the_world_is_the_world() -> None:
    """On either side; what is held stays the same."""
    builder = condyle.Builder().body("post").body("arm", mass=1.0, com=(0.3, 0, 0), inertia=np.eye(3) * 0.1)
    builder.joint("fix", parent="world", child="post", type="fixed", xyz=(1.0, 0.0, 0.0), rpy=(0.1, 0.2, 0.3))
    builder.joint("move", parent="world", child="arm", type="free")
    builder.contact("arm", "plane", "post", placement=at(0.5), anchor=at(0.0, 0.1))
    builder.contact("post", "plane", "arm", placement=at(0.0, 0.1), anchor=at(0.5))
    robot = builder.build()
    assert [(one.frame, one.other) for one in robot.contacts] == [("arm", None)] * 2
    q = robot.close(robot.random_state(3, 0).q)
    for state in q:
        frames = frames_at(robot, state)
        held, there = frames["arm"].compose(at(0.5)), frames["post"].compose(at(0.0, 0.1))
        assert held.translation == pytest.approx(there.translation, abs=1e-9)
        assert held.rotation == pytest.approx(there.rotation, abs=1e-9)


def test_a_closure_within_one_body_is_left_out_with_a_warning() -> None:
    builder = condyle.Builder().body("a", mass=1.0, inertia=np.eye(3)).body("b")
    builder.joint("j", parent="world", child="a", type="free").joint(
        "f", parent="a", child="b", type="fixed", xyz=(1, 0, 0)
    )
    builder.contact("a", other="b")
    with pytest.warns(ModelWarning, match=r"contact 'a' on 'b': holds nothing and .* are on one body, 1 m apart"):
        assert builder.build().contacts == ()


# what changes a robot


def test_closures_survive_what_leaves_the_joints() -> None:
    robot = branched()
    for again in (
        pickle.loads(pickle.dumps(robot)),
        robot.with_inertias(robot.inertias * 1.1),
        robot.attach("r2", 1.0, (0.1, 0.0, 0.0), np.eye(3) * 0.01),
        Robot.of(robot),
    ):
        assert [one.title for one in again.contacts] == ["contact 'l3' on 'r3'", "contact 'l2'"]
        assert again.contacts[0].gains == (100.0, 20.0)
        q = robot.random_state(2, 0).q
        assert np.array_equal(again.compile("numpy").constraint_errors(q), robot.compile("numpy").constraint_errors(q))


@pytest.mark.parametrize("link", ["r2", "l3"])
def test_a_rerooted_robot_closes_the_same_loops(link: str) -> None:
    """A fixed base starts to move: what the world held is held by the old root."""
    robot = branched(shoulder="revolute")
    turned = robot.reroot(link)
    order = turned.permutation(robot.joint_names)
    q = robot.random_state(4, 0).q
    ours = robot.compile("numpy").constraint_errors(q)
    theirs = turned.compile("numpy").constraint_errors(q[:, order.q])
    for k in (0, 1):
        rows = slice(3 * k, 3 * k + 3)
        assert np.linalg.norm(theirs[:, rows], axis=1) == pytest.approx(
            np.linalg.norm(ours[:, rows], axis=1), abs=ROUNDING
        )


def test_a_rerooted_floating_robot_stays_in_the_world() -> None:
    robot = branched(floating=True, shoulder="revolute")
    assert [one.title for one in robot.reroot("r2").contacts] == [one.title for one in robot.contacts]


def test_what_is_held_nowhere_cannot_be_rerooted() -> None:
    builder = condyle.Builder().body("base").body("a", mass=1.0, inertia=np.eye(3) * 0.01)
    builder.joint("j", parent="base", child="a", type="revolute").contact("a")
    with pytest.raises(
        UnsupportedError, match="contact 'a': the world that holds it would move; give the contact an an"
    ):
        builder.build().reroot("a")


def test_a_locked_joint_keeps_the_loop_or_leaves_it_out() -> None:
    robot = four_bar()
    with_crank = robot.lock({"a": 0.4})
    assert [one.title for one in with_crank.contacts] == ["contact 'coupler' on 'rocker'"]
    q = angles(np.array(0.4))
    assert errors(with_crank, q[1:]) < FEW_ROUNDINGS
    with_rocker = robot.lock({"c": q[2]})
    (one,) = with_rocker.contacts
    assert (one.frame, one.other) == ("coupler", None)
    assert errors(with_rocker, q[:2]) < FEW_ROUNDINGS
    with_both = robot.lock({"a": q[0], "b": q[1]})
    (one,) = with_both.contacts
    assert (one.frame, one.other) == ("rocker", None)
    assert errors(with_both, q[2:]) < FEW_ROUNDINGS
    whole = dict(zip("abc", q, strict=True))
    with pytest.warns(ModelWarning, match=r"contact 'coupler' on 'rocker': holds nothing .* are fixed to the world$"):
        assert robot.lock(whole).contacts == ()
    with pytest.warns(ModelWarning, match=r"are fixed to the world, 0\.\d+ m apart"):
        robot.lock(whole | {"c": q[2] + 0.3})


def test_urdf_cannot_say_a_loop() -> None:
    with pytest.raises(UnsupportedError, match="contact 'coupler' on 'rocker': a loop is closed there"):
        four_bar().to_urdf()


def test_fingerprints_know_loops_and_not_their_names() -> None:
    open_chain, closed = four_bar(closed=False), four_bar()
    (one,) = closed.contacts
    other = replace(one, anchor=at(ROCKER + 0.1))
    marks = {
        robot.fingerprint for robot in (open_chain, closed, four_bar((1.0, 0.0)), replace(closed, contacts=(other,)))
    }
    assert len(marks) == 4
    assert four_bar().fingerprint == closed.fingerprint


# closed by `close`


def test_a_closed_four_bar_is_the_one_of_plane_geometry() -> None:
    robot = four_bar()
    exact = angles(CRANKS)
    assert errors(robot, exact) < FEW_ROUNDINGS
    found = robot.close(exact + np.array([0.0, 0.3, -0.3]), fixed=["a"])
    assert found == pytest.approx(exact, abs=SOLVED)
    assert np.array_equal(found[:, 0], CRANKS)


def test_close_moves_little() -> None:
    """Beside the nearest closed state, found on a fine grid of the crank, by second order in the distance."""
    robot = four_bar()
    rng = np.random.default_rng(0)
    start = angles(CRANKS) + 0.05 * rng.standard_normal((7, 3))
    grid = angles(np.linspace(-np.pi, np.pi, 200_001))
    nearest = [np.linalg.norm(grid - q, axis=1).min() for q in start]
    moved = np.linalg.norm(robot.close(start) - start, axis=1)
    assert (moved >= np.array(nearest) - 1e-4).all()
    assert (moved <= 1.05 * np.array(nearest) + 1e-4).all()


@pytest.mark.parametrize("floating", [False, True])
def test_random_states_of_a_tree_are_closed(floating: bool) -> None:
    robot = branched(floating)
    q, v = robot.random_state(20, 0)
    q = robot.integrate(robot.close(np.broadcast_to(robot.neutral(), q.shape)), 0.3 * v)
    found = robot.close(q.reshape(4, 5, robot.nq))
    assert found.shape == (4, 5, robot.nq)
    assert errors(robot, found) < 1e-9
    robot.check_state(found)
    v = robot.close_velocity(found, v.reshape(4, 5, robot.nv))
    J = robot.compile("numpy").constraint_jacobian(found)
    assert np.abs(J @ v[..., None]).max() < SOLVED


def test_a_projected_velocity_is_the_nearest() -> None:
    """What was taken away lies in the rows of J; a velocity that fits is left alone."""
    robot = branched()
    q = robot.close(robot.neutral())
    v = np.random.default_rng(0).standard_normal((5, robot.nv))
    found = robot.close_velocity(q, v)
    J = robot.compile("numpy").constraint_jacobian(q)
    off = v - found
    assert off - off @ np.linalg.pinv(J) @ J == pytest.approx(0.0 * off, abs=SOLVED)
    assert robot.close_velocity(q, found) == pytest.approx(found, abs=SOLVED)


def test_fixed_joints_keep_their_velocity() -> None:
    robot = four_bar()
    q = angles(CRANKS)
    v = robot.close_velocity(q, np.broadcast_to([2.0, 0.0, 0.0], q.shape), fixed=["a"])
    assert v == pytest.approx(2.0 * slopes(CRANKS)[0], abs=1e-9)
    with pytest.raises(StateError, match="m/s"):
        robot.close_velocity(q[0], [1.0, 0.0, 0.0], fixed=["a", "c"])


def test_float32_in_and_out() -> None:
    robot = four_bar()
    q = robot.close(angles(CRANKS).astype(np.float32))
    assert q.dtype == np.float32 and errors(robot, q.astype(float)) < 1e-6
    assert robot.close_velocity(q, np.zeros(3, np.float32)).dtype == np.float32
    assert robot.close(np.zeros((0, 3))).shape == (0, 3)


def test_a_loop_that_cannot_close_is_named() -> None:
    """Links that are too short: the residual is what geometry leaves, 0.1 m."""
    builder = condyle.Builder()
    for name, x in (("a", 0.0), ("b", 1.0)):
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=np.eye(3) * 0.1)
        builder.joint(name, parent="world", child=name, type="revolute", axis=(0, 0, 1), xyz=(x, 0.0, 0.0))
    builder.contact("a", other="b", placement=at(0.45), anchor=at(-0.45)).contact(
        "a", anchor=at(0.0), placement=at(0.0)
    )
    robot = builder.build()
    with pytest.raises(
        StateError, match=r"contact 'a' on 'b' \(point\) stays open by 0\.1 \(m, rad\), in states 0, 1"
    ) as caught:
        robot.close([[0.1, 0.2], [0.3, 0.1]])
    assert caught.value.rows == (0, 1)
    assert "contact 'a' (point)" not in str(caught.value)


def test_one_state_that_cannot_close_is_told_among_others() -> None:
    robot = four_bar()
    q = angles(CRANKS)
    q[3, 1] += 0.5
    with pytest.raises(
        StateError, match=r"or fix fewer joints than 'a', 'b'\ncontact 'coupler' on .*, in states 3$"
    ) as caught:
        robot.close(q, fixed=["a", "b"])
    assert caught.value.rows == (3,)


def test_what_close_cannot_be_asked() -> None:
    robot, q = four_bar(), np.zeros(3)
    with pytest.raises(UnsupportedError, match="has no loops: its `contacts` are empty; name some with contacts="):
        four_bar(closed=False).close(q)
    with pytest.raises(UnsupportedError, match="contact 'rocker' is held nowhere: give it an anchor"):
        robot.close(q, contacts=[Contact("rocker")])
    with pytest.raises(UnsupportedError, match="there is no frame 'crnk'; did you mean 'crank'"):
        robot.close(q, contacts=[Contact("crnk")])
    with pytest.raises(ModelError, match="there is no joint 'd'; there are 'a', 'b', 'c'"):
        robot.close(q, fixed=["d"])
    with pytest.raises(ModelError, match=r"give a list of names of joints, such as \('a',\)"):
        robot.close(q, fixed="a")
    with pytest.raises(UnsupportedError, match=r"tolerance=0\.0"):
        robot.close(q, tolerance=0.0)
    with pytest.raises(ShapeError, match=r"q has shape \(2,\), expected \(..., 3\)"):
        robot.close(q[:2])
    with pytest.raises(StateError, match="not finite in row 0"):
        robot.close(q * np.nan)
    with pytest.raises(ShapeError, match="v has shape"):
        robot.close_velocity(q, q[:2])


def test_a_mimic_joint_is_fixed_by_its_master() -> None:
    builder = condyle.Builder()
    for name in "ab":
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=np.eye(3) * 0.1)
    builder.joint("a", parent="world", child="a", type="revolute")
    builder.joint("b", parent="a", child="b", type="revolute", xyz=(0.5, 0.0, 0.0), mimic=("a", -2.0, 0.0))
    robot = builder.contact("b", "point", placement=at(0.5), anchor=at(0.3)).build()
    with pytest.raises(ModelError, match="joint 'b' mimics 'a': name 'a' instead"):
        robot.close([0.3], fixed=["b"])
    assert robot.close([0.3])[0] == pytest.approx(np.arccos(0.3), abs=SOLVED)


# motion


def test_a_four_bar_moves_as_in_its_one_coordinate() -> None:
    """M = g^T M g and the force g^T (tau - c - M g' w^2) with g = dq/dcrank of plane geometry."""
    robot = four_bar()
    dyn, rng = robot.compile("numpy"), np.random.default_rng(0)
    q, (g, bend) = angles(CRANKS), slopes(CRANKS)
    speed, tau = rng.uniform(-3.0, 3.0, (7, 1)), rng.uniform(-1.0, 1.0, (7, 3))
    v = g * speed
    M = dyn.mass_matrix(q)
    push = tau - dyn.nonlinear_effects(q, v) - (M @ (bend * speed**2)[..., None])[..., 0]
    crank = np.sum(g * push, axis=1) / np.einsum("ni,nij,nj->n", g, M, g)
    got = dyn.constrained_forward_dynamics(q, v, tau, [1.0]).a
    assert got == pytest.approx(g * crank[:, None] + bend * speed**2, abs=1e-6)  # of the differences


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_a_four_bar_stays_closed_for_ten_seconds(target: str) -> None:
    """1 ms steps of rk4, swinging at up to 20 rad/s: closed to 1e-6 m, and the energy is kept."""
    robot = four_bar((100.0, 20.0))
    dyn = robot.compile(target, integrator="rk4")
    q = angles(np.array(1.0))
    steps = 10_000 if target == "cpu" else 300
    path = dyn.rollout(q, np.zeros(3), np.zeros((steps, 3)), 1e-3, every=steps // 100)
    assert np.linalg.norm(dyn.constraint_errors(path.q), axis=-1).max() < 1e-8
    energy = dyn.kinetic_energy(path.q, path.v) + dyn.potential_energy(path.q)
    assert np.ptp(np.append(energy, dyn.potential_energy(q))) < 1e-6 * dyn.kinetic_energy(path.q, path.v).max()


def test_kernels_of_steps_know_their_contacts() -> None:
    """Other gains, another kernel, in one cache."""
    robot = four_bar()
    q, v = np.array([0.3, 0.2, 0.1]), np.ones(3)
    for gains in ((0.0, 0.0), (1e4, 0.0), (0.0, 100.0)):
        contacts = [replace(robot.contacts[0], gains=gains)]
        exact, made = (robot.compile(target, contacts=contacts).step(q, v, v, 1e-2) for target in ("numpy", "cpu"))
        assert made.v == pytest.approx(exact.v, rel=1e-9)


def test_lengths_are_what_closes() -> None:
    """The example's words: coupler and rocker meet at their ends."""
    frames = frames_at(four_bar(), angles(np.array(0.7)))
    assert frames["coupler"].apply(np.array([COUPLER, 0, 0])) == pytest.approx(
        frames["rocker"].apply(np.array([ROCKER, 0, 0])), abs=FEW_ROUNDINGS
    )
