"""Holds this tree against an earlier commit, or against what was kept in the repository.

    python -m tools.guard compare 04d0935                                    everything, all robots
    python -m tools.guard compare 04d0935 --what bits,texts --robots hyq,ur5
    python -m tools.guard compare 04d0935 --before /tmp/04d0935              installed there once, used again
    python -m tools.guard check --robots iiwa14                              without the history, on any machine
    python -m tools.guard keep                                               what `check` goes by from now on

`compare` runs both on the same machine, compiler and NumPy. bits: sha256 of the bytes of every answer, by robot,
target, number type and layout. counts: operation counts. texts: exported C, CUDA C++ and Verilog and the PTX of every
form, without comments, names of their own numbered; words such as the README's are not compared. times: calls, cold
compiles and the import, taken in turns, the best of many; 1 is equal, below 0.97 is slower than the noise of a quiet
machine explains. Large robots are asked for less (see cases.py). What an earlier commit has built is kept beside its
folder.

`check` and `keep`: counts and texts only, known answers left out, which depend on the machine; `check` goes through all
robots that were kept.

Exit status 1 if anything differs or a ratio of times is below `--least`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from benchmarks.robots import CASES as TIMED
from benchmarks.robots import Case
from condyle.cli.common import progress, table
from tools.guard import kept, tree
from tools.guard.cases import CASES, chosen
from tools.guard.compare import Found, Say, compare
from tools.guard.ratios import import_times, times

WHAT = ("bits", "counts", "texts", "times")


def main() -> int:
    options = _options()
    return options.run(options, chosen(_listed(options.robots)))


def _compare(options: argparse.Namespace, cases: Sequence[Case]) -> int:
    what = _listed(options.what)
    if unknown := [word for word in what if word not in WHAT]:
        raise SystemExit(f"--what: {unknown[0]!r} is not one of {', '.join(WHAT)}")
    functions, exact = _listed(options.functions), [word for word in what if word != "times"]
    found: list[Found] = []
    with tree.installed(options.commit, options.before) as before:
        if exact:
            found += _each(cases, lambda case, say: compare(before, case, functions, exact, say), options.jobs)
        ratios = [import_times(before, options.rounds)] if "times" in what else []
        for case in cases if "times" in what else ():
            if options.robots or case in TIMED:
                ratios += times(before, case, functions, options.rounds, lambda text: progress(text))
    progress("")
    differences = [one for part in found for one in part.differences]
    compared = sum(part.compared for part in found)
    slow = [one for one in ratios if one.ratio < options.least]
    if ratios:
        heads = ("robot", "function", "what", "before", "now", "before / now")
        print(table(heads, [one.row() for one in sorted(ratios, key=lambda one: one.ratio)]))
    if options.json:
        rows = {"differences": [one._asdict() for one in differences], "times": [one._asdict() for one in ratios]}
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"{len(differences)} of {compared} differ; {len(slow)} of {len(ratios)} times below {options.least:g}")
    return 1 if slow or differences else 0


def _check(options: argparse.Namespace, cases: Sequence[Case]) -> int:
    cases = cases if options.robots else [case for case in cases if case.name in kept.read()]
    found = _each(cases, lambda case, say: Found(1, kept.differences(case, say)), options.jobs)
    wrong = sum(bool(part.differences) for part in found)
    print(f"{wrong} of {len(cases)} robots differ")
    return 1 if wrong else 0


def _keep(options: argparse.Namespace, cases: Sequence[Case]) -> int:
    made: dict[str, kept.Kept] = {}

    def one(case: Case, say: Say) -> Found:
        made[case.name] = kept.kept(case, say=say)
        return Found(1, [])

    _each(cases, one, options.jobs)
    kept.write(made, [case.name for case in CASES])
    return 0


def _each(cases: Sequence[Case], one: Callable[[Case, Say], Found], jobs: int) -> list[Found]:
    """Of every case, some at a time; differences are shown as they are found."""
    found: list[Found] = []
    with ThreadPoolExecutor(jobs) as pool:
        for case in as_completed([pool.submit(one, case, _say(case, found, len(cases))) for case in cases]):
            found.append(case.result())
            for row in found[-1].differences:
                progress("")
                print(*row, flush=True)
    progress("")
    return found


def _say(case: Case, found: Sequence[Found], of: int) -> Say:
    return lambda text: progress(f"{case.name}, {text}", len(found), of)


def _listed(words: str) -> list[str]:
    return [word for word in words.split(",") if word]


def _options() -> argparse.Namespace:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m tools.guard", description=__doc__, formatter_class=formatter)
    commands = parser.add_subparsers(required=True)
    robots = argparse.ArgumentParser(add_help=False)
    robots.add_argument("--jobs", type=int, default=os.cpu_count(), help="robots at a time (%(default)s); times alone")
    robots.add_argument("--robots", default="", help=f"of {', '.join(case.name for case in CASES)}; by default all")
    command = commands.add_parser("compare", parents=[robots], help="this tree against a commit")
    command.set_defaults(run=_compare)
    command.add_argument("commit", help="any name that git knows")
    command.add_argument("--functions", default="", help="short names; by default all that both trees have")
    command.add_argument("--what", default=",".join(WHAT), help="by default %(default)s")
    command.add_argument("--rounds", type=int, default=15, help="samples of each time; the best counts (%(default)s)")
    command.add_argument("--least", type=float, default=0.97, help="the ratio of times that passes (%(default)s)")
    command.add_argument("--before", type=Path, help="folder of the earlier commit: installed there once, used again")
    command.add_argument("--json", type=Path, help="write all differences and times to this file too")
    commands.add_parser("check", parents=[robots], help="this tree against what was kept").set_defaults(run=_check)
    commands.add_parser("keep", parents=[robots], help="keep what this tree writes").set_defaults(run=_keep)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
