"""python -m tools.guard compare COMMIT: call and cold compile times of the seven functions, then and now, in turns.

Prints a table of ratios, then over now: 1 is equal, below 0.97 is slower than the noise of a quiet machine explains.
Exit status 1 if any ratio is below `--least`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.robots import CASES, chosen
from condyle.cli.common import progress, table
from condyle.functions import FUNCTIONS
from tools.guard import tree
from tools.guard.compare import Ratio, compare


def main() -> int:
    options = _options()
    cases = chosen([name for name in options.robots.split(",") if name])
    functions = [name for name in options.functions.split(",") if name]
    found: list[Ratio] = []
    with tree.installed(options.commit) as before:
        for done, case in enumerate(cases):
            progress(case.name, done, len(cases))
            found += compare(before, case, functions, options.rounds)
    progress("")
    heads = ("robot", "function", "what", "before", "now", "before / now")
    print(table(heads, [one.row() for one in sorted(found, key=lambda one: one.ratio)]))
    if options.json:
        options.json.write_text(json.dumps([one._asdict() for one in found], indent=1) + "\n")
    slow = [one for one in found if one.ratio < options.least]
    print(f"{len(slow)} of {len(found)} below {options.least:g}")
    return 1 if slow else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.guard", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("compare", help="this tree against a commit")
    command.add_argument("commit", help="any name that git knows")
    command.add_argument("--robots", default="", help=f"of {', '.join(case.name for case in CASES)}; by default all")
    command.add_argument("--functions", default=",".join(FUNCTIONS), help="by default all seven")
    command.add_argument("--rounds", type=int, default=15, help="samples of each; the best counts (%(default)s)")
    command.add_argument("--least", type=float, default=0.97, help="the ratio that passes (%(default)s)")
    command.add_argument("--json", type=Path, help="write all numbers to this file too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
