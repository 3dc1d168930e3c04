"""A function is named by its short name or by its method's, everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import UnsupportedError
from condyle.derivatives import DERIVATIVE_KINDS, derivative
from condyle.functions import FUNCTIONS, function_of, function_or_none
from condyle.specification import F_EXT

ROBOT = condyle.chain(2, 0)
DYN = ROBOT.compile(target="numpy")


def test_methods_and_short_names_cannot_be_confused() -> None:
    methods = {function.method: function.name for function in FUNCTIONS.values()}
    assert len(methods) == len(FUNCTIONS)
    assert all(methods.get(name, name) == name for name in FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_method_names_its_function(name: str) -> None:
    function = FUNCTIONS[name]
    method = function.method
    assert function_of(name) is function_of(method) is function_of(function) is function
    for kind in DERIVATIVE_KINDS:
        assert function_of(f"{kind}_{method}") == function_of(f"{kind}_{name}") == derivative(kind, function)
    if function.takes_f_ext:
        assert function_of(f"{method}_f_ext") == function.taking(F_EXT)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("jacobian_forward_dynamics_by_q_v", "jacobian_fd_by_q_v"),
        ("vjp_jvp_mass_matrix", "vjp_jvp_m"),
        ("mass_matrix_inverse", "minv"),
        ("rollout_5_by_tau_of_step", "rollout_5_by_tau_of_step"),
    ],
)
def test_names_that_are_made_of_others(said: str, meant: str) -> None:
    assert function_of(said).name == meant


@pytest.mark.parametrize("said", ["dynamics", "", None, ["fd"], "vjp_", "jacobian_fd_by_", "fd_" * 400])
def test_what_names_no_function(said: object) -> None:
    assert function_or_none(said) is None
    with pytest.raises(UnsupportedError, match="there is no function"):
        function_of(said)


def test_a_dynamics_takes_both() -> None:
    q, v = ROBOT.random_state(3, 0)
    for kind in DERIVATIVE_KINDS:
        make = getattr(DYN, kind)
        assert make("forward_dynamics") is make("fd")
        assert DYN.function(f"{kind}_forward_dynamics") is DYN.function(f"{kind}_fd")
    assert DYN.jacobian("forward_dynamics", by=("q",)) is DYN.jacobian("fd", by=("q",))
    assert DYN.function("forward_dynamics") == DYN.function("fd")
    assert DYN.kernel("forward_dynamics") is DYN.kernel("fd")
    answer = DYN.forward_dynamics(q, v, v)
    np.testing.assert_array_equal(DYN.call("forward_dynamics", (q, v, v))[0], answer)
    out = np.empty((3, 2))
    assert DYN.map("forward_dynamics", [q, v, v], [out]) == 3
    np.testing.assert_array_equal(out, answer)
    assert DYN.explain(1, ["forward_dynamics"]) == DYN.explain(1, ["fd"])
    assert DYN.memory(1, ["vjp_forward_dynamics"]) == DYN.memory(1, ["vjp_fd"])
    M = DYN.pack(DYN.mass_matrix(q), "M_bar", of="vjp_mass_matrix")
    np.testing.assert_array_equal(M.dense(), DYN.mass_matrix(q))


def test_packed_calls_take_both() -> None:
    dyn = ROBOT.compile()
    q, v = ROBOT.random_state(3, 0)
    packed = [dyn.pack(x) for x in (q, v, v)]
    np.testing.assert_array_equal(dyn.call("forward_dynamics", packed)[0].dense(), dyn.call("fd", packed)[0].dense())


def test_routes_take_both() -> None:
    named = ROBOT.compile(target="numpy", routes={"forward_dynamics": "aba"})
    assert named.explain(1, ["fd"]) == ROBOT.compile(target="numpy", routes={"fd": "aba"}).explain(1, ["fd"])
    with pytest.raises(UnsupportedError, match="a function is named twice"):
        ROBOT.compile(routes={"fd": "aba", "forward_dynamics": "ltl"})


def test_accelerators_take_both() -> None:
    fx = condyle.fixed_point(ROBOT, functions=["inverse_dynamics"], target="numpy")
    assert fx.functions == ("id",)
    assert fx.formats("inverse_dynamics") == fx.formats("id")
    q, v = ROBOT.random_state(3, 0)
    long, short = (fx.words(name, q, v, v) for name in ("inverse_dynamics", "id"))
    assert {key: x.tolist() for key, x in long.items()} == {key: x.tolist() for key, x in short.items()}
    np.testing.assert_array_equal(fx.call("inverse_dynamics", (q, v, v))[0], fx.call("id", (q, v, v))[0])


def test_commands_take_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from condyle.cli import main

    said: list[str] = []
    for name in ("vjp_fd", "vjp_forward_dynamics"):
        assert main(["explain", "iiwa14", name, "--target", "numpy"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert main(["check", "iiwa14", "--functions", "mass_matrix,jacobian_mass_matrix_by_q", "--target", "numpy"]) == 0
    assert "jacobian_m against differences" in capsys.readouterr().out
