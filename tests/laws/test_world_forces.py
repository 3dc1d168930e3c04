"""External forces in the world's axes: they are the turned ones, and derivatives hold them where they point."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest

import condyle
from condyle import Dynamics, Robot, UnsupportedError
from condyle.backends.common.facts import Facts
from condyle.backends.cuda.target import Form
from condyle.compile.compiler import Compiler
from condyle.compile.gpu import GpuFunction, GpuKernels
from condyle.compile.targets import cache_key
from condyle.functions import FUNCTIONS
from condyle.model.tree import tree_of
from condyle.specification import Bound
from condyle.specification.ports import F_EXT
from condyle.trace.loops import roll
from tests.accuracies import ROUNDING, SOLVED
from tests.backends.cuda.simulate import simulate
from tests.held import held
from tests.laws.evaluated import by_complex_step, reference, tree_for
from tests.laws.robots import NAMES, Array, States, relative, robot_named, states
from tests.laws.tangent import tangent_map
from tests.laws.test_specification import QUICK, allowed, arguments, parts
from tests.processor import slow

WORLD = "local_world_aligned"
FORCED = tuple(name for name, function in FUNCTIONS.items() if function.takes_f_ext and name != "cfric")
"""Of `contact_solve` the residual is rounding alone: it is held to its own in tests/contacts/test_friction.py."""
DERIVED = {"did": "id", "dfd": "fd"}
SOME = [*QUICK, *(slow(name) for name in NAMES if name not in QUICK)]


@cache
def compiled(
    name: str, target: str = "cpu", dtype: str = "float64", force_frame: str = WORLD, function: str = "fd"
) -> Dynamics:
    robot = robot_named(name)
    return robot.compile(target=target, dtype=dtype, force_frame=force_frame, contacts=held(robot, function))


def turned(robot: Robot, given: States) -> Array:
    """The same forces in their bodies' axes."""
    named = {body.name: given.f_ext[:, k] for k, body in enumerate(robot.bodies)}
    return robot.f_ext(named, frame=WORLD, q=given.q)


@pytest.mark.parametrize("function", ["id", "fd", "nle"])
@pytest.mark.parametrize("name", NAMES)
def test_forces_are_those_of_the_bodies_turned(name: str, function: str) -> None:
    robot = robot_named(name)
    given = states(robot, 4)
    inputs = arguments(robot, function, given)
    found = reference(robot, function, *inputs, f_ext=given.f_ext, force_frame=WORLD)
    want = reference(robot, function, *inputs, f_ext=turned(robot, given))
    assert relative(found, want) < max(ROUNDING, FUNCTIONS[function].accuracy.float64)
    assert relative(found, reference(robot, function, *inputs, f_ext=given.f_ext)) > 1e-3


@pytest.mark.parametrize("function", DERIVED)
@pytest.mark.parametrize("name", SOME)
def test_derivatives_hold_the_force_in_the_world(name: str, function: str) -> None:
    """By every route, against complex steps through the function itself."""
    robot = robot_named(name)
    q, v, a, f_ext = states(robot, 2)
    of, bound = DERIVED[function], ROUNDING if function == "did" else SOLVED
    by_q = by_complex_step(robot, of, tangent_map(robot, q), q, v, a, f_ext, force_frame=WORLD)
    unit = np.broadcast_to(np.eye(robot.nv), (2, robot.nv, robot.nv))
    by_v = by_complex_step(robot, of, unit, q, v, a, f_ext, rate=True, force_frame=WORLD)
    for route in FUNCTIONS[function].route_names(tree_for(robot).has_shared_coordinates):
        found = reference(robot, function, q, v, a, f_ext=f_ext, route=route, force_frame=WORLD)
        assert relative(found[0], by_q) < bound, route
        assert relative(found[1], by_v) < bound, route


@pytest.mark.parametrize("name", SOME)
def test_difd_is_did_and_products(name: str) -> None:
    robot = robot_named(name)
    q, v, a, f_ext = states(robot, 2)
    inverse = reference(robot, "minv", q)
    by_q, by_v = reference(robot, "did", q, v, a, f_ext=f_ext, force_frame=WORLD)
    for route in FUNCTIONS["difd"].route_names(tree_for(robot).has_shared_coordinates):
        found = reference(robot, "difd", q, v, a, inverse, f_ext=f_ext, route=route, force_frame=WORLD)
        assert relative(found[0], -inverse @ by_q) < SOLVED, route
        assert relative(found[1], -inverse @ by_v) < SOLVED, route


@pytest.mark.parametrize("function", [slow(one) if one in ("dfd", "difd", "dcfd", "dstep") else one for one in FORCED])
@pytest.mark.parametrize("name", ["floating-3", *(slow(name) for name in NAMES if name != "floating-3")])
def test_every_call_is_that_of_the_reference(name: str, function: str) -> None:
    """NumPy, compiled code in both number types, packed, one state, a pickle."""
    robot = robot_named(name)
    given = states(robot, 9)
    inputs = arguments(robot, function, given)
    known = {"f_ext": given.f_ext, "force_frame": WORLD, "contacts": held(robot, function)}
    exact = parts(reference(robot, function, *inputs, **known))
    for target, dtype in (("numpy", "float64"), ("cpu", "float64"), ("cpu", "float32")):
        dyn, bound = compiled(name, target, dtype, function=function), allowed(function, dtype)
        *cast, forces = (np.asarray(x, dtype) for x in (*inputs, given.f_ext))
        call = dyn.function(function)
        packed = [dyn.pack(x, port.name) for x, port in zip(cast, FUNCTIONS[function].inputs, strict=True)]
        by_packs = call(*packed, f_ext=dyn.pack(forces, "f_ext"))
        dense = tuple(x.dense() for x in (by_packs if isinstance(by_packs, tuple) else (by_packs,)))
        for found in (parts(call(*cast, f_ext=forces)), dense):
            assert all(relative(one, want) < bound for one, want in zip(found, exact, strict=True))
        one = parts(call(*(x[0] for x in cast), f_ext=forces[0]))
        assert all(relative(x[None], want[:1]) < bound for x, want in zip(one, exact, strict=True))
        again = pickle.loads(pickle.dumps(dyn)).function(function)(*cast, f_ext=forces)
        assert all(np.array_equal(x, y) for x, y in zip(parts(again), parts(call(*cast, f_ext=forces)), strict=True))


@pytest.mark.parametrize("function", ["id", slow("fd"), slow("did"), slow("dfd"), slow("difd"), slow("nle")])
def test_without_forces_nothing_changes(function: str) -> None:
    robot = robot_named("floating-3")
    inputs = arguments(robot, function, states(robot, 5))
    one, other = compiled("floating-3"), compiled("floating-3", force_frame="local")
    pairs = zip(parts(one.function(function)(*inputs)), parts(other.function(function)(*inputs)), strict=True)
    assert all(np.array_equal(x, y) for x, y in pairs)


def compiler_for(robot: Robot, force_frame: str = WORLD) -> Compiler:
    return Compiler(tree_of(robot, Bound(force_frame=force_frame)), Facts(robot.nq, robot.nv, robot.fingerprint), {})


@pytest.mark.parametrize("function", FORCED)
def test_kept_kernels_are_told_apart(function: str) -> None:
    robot = robot_named("floating-3")
    local, world = compiler_for(robot, "local"), compiler_for(robot)
    plain, forced = FUNCTIONS[function], FUNCTIONS[function].taking(F_EXT)
    assert cache_key(local, plain, "float64") == cache_key(world, plain, "float64")
    assert cache_key(local, forced, "float64") != cache_key(world, forced, "float64")
    assert cache_key(local, forced, "float64").routes == "[]"  # what it was before there was such an option


@pytest.mark.parametrize("function", ["id", slow("did"), slow("dfd")])
def test_kernels_of_a_gpu_take_them_too(function: str) -> None:
    robot = robot_named("floating-3")
    given = states(robot, 5)
    inputs = arguments(robot, function, given)
    kernels, forced = GpuKernels(compiler_for(robot)), FUNCTIONS[function].taking(F_EXT)
    made = GpuFunction(kernels, forced, "float64", 132).launches(Form(1, kernels.usual(forced)))
    found = simulate(made, [np.reshape(x, (5, -1)) for x in (*inputs, given.f_ext)])
    exact = parts(reference(robot, function, *inputs, f_ext=given.f_ext, force_frame=WORLD))
    for one, want in zip(found, exact, strict=True):
        assert relative(one, np.reshape(want, (5, -1))) < allowed(function, "float64")


@pytest.mark.parametrize(("links", "target"), [("scan", "numpy"), slow("scan", "cpu"), slow("auto", "cpu")])
def test_scans_leave_them_to_serial_code(links: str, target: str) -> None:
    robot = robot_named("chain")
    given = states(robot, 5)
    for function in FORCED:
        contacts = held(robot, function)
        dyn = robot.compile(target=target, links=links, force_frame=WORLD, contacts=contacts)
        inputs = arguments(robot, function, given)
        known = {"force_frame": WORLD, "contacts": contacts}
        exact = parts(reference(robot, function, *inputs, f_ext=given.f_ext, **known))
        for one, want in zip(parts(dyn.function(function)(*inputs, f_ext=given.f_ext)), exact, strict=True):
            assert relative(one, want) < allowed(function, "float64"), function
        plain = parts(reference(robot, function, *inputs, contacts=contacts))
        for one, want in zip(parts(dyn.function(function)(*inputs)), plain, strict=True):
            assert relative(one, want) < allowed(function, "float64"), function


@pytest.mark.slow  # the loops of 320 links
def test_long_robots_answer_by_numpy() -> None:
    """Loops take no forces in the world's axes; a call without forces still runs as loops."""
    robot = condyle.chain(320, rng=2)
    given = states(robot, 2)
    dyn = robot.compile(force_frame=WORLD)
    want = reference(robot, "id", given.q, given.v, given.a, f_ext=turned(robot, given))
    assert relative(dyn.inverse_dynamics(given.q, given.v, given.a, f_ext=given.f_ext), want) < ROUNDING
    assert "loops over 320 links" in dyn.explain()
    with pytest.raises(UnsupportedError, match="force_frame='local'"):
        roll(tree_of(robot, Bound(force_frame=WORLD)), FUNCTIONS["id"].taking(F_EXT))
