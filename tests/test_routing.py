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
from condyle.compile.routes import LONGEST, NOTHING, Router
from condyle.functions import DEFAULT, FUNCTIONS, function_of
from condyle.ir.loops import Rolled
from condyle.ir.program import Program
from condyle.ir.segments import Segmented
from condyle.model.tree import tree_of
from condyle.passes import pipeline
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
