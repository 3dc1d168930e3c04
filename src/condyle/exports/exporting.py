"""What is written of a robot, and counted: exports for other worlds, operations."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import DTypeLike

from condyle.backends.c.part_report import budget_of, check_embedded
from condyle.backends.c.schedule import Entry
from condyle.backends.c.schedule_export import export_schedules_c
from condyle.backends.common.facts import Facts
from condyle.compile.compiler import Compiler
from condyle.compile.options import (
    bound_of,
    check_bound,
    check_choice,
    check_numbers,
    check_robot,
    numbers_of,
    routes_of,
)
from condyle.compile.routes import check_solvable
from condyle.derivatives import taking
from condyle.errors import UnsupportedError
from condyle.exports.projects import Job, check_folder, folder_of, functions_of, names_of, order_of
from condyle.exports.targets import EXPORTS, check_taken, options_of, planned, write
from condyle.functions import DEFAULT
from condyle.functions.open_rollouts import OpenRollout, open_rollout
from condyle.model import robot as model
from condyle.model.array import dtype_name
from condyle.model.contact import Contact
from condyle.model.parts import say_unapplied
from condyle.model.robot import Robot
from condyle.model.tree import tree_of
from condyle.specification import F_EXT, UNBOUND, Bound, Function, Repeat
from condyle.specification.integrators import BUNDLED, UNNAMED
from condyle.specification.ports import CONTROLS
from condyle.version import __version__


def compiler_of(
    robot: model.Robot, routes: Mapping[Function, str] | None = None, name: str = "robot", bound: Bound = UNBOUND
) -> Compiler:
    """What makes Programs of this robot and builds them."""
    return Compiler(tree_of(robot, bound), facts_of(robot, name), dict(routes or {}), robot=robot)


def operation_counts(
    robot: model.Robot,
    routes: Mapping[str, str] | None = None,
    frames: Sequence[str] = (),
    contacts: Sequence[Contact] | None = None,
) -> list[dict[str, str | int]]:
    """Return a row for each function: route, mul, add, div, sincos before multiply-adds are formed, instructions after.

    routes, frames, contacts: as in `Robot.compile`. UnsupportedError for a route, a frame or a contact that is not
    there.
    """
    check_robot("operation_counts", robot)
    compiler = compiler_of(robot, routes_of(routes), bound=bound_of(robot, frames, contacts=contacts))
    return [compiler.counts(function) for function in compiler.functions]


def export(
    robot: model.Robot,
    target: str,
    out: str | os.PathLike[str],
    functions: Sequence[str | Function | OpenRollout] = DEFAULT,
    name: str | None = None,
    dtype: DTypeLike | None = None,
    word: str | None = None,
    dsp: int | None = None,
    clock: float | None = None,
    f_ext: float | None = None,
    step: float | None = None,
    constants: str | None = None,
    folding: int | None = None,
    pipeline: int | None = None,
    part: str | None = None,
    root: str | None = None,
    box: Mapping[str, object] | None = None,
    overflow: str | None = None,
    axi: int | None = None,
    float32: bool = False,
    async_clock: bool = False,
    link: float | None = None,
    echo: bool = False,
    bus_clock: float | None = None,
    frames: Sequence[str] = (),
    reference_frame: str | None = None,
    integrator: str | None = None,
    inputs: Sequence[str] = (),
    contacts: Sequence[Contact] | None = None,
    regressor: Sequence[str] = (),
    joint_forces: Sequence[str] = (),
    actuators: bool = False,
    friction_velocity: float | None = None,
    stops: Sequence[float] | None = None,
    implicit: bool | str | None = None,
    joint_rows: bool | None = None,
    sweeps: int | None = None,
    embedded: bool = False,
    libm: bool = False,
    flash: int | None = None,
    stack: int | None = None,
) -> list[Path]:
    """Write a project that runs without Python into the folder `out`; return the paths of the files.

    Files there that an earlier export wrote are replaced if nobody changed them (condyle-export.json holds their
    sha256); any other file in the way is an UnsupportedError, before anything is written.

    target: "c": sources, header, CMakeLists.txt and a test that checks itself; "cuda": a header for float and double,
        and an example that checks itself; both install a CMake package and a pkg-config file, and have each function
        that takes external forces once more, with f_ext. "casadi": a C file for `casadi.external`. "verilog": an
        accelerator with a test bench, a Makefile and report.json. robot.json holds the names of joints and quantities.
    functions: short names, or the functions; for "c" and "cuda" "rollout" too, which is step repeated.
    name: first part of every exported name, `[a-z][a-z0-9_]{0,30}` and no keyword of C, C++, CUDA or Verilog; None is
        the name of a bundled robot, else "robot".
    frames, reference_frame, integrator, contacts, regressor, sweeps: as in `Robot.compile`, for "c", "cuda" and
        "casadi".
    joint_forces, actuators, friction_velocity, stops, implicit, joint_rows: as in `Robot.compile`, for the same three.
    inputs: as in `Robot.compile`, for "c" and "cuda".
    dtype: for "c", "float64" (None) or "float32".
    embedded: for "c": freestanding code for a microcontroller: one state a call, no library, its numbers on the stack.
        Functions with external forces are those that were named, such as "id_f_ext". libm: sines and roots of libm.
    part: with embedded: the processor, "cortex-m4f", "cortex-m7", "rv64gc" or "cortex-a53": report.json says what the
        project needs there, by GNU's compiler and qemu. flash, stack [bytes]: more than this is an UnsupportedError.

    The rest is for "verilog", see docs/how-to/fpga.md; None is the default:
    part: the FPGA: "xcvu9p" (default), "xcu250", "xck26", "xc7a100t", "xc7z020", "ecp5-85k", "ecp5-45k", "ecp5-25k".
    word: number format, such as "32" or "q16.16"; "27x18", or "25x18" on a part of the 7 series (default).
    dsp: DSPs that may be used (62 % of those of the part); they decide how often a task may enter.
    clock [MHz]: assumed, to print times (125).
    f_ext [N, N m]: tasks have external forces, each component up to this (none).
    step [s]: time step of "euler" and "rk4" (1e-3).
    constants: "dsp" (default), "shift" or "auto". folding, root: see docs/how-to/fpga.md. pipeline: 0 (default) to 3.
    box: largest |q|, |v|, |a| and |tau| of a task, such as {"q": 6.3, "v": 10}: a number (of q for all angles), or by
        joint, {"v": {"joint_3": 2}}; v, a, tau also an array (nv,). By default pi for angles of revolute joints, the
        velocity limits of the model (10 without), ten times as much for a, and the tau of such states.
    overflow: "flag" (default): the answer says that a number was clamped; "silent": it does not.
    axi: bits of its AXI4-Streams, 32 to 1024 (512). float32: their words are float32. async_clock: the accelerator has
        its own clock. bus_clock [MHz]: then that of the streams (as clock). echo: difd returns M^-1 too.
    link [GB/s]: of the link to the host in each direction; it decides how often a task may enter.
    Errors: UnsupportedError for an option that the target does not take, or that is out of range; SingularError.
    """
    check_robot("export", robot)
    check_choice("target", target, EXPORTS)
    numbers = {"dsp": dsp, "clock": clock, "f_ext": f_ext, "step": step, "bus_clock": bus_clock}
    check_numbers(**{name: value for name, value in numbers.items() if value is not None})
    if word is not None and not isinstance(word, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"word={word!r}: give text, such as '27x18', '32' or 'q16.16'")
    folder, listed = folder_of(out), functions_of(target, planned(target), functions)
    number = None if dtype is None else dtype_name(dtype)
    options = {"dtype": number, "word": word, "dsp": dsp, "clock": clock, "f_ext": f_ext}
    options |= {"step": step, "constants": constants, "folding": folding, "pipeline": pipeline}
    options |= {"root": root, "box": box, "part": part, "overflow": overflow, "echo": echo or None}
    options |= {"axi": axi, "float32": float32 or None, "async_clock": async_clock or None, "link": link}
    options |= {"bus_clock": bus_clock}
    options |= {"frames": tuple(frames) or None, "reference_frame": reference_frame, "integrator": integrator}
    options |= {"inputs": tuple(inputs) or None, "contacts": None if contacts is None else tuple(contacts)}
    drives: dict[str, Any] = {"joint_forces": joint_forces or None, "actuators": actuators or None}
    drives |= {"friction_velocity": friction_velocity, "stops": stops, "implicit": implicit, "joint_rows": joint_rows}
    options |= drives
    options |= {"regressor": regressor or None, "sweeps": sweeps, "embedded": embedded or None, "libm": libm or None}
    options |= {"flash": flash, "stack": stack}
    said = {option: value for option, value in options.items() if value is not None}
    check_taken(target, said)
    held = contacts if "contacts" in options_of(target) else ()
    step_by = integrator or UNBOUND.integrator
    bound = bound_of(
        robot,
        frames,
        reference_frame or "local",
        integrator=step_by,
        contacts=held,
        regressor=regressor,
        sweeps=sweeps,
        **{option: value for option, value in drives.items() if value is not None},
    )
    numbers = tuple(numbers_of(robot, inputs, "float64", bound.contacts, bound.drives))
    chosen = _opened(listed, numbers, with_forces=not embedded)
    check_solvable(robot, map(_called, chosen))
    say_unapplied(robot, numbers, bound.drives)
    named = prefix_of(robot) if name is None else name
    compiler = compiler_of(robot, name=named, bound=bound)
    for function in map(_called, chosen):
        check_bound(compiler.tree, function, robot.frames)
    job = Job(robot, compiler, folder, chosen, bound, said)
    try:
        check_folder(job.out)
        return write(target, job)
    except OSError as error:
        raise UnsupportedError(f"out={str(out)!r} cannot be written: {error.strerror or error}") from error


def _called(function: Function | OpenRollout) -> Function:
    """The function, or the one that a rollout of any number of steps is of."""
    return function.repeat.function if isinstance(function, OpenRollout) else function


def _opened(
    functions: Iterable[Function | OpenRollout], numbers: Sequence[str], with_forces: bool
) -> tuple[Function | OpenRollout, ...]:
    """The functions with these numbers of the robot as inputs. with_forces: each with external forces once more."""
    if not numbers:
        return tuple(functions)
    opened: list[Function | OpenRollout] = []
    for function in functions:
        of = _called(function)
        for forces in ((), (F_EXT.name,)) if with_forces and of.takes_f_ext else ((),):
            taken = taking(of, *forces, *numbers)
            rollout = function.repeat if isinstance(function, OpenRollout) else None
            opened.append(taken if rollout is None else open_rollout(taken, _timed(taken, rollout), rollout.summed))
    return tuple(opened)


def _timed(function: Function, rollout: Repeat) -> tuple[str, ...]:
    """What has a time axis: controls in place of tau, where the function takes them."""
    inputs = {port.name for port in function.inputs}
    return tuple(name if name in inputs else CONTROLS.name for name in rollout.by_time)


def facts_of(robot: model.Robot, name: str) -> Facts:
    """What kernels and exports say of the robot."""
    return Facts(robot.nq, robot.nv, robot.fingerprint, __version__, name)


def prefix_of(robot: model.Robot) -> str:
    """What exported symbols begin with where no name is said."""
    return robot.name if robot.name in BUNDLED else UNNAMED


# Jobs as projects: schedules of a robot's functions in C.


TARGETS = ("c",)


def check_target(target: str) -> None:
    """UnsupportedError for a target that has no schedules."""
    if target == "cuda":
        raise UnsupportedError(
            "target 'cuda' writes no schedules, such as those of OptimalControl: export 'c', which solves a problem a "
            "call on the processor; for many problems on a GPU call compile('cuda').solve(...); a solver of your own "
            "has the header of condyle.export(robot, 'cuda', out, ('dstep', 'rollout'))"
        )
    check_choice("target", target, TARGETS)


def export_schedules(
    robot: Robot,
    target: str,
    out: str | os.PathLike[str],
    entries: Sequence[Entry],
    kernels: Mapping[str, Function],
    name: str | None = None,
    dtype: DTypeLike | None = None,
    bound: Bound = UNBOUND,
    embedded: bool = False,
    limits: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write a project in C in which each entry's schedule is a function NAME_x(inputs, outputs, work); return the paths
    of the files.

    A call computes one problem, without allocation. x is the schedule's name, such as "solve" or "step"; work has
    NAME_x_work_bytes bytes, a constant of the header. Arguments are the schedule's `inputs` without those that are
    `fixed`, then its `outputs`, in their order; a name that C does not allow becomes array0, array1, ...

    target: "c". entries: see `backends.c.schedule.Entry`: a schedule, what it computes, the meaning of each input and
    output, and an example, which the exported test calls. kernels: {name in `Call.kernel`: its function}, for all
    schedules; operands of a call stand in the order of the function's inputs and outputs. They are compiled for this
    robot with the options `bound`; those that no schedule calls are left out. Panels of all schedules have the same
    lanes, a power of 2: 8 of float64 and 16 of float32 fill the longest vectors, and any machine computes them.
    name, dtype, embedded: as in `condyle.export`; embedded wants panels of one lane. limits: part, flash and stack.
    Errors: UnsupportedError for another target, a name, a number type, a fixed or an example's number that is not
    finite, and a folder that cannot be written.
    """
    check_target(target)
    folder, number = folder_of(out), "float64" if dtype is None else dtype_name(dtype)
    budget = budget_of(check_embedded(embedded, limits or {}), number)
    compiler = compiler_of(robot, name=prefix_of(robot) if name is None else name, bound=bound)
    try:
        check_folder(folder)
        codes = {kernel: compiler.code(function) for kernel, function in kernels.items()}
        names, order = names_of(robot, bound, ()), order_of(robot)
        return export_schedules_c(entries, codes, compiler.facts, folder, names, order, number, embedded, budget)
    except OSError as error:
        raise UnsupportedError(f"out={str(out)!r} cannot be written: {error.strerror or error}") from error
