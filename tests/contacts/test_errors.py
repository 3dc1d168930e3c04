"""What contacts may not be: each a clear error that names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Contact, DTypeError, ShapeError, StateError, UnsupportedError
from condyle.model.placement import Placement
from tests.contacts.cases import arm

ROBOT = condyle.load("iiwa14")
SET: dict[str, tuple[Callable[[], Any], str]] = {
    "world": (lambda: [Contact("iiwa_link_0")], "contact 'iiwa_link_0': frame 'iiwa_link_0' is fixed to the world"),
    "other is the world": (
        lambda: [Contact("iiwa_link_7", other="iiwa_link_0")],
        "contact 'iiwa_link_7' on 'iiwa_link_0': frame 'iiwa_link_0' is fixed to the world; leave `other` out",
    ),
    "unknown": (lambda: [Contact("iiwa_link7")], "there is no frame 'iiwa_link7'.*did you mean 'iiwa_link_7'"),
    "unknown other": (lambda: [Contact("iiwa_link_7", other="hand")], "on 'hand': there is no frame 'hand'"),
    "twice": (lambda: [Contact("iiwa_link_7"), Contact("iiwa_link_7")], "contact 'iiwa_link_7' is there twice"),
    "negative": (lambda: [Contact("iiwa_link_7", gains=(-1.0, 0.0))], r"contact 'iiwa_link_7': gains=\(-1\.0, 0\.0\)"),
    "infinite": (lambda: [Contact("iiwa_link_7", gains=(0.0, np.inf))], "gains=.*two finite numbers from 0 on"),
    "one gain": (lambda: [Contact("iiwa_link_7", gains=3.0)], r"gains=3\.0; give \(kp, kd\)"),  # type: ignore[arg-type]
    "kind": (lambda: [Contact("iiwa_link_7", "sphere")], "kind='sphere'; allowed is 'point', 'line', 'plane'"),
    "one body": (
        lambda: [Contact("iiwa_link_7", other="iiwa_link_7")],
        "'iiwa_link_7' on 'iiwa_link_7': both frames are on the same body",
    ),
    "no anchor": (
        lambda: [Contact("iiwa_link_7", gains=(4.0, 1.0))],
        r"contact 'iiwa_link_7': kp=4 .* give anchor=, or compile\(inputs=\('anchors',\)\)",
    ),
    "no list": (lambda: Contact("iiwa_link_7"), "contacts=.*give a list of condyle.Contact"),
    "names": (lambda: ["iiwa_link_7"], r"contacts=\['iiwa_link_7'\]: give a list of condyle.Contact"),
}


@pytest.mark.parametrize("name", SET)
def test_contacts_that_cannot_be(name: str) -> None:
    made, message = SET[name]
    with pytest.raises(UnsupportedError, match=message):
        ROBOT.compile("numpy", contacts=made())


def test_the_same_frame_at_two_places_is_no_error() -> None:
    places = (None, Placement.from_rpy((0.0, 0.0, 0.1)))
    dyn = ROBOT.compile("numpy", contacts=[Contact("iiwa_link_7", placement=place) for place in places])
    assert dyn.constraint_jacobian(np.zeros(7)).shape == (6, 7)


def test_an_anchor_that_is_given_later_is_no_error() -> None:
    dyn = ROBOT.compile("numpy", contacts=[Contact("iiwa_link_7", gains=(4.0, 1.0))], inputs=("anchors",))
    assert dyn.constraint_errors(np.zeros(7)).shape == (3,)


METHODS = {
    "constrained_forward_dynamics": 4,
    "constrained_forward_dynamics_derivatives": 4,
    "impulse_dynamics": 4,
    "constrained_inverse_dynamics": 4,
    "constraint_matrix": 2,
    "constraint_matrix_inverse": 2,
    "delassus_matrix": 2,
    "delassus_matrix_inverse": 2,
    "constraint_jacobian": 1,
    "constraint_errors": 1,
}


@pytest.mark.parametrize("method", METHODS)
def test_without_contacts(method: str) -> None:
    with pytest.raises(
        UnsupportedError, match=rf"{method}: the robot has no contacts; compile\(contacts=\(condyle.Contact"
    ):
        getattr(ROBOT.compile("numpy"), method)(*[np.zeros(7)] * METHODS[method])


def test_numbers_of_contacts_without_contacts() -> None:
    for name in ("gains", "anchors"):
        with pytest.raises(UnsupportedError, match=rf"inputs=\('{name}',\): give some of 'inertias'"):
            ROBOT.compile("numpy", inputs=(name,))
    with pytest.raises(UnsupportedError, match=r"inputs=\('active',\): give some of .*'gains', 'anchors'"):
        arm().compile(inputs=("active",))
    for call in (lambda: ROBOT.compile("numpy").step, lambda: ROBOT.compile("numpy").rollout):
        with pytest.raises(TypeError, match="active"):
            call()(np.zeros(7), np.zeros(7), np.zeros((5, 7)), 1e-3, active=np.ones(1))


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_flags_that_cannot_be(target: str) -> None:
    dyn, zero = arm().compile(target), np.zeros(7)
    with pytest.raises(
        ShapeError, match=r"constrained_forward_dynamics: active has shape \(2,\), expected \(\.\.\., 1\)"
    ):
        dyn.constrained_forward_dynamics(zero, zero, zero, np.ones(2))
    with pytest.raises(DTypeError, match="active is complex128, expected float64"):
        dyn.constrained_forward_dynamics(zero, zero, zero, np.ones(1, np.complex128))
    with pytest.raises(DTypeError, match="active"):
        dyn.constrained_forward_dynamics(zero, zero, zero, np.ones(1, np.float32))
    with pytest.raises(ShapeError, match=r"^step: active has shape \(3,\)"):
        dyn.step(zero, zero, zero, 1e-3, active=np.ones(3))
    with pytest.raises(ShapeError, match=r"rollout: active has shape \(1,\), expected a time axis"):
        dyn.rollout(zero, zero, np.zeros((4, 7)), 1e-3, active=np.ones(1), by_time=("active",))
    with pytest.raises(ShapeError, match="rollout: the time axes disagree: tau 4, active 3"):
        dyn.rollout(zero, zero, np.zeros((4, 7)), 1e-3, active=np.ones((3, 1)), by_time=("active",))
    on, off = (
        dyn.constrained_forward_dynamics(zero, zero, zero, flag) for flag in (np.array([True]), np.array([False]))
    )
    assert on.force.any() and not off.force.any()


FRACTIONS: dict[str, Callable[[Any, Any, Any], object]] = {
    "active": lambda dyn, x, flags: dyn.constrained_forward_dynamics(*x, flags),
    "active, packed": lambda dyn, x, flags: dyn.constrained_forward_dynamics(*map(dyn.pack, x), flags[2]),
    "active of a step": lambda dyn, x, flags: dyn.step(*x, 1e-3, active=flags),
    "active of a vjp": lambda dyn, x, flags: dyn.vjp("cfd")(*x, flags, x[1], np.ones((4, 2, 6))),
    "active of a rollout": lambda dyn, x, flags: dyn.rollout(x[0], x[1], x[2][:, None], 1e-3, active=flags),
    "restitution": lambda dyn, x, flags: dyn.impulse_dynamics(x[0], x[1], np.ones(2), flags),
}


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("name", FRACTIONS)
def test_numbers_beyond_0_and_1_are_refused(name: str, target: str) -> None:
    """Also where a native call has served before; NaN is the answer of its own state."""
    dyn = ROBOT.compile(target, contacts=[Contact("iiwa_link_7"), Contact("iiwa_link_5")])
    x = [np.array(one) for one in (*ROBOT.random_state(4, 0), np.zeros((4, 7)))]
    call, flags = FRACTIONS[name], np.full((4, 2), 0.5)
    for fine in (0.0, 1.0, 0.25, np.nan):
        flags[2, 1] = fine
        call(dyn, x, flags)
    for bad in (-0.25, 1.5, np.inf):
        flags[2, 1] = bad
        with pytest.raises(StateError, match=rf"(active|restitution) is {bad:g} in state .* from 0 to 1"):
            call(dyn, x, flags)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_the_slope_by_a_flag_is_that_of_differences(target: str) -> None:
    """They are taken on both sides of 0 and 1."""
    dyn = ROBOT.compile(target, contacts=[Contact("iiwa_link_7")])
    q, v = ROBOT.random_state(1, 0)
    for flag in (0.0, 0.5, 1.0):
        at, h = np.array([[flag]]), 1e-5
        (slope,) = dyn.jvp("cfd")(q, v, v, at, 0 * q, 0 * v, 0 * v, np.ones((1, 1))).da
        ahead, behind = (dyn.constrained_forward_dynamics(q, v, v, at + sign * h).a[0] for sign in (1.0, -1.0))
        np.testing.assert_allclose((ahead - behind) / (2 * h), slope, rtol=1e-4, atol=1e-4 * np.abs(slope).max() + 1e-6)


def test_rows_of_flags_that_are_refused() -> None:
    dyn = ROBOT.compile("numpy", contacts=[Contact("iiwa_link_7")])
    with pytest.raises(StateError) as refused:
        dyn.delassus_matrix(np.zeros((2, 3, 7)), np.array([[[0.0], [1.0], [2.0]], [[1.0], [-1.0], [0.0]]]))
    assert refused.value.rows == (2, 4)


def test_a_flag_between_0_and_1_makes_a_contact_soft() -> None:
    """s (J a + gamma) + (1 - s) f = 0, and the force that acts is s f: what docs/how-to/contacts.md says."""
    robot, s = condyle.load("hyq", floating_base=True), 0.3
    dyn = robot.compile("numpy", contacts=[Contact("lf_foot")])
    held = robot.compile("numpy", contacts=[Contact("lf_foot")], frames=["lf_foot"])
    q, v = robot.random_state(1, 0)
    tau = np.random.default_rng(0).normal(size=v.shape)
    (a,), (force,) = dyn.constrained_forward_dynamics(q, v, tau, [s])
    (J,), f = dyn.constraint_jacobian(q), force[0, :3]
    (free,) = dyn.forward_dynamics(q, v, tau)
    (M,) = dyn.mass_matrix(q)
    np.testing.assert_allclose(M @ (a - free), J.T @ (s * f), rtol=1e-7, atol=1e-7)
    (gamma,) = held.constrained_forward_dynamics(q, v, tau, [1.0]).a @ J.T  # J a = -gamma where it holds
    np.testing.assert_allclose(s * (J @ a - gamma) + (1 - s) * f, 0.0, atol=1e-5)
