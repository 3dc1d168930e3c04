"""How kinematics is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from condyle.algorithms import configurations, jacobians, kinematics
from condyle.algorithms.sweeps import Sweeps
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar
from condyle.specification import Route


def _fk(tree: Sweeps) -> tuple[Sequence[Scalar], ...]:
    return kinematics.frame_placements(tree)


def _fv(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (kinematics.frame_velocities(tree, tree.given("v")),)


def _fa(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (kinematics.frame_accelerations(tree, tree.given("v"), tree.given("a")),)


def _jac(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (jacobians.frame_jacobians(tree),)


def _jac_aligned(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (jacobians.frame_jacobians(tree, "local_world_aligned"),)


def _djac(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (jacobians.frame_jacobian_rates(tree, tree.given("v")),)


def _integrate(tree: Unrolled) -> tuple[Sequence[Scalar]]:
    return (configurations.integrate(tree.tree, tree.inputs),)


def _difference(tree: Unrolled) -> tuple[Sequence[Scalar]]:
    return (configurations.difference(tree.tree, tree.inputs),)


ROUTES: Mapping[str, Mapping[str, Route]] = {
    "fk": {"poses": Route(_fk)},
    "fv": {"sweep": Route(_fv)},
    "fa": {"sweep": Route(_fa)},
    "jac": {"columns": Route(_jac)},
    "jac_aligned": {"columns": Route(_jac_aligned)},
    "djac": {"columns": Route(_djac)},
    "integrate": {"joints": Route(_integrate)},
    "difference": {"joints": Route(_difference)},
}
