"""The experiments of four papers, measured here and compared with the numbers that the papers print.

    python -m experiments NAME [--quick] [--only ROW] [--again]

NAME is a paper's folder, or `all`. Each row is saved in experiments/results/NAME.json with its commit and date as soon
as it is measured. Rows that are in the file are not measured again, so an interrupted run continues where it stopped.
The page is NAME.html beside the file. --quick measures a few short rows, always again, and writes them to
build/experiments/; these numbers are no statement about speed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments import page, runner
from experiments.papers import PAPERS


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", metavar="NAME", choices=(*PAPERS, "all"), help=", ".join((*PAPERS, "all")))
    parser.add_argument("--quick", action="store_true", help="a few short rows, to see that all of it runs")
    parser.add_argument("--only", default="", metavar="ROW", help="rows whose name begins so")
    parser.add_argument("--again", action="store_true", help="measure rows again that are there already")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        runner.here(options.name, options.row, options.quick, options.answer)
        return 0
    failed = 0
    for paper in PAPERS if options.name == "all" else (options.name,):
        bad, said = runner.run(paper, quick=options.quick, only=options.only, again=options.again)
        failed += bad
        for line in said:
            print(line, file=sys.stderr)
        file = runner.path(paper, options.quick)
        if file.exists():
            print(page.write(paper, file))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
