"""What it costs to build all seven functions from nothing, a thread a state, and the limits of that code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from condyle.backends.cuda.kernel import link_version
from condyle.errors import BuildError
from tests.backends.cuda.machine_code import hold
from tests.processor import slow

SECONDS = {"iiwa14": 2.0, "atlas": 18.0}
"""Of one core, float32, sm_90: what this project wants on a quiet machine of today."""
BUSY = 2.5
"""Cores that are shared take so many times as much time of the processor for the same work."""
WORK = """
import json, sys, time
import condyle
from benchmarks.first_calls import peak_mb
from benchmarks.gpu_code import assembled, kernels
start = time.process_time()
rows = [{**about, **assembled(part, "sm_90")} for about, part in kernels(condyle.load(sys.argv[1]), 32, ())]
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "mb": peak_mb(), "rows": rows}))
"""

try:
    link_version()
except BuildError as error:
    pytest.skip(str(error), allow_module_level=True)


@pytest.mark.slow  # it builds a kernel from nothing
@pytest.mark.parametrize("name", ["iiwa14", slow("atlas")])
def test_built_from_nothing(name: str) -> None:
    found = built(name)
    assert found["seconds"] <= BUSY * SECONDS[name]
    assert found["mb"] < 2048
    assert len(found["rows"]) >= 6  # the product of split functions is one of them
    for row in found["rows"]:
        hold(row, row["function"], "sm_90", 32, False, 1)


def built(name: str) -> dict[str, Any]:
    """In a process of its own, without the cache: nothing is known yet."""
    root = Path(__file__).parents[3]
    path = os.pathsep.join([str(root / "src"), str(root)])
    done = subprocess.run(
        [sys.executable, "-c", WORK, name],
        env={**os.environ, "CONDYLE_NO_CACHE": "1", "PYTHONPATH": path},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])
