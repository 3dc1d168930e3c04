"""Pinocchio for one robot: its C++, called with plain arrays, and C that CasADi writes of it."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from condyle.cli.rivals import rival
from condyle.cli.rivals.numbers import Numbers, Struct, numbers_of
from condyle.cli.rivals.rival import EXACT, FUNCTIONS, Array, Compiled, Model, step_tolerance
from condyle.errors import BuildError, UnsupportedError
from condyle.runtime.toolchain import find_compiler

if TYPE_CHECKING:
    from condyle.model.robot import Robot


FOLDER = Path(__file__).parent
# C that CasADi writes: Pinocchio's own algorithms run on CasADi's scalars, printed as C and compiled for this machine.
#
# This is what Pinocchio's CasADi header is for. The `pin` wheel has no CasADi module for Python, so a small C++ program
# made from its headers does the writing. Derivatives are Pinocchio's analytical ones, not CasADi's differentiation.
# Answers are what CasADi hands out: non-zeros only, the upper triangles of M and Minv.
#
# DERIVED are derivatives that CasADi makes, with one more array: tangents side by side, or a cotangent.


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


WRITER = Path(__file__).with_name("casadi_write.cpp")
DRIVER = Path(__file__).with_name("casadi_driver.c")
CASADI_FLAGS = ("-std=c11", "-O3", "-march=native")
LONGEST = 2 << 20
DERIVED = ("jvp_id", "vjp_fd", "hessian_fd")
WRITTEN = (*FUNCTIONS, *DERIVED)
SYMMETRIC = {"m": (0,), "minv": (0,), "dfd": (2,)}


class CasadiC:
    """One robot. Each function is written and compiled at its first use: seconds for an arm, minutes for a humanoid."""

    name = "casadi"

    def __init__(self, robot: Robot) -> None:
        self._folder = rival.wheel_folder("casadi", "bench", "casadi/casadi.hpp")
        self._headers = rival.pinocchio_headers()
        self._numbers = numbers_of(robot, "CasADi")
        self._compiler = find_compiler()
        self._functions: dict[str, Compiled] = {}
        self.algorithms = {name: DYNAMICS[name] for name in FUNCTIONS if name != "difd"}
        self.about = {
            "version": metadata.version("casadi"),
            "pinocchio": self._headers.pinocchio,
            "compiler": self._compiler.version,
            "flags": " ".join(CASADI_FLAGS),
        }

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        return self._compiled(function).call(function, _three(arrays))

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        self._compiled(function).call(function, _three(arrays), out)()
        for k in SYMMETRIC.get(function, ()):
            upper = np.triu(out[k])
            out[k][...] = upper + np.swapaxes(np.triu(out[k], 1), -1, -2)

    def tolerance(self, function: str) -> float:
        del function
        return EXACT

    @cached_property
    def _writer(self) -> ctypes.CDLL:
        compiler, folder = rival.cpp_compiler(rival.GCC), self._folder
        includes = ("-isystem", str(folder / "include"), *self._headers.flags)
        links = (f"-L{folder}", f"-Wl,-rpath,{folder}", "-lcasadi")
        command = [compiler.path, "-std=c++17", "-O0", "-DNDEBUG", *includes, *rival.SHARED, *links]
        return rival.library(command, WRITER, (rival.MODEL,), "CasADi's writer")

    def _compiled(self, function: str) -> Compiled:
        if function not in self._functions:
            self._functions[function] = _Written(self._build(function), None)
        return self._functions[function]

    def _build(self, function: str) -> ctypes.CDLL:
        self._writer.rival_write.argtypes = [ctypes.POINTER(Struct), ctypes.c_int, ctypes.c_char_p]
        with tempfile.TemporaryDirectory() as folder:
            struct = self._numbers.struct()
            if self._writer.rival_write(ctypes.byref(struct), WRITTEN.index(function), folder.encode()) != 0:
                raise BuildError(f"CasADi could not write {function}")
            source = Path(folder, "f.c")
            # one text, so that the cache knows what was compiled
            written = source.read_text()
            if len(written) > LONGEST:
                raise UnsupportedError(
                    f"CasADi wrote {len(written) >> 10} KB of C for {function}, which takes many minutes to compile"
                )
            source.write_text(DRIVER.read_text().replace("#include GENERATED", written))
            command = [self._compiler.path, *CASADI_FLAGS, *rival.SHARED, "-lm"]
            built = rival.library(command, source, (), f"{function} by CasADi")
        if built.rival_size() != 0:
            raise UnsupportedError(f"{function} by CasADi takes more memory than the adapter has")
        return built


class _Written(Compiled):
    def number(self, function: str) -> int:
        return WRITTEN.index(function)


def _three(arrays: Sequence[Array]) -> Sequence[Array]:
    """q, v and a or tau, and one more: the first three have a place in what was written, used or not."""
    q = arrays[0]
    idle = np.zeros((len(q), q.shape[-1]))
    return (*arrays[:4], *[idle] * (3 - len(arrays)))


# A Pinocchio model in Python, from the same numbers as ours, joint by joint.


JOINTS = ("RX", "RY", "RZ", "RevoluteUnaligned", "PX", "PY", "PZ", "PrismaticUnaligned", "Spherical", "FreeFlyer")
"""In the order of kinds in numbers.py."""


def pinocchio() -> Any:
    """The package."""
    return rival.package("pinocchio", "'condyle[bench]'")


def model_of(pin: Any, numbers: Numbers) -> Any:
    """Frames behind that of the world."""
    model = pin.Model()
    for i, (parent, kind) in enumerate(zip(numbers.parent, numbers.kind, strict=True)):
        word = JOINTS[int(kind)]
        make = getattr(pin, f"JointModel{word}")
        joint = make(numbers.axis[i]) if word.endswith("Unaligned") else make()
        place = pin.SE3(numbers.rotation[i], numbers.translation[i])
        at = model.addJoint(int(parent) + 1, joint, place, f"j{i}")
        body = pin.Inertia(float(numbers.mass[i]), numbers.com[i], numbers.inertia[i])
        model.appendBodyToJoint(at, body, pin.SE3.Identity())
    for k, joint in enumerate(numbers.frame_joint):
        place = pin.SE3(numbers.frame_rotation[k], numbers.frame_translation[k])
        model.addFrame(pin.Frame(f"f{k}", int(joint) + 1, 0, place, pin.FrameType.OP_FRAME))
    model.armature = numbers.armature
    model.gravity.linear = numbers.gravity
    return model
