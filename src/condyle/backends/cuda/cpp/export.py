"""A robot's functions as a CUDA project: one header, an example that checks itself, CMakeLists.txt, README.md."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from condyle.backends.common.facts import Facts, Vectors
from condyle.backends.common.owned import write_owned
from condyle.backends.common.readme import Coordinates
from condyle.backends.cuda.cpp.body import Joints
from condyle.backends.cuda.cpp.header import header
from condyle.backends.cuda.cpp.plan import plan
from condyle.backends.cuda.cpp.project import cmake, example, known, readme
from condyle.backends.cuda.parts import Composed
from condyle.ir.program import Program


def export_cuda(
    functions: Sequence[Composed],
    programs: Mapping[str, Program],
    facts: Facts,
    joints: Joints,
    out: Path,
    vectors: Mapping[str, Vectors],
    robot: Mapping[str, object],
    coordinates: Sequence[Coordinates],
) -> list[Path]:
    """Writes NAME.cuh, example.cu, known.h, CMakeLists.txt, README.md, robot.json and the manifest; returns
    the files.

    Only files that an export wrote are replaced: see `write_owned`. programs: of all that the functions call.
    vectors: of each function, in float64. robot: names for people, never in code; coordinates: the order of the
    joints, for the README.
    Raises UnsupportedError for what CUDA C++ cannot say.
    """
    found = plan(functions, programs)
    texts = {
        f"{facts.name}.cuh": header(found, facts, joints),
        "known.h": known(found, vectors),
        "example.cu": example(found, facts),
        "CMakeLists.txt": cmake(facts),
        "README.md": readme(found, facts, coordinates),
        "robot.json": json.dumps(robot, indent=1, sort_keys=True, allow_nan=False) + "\n",
    }
    return write_owned(out, texts)
