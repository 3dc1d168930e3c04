"""How momentum, energy and the parts of the equation of motion are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from condyle.algorithms import energy, momentum, regressor
from condyle.algorithms.damping import resisted
from condyle.algorithms.rnea import bias, no_acceleration, rnea
from condyle.algorithms.sweeps import Matrix, Sweeps, Vector
from condyle.scalar import Scalar
from condyle.specification import Route


def _com(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (momentum.center_of_mass(tree),)


def _jcom(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (momentum.center_of_mass_jacobian(tree),)


def _h(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (momentum.centroidal_momentum(tree, tree.given("v")),)


def _dh(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (momentum.centroidal_momentum_rate(tree, tree.given("v"), tree.given("a")),)


def _cmm(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (momentum.centroidal_momentum_matrix(tree),)


def _ke(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (energy.kinetic_energy(tree, tree.given("v")),)


def _pe(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (momentum.potential_energy(tree),)


def _g(tree: Sweeps) -> tuple[Vector]:
    still = tree.each(no_acceleration)
    return (tree.gathered(rnea(tree, still, still)),)


def _nle(tree: Sweeps) -> tuple[Vector]:
    return (resisted(tree, tree.gathered(bias(tree, tree.given("v")))),)


def _cor(tree: Sweeps) -> tuple[Matrix]:
    return (energy.coriolis_matrix(tree, tree.given("v")),)


def _reg(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (regressor.regressor(tree, tree.given("v"), tree.given("a")),)


ROUTES: Mapping[str, Mapping[str, Route]] = {
    "com": {"sweep": Route(_com)},
    "jcom": {"sweep": Route(_jcom)},
    "h": {"sweep": Route(_h)},
    "dh": {"sweep": Route(_dh)},
    "cmm": {"composites": Route(_cmm)},
    "ke": {"sweep": Route(_ke)},
    "pe": {"sweep": Route(_pe)},
    "g": {"rnea": Route(_g, loops=True)},
    "nle": {"rnea": Route(_nle, loops=True)},
    "cor": {"composites": Route(_cor, loops=True)},
    "reg": {"columns": Route(_reg)},
}
