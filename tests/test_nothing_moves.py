"""Robots of which nothing moves: every target answers with arrays that have no entries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.derivatives import DERIVATIVE_KINDS
from condyle.functions import DEFAULT, FUNCTIONS, function_of

STILL = condyle.Builder().body("rock", mass=1.0, inertia=np.eye(3)).build()


@pytest.mark.parametrize(
    ("target", "links"), [("cpu", "serial"), ("cpu", "auto"), ("c", "serial"), ("numpy", "serial"), ("numpy", "scan")]
)
def test_every_function_has_nothing_to_say(target: str, links: str) -> None:
    dyn = STILL.compile(target, links=links)
    empty = np.zeros((3, 0))
    for name in DEFAULT:
        function = function_of(name)
        given = [np.zeros((3, *[0] * len(port.dims))) for port in function.inputs]
        shapes = [(3, *[0] * len(port.dims)) for port in function.outputs]
        assert [array.shape for array in dyn.call(function.name, given)] == shapes
        assert dyn.memory(3)[name] == 0
    assert dyn.mass_matrix(dyn.pack(empty)).dense().shape == (3, 0, 0)
    bound = {"frames", "reference_frame", "contacts"}
    wanting = [name for name, one in FUNCTIONS.items() if bound & {*one.options} or one.needs.mass or one.needs.drives]
    served = [name for name in FUNCTIONS if name not in wanting]
    assert [line.split()[0] for line in dyn.explain(3).splitlines()[1:]] == served


@pytest.mark.parametrize("target", ["cpu", "c", "numpy"])
def test_what_is_asked_of_frames_and_of_mass(target: str) -> None:
    dyn, empty = STILL.compile(target, frames=tuple(STILL.frames)), np.zeros((3, 0))
    rotation, translation = dyn.frame_placements(empty)
    assert np.array_equal(rotation, np.broadcast_to(np.eye(3), (3, 1, 3, 3))) and not translation.any()
    assert dyn.frame_jacobians(empty).shape == (3, 1, 6, 0)
    assert not dyn.kinetic_energy(empty, empty).any() and not dyn.potential_energy(empty).any()
    with pytest.raises(condyle.UnsupportedError, match="center_of_mass: no body of the robot moves"):
        dyn.center_of_mass(empty)


@pytest.mark.parametrize("inputs", [(), ("inertias", "gravity")])
def test_every_derivative_is_empty_or_zero(inputs: tuple[str, ...]) -> None:
    """Masses that are inputs are those of no body: no centre of mass has a meaning."""
    dyn = STILL.compile("numpy", frames=tuple(STILL.frames), inputs=inputs)
    assert not {name for name in dyn.signature if function_of(name).needs.mass}
    for name in dyn.signature:
        for kind in DERIVATIVE_KINDS:
            function = function_of(f"{kind}_{name}")
            given = [np.ones((3, *port.shape(dyn.sizes))) for port in function.inputs]
            found = dyn.function(f"{kind}_{name}")(*given)
            assert all(np.isfinite(x).all() for x in (found if isinstance(found, tuple) else (found,))), name
    q = np.zeros((3, 0))
    assert dyn.hessian("fd")(q, q, q, q).shape == (3, 3 * len(inputs[1:]), 3 * len(inputs[1:]))
    with pytest.raises(condyle.UnsupportedError, match="no body of the robot moves"):
        dyn.center_of_mass(q)


@pytest.mark.parametrize("name", ["fd", "id", "m", "step"])
def test_casadi_has_functions_of_no_joints(name: str) -> None:
    casadi = pytest.importorskip("condyle.interop.casadi")
    pytest.importorskip("casadi", reason="pip install 'condyle[casadi]'")
    function = casadi.wrap(STILL.compile("numpy")).function(name)
    assert function.size_out(0)[0] == 0 and function.jacobian().n_out() > 0


def test_derivatives_of_no_joints_are_compared_with_differences() -> None:
    from condyle.cli.check import compare

    robot = condyle.chain(0)
    named = ("jacobian_fd", "hessian_fd", "jvp_step", "vjp_id")
    verdicts = compare(robot, robot.compile("numpy"), "float64", (), [function_of(name) for name in named])
    assert len(verdicts) == 8 and all(verdict.fine and verdict.zeros for verdict in verdicts)


def test_a_gpu_would_have_a_thread_a_state() -> None:
    dyn = STILL.compile("cuda")
    assert all(", thread, " in line for line in dyn.explain(3).splitlines()[1:])
    with pytest.raises(condyle.UnsupportedError, match="'thread'"):
        STILL.compile("cuda", kernels="group32").memory(3)


def test_an_accelerator_has_nothing_to_compute(tmp_path: Path) -> None:
    with pytest.raises(condyle.UnsupportedError, match="no joint of this robot moves"):
        condyle.export(STILL, "verilog", tmp_path / "out", ("id",))
