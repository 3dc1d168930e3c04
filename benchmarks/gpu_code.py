"""What GPU kernels take, without a GPU: instructions, registers, spills, parked and shared bytes, compile time.

    python -m benchmarks.gpu_code [ROBOT ...]

Needs the packages of condyle[cuda]. Writes results/gpu_code.json. "parked_bytes": of a thread, that Condyle itself
keeps in local memory; "spill_*_bytes": what the assembler adds to that; "shared_bytes": of a warp. "lanes": of one
state, 1 for a thread a state. "instructions": of the machine code, 16 bytes each; a group goes through those of its
loop once every eight of its "steps".
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks import results
from benchmarks.gpu_time import text_bytes
from condyle import api
from condyle.backends.cuda.assemble import assemble
from condyle.backends.cuda.group.schedule import group
from condyle.backends.cuda.link import link_version
from condyle.backends.cuda.parts import Part, grouped, parts, straight
from condyle.backends.cuda.target import ARCHITECTURES
from condyle.ir.program import Program
from condyle.signature import FUNCTIONS

CASES = [
    *((False, 32, arch) for arch in ARCHITECTURES),
    (False, 64, "sm_90"),
    (True, 32, "sm_90"),
    (True, 64, "sm_90"),
]
"""Floating base, bits, architecture."""

LANES = (16, 32)
INSTRUCTION = 16


def main() -> None:
    import condyle

    found: dict[str, Any] = {**results.certificate(), "nvjitlink": ".".join(map(str, link_version())), "kernels": []}
    for name in sys.argv[1:] or ("iiwa14", "hyq", "atlas"):
        for floating, bits, arch in CASES:
            if floating and name == "iiwa14":
                continue
            robot = condyle.load(name, floating_base=floating)
            found["kernels"] += [dict(robot=name, floating=floating, **row) for row in kernels(robot, bits, arch)]
    path = results.FOLDER / "gpu_code.json"
    results.write(path, found)
    print(f"wrote {path.relative_to(results.ROOT)}")


def kernels(robot: api.Robot, bits: int, arch: str, groups: Sequence[int] = LANES) -> list[dict[str, Any]]:
    """One row a kernel; those that serve several functions come once. groups: lanes a state, of groups."""
    compiler = api.compiler_of(robot)
    made: dict[str, Part] = {}

    def code(name: str) -> Program:
        program = compiler.code(name, False)
        assert isinstance(program, Program)
        return program

    def one(name: str) -> Part:
        if name not in made:
            made[name] = straight(code(name), bits)
        return made[name]

    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    for function in FUNCTIONS:
        for part in parts(function, code, one, bits).launches:
            if part.texts[0].ptx in seen:
                continue
            seen.add(part.texts[0].ptx)
            rows.append(row(function, part, bits, arch))
            print(robot.name, *rows[-1].values(), flush=True)
        for lanes in groups:
            steps = len(group(code(function), lanes).steps)
            rows.append(row(function, grouped(code(function), lanes, bits), bits, arch, lanes, steps))
            print(robot.name, *rows[-1].values(), flush=True)
    return rows


def row(function: str, part: Part, bits: int, arch: str, lanes: int = 1, steps: int = 0) -> dict[str, Any]:
    start = time.perf_counter()
    code = assemble(part, arch)
    return {
        "function": function,
        "kernel": code.text.name,
        "bits": bits,
        "arch": arch,
        "lanes": lanes,
        "steps": steps,
        "instructions": text_bytes(code.cubin) // INSTRUCTION,
        "order": code.text.order,
        "registers": code.usage.registers,
        "parked_bytes": code.text.parked,
        "spill_store_bytes": code.usage.spill_stores,
        "spill_load_bytes": code.usage.spill_loads,
        "shared_bytes": code.text.pool,
        "assembler_s": round(time.perf_counter() - start, 2),
    }


if __name__ == "__main__":
    main()
