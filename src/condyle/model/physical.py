"""Inertial parameters that a body can have, and coordinates in which every body has some.

The pseudo-inertia P = [[S, h], [h^T, m]], S being the second moment of mass and h = m c, is positive definite for
bodies with volume, and for nothing else (Wensing, Kim, Slotine 2018). Its Cholesky factor, with logarithms on the
diagonal, has ten free numbers: log-Cholesky parameters (Rucker, Wensing 2022).

The functions here are plain NumPy: they also serve inside a function of a user.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.errors import DTypeError, Finding, ModelError, ModelWarning, ShapeError, listed
from condyle.model.array import LARGEST, Array, moderate, reals
from condyle.model.change import carrier
from condyle.model.checks import check, check_body
from condyle.model.parts import Body, RobotData, combine
from condyle.model.placement import IDENTITY, Placement

ROUNDING = 1e-14
"""Of the second moment about the origin: less than that about the centre of mass may be rounding."""


def physical_inertias(pi: ArrayLike) -> NDArray[np.bool_]:
    """Return which bodies can exist (...): whether the pseudo-inertia of pi (..., 10) is positive definite.

    That is: the mass is positive, and so is the second moment about the centre of mass in every direction, by more than
    rounding. pi: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin of the body's frame, as in `robot.inertias`.
    Rods and plates without thickness are at the limit; the answer for them is False.
    Errors: ShapeError. Source: Wensing, Kim, Slotine 2018.
    """
    rows = reals("physical_inertias: pi", pi).astype(np.float64)
    _check("physical_inertias", "pi", rows.shape)
    finite: NDArray[np.bool_] = np.asarray((np.abs(rows) <= LARGEST).all(axis=-1))
    m, x, y, z, *inertia = np.moveaxis(np.where(finite[..., None], rows, 0.0), -1, 0)
    heavy = m > 0.0
    second = np.array(_second(*inertia))
    spread = second - np.array([x * x, x * y, x * z, y * y, y * z, z * z]) / np.where(heavy, m, 1.0)
    xx, xy, xz, yy, yz, zz = spread
    about_center = np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), (0, 1), (-2, -1))
    least = np.linalg.eigvalsh(about_center)[..., 0]
    return finite & heavy & (least > ROUNDING * np.abs(second[0] + second[3] + second[5]))


def log_cholesky(pi: Any) -> Any:
    """Return the log-Cholesky parameters theta (..., 10) of inertial parameters pi (..., 10).

    theta = (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3). The pseudo-inertia is P = U U^T with U = exp(alpha) times
    [[exp(d1), s12, s13, t1], [0, exp(d2), s23, t2], [0, 0, exp(d3), t3], [0, 0, 0, 1]]. theta is not finite for what no
    body has; for rods and plates, at the limit, rounding decides: ask `physical_inertias`. Errors: ShapeError.
    """
    pi = _array("log_cholesky", "pi", pi)
    with np.errstate(all="ignore"):
        m = pi[..., 0]
        t1, t2, t3 = (pi[..., k] / m for k in (1, 2, 3))
        xx, xy, xz, yy, yz, zz = (entry / m for entry in _second(*(pi[..., k] for k in range(4, 10))))
        u3 = np.sqrt(zz - t3 * t3)
        s23, s13 = (yz - t2 * t3) / u3, (xz - t1 * t3) / u3
        u2 = np.sqrt(yy - t2 * t2 - s23 * s23)
        s12 = (xy - t1 * t2 - s13 * s23) / u2
        u1 = np.sqrt(xx - t1 * t1 - s12 * s12 - s13 * s13)
        return np.stack([0.5 * np.log(m), np.log(u1), np.log(u2), np.log(u3), s12, s23, s13, t1, t2, t3], axis=-1)


def from_log_cholesky(theta: Any) -> Any:
    """The inertial parameters pi (..., 10) of log-Cholesky parameters theta (..., 10): a body can have all of them.

    The inverse of `log_cholesky`. ShapeError.
    """
    theta = _array("from_log_cholesky", "theta", theta)
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = (theta[..., k] for k in range(10))
    m, u1, u2, u3 = np.exp(2.0 * alpha), np.exp(d1), np.exp(d2), np.exp(d3)
    xx = m * (u1 * u1 + s12 * s12 + s13 * s13 + t1 * t1)
    yy = m * (u2 * u2 + s23 * s23 + t2 * t2)
    zz = m * (u3 * u3 + t3 * t3)
    xy = m * (s12 * u2 + s13 * s23 + t1 * t2)
    xz = m * (s13 * u3 + t1 * t3)
    yz = m * (s23 * u3 + t2 * t3)
    return np.stack([m, m * t1, m * t2, m * t3, yy + zz, -xy, xx + zz, -xz, -yz, xx + yy], axis=-1)


def _second(xx: Any, xy: Any, yy: Any, xz: Any, yz: Any, zz: Any) -> tuple[Any, ...]:
    """The second moment of mass, xx xy xz yy yz zz, from the rotational inertia."""
    half = 0.5 * (xx + yy + zz)
    return half - xx, -xy, -xz, half - yy, -yz, half - zz


def _array(function: str, name: str, value: Any) -> Any:
    try:
        found = value if hasattr(value, "shape") else np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise DTypeError(f"{function}: {name}: {error}; give numbers (..., 10)") from None
    _check(function, name, found.shape)
    return found


def _check(function: str, name: str, shape: tuple[int, ...]) -> None:
    if shape[-1:] != (10,):
        raise ShapeError(f"{function}: {name} has shape {shape}, expected (..., 10), the parameters of a body last")


# The inertial parameters of bodies, and robots with other ones.
#
# Atkeson, An, Hollerbach 1986: a body's are m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about its frame's origin.


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


# Numbers of robots like a given one: what tests draw where numbers of the robot are inputs.


BALL = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1])
"""What a body without mass gets instead."""


def contact_numbers(count: int, n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Of n states, what so many contacts take: by the names of their ports. The first is always on."""
    turns = [Placement.from_rpy(*rng.uniform(-0.3, 0.3, (2, 3))) for _ in range(n * count)]
    anchors = [np.concatenate((turn.translation, np.ravel(turn.rotation))) for turn in turns]
    active = np.asarray(rng.integers(0, 2, (n, count)), np.float64)
    active[:, :1] = 1.0
    return {
        "active": active,
        "gains": rng.uniform(0.0, 2.0, (n, count, 2)),
        "anchors": np.reshape(np.array(anchors, np.float64), (n, count, 12)),
        "rising": np.asarray(rng.integers(0, 2, (n, count)), np.float64),
        "restitution": rng.uniform(0.0, 0.9, (n, count)),
    }


def varied(robot: RobotData, n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Of n robots, by the names of `condyle.specification.ports.NUMBERS`: M has about the condition of the robot's own.

    Bodies have half to one and a half of their mass; gravity, armature, and what acts at joints, a little more or less.
    """
    own = parameters(robot)
    gains = np.reshape([one.gains for one in robot.actuators], (-1, 4))
    bodies = np.where(own[:, :1] > 0.0, own, BALL)
    return {
        "inertias": bodies * rng.uniform(0.5, 1.5, (n, len(bodies), 1)),
        "gravity": robot.gravity + rng.uniform(-1.0, 1.0, (n, 3)),
        "armature": robot.armature + rng.uniform(0.0, 0.1, (n, robot.nv)),
        **{name: rng.uniform(0.0, 1.0, (n, robot.nv)) for name in ("damping", "dry_friction", "stiffness")},
        "actuator_gains": gains * rng.uniform(0.9, 1.1, (n, *gains.shape)),
    }
