"""MuJoCo's C functions, one state after another, in a C loop, and a robot as MJCF text.

Constraints, contacts and passive forces are off. MuJoCo has no analytical derivatives of the dynamics: those timed here
are its own finite differences, marked so; for robots with a free joint they are left out, since MuJoCo takes them in
other coordinates.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from condyle.cli.rivals import rival
from condyle.cli.rivals.numbers import JOINT_KINDS, Numbers, numbers_of
from condyle.cli.rivals.rival import EXACT, FUNCTIONS, Array, Model
from condyle.errors import UnsupportedError
from condyle.runtime.toolchain import find_compiler
from condyle.scalar import number
from condyle.spatial.rotation import from_quaternion

if TYPE_CHECKING:
    from condyle.model.robot import Robot


PACKAGES = "'mujoco>=4'"


def _model_of(mujoco: Any, robot: Robot) -> Any:
    try:
        return mujoco.MjModel.from_xml_string(mjcf(numbers_of(robot, "MuJoCo")))
    except ValueError as error:
        raise UnsupportedError(f"MuJoCo refuses {robot.name!r}: {error}") from error


class MujocoRollout:
    """One robot; batch: by `mujoco.batch` instead, which keeps only the last state."""

    def __init__(self, robot: Robot, threads: int = 1, batch: bool = False) -> None:
        module = "mujoco.batch" if batch else "mujoco.rollout"
        self._mujoco, self._module = (rival.package(name, PACKAGES) for name in ("mujoco", module))
        self._robot, self._threads, self._batch = robot, threads, batch
        self.name = "mujoco-batch" if batch else "mujoco-rollout"
        self._model = _model_of(self._mujoco, robot)
        self.algorithms = {"rollout": "mujoco.batch" if batch else "mujoco.rollout"}
        self.about = {
            "version": metadata.version("mujoco"),
            "flags": "the wheel's own library",
            "threads": str(threads),
        }

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        del function
        return self._batched(arrays)[0] if self._batch else self._rolled(arrays)[0]

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        """The last states."""
        del function
        run, last = self._batched(arrays) if self._batch else self._rolled(arrays)
        run()
        for array, found in zip(out, ours(self._robot, *last()), strict=True):
            array[...] = found

    def tolerance(self, function: str) -> float:
        del function
        return EXACT

    def _rolled(self, arrays: Sequence[Array]) -> tuple[Callable[[], object], Callable[[], tuple[Array, Array]]]:
        q, v, tau = self._arguments(arrays)
        mujoco, model, nq, nv = self._mujoco, self._model, self._robot.nq, self._robot.nv
        start = np.zeros((len(q), 1 + nq + nv))
        start[:, 1 : 1 + nq], start[:, 1 + nq :] = q, v
        # no pool for one thread: it would only pass the work on
        pool = self._module.Rollout(nthread=0 if self._threads == 1 else self._threads)
        data = [mujoco.MjData(model) for _ in range(self._threads)]
        states = np.zeros((*tau.shape[:2], start.shape[-1]))
        applied = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value

        def run() -> object:
            return pool.rollout(model, data, start, tau, control_spec=applied, state=states)

        return run, lambda: (states[:, -1, 1 : 1 + nq], states[:, -1, 1 + nq :])

    def _batched(self, arrays: Sequence[Array]) -> tuple[Callable[[], object], Callable[[], tuple[Array, Array]]]:
        q, v, tau = self._arguments(arrays)
        batch = self._module.Batch(self._model, len(q), self._threads)
        q_end, v_end = batch.bind("qpos"), batch.bind("qvel")
        applied = self._mujoco.mjtState.mjSTATE_QFRC_APPLIED.value

        def run() -> object:
            q_end[...], v_end[...] = q, v
            return batch.rollout(tau.shape[1], tau, applied, record=())

        return run, lambda: (np.array(q_end), np.array(v_end))

    def _arguments(self, arrays: Sequence[Array]) -> tuple[Array, Array, Array]:
        """Torques (n, T, nv): those of a base are turned as at the beginning, so they agree where they are zero."""
        q, v, tau, dt = arrays
        where = frames(self._robot, q, v)
        self._model.opt.timestep = float(np.ravel(dt)[0])
        turned = np.einsum("nij,ntj->nti", where.T, tau)
        return where.q, np.einsum("nij,nj->ni", where.T, v), np.ascontiguousarray(turned)


SOURCE = Path(__file__).with_name("mujoco_c.c")
FLAGS = ("-std=c11", "-O3")
POSITION = "mj_kinematics, mj_comPos"
ALGORITHMS = {
    "id": f"{POSITION}, mj_comVel, mj_rne",
    "fd": f"{POSITION}, mj_makeM, mj_factorM, mj_comVel, mj_rne, mj_solveM",
    "m": f"{POSITION}, mj_makeM, mj_fullM",
    "minv": f"{POSITION}, mj_makeM, mj_factorM, mj_solveM",
    "step": "mj_step",
    "rollout": "mujoco.rollout",
}
DIFFERENCES = {
    "did": "mjd_inverseFD (finite differences)",
    "dfd": "as fd, mjd_inverseFD (finite differences), mj_solveM",
    "dstep": "mjd_transitionFD (finite differences)",
}
NUMBERED = (*FUNCTIONS, "step", "dstep")
"""As mujoco_c.c numbers them."""
COARSE = 1e-4
OLDEST = 4
COMPLAINT_BYTES = 1000


class Numbered(Model):
    """One robot, with a motor for each velocity or without."""

    def number(self, function: str) -> int:
        return NUMBERED.index(function)


class MujocoC:
    """One robot in MuJoCo."""

    name = "mujoco"

    def __init__(self, robot: Robot) -> None:
        folder = rival.wheel_folder("mujoco", "bench", "mujoco/mujoco.h")
        shared = next(iter(sorted(folder.glob("libmujoco.so*"))), None)
        if shared is None:
            raise UnsupportedError("the mujoco package has no shared library: pip install 'condyle[bench]'")
        version = shared.name.removeprefix("libmujoco.so.")
        if int(version.split(".")[0]) < OLDEST:
            raise UnsupportedError(f"the comparison needs MuJoCo {OLDEST} or newer; version {version} is installed")
        compiler = find_compiler()
        include = ("-isystem", str(folder / "include"))
        links = (f"-L{folder}", f"-Wl,-rpath,{folder}", f"-l:{shared.name}")
        command = [compiler.path, *FLAGS, *include, *rival.SHARED, *links]
        self._library = rival.library(command, SOURCE, (), "MuJoCo")
        self._robot, self._numbers = robot, numbers_of(robot, "MuJoCo")
        turning = any(joint.type in ("free", "spherical") for joint in robot.joints)
        self.algorithms = ALGORITHMS if turning else {**ALGORITHMS, **DIFFERENCES}
        self.about = {"version": version, "flags": "the wheel's own library"}
        self._model = self._compiled(motors=False)

    def _compiled(self, motors: bool) -> Model:
        complaint = ctypes.create_string_buffer(COMPLAINT_BYTES)
        model = Numbered(self._library, mjcf(self._numbers, motors).encode(), complaint, COMPLAINT_BYTES)
        if model.handle is None:
            raise UnsupportedError(f"MuJoCo refuses {self._robot.name!r}: {complaint.value.decode(errors='replace')}")
        return model

    @cached_property
    def _rollout(self) -> MujocoRollout:
        return MujocoRollout(self._robot)

    @cached_property
    def _with_motors(self) -> Model:
        return self._compiled(motors=True)

    def _model_for(self, function: str) -> Model:
        return self._with_motors if function == "dstep" else self._model

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        if function == "rollout":
            return self._rollout.call(function, arrays)
        return self._model_for(function).call(function, self._theirs(function, arrays)[1])

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        if function == "rollout":
            return self._rollout.answers(function, arrays, out)
        where, theirs = self._theirs(function, arrays)
        self._model_for(function).call(function, theirs, out)()
        back = np.swapaxes(where.T, -1, -2)
        if function == "id":
            out[0][...] = np.einsum("nij,nj->ni", back, out[0])
        elif function == "fd":
            out[0][...] = np.einsum("nij,nj->ni", back, out[0] - where.coriolis)
        elif function in ("m", "minv"):
            out[0][...] = back @ out[0] @ where.T
        elif function == "step":
            out[0][...], out[1][...] = ours(self._robot, out[0], out[1])
        return None

    def tolerance(self, function: str) -> float:
        return COARSE if function in DIFFERENCES else EXACT

    def _theirs(self, function: str, arrays: Sequence[Array]) -> tuple[Frames, Sequence[Array]]:
        q = arrays[0]
        v = arrays[1] if len(arrays) > 1 else np.zeros((len(q), self._robot.nv))
        x = arrays[2] if len(arrays) > 2 else np.zeros_like(v)
        where = frames(self._robot, q, v)
        turned = [np.einsum("nij,nj->ni", where.T, rows) for rows in (v, x)]
        if function == "id":
            turned[1] = turned[1] + where.coriolis
        dt = [np.broadcast_to(lengths, len(q)) for lengths in arrays[3:]]
        return where, [np.ascontiguousarray(rows) for rows in (where.q, *turned, *dt)]


# MJX, MuJoCo in JAX, on the processor: a rollout that XLA compiles, in float64. XLA chooses its threads.


MJX_PACKAGES = "mujoco-mjx 'jax[cpu]'"


class MjxRollout:
    """One robot without free joints."""

    name = "mjx"

    def __init__(self, robot: Robot) -> None:
        jax, mujoco, mjx = (rival.package(name, MJX_PACKAGES) for name in ("jax", "mujoco", "mujoco.mjx"))
        if any(joint.type == "free" for joint in robot.joints):
            raise UnsupportedError(
                "MJX integrates free joints differently: use a robot without a free joint, or compare with mujoco"
            )
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")
        self._jax: Any = jax
        self._mjx: Any = mjx
        self._robot = robot
        self._model = _model_of(mujoco, robot)
        self.algorithms = {"rollout": "mjx.step in jax.lax.scan, jax.vmap and jax.jit"}
        self.about = {"version": metadata.version("mujoco-mjx"), "jax": metadata.version("jax")}

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        del function
        return self._compiled(arrays)

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        """The last states."""
        del function
        last = [np.asarray(array) for array in self._compiled(arrays)()]
        for array, found in zip(out, ours(self._robot, *last), strict=True):
            array[...] = found

    def tolerance(self, function: str) -> float:
        del function
        return EXACT

    def _compiled(self, arrays: Sequence[Array]) -> Callable[[], Any]:
        q, v, tau, dt = arrays
        jax, mjx = self._jax, self._mjx
        self._model.opt.timestep = float(np.ravel(dt)[0])
        model = mjx.put_model(self._model)
        start = mjx.make_data(model)

        def rollout_of_state(q: Any, v: Any, tau: Any) -> Any:
            def step(data: Any, row: Any) -> tuple[Any, None]:
                return mjx.step(model, data.replace(qfrc_applied=row)), None

            data, _ = jax.lax.scan(step, start.replace(qpos=q, qvel=v), tau)
            return data.qpos, data.qvel

        run = jax.jit(jax.vmap(rollout_of_state))
        given = [jax.numpy.asarray(array) for array in (frames(self._robot, q, v).q, v, tau)]
        return lambda: jax.block_until_ready(run(*given))


# A robot as MJCF text, and the maps between our coordinates and MuJoCo's.
#
# MuJoCo's quaternions begin with w; the linear velocity of its free joint is in world axes, and its acceleration is the
# rate of that.


HEAD = '<mujoco><compiler angle="radian" autolimits="false"/>'
SWITCHES = 'constraint="disable" contact="disable" eulerdamp="disable"'
FREE, SPHERICAL, PRISMATIC = JOINT_KINDS["free"], JOINT_KINDS["spherical"], JOINT_KINDS["prismatic"]


def mjcf(numbers: Numbers, motors: bool = False) -> str:
    """Constraints, contacts and passive forces are off; bodies and joints stand in our order.

    motors: one for each joint, which must be hinges and slides: derivatives by torques are by these there.
    """
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(numbers.parent):
        children.setdefault(int(parent), []).append(i)
    lines = [
        HEAD,
        f'<option gravity="{_words(numbers.gravity)}" integrator="Euler"><flag {SWITCHES}/></option>',
        "<worldbody>",
    ]
    # ends of bodies wait on the same stack as the bodies
    waiting: list[int | str] = list(reversed(children[-1]))
    degree = _first_degrees(numbers)
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        lines += _body(numbers, item, float(numbers.armature[degree[item]]))
        waiting += ["</body>", *reversed(children.get(item, []))]
    moving = [f'<motor joint="j{i}"/>' for i in range(len(numbers.parent)) if motors]
    return "\n".join([*lines, "</worldbody><actuator>", *moving, "</actuator></mujoco>"])


def _first_degrees(numbers: Numbers) -> list[int]:
    sizes = [6 if kind == FREE else 3 if kind == SPHERICAL else 1 for kind in numbers.kind]
    return [0, *np.cumsum(sizes).tolist()]


def _body(numbers: Numbers, i: int, armature: float) -> list[str]:
    kind = int(numbers.kind[i])
    word = "free" if kind == FREE else "ball" if kind == SPHERICAL else "slide" if kind >= PRISMATIC else "hinge"
    axis = "" if kind >= SPHERICAL else f' axis="{_words(numbers.axis[i])}"'
    turn = numbers.rotation[i].T[:2]
    I, where = numbers.inertia[i], f'pos="{_words(numbers.com[i])}"'
    full = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    return [
        f'<body pos="{_words(numbers.translation[i])}" xyaxes="{_words(turn)}">',
        f'<joint name="j{i}" type="{word}"{axis} armature="{armature!r}"/>',
        f'<inertial {where} mass="{float(numbers.mass[i])!r}" fullinertia="{_words(np.array(full))}"/>',
    ]


def _words(x: Array) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(x))


def ours(robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
    """Their states q (n, nq), v (n, nv) in our coordinates."""
    found = np.array(q)
    for joint in robot.joints:
        if joint.type in ("free", "spherical"):
            last = joint.q_index + joint.nq
            found[:, last - 4 : last] = q[:, [last - 3, last - 2, last - 1, last - 4]]
    where = frames(robot, found, np.zeros_like(v))
    return found, np.einsum("nji,nj->ni", where.T, v)


@dataclass(frozen=True)
class Frames:
    """The maps at some states: v of MuJoCo = T v, a of MuJoCo = T a + coriolis. T (n, nv, nv) is orthogonal."""

    q: Array
    T: Array
    coriolis: Array


def frames(robot: Robot, q: Array, v: Array) -> Frames:
    """At states q (n, nq), v (n, nv)."""
    n = len(q)
    theirs = np.array(q)
    T = np.array(np.broadcast_to(np.eye(robot.nv), (n, robot.nv, robot.nv)))
    coriolis = np.zeros((n, robot.nv))
    for joint in robot.joints:
        if joint.type not in ("free", "spherical"):
            continue
        last = joint.q_index + joint.nq
        x, y, z, w = (q[:, k] for k in range(last - 4, last))
        theirs[:, last - 4 : last] = np.stack([w, x, y, z], axis=-1)
        if joint.type == "free":
            rows = slice(joint.v_index, joint.v_index + 3)
            E = cast("Sequence[Sequence[Array]]", from_quaternion([number(entry) for entry in (x, y, z, w)]).rows)
            R = np.transpose(np.stack([np.stack(row) for row in E]))
            T[:, rows, rows] = R
            spin = v[:, joint.v_index + 3 : joint.v_index + 6]
            coriolis[:, rows] = np.einsum("nij,nj->ni", R, np.cross(spin, v[:, rows]))
    return Frames(theirs, T, coriolis)
