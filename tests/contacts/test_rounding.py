"""Rows that are only rounding: loops of parallel hinges whose angles are cut off after some digits."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import condyle
from condyle import Contact, Dynamics, Robot
from condyle.backends.common.facts import Facts
from condyle.backends.cuda.target import TARGET, Form
from condyle.compile.compiler import Compiler
from condyle.compile.gpu import GpuFunction, GpuKernels
from condyle.compile.options import bound_of
from condyle.functions import FUNCTIONS
from condyle.model.placement import Placement, about
from condyle.model.tree import tree_of
from tests.backends.cuda.simulate import simulate
from tests.contacts.cases import Array, apart, slopes
from tests.processor import slow

TILTS = (1e-13, 1e-10, 3.7e-6, 1e-4)
"""[rad]; 3.7e-6 is what 1.5708 leaves of a quarter turn."""
RIGHT, TIMES_FORCE = 1e-2, 50.0
"""Of accelerations and of forces: what a hinge that is off by 1e-4 rad may change."""
Q, V = (1.0, 0.4812, 2.1), (1.0, -0.8, 0.3)
UP, ALONG_X = (0.0, 0.0, 1.0), about(np.array([0.0, 1.0, 0.0]), -0.5 * np.pi)
"""A hinge about z, and a contact's placement with its x axis along it."""


def four_bar(tilt: float = 0.0, kind: str = "point", size: float = 1.0, weight: float = 1.0) -> Robot:
    """Crank, coupler and rocker in the x y plane; crank and coupler are turned out of it by `tilt`.

    size, weight: factors of all lengths and masses.
    """
    builder = condyle.Builder("four_bar", gravity=(0.0, -9.81 * size, 0.0), snap=0.0)
    for name, length in (("crank", 0.2), ("coupler", 0.55), ("rocker", 0.4)):
        mass, inertia = weight * 2.0 * length, np.diag((1e-4, length**3 / 6.0, length**3 / 6.0 + 1e-5))
        com = (0.5 * size * length, 0.0, 0.0)
        builder.body(name, mass=mass, com=com, inertia=weight * size**2 * inertia)
    for name, parent, child, x, turned in (
        ("a", "world", "crank", 0.0, tilt),
        ("b", "crank", "coupler", 0.2, 0.0),
        ("c", "world", "rocker", 0.5, 0.0),
    ):
        at = (size * x, 0.0, 0.0)
        builder.joint(name, parent=parent, child=child, type="revolute", axis=UP, xyz=at, rpy=(turned, 0.3 * turned, 0))
    ends = [Placement(ALONG_X, np.array([size * x, 0.0, 0.0])) for x in (0.55, 0.4)]
    return builder.contact("coupler", kind, other="rocker", placement=ends[0], anchor=ends[1]).build()


@cache
def closed(size: float = 1.0) -> tuple[Array, Array]:
    """q and v of the loop in its plane."""
    robot = four_bar(size=size)
    q = robot.close(Q, fixed=["a"])
    return q, robot.close_velocity(q, V, fixed=["a"])


def answers(dyn: Dynamics, size: float = 1.0) -> tuple[Array, Array]:
    q, v = closed(size)
    a, force = dyn.constrained_forward_dynamics(q, v, np.zeros(3), [1.0])
    return a, force


@pytest.mark.parametrize("route", ["ltl", "aba"])
@pytest.mark.parametrize("target", ["numpy", "cpu", slow("c")])
@pytest.mark.parametrize("kind", ["point", "line"])
def test_a_loop_of_cut_digits_moves_as_the_exact_one(kind: str, target: str, route: str) -> None:
    """A line closes it as a hinge does: its rows of rotations are rounding, all of them."""
    want, force = answers(four_bar().compile("numpy"))
    for tilt in TILTS:
        dyn = four_bar(tilt, kind).compile(target, routes={"cfd": route})
        a, found = answers(dyn)
        assert apart(a, want) < RIGHT, tilt
        assert np.linalg.norm(found) < TIMES_FORCE * np.linalg.norm(force), tilt


@pytest.mark.parametrize(("size", "weight"), [(1e-3, 1.0), (1.0, 1e-6), (100.0, 1e4)])
@pytest.mark.parametrize("kind", ["point", "line"])
def test_the_size_of_a_robot_does_not_matter(kind: str, size: float, weight: float) -> None:
    """Lengths and gravity in proportion: the same motion."""
    want, force = answers(four_bar(size=size, weight=weight).compile("numpy"), size)
    assert apart(want, answers(four_bar().compile("numpy"))[0]) < 1e-6
    for tilt in TILTS:
        a, found = answers(four_bar(tilt, kind, size, weight).compile("numpy"), size)
        assert apart(a, want) < RIGHT, tilt
        assert np.linalg.norm(found[..., :3]) < TIMES_FORCE * np.linalg.norm(force), tilt


@pytest.mark.parametrize("kind", ["point", "line"])
def test_the_inverse_of_k_leaves_them_out_too(kind: str) -> None:
    """Beside the exact loop; a line that is off by 1e-4 rad held 2e-3 of what it should not where its rows were
    measured with the mu of forces."""
    (q, v), want = closed(), answers(four_bar().compile("numpy"))[0]
    for tilt in TILTS:
        dyn = four_bar(tilt, kind).compile("numpy")
        _, gamma = dyn.call("cres", [q, v, np.zeros(3), np.zeros((1, 6))])
        pushed = dyn.mass_matrix(q) @ dyn.forward_dynamics(q, v, np.zeros(3))
        both = dyn.constraint_matrix_inverse(q, [1.0]) @ np.concatenate([pushed, -gamma])
        assert apart(both[:3], want) < 1e-6, tilt  # 2e-7 at the largest tilt


@pytest.mark.parametrize("tilt", TILTS)
def test_in_single_precision(tilt: float) -> None:
    dyn, given = four_bar(tilt).compile("cpu", dtype="float32"), (*closed(), np.zeros(3), np.ones(1))
    a, found = dyn.constrained_forward_dynamics(*(x.astype(np.float32) for x in given))
    want, force = answers(four_bar().compile("numpy"))
    assert apart(a, want) < RIGHT
    assert np.linalg.norm(found) < TIMES_FORCE * np.linalg.norm(force)


def test_the_kernel_of_a_gpu_does_too() -> None:
    robot = four_bar(TILTS[2])
    compiler = Compiler(tree_of(robot, bound_of(robot, contacts=robot.contacts)), Facts(3, 3), {})
    kernels = GpuKernels(compiler, TARGET)
    made = GpuFunction(kernels, FUNCTIONS["cfd"], "float64", 132).launches(Form(1, kernels.usual(FUNCTIONS["cfd"])))
    q, v = closed()
    a, force = simulate(made, [x[None] for x in (q, v, np.zeros(3), np.ones(1))])
    want, exact = answers(four_bar().compile("numpy"))
    assert apart(a[0], want) < RIGHT
    assert np.linalg.norm(force) < TIMES_FORCE * np.linalg.norm(exact)


@pytest.mark.parametrize("tilt", TILTS)
def test_impacts_and_matrices_count_the_same_rows(tilt: float) -> None:
    """[a; -f] = K^-1 [tau - c; -gamma], and an impact of a loop that opens."""
    exact, cut = four_bar().compile("numpy"), four_bar(tilt).compile("numpy")
    (q, v), (want, force) = closed(), answers(exact)
    _, gamma = cut.call("cres", [q, v, np.zeros(3), np.zeros((1, 6))])
    both = cut.constraint_matrix_inverse(q, [1.0]) @ np.concatenate([-cut.nonlinear_effects(q, v), -gamma])
    assert apart(both[:3], want) < RIGHT
    assert np.linalg.norm(both[3:]) < TIMES_FORCE * np.linalg.norm(force)
    inverses = [dyn.delassus_matrix_inverse(q, [1.0])[1:, 1:] for dyn in (cut, exact)]  # the rows in the plane
    assert apart(*inverses) < RIGHT
    opening = v + np.array([0.3, 0.2, 0.1])
    after, impulse = cut.impulse_dynamics(q, opening, [1.0], [0.0])
    kept, small = exact.impulse_dynamics(q, opening, [1.0], [0.0])
    assert apart(after, kept) < RIGHT
    assert np.linalg.norm(impulse) < TIMES_FORCE * np.linalg.norm(small)


@pytest.mark.parametrize("tilt", [0.0, *TILTS])
def test_derivatives_are_those_of_the_rule(tilt: float) -> None:
    """dcfd, jvp and vjp beside differences of the same robot: a, and forces, of the row that counts as nothing too."""
    robot = four_bar(tilt)
    dyn, (q, v) = robot.compile("numpy"), closed()
    given = [x[None] for x in (q, v, np.zeros(3))]
    on = np.ones((1, 1))
    along = [np.array([[0.3, -0.5, 0.2]]), np.array([[0.1, 0.4, -0.7]]), np.array([[0.2, 0.1, 0.5]])]
    rate = slopes(robot, lambda *x: tuple(dyn.constrained_forward_dynamics(*x, on)), given, along)
    found = dyn.constrained_forward_dynamics_derivatives(*given, on)
    closed_form = [
        sum(np.einsum("n...j,nj->n...", part, dx) for part, dx in zip(three, along, strict=True))
        for three in (found[:3], found[3:])
    ]
    ahead = list(dyn.jvp("cfd")(*given, on, *along, 0.0 * on))
    for made in (closed_form, ahead):
        assert apart(made[0], rate[0]) < 1e-6
        assert apart(made[1], rate[1]) < 1e-6
    bars = [np.random.default_rng(4).normal(size=x.shape) for x in ahead]
    back = dyn.vjp("cfd")(*given, on, *bars)
    sums = [sum(float(np.sum(x * y)) for x, y in zip(*two, strict=True)) for two in ((back[:3], along), (bars, ahead))]
    assert sums[0] == pytest.approx(sums[1], rel=1e-8)


def door(offset: float) -> Robot:
    """A door with a second hinge, off the axis of the first by `offset`: all rows of the contact are rounding."""
    builder = condyle.Builder("door", gravity=(0.0, -9.81, 0.0))
    builder.body("door", mass=20.0, com=(0.4, 0.0, 1.0), inertia=np.diag((8.0, 9.0, 1.5)))
    builder.joint("hinge", parent="world", child="door", type="revolute", axis=UP)
    place = Placement(ALONG_X, np.array([0.0, offset, 2.0]))
    there = Placement(ALONG_X, np.array([0.0, 0.0, 2.0]))
    return builder.contact("door", "point", placement=place, anchor=there).build()


@pytest.mark.parametrize("offset", [1e-12, 1e-8, 1e-5])
def test_a_second_hinge_on_the_same_axis_holds_nothing(offset: float) -> None:
    robot = door(offset)
    dyn, q, v, tau = robot.compile("numpy"), np.array([0.3]), np.array([0.7]), np.array([2.0])
    free = dyn.forward_dynamics(q, v, tau)
    a, force = dyn.constrained_forward_dynamics(q, v, tau, [1.0])
    assert abs(free[0]) > 1.0
    assert apart(a, free) < RIGHT
    assert np.linalg.norm(force) < 20.0 * 9.81
    assert robot.close_velocity(q, v) == pytest.approx(v, rel=RIGHT)


def biped(turned: float, stand: bool = True) -> Robot:
    """Two legs of two joints about y; the left hip is placed with its z axis along y, by an angle as files have it.

    stand: the base slides upright, else it is free.
    """
    builder = condyle.Builder("biped", snap=0.0)
    builder.body("base", mass=5.0, com=(0.0, 0.0, 0.0), inertia=0.1 * np.eye(3))
    if stand:
        builder.joint("stand", parent="world", child="base", type="prismatic", axis=UP)
    for side, y, turn in (("l", 0.1, turned), ("r", -0.1, 0.0)):
        down = (0.0, -0.3, 0.0) if turn else (0.0, 0.0, -0.3)
        for body in (f"{side}1", f"{side}2"):
            builder.body(body, mass=1.0, com=(0.0, 0.0, -0.1), inertia=0.01 * np.eye(3))
        axis = (0.0, 0.0, -1.0) if turn else (0.0, 1.0, 0.0)
        hip = {"parent": "base", "child": f"{side}1", "xyz": (0.0, y, 0.0), "rpy": (turn, 0.0, 0.0)}
        builder.joint(f"{side}hip", type="revolute", axis=axis, **hip)
        knee = {
            "parent": f"{side}1",
            "child": f"{side}2",
            "xyz": down,
            "rpy": (-0.5 * np.pi if turn else 0.0, 0.0, 0.0),
        }
        builder.joint(f"{side}knee", type="revolute", axis=(0.0, 1.0, 0.0), **knee)
    return builder.build(floating_base=not stand)


FEET = [Contact(name, placement=Placement.from_rpy((0.0, 0.0, -0.3))) for name in ("l2", "r2")]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("turned", [0.5 * np.pi, 1.5708])
def test_a_biped_in_the_air_with_cut_digits(turned: float, dtype: str) -> None:
    """The feet hold each other's distance across the legs, which no joint changes much: 27.2 N in all."""
    dyn = biped(turned, stand=False).compile("numpy", contacts=FEET, dtype=dtype)
    q = np.concatenate([np.zeros(6), [1.0], [0.3, -0.6, 0.3, -0.6]])
    given = (q, np.zeros(10), np.zeros(10), np.ones(2))
    _, force = dyn.constrained_forward_dynamics(*(x.astype(dtype) for x in given))
    assert np.linalg.norm(force) == pytest.approx(27.2179, abs=1e-3)


def test_feet_of_a_leg_with_cut_digits() -> None:
    """Six rows of two planar legs, two of them rounding: forces and motion are those of exact digits."""
    q, v, tau = np.array([0.0, 0.3, -0.6, 0.3, -0.6]), np.zeros(5), np.zeros(5)
    exact, cut = (
        biped(turn).compile("numpy", contacts=FEET).constrained_forward_dynamics(q, v, tau, np.ones(2))
        for turn in (0.5 * np.pi, 1.5708)
    )
    assert apart(list(cut), list(exact)) < 1e-3
    assert 20.0 < exact.force[..., 2].sum() < 9.0 * 9.81


@pytest.mark.parametrize("tilt", TILTS)
def test_a_velocity_is_not_taken_away_by_rounding(tilt: float) -> None:
    (q, v), robot = closed(), four_bar(tilt)
    assert robot.close_velocity(q, V, fixed=["a"]) == pytest.approx(v, rel=1e-6)
    assert robot.close_velocity(q, v) == pytest.approx(v, rel=1e-6)
    with pytest.raises(condyle.StateError, match=r"velocities that open loops; .*fewer joints than 'a', 'c'"):
        robot.close_velocity(q, V, fixed=["a", "c"])


def test_an_opening_of_cut_digits_is_told_with_its_tolerance() -> None:
    """No q closes it; with the tolerance that the message names, it is closed in its plane, and nearby."""
    (q, _), robot = closed(), four_bar(TILTS[2])
    guess = q + np.array([0.0, 0.1, -0.1])
    with pytest.raises(condyle.StateError, match=r"their errors are least there; .*give tolerance=\de-06; ") as caught:
        robot.close(guess, fixed=["a"])
    tolerance = float(str(caught.value).split("tolerance=")[1].split(";")[0])
    assert robot.close(guess, fixed=["a"], tolerance=tolerance) == pytest.approx(q, abs=1e-5)
    assert np.abs(robot.close(guess, tolerance=tolerance) - guess).max() < 0.1


def test_what_was_not_reached_is_told_apart() -> None:
    """Two steps are too few for a loop that closes; a rocker that is too short never does."""
    robot, (q, _) = four_bar(), closed()
    with pytest.raises(condyle.StateError, match=r"not closed to tolerance=1e-09 .* by iterations=2 steps; give more"):
        robot.close(q + np.array([0.0, 0.5, -0.5]), iterations=2)
    apart_from = np.stack([q + np.array([0.0, 0.5, -0.5]), q])
    robot.close(apart_from)
    short = condyle.Builder("short")
    for name, x in (("a", 0.0), ("b", 1.0)):
        short.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.1 * np.eye(3))
        short.joint(name, parent="world", child=name, type="revolute", axis=UP, xyz=(x, 0.0, 0.0))
    near, far = (Placement.from_rpy((x, 0.0, 0.0)) for x in (0.45, -0.45))
    with pytest.raises(condyle.StateError, match=r"no q near this one closes: .*give tolerance=2e-01; .*\n.*by 0\.1 "):
        short.contact("a", other="b", placement=near, anchor=far).build().close([0.1, 0.2])
