"""Loops: declared in code, and kept by what changes a robot."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import ModelError, ModelWarning, Robot, UnsupportedError
from tests.accuracies import FEW_ROUNDINGS, ROUNDING
from tests.contacts.linkages import ROCKER, angles, at, branched, errors, four_bar
from tests.model.kinematics import frames_at

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
        Robot.from_data(robot),
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
