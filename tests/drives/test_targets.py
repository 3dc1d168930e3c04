"""Joint forces and actuators on every target, by every route, and as links in parallel: what the reference answers."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Dynamics, Robot
from condyle.backends.common.facts import Facts
from condyle.backends.cuda.target import Form
from condyle.compile.compiler import Compiler
from condyle.compile.gpu import GpuFunction
from condyle.compile.options import bound_of
from condyle.functions import FUNCTIONS, function_of
from condyle.model.tree import tree_of
from tests.backends.cuda.simulate import simulate
from tests.driven import driven
from tests.laws.robots import relative
from tests.processor import slow
from tests.zoo import every_joint

Array = np.ndarray
N, DT = 5, 0.01
ACCURACY = {"float64": 1e-10, "float32": 5e-4}
"""M of these robots has a condition of 1e3 at most, and digits are lost as many times."""
FORCED = {"joint_forces": ("all",)}
PUSHED = {"joint_forces": ("all",), "actuators": True}
MOVED = ("fd", "dfd", "step", "dstep", "id", "did", "jf", "af")
ROBOTS = {
    "arm": lambda: condyle.random_tree(3, rng=1, types=("revolute", "prismatic")),
    "floating": lambda: condyle.random_tree(4, 5, floating_base=True, types=("revolute", "prismatic")),
    "every joint": every_joint,
    "mimic": lambda: condyle.load("panda"),
}


@cache
def robot(name: str) -> Robot:
    return driven(ROBOTS[name]())


@cache
def reference(name: str, actuators: bool) -> Dynamics:
    return robot(name).compile("numpy", **(PUSHED if actuators else FORCED))


def arguments(dyn: Dynamics, one: Robot, function: str, dtype: str = "float64") -> dict[str, Array]:
    """By name, of one function."""
    rng, state = np.random.default_rng(2), one.random_state(N, 3)
    known: dict[str, Any] = {"q": state.q, "v": 0.5 * state.v, "dt": np.linspace(0.5, 1.0, N) * DT}
    for port in dyn.driven(FUNCTIONS[function]).inputs:
        known.setdefault(port.name, rng.uniform(-1.5, 1.5, (N, *port.shape(dyn.sizes))))
    return {port.name: known[port.name].astype(dtype) for port in dyn.driven(FUNCTIONS[function]).inputs}


def parts(answer: Any) -> tuple[Any, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def worst(found: Any, expected: Any) -> float:
    return max(relative(x, y, 1e-6) for x, y in zip(parts(found), parts(expected), strict=True))


def cases(*robots: str) -> list[object]:
    """Of every function; quick of these robots."""
    every = [(name, actuators, one) for name in ROBOTS for actuators in (False, True) for one in MOVED]
    return [case if case[0] in robots else slow(*case) for case in every if case[1] or case[2] != "af"]


@pytest.mark.parametrize(("name", "actuators", "function"), cases("arm"))
def test_machine_code(name: str, actuators: bool, function: str) -> None:
    """Dense and packed, one state and many, in both number types, with external forces."""
    dyn = reference(name, actuators)
    options = PUSHED if actuators else FORCED
    for dtype in ("float64", "float32"):
        given = arguments(dyn, robot(name), function, dtype)
        more = {}
        if FUNCTIONS[function].takes_f_ext:
            more["f_ext"] = np.random.default_rng(4).normal(size=(N, dyn.sizes["n_bodies"], 6)).astype(dtype)
        expected = dyn.function(function)(
            *(x.astype(float) for x in given.values()), **{k: x.astype(float) for k, x in more.items()}
        )
        compiled = robot(name).compile("cpu", dtype, **options)
        call = compiled.function(function)
        assert worst(call(**given, **more), expected) < ACCURACY[dtype]
        packed = {port: compiled.pack(x, port, dyn.driven(FUNCTIONS[function])) for port, x in given.items()}
        plain = dyn.function(function)(*(x.astype(float) for x in given.values()))
        assert worst(tuple(x.dense() for x in parts(call(**packed))), plain) < ACCURACY[dtype]
        single = call(**{port: x[2] for port, x in given.items()})
        assert worst(tuple(x[None] for x in parts(single)), tuple(x[2:3] for x in parts(plain))) < ACCURACY[dtype]


@pytest.mark.parametrize("function", [*(slow(one) for one in MOVED if one != "step"), "step"])
def test_c(function: str) -> None:
    dyn = reference("arm", True)
    given = arguments(dyn, robot("arm"), function)
    compiled = robot("arm").compile("c", **PUSHED)
    assert worst(compiled.function(function)(**given), dyn.function(function)(**given)) < ACCURACY["float64"]


@pytest.mark.parametrize("function", [slow(one) if one in ("dstep", "did") else one for one in MOVED])
def test_kernels_of_a_gpu(function: str) -> None:
    """A thread a state, as PTX that is interpreted."""
    dyn, one = reference("arm", True), robot("arm")
    given = arguments(dyn, one, function)
    bound = bound_of(one, joint_forces=("all",), actuators=True)
    compiler = Compiler(tree_of(one, bound), Facts(one.nq, one.nv), {})
    called = dyn.driven(FUNCTIONS[function])
    known = compiler.gpu_kernels
    launches = GpuFunction(known, called, "float64", 132).launches(Form(1, known.usual(called)))
    found = simulate(launches, [np.reshape(x, (N, -1)) for x in given.values()])
    expected = parts(dyn.function(function)(**given))
    assert worst(tuple(found), tuple(np.reshape(x, (N, -1)) for x in expected)) < ACCURACY["float64"]


ROUTED = [
    (name, function, route)
    for name in ROBOTS
    for function in ("fd", "dfd", "step", "id", "did")
    for route in FUNCTIONS[function].route_names(name in ("every joint", "mimic"))
]


@pytest.mark.parametrize(
    ("name", "function", "route"), [case if case[0] in ("arm", "mimic") else slow(*case) for case in ROUTED]
)
def test_every_route(name: str, function: str, route: str) -> None:
    """Eliminations of joints have the added mass as armature; where a tendon couples joints, factors of M do it."""
    for actuators, options in ((False, FORCED), (True, PUSHED)):
        dyn = reference(name, actuators)
        given = arguments(dyn, robot(name), function)
        routed = robot(name).compile("numpy", routes={function: route}, **options)
        assert worst(routed.function(function)(**given), dyn.function(function)(**given)) < ACCURACY["float64"]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("links", ["scan", "auto"])
def test_links_in_parallel_have_no_drives_and_leave_them_to_serial_code(links: str, target: str) -> None:
    one = driven(condyle.chain(6, rng=1))
    for options in (FORCED, PUSHED, {"actuators": True}):
        dyn, parallel = (
            one.compile(kind, links=way, **options) for kind, way in (("numpy", "serial"), (target, links))
        )
        for function in ("fd", "dfd", "id", "did", "step"):
            given = arguments(dyn, one, function)
            assert worst(parallel.function(function)(**given), dyn.function(function)(**given)) < ACCURACY["float64"]
    scanned = one.compile("numpy", links="scan", actuators=True).explain(1, ("id", "m"))
    assert scanned.count("scans over the links") == 2


@pytest.mark.parametrize("function", ["fd", "step", "jf", "af"])
def test_derivatives_on_the_processor(function: str) -> None:
    """First and second, by the forces of joints, controls and the gains that are inputs too."""
    one = driven(condyle.random_tree(2, rng=1, types=("revolute",)))
    options: dict[str, Any] = {**PUSHED, "inputs": ("damping", "dry_friction", "stiffness", "actuator_gains")}
    dyn, compiled = one.compile("numpy", **options), one.compile("cpu", **options)
    given = arguments(dyn, one, function)
    rng = np.random.default_rng(5)
    taken = dyn.driven(function_of(function)).taking(*options["inputs"])
    more = {
        port.name: 0.1 + rng.uniform(0.0, 1.0, (N, *port.shape(dyn.sizes)))
        for port in taken.inputs
        if port.name in options["inputs"]
    }
    bars = [rng.normal(size=(N, one.nv)) for _ in taken.outputs]
    moved = [rng.normal(size=(N, one.nv) if name == "q" else x.shape) for name, x in given.items()]
    tangents = {f"d{name}": rng.normal(size=x.shape) for name, x in more.items()}
    for kind, behind, named in (
        ("jvp", moved, tangents),
        ("vjp", bars, {}),
        ("jacobian", [], {}),
        ("hessian", bars, {}),
    ):
        calls = [
            partial(getattr(each, kind)(function), *given.values(), *behind, **more, **named)
            for each in (compiled, dyn)
        ]
        assert worst(calls[0](), calls[1]()) < 1e-8, kind  # an order of derivatives loses two digits
