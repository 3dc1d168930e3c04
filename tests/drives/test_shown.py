"""Joint forces and actuators wherever a robot is compiled or written: rollouts, users' functions, exports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import ShapeError, ShapeWarning, UnsupportedError

SERVO = {"kind": "position", "gain": 40.0, "bias": (0.0, -40.0, -4.0), "force": (-30.0, 30.0)}
DRIVES = {"joint_forces": ("damping", "friction"), "actuators": True}
DT = 2e-3


def arm() -> condyle.Robot:
    """Three joints with friction, two of them driven: nu is not nv."""
    robot = condyle.chain(3, 1)
    robot = robot.with_drives(dict.fromkeys(robot.joint_names, condyle.Drive(damping=0.3, friction=0.2)))
    return robot.with_actuators([condyle.Actuator(name, {name: 1.0}, **SERVO) for name in robot.joint_names[:2]])


def test_a_rollout_takes_controls_over_time() -> None:
    robot = arm()
    dyn = robot.compile("numpy", **DRIVES)
    (q, v), u = robot.random_state(5, 0), np.random.default_rng(1).normal(size=(5, 7, 2))
    path = dyn.rollout(q, v, u, DT)
    q1, v1 = q, v
    for k in range(7):
        q1, v1 = dyn.step(q1, v1, u[:, k], DT)
    assert np.allclose(path.q[:, -1], q1, 1e-13, 0.0) and np.allclose(path.v[:, -1], v1, 1e-12, 0.0)  # the same code
    held = dyn.rollout(q, v, u[:, 0], DT, steps=7, last=True)
    assert np.array_equal(held.q, dyn.rollout(q, v, np.repeat(u[:, :1], 7, axis=1), DT, last=True).q)
    assert np.array_equal(dyn.rollout(q, v, u, DT, by_time=("u",)).q, path.q)
    bars = np.ones((5, 7, 3)), np.zeros((5, 7, 3))
    slope, e, h = dyn.vjp("rollout")(q, v, u, DT, *bars).u, np.ones_like(u), 1e-6
    ahead, behind = (dyn.rollout(q, v, u + way * e, DT).q.sum() for way in (h, -h))
    assert np.isclose(slope.sum(), (ahead - behind) / (2 * h), 1e-6)  # central differences, of a nearly linear function
    forces = np.zeros((5, 3, 6))
    assert np.allclose(dyn.rollout(q, v, u, DT, f_ext=forces).q, path.q, 1e-12, 0.0)


def test_controls_with_two_readings_are_said_by_their_name() -> None:
    robot = arm()
    dyn = robot.compile("numpy", **DRIVES)
    q, v = robot.random_state(4, 0)
    with pytest.warns(ShapeWarning, match=r"u has shape \(4, 2\), one row for each state.*by_time=\('u',\)"):
        dyn.rollout(q, v, np.zeros((4, 2)), DT)
    with pytest.raises(ShapeError, match="u has shape"):
        dyn.rollout(q[None], v[None], np.zeros((1, 4, 2)), DT)


def test_a_function_of_a_user_is_bound_to_drives() -> None:
    robot = arm()
    q, v = robot.random_state(3, 0)
    u = np.ones((3, 2))
    f = robot.function(lambda at, u: at.step(u, DT).v, {"q": "nq", "v": "nv", "u": 2}, **DRIVES)
    expected = robot.compile("numpy", **DRIVES).step(q, v, u, DT).v
    for answer in (f.reference(q, v, u), f.compile("numpy")(q, v, u), f.compile()(q, v, u)):
        assert np.allclose(answer, expected, 1e-12, 1e-13)


@pytest.mark.parametrize("target", ["c", "cuda", "casadi"])
def test_an_export_names_what_acts(tmp_path: Path, target: str) -> None:
    functions = ("fd", "step", "jf", "af", *(() if target == "casadi" else ("rollout",)))
    condyle.export(arm(), target, tmp_path, functions, "arm", **DRIVES, stops=(1e3, 1.0, 1e-2), implicit=False)
    told = json.loads((tmp_path / "robot.json").read_text())
    assert told["joint_forces"] == ["damping", "friction"] and told["actuators"] == list(arm().joint_names[:2])
    assert told["ports"]["fd_u"] == ["q", "v", "u", "a"] and "tau" not in told["ports"]["step_u"]
    plain = tmp_path / "plain"
    condyle.export(arm(), target, plain, ("fd",), "arm")
    told = json.loads((plain / "robot.json").read_text())
    assert not {"joint_forces", "actuators"} & told.keys() and told["ports"]["fd"] == ["q", "v", "tau", "a"]


def test_a_target_of_bodies_alone_refuses_drives(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"does not take these options: joint_forces .*'c', 'casadi'"):
        condyle.export(arm(), "verilog", tmp_path, ("fd",), joint_forces=("all",))
    with pytest.raises(UnsupportedError, match="actuators=True: robot 'iiwa14' has no actuators"):
        condyle.export(condyle.load("iiwa14"), "c", tmp_path, ("fd",), actuators=True)
