"""In which form a function runs on a GPU: how many lanes work on a state, and how much stands in one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from condyle.errors import UnsupportedError
from condyle.specification import Call, Composition, Function, MinusProduct

LANES = (2, 4, 8, 16, 32)
WEIGHED = (8, 16, 32)
"""Lanes of a group whose times are estimated; fewer only if named."""

SPLIT, FUSED, WHOLE = "split", "fused", "completely-fused"

Partitions: TypeAlias = Mapping[str, Composition]
"""The steps that a function can be launched as, by the words of Plancher 2021, section IV.

split: the composition without calls of compositions. fused: the composition as it is written, where that differs.
completely-fused: one call of the function itself, which is all that a function without a composition has.
"""


@dataclass(frozen=True, slots=True)
class Form:
    """lanes: 1 is a thread a state."""

    lanes: int = 1
    partition: str = WHOLE

    def __str__(self) -> str:
        lanes = "thread" if self.lanes == 1 else f"group{self.lanes}"
        return lanes if self.partition == WHOLE else f"{lanes} {self.partition}"


LINK_PARALLEL = Form(0)
"""Lanes are links, or segments of a chain of links: see the folder `links`."""


class Request(NamedTuple):
    """The form that was asked for by name: lanes to choose from, and the partition or ""."""

    lanes: tuple[int, ...] = (1, *WEIGHED)
    partition: str = ""


def partitions(function: Function, expanded: Composition) -> Partitions:
    """expanded: the composition without calls of compositions.

    A product needs its right side for itself: it is multiplied where it lies.
    """
    whole = {WHOLE: (Call(function.name, tuple(port.name for port in function.named_outputs)),)}
    rights = [step.right for step in expanded if isinstance(step, MinusProduct)]
    called = {name for step in expanded if isinstance(step, Call) for name in step.gives}
    own = called - {port.name for port in function.outputs}
    if not expanded or len(set(rights)) < len(rights) or not set(rights) <= own:
        return whole
    fused = {} if function.composition == expanded else {FUSED: function.composition}
    return {SPLIT: expanded, **fused, **whole}


def stages(steps: Composition) -> list[Call | list[MinusProduct]]:
    """One launch each: products in a row that have one left side are one."""
    found: list[Call | list[MinusProduct]] = []
    for step in steps:
        last = found[-1] if found else None
        if isinstance(step, Call):
            found.append(step)
        elif isinstance(last, list) and last[0].left == step.left:
            last.append(step)
        else:
            found.append([step])
    return found


def requested(function: str, words: str, partitions: Partitions) -> Request:
    """From words such as "thread", "group", "group16", "split" and "group32 fused"; "" and "auto" ask for nothing."""
    ways = {"group": WEIGHED, "thread": (1,), **{f"group{number}": (number,) for number in LANES}}
    named = tuple(partitions) if len(partitions) > 1 else ()
    made = Request()
    for word in words.split():
        if word in ways and made.lanes == Request().lanes:
            made = made._replace(lanes=ways[word])
        elif word in named and not made.partition:
            made = made._replace(partition=word)
        elif word != "auto":
            raise UnsupportedError(
                f"kernels: {word!r} does not say how {function!r} runs on a GPU; it can be one of "
                + ", ".join(["auto", *ways, *named])
                + (", or one way to deal out lanes and one partitioning, as 'group32 split'" if named else "")
            )
    return made
