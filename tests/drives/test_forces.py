"""The force of one joint by each law, and of one actuator, as numbers: formulas, and slopes as differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

from condyle.algorithms.drives import UNLIMITED, Force, push, resistance, spring, stop
from condyle.specification import Drive

H, W, STOP = 1e-6, 0.05, (800.0, 0.02, 0.05)
Formula: TypeAlias = Callable[[float, float], float]
LAWS: dict[str, tuple[Callable[[float, float], Force], Formula, Formula]] = {
    "damping": (lambda q, v: resistance(0.3, None, W, v), lambda q, v: -0.3 * v, lambda q, v: 0.3),
    "friction": (
        lambda q, v: resistance(None, 0.7, W, v),
        lambda q, v: -0.7 * v / np.hypot(v, W),
        lambda q, v: 0.7 / np.hypot(v, W),
    ),
    "both": (
        lambda q, v: resistance(0.3, 0.7, W, v),
        lambda q, v: -0.3 * v - 0.7 * v / np.hypot(v, W),
        lambda q, v: 0.3 + 0.7 / np.hypot(v, W),
    ),
    "none": (lambda q, v: resistance(None, None, W, v), lambda q, v: 0.0, lambda q, v: 0.0),
    "spring": (lambda q, v: spring(4.0, 0.2, q), lambda q, v: -4.0 * (q - 0.2), lambda q, v: 0.0),
    "spring at the end": (
        lambda q, v: spring(4.0, 0.2, q, v, 0.03),
        lambda q, v: -4.0 * (q + 0.03 * v - 0.2),
        lambda q, v: 0.12,
    ),
    "stop": (
        lambda q, v: stop((-1.0, 0.5), STOP, q, v),
        lambda q, v: beyond(q + STOP[1] * v, -1.0, 0.5),
        lambda q, v: STOP[1] * stiffness(q + STOP[1] * v, -1.0, 0.5),
    ),
    "a stop on one side": (
        lambda q, v: stop((-1.0, np.inf), STOP, q, v),
        lambda q, v: beyond(q + STOP[1] * v, -1.0, np.inf),
        lambda q, v: STOP[1] * stiffness(q + STOP[1] * v, -1.0, np.inf),
    ),
}
"""The force, its value, and D."""


def beyond(s: float, low: float, high: float) -> float:
    k, _, w = STOP
    e = s - min(max(s, low), high)
    return -k * np.sign(e) * (e * e / (4.0 * w) if abs(e) < 2.0 * w else abs(e) - w)


def stiffness(s: float, low: float, high: float) -> float:
    k, _, w = STOP
    return k * min(abs(s - min(max(s, low), high)) / (2.0 * w), 1.0)


@pytest.mark.parametrize("name", LAWS)
def test_a_force_and_its_slopes(name: str) -> None:
    """Within and beyond limits, and at rest."""
    law, value, damping = LAWS[name]
    for q in (-1.4, -1.09, -1.03, -0.2, 0.0, 0.47, 0.53, 0.59, 0.7):
        for v in (-1.0, -0.02, 0.0, 0.3):
            force = Force(*map(float, law(q, v)))  # type: ignore[arg-type]
            assert (force.value, force.D) == pytest.approx((value(q, v), damping(q, v)))
            for slope, f, moved in (
                (force.by_q, value, (1.0, 0.0)),
                (force.by_v, value, (0.0, 1.0)),
                (force.D_by_q, damping, (1.0, 0.0)),
                (force.D_by_v, damping, (0.0, 1.0)),
            ):
                ends = [f(q + s * H * moved[0], v + s * H * moved[1]) for s in (1.0, -1.0)]
                assert slope == pytest.approx((ends[0] - ends[1]) / (2.0 * H), abs=1e-4)


GAINS = (3.0, 0.4, -2.0, -0.5)
DRIVES: dict[str, tuple[Drive, tuple[float, ...], float | None]] = {
    "servo": (Drive(False, (), GAINS, (-1.0, 1.0), (-4.0, 4.0)), GAINS, None),
    "servo at the end": (Drive(False, (), GAINS, (-1.0, 1.0), (-4.0, 4.0)), GAINS, 0.1),
    "without limits": (Drive(False, (), GAINS, UNLIMITED, UNLIMITED), GAINS, None),
    "damper": (Drive(True, (), GAINS, (0.0, 1.0), (-2.0, np.inf)), GAINS, 0.1),
}


@pytest.mark.parametrize("name", DRIVES)
def test_the_push_of_an_actuator_and_its_slopes(name: str) -> None:
    drive, gains, h = DRIVES[name]
    ahead = 0.0 if h is None else h

    def value(length: float, rate: float, control: float) -> float:
        gain, b0, b1, b2 = gains
        u = min(max(control, drive.control[0]), drive.control[1])
        servo = gain * u + b0 + b1 * (length + ahead * rate) + b2 * rate
        return float(np.clip(-gain * u * rate if drive.is_damper else servo, *drive.force))

    for at_point in ((0.1, 0.3, 0.5), (0.1, -0.3, -1.5), (2.0, 1.5, -0.4), (-1.9, 0.2, 0.9), (0.3, -0.6, 1.2)):
        length, rate, control = at_point
        found: Any = [float(x) for x in push(drive, gains, control, length, rate, h)]  # type: ignore[arg-type]
        assert found[0] == pytest.approx(value(*at_point))
        slopes = []
        for way in H * np.eye(3):
            ends = [value(*(np.array(at_point) + s * way)) for s in (1.0, -1.0)]
            slopes.append((ends[0] - ends[1]) / (2.0 * H))
        assert found[1:4] == pytest.approx(slopes, abs=1e-6)
        free = drive.control[0] < control < drive.control[1] and drive.force[0] < found[0] < drive.force[1]
        assert found[4] == pytest.approx(-gains[0] * free if drive.is_damper else 0.0)
