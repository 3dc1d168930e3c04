"""Inertial parameters that a body can have, and coordinates in which every body has some.

The pseudo-inertia P = [[S, h], [h^T, m]], S being the second moment of mass and h = m c, is positive definite for
bodies with volume, and for nothing else (Wensing, Kim, Slotine 2018). Its Cholesky factor, with logarithms on the
diagonal, has ten free numbers: log-Cholesky parameters (Rucker, Wensing 2022).

The functions here are plain NumPy: they also serve inside a function of a user.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.errors import DTypeError, ShapeError
from condyle.model.array import LARGEST, reals

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
