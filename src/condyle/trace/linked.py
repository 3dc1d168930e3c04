"""Inverse dynamics for lanes that are the links of a tree: the sums of `algorithms.scans.motions`, step by step.

In a chain the partners of a scan are neighbours. In a tree they are named: on the way out a link's ancestors 1, 2, 4,
... links away; on the way in, level by level of heavy paths, what lies behind it on its path, then its branches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from condyle.algorithms.joint import Inertia, Joint
from condyle.algorithms.rnea import Motion, Wrench, at_rest, less_external, newton_euler, spin, torques
from condyle.algorithms.scans.turns import ONE, Turns
from condyle.algorithms.unrolled import joint_placed, placement, wrench_on
from condyle.algorithms.values import flat, like, plus
from condyle.ir import chunked as ir
from condyle.ir.expr import Expr, Graph
from condyle.ir.ops import Node
from condyle.ir.program import Program, input_of
from condyle.model.joints.base import JointType
from condyle.model.tree import Link, Numbers, Tree
from condyle.scalar import number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Identity
from condyle.spatial.vector import Matrix, Vector
from condyle.trace.partners import partners
from condyle.trace.stage import Stage, Table

T = TypeVar("T")
ANGLE, SINE, COSINE = range(3)
MASS, ARMATURE, FRAME, WIDTH = 13, 23, 29, 41
MOST = 6
"""Degrees of freedom of one joint."""
# lift: the acceleration of a link's origin, less the world's; no bank has the name of a port
VECTORS = ("offset", "slide", "turn", "w", "wp", "dw", "dwp", "lift", "force", "torque", "lever", "carried")
SUMMED = ("w", "dw", "lift", "force", "torque", "lever")


def by_links(tree: Tree, lanes: int, f_ext: bool) -> ir.Chunked:
    """Inverse dynamics of a tree of at most `lanes` links that move alone, a link a lane."""
    return _Traced(tree, lanes, f_ext).chunked()


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


class _Traced:
    def __init__(self, tree: Tree, lanes: int, f_ext: bool) -> None:
        self.tree, self.lanes, self.f_ext = tree, lanes, f_ext
        links = tree.links
        self.kinds: list[JointType] = list({link.kind.name: link.kind for link in links}.values())
        parents = [link.parent for link in links]
        self.chain = parents == list(range(-1, len(links) - 1))
        self.partners = {} if self.chain else partners(parents, lanes)
        rows = [_row(link)[: WIDTH if f_ext else FRAME] for link in links]
        absent = [*rows[0][:MASS], *[0.0] * (len(rows[0]) - MASS)]
        self.table = Table(rows + [absent] * (lanes - len(rows)))
        self.ops: list[ir.Op] = []
        self.widths = {ir.TABLE: self.table.width}

    def chunked(self) -> ir.Chunked:
        self._start(ir.IO, vec.ZERO)
        for bank in ("axes", "before"):
            self._start(bank, ONE)
        for bank in VECTORS:
            self._start(bank, vec.ZERO)
        for k, kind in enumerate(self.kinds):
            self.ops += [ir.Sweep(stage, False, k) for stage in self._angle(kind)]
        self.ops.append(ir.Sines(ANGLE, SINE, COSINE))
        self._of_kinds("place", self._place)
        self._out()
        self._in()
        self._of_kinds("answer", self._answer)
        ports = ("q", "v", "a", *(("f_ext",) if self.f_ext else ()))
        absent = (ir.NONE,) * (self.lanes - len(self.tree.links))
        names = [kind.name for kind in self.kinds]
        return ir.Chunked(
            "id",
            len(self.tree.links),
            self.lanes,
            1,
            tuple((port, ir.NONE) for port in ports),
            (("tau", ir.NONE),),
            self.widths,
            {"axes": _numbers(ONE), **dict.fromkeys(SUMMED, _numbers(vec.ZERO))},
            self.table.rows,
            tuple(self.ops),
            {port: (*(_first(link, port) for link in self.tree.links), *absent) for port in (*ports, "tau")},
            (*(names.index(link.kind.name) for link in self.tree.links), *absent),
            self.partners,
        )

    def _start(self, bank: str, value: object) -> None:
        self.widths[bank] = len(flat(value))
        self.ops.append(ir.Start(bank, _numbers(value)))

    def _joint(self, stage: Stage, kind: JointType) -> Joint:
        row = self.table.read(stage)
        numbers = like(_NUMBERS, iter(row))
        assert isinstance(numbers, Numbers)
        own = numbers._replace(armature=tuple(row[ARMATURE : ARMATURE + kind.nv]))
        return joint_placed(kind, own, placement(own.rotation), stage.read("q", kind.nq))

    def _of_kind(self, name: str, kind: JointType, step: Callable[[Stage, Joint], None]) -> tuple[Program, int]:
        """A stage for joints of one kind, and which entry of q is their angle."""
        graph = _Turned()
        stage = Stage(name, graph)
        stage.read(ir.IO, 3)
        step(stage, self._joint(stage, kind))
        return stage.program(), graph.angle

    def _of_kinds(self, name: str, step: Callable[[Stage, Joint], None]) -> None:
        for k, kind in enumerate(self.kinds):
            self.ops.append(ir.Sweep(self._of_kind(name, kind, step)[0], False, k))

    def _all(self, name: str, step: Callable[[Stage], None]) -> None:
        stage = Stage(name)
        step(stage)
        self.ops.append(ir.Sweep(stage.program(), False))

    def _angle(self, kind: JointType) -> list[Program]:
        angle = self._of_kind("angle", kind, self._place)[1]
        if angle == ir.NONE:
            return []
        stage = Stage("angle")
        stage.write(ir.IO, (stage.read("q", kind.nq)[angle],), ANGLE)
        return [stage.program()]

    def _place(self, stage: Stage, joint: Joint) -> None:
        """What a joint does in axes of its own link, its origin in those of its parent."""
        n = len(joint.dofs)
        slide, turn = joint.rate(stage.read("v", n))
        slide_rate, turn_rate = joint.rate(stage.read("a", n))
        stage.write("axes", tuple(joint.rotation.into(e) for e in ONE))
        for bank, value in (
            ("offset", joint.origin),
            ("slide", slide),
            ("turn", turn),
            ("lift", slide_rate),
            ("dw", turn_rate),
        ):
            stage.write(bank, value)

    def _out(self) -> None:
        self._outward("axes", ONE, Turns().combine)
        self._of_parent("axes", "before", ONE)
        self._all("world", _world)
        self._outward("w", vec.ZERO, plus)
        self._of_parent("w", "wp", vec.ZERO)
        self._all("angular", _angular)
        self._outward("dw", vec.ZERO, plus)
        self._of_parent("dw", "dwp", vec.ZERO)
        self._all("linear", _linear)
        self._outward("lift", vec.ZERO, plus)

    def _in(self) -> None:
        self._all("force", self._force)
        self._inward("force")
        self._all("lever", _lever)
        if self.chain:
            self.ops.append(ir.Neighbour("lever", "carried", 0, 1))
            self._all("carry", _carry)
        else:
            self.ops.append(ir.Meet(_composed("torque", vec.ZERO, plus), "torque", "lever", "children", True))
        self._inward("torque")

    def _outward(self, bank: str, shape: T, combine: Callable[[T, T], T]) -> None:
        stage = _composed(bank, shape, combine)
        self.ops.append(ir.Scan(stage, bank, False) if self.chain else ir.Meet(stage, bank, bank, "ancestors", False))

    def _inward(self, bank: str) -> None:
        stage = _composed(bank, vec.ZERO, plus)
        self.ops.append(ir.Scan(stage, bank, True) if self.chain else ir.Meet(stage, bank, bank, "behind", True))

    def _of_parent(self, bank: str, into: str, shape: object) -> None:
        if self.chain:
            self.ops.append(ir.Neighbour(bank, into, 0, -1))
        else:
            copied = _composed(into, shape, lambda base, tip: base)
            self.ops.append(ir.Meet(copied, into, bank, "parents", False))

    def _force(self, stage: Stage) -> None:
        """What every body needs of force and torque, in world axes."""
        row, axes = self.table.read(stage), stage.value("axes", ONE)
        numbers = like(_NUMBERS, iter(row))
        assert isinstance(numbers, Numbers)
        x, y, z = (number(g) for g in self.tree.gravity)
        w, dw = (vec.transposed_times(axes, stage.value(bank, vec.ZERO)) for bank in ("w", "dw"))
        a = vec.transposed_times(axes, vec.add(stage.value("lift", vec.ZERO), at_rest((x, y, z)).a))
        body = Joint(Identity(), vec.ZERO, (), Inertia(numbers.mass, numbers.first, numbers.second), True)
        own = newton_euler(body, Motion(w, dw, spin(w, dw), a))
        if self.f_ext:
            rotation, origin = cast("tuple[Matrix, Vector]", like((ONE, vec.ZERO), iter(row[FRAME:])))
            own = less_external(body, own, wrench_on(rotation, origin, stage.read("f_ext", 6)))
        stage.write("force", vec.times(axes, own.force))
        stage.write("torque", vec.times(axes, own.torque))

    def _answer(self, stage: Stage, joint: Joint) -> None:
        axes = stage.value("axes", ONE)
        force, torque = (vec.transposed_times(axes, stage.value(bank, vec.ZERO)) for bank in ("force", "torque"))
        stage.write("tau", torques(joint, Wrench(force, torque), stage.read("a", len(joint.dofs))))


_NUMBERS = Numbers(ONE, vec.ZERO, number(0.0), number(0.0), vec.ZERO, vec.ZERO_SYMMETRIC, ())


def _row(link: Link) -> list[float]:
    n = link.numbers
    rest = [0.0] * (MOST - len(n.armature))
    return [*_numbers(n), *rest, *_numbers((link.wrench_rotation, link.wrench_origin))]


def _first(link: Link, port: str) -> int:
    """Where the link's entries of a port begin."""
    if port == "f_ext":
        return 6 * link.body if link.body >= 0 else ir.NONE
    return (link.q if port == "q" else link.v)[0].at


def _numbers(value: object) -> tuple[float, ...]:
    return tuple(float(cast(float, x)) for x in flat(value))


def _composed(bank: str, shape: T, combine: Callable[[T, T], T]) -> Program:
    stage = Stage(f"{bank}_scan")
    stage.write(bank, combine(stage.value("base", shape), stage.value("tip", shape)))
    return stage.program()


def _world(stage: Stage) -> None:
    """Everything in world axes."""
    axes = stage.value("axes", ONE)
    stage.write("offset", vec.times(stage.value("before", ONE), stage.value("offset", vec.ZERO)))
    turned = {bank: vec.times(axes, stage.value(bank, vec.ZERO)) for bank in ("slide", "turn", "dw", "lift")}
    for bank, value in {**turned, "w": turned["turn"]}.items():
        stage.write(bank, value)


def _angular(stage: Stage) -> None:
    wp, turn = stage.value("wp", vec.ZERO), stage.value("turn", vec.ZERO)
    stage.write("dw", vec.add(stage.value("dw", vec.ZERO), vec.cross(wp, turn)))


def _linear(stage: Stage) -> None:
    wp, turn, slide = (stage.value(bank, vec.ZERO) for bank in ("wp", "turn", "slide"))
    carried = vec.times(spin(wp, stage.value("dwp", vec.ZERO)), stage.value("offset", vec.ZERO))
    coriolis = vec.cross(vec.add(vec.scale(2.0, wp), turn), slide)
    stage.write("lift", vec.add(vec.add(carried, stage.value("lift", vec.ZERO)), coriolis))


def _lever(stage: Stage) -> None:
    stage.write("lever", vec.cross(stage.value("offset", vec.ZERO), stage.value("force", vec.ZERO)))


def _carry(stage: Stage) -> None:
    stage.write("torque", vec.add(stage.value("torque", vec.ZERO), stage.value("carried", vec.ZERO)))
