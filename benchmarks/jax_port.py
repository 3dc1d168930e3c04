"""Forward dynamics of a chain of revolute joints in jax.numpy, as a user would write it, to compare with Condyle.

Inverse dynamics by Newton and Euler, body by body (Featherstone 2008, section 5.3), M by its columns, and a solve.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import condyle


def forward_dynamics(robot: condyle.Robot) -> Callable[..., Any]:
    """fd(q, v, tau) of one state."""
    jnp: Any = import_module("jax.numpy")
    jax: Any = import_module("jax")
    joints, bodies = robot.joints, robot.bodies
    if any(joint.type not in ("revolute", "continuous") for joint in joints):
        raise SystemExit(f"{robot.name}: the port has revolute joints only")

    def rotation(k: int, angle: Any) -> Any:
        """From the body to its parent, by Rodrigues' formula."""
        x, y, z = joints[k].axis
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        turn = np.eye(3) + jnp.sin(angle) * cross + (1.0 - jnp.cos(angle)) * (cross @ cross)
        return np.asarray(joints[k].placement.rotation) @ turn

    def inverse_dynamics(q: Any, v: Any, a: Any, gravity: Any) -> Any:
        turns = [rotation(k, q[k]) for k in range(robot.nv)]
        motions: list[tuple[Any, Any, Any]] = []
        for k, joint in enumerate(joints):
            w, dw, u = motions[joint.parent] if joint.parent >= 0 else (jnp.zeros(3), jnp.zeros(3), -gravity)
            back, axis = turns[k].T, np.asarray(joint.axis)
            at = np.asarray(joint.placement.translation)
            u = back @ (u + jnp.cross(dw, at) + jnp.cross(w, jnp.cross(w, at)))
            w, dw = back @ w + axis * v[k], back @ dw + axis * a[k] + jnp.cross(back @ w, axis * v[k])
            motions.append((w, dw, u))
        forces = []
        for body, (w, dw, u) in zip(bodies, motions, strict=True):
            com, inertia = np.asarray(body.com), np.asarray(body.inertia)
            force = body.mass * (u + jnp.cross(dw, com) + jnp.cross(w, jnp.cross(w, com)))
            forces.append((force, inertia @ dw + jnp.cross(w, inertia @ w) + jnp.cross(com, force)))
        torques: list[Any] = [None] * robot.nv
        for k in reversed(range(robot.nv)):
            force, torque = forces[k]
            torques[k] = torque @ np.asarray(joints[k].axis) + joints[k].armature[0] * a[k]
            parent = joints[k].parent
            if parent >= 0:
                force, torque = turns[k] @ force, turns[k] @ torque
                at = np.asarray(joints[k].placement.translation)
                own = forces[parent]
                forces[parent] = own[0] + force, own[1] + torque + jnp.cross(at, force)
        return jnp.stack(torques)

    still, gravity = np.zeros(robot.nv), np.asarray(robot.gravity)

    def fd(q: Any, v: Any, tau: Any) -> Any:
        columns = jax.vmap(lambda unit: inverse_dynamics(q, still, unit, np.zeros(3)))(np.eye(robot.nv))
        return jnp.linalg.solve(columns, tau - inverse_dynamics(q, v, still, gravity))

    return fd
