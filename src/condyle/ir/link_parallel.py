"""Functions parallel in the links: a chain of joints, or a tree's branches, in segments that lanes run side by side.

Straight-line stages and what runs them; and matrices of pairs of records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from condyle.ir.program import Program

TABLE, IO, ROW, EXT, UNIT = "table", "io", "row", "f_ext", "unit"
PER_JOINT = (TABLE, IO, ROW, EXT)
NONE = -1
"""No column, no entry, no partner, no kind in particular."""


@dataclass(frozen=True)
class Splat:
    """The bank gets entries of an input, from `first` on, the same in every lane."""

    port: int
    bank: str
    first: int = 0


@dataclass(frozen=True)
class Emit:
    """The first lane's value of the bank to an output, from entry `first` on."""

    port: int
    bank: str
    first: int = 0


@dataclass(frozen=True)
class EachJoint:
    """The stage once for every joint of a chunk, first to last, or last to first if `backward`.

    kind: only in lanes of this kind.
    """

    stage: Program
    backward: bool
    kind: int = NONE


@dataclass(frozen=True)
class Once:
    """The stage once, on values of lanes."""

    stage: Program


@dataclass(frozen=True)
class Scan:
    """Products over the lanes. stage: banks "base" and "tip" -> `bank`. from_tip: lane l gets x_l x_l+1 ..., not ...
    x_l. halves: of no more than half as many lanes as there are.
    """

    stage: Program
    bank: str
    from_tip: bool
    halves: bool = False


@dataclass(frozen=True)
class Meet:
    """`bank` = the stage's answer to it and to `source` of a partner, for each row of `partners[rows]`, one after the
    other; lanes without a partner keep theirs.

    All lanes meet at once: what a partner hands over is from before the row. stage: as of Scan, the partner "tip" if
    `from_tip`, else "base". A partner that is a branch is named -2 - lane; its entries before `handed` are the
    identity's.
    """

    stage: Program
    bank: str
    source: str
    rows: str
    from_tip: bool
    handed: int = 0


@dataclass(frozen=True)
class Neighbour:
    """`into` = the value `bank` of the lane `by` further, from entry `first` on; identity where there is none. by 0: a
    copy.
    """

    bank: str
    into: str
    first: int
    by: int


@dataclass(frozen=True)
class Spread:
    """Every lane gets the first lane's value of the bank."""

    bank: str


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


Op: TypeAlias = Splat | Emit | EachJoint | Once | Scan | Meet | Neighbour | Spread | Start | Sines


@dataclass(frozen=True)
class MatrixPorts:
    """Ports that are square matrices, of which each task of a state works on `count` columns of `size`.

    All outputs are such, and all inputs but the first. Entry e of a lane's bank is column e % count of its row
    e // count. symmetric: the answer is, so its lower triangle is written twice; bank "unit" has columns of 1.
    """

    count: int
    size: int
    symmetric: bool

    @property
    def tasks(self) -> int:
        return -(-self.size // self.count)


@dataclass(frozen=True)
class LinkParallel:
    """One function of one chain. joints: of the chain, without its floating base. widths: of every bank.

    inputs, outputs: names of ports and their columns of io, NONE for a bank of that name. identities: what composes to
    nothing, for each bank that is scanned. table: a row a joint, those that fill up the last chunk included. offsets:
    for a port that is a bank, where in the port each lane's entries begin, NONE for zeros. kinds: of the lanes.
    partners: rows of lanes, for `Meet`. base: entries of a port that are not the joints' but the floating base's, which
    come first. columns: of ports that are matrices. spans: the first joint of each lane and how many it has, where
    these follow one another. totals: entries of outputs that are banks.
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
    offsets: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    kinds: tuple[int, ...] = ()
    partners: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict[str, tuple[tuple[int, ...], ...]])
    base: Mapping[str, int] = field(default_factory=dict[str, int])
    columns: MatrixPorts | None = None
    spans: tuple[tuple[int, int], ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict[str, int])

    def size(self, port: str, column: int) -> int:
        """Entries of a port."""
        return self.base.get(port, 0) + self.joints * self.width(column)

    def width(self, column: int) -> int:
        """Entries of a port for one joint."""
        return self.widths[EXT] if column == NONE else 1

    def runs(self) -> list[tuple[int, int, int]]:
        """What lanes hold, one run after the other: the first joint, how many, and how many that are not there."""
        runs: list[tuple[int, int, int]] = []
        for first, count in self.spans:
            absent = self.length - count
            before, joints, gap = runs[-1] if runs else (0, 0, 0)
            if runs and count == 0:
                runs[-1] = before, joints, gap + absent
            elif runs and gap == 0 and before + joints == first:
                runs[-1] = before, joints + count, absent
            else:
                runs.append((first, count, absent))
        return runs


@dataclass(frozen=True)
class Pairs:
    """One function of records of `width` numbers, one for each row and column.

    lower, upper: banks "row" and "column" -> one number "0", "1", ... for each matrix; lower where the row is within
    the column's span, else upper where the column is within the row's; other entries are zero. spans: the first and the
    last number that belongs to a row, of which the first is its own. diagonal: an entry of records that the only
    matrix, which is symmetric then, has more on its diagonal, -1 for none.
    """

    name: str
    lower: Program
    upper: Program
    width: int
    matrices: int
    spans: tuple[tuple[int, int], ...]
    diagonal: int = -1
