"""Which signals cannot overflow: bounds of the computed words, with rounding included.

For each operation B bounds the computed word. E bounds its distance from the exact result, computed from the words with
which its step began. In units of the last place (ulp) and of the cut factor's (cut):

    x + y:  B <= Bx + By + 2 ulp        E <= Ex + Ey + 2 ulp
    x y:    B <= Bx By + d              E <= Bx Ey + By Ex + Ex Ey + d,    d = Bx cut + 4 ulp

and |c x + s y| <= sqrt(Bx^2 + By^2) with sine and cosine of one angle. What a step leaves is bounded by the norm of
its vector (`Op.upper`, from the trace) where E is at most a quarter of the room that this has for rounding; there E
starts anew. So intervals never run through more than one joint. The reciprocal of a pivot x is at most 1 / (lower -
drift): `Op.lower` bounds the exact x from below (from the trace), the drift is E that never starts anew.
What follows from it, M^-1 too, is as good as intervals are.

A signal is proven if its format covers B. With q, v, a and f_ext in the box it can be clamped only after a sampled
signal was clamped, and that one raises the flag.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from condyle.fpga.rtl.datapath import CLAMPING, Datapath, Op, Word
from condyle.fpga.rtl.formats import Format
from condyle.fpga.rtl.lower import RECIPROCAL_ERROR, SINCOS_ERROR
from condyle.fpga.rtl.operators import splits
from condyle.fpga.rtl.target import A
from condyle.fpga.rtl.tasks import FLOATS

ROOM = 2.0**-9
"""A quarter of the room for rounding in upper bounds. A matrix whose nine entries have such an error fits the room."""


class Bound(NamedTuple):
    """Bounds of the computed word, of its error within its step, and of its error since the task's inputs."""

    size: float
    error: float
    drift: float


TURN = Bound(1.0, 2.0 * SINCOS_ERROR, 2.0 * SINCOS_ERROR)
NOTHING = Bound(math.inf, math.inf, math.inf)


def bounds(path: Datapath, limits: Mapping[Word, float]) -> list[Bound]:
    """The bounds of every operation, for inputs q, v, a and f_ext within `limits`."""
    found: list[Bound] = []
    for k, op in enumerate(path.ops):
        one = _input(path.words[k], op, limits) if op.kind == "input" else _computed(path, op, found)
        one = one if math.isfinite(one.size + one.error) else NOTHING
        if one.error <= ROOM * op.upper < math.inf:
            one = Bound(min(one.size, op.upper), 0.0, one.drift)
        found.append(one)
    return found


def _input(word: Word, op: Op, limits: Mapping[Word, float]) -> Bound:
    if word.name in ("sin", "cos"):
        return TURN
    if word == FLOATS:
        return Bound(1.0, 0.0, 0.0)
    return Bound(limits.get(word, math.inf) + _ulp(op.format), _ulp(op.format), _ulp(op.format))


def _computed(path: Datapath, op: Op, bounds: list[Bound]) -> Bound:
    args = [bounds[a] for a in op.args]
    if op.kind == "const":
        return Bound(math.ldexp(abs(op.value), -op.format.frac), _ulp(op.format), _ulp(op.format))
    if op.kind == "wire":
        scale = math.ldexp(1.0, path.ops[op.args[0]].format.frac - op.format.frac)
        return Bound(*(scale * x for x in args[0]))
    if op.kind == "mul":
        return _product(path, op, args[0], args[1])
    if op.kind in ("add", "sub"):
        return _summed(op, args[0], args[1], _turned(path, op, bounds))
    if op.kind == "rcp":
        return _inverted(path, op, args[0])
    return TURN if op.kind in ("sin", "cos") else NOTHING


def _inverted(path: Datapath, op: Op, x: Bound) -> Bound:
    """1 / x of an x whose exact value is at least `op.lower`."""
    cut = _ulp(path.ops[op.args[0]].format.narrowed(A))
    least = op.lower - x.drift - x.error - cut
    if not least > 0.0:
        return NOTHING
    lost = RECIPROCAL_ERROR / least + _ulp(op.format)
    return Bound(1.0 / least + lost, (x.error + cut) / least**2 + lost, (x.drift + cut) / least**2 + lost)


def _summed(op: Op, x: Bound, y: Bound, turned: float) -> Bound:
    size = min(x.size + y.size, turned)
    lost = 2.0 * math.ldexp(1.0, -op.format.frac - op.drop) + (_ulp(op.format) if op.drop else 0.0)
    if op.shifts:
        lost += size / abs(op.value)  # rounding of the constant
    return Bound(size + lost, x.error + y.error + lost, x.drift + y.drift + lost)


def _product(path: Datapath, op: Op, x: Bound, y: Bound) -> Bound:
    lost = _lost(path, op, x)
    error, drift = (x.size * e + y.size * d + d * e + lost for d, e in zip(x[1:], y[1:], strict=True))
    return Bound(x.size * y.size + lost, error, drift)


def _lost(path: Datapath, op: Op, x: Bound) -> float:
    """The rounding error of a product: bits cut from the second factor, and bits dropped from the pieces."""
    return x.size * _ulp(path.ops[op.args[1]].format.narrowed(op.factor)) + 4.0 * _ulp(op.format)


def _turned(path: Datapath, op: Op, bounds: list[Bound]) -> float:
    """|c x + s y|, inf for other sums."""
    terms = [_term(path, path.ops[a]) for a in op.args]
    if {word.name for word, _ in terms} != {"sin", "cos"} or len({word.index for word, _ in terms}) != 1:
        return math.inf
    lost = sum(_lost(path, path.ops[a], bounds[path.ops[a].args[0]]) for a in op.args)
    return math.hypot(*(bounds[other].size for _, other in terms)) * (1.0 + 2.0 * SINCOS_ERROR) + lost


def _term(path: Datapath, op: Op) -> tuple[Word, int]:
    """The factors of a product with a sine or a cosine: that word, and the other one."""
    for turn, other in (op.args, op.args[::-1]) if op.kind == "mul" else ():
        word = path.words.get(turn)
        if word is not None and word.name in ("sin", "cos"):
            return word, other
    return Word("", 0), -1


def _ulp(format: Format) -> float:
    return math.ldexp(1.0, -format.frac)


def _covered(path: Datapath, op: Op, bounds: list[Bound], k: int) -> bool:
    """Whether the format holds the word and, for a product in pieces, its joined upper and lower products."""
    size = bounds[k].size
    if op.kind == "mul":
        x, y = (path.ops[a].format for a in op.args)
        cut = y.narrowed(op.factor)
        first, second = splits(x.width, op.factor)
        size += bounds[op.args[0]].size * math.ldexp(second > 0, second - cut.frac)
        size += bounds[op.args[1]].size * math.ldexp(first > 0, first - x.frac)
    return size <= math.ldexp(op.format.limit, -op.format.frac)


def proven(path: Datapath, limits: Mapping[Word, float]) -> dict[int, bool]:
    """Whether each operation that could overflow is proven. The sums inside a constant's chain never overflow."""
    found = bounds(path, limits)
    return {k: _covered(path, op, found, k) for k, op in enumerate(path.ops) if op.kind in CLAMPING and op.noise > 0.0}
