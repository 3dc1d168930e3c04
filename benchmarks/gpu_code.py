"""What GPU kernels take, without a GPU: instructions, registers, spilled and shared bytes, compile time.

    python -m benchmarks.gpu_code [iiwa14 | iiwa14-floating | ... | chains ...]

Needs the packages of condyle[cuda]. Writes results/gpu_code.json: all kernels of the three bundled robots, both bases,
both number types, for all architectures; and those whose lanes are links, of chains. What is recorded of the same text,
architecture and assembler is kept, so that only what has changed is assembled again.

"text": of the PTX, a hash, which the tests go by. "bytes": of the arrays of one state that are read and written.
"spilled_bytes": of a thread, that Condyle itself keeps in local memory; "spill_*_bytes": what the assembler adds to
that; "shared_bytes": of a warp, or of a block of links. "lanes": of one state, 1 for a thread a state.
"instructions": of the machine code, 16 bytes each; a group goes through those of its loop once every eight of its
"steps".
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import condyle
from benchmarks import results
from benchmarks.gpu_time import text_bytes
from condyle import api
from condyle.backends.common.facts import BITS, Facts
from condyle.backends.cuda.group.schedule import UNROLL
from condyle.backends.cuda.kernel import assemble, link_version
from condyle.backends.cuda.launches import Part
from condyle.backends.cuda.target import ARCHITECTURES, KNOWN_MULTIPROCESSORS, LINK_PARALLEL, WARP, Form
from condyle.compile.gpu import GpuFunction
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.links.compiler import LinkParallelCompiler
from condyle.model.tree import tree_of

PATH = results.FOLDER / "gpu_code.json"
ROBOTS = ("iiwa14", "hyq", "atlas")
CASES = [f"{name}{base}" for name in ROBOTS for base in ("", "-floating")]
CHAINS = "chains"
LINKS = (32, 1024)
LANES = (16, 32)
INSTRUCTION = 16

Row = dict[str, Any]


def main() -> None:
    for case in sys.argv[1:] or (*CASES, CHAINS):
        record(case)


def record(case: str, path: Path = PATH) -> None:
    """Puts the rows of one case into the file; what is known of the same text is not assembled again."""
    version = ".".join(map(str, link_version()))
    before: list[Row] = json.loads(path.read_text())["kernels"] if path.exists() else []
    known = {(row["arch"], row["text"]): row for row in before if row["nvjitlink"] == version}
    found: list[Row] = []
    for about, part in launches(case):
        for arch in ARCHITECTURES:
            row = known.get((arch, text_hash(part))) or {**assembled(part, arch), "nvjitlink": version}
            found.append({**about, **row, **about})  # what is said of it first
            print(*found[-1].values(), flush=True)
    mine = {(row["robot"], row["floating"]) for row in found}
    rows = [row for row in before if (row["robot"], row["floating"]) not in mine] + found
    results.write(path, {**results.certificate(), "kernels": sorted(rows, key=_place)})
    print(f"wrote {path}")


def launches(case: str) -> Iterator[tuple[Row, Part]]:
    """Every kernel of a case, and what it is: robot, base, bits, function, lanes a state, steps, bytes a state."""
    for about, part in _launches(case):
        yield {**about, "bytes": sum(array.size for array in (*part.reads, *part.writes)) * about["bits"] // 8}, part


def _launches(case: str) -> Iterator[tuple[Row, Part]]:
    name = case.removesuffix("-floating")
    for bits in BITS.values():
        for links in LINKS if case == CHAINS else ():
            for about, part in linked_kernels(condyle.chain(links, rng=1), bits):
                yield {"robot": f"chain {links}", "floating": False, "bits": bits, **about}, part
        if case != CHAINS:
            for about, part in kernels(condyle.load(name, floating_base=case != name), bits):
                yield {"robot": name, "floating": case != name, "bits": bits, **about}, part


def _place(row: Row) -> tuple[int, int, bool, int, int]:
    name, _, links = row["robot"].partition(" ")
    robot = ROBOTS.index(name) if name in ROBOTS else len(ROBOTS)
    return robot, int(links or 0), row["floating"], row["bits"], ARCHITECTURES.index(row["arch"])


def text_hash(part: Part) -> str:
    """Of the PTX of a launch: of all texts that it may be made from, in their order."""
    return hashlib.sha256("".join(text.ptx for text in part.texts).encode("ascii")).hexdigest()[:16]


def dtype_of(bits: int) -> str:
    (dtype,) = (name for name, number in BITS.items() if number == bits)
    return dtype


def kernels(robot: condyle.Robot, bits: int, groups: Sequence[int] = LANES) -> Iterator[tuple[Row, Part]]:
    """Every kernel of a robot; those that serve several functions come once. groups: lanes a state."""
    made, dtype = api.compiler_of(robot).gpu_kernels, dtype_of(bits)
    seen: set[str] = set()
    for name in DEFAULT:
        function = FUNCTIONS[name]
        usual = Form(1, made.usual(function))
        for part in GpuFunction(made, function, dtype, KNOWN_MULTIPROCESSORS).launches(usual).launches:
            if text_hash(part) not in seen:
                seen.add(text_hash(part))
                yield {"function": name, "lanes": 1, "steps": 0}, part
        for lanes in groups:
            part = made.part(function, dtype, lanes)
            (turns,) = re.findall(r"mov.u32 %rest, (\d+);\s*STEPS:", part.texts[0].ptx)
            yield {"function": name, "lanes": lanes, "steps": UNROLL * int(turns)}, part


def linked_kernels(robot: condyle.Robot, bits: int) -> Iterator[tuple[Row, Part]]:
    """Kernels whose lanes are links, or chunks of a chain, or entries of a matrix; each comes once."""
    compiler = LinkParallelCompiler(tree_of(robot), Facts(robot.nq, robot.nv))
    dtype = dtype_of(bits)
    seen: set[str] = set()
    for function in DEFAULT:
        for part in compiler.gpu(FUNCTIONS[function], dtype, KNOWN_MULTIPROCESSORS).launches(LINK_PARALLEL).launches:
            if text_hash(part) not in seen:
                seen.add(text_hash(part))
                lanes = part.texts[0].block or WARP // part.texts[0].states
                yield {"function": function, "lanes": lanes, "steps": 0}, part


def assembled(part: Part, arch: str) -> Row:
    """What the assembler makes of the launch for one architecture."""
    start = time.process_time()
    code = assemble(part, arch)
    return {
        "kernel": code.text.name,
        "arch": arch,
        "text": text_hash(part),
        "instructions": text_bytes(code.cubin) // INSTRUCTION,
        "order": code.text.order,
        "registers": code.usage.registers,
        "spilled_bytes": code.text.spilled,
        "spill_store_bytes": code.usage.spill_stores,
        "spill_load_bytes": code.usage.spill_loads,
        "shared_bytes": code.text.pool,
        "assembler_s": round(time.process_time() - start, 2),
    }


if __name__ == "__main__":
    main()
