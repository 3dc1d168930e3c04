"""Rollouts as exports have them: how many steps, and which are kept, are arguments.

`"rollout"` is `step` with tau by time. Others are named without numbers: "rollout_by_u_sum_cost_of_arm".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, found
from condyle.functions.rollouts import name_of, parsed
from condyle.specification import F_EXT, NEXT, Function, Port, Repeat

SHORT = "rollout"


class OpenRollout(NamedTuple):
    """A rollout of any number of steps. repeat: that of one step."""

    repeat: Repeat

    @property
    def name(self) -> str:
        """What it is called in an export."""
        of = self.repeat.of
        return SHORT + of.removeprefix("step") if f"{of}_".startswith("step_") else f"{SHORT}_{of}"

    @property
    def function(self) -> Function:
        """For documents alone: shapes are those of one step."""
        base = FUNCTIONS[self.repeat.of]
        return replace(
            base,
            name=self.name,
            method=self.name,
            equation=f"{base.method.replace('_', ' ')}, `steps` times one after the other",
            inputs=tuple(self._taken(port) for port in base.inputs),
            outputs=tuple(self._given(port) for port in base.outputs),
            takes_f_ext=False,
            repeat=self.repeat,
        )

    def _taken(self, port: Port) -> Port:
        if port.name in self.repeat.carried:
            return replace(port, doc=f"{port.doc}, before the first step")
        return replace(port, doc=f"{port.doc}, {'for' if port.name in self.repeat.by_time else 'at'} every step")

    def _given(self, port: Port) -> Port:
        name = NEXT.format(port.name) if port.name in self.repeat.carried else port.name
        which = "summed over all steps" if port.name in self.repeat.summed else "of the steps that are kept"
        return replace(port, name=name, doc=f"{port.doc}, {which}")

    def named(self, steps: int, every: int) -> str:
        """The rollout of so many steps, by its name."""
        of, _, _, by_time, _, summed, _ = self.repeat
        return name_of(of, steps, by_time, every or 1, not every, summed)


def opened(name: object) -> Repeat | None:
    """The rollout that a name without numbers is of; None for any other name."""
    if not isinstance(name, str) or not name.startswith(SHORT):
        return None
    words = "_by_tau_of_step" if name == SHORT else name.removeprefix(SHORT)
    repeat = parsed(f"{SHORT}_1{words}")
    return repeat if repeat is not None and repeat.every == 1 else None


def known_as(name: str) -> Function | None:
    """The function of this name, or the one that a rollout of any number of steps is of."""
    repeat = opened(name)
    return found(name if repeat is None else repeat.of)


def open_name(of: str, by_time: Iterable[str], summed: Iterable[str]) -> str:
    """The name that is read back; UnsupportedError for what it cannot be."""
    return name_of(of, 1, by_time, summed=summed).replace(f"{SHORT}_1", SHORT, 1)


def named_by(own: str, options: Mapping[str, Sequence[str]]) -> str:
    """What an export calls a rollout of this function."""
    if not set(options) <= {"by_time", "sum"}:
        raise UnsupportedError(f"rollout={dict(options)!r}: allowed are 'by_time' and 'sum', each a list of names")
    return open_name(own, options.get("by_time", ()), options.get("sum", ()))


def open_rollouts(names: Iterable[str]) -> list[OpenRollout]:
    """Those that names are of, and behind each the same with external forces, held, where it takes such.

    UnsupportedError where two of them had one name in an export.
    """
    found: dict[str, OpenRollout] = {}
    for repeat in filter(None, map(opened, names)):
        forced = [repeat._replace(of=f"{repeat.of}_{F_EXT.name}")] if FUNCTIONS[repeat.of].takes_f_ext else []
        for one in map(OpenRollout, (repeat, *forced)):
            if found.setdefault(one.name, one) != one:
                raise UnsupportedError(f"functions: there are two rollouts of {one.repeat.of!r}; export one of them")
    return list(found.values())
