"""Pinocchio's Python bindings, state by state: what a Python user of it waits for.

The robot goes over as URDF text, so that only the file format is shared with us.
"""

from __future__ import annotations

from typing import Any

import condyle
from condyle.cli.timing import Call, Row, Sampling, interleaved

STATES = 64


class PinocchioPython:
    """One robot in Pinocchio's Python."""

    def __init__(self, robot: condyle.Robot) -> None:
        import pinocchio as pin

        self._pin: Any = pin
        floating = robot.joints[0].type == "free"
        text = robot.to_urdf()
        self._model: Any = (
            pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromXML(text)
        )
        if self._model.nv != robot.nv:
            raise condyle.UnsupportedError(f"Pinocchio reads nv {self._model.nv} where we have {robot.nv}")
        self._data: Any = self._model.createData()

    def measure(self, sampling: Sampling) -> list[Row]:
        """Nanoseconds per state; difd has no function of its own there."""
        times = interleaved(self._calls(), sampling)
        return [Row(name, 1, "pinocchio-python", spread.per(STATES)) for name, spread in times.items()]

    def _calls(self) -> dict[str, Call]:
        pin, model, data = self._pin, self._model, self._data
        states = [
            (pin.randomConfiguration(model), pin.utils.rand(model.nv), pin.utils.rand(model.nv)) for _ in range(STATES)
        ]
        return {
            "id": lambda: [pin.rnea(model, data, q, v, a) for q, v, a in states],
            "fd": lambda: [pin.aba(model, data, q, v, tau) for q, v, tau in states],
            "m": lambda: [pin.crba(model, data, q) for q, _, _ in states],
            "minv": lambda: [pin.computeMinverse(model, data, q) for q, _, _ in states],
            "did": lambda: [pin.computeRNEADerivatives(model, data, q, v, a) for q, v, a in states],
            "dfd": lambda: [pin.computeABADerivatives(model, data, q, v, tau) for q, v, tau in states],
        }
