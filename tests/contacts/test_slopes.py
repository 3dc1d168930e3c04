"""Slopes of motion and forces where rows depend on each other, beside those of the rule in long double numbers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from condyle.algorithms.contact_forces import depends
from condyle.backends.common.facts import Facts
from condyle.backends.cuda.target import TARGET, Form
from condyle.compile.compiler import Compiler
from condyle.compile.gpu import GpuFunction, GpuKernels
from condyle.compile.options import bound_of
from condyle.functions import function_of
from condyle.model.tree import Tree, tree_of
from condyle.trace.reference import evaluate
from tests.backends.cuda.simulate import simulate
from tests.contacts.cases import Array, Case, arm, hyq, settled, tree
from tests.contacts.test_contradicting import box
from tests.contacts.test_rounding import closed, four_bar
from tests.contacts.test_singular import CASES as SINGULAR
from tests.derivatives.differences import FOURTH, L
from tests.processor import slow

EXACT, BY_MATRIX = 1e-9, 3e-7
"""Relative, of sweeps and of dcfd. That has an inverse of G + R of 1 / mu; rounding of it, some 1e-16 / mu, is left."""
TILTS = (1e-10, 3.7e-6, 1e-5, 1e-4)
CORNERS = box()
DEPENDENT = {
    "box": Case(CORNERS[0], tuple(CORNERS[1])),
    **{f"tree-{seed}": tree(seed) for seed in (0, 2, 4)},
    **{name: SINGULAR[name] for name in ("points", "planes", "twice")},
    **{f"four_bar-{tilt}": Case(four_bar(tilt), four_bar(tilt).contacts) for tilt in TILTS},
}
NAMES = ["box", "tree-2", "points", "four_bar-3.7e-06", "four_bar-0.0001"]


@cache
def bound(name: str) -> Tree:
    case = DEPENDENT[name]
    return tree_of(case.robot, bound_of(case.robot, contacts=case.contacts))


def call(name: str, function: str, given: list[Array]) -> list[Array]:
    """The reference of a function in the numbers of its inputs, answers flat."""
    ports = [port.name for port in function_of(function).inputs]
    route = function_of(function).route_names(False)[0]
    return evaluate(bound(name), function_of(function), route, dict(zip(ports, given, strict=True)))


def state(name: str) -> list[Array]:
    """q, v, tau and flags. Rows want what contradicts each other, but for a linkage that is closed."""
    if name.startswith("four_bar"):
        q, v = closed()
        return [q[None], v[None], np.array([[0.3, -0.2, 0.5]]), np.ones((1, 1))]
    at = DEPENDENT[name].state(2, 3)
    return [x[:1] for x in (at.q, at.v, at.tau, at.active)]  # the first one has all flags on


def slopes(name: str, given: list[Array], along: list[Array], h: float) -> list[Array]:
    """Of a and forces along a tangent: differences of fourth order in long double numbers."""
    steps = FOURTH[0][:, None] * L(h)
    q = call(name, "integrate", [np.repeat(given[0].astype(L), len(steps), 0), steps * along[0]])[0]
    others = [x.astype(L) + steps * dx for x, dx in zip(given[1:], along[1:], strict=True)]
    return [np.asarray(FOURTH[1] @ x / L(h), float) for x in call(name, "cfd", [q, *others])]


def apart(found: Array, expected: Array) -> float:
    """Relative to the largest entry."""
    return float(np.abs(np.reshape(found, expected.shape) - expected).max() / np.abs(expected).max())


@pytest.mark.skipif(np.finfo(L).nmant < 60, reason="no format longer than float64 to compare with")
@pytest.mark.parametrize("name", [*NAMES, *(slow(name) for name in DEPENDENT if name not in NAMES)])
def test_slopes_are_those_of_the_rule(name: str) -> None:
    given, rng = state(name), np.random.default_rng(5)
    nv = DEPENDENT[name].robot.nv
    along = [rng.normal(size=(1, nv)) for _ in range(3)] + [0.0 * given[3]]
    expected = slopes(name, given, along, 1e-5 if name.startswith("four_bar") else 1e-4)
    parts = [np.reshape(x, (-1, nv)) for x in call(name, "dcfd", given)]
    for k, want in enumerate(expected):
        found = sum(part @ dx[0] for part, dx in zip(parts[3 * k : 3 * k + 3], along[:3], strict=True))
        assert apart(np.asarray(found), want) < BY_MATRIX
    ahead = call(name, "jvp_cfd", [*given, *along])
    assert max(apart(x, y) for x, y in zip(ahead, expected, strict=True)) < EXACT
    bars = [rng.normal(size=x.shape) for x in ahead]
    back = call(name, "vjp_cfd", [*given, *bars])
    pairs = [(x, y) for x, y in zip([*back, *bars], [*along, *(want[None] for want in expected)], strict=True)]
    sums = [sum(float(np.sum(x * y)) for x, y in part) for part in (pairs[:4], pairs[4:])]
    assert abs(sums[0] - sums[1]) < EXACT * sum(float(np.linalg.norm(x) * np.linalg.norm(y)) for x, y in pairs[4:])


@pytest.mark.parametrize("target", ["cpu", slow("c")])
@pytest.mark.parametrize("name", ["box", "four_bar-0.0001"])
def test_targets_have_the_same(name: str, target: str) -> None:
    given, dyn = state(name), DEPENDENT[name].compile(target)
    along = [np.ones_like(given[1])] * 3 + [0.0 * given[3]]
    for function, inputs in (("dcfd", given), ("jvp_cfd", [*given, *along])):
        found, want = (
            np.concatenate([np.ravel(x) for x in answers])
            for answers in (dyn.call(function, inputs), call(name, function, inputs))
        )
        assert apart(found, want) < BY_MATRIX


def test_the_kernel_of_a_gpu_has_the_same() -> None:
    name = "four_bar-0.0001"
    compiler = Compiler(bound(name), Facts(3, 3), {})
    kernels = GpuKernels(compiler, TARGET)
    for function in ("dcfd", "vjp_cfd"):
        inputs = [*state(name), *([np.ones((1, 3)), np.ones((1, 6))] if function == "vjp_cfd" else [])]
        called = function_of(function)
        made = GpuFunction(kernels, called, "float64", 132).launches(Form(1, kernels.usual(called)))
        for found, want in zip(simulate(made, inputs), call(name, function, inputs), strict=True):
            assert apart(np.asarray(found), want) < BY_MATRIX


@pytest.mark.slow
def test_armature_moves_the_filter_too() -> None:
    """Columns of the jacobian by numbers that M is made of are those of a jvp."""
    case, given = DEPENDENT["tree-2"], state("tree-2")
    dyn, armature = case.compile(inputs=("armature",)), np.full((1, case.robot.nv), 0.3)
    change, none = np.random.default_rng(6).normal(size=armature.shape), [0.0 * x for x in (*given[1:2] * 3, given[3])]
    ahead = dyn.jvp("cfd")(*given, *none, armature=armature, darmature=change)
    blocks = dyn.jacobian("cfd", by=("armature",))(*given, armature=armature)
    for block, want in zip((blocks.da_darmature, blocks.dforce_darmature), ahead, strict=True):
        assert apart(block @ change[0], want) < BY_MATRIX


def test_a_plane_that_is_off_changes_nothing() -> None:
    """One of two planes off: the other's slopes are those of a robot that has it alone."""
    case = SINGULAR["twice"]
    one = Case(case.robot, case.contacts[:1])
    at = settled(case, case.compile(), case.state(3, 3))
    off = np.tile([1.0, 0.0], (3, 1))
    both = case.compile().constrained_forward_dynamics_derivatives(at.q, at.v, at.tau, off)
    alone = one.compile().constrained_forward_dynamics_derivatives(at.q, at.v, at.tau, np.ones((3, 1)))
    for found, want in zip([*both[:3], *(x[:, :1] for x in both[3:])], alone, strict=True):
        assert apart(found, want) < BY_MATRIX
    assert not any(x[:, 1:].any() for x in both[3:])


def test_which_rows_depend_on_each_other() -> None:
    """Those of which no configuration makes them independent; four points under a quadruped are."""
    for case in (hyq(), hyq("plane", 1), arm(), tree(1), tree(3)):
        assert not depends(tree_of(case.robot, bound_of(case.robot, contacts=case.contacts)))
    for case in (*DEPENDENT.values(), hyq("plane")):
        assert depends(tree_of(case.robot, bound_of(case.robot, contacts=case.contacts)))
