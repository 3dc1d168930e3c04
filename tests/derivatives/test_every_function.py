"""Every derivative of every function, against differences of the reference and against each other.

jvp is held to differences along one direction; vjp is its adjoint, and the Jacobian times the direction is it; the
Hessian is held to second differences, and is symmetric. There is no list of functions here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import condyle
from condyle.functions import FUNCTIONS, function_of
from condyle.model.robot import Robot
from tests.derivatives.differences import DIFFERENCES, FOURTH, SECOND, State, error, every_function, first
from tests.zoo import every_joint

ROBOTS: dict[str, Callable[[], Robot]] = {
    "arm": lambda: condyle.chain(3),
    "tree": lambda: condyle.random_tree(3, 5, types=("revolute", "helical", "spherical"), floating_base=True),
    "iiwa14": lambda: condyle.load("iiwa14"),
    "hyq": lambda: condyle.load("hyq", floating_base=True),
    "every joint": every_joint,
    "random tree": lambda: condyle.random_tree(6, 3, floating_base=True),
}
LONG = ("step_f_ext", "cfric", "cfric_f_ext", "cfd_f_ext", "dcfd", "dcfd_f_ext")
"""Seconds for a Hessian; step without forces is quick."""
SMALL = ("step", "step_u", "cid", "cfd", "impact")
"""Their Hessians are held to an arm first."""
MIMIC = (("every joint", "id"), ("every joint", "difference"))


def _cases(functions: list[str], small: tuple[str, ...] = ()) -> list[object]:
    """Matrices of bigger robots are slow to differentiate, and so are those that are solved for; small: of an arm."""
    quick = {name: "tree" if function_of(name).is_vector and name not in small else "arm" for name in functions}
    marks = {
        (robot, name): []
        if (robot == quick[name] and name not in LONG) or (robot, name) in MIMIC
        else [pytest.mark.slow]
        for robot in ROBOTS
        for name in functions
    }
    return [pytest.param(*case, marks=of, id="-".join(case)) for case, of in marks.items()]


def _allowed(kind: str, state: State) -> float:
    return function_of(f"{kind}_{state.function}").accuracy.float64 + DIFFERENCES


@pytest.mark.parametrize(("robot", "function"), _cases(every_function()))
def test_first_derivatives(robot: str, function: str) -> None:
    state, h = State(ROBOTS[robot](), function), 1e-4
    along = state.derived("jvp", state.tangent)
    assert error(along, first(state.along(h * FOURTH[0]), h)) < _allowed("jvp", state)
    bars = state.derived("vjp", state.cotangent)
    ahead = [float(np.sum(x * y)) for x, y in zip(along, state.cotangent, strict=True)]
    back = [float(np.sum(x * y)) for x, y in zip(bars, state.tangent, strict=True)]
    scale = max(1.0, *map(abs, ahead), *map(abs, back))
    assert abs(sum(ahead) - sum(back)) < scale * _allowed("vjp", state)
    blocks = iter(state.derived("jacobian"))
    products = [
        sum(np.reshape(next(blocks), (x.shape[1], dx.shape[1])) @ dx[0] for dx in state.tangent)[None]  # type: ignore[index]
        for x in along
    ]
    assert error(products, along) < _allowed("jacobian", state)


@pytest.mark.parametrize(
    ("robot", "function"), _cases([name for name in every_function() if function_of(name).is_vector], SMALL)
)
def test_hessian(robot: str, function: str) -> None:
    check_hessian(State(ROBOTS[robot](), function))


@pytest.mark.parametrize("function", ["integrate", "step"])
@pytest.mark.parametrize("kind", ["planar", "spherical", "free"])
def test_hessian_of_a_configuration(kind: str, function: str) -> None:
    """Its change is q1 ⊖ q0, which has second-order terms for these joints."""
    builder = condyle.Builder().body("a", mass=1.0, com=(0.1, 0.2, 0.3), inertia=np.diag((0.4, 0.5, 0.6)))
    check_hessian(State(builder.joint("j", parent="world", child="a", type=kind).build(), function))


def check_hessian(state: State) -> None:
    """Against second differences along one direction, and symmetric."""
    h = 1e-3
    n = sum(x.shape[1] for x in state.tangent)
    found = np.reshape(state.derived("hessian", state.cotangent)[0], (n, n))
    assert np.array_equal(found, found.T)
    e = np.concatenate(state.tangent, axis=1)[0]
    answers = state.along(h * SECOND[0])
    expected = sum(SECOND[1] @ (x @ lam[0]) for x, lam in zip(answers, state.cotangent, strict=True)) / h**2
    scale = max(1.0, float(np.max(np.abs(found))) * len(e))
    assert abs(float(e @ found @ e - expected)) < scale * (_allowed("hessian", state) + 1e-8)


@pytest.mark.smoke
@pytest.mark.parametrize("function", ["id", "fd", "com", "ke", "nle_f_ext", "difference"])
def test_a_vjp_is_differentiated_again(function: str) -> None:
    """By the Hessian and the Jacobian of the function, where that is known."""
    state, h = State(ROBOTS["tree"](), function), 1e-4
    point, ports = [*state.point, *state.cotangent], function_of(f"vjp_{function}").inputs
    tangent = [*state.tangent, *state.small(function_of(function).outputs, 7)]
    expected = first(state.along(h * FOURTH[0], f"vjp_{function}", point, tangent), h)
    blocks = iter(state.call(f"jacobian_vjp_{function}", point))
    found = [
        sum(np.reshape(next(blocks), (x.shape[1], dx.shape[1])) @ dx[0] for dx in tangent)[None]  # type: ignore[index]
        for x in expected
    ]
    assert len(ports) == len(tangent) and error(found, expected) < _allowed("hessian", state)
    along = state.call(f"jvp_vjp_{function}", [*point, *tangent])
    assert error(along, expected) < _allowed("hessian", state)


@pytest.mark.parametrize("reference_frame", ["world", "local_world_aligned"])
@pytest.mark.parametrize(
    "function", [name for name, one in FUNCTIONS.items() if "reference_frame" in one.options or name == "fk"]
)
def test_frames_in_every_reference_frame(function: str, reference_frame: str) -> None:
    if (
        function_of(function).needs.reference_frames
        and reference_frame not in function_of(function).needs.reference_frames
    ):
        pytest.skip("it has no meaning there")
    state, h = State(ROBOTS["tree"](), function, reference_frame), 1e-4
    along = state.derived("jvp", state.tangent)
    assert error(along, first(state.along(h * FOURTH[0]), h)) < _allowed("jvp", state)
    bars = state.derived("vjp", state.cotangent)
    ahead = sum(float(np.sum(x * y)) for x, y in zip(along, state.cotangent, strict=True))
    assert abs(ahead - sum(float(np.sum(x * y)) for x, y in zip(bars, state.tangent, strict=True))) < 1e-9
