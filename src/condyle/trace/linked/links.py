"""What all functions share whose lanes are links: kinds of joints, the robot in a table, scans along the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from condyle.algorithms.joint import Inertia, Joint
from condyle.algorithms.rnea import Wrench
from condyle.algorithms.unrolled import joint_placed, placement, wrench_on
from condyle.algorithms.values import flat, numbers, plus, refilled
from condyle.ir import chunked as ir
from condyle.ir.expr import Expr, Graph
from condyle.ir.ops import Node
from condyle.ir.program import input_of
from condyle.model.joints.base import JointType
from condyle.model.tree import Link, Numbers, Tree, carried
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.transform import IDENTITY
from condyle.trace.kinds import blank
from condyle.trace.partners import partners
from condyle.trace.stage import Stage, Table, composed

T = TypeVar("T")
ANGLE, SINE, COSINE = range(3)
MASS, ARMATURE, HANGS, CARRIED, FRAME, WIDTH = 13, 23, 29, 30, 31, 43
MOST = 6
"""Degrees of freedom of one joint."""


class _Turned(Graph):
    """A graph whose sines and cosines are those of the joint's angle, an entry of q: they are read."""

    def __init__(self) -> None:
        super().__init__()
        self.angle = ir.NONE

    def node(self, key: Node) -> Expr:
        if key[0] in ("sin", "cos"):
            _, self.angle = input_of(self.nodes[cast("tuple[str, int]", key)[1]])
            return self.input(0, SINE if key[0] == "sin" else COSINE)
        return super().node(key)


class Links:
    """Operations on the links of a tree, at most `lanes` of them, that move alone; each method adds some."""

    def __init__(self, tree: Tree, lanes: int, f_ext: bool) -> None:
        self.tree, self.lanes, self.f_ext = tree, lanes, f_ext
        links = tree.links
        self.kinds: list[JointType] = list({link.kind.name: link.kind for link in links}.values())
        parents = tree.parents
        self.chain = parents == list(range(-1, len(links) - 1))
        self.partners = {} if self.chain else partners(parents, lanes)
        masses = carried(parents, numbers(tuple(link.numbers.mass for link in links)))
        rows = [_row(link, mass)[: WIDTH if f_ext else FRAME] for link, mass in zip(links, masses, strict=True)]
        absent = [*rows[0][:MASS], *[0.0] * (len(rows[0]) - MASS)]
        self.table = Table(rows + [absent] * (lanes - len(rows)))
        self.ops: list[ir.Op] = []
        self.widths = {ir.TABLE: self.table.width}
        self.identities: dict[str, tuple[float, ...]] = {}

    def chunked(self, name: str, inputs: Sequence[str], outputs: Mapping[str, Sequence[int]]) -> ir.Chunked:
        """All operations as a function with these ports. outputs: where each link's entries begin."""
        places = {port: [_first(link, port) for link in self.tree.links] for port in inputs}
        return self._made(name, inputs, tuple(outputs), {**places, **outputs}, None)

    def columns(
        self, name: str, inputs: Sequence[str], output: str, places: Mapping[str, Sequence[int]], columns: ir.Columns
    ) -> ir.Chunked:
        """The same for columns of matrices. places: where each link's entries begin."""
        return self._made(name, inputs, (output,), places, columns)

    def _made(
        self,
        name: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        places: Mapping[str, Sequence[int]],
        columns: ir.Columns | None,
    ) -> ir.Chunked:
        absent = (ir.NONE,) * (self.lanes - len(self.tree.links))
        names = [kind.name for kind in self.kinds]
        return ir.Chunked(
            name,
            len(self.tree.links),
            self.lanes,
            1,
            tuple((port, ir.NONE) for port in inputs),
            tuple((port, ir.NONE) for port in outputs),
            self.widths,
            self.identities,
            self.table.rows,
            tuple(self.ops),
            {port: (*first, *absent) for port, first in places.items()},
            (*(names.index(link.kind.name) for link in self.tree.links), *absent),
            self.partners,
            columns=columns,
        )

    def of_dofs(self) -> list[int]:
        """Where each link's entries of a joint-space vector begin."""
        return [link.v[0].at for link in self.tree.links]

    def start(self, bank: str, value: object, identity: bool = False) -> None:
        """A bank with these numbers in every lane; identity: it is scanned, and this composes to nothing."""
        self.widths[bank] = len(flat(value))
        self.ops.append(ir.Start(bank, numbers(value)))
        if identity:
            self.identities[bank] = numbers(value)

    def sines(self) -> None:
        """Sine and cosine of every joint's angle."""
        self.start(ir.IO, vec.ZERO)
        for k, kind in enumerate(self.kinds):
            stage = Stage("angle", graph := _Turned())
            stage.read(ir.IO, 3)
            self.joint(stage, kind)
            if graph.angle != ir.NONE:
                found = Stage("angle")
                found.write(ir.IO, (found.read("q", kind.nq)[graph.angle],), ANGLE)
                self.ops.append(ir.Sweep(found.program(), False, k))
        self.ops.append(ir.Sines(ANGLE, SINE, COSINE))

    def joint(self, stage: Stage, kind: JointType) -> Joint:
        row = self.table.read(stage)
        own = _numbers(row)._replace(armature=tuple(row[ARMATURE : ARMATURE + kind.nv]))
        return joint_placed(kind, own, placement(own.rotation), stage.read("q", kind.nq))

    def of_kinds(self, name: str, step: Callable[[Stage, Joint], None]) -> None:
        """A stage for the joints of each kind for which it writes anything."""
        for k, kind in enumerate(self.kinds):
            stage = Stage(name, _Turned())
            stage.read(ir.IO, 3)
            step(stage, self.joint(stage, kind))
            if stage.outputs:
                self.ops.append(ir.Sweep(stage.program(), False, k))

    def all(self, name: str, step: Callable[[Stage], None]) -> None:
        """A stage for all links."""
        stage = Stage(name)
        step(stage)
        self.ops.append(ir.Sweep(stage.program(), False))

    def numbers(self, stage: Stage) -> Numbers:
        return _numbers(self.table.read(stage))

    def inertia(self, stage: Stage) -> Inertia:
        own = self.numbers(stage)
        return Inertia(own.mass, own.first, own.second)

    def carried_mass(self, stage: Stage) -> Scalar:
        return self.table.read(stage)[CARRIED]

    def hangs(self, stage: Stage) -> Scalar:
        """1 for a link that hangs on another one, 0 at a root."""
        return self.table.read(stage)[HANGS]

    def external(self, stage: Stage) -> Wrench:
        """The outer force on a link, in its own frame."""
        row = self.table.read(stage)
        return wrench_on(refilled(IDENTITY, row[FRAME:]), stage.read("f_ext", 6))

    def outward(self, bank: str, shape: T, combine: Callable[[T, T], T]) -> None:
        """Products of all elements from the root on."""
        stage = composed(bank, shape, combine)
        self.ops.append(ir.Scan(stage, bank, False) if self.chain else ir.Meet(stage, bank, bank, "ancestors", False))

    def inward(self, bank: str, shape: T, combine: Callable[[T, T], T], handed: int = 0) -> None:
        """Products of all elements from the tips on. handed: see `ir.Meet`."""
        stage = composed(bank, shape, combine)
        meet = ir.Meet(stage, bank, bank, "behind", True, handed)
        self.ops.append(ir.Scan(stage, bank, True) if self.chain else meet)

    def of_parent(self, bank: str, into: str, shape: object, first: int = 0) -> None:
        """`into`, of this structure, gets what the parent's bank has from entry `first` on; at a root it is kept, or
        the identity where it is a chain's."""
        if self.chain:
            self.ops.append(ir.Neighbour(bank, into, first, -1))
            return
        stage = Stage(f"{into}_of_parent")
        stage.write(into, stage.value("base", shape, first))
        self.ops.append(ir.Meet(stage.program(), into, bank, "parents", False))

    def of_children(self, bank: str, into: str, shape: object, first: int = 0) -> None:
        """`into`, of this structure and zero so far, gets the sum of what the children's bank has from there on."""
        if self.chain:
            self.ops.append(ir.Neighbour(bank, into, first, 1))
            return
        stage = Stage(f"{into}_of_children")
        stage.write(into, plus(stage.value("base", shape), stage.value("tip", shape, first)))
        self.ops.append(ir.Meet(stage.program(), into, bank, "children", True))


def _numbers(row: Sequence[Scalar]) -> Numbers:
    return refilled(blank(0), row)


def _row(link: Link, carried: float) -> list[float]:
    n = link.numbers
    rest = [0.0] * (MOST - len(n.armature))
    return [*numbers(n), *rest, float(link.parent >= 0), carried, *numbers(link.body_frame)]


def _first(link: Link, port: str) -> int:
    """Where the link's entries of a port begin."""
    if port == "f_ext":
        return 6 * link.body if link.body >= 0 else ir.NONE
    return (link.q if port == "q" else link.v)[0].at
