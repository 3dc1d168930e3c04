"""Derivatives of an arm against CasADi's, which differentiates the same equations by its own rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.algorithms.matrix import dense
from condyle.algorithms.unrolled import Unrolled
from condyle.functions import function_of
from tests.derivatives.differences import Array, State

casadi = pytest.importorskip("casadi")


def in_casadi(state: State, function: str) -> tuple[list[Any], list[Any]]:
    """Inputs and answers as columns of its symbols."""
    inputs = [
        casadi.SX.sym(port.name, x.shape[1]) for port, x in zip(function_of(function).inputs, state.point, strict=True)
    ]
    columns = {
        port.name: [x[k] for k in range(x.numel())]
        for port, x in zip(function_of(function).inputs, inputs, strict=True)
    }
    answers = next(iter(function_of(function).routes.values())).run(Unrolled(state.tree, columns))
    return inputs, [casadi.vertcat(*dense(answer)) for answer in answers]  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of the names of its functions in NumPy
@pytest.mark.parametrize("function", ["id", "fd", "fk", "ke"])
def test_jacobian_and_hessian(function: str) -> None:
    state = State(condyle.load("iiwa14"), function)
    inputs, answers = in_casadi(state, function)
    x = casadi.vertcat(*inputs)
    total = sum(casadi.dot(casadi.DM(lam[0]), y) for lam, y in zip(state.cotangent, answers, strict=True))
    parts = [*(casadi.jacobian(y, one) for y in answers for one in inputs), casadi.hessian(total, x)[0]]
    expected = [np.array(one) for one in casadi.Function("f", inputs, parts)(*(y[0] for y in state.point))]
    found: list[Array] = [*state.derived("jacobian"), *state.derived("hessian", state.cotangent)]
    for one, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            np.reshape(one, theirs.shape), theirs, atol=1e-9 * max(1.0, np.max(np.abs(theirs))), rtol=0
        )
