"""Inverse dynamics, a link a lane: the sums of `algorithms.scans.motions`, step by step."""

from __future__ import annotations

from condyle.algorithms import rotors
from condyle.algorithms.joint import Joint
from condyle.algorithms.rnea import Motion, Wrench, at_rest, less_external, newton_euler, spin, torques
from condyle.algorithms.scans.turns import Turns
from condyle.algorithms.values import plus
from condyle.ir import chunked as ir
from condyle.model.tree import Tree
from condyle.scalar import number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Identity
from condyle.spatial.transform import Transform
from condyle.spatial.vector import ONE, Vector
from condyle.trace.linked.links import Links
from condyle.trace.stage import Stage

SUMMED = ("w", "dw", "lift", "force", "torque")
OTHERS = ("offset", "slide", "turn", "wp", "dwp", "carried")
"""lift: the acceleration of a link's origin, less the world's. No bank has the name of a port."""


def inverse_dynamics(tree: Tree, lanes: int, f_ext: bool) -> ir.Chunked:
    """tau = M(q) a + c(q, v, f_ext)."""
    links = Links(tree, lanes, f_ext)
    moved(links)
    forced(links)
    links.of_kinds("answer", lambda stage, joint: _answer(links, stage, joint))
    return links.chunked("id", ("q", "v", "a", *(("f_ext",) if f_ext else ())), {"tau": links.of_dofs()})


def moved(links: Links) -> None:
    """How every link moves, in world axes."""
    links.start("axes", ONE, identity=True)
    links.start("before", ONE)
    for bank in (*SUMMED, "lever"):
        links.start(bank, vec.ZERO, identity=True)
    for bank in OTHERS:
        links.start(bank, vec.ZERO)
    links.sines()
    links.of_kinds("place", _place)
    links.outward("axes", ONE, Turns().combine)
    links.of_parent("axes", "before", ONE)
    links.all("world", _world)
    links.outward("w", vec.ZERO, plus)
    links.of_parent("w", "wp", vec.ZERO)
    links.all("angular", _angular)
    links.outward("dw", vec.ZERO, plus)
    links.of_parent("dw", "dwp", vec.ZERO)
    links.all("linear", _linear)
    links.outward("lift", vec.ZERO, plus)


def forced(links: Links) -> None:
    """The force through every joint, in world axes."""
    links.all("force", lambda stage: _force(links, stage))
    links.inward("force", vec.ZERO, plus)
    links.all("lever", _lever)
    links.of_children("lever", "carried", vec.ZERO)
    links.all("carry", _carry)
    links.inward("torque", vec.ZERO, plus)


def motion_of(links: Links, stage: Stage) -> Motion:
    """How a link moves, in its own axes."""
    x, y, z = (number(g) for g in links.tree.gravity)
    w, dw = (into(stage, stage.value(bank, vec.ZERO)) for bank in ("w", "dw"))
    a = into(stage, vec.add(stage.value("lift", vec.ZERO), at_rest((x, y, z)).a))
    return Motion(w, dw, spin(w, dw), a)


def into(stage: Stage, world: Vector) -> Vector:
    """In a link's own axes."""
    return vec.transposed_times(stage.value("axes", ONE), world)


def out(stage: Stage, own: Vector) -> Vector:
    """In world axes."""
    return vec.times(stage.value("axes", ONE), own)


def _place(stage: Stage, joint: Joint) -> None:
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


def _world(stage: Stage) -> None:
    """Everything in world axes."""
    stage.write("offset", vec.times(stage.value("before", ONE), stage.value("offset", vec.ZERO)))
    turned = {bank: out(stage, stage.value(bank, vec.ZERO)) for bank in ("slide", "turn", "dw", "lift")}
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


def _force(links: Links, stage: Stage) -> None:
    """What every body needs of force and torque, in world axes."""
    body = Joint(Transform(Identity(), vec.ZERO), (), links.inertia(stage), True)
    own = newton_euler(body, motion_of(links, stage))
    if links.f_ext:
        own = less_external(body, own, links.external(stage))
    stage.write("force", out(stage, own.force))
    stage.write("torque", out(stage, own.torque))


def _lever(stage: Stage) -> None:
    stage.write("lever", vec.cross(stage.value("offset", vec.ZERO), stage.value("force", vec.ZERO)))


def _carry(stage: Stage) -> None:
    stage.write("torque", vec.add(stage.value("torque", vec.ZERO), stage.value("carried", vec.ZERO)))


def _answer(links: Links, stage: Stage, joint: Joint) -> None:
    force, torque = (into(stage, stage.value(bank, vec.ZERO)) for bank in ("force", "torque"))
    a = stage.read("a", len(joint.dofs))
    rates = rotors.rates(joint, stage.read("v", len(a)), a) if links.tree.has_free_rotors else a
    stage.write("tau", torques(joint, Wrench(force, torque), rates))
