"""Large robots: what is traced stays short, and what would be long is loops; work is counted, not seconds."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import condyle
from benchmarks.humanoid import humanoid
from condyle.api import compiler_of
from condyle.compile import routes as routing
from condyle.compile.options import bound_of
from condyle.compile.routes import LONGEST, NOTHING, Router, Traced
from condyle.functions import DEFAULT, FUNCTIONS, function_of, multiplied_by
from condyle.ir.count import Counts
from condyle.ir.loops import Rolled
from condyle.ir.program import Program
from condyle.ir.segments import Segmented
from condyle.model.tree import tree_of
from condyle.passes import pipeline
from condyle.trace.straight import product_size, products, written
from tests.processor import slow

MOST = 1.6 * LONGEST
"""Nodes of a Program: some 25 microseconds each from trace to code, and 0.7 kB."""


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The nodes of all straight Programs that are traced, as they go through the passes."""
    sizes: list[int] = []
    verify = pipeline.verify

    def counted(program: Program) -> Program:
        sizes.append(len(program.nodes))
        return verify(program)

    monkeypatch.setattr(pipeline, "verify", counted)
    return sizes


def test_compilers_of_equal_trees_trace_once(traced: list[int]) -> None:
    """As those of both number types do; a tree with other numbers is traced for itself."""
    fd, first, second = FUNCTIONS["fd"], compiler_of(condyle.chain(3, 5)), compiler_of(condyle.chain(3, 5))
    best = first.best(fd)
    assert traced
    del traced[:]
    assert second.best(fd) is best and not traced
    assert second.best(fd.taking("f_ext")).code != best.code
    assert compiler_of(condyle.chain(3, 6)).best(fd).code != best.code


def test_what_was_traced_goes_with_the_last_that_uses_it() -> None:
    fd, compilers = FUNCTIONS["fd"], [compiler_of(condyle.chain(3, 5)) for _ in range(2)]
    code = weakref.ref(compilers[0].best(fd).code)
    assert compilers[1].best(fd).code is code()
    compilers.pop(0)
    gc.collect()
    assert code() is not None
    compilers.pop()
    gc.collect()
    assert code() is None


@pytest.mark.slow
@pytest.mark.parametrize("function", DEFAULT)
def test_nothing_long_is_traced(function: str, traced: list[int]) -> None:
    """107 velocities: straight code of difd has 1.3 million operations."""
    router = Router(tree_of(humanoid(107)), compiler_of(humanoid(38)).facts)
    code = router.code(FUNCTIONS[function])
    assert isinstance(code, Rolled if function in ("dfd", "difd") else (Rolled, Program))
    assert max(traced, default=0) < MOST


@pytest.mark.slow
@pytest.mark.parametrize("function", ["dfd", "difd"])
def test_joints_that_mimic_are_multiplied_by_loops(function: str, traced: list[int]) -> None:
    robot = humanoid(60, mimic=True)
    code = compiler_of(robot).code(FUNCTIONS[function])
    assert isinstance(code, Segmented)
    assert max(traced) < MOST


@pytest.mark.slow  # long robots are traced
def test_shorter_robots_stay_straight() -> None:
    """Atlas on the ground and floating: nothing but code without loops."""
    for floating in (False, True):
        compiler = compiler_of(condyle.load("atlas", floating_base=floating))
        assert isinstance(compiler.code(FUNCTIONS["difd"]), Program)


@pytest.mark.slow
def test_a_target_without_loops_is_given_straight_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "LONGEST", 0)
    compiler = compiler_of(humanoid(42, mimic=True))
    assert isinstance(compiler.best(FUNCTIONS["difd"]).code, Segmented)
    assert isinstance(compiler.straight(FUNCTIONS["difd"]), Program)
    assert not compiler.is_rolled(FUNCTIONS["difd"])
    assert compiler.work(FUNCTIONS["difd"])["route"] == "closed_form, products rolled"


@pytest.mark.parametrize("name", ["fd", "cfd"])
def test_routes_that_would_be_too_long_are_not_compared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    router, function = compiler_of(condyle.load("iiwa14")), FUNCTIONS[name]
    routes = [route for route in router.serving(function) if not function.routes[route].baseline]
    sizes = {route: router.estimate(function.routes[route].size or NOTHING) for route in routes}
    limits = sorted(set(sizes.values()))
    assert len(limits) > 1
    for limit in limits[:-1]:
        monkeypatch.setattr(routing, "LONGEST", limit)
        assert router.candidates(function) == [route for route in routes if sizes[route] <= limit]
    monkeypatch.setattr(routing, "LONGEST", limits[0] - 1)
    assert router.candidates(function) == routes, "all are too long: one of them has to serve"


@pytest.mark.parametrize("function", ["dfd", "difd"])
@pytest.mark.parametrize("name", ["hyq", slow("atlas")])
def test_products_are_foreseen(function: str, name: str) -> None:
    """What is said before the trace is near what the trace has; never above it for dfd, a fortieth for difd."""
    from condyle.trace.straight import products, written

    router = compiler_of(condyle.load(name, floating_base=True))
    did = router.best(FUNCTIONS["did"])
    assert isinstance(did.code, Program)
    foreseen = did.counts.arithmetic + products(FUNCTIONS[function].inverts, *written(did.code))
    called = FUNCTIONS[function]
    best = min(router.traced(called, route).counts.arithmetic for route in router.candidates(called))
    assert 0.7 * best < foreseen < (1.05 if function == "difd" else 1.0) * best


@pytest.mark.parametrize("nv", [38, 41])
def test_the_humanoid_is_as_asked(nv: int) -> None:
    for mimic in (False, True):
        robot = humanoid(nv, mimic)
        assert robot.nv == nv
        assert np.linalg.cond(robot.compile("numpy").mass_matrix(robot.random_state(1, 0)[0])[0]) < 1e6


def test_a_variant_with_forces_has_loops_by_its_name_too() -> None:
    robot = condyle.chain(100, rng=1)
    q, v = robot.random_state(2, 0)
    forces, tau = np.ones((2, 100, 6)), np.zeros((2, 100))
    dyn = robot.compile()
    want = dyn.forward_dynamics(q, 0.01 * v, tau, f_ext=forces)
    assert "rolled" in dyn.explain(1, ("fd_f_ext",))
    assert np.array_equal(dyn.function("fd_f_ext")(q, 0.01 * v, tau, forces), want)


def test_a_function_without_loops_says_which_have_them() -> None:
    with pytest.raises(condyle.UnsupportedError, match=r"integrate has no form of loops .*; id, fd, .* do$"):
        compiler_of(condyle.chain(2))._joint_loops(FUNCTIONS["integrate"])


def test_a_function_without_drives_is_that_of_the_robot_without_any() -> None:
    """Also its derivatives, whose rules call functions that have drives: what is kept on disk has one name for both."""
    plain = condyle.load("ur5e")
    robot = plain.with_drives({name: condyle.Drive(damping=1.0) for name in plain.joint_names})
    driven = compiler_of(robot, bound=bound_of(robot, joint_forces=("all",)))
    for name in ("m", "nle", "jacobian_nle", "vjp_g", "jacobian_g"):
        function = function_of(name)
        assert driven.best(function) is compiler_of(robot).best(function)
    assert driven.best(FUNCTIONS["fd"]).code != compiler_of(robot).best(FUNCTIONS["fd"]).code


@pytest.mark.parametrize("name", ["atlas", "talos"])
def test_derivatives_of_a_step_are_code_for_humanoids(name: str) -> None:
    """NumPy would take 500 times as long; that is left to robots whose code is longer by far."""
    compiler = compiler_of(condyle.load(name, floating_base=True))
    assert not compiler.is_too_long(FUNCTIONS["dstep"])
    assert compiler_of(condyle.chain(60, 1)).is_too_long(FUNCTIONS["dstep"])


def router_of(estimate: int, name: str = "iiwa14", **options: object) -> Router:
    """All functions of a robot as long as is said."""
    robot = condyle.load(name)
    router = compiler_of(robot, bound=bound_of(robot, **options))  # type: ignore[arg-type]
    router.estimate = lambda size: estimate
    return router


@pytest.mark.parametrize(
    ("function", "most"),
    [
        ("fd", 60_000),
        ("id_f_ext", 60_000),
        ("dfd", 600_000),
        ("minv", 600_000),
        ("integrate", 150_000),
        ("reg", 150_000),
        ("jacobian_integrate", 900_000),
        ("cfd", 900_000),
        ("dstep", 900_000),
    ],
)
def test_functions_are_loops_above_an_estimate(function: str, most: int) -> None:
    """Vectors and matrices of loops, what has none, and what is made of others."""
    for estimate, is_long in ((most, False), (most + 1, True)):
        router, asked = router_of(estimate), function_of(function)
        assert router.is_hopeless(asked) is is_long
        has_loops = function in ("fd", "id_f_ext", "dfd", "minv")
        assert router.is_too_long(asked) is (is_long and not has_loops and function != "jacobian_integrate")
        assert (router.by_columns(asked) is not None) is (is_long and function == "jacobian_integrate")


def test_named_routes_and_joint_forces_leave_a_function_straight() -> None:
    router = router_of(10**6, "ur5e", joint_forces=("friction",))
    assert router.is_driven(FUNCTIONS["fd"]) and not router.is_driven(FUNCTIONS["m"])
    assert router.is_hopeless(FUNCTIONS["fd"]) and router.is_too_long(FUNCTIONS["fd"])
    assert router.is_hopeless(FUNCTIONS["m"]) and not router.is_too_long(FUNCTIONS["m"])
    with pytest.raises(condyle.UnsupportedError, match=r"^fd has no form of loops over joints"):
        router._joint_loops(FUNCTIONS["fd"])
    router.estimate = lambda size: 900_000
    assert not router.is_hopeless(FUNCTIONS["fd"]), "above the usual limit"
    named = Router(router.tree, router.facts, {FUNCTIONS["m"]: "crba"})
    named.estimate = lambda size: 10**9
    assert not named.is_hopeless(FUNCTIONS["m"]) and named.is_hopeless(FUNCTIONS["minv"])


def test_functions_without_loops_are_not_counted_above_20000() -> None:
    for estimate, is_long in ((20_000, False), (20_001, True)):
        assert router_of(estimate).is_long_straight(FUNCTIONS["integrate"]) is is_long
        assert not router_of(estimate).is_long_straight(FUNCTIONS["fd"])


def test_deep_trees_compare_routes_that_grow_least_with_the_depth() -> None:
    assert router_of(30_000).candidates(FUNCTIONS["fd"]) == ["ltl", "aba", "minv"]
    assert router_of(30_001).candidates(FUNCTIONS["fd"]) == ["ltl", "aba"]
    assert router_of(30_001).candidates(FUNCTIONS["minv"]) == ["ltl"]
    assert router_of(1).candidates(FUNCTIONS["did"]) == ["closed_form", "adjoint", "columns"], "no baselines"


def counted_as(arithmetic: int, code: object = None) -> Traced:
    return Traced("r", code, Counts(arithmetic, 0, 0, 0))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "straight", "loops", "does"),
    [
        ("fd", 20_000, 1, False),
        ("fd", 20_001, 1, True),
        ("fd", 20_001, 22_001, True),
        ("fd", 20_001, 22_002, False),
        ("minv", 150_000, 1, False),
        ("minv", 150_001, 10**9, True),
    ],
)
def test_loops_are_better_than_long_straight_code(
    function: str, straight: int, loops: int, does: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of vectors from 20000 operations on where they have a tenth more at the most, of matrices from 150000 on."""
    router = router_of(1)
    monkeypatch.setattr(router, "_joint_loops", lambda _: counted_as(loops))
    assert router._rolls(FUNCTIONS[function], straight) is does


@pytest.mark.parametrize("function", ["dfd", "difd"])
def test_products_are_foreseen_to_be_too_long(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what they multiply, with a twentieth to spare; by the tree alone with a quarter."""
    router, asked = compiler_of(condyle.load("iiwa14")), FUNCTIONS[function]
    rights = router.best(multiplied_by(asked))
    size = rights.counts.arithmetic + products(asked.inverts, *written(rights.code))  # type: ignore[arg-type]
    least = product_size(router.tree, asked.inverts)
    for limit, is_long in ((size / 1.05 + 1.0, False), (size / 1.05 - 1.0, True)):
        monkeypatch.setattr(routing, "LONGEST", limit)
        assert router._is_surely_long(asked) is is_long and not router._multiplies_long(asked)
    for limit, is_long in ((least / 1.25 + 1.0, False), (least / 1.25 - 1.0, True)):
        monkeypatch.setattr(routing, "LONGEST", limit)
        assert router._multiplies_long(asked) is is_long and router._is_surely_long(asked)
    assert router.compared(asked) == {}
    monkeypatch.setattr(routing, "LONGEST", 10**9)
    assert not router._is_surely_long(asked)
    router.best = lambda _: counted_as(1, "loops")
    assert router._is_surely_long(asked), "what it multiplies is no straight code"
    named = Router(router.tree, router.facts, {asked: next(iter(asked.routes))})
    monkeypatch.setattr(routing, "LONGEST", 1)
    assert not named._is_surely_long(asked) and not router._is_surely_long(FUNCTIONS["fd"])


def test_routes_are_compared_by_their_operations() -> None:
    router = compiler_of(condyle.load("iiwa14"))
    found = router.compared(FUNCTIONS["fd"])
    assert set(found) == {"ltl", "aba", "minv"} and [*found.values()] == sorted(found.values())
    assert router.compared(FUNCTIONS["fd"].taking("f_ext")) == found
    assert router.best(FUNCTIONS["fd"]).route == next(iter(found))
    assert router.best(FUNCTIONS["fd"]).counts.arithmetic == next(iter(found.values()))
    assert router_of(10**9).compared(FUNCTIONS["fd"]) == {}


def test_what_is_not_counted_has_zeros_and_its_route() -> None:
    zeros = dict.fromkeys(("mul", "add", "div", "sincos", "instructions"), 0)
    router = router_of(10**9)
    assert router.counts(FUNCTIONS["integrate"]) == {"function": "integrate", "route": "joints, in NumPy", **zeros}
    said = "fd, integrate"
    assert router.counts(FUNCTIONS["step"]) == {"function": "step", "route": said, **zeros}
    assert router.parts(FUNCTIONS["step"]) == (FUNCTIONS["fd"], FUNCTIONS["integrate"])
    assert router_of(20_000).parts(FUNCTIONS["step"]) == ()
    assert Router(router.tree, router.facts, {FUNCTIONS["step"]: "aba"}).parts(FUNCTIONS["step"]) == ()
    with pytest.raises(condyle.UnsupportedError, match="target 'cuda': integrate of this robot is too long for it"):
        router.straight(FUNCTIONS["integrate"])


def test_a_row_of_counts_is_that_of_the_best_route() -> None:
    router, function = compiler_of(condyle.load("iiwa14")), FUNCTIONS["integrate"]
    zeros = dict.fromkeys(("mul", "div", "sincos"), 0)
    assert router.work(function) == {"function": "integrate", "route": "joints", "add": 7, **zeros}
    assert router.counts(function) == {**router.work(function), "instructions": 7}
