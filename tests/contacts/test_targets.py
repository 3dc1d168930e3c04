"""Functions of contacts and their derivatives, on every target: what NumPy computes of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from condyle import Dynamics
from condyle.backends.common.facts import Facts
from condyle.backends.cuda.target import TARGET, Form
from condyle.compile.compiler import Compiler
from condyle.compile.gpu import GpuFunction, GpuKernels
from condyle.compile.options import bound_of
from condyle.functions import function_of
from condyle.model.contact import anchors_of, gains_of
from condyle.model.tree import tree_of
from condyle.specification import Port
from condyle.trace.straight import sizes
from tests.backends.cuda.simulate import simulate
from tests.contacts.cases import Array, Case, is_independent, law, tree
from tests.laws.robots import relative
from tests.processor import slow

N = 5
TREE = tree(1, 2, 2)
CASE = Case(TREE.robot, (replace(TREE.contacts[0], kind="line"), TREE.contacts[1]))
"""A floating base and two joints; a line in the world, a point between bodies, both with gains."""
OPENED = "_gains_anchors"
PLAIN = ("cfd", "dcfd", "impact", "dland", "cid", "kkt", "kktm", "delassus", "delassusinv", "cjac", "cerr")
STEPPED = ("step_active", "dstep_active", "step_active_rising")
QUICK = (*PLAIN, *STEPPED, f"cfd{OPENED}", "jvp_cfd", "vjp_cfd", "vjp_impact", "vjp_step_active")
LONG = (f"vjp_cfd{OPENED}", f"jacobian_cfd{OPENED}_by_gains_anchors", "hessian_cfd", "jvp_step_active_rising")


@cache
def compiled(target: str, dtype: str = "float64") -> Dynamics:
    return CASE.compile(target, dtype=dtype)


@cache
def states(seed: int = 0) -> dict[str, Array]:
    at = CASE.state(N, seed)
    rng = np.random.default_rng(seed)
    own = {"gains": gains_of(CASE.contacts), "anchors": anchors_of(CASE.contacts)}
    more = {name: np.tile(x, (N, 1, 1)) for name, x in own.items()}
    restitution, rising = rng.uniform(0.1, 0.9, at.active.shape), at.active * rng.integers(0, 2, at.active.shape)
    known = {"q": at.q, "v": at.v, "tau": at.tau, "a": at.tau, "active": at.active, "restitution": restitution}
    return known | more | {"rising": rising, "dt": np.linspace(1e-3, 1e-2, N)}


def inputs(name: str) -> list[Array]:
    rng = np.random.default_rng(1)

    def drawn(port: Port) -> Array:
        return rng.normal(size=(N, *port.shape(sizes(compiled("numpy")._compiler.tree))))

    return [states()[port.name] if port.name in states() else drawn(port) for port in function_of(name).inputs]


@cache
def known(name: str) -> tuple[Array, ...]:
    return compiled("numpy").call(name, inputs(name))


def spread() -> float:
    """The condition of M, or of what contacts hold, at most; with units on the diagonals, as solving sees them."""
    at = CASE.state(N)
    found, on = law(CASE, compiled("numpy"), at), CASE.on(at.active)
    worst = 1.0
    for M, J, rows in zip(found.M, found.J, on, strict=True):
        for matrix in (M, J[rows] @ np.linalg.solve(M, J[rows].T)):
            units = np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
            worst = max(worst, float(np.linalg.cond(matrix / units)) if matrix.size else 1.0)
    return worst


def allowed(name: str, dtype: str) -> float:
    """What is promised at random states of real robots, or so many roundings times what solving costs here."""
    return max(getattr(function_of(name).accuracy, dtype), 30.0 * float(np.finfo(dtype).eps) * spread())


def test_the_rows_are_independent() -> None:
    """Else forces are not told apart, and targets differ by what rounding makes of them."""
    at = CASE.state(N)
    found, on = law(CASE, compiled("numpy"), at), CASE.on(at.active)
    assert all(is_independent(*each) for each in zip(found.J, on, found.M, strict=True))
    assert spread() < 1e4


@pytest.mark.parametrize("name", [*QUICK, *(slow(name) for name in LONG)])
def test_machine_code(name: str) -> None:
    """Dense, packed, one state."""
    given, want, dyn = inputs(name), known(name), compiled("cpu")
    assert worst(dyn.call(name, given), want) < allowed(name, "float64")
    one = dyn.call(name, [x[0] for x in given])
    assert worst([x[None] for x in one], [x[:1] for x in want]) < allowed(name, "float64")
    if name in PLAIN:
        packed = [dyn.pack(x, port.name) for x, port in zip(given, function_of(name).inputs, strict=True)]
        assert worst([x.dense() for x in dyn.call(name, packed)], want) < allowed(name, "float64")


def worst(found: object, want: object) -> float:
    pairs = zip(found, want, strict=True)  # type: ignore[call-overload]
    return max(relative(one, two, 1e-3) for one, two in pairs)


@pytest.mark.parametrize(
    ("target", "dtype"),
    [("cpu", "float32"), ("numpy", "float32"), slow("c", "float64"), slow("c", "float32")],
)
@pytest.mark.parametrize("name", ["cfd", "dcfd", "impact", *(slow(one) for one in (*QUICK[3:], *LONG))])
def test_other_targets_and_numbers(name: str, target: str, dtype: str) -> None:
    found = compiled(target, dtype).call(name, [x.astype(dtype) for x in inputs(name)])
    assert worst(found, known(name)) < allowed(name, dtype)


@pytest.mark.parametrize(
    "name", ["cfd", "cid", "cerr", *(slow(one) for one in (*QUICK, *LONG) if one not in ("cfd", "cid", "cerr"))]
)
def test_kernels_of_a_gpu_compute_it_too(name: str) -> None:
    """A thread a state, as PTX that is interpreted."""
    bound = bound_of(CASE.robot, contacts=CASE.contacts)
    kernels = GpuKernels(Compiler(tree_of(CASE.robot, bound), Facts(CASE.robot.nq, CASE.robot.nv), {}), TARGET)
    made = GpuFunction(kernels, function_of(name), "float64", 132).launches(Form(1, kernels.usual(function_of(name))))
    found = simulate(made, [np.reshape(x, (N, -1)) for x in inputs(name)])
    assert worst(found, [np.reshape(x, (N, -1)) for x in known(name)]) < allowed(name, "float64")


@pytest.mark.parametrize("name", ["cfd", "dcfd"])
def test_flags_may_be_truth_values_and_broadcast(name: str) -> None:
    for dyn in (compiled("cpu"), compiled("numpy"), compiled("cpu", "float32")):
        q, v, tau = (np.asarray(x, dyn.dtype) for x in inputs(name)[:3])
        active = states()["active"].astype(dyn.dtype)
        function = dyn.function(name)
        for one, two in zip(function(q, v, tau, active != 0.0), function(q, v, tau, active), strict=True):
            np.testing.assert_array_equal(one, two)
        each = np.tile(active[1], (N, 1))
        for one, two in zip(function(q, v, tau, active[1]), function(q, v, tau, each), strict=True):
            np.testing.assert_array_equal(one, two)
