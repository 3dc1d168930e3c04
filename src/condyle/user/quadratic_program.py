"""`condyle.qp`: a dense convex quadratic program, in a user's function and on arrays of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np

from condyle.algorithms.quadratic_program import Side
from condyle.algorithms.unrolled import Unrolled
from condyle.errors import ShapeError, UnsupportedError
from condyle.functions.quadratic_program import Shape, quadratic_program
from condyle.model.builder import Builder
from condyle.model.tree import Tree, tree_of
from condyle.specification import Function
from condyle.symbolic.arrays import numbers_of
from condyle.symbolic.elementwise import Entries, numpy
from condyle.symbolic.reductions import held_in
from condyle.user.ports import Tracer, key_of

VARIABLES, ROWS = 64, 128
"""The most."""


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

    H (n, n): positive semidefinite, its symmetric part is taken; g (n); A (m, n), lower, upper (m); box: two of (n);
    equal: (E, e), (p, n) and (p). A number stands for all entries of a limit; None, or a constant -inf or inf, for a
    limit that is not there. n is at most 64, m + p at most 128. start: x (n) to begin near, or (x, multipliers) of an
    earlier answer. iterations: the most.

    In a compiled function, of float64, it is a loop; entries that are the number 0.0 cost nothing. Arrays of numbers
    may have any leading dimensions, and are computed with in NumPy.

    x (n): within the box to the last bit where the problem is solved. multipliers: y of the box (n) if there is one, of
    the rows (m), of the equalities (p), with H x + g + y_box + A^T y_A + E^T y_E = 0, positive where an upper side
    holds. residual: the largest violation of the conditions of a minimum, in units in which g and x are of order 1.
    status: 1 solved, 0 not within the iterations, -1 there is no feasible x, whose other answers are finite and say
    nothing.

    Of many minima, such as with a zero Hessian, one is taken, by a term of 1e-10 of H's largest entry. Derivatives are
    those at the solution, where the sides that hold x go on holding it; one whose multiplier and slack are both 0
    counts in part or not.
    Source: see `condyle.algorithms.quadratic_program`.
    Errors: ShapeError; UnsupportedError for a constant H with a negative diagonal entry.
    """
    values = {"H": H, "g": g, "A": A, "lower": lower, "upper": upper}
    values |= _pair("box", box, "box[0]", "box[1]") | _pair("equal", equal, "E", "e")
    values |= _pair("start", start, "start", "multipliers") if isinstance(start, tuple) else {"start": start}
    values = {name: value for name, value in values.items() if value is not None}
    held = held_in(*values.values())
    if held is None:
        arrays = {name: np.asarray(value, np.float64) for name, value in values.items()}
    else:
        arrays = {name: numbers_of(value, held.source) for name, value in values.items()}
    entries, lead = _entries(arrays, held is not None)
    shape, arguments = _shaped(entries, iterations)
    function = quadratic_program(shape)
    ports = [arguments[port.name] for port in function.inputs]
    answers = _computed(function, ports, lead) if held is None else cast(Tracer, held.source).call(function, ports, "")
    return Solution(*answers[:1], *([] if shape.multipliers else [np.zeros((*lead, 0))]), *answers[1:])


def _pair(name: str, value: Any, first: str, second: str) -> dict[str, Any]:
    if value is not None and (not isinstance(value, (tuple, list)) or len(cast("list[Any]", value)) != 2):
        raise UnsupportedError(f"qp: {name}={value!r}; give a pair, ({first}, {second})")
    return {} if value is None else dict(zip((first, second), cast("list[Any]", value), strict=True))


def _entries(arrays: Mapping[str, Any], symbols: bool) -> tuple[dict[str, Entries], tuple[int, ...]]:
    """Arrays of the entries of one problem, and the leading dimensions; of many problems, an entry that is not the same
    in all is an array."""
    missing = next((name for name in ("H", "g") if name not in arrays), "")
    if missing or (arrays["g"].ndim != 1 if symbols else not arrays["g"].ndim):
        raise ShapeError(f"qp: {missing or 'g'} must be an array, {'(n, n)' if missing == 'H' else '(n,)'}")
    n = arrays["g"].shape[-1]
    m, p = (arrays[key].shape[-2] if key in arrays and arrays[key].ndim > 1 else 0 for key in ("A", "E"))
    if not 1 <= n <= VARIABLES or m + p > ROWS:
        raise ShapeError(f"qp: {n} variables, {m + p} rows; 1 to {VARIABLES} and at most {ROWS} are allowed")
    shapes = {"H": (n, n), "A": (m, n), "E": (p, n), "lower": (m,), "upper": (m,), "e": (p,)}
    boxed = n if arrays.keys() & {"box[0]", "box[1]"} else 0
    shapes["multipliers"] = (boxed + m + p,)
    lead: tuple[int, ...] = ()
    for name, array in arrays.items():
        shape = shapes.setdefault(name, (n,))
        cut = array.ndim - len(shape)
        if array.shape[max(cut, 0) :] not in (shape, ()) or (cut != 0 and (symbols or cut < 0) and array.ndim):
            raise ShapeError(f"qp: {name} has shape {array.shape}; with the other arguments it must be {shape}")
        try:
            lead = np.broadcast_shapes(lead, array.shape[: max(cut, 0)])
        except ValueError:
            raise ShapeError(f"qp: {name} has shape {array.shape}; others have leading dimensions {lead}") from None
    if symbols:
        return {name: cast(Entries, np.broadcast_to(array, shapes[name])) for name, array in arrays.items()}, lead
    columns = dict[str, Entries]()
    for name, array in arrays.items():
        flat: Any = np.broadcast_to(array, (*lead, *shapes[name]))
        flat = flat.reshape(int(np.prod(lead)), *shapes[name])
        columns[name] = np.empty(shapes[name], object)
        for place in numpy.ndindex(shapes[name]):
            column = flat[(slice(None), *place)]
            columns[name][place] = float(column[0]) if len(column) and (column == column[0]).all() else column
    return columns, lead


def _shaped(entries: Mapping[str, Entries], iterations: int) -> tuple[Shape, dict[str, Entries]]:
    """What the problem is made of, and the arguments of its function."""
    n = len(entries["g"])
    none: Entries = np.zeros((0, n), object)
    for k in range(n):
        if isinstance(entries["H"][k, k], float) and entries["H"][k, k] < 0.0:
            raise UnsupportedError(f"qp: H[{k}, {k}] is {entries['H'][k, k]}; H must be positive semidefinite")
    sides, limits = list[Side](), list[Any]()
    for first, low, high in ((0, "box[0]", "box[1]"), (n, "lower", "upper")):
        for name, sign in ((low, -1.0), (high, 1.0)):
            for k, limit in enumerate(entries.get(name, ())):
                if not (isinstance(limit, float) and limit == sign * np.inf):
                    sides.append(Side(first + k, sign))
                    limits.append(limit)
    rows = [*entries.get("A", none), *entries.get("E", none)]
    pairs = [(entries["H"][i, j], entries["H"][j, i]) for i in range(n) for j in range(i + 1)]
    parts = {
        "hessian": [
            x if x is y or (not _is_array(x, y) and key_of(x) == key_of(y)) else 0.5 * (x + y) for x, y in pairs
        ],
        "rows": [entry for row in rows for entry in row],
        "limits": limits,
    }
    arguments = {name: _array(values) for name, values in parts.items()}
    arguments |= {
        "gradient": entries["g"],
        "equal": entries.get("e", none),
        "start": entries.get("start", _array([0.0] * n)),
    }
    arguments["start_multipliers"] = entries.get("multipliers", none)
    shape = Shape(n, len(rows), len(entries.get("E", none)), tuple(sides), "multipliers" in entries, iterations)
    return shape, arguments


def _is_array(*values: object) -> bool:
    return any(isinstance(x, np.ndarray) for x in values)


def _array(values: list[Any]) -> Entries:
    array: Entries = np.empty(len(values), object)
    for k, value in enumerate(values):
        array[k] = value
    return array


def _computed(function: Function, arguments: list[Entries], lead: tuple[int, ...]) -> list[Any]:
    """The answers on numbers."""
    columns: Any = {port.name: list(values) for port, values in zip(function.inputs, arguments, strict=True)}
    with np.errstate(all="ignore"):
        outputs: Any = next(iter(function.routes.values())).run(Unrolled(_nothing(), columns))
    n = int(np.prod(lead))
    arrays: list[Any] = [np.stack([np.broadcast_to(x, n) for x in output], -1) for output in outputs]
    return [x.reshape(lead + tuple(map(int, port.dims)))[()] for x, port in zip(arrays, function.outputs, strict=True)]


@cache
def _nothing() -> Tree:
    """A robot without joints."""
    return tree_of(Builder().body("world").build())
