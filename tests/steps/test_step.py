"""Steps: equations, order, energy, and what inputs may be."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest

import condyle
from condyle import DTypeError, Robot, ShapeError, UnsupportedError
from condyle.model.joints import JOINT_TYPES
from condyle.specification.integrators import METHODS
from tests.laws.robots import relative, robot_named
from tests.processor import slow
from tests.steps.equations import stepped

Array = np.ndarray
ORDERS = {name: method.order for name, method in METHODS.items()}
BY_COST = [slow(name) if len(method.stages) > 1 else name for name, method in METHODS.items()]
"""All integrators; those of several stages where there is time."""
TARGETS = ("numpy", "cpu", slow("c"))


def drawn(robot: Robot, n: int, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(n, rng)
    return q, v, rng.uniform(-1.0, 1.0, (n, robot.nv))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["zoo", "zoo_floating", "hyq_floating"])
def test_the_first_order_methods_are_their_equations(name: str, target: str) -> None:
    robot = robot_named(name)
    q, v, tau = drawn(robot, 7)
    h = np.linspace(0.001, 0.02, 7)
    a = robot.compile(target="numpy").forward_dynamics(q, v, tau)
    for integrator in ("euler", "semi_implicit_euler"):
        found = robot.compile(target=target, integrator=integrator).step(q, v, tau, h)
        wanted = stepped(robot, q, v, a, h, integrator)
        assert relative(found.v, wanted[1]) < 1e-9
        assert relative(found.q, wanted[0]) < 1e-9


@pytest.mark.parametrize("integrator", ORDERS)
@pytest.mark.parametrize("kind", JOINT_TYPES)
def test_the_order_of_convergence_on_every_joint_type(kind: str, integrator: str) -> None:
    """The error of q and of v at a fixed time falls by 2 to the power of the order when the step is halved."""
    robot = condyle.random_tree(2, 4, types=(kind, "revolute") if kind != "free" else (kind,))
    dyn, fine = (robot.compile(target="cpu", integrator=name) for name in (integrator, "rk4"))
    q, v, tau = drawn(robot, 6)

    def end(run: condyle.Dynamics, count: int) -> tuple[Array, Array]:
        state, h = (q, v), 0.2 / count
        for _ in range(count):
            state = tuple(run.step(*state, tau, h))
        return state

    truth = end(fine, 160)
    counts = (8, 16, 32) if integrator == "rk4" else (20, 40, 80)
    ends = [end(dyn, count) for count in counts]
    for errors in (
        [np.linalg.norm(robot.difference(truth[0], one[0]), axis=1) for one in ends],
        [np.linalg.norm(one[1] - truth[1], axis=1) for one in ends],
    ):
        for coarse, half in pairwise(errors):
            if np.max(coarse) < 1e-11:
                continue  # exact but for rounding: a motion without acceleration
            found = np.log2(np.sum(coarse) / np.sum(half))
            assert abs(found - ORDERS[integrator]) < 0.35  # terms of higher order add 0.1; another order is 1 off


def test_semi_implicit_euler_keeps_the_energy_of_a_pendulum() -> None:
    """Symplectic (Hairer, Lubich, Wanner 2006, chapter VI): the error stays; that of Euler's method grows."""
    robot = condyle.random_tree(1, 1, types=("revolute",))
    h, steps = 2e-3, 20_000
    errors: dict[str, Array] = {}
    for integrator in ("semi_implicit_euler", "euler"):
        dyn = robot.compile(integrator=integrator)
        q, v = np.array([0.4]), np.array([0.0])
        tau, energies = np.zeros(1), np.empty(steps)
        for k in range(steps):
            q, v = dyn.step(q, v, tau, h)
            energies[k] = dyn.kinetic_energy(q, v) + dyn.potential_energy(q)
        errors[integrator] = np.abs(energies - energies[0])
    kept, lost = errors["semi_implicit_euler"], errors["euler"]
    assert kept[-2000:].max() < 1.05 * kept[:2000].max()  # as large in every swing; steps fall elsewhere in it
    assert lost[-2000:].max() > 5.0 * lost[:2000].max()  # it grows with time, tenfold here; half of that is enough


@pytest.mark.parametrize("integrator", ORDERS)
@pytest.mark.parametrize("target", TARGETS)
def test_every_kind_of_call_gives_the_same_bits(integrator: str, target: str) -> None:
    robot = condyle.random_tree(4, 2, floating_base=True)
    dyn = robot.compile(target=target, integrator=integrator)
    q, v, tau = drawn(robot, 9)
    want = dyn.step(q, v, tau, np.full(9, 0.01))
    for dt in (0.01, np.array(0.01), np.float64(0.01)):
        assert all(np.array_equal(*pair) for pair in zip(dyn.step(q, v, tau, dt), want, strict=True))
    packed = dyn.step(dyn.pack(q), dyn.pack(v), dyn.pack(tau), 0.01)
    assert all(np.array_equal(x.dense(), y) for x, y in zip(packed, want, strict=True))
    out = (np.empty_like(q), np.empty_like(v))
    dyn.step(q, v, tau, 0.01, out=out)
    assert np.array_equal(out[0], want.q) and np.array_equal(out[1], want.v)
    for k in (0, 5):
        one = dyn.step(q[k], v[k], tau[k], 0.01)
        assert relative(one.q[None], want.q[k : k + 1]) < 1e-13 and relative(one.v[None], want.v[k : k + 1]) < 1e-9


@pytest.mark.smoke
def test_external_forces_are_held_over_the_step() -> None:
    """On joints whose v is the rate of q."""
    robot = condyle.random_tree(8, 0, types=("revolute", "prismatic", "helical", "universal"))
    q, v, tau = drawn(robot, 5)
    forces = np.random.default_rng(1).uniform(-1, 1, (5, len(robot.bodies), 6))
    a = robot.compile(target="numpy").forward_dynamics(q, v, tau, f_ext=forces)
    for target in ("numpy", "cpu"):
        found = robot.compile(target=target).step(q, v, tau, 0.01, f_ext=forces)
        assert relative(found.v, v + 0.01 * a) < 1e-9


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_edges_of_dt(target: str) -> None:
    """No time: nothing moves. Negative: back. No number, or infinite: that state's answer alone is not finite."""
    robot = robot_named("zoo")
    q, v, tau = drawn(robot, 4)
    dyn = robot.compile(target=target, integrator="rk4")
    still = dyn.step(q, v, tau, 0.0)
    assert np.allclose(still.q, q, rtol=0, atol=1e-15) and np.array_equal(still.v, v)
    there = dyn.step(q, v, tau, 1e-3)
    back = dyn.step(there.q, there.v, tau, -1e-3)
    assert np.abs(robot.difference(q, back.q)).max() < 1e-10 and np.abs(back.v - v).max() < 1e-8
    want = dyn.step(q, v, tau, 0.01)
    for bad in (np.nan, np.inf):
        found = dyn.step(q, v, tau, np.array([0.01, bad, 0.01, 0.01]))
        assert not np.isfinite(found.v[1]).all()
        assert all(np.array_equal(np.delete(x, 1, 0), np.delete(y, 1, 0)) for x, y in zip(found, want, strict=True))


def test_a_step_makes_quaternions_unit() -> None:
    robot = condyle.random_tree(2, 1, types=("spherical",), floating_base=True)
    q, v, tau = drawn(robot, 3)
    for integrator in ORDERS:
        found = robot.compile(integrator=integrator).step(q * (1.0 + 1e-7), v, tau, 0.01)
        robot.check_state(found.q, found.v)


def test_what_is_refused() -> None:
    robot = condyle.load("iiwa14")
    with pytest.raises(UnsupportedError, match="integrator='rk5': allowed is 'semi_implicit_euler', 'rk4', 'euler'"):
        robot.compile(integrator="rk5")
    dyn = robot.compile()
    q, v, tau = drawn(robot, 3)
    with pytest.raises(ShapeError, match="dt"):
        dyn.step(q, v, tau, np.ones(4))
    with pytest.raises(DTypeError, match="dt"):
        dyn.step(q, v, tau, np.float32(0.01) * np.ones(3, np.float32))
    with pytest.raises(TypeError, match="dt"):
        dyn.step(q, v, tau)


def test_a_pickle_has_the_integrator() -> None:
    robot = condyle.load("iiwa14")
    q, v, tau = drawn(robot, 3)
    for integrator in ORDERS:
        dyn = robot.compile(integrator=integrator)
        again = pickle.loads(pickle.dumps(dyn))
        assert np.array_equal(again.step(q, v, tau, 0.05).q, dyn.step(q, v, tau, 0.05).q)
    kernels = {integrator: robot.compile(integrator=integrator).step(q, v, tau, 0.05).q for integrator in ORDERS}
    assert not np.array_equal(kernels["euler"], kernels["rk4"])
