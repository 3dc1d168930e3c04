"""What is fixed when a robot is compiled, and what functions depend on: frames, axes, contacts, joint forces."""

from __future__ import annotations

from typing import Any, NamedTuple


class Drive(NamedTuple):
    """An actuator in numbers, see `condyle.Actuator`. gears: (entry of v, entry of q, gear) of each joint."""

    is_damper: bool
    gears: tuple[tuple[int, int, float], ...]
    gains: tuple[float, float, float, float]
    control: tuple[float, float]
    force: tuple[float, float]


class Drives(NamedTuple):
    """Forces of joints that belong to the equation of motion, and actuators that push in place of tau.

    forces: words of `condyle.specification.integrators.JOINT_FORCES`. damping to upper: a number of each entry of v,
    limits infinite where there are none. reference: nothing where all are zero, and there also without forces, for
    stiffness that is an input. effort: the same as limits, of what actuators push by. friction_velocity: w of dry
    friction. stops: k, t, w of limits. implicit: whether steps take what depends on v at their end; "positions":
    springs and actuators at the positions of their end too.
    joint_rows: whether `contact_solve` has dry friction and limits as rows.
    """

    forces: tuple[str, ...] = ()
    damping: tuple[float, ...] = ()
    friction: tuple[float, ...] = ()
    stiffness: tuple[float, ...] = ()
    reference: tuple[float, ...] = ()
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    actuators: tuple[Drive, ...] = ()
    effort: tuple[float, ...] = ()
    friction_velocity: float = 1e-2
    stops: tuple[float, float, float] = (1e4, 1e-2, 1e-3)
    implicit: bool | str = True
    joint_rows: bool = False


class Bound(NamedTuple):
    """What is fixed when a robot is compiled.

    frames: names of the robot's frames, in the order of the answers. reference_frame: the axes and the point of
    velocities, accelerations and Jacobians of frames. force_frame: the axes of external forces, "local" for those of
    the body's frame, "local_world_aligned" for the world's at its origin, which they keep when q varies. integrator:
    how steps of time are made (`condyle.specification.integrators`). contacts: frames that are held, in the order of
    their flags, each a `condyle.Contact`. regressor: numbers of joints that have columns in the regressor. sweeps: of
    `contact_solve`, None for iterations until the residual is small. drives: joint forces and actuators.
    """

    frames: tuple[str, ...] = ()
    reference_frame: str = "local"
    force_frame: str = "local"
    integrator: str = "semi_implicit_euler"
    contacts: tuple[Any, ...] = ()
    regressor: tuple[str, ...] = ()
    sweeps: int | None = None
    drives: Drives = Drives()


UNBOUND = Bound()
"""What `compile` takes by default."""
