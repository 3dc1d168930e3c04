"""Which scans answer which function, and how to run one: the counterpart of `algorithms.routes` for parallel links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from condyle.algorithms.rnea import NO_FORCE, Wrench
from condyle.algorithms.scans import forward_dynamics as fd
from condyle.algorithms.scans import inverse_dynamics as rnea
from condyle.algorithms.scans.links import Links
from condyle.algorithms.scans.scan import Array, Scan, array, kogge_stone
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number

Inputs: TypeAlias = Mapping[str, Array]
Route: TypeAlias = Callable[[Links, Inputs], tuple[Array, ...]]
"""Answers are (nv, columns, states)."""


def _vector(values: Scalar) -> tuple[Array, ...]:
    return (array(values),)


def _id(links: Links, x: Inputs) -> tuple[Array, ...]:
    return _vector(rnea.by_sums(links, links.rows(x["v"]), links.rows(x["a"])))


def _id_lie(links: Links, x: Inputs) -> tuple[Array, ...]:
    return _vector(rnea.by_lie_group(links, links.rows(x["v"]), links.rows(x["a"])))


def _fd(links: Links, x: Inputs) -> tuple[Array, ...]:
    return _vector(fd.completely(links, links.rows(x["v"]), links.rows(x["tau"])))


def _fd_abia(links: Links, x: Inputs) -> tuple[Array, ...]:
    return _vector(fd.hybrid(links, x["q"], links.rows(x["v"]), links.rows(x["tau"])))


def _fd_jsiia(links: Links, x: Inputs) -> tuple[Array, ...]:
    return _vector(fd.through_mass_matrix(links, links.rows(x["v"]), links.rows(x["tau"])))


def _m(links: Links, x: Inputs) -> tuple[Array, ...]:
    return (rnea.mass_matrix(links),)


def _no_force(links: Links) -> Wrench:
    return links.filled(NO_FORCE, links.n)


def _minv(links: Links, x: Inputs) -> tuple[Array, ...]:
    still = links.weightless()
    load = fd.articulated(still, fd.bias(still, links.still), links.still)
    return (_inverse(links, fd.eliminations(links, load)),)


def _inverse(links: Links, eliminated: fd.Elimination) -> Array:
    """M^-1, the mean of both triangles."""
    unit = number(np.eye(links.tree.nv, dtype=links.dtype)[:, :, None])
    columns = array(fd.solve(links, eliminated, _no_force(links), unit))
    return 0.5 * (columns + np.swapaxes(columns, 0, 1))


def _did(links: Links, x: Inputs) -> tuple[Array, ...]:
    return rnea.derivatives(links, links.rows(x["v"]), links.rows(x["a"]))


def _dfd(links: Links, x: Inputs) -> tuple[Array, ...]:
    """One scan of elements; all columns of -M^-1 dID and of M^-1 share the affine scans behind it."""
    v = links.rows(x["v"])
    a, eliminated = fd.with_eliminations(links, v, links.rows(x["tau"]))
    solved = [
        array(fd.solve(links, eliminated, _no_force(links), number(-part))) for part in rnea.derivatives(links, v, a)
    ]
    return (*solved, _inverse(links, eliminated))


def _difd(links: Links, x: Inputs) -> tuple[Array, ...]:
    nv = links.tree.nv
    minus = -np.reshape(x["Minv"], (len(x["Minv"]), nv, nv))
    parts = _did(links, x)
    return tuple(np.moveaxis(minus @ np.moveaxis(part, 2, 0), 0, 2) for part in parts)


SCANS: dict[str, dict[str, Route]] = {
    "id": {"sums": _id, "lie": _id_lie},
    "fd": {"elements": _fd, "abia": _fd_abia, "jsiia": _fd_jsiia},
    "m": {"sums": _m},
    "minv": {"elements": _minv},
    "did": {"sums": _did},
    "dfd": {"elements": _dfd},
    "difd": {"sums": _difd},
}
"""The first route of each function is taken unless another is named."""

FORMS_ELEMENTS = {("fd", "elements"), ("minv", "elements"), ("dfd", "elements")}
"""Routes that need every link to have inertia along its own joint."""


def evaluate(tree: Tree, function: str, route: str, inputs: Inputs, scan: Scan[object] = kogge_stone) -> list[Array]:
    """The outputs, each flat (n, size), for inputs by name, each flat (n or 1, size), in the inputs' dtype."""
    n = max(len(rows) for rows in inputs.values())
    with np.errstate(all="ignore"):
        answers = SCANS[function][route](Links(tree, inputs, scan), inputs)
    shape = (n, -1)
    wide = [np.broadcast_to(answer, (*answer.shape[:2], n)) for answer in answers]
    return [np.reshape(np.moveaxis(answer, 2, 0), shape) for answer in wide]
