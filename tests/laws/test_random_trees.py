"""The laws at once, on trees that nobody chose."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import condyle
from tests.laws.evaluated import by_complex_step, reference
from tests.laws.robots import changed, relative, states
from tests.laws.tangent import tangent_map

ROUNDING = 1e-11  # a few bodies of rounding; a random tree may be badly scaled
CONDITION = 1e-13  # times the condition of M: a hundred roundings


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_laws(n: int, seed: int, floating_base: bool, armature: bool) -> None:
    robot = changed(condyle.random_tree(n, rng=seed, floating_base=floating_base), armature=armature)
    q, v, a, f_ext = states(robot, 2, seed)
    M, Minv = reference(robot, "m", q), reference(robot, "minv", q)
    solved = ROUNDING + CONDITION * float(np.linalg.cond(M).max())
    tau = reference(robot, "id", q, v, a, f_ext=f_ext)
    bias = reference(robot, "id", q, v, 0.0 * a, f_ext=f_ext)
    assert relative(tau - bias, np.einsum("nij,nj->ni", M, a)) < ROUNDING * max(1.0, float(np.abs(bias).max()))
    assert np.linalg.eigvalsh(M).min() > 0.0
    assert relative(M @ Minv, np.broadcast_to(np.eye(robot.nv), M.shape)) < solved
    assert relative(reference(robot, "fd", q, v, tau, f_ext=f_ext), a) < solved
    dtau_dq, dtau_dv = reference(robot, "did", q, v, a, f_ext=f_ext)
    assert relative(dtau_dq, by_complex_step(robot, "id", tangent_map(robot, q), q, v, a, f_ext)) < ROUNDING
    da_dq, da_dv, da_dtau = reference(robot, "dfd", q, v, tau, f_ext=f_ext)
    assert relative(da_dq, -Minv @ dtau_dq) < solved
    assert relative(da_dv, -Minv @ dtau_dv) < solved
    assert relative(da_dtau, Minv) < solved
