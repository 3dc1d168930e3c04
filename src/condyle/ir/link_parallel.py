"""Functions parallel in the links: lanes that hold one link each, or a segment of a chain or of a tree's branches.

A function is a list of operations: straight-line stages that run in every lane, and exchanges between lanes. All are on
per-lane variables (`var`: the name of one). `Pairs` are matrices whose entries are computed from pairs of records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from condyle.ir.program import Program

TABLE, IO, ROW, EXT, UNIT = "table", "io", "row", "f_ext", "unit"
PER_JOINT = (TABLE, IO, ROW, EXT)
NONE = -1
"""No column, no entry, no partner, any kind."""


@dataclass(frozen=True)
class Splat:
    """var = entries of an input, from `first` on, the same in every lane."""

    port: int
    var: str
    first: int = 0


@dataclass(frozen=True)
class Emit:
    """An output, from entry `first` on, = the first lane's value of the variable."""

    port: int
    var: str
    first: int = 0


@dataclass(frozen=True)
class EachJoint:
    """Runs the stage for every joint of a lane's segment, first to last, or last to first if `backward`.

    kind: only in lanes of this kind.
    """

    stage: Program
    backward: bool
    kind: int = NONE


@dataclass(frozen=True)
class Once:
    """Runs the stage once in every lane."""

    stage: Program


@dataclass(frozen=True)
class Scan:
    """A prefix scan of a variable over the lanes of a chain. stage: combines "base" and "tip" into `var`. from_tip:
    lane l gets x_l x_(l+1) ...; otherwise x_0 ... x_l. halves: products of at most half of the lanes.
    """

    stage: Program
    var: str
    from_tip: bool
    halves: bool = False


@dataclass(frozen=True)
class TreeScanStep:
    """Steps of a scan over a tree, one for each row of `partners[rows]`: var = stage(var, `source` of the partner).

    A row has a partner for each lane; lanes without one keep their value. All lanes read before any lane writes. stage:
    as in Scan; the partner is "tip" if `from_tip`, else "base". A partner that is the first of a branch is written as
    -2 - lane; of its value the entries before `handed` are replaced by the identity's.
    """

    stage: Program
    var: str
    source: str
    rows: str
    from_tip: bool
    handed: int = 0


@dataclass(frozen=True)
class Neighbour:
    """`into` = the value of `var`, from entry `first` on, in the lane with a number `by` higher; the identity where
    there is none. by = 0: a copy.
    """

    var: str
    into: str
    first: int
    by: int


@dataclass(frozen=True)
class Spread:
    """var = the first lane's value, in every lane."""

    var: str


@dataclass(frozen=True)
class Start:
    """var = these numbers, in every lane."""

    var: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Sines:
    """Sets columns `sine` and `cosine` of variable io to those of column `angle`."""

    angle: int
    sine: int
    cosine: int


Op: TypeAlias = Splat | Emit | EachJoint | Once | Scan | TreeScanStep | Neighbour | Spread | Start | Sines


@dataclass(frozen=True)
class MatrixPorts:
    """Ports that are square matrices: all outputs, and all inputs but the first. A state has several tasks; each works
    on `count` columns of `size`.

    Entry e of a lane's variable is in column e % count of the task, in row e // count of the lane. symmetric: the
    output is symmetric, so entries of the lower triangle are written to the upper one too, and variable "unit" has the
    columns of the unit matrix.
    """

    count: int
    size: int
    symmetric: bool

    @property
    def tasks(self) -> int:
        return -(-self.size // self.count)


@dataclass(frozen=True)
class LinkParallel:
    """One function of one robot, in `lanes` lanes of `length` joints each.

    joints: number of joints, without that of a floating base. inputs, outputs: names of ports and their columns of
    variable io; NONE for a port that is a variable of that name. widths: entries of each variable. identities: the
    identity element of each variable that is scanned. table: one row of constants for each joint of each lane, padding
    joints included. offsets: for a port that is a variable, the first entry of each lane in the port, NONE for zeros.
    kinds: the kind of each lane's joint. partners: rows of lanes, for `TreeScanStep`. base: number of first entries of
    a port that belong to the floating base. columns: the ports that are matrices. spans: the first joint of each lane
    and its number of joints. totals: entries of outputs that are variables.
    """

    name: str
    joints: int
    lanes: int
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
        """The joints of all lanes as runs: (first joint, number of joints, number of padding joints after them)."""
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
    """One function of records of `width` numbers, one record for each row and column of its matrices.

    lower, upper: variables "row" and "column" -> one number "0", "1", ... for each matrix. lower gives the entries
    whose row is in the span of the column, upper those whose column is in the span of the row; others are zero. spans:
    for each row (its own number, the last number that it carries). diagonal: the entry of records that is added on the
    diagonal of the only, symmetric matrix; -1 for none.
    """

    name: str
    lower: Program
    upper: Program
    width: int
    matrices: int
    spans: tuple[tuple[int, int], ...]
    diagonal: int = -1
