"""Steps of `contact_solve` go ahead in time: other dt are refused on every path, and NaN is its own state's answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Contact, StateError, UnsupportedError
from condyle.ground import Plane

ROBOT = condyle.load("iiwa14")
HELD = [Contact("iiwa_link_7")]
ONES, COT = np.ones((4, 1)), (np.ones((4, 7)), np.ones((4, 1, 3)), np.ones(4))
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "for each state": lambda dyn, x, dt: dyn.contact_solve(*x, ONES, np.array([1e-3, 1.0, dt, 1e-3]), ONES),
    "a number": lambda dyn, x, dt: dyn.contact_solve(*x, ONES, dt, ONES),
    "an array of one": lambda dyn, x, dt: dyn.contact_solve(*x, ONES, np.array(dt), ONES),
    "packed": lambda dyn, x, dt: dyn.contact_solve(*map(dyn.pack, x), ONES[0], dt, ONES[0]),
    "a list": lambda dyn, x, dt: dyn.contact_solve(*x, ONES, [1e-3, 1e-3, dt, 1e-3], ONES),
    "a vjp": lambda dyn, x, dt: dyn.vjp("cfric")(*x, ONES, np.array([1e-3, 1.0, dt, 1e-3]), ONES, *COT),
}


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("name", CALLS)
def test_a_step_of_no_length_or_back_is_refused(name: str, target: str) -> None:
    """Also where a native call has served before."""
    dyn = ROBOT.compile(target, contacts=HELD)
    x = [np.array(one) for one in (*ROBOT.random_state(4, 0), np.zeros((4, 7)))]
    call = CALLS[name]
    for fine in (1e-3, np.nan, 2.0):
        call(dyn, x, fine)
    for bad in (0.0, -0.0, -1e-3, -np.inf):
        with pytest.raises(StateError, match=rf"dt is {bad:g} in state [02], expected numbers above 0, such as 1e-3"):
            call(dyn, x, bad)
    call(dyn, x, 1e-3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_no_number_spoils_its_own_state_alone(target: str, dtype: str) -> None:
    dyn = ROBOT.compile(target, dtype=dtype, contacts=HELD)
    q, v = (np.array(one, dtype) for one in ROBOT.random_state(4, 0))
    dt, ones = np.full(4, 1e-3, dtype), np.ones((4, 1), dtype)
    fine = dyn.contact_solve(q, v, 0 * v, ones, dt, ones)
    dt[2] = np.nan
    found = dyn.contact_solve(q, v, 0 * v, ones, dt, ones)
    assert np.isnan(found.v[2]).all() and np.array_equal(found.v[[0, 1, 3]], fine.v[[0, 1, 3]])
    dt[1:] = -1.0, 1.0, 0.0
    with pytest.raises(StateError) as refused:
        dyn.contact_solve(q, v, 0 * v, ones, dt, ones)
    assert refused.value.rows == (1, 3)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_a_plane_refuses_it_too(target: str) -> None:
    """The input of a function of one's own that is passed on as it is; back in time with `step` stays allowed."""
    step, zero = Plane().step(ROBOT, HELD).compile(target), np.zeros(7)
    dyn = ROBOT.compile(target)
    assert np.isfinite(dyn.step(zero, zero, zero, -1e-3).q).all()
    for bad in (0.0, -1e-3):
        with pytest.raises(StateError, match="plane_step: dt is"):
            step(zero, zero, zero, bad, 0.5)
        with pytest.raises(StateError, match="rollout: dt is"):
            step.rollout(zero, zero, zero, bad, 0.5, steps=3)
        with pytest.raises(StateError, match="dt is"):
            step.vjp()(zero, zero, zero, bad, 0.5, zero, zero, np.ones((1, 3)), 1.0)
    with pytest.raises(StateError, match="dt is"):
        Plane().step(ROBOT, HELD).reference(zero, zero, zero, 0.0, 0.5)


def test_known_numbers_are_refused_when_a_function_is_made() -> None:
    for bad in (0, -0.5):

        def solved(at: Any, bad: float = bad) -> Any:
            return at.contact_solve(np.zeros(7), np.ones(1), bad, np.ones(1)).v

        with pytest.raises(UnsupportedError, match=rf"at.contact_solve: dt is {bad:g}, expected numbers above 0"):
            ROBOT.function(solved, {"q": "nq", "v": "nv"}, contacts=HELD)


def test_a_quantity_of_ones_own_is_not_refused() -> None:
    def solved(at: Any, half: Any) -> Any:
        return at.contact_solve(np.zeros(7), np.ones(1), half * half, np.ones(1)).v

    made = ROBOT.function(solved, {"q": "nq", "v": "nv", "half": ()}, contacts=HELD).compile("numpy")
    zero = np.zeros(7)
    assert np.array_equal(made(zero, zero, -0.1), made(zero, zero, 0.1))


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize(("name", "slack"), [("active", 1e-4), ("restitution", 0.0)])
def test_flags_may_be_beyond_0_and_1_by_rounding_and_nothing_else_may(name: str, slack: float, target: str) -> None:
    dyn = ROBOT.compile(target, contacts=HELD)
    q, v = ROBOT.random_state(3, 0)
    for number, fine in ((-0.9, slack > 0), (1.0, True), (1.9, slack > 0), (-1.1, False), (2.1, False)):
        whole = float(number >= 1.0)
        given = {"active": np.ones((3, 1)), "restitution": np.ones((3, 1))}
        given[name][1] = whole + (number - whole) * 1e-4
        if fine:
            dyn.impulse_dynamics(q, v, **given)
        else:
            with pytest.raises(StateError, match=f"{name} is .* in state 1, expected numbers from 0 to 1"):
                dyn.impulse_dynamics(q, v, **given)
