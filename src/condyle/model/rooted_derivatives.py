"""Derivatives of dynamics mapped between the roots of a floating robot.

Both describe one motion (`rooted`): v' = T v, a' = T a + b, tau = Tᵀ tau'. The rows of T that differ from a permutation
are the Jacobian J of the new root's frame. In that frame's axes a joint k of the path turns the column of each joint j
before it:

    dJ_j/dq_k = [J_j, J_k],  B(x) = d(J x)/dq: column k is [sum over j before k of J_j x_j, J_k],  b = B(v) v

with the bracket of twists; by Jacobi's identity db/dq follows the same way. q is differentiated along the local motion
that v is. With F column by column (dTᵀ/dq_k) tau', everything with the new root primed:

    dtau/dq = F + Tᵀ (dtau'/dq' T + dtau'/dv' B(v) + M' (B(a) + db/dq))     dtau/dv = Tᵀ (dtau'/dv' T + M' db/dv)
    T da/dq = da'/dq' T + da'/dv' B(v) - M'⁻¹ T⁻ᵀ F - B(a) - db/dq          T da/dv = da'/dv' T - db/dv
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.model.array import bracket, transpose
from condyle.model.rooted import Rooted

Reals = NDArray[np.float64]


class Gradient(NamedTuple):
    """By q and by v, (n, nv, nv) each."""

    by_q: Reals
    by_v: Reals


def force_gradient(both: Rooted, q: Reals, v: Reals, a: Reals, tau: Reals, mass: Reals, there: Gradient) -> Gradient:
    """dtau/dq and dtau/dv of those at the new root, `there`; tau' (n, nv) and M' (n, nv, nv) are the new root's too."""
    t = _Map(both, q, v)
    back = np.swapaxes(t.moved, 1, 2)
    by_q = there.by_q @ t.moved + there.by_v[..., :6] @ t.B(v) + mass[..., :6] @ (t.B(a) + t.bias_by_q)
    return Gradient(t.F(tau) + back @ by_q, back @ (there.by_v @ t.moved + mass[..., :6] @ t.bias_by_v))


def acceleration_gradient(
    both: Rooted, q: Reals, v: Reals, a: Reals, tau: Reals, inverse: Reals, there: Gradient
) -> Gradient:
    """da/dq and da/dv of those at the new root, `there`, of dfd or difd; tau' and M'⁻¹ are the new root's too."""
    t = _Map(both, q, v)
    forces = _solved(np.swapaxes(t.moved, 1, 2), t.F(tau))
    by_q = there.by_q @ t.moved + there.by_v[..., :6] @ t.B(v) - inverse @ forces
    by_q[:, :6] -= t.B(a) + t.bias_by_q
    by_v = there.by_v @ t.moved
    by_v[:, :6] -= t.bias_by_v
    return Gradient(_solved(t.moved, by_q), _solved(t.moved, by_v))


class _Map:
    """T at some states and what it is differentiated to; (n, 6, nv) where only the root's rows differ from zero."""

    def __init__(self, both: Rooted, q: Reals, v: Reals) -> None:
        self.moved, _ = both.transform(q, v)
        self.J = self.moved[:, :6]
        depth = both.depths()
        self.earlier: Reals = (depth[:, None] < depth[None, :]).astype(np.float64)
        column = self.B(v)
        before, later = self._sum(v, self.earlier), self._sum(v, transpose(self.earlier))
        own = self._sum(v, 1.0 - self.earlier)  # the joint's own part, and that of those behind it
        bias = (column * v[:, None, :]) @ self.earlier
        self.bias_by_v = column + _bracket(self.J, later)
        self.bias_by_q = _bracket(bias, self.J) + _bracket(_bracket(before, self.J), own)

    def _sum(self, x: Reals, chosen: Reals) -> Reals:
        """For each column the sum of J_j x_j over the chosen j."""
        return (self.J * x[:, None, :]) @ chosen

    def B(self, x: Reals) -> Reals:
        return _bracket(self._sum(x, self.earlier), self.J)

    def F(self, tau: Reals) -> Reals:
        """Entry (j, k) is the root's force along [J_j, J_k], of joints j before k."""
        pairs = _bracket(self.J[..., :, None], self.J[..., None, :])
        return np.einsum("nx,nxjk->njk", tau[:, :6], pairs) * self.earlier


def _solved(matrix: Reals, right: Reals) -> Reals:
    return np.asarray(np.linalg.solve(matrix, right), np.float64)


def _bracket(x: Reals, y: Reals) -> Reals:
    """[x, y] of twists along the second axis."""
    return bracket(x, y, 1)
