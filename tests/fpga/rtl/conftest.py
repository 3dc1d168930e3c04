"""What the tests of the fpga target share: accelerators of small robots, and a bench run by iverilog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.api import Robot
from condyle.fpga import Options
from condyle.fpga.rtl.build import Accelerator, build, with_pipeline
from condyle.fpga.rtl.export import Facts, Sheet, write
from condyle.fpga.simulation import simulate
from condyle.functions import DEFAULT
from tests.programs import skip_without

Bench = Callable[..., str]
_PLANNED: dict[tuple[str, Options], Accelerator] = {}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """bench(robot, acc, each, *plusargs): the bench's verdict over `each` tasks of every function."""
    skip_without("iverilog", "make")

    def run(robot: Robot, acc: Accelerator, each: int, *plusargs: str) -> str:
        folder = tmp_path / "generated"
        if not folder.exists():
            sheet = Sheet({function: {} for function in acc.plan.functions}, 0, acc.plan.box)
            write(folder, acc, Facts("rig", "", "", 125.0, "27x18"), sheet, fpga.tasks(robot, acc, each), {})
        return simulate(folder, "rig", plusargs)

    return run


def free_body() -> Robot:
    """One link that nothing holds."""
    inertia = 0.1 * np.diag((1.0, 2.0, 2.5))
    return (
        condyle.Builder("free").body("base", mass=1.0, com=(0.1, 0.2, 0.0), inertia=inertia).build(floating_base=True)
    )


def ball_and_plane() -> Robot:
    """A spherical joint, a hinge and a planar one: configurations that are no plain vectors, of few operations."""
    builder = condyle.Builder("ball_and_plane").body("base", mass=1.0, inertia=0.1 * np.eye(3))
    for name, mass in (("one", 1.5), ("two", 1.0), ("three", 0.5)):
        builder.body(name, mass=mass, com=(0.1, 0.2, 0.3), inertia=0.05 * np.eye(3))
    builder.joint("ball", parent="base", child="one", type="spherical")
    builder.joint("hinge", parent="one", child="two", type="revolute", axis=(0.0, 0.0, 1.0), xyz=(0.3, 0.0, 0.0))
    builder.joint("plane", parent="two", child="three", type="planar", axis=(0.0, 1.0, 0.0), xyz=(0.3, 0.0, 0.0))
    return builder.build()


def accelerator(
    robot: Robot,
    *functions: str,
    word: str = "27x18",
    ii: int | None = None,
    f_ext: float | None = None,
    folding: int = 1,
    pipeline: int = 0,
    box: Mapping[str, object] | None = None,
) -> Accelerator:
    """An accelerator at a given interval, or at what the default budget allows; each is planned once."""
    options = Options(functions or tuple(DEFAULT), word, f_ext=f_ext, box=box or {})
    key = (robot.fingerprint, options)
    if key not in _PLANNED:
        _PLANNED[key] = fpga.accelerator(robot, options)
    acc = _PLANNED[key]
    plan = with_pipeline(acc.plan, pipeline)
    return acc if ii is None else build(plan, ii, folding)
