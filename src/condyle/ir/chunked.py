"""A chain of joints cut into chunks that a vector's lanes run side by side: straight-line stages and what runs them.

Lane l holds joints l K ... l K + K - 1 of the chain; K is `length`. A stage is a Program whose arrays are banks:
`table` has constants of the joint, `io` columns of K numbers a lane (entry e of joint t stands at e K + t), `row`
numbers of the joint that later stages read; every other bank is one value a lane. A stage that writes a bank it reads
carries it along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from condyle.ir.program import Program

TABLE, IO, ROW = "table", "io", "row"


@dataclass(frozen=True)
class Sweep:
    """The stage once for every joint of a chunk, first to last, or last to first if `backward`."""

    stage: Program
    backward: bool


@dataclass(frozen=True)
class Once:
    """The stage once, on values of lanes."""

    stage: Program


@dataclass(frozen=True)
class Scan:
    """Products over the lanes. stage: banks "base" and "tip" -> `bank`. from_tip: lane l gets x_l x_l+1 ..., not ...
    x_l.
    """

    stage: Program
    bank: str
    from_tip: bool


@dataclass(frozen=True)
class Neighbour:
    """`into` = the value `bank` of the lane after (`by` 1) or before (-1), the first entries' only; identity at the
    end.
    """

    bank: str
    into: str
    first: int
    by: int


@dataclass(frozen=True)
class Start:
    """The bank has these numbers in every lane."""

    bank: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Sines:
    """Columns `sine` and `cosine` of io from column `angle`."""

    angle: int
    sine: int
    cosine: int


Op: TypeAlias = Sweep | Once | Scan | Neighbour | Start | Sines


@dataclass(frozen=True)
class Chunked:
    """One function of one chain. inputs, outputs: names of ports and their columns of io. widths: of every bank.

    identities: what composes to nothing, for each bank that is scanned. table: a row a joint, those that fill up the
    last chunk included.
    """

    name: str
    joints: int
    chunks: int
    length: int
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    widths: Mapping[str, int]
    identities: Mapping[str, tuple[float, ...]]
    table: tuple[tuple[float, ...], ...]
    ops: tuple[Op, ...]
