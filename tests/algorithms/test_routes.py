"""All routes to a function give the same numbers; so do the traced Program, the contracted one, and C."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from condyle import Dynamics, Robot
from condyle.api import compiler_of
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.ir.interp import run
from condyle.passes import pipeline
from condyle.specification.ports import F_EXT
from condyle.trace.straight import trace
from tests.accuracies import ROUNDING, SOLVED
from tests.laws.evaluated import reference, tree_for
from tests.laws.robots import States, relative, robot_named, states
from tests.processor import slow

LOOSE = {"fd": SOLVED, "minv": SOLVED, "dfd": SOLVED, "difd": SOLVED}
SINGLE = 2e-3  # float32: its rounding, 1e-7, times the condition of M, up to 1e4 here
EVERY_ROUTE = [(function, route) for function in DEFAULT for route in FUNCTIONS[function].routes]
HYQ = slow("hyq_floating")  # as the smaller trees with a floating base


def arguments(robot: Robot, function: str, given: States) -> list[np.ndarray]:
    known = {"q": given.q, "v": given.v, "a": given.a, "tau": given.a}
    if function == "difd":
        known["Minv"] = reference(robot, "minv", given.q)
    return [known[port.name] for port in FUNCTIONS[function].inputs]


def outputs(answer: object) -> tuple[np.ndarray, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def agree(got: object, want: object, bound: float) -> bool:
    return all(relative(one, two) < bound for one, two in zip(outputs(got), outputs(want), strict=True))


@cache
def first(name: str, function: str) -> tuple[list[np.ndarray], np.ndarray | None, object]:
    """Inputs, external forces where they are taken, and the answer by the first route."""
    robot = robot_named(name)
    given = states(robot)
    inputs = arguments(robot, function, given)
    f_ext = given.f_ext if FUNCTIONS[function].takes_f_ext else None
    return inputs, f_ext, reference(robot, function, *inputs, f_ext=f_ext)


@pytest.mark.parametrize(("function", "route"), EVERY_ROUTE)
@pytest.mark.parametrize("name", ["zoo", "zoo_floating", "chain", HYQ, "tree-1", "floating-2"])
def test_every_route_gives_the_same(name: str, function: str, route: str) -> None:
    robot = robot_named(name)
    shared = tree_for(robot).has_shared_coordinates
    if route not in FUNCTIONS[function].route_names(shared):
        assert shared and FUNCTIONS[function].routes[route].alone
        return
    inputs, f_ext, want = first(name, function)
    assert agree(reference(robot, function, *inputs, f_ext=f_ext, route=route), want, LOOSE.get(function, ROUNDING))


@pytest.mark.parametrize(
    ("function", "route"),
    # what follows minv is what follows ltl
    [slow(*one) if one[1].startswith("minv+") and one[1] != "minv+columns" else one for one in EVERY_ROUTE],
)
@pytest.mark.parametrize("name", ["zoo", slow("tree-1")])
def test_program_means_what_the_reference_does(name: str, function: str, route: str) -> None:
    """Regrouped and not, as traced and contracted, in float64; and in float32."""
    robot = robot_named(name)
    tree = tree_for(robot)
    if route not in FUNCTIONS[function].route_names(tree.has_shared_coordinates):
        return
    given = states(robot, 2)
    inputs = arguments(robot, function, given)
    forces = FUNCTIONS[function].takes_f_ext
    want = reference(robot, function, *inputs, f_ext=given.f_ext if forces else None)
    if forces:
        inputs.append(given.f_ext)
    forced = FUNCTIONS[function].taking(F_EXT)
    plain = pipeline.apply(trace(tree, forced, route, exact=True), pipeline.CLEAN)
    regrouped = pipeline.apply(trace(tree, forced, route), pipeline.CLEAN)
    contracted = pipeline.apply(regrouped, pipeline.CODE)
    for program in (plain, regrouped, contracted):
        assert agree(tuple(run(program, inputs)), want, LOOSE.get(function, ROUNDING))
    assert agree(tuple(run(contracted, inputs, np.float32)), want, SINGLE)
    assert len(contracted) < len(regrouped) <= len(plain)


@pytest.mark.parametrize(
    ("function", "dtype"),
    [*((one, "float64") for one in DEFAULT), *(("id", "float32"), ("minv", "float32"), slow("difd", "float32"))],
)
@pytest.mark.parametrize("name", ["tree-1"])
def test_compiled_code_means_what_the_reference_does(
    name: str, function: str, dtype: str, compiled: Callable[..., Dynamics]
) -> None:
    robot = robot_named(name)
    given = states(robot, 7)
    inputs = arguments(robot, function, given)
    forces = FUNCTIONS[function].takes_f_ext
    want = reference(robot, function, *inputs, f_ext=given.f_ext if forces else None)
    if forces:
        inputs.append(given.f_ext)
    got = compiled(robot, dtype).function(function)(*(x.astype(dtype) for x in inputs))
    assert agree(got, want, LOOSE.get(function, ROUNDING) if dtype == "float64" else SINGLE)


@pytest.mark.parametrize("name", ["zoo"])
def test_compiled_code_serves_every_joint_type(name: str, compiled: Callable[..., Dynamics]) -> None:
    robot = robot_named(name)
    given = states(robot, 5)
    dyn = compiled(robot)
    tau = dyn.inverse_dynamics(given.q, given.v, given.a, given.f_ext)
    assert relative(tau, reference(robot, "id", given.q, given.v, given.a, f_ext=given.f_ext)) < ROUNDING
    assert relative(dyn.forward_dynamics(given.q, given.v, tau, given.f_ext), given.a) < SOLVED
    assert relative(dyn.mass_matrix(given.q), reference(robot, "m", given.q)) < ROUNDING


@pytest.mark.parametrize("dtype", [np.float32, np.longdouble])
def test_the_reference_computes_in_the_dtype_of_its_inputs(dtype: type) -> None:
    robot = robot_named("tree-1")
    q, v, a, _ = (x.astype(dtype) for x in states(robot))
    answer = reference(robot, "did", q, v, a)[0]
    assert answer.dtype == dtype
    exact = reference(robot, "did", *(x.astype(np.longdouble) for x in (q, v, a)))[0]
    error = relative(answer, exact)
    assert error < 5e-5 if dtype is np.float32 else error == 0.0


def test_float64_loses_little_beside_long_double() -> None:
    """Results in 64 and 80 bits differ by rounding only."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("this machine's long double is no longer than its double")
    robot = robot_named("zoo_floating")
    given = states(robot)
    for function in DEFAULT:
        inputs = arguments(robot, function, given)
        exact = reference(robot, function, *(x.astype(np.longdouble) for x in inputs))
        bound = LOOSE.get(function, ROUNDING)
        assert agree(reference(robot, function, *inputs), exact, bound), function


def test_baselines_have_their_papers_names() -> None:
    """The alias of GRiD is the route with its arithmetic; a baseline is never the default."""
    robot = robot_named("chain")
    for function, alias in (("did", "grid"), ("dfd", "minv+grid"), ("difd", "grid")):
        assert alias in [route.alias for route in FUNCTIONS[function].routes.values()]
    did = FUNCTIONS["did"]
    named = [compiler_of(robot, {did: name}).best(did) for name in ("grid", "plancher2021")]
    assert named[0] == named[1]
    assert compiler_of(robot).best(did).route != "plancher2021"
