"""The form of a function on a GPU: the number of lanes for each state, and the partitioning into kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from condyle.errors import UnsupportedError
from condyle.specification import Call, Composition, Function, MinusProduct

LANES = (2, 4, 8, 16, 32)
WEIGHED = (8, 16, 32)
"""Numbers of lanes whose times are estimated; smaller ones are used only if they are named."""

SPLIT, FUSED, WHOLE = "split", "fused", "completely-fused"

Partitions: TypeAlias = Mapping[str, Composition]
"""{partitioning: steps}, with the words of Plancher 2021, section V-C. A step is a launch.

split: the composition without calls of compositions. fused: the composition as it is written, where that differs.
completely-fused: one call of the function itself, the only one for a function without a composition.
"""


@dataclass(frozen=True, slots=True)
class Form:
    """lanes: lanes for each state; 1 is a thread for each state."""

    lanes: int = 1
    partition: str = WHOLE

    def __str__(self) -> str:
        lanes = "thread" if self.lanes == 1 else f"group{self.lanes}"
        return lanes if self.partition == WHOLE else f"{lanes} {self.partition}"


LINK_PARALLEL = Form(0)
"""Lanes are links, or segments of a chain of links: see the folder `links`."""


class Request(NamedTuple):
    """A requested form: the numbers of lanes to choose from, and the partitioning or ""."""

    lanes: tuple[int, ...] = (1, *WEIGHED)
    partition: str = ""


def partitions(function: Function, expanded: Composition) -> Partitions:
    """expanded: the composition without calls of compositions.

    A product overwrites its right operand, so that must be used by one product only, and must not be an output.
    """
    whole = {WHOLE: (Call(function, tuple(port.name for port in function.named_outputs)),)}
    rights = [step.right for step in expanded if isinstance(step, MinusProduct)]
    called = {name for step in expanded if isinstance(step, Call) for name in step.gives}
    own = called - {port.name for port in function.outputs}
    if not expanded or len(set(rights)) < len(rights) or not set(rights) <= own:
        return whole
    fused = {} if function.composition == expanded else {FUSED: function.composition}
    return {SPLIT: expanded, **fused, **whole}


def stages(steps: Composition) -> list[Call | list[MinusProduct]]:
    """The launches: consecutive products with the same left operand are one launch."""
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


def requested(function: Function, words: str, partitions: Partitions) -> Request:
    """The request of words such as "thread", "group", "group16", "split" and "group32 fused"; "" and "auto" request
    nothing."""
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
                f"kernels: {word!r} does not say how {function.name!r} runs on a GPU; it can be one of "
                + ", ".join(["auto", *ways, *named])
                + (", or one way to deal out lanes and one partitioning, as 'group32 split'" if named else "")
            )
    return made
