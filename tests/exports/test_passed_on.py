"""What an export hands on: each option to its target, and to each writer what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import condyle
from condyle.backends.common.facts import Vectors
from condyle.errors import UnsupportedError
from condyle.exports import exporting
from condyle.exports.projects import Job, names_of, order_of, variants
from condyle.exports.targets import c, casadi, cuda
from condyle.functions import FUNCTIONS
from condyle.functions.open_rollouts import OpenRollout
from condyle.specification import UNBOUND

ARM = condyle.chain(2, 0)
TIP = ARM.body_names[-1]
MOTOR = condyle.Actuator("motor", {ARM.joint_names[0]: 1.0})
TOUCH = condyle.Contact(TIP)


def job_of(monkeypatch: pytest.MonkeyPatch, target: str, functions: Any = ("step",), robot: Any = ARM, **options: Any):
    """What `export` makes of its arguments."""
    jobs: list[Job] = []
    monkeypatch.setattr(exporting, "write", lambda name, job: jobs.append(job) or [Path(name)])
    assert condyle.export(robot, target, "nowhere/below", functions, **options) == [Path(target)]
    return jobs[0]


@pytest.mark.parametrize("target", ["c", "cuda", "casadi", "verilog"])
def test_options_that_are_left_out_are_not_said(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    job = job_of(monkeypatch, target, ("fd",))
    assert job.options == {} and job.dtype == "float64" and job.out == Path("nowhere/below")
    assert job.bound == UNBOUND and job.robot is ARM and job.compiler.facts.name == "robot"
    assert job.functions == (FUNCTIONS["fd"],) and job.rollouts == []


OF_VERILOG: dict[str, Any] = {
    "word": "32", "dsp": 99, "clock": 100.0, "f_ext": 2.0, "step": 2e-3, "constants": "shift", "folding": 2,
    "pipeline": 1, "part": "xcu250", "root": "b", "box": {"q": 1.0}, "overflow": "silent", "axi": 64, "float32": True,
    "async_clock": True, "link": 3.0, "echo": True, "bus_clock": 90.0,
}  # fmt: skip
OF_C: dict[str, Any] = {"dtype": "float32", "embedded": True, "libm": True, "part": "cortex-m7", "flash": 9, "stack": 8}
OF_THREE: dict[str, Any] = {
    "frames": (TIP,), "reference_frame": "world", "integrator": "rk4", "contacts": (TOUCH,), "regressor": ("damping",),
    "sweeps": 3, "joint_forces": ("damping",), "friction_velocity": 0.5, "implicit": "positions",
}  # fmt: skip


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [
        *(("verilog", name, value) for name, value in OF_VERILOG.items()),
        *(("c", name, value) for name, value in OF_C.items()),
        *((target, name, value) for target in ("c", "cuda", "casadi") for name, value in OF_THREE.items()),
        *((target, "inputs", ("gravity",)) for target in ("c", "cuda")),
    ],
)
def test_each_option_is_handed_on(monkeypatch: pytest.MonkeyPatch, target: str, name: str, value: Any) -> None:
    more = {"joint_forces": ("friction",)} if name == "friction_velocity" else {}
    robot = ARM.with_drives({joint: condyle.Drive(damping=0.1, friction=0.1) for joint in ARM.joint_names})
    assert job_of(monkeypatch, target, robot=robot, **{name: value}, **more).options == {name: value, **more}


def test_options_of_the_robots_functions_are_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = ARM.with_actuators((MOTOR,))
    job = job_of(
        monkeypatch, "c", ("step", "rollout"), robot, frames=[TIP], reference_frame="world", integrator="rk4",
        actuators=True, inputs=["gravity"], name="arm",
    )  # fmt: skip
    bound = job.bound
    assert (bound.frames, bound.reference_frame, bound.integrator) == ((TIP,), "world", "rk4")
    assert len(bound.drives.actuators) == 1 and job.compiler.facts.name == "arm"
    assert job.options["frames"] == (TIP,) and job.options["inputs"] == ("gravity",)
    assert [isinstance(one, OpenRollout) for one in job.functions] == [False, False, True, True]
    assert all("gravity" in [port.name for port in one.inputs] for one in job.specifications)
    few = job_of(monkeypatch, "c", ("step", "rollout"), robot, inputs=["gravity"], embedded=True)
    assert [isinstance(one, OpenRollout) for one in few.functions] == [False, True], "without those with forces"
    assert job_of(monkeypatch, "c", contacts=[TOUCH], sweeps=4).bound.sweeps == 4
    assert job_of(monkeypatch, "c", contacts=[TOUCH]).bound.contacts == (TOUCH,)


def called(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> list[Any]:
    """The arguments of each call of a writer."""
    calls: list[Any] = []
    monkeypatch.setattr(place, name, lambda *args: calls.append(args) or [])
    return calls


def test_sources_in_c_have_each_function_with_forces_once_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = called(monkeypatch, c, "export_c")
    condyle.export(ARM, "c", tmp_path, ("id", "m", "rollout"), dtype="float32", name="arm")
    programs, facts, out, vectors, names, order, dtype, bodies = calls[0]
    own = [one.name for one in variants([FUNCTIONS["id"], FUNCTIONS["m"]])]
    every = [program.name for program in programs]
    assert every[: len(own)] == own == ["id", "id_f_ext", "m"] and every[len(own) :] == ["rollout", "rollout_f_ext"]
    assert (facts.name, out, dtype, bodies) == ("arm", tmp_path, "float32", len(ARM.bodies))
    assert [*vectors] == every and all(isinstance(one, Vectors) and len(one.inputs[0]) == 5 for one in vectors.values())
    assert all(one.inputs[0].dtype == "float32" for one in vectors.values())
    assert order == order_of(ARM) and names["ports"]["id_f_ext"] == ["q", "v", "a", "f_ext", "tau"]
    assert {*names["ports"]} == {*every} and {*every} <= facts.functions.keys()


def test_an_embedded_project_has_the_functions_that_were_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = called(monkeypatch, c, "export_embedded")
    for options in ({}, {"libm": True}):
        condyle.export(ARM, "c", tmp_path, ("id", "m"), embedded=True, **options)
    for has_libm, (programs, facts, out, vectors, names, order, dtype, bodies, libm, budget) in enumerate(calls):
        assert [program.name for program in programs] == [*vectors] == [*names["ports"]] == ["id", "m"]
        assert all(len(one.inputs[0]) == 2 for one in vectors.values())
        assert (facts.name, out, dtype, bodies, libm) == ("robot", tmp_path, "float64", len(ARM.bodies), bool(has_libm))
        assert order == order_of(ARM) and budget is None
    with pytest.raises(
        UnsupportedError, match=r"^functions: 'rollout': embedded=True has no rollouts, whose arrays ha"
    ):
        condyle.export(ARM, "c", tmp_path, ("id", "rollout"), embedded=True)


def test_a_header_in_cuda_has_vectors_of_float32(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = called(monkeypatch, cuda, "export_cuda")
    condyle.export(ARM, "cuda", tmp_path, ("id", "rollout"), name="arm")
    functions, programs, facts, joints, out, vectors, names, order, bodies, rollouts = calls[0]
    assert len(functions) == 4 and (facts.name, out) == ("arm", tmp_path)
    assert joints == {"q": [0, 1], "v": [0, 1], "a": [0, 1], "tau": [0, 1]} and bodies == len(ARM.bodies)
    assert {"id", "id_f_ext", "step", "rollout"} <= vectors.keys() and order == order_of(ARM)
    assert all(x.dtype == "float32" for one in vectors.values() for x in one.inputs)
    assert {"id", "step", "rollout"} <= names["ports"].keys() and len(programs) >= 3
    said = [(name, step) for name, step, _, _ in rollouts]
    assert said == [("rollout", "step"), ("rollout_f_ext", "step_f_ext")]
    assert all(repeat.by_time == ("tau",) and equation for _, _, repeat, equation in rollouts)


README = """\
# arm for CasADi and acados

    cc -shared -fPIC -O1 arm.c -o arm.so -lm

    F = casadi.external("arm_m", "./arm.so")

Vectors are columns, one state a call. Jacobian and Hessian are found by their names: jac_F, adj1_F, jac_adj1_F.
-O2 takes gcc longer and is no faster; -march=native is faster, for a library that stays on its machine.
"""


def test_a_project_for_casadi_is_three_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(casadi, "source_of", lambda robot, compiler, functions, bound: f"{len(functions)} functions")
    files = condyle.export(ARM, "casadi", tmp_path, ("m", "id"), name="arm")
    assert {"arm.c", "robot.json", "README.md"} <= {path.name for path in files}
    assert (tmp_path / "arm.c").read_text() == "2 functions" and (tmp_path / "README.md").read_text() == README
    names = names_of(ARM, UNBOUND, [FUNCTIONS["m"], FUNCTIONS["id"]])
    text = (tmp_path / "robot.json").read_text()
    assert text == json.dumps(names, indent=1, sort_keys=True) + "\n"
