"""The door for users: load a robot, compile it, export it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import DTypeLike

from condyle import __version__, readers
from condyle.backends.common.facts import Facts
from condyle.backends.cpu.build import supported
from condyle.choices import BUNDLED, EXPORTS, LINKS, TARGETS, UNNAMED
from condyle.compile.checks import check_bound, check_invertible
from condyle.compile.serial import Compiler
from condyle.dynamics import Dynamics, fall_back
from condyle.errors import BuildError, UnsupportedError
from condyle.functions import DEFAULT, found
from condyle.model import builder, generate
from condyle.model import robot as model
from condyle.model.joints import JOINT_TYPES
from condyle.model.tree import Tree, tree_of
from condyle.options import bound_of, check_choice, dtype_name, numbers_of, whole
from condyle.runtime.toolchain import find_compiler
from condyle.specification import UNBOUND, Bound

if TYPE_CHECKING:
    from condyle.user import Size, UserFunction


class Robot(model.Robot):
    """A robot that can be compiled; see `condyle.model.robot.Robot` for everything else."""

    __slots__ = ()

    def compile(
        self,
        target: str = "cpu",
        dtype: DTypeLike = "float64",
        threads: int | None = None,
        links: str = "serial",
        routes: Mapping[str, str] | None = None,
        device: int | None = None,
        kernels: str | Mapping[str, str] = "auto",
        frames: Sequence[str] = (),
        reference_frame: str = "local",
        force_frame: str = "local",
        integrator: str = "semi_implicit_euler",
        inputs: Sequence[str] = (),
    ) -> Dynamics:
        """The functions of this robot; nothing is compiled before its first use.

        target: "cpu" (the best there is on this machine: machine code where the processor has AVX2, else C, else
        NumPy), "c" (through the system's C compiler), "numpy" (the reference), "cuda" (an NVIDIA
        GPU; see docs/gpu.md). dtype: "float64" or "float32", of every array in and out. threads: None is every core.
        routes: {"fd": "aba"} names the algorithm behind a function, else the one with the fewest operations runs.
        links: "serial"; "scan": parallel in the links (no mimic joints; see docs/links.md), on target "numpy" every
        function, with routes of its own, e.g. {"fd": "abia"}, on targets "cpu" and "cuda" some, the rest serial;
        "auto": the faster for one state, as measured. device: the number of the GPU, by default 0. kernels: the form
        of functions there, one word for all or {"dfd": "group32 split"}; "auto": the fastest, by an estimate.
        frames: names of `robot.frames`, in the order in which `frame_placements` and its kin answer; without them
        these raise an error. reference_frame: what velocities, accelerations and Jacobians of frames refer to, the
        frame itself ("local"), the world's axes and origin ("world"), or the world's axes at the frame's origin
        ("local_world_aligned"). force_frame: the axes of `f_ext`, each body's own ("local") or the world's, at the
        body's origin ("local_world_aligned"); derivatives hold the force in these axes. integrator: of `step`.
        inputs: numbers of the robot that become keywords, of "inertias", "gravity", "armature", "damping".
        UnsupportedError says what was allowed; DeviceError, at the first call, why a GPU does not serve.
        """
        dtype = dtype_name(dtype)
        for name, value, allowed in (("target", target, TARGETS), ("links", links, LINKS)):
            check_choice(name, value, allowed)
        bound = bound_of(self, frames, reference_frame, force_frame, integrator)
        if target != "cuda" and (device, kernels) != (None, "auto"):
            raise UnsupportedError("device, kernels: this target runs on the processor and takes none; leave them out")
        threads = None if threads is None else whole("threads", threads, 1, "None for every core")
        device = None if device is None else whole("device", device, 0, "None for the first GPU")
        if not isinstance(routes or {}, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"routes={routes!r}: name the function too, such as {{'fd': 'aba'}}")
        tree = tree_of(self, bound)
        compiler = _compiler(self, tree, links, target, dict(routes or {}))
        numbers = numbers_of(self, inputs, dtype)
        recipe = (Robot.compile, (self, target, dtype, threads, links, routes, device, kernels, *bound, (*numbers,)))
        runs, kind = runs_on(target), Dynamics
        if target == "cuda":
            from condyle.compile.gpu import requests
            from condyle.gpu import GpuDynamics

            kind, compiler.device, compiler.kernels = GpuDynamics, device or 0, requests(kernels)
        return kind(compiler, runs, dtype, threads, recipe, numbers)

    def function(
        self,
        f: Callable[..., object],
        inputs: Mapping[str, Size],
        sizes: Mapping[str, int] | None = None,
        reference_frame: str = "local",
        force_frame: str = "local",
        integrator: str = "semi_implicit_euler",
    ) -> UserFunction:
        """A function of one's own, written in NumPy: f(at, ...) -> a dict of arrays, or one array.

        inputs: name and size of each, in calling order; a size is (), a number, a name ("nq", "nv", "n_bodies"), or a
        tuple of these. q and v come in `at`, which has this robot's functions too; others come by name. sizes: more
        names; other options: as in `compile`. UnsupportedError or ShapeError say what cannot be traced.
        """
        bound = bound_of(self, (), reference_frame, force_frame, integrator)
        from condyle.user import UserFunction  # at first use

        return UserFunction(f, inputs, sizes, self, True, bound, self.compile, partial(export, self))


def function(
    f: Callable[..., object], inputs: Mapping[str, Size], sizes: Mapping[str, int] | None = None
) -> UserFunction:
    """A function without a robot, written in NumPy: every input by name; see `Robot.function`."""
    from condyle.user import UserFunction

    nothing = Builder().body("world").build()
    return UserFunction(f, inputs, sizes, nothing, False, UNBOUND, nothing.compile, partial(export, nothing))


def runs_on(target: str) -> str:
    """The target behind a word: "cpu" is machine code where the processor can, else C where there is a compiler."""
    if target != "cpu" or supported():
        return target
    try:
        find_compiler()
    except BuildError as error:
        fall_back(error)
        return "numpy"
    return "c"


def _compiler(robot: Robot, tree: Tree, links: str, target: str, routes: dict[str, str]) -> Compiler:
    facts = _facts(robot, "robot")
    if links == "serial":
        return Compiler(tree, facts, routes, robot=robot)
    if links == "scan" and target == "c":
        raise UnsupportedError("links='scan': target 'c' has no scans; 'cpu', 'cuda' and 'numpy' have")
    from condyle.compile.parallel import LinkParallelCompiler

    return LinkParallelCompiler(tree, facts, routes, links == "auto", robot=robot)


class Builder(builder.Builder):
    """Builds a robot in code: `Builder().body(...).joint(...).build()`; see `condyle.model.builder.Builder`."""

    def build(self, *, floating_base: bool = False, strict: bool = False, mimic: str = "exact") -> Robot:
        """The robot, checked; the options are those of `load`. ModelError with everything that is wrong."""
        return Robot.of(super().build(floating_base=floating_base, strict=strict, mimic=mimic))


def load(
    source: str | os.PathLike[str],
    *,
    floating_base: bool = False,
    gravity: Sequence[float] | None = None,
    strict: bool = False,
    snap: float = 1e-9,
    mimic: Literal["exact", "independent"] = "exact",
    unmodelled: Literal["refuse", "ignore"] = "refuse",
    assets: Sequence[str | os.PathLike[str]] = (),
    timeout: float = 60.0,
    memory: int = 2 << 30,
) -> Robot:
    """A robot from a URDF or MJCF file, or a bundled one: "iiwa14", "hyq", "atlas".

    floating_base: adds a 6-DOF free joint, "root_joint", above the root link. gravity: (3,) [m/s^2], by default the
    file's, else (0, 0, -9.81). strict: doubtful physics is an error, not a ModelWarning. snap: angles within it [rad]
    of a quarter turn are taken as exact. mimic: "independent" makes mimic joints coordinates of their own. unmodelled:
    "ignore" turns tendons that act, flexes, plugins and equality constraints of an MJCF file into a ModelWarning; by
    default they are an UnsupportedError. assets: folders, besides the model's own, in which an MJCF file's includes and
    meshes may lie; only meshes that determine masses are opened. timeout [s], memory [bytes]: what MuJoCo's compiler,
    a process of its own, may take for an MJCF file.
    ModelError has everything that is wrong with the file, each with line, element and cure.
    """
    return Robot.of(
        readers.load_robot(
            source,
            floating_base=floating_base,
            gravity=gravity,
            strict=strict,
            snap=snap,
            mimic=mimic,
            unmodelled=unmodelled,
            assets=assets,
            timeout=timeout,
            memory=memory,
        )
    )


def chain(n: int, rng: int | np.random.Generator = 0) -> Robot:
    """A random serial chain of n revolute joints, fixed base; the same for the same seed."""
    return Robot.of(generate.chain(n, rng))


def random_tree(
    n: int,
    rng: int | np.random.Generator = 0,
    *,
    types: Sequence[str] = tuple(JOINT_TYPES),
    floating_base: bool = False,
) -> Robot:
    """A random tree of n joints of these types, by default of all; the same for the same seed."""
    return Robot.of(generate.random_tree(n, rng, types=types, floating_base=floating_base))


def compiler_of(
    robot: Robot, routes: Mapping[str, str] | None = None, name: str = "robot", bound: Bound = UNBOUND
) -> Compiler:
    """What makes Programs of this robot and builds them."""
    return Compiler(tree_of(robot, bound), _facts(robot, name), dict(routes or {}), robot=robot)


def operation_counts(
    robot: Robot, routes: Mapping[str, str] | None = None, frames: Sequence[str] = ()
) -> list[dict[str, str | int]]:
    """For each function: route, mul, add, div, sincos before contraction, instructions after it."""
    compiler = compiler_of(robot, routes, bound=bound_of(robot, frames))
    return [compiler.counts(function) for function in compiler.functions]


def export(
    robot: Robot,
    target: str,
    out: str | os.PathLike[str],
    functions: Sequence[str] = DEFAULT,
    name: str | None = None,
    dtype: DTypeLike | None = None,
    word: str | None = None,
    dsp: int | None = None,
    clock: float | None = None,
    f_ext: float | None = None,
    step: float | None = None,
    constants: str | None = None,
    folding: int | None = None,
    root: str | None = None,
    frames: Sequence[str] = (),
    reference_frame: str | None = None,
    integrator: str | None = None,
) -> list[Path]:
    """Write a project for another world into the folder `out`; the files written.

    Files there that an export wrote are replaced while they are unchanged (condyle-export.json holds their sha256);
    any other file in the way is an UnsupportedError, before anything is written.

    target: "c": header, sources, CMakeLists.txt and a test that checks itself; "cuda": one header for float and double,
    and an example that checks itself; both have each function that takes external forces once more, with f_ext, and
    install a CMake package and a pkg-config file. "verilog": an accelerator with a test bench, a Makefile and
    report.json. robot.json holds the names. name: the prefix of every symbol, `[a-z][a-z0-9_]{0,30}` and no word of C,
    C++, CUDA or Verilog, by default the bundled robot's name, else "robot".
    For c and cuda: frames, reference_frame, integrator, as in `compile`. For c: dtype ("float64").
    For verilog: word, the number format ("27x18", "27", "32", "q16.16"), by default the first; dsp, a budget that
    chooses how often a task may enter; clock [MHz] (125), assumed, to print times; f_ext [N, N m], tasks carry external
    forces, each component within; step [s] (1e-3), of "euler" and "rk4"; constants, "dsp" (the default), "shift" or
    "auto"; folding, root: see docs/fpga.md. UnsupportedError for an option that the target does not take.
    """
    from condyle.projects import Job, check_folder, check_taken, folder_of, functions_of, write

    check_choice("target", target, tuple(EXPORTS))
    folder, functions = folder_of(out), functions_of(target, functions)
    number = None if dtype is None else dtype_name(dtype)
    options = {"dtype": number, "word": word, "dsp": dsp, "clock": clock, "f_ext": f_ext}
    options |= {"step": step, "constants": constants, "folding": folding, "root": root}
    options |= {"frames": tuple(frames) or None, "reference_frame": reference_frame, "integrator": integrator}
    said = {option: value for option, value in options.items() if value is not None}
    check_taken(target, said)
    check_solvable(robot, functions)
    named = prefix_of(robot) if name is None else name
    bound = bound_of(robot, frames, reference_frame or "local", integrator=integrator or UNBOUND.integrator)
    compiler = compiler_of(robot, name=named, bound=bound)
    for known in map(found, functions):
        if known is not None:
            check_bound(compiler.tree, known, robot.frames)
    job = Job(robot, compiler, folder, functions, bound, said)
    try:
        check_folder(job.out)
        return write(target, job)
    except OSError as error:
        raise UnsupportedError(f"out={str(out)!r} cannot be written: {error.strerror or error}") from error


def check_solvable(robot: Robot, functions: Sequence[str]) -> None:
    """SingularError if one of the functions has to do with an inverse of the mass matrix that there is for no q."""
    from condyle.hardware.functions import tasks

    known = {name: task.function for name, task in tasks().items()}
    if any(function.solves for name in functions if (function := found(name) or known.get(name)) is not None):
        check_invertible(robot)


def _facts(robot: Robot, name: str) -> Facts:
    return Facts(robot.nq, robot.nv, robot.fingerprint, __version__, name)


def prefix_of(robot: Robot) -> str:
    """What exported symbols begin with where no name is said."""
    return robot.name if robot.name in BUNDLED else UNNAMED
