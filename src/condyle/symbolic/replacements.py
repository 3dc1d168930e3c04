"""What to write in place of functions of NumPy that take no symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

SAME: Mapping[str, str] = {
    "np.add.accumulate": "np.cumsum(x)",
    "np.allclose": "np.all(np.abs(x - y) <= 1e-8 + 1e-5 * np.abs(y))",
    "np.arccosh": "np.log(x + np.sqrt(x * x - 1.0))",
    "np.arcsinh": "np.sign(x) * np.log(np.abs(x) + np.sqrt(x * x + 1.0))",
    "np.arctanh": "0.5 * np.log((1.0 + x) / (1.0 - x))",
    "np.around": "np.rint(x)",
    "np.array_equal": "np.all(x == y)",
    "np.cbrt": "np.sign(x) * np.abs(x) ** (1.0 / 3.0)",
    "np.copysign": "np.where(y < 0.0, -np.abs(x), np.abs(x))",
    "np.fix": "np.where(x < 0.0, np.ceil(x), np.floor(x))",
    "np.floor_divide": "np.floor(x / y)",
    "np.fmod": "x - y * np.where(x / y < 0.0, np.ceil(x / y), np.floor(x / y))",
    "np.isclose": "np.abs(x - y) <= 1e-8 + 1e-5 * np.abs(y)",
    "np.linalg.cross": "np.cross(x, y)",
    "np.linalg.diagonal": "np.diagonal(A)",
    "np.linalg.matmul": "A @ x",
    "np.linalg.matrix_norm": "np.linalg.norm(A)",
    "np.linalg.matrix_transpose": "A.T",
    "np.linalg.outer": "np.outer(x, y)",
    "np.linalg.tensordot": "np.tensordot(A, A)",
    "np.linalg.trace": "np.trace(A)",
    "np.linalg.vecdot": "x @ y",
    "np.linalg.vector_norm": "np.linalg.norm(x)",
    "np.logaddexp2": "np.logaddexp(x * np.log(2.0), y * np.log(2.0)) / np.log(2.0)",
    "np.multiply.accumulate": "np.cumprod(x)",
    "np.nan_to_num": "np.where(np.isnan(x), 0.0, x)",
    "np.nansum": "np.sum(np.where(np.isnan(x), 0.0, x))",
    "np.ptp": "np.max(x) - np.min(x)",
    "np.remainder": "x - y * np.floor(x / y)",
    "np.round": "np.rint(x)",
    "np.signbit": "x < 0.0",
    "np.sinc": "np.where(x == 0.0, 1.0, np.sin(np.pi * x) / np.where(x == 0.0, 1.0, np.pi * x))",
    "np.trapezoid": "np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(x))",
    "np.trapz": "np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(x))",
    "np.trunc": "np.where(x < 0.0, np.ceil(x), np.floor(x))",
}
"""Expressions that are equal; of x and y, or of a matrix A."""

_SPECTRUM = (
    "its steps differ from state to state. Where it measures how near J is to a singular matrix, write "
    "np.linalg.det(J @ J.T); else compute it outside and give it as an input"
)
_ORDER = (
    "the order of symbols differs from state to state; np.max, np.min, np.maximum, np.minimum and "
    "np.where(condition, a, b) choose among them"
)
_PSEUDO = (
    "write A.T @ np.linalg.inv(A @ A.T) for a wide A, np.linalg.inv(A.T @ A) @ A.T for a tall one, with "
    "+ 1e-6 * np.eye(n) behind the product where A may lose its rank"
)
_FACTOR = "write np.linalg.solve(S, b), np.linalg.inv(S) or np.linalg.det(S), which need no factor, up to 8 rows"
_LEAST_SQUARES = "write np.linalg.solve(A.T @ A, A.T @ b) for least squares"

_OF_SPECTRUM = "cond eig eigh eigvals eigvalsh matrix_rank svd svdvals"
_OF_ORDER = """
argmax argmin argpartition argsort argwhere digitize flatnonzero lexsort median nonzero partition percentile quantile
searchsorted sort unique
"""
INSTEAD: Mapping[str, str] = {
    **{f"np.linalg.{name}": _SPECTRUM for name in _OF_SPECTRUM.split()},
    **{f"np.{name}": _ORDER for name in _OF_ORDER.split()},
    "np.average": "write np.sum(w * x) / np.sum(w)",
    "np.isfinite": "test the answer outside: a state whose numbers are not finite spoils no other state",
    "np.isinf": "test the answer outside: a state whose numbers are not finite spoils no other state",
    "np.linalg.cholesky": _FACTOR,
    "np.linalg.lstsq": _LEAST_SQUARES,
    "np.linalg.matrix_power": "write A @ A",
    "np.linalg.multi_dot": "write A @ B @ C",
    "np.linalg.pinv": _PSEUDO,
    "np.linalg.qr": _LEAST_SQUARES,
    "np.linalg.slogdet": "write np.log(np.abs(np.linalg.det(A)))",
    "np.linalg.tensorinv": "write np.linalg.inv of the array as a matrix, A.reshape(n, n)",
    "np.linalg.tensorsolve": "write np.linalg.solve of the array as a matrix, A.reshape(n, n)",
    "ndarray.tolist": "take the entries, x[0], or loop over x",
}
"""Sentences."""


def instead(name: str, there: Iterable[str]) -> str:
    """What to do without a function of NumPy; there: the names of those that take symbols."""
    if name in SAME:
        return f"write {SAME[name]}"
    if name in INSTEAD:
        return INSTEAD[name]
    near = get_close_matches(name, list(there), 3, 0.8)
    like = f"the nearest that do are {', '.join(near)}; " if near else ""
    return f"{like}docs/your-functions.md lists those that do, or compute it outside and give it as an input"
