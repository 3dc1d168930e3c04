"""Rollouts as exports have them: how many steps, and which are kept, are arguments.

`"rollout"` is `step` with tau by time. Others are named without numbers: "rollout_by_u_sum_cost_of_arm".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from condyle.errors import UnsupportedError
from condyle.functions import function_or_none
from condyle.functions.repeat import repeat as repeated
from condyle.specification import F_EXT, NEXT, Function, Port, Repeat

SHORT = "rollout"


class OpenRollout(NamedTuple):
    """A rollout of any number of steps. repeat: that of one step."""

    repeat: Repeat

    @property
    def name(self) -> str:
        """What it is called in an export."""
        of = self.repeat.function.name
        return SHORT + of.removeprefix("step") if f"{of}_".startswith("step_") else f"{SHORT}_{of}"

    @property
    def function(self) -> Function:
        """For documents alone: shapes are those of one step."""
        base = self.repeat.function
        return replace(
            base,
            name=self.name,
            method=self.name,
            equation=f"{base.method.replace('_', ' ')}, `steps` times one after the other",
            inputs=tuple(self._input(port) for port in base.inputs),
            outputs=tuple(self._output(port) for port in base.outputs),
            takes=(),
            origin=self.repeat,
        )

    def _input(self, port: Port) -> Port:
        if port.name in self.repeat.carried:
            return replace(port, doc=f"{port.doc}, before the first step")
        return replace(port, doc=f"{port.doc}, {'for' if port.name in self.repeat.by_time else 'at'} every step")

    def _output(self, port: Port) -> Port:
        name = NEXT.format(port.name) if port.name in self.repeat.carried else port.name
        which = "summed over all steps" if port.name in self.repeat.summed else "of the steps that are kept"
        return replace(port, name=name, doc=f"{port.doc}, {which}")

    def repeated(self, steps: int, every: int) -> Function:
        """The rollout of so many steps; every: 0 for the last one alone."""
        of = self.repeat
        return repeated(of.function, steps, of.by_time, every or 1, not every, of.summed)


def open_rollout(function: Function, by_time: Iterable[str] = (), summed: Iterable[str] = ()) -> OpenRollout:
    """A rollout of this function; UnsupportedError for what it cannot be."""
    repeat = repeated(function, 1, by_time, summed=summed).repeat
    assert repeat is not None
    return OpenRollout(repeat)


def opened(name: object) -> OpenRollout | None:
    """The rollout that a name without numbers is of; None for any other name. What is one already stays."""
    if isinstance(name, OpenRollout):
        return name
    if not isinstance(name, str) or not name.startswith(SHORT):
        return None
    words = "_by_tau_of_step" if name == SHORT else name.removeprefix(SHORT)
    function = function_or_none(f"{SHORT}_1{words}")
    repeat = None if function is None else function.repeat
    return OpenRollout(repeat) if repeat is not None and not repeat.backwards and repeat.every == 1 else None


def rollout_by(function: Function, options: Mapping[str, Sequence[str]]) -> OpenRollout:
    """The rollout of a function that these options say."""
    if not set(options) <= {"by_time", "sum"}:
        raise UnsupportedError(f"rollout={dict(options)!r}: allowed are 'by_time' and 'sum', each a list of names")
    return open_rollout(function, options.get("by_time", ()), options.get("sum", ()))


def open_rollouts(rollouts: Iterable[OpenRollout]) -> list[OpenRollout]:
    """These, and behind each the same with external forces, held, where it takes such.

    UnsupportedError where two of them had one name in an export.
    """
    by_name: dict[str, OpenRollout] = {}
    for rollout in rollouts:
        function, forced = rollout.repeat.function, list[OpenRollout]()
        if function.takes_f_ext:
            forced.append(OpenRollout(rollout.repeat._replace(function=function.taking(F_EXT))))
        for each in (rollout, *forced):
            if by_name.setdefault(each.name, each) != each:
                raise UnsupportedError(
                    f"functions: there are two rollouts of {each.repeat.function.name!r}; export one of them"
                )
    return list(by_name.values())
