"""What inverse and forward dynamics of a chain share: sines, what is known of a floating base, and stages of scans."""

from __future__ import annotations

from condyle.algorithms.joint import Joint
from condyle.algorithms.rnea import Motion, Wrench, less_external, newton_euler
from condyle.algorithms.unrolled import wrench_on
from condyle.ir import chunked as ir
from condyle.trace.chunks.chain import ANGLE, BASE, COLUMNS, COSINE, SINE, TURN, Chain, Q
from condyle.trace.stage import Stage


def sines(chain: Chain) -> list[ir.Op]:
    """Sine and cosine of every joint that turns; of zero for the others."""
    if chain.turns_always:
        return [ir.Sines(Q, SINE, COSINE)]
    stage = Stage("angles")
    stage.write(ir.IO, stage.read(ir.IO, COLUMNS)[Q] * chain.table.read(stage)[TURN], ANGLE)
    return [ir.Sweep(stage.program(), False), ir.Sines(ANGLE, SINE, COSINE)]


def own_force(chain: Chain, stage: Stage, joint: Joint, moved: Motion) -> Wrench:
    """What a link needs to move so, less what it gets from outside."""
    own = newton_euler(joint, moved)
    return less_external(joint, own, chain.external(stage)) if chain.f_ext else own


def base_force(chain: Chain, stage: Stage, joint: Joint, moved: Motion) -> Wrench:
    """The same of a floating base."""
    own = newton_euler(joint, moved)
    if not chain.f_ext or chain.free is None:
        return own
    outer = wrench_on(chain.free.body_frame, stage.read(BASE[3], 6))
    return less_external(joint, own, outer)
