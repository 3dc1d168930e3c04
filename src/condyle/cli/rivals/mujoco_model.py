"""A robot as MJCF text, and the maps between our coordinates and MuJoCo's.

MuJoCo's quaternions begin with w; the linear velocity of its free joint is in world axes, and its acceleration is the
rate of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from condyle.cli.rivals.numbers import JOINT_KINDS, Numbers
from condyle.scalar import number
from condyle.spatial.rotation import from_quaternion

if TYPE_CHECKING:
    from condyle.model.robot import Robot

Array = NDArray[np.floating]
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
