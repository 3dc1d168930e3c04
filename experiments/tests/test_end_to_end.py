"""The trotting robot: its model by differences, the backward pass by the textbook, the loop, other engines."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import UnsupportedError
from experiments.beyond import reach
from experiments.dadu2023 import end_to_end
from experiments.dadu2023.engines import Crocoddyl, Ours, Pinocchio
from experiments.dadu2023.loop import Loop
from experiments.dadu2023.sqp import DEFECT, NX, PARTS, Backward, Controller
from experiments.dadu2023.trot import course
from experiments.dadu2023.walker import FEET, KNOTS, NJ, NU, NV, H, Model, Walker
from experiments.dadu2023.worlds import MuJoCo, Springs
from experiments.tests import textbook

STILL = np.zeros(NV)


@pytest.fixture(scope="module")
def walker() -> Walker:
    return Walker()


def wanted(walker: Walker, begin: float = 0.6):
    return walker.wanted(course(begin + H * np.arange(KNOTS + 1), walker.stance[:3], walker.feet, walker.tip))


def near(walker: Walker, seed: int = 0):
    """States and inputs near the references."""
    rng, w = np.random.default_rng(seed), wanted(walker)
    dq, v = 0.02 * rng.normal(size=w.v.shape), w.v + 0.1 * rng.normal(size=w.v.shape)
    return walker.robot.integrate(w.q, dq), v, w.u + rng.normal(size=w.u.shape), w


def test_the_weight_stands_on_the_feet(walker):
    """Torques and forces of the references hold the robot still while all feet stand."""
    w = wanted(walker, 0.0)
    assert np.isclose(w.u[0, 20::3].sum(), walker.weight) and w.stand[0].sum() == 4.0
    force, _ = walker.costs(w.q, w.v, w.u, w)
    a = walker.exact.inverse_dynamics(walker.stance, STILL, STILL) - force[0]
    assert np.abs(a[6:]).max() < 1e-9
    assert np.abs(a[:3]).max() < 1e-9


def test_the_force_is_that_of_feet_that_stand(walker):
    q, v, u, w = near(walker)
    force, _ = walker.costs(q, v, u, w)
    world = walker.robot.compile(threads=1, frames=FEET, reference_frame="local_world_aligned")
    J = world.frame_jacobians(q)[:, :, :3]
    pushed = np.einsum("nfcj,nfc->nj", J, w.stand[..., None] * u[:, NJ:].reshape(-1, 4, 3))
    pushed[:, 6:] += u[:, :NJ]
    assert np.allclose(force, pushed)


def test_the_model_is_the_cost_by_differences(walker):
    q, v, u, w = near(walker)
    model, eps = walker.model(q, v, u, w), 1e-6
    rng = np.random.default_rng(1)
    dx, du = rng.normal(size=(KNOTS + 1, NX)), rng.normal(size=(KNOTS + 1, NU))

    def at(s: float):
        return walker.costs(walker.robot.integrate(q, s * dx[:, :NV]), v + s * dx[:, NV:], u + s * du, w)

    (f1, c1), (f0, c0) = at(eps), at(-eps)
    slope = (c1 - c0) / (2.0 * eps)
    found = np.einsum("ni,ni->n", model.H[:, -1, :-1], dx) + np.einsum("ni,ni->n", model.gu, du)
    # the posture's misses are differences of rotations, whose derivative is taken as one: off by half an angle
    assert np.allclose(found, slope, rtol=0.02, atol=0.05 * np.abs(slope).mean())
    moved = np.einsum("nij,nj->ni", model.by_q, dx[:, :NV]) + np.einsum("nij,nj->ni", model.by_feet, du[:, NJ:])
    moved[:, 6:] += du[:, :NJ]
    assert np.allclose(moved, (f1 - f0) / (2.0 * eps), atol=1e-5)
    assert np.allclose(model.H, model.H.swapaxes(1, 2))


def test_the_backward_pass_is_the_textbooks():
    rng = np.random.default_rng(0)
    A, B = 0.9 * np.eye(NX) + 0.01 * rng.normal(size=(KNOTS, NX, NX)), rng.normal(size=(KNOTS, NX, NV))
    root = rng.normal(size=(KNOTS + 1, NX + 1, NX + 1)) / NX
    force = rng.normal(size=(KNOTS + 1, NV, NV + 12)) / NV
    gu, Huu = rng.normal(size=(KNOTS + 1, NU)), rng.uniform(0.5, 1.0, NU)
    none = np.zeros(KNOTS + 1), np.zeros((KNOTS + 1, NV))  # neither the cost nor the force itself is read
    model = Model(root @ root.swapaxes(1, 2), gu, Huu, *none, force[..., :NV], force[..., NV:])
    defect, backward = rng.normal(size=(KNOTS, NX)), Backward(np.dtype("float64"))
    backward.chain(A, B, defect, model)
    gains = backward.gains(model)
    V, p = model.H[-1, :-1, :-1], model.H[-1, :-1, -1]
    by_u = np.concatenate([np.eye(NV)[:, NV - NJ :] * np.ones((KNOTS, 1, 1)), model.by_feet[:-1]], axis=2)
    for j in reversed(range(KNOTS - 8, KNOTS)):  # rounding grows from knot to knot in both forms
        by_x = A[j] + np.concatenate([B[j] @ model.by_q[j], np.zeros((NX, NV))], axis=1)
        H = np.zeros((NX + NU, NX + NU))
        H[:NX, :NX], H[NX:, NX:] = model.H[j, :-1, :-1], np.diag(Huu)
        g = np.concatenate([model.H[j, :-1, -1], gu[j]])
        knot = textbook.knot(V, p + V @ defect[j], by_x, B[j] @ by_u[j], H, g)
        assert np.allclose(gains[j], np.concatenate([knot.K, knot.k[:, None]], axis=1), rtol=1e-6, atol=1e-8)
        V, p = knot.V, knot.p
    dx, du = backward.follow(gains)
    assert np.allclose(dx[1], B[0] @ by_u[0] @ du[0] + defect[0])


def test_an_indefinite_hessian_is_an_error(walker):
    q, v, u, w = near(walker)
    model = replace(walker.model(q, v, u, w), Huu=np.full(NU, -1e9))
    backward = Backward(np.dtype("float64"))
    with pytest.raises(FloatingPointError, match="knot 66 is not positive"):
        backward.gains(model)


@pytest.mark.slow
def test_iterations_close_the_defects_and_lower_the_cost(walker):
    controller, w = Controller(walker, Ours(walker)), wanted(walker)
    controller.begin(walker.stance, STILL, w)
    costs: list[float] = []
    for _ in range(6):
        for x in (controller.q, controller.v, controller.u):  # the call moves the plan on by a knot
            x[1:] = x[:-1].copy()
        controller(walker.stance, STILL, w)
        force, cost = controller.cost(controller.q, controller.v, controller.u, w)
        behind = controller.engine.step(controller.q[:-1], controller.v[:-1], force[:-1])
        costs.append(cost + DEFECT * np.abs(controller.defects(controller.q, controller.v, *behind)).sum())
    assert costs[-1] < 0.1 * costs[0] and np.isclose(costs[-1], costs[-2], rtol=1e-3), costs
    assert (controller.seconds > 0.0).all() and len(controller.seconds) == len(PARTS)


def test_the_robot_stands_on_springs_and_in_mujoco(walker):
    torques = wanted(walker, 0.0).u[0, :NJ]
    for kind in (Springs, MuJoCo):
        world = kind(walker, walker.stance, STILL)
        for _ in range(50):
            world.advance(torques - 0.2 * world.v[6:])
        assert abs(world.q[2] - walker.stance[2]) < 5e-3 and np.abs(world.v[:3]).max() < 0.05


@pytest.mark.slow
def test_the_robot_trots():
    found = end_to_end.measure("trot mujoco", quick=True)
    # the largest of the full runs are 22 and 12 mm; a robot that stumbles is off by more than 50
    assert found["tracking"]["base_mm"]["max"] < 30.0 and found["tracking"]["tip_mm"]["max"] < 30.0
    tables = end_to_end.tables({"trot mujoco": found})
    assert [line[0] for line in tables["A control step"][1:]] == list(end_to_end.GROUPS)
    assert tables["Tracking"][1][0] == "trot mujoco"


@pytest.mark.slow
def test_a_robot_that_falls_is_said_to_fall(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("experiments.dadu2023.loop.MOST", 0.0)
    found = end_to_end.measure("trot mujoco", quick=True)
    assert "fell" in found["diverged"]
    lines = end_to_end.periods({"trot mujoco": found})
    assert "fell" in next(line for line in lines if line[0] == "trot mujoco")[1]


@pytest.mark.slow
def test_the_robot_trots_in_float32():
    found = end_to_end.measure("trot float32", quick=True)
    assert found["tracking"]["tip_mm"]["max"] < 30.0
    # a sum of some hundred terms in float32; 9e-7 was measured
    assert max(found["agreement"]["condyle float32"].values()) < 1e-4


@pytest.mark.slow
def test_pinocchio_steps_as_we_do(walker):
    """Its build takes minutes. Its stages lack terms of the third order in h on a floating base."""
    try:
        engine = Pinocchio(walker, 2)
    except UnsupportedError as error:  # no headers of Pinocchio or Eigen, or no compiler
        pytest.skip(str(error))
    loop = Loop({"pinocchio": Controller(walker, engine)}, "springs")
    loop.until(0.6)
    assert max(end_to_end.agreement(loop, loop.leader).values()) < 1e-5


def test_crocoddyl_steps_as_we_do(walker):
    pytest.importorskip("crocoddyl", reason=f"needs {reach.INSTALL}")
    loop = Loop({"crocoddyl": Controller(walker, Crocoddyl(walker))}, "springs")
    loop.until(0.03)
    assert max(end_to_end.agreement(loop, loop.leader).values()) < 1e-5


def test_crocoddyls_reach_comes_to_its_own_log():
    pytest.importorskip("crocoddyl", reason=f"needs {reach.INSTALL}")
    for row in reach.ROWS:
        found = reach.measure(row, quick=False)
        assert found["iterations"] == reach.PRINTED["iterations"] and f"{found['cost']:.3f}" == "8.125"
        assert np.allclose(found["tip"], reach.PRINTED["tip"], atol=1e-8)


def test_without_crocoddyl_rows_say_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "crocoddyl", None)
    for found in (reach.measure(reach.ROWS[0], quick=False), end_to_end.measure("trot crocoddyl", quick=True)):
        assert "pip install 'condyle[crocoddyl]'" in found["left_out"]


def test_the_robots_files_have_a_licence():
    folder = Path(end_to_end.__file__).parents[1] / "robots"
    said = (folder / "LICENSES.md").read_text()
    assert all(path.name in said for path in folder.glob("*.urdf"))
