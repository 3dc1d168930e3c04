"""Closed rules of derivatives, and what they leave to differentiation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.algorithms.quadratic_program import Side
from condyle.derivatives import columns_of, derivative, hessian, jacobian, jvp, vjp
from condyle.errors import UnsupportedError
from condyle.functions import AUXILIARY, FUNCTIONS, iterate, repeat
from condyle.functions.quadratic_program import Shape, quadratic_program
from condyle.model.tree import tree_of
from condyle.specification import Bound
from condyle.trace.reference import evaluate
from tests.accuracies import DIFFERENCES, SOLVED
from tests.contacts.cases import arm
from tests.derivatives.differences import FOURTH, State, error, first
from tests.driven import driven, smooth_drives


def pushed(function: str, robot: condyle.Robot, contacts: tuple[condyle.Contact, ...] = ()) -> State:
    """Of a robot on which joint forces act, and actuators push."""
    moved = driven(robot)
    state = State(moved, function)
    state.__dict__["tree"] = tree_of(moved, Bound(contacts=contacts, drives=smooth_drives(moved)))
    return state


def jacobian_error(state: State) -> float:
    """Of the blocks times a direction, against differences along it."""
    h = 1e-4
    along, blocks = first(state.along(h * FOURTH[0]), h), iter(state.derived("jacobian"))
    found = [
        sum(np.reshape(next(blocks), (x.shape[1], dx.shape[1])) @ dx[0] for dx in state.tangent)[None] for x in along
    ]
    return error(found, along)


@pytest.mark.parametrize("function", ["g", "nle", "nle_damping", "id", "fd", "fd_u"])
def test_jacobians_where_joint_forces_act(function: str) -> None:
    assert jacobian_error(pushed(function, condyle.chain(3))) < 1e-8


def test_a_hessian_with_controls() -> None:
    """H along a direction is the difference of gradients."""
    state, h = pushed("fd_u", condyle.chain(2)), 1e-4
    n = sum(x.shape[1] for x in state.tangent)
    found = np.reshape(state.derived("hessian", state.cotangent)[0], (n, n))
    tangent, still = state.tangent, [0.0 * x for x in state.cotangent]
    gradients = state.along(h * FOURTH[0], "vjp_fd_u", [*state.point, *state.cotangent], [*tangent, *still])
    wanted = np.concatenate([x[0] for x in first(gradients, h)])
    np.testing.assert_allclose(found @ np.concatenate([x[0] for x in tangent]), wanted, rtol=0, atol=DIFFERENCES)


@pytest.mark.parametrize("function", ["cfd", "cfd_u", "cres"])
def test_jacobians_with_contacts_where_joint_forces_act(function: str) -> None:
    case = arm()
    assert jacobian_error(pushed(function, case.robot, case.contacts)) < 1e-6


def test_a_solve_by_elimination_is_that_by_factors() -> None:
    """M a - J^T f = x, J a = y; f = y where a contact is off. And M a = tau."""
    case, rng = arm(), np.random.default_rng(0)
    robot, tree = case.robot, tree_of(case.robot, Bound(contacts=case.contacts))
    n, rows, q = robot.nv, tree.n_rows, case.robot.random_state(1, 1).q
    active = np.ones((1, len(case.contacts)))
    inputs = {"q": q, "active": active, "x": rng.normal(size=(1, n)), "y": rng.normal(size=(1, rows))}
    M = np.reshape(evaluate(tree, FUNCTIONS["m"], "crba", {"q": q})[0], (n, n))
    J = np.reshape(evaluate(tree, FUNCTIONS["cjac"], "columns", {"q": q})[0], (rows, n))
    for flag in (1.0, 0.0):
        for route in ("ltl", "aba"):
            a, f = evaluate(tree, AUXILIARY["ksolve"], route, {**inputs, "active": flag * active})
            np.testing.assert_allclose(M @ a[0] - flag * J.T @ f[0], inputs["x"][0], rtol=0, atol=SOLVED)
            np.testing.assert_allclose(J @ a[0] if flag else f[0], inputs["y"][0], rtol=0, atol=SOLVED)
    for route in ("ltl", "aba"):
        (a,) = evaluate(tree, AUXILIARY["solve"], route, {"q": q, "tau": inputs["x"]})
        np.testing.assert_allclose(M @ a[0], inputs["x"][0], rtol=0, atol=SOLVED)


def test_what_gives_columns() -> None:
    """A column of a Jacobian is a jvp, one of a Hessian that of a vjp."""
    fd = FUNCTIONS["fd"]
    assert columns_of(fd) is None and columns_of(jvp(fd)) is None and columns_of(vjp(fd)) is None
    assert columns_of(jacobian(fd, ("tau", "q"))) == (jvp(fd), (0, 2), False)
    assert columns_of(hessian(fd)) == (jvp(vjp(fd)), (0, 1, 2), True)


@pytest.mark.parametrize("by", [(), ("u",), ("q", "u"), ("q", "q"), "qq"])
def test_inputs_that_a_derivative_cannot_be_by(by: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"jacobian\('fd', by=.*give some of its inputs, each once: q, v, tau"):
        jacobian(FUNCTIONS["fd"], by)


def test_derivatives_by_inputs_are_one_however_they_are_asked_for() -> None:
    fd = FUNCTIONS["fd"]
    assert jacobian(fd, "v") is jacobian(fd, ("v",)) and jacobian(fd, ("tau", "q")) is jacobian(fd, ["q", "tau"])
    assert jacobian(fd) is jacobian(fd, ("q", "v", "tau")) and jacobian(fd).name != jacobian(fd, "v").name


def test_derivatives_of_loops() -> None:
    """Of a rollout there is its vjp once; of an iteration none."""
    rollout = repeat(FUNCTIONS["step"], 3)
    assert vjp(rollout).name == "vjp_rollout_3_of_step"
    for kind, of in (("jvp", rollout), ("jacobian", rollout), ("vjp", vjp(rollout))):
        with pytest.raises(UnsupportedError, match=rf"^{kind}.*of a rollout there is vjp; roll out the {kind} of its"):
            derivative(kind, of)
    step = condyle.function(lambda x: {"x": 0.5 * x, "done": x[0]}, inputs={"x": 2}).specification
    with pytest.raises(UnsupportedError, match=r"^vjp.*an iteration that ends has no such derivative"):
        vjp(iterate(step, 4))


def test_all_derivatives_of_a_function_that_has_a_jvp_and_a_vjp() -> None:
    """Of a quadratic program: its Jacobian by differences, and the curvature of the answers, by those of its vjp."""
    program, tree = (
        quadratic_program(Shape(2, 1, 0, (Side(0, 1.0), Side(2, -1.0)), False, 30)),
        tree_of(condyle.chain(1)),
    )
    numbers = {"hessian": [2.0, 0.3, 1.0], "gradient": [1.0, -2.0], "rows": [1.0, 0.5], "limits": [0.2, 0.1]}
    point = {name: np.array([x]) for name, x in {**numbers, "start": [0.0, 0.0]}.items()}

    def call(function: Any, **more: Any) -> list[Any]:
        return evaluate(tree, function, function.route_names(False)[0], {**point, **more})

    def difference(function: Any, name: str, entry: int, **more: Any) -> list[Any]:
        ends = []
        for h in (1e-5, -1e-5):
            x = point[name].copy()
            x[0, entry] += h
            ends.append(call(function, **{**more, name: x}))
        return [(ahead - behind) / 2e-5 for ahead, behind in zip(*ends, strict=True)]

    outputs, jacobians = [port.name for port in program.outputs], jacobian(program)
    blocks = dict(zip((port.name for port in jacobians.outputs), call(jacobians), strict=True))
    for name in numbers:
        width = point[name].shape[1]
        for entry in range(width):
            along = difference(program, name, entry)
            for output, wanted in zip(outputs[:2], along, strict=False):
                found = blocks[f"d{output}_d{name}"].reshape(-1, width)[:, entry]
                np.testing.assert_allclose(found, wanted[0], rtol=0, atol=DIFFERENCES)
    lam = {port.name: np.zeros((1, 1)) for port in vjp(program).inputs[5:]}
    lam |= {name: np.array([[1.0, -0.5] if "x" in name else [0.0] * 3]) for name in list(lam)[:2]}
    curved = hessian(program)
    factors = dict(zip((port.name for port in curved.inputs[5:]), lam.values(), strict=True))
    H = call(curved, **factors)[0].reshape(11, 11)
    gradients = [difference(vjp(program), name, k, **lam) for name in point for k in range(point[name].shape[1])]
    wanted = np.array([np.concatenate([x[0] for x in gradient]) for gradient in gradients])
    np.testing.assert_allclose(H, 0.5 * (wanted + wanted.T), rtol=0, atol=DIFFERENCES * np.abs(H).max())
    assert np.abs(H[:9, :9]).max() > 0.1 and np.array_equal(H, H.T)
