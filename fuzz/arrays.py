"""Calls of every function with unusual and invalid arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from condyle import CondyleError, Dynamics, OutOfMemoryError, Robot
from condyle.functions import FUNCTIONS
from condyle.runtime.rows import broadcast
from condyle.specification import Function, Port
from fuzz import arrays_odd as odd
from fuzz import arrays_out as outs
from fuzz import small_robots as robots

WHAT = (
    "odd arrays in and out of every function; found is: a crash, an answer that is not that of plain arrays, an "
    "input or anything beside an output written, an error that is not condyle's own, a refusal of what is allowed"
)
Rng = np.random.Generator
NEAR = {"float64": 1e-7, "float32": 3e-2}


def case(rng: Rng, folder: Path) -> None:
    """One call, with valid arguments or with one that is invalid."""
    robot, dyn, name = robots.chosen(rng)
    ports = robots.ports(rng, name)
    if rng.random() < 0.03:
        huge(rng, dyn, name, [robots.dims(robot, port) for port in ports])
        return
    batch = robots.short_batch(rng)
    plain = [robots.values(rng, robot, port, part(rng, batch)) for port in ports]
    given = [odd.good(rng, x, dyn.dtype, folder) for x in plain]
    if rng.random() < 0.3:
        k = int(rng.integers(len(given)))
        ranged = ports[k].is_fraction or ports[k].is_positive
        quaternions = robots.quaternions(robot, ports[k])
        beyond = 0 not in batch and rng.random() < 0.5
        if beyond and quaternions:
            wrong = odd.not_unit(rng, plain[k], dyn.dtype, quaternions)
        elif beyond and ranged:
            wrong = odd.beyond(rng, plain[k], dyn.dtype, ports[k].is_positive)
        else:
            wrong = odd.bad(rng, plain[k], dyn.dtype, robots.dims(robot, ports[k]))
        if not allowed(ports[k], wrong.argument):
            given[k] = wrong
    known = [(x.numbers, len(port.dims)) for x, port in zip(given, ports, strict=True) if x.numbers is not None]
    full = broadcast([x.shape[: x.ndim - d] for x, d in known])
    assert full is not None
    if 0 not in full:  # whole numbers, and numbers that were repeated
        pairs = zip(given, ports, strict=True)
        given = [
            x if x.numbers is None or robots.are_unit(robot, port, x.numbers) else x._replace(numbers=None)
            for x, port in pairs
        ]
    function = robots.called(name, ports)
    shapes = [full + robots.dims(robot, port) for port in function.outputs]
    out = chosen_out(rng, function, shapes, dyn, [x.argument for x in given])
    before = [None if x.memory is None else x.memory.copy() for x in given]
    call(rng, dyn, name, ports, given, out)
    for x, old, port in zip(given, before, ports, strict=True):
        assert old is None or np.array_equal(x.memory, old), f"{name}: input {port.name} was written"


def allowed(port: Port, argument: object) -> bool:
    """What is wrong elsewhere: no forces at all, and flags that are truth values."""
    flags = isinstance(argument, np.ndarray) and argument.dtype == bool
    return (port.name == "f_ext" and argument is None) or (port.name == "active" and flags)


def part(rng: Rng, batch: tuple[int, ...]) -> tuple[int, ...]:
    """Batch dimensions that broadcast to `batch`; often `batch` itself."""
    if rng.random() < 0.5:
        return batch
    kept = batch[int(rng.integers(len(batch) + 1)) :]
    return tuple(1 if rng.random() < 0.3 else length for length in kept)


def chosen_out(
    rng: Rng, function: Function, shapes: Sequence[tuple[int, ...]], dyn: Dynamics, inputs: Sequence[object]
) -> outs.Out | None:
    kind = rng.random()
    if kind < 0.4:
        return None
    return outs.good(rng, function, shapes, dyn.dtype) if kind < 0.8 else outs.bad(rng, shapes, dyn.dtype, inputs)


def call(
    rng: Rng, dyn: Dynamics, name: str, ports: Sequence[Port], given: Sequence[odd.Given], out: outs.Out | None
) -> None:
    """Calls by position or by name and checks the result, or that it was refused."""
    method = dyn.function(name)
    words = {} if out is None else {"out": out.argument}
    refused = [type(x.argument).__name__ for x in given if x.numbers is None]
    if out is not None and out.arrays is None:
        refused.append("out")
    try:
        if rng.random() < 0.5:
            answer = method(*(x.argument for x in given), **words)
        else:
            answer = method(**{port.name: x.argument for x, port in zip(given, ports, strict=True)}, **words)
    except CondyleError as error:
        if not refused or not str(error):
            raise AssertionError(f"{name} refused what is allowed, or said nothing") from error
        return
    assert not refused, f"{name} took what it must refuse: {refused}"
    results = answer if isinstance(answer, tuple) else (answer,)
    check_out(results, out)
    compare(rng, dyn, name, [np.array(x.numbers) for x in given], results)


def check_out(results: Sequence[np.ndarray], out: outs.Out | None) -> None:
    if out is None:
        assert all(type(x) is np.ndarray and x.flags.writeable and x.flags.c_contiguous for x in results), "odd results"
        return
    assert out.arrays is not None and all(a is b for a, b in zip(results, out.arrays, strict=True)), "not out= itself"
    for guard in out.guards:
        guard.check()


def compare(rng: Rng, dyn: Dynamics, name: str, numbers: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    """Compares with the call on C-ordered arrays of one batch shape, bit by bit; rarely with the reference too."""
    function = FUNCTIONS[name]
    inputs = function.every_input[: len(numbers)]
    dims = [len(port.dims) for port in inputs]
    batch = broadcast([x.shape[: x.ndim - d] for x, d in zip(numbers, dims, strict=True)])
    assert batch is not None
    wide = [np.array(np.broadcast_to(x, batch + x.shape[x.ndim - d :])) for x, d in zip(numbers, dims, strict=True)]
    plain = dyn.function(name)(*wide)
    wanted = plain if isinstance(plain, tuple) else (plain,)
    for got, want in zip(results, wanted, strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype, f"{name}: {got.dtype} {got.shape}, not {want.shape}"
        assert np.array_equal(got, want, equal_nan=True), f"{name} differs by {np.nanmax(np.abs(got - want))}"
    if rng.random() < 0.1 and all(np.isfinite(x).all() and np.abs(x).max(initial=0) < 100 for x in wide):
        near_reference(dyn, name, wide, wanted)


def near_reference(dyn: Dynamics, name: str, wide: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> None:
    robot = dyn.__reduce__()[1][0]
    assert isinstance(robot, Robot)
    answer = robots.compiled(robots.robots().index(robot), "numpy", "float64").function(name)(
        *(x.astype(float) for x in wide)
    )
    for got, want in zip(wanted, answer if isinstance(answer, tuple) else (answer,), strict=True):
        if want.size:
            error = np.abs(got - want).max() / max(1.0, np.abs(want).max())
            assert error < NEAR[str(dyn.dtype)], f"{name} is {error:.1e} from the reference"


def huge(rng: Rng, dyn: Dynamics, name: str, dims: Sequence[tuple[int, ...]]) -> None:
    """Batches that no memory holds: refused before anything of that size is touched."""
    one = [np.zeros(d, dyn.dtype) for d in dims]
    kind = rng.random()
    if kind < 0.4:
        given = [np.broadcast_to(x, (1 << 44, *x.shape)) for x in one]
    elif kind < 0.7:
        given = [np.broadcast_to(x, (1 << 22, 1 << 22, *x.shape)) for x in one]
    else:
        given = [x.astype(int) for x in one]
        given[0] = np.broadcast_to(given[0], (1 << 20, 1, 1 << 24, *given[0].shape))
    try:
        dyn.function(name)(*given)
    except OutOfMemoryError:
        return
    raise AssertionError(f"{name} took {given[0].shape}")
