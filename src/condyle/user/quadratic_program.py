"""`condyle.qp`: a dense convex quadratic program, in a user's function and on arrays of numbers."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.quadratic_program import Side
from condyle.algorithms.unrolled import Unrolled
from condyle.errors import ShapeError, UnsupportedError
from condyle.functions.quadratic_program import Shape, quadratic_program
from condyle.ir.expr import Expr
from condyle.model.builder import Builder
from condyle.model.tree import Tree, tree_of
from condyle.specification import Function
from condyle.symbolic.arrays import numbers_of
from condyle.symbolic.reductions import held_in
from condyle.user.ports import Tracer, key_of

VARIABLES, ROWS = 64, 128
"""The most."""

Entries = NDArray[np.object_]
"""Of one problem; where there are many, an entry that differs is an array of its values in all."""


class Solution(NamedTuple):
    """What `qp` answers: see there."""

    x: Any
    multipliers: Any
    residual: Any
    status: Any


def qp(
    H: Any,
    g: Any,
    A: Any = None,
    lower: Any = None,
    upper: Any = None,
    box: tuple[Any, Any] | None = None,
    equal: tuple[Any, Any] | None = None,
    start: Any = None,
    iterations: int = 40,
) -> Solution:
    """Return the minimum of x^T H x / 2 + g^T x with lower <= A x <= upper, box[0] <= x <= box[1] and E x = e.

    H (n, n): symmetric and positive semidefinite, its symmetric part is taken; g (n); A (m, n), lower, upper (m); box:
    two arrays (n); equal: (E, e), (p, n) and (p). A number stands for all entries of a limit; None, or a constant -inf
    or inf, for one that is not there. n is at most 64, m + p at most 128. start: x (n) to begin near, or (x, multipliers) of an
    earlier answer. iterations: the most.

    In a function of symbols it becomes a loop in the compiled code; entries that are the number 0.0 cost nothing. On
    arrays of numbers with any leading dimensions it is computed in NumPy.

    x (n): within the box to the last bit where the problem is solved. multipliers (m + n + p): y of the rows, of the box
    if there is one, of the equalities, with H x + g + A^T y_A + y_box + E^T y_E = 0, positive where an upper side holds.
    residual: the largest violation of the conditions of a minimum, in units in which g and x are of order 1. status: 1
    solved, 0 not within the iterations, -1 there is no feasible x.

    Where the minimum is not unique, for instance of a zero Hessian, a small term (1e-10 of H's largest entry in scaled
    units) decides. Derivatives are those at the solution, where sides that hold go on holding; a side whose multiplier
    and slack are both 0 goes on not holding. An infeasible problem has finite numbers, without meaning.
    Source: see `condyle.algorithms.quadratic_program`.
    Errors: ShapeError, and UnsupportedError for a constant H with a negative diagonal entry.
    """
    values = {"H": H, "g": g, "A": A, "lower": lower, "upper": upper}
    values |= _pair("box", box, ("box[0]", "box[1]")) | _pair("equal", equal, ("E", "e"))
    values |= {"start": start} if not isinstance(start, tuple) else _pair("start", start, ("start", "multipliers"))
    given = {name: value for name, value in values.items() if value is not None}
    for name in ("H", "g"):
        if name not in given:
            raise UnsupportedError(f"qp: {name}=None; give an array")
    trace = held_in(*given.values())
    problem = _Problem(given, trace)
    shape, arguments = problem.shaped(iterations)
    function = quadratic_program(shape)
    ports = [arguments[port.name] for port in function.inputs]
    if trace is not None:
        answers: list[Any] = list(cast(Tracer, trace.source).call(function, ports, ""))
    else:
        answers = problem.computed(function, ports)
    if not shape.multipliers:
        answers.insert(1, np.zeros((*problem.lead, 0)))
    return Solution(*answers)


def _pair(name: str, value: Any, names: tuple[str, str]) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, (tuple, list)) or len(cast("list[Any]", value)) != 2:
        raise UnsupportedError(f"qp: {name}={value!r}; give two arrays, ({names[0]}, {names[1]})")
    return dict(zip(names, cast("list[Any]", value), strict=True))


class _Problem:
    """The arguments as arrays of entries, their shapes checked. lead: leading dimensions."""

    def __init__(self, given: dict[str, Any], trace: Any) -> None:
        self.lead: tuple[int, ...] = ()
        if trace is not None:
            arrays = {name: numbers_of(value, trace.source) for name, value in given.items()}
        else:
            arrays = {name: np.asarray(value, np.float64) for name, value in given.items()}
        n = arrays["g"].shape[-1] if arrays["g"].ndim else 0
        rows, equal = (arrays[key].shape[-2] if key in arrays and arrays[key].ndim > 1 else 0 for key in ("A", "E"))
        if not 1 <= n <= VARIABLES or rows + equal > ROWS:
            raise ShapeError(
                f"qp: g has shape {arrays['g'].shape}, and there are {rows + equal} rows; there may be 1 to {VARIABLES} "
                f"variables and {ROWS} rows"
            )
        vector, count = (n,), rows + equal
        shapes = {"H": (n, n), "g": vector, "A": (rows, n), "lower": (rows,), "upper": (rows,), "E": (equal, n)}
        shapes |= {"e": (equal,), "box[0]": vector, "box[1]": vector, "start": vector}
        if "multipliers" in arrays:
            count += n if "box[0]" in arrays or "box[1]" in arrays else 0
            shapes["multipliers"] = (count,)
        self.n, self.rows, self.equal = n, rows, equal
        if trace is None:
            self.lead = self._leading(arrays, shapes)
        self.arrays = {name: self._entries(name, array, shapes[name]) for name, array in arrays.items()}

    def _leading(self, arrays: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
        leads = {name: array.shape[: max(array.ndim - len(shapes[name]), 0)] for name, array in arrays.items()}
        try:
            return np.broadcast_shapes(*leads.values())
        except ValueError:
            raise ShapeError(f"qp: the leading dimensions do not broadcast: {leads}") from None

    def _entries(self, name: str, array: Any, shape: tuple[int, ...]) -> Entries:
        is_limit = name not in ("H", "g", "A", "E")
        if array.shape[array.ndim - len(shape) :] != shape and not (is_limit and array.ndim == 0):
            raise ShapeError(f"qp: {name} has shape {array.shape}; with these others it must be {shape}")
        if array.dtype == object:
            if array.ndim > len(shape):
                raise ShapeError(f"qp: {name} has shape {array.shape}; a function of symbols is of one state: {shape}")
            return np.broadcast_to(array, shape)
        flat = np.broadcast_to(array, (*self.lead, *shape)).reshape(-1, *shape)
        entries: Entries = np.empty(shape, object)
        for place in np.ndindex(shape):
            column = flat[(slice(None), *place)]
            entries[place] = float(column[0]) if len(column) and (column == column[0]).all() else column
        return entries

    def shaped(self, iterations: int) -> tuple[Shape, dict[str, Entries]]:
        """What the program is made of, and the function's arguments."""
        arrays, n = self.arrays, self.n
        none: Entries = np.zeros(n, object)
        sides, limits = list[Side](), list[Any]()
        for first, low, high, size in ((0, "box[0]", "box[1]", n), (n, "lower", "upper", self.rows)):
            for k in range(size):
                for name, sign in ((low, -1.0), (high, 1.0)):
                    limit = arrays[name][k] if name in arrays else sign * np.inf
                    if not (isinstance(limit, float) and limit == sign * np.inf):
                        sides.append(Side(first + k, sign))
                        limits.append(limit)
        for k in range(n):
            entry = arrays["H"][k, k]
            if isinstance(entry, float) and entry < 0.0:
                raise UnsupportedError(f"qp: H[{k}, {k}] is {entry}; H must be positive semidefinite")
        started = "multipliers" in arrays
        shape = Shape(n, self.rows, self.equal, tuple(sides), started, int(iterations))
        if started and shape.multipliers != len(arrays["multipliers"]):
            raise ShapeError(f"qp: start has {len(arrays['multipliers'])} multipliers; there are {shape.multipliers}")
        lower = [_middle(arrays["H"][i, j], arrays["H"][j, i]) for i in range(n) for j in range(i + 1)]
        arguments = {
            "hessian": _array(lower),
            "gradient": arrays["g"],
            "rows": arrays.get("A", none).ravel(),
            "equal": arrays.get("E", none).ravel(),
            "target": arrays.get("e", none),
            "limits": _array(limits),
            "start": arrays.get("start", _array([0.0] * n)),
            "start_multipliers": arrays.get("multipliers", none),
        }
        return shape, arguments

    def computed(self, function: Function, arguments: list[Entries]) -> list[Any]:
        """The answers on numbers."""
        columns: Any = {port.name: list(of) for port, of in zip(function.inputs, arguments, strict=True)}
        with np.errstate(all="ignore"):
            outputs = next(iter(function.routes.values())).run(Unrolled(_nothing(), columns))
        answers: list[Any] = []
        for port, output in zip(function.outputs, outputs, strict=True):
            entries = np.stack([np.broadcast_to(x, int(np.prod(self.lead))) for x in cast("list[Any]", output)], -1)
            answers.append(entries.reshape(self.lead + tuple(map(int, port.dims)))[()])
        return answers


def _array(values: list[Any]) -> Entries:
    made: Entries = np.empty(len(values), object)
    for k, value in enumerate(values):
        made[k] = value
    return made


def _middle(x: Any, y: Any) -> Any:
    same = key_of(x) == key_of(y) if isinstance(x, (Expr, float)) and isinstance(y, (Expr, float)) else x is y
    return x if same else 0.5 * (x + y)


@cache
def _nothing() -> Tree:
    """A robot without joints."""
    return tree_of(Builder().body("world").build())
