"""Condyle compiles rigid-body dynamics for one robot."""

from condyle.api import Builder, Robot, chain, condyle_version, export, load, operation_counts, random_tree
from condyle.dynamics import (
    Dynamics,
    DynamicsDerivatives,
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
)
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
    SingularError,
    StateError,
    UnsupportedError,
)
from condyle.runtime.packed import Packed

__version__ = condyle_version()

__all__ = [
    "AccuracyWarning",
    "BuildError",
    "Builder",
    "CondyleError",
    "DTypeError",
    "DeviceError",
    "Dynamics",
    "DynamicsDerivatives",
    "Finding",
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "ModelError",
    "ModelWarning",
    "OutOfMemoryError",
    "Packed",
    "Robot",
    "ShapeError",
    "SingularError",
    "StateError",
    "UnsupportedError",
    "chain",
    "export",
    "load",
    "operation_counts",
    "random_tree",
]
