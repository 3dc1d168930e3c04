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
    "backends/added": ("tests/test_extending.py",),
    "backends/casadi": ("tests/interop",),
    "calls": ("tests/test_api.py", "tests/test_messages.py"),
    "choices": ("tests/test_options.py",),
    "closing": ("tests/contacts/test_closing.py",),
    "compile": ("tests/test_options.py", "tests/test_routing.py", "tests/test_links.py"),
    "dynamics": ("tests/test_api.py",),
    "explained": ("tests/cli/test_explain.py",),
    "exporting": ("tests/test_projects.py",),
    "exports": ("tests/backends/common/test_package.py", "tests/cli/test_export.py"),
    "externals": ("tests/interop/test_casadi.py",),
    "functions": ("tests/functions", "tests/laws", "tests/derivatives"),
    "functions/added": ("tests/test_extending.py",),
    "integrators": ("tests/steps",),
    "known_answers": ("tests/backends/c/test_export.py",),
    "mapping": ("tests/test_mapping.py", "tests/test_journals.py"),
    "methods": ("tests/test_api.py",),
    "names": ("tests/functions/test_short_names.py",),
    "operations": ("tests/backends/test_operations.py",),
    "packing": ("tests/runtime/test_packed.py",),
    "pages": ("tests/cli/test_bench.py", "tests/view/test_page.py"),
    "ports": ("tests/test_trace.py",),
    "readers": ("tests/readers", "tests/hostile"),
    "routes": ("tests/algorithms/test_routes.py",),
    "runtime/cuda": ("tests/gpu",),
    "scalar": ("tests/ir/test_expr.py",),
    "simulation": ("tests/backends/fpga/test_rtl.py",),
    "specification": ("tests/laws/test_specification.py",),
    "time_axes": ("tests/rollouts/test_held.py",),
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
