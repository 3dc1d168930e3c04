"""crocoddyl and Pinocchio, where they are there and fit each other, and the classes that ours derive from."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from condyle.calls.dynamics import Dynamics
from condyle.errors import UnsupportedError
from condyle.model.contact import Contact

Array = NDArray[np.floating]
INSTALL = "pip install 'condyle[crocoddyl]'"


def _packages() -> tuple[Any, Any]:
    """crocoddyl and Pinocchio. UnsupportedError where they are missing, or crash with each other."""
    try:
        found = {name: metadata.version(name) for name in ("crocoddyl", "libpinocchio")}
    except metadata.PackageNotFoundError:
        found = {}  # not from wheels: whoever built them answers for their versions
    if found.get("crocoddyl", "").startswith("3.2.") and not found["libpinocchio"].startswith("4.0."):
        raise UnsupportedError(
            f"crocoddyl {found['crocoddyl']} crashes with Pinocchio {found['libpinocchio']}, it was built with 4.0.0: "
            "pip install 'pin==4.0.0' 'libpinocchio==4.0.0'"
        )
    try:
        return import_module("crocoddyl"), import_module("pinocchio")
    except ImportError as error:
        raise UnsupportedError(f"{error.name or 'crocoddyl'} is not installed: {INSTALL}") from error


PACKAGES = _packages()
CROC = PACKAGES[0]

if TYPE_CHECKING:  # crocoddyl says no types

    class Model:
        state: Any
        nu: int
        nr: int
        u_lb: Array
        u_ub: Array

        def __init__(self, state: Any, nu: int, nr: int) -> None: ...
        def createData(self) -> Any: ...

    class Problem:
        T: int
        runningDatas: Sequence[Any]
        terminalModel: Any
        terminalData: Any

        def __init__(self, x0: Array, models: Sequence[Any], last: Any) -> None: ...

    Differential = Model
else:
    Differential, Model = CROC.DifferentialActionModelAbstract, CROC.ActionModelAbstract
    Problem = CROC.ShootingProblem


class Memory:
    """An array's memory without its owner: data that kept views of itself would never be freed."""

    def __init__(self, array: Array) -> None:
        self.__array_interface__ = array.__array_interface__


def robot_of(dyn: Dynamics) -> Any:
    """The robot behind it. UnsupportedError where its arrays are not crocoddyl's."""
    given = dyn.__reduce__()[1]
    if given.dtype != "float64" or dyn.on_device:
        raise UnsupportedError(f"dyn has {given.dtype} on {dyn.target!r}; crocoddyl needs float64 on a processor")
    if given.inputs:
        raise UnsupportedError("dyn has open numbers; crocoddyl gives none: compile the robot without inputs=")
    return given.robot


def contacts_of(dyn: Dynamics) -> tuple[Contact, ...]:
    """Those that it is compiled with."""
    return dyn.__reduce__()[1].contacts


def multibody(state: Any) -> Any:
    """The state. UnsupportedError for one without a robot."""
    if not isinstance(state, CROC.StateMultibody):
        raise UnsupportedError(f"state is a {type(state).__name__}; expected crocoddyl.StateMultibody of the robot")
    return state


def active(models: Any, kind: str) -> list[tuple[str, Any]]:
    """Of a ContactModelMultiple or ImpulseModelMultiple those that are on, in its order; kind: "contact", "impulse"."""
    items = getattr(models, f"{kind}s").todict()
    return [(str(name), getattr(items[name], kind)) for name in sorted(items) if items[name].active]


def write(data: Any, slope: Array, curvature: Array, has_u: bool = True) -> None:
    """Derivatives of the cost by (x, u), into crocoddyl's data."""
    n = data.Lx.shape[0]
    data.Lx[:], data.Lxx[:] = slope[:n], curvature[:n, :n]
    if has_u:
        data.Lu[:], data.Lxu[:], data.Luu[:] = slope[n:], curvature[:n, n:], curvature[n:, n:]
