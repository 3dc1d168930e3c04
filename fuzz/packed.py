"""Calls with packed arrays that were mixed, changed, damaged or pickled, compared with dense ones."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from condyle import CondyleError, Dynamics, Packed, Robot, StateError
from condyle.functions import quantities
from condyle.runtime.packed import Layout, full
from condyle.specification import Port
from fuzz import small_robots as robots

WHAT = (
    "packed arrays in calls, in dense and in pack, some damaged; found is: a crash, an answer that is not that of "
    "dense arrays to the bit, an input written, an error that is not condyle's own, a refusal of what is allowed"
)
Rng = np.random.Generator


def case(rng: Rng, folder: Path) -> None:
    """A call with packed arguments, one of which may be wrong; or a packed array by itself."""
    robot, dyn, name = robots.chosen(rng)
    ports = robots.ports(rng, name)
    batch = robots.short_batch(rng)
    dense = [robots.values(rng, robot, port, batch).astype(dyn.dtype) for port in ports]
    symmetric(ports, dense)
    packed = [dyn.pack(x, port.name, name) for x, port in zip(dense, ports, strict=True)]
    kind = rng.random()
    if kind < 0.25:
        alone(rng, packed[int(rng.integers(len(packed)))])
    elif kind < 0.35:
        not_unit(rng, robot, dyn, name, ports, packed)
    elif kind < 0.6:
        refused(rng, robot, dyn, name, ports, packed)
    else:
        answered(rng, dyn, name, ports, dense, packed)


def symmetric(ports: Sequence[Port], dense: list[np.ndarray]) -> None:
    """Replaces symmetric matrices by the identity: packed ports store one triangle, only entries that can be
    nonzero."""
    for k, port in enumerate(ports):
        if port.symmetric:
            dense[k] = np.zeros_like(dense[k]) + np.eye(dense[k].shape[-1], dtype=dense[k].dtype)


def answered(
    rng: Rng, dyn: Dynamics, name: str, ports: Sequence[Port], dense: Sequence[np.ndarray], packed: Sequence[Packed]
) -> None:
    """A valid call: its result has the same bits as that of dense arrays. Forces f_ext may stay dense."""
    method, given = dyn.function(name), [travelled(rng, x) for x in packed]
    before = [x.blocks.copy() for x in given]
    words: dict[str, object] = {}
    arguments: list[object] = list(given)
    if ports[-1].name == "f_ext" and rng.random() < 0.5:
        arguments[-1] = dense[-1]
    want = listed(method(*dense))
    outputs = robots.called(name, ports).outputs
    out = [dyn.pack(np.full_like(x, 3.0), port.name, name) for x, port in zip(want, outputs, strict=True)]
    if rng.random() < 0.5:
        words["out"] = out[0] if len(out) == 1 and rng.random() < 0.7 else (rng.choice([0, 1]) and tuple(out)) or out
    results = listed(method(*arguments, **words))
    if words:
        assert all(a is b for a, b in zip(results, out, strict=True)), "not out= itself"
    for got, right in zip(results, want, strict=True):
        assert isinstance(got, Packed) and got.shape == right.shape and got.dtype == right.dtype, f"{name}: {got!r}"
        assert np.array_equal(got.dense(), right, equal_nan=True), f"{name}: packed is not dense"
    for x, old in zip(given, before, strict=True):
        assert x.blocks.tobytes() == old.tobytes(), f"{name}: an input was written"


def travelled(rng: Rng, x: Packed) -> Packed:
    """The same array, perhaps pickled and loaded, copied, with other numbers in padding lanes, or read-only."""
    kind = rng.random()
    if kind < 0.15:
        return pickle.loads(pickle.dumps(x, protocol=int(rng.integers(2, 6))))
    if kind < 0.25:
        return copy.deepcopy(x) if rng.random() < 0.5 else copy.copy(x)
    if kind < 0.35 and len(x.blocks):
        used = int(np.prod(x.batch)) - (len(x.blocks) - 1) * x.layout.lanes
        x.blocks[-1, :, used:] = rng.choice([np.nan, np.inf, 1e30])
    if kind > 0.9:
        x.blocks.flags.writeable = False
    return x


def refused(rng: Rng, robot: Robot, dyn: Dynamics, name: str, ports: Sequence[Port], packed: list[Packed]) -> None:
    """A call with one invalid argument: it must raise condyle's own error."""
    k = int(rng.integers(len(packed)))
    wrong = spoilt(rng, robot, dyn, ports[k], packed[k])
    words: dict[str, object] = {}
    arguments: list[object] = list(packed)
    n_outputs = len(robots.called(name, ports).outputs)
    if rng.random() < 0.3 and n_outputs:
        words["out"] = wrong if n_outputs == 1 else (wrong,) * n_outputs
    else:
        arguments[k] = wrong
    try:
        answer = dyn.function(name)(*arguments, **words)
    except CondyleError:
        return
    same = isinstance(wrong, Packed) and wrong.layout == packed[k].layout and wrong.dtype == packed[k].dtype
    fits_out = words and all(r.layout == wrong.layout for r in listed(answer) if isinstance(wrong, Packed))
    assert same or fits_out, f"{name} took {wrong!r} as {'out' if words else ports[k].name}"


def not_unit(rng: Rng, robot: Robot, dyn: Dynamics, name: str, ports: Sequence[Port], packed: list[Packed]) -> None:
    """A call with a quaternion that has not unit length, which is refused, and its state named."""
    with_quaternions = [k for k, port in enumerate(ports) if robots.quaternions(robot, port)]
    count = int(np.prod(packed[0].batch))
    if not with_quaternions or not count:
        return
    k, state = int(rng.choice(with_quaternions)), int(rng.integers(count))
    first = int(rng.choice(robots.quaternions(robot, ports[k])))
    tile, lane = divmod(state, packed[k].layout.lanes)
    packed[k].blocks[tile, first : first + 4, lane] *= rng.choice([0.0, 0.5, 0.998, 1.002, 2.0, 1e18])
    named = None
    try:
        dyn.function(name)(*packed)
    except StateError as error:
        named = error.rows
    assert named == (state,), f"{name}: the quaternion of state {state} has another length, and {named} was said"


def spoilt(rng: Rng, robot: Robot, dyn: Dynamics, port: Port, x: Packed) -> object:
    """An argument that is not a packed array of this port and batch."""
    n, number = int(np.prod(x.batch)), int(rng.integers(len(robots.robots())))
    dtype = "float32" if dyn.dtype == np.float64 else "float64"
    other = robots.compiled(number, str(rng.choice(robots.TARGETS)), dtype)
    rest = [name for name in quantities() if name != port.name]
    ways: list[Callable[[], object]] = [
        lambda: other.pack(np.zeros((*x.batch, robots.robots()[number].nq), dtype), "q"),
        lambda: dyn.pack(np.zeros((*x.batch, 2, *x.layout.dims), dyn.dtype), port.name),
        lambda: dyn.pack(np.zeros((n + 1, *x.layout.dims), dyn.dtype), port.name),
        lambda: Packed(np.zeros((-(-n // 3), x.layout.columns, 3), dyn.dtype), full_of(x, 3), x.batch),
        lambda: dyn.pack(np.zeros((*x.batch, *robots.dims(robot, quantities()[rest[0]])), dyn.dtype), rest[0]),
        lambda: None if port.name != "f_ext" else "text",
        lambda: "text",
        lambda: {"q": 1},
        lambda: x.blocks.astype(complex),
        lambda: resized(x),
        lambda: reshaped(x),
        lambda: retyped(x),
    ]
    return ways[int(rng.integers(len(ways)))]()


def full_of(x: Packed, lanes: int) -> Layout:
    kept = x.layout
    return Layout(kept.dims, kept.entries, kept.symmetric, lanes) if kept.symmetric else full((kept.columns,), lanes)


def resized(x: Packed) -> Packed:
    x.blocks.resize((len(x.blocks) + 1, *x.blocks.shape[1:]), refcheck=False)
    return x


def reshaped(x: Packed) -> Packed:
    x.blocks.shape = (*x.blocks.shape, 1)
    return x


def retyped(x: Packed) -> Packed:
    x.blocks.dtype = f"i{x.blocks.itemsize}"  # type: ignore[assignment]
    return x


def alone(rng: Rng, x: Packed) -> None:
    """dense, views by index, fields by hand: right, or an error of condyle's or of an index."""
    dense = x.dense()
    into = np.full(x.shape, 5.0, x.dtype)
    assert x.dense(out=into) is into and np.array_equal(into, dense, equal_nan=True), "dense(out=) is not dense()"
    strided = np.full((*x.shape, 2), 5.0, x.dtype)
    x.dense(out=strided[..., 0])
    assert np.array_equal(strided[..., 0], dense, equal_nan=True) and (strided[..., 1] == 5).all(), (
        "beside out= written"
    )
    if x.batch and x.batch[0]:
        where = int(rng.integers(x.batch[0]))
        assert np.array_equal(x[where], dense[where], equal_nan=True), "an index gives other numbers"
        assert np.array_equal(x[::-2], dense[::-2], equal_nan=True), "a slice gives other numbers"
    fields: list[object] = [x.blocks, x.layout, x.batch]
    k = int(rng.integers(3))
    odd = [x.blocks[..., ::2], x.blocks[:, :0], np.zeros((1, 1, 1), int), (3, -1), (1 << 40, 1 << 40), (1 << 62,), "q"]
    fields[k] = odd[int(rng.integers(len(odd)))]
    try:
        made = Packed(*fields)  # type: ignore[arg-type]
    except CondyleError:
        return
    assert made.dense().shape == made.shape, "a packed array of fields that do not fit"


def listed(answer: object) -> tuple:  # type: ignore[type-arg]
    return answer if isinstance(answer, tuple) else (answer,)
