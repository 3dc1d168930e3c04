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
    "algorithms": ("tests/algorithms", "tests/laws", "tests/contacts", "tests/functions"),
    "algorithms/__init__": ("tests/test_imports.py",),
    "algorithms/drives": ("tests/drives", "tests/steps"),
    "algorithms/stepping": ("tests/steps",),
    "api": ("tests/test_golden.py", "tests/test_options.py", "tests/test_messages.py"),
    "backends/added": ("tests/test_extending.py",),
    "backends/c": (
        "tests/backends/c",
        "tests/test_golden.py",
        "tests/backends/test_segments_text.py",
        "tests/backends/test_segments.py",
        "tests/backends/test_held.py",
        "tests/backends/test_operations.py",
        "tests/trace/test_joint_loops.py",
        "tests/rollouts/test_c.py",
        "tests/exports/test_schedules.py",
        "tests/jobs/test_embedded.py",
    ),
    "backends/casadi": (
        "tests/interop/test_casadi.py",
        "tests/interop/test_casadi_contacts.py",
        "tests/interop/test_casadi_names.py",
        "tests/interop/test_casadi_saved.py",
        "tests/interop/test_casadi_symbols.py",
    ),
    "backends/common": (
        "tests/backends/common",
        "tests/test_golden.py",
        "tests/backends/test_segments_text.py",
        "tests/backends/test_operations.py",
        "tests/trace/test_joint_loops.py",
        "tests/backends/test_segments.py",
        "tests/symbolic/test_random_numbers.py",
        "tests/backends/cpu",
        "tests/backends/c",
    ),
    "backends/cpu": (
        "tests/backends/cpu",
        "tests/backends/test_segments_text.py",
        "tests/backends/test_segments.py",
        "tests/backends/test_operations.py",
        "tests/trace/parallel/test_segments.py",
        "tests/backends/test_held.py",
    ),
    "backends/cuda": (
        "tests/backends/cuda",
        "tests/gpu",
        "tests/test_golden.py",
        "tests/backends/test_segments.py",
        "tests/backends/test_operations.py",
        "tests/rollouts/test_cuda.py",
        "tests/rollouts/test_cuda_export.py",
    ),
    "calls": (
        "tests/test_calls.py",
        "tests/test_api.py",
        "tests/test_messages.py",
        "tests/test_user_errors.py",
        "tests/test_smoke.py",
    ),
    "calls/dynamics": (
        "tests/test_calls.py",
        "tests/test_api.py",
        "tests/test_messages.py",
        "tests/test_user_errors.py",
        "tests/test_mapping.py",
        "tests/test_journals.py",
    ),
    "calls/gpu": ("tests/gpu",),
    "calls/mapping": ("tests/test_calls.py", "tests/test_mapping.py", "tests/test_journals.py"),
    "calls/rollouts": ("tests/rollouts", "tests/test_user_errors.py"),
    "cli/explanation": ("tests/cli/test_explain.py",),
    "compile": (
        "tests/test_calls.py",
        "tests/test_targets.py",
        "tests/test_options.py",
        "tests/test_routing.py",
        "tests/test_links.py",
    ),
    "compile/gpu": ("tests/gpu", "tests/test_options.py"),
    "compile/kernels/composed": ("tests/test_routing.py", "tests/rollouts"),
    "compile/kernels/scheduled": ("tests/jobs/test_optimal_control.py",),
    "compile/kernels/scheduled_gpu": ("tests/gpu",),
    "compile/options": ("tests/test_compile_options.py", "tests/test_options.py", "tests/test_user_errors.py"),
    "compile/targets": ("tests/test_targets.py", "tests/test_options.py", "tests/test_other_systems.py"),
    "derivatives": ("tests/derivatives", "tests/functions"),
    "exports": (
        "tests/exports",
        "tests/test_projects.py",
        "tests/backends/common/test_package.py",
        "tests/cli/test_export.py",
        "tests/test_golden.py",
        "tests/test_extending.py",
    ),
    "exports/externals": ("tests/interop/test_casadi.py", "tests/exports/test_projects.py"),
    "fpga": ("tests/fpga",),
    "fpga/box": ("tests/fpga", "tests/fpga/rtl/test_accuracy.py"),
    "fpga/plans": (
        "tests/fpga",
        "tests/fpga/rtl/test_accuracy.py",
        "tests/fpga/rtl/test_boundary.py",
        "tests/fpga/rtl/test_export.py",
    ),
    "fpga/rtl": ("tests/fpga/rtl", "tests/fpga/test_options.py"),
    "fpga/simulation": ("tests/fpga/rtl/test_rtl.py",),
    "functions": ("tests/functions", "tests/laws", "tests/derivatives"),
    "functions/added": ("tests/test_extending.py",),
    "functions/constraints": ("tests/contacts", "tests/functions"),
    "functions/contact_steps": ("tests/contacts", "tests/functions/test_table.py"),
    "functions/contact_sweeps": ("tests/contacts", "tests/functions/test_table.py"),
    "functions/contacts": ("tests/contacts", "tests/functions", "tests/drives"),
    "functions/step_derivatives": ("tests/steps", "tests/contacts"),
    "functions/steps": ("tests/steps", "tests/contacts", "tests/functions/test_table.py"),
    "ir/interp": ("tests/trace", "tests/backends/test_segments.py"),
    "jobs/closures": ("tests/contacts/test_closing.py",),
    "jobs/optimal_control": ("tests/jobs/test_optimal_control_parts.py", "tests/jobs"),
    "links": ("tests/links", "tests/test_links.py", "tests/laws/test_rotors.py", "tests/test_singular.py"),
    "links/algorithms": ("tests/algorithms/parallel", "tests/links"),
    "links/cuda": (
        "tests/links",
        "tests/backends/cuda/test_links.py",
        "tests/backends/cuda/test_linked.py",
        "tests/test_links.py",
    ),
    "links/trace": ("tests/trace/parallel", "tests/links"),
    "model/contact": ("tests/model/test_loops.py", "tests/model/test_shapes.py", "tests/contacts"),
    "model/finish": ("tests/model", "tests/readers", "tests/hostile"),
    "model/joints/increments": ("tests/derivatives/test_edges.py",),
    "model/physical": ("tests/model/test_inertias.py", "tests/parameters"),
    "model/robot": ("tests/model", "tests/test_identity.py"),
    "operations": (
        "tests/backends/test_operations.py",
        "tests/symbolic/test_random_numbers.py",
        "tests/ir/test_interp.py",
    ),
    "passes/elementary": ("tests/passes", "tests/backends/test_operations.py"),
    "readers": ("tests/readers", "tests/hostile"),
    "runtime/cuda": ("tests/gpu",),
    "runtime/packed": ("tests/runtime/test_packed_checks.py",),
    "scalar": ("tests/ir/test_expr.py",),
    "specification": ("tests/specification", "tests/functions", "tests/laws/test_specification.py"),
    "specification/integrators": ("tests/steps", "tests/test_options.py"),
    "specification/names": (
        "tests/functions/test_short_names.py",
        "tests/functions/test_values.py",
        "tests/rollouts/test_names.py",
    ),
    "specification/routes": ("tests/functions/test_table.py", "tests/algorithms/test_routes.py"),
    "text": ("tests/test_text.py",),
    "text/pages": ("tests/test_text.py", "tests/cli/test_bench.py", "tests/view/test_page.py"),
    "trace": ("tests/trace", "tests/laws"),
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
