"""What holds of every function that is registered: each target computes what the specification's reference does.

The reference runs on the exact model, whatever normal form a function is compiled in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from condyle import Robot
from condyle.backends.cuda.target import TARGET
from condyle.cli.check import worst_of
from condyle.functions import FUNCTIONS, registered
from condyle.model.physical import contact_numbers
from condyle.specification import Call, Function, expanded
from condyle.specification.ports import F_EXT
from tests.backends.cuda.simulate import made, simulate
from tests.functions.first_moment import FIRST_MOMENT
from tests.held import held
from tests.laws.evaluated import reference
from tests.laws.robots import NAMES, Array, States, relative, robot_named, states
from tests.model.kinematics import frames_at
from tests.processor import slow

EVERY = (*(name for name, one in FUNCTIONS.items() if not one.needs.drives), FIRST_MOMENT.name)
"""Those of joint forces and actuators are in tests/drives."""
QUICK = ("zoo", "floating-3")
"""Every joint type, a floating base; armature."""
LONG = ("did", "dfd", "difd", "dstep", "dcfd")
CASES = [
    (name, function) if name == QUICK[0] or (name in QUICK and function not in LONG) else slow(name, function)
    for name in NAMES
    for function in EVERY
]
INVERSES = ("kkt", "delassusinv")
"""In float32 the pseudo-inverse of rows that depend on others has no digits; tests/contacts has rows that do not."""
CONDITION = 1e5
"""Of the mass matrices of these robots, at most; what solving with M may cost."""


@pytest.fixture(autouse=True, scope="module")
def body_quantity() -> Iterator[Function]:
    with registered(FIRST_MOMENT):
        yield FIRST_MOMENT


def frames_of(robot: Robot) -> tuple[str, ...]:
    """One of the root, one between, one at a tip."""
    names = tuple(robot.frames)
    return names[0], names[len(names) // 2], names[-1]


def bound_of(robot: Robot, function: str) -> dict[str, Any]:
    """What functions of frames and of contacts are compiled for."""
    return {"frames": frames_of(robot), "contacts": held(robot, function)}


def arguments(robot: Robot, function: str, given: States) -> list[Array]:
    known = {"q": given.q, "v": given.v, "a": given.a, "tau": given.a}
    known |= {"dv": given.v, "q0": given.q, "q1": robot.integrate(given.q, given.a)}
    known["dt"] = np.linspace(0.001, 0.02, len(given.q))
    contacts = held(robot, function)
    known |= contact_numbers(len(contacts), len(given.q), np.random.default_rng(5))
    known["friction"] = np.random.default_rng(6).uniform(0.0, 1.0, (len(given.q), len(contacts)))
    for port in FUNCTIONS[function].inputs:
        if port.name not in known:
            known[port.name] = np.asarray(reference(robot, port.given_by, given.q))
    return [known[port.name] for port in FUNCTIONS[function].inputs]


def allowed(function: str, dtype: str) -> float:
    known = FUNCTIONS[function]
    solving = known.condition * CONDITION * float(np.finfo(dtype).eps)
    return max(getattr(known.accuracy, dtype), solving)


def parts(answer: object) -> tuple[Array, ...]:
    return answer if isinstance(answer, tuple) else (np.asarray(answer),)


@pytest.mark.parametrize(("name", "function"), CASES)
def test_a_compiled_answer_is_that_of_the_exact_model(name: str, function: str) -> None:
    """Dense and packed, one state and many, float64 and float32, with external forces where they are taken.

    Long functions of the robot with every joint type are compiled once; the test below has them in float32.
    """
    once = function in INVERSES or (name == QUICK[0] and function in LONG)
    compare(name, function, ("float64",) if once else ("float64", "float32"))


@pytest.mark.slow
@pytest.mark.parametrize("function", LONG)
def test_long_functions_of_every_joint_type_in_float32(function: str) -> None:
    compare(QUICK[0], function, ("float32",))


def compare(name: str, function: str, dtypes: tuple[str, ...]) -> None:
    robot = robot_named(name)
    given = states(robot, 9)
    inputs = arguments(robot, function, given)
    bound, answering = bound_of(robot, function), FUNCTIONS[function].taking(F_EXT)
    forces = {"f_ext": given.f_ext} if FUNCTIONS[function].takes_f_ext else {}
    exact = parts(reference(robot, function, *inputs, **forces, **bound))
    for dtype in dtypes:
        dyn = robot.compile(dtype=dtype, **bound)
        call, most = dyn.function(function), allowed(function, dtype)
        cast = [np.asarray(x, dtype) for x in inputs]
        extra = {key: np.asarray(x, dtype) for key, x in forces.items()}
        packed = [dyn.pack(x, port.name) for x, port in zip(cast, FUNCTIONS[function].inputs, strict=True)]
        for found in (parts(call(*cast, **extra)), tuple(x.dense() for x in parts_of_packed(call(*packed, **extra)))):
            assert max(worst_of(answering, found, exact)) < most, dtype
        one = [x[None] for x in parts(call(*(x[0] for x in cast), **{key: x[0] for key, x in extra.items()}))]
        assert max(worst_of(answering, one, [want[:1] for want in exact])) < most, dtype


def parts_of_packed(answer: object) -> tuple[object, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


@pytest.mark.parametrize("function", [slow(one) if one in ("dfd", "difd", "dstep", "dcfd") else one for one in EVERY])
def test_kernels_of_a_gpu_compute_it_too(function: str) -> None:
    robot = robot_named("tree-0")
    given = states(robot, 5)
    inputs = arguments(robot, function, given)
    bound = bound_of(robot, function)
    found = simulate(made(robot, function, 64, target=TARGET, **bound), [np.reshape(x, (5, -1)) for x in inputs])
    exact = [np.reshape(want, (5, -1)) for want in parts(reference(robot, function, *inputs, **bound))]
    assert max(worst_of(FUNCTIONS[function], found, exact)) < allowed(function, "float64")


@pytest.mark.parametrize("links", ["scan", "auto"])
def test_a_function_without_a_form_is_served_by_another(links: str) -> None:
    """No scan and no loops: the serial, straight form answers, and `explain` says its route."""
    robot = robot_named("chain")
    q = states(robot, 4).q
    for target in ("numpy", "cpu"):
        dyn = robot.compile(target=target, links=links)
        assert relative(dyn.first_moment_of_mass(q), reference(robot, FIRST_MOMENT.name, q)) < 1e-12
        assert f"{FIRST_MOMENT.name} sweep" in " ".join(dyn.explain().split())


@pytest.mark.parametrize("name", ["zoo", "hyq_floating"])
def test_the_reference_of_the_first_moment_is_that_of_the_model(name: str) -> None:
    robot = robot_named(name)
    q = states(robot, 3).q
    for k, state in enumerate(q):
        placed = frames_at(robot, state)
        frames = [placed[body.name] for body in robot.bodies]
        coms = [frame.rotation @ body.com + frame.translation for frame, body in zip(frames, robot.bodies, strict=True)]
        by_hand = sum(body.mass * com for body, com in zip(robot.bodies, coms, strict=True))
        np.testing.assert_allclose(reference(robot, FIRST_MOMENT.name, q)[k], by_hand, rtol=0, atol=1e-12)


@pytest.mark.parametrize("function", [name for name, known in FUNCTIONS.items() if known.composition])
@pytest.mark.parametrize("name", ["zoo", "hyq_floating"])
def test_a_composition_is_what_its_routes_compute(name: str, function: str) -> None:
    """Step by step, by the references of the functions that it calls."""
    robot = robot_named(name)
    given = states(robot)
    known = dict(zip((p.name for p in FUNCTIONS[function].inputs), arguments(robot, function, given), strict=True))
    for step in expanded(FUNCTIONS[function]):
        if isinstance(step, Call):
            taken = [known[x] for x in step.takes or [port.name for port in step.function.inputs]]
            known.update(zip(step.gives, parts(reference(robot, step.function, *taken)), strict=True))
        else:
            known[step.gives] = -known[step.left] @ known[step.right]
    want = parts(reference(robot, function, *arguments(robot, function, given)))
    for port, exact in zip(FUNCTIONS[function].outputs, want, strict=True):
        assert relative(known[port.name], exact) < 1e-8


def test_the_law_sees_a_wrong_normal_form() -> None:
    """Regrouped inertias move mass from body to body: the first moment is another one then."""
    wrong = replace(FIRST_MOMENT, name="wrong", method="wrong_moment", normal_form="joint_space")
    robot = robot_named("zoo")
    q = states(robot, 4).q
    with registered(wrong):
        assert relative(robot.compile().wrong_moment(q), np.asarray(reference(robot, FIRST_MOMENT.name, q))) > 1e-3
