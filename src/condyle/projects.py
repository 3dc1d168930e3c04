"""Projects for other worlds: what each export target is given."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from condyle import hardware
from condyle.backends.c.export import export_c
from condyle.backends.common.describe import body_of, held_of
from condyle.backends.common.facts import Facts
from condyle.backends.common.owned import check_owned, write_owned
from condyle.backends.common.readme import Coordinates
from condyle.backends.cuda.cpp.project import export_cuda
from condyle.choices import EXPORTS
from condyle.compile.serial import Compiler
from condyle.errors import UnsupportedError
from condyle.externals import source_of
from condyle.functions import FUNCTIONS, Variant, found, variants
from condyle.functions.open_rollouts import OpenRollout, open_rollouts, opened
from condyle.ir.repeated import Repeated
from condyle.ir.sweep import Code
from condyle.known_answers import rollout_vectors, vectors_of
from condyle.model.robot import Robot
from condyle.specification import Bound, Function
from condyle.trace.repeated import time_loop

Reals = NDArray[np.floating]


@dataclass(frozen=True)
class Job:
    """What is to be exported, and where to."""

    robot: Robot
    compiler: Compiler
    out: Path
    functions: tuple[str, ...]
    bound: Bound
    options: Mapping[str, Any]
    """Those that the target alone takes, as far as they were said."""

    @property
    def dtype(self) -> str:
        return self.options.get("dtype", "float64")

    @property
    def variants(self) -> list[Variant]:
        return variants(name for name in self.functions if opened(name) is None)

    @property
    def rollouts(self) -> list[OpenRollout]:
        return open_rollouts(self.functions)

    @property
    def specifications(self) -> list[Function]:
        return [one.function for one in (*self.variants, *self.rollouts)]


def _owners(option: str) -> str:
    """The targets that take it."""
    *others, last = (repr(target) for target, own in EXPORTS.items() if option in own)
    return f"{', '.join(others)} and {last}" if others else last


def check_taken(target: str, options: Collection[str]) -> None:
    """UnsupportedError for options that this export does nothing with."""
    wrong = [option for option in options if option not in EXPORTS[target]]
    if wrong:
        owners = [f"{option} (of target {_owners(option)})" for option in wrong]
        takes = ", ".join(EXPORTS[target]) or "none of its own"
        raise UnsupportedError(
            f"target {target!r} does not take these options: {', '.join(owners)}; leave them out. "
            f"Options of {target!r}: {takes}"
        )


ALWAYS = ("README.md", "robot.json")
"""Files of every export: looked for before minutes have passed."""


def folder_of(out: object) -> Path:
    """The folder that was named; UnsupportedError for what names none."""
    said = os.fspath(cast("os.PathLike[str]", out)) if isinstance(out, (str, os.PathLike)) else None
    if not isinstance(said, str) or not said.strip() or "\0" in said:
        raise UnsupportedError(f"out={out!r}: name a folder, such as 'arm-c'; '.' is the one you are in")
    return Path(said)


def functions_of(target: str, functions: object) -> tuple[str, ...]:
    """The functions that were named, each once; UnsupportedError for what is no list of them."""
    allowed = tuple(dict.fromkeys((*FUNCTIONS, *(hardware.functions() if target == "verilog" else ()))))
    listed = isinstance(functions, Iterable) and not isinstance(functions, str)
    named = list(cast("Iterable[object]", functions)) if listed else []
    there = tuple(hardware.functions()) if target == "verilog" else allowed
    if not named:
        raise UnsupportedError(f"functions={functions!r}: give a list of {', '.join(there)}, such as ('id', 'fd')")
    for name in named:
        if target != "verilog" and opened(name) is not None:
            continue
        if name not in allowed and (function := found(name)) is not None and function.repeat is not None:
            raise UnsupportedError(f"functions: {name!r}: exports of rollouts, as 'rollout', take any number of steps")
        if name not in allowed and found(name) is None:
            also = "" if target == "verilog" else ", nor a derivative of one such as 'vjp_fd'"
            raise UnsupportedError(f"functions: {name!r} is not one of {', '.join(map(repr, there))}{also}")
        if name not in allowed and target == "verilog":
            raise UnsupportedError(
                f"functions: target 'verilog' has no {name!r}, targets 'c' and 'cuda' export it; 'verilog' has "
                f"{', '.join(map(repr, there))}"
            )
    return tuple(dict.fromkeys(str(name) for name in named))


def check_folder(out: Path) -> None:
    """UnsupportedError, before anything is generated, for what is no folder, or has files of somebody else's."""
    there = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    if not there.is_dir():
        raise UnsupportedError(f"out={str(out)!r}: {str(there)!r} is a file: name a folder, it is made where needed")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UnsupportedError(f"out={str(out)!r}: {str(there)!r} is not writable: name another folder")
    check_owned(out, ALWAYS)


def _export_c(job: Job) -> list[Path]:
    compiler, order = job.compiler, _order(job.robot)
    programs = [
        *(replace(compiler.code(one.of, one.f_ext), name=one.name) for one in job.variants),
        *(_open(one, compiler.code(one.repeat.of, False)) for one in job.rollouts),
    ]
    held = {program.name: held_of(body_of(program)) for program in programs}
    vectors = {one.name: vectors_of(job.robot, job.compiler, one, job.dtype, held[one.name]) for one in job.variants}
    vectors |= {
        one.name: rollout_vectors(job.robot, job.compiler, one, job.dtype, held[one.name]) for one in job.rollouts
    }
    names, bodies = _names(job.robot, job.bound, job.specifications), len(job.robot.bodies)
    return export_c(programs, _facts(job), job.out, vectors, names, order, job.dtype, bodies)


def _open(rollout: OpenRollout, code: Code) -> Repeated:
    """As code: the number of steps says nothing."""
    body = replace(code, name=rollout.name)
    return Repeated(rollout.name, body, time_loop(rollout.repeat), body.inputs, body.arrays)


def _export_cuda(job: Job) -> list[Path]:
    repeated = [repeat.of for repeat in map(opened, job.functions) if repeat is not None]
    made = variants([*(one for one in job.functions if opened(one) is None), *repeated])
    functions, programs = job.compiler.gpu_kernels.exported(made)
    vectors = {one.name: vectors_of(job.robot, job.compiler, one, "float64") for one in made}
    vectors |= {one.name: rollout_vectors(job.robot, job.compiler, one, "float64") for one in job.rollouts}
    specifications = [*(one.function for one in made), *(one.function for one in job.rollouts)]
    names, order = _names(job.robot, job.bound, specifications), _order(job.robot)
    bodies, facts = len(job.robot.bodies), _facts(job)
    rollouts = [(one.name, one.repeat.of, one.repeat, one.function.equation) for one in job.rollouts]
    joints = _joints(job.robot)
    return export_cuda(functions, programs, facts, joints, job.out, vectors, names, order, bodies, rollouts)


def _export_verilog(job: Job) -> list[Path]:
    options = hardware.Options(job.functions, name=job.compiler.facts.name, **job.options)
    robot = hardware.held(job.robot, options.root)
    names = _names(robot, job.bound, [FUNCTIONS[name] for name in job.functions if name in FUNCTIONS])
    return hardware.export_verilog(robot, options, job.out, job.compiler.facts.version, names, _order(robot))


def _export_casadi(job: Job) -> list[Path]:
    """NAME.c, robot.json and a README: a function of CasADi for each function that was named."""
    name = job.compiler.facts.name
    functions = [FUNCTIONS[function] if opened(function) is None else None for function in job.functions]
    names = _names(job.robot, job.bound, [one for one in functions if one is not None])
    texts = {
        f"{name}.c": source_of(job.robot, job.compiler, job.functions, job.bound),
        "robot.json": json.dumps(names, indent=1, sort_keys=True, allow_nan=False) + "\n",
        "README.md": _CASADI.replace("NAME", name).replace("FN", job.functions[0]),
    }
    return write_owned(job.out, texts)


_CASADI = """\
# NAME for CasADi and acados

    cc -shared -fPIC -O1 NAME.c -o NAME.so -lm

    F = casadi.external("NAME_FN", "./NAME.so")

Vectors are columns, one state a call. Jacobian and Hessian are found by their names: jac_F, adj1_F, jac_adj1_F.
-O2 takes gcc longer and is no faster; -march=native is faster, for a library that stays on its machine.
"""

_WRITERS: Mapping[str, Callable[[Job], list[Path]]] = {
    "c": _export_c,
    "cuda": _export_cuda,
    "casadi": _export_casadi,
    "verilog": _export_verilog,
}


def write(target: str, job: Job) -> list[Path]:
    """Writes the project of this target; the files."""
    return _WRITERS[target](job)


def _joints(robot: Robot) -> dict[str, list[int]]:
    """For each entry of q and of v and a its joint; coordinates that joints share are the first one's."""
    found = {"q": [0] * robot.nq, "v": [0] * robot.nv}
    for i, joint in reversed(list(enumerate(robot.joints))):
        found["q"][joint.q_index : joint.q_index + joint.nq] = [i] * joint.nq
        found["v"][joint.v_index : joint.v_index + joint.nv] = [i] * joint.nv
    return {**found, "a": found["v"], "tau": found["v"]}


def _facts(job: Job) -> Facts:
    """With what each function computes that may be called."""
    return replace(
        job.compiler.facts,
        functions={one.name: one.function for one in (*variants(FUNCTIONS), *job.variants, *job.rollouts)},
    )


def _order(robot: Robot) -> list[Coordinates]:
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


def _names(robot: Robot, bound: Bound, functions: Iterable[Function]) -> dict[str, object]:
    """What people call things, and gravity: for robot.json."""
    functions = list(functions)
    seen = {"frames": list(bound.frames), "reference_frame": bound.reference_frame} if bound.frames else {}
    held = [{"frame": c.frame, "kind": c.kind, "other": c.other, "gains": list(c.gains)} for c in bound.contacts]
    seen |= {"contacts": held} if held else {}
    seen |= {"integrator": bound.integrator} if any("integrator" in one.options for one in functions) else {}
    return {
        **seen,
        "fingerprint": robot.fingerprint,
        "joints": [{"name": j.name, "type": j.type, "q_index": j.q_index, "v_index": j.v_index} for j in robot.joints],
        "gravity": robot.gravity.tolist(),
        "bodies": [body.name for body in robot.bodies],
        "ports": {one.name: [port.name for port in (*one.inputs, *one.outputs)] for one in functions},
    }
