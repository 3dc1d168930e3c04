"""The names of functions: printed from what a function is made of, and read back. Nothing else does either.

A name is a short name ("fd"), or
    FUNCTION_PORTS                          more inputs: "fd_f_ext_inertias"
    jvp_FUNCTION, vjp_FUNCTION, hessian_FUNCTION, jacobian_FUNCTION, jacobian_FUNCTION_by_PORTS
    rollout_STEPS[_by_PORTS][_sum_PORTS][_every_N or _last]_of_FUNCTION
    iterate_STEPS_until_PORT[_together][_by_PORTS][_sum_PORTS]_of_FUNCTION
People may write the name of a function's method in place of a short name: "vjp_forward_dynamics".
Only names that people wrote are read. What is read is printed again and compared, so that a name never means another
function than the one that it is printed from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from condyle.errors import UnsupportedError
from condyle.specification.ports import EXTRA, Port

DERIVATIVE_KINDS = ("jvp", "vjp", "jacobian", "hessian")
"""Of derivatives."""
LONGEST = 500
"""Letters of a name that is read."""
_BY, _SUM, _OF = "_by_", "_sum_", "_of_"
_UNTIL, _TOGETHER = "_until_", "_together"
_ROLLOUT = re.compile(r"rollout_([1-9][0-9]{0,7})((?:_.*)?)", re.ASCII)
_ITERATE = re.compile(r"iterate_([1-9][0-9]{0,7})_until_(.*)", re.ASCII)
_KEPT = re.compile(r"(.*?)(?:_every_([1-9][0-9]{0,7})|(_last))", re.ASCII)


def taking(function: str, ports: Sequence[str]) -> str:
    """A function with more inputs."""
    return "_".join((function, *ports))


def derivative(kind: str, function: str, by: Sequence[str] = ()) -> str:
    """A derivative; by: the inputs that are named, none where it is by all."""
    return f"{kind}_{function}" + _listed(_BY, by)


def rollout(function: str, steps: int, by_time: Sequence[str], summed: Sequence[str], every: int) -> str:
    """A rollout; every: 0 for the last step alone."""
    kept = "_last" if not every else f"_every_{every}" if every > 1 else ""
    return f"rollout_{steps}{_listed(_BY, by_time)}{_listed(_SUM, summed)}{kept}{_OF}{function}"


def iterate(function: str, most: int, until: str, together: bool, by_time: Sequence[str], summed: Sequence[str]) -> str:
    """A function repeated until it answers that it is done."""
    ends = f"{_UNTIL}{until}{_TOGETHER if together else ''}"
    return f"iterate_{most}{ends}{_listed(_BY, by_time)}{_listed(_SUM, summed)}{_OF}{function}"


def ends_in_ports(function: str) -> bool:
    """Whether a name ends as that of a derivative by some inputs does, so that one made of it says all of its own."""
    return _BY in function


def _listed(word: str, ports: Sequence[str]) -> str:
    return word + "_".join(ports) if ports else ""


class Named(Protocol):
    """What is named: `condyle.specification.Function`."""

    @property
    def name(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def inputs(self) -> tuple[Port, ...]: ...
    @property
    def outputs(self) -> tuple[Port, ...]: ...
    def taking(self, *ports: str) -> Any: ...


F = TypeVar("F", bound=Named)


class Reader(Generic[F]):
    """Reads one name.

    functions: by short name. derivative(kind, function, by), repeat(function, steps, by_time=, every=, last=, summed=),
    iterate(function, most, until, together, by_time=, summed=): make functions; their UnsupportedError says that there
    is none.
    """

    def __init__(
        self,
        functions: Mapping[str, F],
        derivative: Callable[[str, Any, tuple[str, ...] | None], F],
        repeat: Callable[..., F],
        iterate: Callable[..., F],
    ) -> None:
        self._functions, self._derivative, self._repeat, self._iterate = functions, derivative, repeat, iterate
        self._read: dict[str, F | None] = {}

    def read(self, name: str) -> F | None:
        """The function of a name; None for what names none."""
        if len(name) > LONGEST:
            return None
        function = self._printed(name)
        return function if function is not None else self._by_method(name)

    def _by_method(self, name: str) -> F | None:
        """The same where the name has that of a method in place of a short one: the longest that it has."""
        methods = {function.method: short for short, function in self._functions.items()}
        for method, short in sorted(methods.items(), key=lambda pair: -len(pair[0])):
            for start in _starts(name, method):
                function = self._printed(name[:start] + short + name[start + len(method) :])
                if function is not None:
                    return function
        return None

    def _printed(self, name: str) -> F | None:
        """The function that is printed so; every part of a name is read once."""
        if name in self._functions:
            return self._functions[name]
        if name not in self._read:
            self._read[name] = None
            readings = [function for said, function in self._readings(name) if said == name]
            exact = (function for function in readings if function.name == name)
            self._read[name] = next(exact, readings[0] if readings else None)
        return self._read[name]

    def _readings(self, name: str) -> Iterator[tuple[str, F]]:
        """Every way to read a name that is no short one, and how it is said; all inputs of a Jacobian may be named."""
        kind, _, rest = name.partition("_")
        if kind in DERIVATIVE_KINDS and rest:
            yield from self._derivatives(kind, rest)
        for function in (*self._takings(name), *self._rollouts(name), *self._iterations(name)):
            yield function.name, function

    def _derivatives(self, kind: str, rest: str) -> Iterator[tuple[str, F]]:
        function = self._printed(rest)
        if function is not None:
            yield from ((derived.name, derived) for derived in self._tried(self._derivative, kind, function, None))
        for start in _starts(rest, _BY) if kind == "jacobian" else ():
            function = self._printed(rest[:start])
            every = [port.name for port in function.inputs] if function else []
            for by in _lists(rest[start + len(_BY) :], every) if function else ():
                for derived in self._tried(self._derivative, kind, function, by):
                    yield f"{kind}_{rest}", derived

    def _takings(self, name: str) -> Iterator[F]:
        for start in _starts(name, "_"):
            for ports in _lists(name[start + 1 :], tuple(EXTRA)):
                function = self._printed(name[:start])
                if function is not None:
                    yield function.taking(*ports)

    def _rollouts(self, name: str) -> Iterator[F]:
        head = _ROLLOUT.fullmatch(name)
        if head is None:
            return
        for start in _starts(head[2], _OF):
            function = self._printed(head[2][start + len(_OF) :])
            if function is not None:
                for options in _options(head[2][:start], function):
                    yield from self._tried(self._repeat, function, int(head[1]), **options)

    def _iterations(self, name: str) -> Iterator[F]:
        head = _ITERATE.fullmatch(name)
        if head is None:
            return
        for start in _starts(head[2], _OF):
            function, words = self._printed(head[2][start + len(_OF) :]), head[2][:start]
            for port in function.outputs if function else ():
                for together in ("", _TOGETHER) if words.startswith(port.name) else ():
                    for options in _chosen(words[len(port.name) :].removeprefix(together), function):
                        until = port.name, bool(together)
                        yield from self._tried(self._iterate, function, int(head[1]), *until, **options)

    @staticmethod
    def _tried(make: Callable[..., F], *args: Any, **options: Any) -> Iterator[F]:
        try:
            yield make(*args, **options)
        except UnsupportedError:
            return


def _options(words: str, function: Named) -> Iterator[dict[str, Any]]:
    """Ways to read what stands between the number of steps and the function that is repeated."""
    every = _KEPT.fullmatch(words)
    kept: list[tuple[str, dict[str, Any]]] = [(words, {})]
    if every is not None:
        kept.insert(0, (every[1], {"last": True} if every[3] else {"every": int(every[2])}))
    for left, options in kept:
        for chosen in _chosen(left, function):
            yield {**chosen, **options}


def _chosen(words: str, function: Any) -> Iterator[dict[str, Any]]:
    """Ways to read which inputs have a time axis, and which outputs are summed."""
    inputs, outputs = ([port.name for port in ports] for ports in (function.inputs, function.outputs))
    for start in (*_starts(words, _SUM), len(words)):
        by_words, sum_words = words[:start], words[start + len(_SUM) :]
        if by_words and not by_words.startswith(_BY):
            continue
        for by_time in _lists(by_words[len(_BY) :], inputs) if by_words else ((),):
            for summed in _lists(sum_words, outputs) if sum_words else ((),):
                yield {"by_time": by_time, "summed": summed}


def _starts(text: str, word: str) -> list[int]:
    return [k for k in range(len(text)) if text.startswith(word, k)]


def _lists(words: str, every: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Ways to read words as names of this list, in its order, joined by "_"."""
    for k, name in enumerate(every):
        if words == name:
            yield (name,)
        elif words.startswith(f"{name}_"):
            yield from ((name, *rest) for rest in _lists(words[len(name) + 1 :], every[k + 1 :]))
