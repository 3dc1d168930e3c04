"""Functions of a robot on Ray: actors that keep a compiled `Dynamics`, and data sets.

    far = condyle.interop.ray.wrap(dyn, actors=4)
    tau = far.inverse_dynamics(q, v, a)                      # NumPy arrays (states, ...), or one for all states
    for tau in far.map("id", chunks): ...                    # an iterator of chunks: answers in its order
    answers = data.map_batches(Map, fn_constructor_args=(dyn, "id"), batch_format="numpy", concurrency=4)

An actor has the robot and the options by pickle, and compiles, or takes the kernel from its own cache, once. A block
whose actor died is done again by a new one; each block is answered once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle.dynamics import Dynamics
from condyle.errors import ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.methods import made
from condyle.packing import known_function

Array = NDArray[np.floating]


def wrap(dyn: Dynamics, actors: int = 1, block: int = 65536, in_flight: int = 2, retries: int = 3) -> Far:
    """An object with the methods of `dyn`, computed by actors of Ray; UnsupportedError where Ray is not installed.

    block: states of one call of an actor. in_flight: blocks that an actor has at a time. retries: how often an actor
    that died is started again, and a block is tried again.
    """
    for name, value, least in (("actors", actors, 1), ("block", block, 1), ("in_flight", in_flight, 1)):
        if not hasattr(value, "__index__") or value < least:
            raise ShapeError(f"wrap: {name}={value!r}, expected an integer of {least} or more")
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise UnsupportedError("Ray is not installed: pip install 'condyle[ray]'") from error
    return Far(ray, dyn, actors, block, in_flight, retries)


class Worker:
    """What an actor keeps: a `Dynamics`, compiled at its first block."""

    def __init__(self, dyn: Dynamics) -> None:
        self._dyn = dyn

    def run(self, name: str, args: Sequence[Array]) -> tuple[Array, ...]:
        """The answers of a block."""
        n = len(known_function(name).inputs)
        return self._dyn.call(name, args[:n], *args[n:])  # external forces come last


class Far:
    """Methods of `Dynamics` on NumPy arrays (states, ...), by blocks on actors."""

    def __init__(self, ray: Any, dyn: Dynamics, actors: int, block: int, in_flight: int, retries: int) -> None:
        self._ray, self._dyn, self._block, self._ahead = ray, dyn, block, actors * in_flight
        remote: Any = ray.remote(Worker).options(max_restarts=retries, max_task_retries=retries, num_cpus=1)
        # the pickle itself: an actor that is started again may find no stored object
        self._actors = [remote.remote(dyn) for _ in range(actors)]

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("_"):  # copy and pickle ask before there is a Dynamics
            raise AttributeError(method)
        known = {FUNCTIONS[name].method: name for name in self._dyn.signature}
        if method not in known:
            raise AttributeError(f"{method}: Ray's actors have {', '.join(known)}")

        def far(*args: Any, f_ext: Any = None) -> Any:
            return self._call(known[method], args, f_ext)

        return far

    def jvp(self, name: str) -> Callable[..., Any]:
        """As `Dynamics.jvp`, without forces."""
        return lambda *args: self._call(f"jvp_{name}", args)

    def jacobian(self, name: str) -> Callable[..., Any]:
        """As `Dynamics.jacobian` by all inputs, without forces."""
        return lambda *args: self._call(f"jacobian_{name}", args)

    def hessian(self, name: str) -> Callable[..., Any]:
        """As `Dynamics.hessian`, without forces."""
        return lambda *args: self._call(f"hessian_{name}", args)

    def map(self, name: str, chunks: Iterable[Sequence[Array]]) -> Iterator[tuple[Array, ...]]:
        """Answers of a function, by its short name, of each chunk of inputs, in order.

        No more chunks are taken ahead of the answers than actors have in flight. Derivatives too: "vjp_fd".
        """
        pending: deque[Any] = deque()
        known_function(name)
        for args, actor in zip(chunks, cycle(self._actors)):
            pending.append(actor.run.remote(name, tuple(args)))
            if len(pending) == self._ahead:
                yield self._ray.get(pending.popleft())
        while pending:
            yield self._ray.get(pending.popleft())

    def _call(self, name: str, args: Sequence[Any], f_ext: Any = None) -> Any:
        function, (inputs, outputs) = known_function(name), self._dyn.binder(name).specs
        if len(args) != len(function.inputs):
            said = ", ".join(port.name for port in function.inputs)
            raise ShapeError(f"{function.method}({said}): {len(args)} arguments given, expected {len(function.inputs)}")
        if f_ext is not None and not function.takes_f_ext:
            raise UnsupportedError(f"{function.method} takes no f_ext here: leave it out")
        args = args if f_ext is None else (*args, f_ext)
        dims = [len(spec.dims) for spec in inputs[: len(args)]]
        given = [np.asarray(x) for x in args]
        lengths = {len(x) for x, n in zip(given, dims, strict=True) if x.ndim == n + 1}
        if len(lengths) != 1 or any(x.ndim > n + 1 for x, n in zip(given, dims, strict=True)):
            shapes = ", ".join(str(x.shape) for x in given)
            raise ShapeError(f"{function.method}: shapes {shapes}; expected (states, ...) with one number of states")
        states = lengths.pop()
        answers = [np.empty((states, *spec.dims), self._dyn.dtype) for spec in outputs]
        cuts = range(0, states, self._block)
        parts = ([x[k : k + self._block] if x.ndim > n else x for x, n in zip(given, dims, strict=True)] for k in cuts)
        for begin, found in zip(cuts, self.map(name, parts), strict=True):
            for whole, part in zip(answers, found, strict=True):
                whole[begin : begin + len(part)] = part
        return made(function, answers)


class Map:
    """A class for `Dataset.map_batches(Map, fn_constructor_args=(dyn, "id"), ...)`: answers are new columns.

    columns: the column of each input, by default of its name. batch_format="numpy" is needed. An actor compiles once.
    """

    def __init__(self, dyn: Dynamics, name: str, columns: Mapping[str, str] | None = None) -> None:
        function, given = known_function(name), dict(columns or {})
        inputs = [port.name for port in function.inputs]
        if not given.keys() <= set(inputs):
            raise UnsupportedError(f"Map: columns {sorted(given)}, inputs of {name} are {', '.join(inputs)}")
        self._dyn, self._name, self._columns = dyn, name, [given.get(port, port) for port in inputs]
        self._outputs = [port.name for port in function.outputs]

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        lacking = [column for column in self._columns if column not in batch]
        if lacking:
            raise ShapeError(f"Map: no column {', '.join(lacking)}; there are {', '.join(batch)}; give columns=")
        found = self._dyn.call(self._name, [batch[column] for column in self._columns])
        return {**batch, **dict(zip(self._outputs, found, strict=True))}
