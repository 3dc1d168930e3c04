"""Dry friction and limits of joints as rows of `contact_solve`: closed forms, all cases by enumeration, balance of
impulses, stops over many steps, a robot on its feet, targets, derivatives, what it refuses."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.backends.common.facts import Facts
from condyle.backends.cuda.target import TARGET, Form
from condyle.compile.compiler import Compiler
from condyle.compile.gpu import GpuFunction, GpuKernels
from condyle.compile.options import bound_of
from condyle.functions import FUNCTIONS
from condyle.model.tree import tree_of
from tests.backends.cuda.simulate import simulate
from tests.contacts.test_friction import DT, FEET, MU, excess, states, world_jacobian
from tests.ground.robots import quadruped
from tests.processor import slow
from tests.programs import needs, tool

ROWS: dict[str, Any] = {"joint_forces": ("friction", "limits"), "joint_rows": True}
NONE = np.zeros(0)
"""Flags and frictions of no contacts."""
G = 9.81


def slider(
    angle: float, friction: float, damping: float = 0.0, lower: float = -0.5, upper: float = 0.5
) -> condyle.Robot:
    """2 kg on a slope; q goes downhill."""
    builder = condyle.Builder(gravity=(0.0, 0.0, -G))
    builder.body("block", mass=2.0, inertia=0.01 * np.eye(3))
    axis = (np.cos(angle), 0.0, -np.sin(angle))
    numbers: dict[str, Any] = {"friction": friction, "damping": damping, "lower": lower, "upper": upper}
    builder.joint("slope", parent="world", child="block", type="prismatic", axis=axis, **numbers)
    return builder.build()


def arm(friction: Sequence[float] = (0.8, 0.4, 0.1), lower: float = -1.0, upper: float = 1.2) -> condyle.Robot:
    """Links in a chain that gravity bends."""
    builder, parent = condyle.Builder(gravity=(0.0, 0.0, -G)), "world"
    for k, f in enumerate(friction):
        builder.body(f"link{k}", mass=1.0 / (k + 1), com=(0.2, 0.0, 0.05), inertia=0.01 * np.eye(3))
        axis = (0.0, 1.0, 0.0) if k != 1 else (0.0, 0.6, 0.8)
        numbers: dict[str, Any] = {"friction": f, "lower": lower, **({"upper": upper} if k != 1 else {})}
        builder.joint(f"joint{k}", parent=parent, child=f"link{k}", type="revolute", axis=axis, **numbers)
        parent = f"link{k}"
    return builder.build()


def stiff_quadruped(friction: float = 5.0) -> condyle.Robot:
    robot = quadruped()
    return robot.with_drives({joint.name: condyle.Drive(friction=friction) for joint in robot.joints if joint.nv == 1})


def solved(robot: condyle.Robot, q: Any, v: Any, tau: Any, dt: Any = DT, target: str = "numpy", **options: Any) -> Any:
    """Without contacts."""
    return robot.compile(target, **{**ROWS, **options}).contact_solve(q, v, tau, NONE, dt, NONE)


def unforced(robot: condyle.Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(M, M (v + dt a)) without joint forces."""
    dyn = robot.compile("numpy")
    M = dyn.mass_matrix(q)
    return M, (M @ v[..., None])[..., 0] + DT * (tau - dyn.nonlinear_effects(q, v))


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999, 1.001, 2.0])
def test_a_block_sticks_on_a_slope_below_its_friction(share: float) -> None:
    """share: of its friction that gravity pulls with."""
    angle = 0.3
    pull = 2.0 * G * np.sin(angle)
    friction = pull / share if share else 100.0
    found = solved(slider(angle if share else 0.0, friction), [0.1], [0.0], [0.0])
    want = max(pull - friction, 0.0) * DT / 2.0 if share else 0.0
    assert abs(found.v[0] - want) < 1e-15 and found.residual < 1e-15


def test_a_block_that_slides_is_braked_and_never_turned_round() -> None:
    robot = slider(0.3, 30.0)
    pull, v = 2.0 * G * np.sin(0.3), np.array([[1.0], [-1.0], [5e-3], [-5e-3]])
    found = solved(robot, np.zeros((4, 1)), v, np.zeros((4, 1)))
    want = [1.0 + (pull - 30.0) * DT / 2.0, -1.0 + (pull + 30.0) * DT / 2.0, 0.0, 0.0]
    np.testing.assert_allclose(found.v[:, 0], want, rtol=0, atol=1e-15)


def test_damping_stays_a_force_at_the_end_of_the_step() -> None:
    """(m + h d) (v_next - v) = h (pull - d v - f), with the friction of a row."""
    robot = slider(0.3, 3.0, damping=40.0)
    found = solved(robot, [0.0], [1.5], [0.0], joint_forces=("damping", "friction", "limits"))
    force = 2.0 * G * np.sin(0.3) - 40.0 * 1.5 - 3.0
    np.testing.assert_allclose(found.v, [1.5 + DT * force / (2.0 + DT * 40.0)], rtol=0, atol=1e-14)


def test_a_joint_reaches_its_stop_and_stays() -> None:
    """It comes as near as its stop in the step in which it arrives, and is pushed out where it is beyond."""
    robot = slider(0.3, 0.0)
    for q, v, want in (
        (0.4999, 1.0, 1e-4 / DT),
        (0.5, 1.0, 0.0),
        (0.501, 0.0, -1.0),
        (-0.5, -1.0, 0.0),
        (0.2, 1.0, None),
    ):
        after = solved(robot, [q], [v], [0.0]).v[0]
        free = v + DT * G * np.sin(0.3)
        assert abs(after - (free if want is None else want)) < 1e-10


def test_an_arm_never_passes_its_stops() -> None:
    """500 steps with torques that drive it from one to the other; rounding of q: 2 units in the last place."""
    robot, rng = arm(), np.random.default_rng(3)
    dyn = robot.compile(**ROWS)
    q, v = np.zeros((20, 3)), np.zeros((20, 3))
    at_stop = 0
    for _ in range(25):
        tau = 20.0 * rng.normal(size=(20, 3))
        for _ in range(20):
            found = dyn.contact_solve(q, v, tau, NONE, DT, NONE)
            assert np.all(found.v >= (robot.lower - q) / DT - found.residual[:, None] - 1e-12)
            assert found.residual.max() < 1e-12
            v = found.v
            q = q + DT * v
            at_stop += np.sum(q <= robot.lower + 1e-12) + np.sum(q >= robot.upper - 1e-12)
            assert np.all(q >= robot.lower - 1e-15 * 4) and np.all(q <= robot.upper + 1e-15 * 4)
    assert at_stop > 1000


def test_an_arm_that_sticks_stands_for_ever() -> None:
    """All joints at once, under gravity: 1 s."""
    robot = arm((8.0, 4.0, 1.0))
    dyn = robot.compile(**ROWS)
    q = start = np.array([0.3, -0.2, 0.4])
    v = np.zeros(3)
    for _ in range(1000):
        v = dyn.contact_solve(q, v, np.zeros(3), NONE, DT, NONE).v
        assert np.abs(v).max() < 1e-14
        q = q + DT * v
    np.testing.assert_allclose(q, start, rtol=0, atol=1e-14)
    smooth = robot.compile(joint_forces=("friction",)).step(start, np.zeros(3), np.zeros(3), DT)
    assert np.abs(smooth.v).max() > 1e-6  # the smooth force creeps


def enumerated(M: np.ndarray, b: np.ndarray, grip: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """v of M v = b + p by trying all cases of three rows: slides either way, sticks, is at either stop."""
    answers = []
    for case in product(("up", "down", "stick", "low", "high"), repeat=len(b)):
        ends = {"stick": 0.0 * low, "low": low, "high": high}
        held = np.array([word in ends for word in case])
        v = np.array([ends[word][k] if word in ends else 0.0 for k, word in enumerate(case)])
        push = np.array([{"up": -g, "down": g}.get(word, 0.0) for word, g in zip(case, grip, strict=True)])
        if not np.isfinite(v).all():
            continue
        free = ~held
        v[free] = np.linalg.solve(M[np.ix_(free, free)], (b + push - M @ v)[free])
        p = M @ v - b
        size, tiny = np.abs(b).max(), 1e-12
        within = np.all(v >= low - tiny) and np.all(v <= high + tiny)
        most = np.where(v > tiny, -grip, grip) + np.where(v <= low + tiny, np.inf, 0.0)
        least = np.where(v < -tiny, grip, -grip) - np.where(v >= high - tiny, np.inf, 0.0)
        if within and np.all(p <= most + tiny * size) and np.all(p >= least - tiny * size):
            answers.append(v)
    assert answers and max(np.abs(v - answers[0]).max() for v in answers) < 1e-9  # there is one, and no other
    return answers[0]


def test_all_cases_of_three_joints_by_enumeration() -> None:
    robot, rng, n = arm(), np.random.default_rng(0), 60
    q, v, tau = rng.uniform(-0.95, 1.15, (n, 3)), 0.02 * rng.normal(size=(n, 3)), 3.0 * rng.normal(size=(n, 3))
    q[: n // 2] = np.where(rng.random((n // 2, 3)) < 0.5, robot.lower + 1e-6, np.minimum(robot.upper, 1.2) - 1e-6)
    q[: n // 4] += 2e-5 * rng.normal(size=(n // 4, 3))  # some are beyond
    M, b = unforced(robot, q, v, tau)
    found = solved(robot, q, v, tau)
    low, high = (robot.lower - q) / DT, (robot.upper - q) / DT
    want = np.array([enumerated(M[k], b[k], DT * robot.friction, low[k], high[k]) for k in range(n)])
    np.testing.assert_allclose(found.v, want, rtol=0, atol=1e-12)
    assert found.residual.max() < 1e-12
    kinds = [np.abs(want) < 1e-12, np.abs(want - low) < 1e-12, np.abs(want - high) < 1e-12]
    assert all(kind.sum() > 10 for kind in kinds) and np.sum(~np.any(kinds, axis=0)) > 10


@pytest.mark.parametrize("name", ["panda", "allegro"])
def test_long_arms_are_exact_too(name: str) -> None:
    """Where many joints stick or are at stops: sweeps alone leave 1e-3 rad/s and more. Rounding is that of b."""
    robot, n = condyle.load(name), 200
    q, v = robot.random_state(n, 1)
    rng = np.random.default_rng(1)
    q = np.where(rng.random(q.shape) < 0.3, robot.lower + 1e-6, q)
    M, b = unforced(robot, q, 1e-2 * v, 0.0 * v)
    friction = rng.uniform(0.0, 1.5, v.shape) * np.abs(b).mean(axis=1, keepdims=True) / DT
    dyn = robot.compile(inputs=("dry_friction",), **ROWS)
    found = dyn.contact_solve(q, 1e-2 * v, 0.0 * v, np.zeros((n, 0)), DT, np.zeros((n, 0)), dry_friction=friction)
    low, high = (robot.lower - q) / DT, (robot.upper - q) / DT
    assert found.residual.max() < 1e-11
    push, inside = (M @ found.v[..., None])[..., 0] - b, (found.v > low + 1e-9) & (found.v < high - 1e-9)
    assert np.all(np.abs(push)[inside] <= (DT * friction)[inside] * (1.0 + 1e-9))
    slides = inside & (np.abs(found.v) > 1e-9)
    np.testing.assert_allclose(push[slides], -(DT * friction * np.sign(found.v))[slides], rtol=1e-6)
    assert min(slides.sum(), (~inside).sum(), np.sum(np.abs(found.v) < 1e-11)) > 20


def test_friction_below_zero_counts_as_zero() -> None:
    robot, rng = arm(), np.random.default_rng(5)
    dyn = robot.compile("numpy", inputs=("dry_friction",), **ROWS)
    q, v, tau = rng.uniform(-1.0, 1.0, (3, 3))
    none, minus = (dyn.contact_solve(q, v, tau, NONE, DT, NONE, dry_friction=np.full(3, f)) for f in (0.0, -1.0))
    assert np.array_equal(none.v, minus.v) and max(none.residual, minus.residual) < 1e-14


def on_feet(n: int = 40) -> list[Any]:
    q, v, tau = states(n)
    q[: n // 2, 7:] = np.where(
        np.random.default_rng(4).random((n // 2, 12)) < 0.3, quadruped().lower[7:], q[: n // 2, 7:]
    )
    return [q, v, tau, np.ones((n, 4)), np.full(n, DT), np.full((n, 4), MU)]


def test_a_robot_on_its_feet_balances_impulses_of_contacts_and_joints() -> None:
    """Of its floating joint none is left; those of the others are what friction and stops can be."""
    robot, (q, v, tau, *rest) = stiff_quadruped(), on_feet()
    found = robot.compile(contacts=FEET, **ROWS).contact_solve(q, v, tau, *rest)
    assert np.median(found.residual) < 1e-5 and excess(found.impulse) < 1e-12
    M, b = unforced(robot, q, v, tau)
    pushed = np.einsum("nij,ni->nj", world_jacobian(q), found.impulse.reshape(len(q), 12))
    left = (M @ found.v[..., None])[..., 0] - b - pushed
    scale = np.abs(pushed).max()
    assert np.abs(left[:, :6]).max() < 1e-12 * scale
    p, u, grip = left[:, 6:], found.v[:, 6:], DT * robot.friction[6:]
    low, high = (robot.lower[7:] - q[:, 7:]) / DT, (robot.upper[7:] - q[:, 7:]) / DT
    miss = found.residual[:, None] + 1e-11
    assert np.all(u >= low - miss) and np.all(u <= high + miss)
    free = (u > low + 2.0 * miss) & (u < high - 2.0 * miss)
    assert np.all(np.abs(p)[free] <= DT * 5.0 + 1e-12 * scale)
    slides = free & (np.abs(u) > 2.0 * miss)
    np.testing.assert_allclose(p[slides], -(np.sign(u) * grip)[slides], rtol=0, atol=1e-12 * scale)
    stops = ~free
    assert stops.sum() > 20 and np.all(np.where(u < 0.5 * (low + high), p, -p)[stops] >= -DT * 5.0 - 1e-12 * scale)
    assert np.sum(np.abs(u) < 1e-12) > 20 and slides.sum() > 100


@pytest.mark.slow
def test_legs_that_are_locked_on_the_ground_are_hard() -> None:
    """At rest, with more friction in the joints than the robot weighs. Joints are right for the impulses of contacts:
    the rest is what the residual says."""
    q, v, tau, *rest = on_feet()
    dyn = stiff_quadruped(40.0).compile(contacts=FEET, **ROWS)
    found = dyn.contact_solve(q, 0.0 * v, tau, *rest)
    solved = found.residual < 1e-8
    assert 0.1 < solved.mean() < 1.0 and found.residual.max() < 2e-2
    assert np.mean(np.abs(found.v[solved, 6:]) < 1e-11) > 0.6


@pytest.mark.slow
def test_the_impulses_of_contacts_are_all_that_a_start_needs() -> None:
    """Those of joints follow: a second call ends where the first one did."""
    q, v, tau, *rest = on_feet()
    dyn = stiff_quadruped().compile(contacts=FEET, inputs=("impulse0",), **ROWS)
    first = dyn.contact_solve(q, v, tau, *rest)
    second = dyn.contact_solve(q, v, tau, *rest, impulse0=first.impulse)
    solved = (first.residual < 1e-8) & (second.residual < 1e-8)
    assert solved.mean() > 0.9
    np.testing.assert_allclose(second.v[solved], first.v[solved], rtol=0, atol=1e-7)  # 10 of what is solved


@pytest.mark.slow
def test_joint_impulses_are_what_is_left_in_the_balance() -> None:
    """And they are zero where no row is."""
    robot, (q, v, tau, *rest) = stiff_quadruped(), on_feet()
    for sweeps in (None, 6):
        dyn = robot.compile(contacts=FEET, inputs=("joint_impulse0",), sweeps=sweeps, **ROWS)
        found = dyn.contact_solve(q, v, tau, *rest)
        M, b = unforced(robot, q, v, tau)
        pushed = np.einsum("nij,ni->nj", world_jacobian(q), found.impulse.reshape(len(q), 12))
        left = (M @ found.v[..., None])[..., 0] - b - pushed
        np.testing.assert_allclose(found.joint_impulse, left, rtol=0, atol=1e-12 * np.abs(pushed).max())
        assert not found.joint_impulse[:, :6].any() and np.all(found.joint_impulse[:, 6:].any(axis=1))
    plain = robot.compile(contacts=FEET, **ROWS).contact_solve(q, v, tau, *rest)
    zeros = dyn_of_starts(None).contact_solve(q, v, tau, *rest)
    assert all(np.array_equal(x, y) for x, y in zip(plain, zeros[:3], strict=True)) and len(plain) == 3


STARTS = ("impulse0", "joint_impulse0")


def dyn_of_starts(sweeps: int | None, target: str = "cpu", dtype: str = "float64") -> Any:
    given = STARTS if sweeps else STARTS[1:]
    return stiff_quadruped().compile(target, dtype=dtype, contacts=FEET, inputs=given, sweeps=sweeps, **ROWS)


@pytest.mark.slow
def test_a_sweep_from_a_solution_stays_there() -> None:
    """The start of both kinds of rows: without that of the joints one sweep leads away."""
    args = on_feet()
    solved = dyn_of_starts(None).contact_solve(*args)
    there, one = solved.residual < 1e-8, dyn_of_starts(1)
    impulse0, joint_impulse0 = solved.impulse, solved.joint_impulse
    kept = one.contact_solve(*args, impulse0=impulse0, joint_impulse0=joint_impulse0)
    assert there.mean() > 0.9 and kept.residual[there].max() < 1e-6  # a sweep has steps of 100 times the residual
    np.testing.assert_allclose(kept.v[there], solved.v[there], rtol=0, atol=1e-6)
    left = one.contact_solve(*args, impulse0=impulse0, joint_impulse0=0.0 * joint_impulse0)
    assert np.median(left.residual) > 1e-3
    few, residuals = dyn_of_starts(4), list[float]()
    more = dict.fromkeys(STARTS)  # zeros
    for _ in range(12):
        found = few.contact_solve(*args, **more)
        more = {"impulse0": found.impulse, "joint_impulse0": found.joint_impulse}
        residuals.append(float(np.median(found.residual)))
    assert residuals[-1] < 1e-2 * residuals[0], "calls continue where the one before ended"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_starts_are_the_same_on_targets(dtype: str) -> None:
    args, rng = on_feet(), np.random.default_rng(0)
    starts = {
        "impulse0": 0.1 * rng.random((len(args[0]), 4, 3)),
        "joint_impulse0": 0.01 * rng.normal(size=args[1].shape),
    }
    want = dyn_of_starts(3, "numpy").contact_solve(*args, **starts)
    cast = {name: x.astype(dtype) for name, x in starts.items()}
    found = dyn_of_starts(3, dtype=dtype).contact_solve(*(x.astype(dtype) for x in args), **cast)
    for x, y in zip(found, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol={"float64": 1e-10, "float32": 2e-2}[dtype] * np.abs(y).max())


def test_energy_never_rises_by_impulses() -> None:
    """Joints begin within their limits."""
    robot, rng = stiff_quadruped(), np.random.default_rng(3)
    q, v = robot.random_state(200, 4)
    tau, on = 50.0 * rng.normal(size=v.shape), np.ones((200, 4))
    before = robot.compile(contacts=FEET).contact_solve(q, v, tau, 0.0 * on, DT, 0.5 * on).v
    found = robot.compile(contacts=FEET, **ROWS).contact_solve(q, v, tau, on, DT, 0.5 * on)
    energy = robot.compile("numpy").kinetic_energy
    assert np.all(energy(q, found.v) <= energy(q, before) * (1.0 + 1e-12))


@pytest.mark.parametrize("target", ["cpu", slow("c")])
def test_targets_agree(target: str) -> None:
    for robot, args, contacts in (
        (stiff_quadruped(), on_feet(), FEET),
        (
            arm(),
            [
                *(0.5 * np.random.default_rng(0).normal(size=(3, 40, 3))),
                np.zeros((40, 0)),
                np.full(40, DT),
                np.zeros((40, 0)),
            ],
            (),
        ),
    ):
        want = robot.compile("numpy", contacts=contacts, **ROWS).contact_solve(*args)
        for dtype, close in (("float64", 1e-9), ("float32", 2e-3)):
            found = robot.compile(target, dtype=dtype, contacts=contacts, **ROWS).contact_solve(
                *(x.astype(dtype) for x in args)
            )
            assert found.v.dtype == dtype and np.abs(found.v - want.v).max() < close * np.abs(want.v).max()
            assert np.abs(found.residual - want.residual).max() < close


@pytest.mark.parametrize("contacts", [(), (condyle.Contact("link2"),)])
def test_a_kernel_of_a_gpu_agrees(contacts: tuple[condyle.Contact, ...]) -> None:
    """As PTX that is interpreted; without contacts, too, where arrays of flags are empty."""
    robot, function = arm(), FUNCTIONS["cfric"]
    q, v, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 5, 3))
    none = np.zeros((5, len(contacts)))
    tree = tree_of(robot, bound_of(robot, contacts=contacts, **ROWS))
    kernels = GpuKernels(Compiler(tree, Facts(robot.nq, robot.nv), {}), TARGET)
    parts = GpuFunction(kernels, function, "float64", 132).launches(Form(1, kernels.usual(function)))
    found = simulate(parts, [q, v, tau, none, np.full((5, 1), DT), none])
    want = robot.compile("numpy", contacts=contacts, **ROWS).contact_solve(q, v, tau, none, DT, none)
    np.testing.assert_allclose(found[0], want.v, rtol=0, atol=1e-14)


def test_functions_of_ones_own_and_copies_have_the_rows() -> None:
    robot, (q, v, tau) = arm(), np.random.default_rng(0).uniform(-1.0, 1.0, (3, 3))

    def solve(at: Any, tau: Any) -> Any:
        return at.contact_solve(tau, NONE, DT, NONE).v

    want = solved(robot, q, v, tau).v
    sizes = {"q": "nq", "v": "nv", "tau": "nv"}
    np.testing.assert_allclose(robot.function(solve, sizes, **ROWS).compile()(q, v, tau), want, rtol=0, atol=1e-14)
    copy = pickle.loads(pickle.dumps(robot.compile("numpy", **ROWS)))
    assert np.array_equal(copy.contact_solve(q, v, tau, NONE, DT, NONE).v, want)
    with pytest.raises(condyle.UnsupportedError, match="contact_solve: the robot has no contacts"):
        robot.function(solve, sizes, joint_forces=("friction",))


@needs("cc")
def test_an_export_without_contacts_computes_the_same(tmp_path: Path) -> None:
    """Its own test compares with known answers."""
    condyle.export(arm(), "c", tmp_path, functions=("cfric",), name="arm", **ROWS)
    build = f"{tool('cc')} -std=c99 -O1 -o known *.c -lm && ./known"
    assert subprocess.run(build, shell=True, cwd=tmp_path, capture_output=True, check=False).returncode == 0


def test_derivatives_are_those_of_differences() -> None:
    """Of an arm with joints that stick, slide and are at a stop: all modes stay as they are."""
    robot, rng, n, h = arm(), np.random.default_rng(9), 40, 1e-6
    q, v, tau = rng.uniform(-0.9, 1.1, (n, 3)), 0.02 * rng.normal(size=(n, 3)), 3.0 * rng.normal(size=(n, 3))
    q[::3, 0] = robot.lower[0] + 1e-6
    dyn = robot.compile(inputs=("dry_friction", "joint_impulse0"), **ROWS)
    none, dt, f = np.zeros((n, 0)), np.full(n, DT), np.tile(robot.friction, (n, 1))
    args, more = [q, v, tau, none, dt, none], {"dry_friction": f, "joint_impulse0": 1e-3 * rng.normal(size=(n, 3))}
    along = [*rng.normal(size=(3, n, 3)), none, np.zeros(n), none, *rng.normal(size=(2, n, 3))]

    def moved(sign: float) -> Any:
        values = [x + sign * h * dx for x, dx in zip([*args, *more.values()], along, strict=True)]
        return dyn.contact_solve(*values[:-2], **dict(zip(more, values[-2:], strict=True)))

    after, before = moved(1.0), moved(-1.0)
    tangents = dyn.jvp("cfric")(*args, *along[:-2], **more, ddry_friction=along[-2], djoint_impulse0=along[-1])
    for k in (0, 3):  # v, impulses of joints
        slope = (after[k] - before[k]) / (2.0 * h)
        close = np.abs(tangents[k] - slope) < 1e-5 * np.abs(slope).max()
        assert np.mean(close) > 0.97  # in the others a mode changes between both sides
    bars = [rng.normal(size=(n, 3)), np.zeros((n, 0, 3)), np.zeros(n), rng.normal(size=(n, 3))]
    cotangents = dyn.vjp("cfric")(*args, *bars, **more)
    ahead = (tangents[0] * bars[0] + tangents[3] * bars[3]).sum(axis=1)
    assert not np.any(cotangents[-1])  # where iterations begin moves no solution
    back = sum((x * y).reshape(n, -1).sum(axis=1) for x, y in zip(cotangents, along, strict=True))
    np.testing.assert_allclose(back, ahead, rtol=0, atol=1e-9 * np.abs(ahead).max())


def test_a_contact_that_is_off_changes_nothing() -> None:
    robot, rng = arm(), np.random.default_rng(2)
    q, v, tau = rng.uniform(-1.0, 1.0, (20, 3)), 0.1 * rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    alone = solved(robot, q, v, tau)
    dyn = robot.compile("numpy", contacts=[condyle.Contact("link2")], **ROWS)
    np.testing.assert_allclose(dyn.contact_solve(q, v, tau, [0.0], DT, [0.7]).v, alone.v, rtol=0, atol=1e-13)
    assert alone.impulse.shape == (20, 0, 3)


def test_a_robot_without_friction_and_limits_moves_freely() -> None:
    """It has no row, and the answer is a step of forward dynamics."""
    robot = slider(0.3, 0.0, lower=-np.inf, upper=np.inf)
    found = solved(robot, [0.0], [1.0], [0.5], target="cpu")
    np.testing.assert_allclose(found.v, [1.0 + DT * (G * np.sin(0.3) + 0.25)], rtol=0, atol=1e-15)
    assert found.residual == 0.0


def test_other_functions_keep_the_smooth_forces() -> None:
    robot = arm()
    smooth, rows = (robot.compile("numpy", **{**ROWS, "joint_rows": by_rows}) for by_rows in (False, True))
    q, v, tau = np.random.default_rng(0).normal(size=(3, 3))
    assert np.array_equal(smooth.joint_forces(q, v), rows.joint_forces(q, v)) and smooth.joint_forces(q, v).all()
    for x, y in zip(smooth.step(q, v, tau, DT), rows.step(q, v, tau, DT), strict=True):
        assert np.array_equal(x, y)


def test_what_is_refused() -> None:
    robot = arm()
    with pytest.raises(condyle.UnsupportedError, match="joint_rows=1: give True or False"):
        robot.compile(joint_forces=("friction",), joint_rows=1)  # type: ignore[arg-type]
    with pytest.raises(condyle.UnsupportedError, match=r"has neither; give joint_forces=\('friction', 'limits'\)"):
        robot.compile(joint_forces=("damping",), joint_rows=True)
    with pytest.raises(condyle.UnsupportedError, match=r"inputs=\('joint_impulse0',\): give some of"):
        robot.compile(joint_forces=("friction",), inputs=("joint_impulse0",))
    with pytest.raises(condyle.UnsupportedError, match=r"at.contact_solve: .* without joint rows; robot.function\("):
        robot.function(
            lambda at: at.contact_solve(at.v, [1.0], DT, [1.0], joint_impulse0=at.v).v,
            {"q": "nq", "v": "nv"},
            contacts=[condyle.Contact("link2")],
        )
    with pytest.raises(condyle.UnsupportedError, match="the robot has no contacts"):
        robot.compile(joint_forces=("friction",)).contact_solve(*np.zeros((3, 3)), NONE, DT, NONE)
    with pytest.raises(condyle.UnsupportedError, match="the robot has no contacts"):
        robot.compile(**ROWS).impulse_dynamics(*np.zeros((2, 3)), NONE, NONE)


@pytest.mark.parametrize("sweeps", [None, 3])
def test_without_friction_and_limits_it_is_forward_dynamics(sweeps: int | None) -> None:
    """Of a robot that has no row at all."""
    robot = arm((0.0, 0.0, 0.0), -np.inf, np.inf)
    q, v = robot.random_state(5, 0)
    tau = np.random.default_rng(1).normal(size=v.shape)
    found = solved(robot, q, v, tau, sweeps=sweeps)
    a = robot.compile("numpy").forward_dynamics(q, v, tau)
    np.testing.assert_allclose(found.v, v + DT * a, rtol=0, atol=1e-12)
    assert found.impulse.shape == (5, 0, 3) and not found.residual.any()
