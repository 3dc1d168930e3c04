"""Pinocchio's Python bindings, state by state: what a Python user of it waits for. The library is the wheel's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

import numpy as np

import condyle
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.pinocchio_cpp import DYNAMICS, OTHERS, model_of, pinocchio
from condyle.cli.rivals.rival import EXACT, Array


class PinocchioPython:
    """One robot in Pinocchio's Python; difd has no function of its own there."""

    name = "pinocchio-python"

    def __init__(self, robot: condyle.Robot, frames: tuple[str, ...] = ()) -> None:
        self._pin: Any = pinocchio()
        self._model = model_of(self._pin, numbers_of(robot, "Pinocchio", frames))
        self._frames = range(1, 1 + len(frames))  # behind that of the world
        self._data = self._model.createData()
        others = {"fk": OTHERS["fk"] + "s", "jac": OTHERS["jac"]} if frames else {}
        self.algorithms = {name: text for name, text in {**DYNAMICS, **others}.items() if name != "difd"}
        self.about = {"version": metadata.version("pin"), "flags": "the wheel's own library"}

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        run, states = self._run(function), list(zip(*arrays, strict=True))
        return lambda: [run(*state) for state in states]

    def single(self, function: str, state: Sequence[Array]) -> Callable[[], object]:
        """One state, as a user writes the call."""
        pin, model, data = self._pin, self._model, self._data
        if function == "fk":
            (q,) = state

            def placed() -> None:
                pin.forwardKinematics(model, data, q)
                pin.updateFramePlacements(model, data)

            return placed
        if function == "jac":
            (q,), frame, local = state, self._frames[0], pin.LOCAL
            return lambda: pin.computeFrameJacobian(model, data, q, frame, local)
        run = self._run(function)
        return lambda: run(*state)

    def _run(self, function: str) -> Callable[..., object]:
        """Its call at one state; answers of frames are in the frame itself."""
        pin, model, data = self._pin, self._model, self._data
        if function == "fk":
            return lambda q: (pin.forwardKinematics(model, data, q), pin.updateFramePlacements(model, data))
        if function == "jac":
            return lambda q: [pin.computeFrameJacobian(model, data, q, k, pin.LOCAL) for k in self._frames]
        run = getattr(pin, DYNAMICS[function])
        return lambda *state: run(model, data, *state)

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        run, data = self._run(function), self._data
        for k, state in enumerate(zip(*arrays, strict=True)):
            found: Any = run(*state)
            if function == "did":
                found = (data.dtau_dq, data.dtau_dv)
            elif function == "dfd":
                found = (data.ddq_dq, data.ddq_dv, _symmetric(data.Minv))
            elif function in ("m", "minv"):
                found = (_symmetric(found),)
            elif function == "fk":
                places = [data.oMf[frame] for frame in self._frames]
                found = [place.rotation for place in places], [place.translation for place in places]
            elif function == "jac":
                found = (found,)
            for array, value in zip(out, found if isinstance(found, tuple) else (found,), strict=True):
                array[k] = value

    def tolerance(self, function: str) -> float:
        del function
        return EXACT


def _symmetric(upper: Array) -> Array:
    return np.triu(upper) + np.triu(upper, 1).T
