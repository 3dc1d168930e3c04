"""Projects for other worlds: what is checked of every export, and what each target is given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from condyle.backends.common.exported_files import Coordinates, check_owned
from condyle.backends.common.facts import Facts
from condyle.compile.compiler import Compiler
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, function_or_none
from condyle.functions.open_rollouts import OpenRollout, open_rollouts, opened
from condyle.model.robot import Robot
from condyle.specification import F_EXT, Bound, Function


@dataclass(frozen=True)
class Job:
    """What is to be exported, and where to."""

    robot: Robot
    compiler: Compiler
    out: Path
    functions: tuple[Function | OpenRollout, ...]
    bound: Bound
    options: Mapping[str, Any]
    """Those that the target alone takes, as far as they were said."""

    @property
    def dtype(self) -> str:
        return self.options.get("dtype", "float64")

    @property
    def variants(self) -> list[Function]:
        return variants(function for function in self.functions if isinstance(function, Function))

    @property
    def rollouts(self) -> list[OpenRollout]:
        return open_rollouts(function for function in self.functions if isinstance(function, OpenRollout))

    @property
    def specifications(self) -> list[Function]:
        return [*self.variants, *(rollout.function for rollout in self.rollouts)]


def variants(functions: Iterable[Function]) -> list[Function]:
    """Each function, and behind it the same with external forces where it takes such."""
    return list(dict.fromkeys(each for function in functions for each in (function, function.taking(F_EXT))))


ALWAYS = ("README.md", "robot.json")
"""Files of every export: looked for before minutes have passed."""


def folder_of(out: object) -> Path:
    """The folder that was named; UnsupportedError for what names none."""
    said = os.fspath(cast("os.PathLike[str]", out)) if isinstance(out, (str, os.PathLike)) else None
    if not isinstance(said, str) or not said.strip() or "\0" in said:
        raise UnsupportedError(f"out={out!r}: name a folder, such as 'arm-c'; '.' is the one you are in")
    return Path(said)


def functions_of(target: str, plans: Mapping[str, Function], functions: object) -> tuple[Function | OpenRollout, ...]:
    """The functions that were named, each once; UnsupportedError for what is no list of them. plans: see `exports`."""
    listed = isinstance(functions, Iterable) and not isinstance(functions, str)
    named = list(cast("Iterable[object]", functions)) if listed else []
    if not named:
        there = ", ".join(plans or FUNCTIONS)
        raise UnsupportedError(f"functions={functions!r}: give a list of {there}, such as ('id', 'fd')")
    return tuple(dict.fromkeys(_function_of(target, plans, name) for name in named))


def _function_of(target: str, plans: Mapping[str, Function], name: object) -> Function | OpenRollout:
    """The function of a name, or a rollout of any number of steps."""
    rollout = None if plans else opened(name)
    if rollout is not None:
        return rollout
    function = plans[name] if isinstance(name, str) and name in plans else function_or_none(name)
    there = ", ".join(map(repr, plans or FUNCTIONS))
    if function is None:
        also = "" if plans else ", nor a derivative of one such as 'vjp_fd'"
        if not isinstance(name, str):
            also += "; a function of yours and an OptimalControl write projects of their own: call its export(...)"
        raise UnsupportedError(f"functions: {name!r} is not one of {there}{also}")
    if function.repeat is not None:
        raise UnsupportedError(
            f"functions: {function.name!r}: exports of rollouts, as 'rollout', take any number of steps"
        )
    if plans and function not in (*plans.values(), *FUNCTIONS.values()):
        raise UnsupportedError(
            f"functions: target {target!r} has no {function.name!r}, targets 'c' and 'cuda' export it; {target!r} has "
            f"{there}"
        )
    return function


def check_folder(out: Path) -> None:
    """UnsupportedError, before anything is generated, for what is no folder, or has files of somebody else's."""
    there = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    if not there.is_dir():
        raise UnsupportedError(f"out={str(out)!r}: {str(there)!r} is a file: name a folder, it is made where needed")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UnsupportedError(f"out={str(out)!r}: {str(there)!r} is not writable: name another folder")
    check_owned(out, ALWAYS)


def joints_of(robot: Robot) -> dict[str, list[int]]:
    """For each entry of q and of v and a its joint; coordinates that joints share are the first one's."""
    found = {"q": [0] * robot.nq, "v": [0] * robot.nv}
    for i, joint in reversed(list(enumerate(robot.joints))):
        found["q"][joint.q_index : joint.q_index + joint.nq] = [i] * joint.nq
        found["v"][joint.v_index : joint.v_index + joint.nv] = [i] * joint.nv
    return {**found, "a": found["v"], "tau": found["v"]}


def facts_of_job(job: Job) -> Facts:
    """With what each function computes that may be called."""
    return replace(
        job.compiler.facts,
        functions={one.name: one for one in (*variants(FUNCTIONS.values()), *job.specifications)},
    )


def order_of(robot: Robot) -> list[Coordinates]:
    """Where each joint stands in q and v: for the README."""
    joints = robot.joints
    return [
        Coordinates(
            joint.name,
            joint.type,
            range(joint.q_index, joint.q_index + joint.nq),
            range(joint.v_index, joint.v_index + joint.nv),
            None if joint.mimic is None else joints[joint.mimic.joint].name,
        )
        for joint in joints
    ]


def names_of(robot: Robot, bound: Bound, functions: Iterable[Function]) -> dict[str, object]:
    """What people call things, and gravity: for robot.json."""
    functions = list(functions)
    seen = {"frames": list(bound.frames), "reference_frame": bound.reference_frame} if bound.frames else {}
    held = [{"frame": c.frame, "kind": c.kind, "other": c.other, "gains": list(c.gains)} for c in bound.contacts]
    seen |= {"contacts": held} if held else {}
    seen |= {"joint_forces": list(bound.drives.forces)} if bound.drives.forces else {}
    seen |= {"actuators": [one.name for one in robot.actuators]} if bound.drives.actuators else {}
    seen |= {"regressor": list(bound.regressor)} if bound.regressor else {}
    seen |= {"sweeps": bound.sweeps} if bound.sweeps else {}
    seen |= {"integrator": bound.integrator} if any("integrator" in one.options for one in functions) else {}
    return {
        **seen,
        "fingerprint": robot.fingerprint,
        "joints": [{"name": j.name, "type": j.type, "q_index": j.q_index, "v_index": j.v_index} for j in robot.joints],
        "gravity": robot.gravity.tolist(),
        "bodies": [body.name for body in robot.bodies],
        "ports": {one.name: [port.name for port in (*one.inputs, *one.outputs)] for one in functions},
    }
