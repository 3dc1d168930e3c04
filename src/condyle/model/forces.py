"""External forces on bodies, from wrenches on named frames."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.errors import ModelError, ShapeError, UnsupportedError
from condyle.model.array import Array, reals, transpose
from condyle.model.change import carrier
from condyle.model.orientation import orientation
from condyle.model.parts import Frame, RobotData
from condyle.model.state import configurations
from condyle.specification.choices import FORCE_FRAMES


def f_ext(
    robot: RobotData, wrenches: Mapping[str, ArrayLike], frame: str = "local", q: ArrayLike | None = None
) -> NDArray[np.floating]:
    """Return external forces on every body (..., n_bodies, 6), from wrenches on named frames.

    wrenches: {frame: (..., 6)}, each [force N; torque N m] at the origin of its frame. frame: "local": in the axes of
    each frame; "local_world_aligned": in world axes, with the robot at q (..., nq). Batches broadcast. The answer is in
    the link frames of the bodies, as functions take it; float32 if all arrays are. ModelError for an unknown frame or
    one fixed to the world; UnsupportedError for another word and for a missing q.
    """
    if not isinstance(wrenches, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"f_ext: expected frames and their wrenches such as {{'foot': wrench}}, got {wrenches!r}")
    given = {name: reals(f"the wrench on {name!r}", wrench) for name, wrench in wrenches.items()}
    kinds = [wrench.dtype for wrench in given.values()]
    found = [(carrier(robot, name, "a force on it moves nothing"), _wrench(name, x)) for name, x in given.items()]
    batches = [wrench.shape[:-1] for _, wrench in found]
    at = _q_of_axes(robot, frame, q)
    if at is not None:
        kinds.append(at[1])
        batches.append(at[0].shape[:-1])
    try:
        batch = np.broadcast_shapes(*batches)
    except (ValueError, RuntimeError) as error:  # RuntimeError: more than 32 dimensions
        who = "the wrenches" if at is None else "the wrenches and q"
        raise ShapeError(f"the batches of {who} do not broadcast: {error}") from None
    total = np.zeros((*batch, len(robot.bodies), 6))
    for carried, wrench in found:
        force, torque = _in_the_body(robot, carried, wrench, None if at is None else at[0])
        total[..., carried.body, :3] += force
        total[..., carried.body, 3:] += torque + np.cross(carried.placement.translation, force)
    return total.astype(np.float32) if given and all(kind == np.float32 for kind in kinds) else total


def _q_of_axes(robot: RobotData, axes: str, q: ArrayLike | None) -> tuple[Array, np.dtype[np.floating]] | None:
    """The q that axes depend on, and its own number type; None where they depend on none."""
    if axes not in FORCE_FRAMES:
        raise UnsupportedError(f"f_ext: frame={axes!r}: allowed is {', '.join(map(repr, FORCE_FRAMES))}")
    if axes == "local":
        return None
    if q is None:
        raise UnsupportedError(f"f_ext: frame={axes!r} needs q=, which says how the frames are turned")
    return configurations(robot, q)


def _in_the_body(robot: RobotData, frame: Frame, wrench: Array, q: Array | None) -> tuple[Array, Array]:
    """Force and torque in the axes of the frame's body."""
    if q is None:
        turn = transpose(frame.placement.rotation)
        return wrench[..., :3] @ turn, wrench[..., 3:] @ turn
    turn = orientation(robot, frame.body, q)
    return (wrench[..., None, :3] @ turn)[..., 0, :], (wrench[..., None, 3:] @ turn)[..., 0, :]


def _wrench(name: str, wrench: NDArray[np.generic]) -> Array:
    array = wrench.astype(np.float64)
    if array.ndim == 0 or array.shape[-1] != 6:
        raise ShapeError(f"the wrench on {name!r} has shape {array.shape}, expected (..., 6): [force; torque]")
    return array
