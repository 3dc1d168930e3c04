"""Pinocchio's Python bindings, state by state: what a Python user of it waits for. The library is the wheel's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

import numpy as np

import condyle
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.pinocchio_cpp import ALGORITHMS
from condyle.cli.rivals.rival import EXACT, Array

JOINTS = ("RX", "RY", "RZ", "RevoluteUnaligned", "PX", "PY", "PZ", "PrismaticUnaligned", "Spherical", "FreeFlyer")
"""In the order of kinds in numbers.py."""


class PinocchioPython:
    """One robot in Pinocchio's Python; difd has no function of its own there."""

    name = "pinocchio-python"

    def __init__(self, robot: condyle.Robot) -> None:
        try:
            import pinocchio as pin
        except ImportError as error:
            raise condyle.UnsupportedError("Pinocchio is not installed: pip install 'condyle[bench]'") from error
        self._pin: Any = pin
        self._model = _model(pin, robot)
        self._data = self._model.createData()
        self.algorithms = {name: text for name, text in ALGORITHMS.items() if name != "difd"}
        self.about = {"version": metadata.version("pin"), "flags": "the wheel's own library"}

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        run, model, data = getattr(self._pin, ALGORITHMS[function]), self._model, self._data
        states = list(zip(*arrays, strict=True))
        return lambda: [run(model, data, *state) for state in states]

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        run, data = getattr(self._pin, ALGORITHMS[function]), self._data
        for k, state in enumerate(zip(*arrays, strict=True)):
            found = run(self._model, data, *state)
            if function == "did":
                found = (data.dtau_dq, data.dtau_dv)
            elif function == "dfd":
                found = (data.ddq_dq, data.ddq_dv, _symmetric(data.Minv))
            elif function in ("m", "minv"):
                found = (_symmetric(found),)
            for array, value in zip(out, found if isinstance(found, tuple) else (found,), strict=True):
                array[k] = value

    def tolerance(self, function: str) -> float:
        del function
        return EXACT


def _model(pin: Any, robot: condyle.Robot) -> Any:
    """Built from the same numbers as ours, joint by joint."""
    numbers = numbers_of(robot, "Pinocchio")
    model = pin.Model()
    for i, (parent, kind) in enumerate(zip(numbers.parent, numbers.kind, strict=True)):
        word = JOINTS[kind]
        make = getattr(pin, f"JointModel{word}")
        joint = make(numbers.axis[i]) if word.endswith("Unaligned") else make()
        place = pin.SE3(numbers.rotation[i], numbers.translation[i])
        at = model.addJoint(int(parent) + 1, joint, place, f"j{i}")
        body = pin.Inertia(float(numbers.mass[i]), numbers.com[i], numbers.inertia[i])
        model.appendBodyToJoint(at, body, pin.SE3.Identity())
    model.armature = numbers.armature
    model.gravity.linear = numbers.gravity
    return model


def _symmetric(upper: Array) -> Array:
    return np.triu(upper) + np.triu(upper, 1).T
