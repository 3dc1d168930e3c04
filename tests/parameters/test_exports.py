"""Exports that take numbers of the robot: their own tests, which hold them to the reference, are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.cli import main
from condyle.cli.states import draw
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.model.physical import varied
from condyle.specification.ports import ACTUATOR_GAINS, NUMBERS
from tests.backends.cuda.test_cpp_export import build_example
from tests.programs import call, needs

BODIES = tuple(name for name in NUMBERS if name != ACTUATOR_GAINS.name)
FUNCTIONS_OF_MASSES = ("fd", "m", "vjp_fd", "jacobian_id_by_q", "rollout")
WANTED = (
    "iiwa14_fd_inertias_gravity(",
    "iiwa14_fd_f_ext_inertias_gravity(",
    "iiwa14_m_inertias(",
    "iiwa14_vjp_fd_inertias_gravity(",
    "iiwa14_jacobian_id_inertias_gravity_by_q(",
)


@pytest.mark.slow  # the C compiler takes seconds
@needs("gcc")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_in_c(tmp_path: Path, dtype: str) -> None:
    robot = condyle.load("iiwa14")
    condyle.export(robot, "c", tmp_path, functions=FUNCTIONS_OF_MASSES, inputs=("gravity", "inertias"), dtype=dtype)
    header = (tmp_path / "iiwa14.h").read_text()
    assert all(name in header for name in (*WANTED, "iiwa14_rollout_inertias_gravity("))
    call(["gcc", "-std=c99", "-O0", "-Wall", "-Werror", *sorted(p.name for p in tmp_path.glob("*.c")), "-lm"], tmp_path)
    said = call(["./a.out"], tmp_path)
    assert said.count("right") >= len(FUNCTIONS_OF_MASSES) and "WRONG" not in said


@pytest.mark.slow  # the C++ compiler takes seconds
@needs("g++")
def test_in_cuda(tmp_path: Path) -> None:
    condyle.export(condyle.load("iiwa14"), "cuda", tmp_path, functions=FUNCTIONS_OF_MASSES[:3], inputs=BODIES)
    said = call([str(build_example(tmp_path, tmp_path))], tmp_path)
    assert said.count(" right ") >= 6 and "WRONG" not in said


def test_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", "iiwa14", "--target", "c", "--functions", "id", "--inputs"]
    assert main([*words, ",".join(BODIES), "--out", str(tmp_path / "c")]) == 0
    assert (
        "iiwa14_id_inertias_gravity_armature_damping_dry_friction_stiffness("
        in (tmp_path / "c" / "iiwa14.h").read_text()
    )
    with pytest.raises(SystemExit):
        main([*words, "mass", "--out", str(tmp_path / "d")])
    assert "'mass' is not one of inertias, gravity, armature, damping" in capsys.readouterr().err
    assert main(["check", "iiwa14", "--functions", "fd_inertias_gravity,vjp_fd_inertias,jacobian_id_damping"]) == 0
    with pytest.raises(UnsupportedError, match="inputs"):
        condyle.export(condyle.load("iiwa14"), "verilog", tmp_path / "v", functions=("fd",), inputs=("inertias",))


def test_numbers_that_are_drawn_are_of_robots() -> None:
    """A mass matrix of random numbers would be as good as singular for some."""
    robot = condyle.load("hyq", floating_base=True)
    found = varied(robot, 50, np.random.default_rng(0))
    assert condyle.physical_inertias(found["inertias"]).all()
    assert {name: array.shape[1:] for name, array in found.items()} == {
        name: port.shape({"n_bodies": len(robot.bodies), "nv": robot.nv, "nu": 0}) for name, port in NUMBERS.items()
    }
    fd, m = (FUNCTIONS[name].taking("inertias", "armature") for name in ("fd", "m"))
    drawn = draw(robot, 20, "float64", (fd,))
    assert condyle.physical_inertias(drawn.quantities["inertias"]).all() and drawn.quantities["armature"].min() >= 0.0
    q, numbers = drawn.quantities["q"], drawn.arguments(fd)[3:]
    assert m.inputs[1:] == fd.inputs[3:]
    opened = robot.compile(target="numpy", inputs=("inertias", "armature"))
    M = opened.mass_matrix(q, inertias=numbers[0], armature=numbers[1])
    assert np.linalg.cond(M).max() < 10.0 * np.linalg.cond(opened.mass_matrix(q)).max()
