"""The control of an accelerator and of its boundary for proofs: their own text, what they are made of by delays.

Arrays only delay; queues have two words; queues and credits have the shortest text that is one. For the boundary the
accelerator is a queue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from condyle.fpga.rtl.accelerator import Id, Leaf, Plan
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.emit_array import bits_of
from condyle.fpga.rtl.emit_axi import MACROS
from condyle.fpga.rtl.header import RETURNED_BITS
from condyle.fpga.rtl.schedule import Schedule
from condyle.fpga.rtl.stream import bus, queues, result_width, width

OPERATORS = (files("condyle.fpga.rtl") / "support" / "operators.v").read_text(encoding="ascii")
AXI = (files("condyle.fpga.rtl") / "support" / "axi.v").read_text(encoding="ascii")
WHOLE, QUEUE, BOUNDARY = (
    Path(__file__).with_name(name).read_text(encoding="ascii") for name in ("whole.v", "queue.v", "boundary.v")
)


def module(text: str, name: str) -> str:
    """The text of one module."""
    found = re.search(rf"^(?:\(\*[^\n]*\*\)\n)?module {name} .*?^endmodule\n", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[0]


def skeleton(acc: Accelerator, top: str) -> str:
    """All modules of the proof, `whole` above them. top: the text of the accelerator's own module `top`."""
    own = re.sub(r"(fx_queue #\(\d+), \d+, \d+\)", r"\1, 2, 1)", top)
    own = re.sub(r"fx_credits #\(\d+, \d+\)", "fx_credits #(2, 1)", own)
    stubs = [_stub(acc.plan, array, f"top_{name}") for name, array in acc.arrays.items()]
    helpers = [module(OPERATORS, name) for name in ("fx_copy", "fx_fit", "fx_outside")]
    return "".join([QUEUE, WHOLE.replace("SEEN", "\n    ".join(_seen(acc, own))), *helpers, *stubs, own])


def boundary_skeleton(acc: Accelerator, top: str) -> str:
    """All modules of the boundary's proof. top: the text of its own module `top_axi`."""
    own = re.sub(r"(fx_fifo #\([^,]+), \d+, \d+\)", r"\1, 2, 1)", top)
    bits = {"RETURNED": RETURNED_BITS, "CODE": acc.plan.id.code_bits}
    bits |= {"IN": width(bus(acc.plan)), "OUT": result_width(acc.plan)}
    core = BOUNDARY
    for name, text in MACROS.items():
        core = core.replace(name, str(text))
    for name, size in bits.items():
        core = core.replace(f"parameter {name} = 1", f"parameter {name} = {size}")
    names = ("fx_hold", "fx_beat", "fx_packets", "fx_transfers", "fx_marks", "fx_gather", "fx_spread")
    return "".join(
        [
            QUEUE,
            core,
            module(OPERATORS, "fx_fifo"),
            module(OPERATORS, "fx_copy"),
            *(module(AXI, name) for name in names),
            own,
        ]
    )


def sizes(acc: Accelerator) -> dict[str, int]:
    """Parameters of `whole`."""
    return {"CODE": acc.plan.id.code_bits, "DATA": width(bus(acc.plan))}


def _ages(array: Schedule) -> Mapping[str, int]:
    """Cycles from a task's entry to each group: 1, 2, ... in the array's own order."""
    taps = array.taps
    order = sorted(set(taps.values()))
    return {group: 1 + order.index(taps[group]) for group, _ in array.datapath.groups}


def _code(id_: Id, age: int, ids: str = "ids") -> str:
    low = (age - 1) * id_.width + RETURNED_BITS
    return f"{ids}[{low + id_.code_bits - 1}:{low}]"


def _stub(plan: Plan, array: Schedule, name: str) -> str:
    """An array that delays a task's tag and code and has no data."""
    id_, ages = plan.id.width, _ages(array)
    depth = max(ages.values())
    ports = ["input clock", "input reset", "input in_valid", "output in_ready", f"input [{id_ - 1}:0] in_id"]
    ports.append(f"input [{bits_of(array, array.datapath.inputs) - 1}:0] in_data")
    lines = [f"reg [{depth}:1] live;", f"reg [{depth * id_ - 1}:0] ids;", "assign in_ready = 1'b1;"]
    lines.append("always @(posedge clock) begin live <= reset ? 0 : {live, in_valid}; ids <= {ids, in_id}; end")
    for group, age in ages.items():
        ports += [f"output {group}_valid", f"output [{id_ - 1}:0] {group}_id"]
        ports.append(f"output [{bits_of(array, array.datapath.group(group)) - 1}:0] {group}_data")
        wants = " | ".join(
            f"{_code(plan.id, age)} == {code}" for code in plan.through(Leaf(array.datapath.name, group))
        )
        lines.append(f"assign {group}_valid = live[{age}] & ({wants}), {group}_data = 0;")
        lines.append(f"assign {group}_id = ids[{age * id_ - 1}:{(age - 1) * id_}];")
    return f"module {name} ({', '.join(ports)});\n    " + "\n    ".join(lines) + "\nendmodule\n"


def _seen(acc: Accelerator, top: str) -> Iterator[str]:
    """What the properties see inside, by names that yosys joins when it flattens; and `counted`, `moves`, `inside`."""
    names = re.findall(r"fx_queue #\([^)]*\) (\w+) \(", top)
    for name in names:
        yield _wire(f"{name}.count", 2)
        yield from (_wire(f"{name}.{one}", 1) for one in ("spills", "pop"))
    for name, array in acc.arrays.items():
        depth = max(_ages(array).values())
        yield from (_wire(f"{name}_array.live", depth), _wire(f"{name}_array.ids", depth * acc.plan.id.width))
    credits = dict(_credits(acc))
    for name in credits:
        yield _wire(f"{name}_credits.taken", 2)
    counted = [f"{_name(f'{name}_credits.taken')} == {_name(f'{name}.count')} + {far}" for name, far in credits.items()]
    yield _wire("picks", 1)
    yield _wire("granting", 1)
    yield _any("counted", "&", [*counted, *(f"~{_name(f'{name}.spills')}" for name in names)])
    live = [f"|{_name(f'{name}_array.live')}" for name in acc.arrays]
    yield _any("moves", "|", [*(_name(f"{name}.pop") for name in names), *live, _name("picks")])
    yield _any("inside", "|", [f"{_name(f'{name}.count')} != 0" for name in names])


def _credits(acc: Accelerator) -> Iterator[tuple[str, str]]:
    """Of each queue with credits how many words are on their way to it."""
    for name, ways in queues(acc.plan).items():
        array = acc.arrays[name]
        for way in ways:
            if not way.counted:
                yield way.name, " + ".join(_flying(acc.plan.id, name, way.codes, _ages(array)[way.leaf.group]))
    yield "merged", _name("granting")


def _flying(id_: Id, name: str, codes: tuple[int, ...], age: int) -> Iterator[str]:
    for k in range(1, age + 1):
        is_one = " | ".join(f"{_code(id_, k, _name(f'{name}_array.ids'))} == {code}" for code in codes)
        yield f"({_name(f'{name}_array.live')}[{k - 1}] & ({is_one}))"


def _name(inner: str) -> str:
    return f"\\dut.{inner} "


def _wire(inner: str, bits: int) -> str:
    return f"(* hierconn *) wire [{bits - 1}:0] {_name(inner)};"


def _any(name: str, operator: str, terms: list[str]) -> str:
    return f"wire {name} = " + f" {operator} ".join(f"({term})" for term in terms) + ";"
