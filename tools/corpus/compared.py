"""A robot against the other engine's reading of the same file: all seven functions, on NumPy and on the CPU."""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Iterator

import numpy as np

from condyle import Dynamics, Robot, SingularError
from condyle.cli.check import allowed
from condyle.functions import DEFAULT, FUNCTIONS
from tests.laws.robots import States, states
from tests.twins.compare import arguments, error
from tests.twins.mujoco_file_twin import MujocoFileTwin
from tests.twins.pinocchio_twin import FileTwin
from tools.corpus.find import Case, How, Record

Twin = FileTwin | MujocoFileTwin
SEED = 4
_ATTRIBUTE = re.compile(r'=\s*"([^"<]*)"')
_INERTIA = re.compile(r"<inertia\b([^>/]*)")
PRODUCTS = ("ixy", "ixz", "iyz")
LEAST = 1e-3  # derivatives below this times what is derived count as so large: 1e-11 of it is 45 roundings of a torque


def compared(robot: Robot, case: Case, how: How) -> Iterator[Record]:
    """Parts of the record, as soon as each is known; "stage" is what comes next."""
    if not 0 < robot.nv <= how.most:
        yield {"compared": "no degrees of freedom" if robot.nv == 0 else f"more than {how.most} degrees of freedom"}
        return
    try:
        other = twin_of(robot, case)
    except Exception as trouble:  # whatever the other engine raises
        yield {"other": f"refuses: {' '.join(str(trouble).split())[:200]}", "compared": "not read by the other engine"}
        return
    given = states(robot, how.states, SEED)
    condition = float(np.max([np.linalg.cond(other.m(q)) for q in given.q]))
    yield {"other": "loads", "condition": condition, "stage": "numpy"}
    worst, beyond = errors(robot.compile(target="numpy"), other, given, condition, forces=case.format == "urdf")
    found = [f"numpy {name}" for name in beyond]
    yield {"compared": "numpy", "numpy": worst, "beyond": found, "stage": "cpu"}
    if robot.nv > how.cpu_most:
        return
    dyn = robot.compile(target="cpu", threads=1)
    yield {"compile_seconds": compile_seconds(dyn, given)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    worst, beyond = errors(dyn, other, given, condition, forces=False)  # with forces all would be compiled again
    found += [f"cpu {name}" for name in beyond]
    yield {"compared": "numpy, cpu", "cpu": worst, "peak_mb": peak, "beyond": found}


def twin_of(robot: Robot, case: Case) -> Twin:
    if case.format == "urdf":
        text = case.path.read_text(encoding="utf-8", errors="replace")
        whole = readable(text)
        return FileTwin(robot, str(case.path) if whole == text else whole, case.variant == "floating")
    return MujocoFileTwin(robot, case.path)


def readable(urdf: str) -> str:
    """For Pinocchio, which drops an inertial for a space after a number or for a product of inertia not given."""
    spaced = _ATTRIBUTE.sub(lambda found: f'="{" ".join(found[1].split())}"', urdf).lstrip()
    return _INERTIA.sub(lambda found: found[0] + "".join(f' {n}="0"' for n in PRODUCTS if n not in found[1]), spaced)


def compile_seconds(dyn: Dynamics, given: States) -> Record:
    """Processor seconds of each function's first call, in the order of the signature."""
    seconds: Record = {}
    for name in DEFAULT:
        try:
            inputs = arguments(dyn, name, given)
            start = time.process_time()
            dyn.function(name)(*inputs)
        except SingularError:
            continue
        seconds[name] = round(time.process_time() - start, 3)
    return seconds


def errors(dyn: Dynamics, other: Twin, given: States, condition: float, forces: bool) -> tuple[Record, list[str]]:
    """The worst error of each function relative to the largest entry; "singular" where M has no inverse.

    The second: which are beyond the accuracy that the guide promises.
    """
    worst: Record = {}
    beyond: list[str] = []
    for name in DEFAULT:
        try:
            found = error_of(name, dyn, other, given, forces)
        except SingularError:
            worst[name] = "singular"
            continue
        except np.linalg.LinAlgError:
            worst[name] = "singular for the other engine"
            continue
        worst[name] = found if np.isfinite(found) else "not finite"
        if not found <= allowed(FUNCTIONS[name], "float64", condition):
            beyond.append(name)
    return worst, beyond


def error_of(name: str, dyn: Dynamics, other: Twin, given: States, forces: bool) -> float:
    pushed = forces and FUNCTIONS[name].takes_f_ext
    return error(dyn, other, name, given, pushed, LEAST * derived(other, name, given, pushed))


def derived(other: Twin, function: str, given: States, forces: bool) -> float:
    """The largest torque or acceleration of all states that a function derives; 0 for the other functions."""
    if function not in ("did", "dfd", "difd"):
        return 0.0
    of = other.id if function == "did" else other.fd
    return float(np.max([np.abs(of(*state)).max() for state in zip(*given[: 4 if forces else 3], strict=True)]))
