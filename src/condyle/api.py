"""What users call: load a robot, compile it, export it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from condyle import readers
from condyle.calls.dynamics import Dynamics
from condyle.compile.options import CompileArguments, bound_of, check_choice, numbers_of, routes_of, whole
from condyle.compile.targets import TARGETS, available
from condyle.errors import UnsupportedError
from condyle.exports.exporting import compiler_of as compiler_of
from condyle.exports.exporting import export as export
from condyle.exports.exporting import facts_of
from condyle.exports.exporting import operation_counts as operation_counts
from condyle.exports.exporting import prefix_of as prefix_of
from condyle.jobs import closures as closing
from condyle.links import chosen
from condyle.model import builder
from condyle.model import robot as model
from condyle.model.array import dtype_name
from condyle.model.checks import refuse_impossible
from condyle.model.contact import Contact as Contact
from condyle.model.contact import checked_contacts
from condyle.model.joints import JOINT_TYPES
from condyle.model.parts import say_unapplied, without_notes
from condyle.model.tree import tree_of
from condyle.specification import UNBOUND
from condyle.specification.integrators import LINKS
from condyle.specification.ports import ACTIVE, CONTROLS

if TYPE_CHECKING:
    from condyle.jobs.inverse_kinematics import InverseKinematics
    from condyle.user import Size, UserFunction
    from condyle.view import HardPlane, SmoothGround, View


class Robot(model.Robot):
    """A robot: joints, bodies, frames and gravity; `compile` gives its functions. `condyle.load` reads one from a file.

    q (nq,) and v (nv,) hold the joints' positions and velocities in the order of `joints`. It cannot be changed.
    """

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
        check: bool = True,
        joint_forces: Sequence[str] = (),
        actuators: bool = False,
        friction_velocity: float = UNBOUND.drives.friction_velocity,
        stops: Sequence[float] = UNBOUND.drives.stops,
        implicit: bool | str = True,
        joint_rows: bool = False,
        regressor: Sequence[str] = (),
        sweeps: int | None = None,
    ) -> Dynamics:
        """Return the `Dynamics` of this robot: its functions, each compiled at its first call.

        target: "cpu": machine code, or C or NumPy if the processor cannot run it; "c": by the system's C compiler;
            "numpy": the reference; "cuda": an NVIDIA GPU (docs/how-to/gpu.md).
        dtype: number type of every array, in and out: "float64" or "float32".
        threads: their largest number; None is every core.
        links: "serial"; "scan": links in parallel (docs/explanation/links.md; no mimic joints): all functions on
            "numpy", with routes of their own, such as {"fd": "abia"}; some on "cpu" and "cuda", where the rest are
            serial; "auto": the faster of both for one state, as measured.
        routes: the algorithm of a function, such as {"fd": "aba"}; by default the one with the fewest operations.
        device: the number of the GPU; None is 0.
        kernels: how functions run on the GPU, one text for all or {"dfd": "group32 split"}; "auto": by an estimate of
            time.
        frames: names of `robot.frames`, in the order in which functions of frames answer, such as `frame_placements`;
            without frames these functions raise UnsupportedError.
        reference_frame: of velocities, accelerations and Jacobians of frames: "local": axes and origin of the frame;
            "world": those of the world; "local_world_aligned": axes of the world, origin of the frame.
        force_frame: of `f_ext`: "local": axes of each body; "local_world_aligned": axes of the world, origin of the
            body. Derivatives hold the force constant in these axes.
        integrator: of `step`: "semi_implicit_euler", "euler" or "rk4"; closed loops drift least with "rk4".
        inputs: numbers of the robot that become keyword arguments: "inertias", "gravity", "armature", and "damping",
            "dry_friction", "stiffness", whose forces then act; with actuators "actuator_gains"; with contacts "gains"
            and "anchors", and for `contact_solve` "normals", "gaps", "impulse0", "arms"; with joint_rows
            "joint_impulse0", and `contact_solve` answers `joint_impulse` too.
        contacts: each `condyle.Contact` holds while its flag is 1; None is `robot.contacts`, those of the file.
        check: a call on NumPy arrays, and PyTorch's of the processor, is a StateError where the length of a quaternion
            is further than 1e-3 from 1; `out=` may hold some answers then. False: quaternions are taken as given.
        joint_forces: some of "damping", "friction", "springs", "limits", or "all": forces of the joints that belong to
            the equation of motion, M a + c = tau + joint forces (docs/how-to/drives.md).
        actuators: those of the robot push, and functions take their controls u (..., nu) in place of tau.
        friction_velocity: w of dry friction, - f v / sqrt(v^2 + w^2) [rad/s or m/s].
        stops: of the stops at limits: stiffness [N m/rad or N/m], time ahead [s] and blend [rad or m].
        implicit: steps of first order take what depends on v at their end: (M + h D) a; else at their beginning.
            "positions", of semi-implicit Euler: springs and actuators at the positions of their end too.
        joint_rows: in `contact_solve`, "friction" and "limits" of joint_forces hold exactly, as rows of its conditions,
            in place of their smooth forces (docs/how-to/friction.md).
        regressor: some of "damping", "friction", "armature", "stiffness": `inverse_dynamics_regressor` has nv columns
            for each behind the inertias', in this order.
        sweeps: of `contact_solve`, this many from `impulse0` and `joint_impulse0`, which takes the same time for all
            states; None: iterations until it is solved (docs/how-to/friction.md).
        Errors: ModelError for bodies and joints that cannot exist; UnsupportedError for an option, with what is
            allowed; DeviceError, at the first call, if the GPU cannot be used. ModelWarning, once: what the file says
            and functions leave out, such as friction (docs/how-to/models.md).
        """
        dtype = dtype_name(dtype)
        for name, value, allowed in (("target", target, tuple(TARGETS)), ("links", links, LINKS)):
            check_choice(name, value, allowed)
        drives = joint_forces, actuators, friction_velocity, stops, implicit, joint_rows
        bound = bound_of(self, frames, reference_frame, force_frame, integrator, contacts, *drives, regressor, sweeps)
        asked = TARGETS[target]
        if not asked.on_device and (device, kernels) != (None, "auto"):
            raise UnsupportedError(
                f"device, kernels: these are options of target 'cuda', and target {target!r} runs on the processor; "
                "leave them out"
            )
        threads = None if threads is None else whole("threads", threads, 1, "None for every core")
        device = None if device is None else whole("device", device, 0, "None for the first GPU")
        named_routes = routes_of(routes)
        refuse_impossible(self)
        tree = tree_of(self, bound)
        compiler = chosen(self, tree, facts_of(self, "robot"), links, asked, named_routes)
        numbers = numbers_of(self, inputs, dtype, bound.contacts, bound.drives)
        named = tuple(name for name in numbers if name not in (ACTIVE.name, CONTROLS.name))
        say_unapplied(self, named, bound.drives)
        given = CompileArguments(
            self,
            target,
            dtype,
            threads,
            links,
            routes,
            device,
            kernels,
            *bound[:4],
            named,
            bound.contacts,
            check,
            bound.drives.forces,
            actuators,
            *bound.drives[-4:],
            bound.regressor,
            bound.sweeps,
        )
        kind = Dynamics
        if asked.on_device:
            from condyle.calls.gpu import GpuDynamics
            from condyle.compile.gpu import requests

            kind, compiler.device, compiler.kernels = GpuDynamics, device or 0, requests(kernels)
        return kind(compiler, available(asked), dtype, threads, (Robot.compile, given), numbers)

    def close(
        self,
        q: ArrayLike,
        contacts: Sequence[Contact] | None = None,
        fixed: Sequence[str] = (),
        tolerance: float = 1e-9,
        iterations: int = 200,
    ) -> NDArray[np.floating]:
        """Return a configuration (..., nq) near q in which every contact is at its anchor: loops are closed.

        q (..., nq). contacts: None is `robot.contacts`. fixed: names of joints whose q does not change. tolerance [m,
        rad]: largest error of the answer. iterations: at most so many steps. A step is the least change of q, in its
        tangent space, that closes the loops to first order; it is computed in float64.
        Errors: StateError if contacts stay open: which, by how much, in which states, and whether no q near closes them
        (then with a tolerance that is enough) or more iterations may. ModelError for an unknown joint.
        UnsupportedError for a contact without an anchor, and for a robot without contacts.
        """
        return self._closed_loops("close", contacts).close(q, fixed, tolerance, iterations)

    def close_velocity(
        self, q: ArrayLike, v: ArrayLike, contacts: Sequence[Contact] | None = None, fixed: Sequence[str] = ()
    ) -> NDArray[np.floating]:
        """Return the velocity (..., nv) nearest to v with which every contact stays closed at q: J v = 0.

        q (..., nq), v (..., nv). Nearest by the sum of squares of the entries; nearest in kinetic energy is what
        `impulse_dynamics` answers for an impact without restitution. Rows that are only rounding of the model's digits
        take nothing away (docs/how-to/contacts.md, Regularisation). contacts, fixed and errors: as in `close`;
        StateError where the velocities of fixed joints open a loop.
        """
        return self._closed_loops("close_velocity", contacts).project(q, v, fixed)

    def _closed_loops(self, called: str, contacts: Sequence[Contact] | None) -> closing.ClosedLoops:
        held = self.contacts if contacts is None else checked_contacts(self, contacts)
        closing.check_held(called, held)
        return closing.ClosedLoops(self, tuple(held), without_notes(self).compile("numpy", contacts=contacts))

    def inverse_kinematics(
        self,
        frames: Sequence[str],
        position: float | Sequence[float] = 1.0,
        rotation: float | Sequence[float] = 0.3,
        limits: bool = True,
        rest: ArrayLike | None = None,
        tolerance: float = 1e-5,
        most: int = 300,
    ) -> InverseKinematics:
        """Return the inverse kinematics of some frames: `compile` it, then call it with targets.

        frames: names of K frames, which are to be at their targets all at once. position [1], rotation [m]: weights of
        their errors, one for all or one a frame; 0: it does not matter. limits: q keeps the limits of the joints. rest
        (nq,): a posture to be near to, as far as the frames leave it free. tolerance [m, rad]: the error of a solution.
        most: iterations of a target. See docs/how-to/inverse_kinematics.md and `Solution`.
        Errors: UnsupportedError for a frame and a number; ModelError for limits that no q keeps.
        """
        from condyle.jobs.inverse_kinematics import InverseKinematics  # at first use

        return InverseKinematics(
            self, self.function, frames, position, rotation, limits, rest, tolerance, whole("most", most, 1)
        )

    def show(
        self,
        q: ArrayLike | None = None,
        *,
        trajectory: ArrayLike | None = None,
        dt: float = 0.01,
        forces: Mapping[str, ArrayLike] | None = None,
        points: Mapping[str, ArrayLike] | None = None,
        contacts: Sequence[Contact] | None = None,
        contact_forces: ArrayLike | None = None,
        ground: HardPlane | SmoothGround | None = None,
        heights: ArrayLike | None = None,
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
        """Show the robot in the browser, or draw it into a file (docs/how-to/viewer.md); return the page or None.

        q (nq,) or (N, nq): robots that stand still; None is the neutral state. trajectory (T, nq) or (N, T, nq): states
        dt [s] apart, instead of q. forces: {frame: force [N] in world axes}, each (3,), (N, 3), (T, 3) or (N, T, 3).
        points: {frame: where its force acts (3,) [m] in the frame}, by default its origin. contacts: those that are
        marked; None is `robot.contacts`. ground: a `Plane` or a `Ground` of `condyle.ground`, whose feet are marked as
        well; heights (nx, ny) [m]: of its grid. contact_forces: of each contact, then of each foot, (C, 6) in the
        contact's axes or (C, 3) [N] in world axes; before these N, T or N, T. frames: names of those that are drawn;
        None is all. spacing [m]: between robots; 0: all at one place; None: by their size. layers: what is drawn, some
        of "bodies", "links", "axes" and "limits" (of joints), "frames", "names", "com", "contacts", "ground", "forces";
        None is all but limits, on a page names only if they are few. file: .svg, or .png with matplotlib. view: "iso",
        "front", "side", "top", of a file. theme: "auto", "light", "dark". port: of the page on this machine, or the
        next free one. browser: whether it is opened. meshes: the robot's model file, whose shapes the page shows;
        meshes are read from its folder and from assets. The page needs `condyle[view]`. The call does not wait; the
        handle has `update(q)`, `time`, `wait()` and `close()`. Errors: ShapeError, StateError; ModelError for a frame;
        UnsupportedError for a word, a file or a missing package; ModelWarning for a mesh that is not drawn.
        """
        from condyle import view as seen  # at first use

        shells = seen.shells_of(self, meshes, assets, file)
        poses = seen.poses_by(self, lambda robot, frames: without_notes(robot).compile("numpy", frames=frames))
        marks = {"contacts": contacts, "ground": ground, "heights": heights}
        again = partial(seen.scene_of, self, poses, dt=dt, frames=frames, spacing=spacing, **marks)
        scene = again(q, trajectory=trajectory, forces=forces, points=points, contact_forces=contact_forces)
        if file is not None:
            return seen.save(scene, file, view, layers, theme)
        return seen.serve(scene, again, layers, theme, port, browser, shells)

    def function(
        self,
        f: Callable[..., object],
        inputs: Mapping[str, Size],
        sizes: Mapping[str, int] | None = None,
        reference_frame: str = "local",
        force_frame: str = "local",
        integrator: str = "semi_implicit_euler",
        contacts: Sequence[Contact] | None = None,
        joint_forces: Sequence[str] = (),
        actuators: bool = False,
        friction_velocity: float = UNBOUND.drives.friction_velocity,
        stops: Sequence[float] = UNBOUND.drives.stops,
        implicit: bool | str = True,
        joint_rows: bool = False,
        regressor: Sequence[str] = (),
        sweeps: int | None = None,
    ) -> UserFunction:
        """Return a function of one's own, written in NumPy: f(at, ...) -> one array, or a dict of arrays by name.

        f: is called twice, with symbols. at: the state, with `at.q`, `at.v`, `at.frame(name)` and the robot's
        functions, such as `at.forward_dynamics(tau)`; other inputs are arguments by name. inputs: {name: size} in
        calling order, "q" and "v" among them where `at` has them; a size is (), a number, a name ("nq", "nv",
        "n_bodies", "n_contacts") or a tuple of these. sizes: {name: number}, more names of sizes. Other options: as in
        `compile`.
        Errors: UnsupportedError or ShapeError for what cannot be traced, or is not the same in both calls.
        """
        drives = joint_forces, actuators, friction_velocity, stops, implicit, joint_rows
        bound = bound_of(self, (), reference_frame, force_frame, integrator, contacts, *drives, regressor, sweeps)
        from condyle.user import UserFunction  # at first use

        return UserFunction(f, inputs, sizes, self, True, bound, self.compile, partial(export, self))


def function(
    f: Callable[..., object], inputs: Mapping[str, Size], sizes: Mapping[str, int] | None = None
) -> UserFunction:
    """Return a function without a robot, written in NumPy: f(...) with every input by name; see `Robot.function`."""
    from condyle.user import UserFunction

    nothing = Builder().body("world").build()
    return UserFunction(f, inputs, sizes, nothing, False, UNBOUND, nothing.compile, partial(export, nothing))


class Builder(builder.Builder):
    """Builds a robot in code: `Builder().body(...).joint(...).build()`; see `condyle.model.builder.Builder`."""

    def build(self, *, floating_base: bool = False, strict: bool = False, mimic: str = "exact") -> Robot:
        """Return the robot, checked; options as in `load`. ModelError has everything that is wrong."""
        return Robot.from_data(super().build(floating_base=floating_base, strict=strict, mimic=mimic))


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
    """Return the robot of a URDF or MJCF file, or a bundled one: "iiwa14", "hyq", "atlas", "panda", "ur5e",
    "anymal_kinova", "talos", "allegro", "go2", "g1".

    floating_base: add a free joint, "root_joint", between the world and the root link.
    gravity (3,) [m/s^2]: in world axes; None is the file's, else (0, 0, -9.81).
    strict: doubtful masses and inertias, such as one that breaks the triangle inequality, are a ModelError and not a
        ModelWarning.
    snap [rad]: an angle of the file that is within it of a multiple of pi/2 is taken as that multiple; 0 changes none.
    mimic: "exact": a mimic joint follows its master; "independent": it has its own entries of q and v.
    unmodelled: tendons that act, flexes, plugins and equality constraints of an MJCF file; "refuse": UnsupportedError;
        "ignore": ModelWarning, and they are left out. Equalities that are mimic joints or contacts are modelled.
    assets: folders, besides the file's own, from which includes and meshes of an MJCF file may be read; only meshes
        that determine masses are opened.
    timeout [s], memory [bytes]: limits of the process in which MuJoCo compiles an MJCF file.
    Errors: ModelError has everything that is wrong with the file, with line, element and cure. UnsupportedError.
    """
    return Robot.from_data(
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
    """Return a random serial chain of n revolute joints with a fixed base; the same for the same seed rng."""
    return Robot.from_data(builder.chain(n, rng))


def random_tree(
    n: int,
    rng: int | np.random.Generator = 0,
    *,
    types: Sequence[str] = tuple(JOINT_TYPES),
    floating_base: bool = False,
) -> Robot:
    """A random tree of n joints of these types, by default of all; the same for the same seed."""
    return Robot.from_data(builder.random_tree(n, rng, types=types, floating_base=floating_base))
