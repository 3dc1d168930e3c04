"""What is planned and written for small robots stays equal to the bit, with each option of an export.

`tests/golden/verilog.txt` has a digest of each file: where one changed, compare two exports of that robot.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from condyle import Robot, fpga
from condyle.exports.projects import order_of
from condyle.fpga import Options
from condyle.fpga.rtl.accelerator import Plan, Task
from condyle.fpga.rtl.export import Facts, Sheet, write

from .conftest import ball_and_plane, free_body

DIGITS = 9
"""Of real numbers, which processors may round apart in the last ones."""
OMITTED = ("condyle-export.json",)
"""It has digests of the other files, with all digits of their numbers."""


def two_arms() -> Robot:
    """Two arms that mirror each other, but for their masses: a turn, then a slide, on a base that turns."""
    builder = condyle.Builder("two_arms").body("base", mass=2.0, inertia=0.1 * np.eye(3))
    builder.joint("turn", parent="world", child="base", type="revolute", axis=(0.0, 0.0, 1.0))
    for name, side in (("left", 1.0), ("right", -1.0)):
        arm, hand = f"{name}_arm", f"{name}_hand"
        builder.body(arm, mass=1.0 + 0.1 * side, com=(0.0, 0.2, 0.1), inertia=0.02 * np.eye(3))
        builder.body(hand, mass=0.5, com=(0.1, 0.0, 0.0), inertia=0.01 * np.eye(3))
        hip = {"type": "revolute", "axis": (0.0, side, 0.0), "xyz": (0.1, side * 0.2, 0.0), "armature": 0.01}
        builder.joint(f"{name}_hip", parent="base", child=arm, **hip)  # type: ignore[arg-type]
        builder.joint(f"{name}_slide", parent=arm, child=hand, type="prismatic", axis=(1.0, 0.0, 0.0))
    return builder.build()


def floating() -> Robot:
    """A hinge on a base that floats; no power of two, where formats change."""
    builder = condyle.Builder("floating").body("base", mass=1.1, inertia=0.11 * np.eye(3))
    builder.body("arm", mass=0.6, com=(0.1, 0.2, 0.3), inertia=0.07 * np.eye(3))
    builder.joint("hinge", parent="base", child="arm", type="revolute", axis=(0.0, 1.0, 0.0))
    return builder.build(floating_base=True)


@dataclass(frozen=True)
class Case:
    """A robot and the options of an export; each: tasks of every function; refused: of every unknown code."""

    robot: Callable[[], Robot]
    options: Options
    each: int = 4
    refused: int = 0
    warnings: tuple[str, ...] = ()


def with_rotors() -> Robot:
    """A body whose free joint has armature along each axis."""
    body = free_body()
    rotors = replace(body.joints[0], armature=np.array((50.0, 50.0, 50.0, 1.0, 2.0, 3.0)))
    return replace(body, joints=(rotors,))


def link() -> Robot:
    return condyle.chain(1, 0)


def links() -> Robot:
    return condyle.chain(2, 0)


CASES = {
    "one": Case(link, Options(("id",)), each=16),
    "all": Case(links, Options(axi=64, async_clock=True, bus_clock=250.0), each=9, refused=1),
    "echo": Case(links, Options(("difd", "id", "minv"), axi=128, float32=True, echo=True, link=12.0)),
    "steps": Case(links, Options(("rk4", "euler", "fd"), f_ext=20.0, step=2e-3, axi=32)),
    "curved": Case(ball_and_plane, Options(("rk4", "euler"), word="27", dsp=300)),
    "given": Case(floating, Options(("fd_given", "minv_given", "dfd_given"), dsp=300)),
    "rotors": Case(with_rotors, Options(("did",), dsp=200)),
    "folded": Case(two_arms, Options(("id", "did", "fd"), dsp=60, folding=2, constants="auto", pipeline=3)),
    "shifts": Case(two_arms, Options(("id", "minv"), dsp=60, constants="shift", pipeline=1, overflow="silent")),
    "fixed": Case(links, Options(("id", "dfd"), word="q12.12", pipeline=2, box={"v": 2.0, "a": 5.0, "tau": 4.0})),
    "wide": Case(links, Options(("fd", "did"), word="32", dsp=70, pipeline=3, box={"q.joint1": 4.0, "v": [1.0, 2.0]})),
    "board": Case(links, Options(("id", "fd"), part="ecp5-85k"), warnings=("id: errors < 1 & more",)),
    "seven": Case(links, Options(("id", "minv"), part="xc7a100t", clock=100.0, name="arm")),
}


def rounded(text: str) -> str:
    """Real numbers with DIGITS digits."""
    return re.sub(r"\d+\.\d{9,}(e-?\d+)?", lambda found: f"{float(found[0]):.{DIGITS}g}", text)


def said(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, np.ndarray):
        return said(value.tolist())
    if isinstance(value, dict):
        return "".join(f"{said(key)}: {said(one)}\n" for key, one in value.items())
    if is_dataclass(value):
        return f"{type(value).__name__}{said([getattr(value, one.name) for one in fields(value)])}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(said, value))}]"
    return str(value)


def planned(plan: Plan) -> str:
    """All that has numbers in a plan."""
    return said([plan.datapaths, plan.formats, plan.results, plan.limits, plan.torques, plan.course, plan.box])


def numbered_errors(task: Task) -> dict[str, float]:
    """A number of its own for each: real ones differ in their last digits from processor to processor."""
    kinds = [f"{kind}{part}" for kind in ("absolute", "relative") for part in ("", "_p50", "_p90", "_p99")]
    names = [f"{port.name}_{kind}" for port in task.function.outputs for kind in kinds]
    return {name: 0.001 * k for k, name in enumerate(names, 1)}


def written(folder: Path, case: Case) -> dict[str, str]:
    robot, options = case.robot(), case.options
    acc = fpga.accelerator(robot, options)
    facts = Facts(options.name, "model", "version", options.clock, options.word, options.boundary)
    errors = {name: {"clamped": 0.25, **numbered_errors(task)} for name, task in acc.plan.tasks.items()}
    sheet = Sheet(errors, 7, acc.plan.box, case.warnings)
    tasks = fpga.tasks(robot, acc, case.each, refused=case.refused, boundary=options.boundary)
    paths = write(folder, acc, facts, sheet, tasks, {"names": 1}, order_of(robot))
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(paths) if path.name not in OMITTED}
    return {"plan": planned(acc.plan), **texts}


def test_every_file_of_small_robots_stays_equal(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    """Each file once, where it is first written."""
    rows: dict[tuple[str, str], str] = {}
    for name, case in CASES.items():
        for file, text in written(tmp_path / name, case).items():
            digest = hashlib.sha256(rounded(text).encode()).hexdigest()[:16]
            rows.setdefault((file, digest), f"{name} {file} {digest}\n")
    golden("verilog.txt", "".join(rows.values()))
