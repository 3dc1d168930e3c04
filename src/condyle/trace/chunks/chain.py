"""The joints of a chain, or of a tree's limbs, for stages that run any of them.

Constants that all share stand in the code, the others in a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from condyle.algorithms.joint import Dof, Inertia, Joint
from condyle.algorithms.rnea import Wrench
from condyle.algorithms.unrolled import is_zero, joint_at, wrench_on
from condyle.algorithms.values import flat, numbers
from condyle.functions import FUNCTIONS
from condyle.ir import chunked as ir
from condyle.model.tree import Link, Tree
from condyle.scalar import number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import AboutZ, Axes, Full, Identity, Product, Rotation
from condyle.spatial.transform import Transform
from condyle.spatial.vector import ONE, Vector
from condyle.trace.chunks.limbs import cut, limbs
from condyle.trace.partners import Row, partners
from condyle.trace.stage import Stage, Table

Q, V, DRIVE, ANSWER, ANGLE, SINE, COSINE, COLUMNS = range(8)
"""Columns of io: the state, tau or a, what is asked for, and the angle that turns."""
ROTATION, ORIGIN, MASS, FIRST, SECOND, ARMATURE, TURN, SLIDE, OUTER, OUTER_ORIGIN, WIDTH = (
    *(0, 9, 12, 13, 16, 22, 23, 24, 25, 34, 37),
)
BASE = ("base_q", "base_v", "base_drive", "base_ext")
"""What is known of the floating base, the same in every lane."""

STIFF = 1e30
"""An armature that no force moves, in float32 too."""


def is_chain(tree: Tree) -> bool:
    """Whether lanes can be its links: one joint of one degree of freedom after the other, the base fixed or free."""
    free = floats(tree)
    return (
        _is_simple(tree, free)
        and len(tree.links) > free
        and all(link.parent == i - 1 for i, link in enumerate(tree.links))
    )


def has_limbs(tree: Tree, chunks: int) -> bool:
    """Whether lanes can be chunks of its limbs: joints of one degree of freedom on a fixed base, and few branches."""
    return len(tree.links) > 0 and _is_simple(tree, False) and len(limbs(tree)) <= chunks


def _is_simple(tree: Tree, free: bool) -> bool:
    links = tree.links
    return (
        tree.n_bodies == len(links)
        and not tree.has_shared_coordinates
        and all(link.body == i for i, link in enumerate(links))
        and all(link.kind.is_axial and link.kind.nv == 1 for link in links[free:])
        and all(link.q[0].at == i + 6 * free and link.v[0].at == i + 5 * free for i, link in enumerate(links) if i)
    )


def floats(tree: Tree) -> bool:
    """Whether its first joint is a free one."""
    return bool(tree.links) and tree.links[0].kind.is_free


class Chain:
    """A chain, or the limbs of a tree, cut into `chunks` chunks of at most `length` joints."""

    def __init__(self, tree: Tree, f_ext: bool, chunks: int) -> None:
        self.tree, self.f_ext, self.chunks = tree, f_ext, chunks
        self.free: Link | None = tree.links[0] if floats(tree) else None
        links = tree.links[1:] if self.free else tree.links
        self.joints = len(links)
        self.length = -(-self.joints // chunks)
        self.partners: dict[str, tuple[Row, ...]] | None = None
        first = range(0, chunks * self.length, self.length)
        spans = [(min(at, self.joints), max(0, min(self.length, self.joints - at))) for at in first]
        rows = [_row(link)[: WIDTH if f_ext else OUTER] for link in links]
        absent = _absent(rows[0])
        if not is_chain(tree):
            found = cut(tree, chunks)
            self.length = max(count for _, count in found.spans)
            self.partners = partners(found.parents, chunks)
            spans = [*found.spans, *[(0, 0)] * (chunks - len(found.spans))]
            absent = _stiff(rows[0])
        self.spans = tuple(spans)
        every = [[*rows[at : at + count], *[absent] * (self.length - count)] for at, count in spans]
        self.table = Table([row for lane in every for row in lane])
        self.turns_always = self.table.fixed[TURN] == 1.0
        self.down = vec.scale(-1.0, cast(Vector, tree.gravity))

    def joint(self, stage: Stage) -> Joint:
        """The joint of a sweep, at its q."""
        row, columns = self.table.read(stage), stage.read(ir.IO, COLUMNS)
        turn, slide = row[TURN], row[SLIDE]
        axes = (vec.three(row, ROTATION), vec.three(row, ROTATION + 3), vec.three(row, ROTATION + 6))
        placed: Rotation = Identity() if axes == ONE else Full(axes)
        rotation = placed if is_zero(turn) else Product(placed, AboutZ(columns[COSINE], columns[SINE]))
        none = number(0.0)
        origin = vec.add(vec.three(row, ORIGIN), placed.back((none, none, slide * columns[Q])))
        dof = Dof((none, none, slide), (none, none, turn), row[ARMATURE])
        xx, xy, xz, yy, yz, zz = row[SECOND:ARMATURE]
        inertia = Inertia(row[MASS], vec.three(row, FIRST), (xx, xy, xz, yy, yz, zz))
        return Joint(Transform(rotation, origin), (dof,), inertia, True)

    def external(self, stage: Stage) -> Wrench:
        """The outer force on the link of a sweep, in its own frame."""
        row = self.table.read(stage)
        axes = (vec.three(row, OUTER), vec.three(row, OUTER + 3), vec.three(row, OUTER + 6))
        return wrench_on(Transform(Axes(axes), vec.three(row, OUTER_ORIGIN)), stage.read(ir.EXT, 6))

    def base(self, stage: Stage, link: Link) -> Joint:
        """The joint of a floating base."""
        return joint_at(link.kind, link.numbers, stage.read(BASE[0], link.kind.nq))

    def made(
        self, name: str, banks: Mapping[str, object], identities: Mapping[str, object], ops: Sequence[ir.Op]
    ) -> ir.Chunked:
        """All operations, for the ports of this function; banks: what those hold that the operations use."""
        ports = FUNCTIONS[name].ports(self.f_ext)
        inputs = tuple(zip((port.name for port in ports), (Q, V, DRIVE, ir.NONE), strict=False))
        answer = FUNCTIONS[name].outputs[0].name
        known = {ir.TABLE: self.table.width, ir.IO: COLUMNS, **({ir.EXT: 6} if self.f_ext else {})}
        base: dict[str, int] = {}
        if self.free is not None:
            base = {port: 7 if port == "q" else 6 for port, _ in (*inputs, (answer, ANSWER))}
            read = [(k, bank, base[port]) for k, ((port, _), bank) in enumerate(zip(inputs, BASE, strict=False))]
            known |= {"answer": 6, **{bank: width for _, bank, width in read}}
            ops = [*(ir.Splat(k, bank) for k, bank, _ in read), *ops, ir.Emit(0, "answer")]
        return ir.Chunked(
            name,
            self.joints,
            self.chunks,
            self.length,
            inputs,
            ((answer, ANSWER),),
            {**known, **{bank: len(flat(value)) for bank, value in banks.items()}},
            {bank: numbers(value) for bank, value in identities.items()},
            self.table.rows,
            tuple(ops),
            partners=self.partners or {},
            base=base,
            spans=self.spans,
        )


def start(bank: str, value: object) -> ir.Start:
    return ir.Start(bank, numbers(value))


def _row(link: Link) -> list[float]:
    n, (linear, angular) = link.numbers, link.kind.subspace(link.numbers.pitch)[0]
    own = (n.rotation, n.origin, n.mass, n.first, n.second, n.armature[0], angular[2], linear[2])
    return [*numbers(own), *numbers(link.body_frame)]


def _absent(row: list[float]) -> list[float]:
    """A joint that is not there: beyond the chain's tip, without mass, with an armature that keeps D from zero."""
    return [*row[:MASS], *[0.0] * (ARMATURE - MASS), 1.0, *row[TURN:]]


def _stiff(row: list[float]) -> list[float]:
    """A joint that is not there, between a chunk's last link and what hangs on it: it never moves."""
    return [*numbers((ONE, vec.ZERO)), *[0.0] * (ARMATURE - MASS), STIFF, *row[TURN:]]
