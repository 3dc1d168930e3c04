"""Functions of a robot on Ray: actors that keep a compiled `Dynamics`, or a user's function, and data sets.

    far = condyle.interop.ray.wrap(dyn, actors=4)
    tau = far.inverse_dynamics(q, v, a)                      # NumPy arrays (states, ...), or one for all states
    for tau in far.map("id", chunks): ...                    # an iterator of chunks: answers in its order
    pool = ray.data.ActorPoolStrategy(size=4)
    answers = data.map_batches(Map, fn_constructor_args=(dyn, "id"), batch_format="numpy", compute=pool)

An actor has the robot and the options by pickle, and compiles, or takes the kernel from its own cache, once. A block
whose actor died is done again by a new one; each block is answered once.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import cycle
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from condyle import specification
from condyle.calls.dynamics import Dynamics
from condyle.errors import DTypeError, ShapeError, UnsupportedError
from condyle.functions import function_of
from condyle.interop import blocks
from condyle.interop.blocks import Call, Target, Task, check_target, engine_of, run
from condyle.user.function import CompiledFunction

Array = NDArray[np.floating]


@overload
def wrap(of: Dynamics, actors: int = 1, block: int = 65536, in_flight: int = 2, retries: int = 3) -> Functions: ...
@overload
def wrap(
    of: CompiledFunction, actors: int = 1, block: int = 65536, in_flight: int = 2, retries: int = 3
) -> Function: ...
def wrap(of: Target, actors: int = 1, block: int = 65536, in_flight: int = 2, retries: int = 3) -> Functions | Function:
    """An object with the methods of `of`, computed by actors of Ray; UnsupportedError where Ray is not installed.

    block: states of one call of an actor. in_flight: blocks that an actor has at a time. retries: how often an actor
    that died is started again, and a block is tried again. ShapeError for numbers that are too small.
    """
    check_target("wrap", of)
    numbers = {"actors": (actors, 1), "block": (block, 1), "in_flight": (in_flight, 1), "retries": (retries, 0)}
    for name, (value, least) in numbers.items():
        if not hasattr(value, "__index__") or isinstance(value, bool) or operator.index(value) < least:
            raise ShapeError(f"wrap: {name}={value!r}, expected an integer of {least} or more")
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise UnsupportedError("Ray is not installed: pip install 'condyle[ray]'") from error
    found = Actors(ray, of, *(operator.index(value) for value, _ in numbers.values()))
    return Function(of, found) if isinstance(of, CompiledFunction) else Functions(of, found)


class Worker:
    """What an actor keeps: a robot's functions, or a user's, compiled at the first block."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def run(self, task: Task, args: Sequence[Array]) -> tuple[Array, ...]:
        """The answers of a block."""
        return run(self._target, task, args)


class Actors:
    """Actors of Ray, and blocks in turns for them."""

    def __init__(self, ray: Any, target: Target, actors: int, block: int, in_flight: int, retries: int) -> None:
        self._ray, self._target, self._block, self._ahead = ray, target, block, actors * in_flight
        remote: Any = ray.remote(Worker).options(max_restarts=retries, max_task_retries=retries, num_cpus=1)
        # the pickle itself: an actor that is started again may find no stored object
        self.handles = [remote.remote(target) for _ in range(actors)]

    def takes(self, value: object) -> bool:
        """No array is lazy here."""
        return False

    def stream(self, task: Task, chunks: Iterable[Sequence[Array]]) -> Iterator[tuple[Array, ...]]:
        """Answers of each chunk of inputs, in order."""
        pending: deque[Any] = deque()
        for args, actor in zip(chunks, cycle(self.handles)):
            pending.append(actor.run.remote(task, tuple(args)))
            if len(pending) == self._ahead:
                yield self._ray.get(pending.popleft())
        while pending:
            yield self._ray.get(pending.popleft())

    def answers(self, call: Call) -> Sequence[Array]:
        """All answers, put together from blocks."""
        lengths = {x.name: len(x.value) for x in call.inputs if not x.is_shared}
        if not lengths:
            return next(self.stream(call.task, [[x.value for x in call.inputs]]))
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{name} {n}" for name, n in lengths.items())
            raise ShapeError(f"{call.method}: expected one number of states: {said}; one for all has no such dimension")
        states, dtype = next(iter(lengths.values())), engine_of(self._target).dtype
        shapes = [dims if is_sum else (states, *dims) for dims, is_sum in zip(call.outputs, call.sums, strict=True)]
        answers = [np.zeros(shape, dtype) for shape in shapes]
        cuts = range(0, states, self._block)
        parts = ([x.value if x.is_shared else x.value[k : k + self._block] for x in call.inputs] for k in cuts)
        for begin, found in zip(cuts, self.stream(call.task, parts), strict=True):
            for whole, part, is_sum in zip(answers, found, call.sums, strict=True):
                if is_sum:
                    whole += part
                else:
                    whole[begin : begin + len(part)] = part
        return answers


class Functions(blocks.Functions):
    """The methods of `Dynamics`, on actors."""

    def __init__(self, dyn: Dynamics, actors: Actors) -> None:
        super().__init__(dyn, actors)
        self._actors = actors

    def map(self, name: str | specification.Function, chunks: Iterable[Sequence[Array]]) -> Iterator[tuple[Array, ...]]:
        """Answers of a function, by its short name, of each chunk of inputs, in order.

        No more chunks are taken ahead of the answers than actors have in flight. Derivatives too: "vjp_fd".
        """
        return self._actors.stream(Task("", function_of(name)), chunks)


class Function(blocks.Function):
    """A user's function, on actors."""

    def __init__(self, compiled: CompiledFunction, actors: Actors) -> None:
        super().__init__(compiled, actors)
        self._actors = actors

    def map(self, chunks: Iterable[Sequence[Array]]) -> Iterator[tuple[Array, ...]]:
        """Answers of each chunk of inputs, in order; no more are taken ahead than actors have in flight."""
        return self._actors.stream(Task("", None), chunks)


class Map:
    """A class for `Dataset.map_batches(Map, fn_constructor_args=(dyn, "id"), ...)`: answers are new columns.

    of: a `Dynamics` and the function's short name, or a user's function alone. columns: the column of each input, by
    default of its name. batch_format="numpy" is needed. An actor compiles once.
    """

    def __init__(self, of: Target, name: str = "", columns: Mapping[str, str] | None = None) -> None:
        check_target("Map", of)
        own = isinstance(of, CompiledFunction)
        if own and name:
            raise UnsupportedError(f"Map: name={name!r}: a function of your own needs none, leave it out")
        function, given = of.specification if own else function_of(name), dict(columns or {})
        inputs = [port.name for port in function.inputs]
        if not given.keys() <= set(inputs):
            raise UnsupportedError(f"Map: columns {sorted(given)}, inputs of {name} are {', '.join(inputs)}")
        self._target, self._task = of, Task("", None if own else function)
        self._columns = [given.get(port, port) for port in inputs]
        self._outputs = [port.name for port in function.outputs]

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(batch, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DTypeError(f"Map: the batch is {type(batch).__name__}, expected columns: give batch_format='numpy'")
        lacking = [column for column in self._columns if column not in batch]
        if lacking:
            raise ShapeError(f"Map: no column {', '.join(lacking)}; there are {', '.join(batch)}; give columns=")
        found = run(self._target, self._task, [batch[column] for column in self._columns])
        return {**batch, **dict(zip(self._outputs, found, strict=True))}
