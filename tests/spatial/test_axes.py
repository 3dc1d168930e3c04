"""The frame that a joint's axis is the z of: exact for the coordinate axes, and no other axis is taken for one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from condyle.model.placement import alignment
from condyle.model.tree import aligned
from tests.accuracies import FEW_ROUNDINGS

AXES = [
    *(sign * axis for axis in np.eye(3) for sign in (1.0, -1.0)),
    np.array((0.6, 0.0, 0.8)),
    np.array((1.0, 2.0, -2.0)) / 3.0,
    np.array((0.0, -1.0, -4.37114e-08)),  # as in a published file; unit to 1e-15, its largest entry is 1
    np.array((1e-9, 1.0, 0.0)),
]


@pytest.mark.parametrize("frame", [aligned, alignment])
@pytest.mark.parametrize("axis", AXES, ids=lambda axis: " ".join(f"{x:.3g}" for x in axis))
def test_the_third_column_is_the_axis(frame: Callable[[np.ndarray], np.ndarray], axis: np.ndarray) -> None:
    R = frame(axis)
    assert np.abs(R[:, 2] - axis).max() < FEW_ROUNDINGS
    assert np.abs(R.T @ R - np.eye(3)).max() < FEW_ROUNDINGS
    assert np.linalg.det(R) == pytest.approx(1.0, abs=FEW_ROUNDINGS)


@pytest.mark.parametrize("axis", AXES[:6], ids=str)
def test_coordinate_axes_cost_nothing(axis: np.ndarray) -> None:
    assert set(np.abs(aligned(axis)).ravel().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_poses_and_algorithms_use_one_frame(axis: np.ndarray) -> None:
    assert np.array_equal(aligned(axis), alignment(axis))
