"""report.json: cycles, DSPs, words, errors of an accelerator. Clocks in it are assumed, never estimated."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from condyle.fpga.rtl.accelerator import FLOATS, TRIG, Leaf, Plan
from condyle.fpga.rtl.boundary import Boundary, rate
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.constants import is_constant_product, widest
from condyle.fpga.rtl.datapath import CLAMPING, Datapath, Op, Word, unit_dsp, unit_products
from condyle.fpga.rtl.lower import RECIPROCAL_ERROR, SINCOS_ERROR
from condyle.fpga.rtl.operators import splits
from condyle.fpga.rtl.stream import BAUD, serial_bytes
from condyle.fpga.rtl.target import ADDER, A, Format, Reals
from condyle.fpga.rtl.vectors import PARTS, worst
from condyle.specification.integrators import OVERFLOWS

# Which signals cannot overflow: bounds of the computed words, with rounding included.
#
# For each operation B bounds the computed word. E bounds its distance from the exact result, computed from the words
# with which its step began. In units of the last place (ulp) and of the cut factor's (cut):
#
#     x + y:  B <= Bx + By + 2 ulp        E <= Ex + Ey + 2 ulp
#     x y:    B <= Bx By + d              E <= Bx Ey + By Ex + Ex Ey + d,    d = Bx cut + 4 ulp
#
# and |c x + s y| <= sqrt(Bx^2 + By^2) with sine and cosine of one angle. What a step leaves is bounded by the norm of
# its vector (`Op.upper`, from the trace) where E is at most a quarter of the room that this has for rounding; there E
# starts anew. So intervals never run through more than one joint. The reciprocal of a pivot x is at most 1 / (lower -
# drift): `Op.lower` bounds the exact x from below (from the trace), the drift is E that never starts anew. What follows
# from it, M^-1 too, is as good as intervals are.
#
# A signal is proven if its format covers B. With q, v, a and f_ext in the box it can be clamped only after a sampled
# signal was clamped, and that one raises the flag.


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


Report: TypeAlias = dict[str, Any]
"""What JSON holds."""


@dataclass(frozen=True)
class Facts:
    """What generated code says about its origin. clock: MHz, assumed."""

    name: str
    fingerprint: str
    version: str
    clock: float
    word: str
    boundary: Boundary = field(default_factory=Boundary)


@dataclass(frozen=True)
class Sheet:
    """Errors of each function over `states` states of the box; warnings about errors that are too large."""

    errors: Mapping[str, Mapping[str, float]]
    states: int
    box: Mapping[str, float | Reals]
    warnings: tuple[str, ...] = ()


Proofs: TypeAlias = Mapping[str, Mapping[int, bool]]
UNCOUNTED: Report = {"lut": None, "ff": None}
"""Until `make count` writes them."""


def _signals(acc: Accelerator, proofs: Proofs, leaves: Collection[Leaf]) -> Report:
    """How many of the signals that these groups depend on have a proven format, and how many a sampled one."""
    cone = {(array, k) for array, group in leaves for k in acc.plan.datapaths[array].cones[group]}
    good = [proofs[array][k] for array, k in cone if k in proofs[array]]
    return {"proven": sum(good), "sampled": len(good) - sum(good)}


def leaves_of(acc: Accelerator, function: str) -> list[Leaf]:
    """The groups that the tasks of a function pass through."""
    return [leaf for leaves in acc.plan.tasks[function].passes for leaf in leaves]


def cycles(n: int) -> str:
    """An interval in words: "a task every ..."."""
    return "cycle" if n == 1 else f"{n} cycles"


def arrays_of(acc: Accelerator, function: str) -> list[str]:
    """The arrays that the tasks of a function pass through."""
    passed = {leaf.array for leaf in (TRIG, *leaves_of(acc, function))}
    return [name for name in acc.arrays if name in passed]


def array_dsp(acc: Accelerator, name: str) -> int:
    return sum(n * unit_dsp(pool[1], acc.device) for pool, n in acc.arrays[name].units.items())


def said_latency(function: Mapping[str, Any]) -> str:
    """Latency in cycles; with --pipeline also that without it."""
    latency, plain = function["latency"], function["latency_default"]
    return f"{latency}" if latency == plain else f"{latency} ({plain} without --pipeline)"


def words_held(acc: Accelerator, name: str) -> int:
    """Word registers of an array."""
    return sum(acc.words[name].values())


def _products(acc: Accelerator) -> int:
    """Instances of `fx_product`."""
    units = (unit for array in acc.arrays.values() for unit in array.units.items())
    return sum(n * len(unit_products(pool[1])) for pool, n in units)


def report(acc: Accelerator, facts: Facts, sheet: Sheet) -> Report:
    """The content of report.json."""
    proofs = {name: proven(array.datapath, acc.plan.limits) for name, array in acc.arrays.items()}
    functions = {
        name: _function(acc, facts, sheet, name) | {"signals": _signals(acc, proofs, leaves_of(acc, name))}
        for name in acc.plan.functions
    }
    arrays = {
        name: {
            "operations": len(array.datapath.ops),
            "dsp": array_dsp(acc, name),
            "words": words_held(acc, name),
            "leaves_after": dict(array.taps),
            "sums": sum(array.datapath.ops[k].kind in ("add", "sub") for k in array.datapath.members),
            "products": sum(op.kind == "mul" for op in array.datapath.ops),
            "signals": _signals(acc, proofs, [Leaf(name, group) for group, _ in array.datapath.groups]),
        }
        for name, array in acc.arrays.items()
    }
    return {
        "name": facts.name,
        "fingerprint": facts.fingerprint,
        "functions": functions,
        "warnings": list(sheet.warnings),
        "pipeline": acc.pipeline,
        "folding": max(array.datapath.folding for array in acc.arrays.values()),
        "totals": {"dsp": acc.dsp, "products": _products(acc), "register_bits": acc.register_bits, **UNCOUNTED},
        "device": acc.device.name,
        "board": acc.device.board,
        "dsp_percent": round(100.0 * acc.dsp / acc.device.dsp, 1),
        "registers": {
            "max_between": {"sum_bits": max(map(widest, acc.plan.datapaths.values())), "product": "27x18"},
            "allowed": {"sum_bits": ADDER, "product": "27x18"},
            "rule": "one sum of two words of so many bits, or one DSP product; and the clamp to a word",
        },
        "arrays": arrays,
        "constants": _constants(acc),
        "queues": dict(acc.depths),
        "word": facts.word,
        "formats": _formats(acc.plan),
        "errors_are": "of sampled states without a flag: names alone are the maximum of `states` samples, not a bound; "
        "_p50, _p90, _p99 are quantiles of the same samples",
        "box": {name: _sizes(value) for name, value in sheet.box.items()},
        "overflow": OVERFLOWS[0] if acc.plan.flags else OVERFLOWS[1],
        "torques_sampled": list(acc.plan.torques),
        "assumed_clock_mhz": facts.clock,
        "boundary": {
            "axi": facts.boundary.axi,
            "float32": facts.boundary.float32,
            "async_clock": facts.boundary.async_clock,
            "bus_clock_mhz": facts.boundary.bus_clock or facts.clock,
            "link_gb_per_s": facts.boundary.link,
            "echo": facts.boundary.echo,
            **UNCOUNTED,
        },
        "tools": {"condyle": facts.version, "iverilog": "make sim", "yosys": "make count"},
    }


def _sizes(value: float | Reals) -> float | list[float | None]:
    """One number for all entries, or one for each; null for an entry without a bound."""
    if isinstance(value, (float, int)):
        return float(value)
    entries: list[float] = value.tolist()
    return [x if math.isfinite(x) else None for x in entries]


def _constants(acc: Accelerator) -> Report:
    """Products with constants by DSPs, those by shifts, and the number of sums in the chains of shifts."""
    paths = [array.datapath for array in acc.arrays.values()]
    shifts = [op.shifts for path in paths for op in path.ops if op.shifts]
    on_dsp = sum(is_constant_product(path, k) for path in paths for k in range(len(path.ops)))
    return {"products_on_dsp": on_dsp, "products_by_shifts": len(shifts), "sums_of_shifts": sum(shifts)}


def _function(acc: Accelerator, facts: Facts, sheet: Sheet, function: str) -> Report:
    latency, interval = acc.latency(function), acc.interval(function)
    errors = sheet.errors[function]
    arrays = arrays_of(acc, function)
    return {
        "code": acc.plan.tasks[function].codes[0],
        "latency": latency,
        "latency_default": acc.plain.latency(function),
        "ii": interval,
        "arrays": arrays,
        "dsp": sum(array_dsp(acc, name) for name in arrays),
        **UNCOUNTED,
        "worst_relative": worst(errors),
        "relative_quantiles": {part: worst(errors, f"_{part}") for part in PARTS},
        "max_error": max((value for name, value in errors.items() if name.endswith("absolute")), default=0.0),
        "errors": {name: float(value) for name, value in errors.items()},
        "states": sheet.states,
        "assumed_us": round(latency / facts.clock, 4),
        "assumed_million_per_s": round(facts.clock / interval, 3),
        "boundary": _rates(acc, facts, function),
        "result": [str(word) for word, _ in acc.plan.results[function]],
    }


def _rates(acc: Accelerator, facts: Facts, function: str) -> Report:
    """Bytes of a task and of a result; tasks a second of the chip, the bus, the link, and of all together (board)."""
    found = rate(acc.plan, facts.boundary, function, acc.interval(function), facts.clock)
    link = found.link
    if link is None and acc.device.family == "ecp5":
        link = BAUD / (10 * max(serial_bytes(acc.plan)))  # the only link of its folder is a UART
    rates = {"chip": found.chip, "bus": found.bus, "link": link, "board": min(found.board, link or found.board)}
    return {
        "task_bytes": found.task * found.bytes,
        "result_bytes": found.result * found.bytes,
        **{f"{name}_million_per_s": None if x is None else round(1e-6 * x, 6) for name, x in rates.items()},
    }


def _formats(plan: Plan) -> Report:
    """The formats of all words, from bit 0 of the ports on: their bits and the bits behind the binary point."""
    results = {name: [f"{word} {format}" for word, format in words] for name, words in plan.results.items()}
    return {"inputs": {str(word): str(format) for word, format in plan.formats.items()}, "results": results}


def said_box(report: Mapping[str, Any]) -> str:
    """The box in words, from report.json."""
    said = [f"|{name}| ≤ {_said(value)}" for name, value in report["box"].items()]
    torques, bounds = report["torques_sampled"], report["box"].get("tau")
    if torques and (bounds is None or (isinstance(bounds, list) and None in bounds)):
        said.append(f"tau as these states need it, at most {_said(torques)} in the samples")
    return ", ".join(said)


def _said(value: float | list[float | None]) -> str:
    """A number, or one for each joint coordinate in brackets; a dash for none."""
    if isinstance(value, list):
        return f"({', '.join('-' if x is None else f'{x:.4g}' for x in value)})"
    return f"{value:.4g}"
