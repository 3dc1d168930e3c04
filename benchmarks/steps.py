"""Steps, rollouts and open parameters: writes results/steps.json and STEPS.md.

    python -m benchmarks.steps [--parts rollout,derivatives,...] [--robots panda,iiwa14] [--quick]
    python -m benchmarks.steps --table     STEPS.md alone; with --check exit status 1 if it is out of date

float64 and one thread on one core unless said; the calls of a section take turns in one process. Rivals' answers are
compared with ours before anything is timed. What is not there is left out, and the page says why.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from benchmarks import results, steps_ground, steps_memory, steps_parts, steps_rollouts
from benchmarks.robots import chosen
from benchmarks.steps_common import FULL, QUICK, Plan
from benchmarks.steps_table import PATH, SOURCE, page

PARTS: dict[str, tuple[Callable[[Plan], dict[str, Any]], tuple[str, ...]]] = {
    "rollout": (steps_rollouts.rollout, ("panda", "iiwa14", "hyq-floating")),
    "threads": (steps_rollouts.threads, ("panda", "iiwa14")),
    "few": (steps_rollouts.few, ("panda", "iiwa14", "hyq-floating")),
    "kept": (steps_rollouts.kept, ("panda", "iiwa14")),
    "gradient": (steps_rollouts.gradient, ("panda",)),
    "memory": (steps_memory.memory, ("panda",)),
    "mjx": (steps_rollouts.mjx, ("iiwa14",)),
    "ground": (steps_ground.ground, ("hyq-floating",)),
    "derivatives": (steps_parts.derivatives, ("panda", "hyq-floating")),
    "linearisation": (steps_parts.linearisation, ("iiwa14",)),
    "tangent": (steps_parts.tangent, ("hyq-floating",)),
    "open": (steps_parts.open_inertias, ("panda", "iiwa14", "hyq-floating", "talos-reduced")),
}
"""What is measured, and of which robots."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), metavar=",".join(PARTS))
    parser.add_argument("--robots", default="", metavar="panda,iiwa14")
    parser.add_argument("--quick", action="store_true", help="short samples and small batches, nothing is written")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        return int(not PATH.exists() or PATH.read_text() != page())
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for part in () if options.table else parts:
        run(part, options.robots.split(",") if options.robots else (), options.quick)
    if not options.quick:
        PATH.write_text(page())
    return 0


def run(part: str, robots: tuple[str, ...] | list[str], quick: bool) -> None:
    measure, own = PARTS[part]
    for case in (case for case in chosen(own) if not robots or case.name in robots):
        found = measure(Plan(case, QUICK if quick else FULL, quick))
        shown = {name: f"{spread['minimum']:.4g}" for name, spread in found.get("ns", {}).items()}
        print(part, case.name, shown or found, *found.get("absent", {}).items(), flush=True)
        if not quick:
            results.merge(part, case.name, found, SOURCE)


if __name__ == "__main__":
    sys.exit(main())
