"""Derivatives of functions that take numbers of the robot or forces, named or as values, beside those with keywords."""

from __future__ import annotations

import numpy as np

import condyle
from condyle.derivatives import jacobian, vjp
from condyle.functions import FUNCTIONS


def test_inputs_of_a_value_come_in_order_and_those_of_a_method_by_name() -> None:
    """Both on one object, whichever is asked first; with a native callable in front."""
    robot = condyle.chain(3, 0)
    dyn = robot.compile(threads=1, inputs=("inertias",))
    (q, v), a_bar, pi = robot.random_state(4, 0), np.ones((4, 3)), 1.1 * robot.inertias
    f_ext = np.ones((len(pi), 6))
    fd = FUNCTIONS["fd"]
    for _ in range(2):
        by_order = dyn.function(vjp(fd.taking("inertias")))(q, v, v, pi, a_bar)
        by_name = dyn.vjp("fd")(q, v, v, a_bar, inertias=pi)
        assert all(np.array_equal(x, y) for x, y in zip(by_order, by_name, strict=True))
        forced = dyn.function(jacobian(fd.taking("f_ext", "inertias"), "f_ext"))(q, v, v, f_ext, pi)
        assert np.array_equal(forced, dyn.jacobian("fd", by=("f_ext",))(q, v, v, f_ext=f_ext, inertias=pi))
        assert dyn.forward_dynamics(q, v, v, f_ext=f_ext, inertias=pi).shape == (4, 3)
