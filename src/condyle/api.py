"""The door for users: load a robot, compile it, export it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from condyle import closing, readers
from condyle.backends.cpu.build import supported
from condyle.choices import LINKS, TARGETS
from condyle.compile.chosen import chosen
from condyle.compile.serial import fall_back
from condyle.dynamics import Dynamics
from condyle.errors import BuildError, UnsupportedError
from condyle.exporting import check_solvable as check_solvable
from condyle.exporting import compiler_of as compiler_of
from condyle.exporting import export as export
from condyle.exporting import facts_of
from condyle.exporting import operation_counts as operation_counts
from condyle.exporting import prefix_of as prefix_of
from condyle.model import builder, generate
from condyle.model import robot as model
from condyle.model.array import dtype_name
from condyle.model.contact import Contact as Contact
from condyle.model.contact import checked_contacts
from condyle.model.joints import JOINT_TYPES
from condyle.model.sound import refuse_impossible
from condyle.model.tree import tree_of
from condyle.options import CompileArguments, bound_of, check_choice, numbers_of, whole
from condyle.ports import ACTIVE
from condyle.runtime.toolchain import find_compiler
from condyle.specification import UNBOUND

if TYPE_CHECKING:
    from condyle.user import Size, UserFunction
    from condyle.view import View


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
        contacts: Sequence[Contact] | None = None,
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
        inputs: numbers of the robot that become keywords, of "inertias", "gravity", "armature", "damping", and, with
        contacts, "gains" and "anchors", and "normals", "gaps" and "impulse0" of `contact_solve`. contacts: frames that
        are held while their flags say so, see `condyle.Contact`; None is those of the file, `robot.contacts`.
        ModelError names bodies and joints that cannot be, as `dataclasses.replace` may make them.
        UnsupportedError says what was allowed; DeviceError, at the first call, why a GPU does not serve.
        """
        dtype = dtype_name(dtype)
        for name, value, allowed in (("target", target, TARGETS), ("links", links, LINKS)):
            check_choice(name, value, allowed)
        bound = bound_of(self, frames, reference_frame, force_frame, integrator, contacts)
        if target != "cuda" and (device, kernels) != (None, "auto"):
            raise UnsupportedError(
                f"device, kernels: these are options of target 'cuda', and target {target!r} runs on the processor; "
                "leave them out"
            )
        threads = None if threads is None else whole("threads", threads, 1, "None for every core")
        device = None if device is None else whole("device", device, 0, "None for the first GPU")
        if not isinstance(routes or {}, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"routes={routes!r}: name the function too, such as {{'fd': 'aba'}}")
        refuse_impossible(self)
        tree = tree_of(self, bound)
        compiler = chosen(self, tree, facts_of(self, "robot"), links, target, dict(routes or {}))
        numbers = numbers_of(self, inputs, dtype, bound.contacts)
        named = tuple(name for name in numbers if name != ACTIVE.name)
        given = CompileArguments(
            self, target, dtype, threads, links, routes, device, kernels, *bound[:4], named, bound.contacts
        )
        runs, kind = runs_on(target), Dynamics
        if target == "cuda":
            from condyle.compile.gpu import requests
            from condyle.gpu import GpuDynamics

            kind, compiler.device, compiler.kernels = GpuDynamics, device or 0, requests(kernels)
        return kind(compiler, runs, dtype, threads, (Robot.compile, given), numbers)

    def close(
        self,
        q: ArrayLike,
        contacts: Sequence[Contact] | None = None,
        fixed: Sequence[str] = (),
        tolerance: float = 1e-9,
        iterations: int = 200,
    ) -> NDArray[np.floating]:
        """A configuration near q, (..., nq), in which every contact is at its anchor: loops are closed.

        contacts: by default `contacts` of the robot. fixed: names of joints that keep their q. Every step is the least
        change of q, in its tangent space, that closes the loops to first order; float64 inside. tolerance [m, rad]: of
        the answer, which mostly is far better. StateError names the contacts that stay open, by how much and in which
        states; ModelError an unknown joint; UnsupportedError a contact that has no anchor, or that there is none.
        """
        return self._loops(contacts).close(q, fixed, tolerance, iterations)

    def close_velocity(
        self, q: ArrayLike, v: ArrayLike, contacts: Sequence[Contact] | None = None, fixed: Sequence[str] = ()
    ) -> NDArray[np.floating]:
        """The nearest velocity to v, (..., nv), with which no contact opens at q: J v = 0, by least squares of entries.

        contacts, fixed and errors as for `close`. What an impact without restitution leaves is the nearest in the
        kinetic energy's measure instead: `impulse_dynamics`.
        """
        return self._loops(contacts).project(q, v, fixed)

    def _loops(self, contacts: Sequence[Contact] | None) -> closing.Loops:
        held = self.contacts if contacts is None else checked_contacts(self, contacts)
        closing.check_held(held)
        return closing.Loops(self, tuple(held), self.compile("numpy", contacts=contacts))

    def show(
        self,
        q: ArrayLike | None = None,
        *,
        trajectory: ArrayLike | None = None,
        dt: float = 0.01,
        forces: Mapping[str, ArrayLike] | None = None,
        points: Mapping[str, ArrayLike] | None = None,
        frames: Sequence[str] | None = None,
        spacing: float | None = None,
        layers: Sequence[str] | None = None,
        file: str | os.PathLike[str] | None = None,
        view: str = "iso",
        theme: str = "auto",
        port: int = 8080,
        browser: bool = True,
        meshes: str | os.PathLike[str] | None = None,
        assets: Sequence[str | os.PathLike[str]] = (),
    ) -> View | None:
        """The robot to be looked at: a page in the browser, or a picture where a file is named (docs/viewer.md).

        q (nq,) or (N, nq): robots that stand still, by default one in its neutral state. trajectory: (T, nq) or
        (N, T, nq), states dt [s] apart. forces [N]: in world axes by the name of the frame that they act on, (3,),
        (N, 3), (T, 3) or (N, T, 3). points (3,) [m]: where these act, in the frame, by default its origin. frames:
        names of those that are drawn, all by default. spacing [m]: between robots, 0 puts them over each other.
        layers: of "bodies" (ellipsoids with the body's mass and inertia), "links", "axes" (of joints), "frames",
        "names", "com", "forces"; all by default, on a page names only where they are few.
        file: .svg, or .png with matplotlib, and None is the answer; view "iso", "front", "side" or "top"; theme "auto",
        "light" or "dark" (of the page too). Else the page (`condyle[view]`) at this port of this machine, or the next
        free one; the answer is its handle, and the call does not wait: `update(q)`, `time`, `address`, `wait()`,
        `close()`. meshes: the robot's URDF file: its STL and OBJ meshes, in its folder or those of assets, are shown.
        ShapeError, StateError, ModelError for a frame, UnsupportedError for a word, a file and a missing package.
        """
        from condyle import view as seen  # at first use

        shells = seen.shells_of(self, meshes, assets, file)

        poses = seen.poses_by(self, lambda robot, frames: robot.compile("numpy", frames=frames))
        again = partial(seen.scene_of, self, poses, dt=dt, frames=frames, spacing=spacing)
        scene = again(q, trajectory=trajectory, forces=forces, points=points)
        if file is None:
            return seen.serve(scene, again, layers, theme, port, browser, shells)
        return seen.save(scene, file, view, layers, theme)

    def function(
        self,
        f: Callable[..., object],
        inputs: Mapping[str, Size],
        sizes: Mapping[str, int] | None = None,
        reference_frame: str = "local",
        force_frame: str = "local",
        integrator: str = "semi_implicit_euler",
        contacts: Sequence[Contact] | None = None,
    ) -> UserFunction:
        """A function of one's own, written in NumPy: f(at, ...) -> a dict of arrays, or one array.

        inputs: name and size of each, in calling order; a size is (), a number, a name ("nq", "nv", "n_bodies",
        "n_contacts"), or a tuple of these. q and v come in `at`, which has this robot's functions too; others come by
        name. sizes: more names; other options, contacts among them: as in `compile`. UnsupportedError or ShapeError
        say what cannot be traced.
        """
        bound = bound_of(self, (), reference_frame, force_frame, integrator, contacts)
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
    """A robot from a URDF or MJCF file, or a bundled one: "iiwa14", "hyq", "atlas", "panda", "ur5e", "anymal_kinova",
    "talos", "allegro".

    floating_base: adds a 6-DOF free joint, "root_joint", above the root link. gravity: (3,) [m/s^2], by default the
    file's, else (0, 0, -9.81). strict: doubtful physics is an error, not a ModelWarning. snap: angles within it [rad]
    of a quarter turn are taken as exact. mimic: "independent" makes mimic joints coordinates of their own. unmodelled:
    "ignore" turns tendons that act, flexes, plugins and equality constraints of an MJCF file into a ModelWarning, but
    for those that become mimic joints or closures; by default they are an UnsupportedError. assets: folders, besides
    the model's own, in which an MJCF file's includes and meshes may lie; only meshes that determine masses are opened.
    timeout [s], memory [bytes]: what MuJoCo's compiler, a process of its own, may take for an MJCF file.
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
