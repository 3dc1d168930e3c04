"""Puts what yosys counted into report.json. `make count` runs it in the folder of an accelerator."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

LUTS = {
    **dict.fromkeys(("LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6", "INV", "SRL16E", "SRLC32E", "RAM64X1S"), 1),
    **dict.fromkeys(("RAM64X1D", "RAM128X1S"), 2),
    **dict.fromkeys(("RAM32M", "RAM64M", "RAM128X1D", "RAM256X1S"), 4),
    **dict.fromkeys(("RAM32M16", "RAM64M8", "RAM32X16DR8", "RAM64X8SW", "RAM256X1D", "RAM512X1S"), 8),
}
"""Look-up tables of six inputs that a cell takes; that two small functions fit into one is not counted."""
FLIP_FLOPS: dict[str, int] = dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), 1)
DSPS = {"DSP48E2": 1}
IN_DSP = "P"
"""A flip-flop of a product. It is one of the DSP48E2's own, which yosys does not use on UltraScale+."""
REST = ("BUFG", "CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9", "RAMB18E2", "RAMB36E2")


class Design:
    """The modules of yosys' `stat -json`, each synthesised once; a count is that of all instances."""

    def __init__(self, stat: dict[str, Any]) -> None:
        self.own = {name.lstrip("\\"): module["num_cells_by_type"] for name, module in stat["modules"].items()}
        for name, cells in self.own.items():
            if name.rpartition("\\")[2] == "fx_product":
                self.own[name] = {IN_DSP if cell in FLIP_FLOPS else cell: n for cell, n in cells.items()}
        self.known: dict[str, Counter[str]] = {}

    def cells(self, module: str) -> Counter[str]:
        """By type, in the module and all that stands in it."""
        if module not in self.known:
            found: Counter[str] = Counter()
            for kind, n in self.own[module].items():
                below = self.cells(kind) if kind in self.own else {kind: 1}
                found.update({cell: n * m for cell, m in below.items()})
            self.known[module] = found
        return self.known[module]

    def counts(self, module: str) -> dict[str, int]:
        """lut, ff, ff_of_products (not in ff) and dsp of all that stands in a module."""
        cells = self.cells(module)
        unknown = set(cells) - {*LUTS, *FLIP_FLOPS, *DSPS, IN_DSP, *REST}
        if unknown:
            sys.exit(f"count.py does not know how much {', '.join(sorted(unknown))} takes: add it to LUTS or REST")
        return {
            "lut": weigh(cells, LUTS),
            "ff": weigh(cells, FLIP_FLOPS),
            "ff_of_products": cells[IN_DSP],
            "dsp": weigh(cells, DSPS),
        }


def weigh(cells: Counter[str], weights: dict[str, int]) -> int:
    return sum(n * weights.get(cell, 0) for cell, n in cells.items())


def main() -> int:
    stat, report = (json.loads(Path(name).read_text(encoding="utf-8")) for name in ("count.json", "report.json"))
    design, name = Design(stat), report["name"]
    whole = design.counts(name)
    if whole["dsp"] != report["totals"]["dsp"]:
        sys.exit(f"yosys found {whole['dsp']} DSPs, report.json says {report['totals']['dsp']}: nothing written")
    arrays = {array: design.counts(f"{name}_{array}") for array in report["arrays"]}
    for what in ("lut", "ff", "ff_of_products"):
        report["totals"][what] = whole[what]
        for array, counted in arrays.items():
            report["arrays"][array][what] = counted[what]
        for function in report["functions"].values():
            function[what] = sum(arrays[array][what] for array in function["arrays"])
    report["tools"]["yosys"] = stat["creator"].partition(" (")[0]
    Path("report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for place, counted in {name: whole, **arrays}.items():
        print(place, *(f"{what} {n}" for what, n in counted.items()), sep="  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
