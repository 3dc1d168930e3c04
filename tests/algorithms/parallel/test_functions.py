"""Every function by every scan is what the reference gives: chains and trees, fixed and floating, all joint types."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import condyle
from benchmarks import chains
from benchmarks.parallel import ROUTES, evaluate, segmented
from condyle.algorithms import aba
from condyle.algorithms.matrix import flat
from condyle.algorithms.unrolled import Unrolled
from condyle.backends.cpu.build import build_chain, supported
from condyle.functions import FUNCTIONS
from condyle.links.algorithms.arrays import GUARD
from condyle.links.algorithms.links import massless_link
from condyle.links.routes import routes_of
from condyle.model.tree import Tree, tree_of
from condyle.scalar import number
from condyle.trace import reference
from tests.laws.robots import changed, relative, robot_named, states
from tests.processor import slow

EVERY = [(function, route) for function, routes in ROUTES.items() for route in routes]
# Some five times what is reached: rounding in another order, times the condition of M where M is solved with.
ALLOWED = {"id": 1e-14, "m": 1e-14, "did": 3e-14, "fd": 1e-13, "minv": 1e-13, "dfd": 2e-12, "difd": 1e-12}
SINGLE = {"id": 1e-6, "m": 1e-6, "did": 5e-6, "fd": 2e-6, "minv": 2e-6, "dfd": 2e-5, "difd": 2e-5}


@cache
def case(name: str) -> condyle.Robot:
    if name == "every joint":
        return changed(condyle.random_tree(14, rng=5), armature=True, gravity=(1.0, 2.0, -3.0))
    if name == "long limbs":
        return condyle.random_tree(40, rng=2, types=("revolute", "universal", "prismatic"))
    return robot_named(name)


def given(name: str, function: str, dtype: type = np.float64, n: int = 2) -> tuple[Tree, dict[str, np.ndarray]]:
    robot = case(name)
    tree, some = tree_of(robot), states(robot, n)
    known = {"q": some.q, "v": some.v, "a": some.a, "tau": some.a}
    if function == "difd":
        known["Minv"] = reference.evaluate(tree, FUNCTIONS["minv"], "aba", {"q": some.q})[0]
    inputs = {port.name: known[port.name] for port in FUNCTIONS[function].inputs}
    if FUNCTIONS[function].takes_f_ext:
        inputs["f_ext"] = some.f_ext.reshape(n, -1)
    return tree, {key: value.astype(dtype) for key, value in inputs.items()}


def error(tree: Tree, function: str, got: list[np.ndarray], inputs: dict[str, np.ndarray]) -> float:
    exact = {key: value.astype(np.float64) for key, value in inputs.items()}
    want = reference.evaluate(tree, FUNCTIONS[function], FUNCTIONS[function].route_names(False)[0], exact)
    return max(relative(one, two) for one, two in zip(got, want, strict=True))


@pytest.mark.parametrize(("function", "route"), EVERY)
@pytest.mark.parametrize("name", ["chain", "every joint", "hyq_floating", "floating-2", "long limbs"])
def test_scans_agree_with_the_reference(name: str, function: str, route: str) -> None:
    tree, inputs = given(name, function)
    assert error(tree, function, evaluate(tree, FUNCTIONS[function], route, inputs), inputs) < ALLOWED[function]


@pytest.mark.parametrize(("function", "route"), EVERY)
def test_float32_stays_float32(function: str, route: str) -> None:
    tree, inputs = given("every joint", function, np.float32)
    got = evaluate(tree, FUNCTIONS[function], route, inputs)
    assert all(output.dtype == np.float32 for output in got)
    assert error(tree, function, got, inputs) < SINGLE[function]


def test_an_answer_that_is_not_finite_spoils_its_own_state_only() -> None:
    tree, inputs = given("chain", "fd")
    inputs["v"] = inputs["v"].copy()
    inputs["v"][1, 3] = np.nan
    (got,) = evaluate(tree, FUNCTIONS["fd"], "elements", inputs)
    assert np.isfinite(got[0]).all()
    assert np.isnan(got[1]).any()


def exact(n: int, rng: int, name: str) -> tuple[Tree, dict[str, np.ndarray], np.ndarray]:
    """A chain or tree whose numbers float32 holds, a state of it, and the answer in long double."""
    function = "id" if name == "a" else "fd"
    robot = chains.chain(n, rng)
    state = robot.random_state(2, rng)
    drive = np.random.default_rng(rng).standard_normal((2, n)) * (1.0 if name == "a" else 0.1)
    inputs = {"q": chains.single(state.q), "v": chains.single(state.v), name: chains.single(drive)}
    tree = tree_of(robot)
    route = "rnea" if name == "a" else "aba"
    longer = {key: value.astype(np.longdouble) for key, value in inputs.items()}
    return tree, inputs, reference.evaluate(tree, FUNCTIONS[function], route, longer)[0]


def run(tree: Tree, inputs: dict[str, np.ndarray], function: str, route: str, dtype: type) -> np.ndarray:
    return evaluate(tree, FUNCTIONS[function], route, {key: value.astype(dtype) for key, value in inputs.items()})[0]


@pytest.mark.parametrize(("n", "rng"), [(100, 3), (1000, 3)])
def test_inverse_dynamics_of_a_long_chain(n: int, rng: int) -> None:
    """1e-14 in float64 and 3e-6 in float32, of the largest torque, up to 1000 links; measured 7e-15 and 2e-6."""
    tree, inputs, want = exact(n, rng, "a")
    for route in ROUTES["id"]:
        assert relative(run(tree, inputs, "id", route, np.float64), want) < 1e-14
        assert relative(run(tree, inputs, "id", route, np.float32), want) < 3e-6
    for dtype, bound in (("float64", 1e-14), ("float32", 3e-6)) if supported() else ():
        assert relative(in_chunks(tree, inputs, "id", dtype), want) < bound


@pytest.mark.parametrize(("n", "rng"), [(30, 4), (100, 3), (100, 4), slow(1000, 3)])
def test_forward_dynamics_of_a_long_chain_in_float32(n: int, rng: int) -> None:
    """At most ten times what the serial articulated-body algorithm with symmetric inertias loses."""
    tree, inputs, want = exact(n, rng, "tau")
    single = {key: value.astype(np.float32) for key, value in inputs.items()}
    (serial,) = reference.evaluate(tree, FUNCTIONS["fd"], "aba", single)
    assert relative(run(tree, inputs, "fd", "elements", np.float32), want) < 10 * relative(serial, want)
    if supported():
        assert relative(in_chunks(tree, inputs, "fd", "float32"), want) < 10 * relative(serial, want)


def in_chunks(tree: Tree, inputs: dict[str, np.ndarray], function: str, dtype: str) -> np.ndarray:
    """The processor's answer, the chain in chunks."""
    isa = supported()[0]
    guard = GUARD * float(np.finfo(dtype).eps)
    made = segmented(tree, FUNCTIONS[function], isa.lanes(32 if dtype == "float32" else 64), guard)
    kernel = build_chain(made, dtype, isa)
    n = len(inputs["q"])
    got = np.empty((n, tree.nv), dtype)
    kernel(n, [value.astype(dtype) for value in inputs.values()], [got], 1)
    return got


@pytest.mark.parametrize("n", [33, 100, 300])
def test_forward_dynamics_of_a_large_tree(n: int) -> None:
    """1e-13 of the largest acceleration in float64; measured 3e-15."""
    robot = chains.random_tree(n, 1)
    tree, state = tree_of(robot), robot.random_state(1, 1)
    inputs = {"q": state.q, "v": state.v, "tau": 0.1 * np.random.default_rng(0).standard_normal((1, n))}
    longer = {key: value.astype(np.longdouble) for key, value in inputs.items()}
    (want,) = reference.evaluate(tree, FUNCTIONS["fd"], "aba", longer)
    assert relative(evaluate(tree, FUNCTIONS["fd"], "elements", inputs)[0], want) < 1e-13


def test_the_reference_in_float32_computes_in_float32() -> None:
    """Constants alone, as of a tip, are numbers that leave arrays their dtype: no inverse of one is a float64."""
    tree, inputs, _ = exact(30, 3, "tau")
    q = inputs["q"].astype(np.float32)
    eliminated = aba.eliminations(Unrolled(tree, {"q": [number(q[:, k]) for k in range(q.shape[1])]}))
    assert np.float64 not in {np.asarray(x).dtype for one in eliminated[:-1] for x in flat(one)}


@pytest.mark.filterwarnings("ignore::condyle.ModelWarning")
def test_links_without_inertia_along_their_joint_are_found() -> None:
    def pair(mass: float, com: tuple[float, float, float], armature: float = 0.0) -> Tree:
        builder = condyle.Builder().body("a", mass=mass, com=com).body("b", mass=1.0, com=(0.1, 0.0, 0.0))
        builder.joint("one", parent="world", child="a", type="revolute", armature=armature)
        builder.joint("two", parent="a", child="b", type="revolute", axis=(0, 1, 0), xyz=(0.2, 0.0, 0.0))
        return tree_of(builder.build())

    assert massless_link(pair(0.0, (0.0, 0.0, 0.0))) == 0
    assert massless_link(pair(1.0, (0.0, 0.0, 0.3))) == 0  # its mass is on the axis
    assert massless_link(pair(1.0, (0.1, 0.0, 0.3))) is None
    assert massless_link(pair(0.0, (0.0, 0.0, 0.0), armature=0.1)) is None
    assert massless_link(tree_of(case("long limbs"))) is None  # the inside of a universal joint is no link of its own
    assert {route for route in EVERY if routes_of(FUNCTIONS[route[0]])[route[1]].elements} == {
        (name, "elements") for name in ("fd", "minv", "dfd")
    }
