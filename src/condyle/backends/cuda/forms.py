"""In which form a function runs on a GPU: how many lanes work on a state, and how much stands in one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from condyle.backends.cuda.target import Target
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS

LANES = (2, 4, 8, 16, 32)
SPLIT, FUSED, WHOLE = "split", "fused", "completely-fused"
PARTITIONS: dict[str, tuple[str, ...]] = {"dfd": (SPLIT, FUSED, WHOLE), "difd": (SPLIT, WHOLE)}
"""Plancher 2021, section IV: which functions can be several launches, and how.

split: Minv and the acceleration, the derivatives of inverse dynamics, and the product, each by a kernel of its own.
fused: all that follows Minv and the acceleration is one kernel. completely-fused: everything is one kernel.
"""


@dataclass(frozen=True, slots=True)
class Form:
    """lanes: 1 is a thread a state."""

    lanes: int = 1
    partition: str = WHOLE

    def __str__(self) -> str:
        lanes = "thread" if self.lanes == 1 else f"group{self.lanes}"
        return lanes if self.partition == WHOLE else f"{lanes} {self.partition}"


LINKED = Form(0)
"""Lanes are links, or chunks of a chain of links: see the folder `links`."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for by name; 0 lanes or "": not said. group: any number of lanes but one."""

    lanes: int = 0
    group: bool = False
    partition: str = ""


def usual(function: str, operations: int, target: Target) -> str:
    """How a thread a state is partitioned if nothing is said: not at all, unless one kernel would be too long."""
    return SPLIT if function in PARTITIONS and operations > target.longest else WHOLE


def wish(function: str, words: str) -> Wish:
    """From words such as "thread", "group", "group16", "split" and "group32 fused"; "" and "auto" ask for nothing."""
    lanes = {"thread": 1, **{f"group{number}": number for number in LANES}}
    partitions = PARTITIONS.get(function, ())
    made = Wish()
    for word in words.split():
        if word in lanes and not (made.lanes or made.group):
            made = Wish(lanes[word], False, made.partition)
        elif word == "group" and not (made.lanes or made.group):
            made = Wish(0, True, made.partition)
        elif word in partitions and not made.partition:
            made = Wish(made.lanes, made.group, word)
        elif word != "auto":
            allowed = ", ".join(["auto", "group", *lanes, *partitions])
            raise UnsupportedError(
                f"kernels: {words!r} does not say how {function!r} runs on a GPU; it can be one of {allowed}"
                + (", or one way to deal out lanes and one partitioning, as 'group32 split'" if partitions else "")
            )
    return made


def asked_for(kernels: str | Mapping[str, str]) -> dict[str, str]:
    """The words for each function, one for all or some by name; UnsupportedError for words that say nothing."""
    if not isinstance(kernels, (str, Mapping)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"kernels={kernels!r}: give words such as 'group32', or {{'dfd': 'group32 split'}}")
    words = dict.fromkeys(FUNCTIONS, kernels) if isinstance(kernels, str) else dict(kernels)
    for function, asked in words.items():
        if function not in FUNCTIONS:
            raise UnsupportedError(f"kernels: there is no function {function!r}; there are {', '.join(FUNCTIONS)}")
        if not isinstance(asked, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"kernels: {function!r} is {asked!r}, expected words such as 'group32 split'")
        wish(function, asked)
    return words
