"""The bits of answers: of a batch, packed, and one state; with and without external forces."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.guard.worker.states import States

Arrays = tuple[np.ndarray, ...]
PORTS = {3: "Minv", 4: "f_ext"}
"""What `pack` must be told of the fourth argument, and of forces."""


def answers(
    robot: Any,
    states: States,
    target: str,
    dtype: str,
    links: str,
    functions: Sequence[str],
    layouts: Sequence[str],
    forces: bool,
) -> tuple[dict[str, Arrays], dict[str, str]]:
    """Every answer by "function layout", and its sha256; an error is known by its type.

    TypeError is what functions that take no forces say to them.
    """
    found: dict[str, Arrays] = {}
    hashes: dict[str, str] = {}
    try:
        dyn = robot.compile(target, dtype=dtype, links=links, threads=1)
    except Exception as error:
        return {}, {"compile": type(error).__name__}
    for function in functions:
        for layout, call in _calls(dyn, states, function, dtype, layouts, forces):
            key = f"{function} {layout}"
            try:
                found[key] = _dense(call())
                hashes[key] = digest(found[key])
            except Exception as error:
                hashes[key] = type(error).__name__
    return found, hashes


def _calls(
    dyn: Any, states: States, function: str, dtype: str, layouts: Sequence[str], forces: bool
) -> Iterator[tuple[str, Callable[[], object]]]:
    call = dyn.function(function)
    rows = [np.ascontiguousarray(x, dtype=dtype) for x in states.arguments(dyn.signature[function])]
    forced = np.ascontiguousarray(states.f_ext, dtype=dtype)
    ways: dict[str, Callable[[np.ndarray, int], object]] = {
        "dense": lambda x, k: x,
        "one": lambda x, k: x[0],
        "packed": lambda x, k: dyn.pack(x, PORTS.get(k, "")),
    }
    for layout in layouts:
        way = ways[layout]
        yield layout, lambda way=way: call(*(way(x, k) for k, x in enumerate(rows)))
        if forces:
            yield (
                f"{layout} f_ext",
                lambda way=way: call(*(way(x, k) for k, x in enumerate(rows)), f_ext=way(forced, 4)),
            )


def _dense(answer: Any) -> Arrays:
    every = answer if isinstance(answer, tuple) else (answer,)
    return tuple(np.asarray(one) for one in every)


def digest(arrays: Sequence[np.ndarray]) -> str:
    """sha256 of shapes, dtypes and bytes."""
    made = hashlib.sha256()
    for array in arrays:
        made.update(f"{array.shape} {array.dtype}\n".encode() + np.ascontiguousarray(array).tobytes())
    return made.hexdigest()[:24]


def save(arrays: Arrays, path: Path) -> None:
    np.savez(path, *arrays)
