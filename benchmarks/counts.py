"""Operations of every function of some robots: writes results/operation_counts.json.

    python -m benchmarks.counts [ROBOT ...]

mul and add are counted before multiply-adds are contracted, instructions after.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks import results
from benchmarks.robots import Case, chosen
from condyle import api


def main() -> None:
    about = results.certificate()
    about.pop("machine")  # counts do not depend on it
    found: dict[str, Any] = {**about, "robots": {case.name: counts(case) for case in chosen(sys.argv[1:])}}
    print(f"wrote {results.write(found, 'operation_counts.json').relative_to(results.ROOT)}")


def counts(case: Case) -> dict[str, Any]:
    rows = api.operation_counts(case.robot)
    for row in rows:
        print(f"{case.name:16s}" + "  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return {"nv": case.robot.nv, "fingerprint": case.robot.fingerprint, "counts": rows}


if __name__ == "__main__":
    main()
