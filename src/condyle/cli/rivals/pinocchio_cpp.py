"""Pinocchio's C++ for one robot, called with plain arrays, one thread. Answers stay in its Data unless asked for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from condyle.cli.rivals import rival
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.rival import EXACT, Array, Model, step_tolerance

if TYPE_CHECKING:
    from condyle.model.robot import Robot

FOLDER = Path(__file__).parent
FLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG")
COMPILERS = {"pinocchio": rival.CLANG_FIRST, "pinocchio-gcc": rival.GCC}
DYNAMICS = {
    "id": "rnea",
    "fd": "aba",
    "m": "crba",
    "minv": "computeMinverse",
    "did": "computeRNEADerivatives",
    "dfd": "computeABADerivatives",
    "difd": "computeRNEADerivatives and two dense products",
}
OTHERS = {
    "fk": "forwardKinematics, updateFramePlacement",
    "fv": "forwardKinematics, getFrameVelocity",
    "fa": "forwardKinematics, getFrameClassicalAcceleration",
    "jac": "computeFrameJacobian",
    "djac": "computeJointJacobiansTimeVariation, updateFramePlacement, getFrameJacobianTimeVariation",
    "com": "centerOfMass",
    "jcom": "jacobianCenterOfMass",
    "h": "computeCentroidalMomentum",
    "dh": "computeCentroidalMomentumTimeVariation",
    "cmm": "computeCentroidalMap",
    "ke": "computeKineticEnergy",
    "pe": "computePotentialEnergy",
    "g": "computeGeneralizedGravity",
    "nle": "nonLinearEffects",
    "cor": "computeCoriolisMatrix",
    "reg": "computeJointTorqueRegressor",
    "integrate": "integrate",
    "difference": "difference",
}
STEPS = {"step": "aba, integrate", "rollout": "aba, integrate, in a loop"}
SOURCES = {"pinocchio_dynamics.cpp": DYNAMICS, "pinocchio_functions.cpp": OTHERS, "pinocchio_steps.cpp": STEPS}
"""Built apart, each when it is first asked for: a compiler takes minutes for one."""
HEADERS = ("pinocchio_run.hpp", "pinocchio_model.hpp")


class Built(Model):
    """One robot in one of the sources, which knows its functions by name."""

    def number(self, function: str) -> int:
        number: int = self.library.rival_function(function.encode())
        return number

    def call(self, function: str, arrays: Sequence[Array], out: Sequence[Array] | None = None) -> Callable[[], object]:
        """Of a step or a rollout: arrays are q, v, tau, dt; dt is that of the first state."""
        if function not in STEPS:
            return super().call(function, arrays, out)
        *states, dt = arrays
        run, time, handle = super().call(function, states, out), self.library.rival_time, self.handle
        time.argtypes, time.restype = [ctypes.c_void_p, ctypes.c_double, ctypes.c_long], None
        numbers = (handle, float(np.ravel(dt)[0]), states[-1].shape[1] if function == "rollout" else 1)
        return lambda: (time(*numbers), run())


def algorithms(robot: Robot) -> dict[str, str]:
    """What means the same there, by our names."""
    known = {**DYNAMICS, **OTHERS, **STEPS}
    if any(not joint.after.is_identity for joint in robot.joints):
        del known["reg"]  # parameters of a body refer to its frame, which is the joint's there
    if any(joint.armature.any() for joint in robot.joints):
        del known["ke"]  # theirs counts the rotors of some joints, not of all
    return known


class PinocchioCpp:
    """Pinocchio compiled for this very machine. Answers of frames are in the frame itself ("local")."""

    def __init__(
        self, robot: Robot, name: str = "pinocchio", frames: tuple[str, ...] = (), flags: tuple[str, ...] = FLAGS
    ) -> None:
        self.name = name
        self._numbers = numbers_of(robot, "Pinocchio", frames)
        headers = rival.pinocchio_headers()
        compiler = rival.cpp_compiler(COMPILERS[name])
        self._command = [compiler.path, *flags, *headers.flags, *rival.SHARED]
        self.algorithms = algorithms(robot)
        self.about = {
            "version": headers.pinocchio,
            "eigen": headers.eigen,
            "compiler": compiler.version,
            "flags": " ".join(flags),
        }
        self._built: dict[str, Built] = {}
        self._step_tolerance = step_tolerance(robot)

    def _model_for(self, function: str) -> Model:
        source = next(source for source, functions in SOURCES.items() if function in functions)
        if source not in self._built:
            self._built[source] = self.build(FOLDER / source)
        return self._built[source]

    def build(self, source: Path) -> Built:
        """A model of the robot in a source file that has a table of functions, here or elsewhere."""
        label = f"Pinocchio {self.about['version']} by {self.name}"
        beside = tuple(FOLDER / header for header in HEADERS)
        here = () if source.parent == FOLDER else ("-I", str(FOLDER))
        library = rival.library([*self._command, *here], source, beside, label)
        return Built(library, ctypes.byref(self._numbers.struct()))

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        return self._model_for(function).call(function, arrays)

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        self._model_for(function).call(function, arrays, out)()

    def tolerance(self, function: str) -> float:
        return self._step_tolerance if function in STEPS else EXACT
