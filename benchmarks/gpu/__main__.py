"""Checks and times target "cuda" on a machine with a GPU, in two runs of five minutes at most.

    python -m benchmarks.gpu prepare       without a GPU: builds what the runs take along, in .gpu; takes hours
    python -m benchmarks.gpu run 1         on the GPU: correctness, then times
    python -m benchmarks.gpu run 2         on the GPU: other libraries, tools of CUDA, GRiD, MJX
    python -m benchmarks.gpu keep FOLDER   makes the receipt and the times of results/ from the rows of both runs
    python -m benchmarks.gpu check         without a GPU: which kernels of this tree the receipt does not have

A run needs no network: Python with NumPy, cuda-bindings and nvidia-nvjitlink; what else is missing is left out, and its
rows say so. Each part is a process with a limit in seconds, and adds its rows to OUT/run1.jsonl as they come; what the
parts print is in OUT/run1.log.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.gpu import prepare
from benchmarks.gpu.prepare import TRAVELS


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    prepare.fill(commands.add_parser("prepare"))
    command = commands.add_parser("run")
    command.add_argument("which", choices=("1", "2"))
    command.add_argument("--out", type=Path, default=TRAVELS / "out", help="the folder of the rows (%(default)s)")
    command = commands.add_parser("part", description="One part in this process.")
    command.add_argument("name")
    command.add_argument("rows", type=Path, help="the file that its rows are added to")
    command.add_argument(
        "--for-arch", metavar="SM", help="without a GPU: kernels are assembled, or with '' only written"
    )
    commands.add_parser("keep").add_argument("folder", type=Path, nargs="?", default=TRAVELS / "out")
    command = commands.add_parser("check")
    command.add_argument("--write", action="store_true", help="write the part of docs/how-to/gpu.md")
    chosen = parser.parse_args(words)
    if chosen.command == "run":
        prepare.unpack()  # before the package is imported
    from benchmarks.gpu import parts, receipt

    if chosen.command == "prepare":
        return prepare.prepare(chosen, parts.save_references, parts.assemble)
    if chosen.command == "run":
        return parts.run(parts.RUNS[chosen.which], chosen.out / f"run{chosen.which}.jsonl")
    if chosen.command == "part":
        return parts.part(chosen.name, chosen.rows, chosen.for_arch)
    return receipt.keep(chosen.folder) if chosen.command == "keep" else receipt.check(parts.texts, chosen.write)


if __name__ == "__main__":
    sys.exit(main())
