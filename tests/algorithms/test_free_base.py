"""The known columns of a floating robot's derivatives are those that -M^-1 dtau gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.algorithms.derivatives import Known
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import Tree, tree_of

HYQ = condyle.load("hyq", floating_base=True)


@pytest.mark.parametrize("route", ["ltl+closed_form", "minv+adjoint"])
@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (1.0, -2.0, 3.0), (0.0, 0.0, 0.0)])
def test_known_columns_agree_with_the_product(route: str, gravity: tuple[float, float, float]) -> None:
    """All columns, with external forces, under any gravity."""
    robot = condyle.load("hyq", floating_base=True, gravity=gravity)
    rng = np.random.default_rng(7)
    q, v = robot.random_state(9, rng)
    tau, f_ext = rng.standard_normal((9, robot.nv)), rng.standard_normal((9, len(robot.bodies), 6))
    dynamics = robot.compile(target="numpy", routes={"dfd": route})
    a = dynamics.forward_dynamics(q, v, tau, f_ext)
    by_q, by_v = dynamics.inverse_dynamics_derivatives(q, v, a, f_ext)
    inverse = dynamics.mass_matrix_inverse(q)
    found = dynamics.forward_dynamics_derivatives(q, v, tau, f_ext)
    for ours, product in ((found.da_dq, -inverse @ by_q), (found.da_dv, -inverse @ by_v)):
        np.testing.assert_allclose(ours, product, rtol=0, atol=1e-11 * np.abs(product).max())


def known_of(tree: Tree, q: np.ndarray, v: np.ndarray) -> Known:
    swept = Unrolled(tree, {"q": [float(x) for x in q], "v": [float(x) for x in v]})
    return Known(swept, swept.input("v"))


def test_which_columns_are_known() -> None:
    """Six of da/dq, the three linear ones of da/dv; none of a robot whose base is fixed."""
    q, v = HYQ.random_state(1, 0)
    known = known_of(tree_of(HYQ), q[0], v[0])
    assert known.columns_q == set(range(6))
    assert known.columns_v == {0, 1, 2}
    fixed = condyle.load("hyq")
    known = known_of(tree_of(fixed), np.full(fixed.nq, 0.1), np.full(fixed.nv, 0.2))
    assert not known.columns_q and not known.columns_v


def test_a_base_with_rotor_inertia_is_computed(tmp_path: Path) -> None:
    """Rotor inertia on the base's own coordinates breaks the symmetry, so the product is computed."""
    file = tmp_path / "robot.xml"
    file.write_text("""<mujoco><worldbody><body pos="0 0 1"><joint type="free" armature="0.7"/>
    <inertial pos="0.1 0 0.2" mass="2" diaginertia="0.1 0.2 0.3"/>
    <body pos="0 0 -0.5"><joint type="hinge" axis="0 1 0"/>
    <inertial pos="0 0 -0.2" mass="1" diaginertia="0.05 0.05 0.01"/></body></body></worldbody></mujoco>""")
    robot = condyle.load(file)
    q, v = robot.random_state(5, 1)
    tau = np.random.default_rng(2).standard_normal((5, robot.nv))
    dynamics = robot.compile(target="numpy")
    tree = tree_of(robot)
    assert not known_of(tree, q[0], v[0]).columns_q
    a = dynamics.forward_dynamics(q, v, tau)
    found, step = dynamics.forward_dynamics_derivatives(q, v, tau), 1e-6
    for k in range(robot.nv):
        moved = v.copy()
        moved[:, k] += step
        np.testing.assert_allclose(
            (dynamics.forward_dynamics(q, moved, tau) - a) / step, found.da_dv[..., k], rtol=0, atol=1e-3
        )
