"""Where the tests of a source file are: `python -m tests.where backends/cpu/loops.py` prints the places.

The tests of `src/condyle/a/b.py` are in `tests/a/test_b.py` or in `tests/test_b.py`; else in the folder `tests/a`, or
in what the table names for the file or for the nearest folder around it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent

WHERE: Mapping[str, tuple[str, ...]] = {
    "__init__": ("tests/test_golden.py", "tests/test_imports.py"),
    "__main__": ("tests/cli/test_main.py",),
    "api": ("tests/test_golden.py", "tests/test_options.py", "tests/test_messages.py"),
    "algorithms": ("tests/algorithms", "tests/laws", "tests/contacts"),
    "algorithms/drives": ("tests/drives", "tests/steps"),
    "algorithms/stepping": ("tests/steps",),
    "backends/added": ("tests/test_extending.py",),
    "backends/c/rolled": ("tests/trace/test_joint_loops.py",),
    "backends/casadi": ("tests/interop",),
    "backends/common": (
        "tests/backends/common",
        "tests/backends/test_operations.py",
        "tests/backends/cpu",
        "tests/backends/c",
    ),
    "backends/cuda/time_loop": ("tests/rollouts/test_cuda.py", "tests/rollouts/test_cuda_export.py"),
    "calls": ("tests/test_api.py", "tests/test_messages.py", "tests/test_user_errors.py", "tests/test_smoke.py"),
    "calls/dynamics": (
        "tests/test_api.py",
        "tests/test_messages.py",
        "tests/test_user_errors.py",
        "tests/test_mapping.py",
        "tests/test_journals.py",
    ),
    "calls/gpu": ("tests/gpu",),
    "calls/mapping": ("tests/test_mapping.py", "tests/test_journals.py"),
    "runtime/packed": ("tests/runtime/test_packed_checks.py",),
    "calls/rollouts": ("tests/rollouts", "tests/test_user_errors.py"),
    "compile": ("tests/test_options.py", "tests/test_routing.py", "tests/test_links.py"),
    "compile/gpu": ("tests/gpu", "tests/test_options.py"),
    "compile/targets": ("tests/test_options.py", "tests/test_other_systems.py"),
    "cli/explanation": ("tests/cli/test_explain.py",),
    "exports": (
        "tests/exports",
        "tests/test_projects.py",
        "tests/backends/common/test_package.py",
        "tests/cli/test_export.py",
    ),
    "exports/externals": ("tests/interop/test_casadi.py", "tests/exports/test_projects.py"),
    "fpga": ("tests/fpga",),
    "fpga/plans": (
        "tests/fpga",
        "tests/fpga/rtl/test_accuracy.py",
        "tests/fpga/rtl/test_boundary.py",
        "tests/fpga/rtl/test_export.py",
    ),
    "fpga/box": ("tests/fpga", "tests/fpga/rtl/test_accuracy.py"),
    "fpga/rtl": ("tests/fpga/rtl",),
    "fpga/simulation": ("tests/fpga/rtl/test_rtl.py",),
    "functions": ("tests/functions", "tests/laws", "tests/derivatives"),
    "functions/contact_steps": ("tests/contacts",),
    "functions/contact_sweeps": ("tests/contacts",),
    "functions/contacts": ("tests/contacts", "tests/functions", "tests/drives"),
    "functions/step_derivatives": ("tests/steps", "tests/contacts"),
    "functions/steps": ("tests/steps", "tests/contacts"),
    "functions/constraints": ("tests/contacts", "tests/functions"),
    "functions/added": ("tests/test_extending.py",),
    "jobs/closures": ("tests/contacts/test_closing.py",),
    "links": ("tests/links", "tests/test_links.py", "tests/laws/test_rotors.py", "tests/test_singular.py"),
    "ir/interp": ("tests/trace", "tests/backends/test_segments.py"),
    "links/algorithms": ("tests/algorithms/parallel", "tests/links"),
    "links/cuda": (
        "tests/links",
        "tests/backends/cuda/test_links.py",
        "tests/backends/cuda/test_linked.py",
        "tests/test_links.py",
    ),
    "links/trace": ("tests/trace/parallel", "tests/links"),
    "model/physical": ("tests/parameters",),
    "model/robot": ("tests/test_identity.py",),
    "model/contact": ("tests/contacts",),
    "model/joints/increments": ("tests/derivatives/test_edges.py",),
    "operations": ("tests/backends/test_operations.py",),
    "passes/elementary": ("tests/passes", "tests/backends/test_operations.py"),
    "readers": ("tests/readers", "tests/hostile"),
    "runtime/cuda": ("tests/gpu",),
    "scalar": ("tests/ir/test_expr.py",),
    "specification": ("tests/laws/test_specification.py", "tests/functions"),
    "specification/integrators": ("tests/steps", "tests/test_options.py"),
    "specification/names": ("tests/functions/test_short_names.py",),
    "specification/routes": ("tests/algorithms/test_routes.py",),
    "trace": ("tests/trace", "tests/laws"),
    "text": ("tests/test_text.py",),
    "text/pages": ("tests/test_text.py", "tests/cli/test_bench.py", "tests/view/test_page.py"),
    "user/traced": ("tests/user", "tests/test_identity.py"),
    "version": ("tests/cli/test_main.py",),
}
"""Parts of `src/condyle` whose tests have another name: a folder wherever one row says it for all its files."""


def places(source: str) -> tuple[str, ...]:
    """The files and folders with the tests of a module or a folder of `src/condyle`, the nearest first; none if no row
    and no name says it."""
    path = PurePosixPath(source.removesuffix(".py"))
    files = (f"tests/{path.parent}/test_{path.name}.py", f"tests/test_{path.name}.py")
    by_name = tuple(file for file in dict.fromkeys(map(normal, files)) if (ROOT / file).is_file())
    for part in (path, *path.parents[:-1]):
        if str(part) in WHERE:
            return by_name + WHERE[str(part)]
        if (ROOT / "tests" / part).is_dir():
            return (*by_name, f"tests/{part}")
    return by_name


def normal(file: str) -> str:
    return str(PurePosixPath(file))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print("\n".join(places(name.removeprefix("src/condyle/"))) or f"{name}: no tests; add a row to tests/where.py")
