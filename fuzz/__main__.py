"""python -m fuzz NAME --seconds N: runs one fuzzer; exit status 1 if it found something."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from fuzz import runner


def main() -> int:
    known = runner.known()
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Hostile input, case by case.")
    parser.add_argument("name", choices=known, nargs="?", help="what to attack")
    parser.add_argument("--list", action="store_true", help="print the names, one a line")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the random numbers; by default a new one, which is printed")
    parser.add_argument("--case", type=int, help="run this one case in this process, for a debugger")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    options = parser.parse_args()
    if options.list:
        print("\n".join(known))
        return 0
    if options.name is None:
        parser.error(f"name what to attack: {', '.join(known)}")
    seed = runner.fresh_seed() if options.seed is None else options.seed
    if options.case is not None:
        runner.replay(options.name, seed, options.case)
        return 0
    outcome = runner.attack(options.name, seed, options.seconds)
    print(json.dumps(asdict(outcome)) if options.json else outcome)
    return 1 if outcome.found or not outcome.cases else 0


if __name__ == "__main__":
    sys.exit(main())
