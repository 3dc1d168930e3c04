"""Holds this tree against an earlier commit, on the same machine, compiler and NumPy.

    python -m tools.guard compare 04d0935                                    everything, all robots
    python -m tools.guard compare 04d0935 --what bits,texts --robots hyq,ur5
    python -m tools.guard compare 04d0935 --before /tmp/04d0935              installed there once, used again

bits: sha256 of the bytes of every answer, by robot, target, number type and layout. counts: operation counts. texts:
exported C, CUDA C++ and Verilog and the PTX of every form, without comments, names of their own numbered. times: calls,
cold compiles and the import, taken in turns, the best of many; 1 is equal, below 0.97 is slower than the noise of a
quiet machine explains. Exit status 1 if anything differs or a ratio is below `--least`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from condyle.cli.common import progress, table
from tools.guard import tree
from tools.guard.cases import CASES, chosen
from tools.guard.compare import Difference, Ratio, compare, import_times

WHAT = ("bits", "counts", "texts", "times")


def main() -> int:
    options = _options()
    what, cases = _listed(options.what), chosen(_listed(options.robots))
    if unknown := [word for word in what if word not in WHAT]:
        raise SystemExit(f"--what: {unknown[0]!r} is not one of {', '.join(WHAT)}")
    compared, differences, ratios = 0, list[Difference](), list[Ratio]()
    with tree.installed(options.commit, options.before) as before:
        if "times" in what:
            ratios.append(import_times(before, options.rounds))
        for done, case in enumerate(cases):
            found = compare(
                before,
                case,
                _listed(options.functions),
                what,
                options.rounds,
                lambda text, case=case, done=done: progress(f"{case.name} {text}", done, len(cases)),
            )
            for one in found.differences:
                progress("")
                print(*one, flush=True)
            compared += found.compared
            differences += found.differences
            ratios += found.ratios
    progress("")
    if ratios:
        heads = ("robot", "function", "what", "before", "now", "before / now")
        print(table(heads, [one.row() for one in sorted(ratios, key=lambda one: one.ratio)]))
    slow = [one for one in ratios if one.ratio < options.least]
    if options.json:
        rows = {"differences": [one._asdict() for one in differences], "times": [one._asdict() for one in ratios]}
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"{len(differences)} of {compared} differ; {len(slow)} of {len(ratios)} times below {options.least:g}")
    return 1 if slow or differences else 0


def _listed(words: str) -> list[str]:
    return [word for word in words.split(",") if word]


def _options() -> argparse.Namespace:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m tools.guard", description=__doc__, formatter_class=formatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("compare", help="this tree against a commit")
    command.add_argument("commit", help="any name that git knows")
    command.add_argument("--robots", default="", help=f"of {', '.join(case.name for case in CASES)}; by default all")
    command.add_argument("--functions", default="", help="short names; by default all that both trees have")
    command.add_argument("--what", default=",".join(WHAT), help="by default %(default)s")
    command.add_argument("--rounds", type=int, default=15, help="samples of each time; the best counts (%(default)s)")
    command.add_argument("--least", type=float, default=0.97, help="the ratio of times that passes (%(default)s)")
    command.add_argument("--before", type=Path, help="folder of the earlier commit: installed there once, used again")
    command.add_argument("--json", type=Path, help="write all differences and times to this file too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
