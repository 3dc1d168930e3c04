"""Measures, and merges what was found into today's results file of this machine.

    python -m benchmarks.run [--robots panda,hyq] [--functions id,dfd] [--quick] [MEASUREMENT ...]

Without words: everything, for every robot. Each measurement is a file in benchmarks/measurements and says there what it
is. Runs may be split as one likes: numbers of another measurement or robot stay in the file.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.bench import Subject, every
from benchmarks.robots import Case, chosen
from condyle.cli.bound import Sampling

MEASUREMENTS = (
    "against",
    "outputs",
    "packed",
    "number_types",
    "batches",
    "one_state",
    "threads",
    "peak",
    "parts",
    "compiling",
)
FULL, QUICK = Sampling(samples=25, sample_s=0.002, longest_s=0.8), Sampling(samples=9, sample_s=0.001, longest_s=0.6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", nargs="*", metavar="MEASUREMENT", help=", ".join(MEASUREMENTS))
    parser.add_argument("--robots", type=_words, default=(), metavar="ROBOT,ROBOT")
    parser.add_argument("--functions", type=_words, default=(), metavar="id,dfd")
    parser.add_argument("--quick", action="store_true", help="short samples: for a look, not for the record")
    parser.add_argument("--into", type=Path, metavar="FILE", help="another results file than today's")
    options = parser.parse_args()
    if unknown := set(options.measurements) - set(MEASUREMENTS):
        parser.error(f"no measurement {', '.join(sorted(unknown))}; there are {', '.join(MEASUREMENTS)}")
    path = None
    for name in options.measurements or MEASUREMENTS:
        measure: Callable[[Subject], dict[str, Any]] = import_module(f"benchmarks.measurements.{name}").measure
        for case in chosen(options.robots):
            path = one(name, measure, case, options) or path
    print(f"wrote {path}" if path else "nothing was measured")


def one(
    name: str, measure: Callable[[Subject], dict[str, Any]], case: Case, options: argparse.Namespace
) -> Path | None:
    """One measurement of one robot."""
    start = time.monotonic()
    found = measure(Subject(case, every(options.functions), QUICK if options.quick else FULL))
    if not found:
        return None
    print(f"{name}, {case.name}: {time.monotonic() - start:.1f} s", flush=True)
    about = {"quick": True} if options.quick else {}
    return results.merge(name, case.name, {**about, **found}, options.into)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


if __name__ == "__main__":
    main()
