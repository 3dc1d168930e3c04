"""The inertial parameters of bodies, and robots with other ones.

Atkeson, An, Hollerbach 1986: a body's are m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about its frame's origin.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from condyle.errors import Finding, ModelError, ModelWarning, listed
from condyle.model.array import LARGEST, Array, moderate
from condyle.model.change import carrier
from condyle.model.checks import check, check_body
from condyle.model.parts import Body, RobotData, combine
from condyle.model.placement import IDENTITY

ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Of the rotational inertia, in the order of the parameters."""


def parameters(robot: RobotData) -> Array:
    """(n_bodies, 10)."""
    return np.reshape(np.array([_row(body) for body in robot.bodies], np.float64), (-1, 10))


def _row(body: Body) -> list[float]:
    about_origin = body.inertia + body.mass * _spread(body.com)
    return [body.mass, *(body.mass * body.com).tolist(), *(float(about_origin[entry]) for entry in ENTRIES)]


def _spread(com: Array) -> Array:
    """What a unit mass at this point adds to the inertia about the origin."""
    return float(com @ com) * np.eye(3) - com[:, None] * com


def with_parameters(robot: RobotData, inertias: ArrayLike) -> RobotData:
    """The robot with these parameters, (n_bodies, 10); a row that is the body's own leaves it to the last digit."""
    rows = _numbers("inertias", inertias, len(robot.bodies), 10)
    own = parameters(robot)
    pairs = zip(robot.bodies, own, rows, strict=True)
    return _checked(robot, [body if np.array_equal(old, new) else _body(body.name, new) for body, old, new in pairs])


def _body(name: str, row: Array) -> Body:
    mass, first = float(row[0]), row[1:4]
    if mass <= 0.0 and first.any():
        where = f"link {name!r}"
        raise ModelError([Finding("error", f"mass {mass:.9g} kg with a first moment of mass", element=where)])
    com = first / mass if mass else np.zeros(3)
    inertia = np.zeros((3, 3))
    for (i, j), value in zip(ENTRIES, row[4:], strict=True):
        inertia[i, j] = inertia[j, i] = value
    return Body(name, mass, com, inertia - mass * _spread(com))


def attached(robot: RobotData, name: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> RobotData:
    """The robot with a body welded to a frame; see `Robot.attach`."""
    frame = carrier(robot, name, "a payload there is never moved")
    numbers = _numbers("attach: inertia", inertia, 3, 3)
    if np.max(np.abs(numbers - np.transpose(numbers))) > 1e-9 * float(np.max(np.abs(numbers))):
        raise ModelError(f"the payload on {name!r}: inertia is not symmetric")
    weight = float(_numbers("attach: mass", mass))
    payload = Body(f"payload on {name}", weight, _numbers("attach: com", com, 3), numbers)
    _raise_errors(check_body(payload))
    bodies = list(robot.bodies)
    carrying = bodies[frame.body]
    bodies[frame.body] = combine(carrying.name, [(IDENTITY, carrying), (frame.placement, payload)])
    return _checked(robot, bodies)


def _checked(robot: RobotData, bodies: list[Body]) -> RobotData:
    """The robot with these bodies: errors are raised, what is odd and was not so before is a warning."""
    _raise_errors(finding for body in bodies for finding in check_body(body))
    changed = replace(robot, bodies=tuple(bodies))
    found = check(changed)
    known = set(check(robot)) if found else set[Finding]()
    fresh = [finding for finding in found if finding not in known]
    if fresh:
        warnings.warn(ModelWarning(listed(fresh), fresh), stacklevel=4)
    return changed


def _raise_errors(findings: Iterable[Finding]) -> None:
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise ModelError(errors)


def _numbers(what: str, value: ArrayLike, *shape: int) -> Array:
    try:
        array = np.array(value, np.float64)
    except (ValueError, TypeError) as error:
        raise ModelError(f"{what}: {error}") from None
    if array.shape != shape:
        raise ModelError(f"{what} has shape {array.shape}, expected {shape}")
    if not moderate(array):
        raise ModelError(f"{what} is not finite, or beyond {LARGEST:.0e}")
    return array
