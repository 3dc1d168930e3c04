"""Errors of calls name what the user called, whatever variant of a function computes the answer."""

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import condyle
from condyle import CondyleError, Contact

R = condyle.chain(3, rng=0)
Q, V = R.random_state(4, 0)
SHORT = V[:, :2]
TIP = [*R.frames][-1]
OPEN = R.compile(inputs=("inertias",))
HELD = R.compile(contacts=(Contact(TIP, "point"),))
WRENCHES = np.zeros((3, 6))


def reach(at, u):  # type: ignore[no-untyped-def]
    return {"cost": u.sum() * at.q[0]}


USER = R.function(reach, inputs={"q": "nq", "u": 2}).compile()

CALLS: list[tuple[str, Callable[[], object]]] = [
    ("step: tau has shape (4, 2)", lambda: OPEN.step(Q, V, SHORT, 0.01)),
    ("step: f_ext has shape (3,)", lambda: OPEN.step(Q, V, V, 0.01, f_ext=np.zeros(3))),
    ("forward_dynamics: tau has shape (4, 2)", lambda: OPEN.forward_dynamics(Q, V, SHORT, inertias=R.inertias)),
    ("forward_dynamics: inertias has shape (2, 10)", lambda: OPEN.forward_dynamics(Q, V, V, inertias=R.inertias[:2])),
    ("step: active has shape (3,)", lambda: HELD.step(Q, V, V, 0.01, active=np.ones(3))),
    ("rollout: tau has shape (4, 1, 2)", lambda: HELD.rollout(Q, V, SHORT[:, None], 0.01)),
    ("vjp_rollout: tau has shape", lambda: OPEN.vjp("rollout")(Q, V, SHORT[:, None], 0.01, Q[:, None], V[:, None])),
    ("step_derivatives: tau has shape (4, 2)", lambda: OPEN.step_derivatives(Q, V, SHORT, 0.01, f_ext=WRENCHES)),
    ("vjp_forward_dynamics: a_bar has shape (4, 2)", lambda: OPEN.vjp("fd")(Q, V, V, SHORT, f_ext=WRENCHES)),
    ("jacobian_step: tau has shape (4, 2)", lambda: HELD.jacobian("step", by=("q",))(Q, V, SHORT, 0.01)),
    ("reach: u has shape (4, 3)", lambda: USER(Q, V)),
    ("jacobian_reach: u has shape (4, 3)", lambda: USER.jacobian()(Q, V)),
]
MISSING: list[tuple[str, Callable[[], object]]] = [
    ("forward_dynamics: missing a required argument: 'tau'", lambda: R.compile().forward_dynamics(Q, V)),
    ("forward_dynamics: missing a required argument: 'tau'", lambda: OPEN.forward_dynamics(Q, V)),
    ("vjp_forward_dynamics: missing a required argument: 'tau'", lambda: R.compile().vjp("fd")(Q, V)),
    ("reach: missing a required argument: 'u'", lambda: USER(q=Q)),
]


@pytest.mark.parametrize(("said", "call"), CALLS, ids=[said for said, _ in CALLS])
def test_a_message_begins_with_the_method_that_was_called(said: str, call: Callable[[], object]) -> None:
    with pytest.raises(CondyleError, match=rf"^{re.escape(said)}"):
        call()


@pytest.mark.parametrize(("said", "call"), MISSING)
def test_a_missing_argument_is_of_a_named_method(said: str, call: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=rf"^{re.escape(said)}"):
        call()


def test_wrong_names_are_told_the_right_ones() -> None:
    dyn = R.compile()
    with pytest.raises(CondyleError, match=r"there is no function 'mass_matrx'; did you mean 'm', mass_matrix\?"):
        dyn.vjp("mass_matrx")
    with pytest.raises(CondyleError, match="there is no function 'sway'; there are id, fd"):
        dyn.vjp("sway")


def test_what_has_to_be_named_when_compiling_is_said_so() -> None:
    with pytest.raises(
        CondyleError, match=rf"^frame_placements: no frames were named .*compile\(frames=\('{TIP}',\)\)"
    ):
        R.compile().frame_placements(Q)
    with pytest.raises(CondyleError, match=r"^constrained_forward_dynamics: .*; compile\(contacts=\(condyle.Contact\("):
        R.compile().constrained_forward_dynamics(Q, V, V, [])
    with pytest.raises(CondyleError, match="random_state: rng='x': give a seed"):
        R.random_state(3, "x")


def test_a_word_that_is_no_argument_is_told_how_it_becomes_one() -> None:
    ones, zero = np.ones((4, 1)), np.zeros((4, 1))
    with pytest.raises(
        TypeError, match=r"^contact_solve: .*'gaps'.*; compile\(inputs=\('gaps',\)\) makes gaps an argument"
    ):
        HELD.contact_solve(Q, V, V, ones, 1e-3, ones, gaps=zero)
    for call in (R.compile().step, partial(R.compile().rollout, steps=2)):
        with pytest.raises(TypeError, match=r"'active'.*; compile\(contacts=\.\.\.\) makes active an argument"):
            call(Q, V, V, 0.01, active=ones)
    with pytest.raises(CondyleError, match=r"^rollout: tau is NoneType, expected an array"):
        OPEN.rollout(Q, V, None, 0.01)
    with pytest.raises(CondyleError, match="one of 50 steps is 'rollout_50_by_tau_of_step'"):
        OPEN.explain(1, ("rollout",))
    assert "step 50 times" in OPEN.explain(1, ("rollout_50_by_tau_of_step",))


def test_integers_have_one_number_type() -> None:
    with pytest.raises(CondyleError, match=r'q is float32, expected float64: pass q.astype\("float64"\)$'):
        condyle.fixed_point(R).inverse_dynamics(Q.astype("f4"), V, V)
