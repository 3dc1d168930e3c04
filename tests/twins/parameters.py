"""Inertial parameters of a body seen from another frame."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def moved_parameters(place: Array) -> Array:
    """The inertial parameters of a body about the joint, by those in a frame that stands at `place` (4, 4) there.

    Pseudo-inertias, which are linear in them, move as homogeneous coordinates do: J' = T J T^T.
    """
    return np.array([_parameters(place @ _pseudo(unit) @ place.T) for unit in np.eye(10)]).T


def _pseudo(parameters: Array) -> Array:
    """sum m [r; 1] [r; 1]^T."""
    mass, *rest = parameters
    xx, xy, yy, xz, yz, zz = rest[3:]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return np.block([[second, np.array(rest[:3])[:, None]], [np.array(rest[:3])[None], np.array([[mass]])]])


def _parameters(pseudo: Array) -> Array:
    second = pseudo[:3, :3]
    i = np.trace(second) * np.eye(3) - second
    return np.array([pseudo[3, 3], *pseudo[:3, 3], i[0, 0], i[0, 1], i[1, 1], i[0, 2], i[1, 2], i[2, 2]])
