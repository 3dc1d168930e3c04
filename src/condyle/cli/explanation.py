"""What is to be said of a function: gathered from the router, from an attributed trace and from the assembler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import inf

from condyle.compile import Target
from condyle.compile.compiler import Compiler
from condyle.compile.routes import LONGEST, NOTHING, Router
from condyle.ir.count import Counts, counted
from condyle.ir.loops import Rolled
from condyle.ir.program import Program, operands
from condyle.operations import LEAVES, TRIGONOMETRIC
from condyle.specification import Function, Port
from condyle.text import printable
from condyle.text.pages import facts, scrolled, text, whole
from condyle.trace.straight import NOBODY, Step, attributed, has_steps

NO_PROGRAM = "The function has no program of its own for this robot."
COMPOSED = "This route is composed of other functions' programs, which are explained under their own names."
STRAIGHT, LOOPS, PRODUCTS = "straight-line code", "loops over the joints", "straight-line code and matrix products"


@dataclass(frozen=True, slots=True)
class RouteFacts:
    """One way to compute the function. counts: of its straight-line code, None where nobody traced it. note: why."""

    name: str
    counts: Counts | None
    note: str


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One step of the algorithm, and the operations that all joints' calls of it take."""

    step: Step
    counts: Counts


@dataclass(frozen=True, slots=True)
class Explained:
    """One function of one robot.

    line: what `explain` says of it. form: straight-line code, loops, or products. counts: operations of one state;
    instructions: after multiply-adds are contracted. steps: in the order of the program, none where it is not
    traced step by step; missing: why. code: of the machine code, in words. listing: a line an operation, with its step.
    """

    function: Function
    line: str
    form: str
    counts: Counts | None
    instructions: int
    routes: Sequence[RouteFacts]
    steps: Sequence[StepFacts]
    missing: str
    code: Mapping[str, str]
    listing: Sequence[tuple[str, str]]


def explained(compiler: Compiler, function: Function, target: Target, dtype: str, n: int = 256) -> Explained:
    """All of it, for a batch of n states.

    Straight-line code of the route is traced once more with its steps; what is too long for straight code is not.
    """
    line = compiler.line(function, target, dtype, n)
    called = function.repeat is not None or compiler.by_columns(function) or compiler.parts(function)
    if called or compiler.is_too_long(function):
        return Explained(function, line, "", None, 0, (), (), NO_PROGRAM, {}, ())
    best = compiler.best(function)
    form = STRAIGHT if isinstance(best.code, Program) else LOOPS if isinstance(best.code, Rolled) else PRODUCTS
    missing = _missing(function, best.route, form)
    program, of = (None, []) if missing else attributed(compiler.tree, function, best.route)
    instructions = int(compiler.counts(function)["instructions"])
    routes = _routes(compiler, function, best.route, form)
    code = _machine_code(compiler, function, dtype) if form == STRAIGHT and target.instruction_set else {}
    steps, listing = ((), ()) if program is None else (_steps(program, of), _listing(program, of))
    if all(one.step is NOBODY for one in steps):  # derivatives open the programs of what they derive
        steps, missing = (), missing or COMPOSED
    return Explained(function, line, form, best.counts, instructions, routes, steps, missing, code, listing)


def _missing(function: Function, route: str, form: str) -> str:
    """Why there are no steps; empty where there are."""
    if form == LOOPS:
        return "The steps run in loops over the joints; operations are counted for the loops as a whole."
    if form == PRODUCTS or not has_steps(function, route):
        return COMPOSED
    return ""


def _routes(router: Router, function: Function, best: str, form: str) -> list[RouteFacts]:
    """All routes to the function, the best first, then by their operations."""
    if form == LOOPS:
        why = f"straight-line code would have more than {LONGEST:,} operations, or is slower than loops"
        return [RouteFacts(best, None, f"taken, as loops: {why}")]
    if form == PRODUCTS and has_steps(function, best):
        why = f"straight-line code would have more than {LONGEST:,} operations"
        return [RouteFacts(best, router.best(function).counts, f"taken, its products as loops: {why}")]
    found = [_route(router, function, route, best) for route in function.routes]
    return sorted(found, key=lambda one: (one.name != best, one.counts.arithmetic if one.counts else inf, one.name))


def _route(router: Router, function: Function, route: str, best: str) -> RouteFacts:
    of = function.routes[route]
    if not has_steps(function, route):
        note = "composed of other functions' programs, which are not compared"
        counts = router.best(function).counts if route == best else None
        return RouteFacts(route, counts, f"taken: {note}" if route == best else note)
    if route not in router.serving(function):
        return RouteFacts(route, None, "not possible: joints share coordinates (mimic joints)")
    if router.estimate(of.size or NOTHING) > LONGEST:
        return RouteFacts(route, None, "not traced: its estimate is too long")
    counts = router.traced(function, route).counts
    if route == best:
        why = "it was named" if router.named(function) else "fewest products and sums"
        why = "it is the only one" if len(function.routes) == 1 else why
        return RouteFacts(route, counts, f"taken: {why}")
    if route in router.candidates(function):
        return RouteFacts(route, counts, "compared: more products and sums")
    if of.baseline:
        return RouteFacts(route, counts, "not compared: a baseline, which runs when it is named")
    if of.shallow:
        return RouteFacts(route, counts, "not compared: it gains on short branches only")
    return RouteFacts(route, counts, "not compared: it is made with a route that was not the best for its part")


def _steps(program: Program, node_steps: Sequence[Step]) -> list[StepFacts]:
    """Operations by step, in the order in which steps first appear; an angle counts where it is first used."""
    found: dict[Step, Counter[str]] = {}
    angles: set[tuple[int, ...]] = set()
    for node, step in zip(program.nodes, node_steps, strict=True):
        if node[0] in LEAVES:
            continue
        ops = found.setdefault(step, Counter())
        ops[node[0]] += 1
        if node[0] in TRIGONOMETRIC and operands(node) not in angles:
            angles.add(operands(node))
            ops["sincos"] += 1
    return [StepFacts(step, counted(ops)) for step, ops in found.items()]


def _listing(program: Program, node_steps: Sequence[Step]) -> list[tuple[str, str]]:
    """Each line of the program, and the step that it belongs to; inputs, constants and answers have none."""
    from condyle.ir.program import show

    lines = [line.strip() for line in show(program).splitlines()][1:-1]
    names = ["" if node[0] in LEAVES else step.name for node, step in zip(program.nodes, node_steps, strict=True)]
    return [*zip(lines, [*names, *[""] * (len(lines) - len(names))], strict=True)]


def _machine_code(compiler: Compiler, function: Function, dtype: str) -> dict[str, str]:
    """Of the kernel for many states."""
    from condyle.backends.common.facts import bits_of
    from condyle.backends.cpu import build

    can = build.supported()
    code = compiler.code(function)
    if not can or not isinstance(code, Program):
        return {}
    from condyle.backends.cpu.assemble import assemble
    from condyle.backends.cpu.operations import SLOT

    isa, bits = can[0], bits_of(dtype)
    made = assemble(code, isa, bits)
    instructions = [one for kernel in made.kernels for one in kernel.code]
    stores = sum(one.op == "store" for one in instructions)
    reads = sum(one.b >= SLOT for one in instructions if one.op != "store")
    constants = len(made.constants) // (isa.vector_bytes if not isa.broadcast else bits // 8)
    return {
        "instruction set": f"{isa.name}: {isa.lanes(bits)} states of {dtype} in a register, {isa.registers} registers",
        "instructions": f"{len(instructions):,} for {isa.lanes(bits)} states, loops over sines and cosines not counted",
        "constants": f"{constants:,}",
        "reads of memory": f"{reads:,}: inputs, and values that were spilled from registers",
        "stores to memory": f"{stores:,}: answers ({len(code.outputs):,} entries), and values that are spilled",
        "order of the operations": ", ".join(dict.fromkeys(kernel.order for kernel in made.kernels)),
        "bytes of code": f"{len(made.text):,}",
    }


# The page of one function: what runs, the routes that were compared, the steps of the algorithm, the program.


STYLE = """
.bar{display:inline-block;height:.75em;min-width:1px;vertical-align:baseline;print-color-adjust:exact;
-webkit-print-color-adjust:exact}
.mul{background:var(--mark)}.add{background:#e0a458}.key{width:.75em}
.graph{width:14em;white-space:nowrap}.says{white-space:normal;text-align:left;min-width:14em;color:var(--faint)}
pre{font-size:.82em;line-height:1.35;overflow-x:auto}pre i{color:var(--faint)}
"""
MOST = 5000
"""Lines of the program that the page shows."""
KEY = (
    '<p><span class="bar mul key"></span> products &nbsp; <span class="bar add key"></span> sums and differences, '
    "of one state, before multiply-adds are contracted.</p>"
)


def page(explained: Explained, robot: str, sizes: Mapping[str, int]) -> str:
    """The page. robot: its name, which is untrusted and escaped. sizes: of the names of dimensions."""
    of = explained.function
    parts = [
        f"<p>{text(of.equation)}</p>",
        f"<p>Source: {text(of.source)}.</p>" if of.source else "",
        f"<h2>What runs</h2><p>{text(explained.line)}</p>",
        _summary(explained),
        "<h2>Arguments and answers</h2>" + scrolled(_ports(of.inputs, of.outputs, sizes)),
        "<h2>Routes</h2>" + KEY + scrolled(_routes_page(explained.routes)) if explained.routes else "",
        "<h2>Steps of the algorithm</h2>"
        + (scrolled(_steps_page(explained.steps)) if explained.steps else _said(explained.missing)),
        "<h2>Machine code</h2>" + facts(explained.code.items()) if explained.code else "",
        "<h2>The program</h2>" + _listing_page(explained.listing) if explained.listing else "",
    ]
    return whole(f"{printable(robot)}: {of.name}, {of.method}", [part for part in parts if part], STYLE)


def _summary(explained: Explained) -> str:
    c = explained.counts
    if c is None:
        return ""
    return _said(
        f"One state takes {c.mul:,} products, {c.add:,} sums, {c.div:,} reciprocals or roots, and the sine and cosine "
        f"of {c.sincos:,} angles, as {explained.form}; {explained.instructions:,} floating-point instructions are left "
        "when products and sums are contracted to multiply-adds."
    )


def _ports(inputs: Sequence[Port], outputs: Sequence[Port], sizes: Mapping[str, int]) -> str:
    rows = [
        [way, port.name, str(port.shape(sizes)).replace(",)", ")"), port.unit, port.doc]
        for way, ports in (("takes", inputs), ("answers", outputs))
        for port in ports
    ]
    cells = [[*map(text, row)] for row in rows]
    return _table(["", "name", "shape", "unit", "what"], cells, said=4)


def _routes_page(routes: Sequence[RouteFacts]) -> str:
    most = max((one.counts.arithmetic for one in routes if one.counts), default=1)
    rows = [[text(one.name), *_numbers(one.counts), _bar(one.counts, most), text(one.note)] for one in routes]
    return _table(["route", *Counts._fields, "", "why"], rows, said=6)


def _steps_page(steps: Sequence[StepFacts]) -> str:
    most = max((one.counts.arithmetic for one in steps), default=1)
    rows = [
        [text(one.step.name or "the route itself"), *_numbers(one.counts), _bar(one.counts, most), _where(one)]
        for one in steps
    ]
    return _table(["step", *Counts._fields, "", "what it computes, and its file"], rows, said=6)


def _where(counted: StepFacts) -> str:
    step = counted.step
    return (f"{text(step.says)} " if step.says else "") + (f"<code>{text(step.file)}</code>" if step.name else "")


def _numbers(counts: Counts | None) -> list[str]:
    return ["-"] * len(Counts._fields) if counts is None else [f"{n:,}" for n in counts]


def _bar(counts: Counts | None, most: int) -> str:
    if counts is None or not counts.arithmetic:
        return ""
    parts = (("mul", counts.mul), ("add", counts.add))
    return "".join(f'<span class="bar {kind}" style="width:{13 * n / most:.2f}em"></span>' for kind, n in parts)


def _listing_page(lines: Sequence[tuple[str, str]]) -> str:
    """A line an operation; where another step begins, its name."""
    shown, last = list[str](), ""
    for line, step in lines[:MOST]:
        if step and step != last:
            shown.append(f"<i># {text(step)}</i>")
            last = step
        shown.append(text(line))
    rest = len(lines) - MOST
    more = _said(f"{rest:,} further lines are left out.") if rest > 0 else ""
    return f"<details><summary>{len(lines):,} lines</summary><pre>{chr(10).join(shown)}</pre>{more}</details>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], said: int) -> str:
    """Cells are HTML. said: the column of sentences; the one before it has drawings, if it has no head."""
    styles = ["" if k != said else ' class="says"' for k in range(len(heads))]
    if said and not heads[said - 1]:
        styles[said - 1] = ' class="graph" style="text-align:left"'
    head = "".join(f"<th{style}>{escape(name)}</th>" for name, style in zip(heads, styles, strict=True))
    lines = [
        "<tr>" + "".join(f"<td{style}>{cell}</td>" for cell, style in zip(row, styles, strict=True)) + "</tr>"
        for row in rows
    ]
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def _said(said: str) -> str:
    return f"<p>{text(said)}</p>"
