"""The algorithms of rigid-body dynamics, each a few sweeps over the tree, on any scalar.

The equations are in docs/explanation/algorithms.md. Shared by all: `sweeps` (what a step and a sweep are), `unrolled`
(sweeps on numbers or symbols), `joint` (a joint, its body, the wrench on it), `matrix` (values of joints, sparse
matrices), `normal_form` (the tree that a function is computed on).

| quantity | files |
|---|---|
| placements, velocities, Jacobians of frames | `kinematics`, `jacobians` |
| centre of mass, momentum, energy, Coriolis matrix | `momentum` |
| inverse dynamics, its regressor | `rnea` (with armature), `regressor` |
| joint forces, actuators, steps that take them implicitly | `drives` |
| mass matrix M, its factors, M^-1 | `crba`, `ltl`, `solvers`, `mminvgen` |
| forward dynamics, solves with M | `aba`, `solvers` |
| derivatives of inverse dynamics | `derivatives` (by name), `rnea_derivatives`, `rnea_adjoint`, `rnea_columns` |
| contacts: J and gamma, motion and forces | `contacts`, `contact_forces` |
| contacts: derivatives, products with K^-1, unit forces without M | `contact_derivatives` |
| contacts and joints that stick and slip, stops | `contact_friction`, `contact_newton`, `contact_sweeps` |
| q ⊕ dv, q1 ⊖ q0, one step of time | `stepping` |
| dense linear systems of users' functions | `linear_systems` |
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what `__getattr__` gives, for type checkers
    from condyle.algorithms import contact_derivatives as contact_derivatives
    from condyle.algorithms import contact_forces as contact_forces
    from condyle.algorithms import contact_friction as contact_friction
    from condyle.algorithms import contact_newton as contact_newton
    from condyle.algorithms import contact_sweeps as contact_sweeps
    from condyle.algorithms import contacts as contacts
    from condyle.algorithms import crba as crba
    from condyle.algorithms import derivatives as derivatives
    from condyle.algorithms import drives as drives
    from condyle.algorithms import jacobians as jacobians
    from condyle.algorithms import kinematics as kinematics
    from condyle.algorithms import ltl as ltl
    from condyle.algorithms import matrix as matrix
    from condyle.algorithms import mminvgen as mminvgen
    from condyle.algorithms import momentum as momentum
    from condyle.algorithms import regressor as regressor
    from condyle.algorithms import rnea as rnea
    from condyle.algorithms import solvers as solvers
    from condyle.algorithms import stepping as stepping
    from condyle.algorithms import unrolled as unrolled


def file_of(folder: str, name: str) -> ModuleType:
    """A file of a folder, imported at its first use: to describe a function imports no algorithm."""
    missing = AttributeError(f"module {folder!r} has no attribute {name!r}")
    if name.startswith("_"):  # what Python asks every module for
        raise missing
    try:
        return import_module(f"{folder}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{folder}.{name}":
            raise
        raise missing from None


def __getattr__(name: str) -> ModuleType:
    return file_of(__name__, name)
