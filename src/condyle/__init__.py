"""Condyle compiles rigid-body dynamics for one robot."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from condyle.version import __version__ as __version__

if TYPE_CHECKING:
    from condyle import ground
    from condyle.api import Builder, Robot, chain, export, function, load, operation_counts, random_tree
    from condyle.calls.dynamics import Dynamics
    from condyle.calls.methods import DynamicsDerivatives, ForwardDynamicsDerivatives, InverseDynamicsDerivatives
    from condyle.errors import (
        AccuracyWarning,
        BuildError,
        CondyleError,
        DeviceError,
        DTypeError,
        Finding,
        ModelError,
        ModelWarning,
        OutOfMemoryError,
        ShapeError,
        ShapeWarning,
        SingularError,
        StateError,
        UnsupportedError,
    )
    from condyle.fpga.box_sources import box_of_effort, box_of_states
    from condyle.fpga.integers import FixedPoint, fixed_point
    from condyle.jobs.environment import Environment
    from condyle.jobs.optimal_control import OptimalControl
    from condyle.model.actuator import Actuator
    from condyle.model.change import Drive
    from condyle.model.contact import Contact
    from condyle.model.physical import from_log_cholesky, log_cholesky, physical_inertias
    from condyle.model.shapes import Shape
    from condyle.runtime.packed import Packed
    from condyle.symbolic import random
    from condyle.symbolic.linear import solve_symmetric
    from condyle.user.quadratic_program import qp


__all__ = [
    "AccuracyWarning",
    "Actuator",
    "BuildError",
    "Builder",
    "CondyleError",
    "Contact",
    "DTypeError",
    "DeviceError",
    "Drive",
    "Dynamics",
    "DynamicsDerivatives",
    "Environment",
    "Finding",
    "FixedPoint",
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "ModelError",
    "ModelWarning",
    "OptimalControl",
    "OutOfMemoryError",
    "Packed",
    "Robot",
    "Shape",
    "ShapeError",
    "ShapeWarning",
    "SingularError",
    "StateError",
    "UnsupportedError",
    "box_of_effort",
    "box_of_states",
    "chain",
    "export",
    "fixed_point",
    "from_log_cholesky",
    "function",
    "ground",
    "load",
    "log_cholesky",
    "operation_counts",
    "physical_inertias",
    "qp",
    "random",
    "random_tree",
    "solve_symmetric",
]

_HOMES = {
    "FixedPoint": "fpga.integers",
    "Environment": "jobs.environment",
    "OptimalControl": "jobs.optimal_control",
    "Packed": "runtime.packed",
    "fixed_point": "fpga.integers",
    **dict.fromkeys(("box_of_effort", "box_of_states"), "fpga.box_sources"),
    **dict.fromkeys(
        ("Builder", "Robot", "chain", "export", "function", "load", "operation_counts", "random_tree"), "api"
    ),
    **dict.fromkeys((name for name in __all__ if name.endswith("Derivatives")), "calls.methods"),
    **dict.fromkeys(("physical_inertias", "log_cholesky", "from_log_cholesky"), "model.physical"),
    "qp": "user.quadratic_program",
    "Actuator": "model.actuator",
    "Contact": "model.contact",
    "Drive": "model.change",
    "Shape": "model.shapes",
    "random": "symbolic",
    "ground": "",
    "solve_symmetric": "symbolic.linear",
    "Dynamics": "calls.dynamics",
    **dict.fromkeys((name for name in __all__ if name.endswith(("Error", "Warning", "Finding"))), "errors"),
}


def __getattr__(name: str) -> object:
    """A public name, imported at its first use: the command's help needs none of them, and NumPy takes its time."""
    if name not in _HOMES:
        raise AttributeError(f"module 'condyle' has no attribute {name!r}")
    home = _HOMES[name]
    value = globals()[name] = (
        getattr(import_module(f"condyle.{home}"), name) if home else import_module(f"condyle.{name}")
    )
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
