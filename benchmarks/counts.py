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
    about.pop("load")  # counts do not depend on the machine
    path = results.FOLDER / "operation_counts.json"
    results.write(path, {**about, "robots": {case.name: counts(case) for case in chosen(sys.argv[1:])}})
    print(f"wrote {path.relative_to(results.ROOT)}")


def counts(case: Case) -> dict[str, Any]:
    robot = case.load()
    rows = api.operation_counts(robot)
    for row in rows:
        print(f"{case.name:16s}" + "  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return {"nv": robot.nv, "fingerprint": robot.fingerprint, "counts": rows}


if __name__ == "__main__":
    main()
