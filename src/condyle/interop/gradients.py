"""Changes and gradients by the nq entries of a configuration, and by its nv tangent ones, in any array library.

With r a unit quaternion (u, w) and R its rotation, a step e of the tangent space changes the entries by J e:

    position   R e               of free and planar joints
    quaternion r (e, 0) / 2      of free and spherical joints
    any other  e

A gradient by e is J^T times one by the entries. Of all gradients by the entries that belong to one by e, the one along
the manifold is J (J^T J)^-1 times it; and e is (J^T J)^-1 J^T times a change of the entries along the manifold.
J^T J is 1/4 for quaternions and 1 for the rest.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from condyle.model.joints import JOINT_TYPES
from condyle.model.robot import Robot

Layout: TypeAlias = tuple[tuple[str, int, int], ...]
"""Pieces of a configuration in order: joint type or "flat", entries in q, entries in v."""
NO_GRADIENT = "iterate ends by itself and has no gradient: take that of a rollout, or of its function at the answer"
"""What is said of `iterate`."""


def layout_of(robot: Robot) -> Layout:
    """The pieces of a robot's q; joints whose q is a plain vector are one piece where they stand side by side."""
    found: list[tuple[str, int, int]] = []
    for joint in robot.joints:
        kind = joint.kind
        if joint.mimic is not None:
            continue
        if not kind.is_flat:
            found.append((kind.name, kind.nq, kind.nv))
        elif found and found[-1][0] == "flat":
            found[-1] = "flat", found[-1][1] + kind.nq, found[-1][2] + kind.nv
        else:
            found.append(("flat", kind.nq, kind.nv))
    assert all(kind == "flat" or kind in JOINT_TYPES for kind, _, _ in found)
    return tuple(found)


def is_plain(layout: Layout) -> bool:
    """Whether q is a plain vector, so that its entries are its tangent ones."""
    return all(kind == "flat" for kind, _, _ in layout)


def ambient_gradient(xp: Any, layout: Layout, q: Any, gradient: Any) -> Any:
    """(..., nq): the gradient by the entries of q along the manifold, from the one (..., nv) by the tangent space.

    xp: the library of the arrays: numpy, jax.numpy, torch.
    """
    return _up(xp, layout, q, gradient, 2.0)


def tangent_gradient(xp: Any, layout: Layout, q: Any, gradient: Any) -> Any:
    """(..., nv): the gradient by the tangent space at q, from one (..., nq) by the entries."""
    return _down(xp, layout, q, gradient, 0.5)


def entries_of(xp: Any, layout: Layout, q: Any, step: Any) -> Any:
    """(..., nq): how the entries of q change along a step (..., nv) of the tangent space."""
    return _up(xp, layout, q, step, 0.5)


def step_of(xp: Any, layout: Layout, q: Any, change: Any) -> Any:
    """(..., nv): the step of the tangent space that belongs to a change (..., nq) of the entries of q."""
    return _down(xp, layout, q, change, 2.0)


def _up(xp: Any, layout: Layout, q: Any, x: Any, scale: float) -> Any:
    parts: list[Any] = []
    i = j = 0
    for kind, nq, nv in layout:
        at, own = q[..., i : i + nq], x[..., j : j + nv]
        i, j = i + nq, j + nv
        if kind == "free":
            r = at[..., 3:]
            parts += [_rotated(xp, r[..., :3], r[..., 3:], own[..., :3]), *_multiplied(xp, r, own[..., 3:], scale)]
        elif kind == "spherical":
            parts += _multiplied(xp, at, own, scale)
        elif kind == "planar":
            parts.append(_turned(xp, at[..., 2:], own, 1.0))
        else:
            parts.append(own)
    return parts[0] if len(parts) == 1 else xp.concatenate(_alike(xp, parts), -1)


def _down(xp: Any, layout: Layout, q: Any, x: Any, scale: float) -> Any:
    parts: list[Any] = []
    i = 0
    for kind, nq, _ in layout:
        at, own = q[..., i : i + nq], x[..., i : i + nq]
        i += nq
        if kind == "free":
            r = at[..., 3:]
            parts += [_rotated(xp, -r[..., :3], r[..., 3:], own[..., :3]), _divided(xp, r, own[..., 3:], scale)]
        elif kind == "spherical":
            parts.append(_divided(xp, at, own, scale))
        elif kind == "planar":
            parts.append(_turned(xp, at[..., 2:], own, -1.0))
        else:
            parts.append(own)
    return parts[0] if len(parts) == 1 else xp.concatenate(_alike(xp, parts), -1)


def _alike(xp: Any, parts: list[Any]) -> list[Any]:
    """With equal batch dimensions: a flat piece does not have those of q alone."""
    if len({tuple(part.shape[:-1]) for part in parts}) == 1:
        return parts
    whole = xp.broadcast_shapes(*(tuple(part.shape[:-1]) for part in parts))
    return [xp.broadcast_to(part, (*whole, part.shape[-1])) for part in parts]


def _cross(xp: Any, a: Any, b: Any) -> Any:
    return xp.roll(a, -1, -1) * xp.roll(b, 1, -1) - xp.roll(a, 1, -1) * xp.roll(b, -1, -1)


def _rotated(xp: Any, u: Any, w: Any, x: Any) -> Any:
    twice = 2.0 * _cross(xp, u, x)
    return x + w * twice + _cross(xp, u, twice)


def _multiplied(xp: Any, r: Any, x: Any, scale: float) -> list[Any]:
    """The entries of r (x, 0), scaled."""
    u, w = r[..., :3], scale * r[..., 3:]
    u = scale * u
    return [w * x + _cross(xp, u, x), -(u * x).sum(-1)[..., None]]


def _divided(xp: Any, r: Any, x: Any, scale: float) -> Any:
    """The vector of conj(r) x, scaled."""
    u, w = scale * r[..., :3], scale * r[..., 3:]
    return w * x[..., :3] - x[..., 3:] * u - _cross(xp, u, x[..., :3])


def _turned(xp: Any, angle: Any, x: Any, sign: float) -> Any:
    c, s = xp.cos(angle), sign * xp.sin(angle)
    a, b = x[..., :1], x[..., 1:2]
    parts = [c * a - s * b, s * a + c * b, x[..., 2:]]
    return xp.concatenate(_alike(xp, parts), -1)
