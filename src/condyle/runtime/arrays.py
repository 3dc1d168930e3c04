"""The border between a user's arrays and a kernel: shapes, dtypes, strides, batches, `out=`.

Any leading batch dimensions broadcast; a kernel sees rows: inputs (n or 1, size), outputs (n, size), the last axis
contiguous. Arrays are viewed where their strides allow it and copied where they do not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from condyle.errors import DTypeError, ShapeError, StateError
from condyle.runtime import machine
from condyle.runtime._native import empty
from condyle.runtime.rows import (
    MOST_DIMS,
    Floats,
    Shape,
    broadcast,
    copied,
    has_rows,
    overlap,
    overlaps_itself,
    rows_of,
    shaped,
    spelled,
)
from condyle.specification import Function, Port
from condyle.specification.ports import ACTIVE, F_EXT, RISING

# What a caller hands in for an array: made one, or refused.


def refuse_lazy(method: str, name: str, arg: object) -> None:
    """DTypeError for a lazy array, which would be computed here, whole."""
    if hasattr(arg, "__dask_graph__"):
        raise DTypeError(
            f"{method}: {name} is a lazy array of Dask: condyle.interop.dask.wrap(dyn).{method} takes it by blocks; "
            f"{name}.compute() makes it an array"
        )


def as_array(method: str, name: str, arg: ArrayLike) -> Floats:
    """What is no array yet as one; DTypeError or ShapeError where it is nothing of the kind."""
    refuse_lazy(method, name, arg)
    if np.ma.is_masked(arg):
        raise DTypeError(f"{method}: {name} has masked entries: pass {name}.filled(...), or the states that are whole")
    try:
        array = np.asarray(arg)
    except MemoryError:
        raise
    except ValueError as error:
        raise ShapeError(f"{method}: {name} is not a regular array: {error}") from error
    except Exception as error:  # what lends itself as an array may refuse: a tensor with a gradient, a tracer
        of = type(arg).__module__.split(".")[0]
        why = f"condyle.interop.{of}.wrap(dyn).{method} takes it" if of in ("jax", "torch") else error
        raise DTypeError(f"{method}: {name} ({type(arg).__name__}) cannot be read as an array: {why}") from error
    if array.dtype.kind == "O" and array.ndim == 0:
        by_joint = f"; the entries of joint j are {name}[..., j.{'q' if name == 'q' else 'v'}_slice], j of robot.joints"
        cure = by_joint if isinstance(arg, dict) and name in ("q", "v", "a", "tau") else ""
        cure = ": robot.f_ext({...}) makes one from named frames" if name == F_EXT.name else cure
        raise DTypeError(f"{method}: {name} is {type(arg).__name__}, expected an array{cure}")
    return array


# Inputs whose numbers have a range: flags of contacts and restitution, from 0 to 1; steps forward in time, above 0;
# lengths of quaternions, 1.


SLACK = 1e-4
"""Differences of answers by a flag are taken on both sides of 0 and 1."""
UNIT = 1e-3
"""How far the length of a quaternion may be from 1; a rotation matrix is then off by twice that at most."""
Quaternions: TypeAlias = tuple[tuple[int, str], ...]
"""Of a configuration: the first entry of each, and the name of its joint."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """One port of a function with its dimensions as numbers. quaternions: of a configuration, see `Binder`."""

    name: str
    dims: Shape
    size: int
    is_fraction: bool = False
    is_positive: bool = False
    quaternions: Quaternions = ()

    @staticmethod
    def for_port(port: Port, sizes: Mapping[str, int], quaternions: Quaternions = ()) -> ArraySpec:
        dims = port.shape(sizes)
        return ArraySpec(port.name, dims, math.prod(dims), port.is_fraction, port.is_positive, quaternions)

    @property
    def expected(self) -> str:
        return f"(..., {', '.join(map(str, self.dims))})"


def check_ranges(method: str, specs: Iterable[ArraySpec], inputs: Sequence[object]) -> None:
    """StateError for states with numbers out of range; NaN and infinity pass, for their own state's answer says it.

    Flags may be below 0 or above 1 by `SLACK`, lengths of quaternions differ from 1 by `UNIT`.
    """
    for spec, array in zip(specs, inputs, strict=False):
        if not isinstance(array, np.ndarray):
            continue
        if (spec.is_fraction or spec.is_positive) and spec.size:
            _check(method, spec, shaped(cast("Floats", array), (-1, spec.size)))
        for first, joint in spec.quaternions:
            rows = shaped(cast("Floats", array), (-1, spec.dims[-1]))
            _check_length(method, spec, joint, rows[:, first : first + 4])


def _check_length(method: str, spec: ArraySpec, joint: str, quaternions: Floats) -> None:
    """quaternions (n, 4): those of one joint."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", quaternions, quaternions, dtype=np.float64))
        off = np.abs(lengths - 1.0) > UNIT
    if not off.any():
        return
    off &= np.isfinite(quaternions).all(axis=1)
    if not off.any():
        return
    per_state = spec.size // spec.dims[-1]
    bad = tuple(dict.fromkeys((np.flatnonzero(off) // per_state).tolist()))
    raise StateError(
        f"{method}: in {spec.name} the quaternion of joint {joint!r} has length {lengths[off][0]:.4g} in state "
        f"{bad[0]}, expected 1 within {UNIT:g}: robot.normalize({spec.name}) makes it so; its order is x y z w, behind "
        "the position of a free joint. compile(check=False) leaves this check out",
        bad,
    )


def _check(method: str, spec: ArraySpec, rows: Floats) -> None:
    slack = SLACK if spec.name == ACTIVE.name else 0.0
    beyond = rows <= 0.0 if spec.is_positive else (rows < -slack) | (rows > 1.0 + slack)
    if not beyond.any():
        return
    allowed = "above 0, such as 1e-3" if spec.is_positive else f"from 0 to 1: pass {spec.name}.clip(0, 1)"
    bad = tuple(np.flatnonzero(beyond.any(axis=1)).tolist())
    first = f"{spec.name} is {float(rows[beyond][0]):g} in state {bad[0]}"
    raise StateError(f"{method}: {first}, expected numbers {allowed}", bad)


FLAGS = (ACTIVE.name, RISING.name)
"""Inputs that may be truth values."""
_PLAIN = 0x101  # NumPy's flags C_CONTIGUOUS and ALIGNED


class Call(NamedTuple):
    """A checked call: n states, the rows a kernel reads and writes, and what the caller gets.

    results: shaped (*batch, *dims), the caller's own arrays if `out=` was given. late: (array, rows) pairs to be
    copied back because the array's own memory has no rows.
    """

    n: int
    inputs: tuple[Floats, ...]
    outputs: tuple[Floats, ...]
    results: tuple[Floats, ...]
    late: tuple[tuple[Floats, Floats], ...]

    def finish(self) -> tuple[Floats, ...]:
        """The results, complete; to be called after the kernel."""
        for array, rows in self.late:
            array[...] = shaped(rows, array.shape)
        return self.results


class Binder:
    """Checks the calls of one function; everything that does not depend on the arguments is done once.

    recompiles: whether `compile` makes the same function for other number types. quaternions: those of a configuration
    whose lengths are checked, each the number of its first entry and the name of its joint.
    """

    __slots__ = ("_dtype", "_inputs", "_method", "_outputs", "_recompiles", "_state_bytes")

    def __init__(
        self,
        function: Function,
        sizes: Mapping[str, int],
        dtype: np.dtype[np.floating],
        recompiles: bool = True,
        quaternions: Quaternions = (),
    ) -> None:
        self._method = function.called
        self._dtype, self._recompiles = np.dtype(dtype), recompiles
        self._inputs = tuple(
            ArraySpec.for_port(port, sizes, quaternions if function.takes_configurations(port) else ())
            for port in function.inputs
        )
        self._outputs = tuple(ArraySpec.for_port(port, sizes) for port in function.outputs)
        self._state_bytes = self._dtype.itemsize * sum(spec.size for spec in self._outputs)

    @property
    def specs(self) -> tuple[tuple[ArraySpec, ...], tuple[ArraySpec, ...]]:
        """All inputs, and all outputs."""
        return self._inputs, self._outputs

    def bind(
        self,
        args: Sequence[ArrayLike],
        out: Floats | Sequence[Floats] | None = None,
        ranges: bool = True,
    ) -> Call:
        """Raises ShapeError or DTypeError that name the argument, what it is, what was expected and the cure.

        ranges: whether numbers out of range are a StateError.
        """
        plain = self._plain(args)
        if plain is None:
            batch, given, inputs = self._any(args, fresh=out is None)
        else:
            batch, inputs = plain
            given = inputs
        n = math.prod(batch)
        if ranges and n:
            check_ranges(self._method, self._inputs, inputs)
        if out is None:
            return self._fresh(batch, n, inputs)
        results = self.taken(out, [batch + spec.dims for spec in self._outputs], given)
        return self._into(results, inputs, n)

    def _any(self, args: Sequence[ArrayLike], fresh: bool) -> tuple[Shape, Sequence[Floats], tuple[Floats, ...]]:
        """The batch shape, the arguments as arrays, and as rows; nothing is copied before there is memory for it."""
        specs = self._inputs
        if len(args) != len(specs):
            names = ", ".join(spec.name for spec in specs)
            raise ShapeError(f"{self._method}({names}): {len(args)} arguments given, expected {len(specs)}")
        arrays = [self._array(spec, arg) for spec, arg in zip(specs, args, strict=True)]
        batch = self._batch(specs, arrays)
        n = math.prod(batch)
        entries = sum(
            copied(array, spec.dims, batch) + (array.size if array.dtype != self._dtype else 0)
            for spec, array in zip(specs, arrays, strict=True)
        )
        machine.check(self._method, n, n * self._state_bytes if fresh else 0, entries * self._dtype.itemsize)
        arrays = [array if array.dtype == self._dtype else array.astype(self._dtype) for array in arrays]
        return (
            batch,
            arrays,
            tuple([rows_of(array, spec.dims, batch, n) for spec, array in zip(specs, arrays, strict=True)]),
        )

    def _plain(self, args: Sequence[ArrayLike]) -> tuple[Shape, tuple[Floats, ...]] | None:
        """The common case in little time: contiguous arrays of the right dtype and one batch shape. Else None."""
        dtype, batch, inputs = self._dtype, None, list[Floats]()
        if len(args) != len(self._inputs):
            return None
        for spec, arg in zip(self._inputs, args, strict=True):
            if type(arg) is not np.ndarray or arg.dtype is not dtype or arg.flags.num & _PLAIN != _PLAIN:
                return None
            shape, dims = arg.shape, spec.dims
            split = len(shape) - len(dims)
            if split < 0 or shape[split:] != dims or (batch is not None and batch != shape[:split]):
                return None
            batch = shape[:split]
            inputs.append(arg if split == 1 and len(dims) == 1 else shaped(arg, (math.prod(batch), spec.size)))
        assert batch is not None
        self._check_batch(batch, ())
        return batch, tuple(inputs)

    def _fresh(self, batch: Shape, n: int, inputs: tuple[Floats, ...]) -> Call:
        results, outputs = list[Floats](), list[Floats]()
        machine.check(self._method, n, n * self._state_bytes)
        for spec in self._outputs:
            result = empty(batch + spec.dims, self._dtype)
            results.append(result)
            outputs.append(result if result.shape == (n, spec.size) else shaped(result, (n, spec.size)))
        return Call(n, inputs, tuple(outputs), tuple(results), ())

    def _array(self, spec: ArraySpec, arg: ArrayLike) -> Floats:
        """The argument as an array that ends in the port's dimensions, of a dtype that is right or may be converted."""
        array = arg if type(arg) is np.ndarray else as_array(self._method, spec.name, arg)
        if (
            array.dtype != self._dtype
            and not self._converts(array, listed=isinstance(arg, (list, tuple, int, float)))
            and not (array.dtype.kind == "b" and spec.name in FLAGS)
        ):
            raise DTypeError(self._wrong_dtype(spec.name, array))
        dims = spec.dims
        if array.shape[array.ndim - len(dims) :] != dims or array.ndim < len(dims):
            raise ShapeError(self._misshapen(spec, array.shape))
        return spelled(array, self._dtype)

    def _converts(self, array: Floats, listed: bool) -> bool:
        return array.dtype.kind in "iu" or (listed and (array.dtype.kind == "f" or array.size == 0))

    def _wrong_dtype(self, name: str, array: Floats) -> str:
        wrong, right = array.dtype, self._dtype
        head = f"{self._method}: {name} is {wrong}, expected {right}"
        if wrong.newbyteorder("=") == right:  # pyright: ignore[reportUnknownMemberType]
            return f"{head} in this machine's byte order: pass {name}.astype({name}.dtype.newbyteorder('='))"
        if wrong.kind != "f":
            return f"{head}: pass real numbers"
        known = self._recompiles and str(wrong) in ("float32", "float64")
        other = f', or compile(dtype="{wrong}")' if known else ""
        return f'{head}: pass {name}.astype("{right}"){other}'

    def _misshapen(self, spec: ArraySpec, shape: Shape) -> str:
        head = f"{self._method}: {spec.name} has shape {shape}, expected {spec.expected}"
        if len(spec.dims) == 1 and len(shape) == 2 and shape[0] == spec.size:
            return f"{head}; it looks transposed: pass {spec.name}.T"
        if len(spec.dims) == 2 and len(shape) == 3 and shape[:2] == spec.dims:
            return f"{head}; the batch comes first: pass numpy.moveaxis({spec.name}, -1, 0)"
        return head

    def _batch(self, specs: Sequence[ArraySpec], arrays: Sequence[Floats]) -> Shape:
        batches = {array.shape[: array.ndim - len(spec.dims)] for spec, array in zip(specs, arrays, strict=True)}
        batch = batches.pop() if len(batches) == 1 else broadcast(batches)
        if batch is None:
            listed = ", ".join(f"{spec.name} {array.shape}" for spec, array in zip(specs, arrays, strict=True))
            raise ShapeError(f"{self._method}: batch dimensions do not broadcast: {listed}")
        self._check_batch(batch, specs)
        return batch

    def _check_batch(self, batch: Shape, widened: Sequence[ArraySpec]) -> None:
        """Whether NumPy has arrays for the results, and for inputs that are broadcast."""
        most = MOST_DIMS - max((len(spec.dims) for spec in (*widened, *self._outputs)), default=0)
        if len(batch) > most:
            raise ShapeError(
                f"{self._method}: {len(batch)} batch dimensions, expected at most {most}: with those of a state NumPy "
                f"allows {MOST_DIMS}; reshape the arguments to fewer"
            )
        if 0 in batch and self._state_bytes * math.prod(length or 1 for length in batch) > sys.maxsize:
            raise ShapeError(f"{self._method}: the batch {batch} is too large for an array, though it has no entries")

    def taken(
        self, out: Floats | Sequence[Floats], shapes: Sequence[Shape], inputs: Sequence[Floats]
    ) -> tuple[Floats, ...]:
        """The arrays of `out=`; errors where they do not fit, or lie over one another or over inputs."""
        lends = hasattr(out, "__dlpack__") and not isinstance(out, np.ndarray)
        if lends or not isinstance(out, Iterable) or isinstance(out, (str, bytes, memoryview, Mapping)):  # pyright: ignore
            hint = ": give out=tensor.numpy(), which fills it" if hasattr(out, "numpy") else ""
            raise DTypeError(f"{self._method}: out is no NumPy array: {type(out).__name__}{hint}")
        listed = (out,) if isinstance(out, np.ndarray) else tuple(out)
        if len(listed) != len(self._outputs):
            names = ", ".join(spec.name for spec in self._outputs)
            raise ShapeError(f"{self._method}: out has {len(listed)} arrays, expected {len(self._outputs)}: {names}")
        for k, (shape, array) in enumerate(zip(shapes, listed, strict=True)):
            name = "out" if len(listed) == 1 else f"out[{k}]"
            self._check_out(name, array, shape)
            for other in (*inputs, *listed[:k]):
                if overlap(array, other):
                    raise ShapeError(f"{self._method}: {name} overlaps an input or another output; pass a fresh array")
        return listed

    def _check_out(self, name: str, array: Floats, shape: Shape) -> None:
        if not isinstance(array, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DTypeError(f"{self._method}: {name} is no NumPy array: {type(array).__name__}")
        if array.dtype != self._dtype:
            raise DTypeError(f"{self._method}: {name} is {array.dtype}, expected {self._dtype}")
        if array.shape != shape:
            raise ShapeError(f"{self._method}: {name} has shape {array.shape}, expected {shape}")
        if not array.flags.writeable:
            raise ShapeError(f"{self._method}: {name} is read-only")
        if overlaps_itself(array):
            raise ShapeError(f"{self._method}: {name} overlaps itself; pass a fresh array")

    def _into(self, results: tuple[Floats, ...], inputs: tuple[Floats, ...], n: int) -> Call:
        outputs: list[Floats] = []
        late: list[tuple[Floats, Floats]] = []
        for spec, result in zip(self._outputs, results, strict=True):
            array = spelled(np.asarray(result), self._dtype)
            rows = shaped(array, (n, spec.size))
            if not (np.may_share_memory(rows, array) and has_rows(rows)) and rows.size:
                rows = np.empty((n, spec.size), self._dtype)
                late.append((array, rows))
            outputs.append(rows)
        return Call(n, inputs, tuple(outputs), results, tuple(late))


# Sums over batch dimensions, in an order that depends on shapes alone.


def summed(array: Floats, shape: Shape) -> Floats:
    """An array that `shape` was broadcast to, with its entries added up where it was; `array` is used as room.

    Halves are added to halves, so that errors grow with the logarithm of the number of terms.
    """
    if array.shape == shape:
        return array
    extra = array.ndim - len(shape)
    over = [k for k, n in enumerate(array.shape) if k < extra or (shape[k - extra] == 1 and n != 1)]
    n = math.prod(array.shape[k] for k in over)
    if array.size == 0:
        return np.zeros(shape, array.dtype)
    leading = list(range(len(over)))
    rows = shaped(array if over == leading else np.moveaxis(array, over, leading), (n, -1))
    while n > 1:
        half = n // 2
        rows[:half] += rows[n - half : n]
        n -= half
    return shaped(rows[0].copy(), shape)
